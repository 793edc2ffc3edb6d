/* What rows and files disagree about, as a sorted list. */
#include "store/repair/mismatches.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(gci_mismatch) == GCACHE_KEY_BYTES + 16 + 1, "compared by their bytes");

static void
add_mismatch(gci_mismatches *all, gcache_key const *key, uint8_t const id[16], bool lost)
{
    if (!GCI_ARRAY_HAS_ROOM(all, items)) {
        all->failed = true;
        return;
    }
    all->items[all->count] = (gci_mismatch){ .key = *key, .lost = lost };
    memcpy(all->items[all->count++].id, id, sizeof all->items->id);
}

static int
by_bytes(void const *a, void const *b)
{
    return memcmp(a, b, sizeof(gci_mismatch));
}

bool
gci_mismatches_have(gci_mismatches const *all, gci_mismatch const *wanted)
{
    return all->count != 0 && bsearch(wanted, all->items, all->count, sizeof *wanted, by_bytes) != NULL;
}

static void
note_missing_row(void *state, gci_entry_row const *row)
{
    add_mismatch(state, &row->key, row->id, false);
}

/* From rows to files. */
static gcache_status
note_lost_entries(gci_store *store, gci_index *index, unsigned shard, gci_row_list const *list, gci_mismatches *out,
                gcache_error *error)
{
    gci_lone_rows rows;

    gcache_status status = gci_rows_lone(index, shard, list, &rows, error);
    for (size_t i = 0; status == GCACHE_OK && i < rows.count; i++) {
        if (gci_row_is_lost(store, &rows.items[i]))
            add_mismatch(out, &rows.items[i].key, rows.items[i].id, true);
    }
    free(rows.items);
    return status;
}

gcache_status
gci_mismatches_find(gci_store *store, gci_index *index, bool whole, unsigned shard, gci_row_list const *list, gci_mismatches *out,
                gcache_error *error)
{
    gcache_status status = whole ? gci_rows_missing(index, list, note_missing_row, out, error) : GCACHE_OK;

    if (status == GCACHE_OK)
        status = note_lost_entries(store, index, shard, list, out, error);
    if (out->count != 0)
        qsort(out->items, out->count, sizeof *out->items, by_bytes);
    return status == GCACHE_OK && out->failed ? gci_fail_memory(error) : status;
}
