/*
 * Options that say which journal entries are meant.
 */
#include "cli/observe/journal_query.h"

#include "base/system/clock.h"
#include "base/text/quantity.h"

#include <string.h>

static bool
read_age(char const *text, uint64_t *out_since_ns, gcache_error *error)
{
    uint64_t now = gci_clock_wall_ns(), age;

    if (!gci_age_read(text, &age))
        return cli_wrong(error, "--since: '%s' is not an age such as 90s, 10m, 2h or 3d", text);
    *out_since_ns = age > now ? 0 : now - age;
    return true;
}

static bool
read_reason(char const *text, gcache_reason *out_reason, gcache_error *error)
{
    for (int reason = 1; reason < GCACHE_REASON_COUNT; reason++) {
        *out_reason = (gcache_reason)reason;
        if (strcmp(text, gcache_reason_name(*out_reason)) == 0)
            return true;
    }
    return cli_wrong(error, "--reason: '%s' is no reason for a miss", text);
}

/* A key, or what keys begin with. */
static bool
check_key(char const *text, gcache_error *error)
{
    size_t size = strlen(text);

    return (size < GCACHE_KEY_HEX_SIZE && strspn(text, "0123456789abcdef") == size) ||
           cli_wrong(error, "--key: '%s' is not the beginning of a key: at most 64 digits, 0 to 9 and a to f", text);
}

bool
cli_journal_query(cli_journal_options const *options, gcache_journal_query *out_query, gcache_error *error)
{
    *out_query = (gcache_journal_query)GCACHE_JOURNAL_QUERY_INIT;
    out_query->last = (size_t)options->last;
    out_query->label = options->label;
    out_query->key = options->key;
    return (options->key == NULL || check_key(options->key, error)) &&
           (options->since == NULL || read_age(options->since, &out_query->since_ns, error)) &&
           (options->reason == NULL || read_reason(options->reason, &out_query->reason, error));
}
