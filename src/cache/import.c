/*
 * Import. The whole file is verified before anything is believed; then each item is added as if it had been made here, by
 * the operations that make such things. So an import that ends early has added some things whole, and doing it again adds the
 * rest.
 */
#include <guardcache/artifacts.h>

#include "base/check.h"
#include "base/codec.h"
#include "cache/cache.h"
#include "cache/side_name.h"
#include "cache/transfer_file.h"
#include "store/portable.h"
#include "store/side.h"
#include "store/tables.h"

#include <stdlib.h>

/* A row has at least its five lengths and its time. */
#define ROW_BYTES_MIN (5 * 4 + 8)

typedef struct importer {
    gcache *cache;
    gcache_import_options options;
    gcache_transfer sums;
    gci_stored_description *description; /* the latest */
    gcache_key key;                      /* its key */
    gci_arena arena;                     /* of the present item */
    gci_buf payload;
    gcache_error *error;
} importer;

static gcache_status
damaged(importer *i, char const *what)
{
    return gci_fail(i->error, GCACHE_ERROR_CORRUPT, "%s in the export makes no sense", what);
}

/* ---- entries ---- */

static gcache_status
import_description(importer *i, gci_transfer_item const *item)
{
    gci_stored_description_free(i->description);
    i->description = NULL;
    gcache_status status = gci_portable_read_description(item->body, &i->key, &i->description, i->error);
    i->sums.keys += status == GCACHE_OK;
    return status;
}

static gcache_status
import_attachment(importer *i, gci_transfer_item const *item)
{
    /* Entries name it; the store only wants to know that a name is a name. */
    gci_attachment attachment = { .name = GCI_VIEW("attachment"), .mode = 0644 };

    gcache_status status = gci_store_attach(i->cache->store, item->body, &attachment, i->error);
    i->sums.attachments += status == GCACHE_OK;
    return status;
}

static char const *
provided(importer const *i, gci_view name)
{
    for (size_t k = 0; k < i->options.provides_count; k++) {
        if (gci_view_is(name, i->options.provides[k].name))
            return i->options.provides[k].value;
    }
    return NULL;
}

/* Records keep a zero behind every text, so they can be handed out as they are. */
static bool
is_met(importer *i, gci_record const *record)
{
    if (!i->options.check_requirements)
        return true;
    for (size_t k = 0; k < record->requirement_count; k++) {
        gci_pair const *needed = &record->requirements[k];
        char const *value = provided(i, needed->name);
        if (value != NULL && gci_view_is(needed->value, value))
            continue;
        if (i->options.unmet != NULL)
            i->options.unmet(i->options.state, &record->key, record->id, needed->name.data, needed->value.data, value);
        return false;
    }
    return true;
}

static gcache_status
import_entry(importer *i, gci_transfer_item const *item)
{
    gci_inserted inserted;
    gci_record record;

    gcache_status status = gci_portable_read_entry(item->body, &i->arena, &record, &i->payload, i->error);
    if (status != GCACHE_OK)
        return status;
    if (!is_met(i, &record)) {
        i->sums.unmet++;
        return GCACHE_OK;
    }
    bool described = i->description != NULL && memcmp(&i->key, &record.key, sizeof record.key) == 0;
    char id[GCACHE_ENTRY_ID_SIZE];
    memcpy(id, record.id, sizeof id);
    status = gci_store_insert(i->cache->store, &record, gci_buf_view(&i->payload),
                              described ? gci_stored_description_get(i->description) : NULL, &inserted, i->error);
    if (status != GCACHE_OK)
        return status;
    if (strcmp(id, inserted.id) != 0)
        return damaged(i, "an entry's id");
    i->sums.entries++;
    i->sums.existed += inserted.existed;
    return GCACHE_OK;
}

/* ---- blobs, rows, artifacts ---- */

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
import_blob(importer *i, gci_transfer_item const *item)
{
    gci_view path = gci_arena_copy(&i->arena, item->head);
    bool existed;

    if (path.data == NULL)
        return gci_fail_memory(i->error);
    if (!is_blob_path(path.data))
        return damaged(i, "a blob's name");
    gcache_status status = gci_side_write(i->cache->store, path.data, item->body, &existed, i->error);
    i->sums.blobs += status == GCACHE_OK;
    i->sums.existed += status == GCACHE_OK && existed;
    return status;
}

/* rows = (table space name item value at)* */
static gcache_status
import_rows(importer *i, gci_transfer_item const *item)
{
    gci_reader reader = gci_reader_of(item->body);
    gci_row *rows = gci_arena_array(&i->arena, item->body.size / ROW_BYTES_MIN + 1, sizeof *rows);
    size_t count = 0;

    if (rows == NULL)
        return gci_fail_memory(i->error);
    while (!reader.failed && gci_reader_left(&reader) >= ROW_BYTES_MIN) {
        gci_row *row = &rows[count++];
        row->table = gci_get_bytes(&reader);
        row->space = gci_get_bytes(&reader);
        row->name = gci_get_bytes(&reader);
        row->item = gci_get_bytes(&reader);
        row->value = gci_get_bytes(&reader);
        row->at_ns = gci_get_u64(&reader);
        /* No time would mean now, which is newer than anything. */
        row->at_ns = row->at_ns != 0 ? row->at_ns : 1;
    }
    if (reader.failed || gci_reader_left(&reader) != 0)
        return damaged(i, "a row");
    gcache_status status = gci_tables_put(i->cache->store, rows, count, i->error);
    i->sums.rows += status == GCACHE_OK ? count : 0;
    return status;
}

/* head = kind name */
static gcache_status
import_artifact(importer *i, gci_transfer_item const *item)
{
    gci_reader reader = gci_reader_of(item->head);
    gci_view kind = gci_arena_copy(&i->arena, gci_get_bytes(&reader));
    gci_view name = gci_arena_copy(&i->arena, gci_get_bytes(&reader));

    if (reader.failed)
        return damaged(i, "an artifact");
    if (kind.data == NULL || name.data == NULL)
        return gci_fail_memory(i->error);
    if (i->options.artifact == NULL)
        return GCACHE_OK;
    i->sums.artifacts++;
    gcache_status status = i->options.artifact(i->options.state, kind.data, name.data, item->body.data, item->body.size,
                                               i->error);
    return status < 0 ? status : GCACHE_OK;
}

/* ---- the whole ---- */

static gcache_status
import_item(importer *i, gci_transfer_item const *item)
{
    switch (item->type) {
    case GCI_TRANSFER_MANIFEST:
        return GCACHE_OK;
    case GCI_TRANSFER_DESCRIPTION:
        return import_description(i, item);
    case GCI_TRANSFER_ATTACHMENT:
        return import_attachment(i, item);
    case GCI_TRANSFER_ENTRY:
        return import_entry(i, item);
    case GCI_TRANSFER_BLOB:
        return import_blob(i, item);
    case GCI_TRANSFER_ROWS:
        return import_rows(i, item);
    case GCI_TRANSFER_ARTIFACT:
        return import_artifact(i, item);
    }
    return damaged(i, "an item's type");
}

static gcache_status
import_file(importer *i, char const *file)
{
    gci_transfer_reader reader;
    gci_transfer_item item;
    bool more = true;

    gcache_status status = gci_transfer_open(&reader, file, i->error);
    i->sums.bytes = reader.size;
    while (status == GCACHE_OK && (status = gci_transfer_next(&reader, &item, &more, i->error)) == GCACHE_OK && more) {
        gci_arena_reset(&i->arena);
        status = import_item(i, &item);
        if (status == GCACHE_OK && i->options.progress != NULL)
            i->options.progress(i->options.state, &i->sums);
    }
    gci_transfer_close_reader(&reader);
    return status;
}

static gcache_status
check_arguments(gcache const *cache, char const *file, gcache_import_options const *options, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL && cache->store != NULL, error, "cache is NULL or switched off");
    GCI_REQUIRE(file != NULL, error, "file is NULL");
    GCI_REQUIRE(options->version == GCACHE_IMPORT_OPTIONS_VERSION, error, "the options are of another version");
    GCI_REQUIRE(options->provides != NULL || options->provides_count == 0, error, "provides is NULL");
    if (gci_store_is_read_only(cache->store))
        return gci_fail(error, GCACHE_ERROR_READ_ONLY, "the cache is read-only");
    return GCACHE_OK;
}

gcache_status
gcache_import(gcache *cache, char const *file, gcache_import_options const *options, gcache_transfer *out_read,
              gcache_error *error)
{
    static gcache_import_options const defaults = GCACHE_IMPORT_OPTIONS_INIT;
    importer i = { .cache = cache, .options = options != NULL ? *options : defaults, .error = error };

    gcache_status status = check_arguments(cache, file, &i.options, error);
    if (status != GCACHE_OK)
        return status;
    gci_arena_init(&i.arena, SIZE_MAX / 2);
    gci_buf_init(&i.payload, GCI_BUF_NO_LIMIT);
    status = import_file(&i, file);
    gci_stored_description_free(i.description);
    gci_buf_clear(&i.payload);
    gci_arena_clear(&i.arena);
    if (out_read != NULL)
        *out_read = i.sums;
    return status;
}
