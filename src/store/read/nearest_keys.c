/* Stored keys by how many components they share with a given one, from the rows, or from descriptions where there are none. */
#include "base/digest.h"
#include "store/format/describe.h"
#include "store/index/drain.h"
#include "store/index/sizes.h"
#include "store/read/read.h"
#include "store/state/state.h"

#include <stdlib.h>

#define WAIT_NS UINT64_C(2000000000)
/* Of a component that many keys share (an environment), the newest keys are asked. */
#define KEYS_A_COMPONENT 1000
/* Without index.db descriptions are read one by one: as many as take a second or so. */
#define SCAN_MAX 5000

/* Keys met so far, as an open hash table by their bytes. */
struct tally {
    gci_near *slots; /* equal 0: empty */
    size_t capacity, count;
};

static bool
tally_grow(struct tally *tally)
{
    size_t capacity = tally->capacity == 0 ? 256 : tally->capacity * 2;
    gci_near *slots = calloc(capacity, sizeof *slots);

    if (slots == NULL)
        return false;
    for (size_t i = 0; i < tally->capacity; i++) {
        if (tally->slots[i].equal == 0)
            continue;
        size_t at = (size_t)gci_hash64(&tally->slots[i].key, sizeof(gcache_key), 0) % capacity;
        while (slots[at].equal != 0)
            at = (at + 1) % capacity;
        slots[at] = tally->slots[i];
    }
    free(tally->slots);
    tally->slots = slots;
    tally->capacity = capacity;
    return true;
}

static bool
tally_add(struct tally *tally, gcache_key const *key, uint32_t equal)
{
    if (tally->count * 2 >= tally->capacity && !tally_grow(tally))
        return false;
    size_t at = (size_t)gci_hash64(key, sizeof *key, 0) % tally->capacity;
    while (tally->slots[at].equal != 0 && memcmp(&tally->slots[at].key, key, sizeof *key) != 0)
        at = (at + 1) % tally->capacity;
    tally->count += tally->slots[at].equal == 0;
    tally->slots[at].key = *key;
    tally->slots[at].equal += equal;
    return true;
}

/* Most equal components first; keys in order, so that the answer is the same every time. */
static int
compare_near(void const *left, void const *right)
{
    gci_near const *a = left, *b = right;

    if (a->equal != b->equal)
        return a->equal > b->equal ? -1 : 1;
    return memcmp(&a->key, &b->key, sizeof a->key);
}

static size_t
tally_best(struct tally *tally, gci_near *out_near, size_t room)
{
    qsort(tally->slots, tally->capacity, sizeof *tally->slots, compare_near);
    size_t count = tally->count < room ? tally->count : room;
    if (count > 0)
        memcpy(out_near, tally->slots, count * sizeof *out_near);
    return count;
}

static gcache_status
ask_rows(gci_store *store, gci_view kind, gci_component const *components, size_t count, struct tally *tally,
         gcache_error *error)
{
    gci_index *index = &store->index;
    gcache_key key;

    gcache_status status = gci_index_begin(index, GCI_READ, WAIT_NS, error);
    if (status != GCACHE_OK)
        return status;
    for (size_t i = 0; status == GCACHE_OK && i < count; i++) {
        gci_sql number = gci_sql_number((int64_t)gci_component_number(kind, &components[i]));
        sqlite3_stmt *rows = GCI_QUERY(index, GCI_SQL_COMPONENT_KEYS, number, gci_sql_number(KEYS_A_COMPONENT));
        while (status == GCACHE_OK && gci_index_step(index, rows)) {
            gci_view stored = gci_sql_column(rows, 1);
            if (stored.size != sizeof key.bytes)
                continue;
            memcpy(key.bytes, stored.data, stored.size);
            if (!tally_add(tally, &key, 1))
                status = gci_fail_memory(error);
        }
    }
    return gci_index_end(index, GCI_READ, status, error);
}

/* Every key that is stored has its row: what rows don't know of isn't there. */
static bool
rows_are_complete(gci_store *store)
{
    gci_index_size totals;

    return gci_index_sizes(store, &totals, NULL) == GCACHE_OK &&
           totals.keys >= gci_word_value(&store->shared.head->keys);
}

/* ---- without index.db ---- */

struct scan {
    gci_store *store;
    gci_view kind;
    gci_component const *components;
    size_t count;
    struct tally *tally;
    size_t seen;
    bool failed;
};

static uint32_t
count_equal(struct scan const *scan, gci_description const *description)
{
    uint32_t equal = 0;

    if (!gci_view_equal(description->kind, scan->kind))
        return 0;
    for (size_t i = 0; i < scan->count; i++) {
        for (size_t j = 0; j < description->component_count; j++) {
            gci_component const *a = &scan->components[i], *b = &description->components[j];
            equal += gci_view_equal(a->name, b->name) && memcmp(a->hash, b->hash, sizeof a->hash) == 0;
        }
    }
    return equal;
}

static int
scan_key(void *state, gcache_key const *key)
{
    struct scan *scan = state;
    gci_stored_description *stored;

    if (gci_store_description(scan->store, key, &stored, NULL) == GCI_FOUND) {
        uint32_t equal = count_equal(scan, gci_stored_description_get(stored));
        gci_stored_description_free(stored);
        if (equal > 0 && !tally_add(scan->tally, key, equal))
            scan->failed = true;
    }
    return scan->failed || ++scan->seen >= SCAN_MAX;
}

static gcache_status
scan_files(gci_store *store, gci_view kind, gci_component const *components, size_t count, struct tally *tally,
           gcache_error *error)
{
    struct scan scan = { .store = store, .kind = kind, .components = components, .count = count, .tally = tally };

    gcache_status status = gci_store_each_key(store, scan_key, &scan, error);
    return scan.failed ? gci_fail_memory(error) : status;
}

gcache_status
gci_store_nearest(gci_store *store, gci_view kind, gci_component const *components, size_t count, gci_near *out_near,
                  size_t room, size_t *out_count, gcache_error *error)
{
    struct tally tally = { 0 };

    gci_store_enter(store);
    *out_count = 0;
    if (!store->read_only)
        gci_drain(store, WAIT_NS, NULL);
    if (count == 0)
        return GCACHE_OK;
    gcache_status status = ask_rows(store, kind, components, count, &tally, NULL);
    /* Rows may be missing or out of reach; files are the truth. */
    if (status != GCACHE_OK || (tally.count == 0 && !rows_are_complete(store)))
        status = scan_files(store, kind, components, count, &tally, error);
    if (status == GCACHE_OK && tally.count > 0)
        *out_count = tally_best(&tally, out_near, room);
    free(tally.slots);
    return status;
}
