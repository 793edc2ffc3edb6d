/*
 * Finding the entry that a command line names by the beginning of its id or key.
 */
#include "cli/shared/entries.h"

#include "base/error.h"

#include <stdio.h>
#include <time.h>

typedef struct finder {
    char const *prefix;
    size_t size;
    uint64_t found;
    cli_entry_name *name;
} finder;

static int
match(void *state, gcache_entry_view const *entry)
{
    finder *find = state;

    if (strncmp(entry->id, find->prefix, find->size) == 0) {
        find->found++;
        find->name->key = entry->key;
        memcpy(find->name->id, entry->id, sizeof find->name->id);
    }
    return 0;
}

gcache_status
cli_entry_find(gcache *cache, char const *prefix, cli_entry_name *out_name, gcache_error *error)
{
    finder find = { .prefix = prefix, .size = strlen(prefix), .name = out_name };

    if (find.size == 0 || strspn(prefix, "0123456789abcdef") != find.size)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "'%s' is not an entry id or the beginning of one", prefix);
    gcache_status status = gcache_each_entry(cache, NULL, match, &find, error);
    if (status != GCACHE_OK)
        return status;
    if (find.found == 0)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "no entry's id begins with %s", prefix);
    if (find.found > 1)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%llu entries' ids begin with %s",
                        (unsigned long long)find.found, prefix);
    return GCACHE_OK;
}

cli_object
cli_entry_object(gcache_entry_view const *entry, gci_arena *arena)
{
    cli_object object = cli_object_new(arena), requires_ = cli_object_new(arena);
    gci_value guards = cli_list_of(arena, entry->guard_count);
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&entry->key, hex);
    for (uint32_t i = 0; i < guards.count; i++)
        guards.items[i] = cli_text(arena, entry->guards[i]);
    for (size_t i = 0; i < entry->requires_count; i++)
        cli_object_set_text(&requires_, entry->requires_[i].name, entry->requires_[i].value);
    cli_object_set_text(&object, "entry", entry->id);
    cli_object_set_text(&object, "key", hex);
    cli_object_set_text(&object, "kind", entry->kind);
    cli_object_set_text(&object, "variant", entry->variant != NULL && entry->variant[0] != '\0' ? entry->variant : NULL);
    cli_object_set_int(&object, "priority", entry->priority);
    cli_object_set_count(&object, "sequence", entry->sequence);
    cli_object_set(&object, "guards", guards);
    cli_object_set(&object, "requires", requires_.map);
    cli_object_set_count(&object, "compile_ns", entry->compile_ns);
    cli_object_set_count(&object, "created_ns", entry->created_ns);
    cli_object_set_count(&object, "payload_size", entry->payload_size);
    cli_object_set_count(&object, "stored_size", entry->stored_size);
    cli_object_set_count(&object, "metadata_size", entry->metadata_size);
    cli_object_set_text(&object, "label", entry->label);
    if (entry->shadowed_by != NULL)
        cli_object_set_text(&object, "shadowed_by", entry->shadowed_by);
    return object;
}

void
cli_size_text(uint64_t size, char out_text[CLI_SIZE_TEXT])
{
    static char const *const units[] = { "KiB", "MiB", "GiB", "TiB" };
    double scaled = (double)size / 1024;
    size_t unit = 0;

    if (size < 1024) {
        snprintf(out_text, CLI_SIZE_TEXT, "%u B", (unsigned)size);
        return;
    }
    while (scaled >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        scaled /= 1024;
        unit++;
    }
    snprintf(out_text, CLI_SIZE_TEXT, "%.1f %s", scaled, units[unit]);
}

void
cli_duration_text(uint64_t ns, char out_text[CLI_DURATION_TEXT])
{
    double ms = (double)ns / 1e6;

    if (ns == 0)
        snprintf(out_text, CLI_DURATION_TEXT, "-");
    else if (ms < 1000)
        snprintf(out_text, CLI_DURATION_TEXT, "%.3g ms", ms);
    else
        snprintf(out_text, CLI_DURATION_TEXT, "%.1f s", ms / 1000);
}

void
cli_time_text(uint64_t ns, char out_text[CLI_TIME_TEXT])
{
    time_t seconds = (time_t)(ns / 1000000000u);
    struct tm parts;

    if (localtime_r(&seconds, &parts) == NULL ||
        strftime(out_text, CLI_TIME_TEXT, "%Y-%m-%d %H:%M:%S", &parts) == 0)
        snprintf(out_text, CLI_TIME_TEXT, "?");
}
