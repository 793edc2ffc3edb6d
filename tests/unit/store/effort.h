/*
 * How much the tests do that could go on for ever, and from which seed. By the environment:
 *
 *   GUARDCACHE_EFFORT=N    N times what the quick suite does (scripts/test --all); above 1 less is sampled
 *   GUARDCACHE_SECONDS=N   each goes on for so long, with all its processes (scripts/soak)
 *   GUARDCACHE_SEED=N      other random choices than seed 1's
 */
#ifndef GUARDCACHE_TESTS_STORE_EFFORT_H
#define GUARDCACHE_TESTS_STORE_EFFORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t
effort_number(char const *variable, uint64_t otherwise)
{
    char const *text = getenv(variable);

    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

static inline uint64_t
effort_seed(void)
{
    return effort_number("GUARDCACHE_SEED", 1);
}

/* Whether as many cases are tried as minutes allow, not a small sample. */
static inline bool
effort_is_thorough(void)
{
    return effort_number("GUARDCACHE_EFFORT", 1) > 1 || getenv("GUARDCACHE_SECONDS") != NULL;
}

/* Whether all processes and the limits on times count: for a machine that does nothing else. */
static inline bool
effort_is_soak(void)
{
    return getenv("GUARDCACHE_SECONDS") != NULL;
}

/* Of how many calls in a row one is made to fail: where minutes are allowed each is. Children with a single thread have no
   races: TSan's build, in which each of them takes ten times as long, tries fewer. Odd, for those who take turns by the call. */
static inline unsigned
effort_step(void)
{
#ifdef __SANITIZE_THREAD__
    return 7;
#else
    return effort_is_thorough() ? 1 : 3;
#endif
}

/* For tests that run for a time. */
static inline double
effort_seconds(double quick)
{
    return (double)effort_number("GUARDCACHE_SECONDS", 0) > 0 ? (double)effort_number("GUARDCACHE_SECONDS", 0)
                                                             : quick * (double)effort_number("GUARDCACHE_EFFORT", 1);
}

/* For tests that run in rounds: for (effort work = effort_of(40); effort_goes_on(&work);) uses work.round, from 0. */
typedef struct effort {
    uint64_t round, begun;
    uint64_t rounds;
    time_t end; /* 0: by rounds */
} effort;

static inline time_t
effort_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static inline effort
effort_of(uint64_t quick_rounds)
{
    uint64_t seconds = effort_number("GUARDCACHE_SECONDS", 0);

    return (effort){ .rounds = quick_rounds * effort_number("GUARDCACHE_EFFORT", 1),
                     .end = seconds > 0 ? effort_now() + (time_t)seconds : 0 };
}

/* For tests that end by themselves, but may take longer than they are given. */
static inline bool
effort_is_over(effort const *work)
{
    return work->end != 0 && effort_now() >= work->end;
}

static inline bool
effort_goes_on(effort *work)
{
    work->round = work->begun;
    bool more = work->end != 0 ? effort_now() < work->end : work->begun < work->rounds;
    work->begun += more;
    return more;
}

#endif
