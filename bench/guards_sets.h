/*
 * What bench_guards measures: guard lists, recorded and made up, with hints for which they hold.
 */
#ifndef GUARDCACHE_BENCH_GUARDS_SETS_H
#define GUARDCACHE_BENCH_GUARDS_SETS_H

#include "base/arena.h"
#include "guards/guards.h"

typedef struct bench_case {
    char const *guard;
    char const **names; /* sorted */
    int64_t *values;    /* of the names: the guard holds */
    size_t name_count;
    bool timed;         /* in Python too */
} bench_case;

typedef struct bench_cases {
    gci_arena arena;
    bench_case *items;
    size_t count, room;
} bench_cases;

bench_case *bench_add_case(bench_cases *cases, gci_view guard, gcache_hint const *hints, size_t hint_count);

/* Every guard of a file of fixtures/guards that holds for one of its recorded hints, which are integers. */
void bench_read_recorded(bench_cases *cases, char const *path);

/* The guard of six conjuncts over s0..s4, with other constants for each number. */
void bench_add_six(bench_cases *cases, unsigned number);

/*
 * Candidates over s0..s15: eight kinds of them, each of which pins, bounds or leaves out a symbol of its own choice (30 %,
 * 40 %, 30 %); some have a divisor or a product as well. out_values are hints for which this one holds.
 */
#define BENCH_SYMBOLS 16
void bench_make_candidate(uint64_t *random, gci_buf *out_guard, int64_t out_values[BENCH_SYMBOLS]);

#endif
