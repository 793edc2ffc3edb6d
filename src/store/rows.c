#include "store/rows.h"

#include "base/arena.h"
#include "base/digest.h"
#include "store/candidates.h"
#include "store/describe.h"
#include "store/lookup.h"
#include "store/publish.h"

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

static gci_entry_row *
add_row(gci_row_list *list)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 256 : list->capacity * 2;
        gci_entry_row *items = realloc(list->items, capacity * sizeof *items);
        if (items == NULL) {
            list->failed = true;
            return NULL;
        }
        list->items = items;
        list->capacity = capacity;
    }
    return &list->items[list->count++];
}

/* The numbers of a key's components, or none if it isn't described. */
static uint64_t const *
component_numbers(gci_store *store, gci_row_list *list, gcache_key const *key, size_t *out_count)
{
    gci_stored_description *stored;

    *out_count = 0;
    if (gci_store_description(store, key, &stored, NULL) != GCI_FOUND)
        return NULL;
    gci_description const *description = gci_stored_description_get(stored);
    uint64_t *numbers = gci_arena_array(&list->arena, description->component_count + 1, sizeof *numbers);
    for (size_t i = 0; numbers != NULL && i < description->component_count; i++)
        numbers[i] = gci_component_number(description->kind, &description->components[i]);
    *out_count = numbers != NULL ? description->component_count : 0;
    gci_stored_description_free(stored);
    return numbers;
}

void
gci_row_list_add(gci_store *store, gci_row_list *list, gci_candidates *set, bool described)
{
    size_t count = 0;
    uint64_t const *numbers = described ? component_numbers(store, list, &set->key, &count) : NULL;
    uint64_t cost = gci_cost_of_key(store, &set->key);

    for (size_t i = 0; i < set->count; i++) {
        gci_candidate const *candidate = set->items[i];
        gci_record const *record = &candidate->record;
        gci_entry_row *row = add_row(list);
        if (row == NULL)
            return;
        *row = (gci_entry_row){ .key = set->key, .created_ns = record->created_ns, .key_cost = cost,
                                .size = candidate->place->head.size + GCI_FRAME_OVERHEAD + record->stored_size,
                                .components = numbers, .component_count = count };
        gci_unhex(gci_view_text(record->id), row->id, sizeof row->id);
        row->space = gci_arena_copy(&list->arena, record->space);
        row->kind = gci_arena_copy(&list->arena, record->kind);
        if (!candidate->place->in_pack)
            row->entry_cost = gci_cost_of_path(store, gci_path_entry(&set->key, record->id).text);
    }
    list->failed |= list->arena.failed;
}

static bool
has_row(gci_index *index, gci_entry_row const *row)
{
    sqlite3_stmt *find = gci_index_use(index, GCI_SQL_ENTRY_HAS);

    gci_bind_bytes(find, 1, row->key.bytes, sizeof row->key.bytes);
    gci_bind_bytes(find, 2, row->id, sizeof row->id);
    bool found = gci_index_step(index, find);
    return found || index->trouble != 0;
}

gcache_status
gci_rows_missing(gci_store *store, gci_row_list const *list, gci_missing_row_fn fn, void *state, gcache_error *error)
{
    gcache_status status = gci_index_begin(&store->index, GCI_READ, WAIT_NS, error);

    if (status != GCACHE_OK)
        return status;
    for (size_t i = 0; i < list->count; i++) {
        if (!has_row(&store->index, &list->items[i]))
            fn(state, &list->items[i]);
    }
    return gci_index_end(&store->index, GCI_READ, GCACHE_OK, error);
}

/* ---- putting right ---- */

struct known_key {
    gcache_key key;
    int64_t id;
};

/* The keys that have rows in a shard. */
static struct known_key *
known_keys(gci_index *index, unsigned shard, size_t *out_count)
{
    struct known_key *keys = NULL;
    gcache_key low, high;
    size_t capacity = 0;

    memset(&low, 0, sizeof low);
    memset(&high, 0xff, sizeof high);
    low.bytes[0] = high.bytes[0] = (uint8_t)shard;
    *out_count = 0;
    sqlite3_stmt *rows = gci_index_use(index, GCI_SQL_KEYS_BETWEEN);
    gci_bind_bytes(rows, 1, low.bytes, sizeof low.bytes);
    gci_bind_bytes(rows, 2, high.bytes, sizeof high.bytes);
    while (gci_index_step(index, rows)) {
        if (*out_count == capacity) {
            capacity = capacity == 0 ? 64 : capacity * 2;
            struct known_key *grown = realloc(keys, capacity * sizeof *grown);
            if (grown == NULL)
                break;
            keys = grown;
        }
        gci_view key = gci_column_bytes(rows, 1);
        if (key.size != sizeof(gcache_key))
            continue;
        keys[*out_count].id = gci_column_number(rows, 0);
        memcpy(keys[(*out_count)++].key.bytes, key.data, key.size);
    }
    return keys;
}

/* Drops a key's rows of entries that aren't in list[begin, end). */
static void
drop_strangers(gci_index *index, int64_t key_id, gci_row_list const *list, size_t begin, size_t end)
{
    uint8_t ids[64][16];
    size_t count;

    do {
        sqlite3_stmt *rows = gci_index_use(index, GCI_SQL_ENTRIES_OF_KEY);
        gci_bind_number(rows, 1, key_id);
        for (count = 0; count < 64 && gci_index_step(index, rows);) {
            gci_view id = gci_column_bytes(rows, 0);
            bool listed = id.size != 16;
            for (size_t i = begin; i < end && !listed; i++)
                listed = memcmp(list->items[i].id, id.data, 16) == 0;
            if (!listed)
                memcpy(ids[count++], id.data, 16);
        }
        for (size_t i = 0; i < count; i++) {
            sqlite3_stmt *drop = gci_index_use(index, GCI_SQL_ENTRY_DROP);
            gci_bind_number(drop, 1, key_id);
            gci_bind_bytes(drop, 2, ids[i], 16);
            gci_index_run(index, drop);
        }
    } while (count == 64 && index->trouble == 0);
}

/* The list is by key, and so are the known keys: one pass over both. */
static void
drop_unlisted(gci_index *index, unsigned shard, gci_row_list const *list)
{
    size_t known_count, at = 0;
    struct known_key *known = known_keys(index, shard, &known_count);

    for (size_t i = 0; i < known_count; i++) {
        while (at < list->count && memcmp(&list->items[at].key, &known[i].key, sizeof(gcache_key)) < 0)
            at++;
        size_t end = at;
        while (end < list->count && memcmp(&list->items[end].key, &known[i].key, sizeof(gcache_key)) == 0)
            end++;
        if (end == at)
            gci_drop_entry_row(index, &known[i].key, "", 0);
        else
            drop_strangers(index, known[i].id, list, at, end);
        at = end;
    }
    free(known);
}

static gcache_status
list_shard(gci_store *store, unsigned number, gci_row_list *list, gcache_error *error)
{
    gci_candidates *set;
    gci_shard_key key;
    gci_shard shard;
    size_t at = 0;

    gcache_status status = gci_shard_read(store, number, &shard, error);
    while (status == GCACHE_OK && gci_shard_next(&shard, &at, &key)) {
        if (!key.has_pack || gci_read_pack(store, &key.key, &set, NULL) != GCI_FOUND)
            continue;
        gci_row_list_add(store, list, set, true);
        gci_candidates_release(set);
        if (list->failed)
            status = gci_fail_memory(error);
    }
    gci_shard_clear(&shard);
    return status;
}

gcache_status
gci_rows_rebuild(gci_store *store, unsigned shard, gcache_error *error)
{
    gci_index *index = &store->index;
    gci_row_list list;

    gcache_status status = gci_index_begin(index, GCI_WRITE, WAIT_NS, error);
    if (status != GCACHE_OK)
        return status;
    gci_row_list_init(&list);
    status = list_shard(store, shard, &list, error);
    if (status == GCACHE_OK) {
        drop_unlisted(index, shard, &list);
        for (size_t i = 0; i < list.count; i++)
            gci_put_entry_row(index, &list.items[i]);
    }
    status = gci_index_end(index, GCI_WRITE, status, error);
    gci_row_list_clear(&list);
    return status;
}
