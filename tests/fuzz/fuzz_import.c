/*
 * Exports from somebody else: imported, shown or refused without harm. The sizes and checksums are put right first, for
 * whoever makes an export can do that too.
 */
#include "cache/transfer/transfer_file.h"
#include "place.h"

#include <guardcache/artifacts.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

#define HEADER 16
#define ITEM_HEADER 32
#define END 48

static uint64_t
number_at(char const *bytes, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, bytes, size);
    return value;
}

static void
right_item(char *item, size_t head, size_t body)
{
    gci_checksum a = gci_checksum_of(item + ITEM_HEADER, head), b = gci_checksum_of(item + ITEM_HEADER + head, body);
    uint64_t low = a.low ^ b.low, high = a.high + b.high;

    memcpy(item + 16, &low, sizeof low);
    memcpy(item + 24, &high, sizeof high);
}

/* The items as far as their own sizes go; *out_end: where they end. */
static uint64_t
right_items(char *bytes, size_t size, size_t *out_end)
{
    uint64_t count = 0;
    size_t at = HEADER;

    while (at + ITEM_HEADER <= size) {
        uint64_t head = number_at(bytes + at + 4, 4), body = number_at(bytes + at + 8, 8);
        if (head > size - at - ITEM_HEADER || body > size - at - ITEM_HEADER - head)
            break;
        right_item(bytes + at, (size_t)head, (size_t)body);
        at += ITEM_HEADER + (size_t)head + (size_t)body;
        count++;
    }
    *out_end = at < size ? at : size;
    return count;
}

/* A whole export of the bytes: header as given, items, and an end that fits. */
static gci_view
make_whole(char *bytes, size_t size)
{
    size_t end;
    uint64_t count = right_items(bytes, size, &end), whole = end + END;
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
