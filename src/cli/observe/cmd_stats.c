/*
 * guardcache stats: statistics of the journal and the directory.
 */
#include "cli/shared/cli.h"
#include "cli/observe/journal_query.h"

typedef struct options {
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

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    gcache_journal_query query;
    char *text = NULL;

    if (!cli_journal_query(&wanted->journal, &query, &call->error))
        return false;
    if (wanted->json && wanted->prometheus)
        return cli_wrong(&call->error, "--json and --prometheus are two forms: give one");
    return cli_open(call, CLI_EXISTING) &&
           cli_print_text(gcache_statistics_show(call->cache, &query, form_of(wanted), &text, &call->error), &text);
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    CLI_JOURNAL_OPTIONS(options, journal),
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object" },
    { "prometheus", CLI_FLAG, offsetof(options, prometheus), NULL, "the text format that Prometheus scrapes" },
    { 0 },
};

cli_command const cli_cmd_stats = {
    .name = "stats",
    .summary = "hit rate, misses by reason, time saved, what is stored",
    .about = "Sums over the journal, as far back as it goes, and the state of the directory. A process that is still\n"
             "running has told of most of its hits, not of all. Hits of one label, namespace or key are estimated from a\n"
             "sample of them; so are those of top keys. With a namespace (--namespace, GUARDCACHE_NAMESPACE) the sums are of\n"
             "it alone, otherwise of all; entries, what was evicted and what was asked are of all namespaces in any case.\n"
             "Where there are tiers: who served the hits, and of each tier how often lookups asked it and what came of that,\n"
             "which a process writes down every two minutes and when it closes the cache; with --label only the former is known.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
