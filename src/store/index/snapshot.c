/* A temporary copy of rows: taken from index.db, then brought up to date by events. */
#include "store/index/snapshot.h"

#include "store/index/drain.h"

#define WAIT_NS UINT64_C(5000000000)
#define PART_BYTES ((size_t)4 << 20)
/* Others drain and empty the segment while it is read: then index.db has what is missing. Not so often in a row. */
#define ATTEMPTS 5

void
gci_snapshot_init(gci_snapshot *snapshot, gci_store *store)
{
    *snapshot = (gci_snapshot){ .store = store };
    gci_index_init_temporary(&snapshot->index);
    pthread_mutex_init(&snapshot->mutex, NULL);
}

void
gci_snapshot_close(gci_snapshot *snapshot)
{
    gci_index_close(&snapshot->index);
    pthread_mutex_destroy(&snapshot->mutex);
}

/* Between begin and end of both. What was taken in before may be gone from it. */
static void
copy_rows(gci_snapshot *snapshot)
{
    gci_index *from = &snapshot->store->index;
    gci_entry_row row;

    gci_index_run(&snapshot->index, gci_index_use(&snapshot->index, GCI_SQL_ENTRIES_CLEAR));
    sqlite3_stmt *rows = gci_index_use(from, GCI_SQL_ROWS);
    while (gci_index_step(from, rows)) {
        if (gci_read_entry_row(rows, &row) && row.is_entry)
            gci_put_entry_row(&snapshot->index, &row);
    }
    snapshot->nonce = gci_meta_get(from, GCI_META_SEGMENT);
    snapshot->taken = gci_meta_get(from, GCI_META_DRAINED);
}

static gcache_status
load(gci_snapshot *snapshot, gcache_error *error)
{
    gci_index *from = &snapshot->store->index;

    snapshot->nonce = snapshot->taken = 0;
    snapshot->whole = false;
    gcache_status status = gci_index_begin(from, GCI_READ, WAIT_NS, error);
    if (status == GCACHE_ERROR_NOT_FOUND)
        return GCACHE_OK;
    if (status != GCACHE_OK)
        return status;
    copy_rows(snapshot);
    snapshot->whole = true;
    return gci_index_end(from, GCI_READ, GCACHE_OK, error);
}

/* *out_behind: the segment was emptied, perhaps since index.db was taken in. One that was seen emptied before that isn't behind:
   what it had then is in index.db. */
static gcache_status
take_events(gci_snapshot *snapshot, bool *out_behind, bool *out_more, gcache_error *error)
{
    gci_segment_part part;
    gci_event event;
    size_t at = 0;

    *out_more = false;
    gcache_status status = gci_segment_read(&snapshot->store->segment, snapshot->nonce, snapshot->taken, PART_BYTES, &part,
                                            error);
    if (status != GCACHE_OK)
        return status;
    *out_behind = snapshot->nonce != 0 && part.nonce != snapshot->nonce && part.nonce != snapshot->emptied;
    if (*out_behind)
        snapshot->emptied = part.nonce;
    while (!*out_behind && gci_event_next(gci_buf_view(&part.bytes), &at, &event))
        gci_apply_event(&snapshot->index, &event);
    if (at > 0) {
        snapshot->nonce = part.nonce;
        snapshot->taken = part.offset + at;
    }
    *out_more = at > 0 && part.bytes.size == PART_BYTES;
    gci_buf_clear(&part.bytes);
    return GCACHE_OK;
}

/* Between begin and end of the temporary index. */
static gcache_status
bring_up_to_date(gci_snapshot *snapshot, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    bool behind = true, more = true;

    for (int attempt = 0; status == GCACHE_OK && behind && attempt < ATTEMPTS; attempt++) {
        if (!snapshot->loaded || attempt > 0)
            status = load(snapshot, error);
        snapshot->loaded = true;
        for (more = true; status == GCACHE_OK && more;)
            status = take_events(snapshot, &behind, &more, error);
    }
    return status;
}

gcache_status
gci_snapshot_refresh(gci_snapshot *snapshot, gcache_error *error)
{
    pthread_mutex_lock(&snapshot->mutex);
    gcache_status status = gci_index_begin(&snapshot->index, GCI_WRITE, WAIT_NS, error);
    if (status == GCACHE_OK) {
        status = bring_up_to_date(snapshot, error);
        status = gci_index_end(&snapshot->index, GCI_WRITE, status, error);
    }
    pthread_mutex_unlock(&snapshot->mutex);
    return status;
}
