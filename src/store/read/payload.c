/* Payloads: read from the candidate index or a file, verified against what the candidate index says, decompressed. */
#include "store/read/payload.h"

#include "store/format/compress.h"
#include "store/memory/candidates.h"
#include "store/publish/mend.h"
#include "store/read/load.h"
#include "store/state/state.h"

#include <fcntl.h>
#include <stdlib.h>

/* Below, reading into a buffer is faster than setting up a mapping and taking its page faults. */
#define MAP_FROM ((uint64_t)64 << 10)

/* A kept payload may not push everything else out of the memory tier. */
#define KEEP_PART 8

/* A whole entry file in memory. */
struct image {
    gci_payload_hold hold;
    void *base;
    size_t size;
};

static void
image_clear(struct image *image)
{
    if (image->hold == GCI_HOLD_MAP)
        gci_file_unmap(image->base, image->size);
    else
        free(image->base);
    image->base = NULL;
}

/* A mapping shows what others do to the file later: not for signed payloads, nor where the server may take it away. */
static bool
may_map(gci_store *store, gci_candidate const *candidate, uint64_t size)
{
    return candidate->record.compression == GCI_RAW && size >= MAP_FROM && !store->options.require_signature &&
           gci_store_network(store) == NULL;
}

static gcache_status
image_read(gci_store *store, gci_candidate const *candidate, gci_file const *file, struct image *out, gcache_error *error)
{
    uint64_t size = file->opened.size;
    size_t got;

    if (size == 0 || size > GCI_PAYLOAD_MAX + GCI_HEAD_MAX)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: not an entry", file->path);
    out->size = (size_t)size;
    if (may_map(store, candidate, out->size)) {
        out->hold = GCI_HOLD_MAP;
        out->base = gci_file_map(file, out->size, false, error);
        return out->base != NULL ? GCACHE_OK : GCACHE_ERROR_IO;
    }
    out->hold = GCI_HOLD_MALLOC;
    out->base = malloc(out->size);
    if (out->base == NULL)
        return gci_fail_memory(error);
    gcache_status status = gci_file_read(file, out->base, out->size, 0, &got, error);
    if (status == GCACHE_OK && got != out->size)
        status = gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: shorter than it was", file->path);
    return status;
}

/* The checksums are no defence against somebody who can write. */
static bool
is_signed_payload(gci_store *store, gci_candidate const *candidate, gci_view stored)
{
    return !store->options.require_signature || gci_signature_covers(&candidate->place->signature, stored);
}

/* Whether it is what the candidate index says. */
static bool
is_named(gci_store *store, gci_candidate const *candidate, gci_frame const *frame)
{
    gci_checksum expected = candidate->place->checksum;

    return gci_view_equal(frame->head, candidate->place->head) && frame->payload_size == candidate->record.stored_size &&
           frame->payload_checksum.low == expected.low && frame->payload_checksum.high == expected.high &&
           is_signed_payload(store, candidate, frame->payload);
}

/* Whether it is newer than what the candidate index names, and no less trusted: the entry was renewed, or is being renewed. */
static bool
is_renewed(gci_store *store, gci_candidate const *candidate, gci_frame const *frame)
{
    gci_signature signature;
    gci_record record;
    gci_arena arena;

    gci_arena_init(&arena, GCI_BUF_NO_LIMIT);
    bool newer = gci_record_read(frame->head, &arena, &record, &signature) && record.sequence > candidate->record.sequence;
    if (newer && store->options.require_signature)
        newer = gci_signature_verify(frame->head, &signature, store->options.signing, store->options.signing_count) &&
                gci_signature_covers(&signature, frame->payload);
    gci_arena_clear(&arena);
    return newer;
}

/* Verifies the image against itself and against what the candidate index says; *out_stored is the payload in it. ERROR_BUSY:
   it is renewed. */
static gcache_status
image_verify(gci_store *store, gci_candidate const *candidate, struct image const *image, gci_view *out_stored,
             gcache_error *error)
{
    gci_record const *record = &candidate->record;
    gci_frame frame;

    bool good = gci_frame_read(gci_view_of(image->base, image->size), &frame) == GCI_FRAME_GOOD &&
                gci_is_entry_of(&frame, &record->key, record->id);
    *out_stored = frame.payload;
    if (good && is_named(store, candidate, &frame))
        return GCACHE_OK;
    return good && is_renewed(store, candidate, &frame)
               ? gci_fail(error, GCACHE_ERROR_BUSY, "entry %s: being renewed", record->id)
               : gci_fail(error, GCACHE_ERROR_CORRUPT, "entry %s: damaged", record->id);
}

static gcache_status
expand(gci_candidate const *candidate, gci_view stored, gci_payload *out_payload, gcache_error *error)
{
    uint64_t size = candidate->record.payload_size;

    if (size > GCI_PAYLOAD_MAX || !gci_compressed_size_is(stored, size))
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "entry %s: not as large as it says", candidate->record.id);
    void *raw = malloc(size != 0 ? (size_t)size : 1);
    if (raw == NULL)
        return gci_fail_memory(error);
    gcache_status status = gci_decompress(stored, raw, (size_t)size, error);
    if (status != GCACHE_OK) {
        free(raw);
        return status;
    }
    gci_view bytes = gci_view_of(raw, (size_t)size);
    return gci_payload_hold_on(GCI_HOLD_MALLOC, raw, (size_t)size, bytes, out_payload) ? GCACHE_OK : gci_fail_memory(error);
}

/* Turns a verified image into a payload; the image goes into it or is freed. */
static gcache_status
unfold(gci_candidate const *candidate, struct image *image, gci_view stored, gci_payload *out_payload, gcache_error *error)
{
    if (candidate->record.compression == GCI_ZSTD) {
        gcache_status status = expand(candidate, stored, out_payload, error);
        image_clear(image);
        return status;
    }
    if (stored.size != candidate->record.payload_size) {
        image_clear(image);
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "entry %s: not as large as it says", candidate->record.id);
    }
    return gci_payload_hold_on(image->hold, image->base, image->size, stored, out_payload) ? GCACHE_OK : gci_fail_memory(error);
}

/* The entry file, verified; *out_stored is the payload in it. On an error there is nothing to clear. */
static gcache_status
load_image(gci_store *store, gci_candidate const *candidate, struct image *out_image, gci_view *out_stored,
           gcache_error *error)
{
    gci_path path = gci_path_entry(&candidate->record.key, candidate->record.id);
    gci_file file;

    *out_image = (struct image){ 0 };
    gcache_status status = gci_file_open(store->directory, path.text, O_RDONLY, &file, error);
    if (status != GCACHE_OK)
        return status;
    status = image_read(store, candidate, &file, out_image, error);
    gci_file_close(&file);
    if (status == GCACHE_OK)
        status = image_verify(store, candidate, out_image, out_stored, error);
    if (status != GCACHE_OK)
        image_clear(out_image);
    return status;
}

static gcache_status
read_payload(gci_store *store, gci_candidate *candidate, gci_payload *out_payload, gcache_error *error)
{
    struct gci_candidate_place const *place = candidate->place;
    struct image image;
    gci_view stored;

    if (!place->in_pack) {
        gcache_status status = load_image(store, candidate, &image, &stored, error);
        return status == GCACHE_OK ? unfold(candidate, &image, stored, out_payload, error) : status;
    }
    /* The bytes were verified when the set was read. */
    return expand(candidate, place->inlined, out_payload, error);
}

gcache_status
gci_check_payload(gci_store *store, gci_candidate *candidate, gcache_error *error)
{
    gci_payload payload = { 0 };
    gcache_status status = gci_check_trust(store, candidate, error);

    /* Raw bytes in the candidate index were verified with it. */
    if (status == GCACHE_OK && (!candidate->place->in_pack || candidate->record.compression != GCI_RAW))
        status = read_payload(store, candidate, &payload, error);
    gci_payload_release(&payload);
    return status;
}

/* What a payload that was read with this status is worth; what can be mended is. */
static gci_found
settle(gci_store *store, gci_candidate const *candidate, gcache_status status)
{
    gci_record const *record = &candidate->record;
    gci_mended mended;

    switch (status) {
    case GCACHE_OK:
        return GCI_FOUND;
    case GCACHE_ERROR_NOT_FOUND:
        /* Eviction takes the reference away first: if it is still there, somebody else removed the file. */
        gci_mend_key(store, &record->key, &(gci_shard_key){ .key = record->key }, &mended, NULL);
        return GCI_EVICTED;
    case GCACHE_ERROR_BUSY:
        status = gci_mend_renewed(store, &record->key, record->id, record->sequence, NULL);
        if (status == GCACHE_OK || status == GCACHE_ERROR_READ_ONLY)
            return GCI_RENEWED;
        if (status != GCACHE_ERROR_CORRUPT && status != GCACHE_ERROR_FORMAT)
            return gci_unreadable(store);
        gci_mend_entry(store, &record->key, record->id, record->sequence, "damaged entry", NULL);
        return GCI_CORRUPT;
    case GCACHE_ERROR_CORRUPT:
        status = gci_mend_entry(store, &record->key, record->id, record->sequence, "damaged entry", NULL);
        return status == GCACHE_ERROR_NOT_FOUND ? GCI_RENEWED : GCI_CORRUPT;
    default:
        return gci_unreadable(store);
    }
}

gci_found
gci_store_payload(gci_store *store, gci_candidate *candidate, gci_payload *out_payload, gcache_error *error)
{
    gci_found trusted = gci_store_vouch(store, candidate, error);
    if (trusted != GCI_FOUND || gci_payload_kept(candidate, out_payload))
        return trusted;
    /* A handle's first answer reads the file and no more, unless there is something to mend. */
    bool first = !atomic_load_explicit(&store->warm, memory_order_acquire);
    if (!first)
        gci_store_enter(store);
    gcache_status status = read_payload(store, candidate, out_payload, error);
    if (first && status != GCACHE_OK)
        gci_store_enter(store);
    gci_found found = settle(store, candidate, status);
    if (found == GCI_FOUND && out_payload->size <= store->options.memory_bytes / KEEP_PART)
        gci_payload_keep(candidate, out_payload);
    return found;
}

gci_found
gci_store_stored_payload(gci_store *store, gci_candidate *candidate, gci_payload *out_payload, gcache_error *error)
{
    gcache_status status;
    struct image image;
    gci_view stored;

    *out_payload = (gci_payload){ 0 };
    gci_store_enter(store);
    if (gci_store_vouch(store, candidate, error) != GCI_FOUND)
        return GCI_UNREADABLE;
    /* What lies in the candidate index was verified with it. */
    if (candidate->place->in_pack) {
        *out_payload = (gci_payload){ candidate->place->inlined.data, candidate->place->inlined.size, NULL };
        return GCI_FOUND;
    }
    status = load_image(store, candidate, &image, &stored, error);
    if (status == GCACHE_OK && !gci_payload_hold_on(image.hold, image.base, image.size, stored, out_payload))
        status = gci_fail_memory(error);
    return settle(store, candidate, status);
}
