/*
 * guardcache diff: how two descriptions, or a stored key and one, differ.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/open.h"

#include <guardcache/cache.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    char const *cache, *rules;
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
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&entry->key, hex);
    if (strncasecmp(hex, s->prefix, strlen(s->prefix)) != 0 ||
        (s->found != 0 && memcmp(&s->key, &entry->key, sizeof s->key) == 0))
        return 0;
    s->key = entry->key;
    return ++s->found == 2;
}

/* The stored key that begins so. A whole one is taken as it is: what it was computed from may outlive its entries. */
static gcache_status
find_key(gcache *cache, char const *prefix, gcache_key *out_key, gcache_error *error)
{
    search s = { .prefix = prefix };

    if (strlen(prefix) == GCACHE_KEY_HEX_SIZE - 1)
        return gcache_key_from_hex(prefix, out_key, error);
    gcache_status status = gcache_each_entry(cache, NULL, match_key, &s, error);
    if (status != GCACHE_OK)
        return status;
    if (s.found == 0)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "there is no file %s, and no stored key begins so", prefix);
    if (s.found > 1)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "several keys begin with %s", prefix);
    *out_key = s.key;
    return GCACHE_OK;
}

static bool
is_key(char const *argument)
{
    size_t digits = strspn(argument, "0123456789abcdefABCDEF");

    return argument[digits] == '\0' && digits >= LEAST_DIGITS && digits < GCACHE_KEY_HEX_SIZE &&
           access(argument, F_OK) != 0;
}

/* ---- the two sides ---- */

typedef struct sides {
    gcache *cache; /* opened when the first key is met */
    gcache_rules *rules;
    gcache_subject subjects[2];
} sides;

static gcache_status
open_side(options const *wanted, sides *s, size_t index, char const *argument, gcache_error *error)
{
    if (!is_key(argument))
        return cli_read_graph_under(argument, s->rules, &s->subjects[index].graph, error);
    gcache_status status = s->cache == NULL ? cli_open_directory(wanted->cache, true, &s->cache, error) : GCACHE_OK;
    return status == GCACHE_OK ? find_key(s->cache, argument, &s->subjects[index].key, error) : status;
}

static void
clear_sides(sides *s)
{
    for (size_t i = 0; i < 2; i++)
        gcache_graph_free(s->subjects[i].graph);
    gcache_rules_free(s->rules);
    gcache_close(s->cache);
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_error error = { 0 };
    sides s = { .subjects = { GCACHE_SUBJECT_INIT, GCACHE_SUBJECT_INIT } };
    char *text = NULL;
    size_t count = 0;

    if (wanted->max < 0) {
        cli_complain("diff: --max takes a positive number");
        return CLI_ERROR;
    }
    gcache_status status = cli_read_rules(wanted->rules, &s.rules, &error);
    for (size_t i = 0; i < 2 && status == GCACHE_OK; i++)
        status = open_side(wanted, &s, i, call->arguments[i], &error);
    if (status == GCACHE_OK)
        status = gcache_compare(s.cache, &s.subjects[0], &s.subjects[1], (size_t)wanted->max,
                                wanted->json ? GCACHE_DIFF_JSON : GCACHE_DIFF_TEXT, &text, &count, &error);
    if (status == GCACHE_OK)
        cli_print_lines(gci_view_text(text));
    if (status == GCACHE_OK && wanted->json)
        cli_write(gci_view_text("\n"));
    gcache_free(text);
    clear_sides(&s);
    if (status != GCACHE_OK)
        return cli_fail(&error);
    return count == 0 ? CLI_OK : CLI_NO;
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory that holds the keys" },
    CLI_RULES_OPTION(options, rules),
    { "max", CLI_INT, offsetof(options, max), "N", "differences shown; further ones are counted (default 50)" },
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
             "in B. Nodes are aligned, so that an inserted one is one line, begun with +; a removed one with -. Texts are\n"
             "compared line by line. Status 1: they differ.\n",
    .options = table,
    .options_size = sizeof(options),
    .least = 2,
    .most = 2,
    .run = run,
};
