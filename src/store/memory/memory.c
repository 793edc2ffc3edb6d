/* The memory tier: a hash table whose readers take no lock, and a clock hand that evicts. */
#include "store/memory/memory.h"

#include "base/check.h"

#include <stdlib.h>

struct gci_memory_node {
    gcache_key key;
    _Atomic(gci_memory_node *) next;
    _Atomic bool used;
    uint64_t generation;
    gci_candidates *set;
    gci_memory_node *before, *after; /* in the ring; `after` links the retired */
};

gcache_status
gci_memory_open(gci_memory *memory, size_t limit, gcache_error *error)
{
    *memory = (gci_memory){ .limit = limit, .mutex = PTHREAD_MUTEX_INITIALIZER };
    memory->buckets = &memory->only;
    memory->budget = gci_budget_new();
    return memory->budget != NULL ? GCACHE_OK : gci_fail_memory(error);
}

void
gci_memory_widen(gci_memory *memory)
{
    gci_memory_bucket *buckets = calloc(GCI_MEMORY_BUCKETS, sizeof *buckets);

    GCI_ASSERT(memory->count == 0 && memory->mask == 0);
    if (buckets == NULL)
        return;
    memory->buckets = buckets;
    memory->mask = GCI_MEMORY_BUCKETS - 1;
}

static gci_memory_bucket *
bucket_of(gci_memory *memory, gcache_key const *key)
{
    return &memory->buckets[((unsigned)key->bytes[16] | (unsigned)key->bytes[17] << 8) & memory->mask];
}

gci_candidates *
gci_memory_find(gci_memory *memory, gcache_key const *key, uint64_t *out_generation)
{
    gci_memory_bucket *bucket = bucket_of(memory, key);
    gci_candidates *set = NULL;

    atomic_fetch_add(&bucket->readers, 1);
    for (gci_memory_node *node = atomic_load(&bucket->first); node != NULL; node = atomic_load(&node->next)) {
        if (memcmp(node->key.bytes, key->bytes, sizeof key->bytes) != 0)
            continue;
        set = gci_candidates_retain(node->set);
        *out_generation = node->generation;
        /* Written only if it changes: many threads read this line. */
        if (!atomic_load_explicit(&node->used, memory_order_relaxed))
            atomic_store_explicit(&node->used, true, memory_order_relaxed);
        break;
    }
    atomic_fetch_sub(&bucket->readers, 1);
    return set;
}

/* ---- all below: under the mutex ---- */

static void
free_node(gci_memory_node *node)
{
    gci_candidates_release(node->set);
    free(node);
}

/* Frees what waits and whose bucket has no readers now. */
static void
free_retired(gci_memory *memory)
{
    gci_memory_node **link = &memory->retired;

    while (*link != NULL) {
        gci_memory_node *node = *link;
        if (atomic_load(&bucket_of(memory, &node->key)->readers) != 0) {
            link = &node->after;
        } else {
            *link = node->after;
            free_node(node);
        }
    }
}

static void
enter_ring(gci_memory *memory, gci_memory_node *node)
{
    if (memory->hand == NULL) {
        node->before = node->after = node;
        memory->hand = node;
    } else {
        node->after = memory->hand;
        node->before = memory->hand->before;
        node->before->after = node->after->before = node;
    }
    memory->count++;
}

static void
leave_ring(gci_memory *memory, gci_memory_node *node)
{
    node->before->after = node->after;
    node->after->before = node->before;
    if (memory->hand == node)
        memory->hand = node->after != node ? node->after : NULL;
    memory->count--;
}

static void
leave_bucket(gci_memory *memory, gci_memory_node *node)
{
    _Atomic(gci_memory_node *) *link = &bucket_of(memory, &node->key)->first;

    while (atomic_load(link) != node)
        link = &atomic_load(link)->next;
    atomic_store(link, atomic_load(&node->next));
}

/* A set that takes this one's place may share it. */
static void
leave_run(gci_run *run, gci_leaving_fn leaving, void *state)
{
    if (atomic_fetch_sub(&gci_run_inside(run)->in_memory, 1) == 1 && leaving != NULL)
        leaving(state, run);
}

static void
take_out(gci_memory *memory, gci_memory_node *node, gci_leaving_fn leaving, void *state)
{
    for (size_t i = 0; i < node->set->run_count; i++)
        leave_run(node->set->runs[i], leaving, state);
    leave_bucket(memory, node);
    leave_ring(memory, node);
    node->after = memory->retired;
    memory->retired = node;
}

static gci_memory_node *
find_node(gci_memory *memory, gcache_key const *key)
{
    gci_memory_node *node = atomic_load(&bucket_of(memory, key)->first);

    while (node != NULL && memcmp(node->key.bytes, key->bytes, sizeof key->bytes) != 0)
        node = atomic_load(&node->next);
    return node;
}

/* Moves the clock hand until the budget is met. A full turn clears all `used`, so two are enough. */
static void
shrink(gci_memory *memory, gci_leaving_fn leaving, void *state)
{
    size_t steps = 2 * memory->count;

    while (memory->hand != NULL && steps-- > 0 && atomic_load(&memory->budget->bytes) > memory->limit) {
        gci_memory_node *node = memory->hand;
        memory->hand = node->after;
        if (atomic_exchange(&node->used, false))
            continue;
        take_out(memory, node, leaving, state);
        free_retired(memory);
    }
}

void
gci_memory_put(gci_memory *memory, gci_candidates *set, uint64_t generation, gci_leaving_fn leaving, void *state)
{
    gci_memory_node *node = calloc(1, sizeof *node);

    if (node == NULL)
        return;
    node->key = set->key;
    node->generation = generation;
    node->set = gci_candidates_retain(set);
    atomic_store(&node->used, true);
    for (size_t i = 0; i < set->run_count; i++)
        atomic_fetch_add(&gci_run_inside(set->runs[i])->in_memory, 1);
    gci_memory_bucket *bucket = bucket_of(memory, &set->key);
    pthread_mutex_lock(&memory->mutex);
    gci_memory_node *former = find_node(memory, &set->key);
    if (former != NULL)
        take_out(memory, former, leaving, state);
    atomic_store(&node->next, atomic_load(&bucket->first));
    atomic_store(&bucket->first, node);
    enter_ring(memory, node);
    shrink(memory, leaving, state);
    free_retired(memory);
    pthread_mutex_unlock(&memory->mutex);
}

void
gci_memory_drop(gci_memory *memory, gcache_key const *key, gci_leaving_fn leaving, void *state)
{
    pthread_mutex_lock(&memory->mutex);
    gci_memory_node *node = find_node(memory, key);
    if (node != NULL)
        take_out(memory, node, leaving, state);
    free_retired(memory);
    pthread_mutex_unlock(&memory->mutex);
}

void
gci_memory_each(gci_memory *memory, gci_leaving_fn fn, void *state)
{
    pthread_mutex_lock(&memory->mutex);
    gci_memory_node *node = memory->hand;
    for (size_t i = 0; i < memory->count; i++, node = node->after)
        for (size_t j = 0; j < node->set->run_count; j++)
            fn(state, node->set->runs[j]);
    pthread_mutex_unlock(&memory->mutex);
}

void
gci_memory_close(gci_memory *memory, gci_leaving_fn leaving, void *state)
{
    while (memory->hand != NULL)
        take_out(memory, memory->hand, leaving, state);
    free_retired(memory);
    GCI_ASSERT(memory->retired == NULL);
    if (memory->buckets != &memory->only)
        free(memory->buckets);
    gci_budget_release(memory->budget);
    pthread_mutex_destroy(&memory->mutex);
    *memory = (gci_memory){ 0 };
}

void
gci_memory_after_fork(gci_memory *memory)
{
    gci_budget *former = memory->budget;

    /* Without memory for a new budget the parent's copy goes on. */
    if (gci_memory_open(memory, memory->limit, NULL) != GCACHE_OK)
        memory->budget = former;
    gci_memory_widen(memory);
}
