/*
 * Import. The whole file is verified before anything is believed; then each item is checked by itself and added, by the
 * operations that make such things. So an import that ends early has added some things whole, and doing it again adds the
 * rest.
 *
 * Invariants:
 *  1. An item is added whole or left out; what is left out is counted and reported. Only trouble of this cache ends an import.
 *  2. Nothing that is imported gets a signature here: entries keep theirs. Where signatures are required, what has none of a
 *     key of ours is left out.
 */
#include <guardcache/artifacts.h>

#include "base/check.h"
#include "base/system/clock.h"
#include "cache/candidates/ready.h"
#include "cache/handle/cache.h"
#include "cache/transfer/blobs.h"
#include "cache/transfer/transfer_file.h"
#include "cache/tuning/tuning_rows.h"
#include "store/format/describe.h"
#include "store/read/portable.h"
#include "store/publish/side.h"
#include "store/index/tables.h"

typedef struct importer {
    gcache *cache;
    gcache_import_options options;
    gcache_transfer sums;
    gci_stored_description *description; /* the latest */
    gcache_key key;                      /* its key */
    gci_arena arena;                     /* of the present item */
    gcache_error why;                    /* what is wrong with it */
    bool ended;                          /* by the caller's callback */
} importer;

static gcache_status
damaged(importer *i, char const *what)
{
    return gci_fail(&i->why, GCACHE_ERROR_CORRUPT, "%s in the export makes no sense", what);
}

static gcache_status
leave_out(importer *i)
{
    i->sums.left_out++;
    if (i->options.left_out != NULL)
        i->options.left_out(i->options.state, &i->why);
    return GCACHE_OK;
}

/* What can't be signed has nobody to vouch for it. false: it is left out. */
static bool
may_be_unsigned(importer *i, char const *what)
{
    if (!gci_store_requires_signature(i->cache->store))
        return true;
    gci_fail(&i->why, GCACHE_ERROR_UNTRUSTED, "%s: not signed", what);
    leave_out(i);
    return false;
}

/* ---- entries ---- */

static gcache_status
import_description(importer *i, gci_frame const *frame)
{
    gci_stored_description_free(i->description);
    i->description = NULL;
    gcache_status status = gci_description_take(frame, &i->key, &i->description, &i->why);
    i->sums.keys += status == GCACHE_OK;
    return status;
}

static gcache_status
import_attachment(importer *i, gci_frame const *frame)
{
    /* Entries name it; the store only wants to know that a name is a name. */
    gci_attachment attachment = { .name = GCI_VIEW("attachment"), .mode = 0644 };

    gcache_status status = gci_store_attach(i->cache->store, frame->payload, &attachment, &i->why);
    i->sums.attachments += status == GCACHE_OK;
    return status;
}

/* Records keep a zero behind every text, so they can be handed out as they are. */
static bool
is_met(importer *i, gci_record const *record)
{
    if (!i->options.check_requirements)
        return true;
    for (size_t k = 0; k < record->requirement_count; k++) {
        gci_pair const *needed = &record->requirements[k];
        char const *value = gci_pairs_value(i->options.provides, i->options.provides_count, needed->name);
        if (value != NULL && gci_view_is(needed->value, value))
            continue;
        if (i->options.unmet != NULL)
            i->options.unmet(i->options.state, &record->key, record->id, needed->name.data, needed->value.data, value);
        return false;
    }
    return true;
}

static gcache_status
import_entry(importer *i, gci_frame const *frame)
{
    gci_inserted inserted;
    gci_portable entry;

    gcache_status status = gci_portable_read_entry(frame, &i->arena, &entry, &i->why);
    if (status != GCACHE_OK)
        return status;
    if (!gci_program_is_of_guards(&entry.record, &i->why))
        return i->why.status;
    if (!is_met(i, &entry.record)) {
        i->sums.unmet++;
        return GCACHE_OK;
    }
    bool described = i->description != NULL && memcmp(&i->key, &entry.record.key, sizeof i->key) == 0;
    status = gci_store_adopt(i->cache->store, &entry, described ? gci_stored_description_get(i->description) : NULL,
                             &inserted, &i->why);
    if (status != GCACHE_OK)
        return status;
    i->sums.entries++;
    i->sums.existed += inserted.existed;
    return GCACHE_OK;
}

/* ---- blobs, rows, artifacts ---- */

static bool
read_head(gci_frame const *frame, gci_fields const *fields, void *out_head)
{
    gci_reader reader = gci_reader_of(frame->head);

    gci_fields_read(&reader, fields, NULL, out_head);
    return !reader.failed && gci_reader_left(&reader) < 8;
}

/* path = "blobs/" shard "/" name, where the name begins with the shard: its first two characters or the only one */
static bool
is_blob_path(char const *path)
{
    static char const folder[] = "blobs/";
    char const *shard = path + sizeof folder - 1;

    if (strlen(path) > GCI_SIDE_PATH_MAX || strncmp(path, folder, sizeof folder - 1) != 0)
        return false;
    size_t size = strcspn(shard, "/");
    char const *name = shard + size + (shard[size] == '/');
    return size >= 1 && size <= 2 && strncmp(shard, name, size) == 0 && gci_side_name_valid(name, GCI_SIDE_PATH_MAX);
}

static gcache_status
import_blob(importer *i, gci_frame const *frame)
{
    gci_blob_head head;
    bool existed;

    if (!read_head(frame, &gci_blob_fields, &head) || !is_blob_path(head.path))
        return damaged(i, "a blob's name");
    if (!may_be_unsigned(i, head.path))
        return GCACHE_OK;
    gcache_status status = gci_blob_keep(i->cache, head.path, frame->payload, &existed, &i->why);
    i->sums.blobs += status == GCACHE_OK;
    i->sums.existed += status == GCACHE_OK && existed;
    return status;
}

static bool
is_table(gci_view name)
{
    return gci_view_is(name, GCI_TABLE_TIMING) || gci_view_is(name, GCI_TABLE_BEST) || gci_view_is(name, GCI_TABLE_BUNDLE);
}

static gci_row
get_row(gci_reader *reader, uint64_t now)
{
    gci_row row = { .at_ns = 0 };

    gci_fields_read(reader, &gci_row_fields, NULL, &row);
    /* Without a time it would be newer than anything, and so would one from the future. */
    row.at_ns = row.at_ns == 0 ? 1 : row.at_ns < now ? row.at_ns : now;
    return row;
}

/* rows = row* */
static gcache_status
import_rows(importer *i, gci_frame const *frame)
{
    gci_reader reader = gci_reader_of(frame->payload);
    size_t least = gci_fields_least(&gci_row_fields);
    gci_row *rows = gci_arena_array(&i->arena, frame->payload.size / least + 1, sizeof *rows);
    uint64_t now = gci_clock_wall_ns();
    size_t count = 0;

    if (rows == NULL)
        return gci_fail_memory(&i->why);
    if (!may_be_unsigned(i, "tuning results"))
        return GCACHE_OK;
    while (!reader.failed && gci_reader_left(&reader) >= least) {
        rows[count] = get_row(&reader, now);
        if (!is_table(rows[count++].table))
            return damaged(i, "a row's table");
    }
    if (reader.failed || gci_reader_left(&reader) != 0)
        return damaged(i, "a row");
    gcache_status status = gci_tables_put(i->cache->store, rows, count, &i->why);
    i->sums.rows += status == GCACHE_OK ? count : 0;
    return status;
}

static gcache_status
import_artifact(importer *i, gci_frame const *frame)
{
    gci_artifact_head head;

    if (!read_head(frame, &gci_artifact_fields, &head))
        return damaged(i, "an artifact");
    if (i->options.artifact == NULL || !may_be_unsigned(i, "an artifact"))
        return GCACHE_OK;
    i->sums.artifacts++;
    gcache_status status = i->options.artifact(i->options.state, head.kind, head.name, frame->payload.data,
                                               frame->payload.size, &i->why);
    i->ended = status < 0;
    return i->ended ? status : GCACHE_OK;
}

/* ---- the whole ---- */

static gcache_status
import_item(importer *i, gci_frame const *frame)
{
    if (frame->size == 0)
        return damaged(i, "an item");
    switch (frame->type) {
    case GCI_FRAME_MANIFEST:
        return GCACHE_OK;
    case GCI_FRAME_DESCRIPTION:
        return import_description(i, frame);
    case GCI_FRAME_ATTACHMENT:
        return import_attachment(i, frame);
    case GCI_FRAME_ENTRY:
        return import_entry(i, frame);
    case GCI_FRAME_BLOB:
        return import_blob(i, frame);
    case GCI_FRAME_ROWS:
        return import_rows(i, frame);
    case GCI_FRAME_ARTIFACT:
        return import_artifact(i, frame);
    case GCI_FRAME_REFERENCE:
    case GCI_FRAME_EVICTED:
    case GCI_FRAME_GONE:
        break;
    }
    return damaged(i, "an item's type");
}

/* Whether a status speaks of the item, and not of this cache. */
static bool
is_of_item(gcache_status status)
{
    return status == GCACHE_ERROR_CORRUPT || status == GCACHE_ERROR_FORMAT || status == GCACHE_ERROR_UNTRUSTED ||
           status == GCACHE_ERROR_LIMIT || status == GCACHE_ERROR_ARGUMENT || status == GCACHE_ERROR_NOT_FOUND;
}

static gcache_status
import_or_leave_out(importer *i, gci_frame const *frame, gcache_error *error)
{
    gci_arena_reset(&i->arena);
    gcache_status status = import_item(i, frame);
    if (status != GCACHE_OK && !i->ended && is_of_item(status))
        status = leave_out(i);
    if (status != GCACHE_OK && error != NULL)
        *error = i->why;
    if (status == GCACHE_OK && i->options.progress != NULL)
        i->options.progress(i->options.state, &i->sums);
    return status;
}

static gcache_status
import_file(importer *i, char const *file, gcache_error *error)
{
    gci_transfer_reader reader;
    gci_frame frame;
    bool more = true;

    gcache_status status = gci_transfer_open(&reader, file, error);
    i->sums.bytes = reader.size;
    while (status == GCACHE_OK && (status = gci_transfer_next(&reader, &frame, &more, error)) == GCACHE_OK && more) {
        status = import_or_leave_out(i, &frame, error);
        if (i->options.watch != NULL)
            i->options.watch(i->options.state, reader.at, reader.size);
    }
    gci_transfer_close_reader(&reader);
    if (status == GCACHE_OK && i->sums.left_out != 0)
        return gci_fail(error, GCACHE_REFUSED, "%s: %llu left out", file, (unsigned long long)i->sums.left_out);
    return status;
}

static gcache_status
check_arguments(gcache const *cache, char const *file, gcache_import_options const *options, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE(file != NULL, error, "file is NULL");
    GCI_REQUIRE_INIT(options, error);
    GCI_REQUIRE(options->provides != NULL || options->provides_count == 0, error, "provides is NULL");
    return gci_pass(&cache->gate, NULL, GCI_STORE, error);
}

gcache_status
gcache_import(gcache *cache, char const *file, gcache_import_options const *options, gcache_transfer *out_read,
              gcache_error *error)
{
    static gcache_import_options const defaults = GCACHE_IMPORT_OPTIONS_INIT;
    importer i = { .cache = cache, .options = options != NULL ? *options : defaults, .sums = GCACHE_TRANSFER_INIT };

    GCI_REQUIRE_INIT(out_read, error);
    gcache_status status = check_arguments(cache, file, &i.options, error);
    if (status != GCACHE_OK)
        return status;
    gci_arena_init(&i.arena, SIZE_MAX / 2);
    status = import_file(&i, file, error);
    gci_stored_description_free(i.description);
    gci_arena_clear(&i.arena);
    if (out_read != NULL)
        *out_read = i.sums;
    return status;
}
