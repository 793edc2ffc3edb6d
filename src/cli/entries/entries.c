/*
 * Finding the entry that a command line names by the beginning of its id or key.
 */
#include "cli/entries/entries.h"

#include "cli/shared/cli.h"

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

bool
cli_entry_find(gcache *cache, char const *prefix, cli_entry_name *out_name, gcache_error *error)
{
    finder find = { .prefix = prefix, .size = strlen(prefix), .name = out_name };

    if (find.size == 0 || strspn(prefix, "0123456789abcdef") != find.size)
        return cli_wrong(error, "'%s' is not an entry id or the beginning of one", prefix);
    if (gcache_each_entry(cache, NULL, match, &find, error) != GCACHE_OK)
        return false;
    if (find.found == 0)
        return cli_wrong(error, "no entry's id begins with %s", prefix);
    return find.found == 1 ||
           cli_wrong(error, "%llu entries' ids begin with %s", (unsigned long long)find.found, prefix);
}

cli_object
cli_entry_object(gcache_entry_view const *entry, gci_arena *arena)
{
    cli_object object = cli_object_new(arena);

    cli_object_set_text(&object, "entry", entry->id);
    cli_object_set_key(&object, "key", &entry->key);
    cli_object_set_text(&object, "kind", entry->kind);
    cli_object_set_nonempty(&object, "variant", entry->variant);
    cli_object_set_int(&object, "priority", entry->priority);
    cli_object_set_count(&object, "sequence", entry->sequence);
    cli_object_set_texts(&object, "guards", entry->guards, entry->guard_count);
    cli_object_set_pairs(&object, "requires", entry->requires_, entry->requires_count);
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
