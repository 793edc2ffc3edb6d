/*
 * guardcache ls: what is stored.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/entries.h"
#include "cli/shared/open.h"

#include <stdio.h>

typedef struct options {
    char const *cache, *key;
    bool json, shadowed;
} options;

/* Where what belongs to an entry stands below its row. */
#define SHADOW_INDENT 14

/* One entry's texts. */
#define OBJECT_MAX_BYTES ((size_t)256 << 20)

typedef struct lister {
    bool json;
    uint64_t entries, bytes;
    gci_arena arena;
    gcache_status status;
    gcache_error error;
} lister;

static void
print_shadow(gcache_entry_view const *entry)
{
    for (size_t i = 0; i < entry->guard_count; i++)
        cli_print("%*s%s\n", SHADOW_INDENT, "", entry->guards[i]);
    cli_print("%*sis never chosen: %.12s is tried before and holds whenever it does\n", SHADOW_INDENT, "", entry->shadowed_by);
}

static void
print_row(gcache_entry_view const *entry)
{
    char hex[GCACHE_KEY_HEX_SIZE], size[CLI_SIZE_TEXT], compile[CLI_DURATION_TEXT], created[CLI_TIME_TEXT];

    gcache_key_to_hex(&entry->key, hex);
    cli_size_text(entry->payload_size, size);
    cli_duration_text(entry->compile_ns, compile);
    cli_time_text(entry->created_ns, created);
    cli_print("%.12s  %.12s  %-11s %-19s %10s %9s %8lld  %6zu  %s\n", entry->id, hex, entry->kind, created, size, compile,
              (long long)entry->priority, entry->guard_count, entry->variant != NULL ? entry->variant : "");
}

static int
print_entry(void *state, gcache_entry_view const *entry)
{
    lister *list = state;

    list->entries++;
    list->bytes += entry->payload_size;
    if (list->json) {
        gci_arena_reset(&list->arena);
        cli_object object = cli_entry_object(entry, &list->arena);
        list->status = cli_object_print(&object, &list->error);
    } else {
        print_row(entry);
        if (entry->shadowed_by != NULL)
            print_shadow(entry);
    }
    return list->status != GCACHE_OK || cli_output_lost();
}

static gcache_status
list_entries(options const *wanted, gcache *cache, lister *list)
{
    gcache_key key;

    if (wanted->key != NULL && gcache_key_from_hex(wanted->key, &key, &list->error) != GCACHE_OK)
        return list->error.status;
    if (!wanted->json)
        cli_print("%-12s  %-12s  %-11s %-19s %10s %9s %8s  %6s  %s\n", "ENTRY", "KEY", "KIND", "STORED", "PAYLOAD",
                  "COMPILE", "PRIORITY", "GUARDS", "VARIANT");
    gcache_key const *only = wanted->key != NULL ? &key : NULL;
    gcache_status status = wanted->shadowed ? gcache_each_shadowed(cache, only, print_entry, list, &list->error)
                                            : gcache_each_entry(cache, only, print_entry, list, &list->error);
    return status != GCACHE_OK ? status : list->status;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    lister list = { .json = wanted->json };
    gcache *cache;
    char bytes[CLI_SIZE_TEXT];

    gci_arena_init(&list.arena, OBJECT_MAX_BYTES);
    gcache_status status = cli_open_directory(wanted->cache, true, &cache, &list.error);
    if (status == GCACHE_OK)
        status = list_entries(wanted, cache, &list);
    if (status == GCACHE_OK && !wanted->json) {
        cli_size_text(list.bytes, bytes);
        cli_print("%llu %s, %s of payloads\n", (unsigned long long)list.entries, list.entries == 1 ? "entry" : "entries",
                  bytes);
    }
    gcache_close(cache);
    gci_arena_clear(&list.arena);
    return status == GCACHE_OK ? CLI_OK : cli_fail(&list.error);
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { "key", CLI_TEXT, offsetof(options, key), "HEX", "only the candidates of this key, in rank order" },
    { "shadowed", CLI_FLAG, offsetof(options, shadowed), NULL,
      "only entries that no lookup will choose, since one that is tried before them holds whenever they do" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object an entry" },
    { 0 },
};

cli_command const cli_cmd_ls = {
    .name = "ls",
    .arguments = "",
    .summary = "list the stored entries",
    .about = "With --shadowed: as far as bounds, equalities and remainders of integers in the guards decide it. Shadowed\n"
             "entries take room and are never used; guardcache rm takes them out.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
