/*
 * Options that choose entries of the journal, as explain, journal, stats, top and report take them.
 */
#ifndef GCI_CLI_OBSERVE_JOURNAL_QUERY_H
#define GCI_CLI_OBSERVE_JOURNAL_QUERY_H

#include "cli/shared/cli.h"

#include <guardcache/observe.h>

typedef struct cli_journal_options {
    char const *since, *label, *reason, *key;
    int64_t last;
} cli_journal_options;

/* Option table rows for a cli_journal_options member of a command's options struct. */
#define CLI_JOURNAL_OPTIONS(type, member)                                                                \
    { "since", CLI_TEXT, offsetof(type, member.since), "AGE", "only what is at most so old: 90s, 10m, 2h, 3d" }, \
    { "label", CLI_TEXT, offsetof(type, member.label), "TEXT", "only what has this in its label" },   \
    { "reason", CLI_TEXT, offsetof(type, member.reason), "REASON", "only misses for this reason: guard_false, no_key, ..." }, \
    { "key", CLI_TEXT, offsetof(type, member.key), "HEX", "only this key, or the keys that begin so" }

#define CLI_LAST_OPTION(type, member)                                                                 \
    { "last", CLI_LAST, offsetof(type, member.last), "[N]", "only the newest, or the N newest" }

/* What commands with these options say of themselves. */
#define CLI_JOURNAL_NAMESPACE "With a namespace (--namespace, GUARDCACHE_NAMESPACE) only what is of it, otherwise of all.\n"

/* The namespace is the one that is given to the whole call, if any. Fails for an age or a reason that isn't one. The query
   borrows the options' texts. */
bool cli_journal_query(cli_journal_options const *options, gcache_journal_query *out_query, gcache_error *error);

#endif
