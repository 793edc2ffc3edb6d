/*
 * guardcache test: plays fixtures and compares keys, components, outcomes, chosen entries and explanations with their
 * golden files.
 */
#include "base/error.h"
#include "base/system/file.h"
#include "cli/golden/suite.h"
#include "cli/shared/scratch.h"

#include <stdio.h>

typedef struct options {
    char const *junit, *rules;
    bool accept, tap;
} options;

#define RULES_BYTES_MAX ((size_t)16 << 20)

/* What a call works with. */
typedef struct run_state {
    cli_call *call;
    options const *wanted;
    cli_suite suite;
    cli_tried_rules rules;
    cli_junit junit;
} run_state;

static cli_tried_rules const *
tried(run_state const *state)
{
    return state->wanted->rules != NULL ? &state->rules : NULL;
}

static void
report(run_state *state, size_t at)
{
    cli_fixture *one = &state->suite.items[at];

    if (state->wanted->tap)
        cli_test_print_tap(one, at + 1);
    else
        cli_test_print_plain(one);
    if (state->wanted->junit != NULL)
        cli_junit_add(&state->junit, one);
    if (!cli_fixture_is_good(one))
        state->call->answer = CLI_NO;
    fflush(stdout);
}

static void
run_all(run_state *state)
{
    if (state->wanted->tap)
        cli_test_print_tap_head(state->suite.count);
    for (size_t i = 0; i < state->suite.count && cli_signal_caught() == 0 && !cli_output_lost(); i++) {
        cli_fixture *one = &state->suite.items[i];
        cli_fixture_play(one, tried(state), NULL, &state->call->arena);
        cli_fixture_judge(one, tried(state), state->wanted->accept);
        report(state, i);
        cli_fixture_clear(one);
    }
    if (!state->wanted->tap)
        cli_test_print_summary(&state->suite);
}

static bool
read_rules(run_state *state, gcache_error *error)
{
    char const *path = state->wanted->rules;
    gci_buf *text = &state->rules.text;

    return path == NULL || (gci_file_read_user(path, RULES_BYTES_MAX, text, error) == GCACHE_OK &&
                            gcache_rules_read(text->data, text->size, path, &state->rules.set, error) == GCACHE_OK);
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
    bool done = read_rules(&state, &call->error) && find_all(&state);
    if (done) {
        run_all(&state);
        done = state.wanted->junit == NULL || cli_junit_save(&state.junit, state.wanted->junit, &call->error);
    }
    cli_suite_clear(&state.suite);
    cli_junit_clear(&state.junit);
    gcache_rules_free(state.rules.set);
    gci_buf_clear(&state.rules.text);
    return done;
}

static cli_option const table[] = {
    { "accept", CLI_FLAG, offsetof(options, accept), NULL, "rewrite the golden files that differ" },
    { "rules", CLI_TEXT, offsetof(options, rules), "FILE", "a rule set in place of the shipped one of its name" },
    { "tap", CLI_FLAG, offsetof(options, tap), NULL, "print in the Test Anything Protocol" },
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
