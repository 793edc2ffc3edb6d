/* Leases of a whole fleet, and the thread that keeps them: see fleet_lease.h. */
#include "cache/tiers/fleet_lease.h"

#include "base/digest.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "cache/handle/fork_mutex.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* Kept so often in its time that two messages may be lost. */
#define KEEPS 4

struct gci_fleet_lease {
    gci_fleet_lease *next;
    gci_keeper *keeper;
    gci_tier *tier;
    gcache_tier_lease lease;
    pid_t process;
    uint64_t due_ns;  /* when it is to be kept */
    bool busy;        /* the thread is at it */
    bool lost;
};

struct gci_keeper {
    gci_fork_mutex mutex;
    pthread_cond_t changed;
    gci_fleet_lease *first;
    bool is_running, is_ending;
    pthread_t thread;
};

/* ---- keeping ---- */

static void
lock(gci_keeper *k)
{
    if (!gci_fork_mutex_lock(&k->mutex))
        return;
    /* A forked child: what is listed is its parent's. */
    k->first = NULL;
    k->is_running = k->is_ending = false;
    pthread_cond_init(&k->changed, NULL);
}

static void
unlock(gci_keeper *k)
{
    gci_fork_mutex_unlock(&k->mutex);
}

/* Trouble is no loss: the next time it may be heard of again, before it has run out. */
static bool
keep(gci_fleet_lease const *lease)
{
    gci_asking asking;
    gcache_tier_answer answer = GCACHE_TIER_TROUBLE;

    if (gci_asking_begin(&asking, lease->tier, GCI_ASK_TO_AGREE, 0))
        answer = GCI_ASK(&asking, keep, &lease->lease);
    gci_asking_end(&asking);
    return answer != GCACHE_TIER_MISS;
}

/* The one that is due first; NULL: there is none. */
static gci_fleet_lease *
first_due(gci_keeper *k)
{
    gci_fleet_lease *first = NULL;

    for (gci_fleet_lease *lease = k->first; lease != NULL; lease = lease->next) {
        if (!lease->lost && (first == NULL || lease->due_ns < first->due_ns))
            first = lease;
    }
    return first;
}

static void
keep_one(gci_keeper *k, gci_fleet_lease *lease)
{
    lease->busy = true;
    unlock(k);
    bool kept = keep(lease);
    lock(k);
    lease->busy = false;
    lease->lost = !kept;
    lease->due_ns = gci_clock_steady_ns() + lease->lease.ttl_ns / KEEPS;
    pthread_cond_broadcast(&k->changed);
}

static void *
keep_all(void *state)
{
    gci_keeper *k = state;

    lock(k);
    while (!k->is_ending) {
        gci_fleet_lease *lease = first_due(k);
        uint64_t now = gci_clock_steady_ns();
        if (lease == NULL) {
            pthread_cond_wait(&k->changed, &k->mutex.mutex);
        } else if (lease->due_ns > now) {
            struct timespec until = gci_clock_deadline(lease->due_ns - now);
            pthread_cond_timedwait(&k->changed, &k->mutex.mutex, &until);
        } else {
            keep_one(k, lease);
        }
    }
    unlock(k);
    return NULL;
}

static bool
start(gci_keeper *k)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    k->is_running = pthread_create(&k->thread, NULL, keep_all, k) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return k->is_running;
}

static bool
add(gci_keeper *k, gci_fleet_lease *lease)
{
    lock(k);
    bool kept = k->is_running || start(k);
    if (kept) {
        lease->next = k->first;
        k->first = lease;
        pthread_cond_broadcast(&k->changed);
    }
    unlock(k);
    return kept;
}

static void
drop(gci_fleet_lease *lease)
{
    gci_keeper *k = lease->keeper;

    lock(k);
    while (lease->busy)
        pthread_cond_wait(&k->changed, &k->mutex.mutex);
    for (gci_fleet_lease **at = &k->first; *at != NULL; at = &(*at)->next) {
        if (*at == lease) {
            *at = lease->next;
            break;
        }
    }
    unlock(k);
}

/* ---- taking and giving back ---- */

static gci_tier *
tier_with_leases(gci_tiers const *tiers)
{
    for (size_t i = 0; i < tiers->count; i++) {
        gci_tier *tier = tiers->items[i];
        if (!tier->read_only && tier->functions->lease != NULL)
            return tier;
    }
    return NULL;
}

static gci_fleet_lease *
new_lease(gcache *cache, gci_tier *tier, gcache_key const *key, gci_view name)
{
    gci_fleet_lease *lease = calloc(1, sizeof *lease);
    uint8_t hash[GCI_SHA256_BYTES];

    if (lease == NULL || !gci_sha256(name, hash)) {
        free(lease);
        return NULL;
    }
    lease->keeper = cache->tiers->keeper;
    lease->tier = tier;
    lease->process = getpid();
    lease->lease = (gcache_tier_lease){ .key = *key, .ttl_ns = tier->lease_ns };
    gci_hex(hash, sizeof hash, lease->lease.name);
    snprintf(lease->lease.holder, sizeof lease->lease.holder, "%016llx%016llx", (unsigned long long)gci_unique_number(),
             (unsigned long long)gci_unique_number());
    return lease;
}

static gcache_tier_answer
ask_for(gci_fleet_lease *lease)
{
    gci_asking asking;
    gcache_tier_answer answer = GCACHE_TIER_TROUBLE;

    if (gci_asking_begin(&asking, lease->tier, GCI_ASK_TO_WRITE, 0))
        answer = GCI_ASK(&asking, lease, &lease->lease);
    gci_asking_end(&asking);
    return answer;
}

gcache_tier_answer
gci_fleet_lease_take(gcache *cache, gcache_key const *key, gci_view name, gci_fleet_lease **out_lease)
{
    gci_tier *tier = cache->tiers != NULL && cache->tiers->keeper != NULL ? tier_with_leases(cache->tiers) : NULL;
    gci_fleet_lease *lease = tier != NULL ? new_lease(cache, tier, key, name) : NULL;

    *out_lease = NULL;
    if (lease == NULL)
        return GCACHE_TIER_TROUBLE;
    gcache_tier_answer answer = ask_for(lease);
    lease->due_ns = gci_clock_steady_ns() + lease->lease.ttl_ns / KEEPS;
    if (answer == GCACHE_TIER_HIT && add(lease->keeper, lease))
        *out_lease = lease;
    else
        free(lease);
    return answer;
}

void
gci_fleet_lease_release(gci_fleet_lease *lease)
{
    gci_asking asking;

    if (lease == NULL)
        return;
    if (lease->process == getpid()) {
        drop(lease);
        if (gci_asking_begin(&asking, lease->tier, GCI_ASK_TO_AGREE, 0))
            GCI_ASK(&asking, release, &lease->lease);
        gci_asking_end(&asking);
    }
    free(lease);
}

gci_tier const *
gci_fleet_lease_fence(gci_fleet_lease const *lease, gcache_tier_lease *out_fence)
{
    *out_fence = lease->lease;
    return lease->tier;
}

/* ---- life ---- */

gci_keeper *
gci_keeper_new(void)
{
    gci_keeper *k = calloc(1, sizeof *k);

    if (k == NULL || !gci_fork_mutex_init(&k->mutex)) {
        free(k);
        return NULL;
    }
    pthread_cond_init(&k->changed, NULL);
    return k;
}

void
gci_keeper_free(gci_keeper *keeper)
{
    if (keeper == NULL)
        return;
    lock(keeper);
    bool running = keeper->is_running;
    keeper->is_ending = true;
    pthread_cond_broadcast(&keeper->changed);
    unlock(keeper);
    if (running)
        pthread_join(keeper->thread, NULL);
    gci_fork_mutex_destroy(&keeper->mutex);
    free(keeper);
}
