/*
 * The store alone, beside what its parts could have been: raw system calls, LMDB, SQLite, a directory of files.
 *
 *   bench_store               all rows
 *   bench_store --many N      bytes and inodes of N small entries, and whether opening takes longer for it
 *   bench_store --evict N     what evicting costs in caches of 1000 to N entries, and inserts beside it from 8 processes
 */
#include "harness.h"

#include "base/digest.h"
#include "store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#ifdef HAVE_LMDB
#include <lmdb.h>
#endif
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SMALL = 4096, LARGE = 100000, KEYS = 1000, CANDIDATES = 10 };

static gcache_error error;

static void
require(bool condition, char const *what)
{
    if (!condition)
        bench_die(what, error.message);
}

/* ---- what is stored ---- */

static gcache_key
key_of(uint64_t number)
{
    gcache_key key;

    for (size_t i = 0; i < sizeof key.bytes; i += 8) {
        uint64_t part = gci_hash64(&number, sizeof number, i);
        memcpy(key.bytes + i, &part, 8);
    }
    return key;
}

/* About as compressible as machine code: to a half. */
static char *
make_payload(size_t size)
{
    char *bytes = malloc(size);

    if (bytes == NULL)
        bench_die("payload", "out of memory");
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = (i / 8) % 2 == 0 ? 0x488b : gci_hash64(&i, sizeof i, 1);
        memcpy(bytes + i, &word, size - i < 8 ? size - i : 8);
    }
    return bytes;
}

static void
store_entry(gci_store *store, uint64_t key, uint64_t variant, char const *payload, size_t size)
{
    char guard[64];
    gci_view guards[1];
    gci_inserted inserted;

    snprintf(guard, sizeof guard, "s0 %% 8 == 0 and s0 <= %llu", (unsigned long long)variant);
    guards[0] = gci_view_text(guard);
    gci_record record = { .key = key_of(key), .kind = GCI_VIEW("fx"), .guards = guards, .guard_count = 1,
                          .program = GCI_VIEW("sixty or so bytes stand for the guards' compiled program here") };
    require(gci_store_insert(store, &record, gci_view_of(payload, size), NULL, &inserted, &error) == GCACHE_OK, "insert");
}

static gci_store *
open_store(char const *directory, int level)
{
    gci_store_options options = { .compression_level = level, .max_bytes = UINT64_MAX };
    gci_store *store;

    require(gci_store_open(directory, &options, &store, &error) == GCACHE_OK, "open");
    return store;
}

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
    gcache_key key = key_of(reading->key++ % reading->keys);
    gci_candidates *set;
    gci_payload *payload;

    require(gci_store_candidates(store, &key, &set, &error) == GCI_FOUND, "candidates");
    require(gci_store_payload(store, &set->items[0], &payload, &error) == GCI_FOUND, "payload");
    reading->sum += *(unsigned char const *)payload->data;
    gci_payload_release(payload);
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
    gcache_key key = key_of(reading->key++ % reading->keys);
    gci_candidates *set;

    gci_store *store = open_store(reading->directory, -1);
    require(gci_store_candidates(store, &key, &set, &error) == GCI_FOUND, "candidates");
    gci_candidates_release(set);
    gci_store_close(store);
}

static void
cold_hit(void *state)
{
    struct reading *reading = state;

    gci_store *store = open_store(reading->directory, -1);
    read_entry(reading, store);
    gci_store_close(store);
}

static void
unseen_key(void *state)
{
    struct reading *reading = state;
    gcache_key key = key_of(reading->key++ % reading->keys);
    gci_candidates *set;

    require(gci_store_load(reading->store, &key, &set, &error) == GCI_FOUND, "load");
    gci_candidates_release(set);
}

static void
absent_key(void *state)
{
    struct reading *reading = state;
    gcache_key key = key_of(reading->key++ + (UINT64_C(1) << 40));
    gci_candidates *set;

    require(gci_store_candidates(reading->store, &key, &set, &error) == GCI_ABSENT, "absent");
}

/* ---- peers: reading ---- */

static void
raw_path(char const *directory, uint64_t number, char out_path[256])
{
    snprintf(out_path, 256, "%s/raw/%llu", directory, (unsigned long long)number);
}

static void
raw_read(void *state)
{
    struct reading *reading = state;
    static char bytes[SMALL];
    char path[256];

    raw_path(reading->directory, reading->key++ % reading->keys, path);
    int fd = open(path, O_RDONLY);
    require(fd >= 0 && read(fd, bytes, sizeof bytes) == SMALL, "raw read");
    reading->sum += (unsigned char)bytes[0];
    close(fd);
}

/* What PyTorch's cache does on every lookup: list the key's directory, read every candidate. */
static void
walk_directory(void *state)
{
    struct reading *reading = state;
    static char bytes[SMALL];
    char path[256], file[600];
    struct dirent *entry;

    snprintf(path, sizeof path, "%s/walk/%llu", reading->directory,
             (unsigned long long)(reading->key++ % (reading->keys / CANDIDATES)));
    DIR *stream = opendir(path);
    require(stream != NULL, "walk");
    while ((entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        int fd = open(file, O_RDONLY);
        require(fd >= 0 && read(fd, bytes, sizeof bytes) == SMALL, "walk");
        reading->sum += (unsigned char)bytes[0];
        close(fd);
    }
    closedir(stream);
}

struct sql {
    sqlite3_stmt *statement;
    struct reading *reading;
};

static void
sqlite_read(void *state)
{
    struct sql *sql = state;
    gcache_key key = key_of(sql->reading->key++ % sql->reading->keys);

    sqlite3_bind_blob(sql->statement, 1, key.bytes, sizeof key.bytes, SQLITE_STATIC);
    require(sqlite3_step(sql->statement) == SQLITE_ROW, "sqlite");
    sql->reading->sum += *(unsigned char const *)sqlite3_column_blob(sql->statement, 0);
    sqlite3_reset(sql->statement);
}

static void
bench_sqlite(struct reading *reading, char const *payload)
{
    struct sql sql = { .reading = reading };
    sqlite3_stmt *put;
    sqlite3 *database;
    char path[256];

    snprintf(path, sizeof path, "%s/peer.db", reading->directory);
    require(sqlite3_open(path, &database) == SQLITE_OK, "sqlite");
    sqlite3_exec(database, "PRAGMA journal_mode=WAL; CREATE TABLE t(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID; BEGIN", NULL,
                 NULL, NULL);
    sqlite3_prepare_v2(database, "INSERT INTO t VALUES(?, ?)", -1, &put, NULL);
    for (uint64_t i = 0; i < reading->keys; i++) {
        gcache_key key = key_of(i);
        sqlite3_bind_blob(put, 1, key.bytes, sizeof key.bytes, SQLITE_TRANSIENT);
        sqlite3_bind_blob(put, 2, payload, SMALL, SQLITE_STATIC);
        sqlite3_step(put);
        sqlite3_reset(put);
    }
    sqlite3_finalize(put);
    sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    sqlite3_prepare_v2(database, "SELECT v FROM t WHERE k = ?", -1, &sql.statement, NULL);
    bench_print("  SQLite: point lookup of 4 kB, prepared", bench_run(sqlite_read, &sql, 51, 2000), "no guards, no checksum");
    sqlite3_finalize(sql.statement);
    sqlite3_close(database);
}

#ifdef HAVE_LMDB
struct lmdb {
    MDB_env *environment;
    MDB_dbi table;
    struct reading *reading;
};

static void
lmdb_read(void *state)
{
    struct lmdb *lmdb = state;
    gcache_key key = key_of(lmdb->reading->key++ % lmdb->reading->keys);
    MDB_val name = { sizeof key.bytes, key.bytes }, value;
    MDB_txn *transaction;

    require(mdb_txn_begin(lmdb->environment, NULL, MDB_RDONLY, &transaction) == 0, "lmdb");
    require(mdb_get(transaction, lmdb->table, &name, &value) == 0, "lmdb");
    lmdb->reading->sum += *(unsigned char const *)value.mv_data;
    mdb_txn_abort(transaction);
}

static void
lmdb_cold_read(void *state)
{
    struct lmdb *lmdb = state, fresh = { .reading = lmdb->reading };
    MDB_txn *transaction;
    char path[256];

    snprintf(path, sizeof path, "%s/lmdb", lmdb->reading->directory);
    require(mdb_env_create(&fresh.environment) == 0, "lmdb");
    mdb_env_set_mapsize(fresh.environment, (size_t)1 << 30);
    require(mdb_env_open(fresh.environment, path, MDB_RDONLY, 0600) == 0, "lmdb");
    require(mdb_txn_begin(fresh.environment, NULL, MDB_RDONLY, &transaction) == 0, "lmdb");
    require(mdb_dbi_open(transaction, NULL, 0, &fresh.table) == 0, "lmdb");
    mdb_txn_abort(transaction);
    lmdb_read(&fresh);
    mdb_env_close(fresh.environment);
}

static void
bench_lmdb(struct reading *reading, char const *payload)
{
    struct lmdb lmdb = { .reading = reading };
    MDB_txn *transaction;
    char path[256];

    snprintf(path, sizeof path, "%s/lmdb", reading->directory);
    mkdir(path, 0700);
    require(mdb_env_create(&lmdb.environment) == 0, "lmdb");
    mdb_env_set_mapsize(lmdb.environment, (size_t)1 << 30);
    require(mdb_env_open(lmdb.environment, path, 0, 0600) == 0, "lmdb");
    require(mdb_txn_begin(lmdb.environment, NULL, 0, &transaction) == 0, "lmdb");
    require(mdb_dbi_open(transaction, NULL, 0, &lmdb.table) == 0, "lmdb");
    for (uint64_t i = 0; i < reading->keys; i++) {
        gcache_key key = key_of(i);
        MDB_val name = { sizeof key.bytes, key.bytes }, value = { SMALL, (void *)(uintptr_t)payload };
        require(mdb_put(transaction, lmdb.table, &name, &value, 0) == 0, "lmdb");
    }
    require(mdb_txn_commit(transaction) == 0, "lmdb");
    bench_print("  LMDB: transaction and get of 4 kB", bench_run(lmdb_read, &lmdb, 51, 2000), "no guards, no checksum");
    mdb_env_close(lmdb.environment);
    bench_print("  LMDB: open, transaction, get, close", bench_run(lmdb_cold_read, &lmdb, 51, 200), "the same, cold");
}
#endif

static void
bench_reading(char const *directory)
{
    struct reading reading = { .directory = directory, .keys = KEYS };
    char *small = make_payload(SMALL), *large = make_payload(LARGE), path[256];

    gci_store *store = open_store(directory, -1);
    for (uint64_t i = 0; i < KEYS; i++)
        store_entry(store, i, 1, small, SMALL);
    for (uint64_t i = 0; i < CANDIDATES; i++)
        store_entry(store, KEYS, i, large, LARGE);
    reading.store = store;
    bench_print("warm hit, 1 key: candidates and payload of 4 kB",
                bench_run(warm_hit, &(struct reading){ .store = store, .keys = 1 }, 51, 100000), "");
    bench_print("warm hit, 1000 keys in turn", bench_run(warm_hit, &reading, 51, 10000), "");
    bench_print("key not in memory: candidates", bench_run(unseen_key, &reading, 51, 1000), "open, read, verify, decode");
    bench_print("absent key", bench_run(absent_key, &reading, 51, 1000), "");
    gci_store_close(store);
    bench_print("cold: open, candidates, close", bench_run(cold_candidates, &reading, 51, 200), "first answer");
    bench_print("cold: open, candidates, payload 4 kB, close", bench_run(cold_hit, &reading, 51, 200), "");
    reading.key = KEYS;
    struct reading cold_large = { .directory = directory, .key = KEYS, .keys = KEYS + 1 };
    bench_print("cold: the same, 10 candidates, first payload 100 kB", bench_run(cold_hit, &cold_large, 51, 1), "");

    snprintf(path, sizeof path, "%s/raw", directory);
    mkdir(path, 0700);
    for (uint64_t i = 0; i < KEYS; i++) {
        raw_path(directory, i, path);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        require(write(fd, small, SMALL) == SMALL, "raw");
        close(fd);
    }
    snprintf(path, sizeof path, "%s/walk", directory);
    mkdir(path, 0700);
    for (uint64_t i = 0; i < KEYS; i++) {
        snprintf(path, sizeof path, "%s/walk/%llu", directory, (unsigned long long)(i / CANDIDATES));
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/walk/%llu/%llu", directory, (unsigned long long)(i / CANDIDATES),
                 (unsigned long long)i);
        int fd = open(path, O_WRONLY | O_CREAT, 0600);
        require(write(fd, small, SMALL) == SMALL, "walk");
        close(fd);
    }
    bench_print("  raw: open, read 4 kB, close", bench_run(raw_read, &reading, 51, 2000), "");
    bench_print("  PyTorch's way: list a directory, read its 10 files", bench_run(walk_directory, &reading, 51, 200), "");
    bench_sqlite(&reading, small);
#ifdef HAVE_LMDB
    bench_lmdb(&reading, small);
#endif
    free(small);
    free(large);
}

/* ---- writing ---- */

struct writing {
    char const *directory;
    gci_store *store;
    char const *payload;
    size_t size;
    uint64_t key, variant;
};

static void
insert_new_key(void *state)
{
    struct writing *writing = state;

    store_entry(writing->store, writing->key++, 1, writing->payload, writing->size);
}

static void
insert_same_key(void *state)
{
    struct writing *writing = state;

    store_entry(writing->store, writing->key + writing->variant / 16, writing->variant, writing->payload, writing->size);
    writing->variant++;
}

static void
raw_publish(void *state)
{
    struct writing *writing = state;
    char temporary[256], path[256];

    snprintf(temporary, sizeof temporary, "%s/raw/tmp", writing->directory);
    raw_path(writing->directory, UINT64_C(1) << 50 | writing->key++, path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0600);
    require(fd >= 0 && write(fd, writing->payload, writing->size) == (ssize_t)writing->size && fdatasync(fd) == 0, "raw");
    close(fd);
    require(rename(temporary, path) == 0, "raw");
}

static int
compare_doubles(void const *a, void const *b)
{
    double x = *(double const *)a, y = *(double const *)b;

    return (x > y) - (x < y);
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
        ours[i] = (double)(between - start) / 1e3;
        theirs[i] = (double)(bench_now_ns() - between) / 1e3;
    }
    qsort(ours, TIMES, sizeof ours[0], compare_doubles);
    qsort(theirs, TIMES, sizeof theirs[0], compare_doubles);
    printf("%-52s %9.1f us, raw %9.1f us: %.2f times; fastest tenth %.1f and %.1f: %.2f times\n", name, ours[TIMES / 2],
           theirs[TIMES / 2], ours[TIMES / 2] / theirs[TIMES / 2], ours[TIMES / 10], theirs[TIMES / 10],
           ours[TIMES / 10] / theirs[TIMES / 10]);
}

static void
bench_writing(char const *directory, size_t size, char const *what)
{
    char *payload = make_payload(size), name[128];
    static int const levels[] = { -1, 1, 3 };

    struct writing raw = { .directory = directory, .payload = payload, .size = size, .key = size << 20 };
    for (size_t i = 0; i < 3; i++) {
        gci_store *store = open_store(directory, levels[i]);
        struct writing writing = { .directory = directory, .store = store, .payload = payload, .size = size,
                                   .key = (size << 24) + (i << 20) };
        snprintf(name, sizeof name, "insert %s, new key, %s %d", what, levels[i] < 0 ? "raw" : "zstd", levels[i]);
        bench_beside_raw(name, insert_new_key, &writing, &raw);
        writing.key += 1 << 19;
        snprintf(name, sizeof name, "insert %s, 16 a key, %s %d", what, levels[i] < 0 ? "raw" : "zstd", levels[i]);
        bench_beside_raw(name, insert_same_key, &writing, &raw);
        gci_store_close(store);
    }
    free(payload);
}

/* ---- many ---- */

static uint64_t blocks, inodes;

static int
add_blocks(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)path;
    (void)type;
    (void)place;
    blocks += (uint64_t)facts->st_blocks;
    inodes++;
    return 0;
}

static void
bench_many(char const *directory, uint64_t count)
{
    struct reading reading = { .directory = directory, .keys = count };
    gci_store_options options = { .compression_level = -1, .max_bytes = UINT64_MAX, .durability = GCACHE_DURABILITY_NONE };
    char *payload = make_payload(200);
    gci_store *store;

    require(gci_store_open(directory, &options, &store, &error) == GCACHE_OK, "open");
    uint64_t start = bench_now_ns();
    for (uint64_t i = 0; i < count; i++)
        store_entry(store, i / 4, i, payload, 200);
    gci_store_close(store);
    uint64_t end = bench_now_ns();
    nftw(directory, add_blocks, 16, FTW_PHYS);
    printf("%llu entries of 200 bytes, 4 a key: %.1f us each to insert, %.0f bytes and %.3f inodes an entry\n",
           (unsigned long long)count, (double)(end - start) / 1e3 / (double)count, (double)blocks * 512 / (double)count,
           (double)inodes / (double)count);
    reading.keys = count / 4;
    bench_print("cold: open, candidates, close", bench_run(cold_candidates, &reading, 51, 200), "");
    free(payload);
}

/* ---- eviction ---- */

enum { EVICTED = 500, PROCESSES = 8, SAMPLES = 1 << 16 };

static void
fill(gci_store *store, uint64_t from, uint64_t count, char const *payload, size_t size)
{
    for (uint64_t i = 0; i < count; i++)
        store_entry(store, from + i, 1, payload, size);
}

/* Time for each of 500 evicted entries, out of `count`. */
static void
bench_eviction_of(char const *parent, uint64_t count, char const *payload, size_t size)
{
    gci_store_options options = { .compression_level = -1, .max_bytes = UINT64_MAX, .durability = GCACHE_DURABILITY_NONE };
    gci_collected collected;
    gci_store_stats stats;
    char directory[256];
    gci_store *store;

    snprintf(directory, sizeof directory, "%s/evict-%llu", parent, (unsigned long long)count);
    require(gci_store_open(directory, &options, &store, &error) == GCACHE_OK, "open");
    fill(store, 0, count, payload, size);
    /* Everything that is waiting is written first: it isn't what is measured. */
    require(gci_store_gc(store, &(gci_gc_options){ .target_bytes = UINT64_MAX - 1 }, &collected, &error) == GCACHE_OK, "gc");
    require(gci_store_stats_get(store, &stats, &error) == GCACHE_OK, "stats");
    gci_gc_options collect = { .target_bytes = stats.bytes - stats.bytes / count * EVICTED };
    uint64_t start = bench_now_ns();
    require(gci_store_gc(store, &collect, &collected, &error) == GCACHE_OK, "gc");
    double elapsed = (double)(bench_now_ns() - start);
    printf("%8llu entries: %llu evicted, %.1f us each\n", (unsigned long long)count, (unsigned long long)collected.evicted,
           elapsed / 1e3 / (double)collected.evicted);
    gci_store_close(store);
}

struct times {
    _Atomic uint32_t count;
    uint32_t ns[SAMPLES];
    _Atomic uint64_t largest;
};

static int
compare_ns(void const *a, void const *b)
{
    uint32_t x = *(uint32_t const *)a, y = *(uint32_t const *)b;

    return (x > y) - (x < y);
}

static void
insert_and_time(char const *directory, uint64_t cap, uint64_t from, uint64_t count, char const *payload, size_t size,
                struct times *times)
{
    gci_store_options options = { .compression_level = -1, .max_bytes = cap };
    gci_store_stats stats;
    gci_store *store;

    require(gci_store_open(directory, &options, &store, &error) == GCACHE_OK, "open");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t start = bench_now_ns();
        store_entry(store, from + i, 1, payload, size);
        uint64_t elapsed = bench_now_ns() - start;
        uint32_t slot = atomic_fetch_add(&times->count, 1);
        if (slot < SAMPLES)
            times->ns[slot] = elapsed < UINT32_MAX ? (uint32_t)elapsed : UINT32_MAX;
        gci_store_stats_get(store, &stats, NULL);
        if (stats.bytes > atomic_load(&times->largest))
            atomic_store(&times->largest, stats.bytes);
    }
    gci_store_close(store);
    _exit(0);
}

static void
bench_inserts_under(char const *directory, uint64_t cap, uint64_t from, char const *payload, size_t size, char const *what)
{
    struct times *times = mmap(NULL, sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    require(times != MAP_FAILED, "mmap");
    for (uint64_t i = 0; i < PROCESSES; i++) {
        if (fork() == 0)
            insert_and_time(directory, cap, from + (i << 20), 500, payload, size, times);
    }
    for (int i = 0; i < PROCESSES; i++)
        wait(NULL);
    uint32_t count = atomic_load(&times->count);
    qsort(times->ns, count, sizeof times->ns[0], compare_ns);
    printf("%s: %u inserts of 8 processes, median %.0f us, p99 %.0f us; largest size %.1f MiB", what, count,
           times->ns[count / 2] / 1e3, times->ns[count * 99ull / 100] / 1e3, (double)atomic_load(&times->largest) / 1048576);
    if (cap != UINT64_MAX)
        printf(" of %.1f", (double)cap / 1048576);
    printf("\n");
    munmap(times, sizeof *times);
}

static void
bench_eviction(char const *parent, uint64_t largest)
{
    size_t size = 2000;
    char *payload = make_payload(size), directory[256];
    gci_store_options options = { .compression_level = -1, .max_bytes = UINT64_MAX, .durability = GCACHE_DURABILITY_NONE };
    gci_store_stats stats;
    gci_store *store;

    for (uint64_t count = 1000; count <= largest; count *= 10)
        bench_eviction_of(parent, count, payload, size);
    snprintf(directory, sizeof directory, "%s/evict-under", parent);
    require(gci_store_open(directory, &options, &store, &error) == GCACHE_OK, "open");
    fill(store, 0, largest, payload, size);
    require(gci_store_stats_get(store, &stats, &error) == GCACHE_OK, "stats");
    gci_store_close(store);
    bench_inserts_under(directory, UINT64_MAX, UINT64_C(1) << 40, payload, size, "without a cap");
    bench_inserts_under(directory, stats.bytes, UINT64_C(1) << 41, payload, size, "under a cap  ");
    free(payload);
}

int
main(int argc, char **argv)
{
    char *directory = bench_make_directory();

    if (argc == 3 && strcmp(argv[1], "--many") == 0) {
        bench_many(directory, strtoull(argv[2], NULL, 10));
    } else if (argc == 3 && strcmp(argv[1], "--evict") == 0) {
        bench_eviction(directory, strtoull(argv[2], NULL, 10));
    } else {
        bench_reading(directory);
        puts("durable inserts, each beside create, write, fdatasync, rename of the same bytes:");
        bench_writing(directory, SMALL, "4 kB");
        bench_writing(directory, LARGE, "100 kB");
    }
    bench_remove_directory(directory);
    return 0;
}
