/* The journal, newest first: events that aren't drained yet, then rows. */
#include "store/index/journal_rows.h"

#include "base/array.h"
#include "base/system/clock.h"
#include "store/index/drain.h"
#include "store/index/touch.h"

#include <stdlib.h>

#define WAIT_NS UINT64_C(2000000000)
/* Rows that are copied at a time, so that the callback may use the store. */
#define CHUNK 64
/* Of a segment that can't be drained, the end is read. */
#define TAIL_BYTES ((size_t)64 << 20)

bool
gci_store_journal_append(gci_store *store, gci_view entry)
{
    gcache_error error;

    gci_store_enter(store);
    if (store->read_only)
        return false;
    if (entry.size > GCI_JOURNAL_BYTES_MAX) {
        gci_store_log(store, "a lookup is not written down: %zu bytes", entry.size);
        return false;
    }
    if (gci_segment_append(&store->segment, GCI_EVENT_LOOKUP, entry, &error) != GCACHE_OK) {
        gci_store_log(store, "a lookup is not written down: %s", error.message);
        return false;
    }
    gci_drain_if_due(store);
    return true;
}

bool
gci_store_journal_hit(gci_store *store, gci_view entry)
{
    if (!store->read_only && entry.size <= GCI_JOURNAL_BYTES_MAX && gci_gather_first_hit(store, entry))
        return true;
    return gci_store_journal_append(store, entry);
}

/* ---- what isn't in index.db yet ---- */

struct tail {
    gci_segment_part part;
    gci_event *events;
    size_t count, capacity;
};

static bool
tail_add(struct tail *tail, gci_event const *event)
{
    if (!GCI_ARRAY_HAS_ROOM(tail, events))
        return false;
    tail->events[tail->count++] = *event;
    return true;
}

static gcache_status
tail_read(gci_store *store, struct tail *tail, gcache_error *error)
{
    uint64_t nonce = 0, drained = 0;
    gci_event event;
    size_t at = 0;

    if (gci_index_begin(&store->index, GCI_READ, WAIT_NS, NULL) == GCACHE_OK) {
        nonce = gci_meta_get(&store->index, GCI_META_SEGMENT);
        drained = gci_meta_get(&store->index, GCI_META_DRAINED);
        gci_index_end(&store->index, GCI_READ, GCACHE_OK, NULL);
    }
    gcache_status status = gci_segment_read(&store->segment, nonce, drained, TAIL_BYTES, &tail->part, error);
    while (status == GCACHE_OK && gci_event_next(gci_buf_view(&tail->part.bytes), &at, &event)) {
        if (event.type == GCI_EVENT_LOOKUP && !tail_add(tail, &event))
            status = gci_fail_memory(error);
    }
    return status;
}

static void
tail_clear(struct tail *tail)
{
    gci_buf_clear(&tail->part.bytes);
    free(tail->events);
}

static gcache_status
each_in_tail(gci_store *store, gci_journal_fn fn, void *state, bool *out_stopped, gcache_error *error)
{
    struct tail tail = { 0 };

    gcache_status status = tail_read(store, &tail, error);
    for (size_t i = tail.count; status == GCACHE_OK && !*out_stopped && i-- > 0;)
        *out_stopped = fn(state, tail.events[i].at_ns, tail.events[i].body) != 0;
    tail_clear(&tail);
    return status;
}

/* ---- what is ---- */

struct chunk {
    struct {
        uint64_t at_ns;
        size_t offset, size;
    } rows[CHUNK];
    size_t count;
    int64_t before; /* rows with smaller numbers come next */
    gci_buf bytes;
};

static gcache_status
chunk_read(gci_store *store, struct chunk *chunk, gcache_error *error)
{
    gci_index *index = &store->index;

    chunk->count = 0;
    chunk->bytes.size = 0;
    gcache_status status = gci_index_begin(index, GCI_READ, WAIT_NS, error);
    if (status != GCACHE_OK)
        return status;
    sqlite3_stmt *rows = GCI_QUERY(index, GCI_SQL_LOOKUP_EACH, gci_sql_number(chunk->before), gci_sql_number(CHUNK));
    while (chunk->count < CHUNK && gci_index_step(index, rows)) {
        gci_view entry = gci_sql_column(rows, 2);
        chunk->before = gci_column_number(rows, 0);
        chunk->rows[chunk->count].at_ns = (uint64_t)gci_column_number(rows, 1);
        chunk->rows[chunk->count].offset = chunk->bytes.size;
        chunk->rows[chunk->count++].size = entry.size;
        gci_buf_append_view(&chunk->bytes, entry);
    }
    if (chunk->bytes.failed)
        status = gci_fail_memory(error);
    return gci_index_end(index, GCI_READ, status, error);
}

static gcache_status
each_in_rows(gci_store *store, gci_journal_fn fn, void *state, gcache_error *error)
{
    struct chunk chunk = { .before = INT64_MAX };
    gcache_status status;
    bool stopped = false;

    gci_buf_init(&chunk.bytes, GCI_BUF_NO_LIMIT);
    do {
        status = chunk_read(store, &chunk, error);
        for (size_t i = 0; status == GCACHE_OK && !stopped && i < chunk.count; i++)
            stopped = fn(state, chunk.rows[i].at_ns,
                         gci_view_of(chunk.bytes.data + chunk.rows[i].offset, chunk.rows[i].size)) != 0;
    } while (status == GCACHE_OK && !stopped && chunk.count == CHUNK);
    gci_buf_clear(&chunk.bytes);
    return status;
}

gcache_status
gci_store_journal_each(gci_store *store, gci_journal_fn fn, void *state, gcache_error *error)
{
    bool stopped = false;

    gci_store_enter(store);
    gci_flush_touches(store);
    if (!store->read_only)
        gci_drain(store, WAIT_NS, NULL);
    gcache_status status = each_in_tail(store, fn, state, &stopped, error);
    if (status != GCACHE_OK || stopped)
        return status;
    status = each_in_rows(store, fn, state, error);
    /* What could be read was all there is. */
    return gci_index_is_out_of_reach(status) ? GCACHE_OK : status;
}
