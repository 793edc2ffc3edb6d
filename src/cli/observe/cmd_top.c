/*
 * guardcache top: what costs most.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/open.h"
#include "cli/shared/journal_query.h"

#include <guardcache/guard.h>
#include <string.h>

typedef struct options {
    char const *cache;
    cli_journal_options journal;
    int64_t count;
    bool json;
} options;

/* What fits on a screen with the line that began it. */
#define DEFAULT_COUNT 20

static gcache_status
read_kind(char const *word, gcache_top_kind *out_kind, gcache_error *error)
{
    static char const *const words[] = { "misses", "keys", "guards" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(word, words[i]) == 0) {
            *out_kind = (gcache_top_kind)i;
            return GCACHE_OK;
        }
    }
    return gci_fail(error, GCACHE_ERROR_ARGUMENT, "top: '%s' is none of misses, keys, guards", word);
}

static gcache_status
read_count(options const *wanted, size_t *out_count, gcache_error *error)
{
    *out_count = wanted->count == 0 ? DEFAULT_COUNT : (size_t)wanted->count;
    if (wanted->count < 0)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "--count: must be positive");
    return GCACHE_OK;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_top_kind kind = GCACHE_TOP_MISSES;
    gcache_journal_query query;
    gcache_error error = { 0 };
    gcache *cache = NULL;
    char *text = NULL;
    size_t count;

    gcache_status status = read_count(wanted, &count, &error);
    if (status == GCACHE_OK && call->count != 0)
        status = read_kind(call->arguments[0], &kind, &error);
    if (status == GCACHE_OK)
        status = cli_journal_open(wanted->cache, &wanted->journal, &query, &cache, &error);
    if (status == GCACHE_OK)
        status = gcache_statistics_top(cache, &query, kind, count,
                                       wanted->json ? GCACHE_STATISTICS_JSON : GCACHE_STATISTICS_TEXT, &text, &error);
    return cli_journal_print(status, text, cache, &error);
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    CLI_JOURNAL_OPTIONS(options, journal),
    { "count", CLI_INT, offsetof(options, count), "N", "so many lines; 20 if not given" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object" },
    { 0 },
};

cli_command const cli_cmd_top = {
    .name = "top",
    .arguments = "[misses | keys | guards]",
    .summary = "what costs most compile time",
    .about = "misses (the default): by key and reason. keys: by key, with hits. guards: which guard fails, how often, and\n"
             "for which values; of several candidates, the one of the highest rank stands for the miss.\n",
    .options = table,
    .options_size = sizeof(options),
    .most = 1,
    .run = run,
};
