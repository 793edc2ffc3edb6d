/* The longest unused entries by the rows of index.db, or, without it, by the age of candidate indexes. */
#include "store/evict/victims.h"

#include "base/array.h"
#include "base/digest.h"
#include "store/evict/collect.h"
#include "store/format/candidate_index.h"
#include "store/index/drain.h"
#include "store/index/touch.h"
#include "store/publish/publish.h"
#include "store/read/load.h"
#include "store/read/read.h"
#include "store/state/state.h"

#include <stdlib.h>

#define WAIT_NS UINT64_C(2000000000)

void
gci_victims_clear(gci_victims *victims)
{
    free(victims->items);
    *victims = (gci_victims){ 0 };
}

static bool
add(gci_victims *victims, gci_victim const *victim)
{
    if (!GCI_ARRAY_HAS_ROOM(victims, items))
        return false;
    victims->items[victims->count++] = *victim;
    return true;
}

/* A row of GCI_SELECT_VICTIM. */
static bool
read_row(sqlite3_stmt *row, gci_victim *out)
{
    gci_view key = gci_sql_column(row, 0), id = gci_sql_column(row, 1);

    if (key.size != sizeof out->key.bytes || id.size != (GCACHE_ENTRY_ID_SIZE - 1) / 2)
        return false;
    memcpy(out->key.bytes, key.data, key.size);
    gci_hex((uint8_t const *)id.data, id.size, out->id);
    out->bytes = (uint64_t)gci_column_number(row, 2);
    out->hits = (uint32_t)gci_column_number(row, 3);
    out->used_ns = (uint64_t)gci_column_number(row, 4);
    return true;
}

/* A row's word about an entry's own file isn't taken; one about a place in a candidate index only if it may be true. */
static void
measure(gci_store *store, gci_victim *victim)
{
    uint64_t taken = gci_cost_of_path(store, gci_path_entry(&victim->key, victim->id).text);

    if (taken != 0)
        victim->bytes = taken;
    else if (victim->bytes == 0 || victim->bytes > GCI_PACK_MAX)
        victim->bytes = GCI_DISK_BLOCK;
}

static int
by_key(void const *a, void const *b)
{
    gci_victim const *left = a, *right = b;
    int order = memcmp(&left->key, &right->key, sizeof(gcache_key));

    return order != 0 ? order : (left->rank > right->rank) - (left->rank < right->rank);
}

static int
by_rank(void const *a, void const *b)
{
    gci_victim const *left = a, *right = b;

    return left->rank != right->rank ? (left->rank > right->rank) - (left->rank < right->rank)
                                     : memcmp(left->id, right->id, sizeof left->id);
}

/* Puts those of a key together, in the place of the first of them: a candidate index is rewritten once. */
static void
group(gci_victims *victims)
{
    if (victims->count == 0)
        return;
    for (size_t i = 0; i < victims->count; i++)
        victims->items[i].rank = i;
    qsort(victims->items, victims->count, sizeof *victims->items, by_key);
    for (size_t i = 1; i < victims->count; i++) {
        if (memcmp(&victims->items[i].key, &victims->items[i - 1].key, sizeof(gcache_key)) == 0)
            victims->items[i].rank = victims->items[i - 1].rank;
    }
    qsort(victims->items, victims->count, sizeof *victims->items, by_rank);
}

/* Collects the rows of a bound statement until `want` bytes are reached. */
static gcache_status
collect(gci_store *store, sqlite3_stmt *rows, uint64_t want, gci_victims *out, gcache_error *error)
{
    gci_victim victim;
    uint64_t bytes = 0;

    while (bytes < want && gci_index_step(&store->index, rows)) {
        if (!read_row(rows, &victim))
            continue;
        measure(store, &victim);
        if (!add(out, &victim))
            return gci_fail_memory(error);
        bytes += victim.bytes;
    }
    group(out);
    return GCACHE_OK;
}

static sqlite3_stmt *
query_choice(gci_store *store, gci_choice const *choice)
{
    static gci_statement const statements[] = {
        [GCI_OF_ALL] = GCI_SQL_ENTRY_OLDEST,
        [GCI_OF_KEY] = GCI_SQL_ENTRY_OLDEST_OF_KEY,
        [GCI_OF_NAMESPACE] = GCI_SQL_ENTRY_OF_SPACE,
        [GCI_UNUSED_SINCE] = GCI_SQL_ENTRY_UNUSED,
    };
    gci_sql second = choice->of == GCI_OF_ALL     ? gci_sql_number((int64_t)choice->skip)
                     : choice->of == GCI_OF_KEY   ? gci_sql_bytes(choice->key->bytes, sizeof choice->key->bytes)
                     : choice->of == GCI_OF_NAMESPACE ? gci_sql_text(gci_view_text(choice->namespace_))
                                                  : gci_sql_number((int64_t)choice->since_ns);

    return GCI_QUERY(&store->index, statements[choice->of], gci_sql_number((int64_t)choice->limit), second);
}

static gcache_status
choose(gci_store *store, gci_choice const *choice, gci_victims *out_victims, gcache_error *error)
{
    gcache_status status = gci_index_begin(&store->index, GCI_READ, WAIT_NS, error);

    if (status != GCACHE_OK)
        return status;
    status = collect(store, query_choice(store, choice), choice->want, out_victims, error);
    return gci_index_end(&store->index, GCI_READ, status, error);
}

/* What turned out damaged is made anew: it is asked once more. */
gcache_status
gci_victims_choose(gci_store *store, gci_choice const *choice, gci_victims *out_victims, gcache_error *error)
{
    gcache_status status = choose(store, choice, out_victims, error);

    if (status != GCACHE_ERROR_CORRUPT)
        return status;
    gci_victims_clear(out_victims);
    return choose(store, choice, out_victims, error);
}

uint64_t
gci_store_least_recent_ns(gci_store *store, bool settle)
{
    uint64_t used = 0;

    gci_store_enter(store);
    if (settle && !store->read_only) {
        gci_flush_touches(store);
        gci_drain(store, WAIT_NS, NULL);
    }
    if (gci_index_begin(&store->index, GCI_READ, WAIT_NS, NULL) != GCACHE_OK)
        return 0;
    sqlite3_stmt *rows = GCI_QUERY(&store->index, GCI_SQL_ENTRY_OLDEST, gci_sql_number(1), gci_sql_number(0));
    if (gci_index_step(&store->index, rows))
        used = (uint64_t)gci_column_number(rows, 4);
    return gci_index_end(&store->index, GCI_READ, GCACHE_OK, NULL) == GCACHE_OK ? used : 0;
}

/* ---- without index.db ---- */

struct aged_key {
    gcache_key key;
    uint64_t changed_ns;
};

struct aged_keys {
    gci_store *store;
    struct aged_key *items;
    size_t count, capacity;
    bool failed;
};

static int
note_age(void *state, gcache_key const *key)
{
    struct aged_keys *keys = state;
    gci_path const paths[] = { gci_path_pack(key), gci_path_pool(key, 0), gci_path_pool(key, 1) };
    gcache_status status = GCACHE_ERROR_NOT_FOUND;
    struct stat facts;

    for (size_t i = 0; status != GCACHE_OK && i < sizeof paths / sizeof *paths; i++)
        status = gci_dir_stat(keys->store->directory, paths[i].text, &facts, NULL);
    if (status != GCACHE_OK)
        return 0;
    keys->failed = !GCI_ARRAY_HAS_ROOM(keys, items);
    if (keys->failed)
        return 1;
    keys->items[keys->count++] = (struct aged_key){ *key, gci_changed_ns(&facts) };
    return 0;
}

static int
by_age(void const *a, void const *b)
{
    uint64_t left = ((struct aged_key const *)a)->changed_ns, right = ((struct aged_key const *)b)->changed_ns;

    return (left > right) - (left < right);
}

/* At most `limit` candidates of a key, as they were stored; *inout_want shrinks by what they take. */
static bool
take_key(gci_store *store, gcache_key const *key, size_t limit, uint64_t *inout_want, gci_victims *out)
{
    gci_candidates *set;
    bool taken = true;

    if (gci_read_pack(store, key, &set, NULL) != GCI_FOUND)
        return true;
    for (size_t i = 0; taken && i < set->count && i < limit; i++) {
        gci_victim victim = { .key = *key, .bytes = set->items[i]->record.stored_size + GCI_DISK_BLOCK };
        memcpy(victim.id, set->items[i]->record.id, sizeof victim.id);
        taken = add(out, &victim);
        *inout_want -= victim.bytes < *inout_want ? victim.bytes : *inout_want;
    }
    gci_candidates_release(set);
    return taken;
}

gcache_status
gci_victims_of_key(gci_store *store, gcache_key const *key, size_t limit, gci_victims *out_victims, gcache_error *error)
{
    uint64_t want = UINT64_MAX;

    return take_key(store, key, limit, &want, out_victims) ? GCACHE_OK : gci_fail_memory(error);
}

gcache_status
gci_victims_by_files(gci_store *store, uint64_t want, gci_victims *out_victims, gcache_error *error)
{
    struct aged_keys keys = { .store = store };

    gcache_status status = gci_store_each_key(store, note_age, &keys, error);
    if (keys.failed)
        status = gci_fail_memory(error);
    if (status == GCACHE_OK && keys.count > 0)
        qsort(keys.items, keys.count, sizeof *keys.items, by_age);
    for (size_t i = 0; status == GCACHE_OK && want > 0 && i < keys.count; i++) {
        if (!take_key(store, &keys.items[i].key, SIZE_MAX, &want, out_victims))
            status = gci_fail_memory(error);
    }
    free(keys.items);
    return status;
}

