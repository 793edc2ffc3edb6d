/*
 * guardcache report: the HTML page.
 */
#include "base/system/file.h"
#include "cli/shared/cli.h"
#include "cli/observe/journal_query.h"

typedef struct options {
    char const *html;
    cli_journal_options journal;
} options;

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    gcache_journal_query query;
    char *text = NULL;

    if (!cli_journal_query(&wanted->journal, &query, &call->error) || !cli_open(call, CLI_LOOK))
        return false;
    gcache_status status = gcache_report(call->cache, &query, &text, &call->error);
    if (wanted->html == NULL)
        return cli_print_text(status, &text);
    if (status == GCACHE_OK)
        status = gci_file_write_user(wanted->html, gci_view_text(text), &call->error);
    gcache_free(text);
    return status == GCACHE_OK;
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    { "html", CLI_TEXT, offsetof(options, html), "FILE", "where the page goes; standard output if not given" },
    CLI_JOURNAL_OPTIONS(options, journal),
    { 0 },
};

cli_command const cli_cmd_report = {
    .name = "report",
    .summary = "one page of HTML: what to fix first, when, why, what is covered",
    .about = "The page stands alone: no scripts, no network, for a browser of any width and for paper. It begins with what to\n"
             "fix first and the seconds that it costs; the costliest misses are explained. Its coverage pictures have\n"
             "symbols as axes and show which shapes the stored candidates serve, and where hits and misses fell.\n"
             CLI_JOURNAL_NAMESPACE,
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
