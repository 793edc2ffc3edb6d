/*
 * guardcache stats: statistics of the journal and the directory.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/open.h"
#include "cli/shared/journal_query.h"

#include <guardcache/guard.h>

typedef struct options {
    char const *cache;
    cli_journal_options journal;
    bool json, prometheus;
} options;

static gcache_statistics_form
form_of(options const *wanted)
{
    if (wanted->json)
        return GCACHE_STATISTICS_JSON;
    return wanted->prometheus ? GCACHE_STATISTICS_PROMETHEUS : GCACHE_STATISTICS_TEXT;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_journal_query query;
    gcache_error error = { 0 };
    gcache *cache = NULL;
    char *text = NULL;

    gcache_status status = cli_journal_query(&wanted->journal, &query, &error);
    if (status == GCACHE_OK && wanted->json && wanted->prometheus)
        status = gci_fail(&error, GCACHE_ERROR_ARGUMENT, "--json and --prometheus are two forms: give one");
    if (status == GCACHE_OK)
        status = cli_open_existing(wanted->cache, &cache, &error);
    if (status == GCACHE_OK)
        status = gcache_statistics_show(cache, &query, form_of(wanted), &text, &error);
    return cli_journal_print(status, text, cache, &error);
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    CLI_JOURNAL_OPTIONS(options, journal),
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object" },
    { "prometheus", CLI_FLAG, offsetof(options, prometheus), NULL, "the text format that Prometheus scrapes" },
    { 0 },
};

cli_command const cli_cmd_stats = {
    .name = "stats",
    .arguments = "",
    .summary = "hit rate, misses by reason, time saved, what is stored",
    .about = "Sums over the journal, as far back as it goes, and the state of the directory. A process that is still\n"
             "running has told of most of its hits, not of all. Hits of one label, namespace or key are estimated from a\n"
             "sample of them; so are those of top keys.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
