#include "cli/past.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND UINT64_C(1000000000)

static uint64_t
unit_seconds(char const *unit)
{
    static struct {
        char const *name;
        uint64_t seconds;
    } const units[] = { { "s", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 } };

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (strcmp(unit, units[i].name) == 0)
            return units[i].seconds;
    return 0;
}

/* age = digits unit */
static gcache_status
read_age(char const *text, uint64_t *out_since_ns, gcache_error *error)
{
    char *unit;
    uint64_t now = gci_clock_wall_ns();

    errno = 0;
    unsigned long long count = strtoull(text, &unit, 10);
    uint64_t seconds = unit_seconds(unit);
    if (errno != 0 || text[0] < '0' || text[0] > '9' || seconds == 0)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "--since: '%s' is not an age such as 90s, 10m, 2h or 3d", text);
    bool ancient = count > now / NS_PER_SECOND / seconds;
    *out_since_ns = ancient ? 0 : now - count * seconds * NS_PER_SECOND;
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
cli_past_query(cli_past_options const *options, gcache_past_query *out_query, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    *out_query = (gcache_past_query)GCACHE_PAST_QUERY_INIT;
    out_query->last = (size_t)options->last;
    out_query->label = options->label;
    out_query->key = options->key;
    if (options->since != NULL)
        status = read_age(options->since, &out_query->since_ns, error);
    if (status == GCACHE_OK && options->reason != NULL)
        status = read_reason(options->reason, &out_query->reason, error);
    return status;
}
