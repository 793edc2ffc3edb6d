/*
 * What guardcache test prints: for people, in the Test Anything Protocol, whose failures have a YAML block, and as JSON.
 */
#include "base/text/json.h"
#include "base/visible.h"
#include "cli/suite/suite.h"
#include "cli/shared/cli.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- for people ---- */

void
cli_fixture_write_headline(gci_buf *out, cli_fixture const *one)
{
    if (one->message.size != 0)
        gci_buf_append_view(out, gci_buf_view(&one->message));
    else
        cli_changes_write_headline(out, &one->changes);
}

static void
print_below(cli_fixture const *one)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    cli_changes_write(&text, &one->changes, true, CLI_CHANGES_SHOWN);
    gci_buf_append_view(&text, gci_buf_view(&one->rules));
    cli_hashes_write(&text, "    ", cli_changes_hashes(&one->changes));
    cli_print_lines(gci_buf_view(&text));
    gci_buf_clear(&text);
}

static void
print_line(cli_fixture const *one, char const *word)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (cli_fixture_is_good(one))
        gci_buf_format(&text, "%6zu %s", one->events, one->events == 1 ? "event" : "events");
    else
        cli_fixture_write_headline(&text, one);
    char *headline = gci_buf_take_text(&text);
    cli_print("%-9s %-50s %s\n", word, one->folder, headline != NULL ? headline : "");
    free(headline);
}

/* What was accepted has a line of its own where something is left. */
void
cli_test_print_plain(cli_fixture const *one)
{
    static char const *const words[] = { "ok", "FAIL", "accepted", "ERROR" };
    bool in_part = one->rewritten && one->verdict != CLI_ACCEPTED;

    if (in_part)
        cli_print("%-9s %s, in part\n", words[CLI_ACCEPTED], one->folder);
    if (in_part && !one->shown)
        cli_print_lines(gci_buf_view(&one->accepted));
    print_line(one, words[one->verdict]);
    if (one->verdict == CLI_ACCEPTED && !one->shown)
        cli_print_lines(gci_buf_view(&one->accepted));
    if (one->verdict == CLI_DIFFERS && !one->shown)
        print_below(one);
}

static size_t
count_of(cli_suite const *suite, cli_verdict wanted)
{
    size_t count = 0;

    for (size_t i = 0; i < suite->tested; i++)
        count += suite->items[i].verdict == wanted;
    return count;
}

static size_t
count_acceptable(cli_suite const *suite)
{
    size_t count = 0;

    for (size_t i = 0; i < suite->tested; i++)
        count += suite->items[i].verdict == CLI_DIFFERS && suite->items[i].acceptable;
    return count;
}

/* Golden files that were written, also where something is left. */
static size_t
count_rewritten(cli_suite const *suite)
{
    size_t count = 0;

    for (size_t i = 0; i < suite->tested; i++)
        count += suite->items[i].rewritten;
    return count;
}

/* --accept is advised where it helps: not for a trace that can't be played, or that expects something else. */
static void
print_differing(cli_suite const *suite, size_t differ)
{
    size_t acceptable = count_acceptable(suite);

    cli_print("%zu of %zu %s %s", differ, suite->tested, suite->tested == 1 ? "fixture" : "fixtures",
              suite->tested == 1 ? "differs" : "differ");
    if (acceptable == differ)
        cli_print("; --accept rewrites %s", differ == 1 ? "it" : "them");
    else if (acceptable != 0)
        cli_print("; --accept rewrites %zu of them", acceptable);
    cli_print("\n");
}

void
cli_test_print_summary(cli_suite const *suite)
{
    size_t rewritten = count_rewritten(suite), differ = count_of(suite, CLI_DIFFERS), broken = count_of(suite, CLI_BROKEN);
    size_t tested = suite->tested;

    if (rewritten != 0)
        cli_print("%zu golden %s rewritten\n", rewritten, rewritten == 1 ? "file is" : "files are");
    else if (differ + broken == 0)
        cli_print("%zu %s\n", tested, tested == 1 ? "fixture is as it was" : "fixtures are as they were");
    if (differ != 0)
        print_differing(suite, differ);
    if (broken != 0)
        cli_print("%zu of %zu %s can't be tested\n", broken, tested, tested == 1 ? "fixture" : "fixtures");
    if (tested < suite->count)
        cli_print("%zu of %zu %s tested\n", suite->count - tested, suite->count,
                  suite->count - tested == 1 ? "wasn't" : "weren't");
}

/* ---- TAP ---- */

void
cli_test_print_tap_head(size_t count)
{
    cli_print("TAP version 13\n1..%zu\n", count);
}

/* A test's description, in which "#" would begin a directive, and the end of a line another test. */
static void
write_description(gci_buf *out, char const *text)
{
    gci_buf visible;

    gci_buf_init(&visible, GCI_BUF_NO_LIMIT);
    gci_visible_append(&visible, gci_view_text(text));
    for (size_t i = 0; i < visible.size; i++) {
        if (visible.data[i] == '#' || visible.data[i] == '\\')
            gci_buf_append_char(out, '\\');
        gci_buf_append_char(out, visible.data[i]);
    }
    out->failed |= visible.failed;
    gci_buf_clear(&visible);
}

/* A JSON text is a YAML one. */
static void
write_text(gci_buf *out, char const *before, gci_view text)
{
    gci_buf_append_text(out, before);
    gci_json_write_text(out, text);
    gci_buf_append_char(out, '\n');
}

static void
write_details(gci_buf *out, gci_view details)
{
    if (details.size != 0)
        gci_buf_append_text(out, "      details:\n");
    for (gci_view line; gci_view_next_line(&details, &line);)
        write_text(out, "        - ", line);
}

static void
write_differences(gci_buf *out, cli_changes const *changes)
{
    size_t shown = 0;

    for (size_t i = 0; i < changes->count; i++) {
        cli_change const *change = &changes->items[i];
        if (!cli_change_is_shown(change) || shown++ >= CLI_CHANGES_SHOWN)
            continue;
        if (shown == 1)
            gci_buf_append_text(out, "  differences:\n");
        write_text(out, "    - about: ", change->subject);
        write_text(out, "      reason: ", change->reason);
        write_details(out, change->details);
    }
    if (shown > CLI_CHANGES_SHOWN)
        gci_buf_format(out, "  left_out: %zu\n", shown - CLI_CHANGES_SHOWN);
}

static void
write_yaml(gci_buf *out, cli_fixture const *one)
{
    gci_buf headline;

    gci_buf_init(&headline, GCI_BUF_NO_LIMIT);
    cli_fixture_write_headline(&headline, one);
    gci_buf_append_text(out, "  ---\n");
    write_text(out, "  message: ", gci_buf_view(&headline));
    gci_buf_format(out, "  severity: %s\n  events: %zu\n", one->verdict == CLI_BROKEN ? "error" : "fail", one->events);
    write_differences(out, &one->changes);
    gci_buf_append_text(out, "  ...\n");
    gci_buf_clear(&headline);
}

void
cli_test_print_tap(cli_fixture const *one, size_t number)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "%sok %zu - ", cli_fixture_is_good(one) ? "" : "not ", number);
    write_description(&text, one->folder);
    gci_buf_append_char(&text, '\n');
    if (!cli_fixture_is_good(one))
        write_yaml(&text, one);
    cli_print_lines(gci_buf_view(&text));
    gci_buf_clear(&text);
}

/* ---- JSON ---- */

static uint64_t
elapsed_of(cli_fixture const *one)
{
    uint64_t elapsed_ns = 0;

    for (size_t i = 0; i < one->played.events; i++)
        elapsed_ns += one->played.elapsed_ns[i];
    return elapsed_ns;
}

static void
write_json_lines(gci_buf *out, gci_view text)
{
    gci_buf_append_char(out, '[');
    for (gci_view line; gci_view_next_line(&text, &line);) {
        gci_json_next(out);
        gci_json_write_text(out, line);
    }
    gci_buf_append_char(out, ']');
}

static void
write_json_differences(gci_buf *out, cli_changes const *changes)
{
    gci_buf_append_char(out, '[');
    for (size_t i = 0; i < changes->count; i++) {
        cli_change const *change = &changes->items[i];
        if (!cli_change_is_shown(change))
            continue;
        gci_json_next(out);
        gci_buf_append_char(out, '{');
        gci_json_member_text(out, "about", change->subject);
        gci_json_member_text(out, "reason", change->reason);
        gci_json_member(out, "details");
        write_json_lines(out, change->details);
        gci_buf_append_char(out, '}');
    }
    gci_buf_append_char(out, ']');
}

static void
write_json_hashes(gci_buf *out, cli_hashes hashes)
{
    gci_buf_append_char(out, '{');
    gci_json_member_number(out, "keys", hashes.keys);
    gci_json_member_number(out, "components", hashes.components);
    gci_json_member_number(out, "ids", hashes.ids);
    gci_buf_append_char(out, '}');
}

void
cli_test_print_json(cli_fixture const *one)
{
    static char const *const words[] = { "same", "differs", "accepted", "broken" };
    gci_buf out;

    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    gci_buf_append_char(&out, '{');
    gci_json_member(&out, "fixture");
    gci_json_write_text(&out, gci_view_text(one->folder));
    gci_json_member_text(&out, "verdict", gci_view_text(words[one->verdict]));
    gci_json_member_number(&out, "events", one->events);
    gci_json_member_number(&out, "elapsed_ns", elapsed_of(one));
    if (one->message.size != 0)
        gci_json_member_text(&out, "message", gci_buf_view(&one->message));
    gci_json_member(&out, "differences");
    write_json_differences(&out, &one->changes);
    gci_json_member(&out, "and_so");
    write_json_hashes(&out, cli_changes_hashes(&one->changes));
    gci_buf_append_text(&out, "}\n");
    cli_write(gci_buf_view(&out));
    gci_buf_clear(&out);
}

void
cli_test_print_json_summary(cli_suite const *suite)
{
    gci_buf out;

    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&out, "{\"summary\": {");
    gci_json_member_number(&out, "fixtures", suite->count);
    gci_json_member_number(&out, "same", count_of(suite, CLI_SAME));
    gci_json_member_number(&out, "differ", count_of(suite, CLI_DIFFERS));
    gci_json_member_number(&out, "broken", count_of(suite, CLI_BROKEN));
    gci_json_member_number(&out, "rewritten", count_rewritten(suite));
    gci_buf_append_text(&out, "}}\n");
    cli_write(gci_buf_view(&out));
    gci_buf_clear(&out);
}
