/*
 * guardcache test: plays fixtures and compares keys, components, outcomes, chosen entries and explanations with their
 * golden files.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/system/file.h"
#include "cli/golden/golden.h"
#include "cli/shared/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct options {
    char const *junit, *rules;
    bool accept, tap;
} options;

/* Folders in folders: fixtures lie one or two levels deep. */
#define DEPTH_MAX 8
/* Differences that are shown of one fixture. */
#define DIFFERENCES_SHOWN 10
#define RULES_BYTES_MAX ((size_t)16 << 20)

typedef enum verdict {
    SAME,
    DIFFERS,
    ACCEPTED,
    BROKEN /* the trace itself can't be played */
} verdict;

typedef struct fixture {
    char *folder;
    verdict verdict;
    uint64_t events;
    gci_buf report;
} fixture;

typedef struct suite {
    fixture *items;
    size_t count, room;
} suite;

/* ---- finding fixtures ---- */

static bool
add_fixture(suite *all, char const *folder, gcache_error *error)
{
    if (!gci_array_has_room(&all->items, all->count, &all->room, sizeof *all->items))
        return cli_no_memory(error);
    fixture *added = &all->items[all->count];
    *added = (fixture){ .folder = strdup(folder) };
    gci_buf_init(&added->report, GCI_BUF_NO_LIMIT);
    all->count += added->folder != NULL;
    return added->folder != NULL || cli_no_memory(error);
}

static bool find_fixtures(suite *all, char const *folder, int depth, gcache_error *error);

static bool
find_below(suite *all, char const *folder, int depth, gcache_error *error)
{
    struct dirent **names;
    int count = scandir(folder, &names, NULL, alphasort);
    bool done = count >= 0 || gci_fail_errno(error, errno, "%s", folder) == GCACHE_OK;

    for (int i = 0; i < count; i++) {
        char path[CLI_TRACE_PATH];
        bool visible = names[i]->d_name[0] != '.' && (names[i]->d_type == DT_DIR || names[i]->d_type == DT_UNKNOWN);
        if (done && visible && snprintf(path, sizeof path, "%s/%s", folder, names[i]->d_name) < CLI_TRACE_PATH)
            done = find_fixtures(all, path, depth + 1, error);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return done;
}

/* A folder with a trace is a fixture; any other is searched. */
static bool
find_fixtures(suite *all, char const *folder, int depth, gcache_error *error)
{
    char path[CLI_TRACE_PATH];

    if (!cli_trace_path(folder, CLI_TRACE_NAME, path, error))
        return false;
    if (access(path, F_OK) == 0)
        return add_fixture(all, folder, error);
    return depth >= DEPTH_MAX || find_below(all, folder, depth, error);
}

/* ---- one fixture ---- */

static void
compare(fixture *one, gci_view expected, bool exists, gci_view found, cli_tried_rules const *rules, bool accept)
{
    size_t differences = exists ? cli_golden_compare(expected, found, DIFFERENCES_SHOWN, &one->report) : 1;

    one->verdict = differences == 0 ? SAME : accept ? ACCEPTED : DIFFERS;
    if (!exists)
        gci_buf_append_text(&one->report, accept ? "" : "    it has no " CLI_GOLDEN_NAME " yet; --accept writes it\n");
    if (one->verdict == DIFFERS && exists)
        cli_golden_write_rules(one->folder, rules, expected, &one->report);
}

static bool
judge(fixture *one, cli_golden const *golden, cli_tried_rules const *rules, bool accept, gcache_error *error)
{
    gci_view found = gci_buf_view(&golden->found);
    gci_buf expected;
    bool exists;

    gci_buf_init(&expected, GCI_BUF_NO_LIMIT);
    bool done = cli_golden_load(one->folder, &expected, &exists, error);
    if (done)
        compare(one, gci_buf_view(&expected), exists, found, rules, accept);
    gci_buf_clear(&expected);
    if (done && one->verdict == ACCEPTED)
        done = cli_golden_save(one->folder, found, error);
    if (golden->counts.mismatches == 0)
        return done;
    gci_buf_format(&one->report, "    %llu %s from what the trace expects\n", (unsigned long long)golden->counts.mismatches,
                   golden->counts.mismatches == 1 ? "event differs" : "events differ");
    one->verdict = one->verdict == SAME ? DIFFERS : one->verdict;
    return done;
}

static void
run_fixture(fixture *one, cli_tried_rules const *rules, bool accept, gci_arena *arena)
{
    gcache_error error = { 0 };
    cli_golden golden;

    if (!cli_golden_play(one->folder, rules, arena, &golden, &error) || !judge(one, &golden, rules, accept, &error)) {
        one->verdict = BROKEN;
        gci_buf_format(&one->report, "    %s\n", error.message);
    }
    one->events = golden.events;
    gci_buf_clear(&golden.found);
}

/* ---- what comes out ---- */

static bool
is_good(fixture const *one)
{
    return one->verdict == SAME || one->verdict == ACCEPTED;
}

static void
print_plain(fixture const *one)
{
    static char const *const words[] = { "ok", "FAIL", "accepted", "ERROR" };

    cli_print("%-9s %-50s %6llu events\n", words[one->verdict], one->folder, (unsigned long long)one->events);
    if (one->verdict != SAME)
        cli_print_lines(gci_buf_view(&one->report));
}

static void
print_tap(fixture const *one, size_t number)
{
    gci_view report = is_good(one) ? (gci_view){ 0 } : gci_buf_view(&one->report), line;

    cli_print("%sok %zu - %s\n", is_good(one) ? "" : "not ", number, one->folder);
    while (gci_view_next_line(&report, &line)) {
        fputs("# ", stdout);
        cli_print_lines(line);
        putchar('\n');
    }
}

static void
write_xml(gci_buf *out, gci_view text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '<' || c == '>' || c == '&' || c == '"')
            gci_buf_append_text(out, c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : "&quot;");
        else
            gci_buf_append_char(out, (unsigned char)c < 0x20 && c != '\n' && c != '\t' ? '?' : c);
    }
}

static bool
write_junit(suite const *all, char const *path, size_t failed, gcache_error *error)
{
    gci_buf out;

    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    gci_buf_format(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                         "<testsuite name=\"guardcache test\" tests=\"%zu\" failures=\"%zu\">\n", all->count, failed);
    for (size_t i = 0; i < all->count; i++) {
        gci_buf_append_text(&out, "  <testcase name=\"");
        write_xml(&out, gci_view_text(all->items[i].folder));
        gci_buf_append_text(&out, is_good(&all->items[i]) ? "\"/>\n" : "\"><failure>");
        if (is_good(&all->items[i]))
            continue;
        write_xml(&out, gci_buf_view(&all->items[i].report));
        gci_buf_append_text(&out, "</failure></testcase>\n");
    }
    gci_buf_append_text(&out, "</testsuite>\n");
    bool done =
        out.failed ? cli_no_memory(error) : gci_file_write_user(path, gci_buf_view(&out), error) == GCACHE_OK;
    gci_buf_clear(&out);
    return done;
}

static size_t
count_of(suite const *all, verdict wanted)
{
    size_t count = 0;

    for (size_t i = 0; i < all->count; i++)
        count += all->items[i].verdict == wanted;
    return count;
}

/* A trace that can't be played has nothing that could be accepted. */
static void
print_summary(suite const *all)
{
    size_t accepted = count_of(all, ACCEPTED), differ = count_of(all, DIFFERS), broken = count_of(all, BROKEN);
    char const *noun = all->count == 1 ? "fixture" : "fixtures";

    if (accepted != 0)
        cli_print("%zu golden %s rewritten\n", accepted, accepted == 1 ? "file is" : "files are");
    else if (differ + broken == 0)
        cli_print("%zu %s\n", all->count, all->count == 1 ? "fixture is as it was" : "fixtures are as they were");
    if (differ != 0)
        cli_print("%zu of %zu %s %s; --accept rewrites %s\n", differ, all->count, noun, all->count == 1 ? "differs" : "differ",
                  differ == 1 ? "it" : "them");
    if (broken != 0)
        cli_print("%zu of %zu %s can't be played\n", broken, all->count, noun);
}

/* ---- the command ---- */

static size_t
run_all(cli_call *call, suite *all, cli_tried_rules const *rules)
{
    options const *wanted = call->options;
    size_t failed = 0;

    if (wanted->tap)
        cli_print("1..%zu\n", all->count);
    for (size_t i = 0; i < all->count && cli_signal_caught() == 0 && !cli_output_lost(); i++) {
        run_fixture(&all->items[i], rules, wanted->accept, &call->arena);
        failed += !is_good(&all->items[i]);
        if (wanted->tap)
            print_tap(&all->items[i], i + 1);
        else
            print_plain(&all->items[i]);
        fflush(stdout);
    }
    if (!wanted->tap)
        print_summary(all);
    call->answer = failed == 0 ? CLI_OK : CLI_NO;
    return failed;
}

static void
clear(suite *all)
{
    for (size_t i = 0; i < all->count; i++) {
        free(all->items[i].folder);
        gci_buf_clear(&all->items[i].report);
    }
    free(all->items);
}

static bool
read_rules(char const *path, cli_tried_rules *out_rules, gcache_error *error)
{
    return gci_file_read_user(path, RULES_BYTES_MAX, &out_rules->text, error) == GCACHE_OK &&
           gcache_rules_read(out_rules->text.data, out_rules->text.size, path, &out_rules->set, error) == GCACHE_OK;
}

static bool
find_all(cli_call *call, suite *all)
{
    for (size_t i = 0; i < call->count; i++)
        if (!find_fixtures(all, call->arguments[i], 0, &call->error))
            return false;
    return all->count != 0 || cli_wrong(&call->error, "there is no trace.jsonl in or below %s", call->arguments[0]);
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    cli_tried_rules rules = { 0 };
    suite all = { 0 };

    gci_buf_init(&rules.text, GCI_BUF_NO_LIMIT);
    bool done = (wanted->rules == NULL || read_rules(wanted->rules, &rules, &call->error)) && find_all(call, &all);
    if (done) {
        size_t failed = run_all(call, &all, wanted->rules != NULL ? &rules : NULL);
        done = wanted->junit == NULL || write_junit(&all, wanted->junit, failed, &call->error);
    }
    clear(&all);
    gcache_rules_free(rules.set);
    gci_buf_clear(&rules.text);
    return done;
}

static cli_option const table[] = {
    { "accept", CLI_FLAG, offsetof(options, accept), NULL, "rewrite the golden files that differ" },
    { "rules", CLI_TEXT, offsetof(options, rules), "FILE", "a rule set in place of the shipped one of its name" },
    { "tap", CLI_FLAG, offsetof(options, tap), NULL, "print in the Test Anything Protocol" },
    { "junit", CLI_TEXT, offsetof(options, junit), "FILE", "write a JUnit XML report as well" },
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
