/*
 * The store alone, beside what its parts could have been: raw system calls, LMDB, SQLite, a directory of files, JAX's cache.
 *
 *   bench_store               reading and writing
 *   bench_store --many N      bytes and inodes of N small entries, and whether opening takes longer for it
 *   bench_store --evict N     what evicting costs in caches of 1000 to N entries
 *   bench_store --crowd N     inserts of 8 processes into N entries, at the cap and without one
 */
#include "harness.h"
#include "store_kit.h"

#include "store/format/compress.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL = 4096, LARGE = 100000, KEYS = 1000, CANDIDATES = 10 };

/* ---- reading ---- */

struct reading {
    char const *directory;
    gci_store *store;
    uint64_t key, keys;
    volatile uint64_t sum;
};

static void
read_entry(struct reading *reading, gci_store *store)
{
    gcache_key key = bench_key(reading->key++ % reading->keys);
    gci_candidates *set;
    gci_payload payload;

    bench_require(gci_store_candidates(store, &key, &set, &bench_error) == GCI_FOUND, "candidates");
    bench_require(gci_store_payload(store, set->items[0], &payload, &bench_error) == GCI_FOUND, "payload");
    reading->sum += *(unsigned char const *)payload.data;
    gci_payload_release(&payload);
    gci_candidates_release(set);
}

static void
warm_hit(void *state)
{
    struct reading *reading = state;

    read_entry(reading, reading->store);
}

static void
cold_candidates(void *state)
{
    struct reading *reading = state;
    gcache_key key = bench_key(reading->key++ % reading->keys);
    gci_candidates *set;

    gci_store *store = bench_open_store(reading->directory, -1, GCACHE_DURABILITY_ENTRY, UINT64_MAX);
    bench_require(gci_store_candidates(store, &key, &set, &bench_error) == GCI_FOUND, "candidates");
    gci_candidates_release(set);
    gci_store_close(store);
}

static void
cold_hit(void *state)
{
    struct reading *reading = state;

    gci_store *store = bench_open_store(reading->directory, -1, GCACHE_DURABILITY_ENTRY, UINT64_MAX);
    read_entry(reading, store);
    gci_store_close(store);
}

static void
unseen_key(void *state)
{
    struct reading *reading = state;
    gcache_key key = bench_key(reading->key++ % reading->keys);
    gci_candidates *set;

    bench_require(gci_store_load(reading->store, &key, &set, &bench_error) == GCI_FOUND, "load");
    gci_candidates_release(set);
}

static void
absent_key(void *state)
{
    struct reading *reading = state;
    gcache_key key = bench_key(reading->key++ + (UINT64_C(1) << 40));
    gci_candidates *set;

    bench_require(gci_store_candidates(reading->store, &key, &set, &bench_error) == GCI_ABSENT, "absent");
}

static void
bench_reading(char const *directory)
{
    struct reading reading = { .directory = directory, .keys = KEYS };
    char *small = bench_payload(SMALL), *large = bench_payload(LARGE);

    gci_store *store = bench_open_store(directory, -1, GCACHE_DURABILITY_ENTRY, UINT64_MAX);
    for (uint64_t i = 0; i < KEYS; i++)
        bench_store_entry(store, i, 1, gci_view_of(small, SMALL));
    for (uint64_t i = 0; i < CANDIDATES; i++)
        bench_store_entry(store, KEYS, i, gci_view_of(large, LARGE));
    reading.store = store;
    bench_print("warm hit, 1 key: candidates and payload of 4 kB",
                bench_run(warm_hit, &(struct reading){ .store = store, .keys = 1 }, 51, 100000), "");
    bench_print("warm hit, 1000 keys in turn", bench_run(warm_hit, &reading, 51, 10000), "");
    bench_print("key not in memory: candidates", bench_run(unseen_key, &reading, 51, 1000), "open, read, verify, decode");
    bench_print("absent key", bench_run(absent_key, &reading, 51, 1000), "");
    gci_store_close(store);
    bench_print("cold: open, candidates, close", bench_run(cold_candidates, &reading, 51, 200), "first answer");
    bench_print("cold: open, candidates, payload 4 kB, close", bench_run(cold_hit, &reading, 51, 200), "");
    struct reading cold_large = { .directory = directory, .key = KEYS, .keys = KEYS + 1 };
    bench_print("cold: the same, 10 candidates, first payload 100 kB", bench_run(cold_hit, &cold_large, 51, 1), "");
    bench_peers(directory, KEYS, gci_view_of(small, SMALL));
    free(small);
    free(large);
}

/* ---- writing ---- */

struct writing {
    char const *directory;
    gci_store *store;
    gci_view payload;
    uint64_t key, variant;
};

static void
insert_new_key(void *state)
{
    struct writing *writing = state;

    bench_store_entry(writing->store, writing->key++, 1, writing->payload);
}

static void
insert_same_key(void *state)
{
    struct writing *writing = state;

    bench_store_entry(writing->store, writing->key + writing->variant / 16, writing->variant, writing->payload);
    writing->variant++;
}

static bool
write_all(int fd, gci_view bytes)
{
    return write(fd, bytes.data, bytes.size) == (ssize_t)bytes.size;
}

static void
raw_publish(void *state)
{
    struct writing *writing = state;
    char temporary[256], path[256];

    snprintf(temporary, sizeof temporary, "%s/raw/tmp", writing->directory);
    snprintf(path, sizeof path, "%s/raw/%llu", writing->directory, (unsigned long long)writing->key++);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
    bench_require(fd >= 0 && write_all(fd, writing->payload) && fdatasync(fd) == 0, "raw");
    close(fd);
    bench_require(rename(temporary, path) == 0, "raw");
}

/* One of ours and one raw in turn, so that what else the disk has to do slows down both. */
static void
bench_beside_raw(char const *name, void (*insert)(void *state), struct writing *writing, struct writing *raw)
{
    enum { TIMES = 200 };
    double ours[TIMES], theirs[TIMES];

    for (size_t i = 0; i < TIMES; i++) {
        uint64_t start = bench_now_ns();
        insert(writing);
        uint64_t between = bench_now_ns();
        raw_publish(raw);
        ours[i] = (double)(between - start);
        theirs[i] = (double)(bench_now_ns() - between);
    }
    bench_figure us = bench_figure_of(ours, TIMES), raw_us = bench_figure_of(theirs, TIMES);
    bench_record(name, us);
    bench_record("  floor: create, write, fdatasync, rename", raw_us);
    printf("%-36s %9.1f us, raw %9.1f us: %.2f times; fastest tenth %.1f and %.1f: %.2f times\n", name, us.median_ns / 1e3,
           raw_us.median_ns / 1e3, us.median_ns / raw_us.median_ns, ours[TIMES / 10] / 1e3, theirs[TIMES / 10] / 1e3,
           ours[TIMES / 10] / theirs[TIMES / 10]);
}

static void
bench_writing(char const *directory, size_t size, char const *what)
{
    char *bytes = bench_payload(size), name[128];
    gci_view payload = gci_view_of(bytes, size);
    static int const levels[] = { -1, 1, 3 };

    struct writing raw = { .directory = directory, .payload = payload, .key = size << 20 };
    for (size_t i = 0; i < 3; i++) {
        gci_store *store = bench_open_store(directory, levels[i], GCACHE_DURABILITY_ENTRY, UINT64_MAX);
        struct writing writing = { .directory = directory, .store = store, .payload = payload,
                                   .key = (size << 24) + (i << 20) };
        snprintf(name, sizeof name, "insert %s, new key, %s %d", what, levels[i] < 0 ? "raw" : "zstd", levels[i]);
        bench_beside_raw(name, insert_new_key, &writing, &raw);
        writing.key += 1 << 19;
        snprintf(name, sizeof name, "insert %s, 16 a key, %s %d", what, levels[i] < 0 ? "raw" : "zstd", levels[i]);
        bench_beside_raw(name, insert_same_key, &writing, &raw);
        gci_store_close(store);
    }
    free(bytes);
}

struct compressing {
    gci_view payload;
    int level;
};

static void
compress_once(void *state)
{
    struct compressing const *compressing = state;
    gci_buf out;

    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    bench_require(gci_compress(compressing->payload, compressing->level, &out, &bench_error) == GCACHE_OK, "compress");
    gci_buf_clear(&out);
}

/* What an insert with this level can't be spared. */
static void
bench_compressing(void)
{
    char *bytes = bench_payload(LARGE), name[64];

    for (int level = 1; level <= 3; level += 2) {
        struct compressing compressing = { gci_view_of(bytes, LARGE), level };
        snprintf(name, sizeof name, "  compressing 100 kB alone, zstd %d", level);
        bench_print(name, bench_run(compress_once, &compressing, 51, 10), "");
    }
    free(bytes);
}

int
main(int argc, char **argv)
{
    char *directory = bench_make_directory();

    if (argc == 3 && strcmp(argv[1], "--many") == 0) {
        bench_many(directory, strtoull(argv[2], NULL, 10));
    } else if (argc == 3 && strcmp(argv[1], "--evict") == 0) {
        bench_eviction(directory, strtoull(argv[2], NULL, 10));
    } else if (argc == 3 && strcmp(argv[1], "--crowd") == 0) {
        bench_crowd(directory, strtoull(argv[2], NULL, 10));
    } else {
        bench_reading(directory);
        puts("durable inserts, each beside create, write, fdatasync, rename of the same bytes:");
        bench_writing(directory, SMALL, "4 kB");
        bench_writing(directory, LARGE, "100 kB");
        bench_compressing();
    }
    bench_remove_directory(directory);
    return 0;
}
