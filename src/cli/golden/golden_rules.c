/*
 * A golden file keeps the rule sets under which it was made. So where a set has changed since, or another one is tried, it
 * can be shown what it makes of a description whose key isn't the golden one, beside what it made of it then.
 */
#include "base/text/json.h"
#include "cli/golden/golden_change.h"
#include "cli/shared/cli.h"

#include <guardcache/graph.h>
#include <stdio.h>

/* Descriptions and differences shown; all differ for the same reason. */
#define GRAPHS_SHOWN 3
#define DIFFERENCES_SHOWN 8

/* What differs, but for the rule sets' hashes, which follow. Returns how many lines that are. */
static size_t
write_indented(gci_buf *out, char const *text)
{
    char const *hashes = "rules: bytes ";
    size_t count = 0;

    for (gci_view rest = gci_view_text(text), line; gci_view_next_line(&rest, &line);) {
        if (line.size > strlen(hashes) && memcmp(line.data, hashes, strlen(hashes)) == 0)
            continue;
        gci_buf_format(out, "        %.*s\n", (int)line.size, line.data);
        count++;
    }
    return count;
}

static bool
has_key(gcache_graph *graph, gci_view wanted)
{
    gcache_key key;

    return gcache_graph_key(graph, &key, NULL) == GCACHE_OK && gci_view_is(wanted, cli_hex(&key).text);
}

/* ---- the line of a rule set ---- */

/* What says why a rule is there changes no key. */
static bool
has_effect(gci_view member)
{
    return !gci_view_is(member, "why") && !gci_view_is(member, "same") && !gci_view_is(member, "different");
}

/* A copy with only what has an effect: of the set, and of the rules in its lists. */
static gci_value
effect_of(gci_value const *set, gci_arena *arena)
{
    cli_object copy = cli_object_new(arena);

    for (uint32_t i = 0; i < set->count; i++) {
        gci_value value = set->members[i].value;
        if (!has_effect(set->members[i].name))
            continue;
        if (value.type == GCI_LIST) {
            gci_value list = cli_list_of(arena, value.count);
            for (uint32_t at = 0; at < list.count; at++)
                list.items[at] = value.items[at].type == GCI_MAP ? effect_of(&value.items[at], arena) : value.items[at];
            value = list;
        }
        gci_view name = gci_arena_copy(arena, set->members[i].name);
        if (name.data != NULL)
            cli_object_set(&copy, name.data, value);
    }
    return copy.map;
}

bool
cli_golden_rules_line(char const *kind, cli_tried_rules const *rules, gci_arena *arena, gci_value *out_line)
{
    cli_object line = cli_object_new(arena);
    gci_value set;
    size_t size = 0;
    char const *text = gcache_rules_shipped(kind, &size);

    if (rules != NULL && strcmp(gcache_rules_name(rules->set), kind) == 0) {
        text = rules->text.data;
        size = rules->text.size;
    }
    if (text == NULL || gci_json_read(gci_view_of(text, size), kind, arena, &set, NULL) != GCACHE_OK || set.type != GCI_MAP)
        return false;
    cli_object_set_text(&line, "rules", kind);
    cli_object_set(&line, "set", effect_of(&set, arena));
    *out_line = line.map;
    return true;
}

/* ---- then and now ---- */

/* As many as there are shipped sets, and one more. */
#define SETS_MAX 16

typedef struct comparison {
    char const *folder;
    cli_tried_rules const *tried;
    gcache_rules *then[SETS_MAX]; /* the golden file's */
    size_t then_count;
    gci_buf *out;
} comparison;

/* The golden file's, or, of now, those that are tried; NULL: the shipped ones. */
static gcache_rules const *
find_rules(comparison const *c, bool then, char const *kind)
{
    for (size_t i = 0; then && i < c->then_count; i++)
        if (strcmp(gcache_rules_name(c->then[i]), kind) == 0)
            return c->then[i];
    return !then && c->tried != NULL && strcmp(gcache_rules_name(c->tried->set), kind) == 0 ? c->tried->set : NULL;
}

static void
take_rules(comparison *c, gci_value const *set)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_json_write(&text, set);
    if (c->then_count < SETS_MAX &&
        gcache_rules_read(text.data, text.size, CLI_GOLDEN_NAME, &c->then[c->then_count], NULL) == GCACHE_OK)
        c->then_count++;
    gci_buf_clear(&text);
}

/* The description as its kind's rules of then or now make it. */
static gcache_graph *
read_graph(comparison const *c, char const *path, bool then)
{
    gcache_graph *graph;

    if (!cli_read_graph(path, NULL, &graph, NULL))
        return NULL;
    gcache_rules const *rules = find_rules(c, then, gcache_graph_kind(graph));
    if (rules != NULL)
        gcache_graph_use_rules(graph, rules);
    return graph;
}

/* true: the rules of then give the golden key, those of now another one, and what differs is written. */
static bool
write_graph(comparison const *c, char const *path, gci_view name, gci_view golden_key)
{
    gcache_graph *then = read_graph(c, path, true), *now = read_graph(c, path, false);
    void const *forms[2];
    size_t sizes[2];
    char *text = NULL;
    bool written = false;

    if (then != NULL && now != NULL && has_key(then, golden_key) && !has_key(now, golden_key) &&
        gcache_graph_canonical(then, &forms[0], &sizes[0], NULL) == GCACHE_OK &&
        gcache_graph_canonical(now, &forms[1], &sizes[1], NULL) == GCACHE_OK &&
        gcache_diff(forms[0], sizes[0], forms[1], sizes[1], DIFFERENCES_SHOWN, GCACHE_DIFF_TEXT, &text, NULL, NULL) ==
            GCACHE_OK) {
        gci_buf_format(c->out, "    %.*s: what the rules made of it then, and make of it now\n", (int)name.size, name.data);
        if (write_indented(c->out, text) == 0)
            gci_buf_append_text(c->out, "        the same; the hash of the rule set is part of the key\n");
        written = true;
    }
    gcache_free(text);
    gcache_graph_free(then);
    gcache_graph_free(now);
    return written;
}

/* true: something about a description was written. */
static bool
write_record(comparison *c, cli_golden_record const *record)
{
    char path[CLI_TRACE_PATH];

    if (record->part == CLI_GOLDEN_RULES)
        take_rules(c, &record->map);
    gci_view key = cli_golden_text(&record->map, "key");
    if (record->part != CLI_GOLDEN_DESCRIPTION || key.size == 0)
        return false;
    int size = snprintf(path, sizeof path, "%s/%.*s", c->folder, (int)record->name.size, record->name.data);
    return size > 0 && size < CLI_TRACE_PATH && write_graph(c, path, record->name, key);
}

void
cli_golden_write_rules(char const *folder, cli_tried_rules const *rules, cli_golden const *expected, gci_buf *out)
{
    comparison c = { .folder = folder, .tried = rules, .out = out };
    size_t shown = 0;

    for (uint32_t i = 0; shown < GRAPHS_SHOWN && i < expected->count; i++)
        shown += write_record(&c, &expected->items[i]);
    for (size_t i = 0; i < c.then_count; i++)
        gcache_rules_free(c.then[i]);
}

/* ---- another description ---- */

/* Reads a description of the fixture; NULL: it isn't there any more. */
static gcache_graph *
read_of(char const *folder, gci_view name)
{
    char path[CLI_TRACE_PATH];
    gcache_graph *graph;
    int size = snprintf(path, sizeof path, "%s/%.*s", folder, (int)name.size, name.data);

    return size > 0 && size < CLI_TRACE_PATH && cli_read_graph(path, NULL, &graph, NULL) ? graph : NULL;
}

static bool
write_redescribed(char const *folder, gci_view was, gci_view is, gci_buf *out)
{
    gcache_graph *then = read_of(folder, was), *now = read_of(folder, is);
    void const *forms[2];
    size_t sizes[2];
    char *text = NULL;
    bool written = then != NULL && now != NULL && gcache_graph_canonical(then, &forms[0], &sizes[0], NULL) == GCACHE_OK &&
                   gcache_graph_canonical(now, &forms[1], &sizes[1], NULL) == GCACHE_OK &&
                   gcache_diff(forms[0], sizes[0], forms[1], sizes[1], DIFFERENCES_SHOWN, GCACHE_DIFF_TEXT, &text, NULL, NULL) ==
                       GCACHE_OK;
    if (written) {
        gci_buf_format(out, "    %.*s became %.*s\n", (int)was.size, was.data, (int)is.size, is.data);
        if (write_indented(out, text) == 0)
            gci_buf_append_text(out, "        nothing in it that counts\n");
    }
    gcache_free(text);
    gcache_graph_free(then);
    gcache_graph_free(now);
    return written;
}

/* Many events ask for one description: what was shown before isn't again. */
static bool
was_before(cli_changes const *changes, size_t at, gci_view was, gci_view is)
{
    for (size_t i = 0; i < at; i++)
        if (cli_change_is_redescribed(&changes->items[i]) &&
            gci_view_equal(cli_golden_text(&changes->items[i].was->map, "graph"), was) &&
            gci_view_equal(cli_golden_text(&changes->items[i].is->map, "graph"), is))
            return true;
    return false;
}

void
cli_golden_write_redescribed(char const *folder, cli_changes const *changes, gci_buf *out)
{
    size_t shown = 0;

    for (size_t i = 0; i < changes->count && shown < GRAPHS_SHOWN; i++) {
        cli_change const *change = &changes->items[i];
        if (!cli_change_is_redescribed(change))
            continue;
        gci_view was = cli_golden_text(&change->was->map, "graph"), is = cli_golden_text(&change->is->map, "graph");
        if (!was_before(changes, i, was, is))
            shown += write_redescribed(folder, was, is, out);
    }
}
