/*
 * Options that say which journal entries are meant.
 */
#include "cli/shared/journal_query.h"

#include "base/system/clock.h"
#include "base/error.h"
#include "base/text/quantity.h"
#include "cli/shared/open.h"

#include <string.h>

static gcache_status
read_age(char const *text, uint64_t *out_since_ns, gcache_error *error)
{
    uint64_t now = gci_clock_wall_ns(), age;

    if (!gci_age_read(text, &age))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "--since: '%s' is not an age such as 90s, 10m, 2h or 3d", text);
    *out_since_ns = age > now ? 0 : now - age;
    return GCACHE_OK;
}

static gcache_status
read_reason(char const *text, gcache_reason *out_reason, gcache_error *error)
{
    for (int reason = 1; reason < GCACHE_REASON_COUNT; reason++) {
        if (strcmp(text, gcache_reason_name((gcache_reason)reason)) == 0) {
            *out_reason = (gcache_reason)reason;
            return GCACHE_OK;
        }
    }
    return gci_fail(error, GCACHE_ERROR_ARGUMENT, "--reason: '%s' is no reason for a miss", text);
}

gcache_status
cli_journal_query(cli_journal_options const *options, gcache_journal_query *out_query, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    *out_query = (gcache_journal_query)GCACHE_JOURNAL_QUERY_INIT;
    out_query->last = (size_t)options->last;
    out_query->label = options->label;
    out_query->key = options->key;
    if (options->since != NULL)
        status = read_age(options->since, &out_query->since_ns, error);
    if (status == GCACHE_OK && options->reason != NULL)
        status = read_reason(options->reason, &out_query->reason, error);
    return status;
}

gcache_status
cli_journal_open(char const *directory, cli_journal_options const *options, gcache_journal_query *out_query,
                 gcache **out_cache, gcache_error *error)
{
    gcache_status status = cli_journal_query(options, out_query, error);

    *out_cache = NULL;
    return status == GCACHE_OK ? cli_open_directory(directory, true, out_cache, error) : status;
}

cli_exit
cli_journal_print(gcache_status status, char *text, gcache *cache, gcache_error const *error)
{
    if (status == GCACHE_OK)
        cli_print_lines(gci_view_text(text));
    gcache_free(text);
    gcache_close(cache);
    return status == GCACHE_OK ? CLI_OK : cli_fail(error);
}
