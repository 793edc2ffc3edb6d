/*
 * guardcache tier: the tiers of a cache, and whether they answer.
 */
#include "cli/shared/cli.h"
#include "cli/shared/object.h"

#include <guardcache/fleet.h>

typedef struct options {
    bool json;
} options;

typedef struct telling {
    cli_call *call;
    bool json, pinged;
    bool trouble;      /* of any of them */
    cli_object numbers; /* of the one that is being pinged */
    size_t number_count;
    bool failed;
} telling;

static void
set_counts(cli_object *object, gcache_tier_state const *tier)
{
    for (int i = 0; i < GCACHE_TIER_COUNT_COUNT; i++)
        cli_object_set_count(object, gcache_tier_count_name((gcache_tier_count)i), tier->counts[i]);
}

static int
print_json(telling *t, gcache_tier_state const *tier)
{
    cli_object object = cli_object_new(&t->call->arena);

    cli_object_set_text(&object, "tier", tier->name);
    cli_object_set_bool(&object, "read_only", tier->read_only);
    if (t->pinged) {
        cli_object_set_text(&object, "answer", gcache_tier_answer_name(tier->answer));
        cli_object_set_text(&object, "reason", tier->answer == GCACHE_TIER_TROUBLE ? gcache_reason_name(tier->reason) : NULL);
        cli_object_set_nonempty(&object, "message", tier->message);
        cli_object_set_count(&object, "elapsed_ns", tier->elapsed_ns);
        cli_object_set(&object, "numbers", t->numbers.map);
        t->numbers = cli_object_new(&t->call->arena);
    } else {
        set_counts(&object, tier);
    }
    t->failed = !cli_object_print(&object, &t->call->error);
    return t->failed;
}

static int
tell(void *state, gcache_tier_state const *tier)
{
    telling *t = state;

    t->trouble |= t->pinged && tier->answer == GCACHE_TIER_TROUBLE;
    if (t->json)
        return print_json(t, tier);
    if (!t->pinged)
        cli_print("%s%s\n", tier->name, tier->read_only ? "  read-only" : "");
    else if (tier->answer == GCACHE_TIER_TROUBLE)
        cli_print("%s  %s: %s (%s)\n", tier->name, gcache_reason_name(tier->reason), tier->message,
                  cli_duration(tier->elapsed_ns).text);
    else
        cli_print("%s  ok (%s)\n", tier->name, cli_duration(tier->elapsed_ns).text);
    return 0;
}

static void
take_number(void *state, char const *name, uint64_t value)
{
    telling *t = state;

    if (t->json)
        cli_object_set_count(&t->numbers, name, value);
}

static int
count(void *state, gcache_tier_state const *tier)
{
    (void)tier;
    ++*(size_t *)state;
    return 0;
}

static bool
run(cli_call *call, bool ping)
{
    options const *wanted = call->options;
    telling t = { .call = call, .json = wanted->json, .pinged = ping };
    size_t tiers = 0;

    if (!cli_open(call, CLI_CHANGE))
        return false;
    t.numbers = cli_object_new(&call->arena);
    gcache_tiers_each(call->cache, count, &tiers, NULL);
    if (tiers == 0)
        cli_complain("there are no tiers: the setting tiers names them (guardcache config tiers URL)");
    gcache_status status = ping ? gcache_tiers_ping(call->cache, take_number, tell, &t, &call->error)
                                : gcache_tiers_each(call->cache, tell, &t, &call->error);
    call->answer = t.trouble ? CLI_NO : CLI_OK;
    return status == GCACHE_OK && !t.failed;
}

static bool
run_ls(cli_call *call)
{
    return run(call, false);
}

static bool
run_ping(cli_call *call)
{
    return run(call, true);
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object a tier" },
    { 0 },
};

cli_command const cli_cmd_tier_ls = {
    .name = "tier ls",
    .summary = "list the tiers of a cache",
    .about = "Prints where lookups go on after memory and the directory, in this order, as the setting tiers says, without\n"
             "credentials. Nobody is asked.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run_ls,
};

cli_command const cli_cmd_tier_ping = {
    .name = "tier ping",
    .summary = "ask each tier whether it answers",
    .about = "Prints a line a tier: ok, or what the trouble is, and how long it took to answer. Exit status 1 if one is in\n"
             "trouble. With --json also what the tier says of itself: its memory, its evictions.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run_ping,
};
