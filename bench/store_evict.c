/*
 * What evicting an entry costs in caches of growing size, beside unlinking as many plain files; and inserts of several
 * processes in a cache that is at its cap, beside the same inserts in one without a cap.
 */
#include "harness.h"
#include "store_kit.h"

#include "store/index/drain.h"
#include "store/evict/least_recent.h"

#include <ftw.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* An entry and its frame take one block; a slice is as many of them as an insert evicts at once. */
enum { SIZE = 2000, BLOCK = 4096, SLICE = 512, ROUNDS = 9, FOLDERS = 256 };

#define WAIT_NS UINT64_C(60000000000)

static void
fill(gci_store *store, uint64_t from, uint64_t count, gci_view payload)
{
    for (uint64_t i = 0; i < count; i++)
        bench_store_entry(store, from + i, 1, payload);
}

/* ---- plain files, spread like keys ---- */

static void
file_path(char const *directory, uint64_t number, char out_path[300])
{
    snprintf(out_path, 300, "%s/files/%02x/%064llx", directory, (unsigned)bench_key(number).bytes[0],
             (unsigned long long)number);
}

static void
make_files(char const *directory, uint64_t from, uint64_t count, gci_view payload)
{
    char path[300];

    for (uint64_t i = from; i < from + count; i++) {
        file_path(directory, i, path);
        bench_write_file(path, payload);
    }
}

static void
make_folders(char const *directory)
{
    char path[256];

    snprintf(path, sizeof path, "%s/files", directory);
    mkdir(path, 0700);
    for (unsigned i = 0; i < FOLDERS; i++) {
        snprintf(path, sizeof path, "%s/files/%02x", directory, i);
        mkdir(path, 0700);
    }
}

static void
unlink_files(char const *directory, uint64_t from, uint64_t count)
{
    char path[300];

    for (uint64_t i = from; i < from + count; i++) {
        file_path(directory, i, path);
        unlink(path);
    }
}

/* ---- what evicting costs ---- */

struct slice_times {
    double waited[ROUNDS], computed[ROUNDS]; /* ns an entry */
};

struct stopwatch {
    uint64_t waited, computed;
};

static struct stopwatch
start(void)
{
    return (struct stopwatch){ bench_now_ns(), bench_computing_ns() };
}

static void
stop(struct stopwatch const *since, struct slice_times *times, size_t round, uint64_t count)
{
    times->computed[round] = (double)(bench_computing_ns() - since->computed) / (double)count;
    times->waited[round] = (double)(bench_now_ns() - since->waited) / (double)count;
}

/* A slice out, as an insert at the cap does it, and its rows out of index.db; then as many new entries in. */
static void
evict_slice(gci_store *store, struct slice_times *times, size_t round)
{
    struct stopwatch since = start();
    gci_evicted evicted;

    bench_require(gci_evict_least_recent(store, SLICE * BLOCK, GCI_EVICTED_SIZE, (gci_eviction_watch){ 0 }, &evicted,
                                         &bench_error) == GCACHE_OK,
                  "evict");
    bench_require(gci_drain(store, WAIT_NS, &bench_error) == GCACHE_OK, "drain");
    bench_require(evicted.entries > 0, "nothing was evicted");
    stop(&since, times, round, evicted.entries);
}

static void
print_slices(char const *name, struct slice_times *times)
{
    bench_figure waited = bench_figure_of(times->waited, ROUNDS), computed = bench_figure_of(times->computed, ROUNDS);

    printf("  %-22s processor %6.1f us an entry [%6.1f ..%7.1f ]; elapsed %7.1f [%7.1f ..%8.1f ]\n", name,
           computed.median_ns / 1e3, computed.lowest_ns / 1e3, computed.highest_ns / 1e3, waited.median_ns / 1e3,
           waited.lowest_ns / 1e3, waited.highest_ns / 1e3);
    fflush(stdout);
}

static void
bench_eviction_of(char const *parent, uint64_t count, gci_view payload)
{
    struct slice_times ours, files;
    char directory[200];

    snprintf(directory, sizeof directory, "%s/evict-%llu", parent, (unsigned long long)count);
    gci_store *store = bench_open_store(directory, -1, GCACHE_DURABILITY_NONE, UINT64_MAX);
    fill(store, 0, count, payload);
    make_folders(directory);
    make_files(directory, 0, count, payload);
    for (size_t round = 0; round < ROUNDS; round++) {
        uint64_t gone = round * SLICE;
        /* Rows of what was inserted, and what the file system holds back, aren't what is measured. */
        bench_require(gci_drain(store, WAIT_NS, &bench_error) == GCACHE_OK, "drain");
        bench_settle(directory);
        evict_slice(store, &ours, round);
        struct stopwatch since = start();
        unlink_files(directory, gone, SLICE);
        stop(&since, &files, round, SLICE);
        fill(store, count + gone, SLICE, payload);
        make_files(directory, count + gone, SLICE, payload);
    }
    gci_store_close(store);
    printf("%llu entries, %d slices of %d:\n", (unsigned long long)count, ROUNDS, SLICE);
    print_slices("evicting", &ours);
    print_slices("unlinking plain files", &files);
}

/* ---- inserts beside it ---- */

enum { PROCESSES = 8, TURNS = 4, INSERTS = 250, SAMPLES = PROCESSES * TURNS * INSERTS };

struct insert_times {
    _Atomic uint32_t count, refused;
    double ns[SAMPLES];
    _Atomic uint64_t largest;
};

struct crowd {
    char directory[200];
    uint64_t cap, next_key;
    struct insert_times *times;
};

static void
note_size(gci_store *store, struct insert_times *times)
{
    gci_store_stats stats;

    bench_require(gci_store_stats_get(store, &stats, &bench_error) == GCACHE_OK, "stats");
    uint64_t largest = atomic_load(&times->largest);
    while (stats.bytes > largest && !atomic_compare_exchange_weak(&times->largest, &largest, stats.bytes))
        continue;
}

static void
insert_and_time(struct crowd const *crowd, uint64_t from, gci_view payload)
{
    gci_store *store = bench_open_store(crowd->directory, -1, GCACHE_DURABILITY_ENTRY, crowd->cap);

    for (uint64_t i = 0; i < INSERTS; i++) {
        uint64_t begin = bench_now_ns();
        bench_store_entry(store, from + i, 1, payload);
        crowd->times->ns[atomic_fetch_add(&crowd->times->count, 1)] = (double)(bench_now_ns() - begin);
        note_size(store, crowd->times);
    }
    gci_store_close(store);
    _exit(0);
}

static void
run_crowd(struct crowd *crowd, gci_view payload)
{
    fflush(stdout);
    for (uint64_t i = 0; i < PROCESSES; i++) {
        if (fork() == 0)
            insert_and_time(crowd, crowd->next_key + (i << 20), payload);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int outcome = 0;
        wait(&outcome);
        bench_require(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0, "a process that inserts");
    }
    crowd->next_key += UINT64_C(1) << 30;
}

static void
make_crowd(struct crowd *crowd, char const *parent, char const *name, uint64_t count, gci_view payload)
{
    snprintf(crowd->directory, sizeof crowd->directory, "%s/%s", parent, name);
    gci_store *store = bench_open_store(crowd->directory, -1, GCACHE_DURABILITY_NONE, UINT64_MAX);
    fill(store, 0, count, payload);
    note_size(store, crowd->times);
    gci_store_close(store);
    crowd->next_key = UINT64_C(1) << 40;
    bench_settle(crowd->directory);
}

static uint64_t blocks;

static int
add_blocks(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)path, (void)place;
    if (type == FTW_F)
        blocks += (uint64_t)facts->st_blocks;
    return 0;
}

/* What the cap counts, as the file system has it. */
static double
mebibytes_on_disk(struct crowd const *crowd)
{
    char path[256];

    snprintf(path, sizeof path, "%s/entries", crowd->directory);
    bench_settle(crowd->directory);
    blocks = 0;
    nftw(path, add_blocks, 16, FTW_PHYS);
    return (double)blocks * 512 / 1048576;
}

/* The p99 in ns. */
static double
print_crowd(struct crowd const *crowd, char const *name)
{
    struct insert_times *times = crowd->times;
    uint32_t count = atomic_load(&times->count);
    bench_figure figure = bench_figure_of(times->ns, count);
    double p99 = times->ns[count * 99ull / 100];

    printf("  %-14s %u inserts: median %.0f us, p99 %.0f us; largest size %.1f MiB", name, count, figure.median_ns / 1e3,
           p99 / 1e3, (double)atomic_load(&times->largest) / 1048576);
    if (crowd->cap != UINT64_MAX)
        printf(" of %.1f allowed", (double)crowd->cap / 1048576);
    printf(", at the end %.1f on disk\n", mebibytes_on_disk(crowd));
    fflush(stdout);
    return p99;
}

/* In turns of a second or so, so that what else the machine does slows down both. */
static void
bench_inserts(char const *parent, uint64_t count, gci_view payload)
{
    struct insert_times *times =
        mmap(NULL, 2 * sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    bench_require(times != MAP_FAILED, "mmap");
    struct crowd freely = { .cap = UINT64_MAX, .times = times }, under = { .cap = UINT64_MAX, .times = times + 1 };
    make_crowd(&freely, parent, "freely", count, payload);
    make_crowd(&under, parent, "under", count, payload);
    under.cap = atomic_load(&under.times->largest);
    for (int turn = 0; turn < TURNS; turn++) {
        run_crowd(&freely, payload);
        run_crowd(&under, payload);
    }
    printf("%d processes that insert into %llu entries:\n", PROCESSES, (unsigned long long)count);
    double without = print_crowd(&freely, "without a cap");
    double with = print_crowd(&under, "at the cap");
    printf("  p99 at the cap is %.1f times that without one\n", with / without);
    fflush(stdout);
    munmap(times, 2 * sizeof *times);
}

void
bench_eviction(char const *parent, uint64_t largest)
{
    char *bytes = bench_payload(SIZE);

    for (uint64_t count = 1000; count <= largest; count *= 10)
        bench_eviction_of(parent, count, gci_view_of(bytes, SIZE));
    free(bytes);
}

void
bench_crowd(char const *parent, uint64_t count)
{
    char *bytes = bench_payload(SIZE);

    bench_inserts(parent, count, gci_view_of(bytes, SIZE));
    free(bytes);
}
