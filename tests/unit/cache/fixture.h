/*
 * A cache in a fresh directory for one test, and the small graphs the tests of this folder ask for.
 */
#ifndef TESTS_UNIT_CACHE_FIXTURE_H
#define TESTS_UNIT_CACHE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <guardcache/observe.h>
#include <guardcache/guardcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A payload that has a file of its own wherever it stands, if it isn't compressed: more than the 128 KiB that a candidate index
   holds of the first of its key (store/insert/commit.c). */
#define OWN_FILE ((size_t)150000)

typedef struct fixture {
    char directory[64];
    char file[80]; /* beside it, for a test to make */
    gcache *cache;
    gcache_error error;
} fixture;

/* cmocka's setup and teardown: *state is a fixture. */
int fixture_open(void **state);
int fixture_close(void **state);

/* A cache to export from, one to import into, the file between them, and what an import said. */
typedef struct fixture_pair {
    fixture *from, *to;
    char file[128];
    gcache_transfer read;
    char told[4096];
} fixture_pair;

/* The same for two: *state is a fixture_pair. */
int fixture_pair_open(void **state);
int fixture_pair_close(void **state);

/* Opens the fixture's directory once more, after closing it. options may be NULL. */
void fixture_reopen(fixture *f, gcache_options const *options);

/* x[a, b] @ w[b, 4]: the symbols are called a and b. */
gcache_graph *make_matmul(char const *a, char const *b);

/* One more insert of a payload that is its own text. NULL guards: unconditional. */
gcache_status insert_text(fixture *f, gcache_graph *graph, gcache_hints const *hints, char const *guard, char const *payload);

/* A statistic of the cache's directory. */
uint64_t fixture_statistic(gcache *cache, gcache_statistic statistic);

/* A compiler (gcache_compile_fn) that makes the payload "new" of everything. */
gcache_status compile_new(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled,
                          gcache_error *error);

#endif
