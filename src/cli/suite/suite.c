/*
 * Fixtures found, played and judged.
 */
#include "cli/suite/suite.h"

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

static bool
differs_from_golden(cli_fixture const *one)
{
    for (size_t i = 0; i < one->changes.count; i++)
        if (!one->changes.items[i].expects)
            return true;
    return false;
}

/* What is taken, as if there were nothing else. */
static bool
write_accepted(cli_fixture *one, bool const *take, gcache_error *error)
{
    cli_changes taken = one->changes;

    taken.items = malloc((taken.count + 1) * sizeof *taken.items);
    if (taken.items == NULL)
        return cli_no_memory(error);
    taken.count = 0;
    for (size_t i = 0; i < one->changes.count; i++)
        if (take[i] && !one->changes.items[i].expects)
            taken.items[taken.count++] = one->changes.items[i];
    cli_changes_write(&one->accepted, &taken, false, CLI_CHANGES_SHOWN);
    cli_hashes_write(&one->accepted, "    ", cli_changes_hashes(&taken));
    free(taken.items);
    return true;
}

/* What is taken becomes golden; the changes are those that are left. */
static bool
save_taken(cli_fixture *one, bool const *take, gcache_error *error)
{
    cli_golden merged;

    if (!write_accepted(one, take, error) ||
        !cli_golden_merge(&one->golden, &one->found, &one->changes, take, &merged, error) ||
        !cli_golden_save(one->folder, &merged, error))
        return false;
    cli_changes_clear(&one->changes);
    one->verdict = CLI_ACCEPTED;
    one->rewritten = true;
    return cli_golden_compare(&merged, &one->found, &one->changes, error);
}

/* Says which changes become golden. true: something is to be written. */
static bool
choose(cli_fixture *one, cli_accepting *accepting, bool *take)
{
    bool any = accepting->how == CLI_ACCEPT_ALL && (one->golden.old || !one->has_golden);

    if (accepting->how == CLI_ACCEPT_EVENT && one->has_golden)
        cli_changes_take_event(&one->changes, &one->found, accepting->event, take);
    one->shown = accepting->how == CLI_ACCEPT_ASKED && one->has_golden;
    if (one->shown)
        cli_ask_changes(accepting, one->folder, &one->changes, take);
    bool new = accepting->how == CLI_ACCEPT_ASKED && !one->has_golden && cli_ask_new(accepting, one->folder);
    for (size_t i = 0; i < one->changes.count; i++) {
        take[i] |= accepting->how == CLI_ACCEPT_ALL || new;
        any |= take[i] && !one->changes.items[i].expects;
    }
    return any || new;
}

static bool
has_event(cli_golden const *found, int64_t event)
{
    gci_buf number;
    uint32_t near = 0;

    gci_buf_init(&number, GCI_BUF_NO_LIMIT);
    gci_buf_append_int(&number, event);
    cli_golden_record wanted = { .part = CLI_GOLDEN_EVENT, .name = gci_buf_view(&number) };
    bool found_it = cli_golden_find(found, &wanted, &near) != NULL;
    gci_buf_clear(&number);
    return found_it;
}

static bool
accept(cli_fixture *one, cli_accepting *accepting, gcache_error *error)
{
    bool known = has_event(&one->found, accepting->event) || has_event(&one->golden, accepting->event);
    if (accepting->how == CLI_ACCEPT_EVENT && !known)
        return cli_wrong(error, "the trace has no event %lld", (long long)accepting->event);
    bool *take = calloc(one->changes.count + 1, sizeof *take);
    if (take == NULL)
        return cli_no_memory(error);
    bool done = !choose(one, accepting, take) || save_taken(one, take, error);
    free(take);
    return done;
}

static bool
judge(cli_fixture *one, cli_tried_rules const *rules, cli_accepting *accepting, gcache_error *error)
{
    if (!read_both(one, &one->has_golden, error) ||
        !cli_golden_compare(one->has_golden ? &one->golden : &one->found, &one->found, &one->changes, error) ||
        !accept(one, accepting, error))
        return false;
    bool missing = !one->has_golden && one->verdict != CLI_ACCEPTED;
    one->acceptable = missing || differs_from_golden(one);
    if (missing)
        gci_buf_append_text(&one->message, "it has no " CLI_GOLDEN_NAME " yet; --accept writes it");
    if (one->has_golden && one->acceptable && one->verdict != CLI_ACCEPTED) {
        cli_golden_write_redescribed(one->folder, &one->changes, &one->rules);
        cli_golden_write_rules(one->folder, rules, &one->golden, &one->rules);
    }
    if (missing || one->changes.count != 0)
        one->verdict = CLI_DIFFERS;
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
cli_fixture_judge(cli_fixture *one, cli_tried_rules const *rules, cli_accepting *accepting)
{
    init(one);
    one->verdict = CLI_SAME;
    one->events = one->played.events;
    if (one->was_played && judge(one, rules, accepting, &one->error))
        return;
    one->verdict = CLI_BROKEN;
    gci_buf_append_text(&one->message, one->error.message);
}
