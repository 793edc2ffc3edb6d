/*
 * Turns: how many compile for one key at a time while nobody knows whom that will serve.
 *
 * If all who miss compiled at once, as many would compile the same as want the same; if one did after the other, the last would
 * wait for all. So there are rounds. A round is over when all flights that were under way at its beginning have ended, which
 * takes as long as the slowest of these compiles. In the first round two may compile, in the second four, then everybody: whoever
 * is still not served has waited for two compiles. Each time a flight ends all who wait look again, so that it serves whom it can.
 * Who comes when those that are under way are about to end, which will tell him next to nothing, has a round more: that is short.
 *
 * (Why two and four: where 32 want 16 variants in any order there are about 30 compiles, and not many more where all want the same
 * one at a time. With more in the first round the latter are more, with fewer the former are. bench/single_flight.c has both.)
 *
 * Who waits for the very lease that he needs, and sees its second holder end without being served, goes on without it: what they
 * compile isn't stored, or not for him, and those who want it would go one after the other.
 */
#include "store/turn.h"

#include "base/system/clock.h"
#include "store/flights.h"
#include "store/state/state.h"

#define ROUNDS 2
static size_t const begin_at_once[ROUNDS] = { 2, 4 };

/* A round that takes less than this part of a flight is short. */
#define SHORT_PART 8

/* How soon the end of a flight is noticed: within a small part of what was waited, and soon for people. */
#define PAUSE_LEAST_NS UINT64_C(200000)
#define PAUSE_MOST_NS UINT64_C(10000000)
#define PAUSE_PART 16
/* After so many it looks whether somebody has died. */
#define LOOKS_TO_BURY 8

typedef struct waiting {
    gci_store *store;
    gci_turn const *turn;
    size_t round;
    bool had_short;      /* one that didn't count */
    gci_flights awaited; /* in this round; none: it has yet to begin */
    uint64_t awaited_ns; /* since when */
    gci_flights seen;    /* latest */
    size_t ended;        /* holders of the very lease */
    size_t looks;
    uint64_t start_ns;
    gci_pauses pauses;
} waiting;

/* The flights that were awaited have ended. That was no news if nearly all of the newest had gone by before: those that have begun
   since are so young that the next round counts. */
static void
end_round(waiting *w)
{
    uint64_t now = gci_clock_wall_ns(), newest = 0;

    for (size_t i = 0; i < w->awaited.count; i++)
        newest = w->awaited.items[i].start_ns > newest ? w->awaited.items[i].start_ns : newest;
    bool is_short = now > newest && w->awaited_ns > newest && now - w->awaited_ns < (now - newest) / SHORT_PART;
    if (is_short && !w->had_short)
        w->had_short = true;
    else
        w->round++;
    w->awaited.count = 0;
}

/* Looks around. true: a flight has ended since, which may serve this caller. */
static bool
look_around(waiting *w)
{
    gci_flights before = w->seen;

    gci_flights_list(w->store, w->turn->key, &w->seen);
    if (w->awaited.count != 0 && gci_flights_left(&w->awaited, &w->seen) == 0)
        end_round(w);
    w->ended += gci_flights_ended(w->store, w->turn->key, &before, &w->seen, w->turn->name);
    return gci_flights_left(&before, &w->seen) < before.count;
}

/* Begins, if it may. ERROR_BUSY: not yet. */
static gcache_status
begin(waiting *w, gci_lease **out_lease, gcache_error *error)
{
    size_t most = w->round < ROUNDS ? begin_at_once[w->round] : SIZE_MAX;

    if (w->seen.count >= most)
        return GCACHE_ERROR_BUSY;
    return gci_flight_begin(w->store, w->turn->key, w->turn->name, most, out_lease, error);
}

static void
begin_to_wait(waiting *w)
{
    w->awaited = w->seen;
    w->awaited_ns = gci_clock_wall_ns();
    gci_flights_drop_stored(w->store, w->turn->key, &w->awaited);
}

/* false: it has waited for too long. */
static bool
wait_a_little(waiting *w)
{
    uint64_t nap = (gci_clock_steady_ns() - w->start_ns) / PAUSE_PART;

    if (w->looks++ == 0)
        gci_store_count(w->store, GCI_COUNT_LEASE_WAITS, 1);
    if (w->awaited.count == 0)
        begin_to_wait(w);
    if (w->looks % LOOKS_TO_BURY == 0)
        gci_flights_bury(w->store, w->turn->key, &w->seen);
    w->pauses.next_ns = nap < PAUSE_LEAST_NS ? PAUSE_LEAST_NS : nap < PAUSE_MOST_NS ? nap : PAUSE_MOST_NS;
    return gci_clock_pause(&w->pauses);
}

gcache_status
gci_turn_take(gci_store *store, gci_turn const *turn, gci_lease **out_lease, bool *out_waited, gcache_error *error)
{
    waiting w = { .store = store, .turn = turn, .start_ns = gci_clock_steady_ns(),
                  .pauses = gci_pauses_with(PAUSE_LEAST_NS, PAUSE_MOST_NS, &turn->patience) };

    *out_lease = NULL;
    *out_waited = false;
    gci_store_enter(store);
    if (turn->at_once)
        w.round = ROUNDS;
    for (;;) {
        if (look_around(&w) && turn->is_served(turn->state))
            return GCACHE_HIT;
        gcache_status status = begin(&w, out_lease, error);
        if (status != GCACHE_ERROR_BUSY)
            return status;
        if (w.ended >= GCI_HOLDERS_AWAITED)
            return GCACHE_MISS;
        bool waits = turn->patience.wait_ns != 0;
        *out_waited |= waits;
        if (!waits || !wait_a_little(&w))
            return gci_fail(error, GCACHE_ERROR_BUSY, "somebody else has been compiling the same for %.1f s",
                            (double)(gci_clock_steady_ns() - w.start_ns) / 1e9);
    }
}
