#include "store/victims.h"

#include "base/digest.h"
#include "store/inside.h"

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
    if (victims->count == victims->capacity) {
        size_t capacity = victims->capacity == 0 ? 64 : victims->capacity * 2;
        gci_victim *items = realloc(victims->items, capacity * sizeof *items);
        if (items == NULL)
            return false;
        victims->items = items;
        victims->capacity = capacity;
    }
    victims->items[victims->count++] = *victim;
    return true;
}

/* row = key id size hits used */
static bool
read_row(sqlite3_stmt *row, gci_victim *out)
{
    gci_view key = gci_column_bytes(row, 0), id = gci_column_bytes(row, 1);

    if (key.size != sizeof out->key.bytes || id.size != (GCACHE_ENTRY_ID_SIZE - 1) / 2)
        return false;
    memcpy(out->key.bytes, key.data, key.size);
    gci_hex((uint8_t const *)id.data, id.size, out->id);
    out->bytes = (uint64_t)gci_column_number(row, 2);
    out->hits = (uint32_t)gci_column_number(row, 3);
    return true;
}

static int
by_key(void const *a, void const *b)
{
    return memcmp(&((gci_victim const *)a)->key, &((gci_victim const *)b)->key, sizeof(gcache_key));
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
        if (!add(out, &victim))
            return gci_fail_memory(error);
        bytes += victim.bytes;
    }
    if (out->count > 0)
        qsort(out->items, out->count, sizeof *out->items, by_key);
    return GCACHE_OK;
}

static gcache_status
begin(gci_store *store, gcache_error *error)
{
    return gci_index_begin(&store->index, GCI_READ, WAIT_NS, error);
}

static gcache_status
end(gci_store *store, gcache_status status, gcache_error *error)
{
    return gci_index_end(&store->index, GCI_READ, status, error);
}

gcache_status
gci_victims_oldest(gci_store *store, size_t limit, uint64_t want, gci_victims *out_victims, gcache_error *error)
{
    gcache_status status = begin(store, error);

    if (status != GCACHE_OK)
        return status;
    sqlite3_stmt *rows = gci_index_use(&store->index, GCI_SQL_ENTRY_OLDEST);
    gci_bind_number(rows, 1, (int64_t)limit);
    return end(store, collect(store, rows, want, out_victims, error), error);
}

gcache_status
gci_victims_unused(gci_store *store, size_t limit, uint64_t before_ns, gci_victims *out_victims, gcache_error *error)
{
    gcache_status status = begin(store, error);

    if (status != GCACHE_OK)
        return status;
    sqlite3_stmt *rows = gci_index_use(&store->index, GCI_SQL_ENTRY_UNUSED);
    gci_bind_number(rows, 1, (int64_t)limit);
    gci_bind_number(rows, 2, (int64_t)before_ns);
    return end(store, collect(store, rows, UINT64_MAX, out_victims, error), error);
}

gcache_status
gci_victims_of_space(gci_store *store, size_t limit, char const *space, gci_victims *out_victims, gcache_error *error)
{
    gcache_status status = begin(store, error);

    if (status != GCACHE_OK)
        return status;
    sqlite3_stmt *rows = gci_index_use(&store->index, GCI_SQL_ENTRY_OF_SPACE);
    gci_bind_number(rows, 1, (int64_t)limit);
    gci_bind_text(rows, 2, gci_view_text(space));
    return end(store, collect(store, rows, UINT64_MAX, out_victims, error), error);
}

gcache_status
gci_victims_totals(gci_store *store, gci_totals *out_totals, gcache_error *error)
{
    gcache_status status = begin(store, error);

    if (status != GCACHE_OK)
        return status;
    sqlite3_stmt *row = gci_index_use(&store->index, GCI_SQL_TOTALS);
    *out_totals = (gci_totals){ 0 };
    if (gci_index_step(&store->index, row)) {
        out_totals->bytes = (uint64_t)gci_column_number(row, 0);
        out_totals->entries = (uint64_t)gci_column_number(row, 1);
        out_totals->keys = (uint64_t)gci_column_number(row, 2);
    }
    return end(store, GCACHE_OK, error);
}
