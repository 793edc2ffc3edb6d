/*
 * Many small entries: what they take on disk, and whether a fresh handle's first answer takes longer for their number.
 */
#include "harness.h"
#include "store_kit.h"

#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 200, A_KEY = 4, FEW = 1000 };

struct opening {
    char const *directory;
    uint64_t key, keys;
};

static void
first_answer(void *state)
{
    struct opening *opening = state;
    gcache_key key = bench_key(opening->key++ % opening->keys);
    gci_candidates *set;

    gci_store *store = bench_open_store(opening->directory, -1, GCACHE_DURABILITY_ENTRY, UINT64_MAX);
    bench_require(gci_store_candidates(store, &key, &set, &bench_error) == GCI_FOUND, "candidates");
    gci_candidates_release(set);
    gci_store_close(store);
}

static void
open_and_close(void *state)
{
    struct opening *opening = state;

    gci_store_close(bench_open_store(opening->directory, -1, GCACHE_DURABILITY_ENTRY, UINT64_MAX));
}

/* In a directory that holds `from` entries already, up to `to`. */
static void
fill_and_measure(char const *directory, uint64_t from, uint64_t to)
{
    struct opening opening = { .directory = directory, .keys = to / A_KEY };
    char *bytes = bench_payload(SIZE);

    gci_store *store = bench_open_store(directory, -1, GCACHE_DURABILITY_NONE, UINT64_MAX);
    uint64_t start = bench_now_ns();
    for (uint64_t i = from; i < to; i++)
        bench_store_entry(store, i / A_KEY, i, gci_view_of(bytes, SIZE));
    gci_store_close(store);
    double elapsed = (double)(bench_now_ns() - start);
    bench_settle(directory);
    bench_disk_use use = bench_disk_use_of(directory);
    printf("%llu entries of %d bytes, %d a key: %.1f us each to insert, %.0f bytes and %.3f inodes an entry\n",
           (unsigned long long)to, SIZE, A_KEY, elapsed / 1e3 / (double)(to - from), use.bytes / (double)to,
           use.inodes / (double)to);
    bench_print("  open and close", bench_run(open_and_close, &opening, 51, 200), "");
    bench_print("  cold: open, candidates, close", bench_run(first_answer, &opening, 51, 200), "");
    free(bytes);
}

void
bench_many(char const *directory, uint64_t count)
{
    fill_and_measure(directory, 0, FEW);
    fill_and_measure(directory, FEW, count);
}
