/* What rows and files disagree about, as a sorted list. */
#include "store/repair/mismatches.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_NS UINT64_C(10000000000)

_Static_assert(sizeof(gci_mismatch) == GCACHE_KEY_BYTES + 16 + 1, "compared by their bytes");

static void
add_mismatch(gci_mismatches *all, gci_entry_row const *row, bool lost)
{
    if (!GCI_ARRAY_HAS_ROOM(all, items)) {
        all->failed = true;
        return;
    }
    all->items[all->count] = (gci_mismatch){ .key = row->key, .lost = lost };
    memcpy(all->items[all->count++].id, row->id, sizeof row->id);
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

/* What the rows lack, and lone ones: files are looked at again once nobody has to wait for the rows. */
static gcache_status
look_at_rows(gci_index *index, bool whole, unsigned shard, gci_row_list const *list, gci_row_list *out_lone,
             gci_mismatches *out, gcache_error *error)
{
    gcache_status status = gci_index_begin(index, GCI_READ, WAIT_NS, error);

    if (status != GCACHE_OK)
        return status;
    for (size_t i = 0; whole && i < list->count; i++) {
        if (!gci_row_is_there(index, &list->items[i]))
            add_mismatch(out, &list->items[i], false);
    }
    status = gci_rows_lone(index, shard, list, out_lone, error);
    return gci_index_end(index, GCI_READ, status, error);
}

gcache_status
gci_mismatches_find(gci_store *store, gci_index *index, bool whole, unsigned shard, gci_row_list const *list, gci_mismatches *out,
                    gcache_error *error)
{
    gci_row_list lone;

    gci_row_list_init(&lone);
    gcache_status status = look_at_rows(index, whole, shard, list, &lone, out, error);
    for (size_t i = 0; status == GCACHE_OK && i < lone.count; i++) {
        if (gci_row_is_lost(store, &lone.items[i]))
            add_mismatch(out, &lone.items[i], true);
    }
    gci_row_list_clear(&lone);
    if (out->count != 0)
        qsort(out->items, out->count, sizeof *out->items, by_bytes);
    return status == GCACHE_OK && out->failed ? gci_fail_memory(error) : status;
}
