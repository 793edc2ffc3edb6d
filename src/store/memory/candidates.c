/* Sets: made from runs, grown by what was appended, counted. */
#include "store/memory/candidates.h"

#include "base/check.h"

#include <stdlib.h>

/* A node of the memory tier, which most sets have. */
#define NODE_SIZE 128

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
    inside->set.runs = (gci_run **)(inside + 1);
    inside->set.items = (gci_candidate **)(inside->set.runs + runs);
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

/* Takes over the caller's reference. Of the run's candidates nothing is added yet. */
static void
add_run(struct gci_candidates_inside *inside, gci_run *run)
{
    gci_candidates *set = &inside->set;

    set->runs[set->run_count++] = run;
    set->damaged += gci_run_inside(run)->damaged;
    set->untrusted += gci_run_inside(run)->untrusted;
    if (gci_run_inside(run)->last_sequence > inside->last_sequence)
        inside->last_sequence = gci_run_inside(run)->last_sequence;
    if (gci_run_inside(run)->description.size > 0)
        inside->description = gci_run_inside(run)->description;
}

static void
add_live(gci_candidates *set, gci_run *run)
{
    for (size_t i = 0; i < run->count; i++) {
        if (!run->items[i].is_evicted)
            set->items[set->count++] = &run->items[i];
    }
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
    add_live(&inside->set, run);
    for (size_t i = 0; i < run->count; i++) {
        if (run->items[i].is_evicted)
            add_evicted(&inside->set, &run->items[i], run);
    }
    inside->size = bytes.size;
    inside->end = walk->end;
    return &inside->set;
}

/* How many of the former runs stay as they are: those that are larger than what comes behind them. *out_size: of the rest. */
static size_t
count_lasting(gci_candidates const *former, size_t appended, size_t *out_size)
{
    size_t lasting = former->run_count, size = appended;

    while (lasting > 0 && gci_run_inside(former->runs[lasting - 1])->bytes.size <= size)
        size += gci_run_inside(former->runs[--lasting])->bytes.size;
    *out_size = size;
    return lasting;
}

/* The bytes of the runs from `lasting` on and what was appended to them, in one piece of that size. NULL: no memory. */
static char *
join(gci_candidates const *former, size_t lasting, gci_view appended, size_t size)
{
    char *bytes = malloc(size), *next = bytes;

    for (size_t i = lasting; bytes != NULL && i < former->run_count; i++) {
        gci_view part = gci_run_inside(former->runs[i])->bytes;
        memcpy(next, part.data, part.size);
        next += part.size;
    }
    if (bytes != NULL)
        memcpy(next, appended.data, appended.size);
    return bytes;
}

/* A run of frames behind a pack's first, unless there is anything in it that wants more than a look at the end. */
static gci_run *
read_behind(gcache_key const *key, gci_view bytes, gci_budget *budget, gci_trust const *trust)
{
    gci_pack_walk walk = gci_pack_continue(bytes);
    gci_run *run = gci_run_new(key, &walk, budget, trust);

    if (run == NULL)
        return NULL;
    if (walk.end == bytes.size && gci_run_inside(run)->damaged == 0 && count_live(run) == run->count)
        return run;
    gci_run_release(run);
    return NULL;
}

static gci_run *
read_together(gci_candidates const *former, size_t lasting, gci_view appended, size_t size, gci_budget *budget,
              gci_trust const *trust)
{
    if (size == appended.size)
        return read_behind(&former->key, appended, budget, trust);
    char *bytes = join(former, lasting, appended, size);
    gci_run *run = bytes != NULL ? read_behind(&former->key, gci_view_of(bytes, size), budget, trust) : NULL;
    free(bytes);
    return run;
}

/* How many of the former's candidates lie in the runs that last: its first ones. The others are few. */
static size_t
count_kept(gci_candidates const *former, size_t lasting)
{
    size_t kept = former->count;

    for (size_t i = lasting; i < former->run_count; i++)
        kept -= count_live(former->runs[i]);
    return kept;
}

/* The former's first runs and the one behind them. Takes over the run; NULL: no memory. */
static gci_candidates *
with_run(gci_candidates *former, size_t lasting, gci_run *run, gci_budget *budget)
{
    size_t kept = count_kept(former, lasting);
    struct gci_candidates_inside *inside = new_set(&former->key, lasting + 1, kept + run->count, former->evicted_count,
                                                   budget);

    if (inside == NULL) {
        gci_run_release(run);
        return NULL;
    }
    for (size_t i = 0; i < lasting; i++)
        add_run(inside, gci_run_retain(former->runs[i]));
    /* Their places, not the candidates themselves: those of a large key aren't in the processor's cache. */
    memcpy(inside->set.items, former->items, kept * sizeof *former->items);
    inside->set.count = kept;
    add_run(inside, run);
    add_live(&inside->set, run);
    for (size_t i = 0; i < former->evicted_count; i++)
        add_evicted(&inside->set, former->evicted[i], run);
    return &inside->set;
}

gci_candidates *
gci_candidates_grown(gci_candidates *former, gci_view appended, gci_budget *budget, gci_trust const *trust)
{
    size_t size, lasting = count_lasting(former, appended.size, &size);

    GCI_ASSERT(former->damaged == 0);
    /* The first has the pack's header and what was evicted. */
    if (lasting == 0)
        return NULL;
    gci_run *run = read_together(former, lasting, appended, size, budget, trust);
    gci_candidates *grown = run != NULL ? with_run(former, lasting, run, budget) : NULL;
    if (grown != NULL)
        gci_inside(grown)->size = gci_inside(grown)->end = gci_inside(former)->end + appended.size;
    return grown;
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
    for (size_t i = 0; i < set->run_count; i++)
        gci_run_release(set->runs[i]);
    gci_account_close(&inside->account);
    free(inside);
}
