#include "store/describe.h"

#include "base/arena.h"
#include "base/codec.h"
#include "base/digest.h"
#include "store/candidates.h"
#include "store/compress.h"
#include "store/lookup.h"
#include "store/mend.h"
#include "store/publish.h"
#include "store/trust.h"
#include "store/verify.h"

#include <stdlib.h>

/* The level at which canonical forms of captured graphs (5 to 250 kB) shrink to a twelfth within a millisecond. */
#define LEVEL 3

/* A description's limit is 128 MiB of JSON; its canonical form is smaller. */
#define CANONICAL_MAX ((uint64_t)256 << 20)

struct gci_stored_description {
    gci_description description;
    gci_arena arena;
};

uint64_t
gci_component_number(gci_view kind, gci_component const *component)
{
    uint64_t seed = gci_hash64(kind.data, kind.size, 0);

    seed = gci_hash64(component->name.data, component->name.size, seed);
    return gci_hash64(component->hash, sizeof component->hash, seed);
}

/* ---- writing ---- */

static void
put_head(gci_buf *out, gcache_key const *key, gci_description const *description, gci_compression compression)
{
    gci_buf_append(out, key->bytes, sizeof key->bytes);
    gci_put_u64(out, description->canonical.size);
    gci_put_u32(out, (uint32_t)compression);
    gci_put_text(out, description->kind);
    gci_put_u32(out, (uint32_t)description->component_count);
    for (size_t i = 0; i < description->component_count; i++) {
        gci_put_text(out, description->components[i].name);
        gci_buf_append(out, description->components[i].hash, sizeof description->components[i].hash);
        gci_put_text(out, description->components[i].text);
    }
}

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
        gci_frame_start start = { GCI_FRAME_DESCRIPTION, payload.size, gci_checksum_of(payload.data, payload.size), 0 };
        size_t begin = gci_frame_begin(out, &start);
        put_head(out, key, description, compression);
        gci_frame_end(out, begin);
        gci_buf_append_view(out, payload);
        gci_buf_append_view(out, gci_frame_padding(payload.size));
        status = out->failed ? gci_fail_memory(error) : GCACHE_OK;
    }
    gci_buf_clear(&small);
    return status;
}

/* ---- reading ---- */

/* components = count (name hash text)* */
static gci_component const *
get_components(gci_reader *reader, gci_arena *arena, size_t *out_count)
{
    *out_count = gci_get_count(reader, 5 + 32 + 5);
    gci_component *components = gci_arena_array(arena, *out_count, sizeof *components);

    for (size_t i = 0; components != NULL && i < *out_count; i++) {
        components[i].name = gci_get_text(reader);
        gci_view hash = gci_get_raw(reader, sizeof components[i].hash);
        memcpy(components[i].hash, hash.data, hash.size);
        components[i].text = gci_get_text(reader);
    }
    return components;
}

static gcache_status
get_canonical(gci_stored_description *stored, gci_view payload, uint64_t size, uint32_t compression, gcache_error *error)
{
    if (compression == GCI_RAW && payload.size == size) {
        stored->description.canonical = gci_arena_copy(&stored->arena, payload);
        return stored->arena.failed ? gci_fail_memory(error) : GCACHE_OK;
    }
    if (compression != GCI_ZSTD || size > CANONICAL_MAX || !gci_compressed_size_is(payload, size))
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "description: not as large as it says");
    char *room = gci_arena_alloc(&stored->arena, (size_t)size);
    if (room == NULL)
        return gci_fail_memory(error);
    stored->description.canonical = gci_view_of(room, (size_t)size);
    return gci_decompress(payload, room, (size_t)size, error);
}

/* head = key size compression kind components zeros */
static gcache_status
read_description(gcache_key const *key, gci_frame const *frame, gci_stored_description *stored, gcache_error *error)
{
    gci_view head = gci_arena_copy(&stored->arena, frame->head);
    if (head.data == NULL)
        return gci_fail_memory(error);
    gci_reader reader = gci_reader_of(head);
    gci_view named = gci_get_raw(&reader, sizeof key->bytes);
    uint64_t size = gci_get_u64(&reader);
    uint32_t compression = gci_get_u32(&reader);
    stored->description.kind = gci_get_text(&reader);
    stored->description.components = get_components(&reader, &stored->arena, &stored->description.component_count);
    if (stored->arena.failed)
        return gci_fail_memory(error);
    if (reader.failed || memcmp(named.data, key->bytes, sizeof key->bytes) != 0)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "description: damaged, or another key's");
    return get_canonical(stored, frame->payload, size, compression, error);
}

gcache_status
gci_description_read(gcache_key const *key, gci_view bytes, gci_stored_description **out, gcache_error *error)
{
    gci_frame frame;

    if (gci_frame_read(bytes, &frame) != GCI_FRAME_GOOD || frame.type != GCI_FRAME_DESCRIPTION)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "description: damaged");
    gci_stored_description *stored = calloc(1, sizeof *stored);
    if (stored == NULL)
        return gci_fail_memory(error);
    gci_arena_init(&stored->arena, SIZE_MAX);
    gcache_status status = read_description(key, &frame, stored, error);
    if (status == GCACHE_OK)
        *out = stored;
    else
        gci_stored_description_free(stored);
    return status;
}

static gcache_status
read_file(gci_store *store, gcache_key const *key, gci_stored_description **out, gcache_error *error)
{
    gci_path path = gci_path_description(key);
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_trust_key(store, key, error);
    if (status == GCACHE_OK)
        status = gci_file_load(store->directory, path.text, (size_t)CANONICAL_MAX, &bytes, error);
    if (status == GCACHE_OK)
        status = gci_description_read(key, gci_buf_view(&bytes), out, error);
    gci_buf_clear(&bytes);
    return status;
}

/* From the candidate index if it is there, else from its own file. */
static gcache_status
read_stored(gci_store *store, gcache_key const *key, gci_stored_description **out, gcache_error *error)
{
    gci_candidates *set = NULL;
    gcache_status status;

    if (gci_read_current(store, key, &set, NULL) == GCI_FOUND && gci_inside(set)->description.size > 0) {
        status = gci_description_read(key, gci_inside(set)->description, out, error);
    } else {
        status = read_file(store, key, out, error);
    }
    gci_candidates_release(set);
    return status;
}

gci_found
gci_read_description(gci_store *store, gcache_key const *key, gci_stored_description **out_description,
                     gcache_error *error)
{
    *out_description = NULL;
    switch (read_stored(store, key, out_description, error)) {
    case GCACHE_OK:
        return GCI_FOUND;
    case GCACHE_ERROR_NOT_FOUND:
        return GCI_ABSENT;
    /* Larger than any that is written. */
    case GCACHE_ERROR_LIMIT:
    case GCACHE_ERROR_CORRUPT:
        return GCI_CORRUPT;
    default:
        return gci_unreadable(store);
    }
}

gci_found
gci_store_description(gci_store *store, gcache_key const *key, gci_stored_description **out_description,
                      gcache_error *error)
{
    gci_path path = gci_path_description(key);

    gci_store_enter(store);
    gci_found found = gci_read_description(store, key, out_description, error);
    /* One in the candidate index is put aside with it. */
    if (found == GCI_CORRUPT && !store->read_only)
        gci_quarantine_file(store, path.text, "damaged description", NULL);
    return found;
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
