/*
 * Flights: the leases that are held on one key, each by somebody who compiles it for shapes of his own. Before the compile nobody
 * knows which other shapes it will serve; so whoever wants the key sees here who is at it, and that not too many are.
 *
 * Invariants:
 *  1. A flight is a file of locks/leases whose name begins with the digits of its key (lease.h).
 *  2. Who looks how many there are and begins one more does so under locks/flights.
 */
#ifndef GCI_STORE_FLIGHTS_H
#define GCI_STORE_FLIGHTS_H

#include "store/lease.h"

/* What is beyond isn't seen: so many are too many anyway. */
#define GCI_FLIGHTS_MAX 64

/* A file, its name and its date: the next one with that name is another flight, and one that has stored has ended. */
typedef struct gci_flight {
    uint64_t name, inode;
    uint64_t start_ns; /* by the wall clock, to within milliseconds; of one that has stored, when it did */
} gci_flight;

typedef struct gci_flights {
    uint64_t folder_ns; /* when names in the folder were changed; 0: they may be changing */
    size_t count;
    gci_flight items[GCI_FLIGHTS_MAX];
} gci_flights;

/* Lists those that are under way; *flights is what was listed before, or zeros. A folder that can't be read has none. */
void gci_flights_list(gci_store *store, gcache_key const *key, gci_flights *flights);
/* How many of `before` are still among `now`. */
size_t gci_flights_left(gci_flights const *before, gci_flights const *now);
/* Whether the lease called name, which begins with the key, was held `before` and by `now` was given back, or lost by a death. */
bool gci_flights_ended(gci_store *store, gcache_key const *key, gci_flights const *before, gci_flights const *now, gci_view name);
/* Leaves those out that have stored what they compiled: who waited for them would wait for nothing. */
void gci_flights_drop_stored(gci_store *store, gcache_key const *key, gci_flights *flights);
/* Removes what dead holders have left of them. */
void gci_flights_bury(gci_store *store, gcache_key const *key, gci_flights const *flights);

/*
 * Takes the lease called name, which begins with the key, if fewer than `most` flights are under way; waits for nobody.
 * ERROR_BUSY: there are as many, or somebody holds this very lease. Else as gci_lease_take.
 */
gcache_status gci_flight_begin(gci_store *store, gcache_key const *key, gci_view name, size_t most, gci_lease **out_lease,
                               gcache_error *error);

#endif
