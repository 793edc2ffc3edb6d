/*
 * A store whose files of one key are somebody else's: looked up, listed and read without harm, and what is handed out as a hit
 * is listed; one input in so many is verified and repaired too, after which nothing is wrong.
 *
 * The input is a candidate index, and behind a line "----" a file for its entries. Checksums are put right. Half of the inputs
 * are a pool instead.
 */
#include "base/digest.h"
#include "frames.h"
#include "place.h"
#include "store/format/candidate_index.h"

#include <guardcache/cache.h>
#include <guardcache/maintenance.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

static char const between[] = "\n----\n";

/* Verifying and repairing take as long as all the rest of so many inputs. */
#define REPAIRED_OF 32

#define MOST_ENTRIES 4

static gcache_key const the_key = { .bytes = { 0x5a, 0x5a } };

static void
require(bool condition)
{
    if (!condition)
        abort();
}

static gcache *
open_store(void)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_error error;
    gcache *cache = NULL;

    options.durability = GCACHE_DURABILITY_NONE;
    require(gcache_open(place_path("cache"), &options, &cache, &error) == GCACHE_OK);
    return cache;
}

/* "cache/entries/5a/<key>" and a suffix. */
static char const *
file_of_key(char const *suffix)
{
    static char name[256];
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&the_key, hex);
    snprintf(name, sizeof name, "cache/entries/%.2s/%s%s", hex, hex, suffix);
    return name;
}

static void
write_index(char *bytes, size_t size)
{
    gcache_key key = { .bytes = { 0x5a } };
    bool pooled = gci_hash64(bytes, size, 0) & 1;

    if (!pooled)
        key = the_key;
    if (size >= GCI_PACK_HEADER)
        memcpy(bytes + 16, key.bytes, sizeof key.bytes);
    frames_right_pack(bytes, size);
    mkdir(place_path("cache/entries/5a"), 0700);
    place_write(pooled ? "cache/entries/5a/5a.pool" : file_of_key(".pack"), gci_view_of(bytes, size));
}

/* ---- entries ---- */

typedef struct listed {
    char ids[MOST_ENTRIES][128];
    size_t count;
} listed;

static int
list_entry(void *state, gcache_entry_view const *entry)
{
    listed *list = state;

    require(strlen(entry->id) < sizeof list->ids[0]);
    if (list->count < MOST_ENTRIES)
        strcpy(list->ids[list->count++], entry->id);
    return 0;
}

static void
write_entries(listed const *list, gci_view entry)
{
    char suffix[160];

    for (size_t i = 0; i < list->count && entry.size != 0; i++) {
        snprintf(suffix, sizeof suffix, ".%s.entry", list->ids[i]);
        place_write(file_of_key(suffix), entry);
    }
}

static void
read_entries(gcache *cache, listed const *list)
{
    gcache_error error;

    for (size_t i = 0; i < list->count; i++) {
        gcache_result result = GCACHE_RESULT_INIT;
        gcache_read_entry(cache, &the_key, list->ids[i], &result, &error);
        gcache_result_clear(&result);
    }
}

static void
look_up(gcache *cache)
{
    static gcache_hint const sizes[] = { { "s0", 16 }, { "s1", 3 }, { "t0", 8 } };
    gcache_hints hints = { .items = sizes, .count = 3 };
    gcache_graph *graph = gcache_graph_new_keyed("fx", &the_key);
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;

    require(graph != NULL);
    gcache_lookup(cache, graph, &hints, &result, &error);
    gcache_result_clear(&result);
    gcache_graph_free(graph);
}

static void
note_left(void *state, char const *path, char const *what)
{
    (void)path;
    *(bool *)state |= strstr(what, "of a newer version") != NULL;
}

/* A candidate index of a newer version is left as it is, with all that is wrong in it; of all else nothing is left. */
static void
repair(gcache *cache)
{
    gcache_maintenance_options options = GCACHE_MAINTENANCE_OPTIONS_INIT;
    gcache_verified verified = GCACHE_VERIFIED_INIT;
    gcache_error error;
    bool left = false;

    options.problem = note_left;
    options.state = &left;
    gcache_verify(cache, NULL, &verified, &error);
    require(gcache_repair(cache, &options, NULL, &error) == GCACHE_OK);
    require(gcache_verify(cache, NULL, &verified, &error) == GCACHE_OK);
    require(left || verified.problems == 0);
}

static void
try_store(char *index, size_t index_size, gci_view entry, bool with_repair)
{
    listed list = { .count = 0 };
    gcache_error error;

    if (place_next())
        gcache_close(open_store());
    write_index(index, index_size);
    gcache *cache = open_store();
    gcache_each_entry(cache, &the_key, list_entry, &list, &error);
    write_entries(&list, entry);
    look_up(cache);
    read_entries(cache, &list);
    if (with_repair)
        repair(cache);
    gcache_close(cache);
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    char *copy = malloc(size + 1);

    require(copy != NULL);
    memcpy(copy, data, size);
    char *found = size != 0 ? memmem(copy, size, between, sizeof between - 1) : NULL;
    size_t first = found != NULL ? (size_t)(found - copy) : size, second = found != NULL ? first + sizeof between - 1 : size;
    frames_right(copy + second, size - second, 0);
    try_store(copy, first, gci_view_of(copy + second, size - second), gci_hash64(data, size, 0) % REPAIRED_OF == 0);
    free(copy);
    return 0;
}
