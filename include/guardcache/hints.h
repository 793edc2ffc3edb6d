/*
 * guardcache/hints.h - the present values of symbols.
 *
 * Names are those in the guards: "s0" for a guard `s0 % 8 == 0`, "t0" for `L['t0'] % 8 == 0`. Almost every hint is
 * a 64-bit integer; anything else a guard may see is given as a literal: an integer of any size ("2305843009213693952000"),
 * a float ("0.5", "inf", "nan"), "True", "False" or "None". A name given twice is an error.
 *
 * The structs borrow: arrays and strings must live through the call they are passed to.
 */
#ifndef GUARDCACHE_HINTS_H
#define GUARDCACHE_HINTS_H

#include <guardcache/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcache_hint {
    char const *name;
    int64_t value;
} gcache_hint;

typedef struct gcache_hint_literal {
    char const *name;
    char const *literal;
} gcache_hint_literal;

typedef struct gcache_hints {
    gcache_hint const *items;
    size_t count;
    gcache_hint_literal const *literals;
    size_t literal_count;
} gcache_hints;

/* Hints written in place (C only): gcache_hints hints = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 }); */
#define GCACHE_HINTS(...)                                                                             \
    { (gcache_hint const[]){ __VA_ARGS__ }, sizeof((gcache_hint const[]){ __VA_ARGS__ }) / sizeof(gcache_hint), NULL, 0 }

#ifdef __cplusplus
}
#endif
#endif
