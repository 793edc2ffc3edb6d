/*
 * Export: what a run used, or what is stored, as one file. Each thing is written once: a description a key, attachments by
 * content; entries as they are stored, with the signatures they have. What can't be read any more is left out and reported, since
 * whoever imports would find nothing there either.
 */
#include <guardcache/artifacts.h>

#include "base/check.h"
#include "base/system/clock.h"
#include "base/text/json.h"
#include "cache/handle/cache.h"
#include "cache/transfer/transfer_file.h"
#include "store/format/describe.h"
#include "store/read/portable.h"
#include "store/publish/side.h"
#include "store/index/tables.h"

#include <guardcache/version.h>

/* Rows are written in items of about this size. */
#define ROWS_ITEM_BYTES ((size_t)1 << 20)
/* Keys come in order, so that their first two bytes say how far the work has come. */
#define KEYS_IN_ALL ((uint64_t)1 << 16)
/* What one blob may have: as gcache_blob_put. */
#define BLOB_BYTES_MAX ((size_t)4 << 30)

typedef struct exporter {
    gcache *cache;
    gcache_export_options options;
    gci_transfer_writer writer;
    gci_recorder written; /* descriptions (as entries without id) and attachments (as blobs) that are in the file */
    gcache_transfer sums;
    gci_buf frame, rows;
    gcache_status status;
    gcache_error *error;
} exporter;

static bool
put(exporter *e, gci_frame_type type, gci_view head, gci_view body)
{
    e->status = gci_transfer_put(&e->writer, type, head, body, e->error);
    return e->status == GCACHE_OK;
}

/* What is in e->frame. */
static bool
put_frame(exporter *e)
{
    e->status = e->frame.failed ? gci_fail_memory(e->error)
                                : gci_transfer_put_frame(&e->writer, gci_buf_view(&e->frame), e->error);
    return e->status == GCACHE_OK;
}

/* With a head of these fields. */
static bool
put_headed(exporter *e, gci_frame_type type, gci_fields const *fields, void const *head, gci_view body)
{
    e->frame.size = 0;
    gci_fields_write(&e->frame, fields, head);
    if (e->frame.failed)
        e->status = gci_fail_memory(e->error);
    return e->status == GCACHE_OK && put(e, type, gci_buf_view(&e->frame), body);
}

static gci_view
no_bytes(void)
{
    return gci_view_of("", 0);
}

/* ---- entries ---- */

/* A key that somebody else computed has none; a damaged one is none. */
static bool
put_description(exporter *e, gcache_key const *key)
{
    gci_view name = gci_view_of(key->bytes, sizeof key->bytes);
    gci_stored_description *stored = NULL;

    if (!gci_recorder_note(&e->written, GCI_USED_ENTRY, name, no_bytes(), false))
        return true;
    e->sums.keys++;
    if (gci_store_description(e->cache->store, key, &stored, NULL) != GCI_FOUND)
        return true;
    e->frame.size = 0;
    e->status = gci_description_write(key, gci_stored_description_get(stored), &e->frame, e->error);
    gci_stored_description_free(stored);
    return e->status == GCACHE_OK && put_frame(e);
}

/* What an eviction took meanwhile is no trouble. */
static void
leave_out(exporter *e, gci_found found, gcache_error const *why)
{
    if (found != GCI_CORRUPT && found != GCI_UNREADABLE)
        return;
    e->sums.left_out++;
    if (e->options.left_out != NULL)
        e->options.left_out(e->options.state, why);
}

/* false: it is gone (then status is OK), or it can't be written. */
static bool
put_attachment(exporter *e, gci_attachment const *attachment)
{
    gci_view name = gci_view_of(attachment->sha256, sizeof attachment->sha256);
    gcache_error why = { 0 };
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    gci_found found = gci_store_attachment(e->cache->store, attachment, &bytes, &why);
    bool there = found == GCI_FOUND;
    if (found == GCI_ABSENT)
        gci_fail(&why, GCACHE_ERROR_NOT_FOUND, "attachment %.*s is gone", (int)attachment->name.size, attachment->name.data);
    if (!there)
        leave_out(e, GCI_UNREADABLE, &why);
    bool fresh = there && gci_recorder_note(&e->written, GCI_USED_BLOB, name, no_bytes(), false);
    if (fresh && put(e, GCI_FRAME_ATTACHMENT, no_bytes(), gci_buf_view(&bytes)))
        e->sums.attachments++;
    gci_buf_clear(&bytes);
    return there && e->status == GCACHE_OK;
}

/* *out_found RENEWED: nothing was put, but perhaps attachments that nobody needs. */
static bool
put_as_read(exporter *e, gci_candidate *candidate, gci_found *out_found)
{
    gcache_error why = { 0 };

    *out_found = GCI_ABSENT;
    for (size_t i = 0; i < candidate->record.attachment_count; i++) {
        if (!put_attachment(e, &candidate->record.attachments[i]))
            return e->status == GCACHE_OK;
    }
    if (!put_description(e, &candidate->record.key))
        return false;
    e->frame.size = 0;
    *out_found = gci_portable_write_entry(e->cache->store, candidate, &e->frame, &why);
    if (e->frame.failed)
        e->status = gci_fail_memory(e->error);
    else if (*out_found == GCI_RENEWED)
        return true;
    else if (*out_found != GCI_FOUND)
        leave_out(e, *out_found, &why);
    else if (put_frame(e))
        e->sums.entries++;
    return e->status == GCACHE_OK;
}

/* An entry that was renewed meanwhile goes as it is now. */
static bool
put_candidate(exporter *e, gci_candidate *candidate)
{
    gci_candidates *set = NULL;
    gcache_error why = { 0 };
    gci_found found;

    bool go_on = put_as_read(e, candidate, &found);
    for (int i = 0; go_on && found == GCI_RENEWED && i < GCI_RENEWALS_MET; i++) {
        gci_candidates_release(set);
        found = gci_store_load(e->cache->store, &candidate->record.key, &set, &why);
        for (size_t k = 0; found == GCI_FOUND && k < set->count; k++) {
            if (memcmp(set->items[k]->record.id, candidate->record.id, sizeof candidate->record.id) == 0) {
                go_on = put_as_read(e, set->items[k], &found);
                break;
            }
        }
    }
    gci_candidates_release(set);
    if (go_on && found == GCI_RENEWED)
        leave_out(e, GCI_UNREADABLE, &why);
    return go_on && e->status == GCACHE_OK;
}

static bool
is_selected(gcache_export_options const *options, gci_record const *record)
{
    return gci_view_contains(record->label, options->label) &&
           (options->namespace_ == NULL || gci_view_is(record->namespace_, options->namespace_)) &&
           record->created_ns >= options->since_ns &&
           (options->until_ns == 0 || record->created_ns < options->until_ns);
}

static int
export_key(void *state, gcache_key const *key)
{
    exporter *e = state;
    gci_candidates *set = NULL;
    gcache_error why = { 0 };
    bool going = true;

    if (e->options.progress != NULL)
        e->options.progress(e->options.state, (uint64_t)key->bytes[0] << 8 | key->bytes[1], KEYS_IN_ALL);
    gci_found found = gci_store_load(e->cache->store, key, &set, &why);
    if (found != GCI_FOUND) {
        leave_out(e, found, &why);
        return 0;
    }
    for (size_t i = 0; going && i < set->count; i++) {
        if (is_selected(&e->options, &set->items[i]->record))
            going = put_candidate(e, set->items[i]);
    }
    gci_candidates_release(set);
    return !going;
}

/* ---- blobs, rows ---- */

static int
export_blob(void *state, char const *path)
{
    exporter *e = state;
    gci_buf bytes;

    gci_buf_init(&bytes, BLOB_BYTES_MAX + 1);
    if (gci_side_read(e->cache->store, path, BLOB_BYTES_MAX, &bytes, NULL) == GCACHE_OK &&
        put_headed(e, GCI_FRAME_BLOB, &gci_blob_fields, &(gci_blob_head){ path }, gci_buf_view(&bytes)))
        e->sums.blobs++;
    gci_buf_clear(&bytes);
    return e->status != GCACHE_OK;
}

static void
flush_rows(exporter *e)
{
    if (e->rows.failed)
        e->status = gci_fail_memory(e->error);
    else if (e->rows.size != 0)
        put(e, GCI_FRAME_ROWS, no_bytes(), gci_buf_view(&e->rows));
    e->rows.size = 0;
}

static int
export_row(void *state, gci_row const *row)
{
    exporter *e = state;

    gci_fields_write(&e->rows, &gci_row_fields, row);
    e->sums.rows++;
    if (e->rows.failed || e->rows.size >= ROWS_ITEM_BYTES)
        flush_rows(e);
    return e->status != GCACHE_OK;
}

static void
export_rows(exporter *e, gci_row_filter const *filter)
{
    gcache_status status = gci_tables_each(e->cache->store, filter, export_row, e, e->error);

    if (e->status == GCACHE_OK)
        e->status = status;
}

/* ---- the manifest ---- */

static void
write_selection(gci_buf *out, gcache_export_options const *options)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gci_buf_append_text(out, "{");
    if (options->key != NULL) {
        gcache_key_to_hex(options->key, hex);
        gci_json_member_text(out, "key", gci_view_text(hex));
    }
    if (options->label != NULL)
        gci_json_member_text(out, "label", gci_view_text(options->label));
    if (options->namespace_ != NULL)
        gci_json_member_text(out, "namespace", gci_view_text(options->namespace_));
    gci_json_member_number(out, "since_ns", options->since_ns);
    gci_json_member_number(out, "until_ns", options->until_ns);
    gci_buf_append_char(out, '}');
}

static void
put_manifest(exporter *e)
{
    gcache_transfer const *s = &e->sums;

    e->frame.size = 0;
    gci_buf_format(&e->frame, "{\"format\": \"guardcache-export/%d\", \"library\": \"%s\"", GCI_TRANSFER_VERSION,
                   gcache_version());
    gci_json_member_number(&e->frame, "created_ns", gci_clock_wall_ns());
    gci_json_member_number(&e->frame, "entries", s->entries);
    gci_json_member_number(&e->frame, "keys", s->keys);
    gci_json_member_number(&e->frame, "attachments", s->attachments);
    gci_json_member_number(&e->frame, "blobs", s->blobs);
    gci_json_member_number(&e->frame, "rows", s->rows);
    gci_json_member_number(&e->frame, "artifacts", s->artifacts);
    gci_json_member(&e->frame, "selection");
    write_selection(&e->frame, &e->options);
    gci_buf_append_char(&e->frame, '}');
    if (e->frame.failed)
        e->status = gci_fail_memory(e->error);
    else
        put(e, GCI_FRAME_MANIFEST, no_bytes(), gci_buf_view(&e->frame));
}

/* ---- the whole ---- */

static void
exporter_init(exporter *e, gcache *cache, char const *file, gcache_export_options const *options, gcache_error *error)
{
    static gcache_export_options const defaults = GCACHE_EXPORT_OPTIONS_INIT;

    *e = (exporter){ .cache = cache, .options = options != NULL ? *options : defaults, .sums = GCACHE_TRANSFER_INIT,
                     .error = error };
    gci_buf_init(&e->frame, GCI_BUF_NO_LIMIT);
    gci_buf_init(&e->rows, GCI_BUF_NO_LIMIT);
    e->status = gci_recorder_init(&e->written) ? gci_recorder_start(&e->written, error) : gci_fail_memory(error);
    if (e->status == GCACHE_OK)
        e->status = gci_side_absolute(cache->store, "", &e->frame, error);
    gcache_status status =
        gci_transfer_create(&e->writer, file, gci_buf_view(&e->frame), e->status == GCACHE_OK ? error : NULL);
    e->frame.size = 0;
    if (e->status == GCACHE_OK)
        e->status = status;
}

static gcache_status
exporter_finish(exporter *e, gcache_transfer *out_written)
{
    if (e->status == GCACHE_OK)
        flush_rows(e);
    if (e->status == GCACHE_OK)
        put_manifest(e);
    if (e->status == GCACHE_OK)
        e->status = gci_transfer_finish(&e->writer, e->error);
    e->sums.bytes = e->writer.size;
    if (out_written != NULL)
        *out_written = e->sums;
    gci_transfer_close(&e->writer);
    gci_recorder_clear(&e->written);
    gci_buf_clear(&e->frame);
    gci_buf_clear(&e->rows);
    return e->status;
}

static gcache_status
check_arguments(gcache const *cache, char const *file, gcache_export_options const *options,
                gcache_transfer const *out_written, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL && cache->store != NULL, error, "cache is NULL or switched off");
    GCI_REQUIRE(file != NULL, error, "file is NULL");
    GCI_REQUIRE_INIT(options, error);
    GCI_REQUIRE_INIT(out_written, error);
    return GCACHE_OK;
}

static bool
selects_entries(gcache_export_options const *options)
{
    return options->entries_only || options->key != NULL || options->label != NULL || options->namespace_ != NULL ||
           options->since_ns != 0 || options->until_ns != 0;
}

static void
export_stored(exporter *e)
{
    gci_row_filter const all = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
    gcache_status status = GCACHE_OK;

    if (e->options.key != NULL)
        export_key(e, e->options.key);
    else
        status = gci_store_each_key(e->cache->store, export_key, e, e->error);
    if (e->status == GCACHE_OK)
        e->status = status;
    if (e->status != GCACHE_OK || selects_entries(&e->options))
        return;
    status = gci_side_each(e->cache->store, "blobs", export_blob, e, e->error);
    if (e->status == GCACHE_OK)
        e->status = status;
    if (e->status == GCACHE_OK)
        export_rows(e, &all);
}

gcache_status
gcache_export(gcache *cache, char const *file, gcache_export_options const *options, gcache_transfer *out_written,
              gcache_error *error)
{
    exporter e;

    gcache_status status = check_arguments(cache, file, options, out_written, error);
    if (status != GCACHE_OK)
        return status;
    exporter_init(&e, cache, file, options, error);
    if (e.status == GCACHE_OK)
        export_stored(&e);
    return exporter_finish(&e, out_written);
}

/* ---- what a run used ---- */

static void
export_entry(exporter *e, gci_used const *item)
{
    gci_candidates *set = NULL;
    gcache_key key;

    memcpy(key.bytes, item->first.data, sizeof key.bytes);
    if (gci_store_candidates(e->cache->store, &key, &set, NULL) != GCI_FOUND)
        return;
    for (size_t i = 0; i < set->count; i++) {
        if (gci_view_is(item->second, set->items[i]->record.id))
            put_candidate(e, set->items[i]);
    }
    gci_candidates_release(set);
}

static void
export_artifact(exporter *e, gci_used const *item)
{
    gci_artifact_head head = { item->first.data, item->second.data };

    if (put_headed(e, GCI_FRAME_ARTIFACT, &gci_artifact_fields, &head, item->bytes))
        e->sums.artifacts++;
}

static void
export_used(exporter *e, gci_used const *item)
{
    gci_row_filter rows = { item->first, e->cache->namespace_, item->second, { NULL, 0 } };

    switch (item->kind) {
    case GCI_USED_ENTRY:
        export_entry(e, item);
        break;
    case GCI_USED_BLOB:
        export_blob(e, item->first.data);
        break;
    case GCI_USED_ROW:
        export_rows(e, &rows);
        break;
    case GCI_USED_ARTIFACT:
        export_artifact(e, item);
        break;
    }
}

gcache_status
gcache_artifacts_save(gcache *cache, char const *file, gcache_transfer *out_written, gcache_error *error)
{
    gci_used *items = NULL;
    size_t count = 0;
    gci_arena arena;
    exporter e;

    gcache_status status = check_arguments(cache, file, NULL, out_written, error);
    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(cache->recorder.recording, error, "no artifacts are being noted");
    gci_arena_init(&arena, SIZE_MAX / 2);
    exporter_init(&e, cache, file, NULL, error);
    if (e.status == GCACHE_OK && !gci_recorder_snapshot(&cache->recorder, &arena, &items, &count))
        e.status = gci_fail_memory(error);
    for (size_t i = 0; e.status == GCACHE_OK && i < count; i++)
        export_used(&e, &items[i]);
    status = exporter_finish(&e, out_written);
    gci_arena_clear(&arena);
    return status;
}

/* ---- showing ---- */

gcache_status
gcache_export_show(char const *file, char **out_manifest, gcache_error *error)
{
    gci_transfer_reader reader;

    GCI_REQUIRE(file != NULL && out_manifest != NULL, error, "file or out_manifest is NULL");
    gcache_status status = gci_transfer_open(&reader, file, error);
    if (status == GCACHE_OK && (*out_manifest = gci_buf_take_text(&reader.manifest)) == NULL)
        status = gci_fail_memory(error);
    gci_transfer_close_reader(&reader);
    return status;
}
