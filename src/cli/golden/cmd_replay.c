/*
 * guardcache replay: runs a trace's events in order and prints an object an event, then a summary.
 *
 * Without --cache it works in a temporary directory that is removed however the command ends, and syncs nothing.
 */
#include "cli/golden/player.h"
#include "cli/shared/cli.h"
#include "cli/shared/progress.h"
#include "cli/shared/scratch.h"

#include <stdio.h>
#include <sys/stat.h>

typedef struct options {
    char const *rules;
    bool json;
} options;

/* ---- the summary ---- */

static bool
print_summary_json(cli_call *call, cli_counts const *counts)
{
    gci_arena *arena = &call->arena;
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
    return cli_object_print(&outer, &call->error);
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

static bool
play_all(cli_call *call, cli_player *player)
{
    cli_progress progress;
    struct stat facts = { 0 };
    cli_event event;
    cli_object out;
    bool done = true;

    fstat(player->fd, &facts);
    cli_progress_init(&progress, "replay", (uint64_t)facts.st_size);
    while (done && !cli_output_lost() && cli_signal_caught() == 0 && cli_player_next(player, &event, &call->error)) {
        done = cli_player_play(player, &event, &out, &call->error) && cli_object_print(&out, &call->error);
        cli_progress_step(&progress, player->lines.passed);
    }
    cli_progress_end(&progress);
    return done && !player->failed;
}

/* A mismatch outweighs an event that ended in an error. */
static void
judge(cli_call *call, cli_counts const *counts)
{
    if (counts->errors != 0)
        cli_complain("%llu %s in an error", (unsigned long long)counts->errors,
                     counts->errors == 1 ? "event ended" : "events ended");
    if (counts->mismatches != 0 || counts->errors != 0)
        call->answer = counts->mismatches != 0 ? CLI_NO : CLI_ERROR;
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    gcache_rules *rules = NULL;
    cli_player player;

    cli_player_init(&player, call->arguments[0], &call->arena);
    player.any_kind = true;
    bool done = cli_player_open_trace(&player, &call->error);
    if (done && cli_common_given()->cache != NULL)
        done = cli_open(call, CLI_USE);
    else if (done)
        done = cli_player_open_cache(&player, &call->error);
    if (call->cache != NULL)
        player.cache = call->cache;
    done = done && cli_read_rules(wanted->rules, &rules, &call->error);
    player.rules = rules;
    done = done && play_all(call, &player);
    if (done && wanted->json)
        done = print_summary_json(call, &player.counts);
    else if (done)
        print_summary(&player.counts);
    if (done)
        judge(call, &player.counts);
    cli_player_clear(&player);
    gcache_rules_free(rules);
    return done;
}

static cli_option const table[] = {
    { "cache", CLI_COMMON, 0, "DIR", "play on this cache, not on a fresh temporary one" },
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
    .run = run,
};
