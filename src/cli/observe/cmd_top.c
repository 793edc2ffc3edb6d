/*
 * guardcache top: what costs most.
 */
#include "cli/shared/cli.h"
#include "cli/observe/journal_query.h"

#include <string.h>

typedef struct options {
    cli_journal_options journal;
    int64_t count;
    bool json;
} options;

/* What fits on a screen with the line that began it. */
#define DEFAULT_COUNT 20

static bool
read_kind(char const *word, gcache_top_kind *out_kind, gcache_error *error)
{
    static char const *const words[] = { "misses", "keys", "guards" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        *out_kind = (gcache_top_kind)i;
        if (strcmp(word, words[i]) == 0)
            return true;
    }
    return cli_wrong(error, "top: '%s' is none of misses, keys, guards", word);
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    size_t count = wanted->count == 0 ? DEFAULT_COUNT : (size_t)wanted->count;
    gcache_statistics_form form = wanted->json ? GCACHE_STATISTICS_JSON : GCACHE_STATISTICS_TEXT;
    gcache_top_kind kind = GCACHE_TOP_MISSES;
    gcache_error *error = &call->error;
    gcache_journal_query query;
    char *text = NULL;

    return (call->count == 0 || read_kind(call->arguments[0], &kind, error)) &&
           cli_journal_query(&wanted->journal, &query, error) && cli_open(call, CLI_LOOK) &&
           cli_print_text(gcache_statistics_top(call->cache, &query, kind, count, form, &text, error), &text);
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    CLI_JOURNAL_OPTIONS(options, journal),
    { "count", CLI_COUNT, offsetof(options, count), "N", "so many lines; 20 if not given" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object" },
    { 0 },
};

cli_command const cli_cmd_top = {
    .name = "top",
    .arguments = "[misses | keys | guards]",
    .summary = "what costs most compile time",
    .about = "misses (the default): by key and reason. keys: by key, with hits. guards: which guard fails, how often, and\n"
             "for which values; of several candidates, the one of the highest rank stands for the miss. A line has the label\n"
             "that most of its misses have, and how many more there are: with --json, labels counts them all, unlabelled the\n"
             "misses without one.\n" CLI_JOURNAL_NAMESPACE,
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
