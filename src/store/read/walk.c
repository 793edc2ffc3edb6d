/* All keys, and entries by the beginning of their ids. */
#include "base/digest.h"
#include "store/directory/shard.h"
#include "store/index/drain.h"
#include "store/read/read.h"

#include <stdlib.h>

#define ID_BYTES ((GCACHE_ENTRY_ID_SIZE - 1) / 2)
#define WAIT_NS UINT64_C(2000000000)

struct walk {
    gci_key_fn fn;
    void *state;
};

/* MISS: fn wants no more. */
static gcache_status
visit_key(void *state, gci_shard_key const *key)
{
    struct walk *walk = state;

    return key->has_pack && walk->fn(walk->state, &key->key) != 0 ? GCACHE_MISS : GCACHE_OK;
}

gcache_status
gci_store_each_key(gci_store *store, gci_key_fn fn, void *state, gcache_error *error)
{
    struct walk walk = { fn, state };
    gcache_status status = GCACHE_OK;

    gci_store_enter(store);
    for (unsigned number = 0; status == GCACHE_OK && number < GCI_SHARDS; number++)
        status = gci_shard_each(store->directory, number, visit_key, &walk, error);
    return status == GCACHE_MISS ? GCACHE_OK : status;
}

/* ---- finding an entry by its id ---- */

struct search {
    gci_store *store;
    char const *wanted;
    size_t digits;
    size_t found;
    gcache_key key;
    char id[GCACHE_ENTRY_ID_SIZE];
};

static void
note_found(struct search *search, gcache_key const *key, char const *id)
{
    search->found++;
    search->key = *key;
    memcpy(search->id, id, GCACHE_ENTRY_ID_SIZE);
}

static int
search_key(void *state, gcache_key const *key)
{
    struct search *search = state;
    gci_candidates *set;

    if (gci_store_load(search->store, key, &set, NULL) != GCI_FOUND)
        return 0;
    for (size_t i = 0; i < set->count; i++) {
        if (strncmp(set->items[i]->record.id, search->wanted, search->digits) == 0)
            note_found(search, key, set->items[i]->record.id);
    }
    gci_candidates_release(set);
    return search->found > 1;
}

/* The ids that begin with the wanted digits lie between these two. */
static bool
bounds(char const *wanted, size_t digits, uint8_t out_low[ID_BYTES], uint8_t out_high[ID_BYTES])
{
    char low[GCACHE_ENTRY_ID_SIZE], high[GCACHE_ENTRY_ID_SIZE];

    memset(low, '0', sizeof low - 1);
    memset(high, 'f', sizeof high - 1);
    memcpy(low, wanted, digits);
    memcpy(high, wanted, digits);
    return gci_unhex(gci_view_of(low, sizeof low - 1), out_low, ID_BYTES) &&
           gci_unhex(gci_view_of(high, sizeof high - 1), out_high, ID_BYTES);
}

static void
search_rows(struct search *search, uint8_t const low[ID_BYTES], uint8_t const high[ID_BYTES])
{
    gci_index *index = &search->store->index;
    char hex[GCACHE_ENTRY_ID_SIZE];
    gcache_key key;

    if (gci_index_begin(index, GCI_READ, WAIT_NS, NULL) != GCACHE_OK)
        return;
    sqlite3_stmt *rows = gci_index_use(index, GCI_SQL_ENTRY_FIND);
    gci_bind_bytes(rows, 1, low, ID_BYTES);
    gci_bind_bytes(rows, 2, high, ID_BYTES);
    while (gci_index_step(index, rows)) {
        gci_view stored = gci_column_bytes(rows, 0), id = gci_column_bytes(rows, 1);
        if (stored.size != sizeof key.bytes || id.size != ID_BYTES)
            continue;
        memcpy(key.bytes, stored.data, stored.size);
        gci_hex((uint8_t const *)id.data, id.size, hex);
        note_found(search, &key, hex);
    }
    gci_index_end(index, GCI_READ, GCACHE_OK, NULL);
}

gcache_status
gci_store_find_entry(gci_store *store, char const *id, gcache_key *out_key, char out_id[GCACHE_ENTRY_ID_SIZE],
                     gcache_error *error)
{
    struct search search = { .store = store, .wanted = id, .digits = strlen(id) };
    uint8_t low[ID_BYTES], high[ID_BYTES];

    gci_store_enter(store);
    if (search.digits < 4 || search.digits >= GCACHE_ENTRY_ID_SIZE || !bounds(id, search.digits, low, high))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: an entry id has 4 to 32 hexadecimal digits", id);
    if (!store->read_only)
        gci_drain(store, WAIT_NS, NULL);
    search_rows(&search, low, high);
    /* Rows may be missing; files are the truth. */
    if (search.found == 0) {
        gcache_status status = gci_store_each_key(store, search_key, &search, error);
        if (status != GCACHE_OK)
            return status;
    }
    if (search.found != 1)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, search.found == 0 ? "no entry %s" : "more than one entry begins with %s",
                        id);
    *out_key = search.key;
    memcpy(out_id, search.id, sizeof search.id);
    return GCACHE_OK;
}
