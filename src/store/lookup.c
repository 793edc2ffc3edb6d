#include "store/lookup.h"

#include "base/clock.h"
#include "store/mend.h"
#include "store/tombstones.h"
#include "store/touch.h"

#include <fcntl.h>
#include <stdlib.h>

/* Most candidate indexes are read into this much of the stack; larger ones take a buffer. */
#define READ_ON_STACK ((size_t)16 << 10)

gci_found
gci_unreadable(gci_store *store)
{
    gci_store_count(store, GCI_COUNT_UNREADABLE, 1);
    return GCI_UNREADABLE;
}

static gci_file_facts
facts_of(struct stat const *stat)
{
    return (gci_file_facts){
        .device = stat->st_dev,
        .inode = stat->st_ino,
        .size = (uint64_t)stat->st_size,
        .modified_ns = (uint64_t)stat->st_mtim.tv_sec * 1000000000u + (uint64_t)stat->st_mtim.tv_nsec,
        .changed_ns = (uint64_t)stat->st_ctim.tv_sec * 1000000000u + (uint64_t)stat->st_ctim.tv_nsec,
    };
}

/* Turns the bytes of a candidate index into a set. */
static gci_found
decode(gci_store *store, gcache_key const *key, gci_view bytes, gci_candidates **out_set, gcache_error *error)
{
    gci_trust trust = { store->options.signing, store->options.signing_count, store->options.require_signature };
    gci_pack_walk walk;

    switch (gci_pack_begin(bytes, key, &walk)) {
    case GCI_PACK_TORN:
        return GCI_ABSENT;
    case GCI_PACK_BAD:
        gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: damaged candidate index", gci_path_pack(key).text);
        return GCI_CORRUPT;
    case GCI_PACK_NEWER:
        gci_fail(error, GCACHE_ERROR_FORMAT, "%s: of a newer version", gci_path_pack(key).text);
        return gci_unreadable(store);
    case GCI_PACK_GOOD:
        break;
    }
    *out_set = gci_candidates_new(key, bytes, store->memory.budget, &trust, &walk);
    if (*out_set == NULL) {
        gci_fail_memory(error);
        return gci_unreadable(store);
    }
    return GCI_FOUND;
}

static gci_found
read_and_decode(gci_store *store, gci_file const *file, gcache_key const *key, gci_candidates **out_set,
                gcache_error *error)
{
    char small[READ_ON_STACK];
    struct stat stat;
    size_t size;

    if (gci_file_stat(file, &stat, error) != GCACHE_OK)
        return gci_unreadable(store);
    if (!S_ISREG(stat.st_mode) || (uint64_t)stat.st_size > GCI_PACK_MAX) {
        gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: not a candidate index", file->path);
        return GCI_CORRUPT;
    }
    char *bytes = (size_t)stat.st_size <= sizeof small ? small : malloc((size_t)stat.st_size);
    if (bytes == NULL)
        gci_fail_memory(error);
    gci_found found = GCI_UNREADABLE;
    if (bytes == NULL || gci_file_read(file, bytes, (size_t)stat.st_size, 0, &size, error) != GCACHE_OK)
        gci_unreadable(store);
    else
        found = decode(store, key, gci_view_of(bytes, size), out_set, error);
    if (found == GCI_FOUND)
        gci_inside(*out_set)->facts = facts_of(&stat);
    if (bytes != small)
        free(bytes);
    return found;
}

gci_found
gci_read_pack(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error)
{
    gci_path path = gci_path_pack(key);
    gci_file file;

    *out_set = NULL;
    if (gci_file_open_existing(store->directory, path.text, O_RDONLY | O_NONBLOCK, &file, error) != GCACHE_OK)
        return gci_unreadable(store);
    if (file.fd < 0)
        return GCI_ABSENT;
    gci_store_count(store, GCI_COUNT_DISK_READS, 1);
    gci_found found = read_and_decode(store, &file, key, out_set, error);
    gci_file_close(&file);
    return found;
}

/* Whether the file is still the one a set was read from: for when the generations can't tell. */
static bool
is_unchanged(gci_store *store, gci_candidates *set)
{
    gci_path path = gci_path_pack(&set->key);
    gci_file_facts const *then = &gci_inside(set)->facts;
    struct stat stat;
    gci_file file;

    /* Opened, because a network file system's client looks at the server only then. */
    if (gci_file_open(store->directory, path.text, O_RDONLY | O_NONBLOCK, &file, NULL) != GCACHE_OK)
        return false;
    bool known = gci_file_stat(&file, &stat, NULL) == GCACHE_OK;
    gci_file_close(&file);
    gci_file_facts now = facts_of(&stat);
    return known && now.device == then->device && now.inode == then->inode && now.size == then->size &&
           now.modified_ns == then->modified_ns && now.changed_ns == then->changed_ns;
}

/* Reads the candidate index and puts it into the memory tier, in place of `former` (or NULL). */
static gci_found
refresh(gci_store *store, gcache_key const *key, gci_candidates *former, gci_candidates **out_set, gcache_error *error)
{
    uint64_t generation = gci_generation(&store->shared, key);
    gci_found found = GCI_FOUND;

    if (former != NULL && is_unchanged(store, former))
        *out_set = gci_candidates_retain(former);
    else
        found = gci_read_pack(store, key, out_set, error);
    if (found != GCI_FOUND)
        gci_memory_drop(&store->memory, key, gci_save_touches, store);
    else if ((*out_set)->damaged == 0 && (generation & 1) == 0)
        gci_memory_put(&store->memory, *out_set, generation, gci_save_touches, store);
    return found;
}

gci_found
gci_read_current(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error)
{
    uint64_t current = gci_generation(&store->shared, key), then = 1;

    gci_candidates *set = gci_memory_find(&store->memory, key, &then);
    if (set != NULL && then == current && store->shared.usable) {
        gci_store_count(store, GCI_COUNT_MEMORY_HITS, 1);
        *out_set = set;
        return GCI_FOUND;
    }
    gci_found found = refresh(store, key, set, out_set, error);
    gci_candidates_release(set);
    return found;
}

/* What there is to say about a key that has no candidate index. */
static gci_found
absent(gci_store *store, gcache_key const *key)
{
    gci_tombstone tombstone;

    bool known = gci_store_tombstone(store, key, &tombstone);

    return known && tombstone.left == 0 ? GCI_EVICTED : GCI_ABSENT;
}

/* Puts aside what is damaged, and reads again. */
static gci_found
mend_and_read(gci_store *store, gcache_key const *key, gci_candidates **inout_set, gcache_error *error)
{
    gci_mended mended = { 0 };

    if (gci_mend_key(store, key, NULL, 0, &mended, NULL) != GCACHE_OK)
        return *inout_set != NULL ? GCI_FOUND : GCI_CORRUPT;
    gci_candidates_release(*inout_set);
    gci_found found = gci_read_pack(store, key, inout_set, error);
    if (found == GCI_FOUND)
        (*inout_set)->damaged += mended.quarantined;
    else if (found == GCI_ABSENT && mended.quarantined > 0)
        found = GCI_CORRUPT;
    return found;
}

/* A set without anything in it says no more than why. */
static gci_found
settle_empty(gci_candidates *set, gcache_error *error)
{
    gci_path path = gci_path_pack(&set->key);

    if (set->damaged > 0) {
        gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: damaged candidate index", path.text);
        return GCI_CORRUPT;
    }
    if (set->untrusted > 0) {
        gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s: not signed with a key of ours", path.text);
        return GCI_UNREADABLE;
    }
    return GCI_ABSENT;
}

static gci_found
finish(gci_store *store, gcache_key const *key, gci_found found, gci_candidates **inout_set, gcache_error *error)
{
    gci_candidates *set = *inout_set;

    if (found == GCI_CORRUPT || (found == GCI_FOUND && set->damaged > 0))
        found = mend_and_read(store, key, inout_set, error);
    set = *inout_set;
    if (found == GCI_FOUND && set->count == 0 && set->evicted_count == 0) {
        found = settle_empty(set, error);
        gci_candidates_release(set);
        *inout_set = NULL;
    }
    return found == GCI_ABSENT ? absent(store, key) : found;
}

/* What is due now and then is done by whoever comes along, at most once a second: this is all that a hit pays for it. */
#define CHECK_EVERY_NS UINT64_C(1000000000)

static void
do_what_is_due(gci_store *store, uint64_t now)
{
    /* The table has lost its name: somebody removed the directory's content, and others use another table. */
    if (gci_shared_is_stale(&store->shared))
        atomic_store(&store->shared.usable, false);
    uint64_t then = atomic_load(&store->touched_ns);
    if (now - then >= GCI_TOUCH_EVERY_NS && atomic_compare_exchange_strong(&store->touched_ns, &then, now))
        gci_flush_touches(store);
}

static void
check_time(gci_store *store)
{
    uint64_t now = gci_clock_coarse_ns(), then = atomic_load_explicit(&store->checked_ns, memory_order_relaxed);

    if (now - then >= CHECK_EVERY_NS && atomic_compare_exchange_strong(&store->checked_ns, &then, now))
        do_what_is_due(store, now);
}

/* The first lookup of a handle is often its only one: it reads the file and no more. */
static bool
is_first(gci_store *store)
{
    return !atomic_load_explicit(&store->asked, memory_order_relaxed) && !atomic_exchange(&store->asked, true) &&
           !atomic_load(&store->warm);
}

gci_found
gci_store_candidates(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error)
{
    gci_found found;

    *out_set = NULL;
    if (is_first(store)) {
        found = gci_read_pack(store, key, out_set, error);
    } else {
        gci_store_enter(store);
        check_time(store);
        found = gci_read_current(store, key, out_set, error);
    }
    if (found == GCI_FOUND && (*out_set)->damaged == 0 && (*out_set)->count > 0)
        return found;
    gci_store_enter(store);
    return finish(store, key, found, out_set, error);
}

gci_found
gci_store_load(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error)
{
    gci_store_enter(store);
    gci_found found = gci_read_pack(store, key, out_set, error);
    return finish(store, key, found, out_set, error);
}
