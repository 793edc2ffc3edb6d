/*
 * guardcache report: the HTML page.
 */
#include "base/error.h"
#include "base/system/file.h"
#include "cli/shared/cli.h"
#include "cli/shared/open.h"
#include "cli/shared/journal_query.h"

#include <guardcache/guard.h>

typedef struct options {
    char const *cache, *html;
    cli_journal_options journal;
} options;

static gcache_status
make_report(options const *wanted, gcache *cache, gcache_journal_query const *query, gcache_error *error)
{
    char *text = NULL;
    gcache_status status = gcache_report(cache, query, &text, error);

    if (status == GCACHE_OK && wanted->html == NULL)
        cli_print_lines(gci_view_text(text));
    else if (status == GCACHE_OK)
        status = gci_file_write_user(wanted->html, gci_view_text(text), error);
    gcache_free(text);
    return status;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_journal_query query;
    gcache_error error = { 0 };
    gcache *cache;

    gcache_status status = cli_journal_open(wanted->cache, &wanted->journal, &query, &cache, &error);
    if (status == GCACHE_OK)
        status = make_report(wanted, cache, &query, &error);
    gcache_close(cache);
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { "html", CLI_TEXT, offsetof(options, html), "FILE", "where the page goes; standard output if not given" },
    CLI_JOURNAL_OPTIONS(options, journal),
    { 0 },
};

cli_command const cli_cmd_report = {
    .name = "report",
    .arguments = "",
    .summary = "one page of HTML: timeline, misses explained, what is covered",
    .about = "The page stands alone: no scripts, no network. Its coverage pictures have symbols as axes and show which\n"
             "shapes the stored candidates serve, and where hits and misses fell.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
