/*
 * The rows of one shard beside its files: which lack an entry, which entries lack a row, and making them what the files say.
 */
#include "store/repair/rows.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/system/clock.h"
#include "base/digest.h"
#include "store/format/describe.h"
#include "store/index/drain.h"
#include "store/index/tombstones.h"
#include "store/memory/candidates.h"
#include "store/pool/pool.h"
#include "store/publish/publish.h"
#include "store/read/load.h"
#include "store/read/stored_description.h"

#include <stdlib.h>

#define WAIT_NS UINT64_C(10000000000)

void
gci_row_list_init(gci_row_list *list)
{
    *list = (gci_row_list){ 0 };
    gci_arena_init(&list->arena, GCI_BUF_NO_LIMIT);
}

void
gci_row_list_clear(gci_row_list *list)
{
    free(list->items);
    gci_arena_clear(&list->arena);
    gci_row_list_init(list);
}

/* What it says lives as long as the list's arena, or isn't looked at. */
static void
add_row(gci_row_list *list, gci_entry_row const *row)
{
    if (GCI_ARRAY_HAS_ROOM(list, items))
        list->items[list->count++] = *row;
    else
        list->failed = true;
}

/* A key's sketch in the list's arena; empty if it isn't described. */
static gci_view
read_sketch(gci_store *store, gci_row_list *list, gcache_key const *key, bool *out_keyed)
{
    gci_key_sketch sketch;

    if (!gci_sketch_stored(store, key, &sketch))
        return (gci_view){ NULL, 0 };
    *out_keyed = sketch.is_keyed;
    return gci_arena_copy(&list->arena, gci_view_of(sketch.bytes, sizeof sketch.bytes));
}

void
gci_row_list_add(gci_store *store, gci_row_list *list, gci_candidates *set, bool described)
{
    bool keyed = false;
    gci_view sketch = described ? read_sketch(store, list, &set->key, &keyed) : gci_view_of(NULL, 0);
    uint64_t cost = gci_inside(set)->pooled ? gci_inside(set)->size : gci_cost_of_key(store, &set->key);

    for (size_t i = 0; i < set->count; i++) {
        gci_candidate const *candidate = set->items[i];
        gci_record const *record = &candidate->record;
        gci_entry_row row = { .key = set->key, .created_ns = record->created_ns, .key_cost = cost,
                              .used_ns = record->created_ns + 1,
                              .size = candidate->place->head.size + GCI_FRAME_OVERHEAD + record->stored_size,
                              .namespace_ = gci_arena_copy(&list->arena, record->namespace_),
                              .kind = gci_arena_copy(&list->arena, record->kind),
                              .sketch = sketch, .is_keyed = keyed };
        gci_unhex(gci_view_text(record->id), row.id, sizeof row.id);
        if (!candidate->place->in_pack)
            row.entry_cost = gci_cost_of_path(store, gci_path_entry(&set->key, record->id).text);
        add_row(list, &row);
    }
    list->failed |= list->arena.failed;
}

bool
gci_row_is_there(gci_index *index, gci_entry_row const *row)
{
    sqlite3_stmt *find = GCI_QUERY(index, GCI_SQL_ENTRY_HAS, gci_sql_bytes(row->key.bytes, sizeof row->key.bytes),
                                   gci_sql_bytes(row->id, sizeof row->id));
    bool found = gci_index_step(index, find);
    return found || index->trouble != 0;
}

/* ---- rows without entries ---- */

/* List and rows are by key: *at is where the row's key begins in the list, and doesn't go back. */
static bool
is_listed(gci_row_list const *list, size_t *at, gci_entry_row const *row)
{
    while (*at < list->count && memcmp(&list->items[*at].key, &row->key, sizeof row->key) < 0)
        ++*at;
    for (size_t i = *at; i < list->count && memcmp(&list->items[i].key, &row->key, sizeof row->key) == 0; i++) {
        if (!row->is_entry || memcmp(list->items[i].id, row->id, sizeof row->id) == 0)
            return true;
    }
    return false;
}

gcache_status
gci_rows_lone(gci_index *index, unsigned shard, gci_row_list const *there, gci_row_list *out_rows, gcache_error *error)
{
    gcache_key low, high;
    gci_entry_row row;
    size_t at = 0;

    memset(&low, 0, sizeof low);
    memset(&high, 0xff, sizeof high);
    low.bytes[0] = high.bytes[0] = (uint8_t)shard;
    sqlite3_stmt *rows = GCI_QUERY(index, GCI_SQL_ENTRIES_BETWEEN, gci_sql_bytes(low.bytes, sizeof low.bytes),
                                   gci_sql_bytes(high.bytes, sizeof high.bytes));
    while (!out_rows->failed && gci_index_step(index, rows)) {
        if (!gci_read_entry_row(rows, &row) || is_listed(there, &at, &row))
            continue;
        row.namespace_ = row.kind = gci_view_of(NULL, 0);
        add_row(out_rows, &row);
    }
    return out_rows->failed ? gci_fail_memory(error) : GCACHE_OK;
}

/* Eviction leaves an EVICTED frame or, with the last candidate, a tombstone, before anything goes. */
static bool
is_known_evicted(gci_store *store, gci_entry_row const *row, gci_candidates const *set)
{
    char hex[GCACHE_ENTRY_ID_SIZE];
    gci_tombstone tombstone;

    gci_hex(row->id, sizeof row->id, hex);
    for (size_t i = 0; set != NULL && i < set->evicted_count; i++) {
        if (memcmp(set->evicted[i]->record.id, hex, sizeof hex) == 0)
            return true;
    }
    return set == NULL && gci_tombstone_get(store, &row->key, &tombstone) && tombstone.left == 0 &&
           tombstone.evicted_ns >= row->used_ns;
}

/* On a full disk what went may have left nothing. */
static bool
may_be_evicted(gci_store *store, gci_entry_row const *row)
{
    uint64_t unnoted;

    return gci_word_get(&store->shared.head->unnoted_s, &unnoted) && row->used_ns / GCI_SECOND_NS <= unnoted;
}

/* What files say about an entry that a list of them didn't have. */
typedef enum fate {
    FATE_THERE,      /* it is there by now, or nobody can look */
    FATE_UNFINISHED, /* nobody has seen it whole */
    FATE_EVICTED,
    FATE_LOST
} fate;

static fate
fate_of(gci_store *store, gci_entry_row const *row)
{
    char hex[GCACHE_ENTRY_ID_SIZE];
    gci_candidates *set = NULL;

    gci_hex(row->id, sizeof row->id, hex);
    gci_found found = gci_read_pack(store, &row->key, &set, NULL);
    /* What nobody vouches for is left out of the set, and isn't lost for that. */
    bool hidden = found == GCI_UNREADABLE || (found == GCI_FOUND && set->untrusted != 0);
    bool there = hidden || (row->is_entry && set != NULL && gci_candidates_find(set, hex) != NULL);
    bool evicted = !there && (is_known_evicted(store, row, set) || may_be_evicted(store, row));
    gci_candidates_release(set);
    if (there)
        return FATE_THERE;
    if (!row->is_entry || row->used_ns <= row->created_ns)
        return FATE_UNFINISHED;
    return evicted ? FATE_EVICTED : FATE_LOST;
}

bool
gci_row_is_lost(gci_store *store, gci_entry_row const *row)
{
    return row->is_entry && row->used_ns > row->created_ns && fate_of(store, row) == FATE_LOST;
}

/* ---- putting right ---- */

/* An insert that hasn't returned may still bring the entry. */
static bool
may_be_under_way(gci_entry_row const *row)
{
    uint64_t now = gci_clock_wall_ns();

    return row->is_entry && row->used_ns == row->created_ns && row->created_ns <= now && now - row->created_ns < GCI_OLD_NS;
}

static void
drop_lone(gci_index *index, gci_entry_row const *row)
{
    if (row->is_entry)
        GCI_EXECUTE(index, GCI_SQL_ENTRY_DROP, gci_sql_number(row->key_id), gci_sql_bytes(row->id, sizeof row->id));
    gci_drop_unused_key_row(index, row->key_id);
}

struct row_reader {
    gci_store *store;
    gci_row_list *list;
    bool described;
    gcache_error *error;
};

static gcache_status
read_rows_of(void *state, gci_shard_key const *key)
{
    struct row_reader *reader = state;
    gci_candidates *set;

    if (!key->has_pack || gci_read_pack(reader->store, &key->key, &set, NULL) != GCI_FOUND)
        return GCACHE_OK;
    gci_row_list_add(reader->store, reader->list, set, reader->described);
    gci_candidates_release(set);
    return reader->list->failed ? gci_fail_memory(reader->error) : GCACHE_OK;
}

gcache_status
gci_row_list_read(gci_store *store, unsigned number, bool described, gci_row_list *list, gcache_error *error)
{
    struct row_reader reader = { store, list, described, error };

    return gci_pool_shard_each(store, number, read_rows_of, &reader, error);
}

struct rebuilding {
    gci_store *store;
    unsigned shard;
    gci_lost_row_fn lost;
    void *state;
    gci_row_list doubtful; /* what looked lost the first time, by key */
    size_t at;              /* where the row's key begins among them */
    bool again;
};

/* Drops a row whose entry isn't there, or leaves it for now. */
static gcache_status
settle_lone(struct rebuilding *r, gci_entry_row const *row, gcache_error *error)
{
    fate became = fate_of(r->store, row);

    if (became == FATE_THERE || (became == FATE_UNFINISHED && may_be_under_way(row)))
        return GCACHE_OK;
    if (became == FATE_LOST && !r->again) {
        add_row(&r->doubtful, row);
        return r->doubtful.failed ? gci_fail_memory(error) : GCACHE_OK;
    }
    if (became == FATE_LOST && !is_listed(&r->doubtful, &r->at, row))
        return GCACHE_OK;
    if (became == FATE_LOST)
        r->lost(r->state, row);
    drop_lone(&r->store->index, row);
    return GCACHE_OK;
}

/* Between begin and end of a write. */
static gcache_status
rebuild(struct rebuilding *r, gci_row_list *list, gcache_error *error)
{
    gci_index *index = &r->store->index;
    gci_row_list lone;

    gci_row_list_init(&lone);
    gcache_status status = gci_row_list_read(r->store, r->shard, true, list, error);
    if (status == GCACHE_OK)
        status = gci_rows_lone(index, r->shard, list, &lone, error);
    for (size_t i = 0; status == GCACHE_OK && i < lone.count; i++)
        status = settle_lone(r, &lone.items[i], error);
    for (size_t i = 0; status == GCACHE_OK && i < list->count; i++)
        gci_put_entry_row(index, &list->items[i]);
    gci_row_list_clear(&lone);
    return status;
}

static gcache_status
rebuild_once(struct rebuilding *r, gcache_error *error)
{
    gci_row_list list;

    gcache_status status = gci_index_begin(&r->store->index, GCI_WRITE, WAIT_NS, error);
    if (status != GCACHE_OK)
        return status;
    gci_row_list_init(&list);
    status = rebuild(r, &list, error);
    status = gci_index_end(&r->store->index, GCI_WRITE, status, error);
    gci_row_list_clear(&list);
    return status;
}

/* Who removes an entry says so only afterwards: what looks lost before that was drained and after, is. */
gcache_status
gci_rows_rebuild(gci_store *store, unsigned shard, gci_lost_row_fn lost, void *state, gcache_error *error)
{
    struct rebuilding r = { .store = store, .shard = shard, .lost = lost, .state = state };

    gci_row_list_init(&r.doubtful);
    gcache_status status = rebuild_once(&r, error);
    r.again = true;
    if (status == GCACHE_OK && r.doubtful.count > 0)
        status = gci_drain(store, WAIT_NS, error);
    if (status == GCACHE_OK && r.doubtful.count > 0)
        status = rebuild_once(&r, error);
    gci_row_list_clear(&r.doubtful);
    return status;
}

void
gci_rows_fill(gci_store *store)
{
    for (unsigned shard = 0; shard < GCI_SHARDS; shard++) {
        gcache_error error = { .message = "" };
        gci_row_list list;
        gci_row_list_init(&list);
        if (gci_row_list_read(store, shard, true, &list, &error) != GCACHE_OK)
            gci_store_log(store, "entries/%02x: can't be read into index.db: %s", shard, error.message);
        for (size_t i = 0; i < list.count; i++)
            gci_put_entry_row(&store->index, &list.items[i]);
        gci_row_list_clear(&list);
    }
}
