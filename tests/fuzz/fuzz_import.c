/*
 * Exports from somebody else: imported, shown or refused without harm. The sizes and checksums are put right first, for
 * whoever makes an export can do that too.
 */
#include "cache/transfer/transfer_file.h"
#include "frames.h"
#include "place.h"

#include <guardcache/artifacts.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

#define HEADER 16
#define END 48

/* The frames as far as their own sizes go; *out_end: where they end. */
static uint64_t
right_frames(char *bytes, size_t size, size_t *out_end)
{
    uint64_t count = 0;
    gci_frame frame;
    size_t at = HEADER;

    frames_right(bytes, size, at);
    for (; gci_frame_look(gci_view_of(bytes + at, size - at), &frame) && frame.size <= size - at; count++) {
        size_t left = size - at - frame.size;
        if (frame.payload_size > left || gci_frame_padding(frame.payload_size).size > left - frame.payload_size)
            break;
        at += frame.size + (size_t)frame.payload_size + gci_frame_padding(frame.payload_size).size;
    }
    *out_end = at;
    return count;
}

/* A whole export of the bytes: header as given, frames, and an end that fits. */
static gci_view
make_whole(char *bytes, size_t size)
{
    size_t end;
    uint64_t count = right_frames(bytes, size, &end), whole = end + END;
    gci_digest *digest = gci_digest_new();
    uint8_t sum[GCI_SHA256_BYTES];

    memcpy(bytes + end, &count, sizeof count);
    memcpy(bytes + end + 8, &whole, sizeof whole);
    if (digest == NULL || !gci_digest_of(digest, gci_view_of(bytes, end + 16), sum))
        abort();
    memcpy(bytes + end + 16, sum, sizeof sum);
    gci_digest_free(digest);
    return gci_view_of(bytes, (size_t)whole);
}

/* The cache that all inputs of a folder are imported into. */
static gcache *cache;

static void
open_cache(void)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_error error;

    gcache_close(cache);
    options.durability = GCACHE_DURABILITY_NONE;
    if (gcache_open(place_path("cache"), &options, &cache, &error) != GCACHE_OK)
        abort();
}

static void
show(char const *file)
{
    char *manifest = NULL;
    gcache_error error;

    if (gcache_export_show(file, &manifest, &error) == GCACHE_OK && manifest == NULL)
        abort();
    gcache_free(manifest);
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    char *copy = malloc(size + END);
    gcache_transfer read = GCACHE_TRANSFER_INIT;
    gcache_error error;

    if (copy != NULL && size >= HEADER) {
        memcpy(copy, data, size);
        if (place_next())
            open_cache();
        place_write("x.gcx", make_whole(copy, size));
        show(place_path("x.gcx"));
        gcache_import(cache, place_path("x.gcx"), NULL, &read, &error);
    }
    free(copy);
    return 0;
}
