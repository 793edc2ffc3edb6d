/* The journal of an open store: who may append to it, and what happens if that fails. */
#include "store/index/journal.h"

#include "store/state/state.h"

static bool
append(gci_store *store, gci_view entry)
{
    gcache_error error;

    if (store->read_only)
        return false;
    if (entry.size > GCI_JOURNAL_BYTES_MAX) {
        gci_store_log(store, "a lookup is not written down: %zu bytes", entry.size);
        return false;
    }
    if (gci_journal_append(&store->journal, entry, &error) != GCACHE_OK) {
        gci_store_log(store, "a lookup is not written down: %s", error.message);
        return false;
    }
    return true;
}

bool
gci_store_journal_append(gci_store *store, gci_view entry)
{
    gci_store_enter(store);
    return append(store, entry);
}

bool
gci_store_journal_hit(gci_store *store, gci_view entry)
{
    return append(store, entry);
}

gcache_status
gci_store_journal_each(gci_store *store, gci_journal_fn fn, void *state, gcache_error *error)
{
    gci_store_enter(store);
    return gci_journal_each(store->directory, fn, state, error);
}
