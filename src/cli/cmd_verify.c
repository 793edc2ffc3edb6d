#include "base/error.h"
#include "cli/commands.h"
#include "cli/entries.h"
#include "cli/open.h"

#include <stdio.h>

typedef struct options {
    char const *cache;
    bool json;
} options;

/* Problems of one cache: a path and a sentence each. */
#define REPORT_MAX_BYTES ((size_t)256 << 20)

static void
print_problem(void *state, char const *path, char const *problem)
{
    (void)state;
    printf("%s: %s\n", path, problem);
}

typedef struct problems {
    gci_arena *arena;
    gci_value list;
    size_t room;
} problems;

static void
collect_problem(void *state, char const *path, char const *problem)
{
    problems *found = state;
    cli_object object = cli_object_new(found->arena);

    cli_object_set_text(&object, "path", path);
    cli_object_set_text(&object, "problem", problem);
    if (found->list.count == found->room) {
        gci_value larger = cli_list_of(found->arena, found->room * 2 + 16);
        if (larger.items == NULL)
            return;
        if (found->list.count != 0)
            memcpy(larger.items, found->list.items, found->list.count * sizeof *larger.items);
        found->room = larger.count;
        found->list.items = larger.items;
    }
    found->list.items[found->list.count++] = object.map;
}

static gcache_status
verify_json(gcache *cache, gcache_verified *out_verified, gcache_error *error)
{
    gci_arena arena;

    gci_arena_init(&arena, REPORT_MAX_BYTES);
    problems found = { .arena = &arena, .list = { .type = GCI_LIST } };
    gcache_status status = gcache_verify(cache, collect_problem, &found, out_verified, error);
    if (status == GCACHE_OK) {
        cli_object object = cli_object_new(&arena);
        cli_object_set_count(&object, "keys", out_verified->keys);
        cli_object_set_count(&object, "entries", out_verified->entries);
        cli_object_set_count(&object, "bytes", out_verified->bytes);
        cli_object_set(&object, "problems", found.list);
        status = cli_object_print(&object, error);
    }
    gci_arena_clear(&arena);
    return status;
}

static gcache_status
verify_text(gcache *cache, gcache_verified *out_verified, gcache_error *error)
{
    char bytes[CLI_SIZE_TEXT];
    gcache_status status = gcache_verify(cache, print_problem, NULL, out_verified, error);

    if (status != GCACHE_OK)
        return status;
    cli_size_text(out_verified->bytes, bytes);
    printf("%llu %s, %llu %s, %s: ", (unsigned long long)out_verified->keys, out_verified->keys == 1 ? "key" : "keys",
           (unsigned long long)out_verified->entries, out_verified->entries == 1 ? "entry" : "entries", bytes);
    if (out_verified->problems == 0)
        puts("no problems");
    else
        printf("%llu %s\n", (unsigned long long)out_verified->problems,
               out_verified->problems == 1 ? "problem" : "problems");
    return GCACHE_OK;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_verified verified = { 0 };
    gcache_error error = { 0 };
    gcache *cache;

    gcache_status status = cli_open_cache(wanted->cache, true, &cache, &error);
    if (status == GCACHE_OK && wanted->json)
        status = verify_json(cache, &verified, &error);
    else if (status == GCACHE_OK)
        status = verify_text(cache, &verified, &error);
    gcache_close(cache);
    if (status != GCACHE_OK)
        return cli_fail(&error);
    return verified.problems == 0 ? CLI_OK : CLI_NO;
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object: keys, entries, bytes, problems" },
    { 0 },
};

cli_command const cli_cmd_verify = {
    .name = "verify",
    .arguments = "",
    .summary = "read every file of the cache and check it",
    .about = "Changes nothing. Exit status 1 if there are problems.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
