/* Events: written to the segment, applied to the rows, and drained in batches. */
#include "store/index/drain.h"

#include "base/digest.h"
#include "base/system/clock.h"
#include "store/state/files.h"

#include <stdlib.h>

#define ID_BYTES sizeof(((gci_entry_row *)0)->id)

/* A batch takes a few milliseconds, one insert in so many. */
#define DRAIN_EVERY 512
/* At close: less than this waits for the next process. What was drained goes, or every short process from now on would drain. */
#define DRAIN_AT_CLOSE_BYTES ((size_t)64 << 10)
/* What is read and applied in one transaction. */
#define PART_BYTES ((size_t)4 << 20)
/* An emptied file is shorter to read; a small one isn't worth it. */
#define RESET_BYTES ((uint64_t)1 << 20)

/* ---- events ---- */

static gci_field const inserted_fields[] = {
    GCI_BYTES(gci_entry_row, key, "key", ""),
    GCI_BYTES(gci_entry_row, id, "id", ""),
    GCI_NUMBER(gci_entry_row, created_ns, 8, "created", ""),
    GCI_NUMBER(gci_entry_row, entry_cost, 8, "entry cost", "of the entry file; 0: none"),
    GCI_NUMBER(gci_entry_row, size, 8, "size", "of the frame"),
    GCI_NUMBER(gci_entry_row, key_cost, 8, "key cost", "of the key's other files"),
    GCI_TEXT(gci_entry_row, namespace_, "namespace", ""),
    GCI_TEXT(gci_entry_row, kind, "kind", ""),
    GCI_LIST(gci_entry_row, components, component_count, &gci_u64_item, "components",
             "none any more: once the numbers of the key's, which nobody reads"),
};
gci_fields const gci_inserted_fields = GCI_FIELDS("INSERTED", gci_entry_row, inserted_fields);

static gci_field const sketched_fields[] = {
    GCI_FLAG(gci_entry_row, is_keyed, "keyed", "1: somebody else computed the key"),
    GCI_TEXT(gci_entry_row, sketch, "sketch", "of the key, [canonical.md](canonical.md); empty if there is none"),
};
gci_fields const gci_sketched_fields = GCI_FIELDS("INSERTED, more", gci_entry_row, sketched_fields);

static gci_field const touched_fields[] = {
    GCI_BYTES(gci_entry_row, key, "key", ""),
    GCI_BYTES(gci_entry_row, id, "id", ""),
    GCI_NUMBER(gci_entry_row, used_ns, 8, "used", "when it last was"),
    GCI_NUMBER(gci_entry_row, hits, 4, "hits", "since the event before; 0: an insert returned then"),
};
gci_fields const gci_touched_fields = GCI_FIELDS("TOUCHED", gci_entry_row, touched_fields);

static gci_field const removed_fields[] = {
    GCI_BYTES(gci_entry_row, key, "key", ""),
    GCI_BYTES(gci_entry_row, id, "id", ""),
    GCI_NUMBER(gci_entry_row, key_cost, 8, "key cost", "of the key's other files; 0: the key is gone"),
};
gci_fields const gci_removed_fields = GCI_FIELDS("REMOVED", gci_entry_row, removed_fields);

typedef struct kept {
    gcache_key key;
    uint64_t key_cost;
    gci_view ids;
} kept;

static gci_field const kept_fields[] = {
    GCI_BYTES(kept, key, "key", ""),
    GCI_NUMBER(kept, key_cost, 8, "key cost", "of its files"),
    GCI_TEXT(kept, ids, "ids", "16 bytes each: after its candidate index was found damaged, the key has these and no others"),
};
gci_fields const gci_kept_fields = GCI_FIELDS("KEPT", kept, kept_fields);

static gci_field const counted_fields[] = {
    GCI_NUMBER_UP_TO(gci_counted, which, 1, GCI_COUNT_COUNT - 1, "which", "its place in `GCACHE_STATISTIC_COUNTER_MAP`, from 0"),
    GCI_NUMBER(gci_counted, number, 8, "number", "how often"),
};
gci_fields const gci_counted_fields = GCI_FIELDS("COUNTED", gci_counted, counted_fields);

/* Of two tables, one behind the other; more may be NULL. */
static gcache_status
note(gci_store *store, gci_event_type type, gci_fields const *fields, gci_fields const *more, void const *value)
{
    gcache_error error = { 0 };
    gci_buf body;

    gci_buf_init(&body, GCI_EVENT_MAX - GCI_EVENT_HEADER);
    gci_fields_write(&body, fields, value);
    if (more != NULL)
        gci_fields_write(&body, more, value);
    gcache_status status = body.failed ? gci_fail_memory(&error)
                                       : gci_segment_append(&store->segment, type, gci_buf_view(&body), &error);
    if (status != GCACHE_OK)
        gci_store_log(store, "not written down, repair will find it: %s", error.message);
    gci_buf_clear(&body);
    return status;
}

gcache_status
gci_note_entry(gci_store *store, gci_entry_row const *row)
{
    return note(store, GCI_EVENT_INSERTED, &gci_inserted_fields, &gci_sketched_fields, row);
}

void
gci_note_removal(gci_store *store, gcache_key const *key, char const *id, uint64_t cost)
{
    gci_entry_row removal = { .key = *key, .key_cost = cost };

    gci_unhex(gci_view_text(id), removal.id, sizeof removal.id);
    note(store, GCI_EVENT_REMOVED, &gci_removed_fields, NULL, &removal);
}

void
gci_note_kept(gci_store *store, gcache_key const *key, gci_view ids, uint64_t cost)
{
    note(store, GCI_EVENT_KEPT, &gci_kept_fields, NULL, &(kept){ *key, cost, ids });
}

/* ---- rows ---- */

static int64_t
key_row(gci_index *index, gcache_key const *key)
{
    sqlite3_stmt *find = GCI_QUERY(index, GCI_SQL_KEY_ID, gci_sql_bytes(key->bytes, sizeof key->bytes));

    return gci_index_step(index, find) ? gci_column_number(find, 0) : -1;
}

bool
gci_read_entry_row(sqlite3_stmt *row, gci_entry_row *out_row)
{
    gci_view key = gci_sql_column(row, 1), id = gci_sql_column(row, 4);

    *out_row = (gci_entry_row){ .key_id = gci_column_number(row, 0),
                                .is_entry = id.size == sizeof out_row->id,
                                .kind = gci_sql_column(row, 2),
                                .key_cost = (uint64_t)gci_column_number(row, 3),
                                .namespace_ = gci_sql_column(row, 5),
                                .entry_cost = (uint64_t)gci_column_number(row, 6),
                                .size = (uint64_t)gci_column_number(row, 7),
                                .created_ns = (uint64_t)gci_column_number(row, 8),
                                .used_ns = (uint64_t)gci_column_number(row, 9) };
    if (key.size != sizeof out_row->key.bytes)
        return false;
    memcpy(out_row->key.bytes, key.data, key.size);
    if (out_row->is_entry)
        memcpy(out_row->id, id.data, id.size);
    return true;
}

/* What goes into a row stays a number there, and so does the sum of all rows: a negative one, or none, shows damage. */
#define SIZE_MOST ((uint64_t)1 << 40)
#define TIME_MOST ((uint64_t)1 << 62)

static int64_t
at_most(uint64_t limit, uint64_t number)
{
    return (int64_t)(number < limit ? number : limit);
}

int64_t
gci_sketch_kind(gci_view kind, bool is_keyed)
{
    return (int64_t)(gci_hash64(kind.data, kind.size, is_keyed) | 1);
}

void
gci_put_sketch(gci_index *index, int64_t key_id, int64_t kind, uint64_t created_ns, gci_view sketch)
{
    GCI_EXECUTE(index, GCI_SQL_SKETCH_PUT, gci_sql_number(key_id), gci_sql_number(kind),
                gci_sql_number(at_most(TIME_MOST, created_ns)), gci_sql_bytes(sketch.data, sketch.size));
}

void
gci_put_entry_row(gci_index *index, gci_entry_row const *row)
{
    GCI_EXECUTE(index, GCI_SQL_KEY_PUT, gci_sql_bytes(row->key.bytes, sizeof row->key.bytes), gci_sql_text(row->kind),
                gci_sql_number(at_most(SIZE_MOST, row->key_cost)));
    int64_t key_id = key_row(index, &row->key);
    GCI_EXECUTE(index, GCI_SQL_ENTRY_PUT, gci_sql_number(key_id), gci_sql_bytes(row->id, sizeof row->id),
                gci_sql_text(row->namespace_), gci_sql_number(at_most(SIZE_MOST, row->entry_cost)),
                gci_sql_number(at_most(SIZE_MOST, row->size)), gci_sql_number(at_most(TIME_MOST, row->created_ns)),
                gci_sql_number(at_most(TIME_MOST, row->used_ns != 0 ? row->used_ns : row->created_ns)));
    if (row->sketch.size != 0)
        gci_put_sketch(index, key_id, gci_sketch_kind(row->kind, row->is_keyed), row->created_ns, row->sketch);
}

void
gci_drop_unused_key_row(gci_index *index, int64_t key_id)
{
    GCI_EXECUTE(index, GCI_SQL_KEY_SKETCH_DROP_UNUSED, gci_sql_number(key_id));
    GCI_EXECUTE(index, GCI_SQL_KEY_DROP_UNUSED, gci_sql_number(key_id));
}

static void
drop_entry_row(gci_index *index, gcache_key const *key, uint8_t const id[ID_BYTES], uint64_t cost)
{
    int64_t key_id = key_row(index, key);

    if (key_id < 0)
        return;
    if (cost == 0) {
        GCI_EXECUTE(index, GCI_SQL_KEY_ENTRIES_DROP, gci_sql_number(key_id));
        gci_drop_unused_key_row(index, key_id);
        return;
    }
    GCI_EXECUTE(index, GCI_SQL_ENTRY_DROP, gci_sql_number(key_id), gci_sql_bytes(id, ID_BYTES));
    GCI_EXECUTE(index, GCI_SQL_KEY_BYTES, gci_sql_number(key_id), gci_sql_number(at_most(SIZE_MOST, cost)));
}

/* ---- applying events ---- */

static void
apply_insert(gci_index *index, gci_view body)
{
    gci_reader reader = gci_reader_of(body);
    gci_entry_row row = { 0 };
    gci_arena arena;

    gci_arena_init(&arena, GCI_EVENT_MAX * 2);
    gci_fields_read(&reader, &gci_inserted_fields, &arena, &row);
    /* What a former version wrote ends here. */
    if (!reader.failed && gci_reader_left(&reader) != 0)
        gci_fields_read(&reader, &gci_sketched_fields, &arena, &row);
    if (!reader.failed && !arena.failed && gci_reader_left(&reader) == 0)
        gci_put_entry_row(index, &row);
    gci_arena_clear(&arena);
}

static void
apply_touches(gci_index *index, gci_view body)
{
    gci_reader reader = gci_reader_of(body);
    gci_entry_row row;

    while (gci_reader_left(&reader) != 0) {
        gci_fields_read(&reader, &gci_touched_fields, NULL, &row);
        if (reader.failed)
            return;
        GCI_EXECUTE(index, GCI_SQL_ENTRY_TOUCH, gci_sql_bytes(row.key.bytes, sizeof row.key.bytes),
                    gci_sql_bytes(row.id, sizeof row.id), gci_sql_number(at_most(TIME_MOST, row.used_ns)),
                    gci_sql_number(row.hits));
    }
}

static void
apply_removal(gci_index *index, gci_view body)
{
    gci_entry_row removal;

    if (gci_fields_read_all(body, &gci_removed_fields, NULL, &removal))
        drop_entry_row(index, &removal.key, removal.id, removal.key_cost);
}

static bool
is_among(gci_view ids, uint8_t const id[ID_BYTES])
{
    for (size_t at = 0; at + ID_BYTES <= ids.size; at += ID_BYTES) {
        if (memcmp(ids.data + at, id, ID_BYTES) == 0)
            return true;
    }
    return false;
}

/* A row of the key whose id isn't among ids. false: there is none. */
static bool
find_unkept(gci_index *index, gcache_key const *key, gci_view ids, gci_entry_row *out_row)
{
    sqlite3_stmt *rows = GCI_QUERY(index, GCI_SQL_ENTRIES_BETWEEN, gci_sql_bytes(key->bytes, sizeof key->bytes),
                                   gci_sql_bytes(key->bytes, sizeof key->bytes));

    while (gci_index_step(index, rows)) {
        if (gci_read_entry_row(rows, out_row) && out_row->is_entry && !is_among(ids, out_row->id))
            return true;
    }
    return false;
}

static void
apply_kept(gci_index *index, gci_view body)
{
    gci_entry_row row;
    kept left;

    if (!gci_fields_read_all(body, &gci_kept_fields, NULL, &left))
        return;
    while (find_unkept(index, &left.key, left.ids, &row))
        drop_entry_row(index, &left.key, row.id, left.ids.size != 0 ? left.key_cost : 0);
}

void
gci_apply_event(gci_index *index, gci_event const *event)
{
    switch (event->type) {
    case GCI_EVENT_INSERTED:
        apply_insert(index, event->body);
        break;
    case GCI_EVENT_TOUCHED:
        apply_touches(index, event->body);
        break;
    case GCI_EVENT_REMOVED:
        apply_removal(index, event->body);
        break;
    case GCI_EVENT_KEPT:
        apply_kept(index, event->body);
        break;
    case GCI_EVENT_COUNTED:
        break; /* no rows: drain_part */
    case GCI_EVENT_LOOKUP:
        break; /* the journal's */
    }
}

/* ---- draining ---- */

/* What was used at a time that hasn't come yet, because the clock went back, counts as used now: else it would outlive all. */
static void
clamp_recency(gci_index *index)
{
    GCI_EXECUTE(index, GCI_SQL_ENTRY_FUTURE, gci_sql_number((int64_t)gci_clock_wall_ns()));
}

/* What handles counted that never had the table that processes share. */
static void
take_counts(gci_store *store, gci_view body)
{
    gci_reader reader = gci_reader_of(body);
    gci_counted counted;

    while (gci_reader_left(&reader) != 0) {
        gci_fields_read(&reader, &gci_counted_fields, NULL, &counted);
        if (reader.failed)
            return;
        gci_store_count(store, (gci_store_counter)counted.which, counted.number);
    }
}

/* Applies one part of the segment; *out_end is where the next begins, *out_more whether there may be one. */
static gcache_status
drain_part(gci_store *store, uint64_t *out_end, bool *out_more, gcache_error *error)
{
    gci_index *index = &store->index;
    gci_segment_part part;
    gci_event event;
    size_t at = 0;

    uint64_t nonce = gci_meta_get(index, GCI_META_SEGMENT), drained = gci_meta_get(index, GCI_META_DRAINED);
    gcache_status status = gci_segment_read(&store->segment, nonce, drained, PART_BYTES, &part, error);
    if (status != GCACHE_OK)
        return status;
    while (gci_event_next(gci_buf_view(&part.bytes), &at, &event)) {
        gci_apply_event(index, &event);
        if (event.type == GCI_EVENT_COUNTED)
            take_counts(store, event.body);
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

bool
gci_drain_at_close(gci_store *store)
{
    return !store->read_only && atomic_load(&store->segment.appended) > 0 &&
           atomic_load(&store->segment.size) >= DRAIN_AT_CLOSE_BYTES && gci_drain_and_empty(store, 0, NULL) == GCACHE_OK;
}
