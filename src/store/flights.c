/* Flights: the leases that are held on one key. See flights.h. */
#include "store/flights.h"

#include "base/system/clock.h"
#include "store/directory/layout.h"
#include "store/processes/locks.h"
#include "store/state/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Looking takes microseconds: who has had the lock for so long has been stopped, and one compile more does less harm. */
#define LOOK_WAIT_NS UINT64_C(100000000)
/* Dates of files are of the latest tick. */
#define DATE_STEP_NS UINT64_C(20000000)
#define FOLDER "locks/leases/"

/* ---- who is at it ---- */

typedef struct listing {
    gci_store *store;
    char const *prefix;
    size_t prefix_size;
    gci_flights *flights;
} listing;

static int
note(void *state, char const *name)
{
    listing *l = state;
    struct stat facts;
    gci_path path;

    if (strncmp(name, l->prefix, l->prefix_size) != 0)
        return 0;
    snprintf(path.text, sizeof path.text, FOLDER "%s", name);
    /* An empty one is only just being taken. */
    if (gci_dir_stat(l->store->directory, path.text, &facts, NULL) == GCACHE_OK && facts.st_size != 0)
        l->flights->items[l->flights->count++] =
            (gci_flight){ strtoull(name + l->prefix_size, NULL, 16), (uint64_t)facts.st_ino, gci_timespec_ns(facts.st_mtim) };
    return l->flights->count == GCI_FLIGHTS_MAX;
}

/* When the names were changed; 0: so recently that the next change may leave the same date. */
static uint64_t
date_of_folder(gci_store *store)
{
    struct stat facts;

    if (gci_dir_stat(store->directory, "locks/leases", &facts, NULL) != GCACHE_OK)
        return 0;
    uint64_t changed = gci_timespec_ns(facts.st_mtim), now = gci_clock_wall_ns();
    return now > changed && now - changed > DATE_STEP_NS ? changed : 0;
}

void
gci_flights_list(gci_store *store, gcache_key const *key, gci_flights *flights)
{
    uint64_t date = date_of_folder(store);
    gci_path stem = gci_lease_stem(key);
    listing l = { store, stem.text + strlen(FOLDER), strlen(stem.text) - strlen(FOLDER), flights };

    if (date != 0 && date == flights->folder_ns)
        return;
    flights->folder_ns = date;
    flights->count = 0;
    gci_dir_each(store->directory, "locks/leases", note, &l, NULL);
}

static bool
has(gci_flights const *flights, gci_flight const *flight)
{
    for (size_t i = 0; i < flights->count; i++) {
        gci_flight const *other = &flights->items[i];
        if (other->name == flight->name && other->inode == flight->inode && other->start_ns == flight->start_ns)
            return true;
    }
    return false;
}

size_t
gci_flights_left(gci_flights const *before, gci_flights const *now)
{
    size_t left = 0;

    for (size_t i = 0; i < before->count; i++)
        left += has(now, &before->items[i]);
    return left;
}

static gci_path
path_of(gcache_key const *key, gci_flight const *flight)
{
    gci_path stem = gci_lease_stem(key), path;

    snprintf(path.text, sizeof path.text, "%.64s%016llx", stem.text, (unsigned long long)flight->name);
    return path;
}

static gci_flight const *
find(gci_flights const *flights, uint64_t name)
{
    for (size_t i = 0; i < flights->count; i++) {
        if (flights->items[i].name == name)
            return &flights->items[i];
    }
    return NULL;
}

bool
gci_flights_ended(gci_store *store, gcache_key const *key, gci_flights const *before, gci_flights const *now, gci_view name)
{
    uint64_t number = gci_lease_number(name);
    gci_flight const *then = find(before, number), *next = find(now, number);

    if (then == NULL || has(now, then))
        return false;
    if (next == NULL || next->inode != then->inode)
        return true;
    /* The same file with a new date: its holder has stored, and is about to end. Or another one's that has got its number. */
    gci_path path = path_of(key, next);
    return !gci_lease_has_stored(store, &path);
}

void
gci_flights_drop_stored(gci_store *store, gcache_key const *key, gci_flights *flights)
{
    size_t kept = 0;

    for (size_t i = 0; i < flights->count; i++) {
        gci_path path = path_of(key, &flights->items[i]);
        if (!gci_lease_has_stored(store, &path))
            flights->items[kept++] = flights->items[i];
    }
    flights->count = kept;
}

void
gci_flights_bury(gci_store *store, gcache_key const *key, gci_flights const *flights)
{
    for (size_t i = 0; i < flights->count; i++) {
        gci_path path = path_of(key, &flights->items[i]);
        gci_lease_bury(store, &path);
    }
}

/* ---- one more ---- */

gcache_status
gci_flight_begin(gci_store *store, gcache_key const *key, gci_view name, size_t most, gci_lease **out_lease,
                 gcache_error *error)
{
    gci_file lock = GCI_FILE_NONE;
    gci_flights flights = { 0 };
    bool waited;

    *out_lease = NULL;
    gci_store_enter(store);
    if (!store->read_only)
        gci_lock_take(store->directory, "locks/flights", GCI_LOCK_EXCLUSIVE, LOOK_WAIT_NS, &lock, NULL);
    gci_flights_list(store, key, &flights);
    gcache_status status = flights.count >= most ? gci_fail(error, GCACHE_ERROR_BUSY, "%zu others compile", flights.count)
                                                 : gci_lease_take(store, name, 0, out_lease, &waited, error);
    gci_file_unlock_and_close(&lock);
    return status;
}
