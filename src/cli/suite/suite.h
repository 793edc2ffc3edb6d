/*
 * The fixtures of guardcache test: found, played, judged by their golden files.
 */
#ifndef GCI_CLI_SUITE_SUITE_H
#define GCI_CLI_SUITE_SUITE_H

#include "cli/golden/golden_change.h"

typedef enum cli_verdict {
    CLI_SAME,
    CLI_DIFFERS,
    CLI_ACCEPTED,
    CLI_BROKEN /* the trace itself can't be played, or the golden file can't be read */
} cli_verdict;

/*
 * One fixture. Everything from `played` on is there between cli_fixture_play and cli_fixture_clear.
 *
 * Invariants: message is set for BROKEN, and for DIFFERS without a golden file. changes are those that are left, also after
 * some were accepted; accepted says which those were.
 */
typedef struct cli_fixture {
    char *folder;
    uint64_t trace_bytes;
    cli_verdict verdict;
    bool acceptable; /* it differs in what --accept would rewrite */
    bool has_golden, rewritten; /* the golden file */
    bool shown;      /* its changes were, when asking about them */
    size_t events;
    cli_played played;
    gcache_error error; /* of playing */
    bool was_played;
    gci_buf expected; /* the golden file; its and the found records point into it and into played */
    gci_arena arena;
    cli_golden golden, found;
    cli_changes changes;
    gci_buf message, accepted, rules; /* rules: what changed rules make of descriptions, as lines */
} cli_fixture;

typedef struct cli_suite {
    cli_fixture *items;
    size_t count, room;
    size_t tested; /* the first ones */
} cli_suite;

/* Adds the fixtures in and below a folder, by name. */
bool cli_suite_find(cli_suite *suite, char const *folder, gcache_error *error);
void cli_suite_clear(cli_suite *suite);

/* What of the differences becomes golden. */
typedef struct cli_accepting {
    enum { CLI_ACCEPT_NONE, CLI_ACCEPT_ALL, CLI_ACCEPT_EVENT, CLI_ACCEPT_ASKED } how;
    int64_t event; /* of CLI_ACCEPT_EVENT */
    bool quit;     /* of CLI_ACCEPT_ASKED: no more questions */
} cli_accepting;

/* Plays it; whether that was possible, judging finds out. */
void cli_fixture_play(cli_fixture *one, cli_tried_rules const *rules, cli_played_watch const *watch, gci_arena *arena);
/* Compares it with its golden file, which is rewritten as far as differences are accepted. */
void cli_fixture_judge(cli_fixture *one, cli_tried_rules const *rules, cli_accepting *accepting);
/* Forgets everything but folder and verdict. */
void cli_fixture_clear(cli_fixture *one);

static inline bool
cli_fixture_is_good(cli_fixture const *one)
{
    return one->verdict == CLI_SAME || one->verdict == CLI_ACCEPTED;
}

/* ---- jobs.c: fixtures played in processes of their own, several at a time, and handed out in order ---- */

/* What is done with the fixtures. */
typedef struct cli_jobs_user {
    void *state;
    bool (*is_over)(void *state); /* true: what isn't handed out yet needn't be played */
    void (*played)(void *state, size_t index); /* once for each fixture, in the order of the suite */
    void (*step)(void *state, uint64_t bytes); /* bytes of traces that are played by now */
} cli_jobs_user;

/* The processors that this process may use, at least 1. */
size_t cli_processors(void);

/*
 * Plays all of a suite, at most jobs (not 0) at a time; with 1, in this process. What can't be played is handed out as such. Fails
 * where there is no memory, or no process could be started. The arena is used for what is played here.
 */
bool cli_jobs_run(cli_suite *suite, size_t jobs, cli_tried_rules const *rules, cli_jobs_user const *user, gci_arena *arena,
                  gcache_error *error);

/* ---- ask.c ---- */

/* Fails where there is no terminal to ask on. */
bool cli_can_ask(gcache_error *error);
/* Shows each change and asks; take has a place a change. */
void cli_ask_changes(cli_accepting *accepting, char const *folder, cli_changes const *changes, bool *take);
/* Whether a fixture's golden file, which isn't there yet, is to be written. */
bool cli_ask_new(cli_accepting *accepting, char const *folder);

/* ---- test_output.c ---- */

/* Changes that are shown of one fixture. */
#define CLI_CHANGES_SHOWN 10

/* Half a sentence: why it isn't good. */
void cli_fixture_write_headline(gci_buf *out, cli_fixture const *one);

void cli_test_print_plain(cli_fixture const *one);
void cli_test_print_summary(cli_suite const *suite);
void cli_test_print_tap_head(size_t count);
void cli_test_print_tap(cli_fixture const *one, size_t number);
/* A line. */
void cli_test_print_json(cli_fixture const *one);
void cli_test_print_json_summary(cli_suite const *suite);

/* ---- junit.c ---- */

typedef struct cli_junit {
    gci_buf suites;
    size_t cases, failures, errors;
    uint64_t elapsed_ns;
} cli_junit;

void cli_junit_init(cli_junit *report);
void cli_junit_clear(cli_junit *report);
/* A case an event; one more for what is no event's: a golden file that isn't there, a trace that can't be played. */
void cli_junit_add(cli_junit *report, cli_fixture const *one);
bool cli_junit_save(cli_junit const *report, char const *path, gcache_error *error);

#endif
