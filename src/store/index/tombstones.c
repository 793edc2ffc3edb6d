/* Tombstones: the file `evicted`, one slot a key, four slots a bucket. See tombstones.h. */
#include "store/index/tombstones.h"

#include "base/fields.h"
#include "store/directory/layout.h"
#include "store/state/files.h"
#include "store/state/state.h"

#include <fcntl.h>

#define NAME "evicted"
#define SLOT 96
#define WAYS 4
#define BUCKETS 4096
/* A miss that is reported late is worse than one that isn't counted. */
#define MARK_WAIT_NS UINT64_C(10000000)

static uint64_t
bucket_offset(gcache_key const *key)
{
    unsigned bucket = ((unsigned)key->bytes[2] | (unsigned)key->bytes[3] << 8) % BUCKETS;

    return (uint64_t)bucket * WAYS * SLOT;
}

static gci_field const slot_fields[] = {
    GCI_BYTES(gci_tombstone, key, "key", ""),
    GCI_NUMBER(gci_tombstone, evicted_ns, 8, "evicted", "ns since 1970; 0: an empty slot"),
    GCI_NUMBER(gci_tombstone, entries, 4, "entries", "that went"),
    GCI_NUMBER(gci_tombstone, hits, 4, "hits", "how often they had been handed out"),
    GCI_NUMBER(gci_tombstone, cause, 4, "cause",
               "1 the size cap, 2 an age limit, 3 a full disk, 4 one entry by hand (`rm`), 5 a full key; `gc` by hand: 6 down to a "
               "size, 7 what was unused, 8 a namespace"),
    GCI_NUMBER(gci_tombstone, left, 4, "left", "candidates that stayed under the key; 0: it was evicted whole"),
    GCI_NUMBER(gci_tombstone, stored_ns, 8, "stored", "when the first of those that went was; 0: not known"),
    GCI_NUMBER(gci_tombstone, used_ns, 8, "used", "when one of them last was; 0: not known"),
    GCI_NUMBER(gci_tombstone, evicted_bytes, 8, "bytes", "that the cache had evicted before, as the counter `evicted_bytes`"),
    GCI_NUMBER_UP_TO(gci_tombstone, asked, 4, 1, "asked",
                     "1: a lookup has missed what went, and is counted in `asked_again`; else 0"),
    GCI_CONSTANT("\0\0\0\0", "zeros", ""),
    GCI_SUM64("sum", ""),
};
gci_fields const gci_tombstone_fields = GCI_FIELDS("tombstone", gci_tombstone, slot_fields);

static bool
read_slot(char const *bytes, gci_tombstone *out)
{
    return gci_fields_read_all(gci_view_of(bytes, SLOT), &gci_tombstone_fields, NULL, out) && out->evicted_ns != 0;
}

static bool
write_slot(gci_file const *file, uint64_t offset, gci_tombstone const *tombstone)
{
    gci_buf bytes;

    gci_buf_init(&bytes, 2 * SLOT);
    gci_fields_write(&bytes, &gci_tombstone_fields, tombstone);
    bool written = !bytes.failed && gci_file_write_at(file, gci_buf_view(&bytes), offset, NULL) == GCACHE_OK;
    gci_buf_clear(&bytes);
    return written;
}

/* Opens the file and reads a key's bucket; what isn't in the file is zeros. */
static bool
open_bucket(gci_store *store, gcache_key const *key, int flags, gci_file *out_file, char out_bytes[WAYS * SLOT])
{
    size_t got = 0;

    memset(out_bytes, 0, WAYS * SLOT);
    gcache_status status = (flags & O_CREAT) != 0 ? gci_layout_create(store->directory, NAME, flags, out_file, NULL)
                                                  : gci_file_open(store->directory, NAME, flags, out_file, NULL);
    if (status != GCACHE_OK)
        return false;
    if (gci_file_read(out_file, out_bytes, WAYS * SLOT, bucket_offset(key), &got, NULL) == GCACHE_OK)
        return true;
    gci_file_close(out_file);
    return false;
}

static bool
find(char const *bytes, gcache_key const *key, gci_tombstone *out, size_t *out_way)
{
    for (size_t way = 0; way < WAYS; way++) {
        if (read_slot(bytes + way * SLOT, out) && memcmp(&out->key, key, sizeof *key) == 0) {
            *out_way = way;
            return true;
        }
    }
    return false;
}

bool
gci_tombstone_get(gci_store *store, gcache_key const *key, gci_tombstone *out_tombstone)
{
    char bytes[WAYS * SLOT];
    gci_file file;
    size_t way;

    if (!open_bucket(store, key, O_RDONLY, &file, bytes))
        return false;
    gci_file_close(&file);
    return find(bytes, key, out_tombstone, &way);
}

/* Its own way, or that of the oldest. */
static size_t
choose_way(char const *bytes, gcache_key const *key)
{
    uint64_t oldest = UINT64_MAX;
    gci_tombstone other;
    size_t place = 0;

    if (find(bytes, key, &other, &place))
        return place;
    for (size_t way = 0; way < WAYS; way++) {
        uint64_t age = read_slot(bytes + way * SLOT, &other) ? other.evicted_ns : 0;
        if (age < oldest) {
            oldest = age;
            place = way;
        }
    }
    return place;
}

bool
gci_tombstone_put(gci_store *store, gci_tombstone const *tombstone)
{
    char bytes[WAYS * SLOT];
    gci_file file;

    if (!open_bucket(store, &tombstone->key, O_RDWR | O_CREAT, &file, bytes))
        return false;
    uint64_t offset = bucket_offset(&tombstone->key) + choose_way(bytes, &tombstone->key) * SLOT;
    bool written = write_slot(&file, offset, tombstone);
    gci_file_close(&file);
    return written;
}

void
gci_tombstone_remove(gci_store *store, gcache_key const *key)
{
    char bytes[WAYS * SLOT];
    gci_tombstone former;
    gci_file file;
    size_t way;

    /* Only read, most often: the file may not even be there. */
    if (!gci_tombstone_get(store, key, &former) || !open_bucket(store, key, O_RDWR, &file, bytes))
        return;
    if (find(bytes, key, &former, &way))
        write_slot(&file, bucket_offset(key) + way * SLOT, &(gci_tombstone){ .key = *key });
    gci_file_close(&file);
}

uint64_t
gci_tombstones_cost(gci_store *store)
{
    return gci_cost_of_path(store, NAME);
}

void
gci_tombstones_forget(gci_store *store)
{
    gci_dir_unlink(store->directory, NAME, NULL);
}

bool
gci_store_tombstone(gci_store *store, gcache_key const *key, gci_tombstone *out_tombstone)
{
    gci_store_enter(store);
    return gci_tombstone_get(store, key, out_tombstone);
}

/* By the holder of the key's lock. Only what is written down is counted: it would be counted again. */
static void
mark_asked(gci_store *store, gcache_key const *key)
{
    gci_tombstone tombstone;

    if (!gci_tombstone_get(store, key, &tombstone) || tombstone.asked)
        return;
    tombstone.asked = true;
    if (gci_tombstone_put(store, &tombstone))
        gci_store_count(store, GCI_COUNT_ASKED_AGAIN, 1);
}

void
gci_store_asked_again(gci_store *store, gcache_key const *key)
{
    gci_tombstone tombstone;

    gci_store_enter(store);
    /* Most often it is marked already: no lock for that. */
    if (store->read_only || !gci_tombstone_get(store, key, &tombstone) || tombstone.asked)
        return;
    if (gci_key_lock(&store->locks, key, MARK_WAIT_NS, NULL) != GCACHE_OK)
        return;
    mark_asked(store, key);
    gci_key_unlock(&store->locks, key);
}
