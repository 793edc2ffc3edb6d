/*
 * guardcache show: all that is known of an entry.
 */
#include "cli/entries/entries.h"
#include "cli/shared/cli.h"

#include <guardcache/artifacts.h>
#include <stdio.h>

typedef struct options {
    bool json;
} options;

static void
print_text(gcache_entry_view const *entry)
{
    cli_print("entry     %s\nkey       %s\nkind      %s\nstored    %s, number %llu of its key\n", entry->id,
              cli_hex(&entry->key).text, entry->kind, cli_time(entry->created_ns).text, (unsigned long long)entry->sequence);
    if (entry->label != NULL && entry->label[0] != '\0')
        cli_print("label     %s\n", entry->label);
    if (entry->variant != NULL && entry->variant[0] != '\0')
        cli_print("variant   %s\n", entry->variant);
    cli_print("priority  %lld\ncompile   %s\n", (long long)entry->priority, cli_duration(entry->compile_ns).text);
    cli_print("payload   %s, %s on disk\n", cli_size(entry->payload_size).text, cli_size(entry->stored_size).text);
    if (entry->metadata_size != 0)
        cli_print("metadata  %zu bytes\n", entry->metadata_size);
    for (size_t i = 0; i < entry->requires_count; i++)
        cli_print("%s%s = %s\n", i == 0 ? "requires  " : "          ", entry->requires_[i].name, entry->requires_[i].value);
    if (entry->guard_count == 0)
        puts("guards    none: always holds");
    for (size_t i = 0; i < entry->guard_count; i++)
        cli_print("%s%s\n", i == 0 ? "guards    " : "          ", entry->guards[i]);
}

typedef struct shower {
    cli_call *call;
    cli_entry_name name;
    gcache_result content; /* for what belongs to the entry besides its record */
    bool failed;
} shower;

/* ---- attachments ---- */

static void
print_attachments(gcache_result const *content)
{
    for (size_t i = 0; i < content->attachment_count; i++) {
        gcache_attachment const *file = &content->attachments[i];
        cli_print("%s%s, %s%s\n", i == 0 ? "attached  " : "          ", file->name, cli_size(file->size).text,
                  file->executable ? ", executable" : "");
    }
}

static void
set_attachments(cli_object *object, gcache_result const *content)
{
    gci_value list = cli_list_of(object->arena, content->attachment_count);

    for (uint32_t i = 0; i < list.count; i++) {
        gcache_attachment const *file = &content->attachments[i];
        cli_object item = cli_object_new(object->arena);
        cli_object_set_text(&item, "name", file->name);
        cli_object_set_count(&item, "size", file->size);
        cli_object_set_bool(&item, "executable", file->executable);
        list.items[i] = item.map;
    }
    cli_object_set(object, "attachments", list);
}

/* ---- an entry ---- */

static int
print_named(void *state, gcache_entry_view const *entry)
{
    shower *show = state;
    options const *wanted = show->call->options;

    if (strcmp(entry->id, show->name.id) != 0)
        return 0;
    if (!wanted->json) {
        print_text(entry);
        print_attachments(&show->content);
        return 1;
    }
    cli_object object = cli_entry_object(entry, &show->call->arena);
    set_attachments(&object, &show->content);
    show->failed = !cli_object_print(&object, &show->call->error);
    return 1;
}

/* An entry's id is hexadecimal; anything else can only be a file. */
static bool
is_file(char const *argument)
{
    return argument[strspn(argument, "0123456789abcdefABCDEF")] != '\0' && strpbrk(argument, "./") != NULL;
}

static bool
show_export(cli_call *call)
{
    char *manifest = NULL;

    return cli_print_text(gcache_export_show(call->arguments[0], &manifest, &call->error), &manifest);
}

/* What can't be read is told by verify; the rest is shown without it. */
static bool
show_entry(cli_call *call)
{
    shower show = { .call = call, .content = GCACHE_RESULT_INIT };

    bool done = cli_open(call, CLI_LOOK) && cli_entry_find(call->cache, call->arguments[0], &show.name, &call->error);
    if (done)
        gcache_read_entry(call->cache, &show.name.key, show.name.id, &show.content, NULL);
    done = done && gcache_each_entry(call->cache, &show.name.key, print_named, &show, &call->error) == GCACHE_OK && !show.failed;
    gcache_result_clear(&show.content);
    return done;
}

static bool
run(cli_call *call)
{
    return is_file(call->arguments[0]) ? show_export(call) : show_entry(call);
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
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
    .run = run,
};
