/* Shared figures of what a cache takes, and the process slots with what inserts have reserved. */
#include "store/state/usage.h"

#include "base/system/clock.h"
#include "base/digest.h"
#include "store/directory/process.h"
#include "store/state/state.h"

#include <string.h>

/* Looking through the slots takes microseconds; a judgement some ten more. */
#define SLOTS_WAIT_NS UINT64_C(1000000000)

void
gci_usage_init(gci_usage *usage)
{
    *usage = (gci_usage){ .slot = NULL };
    pthread_mutex_init(&usage->mutex, NULL);
}

/* ---- counting ---- */

/* `added` first: who counts files meanwhile would rather have it twice than not at all. */
void
gci_count_bytes(gci_store *store, uint64_t bytes)
{
    gci_shared_head *head = store->shared.head;

    gci_word_add(&head->added, (int64_t)bytes);
    gci_word_add(&head->bytes, (int64_t)bytes);
}

uint64_t
gci_count_moment(gci_store *store)
{
    return atomic_load(store->shared.counts);
}

void
gci_count_begin(gci_store *store)
{
    atomic_fetch_add(store->shared.counts, 1);
}

/* Not from a figure that was set since: then what went may not have been in it. */
static void
subtract(gci_store *store, uint64_t moment, uint64_t bytes)
{
    gci_word *word = &store->shared.head->bytes;
    uint64_t bits = atomic_load(word), value, wanted;

    do {
        if (!gci_word_read(bits, &value) || gci_count_moment(store) != moment)
            return;
        wanted = gci_word_of(value > bytes ? value - bytes : 0);
    } while (!atomic_compare_exchange_weak(word, &bits, wanted));
}

void
gci_count_change(gci_store *store, uint64_t moment, uint64_t before, uint64_t after)
{
    if (after >= before)
        gci_count_bytes(store, after - before);
    else
        subtract(store, moment, before - after);
}

void
gci_count_entries(gci_store *store, int64_t difference)
{
    gci_word_add(&store->shared.head->entries, difference);
}

void
gci_count_keys(gci_store *store, int64_t difference)
{
    gci_word_add(&store->shared.head->keys, difference);
}

uint64_t
gci_usage_bytes(gci_store *store)
{
    return gci_word_value(&store->shared.head->bytes);
}

/* ---- slots ---- */

static uint64_t
check_of(gci_process const *owner)
{
    return gci_hash64(owner, sizeof *owner, 1);
}

/* false: the slot is damaged, or being claimed. */
static bool
read_owner(gci_process_slot const *slot, gci_process *out_owner)
{
    *out_owner = (gci_process){ atomic_load(&slot->number), atomic_load(&slot->start), atomic_load(&slot->boot),
                                atomic_load(&slot->names) };
    return atomic_load(&slot->check) == check_of(out_owner);
}

static void
write_owner(gci_process_slot *slot, gci_process const *owner)
{
    gci_word_set(&slot->reserved, 0);
    atomic_store(&slot->start, owner->start);
    atomic_store(&slot->boot, owner->boot);
    atomic_store(&slot->names, owner->names);
    atomic_store(&slot->check, check_of(owner));
    atomic_store(&slot->number, owner->number);
}

static void
free_slot(gci_process_slot *slot)
{
    gci_word_set(&slot->reserved, 0);
    atomic_store(&slot->number, 0);
}

static bool
is_ours(gci_process_slot const *slot)
{
    gci_process owner;

    if (slot == NULL || !read_owner(slot, &owner))
        return false;
    gci_process we = gci_process_ourselves();
    return memcmp(&owner, &we, sizeof we) == 0;
}

static uint32_t
slots_used(gci_shared const *shared)
{
    uint64_t count;

    /* A new table has zeros; whoever claims the first slot sets it right. */
    if (atomic_load(&shared->head->process_count) == 0)
        return 0;
    return gci_word_get(&shared->head->process_count, &count) && count < shared->process_slots ? (uint32_t)count
                                                                                              : shared->process_slots;
}

static bool
lock_slots(gci_store *store, gci_file *out_lock)
{
    return gci_lock_take(store->directory, "locks/generations", GCI_LOCK_EXCLUSIVE, SLOTS_WAIT_NS, out_lock, NULL) ==
           GCACHE_OK;
}

/* Whether a slot's owner has died. The table is never shared with another machine: another boot was an earlier one. */
static bool
is_dead(gci_process_slot const *slot)
{
    gci_process owner;

    if (!read_owner(slot, &owner))
        return false;
    gci_process_state state = gci_process_judge(&owner);
    return state == GCI_PROCESS_DEAD || state == GCI_PROCESS_OTHER_BOOT;
}

/* The first free slot, or a dead owner's that reserved nothing. Notes whether somebody died with something under way. */
static gci_process_slot *
find_slot(gci_store *store)
{
    gci_shared *shared = &store->shared;
    uint32_t used = slots_used(shared);
    gci_process_slot *free = NULL, *dead = NULL;

    for (uint32_t i = 0; i < used; i++) {
        gci_process_slot *slot = &shared->processes[i];
        uint64_t reserved;
        bool idle = gci_word_get(&slot->reserved, &reserved) && reserved == 0;
        if (atomic_load(&slot->number) == 0)
            free = free != NULL ? free : slot;
        else if (!idle && is_dead(slot))
            atomic_store(&store->usage.leftovers, true);
        else if (idle && free == NULL && dead == NULL && used == shared->process_slots && is_dead(slot))
            dead = slot;
    }
    if (free != NULL || used == shared->process_slots)
        return free != NULL ? free : dead;
    gci_word_set(&shared->head->process_count, used + 1);
    return &shared->processes[used];
}

static gci_process_slot *
claim_slot(gci_store *store)
{
    gci_process we = gci_process_ourselves();
    gci_process_slot *slot;
    gci_file lock;

    if (!atomic_load(&store->shared.usable)) {
        slot = &store->shared.own_process;
        write_owner(slot, &we);
        return slot;
    }
    if (!lock_slots(store, &lock))
        return NULL;
    slot = find_slot(store);
    if (slot != NULL)
        write_owner(slot, &we);
    gci_file_unlock_and_close(&lock);
    return slot;
}

/* Writes the reservation out, under the mutex. A slot that was damaged or taken away is replaced. */
static void
publish(gci_store *store)
{
    gci_usage *usage = &store->usage;

    if (!is_ours(usage->slot))
        usage->slot = claim_slot(store);
    if (usage->slot == NULL)
        return;
    gci_word_set(&usage->slot->since_s, gci_clock_wall_ns() / GCI_SECOND_NS);
    gci_word_set(&usage->slot->reserved, usage->reserved);
}

void
gci_usage_reserve(gci_store *store, uint64_t bytes)
{
    pthread_mutex_lock(&store->usage.mutex);
    store->usage.reserved += bytes;
    publish(store);
    pthread_mutex_unlock(&store->usage.mutex);
}

void
gci_usage_release(gci_store *store, uint64_t bytes)
{
    pthread_mutex_lock(&store->usage.mutex);
    GCI_ASSERT(store->usage.reserved >= bytes);
    store->usage.reserved -= bytes;
    publish(store);
    pthread_mutex_unlock(&store->usage.mutex);
}

void
gci_usage_close(gci_store *store)
{
    if (is_ours(store->usage.slot))
        free_slot(store->usage.slot);
    pthread_mutex_destroy(&store->usage.mutex);
}

void
gci_usage_after_fork(gci_store *store)
{
    gci_usage_init(&store->usage);
    free_slot(&store->shared.own_process);
}

/* ---- all slots ---- */

static uint64_t
add_reserved(gci_store *store, bool *out_known)
{
    gci_shared *shared = &store->shared;
    uint32_t count = slots_used(shared);
    uint64_t sum = 0, reserved;

    *out_known = true;
    for (uint32_t i = 0; i < count; i++) {
        if (atomic_load(&shared->processes[i].number) == 0)
            continue;
        if (gci_word_get(&shared->processes[i].reserved, &reserved))
            sum += reserved;
        else
            *out_known = false;
    }
    return sum;
}

uint64_t
gci_usage_reserved(gci_store *store)
{
    bool known;

    return add_reserved(store, &known);
}

bool
gci_usage_bound(gci_store *store, uint64_t *out_bytes)
{
    uint64_t bytes;
    bool known;

    *out_bytes = add_reserved(store, &known);
    if (!gci_word_get(&store->shared.head->bytes, &bytes))
        return false;
    *out_bytes += bytes;
    return known;
}

/* Of an owner that can't be judged: after a while, by the wall clock, which processes share. */
static bool
is_abandoned(gci_process_slot const *slot)
{
    uint64_t since, now = gci_clock_wall_ns() / GCI_SECOND_NS;

    return !gci_word_get(&slot->since_s, &since) || since > now || now - since > GCI_FOREIGN_NS / GCI_SECOND_NS;
}

static bool
has_reserved(gci_process_slot const *slot)
{
    uint64_t reserved;

    return atomic_load(&slot->number) != 0 && (!gci_word_get(&slot->reserved, &reserved) || reserved != 0);
}

void
gci_usage_judge(gci_store *store, gci_usage_dead *out_dead)
{
    gci_shared *shared = &store->shared;

    *out_dead = (gci_usage_dead){ { false } };
    atomic_store(&store->usage.leftovers, false);
    for (uint32_t i = 0; atomic_load(&shared->usable) && i < shared->process_slots; i++) {
        gci_process_slot *slot = &shared->processes[i];
        gci_process owner;
        if (!has_reserved(slot) || !read_owner(slot, &owner) || gci_process_judge(&owner) == GCI_PROCESS_ALIVE)
            continue;
        out_dead->slots[i] = is_dead(slot) || is_abandoned(slot);
    }
}

/* A slot with a reservation is nobody else's until it is freed, under the lock: the one that was judged. */
static void
forget(gci_process_slot *slot, bool dead)
{
    uint64_t reserved;
    gci_process owner;

    /* A live owner of a slot that was damaged claims another one with its next reservation. */
    if (dead || !read_owner(slot, &owner))
        free_slot(slot);
    /* Its owner writes it anew with the next reservation. */
    else if (!gci_word_get(&slot->reserved, &reserved) && gci_process_judge(&owner) == GCI_PROCESS_ALIVE)
        gci_word_set(&slot->reserved, 0);
}

void
gci_usage_forget(gci_store *store, gci_usage_dead const *dead)
{
    gci_shared *shared = &store->shared;
    gci_file lock;

    if (!atomic_load(&shared->usable) || !lock_slots(store, &lock))
        return;
    for (uint32_t i = 0; i < shared->process_slots; i++) {
        gci_process_slot *slot = &shared->processes[i];
        if (has_reserved(slot))
            forget(slot, dead->slots[i]);
    }
    gci_file_unlock_and_close(&lock);
}
