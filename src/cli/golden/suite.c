/*
 * Fixtures found, played and judged.
 */
#include "cli/golden/suite.h"

#include "base/array.h"
#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* Folders in folders: fixtures lie one or two levels deep. */
#define DEPTH_MAX 8
/* Both golden files' trees. */
#define TREES_MAX_BYTES ((size_t)4 << 30)

/* ---- finding ---- */

static bool
add_fixture(cli_suite *suite, char const *folder, uint64_t bytes, gcache_error *error)
{
    if (!gci_array_has_room(&suite->items, suite->count, &suite->room, sizeof *suite->items))
        return cli_no_memory(error);
    cli_fixture *added = &suite->items[suite->count];
    *added = (cli_fixture){ .folder = strdup(folder), .trace_bytes = bytes };
    suite->count += added->folder != NULL;
    return added->folder != NULL || cli_no_memory(error);
}

static bool find_fixtures(cli_suite *suite, char const *folder, int depth, gcache_error *error);

static bool
find_below(cli_suite *suite, char const *folder, int depth, gcache_error *error)
{
    struct dirent **names;
    int count = scandir(folder, &names, NULL, alphasort);
    bool done = count >= 0 || gci_fail_errno(error, errno, "%s", folder) == GCACHE_OK;

    for (int i = 0; i < count; i++) {
        char path[CLI_TRACE_PATH];
        bool visible = names[i]->d_name[0] != '.' && (names[i]->d_type == DT_DIR || names[i]->d_type == DT_UNKNOWN);
        if (done && visible && snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name) < CLI_TRACE_PATH)
            done = find_fixtures(suite, path, depth + 1, error);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return done;
}

/* A folder with a trace is a fixture; any other is searched. */
static bool
find_fixtures(cli_suite *suite, char const *folder, int depth, gcache_error *error)
{
    char path[CLI_TRACE_PATH];
    struct stat facts;

    if (!cli_trace_path(folder, CLI_TRACE_NAME, path, error))
        return false;
    if (stat(path, &facts) == 0)
        return add_fixture(suite, folder, facts.st_size > 0 ? (uint64_t)facts.st_size : 0, error);
    return depth >= DEPTH_MAX || find_below(suite, folder, depth, error);
}

bool
cli_suite_find(cli_suite *suite, char const *folder, gcache_error *error)
{
    return find_fixtures(suite, folder, 0, error);
}

void
cli_suite_clear(cli_suite *suite)
{
    for (size_t i = 0; i < suite->count; i++) {
        cli_fixture_clear(&suite->items[i]);
        free(suite->items[i].folder);
    }
    free(suite->items);
}

/* ---- playing ---- */

void
cli_fixture_play(cli_fixture *one, cli_tried_rules const *rules, cli_played_watch const *watch, gci_arena *arena)
{
    one->was_played = cli_golden_play(one->folder, rules, watch, arena, &one->played, &one->error);
}

void
cli_fixture_clear(cli_fixture *one)
{
    cli_played_clear(&one->played);
    one->played = (cli_played){ 0 };
    gci_buf_clear(&one->expected);
    cli_changes_clear(&one->changes);
    gci_arena_clear(&one->arena);
    gci_buf_clear(&one->message);
    gci_buf_clear(&one->accepted);
    gci_buf_clear(&one->rules);
}

/* ---- judging ---- */

static bool
read_both(cli_fixture *one, bool *out_exists, gcache_error *error)
{
    char path[CLI_TRACE_PATH];

    if (!cli_golden_load(one->folder, &one->expected, out_exists, error) ||
        !cli_golden_read(gci_buf_view(&one->played.lines), CLI_TRACE_NAME, &one->arena, &one->found, error) ||
        !cli_trace_path(one->folder, CLI_GOLDEN_NAME, path, error) ||
        !cli_golden_read(gci_buf_view(&one->expected), path, &one->arena, &one->golden, error))
        return false;
    cli_golden_complete(&one->golden, &one->found);
    cli_golden_settle(&one->found);
    cli_golden_settle(&one->golden);
    return !one->arena.failed || cli_no_memory(error);
}

/* The golden file becomes what was found; what is left differs from what the trace expects. */
static bool
accept_all(cli_fixture *one, gcache_error *error)
{
    cli_changes_write(&one->accepted, &one->changes, false, CLI_CHANGES_SHOWN);
    cli_hashes_write(&one->accepted, "    ", cli_changes_hashes(&one->changes));
    cli_changes_clear(&one->changes);
    one->verdict = CLI_ACCEPTED;
    return cli_golden_save(one->folder, &one->found, error) && cli_golden_compare(&one->found, &one->found, &one->changes, error);
}

static bool
differs_from_golden(cli_fixture const *one)
{
    for (size_t i = 0; i < one->changes.count; i++)
        if (!one->changes.items[i].expects)
            return true;
    return false;
}

static bool
judge(cli_fixture *one, cli_tried_rules const *rules, bool accept, gcache_error *error)
{
    bool exists;

    if (!read_both(one, &exists, error) ||
        !cli_golden_compare(exists ? &one->golden : &one->found, &one->found, &one->changes, error))
        return false;
    one->acceptable = !exists || differs_from_golden(one);
    if (accept && (one->acceptable || one->golden.old) && !accept_all(one, error))
        return false;
    if (one->changes.count != 0 || (!exists && !accept))
        one->verdict = CLI_DIFFERS;
    if (one->verdict != CLI_DIFFERS || accept)
        one->acceptable = false;
    if (!exists && !accept)
        gci_buf_append_text(&one->message, "it has no " CLI_GOLDEN_NAME " yet; --accept writes it");
    else if (one->acceptable)
        cli_golden_write_rules(one->folder, rules, &one->golden, &one->rules);
    return true;
}

static void
init(cli_fixture *one)
{
    gci_arena_init(&one->arena, TREES_MAX_BYTES);
    gci_buf_init(&one->expected, GCI_BUF_NO_LIMIT);
    gci_buf_init(&one->message, GCI_BUF_NO_LIMIT);
    gci_buf_init(&one->accepted, GCI_BUF_NO_LIMIT);
    gci_buf_init(&one->rules, GCI_BUF_NO_LIMIT);
}

void
cli_fixture_judge(cli_fixture *one, cli_tried_rules const *rules, bool accept)
{
    init(one);
    one->verdict = CLI_SAME;
    one->events = one->played.events;
    if (one->was_played && judge(one, rules, accept, &one->error))
        return;
    one->verdict = CLI_BROKEN;
    gci_buf_append_text(&one->message, one->error.message);
}
