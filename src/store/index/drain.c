#include "store/index/drain.h"

#include "base/clock.h"
#include "base/codec.h"
#include "base/digest.h"
#include "store/index/journal_rows.h"
#include "store/index/touch.h"
#include "store/state/files.h"

#include <stdlib.h>

#define ID_BYTES ((GCACHE_ENTRY_ID_SIZE - 1) / 2)

/* A batch takes a few milliseconds, one insert in so many. */
#define DRAIN_EVERY 512
/* At close: less than this waits for the next process. */
#define DRAIN_AT_CLOSE_BYTES ((size_t)64 << 10)
/* What is read and applied in one transaction. */
#define PART_BYTES ((size_t)4 << 20)
/* An emptied file is shorter to read; a small one isn't worth it. */
#define RESET_BYTES ((uint64_t)1 << 20)

/* ---- events ---- */

static gcache_status
append(gci_store *store, gci_event_type type, gci_buf *body)
{
    gcache_error error = { 0 };

    gcache_status status = body->failed ? gci_fail_memory(&error)
                                        : gci_segment_append(&store->segment, type, gci_buf_view(body), &error);
    if (status != GCACHE_OK)
        gci_store_log(store, "not written down, repair will find it: %s", error.message);
    gci_buf_clear(body);
    return status;
}

static void
put_key_and_id(gci_buf *body, gcache_key const *key, char const *id)
{
    uint8_t bytes[ID_BYTES] = { 0 };

    gci_unhex(gci_view_text(id), bytes, sizeof bytes);
    gci_buf_append(body, key->bytes, sizeof key->bytes);
    gci_buf_append(body, bytes, sizeof bytes);
}

gcache_status
gci_note_entry(gci_store *store, gci_entry_row const *row)
{
    gci_buf body;

    gci_buf_init(&body, GCI_EVENT_MAX - GCI_EVENT_HEADER);
    gci_buf_append(&body, row->key.bytes, sizeof row->key.bytes);
    gci_buf_append(&body, row->id, sizeof row->id);
    gci_put_u64(&body, row->created_ns);
    gci_put_u64(&body, row->entry_cost);
    gci_put_u64(&body, row->size);
    gci_put_u64(&body, row->key_cost);
    gci_put_bytes(&body, row->space);
    gci_put_bytes(&body, row->kind);
    gci_put_u32(&body, (uint32_t)row->component_count);
    for (size_t i = 0; i < row->component_count; i++)
        gci_put_u64(&body, row->components[i]);
    return append(store, GCI_EVENT_INSERTED, &body);
}

void
gci_note_removal(gci_store *store, gcache_key const *key, char const *id, uint64_t cost)
{
    gci_buf body;

    gci_buf_init(&body, 256);
    put_key_and_id(&body, key, id);
    gci_put_u64(&body, cost);
    append(store, GCI_EVENT_REMOVED, &body);
}

void
gci_note_kept(gci_store *store, gcache_key const *key, gci_view ids, uint64_t cost)
{
    gci_buf body;

    gci_buf_init(&body, GCI_EVENT_MAX - GCI_EVENT_HEADER);
    gci_buf_append(&body, key->bytes, sizeof key->bytes);
    gci_put_u64(&body, cost);
    gci_buf_append_view(&body, ids);
    append(store, GCI_EVENT_KEPT, &body);
}

/* ---- rows ---- */

int64_t
gci_key_row(gci_index *index, gcache_key const *key)
{
    sqlite3_stmt *find = gci_index_use(index, GCI_SQL_KEY_ID);

    gci_bind_bytes(find, 1, key->bytes, sizeof key->bytes);
    return gci_index_step(index, find) ? gci_column_number(find, 0) : -1;
}

/* What goes into a row stays a number there, and so does the sum of all rows: a negative one, or none, shows damage. */
#define SIZE_MOST ((uint64_t)1 << 40)
#define TIME_MOST ((uint64_t)1 << 62)

static int64_t
at_most(uint64_t limit, uint64_t number)
{
    return (int64_t)(number < limit ? number : limit);
}

void
gci_put_entry_row(gci_index *index, gci_entry_row const *row)
{
    sqlite3_stmt *put = gci_index_use(index, GCI_SQL_KEY_PUT);

    gci_bind_bytes(put, 1, row->key.bytes, sizeof row->key.bytes);
    gci_bind_text(put, 2, row->kind);
    gci_bind_number(put, 3, at_most(SIZE_MOST, row->key_cost));
    gci_index_run(index, put);
    int64_t key_id = gci_key_row(index, &row->key);
    put = gci_index_use(index, GCI_SQL_ENTRY_PUT);
    gci_bind_number(put, 1, key_id);
    gci_bind_bytes(put, 2, row->id, sizeof row->id);
    gci_bind_text(put, 3, row->space);
    gci_bind_number(put, 4, at_most(SIZE_MOST, row->entry_cost));
    gci_bind_number(put, 5, at_most(SIZE_MOST, row->size));
    gci_bind_number(put, 6, at_most(TIME_MOST, row->created_ns));
    gci_bind_number(put, 7, at_most(TIME_MOST, row->used_ns != 0 ? row->used_ns : row->created_ns));
    gci_index_run(index, put);
    for (size_t i = 0; i < row->component_count; i++) {
        put = gci_index_use(index, GCI_SQL_COMPONENT_PUT);
        gci_bind_number(put, 1, (int64_t)row->components[i]);
        gci_bind_number(put, 2, key_id);
        gci_index_run(index, put);
    }
}

static void
drop_key_row(gci_index *index, int64_t key_id)
{
    static gci_statement const drops[] = { GCI_SQL_KEY_ENTRIES_DROP, GCI_SQL_KEY_COMPONENTS_DROP, GCI_SQL_KEY_DROP };

    for (size_t i = 0; i < sizeof drops / sizeof *drops; i++) {
        sqlite3_stmt *drop = gci_index_use(index, drops[i]);
        gci_bind_number(drop, 1, key_id);
        gci_index_run(index, drop);
    }
}

void
gci_drop_entry_row(gci_index *index, gcache_key const *key, char const *id, uint64_t cost)
{
    uint8_t bytes[ID_BYTES] = { 0 };
    int64_t key_id = gci_key_row(index, key);

    if (key_id < 0)
        return;
    if (cost == 0) {
        drop_key_row(index, key_id);
        return;
    }
    gci_unhex(gci_view_text(id), bytes, sizeof bytes);
    sqlite3_stmt *drop = gci_index_use(index, GCI_SQL_ENTRY_DROP);
    gci_bind_number(drop, 1, key_id);
    gci_bind_bytes(drop, 2, bytes, sizeof bytes);
    gci_index_run(index, drop);
    sqlite3_stmt *set = gci_index_use(index, GCI_SQL_KEY_BYTES);
    gci_bind_number(set, 1, key_id);
    gci_bind_number(set, 2, at_most(SIZE_MOST, cost));
    gci_index_run(index, set);
}

/* ---- applying events ---- */

static void
get_key_and_id(gci_reader *reader, gcache_key *out_key, uint8_t out_id[ID_BYTES])
{
    gci_view key = gci_get_raw(reader, sizeof out_key->bytes), id = gci_get_raw(reader, ID_BYTES);

    memcpy(out_key->bytes, key.data, key.size);
    memcpy(out_id, id.data, id.size);
}

static void
apply_insert(gci_index *index, gci_reader *reader)
{
    gci_entry_row row = { 0 };

    get_key_and_id(reader, &row.key, row.id);
    row.created_ns = gci_get_u64(reader);
    row.entry_cost = gci_get_u64(reader);
    row.size = gci_get_u64(reader);
    row.key_cost = gci_get_u64(reader);
    row.space = gci_get_bytes(reader);
    row.kind = gci_get_bytes(reader);
    row.component_count = gci_get_count(reader, sizeof(uint64_t));
    uint64_t *numbers = calloc(row.component_count + 1, sizeof *numbers);
    if (numbers == NULL)
        row.component_count = 0;
    for (size_t i = 0; i < row.component_count; i++)
        numbers[i] = gci_get_u64(reader);
    row.components = numbers;
    if (!reader->failed)
        gci_put_entry_row(index, &row);
    free(numbers);
}

static void
apply_touches(gci_index *index, gci_reader *reader)
{
    uint8_t id[ID_BYTES];
    gcache_key key;

    while (gci_reader_left(reader) >= GCI_TOUCH_BYTES) {
        get_key_and_id(reader, &key, id);
        uint64_t used = gci_get_u64(reader);
        uint32_t hits = gci_get_u32(reader);
        sqlite3_stmt *touch = gci_index_use(index, GCI_SQL_ENTRY_TOUCH);
        gci_bind_bytes(touch, 1, key.bytes, sizeof key.bytes);
        gci_bind_bytes(touch, 2, id, sizeof id);
        gci_bind_number(touch, 3, at_most(TIME_MOST, used));
        gci_bind_number(touch, 4, hits);
        gci_index_run(index, touch);
    }
}

static void
apply_lookup(gci_index *index, gci_event const *event)
{
    sqlite3_stmt *put = gci_index_use(index, GCI_SQL_LOOKUP_PUT);

    gci_bind_number(put, 1, at_most(TIME_MOST, event->at_ns));
    gci_bind_bytes(put, 2, event->body.data, event->body.size);
    gci_index_run(index, put);
}

static void
apply_removal(gci_index *index, gci_reader *reader)
{
    uint8_t id[ID_BYTES];
    char hex[GCACHE_ENTRY_ID_SIZE];
    gcache_key key;

    get_key_and_id(reader, &key, id);
    uint64_t cost = gci_get_u64(reader);
    gci_hex(id, sizeof id, hex);
    if (!reader->failed)
        gci_drop_entry_row(index, &key, hex, cost);
}

static bool
is_among(gci_view ids, gci_view id)
{
    for (size_t at = 0; at + ID_BYTES <= ids.size; at += ID_BYTES) {
        if (memcmp(ids.data + at, id.data, ID_BYTES) == 0)
            return true;
    }
    return false;
}

/* The id of a row of the key that isn't among ids. false: there is none. */
static bool
find_unkept(gci_index *index, gcache_key const *key, gci_view ids, uint8_t out_id[ID_BYTES])
{
    sqlite3_stmt *rows = gci_index_use(index, GCI_SQL_ENTRIES_BETWEEN);

    gci_bind_bytes(rows, 1, key->bytes, sizeof key->bytes);
    gci_bind_bytes(rows, 2, key->bytes, sizeof key->bytes);
    while (gci_index_step(index, rows)) {
        gci_view id = gci_column_bytes(rows, 2);
        if (id.size != ID_BYTES || is_among(ids, id))
            continue;
        memcpy(out_id, id.data, ID_BYTES);
        return true;
    }
    return false;
}

static void
apply_kept(gci_index *index, gci_reader *reader)
{
    char hex[GCACHE_ENTRY_ID_SIZE];
    uint8_t id[ID_BYTES];
    gcache_key key;

    gci_view named = gci_get_raw(reader, sizeof key.bytes);
    uint64_t cost = gci_get_u64(reader);
    gci_view ids = gci_get_raw(reader, gci_reader_left(reader));
    if (reader->failed)
        return;
    memcpy(key.bytes, named.data, named.size);
    while (find_unkept(index, &key, ids, id)) {
        gci_hex(id, sizeof id, hex);
        gci_drop_entry_row(index, &key, hex, ids.size != 0 ? cost : 0);
    }
}

void
gci_apply_event(gci_index *index, gci_event const *event)
{
    gci_reader reader = gci_reader_of(event->body);

    switch (event->type) {
    case GCI_EVENT_INSERTED:
        apply_insert(index, &reader);
        break;
    case GCI_EVENT_TOUCHED:
        apply_touches(index, &reader);
        break;
    case GCI_EVENT_LOOKUP:
        apply_lookup(index, event);
        break;
    case GCI_EVENT_REMOVED:
        apply_removal(index, &reader);
        break;
    case GCI_EVENT_KEPT:
        apply_kept(index, &reader);
        break;
    }
}

/* ---- draining ---- */

/* What was used at a time that hasn't come yet, because the clock went back, counts as used now: else it would outlive all. */
static void
clamp_recency(gci_index *index)
{
    sqlite3_stmt *clamp = gci_index_use(index, GCI_SQL_ENTRY_FUTURE);

    gci_bind_number(clamp, 1, (int64_t)gci_clock_wall_ns());
    gci_index_run(index, clamp);
}

/* Applies one part of the segment; *out_end is where the next begins, *out_more whether there may be one. */
static gcache_status
drain_part(gci_store *store, uint64_t *out_end, bool *out_more, gcache_error *error)
{
    gci_index *index = &store->index;
    gci_segment_part part;
    gci_event event;
    size_t at = 0;
    bool lookups = false;

    uint64_t nonce = gci_meta_get(index, GCI_META_SEGMENT), drained = gci_meta_get(index, GCI_META_DRAINED);
    gcache_status status = gci_segment_read(&store->segment, nonce, drained, PART_BYTES, &part, error);
    if (status != GCACHE_OK)
        return status;
    while (gci_event_next(gci_buf_view(&part.bytes), &at, &event)) {
        gci_apply_event(index, &event);
        lookups |= event.type == GCI_EVENT_LOOKUP;
    }
    /* Damaged throughout, but for an event that may begin at its end. */
    if (at == 0 && part.bytes.size == PART_BYTES)
        at = PART_BYTES - GCI_EVENT_MAX;
    clamp_recency(index);
    *out_end = part.offset + at;
    *out_more = part.bytes.size == PART_BYTES;
    /* Also back: a file that was cut grows again. */
    if (part.nonce != nonce || *out_end != drained) {
        gci_meta_set(index, GCI_META_SEGMENT, part.nonce);
        gci_meta_set(index, GCI_META_DRAINED, *out_end);
    }
    if (lookups) {
        sqlite3_stmt *trim = gci_index_use(index, GCI_SQL_LOOKUP_TRIM);
        gci_bind_number(trim, 1, GCI_JOURNAL_ENTRIES);
        gci_index_run(index, trim);
    }
    gci_buf_clear(&part.bytes);
    return GCACHE_OK;
}

/* A segment that has reached empty_from is emptied. */
static gcache_status
drain(gci_store *store, uint64_t wait_ns, uint64_t empty_from, gcache_error *error)
{
    uint64_t end = 0;
    bool more = true, damaged = false;

    atomic_store(&store->segment.appended, 0);
    while (more) {
        gcache_status status = gci_index_begin(&store->index, GCI_WRITE, wait_ns, error);
        if (status != GCACHE_OK)
            return status;
        status = drain_part(store, &end, &more, error);
        status = gci_index_end(&store->index, GCI_WRITE, status, error);
        /* What turned out damaged is made anew, and drained into from the beginning. */
        if (status == GCACHE_ERROR_CORRUPT && !damaged)
            more = damaged = true;
        else if (status != GCACHE_OK)
            return status;
    }
    if (end >= empty_from)
        gci_segment_reset(&store->segment, end);
    gci_segment_reset_absurd(&store->segment);
    return GCACHE_OK;
}

gcache_status
gci_drain(gci_store *store, uint64_t wait_ns, gcache_error *error)
{
    return drain(store, wait_ns, RESET_BYTES, error);
}

gcache_status
gci_drain_and_empty(gci_store *store, uint64_t wait_ns, gcache_error *error)
{
    return drain(store, wait_ns, GCI_SEGMENT_HEADER + 1, error);
}

void
gci_drain_if_due(gci_store *store)
{
    if (!store->read_only && atomic_load(&store->segment.appended) >= DRAIN_EVERY)
        gci_drain(store, 0, NULL);
}

void
gci_drain_at_close(gci_store *store)
{
    struct stat facts;

    if (!store->read_only && atomic_load(&store->segment.appended) > 0 &&
        gci_dir_stat(store->directory, "segment", &facts, NULL) == GCACHE_OK &&
        (uint64_t)facts.st_size >= DRAIN_AT_CLOSE_BYTES)
        gci_drain(store, 0, NULL);
}
