#include "store/candidates.h"

#include "base/check.h"

#include <stdlib.h>

/* A node of the memory tier, which most sets have. */
#define NODE_SIZE 128

/* Each costs the set that shares it a reference, and memory of its own of two pages; reading all again costs little when
   it is due this seldom. */
#define RUNS_MAX 32

/* ---- making ---- */

/* Without candidates yet: room for as many live and evicted ones, and for the runs. NULL: no memory. */
static struct gci_candidates_inside *
new_set(gcache_key const *key, size_t runs, size_t live, size_t evicted, gci_budget *budget)
{
    size_t size = sizeof(struct gci_candidates_inside) + runs * sizeof(gci_run *) +
                  (live + evicted) * sizeof(gci_candidate *);
    struct gci_candidates_inside *inside = calloc(1, size);

    if (inside == NULL)
        return NULL;
    inside->set = (gci_candidates){ .key = *key, .account = &inside->account, .inside = inside };
    inside->set.items = (gci_candidate **)(inside->runs + runs);
    inside->set.evicted = inside->set.items + live;
    atomic_store(&inside->references, 1);
    gci_account_open(&inside->account, budget, size + NODE_SIZE);
    return inside;
}

static size_t
count_live(gci_run const *run)
{
    size_t live = 0;

    for (size_t i = 0; i < run->count; i++)
        live += !run->items[i].is_evicted;
    return live;
}

/* Takes over the caller's reference. */
static void
add_run(struct gci_candidates_inside *inside, gci_run *run)
{
    gci_candidates *set = &inside->set;

    inside->runs[inside->run_count++] = run;
    for (size_t i = 0; i < run->count; i++) {
        if (!run->items[i].is_evicted)
            set->items[set->count++] = &run->items[i];
    }
    set->damaged += gci_run_inside(run)->damaged;
    set->untrusted += gci_run_inside(run)->untrusted;
    if (gci_run_inside(run)->last_sequence > inside->last_sequence)
        inside->last_sequence = gci_run_inside(run)->last_sequence;
    if (gci_run_inside(run)->description.size > 0)
        inside->description = gci_run_inside(run)->description;
}

/* An entry that came back after its eviction isn't evicted any more. */
static void
add_evicted(gci_candidates *set, gci_candidate *candidate, gci_run const *later)
{
    for (size_t i = 0; i < later->count; i++) {
        if (!later->items[i].is_evicted &&
            memcmp(later->items[i].record.id, candidate->record.id, GCACHE_ENTRY_ID_SIZE) == 0)
            return;
    }
    set->evicted[set->evicted_count++] = candidate;
}

gci_candidates *
gci_candidates_new(gcache_key const *key, gci_view bytes, gci_budget *budget, gci_trust const *trust,
                   gci_pack_walk *walk)
{
    gci_run *run = gci_run_new(key, walk, budget, trust);

    if (run == NULL)
        return NULL;
    size_t live = count_live(run);
    struct gci_candidates_inside *inside = new_set(key, 1, live, run->count - live, budget);
    if (inside == NULL) {
        gci_run_release(run);
        return NULL;
    }
    add_run(inside, run);
    for (size_t i = 0; i < run->count; i++) {
        if (run->items[i].is_evicted)
            add_evicted(&inside->set, &run->items[i], run);
    }
    inside->size = bytes.size;
    inside->end = walk->end;
    return &inside->set;
}

/* What was appended, unless there is anything in it that wants more than a look at the end. */
static gci_run *
read_appended(gci_candidates const *former, gci_view appended, gci_budget *budget, gci_trust const *trust)
{
    gci_pack_walk walk = gci_pack_continue(appended);
    gci_run *run = gci_run_new(&former->key, &walk, budget, trust);

    if (run == NULL)
        return NULL;
    if (walk.end == appended.size && gci_run_inside(run)->damaged == 0 && count_live(run) == run->count)
        return run;
    gci_run_release(run);
    return NULL;
}

gci_candidates *
gci_candidates_grown(gci_candidates *former, gci_view appended, gci_budget *budget, gci_trust const *trust)
{
    struct gci_candidates_inside *before = gci_inside(former);

    GCI_ASSERT(former->damaged == 0);
    gci_run *run = before->run_count < RUNS_MAX ? read_appended(former, appended, budget, trust) : NULL;
    if (run == NULL)
        return NULL;
    struct gci_candidates_inside *inside = new_set(&former->key, before->run_count + 1, former->count + run->count,
                                                   former->evicted_count, budget);
    if (inside == NULL) {
        gci_run_release(run);
        return NULL;
    }
    for (size_t i = 0; i < before->run_count; i++)
        add_run(inside, gci_run_retain(before->runs[i]));
    add_run(inside, run);
    for (size_t i = 0; i < former->evicted_count; i++)
        add_evicted(&inside->set, former->evicted[i], run);
    inside->size = inside->end = before->end + appended.size;
    return &inside->set;
}

gci_candidate *
gci_candidates_find(gci_candidates *set, char const *id)
{
    for (size_t i = 0; i < set->count; i++) {
        if (memcmp(set->items[i]->record.id, id, GCACHE_ENTRY_ID_SIZE) == 0)
            return set->items[i];
    }
    return NULL;
}

/* ---- the memory tier ---- */

void
gci_candidates_enter_memory(gci_candidates *set)
{
    for (size_t i = 0; i < set->inside->run_count; i++)
        atomic_fetch_add(&gci_run_inside(set->inside->runs[i])->in_memory, 1);
}

void
gci_candidates_leave_memory(gci_candidates *set)
{
    for (size_t i = 0; i < set->inside->run_count; i++)
        atomic_fetch_sub(&gci_run_inside(set->inside->runs[i])->in_memory, 1);
}

/* ---- life ---- */

gci_candidates *
gci_candidates_retain(gci_candidates *set)
{
    atomic_fetch_add_explicit(&set->inside->references, 1, memory_order_relaxed);
    return set;
}

void
gci_candidates_release(gci_candidates *set)
{
    if (set == NULL || atomic_fetch_sub_explicit(&set->inside->references, 1, memory_order_acq_rel) != 1)
        return;
    struct gci_candidates_inside *inside = set->inside;
    /* It may point into the runs. */
    gci_extra_destroy(&set->extra);
    for (size_t i = 0; i < inside->run_count; i++)
        gci_run_release(inside->runs[i]);
    gci_account_close(&inside->account);
    free(inside);
}
