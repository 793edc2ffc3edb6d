/*
 * What the store's reading is held against: files under known names, a directory that is listed as PyTorch's cache lists it,
 * SQLite, LMDB, and JAX's own file cache where Python has it.
 */
#include "harness.h"
#include "store_kit.h"

#include <dirent.h>
#include <fcntl.h>
#ifdef HAVE_LMDB
#include <lmdb.h>
#endif
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CANDIDATES = 10, READ_MAX = 4096 };

struct peer {
    char const *directory;
    uint64_t key, keys;
    gci_view payload; /* at most READ_MAX */
    volatile uint64_t sum;
};

/* ---- files ---- */

static void
raw_path(char const *directory, uint64_t number, char out_path[256])
{
    snprintf(out_path, 256, "%s/raw/%llu", directory, (unsigned long long)number);
}

static void
read_file(struct peer *peer, char const *path)
{
    static char bytes[READ_MAX];

    int fd = open(path, O_RDONLY);
    bench_require(fd >= 0 && read(fd, bytes, sizeof bytes) == (ssize_t)peer->payload.size, path);
    peer->sum += (unsigned char)bytes[0];
    close(fd);
}

static void
raw_read(void *state)
{
    struct peer *peer = state;
    char path[256];

    raw_path(peer->directory, peer->key++ % peer->keys, path);
    read_file(peer, path);
}

/* What PyTorch's cache does on every lookup: list the key's directory, read every candidate. */
static void
walk_directory(void *state)
{
    struct peer *peer = state;
    char path[256], file[600];
    struct dirent *entry;

    snprintf(path, sizeof path, "%s/walk/%llu", peer->directory,
             (unsigned long long)(peer->key++ % (peer->keys / CANDIDATES)));
    DIR *stream = opendir(path);
    bench_require(stream != NULL, "walk");
    while ((entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        read_file(peer, file);
    }
    closedir(stream);
}

/* ---- SQLite ---- */

struct sql {
    sqlite3_stmt *statement;
    struct peer *peer;
};

static void
sqlite_read(void *state)
{
    struct sql *sql = state;
    gcache_key key = bench_key(sql->peer->key++ % sql->peer->keys);

    sqlite3_bind_blob(sql->statement, 1, key.bytes, sizeof key.bytes, SQLITE_STATIC);
    bench_require(sqlite3_step(sql->statement) == SQLITE_ROW, "sqlite");
    sql->peer->sum += *(unsigned char const *)sqlite3_column_blob(sql->statement, 0);
    sqlite3_reset(sql->statement);
}

static void
bench_sqlite(struct peer *peer)
{
    struct sql sql = { .peer = peer };
    sqlite3_stmt *put;
    sqlite3 *database;
    char path[256];

    snprintf(path, sizeof path, "%s/peer.db", peer->directory);
    bench_require(sqlite3_open(path, &database) == SQLITE_OK, "sqlite");
    sqlite3_exec(database, "PRAGMA journal_mode=WAL; CREATE TABLE t(k BLOB PRIMARY KEY, v BLOB) WITHOUT ROWID; BEGIN", NULL,
                 NULL, NULL);
    sqlite3_prepare_v2(database, "INSERT INTO t VALUES(?, ?)", -1, &put, NULL);
    for (uint64_t i = 0; i < peer->keys; i++) {
        gcache_key key = bench_key(i);
        sqlite3_bind_blob(put, 1, key.bytes, sizeof key.bytes, SQLITE_TRANSIENT);
        sqlite3_bind_blob(put, 2, peer->payload.data, (int)peer->payload.size, SQLITE_STATIC);
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

/* ---- LMDB ---- */

#ifdef HAVE_LMDB
struct lmdb {
    MDB_env *environment;
    MDB_dbi table;
    struct peer *peer;
};

static void
lmdb_read(void *state)
{
    struct lmdb *lmdb = state;
    gcache_key key = bench_key(lmdb->peer->key++ % lmdb->peer->keys);
    MDB_val name = { sizeof key.bytes, key.bytes }, value;
    MDB_txn *transaction;

    bench_require(mdb_txn_begin(lmdb->environment, NULL, MDB_RDONLY, &transaction) == 0, "lmdb");
    bench_require(mdb_get(transaction, lmdb->table, &name, &value) == 0, "lmdb");
    lmdb->peer->sum += *(unsigned char const *)value.mv_data;
    mdb_txn_abort(transaction);
}

static void
lmdb_cold_read(void *state)
{
    struct lmdb *lmdb = state, fresh = { .peer = lmdb->peer };
    MDB_txn *transaction;
    char path[256];

    snprintf(path, sizeof path, "%s/lmdb", lmdb->peer->directory);
    bench_require(mdb_env_create(&fresh.environment) == 0, "lmdb");
    mdb_env_set_mapsize(fresh.environment, (size_t)1 << 30);
    bench_require(mdb_env_open(fresh.environment, path, MDB_RDONLY, 0600) == 0, "lmdb");
    bench_require(mdb_txn_begin(fresh.environment, NULL, MDB_RDONLY, &transaction) == 0, "lmdb");
    bench_require(mdb_dbi_open(transaction, NULL, 0, &fresh.table) == 0, "lmdb");
    mdb_txn_abort(transaction);
    lmdb_read(&fresh);
    mdb_env_close(fresh.environment);
}

static void
bench_lmdb(struct peer *peer)
{
    struct lmdb lmdb = { .peer = peer };
    MDB_txn *transaction;
    char path[256];

    snprintf(path, sizeof path, "%s/lmdb", peer->directory);
    mkdir(path, 0700);
    bench_require(mdb_env_create(&lmdb.environment) == 0, "lmdb");
    mdb_env_set_mapsize(lmdb.environment, (size_t)1 << 30);
    bench_require(mdb_env_open(lmdb.environment, path, 0, 0600) == 0, "lmdb");
    bench_require(mdb_txn_begin(lmdb.environment, NULL, 0, &transaction) == 0, "lmdb");
    bench_require(mdb_dbi_open(transaction, NULL, 0, &lmdb.table) == 0, "lmdb");
    for (uint64_t i = 0; i < peer->keys; i++) {
        gcache_key key = bench_key(i);
        MDB_val name = { sizeof key.bytes, key.bytes }, value = { peer->payload.size, (void *)(uintptr_t)peer->payload.data };
        bench_require(mdb_put(transaction, lmdb.table, &name, &value, 0) == 0, "lmdb");
    }
    bench_require(mdb_txn_commit(transaction) == 0, "lmdb");
    bench_print("  LMDB: transaction and get of 4 kB", bench_run(lmdb_read, &lmdb, 51, 2000), "no guards, no checksum");
    mdb_env_close(lmdb.environment);
    bench_print("  LMDB: open, transaction, get, close", bench_run(lmdb_cold_read, &lmdb, 51, 200), "the same, cold");
}
#endif

/* ---- all ---- */

static void
bench_files(struct peer *peer)
{
    char path[256];

    snprintf(path, sizeof path, "%s/raw", peer->directory);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/walk", peer->directory);
    mkdir(path, 0700);
    for (uint64_t i = 0; i < peer->keys; i++) {
        raw_path(peer->directory, i, path);
        bench_write_file(path, peer->payload);
        snprintf(path, sizeof path, "%s/walk/%llu", peer->directory, (unsigned long long)(i / CANDIDATES));
        mkdir(path, 0700);
        snprintf(path, sizeof path, "%s/walk/%llu/%llu", peer->directory, (unsigned long long)(i / CANDIDATES),
                 (unsigned long long)i);
        bench_write_file(path, peer->payload);
    }
    bench_print("  raw: open, read 4 kB, close", bench_run(raw_read, peer, 51, 2000), "");
    bench_print("  PyTorch's way: list a directory, read its 10 files", bench_run(walk_directory, peer, 51, 200), "");
}

/* JAX's cache is Python: the script measures itself, and says so where there is no JAX. */
static void
bench_jax(void)
{
    char const *python = getenv("GUARDCACHE_BENCH_PYTHON");
    char command[600];

    fflush(stdout);
    snprintf(command, sizeof command, "%s %s", python != NULL ? python : BENCH_PYTHON, BENCH_SOURCE "/store_jax.py");
    if (system(command) != 0)
        puts("  JAX's file cache: not measured");
}

void
bench_peers(char const *directory, uint64_t keys, gci_view payload)
{
    struct peer peer = { .directory = directory, .keys = keys, .payload = payload };

    bench_files(&peer);
    bench_sqlite(&peer);
#ifdef HAVE_LMDB
    bench_lmdb(&peer);
#else
    puts("  LMDB: not measured, this was built without liblmdb-dev");
#endif
    bench_jax();
}
