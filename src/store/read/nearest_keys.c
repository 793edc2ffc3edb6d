/* Stored keys by how near their sketches are to a given one, from index.db, or from descriptions where it can't say. */
#include "base/array.h"
#include "store/index/drain.h"
#include "store/read/read.h"
#include "store/read/stored_description.h"
#include "store/state/state.h"

#include <stdlib.h>

#define WAIT_NS UINT64_C(2000000000)
/* Without index.db descriptions are read one by one: as many as take a second or so. */
#define SCAN_MAX 5000
/* Of the keys of a former version so many get their sketches at a time. */
#define SKETCHED_AT_ONCE 2000

/* The nearest so far, best first. */
typedef struct shortlist {
    gci_near_query const *query;
    gci_sketching const *sketching;
    gci_near *items;
    int64_t *rows; /* of keys whose bytes aren't read yet; or NULL */
    size_t count, room;
    uint64_t seen; /* keys that were compared */
} shortlist;

/* Of two as near the one that was stored later comes first: that is what somebody has just worked on. */
static bool
is_before(gci_near const *a, gci_near const *b)
{
    return a->distance != b->distance ? a->distance < b->distance : a->created_ns > b->created_ns;
}

static void
consider(shortlist *list, gci_near const *near, int64_t row)
{
    size_t at = list->count;

    if (near->created_ns >= list->query->before_ns)
        return;
    list->seen++;
    if (list->count == list->room && (at == 0 || !is_before(near, &list->items[at - 1])))
        return;
    if (list->count < list->room)
        list->count++;
    else
        at--;
    for (; at > 0 && is_before(near, &list->items[at - 1]); at--) {
        list->items[at] = list->items[at - 1];
        if (list->rows != NULL)
            list->rows[at] = list->rows[at - 1];
    }
    list->items[at] = *near;
    if (list->rows != NULL)
        list->rows[at] = row;
}

/* ---- from rows ---- */

static void
read_rows(gci_index *index, shortlist *list)
{
    int64_t kind = gci_sketch_kind(list->query->kind, list->query->is_keyed);
    sqlite3_stmt *rows = GCI_QUERY(index, GCI_SQL_SKETCHES, gci_sql_number(kind));

    while (gci_index_step(index, rows)) {
        gci_view sketch = gci_sql_column(rows, 2);
        if (sketch.size != GCI_KEY_SKETCH_BYTES)
            continue;
        gci_near near = { .created_ns = (uint64_t)gci_column_number(rows, 1) };
        near.distance = list->sketching->distance(list->query->sketch, (uint8_t const *)sketch.data);
        consider(list, &near, gci_column_number(rows, 0));
    }
}

static void
read_keys(gci_index *index, shortlist *list)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++) {
        sqlite3_stmt *find = GCI_QUERY(index, GCI_SQL_KEY_OF_ID, gci_sql_number(list->rows[i]));
        if (!gci_index_step(index, find))
            continue;
        gci_view key = gci_sql_column(find, 0);
        if (key.size != sizeof list->items[i].key.bytes)
            continue;
        memcpy(list->items[i].key.bytes, key.data, key.size);
        list->items[kept++] = list->items[i];
    }
    list->count = kept;
}

static gcache_status
ask_rows(gci_store *store, shortlist *list, gcache_error *error)
{
    gci_index *index = &store->index;

    list->rows = calloc(list->room, sizeof *list->rows);
    if (list->rows == NULL)
        return gci_fail_memory(error);
    gcache_status status = gci_index_begin(index, GCI_READ, WAIT_NS, error);
    if (status == GCACHE_OK) {
        if (index->is_former) {
            status = gci_fail(error, GCACHE_ERROR_NOT_FOUND, "index.db is of a version without sketches");
        } else {
            read_rows(index, list);
            read_keys(index, list);
        }
        status = gci_index_end(index, GCI_READ, status, error);
    }
    free(list->rows);
    list->rows = NULL;
    return status;
}

/* Every key that is stored has its row: what rows don't know of isn't there. */
static bool
rows_are_complete(gci_store *store)
{
    gci_index *index = &store->index;
    uint64_t keys = 0;

    if (gci_index_begin(index, GCI_READ, WAIT_NS, NULL) != GCACHE_OK)
        return false;
    sqlite3_stmt *count = gci_index_use(index, GCI_SQL_KEYS_COUNT);
    if (gci_index_step(index, count))
        keys = (uint64_t)gci_column_number(count, 0);
    return gci_index_end(index, GCI_READ, GCACHE_OK, NULL) == GCACHE_OK && keys >= gci_word_value(&store->shared.head->keys);
}

/* ---- without index.db ---- */

struct scan {
    gci_store *store;
    shortlist *list;
    int64_t kind;
    size_t seen;
};

static uint64_t
first_stored_ns(gci_store *store, gcache_key const *key)
{
    gci_candidates *set = NULL;
    uint64_t first = 0;

    if (gci_store_load(store, key, &set, NULL) == GCI_FOUND) {
        for (size_t i = 0; i < set->count; i++) {
            uint64_t created = set->items[i]->record.created_ns;
            first = first == 0 || created < first ? created : first;
        }
    }
    gci_candidates_release(set);
    return first;
}

static int
scan_key(void *state, gcache_key const *key)
{
    struct scan *scan = state;
    gci_key_sketch sketch;

    if (gci_sketch_stored(scan->store, key, &sketch) && sketch.kind == scan->kind) {
        gci_near near = { .key = *key, .created_ns = first_stored_ns(scan->store, key) };
        near.distance = scan->list->sketching->distance(scan->list->query->sketch, sketch.bytes);
        consider(scan->list, &near, 0);
    }
    return ++scan->seen >= SCAN_MAX;
}

static gcache_status
scan_files(gci_store *store, shortlist *list, gcache_error *error)
{
    struct scan scan = { .store = store, .list = list, .kind = gci_sketch_kind(list->query->kind, list->query->is_keyed) };

    list->count = 0;
    list->seen = 0;
    return gci_store_each_key(store, scan_key, &scan, error);
}

/* ---- what a former version stored ---- */

typedef struct unsketched {
    gci_entry_row *items; /* key_id and key */
    size_t count, capacity;
} unsketched;

static void
find_unsketched(gci_index *index, unsketched *out)
{
    sqlite3_stmt *rows = GCI_QUERY(index, GCI_SQL_KEYS_UNSKETCHED, gci_sql_number(SKETCHED_AT_ONCE));

    while (gci_index_step(index, rows) && GCI_ARRAY_HAS_ROOM(out, items)) {
        gci_entry_row row = { .key_id = gci_column_number(rows, 0) };
        gci_view key = gci_sql_column(rows, 1);
        if (key.size == sizeof row.key.bytes)
            memcpy(row.key.bytes, key.data, key.size);
        out->items[out->count++] = row;
    }
}

/* One that can't be sketched gets an empty one, so that it isn't tried again. */
static void
put_missing_sketch(gci_store *store, gci_entry_row *row)
{
    gci_key_sketch sketch = { .kind = 0 };
    bool made = gci_sketch_stored(store, &row->key, &sketch);

    row->created_ns = made ? first_stored_ns(store, &row->key) : 0;
    gci_put_sketch(&store->index, row->key_id, sketch.kind, row->created_ns,
                   gci_view_of(sketch.bytes, made ? sizeof sketch.bytes : 0));
}

static void
sketch_former_keys(gci_store *store)
{
    unsketched keys = { .count = 0 };

    if (gci_index_begin(&store->index, GCI_WRITE, WAIT_NS, NULL) != GCACHE_OK)
        return;
    if (gci_meta_get(&store->index, GCI_META_UNSKETCHED) != 0) {
        find_unsketched(&store->index, &keys);
        for (size_t i = 0; i < keys.count; i++)
            put_missing_sketch(store, &keys.items[i]);
        if (keys.count < SKETCHED_AT_ONCE)
            gci_meta_set(&store->index, GCI_META_UNSKETCHED, 0);
    }
    gci_index_end(&store->index, GCI_WRITE, GCACHE_OK, NULL);
    free(keys.items);
}

static bool
has_former_keys(gci_store *store)
{
    bool former = false;

    if (gci_index_begin(&store->index, GCI_READ, WAIT_NS, NULL) == GCACHE_OK) {
        former = gci_meta_get(&store->index, GCI_META_UNSKETCHED) != 0;
        gci_index_end(&store->index, GCI_READ, GCACHE_OK, NULL);
    }
    return former;
}

gcache_status
gci_store_nearest(gci_store *store, gci_near_query const *query, gci_near *out_near, size_t room, size_t *out_count,
                  uint64_t *out_of, gcache_error *error)
{
    shortlist list = { .query = query, .sketching = store->options.sketching, .items = out_near, .room = room };

    gci_store_enter(store);
    *out_count = 0;
    *out_of = 0;
    if (list.sketching == NULL || room == 0)
        return GCACHE_OK;
    if (!store->read_only) {
        gci_drain(store, WAIT_NS, NULL);
        if (has_former_keys(store))
            sketch_former_keys(store);
    }
    gcache_status status = ask_rows(store, &list, NULL);
    /* Rows may be missing or out of reach; files are the truth. */
    if (status != GCACHE_OK || (list.count == 0 && !rows_are_complete(store)))
        status = scan_files(store, &list, error);
    *out_count = status == GCACHE_OK ? list.count : 0;
    *out_of = list.seen;
    return status;
}

uint64_t
gci_store_keys_bare(gci_store *store, gci_view kind)
{
    gci_index *index = &store->index;
    uint64_t keys = 0;

    gci_store_enter(store);
    if (gci_index_begin(index, GCI_READ, WAIT_NS, NULL) != GCACHE_OK)
        return 0;
    sqlite3_stmt *count = index->is_former ? NULL : GCI_QUERY(index, GCI_SQL_KEYS_BARE, gci_sql_text(kind));
    if (count != NULL && gci_index_step(index, count))
        keys = (uint64_t)gci_column_number(count, 0);
    return gci_index_end(index, GCI_READ, GCACHE_OK, NULL) == GCACHE_OK ? keys : 0;
}
