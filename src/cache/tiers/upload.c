/* The queue of entries on their way to tiers, and the thread that empties it: see upload.h. */
#include "cache/tiers/upload.h"

#include "base/system/clock.h"
#include "cache/handle/fork_mutex.h"
#include "cache/tiers/parcel.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* How often it looks whether a tier that was in trouble may be asked again. */
#define LOOK_AGAIN_NS UINT64_C(50000000)

typedef struct upload {
    struct upload *next;
    gcache_key key;
    char id[GCACHE_ENTRY_ID_SIZE];
    unsigned tiers; /* that don't have it yet, a bit each */
    gci_fleet_lease *lease; /* it was compiled under; NULL: none, or released */
    gci_tier const *fencing;  /* the lease's tier, also when it is released; NULL: there was none */
    gcache_tier_lease fence;
    gci_arrival arrival;      /* to be stored; set NULL: it is stored */
    bool is_object;           /* not an entry: this is to be published, or taken away */
    bool is_removal;
    gcache_object object;
    gci_buf bytes;            /* its */
} upload;

typedef struct list {
    upload *first, **end;
    size_t count;
} list;

struct gci_uploads {
    gcache *cache;
    gci_fork_mutex mutex;
    pthread_cond_t arrived; /* for the thread: something to do, or the end */
    pthread_cond_t moved;   /* for those who wait: something was done */
    list fresh, late;       /* not offered yet; offered to a tier in trouble */
    upload *current;        /* what the thread is at */
    size_t arrived_bytes;   /* of what is to be stored */
    bool is_running, is_ending;
    pthread_t thread;
    gcache_error trouble;   /* the latest */
    gcache_error troubles[GCI_TIERS_MAX]; /* the latest of each tier */
    unsigned impatient;     /* who wait for what is fresh alone: late ones aren't tried again meanwhile */
    size_t turned_away;     /* for want of room, since a flush has told of it */
};

/* ---- lists ---- */

static void
list_init(list *l)
{
    *l = (list){ .end = &l->first };
}

static void
list_append(list *l, upload *item)
{
    item->next = NULL;
    *l->end = item;
    l->end = &item->next;
    l->count++;
}

static upload *
list_take(list *l)
{
    upload *item = l->first;

    if (item == NULL)
        return NULL;
    l->first = item->next;
    if (l->first == NULL)
        l->end = &l->first;
    l->count--;
    return item;
}

static void
free_upload(upload *item)
{
    if (item == NULL)
        return;
    gci_arrival_clear(&item->arrival);
    gci_buf_clear(&item->bytes);
    free(item);
}

static void
list_clear(list *l)
{
    for (upload *item; (item = list_take(l)) != NULL;)
        free_upload(item);
}

/* ---- the mutex ---- */

static void
lock(gci_uploads *u)
{
    if (!gci_fork_mutex_lock(&u->mutex))
        return;
    /* A forked child: the parent goes on with what it had, and its thread isn't here. */
    list_clear(&u->fresh);
    list_clear(&u->late);
    free_upload(u->current);
    u->current = NULL;
    u->arrived_bytes = 0;
    u->is_running = u->is_ending = false;
    pthread_cond_init(&u->arrived, NULL);
    pthread_cond_init(&u->moved, NULL);
}

static void
unlock(gci_uploads *u)
{
    gci_fork_mutex_unlock(&u->mutex);
}

static void
wait_for(gci_uploads *u, pthread_cond_t *condition, uint64_t wait_ns)
{
    struct timespec until = gci_clock_deadline(wait_ns);

    pthread_cond_timedwait(condition, &u->mutex.mutex, &until);
}

/* ---- offering ---- */

/* Without the lock. That a tier is left alone says less than why. */
static void
note_trouble(gci_uploads *u, size_t tier, gci_asking const *asking)
{
    lock(u);
    if (!asking->left_alone || u->troubles[tier].status == GCACHE_OK)
        gci_fail(&u->troubles[tier], GCACHE_ERROR_BUSY, "%s: %s", asking->tier->shown, asking->call.message);
    u->trouble = u->troubles[tier];
    unlock(u);
}

/* Trouble names its tier, and so does the line. */
static char const *
without_name(char const *why, char const *shown)
{
    size_t size = strlen(shown);

    return strncmp(why, shown, size) == 0 && strncmp(why + size, ": ", 2) == 0 ? why + size + 2 : why;
}

/* why NULL: each tier's own trouble. */
static void
give_up(gci_uploads *u, upload const *item, char const *why)
{
    gci_tiers *tiers = u->cache->tiers;
    gcache_options const *options = &u->cache->options;
    char line[GCACHE_TIER_MESSAGE_SIZE + 128];

    for (size_t i = 0; i < tiers->count; i++) {
        if ((item->tiers & 1U << i) == 0 || item->is_removal)
            continue;
        gci_tier_add(tiers->items[i], GCACHE_TIER_COUNT_NOT_PUBLISHED, 1);
        char const *shown = tiers->items[i]->shown;
        char const *trouble = u->troubles[i].status != GCACHE_OK ? u->troubles[i].message : "the cache was closed too soon";
        snprintf(line, sizeof line, "%s%s didn't reach %s: %s", item->is_object ? "a tuning result" : "entry ", item->id, shown,
                 without_name(why != NULL ? why : trouble, shown));
        if (options->log != NULL)
            options->log(options->log_state, line);
    }
}

/* One that is no entry's. */
static void
offer_object(gci_uploads *u, upload *item)
{
    gci_tiers *tiers = u->cache->tiers;
    gci_asking asking;

    item->object.bytes = item->bytes.data;
    item->object.size = item->bytes.size;
    for (size_t i = 0; i < tiers->count; i++) {
        gcache_tier_answer answer = GCACHE_TIER_TROUBLE;
        if ((item->tiers & 1U << i) == 0)
            continue;
        if (gci_asking_begin(&asking, tiers->items[i], GCI_ASK_TO_WRITE, item->bytes.size))
            answer = item->is_removal ? GCI_ASK(&asking, remove, &item->object, 1) : GCI_ASK(&asking, publish, &item->object, 1);
        gci_asking_end(&asking);
        if (answer == GCACHE_TIER_TROUBLE)
            note_trouble(u, i, &asking);
        else
            item->tiers &= ~(1U << i);
    }
}

/* Without the lock. Bits of tiers that have it now, or never will, are cleared. */
static void
offer(gci_uploads *u, upload *item)
{
    gcache_error trouble = { 0 };
    gci_tiers *tiers = u->cache->tiers;
    gci_parcel parcel;
    gci_asking asking;

    gci_arrival_store(u->cache, &item->arrival);
    if (item->is_object)
        offer_object(u, item);
    if (item->tiers == 0 || item->is_object)
        return;
    gci_found found = gci_parcel_pack(&parcel, u->cache->store, &item->key, item->id, &trouble);
    if (found != GCI_FOUND)
        give_up(u, item, found == GCI_ABSENT || found == GCI_EVICTED ? "it isn't stored here any more" : trouble.message);
    unsigned wanted = found == GCI_FOUND ? item->tiers : 0;
    item->tiers = 0;
    for (size_t i = 0; i < tiers->count; i++) {
        if ((wanted & 1U << i) == 0)
            continue;
        gcache_tier_lease const *fence = tiers->items[i] == item->fencing ? &item->fence : NULL;
        gcache_tier_answer answer = gci_parcel_publish(&parcel, tiers->items[i], fence, &asking);
        if (answer == GCACHE_TIER_TROUBLE) {
            item->tiers |= 1U << i;
            note_trouble(u, i, &asking);
        } else if (answer == GCACHE_TIER_MISS) {
            upload refused = *item;
            refused.tiers = 1U << i;
            give_up(u, &refused, asking.call.message);
        }
    }
    gci_parcel_clear(&parcel);
    /* Those who wait find it now, or compile it themselves: a tier in trouble isn't waited for with a lease in hand. */
    gci_fleet_lease_release(item->lease);
    item->lease = NULL;
}

/* Whether one of the tiers that late ones wait for may be asked again. */
static bool
may_try_again(gci_uploads *u)
{
    gci_tiers *tiers = u->cache->tiers;
    uint64_t now = gci_clock_steady_ns();
    unsigned waited_for = 0;

    for (upload const *item = u->late.first; item != NULL; item = item->next)
        waited_for |= item->tiers;
    for (size_t i = 0; i < tiers->count; i++) {
        if ((waited_for & 1U << i) != 0 && atomic_load(&tiers->items[i]->writing.until_ns) <= now)
            return true;
    }
    return false;
}

/* The next one to offer; NULL: none, and it is the end. */
static upload *
next(gci_uploads *u)
{
    for (;;) {
        upload *item = list_take(&u->fresh);
        if (item != NULL)
            return item;
        if (u->is_ending)
            return NULL;
        if (u->late.count != 0 && u->impatient == 0 && may_try_again(u))
            return list_take(&u->late);
        if (u->late.count != 0)
            wait_for(u, &u->arrived, LOOK_AGAIN_NS);
        else
            pthread_cond_wait(&u->arrived, &u->mutex.mutex);
    }
}

static void *
work(void *state)
{
    gci_uploads *u = state;

    lock(u);
    while ((u->current = next(u)) != NULL) {
        upload *item = u->current;
        unlock(u);
        offer(u, item);
        lock(u);
        u->current = NULL;
        u->arrived_bytes -= gci_arrival_size(&item->arrival);
        gci_arrival_clear(&item->arrival);
        if (item->tiers != 0) {
            list_append(&u->late, item);
        } else {
            free_upload(item);
        }
        pthread_cond_broadcast(&u->moved);
    }
    unlock(u);
    return NULL;
}

/* Signals are for the threads of the program. */
static bool
start(gci_uploads *u)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    u->is_running = pthread_create(&u->thread, NULL, work, u) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return u->is_running;
}

/* ---- queueing ---- */

/* Without the lock. false: there is no room, or no thread. */
static bool
queue(gci_uploads *u, upload *item)
{
    size_t bytes = gci_arrival_size(&item->arrival);

    lock(u);
    bool room = u->fresh.count + u->late.count < GCI_UPLOADS_MAX && u->arrived_bytes + bytes <= GCI_ARRIVED_BYTES_MAX &&
                (u->is_running || start(u));
    if (room) {
        u->arrived_bytes += bytes;
        list_append(&u->fresh, item);
        pthread_cond_signal(&u->arrived);
    }
    u->turned_away += !room && item->arrival.set == NULL;
    unlock(u);
    return room;
}

void
gci_uploads_store(gci_uploads *uploads, gci_arrival *arrival)
{
    upload *item = calloc(1, sizeof *item);

    if (item != NULL)
        item->arrival = *arrival;
    if (item == NULL || !queue(uploads, item)) {
        free(item);
        gci_arrival_store(uploads->cache, arrival);
        gci_arrival_clear(arrival);
    }
    arrival->set = NULL;
}

void
gci_uploads_publish(gci_uploads *uploads, gcache_object const *object, gci_buf *bytes, unsigned tiers)
{
    upload *item = tiers != 0 ? calloc(1, sizeof *item) : NULL;

    if (item == NULL)
        return;
    *item = (upload){ .tiers = tiers, .is_object = true, .object = *object, .bytes = *bytes };
    gci_buf_init(bytes, 0);
    if (!queue(uploads, item))
        free_upload(item);
}

void
gci_uploads_remove(gci_uploads *uploads, gcache_object const *object, unsigned tiers)
{
    upload *item = tiers != 0 ? calloc(1, sizeof *item) : NULL;

    if (item == NULL)
        return;
    *item = (upload){ .tiers = tiers, .is_object = true, .is_removal = true, .object = *object };
    if (!queue(uploads, item))
        free_upload(item);
}

void
gci_uploads_add(gci_uploads *uploads, gcache_key const *key, char const *id, unsigned tiers, gci_fleet_lease *lease)
{
    upload *item = tiers != 0 ? calloc(1, sizeof *item) : NULL;

    if (item == NULL) {
        gci_fleet_lease_release(lease);
        return;
    }
    *item = (upload){ .key = *key, .tiers = tiers, .lease = lease };
    if (lease != NULL)
        item->fencing = gci_fleet_lease_fence(lease, &item->fence);
    snprintf(item->id, sizeof item->id, "%s", id);
    if (!queue(uploads, item)) {
        give_up(uploads, item, "too many are waiting");
        gci_fleet_lease_release(item->lease);
        free(item);
    }
}

gcache_status
gci_uploads_flush(gci_uploads *uploads, uint64_t wait_ns, bool patient, gcache_error *error)
{
    uint64_t end = gci_clock_steady_ns() + wait_ns, now = end - wait_ns;

    lock(uploads);
    uploads->impatient += !patient;
    while ((uploads->fresh.count != 0 || uploads->current != NULL || (patient && uploads->late.count != 0)) && now < end) {
        wait_for(uploads, &uploads->moved, end - now);
        now = gci_clock_steady_ns();
    }
    uploads->impatient -= !patient;
    size_t left = uploads->fresh.count + uploads->late.count + (uploads->current != NULL);
    size_t turned_away = uploads->turned_away;
    gcache_error trouble = uploads->trouble;
    if (left == 0)
        uploads->turned_away = 0;
    unlock(uploads);
    if (left == 0 && turned_away != 0)
        return gci_fail(error, GCACHE_ERROR_BUSY, "%zu were given up: too many were on their way to tiers", turned_away);
    if (left == 0)
        return GCACHE_OK;
    return gci_fail(error, GCACHE_ERROR_BUSY, "%zu on their way to tiers: %s", left,
                    trouble.status != GCACHE_OK ? trouble.message : "not all in time");
}

/* ---- life ---- */

gci_uploads *
gci_uploads_new(gcache *cache)
{
    gci_uploads *u = calloc(1, sizeof *u);

    if (u == NULL || !gci_fork_mutex_init(&u->mutex)) {
        free(u);
        return NULL;
    }
    u->cache = cache;
    list_init(&u->fresh);
    list_init(&u->late);
    pthread_cond_init(&u->arrived, NULL);
    pthread_cond_init(&u->moved, NULL);
    return u;
}

static void
give_up_all(gci_uploads *u, list *l)
{
    for (upload *item; (item = list_take(l)) != NULL; free(item)) {
        gci_fleet_lease_release(item->lease);
        gci_arrival_clear(&item->arrival);
        give_up(u, item, NULL);
    }
}

void
gci_uploads_free(gci_uploads *uploads, uint64_t wait_ns)
{
    if (uploads == NULL)
        return;
    gci_uploads_flush(uploads, wait_ns, false, NULL);
    lock(uploads);
    bool running = uploads->is_running;
    uploads->is_ending = true;
    list unsent = uploads->fresh;
    if (unsent.first == NULL)
        unsent.end = &unsent.first;
    list_init(&uploads->fresh);
    pthread_cond_signal(&uploads->arrived);
    unlock(uploads);
    if (running)
        pthread_join(uploads->thread, NULL);
    give_up_all(uploads, &unsent);
    give_up_all(uploads, &uploads->late);
    gci_fork_mutex_destroy(&uploads->mutex);
    free(uploads);
}
