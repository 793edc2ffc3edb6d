/*
 * A golden file keeps the rule sets under which it was made. So where a set has changed since, or another one is tried, it
 * can be shown what it makes of a description whose key isn't the golden one, beside what it made of it then.
 */
#include "base/text/json.h"
#include "cli/golden/golden.h"
#include "cli/shared/cli.h"

#include <guardcache/graph.h>
#include <stdio.h>

/* Descriptions and differences shown; all differ for the same reason. */
#define GRAPHS_SHOWN 3
#define DIFFERENCES_SHOWN 8
/* The golden file's trees. */
#define GOLDEN_TREES_BYTES_MAX ((size_t)4 << 30)

static void
write_indented(gci_buf *out, char const *text)
{
    for (gci_view rest = gci_view_text(text), line; gci_view_next_line(&rest, &line);)
        gci_buf_format(out, "        %.*s\n", (int)line.size, line.data);
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
    gci_arena arena;
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

static bool
take_rules(comparison *c, gci_value const *line)
{
    gci_value const *set = gci_map_find(line, "set");
    gci_buf text;

    if (set == NULL)
        return false;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_json_write(&text, set);
    if (c->then_count < SETS_MAX &&
        gcache_rules_read(text.data, text.size, CLI_GOLDEN_NAME, &c->then[c->then_count], NULL) == GCACHE_OK)
        c->then_count++;
    gci_buf_clear(&text);
    return true;
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
        gci_buf_format(c->out, "    %.*s: %s\n", (int)name.size, name.data,
                       text[0] != '\0' ? "what the rules made of it then, and make of it now"
                                       : "equal under both rule sets, whose hash is part of the key");
        write_indented(c->out, text);
        written = true;
    }
    gcache_free(text);
    gcache_graph_free(then);
    gcache_graph_free(now);
    return written;
}

/* A line of the golden file, which may be about rules or a description. */
static bool
write_line(comparison *c, gci_view line)
{
    char path[CLI_TRACE_PATH];
    gci_value tree;

    if (gci_json_read(line, CLI_GOLDEN_NAME, &c->arena, &tree, NULL) != GCACHE_OK || tree.type != GCI_MAP ||
        take_rules(c, &tree))
        return false;
    gci_value const *graph = gci_map_find(&tree, "graph"), *key = gci_map_find(&tree, "key");
    if (graph == NULL || key == NULL || graph->type != GCI_STRING || key->type != GCI_STRING)
        return false;
    int size = snprintf(path, sizeof path, "%s/%.*s", c->folder, (int)graph->text.size, graph->text.data);
    return size > 0 && size < CLI_TRACE_PATH && write_graph(c, path, graph->text, key->text);
}

void
cli_golden_write_rules(char const *folder, cli_tried_rules const *rules, gci_view expected, gci_buf *out)
{
    comparison c = { .folder = folder, .tried = rules, .out = out };
    size_t shown = 0;

    gci_arena_init(&c.arena, GOLDEN_TREES_BYTES_MAX);
    for (gci_view line; shown < GRAPHS_SHOWN && gci_view_next_line(&expected, &line);)
        shown += write_line(&c, line);
    for (size_t i = 0; i < c.then_count; i++)
        gcache_rules_free(c.then[i]);
    gci_arena_clear(&c.arena);
}
