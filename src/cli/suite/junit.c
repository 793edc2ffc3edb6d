/*
 * A JUnit report: a suite a fixture, a case an event.
 *
 * What is about a rule set or a description fails the first event that uses it. An event that is gone has a case as well.
 */
#include "base/system/clock.h"
#include "base/system/file.h"
#include "base/visible.h"
#include "cli/suite/suite.h"
#include "cli/shared/cli.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- XML ---- */

/* Made visible first: XML has no control characters, not even escaped, and is UTF-8. */
static void
write_xml(gci_buf *out, gci_view text)
{
    static struct {
        char character;
        char const *written;
    } const escapes[] = { { '<', "&lt;" }, { '>', "&gt;" }, { '&', "&amp;" }, { '"', "&quot;" } };
    gci_buf visible;

    gci_buf_init(&visible, GCI_BUF_NO_LIMIT);
    gci_visible_append_lines(&visible, text);
    for (size_t i = 0; i < visible.size; i++) {
        size_t at = 0;
        while (at < 4 && escapes[at].character != visible.data[i])
            at++;
        if (at < 4)
            gci_buf_append_text(out, escapes[at].written);
        else
            gci_buf_append_char(out, visible.data[i]);
    }
    out->failed |= visible.failed;
    gci_buf_clear(&visible);
}

static void
write_attribute(gci_buf *out, char const *name, gci_view value)
{
    gci_buf_format(out, " %s=\"", name);
    write_xml(out, value);
    gci_buf_append_char(out, '"');
}

static void
write_time(gci_buf *out, uint64_t ns)
{
    gci_buf_format(out, " time=\"%.6f\"", (double)ns / (double)GCI_SECOND_NS);
}

/* ---- cases ---- */

typedef struct suite {
    cli_fixture const *one;
    gci_buf cases;
    size_t count, failures, errors;
    uint64_t elapsed_ns;
} suite;

static void
begin_case(suite *s, gci_view name, uint64_t ns)
{
    gci_buf_append_text(&s->cases, "    <testcase");
    write_attribute(&s->cases, "classname", gci_view_text(s->one->folder));
    write_attribute(&s->cases, "name", name);
    write_time(&s->cases, ns);
    s->count++;
    s->elapsed_ns += ns;
}

/* what: "failure" or "error". message empty: it is good. */
static void
end_case(suite *s, char const *what, gci_view message, gci_view text)
{
    if (message.size == 0) {
        gci_buf_append_text(&s->cases, "/>\n");
        return;
    }
    gci_buf_format(&s->cases, ">\n      <%s", what);
    write_attribute(&s->cases, "message", message);
    gci_buf_append_char(&s->cases, '>');
    write_xml(&s->cases, text);
    gci_buf_format(&s->cases, "</%s>\n    </testcase>\n", what);
    *(what[0] == 'e' ? &s->errors : &s->failures) += 1;
}

/* Whether the event uses what the record is about. */
static bool
uses(cli_fixture const *one, cli_golden_record const *event, cli_golden_record const *record)
{
    gci_view graph = cli_golden_text(&event->map, "graph");
    cli_golden_record wanted = { .part = CLI_GOLDEN_DESCRIPTION, .name = graph };
    uint32_t near = 0;

    if (record->part == CLI_GOLDEN_DESCRIPTION)
        return gci_view_equal(graph, record->name);
    cli_golden_record const *description = graph.size != 0 ? cli_golden_find(&one->found, &wanted, &near) : NULL;
    return description != NULL && gci_view_equal(cli_golden_text(&description->map, "kind"), record->name);
}

/* The event that a change fails; NULL: none that was played. */
static cli_golden_record const *
event_of(cli_fixture const *one, cli_change const *change)
{
    cli_golden_record const *record = cli_change_record(change);

    if (record->part == CLI_GOLDEN_EVENT)
        return change->is;
    for (uint32_t i = 0; i < one->found.count; i++)
        if (one->found.items[i].part == CLI_GOLDEN_EVENT && uses(one, &one->found.items[i], record))
            return &one->found.items[i];
    return NULL;
}

/* Its first reason is the message; each reason with what shows it is the text. */
static void
write_change(cli_change const *change, gci_buf *message, gci_buf *text)
{
    bool event = cli_change_record(change)->part == CLI_GOLDEN_EVENT;

    if (message->size == 0) {
        if (!event)
            gci_buf_format(message, "%.*s: ", (int)change->subject.size, change->subject.data);
        gci_buf_append_view(message, change->reason);
    }
    gci_buf_format(text, "%.*s: %.*s\n", (int)change->subject.size, change->subject.data, (int)change->reason.size,
                   change->reason.data);
    for (gci_view rest = change->details, line; gci_view_next_line(&rest, &line);)
        gci_buf_format(text, "    %.*s\n", (int)line.size, line.data);
    cli_hashes_write(text, "    ", change->hashes);
}

static void
write_name(gci_buf *name, cli_golden_record const *event)
{
    gci_view op = cli_golden_text(&event->map, "op"), graph = cli_golden_text(&event->map, "graph");

    gci_buf_format(name, "event %.*s", (int)event->name.size, event->name.data);
    if (op.size != 0)
        gci_buf_format(name, ": %.*s %.*s", (int)op.size, op.data, (int)graph.size, graph.data);
}

/* failed: the event of each change. */
static void
write_event(suite *s, cli_golden_record const *event, cli_golden_record const *const *failed, uint64_t ns)
{
    cli_changes const *changes = &s->one->changes;
    gci_buf name, message, text;

    gci_buf_init(&name, GCI_BUF_NO_LIMIT);
    gci_buf_init(&message, GCI_BUF_NO_LIMIT);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    write_name(&name, event);
    for (size_t i = 0; i < changes->count; i++)
        if (failed[i] == event && cli_change_is_shown(&changes->items[i]))
            write_change(&changes->items[i], &message, &text);
    begin_case(s, gci_buf_view(&name), ns);
    end_case(s, "failure", gci_buf_view(&message), gci_buf_view(&text));
    gci_buf_clear(&name);
    gci_buf_clear(&message);
    gci_buf_clear(&text);
}

static void
write_events(suite *s)
{
    cli_fixture const *one = s->one;
    cli_golden_record const **failed = calloc(one->changes.count + 1, sizeof *failed);
    size_t number = 0;

    if (failed == NULL) {
        s->cases.failed = true;
        return;
    }
    for (size_t i = 0; i < one->changes.count; i++)
        failed[i] = event_of(one, &one->changes.items[i]);
    for (uint32_t i = 0; i < one->found.count; i++)
        if (one->found.items[i].part == CLI_GOLDEN_EVENT) {
            write_event(s, &one->found.items[i], failed, number < one->played.events ? one->played.elapsed_ns[number] : 0);
            number++;
        }
    for (size_t i = 0; i < one->changes.count; i++)
        if (failed[i] == NULL && cli_change_is_shown(&one->changes.items[i])) {
            begin_case(s, one->changes.items[i].subject, 0);
            end_case(s, "failure", one->changes.items[i].reason, (gci_view){ 0 });
        }
    free(failed);
}

/* ---- the report ---- */

void
cli_junit_init(cli_junit *report)
{
    *report = (cli_junit){ 0 };
    gci_buf_init(&report->suites, GCI_BUF_NO_LIMIT);
}

void
cli_junit_clear(cli_junit *report)
{
    gci_buf_clear(&report->suites);
}

static void
write_counts(gci_buf *out, size_t cases, size_t failures, size_t errors, uint64_t ns)
{
    gci_buf_format(out, " tests=\"%zu\" failures=\"%zu\" errors=\"%zu\"", cases, failures, errors);
    write_time(out, ns);
    gci_buf_append_text(out, ">\n");
}

void
cli_junit_add(cli_junit *report, cli_fixture const *one)
{
    gci_view message = gci_buf_view(&one->message);
    suite s = { .one = one };

    gci_buf_init(&s.cases, GCI_BUF_NO_LIMIT);
    write_events(&s);
    if (message.size != 0) {
        bool broken = one->verdict == CLI_BROKEN;
        begin_case(&s, gci_view_text(broken ? CLI_TRACE_NAME : CLI_GOLDEN_NAME), 0);
        end_case(&s, broken ? "error" : "failure", message, (gci_view){ 0 });
    }
    gci_buf_append_text(&report->suites, "  <testsuite");
    write_attribute(&report->suites, "name", gci_view_text(one->folder));
    write_counts(&report->suites, s.count, s.failures, s.errors, s.elapsed_ns);
    gci_buf_append_view(&report->suites, gci_buf_view(&s.cases));
    gci_buf_append_text(&report->suites, "  </testsuite>\n");
    report->suites.failed |= s.cases.failed;
    report->cases += s.count;
    report->failures += s.failures;
    report->errors += s.errors;
    report->elapsed_ns += s.elapsed_ns;
    gci_buf_clear(&s.cases);
}

bool
cli_junit_save(cli_junit const *report, char const *path, gcache_error *error)
{
    gci_buf out;

    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"guardcache test\"");
    write_counts(&out, report->cases, report->failures, report->errors, report->elapsed_ns);
    gci_buf_append_view(&out, gci_buf_view(&report->suites));
    gci_buf_append_text(&out, "</testsuites>\n");
    bool done = (!out.failed && !report->suites.failed) || cli_no_memory(error);
    done = done && gci_file_write_user(path, gci_buf_view(&out), error) == GCACHE_OK;
    gci_buf_clear(&out);
    return done;
}
