/*
 * What insert, lookup and explain are about: a description or a key, hints, and what a lookup asks for besides.
 */
#ifndef GCI_CLI_SHARED_SUBJECT_H
#define GCI_CLI_SHARED_SUBJECT_H

#include "cli/shared/cli.h"

#include <guardcache/cache.h>

typedef struct cli_subject_options {
    char const *graph, *key, *hints_file, *variant, *expect_variant, *label, *why_asked, *rules;
    cli_list hints, pairs, sources;
    bool same_names;
} cli_subject_options;

/* Option table rows for a cli_subject_options member of a command's options struct. */
#define CLI_SUBJECT_OPTIONS(type, member)                                                             \
    CLI_CACHE_OPTION,                                                                                 \
    { "graph", CLI_TEXT, offsetof(type, member.graph), "FILE", "the description; - is standard input" }, \
    { "key", CLI_TEXT, offsetof(type, member.key), "HEX", "a key in place of a description" },        \
    CLI_RULES_OPTION(type, member.rules),                                                             \
    { "hint", CLI_LIST, offsetof(type, member.hints), "NAME=VALUE", "a symbol's value, in JSON; repeat for more" }, \
    { "hints", CLI_TEXT, offsetof(type, member.hints_file), "FILE", "a JSON object of hints" },       \
    { "label", CLI_TEXT, offsetof(type, member.label), "TEXT", "whose it is, for explain" }

#define CLI_REQUEST_OPTIONS(type, member)                                                             \
    { "variant", CLI_TEXT, offsetof(type, member.variant), "V", "only candidates of this variant" },  \
    { "expect-variant", CLI_TEXT, offsetof(type, member.expect_variant), "V", "prefer this variant, and say if it is missing" }, \
    { "provide", CLI_LIST, offsetof(type, member.pairs), "NAME=VALUE", "what candidates' requirements are compared with" }, \
    { "why-asked", CLI_TEXT, offsetof(type, member.why_asked), "TEXT", "why it is compiled at all, a reason a line" }, \
    { "source", CLI_LIST, offsetof(type, member.sources), "NAME=TEXT", "what a hint is in the program: t0=x.size(0)" }, \
    { "same-names", CLI_FLAG, offsetof(type, member.same_names), NULL, "only candidates whose producer used the same names" }

/* The subject with what it owns; texts and lists are in the call's arena. */
typedef struct cli_subject {
    gcache_rules *rules; /* the graph's, if they aren't those of its kind */
    gcache_graph *graph;
    gcache_hints hints;
    bool hinted; /* hints were given, if only an empty file of them */
    gcache_pair *pairs;   /* required or provided */
    gcache_pair *sources; /* hints in the words of the user's program */
} cli_subject;

/* Reads description and hints and opens the cache. Clear *out_subject whatever the outcome. */
bool cli_subject_open(cli_call *call, cli_subject_options const *options, cli_subject *out_subject);
void cli_subject_clear(cli_subject *subject);

/* Whether any option is given but those that choose among past lookups too: graph, key and label. */
bool cli_subject_is_specific(cli_subject_options const *options);

/* Says what a recording of the subject will lack. For those that are recorded. */
void cli_subject_warn(cli_subject_options const *options);

/* The hints, or NULL where none were given. */
gcache_hints const *cli_subject_hints(cli_subject const *subject);

/* The request of a lookup. It accepts candidates under other names: the command has no names of its own. */
gcache_request cli_subject_request(cli_subject const *subject, cli_subject_options const *options);

#endif
