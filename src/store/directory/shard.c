#include "store/directory/shard.h"

#include <stdio.h>
#include <stdlib.h>

struct listing {
    gci_shard *shard;
    unsigned number;
    bool failed;
};

static int
note_name(void *state, char const *name)
{
    struct listing *listing = state;
    gci_shard *shard = listing->shard;
    gci_shard_file file;

    file.kind = gci_name_read(name, &file.key, file.id);
    if (file.kind == GCI_NAME_STRANGE || file.key.bytes[0] != listing->number)
        return 0;
    if (shard->count == shard->capacity) {
        size_t capacity = shard->capacity == 0 ? 64 : shard->capacity * 2;
        gci_shard_file *files = realloc(shard->files, capacity * sizeof *files);
        if (files == NULL) {
            listing->failed = true;
            return 1;
        }
        shard->files = files;
        shard->capacity = capacity;
    }
    shard->files[shard->count++] = file;
    return 0;
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

gcache_status
gci_shard_read(gci_dir dir, unsigned number, gci_shard *out_shard, gcache_error *error)
{
    struct listing listing = { .shard = out_shard, .number = number };
    struct stat facts;
    char path[16];

    *out_shard = (gci_shard){ 0 };
    snprintf(path, sizeof path, "entries/%02x", number & 0xffu);
    gcache_status status = gci_dir_stat(dir, path, &facts, error);
    if (status != GCACHE_OK)
        return status == GCACHE_ERROR_NOT_FOUND || !is_folder(dir, "entries") ? GCACHE_OK : status;
    if (!S_ISDIR(facts.st_mode))
        return GCACHE_OK;
    status = gci_dir_each(dir, path, note_name, &listing, error);
    /* Removed meanwhile, or behind a link: then nothing in it is ours. */
    if (status == GCACHE_ERROR_NOT_FOUND || status == GCACHE_ERROR_CORRUPT)
        status = GCACHE_OK;
    if (listing.failed)
        status = gci_fail_memory(error);
    if (status != GCACHE_OK)
        gci_shard_clear(out_shard);
    else if (out_shard->count > 0)
        qsort(out_shard->files, out_shard->count, sizeof *out_shard->files, by_key);
    return status;
}

void
gci_shard_clear(gci_shard *shard)
{
    free(shard->files);
    *shard = (gci_shard){ 0 };
}

bool
gci_shard_next(gci_shard const *shard, size_t *at, gci_shard_key *out_key)
{
    size_t begin = *at, end = begin;

    if (begin >= shard->count)
        return false;
    *out_key = (gci_shard_key){ .key = shard->files[begin].key, .files = shard->files + begin };
    for (; end < shard->count && memcmp(&shard->files[end].key, &out_key->key, sizeof out_key->key) == 0; end++) {
        out_key->has_pack |= shard->files[end].kind == GCI_NAME_PACK;
        out_key->has_description |= shard->files[end].kind == GCI_NAME_DESCRIPTION;
    }
    out_key->count = end - begin;
    *at = end;
    return true;
}
