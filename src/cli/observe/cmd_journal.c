/*
 * guardcache journal: what lookups and inserts of all processes left behind, oldest first.
 *
 * The library hands entries out newest first, so that lines are gathered and printed backwards. Following asks again for
 * what is as new as the newest line printed: several entries may bear one time, so those that were printed are counted.
 */
#include "base/array.h"
#include "base/text/json.h"
#include "base/visible.h"
#include "cli/shared/cli.h"
#include "cli/shared/hints.h"
#include "cli/observe/journal_query.h"
#include "cli/shared/scratch.h"

#include <guardcache/fleet.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct options {
    cli_journal_options journal;
    bool follow, json;
} options;

/* Soon enough for a person who watches, seldom enough to be no load. */
#define FOLLOW_NS 250000000L

/* How wide what happened is, on a terminal. */
#define WHAT_WIDTH 24

typedef struct line {
    size_t end; /* in the listing's text */
    uint64_t at_ns;
} line;

typedef struct listing {
    cli_call *call;
    gci_buf text;   /* lines, newest first */
    line *lines;
    size_t count, room;
    uint64_t newest; /* the time of the newest line that was printed, */
    size_t printed;  /* and how many that bear it */
    bool failed;
} listing;

/* ---- one line ---- */

static void
write_what(gci_buf *out, gcache_journal_entry const *entry)
{
    if (entry->kind == GCACHE_JOURNAL_MISS)
        gci_buf_format(out, "miss %s", gcache_reason_name(entry->reason));
    else if (entry->kind == GCACHE_JOURNAL_HIT && entry->hits != 1)
        gci_buf_format(out, "hit, 1 of %llu", (unsigned long long)entry->hits);
    else
        gci_buf_append_text(out, entry->kind == GCACHE_JOURNAL_NOT_STORED ? "not stored" : gcache_journal_kind_name(entry->kind));
}

/* What people call a hint. */
static char const *
shown_name(gcache_journal_entry const *entry, char const *name)
{
    for (size_t i = 0; i < entry->sources_count; i++)
        if (strcmp(entry->sources[i].name, name) == 0)
            return entry->sources[i].value;
    return name;
}

/* "asked 3   hits 2   round_trips 4": those that aren't 0. */
static void
write_counts(gci_buf *out, uint64_t const *counts)
{
    for (int i = 0; i < GCACHE_TIER_COUNT_COUNT; i++) {
        char const *name = gcache_tier_count_name((gcache_tier_count)i);
        if (counts[i] != 0 && i == GCACHE_TIER_COUNT_ASKING_NS)
            gci_buf_format(out, "  asking for %s", cli_duration(counts[i]).text);
        else if (counts[i] != 0)
            gci_buf_format(out, "  %s %llu", name, (unsigned long long)counts[i]);
    }
}

/* A hit that wasn't the directory's, and what a lookup waited. */
static void
write_tier(gci_buf *out, gcache_journal_entry const *entry)
{
    if (entry->waited_ns == 0)
        return;
    if (entry->kind == GCACHE_JOURNAL_HIT)
        gci_visible_format(out, "  from %s in %s", entry->tier, cli_duration(entry->waited_ns).text);
    else
        gci_buf_format(out, "  tiers were asked for %s", cli_duration(entry->waited_ns).text);
}

static void
write_line(gci_buf *out, gcache_journal_entry const *entry)
{
    gci_buf_format(out, "%s  %7u  ", cli_time(entry->at_ns).text, entry->process);
    size_t start = out->size;
    write_what(out, entry);
    int width = (int)(out->size - start);
    gci_buf_format(out, "%*s  ", width < WHAT_WIDTH ? WHAT_WIDTH - width : 0, "");
    if (entry->kind == GCACHE_JOURNAL_TIER) {
        gci_visible_format(out, "%s", entry->tier);
        write_counts(out, entry->tier_counts);
        gci_buf_append_char(out, '\n');
        return;
    }
    gci_buf_format(out, "%.8s", cli_hex(&entry->key).text);
    if (entry->label[0] != '\0')
        gci_visible_format(out, "  %s", entry->label);
    for (size_t i = 0; i < entry->hint_count; i++)
        gci_visible_format(out, "%s%s=%s", i == 0 ? "  " : " ", shown_name(entry, entry->hints[i].name),
                           entry->hints[i].literal);
    if (entry->compile_ns != 0)
        gci_buf_format(out, "  compiled in %s", cli_duration(entry->compile_ns).text);
    write_tier(out, entry);
    if (entry->text[0] != '\0')
        gci_visible_format(out, "  %s", entry->text);
    gci_buf_append_char(out, '\n');
}

/* ---- one object ---- */

static void
set_times(cli_object *object, gcache_journal_entry const *entry)
{
    if (entry->kind == GCACHE_JOURNAL_HIT) {
        cli_object_set_count(object, "hits", entry->hits);
        cli_object_set_count(object, "saved_ns", entry->saved_ns);
        cli_object_set_count(object, "elapsed_ns", entry->elapsed_ns);
        cli_object_set_nonempty(object, "tier", entry->tier);
        cli_object_set_count(object, "waited_ns", entry->waited_ns);
        return;
    }
    if (entry->kind == GCACHE_JOURNAL_MISS)
        cli_object_set_count(object, "waited_ns", entry->waited_ns);
    cli_object_set_count(object, "compile_ns", entry->compile_ns);
    if (entry->kind == GCACHE_JOURNAL_INSERT)
        cli_object_set_count(object, "payload_size", entry->payload_size);
}

static void
set_counts(cli_object *object, gcache_journal_entry const *entry)
{
    cli_object_set_text(object, "tier", entry->tier);
    for (int i = 0; i < GCACHE_TIER_COUNT_COUNT; i++)
        cli_object_set_count(object, gcache_tier_count_name((gcache_tier_count)i), entry->tier_counts[i]);
}

static void
write_object(gci_buf *out, gcache_journal_entry const *entry, gci_arena *arena)
{
    gci_arena_reset(arena);
    cli_object object = cli_object_new(arena), hints = cli_object_new(arena);
    for (size_t i = 0; i < entry->hint_count; i++)
        cli_object_set(&hints, entry->hints[i].name, cli_hint_value(entry->hints[i].literal, arena));
    cli_object_set_count(&object, "at_ns", entry->at_ns);
    cli_object_set_count(&object, "process", entry->process);
    cli_object_set_text(&object, "act", gcache_journal_kind_name(entry->kind));
    cli_object_set_text(&object, "reason", entry->kind == GCACHE_JOURNAL_MISS ? gcache_reason_name(entry->reason) : NULL);
    cli_object_set_key(&object, "key", &entry->key);
    cli_object_set_text(&object, "kind", entry->graph_kind);
    cli_object_set_text(&object, "namespace", entry->namespace_);
    cli_object_set_text(&object, "label", entry->label);
    cli_object_set(&object, "hints", hints.map);
    cli_object sources = cli_object_new(arena);
    for (size_t i = 0; i < entry->sources_count; i++)
        cli_object_set_text(&sources, entry->sources[i].name, entry->sources[i].value);
    if (entry->sources_count != 0)
        cli_object_set(&object, "sources", sources.map);
    cli_object_set_nonempty(&object, "entry", entry->entry);
    if (entry->kind == GCACHE_JOURNAL_TIER)
        set_counts(&object, entry);
    else
        set_times(&object, entry);
    if (entry->text[0] != '\0')
        cli_object_set_text(&object, "text", entry->text);
    if (entry->why_asked[0] != '\0')
        cli_object_set_text(&object, "why_asked", entry->why_asked);
    gci_json_write(out, &object.map);
    gci_buf_append_char(out, '\n');
}

/* ---- all of them ---- */

static int
gather(void *state, gcache_journal_entry const *entry)
{
    listing *list = state;
    options const *wanted = list->call->options;
    gci_arena *arena = &list->call->arena;

    if (wanted->json)
        write_object(&list->text, entry, arena);
    else
        write_line(&list->text, entry);
    list->failed = list->text.failed || arena->failed ||
                   !gci_array_has_room(&list->lines, list->count, &list->room, sizeof *list->lines);
    if (!list->failed)
        list->lines[list->count++] = (line){ list->text.size, entry->at_ns };
    return list->failed;
}

/* Prints the lines oldest first; of those that bear the time of `newest`, the first `printed` were printed before. */
static void
print_backwards(listing *list)
{
    size_t seen = 0;

    for (size_t i = list->count; i-- > 0;) {
        size_t start = i > 0 ? list->lines[i - 1].end : 0;
        if (list->lines[i].at_ns == list->newest && seen++ < list->printed)
            continue;
        cli_print_lines(gci_view_of(list->text.data + start, list->lines[i].end - start));
    }
}

static void
remember_newest(listing *list)
{
    if (list->count == 0)
        return;
    list->newest = list->lines[0].at_ns;
    list->printed = 0;
    while (list->printed < list->count && list->lines[list->printed].at_ns == list->newest)
        list->printed++;
}

static bool
print_entries(listing *list, gcache_journal_query const *query)
{
    gcache_error *error = &list->call->error;

    list->text.size = 0;
    list->count = 0;
    if (gcache_journal_each(list->call->cache, query, gather, list, error) != GCACHE_OK)
        return false;
    if (list->failed)
        return cli_no_memory(error);
    print_backwards(list);
    remember_newest(list);
    return true;
}

static bool
follow(listing *list, gcache_journal_query *query)
{
    bool done = true;

    cli_catch_signals();
    query->last = 0;
    while (done && !cli_output_lost() && cli_signal_caught() == 0) {
        fflush(stdout);
        nanosleep(&(struct timespec){ .tv_nsec = FOLLOW_NS }, NULL);
        if (list->newest > query->since_ns)
            query->since_ns = list->newest;
        done = print_entries(list, query);
    }
    return done;
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    listing list = { .call = call };
    gcache_journal_query query;

    gci_buf_init(&list.text, GCI_BUF_NO_LIMIT);
    bool done = cli_journal_query(&wanted->journal, &query, &call->error) && cli_open(call, CLI_LOOK) &&
                print_entries(&list, &query) && (!wanted->follow || follow(&list, &query));
    free(list.lines);
    gci_buf_clear(&list.text);
    return done;
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    CLI_LAST_OPTION(options, journal),
    CLI_JOURNAL_OPTIONS(options, journal),
    { "follow", CLI_FLAG, offsetof(options, follow), NULL, "go on printing what comes, until interrupted" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object an entry" },
    { 0 },
};

cli_command const cli_cmd_journal = {
    .name = "journal",
    .summary = "list past misses, inserts and hits",
    .about = "One line an entry, oldest first: when, which process, what, the key, whose, the hints. Misses and inserts are\n"
             "all there, as far back as the journal goes; of many hits, one stands for others (1 of N), but for those that\n"
             "a tier served. What a process had of a tier it writes down every two minutes and at its end. guardcache explain\n"
             "--last tells a miss in full.\n" CLI_JOURNAL_NAMESPACE,
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
