/*
 * guardcache replay: runs a trace's events in order and prints an object an event, then a summary.
 *
 * Without --cache it works in a temporary directory that is removed however the command ends, and syncs nothing.
 */
#include "base/error.h"
#include "base/text/json.h"
#include "cli/golden/player.h"
#include "cli/shared/scratch.h"
#include "cli/shared/cli.h"
#include "cli/shared/lines.h"
#include "cli/shared/open.h"
#include "cli/shared/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct options {
    char const *cache, *rules;
    bool json;
} options;

/* One event's tree and output. */
#define EVENT_MAX_BYTES (4 * GCI_JSON_MAX_BYTES)

#define TRACE_PATH 4096

/* ---- the summary ---- */

static gcache_status
print_summary_json(cli_counts const *counts, gci_arena *arena, gcache_error *error)
{
    cli_object outer = cli_object_new(arena), summary = cli_object_new(arena), misses = cli_object_new(arena);

    for (int reason = 0; reason < GCACHE_REASON_COUNT; reason++) {
        if (counts->misses[reason] != 0)
            cli_object_set_count(&misses, gcache_reason_name((gcache_reason)reason), counts->misses[reason]);
    }
    cli_object_set_count(&summary, "lookups", counts->lookups);
    cli_object_set_count(&summary, "hits", counts->hits);
    cli_object_set(&summary, "misses", misses.map);
    cli_object_set_count(&summary, "inserts", counts->inserts);
    cli_object_set_count(&summary, "mismatches", counts->mismatches);
    cli_object_set(&outer, "summary", summary.map);
    return cli_object_print(&outer, error);
}

static void
print_row(char const *name, uint64_t count)
{
    cli_print("%-22s %8llu\n", name, (unsigned long long)count);
}

static void
print_summary(cli_counts const *counts)
{
    double share = counts->lookups != 0 ? 100.0 * (double)counts->hits / (double)counts->lookups : 0;

    putchar('\n');
    print_row("lookups", counts->lookups);
    cli_print("%-22s %8llu  %5.1f %%\n", "hits", (unsigned long long)counts->hits, share);
    print_row("misses", counts->lookups - counts->hits);
    for (int reason = 0; reason < GCACHE_REASON_COUNT; reason++) {
        char name[32];
        snprintf(name, sizeof name, "  %s", gcache_reason_name((gcache_reason)reason));
        if (counts->misses[reason] != 0)
            print_row(name, counts->misses[reason]);
    }
    print_row("inserts", counts->inserts);
    if (counts->refused != 0)
        print_row("refused inserts", counts->refused);
    if (counts->bypasses != 0)
        print_row("bypasses", counts->bypasses);
    if (counts->errors != 0)
        print_row("errors", counts->errors);
    print_row("mismatches", counts->mismatches);
}

/* ---- the events ---- */

/* What one replay works on. */
typedef struct replay {
    char scratch[CLI_SCRATCH_PATH], path[TRACE_PATH];
    int fd;
    cli_lines lines;
    cli_player player;
    cli_progress progress;
    gci_arena arena;
    gcache_rules *rules;
    gcache *cache;
} replay;

static gcache_status
play_line(replay *on, gci_view line, gcache_error *error)
{
    cli_event event;
    cli_object out;
    cli_place place = { .file = on->path, .line = on->lines.number };

    gci_arena_reset(&on->arena);
    gcache_status status = cli_event_read(line, place, &on->arena, &event, error);
    if (status == GCACHE_OK)
        status = cli_player_play(&on->player, &event, &on->arena, &out, error);
    if (status == GCACHE_OK)
        status = cli_object_print(&out, error);
    return status;
}

static gcache_status
play_lines(replay *on, gcache_error *error)
{
    gci_view line;
    gcache_status status;

    while ((status = cli_lines_next(&on->lines, &line, error)) == GCACHE_OK && line.data != NULL) {
        if (line.size != 0)
            status = play_line(on, line, error);
        if (status != GCACHE_OK || cli_output_lost() || cli_signal_caught() != 0)
            break;
        cli_progress_step(&on->progress, on->lines.passed);
    }
    cli_progress_end(&on->progress);
    return status;
}

static gcache_status
open_trace(replay *on, char const *folder, gcache_error *error)
{
    struct stat facts;

    if (snprintf(on->path, sizeof on->path, "%s/trace.jsonl", folder) >= (int)sizeof on->path)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "the trace's path is too long");
    on->fd = open(on->path, O_RDONLY | O_CLOEXEC);
    if (on->fd < 0 || fstat(on->fd, &facts) != 0)
        return gci_fail_errno(error, errno, "%s", on->path);
    cli_lines_init(&on->lines, on->fd, on->path);
    cli_progress_init(&on->progress, (uint64_t)facts.st_size);
    return GCACHE_OK;
}

static gcache_status
open_temporary_cache(replay *on, gcache_error *error)
{
    gcache_options settings = GCACHE_OPTIONS_INIT;

    cli_catch_signals();
    gcache_status status = cli_scratch_make(on->scratch, error);
    settings.durability = GCACHE_DURABILITY_NONE;
    settings.log = cli_log;
    return status == GCACHE_OK ? gcache_open(on->scratch, &settings, &on->cache, error) : status;
}

static void
close_replay(replay *on)
{
    cli_player_clear(&on->player);
    cli_lines_clear(&on->lines);
    if (on->fd >= 0)
        close(on->fd);
    gci_arena_clear(&on->arena);
    gcache_rules_free(on->rules);
    gcache_close(on->cache);
    cli_scratch_remove(on->scratch);
    cli_die_of_signal();
}

static cli_exit
exit_status(cli_counts const *counts)
{
    if (counts->errors != 0)
        cli_complain("%llu %s in an error", (unsigned long long)counts->errors,
                     counts->errors == 1 ? "event ended" : "events ended");
    if (counts->mismatches != 0)
        return CLI_NO;
    return counts->errors != 0 ? CLI_ERROR : CLI_OK;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    char const *folder = call->arguments[0];
    replay on = { .fd = -1 };
    gcache_error error = { 0 };

    gci_arena_init(&on.arena, EVENT_MAX_BYTES);
    gcache_status status = open_trace(&on, folder, &error);
    if (status == GCACHE_OK)
        status = wanted->cache != NULL ? cli_open_cache(wanted->cache, false, &on.cache, &error)
                                       : open_temporary_cache(&on, &error);
    cli_player_init(&on.player, on.cache, folder);
    if (status == GCACHE_OK)
        status = cli_read_rules(wanted->rules, &on.rules, &error);
    on.player.rules = on.rules;
    on.player.any_kind = true;
    if (status == GCACHE_OK)
        status = play_lines(&on, &error);
    if (status == GCACHE_OK && wanted->json)
        status = print_summary_json(&on.player.counts, &on.arena, &error);
    else if (status == GCACHE_OK)
        print_summary(&on.player.counts);
    cli_exit result = status == GCACHE_OK ? exit_status(&on.player.counts) : cli_fail(&error);
    close_replay(&on);
    return result;
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "play on this cache, not on a fresh temporary one" },
    CLI_RULES_OPTION(options, rules),
    { "json", CLI_FLAG, offsetof(options, json), NULL, "end with a summary object, not a table" },
    { 0 },
};

cli_command const cli_cmd_replay = {
    .name = "replay",
    .arguments = "TRACE",
    .summary = "run a recorded trace and compare its outcomes",
    .about = "TRACE is a folder with trace.jsonl. Prints an object an event. Exit status 1 if an outcome differs from\n"
             "the event's \"expect\", 2 if an event can't be played or (without \"expect\") ends in an error.\n",
    .options = table,
    .options_size = sizeof(options),
    .least = 1,
    .most = 1,
    .run = run,
};
