/*
 * guardcache test: plays fixtures and compares keys, components, outcomes, chosen entries and explanations with their
 * golden files.
 */
#include "base/error.h"
#include "base/system/file.h"
#include "cli/suite/suite.h"
#include "cli/shared/progress.h"
#include "cli/shared/scratch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct options {
    char const *junit, *rules, *event;
    int64_t jobs; /* 0: as many as there are processors */
    bool accept, ask, tap, json;
} options;

#define RULES_BYTES_MAX ((size_t)16 << 20)

/* What a call works with. */
typedef struct run_state {
    cli_call *call;
    options const *wanted;
    cli_suite suite;
    cli_tried_rules rules;
    cli_accepting accepting;
    cli_junit junit;
    cli_progress progress;
} run_state;

static cli_tried_rules const *
tried(run_state const *state)
{
    return state->wanted->rules != NULL ? &state->rules : NULL;
}

static bool
is_over(void *of)
{
    run_state const *state = of;

    return cli_signal_caught() != 0 || cli_output_lost() || state->accepting.quit;
}

static void
show_progress(void *of, uint64_t bytes)
{
    run_state *state = of;

    cli_progress_step(&state->progress, bytes);
}

static void
judge_and_report(void *of, size_t at)
{
    run_state *state = of;
    cli_fixture *one = &state->suite.items[at];

    cli_progress_end(&state->progress);
    cli_fixture_judge(one, tried(state), &state->accepting);
    state->suite.tested++;
    if (state->wanted->tap)
        cli_test_print_tap(one, at + 1);
    else if (state->wanted->json)
        cli_test_print_json(one);
    else
        cli_test_print_plain(one);
    if (state->wanted->junit != NULL)
        cli_junit_add(&state->junit, one);
    if (!cli_fixture_is_good(one))
        state->call->answer = CLI_NO;
    cli_fixture_clear(one);
    fflush(stdout);
}

static bool
run_all(run_state *state)
{
    cli_call *call = state->call;
    cli_jobs_user user = { .state = state, .is_over = is_over, .played = judge_and_report, .step = show_progress };
    size_t jobs = state->wanted->jobs != 0 ? (size_t)state->wanted->jobs : cli_processors();
    uint64_t bytes = 0;

    for (size_t i = 0; i < state->suite.count; i++)
        bytes += state->suite.items[i].trace_bytes;
    if (state->wanted->tap)
        cli_test_print_tap_head(state->suite.count);
    cli_progress_init_beside(&state->progress, "test", bytes);
    bool done = cli_jobs_run(&state->suite, jobs, tried(state), &user, &call->arena, &call->error);
    cli_progress_end(&state->progress);
    if (done && state->wanted->json)
        cli_test_print_json_summary(&state->suite);
    else if (done && !state->wanted->tap)
        cli_test_print_summary(&state->suite);
    return done;
}

static bool
read_rules(run_state *state, gcache_error *error)
{
    char const *path = state->wanted->rules;
    gci_buf *text = &state->rules.text;

    return path == NULL || (gci_file_read_user(path, RULES_BYTES_MAX, text, error) == GCACHE_OK &&
                            gcache_rules_read(text->data, text->size, path, &state->rules.set, error) == GCACHE_OK);
}

/* What --accept, --event and --ask say together, and whether the options can be followed. */
static bool
read_options(options const *wanted, cli_accepting *out, gcache_error *error)
{
    char *end = NULL;

    *out = (cli_accepting){ .how = wanted->ask ? CLI_ACCEPT_ASKED : wanted->accept ? CLI_ACCEPT_ALL : CLI_ACCEPT_NONE };
    if (wanted->tap && wanted->json)
        return cli_wrong(error, "--tap and --json exclude each other");
    if (wanted->ask && (wanted->accept || wanted->tap || wanted->json))
        return cli_wrong(error, "--ask goes neither with --accept nor with --tap or --json");
    if (wanted->ask && !cli_can_ask(error))
        return false;
    if (wanted->jobs < 0)
        return cli_wrong(error, "--jobs: %lld processes", (long long)wanted->jobs);
    if (wanted->event == NULL)
        return true;
    errno = 0;
    out->how = CLI_ACCEPT_EVENT;
    out->event = strtoll(wanted->event, &end, 10);
    if (errno != 0 || end == wanted->event || *end != '\0')
        return cli_wrong(error, "--event: '%s' is no number of an event", wanted->event);
    return wanted->accept || cli_wrong(error, "--event goes with --accept");
}

/* Events are known by their number in one trace. */
static bool
is_one_event_of_one(run_state *state)
{
    return state->accepting.how != CLI_ACCEPT_EVENT || state->suite.count == 1 ||
           cli_wrong(&state->call->error, "--event takes one fixture, and here are %zu", state->suite.count);
}

static bool
find_all(run_state *state)
{
    cli_call *call = state->call;

    for (size_t i = 0; i < call->count; i++)
        if (!cli_suite_find(&state->suite, call->arguments[i], &call->error))
            return false;
    return state->suite.count != 0 || cli_wrong(&call->error, "there is no trace.jsonl in or below %s", call->arguments[0]);
}

static bool
run(cli_call *call)
{
    run_state state = { .call = call, .wanted = call->options };

    gci_buf_init(&state.rules.text, GCI_BUF_NO_LIMIT);
    cli_junit_init(&state.junit);
    bool done = read_options(state.wanted, &state.accepting, &call->error) && read_rules(&state, &call->error) &&
                find_all(&state) && is_one_event_of_one(&state);
    done = done && run_all(&state);
    if (done && state.wanted->junit != NULL)
        done = cli_junit_save(&state.junit, state.wanted->junit, &call->error);
    cli_suite_clear(&state.suite);
    cli_junit_clear(&state.junit);
    gcache_rules_free(state.rules.set);
    gci_buf_clear(&state.rules.text);
    return done;
}

static cli_option const table[] = {
    { "accept", CLI_FLAG, offsetof(options, accept), NULL, "rewrite the golden files that differ" },
    { "event", CLI_TEXT, offsetof(options, event), "N", "with --accept and one fixture: only what differs in event N" },
    { "ask", CLI_FLAG, offsetof(options, ask), NULL, "show each difference on the terminal and ask whether to accept it" },
    { "rules", CLI_TEXT, offsetof(options, rules), "FILE", "a rule set in place of the shipped one of its name" },
    { "jobs", CLI_INT, offsetof(options, jobs), "N", "play so many fixtures at a time (default 0: one a processor)" },
    { "tap", CLI_FLAG, offsetof(options, tap), NULL, "print in the Test Anything Protocol" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "print an object a fixture, and one with counts" },
    { "junit", CLI_TEXT, offsetof(options, junit), "FILE", "write a JUnit XML report as well, a case an event" },
    { 0 },
};

cli_command const cli_cmd_test = {
    .name = "test",
    .arguments = "DIR...",
    .summary = "play recorded runs and compare them with their golden files",
    .about = "Every folder with a trace.jsonl, in or below DIR, is a fixture: its events are played on a fresh cache, and\n"
             "keys, components, outcomes, chosen entries and explanations must be those of its golden.jsonl.\n"
             "GUARDCACHE_RECORD=DIR in the environment of a run records one. Exit status 1 if a fixture differs.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
