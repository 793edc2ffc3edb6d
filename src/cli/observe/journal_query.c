/*
 * Options that say which journal entries are meant.
 */
#include "cli/observe/journal_query.h"

#include "base/system/clock.h"
#include "base/text/quantity.h"
#include "base/text/similar.h"

#include <stdio.h>
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

/* Without a near one all of them are named. */
static bool
complain_about_reason(char const *text, gci_similar const *similar, gcache_error *error)
{
    char all[GCACHE_REASON_COUNT * 24] = "";

    if (similar->word != NULL)
        return cli_wrong(error, "--reason: '%s' is no reason for a miss%s", text, gci_similar_question(similar, "").text);
    for (int reason = 1, size = 0; reason < GCACHE_REASON_COUNT; reason++)
        size += snprintf(all + size, sizeof all - (size_t)size, "%s%s", reason > 1 ? ", " : "",
                         gcache_reason_name((gcache_reason)reason));
    return cli_wrong(error, "--reason: '%s' is no reason for a miss: %s", text, all);
}

static bool
read_reason(char const *text, gcache_reason *out_reason, gcache_error *error)
{
    gci_similar similar = gci_similar_to(gci_view_text(text));

    for (int reason = 1; reason < GCACHE_REASON_COUNT; reason++) {
        *out_reason = (gcache_reason)reason;
        if (strcmp(text, gcache_reason_name(*out_reason)) == 0)
            return true;
        gci_similar_offer(&similar, gcache_reason_name(*out_reason));
    }
    return complain_about_reason(text, &similar, error);
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
    /* Who names one asks about it; who doesn't, about all, and not about the empty one. */
    out_query->namespace_ = cli_namespace();
    return (options->key == NULL || check_key(options->key, error)) &&
           (options->since == NULL || read_age(options->since, &out_query->since_ns, error)) &&
           (options->reason == NULL || read_reason(options->reason, &out_query->reason, error));
}
