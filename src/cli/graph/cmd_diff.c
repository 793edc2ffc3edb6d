/*
 * guardcache diff: how two descriptions, or a stored key and one, differ.
 */
#include "cli/shared/cli.h"

#include <guardcache/cache.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    char const *rules;
    bool json;
    int64_t max;
} options;

/* Shorter beginnings of a key are more likely to be the name of a missing file. */
#define LEAST_DIGITS 6

/* ---- keys ---- */

typedef struct search {
    char const *prefix;
    gcache_key key;
    size_t found;
} search;

static int
match_key(void *state, gcache_entry_view const *entry)
{
    search *s = state;

    if (strncasecmp(cli_hex(&entry->key).text, s->prefix, strlen(s->prefix)) != 0 ||
        (s->found != 0 && memcmp(&s->key, &entry->key, sizeof s->key) == 0))
        return 0;
    s->key = entry->key;
    return ++s->found == 2;
}

/* The stored key that begins so. A whole one is taken as it is: what it was computed from may outlive its entries. */
static bool
find_key(gcache *cache, char const *prefix, gcache_key *out_key, gcache_error *error)
{
    search s = { .prefix = prefix };

    if (strlen(prefix) == GCACHE_KEY_HEX_SIZE - 1)
        return gcache_key_from_hex(prefix, out_key, error) == GCACHE_OK;
    if (gcache_each_entry(cache, NULL, match_key, &s, error) != GCACHE_OK)
        return false;
    if (s.found == 0)
        return cli_wrong(error, "there is no file %s, and no stored key begins so", prefix);
    *out_key = s.key;
    return s.found == 1 || cli_wrong(error, "several keys begin with %s", prefix);
}

static bool
is_key(char const *argument)
{
    size_t digits = strspn(argument, "0123456789abcdefABCDEF");

    return argument[digits] == '\0' && digits >= LEAST_DIGITS && digits < GCACHE_KEY_HEX_SIZE &&
           access(argument, F_OK) != 0;
}

/* ---- the two sides ---- */

/* The cache is opened when the first key is met. */
static bool
open_side(cli_call *call, char const *argument, gcache_rules const *rules, gcache_subject *out_side)
{
    if (!is_key(argument))
        return cli_read_graph(argument, rules, &out_side->graph, &call->error);
    return (call->cache != NULL || cli_open(call, CLI_LOOK)) &&
           find_key(call->cache, argument, &out_side->key, &call->error);
}

static bool
compare(cli_call *call, gcache_subject const sides[2])
{
    options const *wanted = call->options;
    gcache_diff_form form = wanted->json ? GCACHE_DIFF_JSON : GCACHE_DIFF_TEXT;
    char *text = NULL;
    size_t count = 0;

    gcache_status status =
        gcache_compare(call->cache, &sides[0], &sides[1], (size_t)wanted->max, form, &text, &count, &call->error);
    call->answer = count == 0 ? CLI_OK : CLI_NO;
    return cli_print_text(status, &text);
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    gcache_subject sides[2] = { GCACHE_SUBJECT_INIT, GCACHE_SUBJECT_INIT };
    gcache_rules *rules;

    bool done = cli_read_rules(wanted->rules, &rules, &call->error) &&
                open_side(call, call->arguments[0], rules, &sides[0]) &&
                open_side(call, call->arguments[1], rules, &sides[1]) && compare(call, sides);
    gcache_graph_free(sides[0].graph);
    gcache_graph_free(sides[1].graph);
    gcache_rules_free(rules);
    return done;
}

static cli_option const table[] = {
    { "cache", CLI_COMMON, 0, "DIR", "the cache directory that holds the keys" },
    CLI_RULES_OPTION(options, rules),
    { "max", CLI_COUNT, offsetof(options, max), "N", "differences shown; further ones are counted (default 50)" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object: equal, components, differs, left_out" },
    { 0 },
};

cli_command const cli_cmd_diff = {
    .name = "diff",
    .arguments = "A B",
    .summary = "compare two descriptions, or what two keys were computed from",
    .about = "A and B are description files, or stored keys by six hex digits or more (a file of that name comes first). What is\n"
             "compared is what counts for the key: nothing is printed, and the status is 0, exactly if the keys are equal.\n"
             "\n"
             "The first line counts and names the equal components. Then a line a difference: its path, and the value in A and\n"
             "in B, causes first: environment, options, inputs, graph. Nodes are aligned, so that an inserted one is one\n"
             "line, begun with +; a removed one with -. Each side counts for itself: of what has moved there stands where it was,\n"
             "\"nodes[4] (was nodes[3])\". What follows from others is summed up (\"and so: ..\"). Texts are compared line by\n"
             "line. Status 1: they differ.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
