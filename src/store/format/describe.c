/* Descriptions of keys: written and read as frames. */
#include "store/format/describe.h"

#include "base/arena.h"
#include "base/digest.h"
#include "store/format/compress.h"
#include "store/format/record.h"

#include <stdlib.h>

/* The level at which canonical forms of captured graphs (5 to 250 kB) shrink to a twelfth within a millisecond. */
#define LEVEL 3

struct gci_stored_description {
    gci_description description;
    gci_arena arena;
};

/* ---- what its head consists of ---- */

typedef struct described {
    gcache_key key;
    gci_description description; /* but its canonical form */
    uint64_t size;
    gci_compression compression;
} described;

static gci_field const component_fields[] = {
    GCI_TEXT(gci_component, name, "name", ""),
    GCI_BYTES(gci_component, hash, "hash", ""),
    GCI_TEXT(gci_component, text, "text", "a line for people"),
};
gci_fields const gci_component_item = GCI_FIELDS("component", gci_component, component_fields);

static gci_field const description_fields[] = {
    GCI_BYTES(described, key, "key", ""),
    GCI_NUMBER(described, size, 8, "size", "of the canonical form; 0 for a key that somebody else computed"),
    GCI_NUMBER_UP_TO(described, compression, 1, GCI_ZSTD, "compression", "0 raw, 1 zstd"),
    GCI_TEXT(described, description.kind, "kind", ""),
    GCI_LIST(described, description.components, description.component_count, &gci_component_item, "components", ""),
};
gci_fields const gci_description_fields = GCI_FIELDS("description", described, description_fields);

/* ---- writing ---- */

gcache_status
gci_description_write(gcache_key const *key, gci_description const *description, gci_buf *out, gcache_error *error)
{
    gci_view payload = description->canonical;
    gci_compression compression = GCI_RAW;
    gcache_status status = GCACHE_OK;
    gci_buf small;

    gci_buf_init(&small, GCI_BUF_NO_LIMIT);
    if (payload.size > 0) {
        status = gci_compress(payload, LEVEL, &small, error);
        compression = small.size < payload.size ? GCI_ZSTD : GCI_RAW;
        payload = compression == GCI_ZSTD ? gci_buf_view(&small) : payload;
    }
    if (status == GCACHE_OK) {
        gci_frame_start start = { GCI_FRAME_DESCRIPTION, payload.size, gci_checksum_of(payload.data, payload.size), 0, 0 };
        size_t begin = gci_frame_begin(out, &start);
        gci_fields_write(out, &gci_description_fields,
                         &(described){ *key, *description, description->canonical.size, compression });
        gci_frame_end(out, begin);
        gci_buf_append_view(out, payload);
        gci_buf_append_view(out, gci_frame_padding(payload.size));
        status = out->failed ? gci_fail_memory(error) : GCACHE_OK;
    }
    gci_buf_clear(&small);
    return status;
}

/* ---- reading ---- */

static gcache_status
get_canonical(gci_stored_description *stored, gci_view payload, uint64_t size, gci_compression compression,
              gcache_error *error)
{
    if (compression == GCI_RAW && payload.size == size) {
        stored->description.canonical = gci_arena_copy(&stored->arena, payload);
        return stored->arena.failed ? gci_fail_memory(error) : GCACHE_OK;
    }
    if (compression != GCI_ZSTD || size > GCI_DESCRIPTION_MAX || !gci_compressed_size_is(payload, size))
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "description: not as large as it says");
    char *room = gci_arena_alloc(&stored->arena, (size_t)size);
    if (room == NULL)
        return gci_fail_memory(error);
    stored->description.canonical = gci_view_of(room, (size_t)size);
    return gci_decompress(payload, room, (size_t)size, error);
}

static gcache_status
take_frame(gci_frame const *frame, gci_stored_description *stored, gcache_key *out_key, gcache_error *error)
{
    gci_view head = gci_arena_copy(&stored->arena, frame->head);
    gci_reader reader = gci_reader_of(head);
    described read = { .size = 0 };

    gci_fields_read(&reader, &gci_description_fields, &stored->arena, &read);
    if (stored->arena.failed)
        return gci_fail_memory(error);
    if (reader.failed)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "description: damaged");
    *out_key = read.key;
    stored->description = read.description;
    return get_canonical(stored, frame->payload, read.size, read.compression, error);
}

gcache_status
gci_description_take(gci_frame const *frame, gcache_key *out_key, gci_stored_description **out, gcache_error *error)
{
    gci_stored_description *stored = calloc(1, sizeof *stored);

    if (stored == NULL)
        return gci_fail_memory(error);
    gci_arena_init(&stored->arena, SIZE_MAX);
    gcache_status status = take_frame(frame, stored, out_key, error);
    if (status == GCACHE_OK)
        *out = stored;
    else
        gci_stored_description_free(stored);
    return status;
}

gcache_status
gci_description_read(gcache_key const *key, gci_view bytes, gci_stored_description **out, gcache_error *error)
{
    gcache_key named;
    gci_frame frame;

    if (gci_frame_read(bytes, &frame) != GCI_FRAME_GOOD || frame.type != GCI_FRAME_DESCRIPTION)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "description: damaged");
    gcache_status status = gci_description_take(&frame, &named, out, error);
    if (status != GCACHE_OK || memcmp(&named, key, sizeof named) == 0)
        return status;
    gci_stored_description_free(*out);
    *out = NULL;
    return gci_fail(error, GCACHE_ERROR_CORRUPT, "description: another key's");
}

gci_description const *
gci_stored_description_get(gci_stored_description const *description)
{
    return &description->description;
}

void
gci_stored_description_free(gci_stored_description *description)
{
    if (description == NULL)
        return;
    gci_arena_clear(&description->arena);
    free(description);
}
