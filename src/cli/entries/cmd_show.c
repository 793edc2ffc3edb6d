/*
 * guardcache show: all that is known of an entry.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/entries.h"
#include "cli/shared/open.h"

#include <guardcache/artifacts.h>
#include <guardcache/guard.h>
#include <stdio.h>

typedef struct options {
    char const *cache;
    bool json;
} options;

/* One entry's texts. */
#define OBJECT_MAX_BYTES ((size_t)256 << 20)

static void
print_sizes(gcache_entry_view const *entry)
{
    char payload[CLI_SIZE_TEXT], stored[CLI_SIZE_TEXT];

    cli_size_text(entry->payload_size, payload);
    cli_size_text(entry->stored_size, stored);
    cli_print("payload   %s, %s on disk\n", payload, stored);
    if (entry->metadata_size != 0)
        cli_print("metadata  %zu bytes\n", entry->metadata_size);
}

static void
print_text(gcache_entry_view const *entry)
{
    char hex[GCACHE_KEY_HEX_SIZE], created[CLI_TIME_TEXT], compile[CLI_DURATION_TEXT];

    gcache_key_to_hex(&entry->key, hex);
    cli_time_text(entry->created_ns, created);
    cli_duration_text(entry->compile_ns, compile);
    cli_print("entry     %s\nkey       %s\nkind      %s\nstored    %s, number %llu of its key\n", entry->id, hex,
              entry->kind, created, (unsigned long long)entry->sequence);
    if (entry->label != NULL && entry->label[0] != '\0')
        cli_print("label     %s\n", entry->label);
    if (entry->variant != NULL && entry->variant[0] != '\0')
        cli_print("variant   %s\n", entry->variant);
    cli_print("priority  %lld\ncompile   %s\n", (long long)entry->priority, compile);
    print_sizes(entry);
    for (size_t i = 0; i < entry->requires_count; i++)
        cli_print("%s%s = %s\n", i == 0 ? "requires  " : "          ", entry->requires_[i].name, entry->requires_[i].value);
    if (entry->guard_count == 0)
        puts("guards    none: always holds");
    for (size_t i = 0; i < entry->guard_count; i++)
        cli_print("%s%s\n", i == 0 ? "guards    " : "          ", entry->guards[i]);
}

static gcache_status
print_json(gcache_entry_view const *entry, gcache_error *error)
{
    gci_arena arena;

    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    cli_object object = cli_entry_object(entry, &arena);
    gcache_status status = cli_object_print(&object, error);
    gci_arena_clear(&arena);
    return status;
}

typedef struct shower {
    cli_entry_name name;
    bool json;
    gcache_status status;
    gcache_error *error;
} shower;

static int
print_named(void *state, gcache_entry_view const *entry)
{
    shower *show = state;

    if (strcmp(entry->id, show->name.id) != 0)
        return 0;
    if (show->json)
        show->status = print_json(entry, show->error);
    else
        print_text(entry);
    return 1;
}

/* An entry's id is hexadecimal; anything else can only be a file. */
static bool
is_file(char const *argument)
{
    return argument[strspn(argument, "0123456789abcdefABCDEF")] != '\0' && strpbrk(argument, "./") != NULL;
}

static cli_exit
show_export(char const *file)
{
    gcache_error error = { 0 };
    char *manifest;

    if (gcache_export_show(file, &manifest, &error) != GCACHE_OK)
        return cli_fail(&error);
    cli_print_lines(gci_view_text(manifest));
    cli_write(gci_view_text("\n"));
    gcache_free(manifest);
    return CLI_OK;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_error error = { 0 };
    shower show = { .json = wanted->json, .error = &error };
    gcache *cache;

    if (is_file(call->arguments[0]))
        return show_export(call->arguments[0]);
    gcache_status status = cli_open_directory(wanted->cache, true, &cache, &error);
    if (status == GCACHE_OK)
        status = cli_entry_find(cache, call->arguments[0], &show.name, &error);
    if (status == GCACHE_OK)
        status = gcache_each_entry(cache, &show.name.key, print_named, &show, &error);
    if (status == GCACHE_OK)
        status = show.status;
    gcache_close(cache);
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object" },
    { 0 },
};

cli_command const cli_cmd_show = {
    .name = "show",
    .arguments = "ENTRY | FILE",
    .summary = "show what an entry or an export says about itself",
    .about = "ENTRY is an entry's id or the beginning of one. FILE, which guardcache export wrote, is known by a dot or a slash\n"
             "in its name; it is verified, and its manifest is printed as one JSON object.\n",
    .options = table,
    .options_size = sizeof(options),
    .least = 1,
    .most = 1,
    .run = run,
};
