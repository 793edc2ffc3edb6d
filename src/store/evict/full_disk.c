/* Room on the disk: what the file system, its inodes or a quota still allow, and evicting where they don't. */
#include "store/evict/full_disk.h"

#include "base/system/clock.h"
#include "store/directory/layout.h"
#include "store/evict/evict.h"
#include "store/evict/least_recent.h"
#include "store/evict/overhead.h"
#include "store/evict/recount.h"

/* As long as an insert waits at the cap. */
#define EVICTOR_WAIT_NS UINT64_C(10000000000)

/* An eviction of so many entries must have freed an inode, if inodes were short. After one that didn't help there is no
   other for so long. */
#define FUTILE_ENTRIES 16
#define FUTILE_S 60
#define SHORT_BYTES ((uint64_t)64 << 10)
/* What is written about evictions, rows that go and tombstones, may take what one of them frees: so much goes at once, and so
   much more than is needed before it counts as futile. */
#define BATCH ((uint64_t)256 << 10)
#define ABOUT_EVICTIONS ((uint64_t)512 << 10)

/* An insert makes an entry file, perhaps the folder it lies in, and a candidate index: an inode each. */
#define NAMES 3

static gcache_status
make_probes(gci_store *store, gci_path const paths[NAMES], uint64_t size, bool *out_nameless, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    gci_file file;

    for (int i = 0; status == GCACHE_OK && i < NAMES; i++) {
        status = gci_layout_create(store->directory, paths[i].text, O_WRONLY | O_CREAT | O_EXCL, &file, error);
        *out_nameless = status != GCACHE_OK;
        if (status == GCACHE_OK && i == NAMES - 1)
            status = gci_file_allocate(&file, size, error);
        gci_file_close(&file);
    }
    return status;
}

/* Whether an insert of that size can be made now: that is what the file system, its inodes and quotas, have to allow.
   *out_nameless: not even empty files. ERROR_LIMIT: a file of that size can't be made, whatever is evicted. */
static gcache_status
probe(gci_store *store, uint64_t size, bool *out_nameless, gcache_error *error)
{
    gci_path paths[NAMES];

    for (int i = 0; i < NAMES; i++)
        paths[i] = gci_path_temporary();
    gcache_status status = make_probes(store, paths, size, out_nameless, error);
    for (int i = 0; i < NAMES; i++)
        gci_dir_unlink(store->directory, paths[i].text, NULL);
    return status;
}

/* The same, after room was made for names where that costs no entry. */
static gcache_status
probe_pruned(gci_store *store, uint64_t size, bool *out_nameless, gcache_error *error)
{
    gcache_status status = probe(store, size, out_nameless, error);

    if (status != GCACHE_ERROR_NO_SPACE || !*out_nameless)
        return status;
    gci_layout_prune(store->directory);
    return probe(store, size, out_nameless, error);
}

static bool
was_futile(gci_store *store)
{
    uint64_t then, now = gci_clock_wall_ns() / GCI_SECOND_NS;

    return gci_word_get(&store->shared.head->futile_s, &then) && then <= now && now - then < FUTILE_S;
}

/* Whether all that could go would be enough. How many names attachments take isn't counted. */
static bool
could_fit(gci_store *store, uint64_t need, bool nameless)
{
    gci_recounted counted;
    uint64_t free_bytes, free_names = gci_dir_free_names(store->directory);

    if (gci_count_files(store, &counted, NULL) != GCACHE_OK)
        return false;
    if (nameless)
        return free_names >= NAMES || counted.attachments > 0 || free_names + counted.names >= NAMES;
    return gci_dir_free_bytes(store->directory, &free_bytes, NULL) != GCACHE_OK || free_bytes + counted.bytes >= need;
}

/* By the holder of the evict lock: as many bytes as are needed, or one entry after the other where names are short; twice
   that at most, and what is written about it. */
static gcache_status
evict_until_it_fits(gci_store *store, uint64_t need, gcache_error *error)
{
    uint64_t batch = need > BATCH ? need : BATCH;
    gci_eviction_watch const unwatched = { 0 };
    gci_evicted all = { 0 }, evicted;
    bool nameless;

    gcache_status status = probe_pruned(store, need, &nameless, error);
    if (status == GCACHE_ERROR_NO_SPACE && !could_fit(store, need, nameless))
        return status;
    while (status == GCACHE_ERROR_NO_SPACE &&
           (nameless ? all.entries < FUTILE_ENTRIES : all.bytes < 2 * need + ABOUT_EVICTIONS)) {
        if (gci_evict_least_recent(store, nameless ? 1 : batch, GCI_EVICTED_SPACE, unwatched, &evicted, NULL) != GCACHE_OK ||
            evicted.bytes == 0)
            break;
        all.entries += evicted.entries;
        all.bytes += evicted.bytes;
        gci_overhead_shrink(store);
        status = probe_pruned(store, need, &nameless, error);
    }
    if (status == GCACHE_ERROR_NO_SPACE)
        gci_word_set(&store->shared.head->futile_s, gci_clock_wall_ns() / GCI_SECOND_NS);
    return status;
}

bool
gci_space_is_short(gci_store *store)
{
    bool nameless;

    return probe(store, SHORT_BYTES, &nameless, NULL) == GCACHE_ERROR_NO_SPACE;
}

gcache_status
gci_evict_for_space(gci_store *store, uint64_t need, gcache_error *error)
{
    bool nameless;
    gci_file lock;

    gcache_status status = gci_evictor_lock(store, EVICTOR_WAIT_NS, &lock, error);
    if (status != GCACHE_OK)
        return status;
    gci_strays_remove(store, false);
    /* Making index.db small takes as long as reading all keys: that is tried again when an eviction is. */
    bool futile = was_futile(store);
    if (!futile)
        gci_overhead_shrink(store);
    status = futile ? probe_pruned(store, need, &nameless, error) : evict_until_it_fits(store, need, error);
    gci_file_unlock_and_close(&lock);
    if (status == GCACHE_ERROR_LIMIT)
        return gci_fail(error, GCACHE_ERROR_NO_SPACE,
                        "%s: a limit of this process, or of the file system, allows no file of %llu bytes",
                        store->directory.name, (unsigned long long)need);
    return status;
}
