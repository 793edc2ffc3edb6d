/*
 * guardcache ls: what is stored.
 */
#include "cli/entries/entries.h"
#include "cli/shared/cli.h"

typedef struct options {
    char const *key;
    bool json, shadowed;
} options;

/* Where what belongs to an entry stands below its row. */
#define SHADOW_INDENT 14

typedef struct lister {
    cli_call *call;
    uint64_t entries, bytes;
    bool failed;
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
    cli_print("%.12s  %.12s  %-11s %-19s %10s %9s %8lld  %6zu  %s\n", entry->id, cli_hex(&entry->key).text, entry->kind,
              cli_time(entry->created_ns).text, cli_size(entry->payload_size).text, cli_duration(entry->compile_ns).text,
              (long long)entry->priority, entry->guard_count, entry->variant != NULL ? entry->variant : "");
    if (entry->shadowed_by != NULL)
        print_shadow(entry);
}

static int
print_entry(void *state, gcache_entry_view const *entry)
{
    lister *list = state;
    options const *wanted = list->call->options;

    list->entries++;
    list->bytes += entry->payload_size;
    gci_arena_reset(&list->call->arena);
    if (wanted->json) {
        cli_object object = cli_entry_object(entry, &list->call->arena);
        list->failed = !cli_object_print(&object, &list->call->error);
    } else {
        print_row(entry);
    }
    return list->failed || cli_output_lost();
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    lister list = { .call = call };
    gcache_key key, *only = wanted->key != NULL ? &key : NULL;

    if (!cli_open(call, CLI_LOOK) || (only != NULL && gcache_key_from_hex(wanted->key, only, &call->error) != GCACHE_OK))
        return false;
    if (!wanted->json)
        cli_print("%-12s  %-12s  %-11s %-19s %10s %9s %8s  %6s  %s\n", "ENTRY", "KEY", "KIND", "STORED", "PAYLOAD",
                  "COMPILE", "PRIORITY", "GUARDS", "VARIANT");
    gcache_status status = wanted->shadowed ? gcache_each_shadowed(call->cache, only, print_entry, &list, &call->error)
                                            : gcache_each_entry(call->cache, only, print_entry, &list, &call->error);
    if (status != GCACHE_OK || list.failed)
        return false;
    if (!wanted->json)
        cli_print("%s, %s of payloads\n", cli_count(list.entries, "entry", "entries").text, cli_size(list.bytes).text);
    return true;
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    { "key", CLI_TEXT, offsetof(options, key), "HEX", "only the candidates of this key, in rank order" },
    { "shadowed", CLI_FLAG, offsetof(options, shadowed), NULL,
      "only entries that no lookup will choose, since one that is tried before them holds whenever they do" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object an entry" },
    { 0 },
};

cli_command const cli_cmd_ls = {
    .name = "ls",
    .summary = "list the stored entries",
    .about = "With --shadowed: as far as bounds, equalities and remainders of integers in the guards decide it. Shadowed\n"
             "entries take room and are never used; guardcache rm takes them out.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
