/*
 * What the store's tests share: a fresh cache directory, and records and payloads made from a number.
 */
#ifndef GUARDCACHE_TESTS_STORE_FIXTURE_H
#define GUARDCACHE_TESTS_STORE_FIXTURE_H

#include "base/digest.h"
#include "store/store.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* A directory for one test, and what it asked the store to log. */
typedef struct test_dir {
    char directory[128];
    char log[4096];
} test_dir;

static inline void
fixture_log(void *state, char const *line)
{
    test_dir *fixture = state;
    size_t used = strlen(fixture->log);

    snprintf(fixture->log + used, sizeof fixture->log - used, "%s\n", line);
}

static inline int
fixture_remove_one(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)facts;
    (void)type;
    (void)place;
    return remove(path);
}

static inline void
fixture_remove_tree(char const *path)
{
    nftw(path, fixture_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline int
fixture_setup(void **state)
{
    test_dir *made = calloc(1, sizeof *made);
    char const *base = getenv("TMPDIR");

    if (made == NULL)
        return -1;
    snprintf(made->directory, sizeof made->directory, "%s/gcstore-XXXXXX", base != NULL ? base : "/tmp");
    *state = made;
    return mkdtemp(made->directory) != NULL ? 0 : -1;
}

static inline int
fixture_teardown(void **state)
{
    test_dir *made = *state;

    fixture_remove_tree(made->directory);
    free(made);
    return 0;
}

/* Exit status of a program none of whose cases could be run here; meson shows it as SKIP. */
#define TEST_SKIPPED 77

#define STORE_TEST(function) cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

static inline gci_store *
fixture_open_with(test_dir *fixture, gci_store_options options)
{
    gcache_error error = { 0 };
    gci_store *store;

    options.log = fixture_log;
    options.log_state = fixture;
    if (gci_store_open(fixture->directory, &options, &store, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    return store;
}

static inline gci_store *
fixture_open(test_dir *fixture)
{
    return fixture_open_with(fixture, (gci_store_options){ 0 });
}

/* With a file for each key's candidate index: for tests that look at it, or make it what it isn't. */
static inline gci_store *
fixture_open_apart(test_dir *fixture)
{
    return fixture_open_with(fixture, (gci_store_options){ .pooled_max = 1 });
}

/* ---- sizes ---- */

/* A payload that lies in the candidate index if it is the first of its key, and in a file of its own if it is not. */
#define FIRST_IN_PACK ((size_t)100000)

/* One that has a file of its own wherever it stands: above the 128 KiB of commit.c, also compressed, which takes half away. */
#define OWN_FILE ((size_t)300000)

/* ---- content made from numbers ---- */

static inline gcache_key
key_of(uint64_t number)
{
    gcache_key key;

    for (size_t i = 0; i < sizeof key.bytes; i += 8) {
        uint64_t part = gci_hash64(&number, sizeof number, i);
        memcpy(key.bytes + i, &part, 8);
    }
    return key;
}

/* Bytes that say of themselves which they are; half of them compress. */
static inline char *
payload_of(uint64_t number, size_t size)
{
    char *bytes = malloc(size + 1);

    assert_non_null(bytes);
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = (i / 8) % 2 == 0 ? number : gci_hash64(&number, sizeof number, i);
        memcpy(bytes + i, &word, size - i < 8 ? size - i : 8);
    }
    return bytes;
}

typedef struct made_record {
    char guard[2][64];
    gci_view guards[2];
    gci_pair names[1], requirements[1];
    gci_record record;
} made_record;

/* A record under key number `key`, told apart from others by `variant`. */
static inline gci_record const *
record_of(made_record *made, uint64_t key, uint64_t variant)
{
    snprintf(made->guard[0], sizeof made->guard[0], "s0 %% 8 == 0");
    snprintf(made->guard[1], sizeof made->guard[1], "s1 == %llu", (unsigned long long)variant);
    made->guards[0] = gci_view_text(made->guard[0]);
    made->guards[1] = gci_view_text(made->guard[1]);
    made->names[0] = (gci_pair){ GCI_VIEW("s0"), GCI_VIEW("s77") };
    made->requirements[0] = (gci_pair){ GCI_VIEW("driver"), GCI_VIEW("535.1") };
    made->record = (gci_record){
        .key = key_of(key),
        .kind = GCI_VIEW("fx"),
        .guards = made->guards,
        .guard_count = 2,
        .program = GCI_VIEW("\x01\x02program\0bytes"),
        .names = made->names,
        .name_count = 1,
        .requirements = made->requirements,
        .requirement_count = 1,
        .variant = GCI_VIEW("pgle"),
        .priority = -3,
        .equalities = 1,
        .conjuncts = 2,
        .compile_ns = 812000000,
        .label = GCI_VIEW("train.py:88"),
        .metadata = GCI_VIEW("{\"a\": 1}"),
    };
    return &made->record;
}

/* Inserts what record_of and payload_of make of the numbers. */
static inline gcache_status
try_insert(gci_store *store, uint64_t key, uint64_t variant, size_t size, gci_inserted *out, gcache_error *error)
{
    made_record made;
    char *payload = payload_of(key ^ variant << 32, size);

    gcache_status status = gci_store_insert(store, record_of(&made, key, variant), gci_view_of(payload, size), NULL, out,
                                            error);
    free(payload);
    return status;
}

static inline gci_inserted
insert(gci_store *store, uint64_t key, uint64_t variant, size_t size)
{
    gcache_error error = { 0 };
    gci_inserted inserted;

    if (try_insert(store, key, variant, size, &inserted, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    return inserted;
}

/* The same, prepared and not committed yet. */
typedef struct made_insert {
    made_record made;
    char *payload;
    gci_pending *pending;
} made_insert;

static inline void
prepare_insert(made_insert *one, gci_store *store, uint64_t key, uint64_t variant, size_t size)
{
    gcache_error error = { 0 };

    one->payload = payload_of(key ^ variant << 32, size);
    if (gci_store_prepare(store, record_of(&one->made, key, variant), gci_view_of(one->payload, size), NULL, &one->pending,
                          &error) != GCACHE_OK)
        fail_msg("%s", error.message);
}

static inline void
made_insert_clear(made_insert *one)
{
    gci_pending_free(one->pending);
    free(one->payload);
}

/* The candidate of that variant, or NULL. */
static inline gci_candidate *
find_variant(gci_candidates *set, uint64_t variant)
{
    char guard[64];

    snprintf(guard, sizeof guard, "s1 == %llu", (unsigned long long)variant);
    for (size_t i = 0; i < set->count; i++) {
        if (gci_view_is(set->items[i]->record.guards[1], guard))
            return set->items[i];
    }
    return NULL;
}

/* What a reader gets: GCI_FOUND with the payload checked byte by byte, or why not. */
static inline gci_found
look(gci_store *store, uint64_t key, uint64_t variant, size_t size)
{
    gcache_key wanted = key_of(key);
    gcache_error error = { 0 };
    gci_candidates *set;
    gci_payload payload;

    gci_found found = gci_store_candidates(store, &wanted, &set, &error);
    if (found != GCI_FOUND)
        return found;
    gci_candidate *candidate = find_variant(set, variant);
    found = candidate != NULL ? gci_store_payload(store, candidate, &payload, &error) : GCI_ABSENT;
    if (found == GCI_FOUND) {
        char *expected = payload_of(key ^ variant << 32, size);
        assert_int_equal(payload.size, size);
        assert_memory_equal(payload.data, expected, size);
        gci_payload_release(&payload);
        free(expected);
    }
    gci_candidates_release(set);
    return found == GCI_RENEWED ? look(store, key, variant, size) : found;
}

/* In a child that goes on until it is told: a test that fails leaves nobody behind. */
static inline void
die_with_the_test(void)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

/* How many problems verify finds. */
static inline void
print_problem(void *state, char const *path, char const *problem)
{
    (void)state;
    print_message("    %s: %s\n", path, problem);
}

static inline uint64_t
problems(gci_store *store)
{
    gcache_maintenance_options options = { .problem = print_problem };
    gcache_error error = { 0 };
    gcache_verified verified = GCACHE_VERIFIED_INIT;

    if (gci_store_verify(store, &options, &verified, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    return verified.problems;
}

static inline gcache_repaired
repair_store(gci_store *store)
{
    gcache_maintenance_options options = { .problem = print_problem };
    gcache_error error = { 0 };
    gcache_repaired repaired;

    if (gci_store_repair(store, &options, &repaired, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    return repaired;
}

/* ---- files in the cache directory ---- */

static inline void
path_in(test_dir const *fixture, char const *name, char out_path[512])
{
    snprintf(out_path, 512, "%s/%s", fixture->directory, name);
}

static inline void
pack_path(test_dir const *fixture, uint64_t key, char out_path[512])
{
    gcache_key made = key_of(key);
    char hex[65];

    gci_hex(made.bytes, sizeof made.bytes, hex);
    snprintf(out_path, 512, "%s/entries/%.2s/%s.pack", fixture->directory, hex, hex);
}

static inline void
entry_path(test_dir const *fixture, uint64_t key, char const *id, char out_path[512])
{
    gcache_key made = key_of(key);
    char hex[65];

    gci_hex(made.bytes, sizeof made.bytes, hex);
    snprintf(out_path, 512, "%s/entries/%.2s/%s.%s.entry", fixture->directory, hex, hex, id);
}

static inline bool
is_file(char const *path)
{
    struct stat facts;

    return stat(path, &facts) == 0;
}

static inline void
flip_byte(char const *path, off_t at)
{
    char byte;
    int fd = open(path, O_RDWR);

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte = (char)(byte ^ 0x10);
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static inline off_t
size_of_file(char const *path)
{
    struct stat facts;

    assert_int_equal(stat(path, &facts), 0);
    return facts.st_size;
}

/* Where in the file these bytes stand for the n-th time, from 0; -1: they don't. */
static inline off_t
place_in_file(char const *path, gci_view wanted, unsigned n)
{
    char bytes[1 << 17];
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t at = 0; at + wanted.size <= size; at++) {
        if (memcmp(bytes + at, wanted.data, wanted.size) == 0 && n-- == 0)
            return (off_t)at;
    }
    return -1;
}

/* Makes the tables of index.db those of the version before, which had components instead of sketches; rows stay. */
#define FORMER_TABLES                                                                                 \
    "CREATE TEMP TABLE kept AS SELECT * FROM entries; DROP TABLE sketches; DROP TABLE entries;"        \
    "CREATE TABLE components(number INTEGER NOT NULL, key_id INTEGER NOT NULL, PRIMARY KEY(number, key_id)) WITHOUT ROWID;" \
    "CREATE INDEX components_of_key ON components(key_id);"                                           \
    "CREATE TABLE entries(key_id INTEGER NOT NULL, id BLOB NOT NULL, space TEXT NOT NULL, bytes INTEGER NOT NULL," \
    " size INTEGER NOT NULL, created INTEGER NOT NULL, used INTEGER NOT NULL, hits INTEGER NOT NULL,"  \
    " PRIMARY KEY(key_id, id)) WITHOUT ROWID;"                                                        \
    "CREATE INDEX entries_by_use ON entries(used);"                                                   \
    "CREATE INDEX entries_by_space ON entries(space) WHERE space <> '';"                              \
    "INSERT INTO entries SELECT * FROM kept;"

#endif
