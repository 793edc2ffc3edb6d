/*
 * What guard tests are given: texts, and hints as JSON maps.
 */
#ifndef TESTS_UNIT_GUARDS_GIVEN_H
#define TESTS_UNIT_GUARDS_GIVEN_H

#include "base/arena.h"
#include "base/text/json.h"

#include <guardcache/guard.h>

/* {"t0": 8, "t1": null, "t2": 0.5, "t3": {"$float": "nan"}}. All of it lives in the arena. */
gcache_hints given_hints(gci_value const *map, gci_arena *arena);

/* The same from text. */
gcache_hints given_hints_text(char const *json, gci_arena *arena);

/* What the command prints: "true", "false", "ZeroDivisionError", or "invalid". *out_message may be NULL. */
char const *given_result(char const *guard, gcache_hints const *hints, gcache_verdict *out_verdict, gcache_error *out_error);

#endif
