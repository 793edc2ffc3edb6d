/*
 * guardcache journal: what lookups and inserts of all processes left behind, oldest first.
 *
 * The library hands entries out newest first, so that lines are gathered and printed backwards. Following asks again for
 * what is as new as the newest line printed: several entries may bear one time, so those that were printed are counted.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/text/json.h"
#include "base/visible.h"
#include "cli/shared/scratch.h"
#include "cli/shared/cli.h"
#include "cli/shared/entries.h"
#include "cli/shared/hints.h"
#include "cli/shared/open.h"
#include "cli/shared/journal_query.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct options {
    char const *cache;
    cli_journal_options journal;
    bool follow, json;
} options;

/* One entry's object. */
#define OBJECT_MAX_BYTES ((size_t)64 << 20)

/* Soon enough for a person who watches, seldom enough to be no load. */
#define FOLLOW_NS 250000000L

#define NS_PER_SECOND UINT64_C(1000000000)

typedef struct line {
    size_t end; /* in the listing's text */
    uint64_t at_ns;
} line;

typedef struct listing {
    bool json;
    gci_arena arena;
    gci_buf text;   /* lines, newest first */
    line *lines;
    size_t count, room;
    uint64_t newest; /* the time of the newest line that was printed, */
    size_t printed;  /* and how many that bear it */
    gcache_status status;
} listing;

/* ---- one line ---- */

static void
write_time(gci_buf *out, uint64_t at_ns)
{
    time_t seconds = (time_t)(at_ns / NS_PER_SECOND);
    struct tm parts;

    if (localtime_r(&seconds, &parts) == NULL)
        return;
    gci_buf_format(out, "%04d-%02d-%02d %02d:%02d:%02d", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                   parts.tm_hour, parts.tm_min, parts.tm_sec);
}

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

static void
write_cost(gci_buf *out, gcache_journal_entry const *entry)
{
    char duration[CLI_DURATION_TEXT];

    if (entry->compile_ns == 0)
        return;
    cli_duration_text(entry->compile_ns, duration);
    gci_buf_format(out, "  compiled in %s", duration);
}

static void
write_line(gci_buf *out, gcache_journal_entry const *entry)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&entry->key, hex);
    write_time(out, entry->at_ns);
    gci_buf_format(out, "  %7u  ", entry->process);
    size_t start = out->size;
    write_what(out, entry);
    gci_buf_format(out, "%*s  %.8s", out->size - start < 24 ? (int)(24 - (out->size - start)) : 0, "", hex);
    if (entry->label[0] != '\0')
        gci_visible_format(out, "  %s", entry->label);
    for (size_t i = 0; i < entry->hint_count; i++)
        gci_visible_format(out, "%s%s=%s", i == 0 ? "  " : " ", entry->hints[i].name, entry->hints[i].literal);
    write_cost(out, entry);
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
        return;
    }
    cli_object_set_count(object, "compile_ns", entry->compile_ns);
    if (entry->kind == GCACHE_JOURNAL_INSERT)
        cli_object_set_count(object, "payload_size", entry->payload_size);
}

static void
write_object(listing *list, gcache_journal_entry const *entry)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gci_arena_reset(&list->arena);
    cli_object object = cli_object_new(&list->arena), hints = cli_object_new(&list->arena);
    gcache_key_to_hex(&entry->key, hex);
    for (size_t i = 0; i < entry->hint_count; i++)
        cli_object_set(&hints, entry->hints[i].name, cli_hint_value(entry->hints[i].literal, &list->arena));
    cli_object_set_count(&object, "at_ns", entry->at_ns);
    cli_object_set_count(&object, "process", entry->process);
    cli_object_set_text(&object, "act", gcache_journal_kind_name(entry->kind));
    cli_object_set_text(&object, "reason", entry->kind == GCACHE_JOURNAL_MISS ? gcache_reason_name(entry->reason) : NULL);
    cli_object_set_text(&object, "key", hex);
    cli_object_set_text(&object, "kind", entry->graph_kind);
    cli_object_set_text(&object, "namespace", entry->namespace_);
    cli_object_set_text(&object, "label", entry->label);
    cli_object_set(&object, "hints", hints.map);
    cli_object_set_text(&object, "entry", entry->entry[0] != '\0' ? entry->entry : NULL);
    set_times(&object, entry);
    if (entry->text[0] != '\0')
        cli_object_set_text(&object, "text", entry->text);
    gci_json_write(&list->text, &object.map);
    gci_buf_append_char(&list->text, '\n');
}

/* ---- all of them ---- */

static bool
add_line(listing *list, uint64_t at_ns)
{
    if (!gci_array_has_room(&list->lines, list->count, &list->room, sizeof *list->lines))
        return false;
    list->lines[list->count++] = (line){ list->text.size, at_ns };
    return true;
}

static int
gather(void *state, gcache_journal_entry const *entry)
{
    listing *list = state;

    if (list->json)
        write_object(list, entry);
    else
        write_line(&list->text, entry);
    if (list->text.failed || list->arena.failed || !add_line(list, entry->at_ns))
        list->status = GCACHE_ERROR_MEMORY;
    return list->status != GCACHE_OK;
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

static gcache_status
print_entries(listing *list, gcache *cache, gcache_journal_query const *query, gcache_error *error)
{
    list->text.size = 0;
    list->count = 0;
    gcache_status status = gcache_journal_each(cache, query, gather, list, error);
    if (status == GCACHE_OK && list->status != GCACHE_OK)
        status = gci_fail_memory(error);
    if (status != GCACHE_OK)
        return status;
    print_backwards(list);
    remember_newest(list);
    return GCACHE_OK;
}

static gcache_status
follow(listing *list, gcache *cache, gcache_journal_query *query, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    cli_catch_signals();
    query->last = 0;
    while (status == GCACHE_OK && !cli_output_lost() && cli_signal_caught() == 0) {
        fflush(stdout);
        nanosleep(&(struct timespec){ .tv_nsec = FOLLOW_NS }, NULL);
        if (list->newest > query->since_ns)
            query->since_ns = list->newest;
        status = print_entries(list, cache, query, error);
    }
    return status;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    listing list = { .json = wanted->json };
    gcache_journal_query query;
    gcache_error error = { 0 };
    gcache *cache;

    gci_arena_init(&list.arena, OBJECT_MAX_BYTES);
    gci_buf_init(&list.text, GCI_BUF_NO_LIMIT);
    gcache_status status = cli_journal_open(wanted->cache, &wanted->journal, &query, &cache, &error);
    if (status == GCACHE_OK)
        status = print_entries(&list, cache, &query, &error);
    if (status == GCACHE_OK && wanted->follow)
        status = follow(&list, cache, &query, &error);
    gcache_close(cache);
    free(list.lines);
    gci_buf_clear(&list.text);
    gci_arena_clear(&list.arena);
    cli_die_of_signal();
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    CLI_LAST_OPTION(options, journal),
    CLI_JOURNAL_OPTIONS(options, journal),
    { "follow", CLI_FLAG, offsetof(options, follow), NULL, "go on printing what comes, until interrupted" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object an entry" },
    { 0 },
};

cli_command const cli_cmd_journal = {
    .name = "journal",
    .arguments = "",
    .summary = "list past misses, inserts and hits",
    .about = "One line an entry, oldest first: when, which process, what, the key, whose, the hints. Misses and inserts are\n"
             "all there, as far back as the journal goes; of many hits, one stands for others (1 of N). guardcache explain\n"
             "--last tells a miss in full.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
