/* Shrinking what isn't entries, on a full disk. */
#include "store/evict/overhead.h"

#include "base/system/clock.h"
#include "store/evict/recount.h"
#include "store/index/drain.h"
#include "store/index/tombstones.h"
#include "store/publish/publish.h"

#define WAIT_NS UINT64_C(2000000000)

/* Shares of what the entries take, and what is too little to be worth it. */
#define TOMBSTONES_SHARE 16
#define TOMBSTONES_LEAST ((uint64_t)128 << 10)
#define INDEX_SHARE 4
#define INDEX_LEAST ((uint64_t)256 << 10)

/* Drains the segment and empties it, and brings the WAL into the database: loses nothing. Where there is no room for that, or
   nobody to wait for, it is left. */
static gcache_status
settle(gci_store *store)
{
    /* The WAL first: what is drained goes there. */
    gci_index_truncate_wal(&store->index, WAIT_NS);
    gcache_status status = gci_drain_and_empty(store, WAIT_NS, NULL);
    gci_index_truncate_wal(&store->index, WAIT_NS);
    return status;
}

static uint64_t
bytes_of_entries(gci_store *store)
{
    gci_recounted counted;
    uint64_t bytes = gci_usage_bytes(store);

    if (bytes == 0 && gci_count_files(store, &counted, NULL) == GCACHE_OK)
        bytes = counted.bytes;
    return bytes;
}

static bool
exceeds(uint64_t bytes, uint64_t of, uint64_t share, uint64_t least)
{
    return bytes > least && bytes > of / share;
}

static bool
is_out_of_proportion(gci_store *store, uint64_t entries)
{
    uint64_t bytes = gci_cost_of_path(store, "index.db") + gci_cost_of_path(store, "index.db-wal") +
                     gci_cost_of_path(store, "segment");

    for (int i = 0; i < GCI_JOURNAL_FILES; i++)
        bytes += gci_cost_of_path(store, gci_journal_names[i]);
    return exceeds(bytes, entries, INDEX_SHARE, INDEX_LEAST);
}

void
gci_overhead_shrink(gci_store *store)
{
    gcache_status status = settle(store);
    uint64_t entries = bytes_of_entries(store);

    /* What went without a tombstone looks lost until its row is gone too, which may find no room either. */
    if (exceeds(gci_tombstones_cost(store), entries, TOMBSTONES_SHARE, TOMBSTONES_LEAST)) {
        gci_tombstones_forget(store);
        gci_word_set(&store->shared.head->unnoted_s, gci_clock_wall_ns() / GCI_SECOND_NS);
        status = settle(store);
    }
    for (int i = GCI_JOURNAL_FILES; i-- > 0 && is_out_of_proportion(store, entries);)
        gci_journal_discard(store->directory, gci_journal_names[i]);
    if (!is_out_of_proportion(store, entries))
        return;
    gci_store_log(store, "%s: the disk is full, and index.db takes more than it may beside so few entries: made anew from them",
                  store->directory.name);
    /* What can't even be drained would stay for ever. */
    if (status == GCACHE_ERROR_NO_SPACE)
        gci_segment_discard(&store->segment);
    gci_index_discard(&store->index, WAIT_NS);
    settle(store);
}
