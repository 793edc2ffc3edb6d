/*
 * What every tier has to pass: the contract of guardcache/tier.h as tests. It knows nothing of any tier. Keys are new ones each
 * time, so that a server may keep what earlier runs left there.
 */
#ifndef TESTS_UNIT_TIER_CONFORMANCE_H
#define TESTS_UNIT_TIER_CONFORMANCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <guardcache/tier.h>

/* What a test's *state points to; a fixture begins with one. */
typedef struct conformance {
    gcache_tier_functions const *functions;
    void *tier;
    char const *secret; /* stands in no message; NULL: there is none */
} conformance;

#define CONFORMANCE_MAP(X)                                                                            \
    X(the_table_is_whole)                                                                             \
    X(an_absent_key_is_a_miss)                                                                        \
    X(what_is_published_is_found_with_equal_bytes)                                                    \
    X(all_heads_of_a_key_are_listed)                                                                  \
    X(kinds_and_keys_are_kept_apart)                                                                  \
    X(of_what_is_wanted_those_there_are_handed_out)                                                   \
    X(publishing_again_changes_nothing)                                                               \
    X(a_head_is_replaced)                                                                             \
    X(what_is_removed_is_gone)                                                                        \
    X(a_callback_ends_the_call)                                                                       \
    X(larger_objects_are_left_out)                                                                    \
    X(a_deadline_that_has_passed_hangs_nobody)                                                        \
    X(a_time_to_live_is_accepted)                                                                     \
    X(the_first_value_is_shared)                                                                      \
    X(of_many_at_once_one_value_is_shared)                                                            \
    X(a_lease_is_its_holders)                                                                         \
    X(leases_exclude_threads)                                                                         \
    X(a_lease_runs_out)                                                                               \
    X(a_fence_refuses_an_older_token)                                                                 \
    X(a_walk_meets_every_key)                                                                         \
    X(statistics_are_numbers_with_names)                                                              \
    X(writers_lose_nothing)                                                                           \
    X(whoever_sees_a_head_gets_its_payload)                                                           \
    X(parent_and_child_go_on_after_a_fork)

#define X(name) void conform_##name(void **state);
CONFORMANCE_MAP(X)
#undef X

/* Rows of a cmocka table, each with the setup and teardown of the tier's own. What is optional and isn't there is skipped. */
#define CONFORMANCE_TEST(name, setup, teardown)                                                       \
    { "conform_" #name, conform_##name, setup, teardown, NULL }

/* All of it in one, for a tier that brings no fixture. */
void conform(gcache_tier_functions const *functions, void *tier);

/* ---- for tests of single tiers ---- */

/* Never the same, in no run. */
gcache_key conform_key(void);
/* digits: 32 or 64. */
void conform_name(char out_name[GCACHE_OBJECT_NAME_SIZE], int digits);
/* A new object of a kind, with a new name if the kind has one, of these bytes (borrowed). */
gcache_object conform_object(gcache_object_kind kind, gcache_key const *key, void const *bytes, size_t size);

gcache_object conform_text(gcache_object_kind kind, gcache_key const *key, char const *text);

/* What was handed out. Cleared by conform_clear. */
typedef struct conform_found {
    gcache_object *items;
    size_t count;
    size_t most; /* the callback ends the call after so many; 0: never */
} conform_found;

void conform_clear(conform_found *found);
/* The one that was wanted, or NULL. */
gcache_object const *conform_find(conform_found const *found, gcache_object const *wanted);
/* Whether it was handed out, with equal bytes. */
bool conform_has(conform_found const *found, gcache_object const *wanted);

/* Calls with a deadline of a minute; found is cleared first. They see to it that trouble says what it is, without the secret. */
gcache_tier_answer conform_list(conformance const *c, gcache_key const *key, conform_found *found);
gcache_tier_answer conform_fetch(conformance const *c, gcache_object const *wanted, size_t count, conform_found *found);
gcache_tier_answer conform_publish(conformance const *c, gcache_object const *objects, size_t count);
gcache_tier_answer conform_remove(conformance const *c, gcache_object const *wanted, size_t count);
gcache_tier_call conform_call(void);
/* Aborts with what is wrong about a call's outcome; returns the answer. */
gcache_tier_answer conform_answer(conformance const *c, gcache_tier_call const *call, gcache_tier_answer answer);
/* Whether all of them are there, with equal bytes. */
bool conform_are_there(conformance const *c, gcache_object const *objects, size_t count);
/* How many heads of a key are listed; SIZE_MAX: trouble. */
size_t conform_heads(conformance const *c, gcache_key const *key);

#define CONFORM_SECOND_NS UINT64_C(1000000000)
uint64_t conform_steady_ns(void);

/* Runs so many threads, each with its own of an array of states of that size, and waits for them. */
enum { CONFORM_THREADS = 8 };
void conform_in_threads(void *(*run)(void *), void *states, size_t size);

/* The callback that fills a conform_found. */
int conform_collect(void *state, gcache_object const *object);

#endif
