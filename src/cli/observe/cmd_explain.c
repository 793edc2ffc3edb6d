/*
 * guardcache explain: why a lookup misses, or has missed.
 */
#include "base/system/file.h"
#include "cli/shared/cli.h"
#include "cli/observe/journal_query.h"
#include "cli/shared/subject.h"

typedef struct options {
    cli_subject_options subject;
    cli_journal_options journal;
    char const *html;
    bool all, json;
} options;

static gcache_explain_form
form_of(options const *wanted)
{
    if (wanted->json)
        return GCACHE_EXPLAIN_JSON;
    return wanted->all ? GCACHE_EXPLAIN_ALL : GCACHE_EXPLAIN_TEXT;
}

/* With --html a page is written, and what else is printed only if asked for. */
static bool
prints(options const *wanted)
{
    return wanted->html == NULL || wanted->json;
}

/* Frees the page in any case. */
static bool
write_page(cli_call *call, gcache_status status, char **page)
{
    options const *wanted = call->options;

    if (status == GCACHE_OK)
        status = gci_file_write_user(wanted->html, gci_view_text(*page), &call->error);
    gcache_free(*page);
    *page = NULL;
    return status == GCACHE_OK;
}

/* The library has made all of it visible but its own colours. Frees the text. */
static bool
print_explanation(gcache_status status, char **text)
{
    if (status != GCACHE_OK || !cli_terminal_has_color())
        return cli_print_text(status, text);
    cli_write(gci_view_text(*text));
    if ((*text)[0] != '\0' && (*text)[strlen(*text) - 1] != '\n')
        cli_write(gci_view_text("\n"));
    gcache_free(*text);
    return true;
}

/* ---- now ---- */

static gcache_status
explain(cli_call *call, cli_subject const *subject, gcache_explain_form form, char **out_text)
{
    options const *wanted = call->options;
    gcache_request request = cli_subject_request(subject, &wanted->subject);

    gcache_status status = gcache_explain(call->cache, subject->graph, cli_subject_hints(subject), &request, form, out_text,
                                          &call->error);
    return status == GCACHE_HIT || status == GCACHE_MISS ? GCACHE_OK : status;
}

static bool
explain_now(cli_call *call)
{
    options const *wanted = call->options;
    cli_subject subject;
    char *text = NULL;

    bool done = cli_subject_open(call, &wanted->subject, &subject);
    if (done && wanted->html != NULL)
        done = write_page(call, explain(call, &subject, GCACHE_EXPLAIN_HTML, &text), &text);
    if (done && prints(wanted))
        done = print_explanation(explain(call, &subject, form_of(wanted), &text), &text);
    cli_subject_clear(&subject);
    return done;
}

/* ---- past lookups ---- */

/* Without a description, or with a request that only the journal can meet. */
static bool
asks_journal(options const *wanted)
{
    return wanted->journal.last != 0 || wanted->journal.since != NULL || wanted->journal.reason != NULL ||
           (wanted->subject.graph == NULL && wanted->subject.key == NULL);
}

static bool
explain_journal(cli_call *call)
{
    options const *wanted = call->options;
    cli_journal_options selected = wanted->journal;
    gcache_journal_query query;
    gcache_error *error = &call->error;
    char *text = NULL;
    size_t count = 0;

    if (wanted->subject.graph != NULL)
        return cli_wrong(error, "--graph asks about now, --last, --since and --reason about the past");
    if (cli_subject_is_specific(&wanted->subject))
        return cli_wrong(error, "past misses have their own hints and requests: of a lookup's options only --key and --label "
                                "choose among them");
    selected.label = wanted->subject.label;
    selected.key = wanted->subject.key;
    if (selected.last == 0 && selected.since == NULL)
        selected.last = 1;
    if (!cli_open(call, CLI_LOOK) || !cli_journal_query(&selected, &query, error))
        return false;
    if (wanted->html != NULL &&
        !write_page(call, gcache_journal_explain(call->cache, &query, GCACHE_EXPLAIN_HTML, &text, &count, error), &text))
        return false;
    if (prints(wanted) &&
        !print_explanation(gcache_journal_explain(call->cache, &query, form_of(wanted), &text, &count, error), &text))
        return false;
    if (count == 0)
        cli_complain("the journal has no such miss");
    call->answer = count != 0 ? CLI_OK : CLI_NO;
    return true;
}

static bool
run(cli_call *call)
{
    return asks_journal(call->options) ? explain_journal(call) : explain_now(call);
}

static cli_option const table[] = {
    CLI_SUBJECT_OPTIONS(options, subject),
    CLI_REQUEST_OPTIONS(options, subject),
    { "last", CLI_LAST, offsetof(options, journal.last), "[N]", "the last miss of any process, or the last N" },
    { "since", CLI_TEXT, offsetof(options, journal.since), "AGE", "past misses that are at most so old: 90s, 10m, 2h, 3d" },
    { "reason", CLI_TEXT, offsetof(options, journal.reason), "REASON", "past misses for this reason: guard_false, no_key, ..." },
    { "all", CLI_FLAG, offsetof(options, all), NULL, "everything, not only what decides" },
    { "html", CLI_TEXT, offsetof(options, html), "FILE", "writes a page of HTML that stands alone; with --json prints that too" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object on one line" },
    { 0 },
};

cli_command const cli_cmd_explain = {
    .name = "explain",
    .summary = "say why a lookup hits or misses",
    .about = "Does the lookup with every step recorded: each candidate's first failing guard with the values, and what\n"
             "would have hit; or the nearest stored keys and the paths that differ. Without --graph or --key, or with\n"
             "--last, --since or --reason: the same for past misses of any process, newest first, from the journal; --label,\n"
             "--namespace (or GUARDCACHE_NAMESPACE) and --key (or its beginning) choose among them. Hints and inputs are\n"
             "called what they are in the program, as far as the description says it, or --source. Exit status 0, hit or\n"
             "miss; 1 if the journal has no such miss.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
