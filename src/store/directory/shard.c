/* A folder of entries/, listed and sorted, key by key. */
#include "store/directory/shard.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>

struct listing {
    gci_shard_file *files;
    size_t count, capacity;
    unsigned number;
    bool failed;
};

static int
note_file(struct listing *listing, gci_shard_file const *file)
{
    if (!GCI_ARRAY_HAS_ROOM(listing, files)) {
        listing->failed = true;
        return 1;
    }
    listing->files[listing->count++] = *file;
    return 0;
}

static int
note_name(void *state, char const *name)
{
    struct listing *listing = state;
    gci_shard_file file;

    file.kind = gci_name_read(name, &file.key, file.id);
    if (file.kind == GCI_NAME_STRANGE || file.kind == GCI_NAME_POOL || file.key.bytes[0] != listing->number)
        return 0;
    return note_file(listing, &file);
}

static int
by_key(void const *left, void const *right)
{
    gci_shard_file const *a = left, *b = right;
    int order = memcmp(&a->key, &b->key, sizeof a->key);

    if (order == 0)
        order = (a->kind > b->kind) - (a->kind < b->kind);
    return order != 0 ? order : strcmp(a->id, b->id);
}

static bool
is_folder(gci_dir dir, char const *path)
{
    struct stat facts;

    return gci_dir_stat(dir, path, &facts, NULL) == GCACHE_OK && S_ISDIR(facts.st_mode);
}

/* Which *out may be cleared of in any case. */
static gcache_status
list_files(gci_dir dir, struct listing *out, gcache_error *error)
{
    struct stat facts;
    char path[16];

    snprintf(path, sizeof path, "entries/%02x", out->number & 0xffu);
    gcache_status status = gci_dir_stat(dir, path, &facts, error);
    if (status != GCACHE_OK)
        return status == GCACHE_ERROR_NOT_FOUND || !is_folder(dir, "entries") ? GCACHE_OK : status;
    if (!S_ISDIR(facts.st_mode))
        return GCACHE_OK;
    status = gci_dir_each(dir, path, note_name, out, error);
    if (out->failed)
        return gci_fail_memory(error);
    /* Removed meanwhile, or behind a link: then nothing in it is ours. */
    if (status == GCACHE_ERROR_NOT_FOUND || status == GCACHE_ERROR_CORRUPT)
        status = GCACHE_OK;
    return status;
}

/* The key whose files begin at `begin`. */
static gci_shard_key
key_at(struct listing const *listing, size_t begin)
{
    gci_shard_key key = { .key = listing->files[begin].key, .files = listing->files + begin };

    for (size_t i = begin; i < listing->count && memcmp(&listing->files[i].key, &key.key, sizeof key.key) == 0; i++) {
        key.has_pack |= listing->files[i].kind == GCI_NAME_PACK;
        key.count++;
    }
    return key;
}

gcache_status
gci_shard_each(gci_dir dir, unsigned number, gcache_key const *pooled, size_t pooled_count, gci_shard_key_fn fn, void *state,
               gcache_error *error)
{
    struct listing listing = { .number = number };
    gci_shard_key key;

    gcache_status status = list_files(dir, &listing, error);
    for (size_t i = 0; status == GCACHE_OK && i < pooled_count; i++) {
        if (note_file(&listing, &(gci_shard_file){ .key = pooled[i], .kind = GCI_NAME_PACK }) != 0)
            status = gci_fail_memory(error);
    }
    if (status == GCACHE_OK && listing.count > 0)
        qsort(listing.files, listing.count, sizeof *listing.files, by_key);
    for (size_t at = 0; status == GCACHE_OK && at < listing.count; at += key.count) {
        key = key_at(&listing, at);
        status = fn(state, &key);
    }
    free(listing.files);
    return status;
}
