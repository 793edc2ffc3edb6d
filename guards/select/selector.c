/*
 * Candidates coming and going. See select.h for what a selector is, selector.h for its invariants.
 */
#include "guards/select/selector.h"

#include "base/check.h"
#include "guards/text/hint.h"

#include <stdlib.h>

/* A segment with more gone candidates than this share is made anew. */
#define GONE_SHARE 4

/* Segments merge with those up to this many times their size. */
#define MERGE_FACTOR 4

int
gci_rank_compare(gci_rank const *a, gci_rank const *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->specificity.equalities != b->specificity.equalities)
        return a->specificity.equalities > b->specificity.equalities ? -1 : 1;
    if (a->specificity.conjuncts != b->specificity.conjuncts)
        return a->specificity.conjuncts > b->specificity.conjuncts ? -1 : 1;
    return (a->sequence < b->sequence) - (a->sequence > b->sequence);
}

static int
compare_chosen(void const *left, void const *right)
{
    gci_chosen const *const *a = left, *const *b = right;

    return gci_rank_compare(&(*a)->rank, &(*b)->rank);
}

/* ---- the whole ---- */

gci_selector *
gci_selector_new(void)
{
    gci_selector *selector = calloc(1, sizeof *selector);

    if (selector == NULL)
        return NULL;
    gci_tables_init(&selector->tables);
    selector->generation = 1;
    return selector;
}

static void
free_chosen(gci_chosen *chosen)
{
    if (chosen == NULL)
        return;
    gci_chosen_clear(chosen);
    free(chosen);
}

void
gci_selector_free(gci_selector *selector)
{
    if (selector == NULL)
        return;
    for (size_t i = 0; i < selector->id_room; i++)
        free_chosen(selector->by_id[i]);
    for (uint32_t i = 0; i < selector->segment_count; i++)
        gci_segment_free(selector->segments[i]);
    free(selector->by_id);
    gci_tables_clear(&selector->tables);
    free(selector);
}

size_t
gci_selector_count(gci_selector const *selector)
{
    return selector->count;
}

static size_t
size_of_chosen(gci_chosen const *c)
{
    size_t code = c->code != NULL ? c->guards->program.code_count * sizeof *c->code : 0;

    return sizeof *c + code + c->guards->program.name_count * sizeof *c->slots
           + c->filter_count * sizeof *c->filters + c->hazard_count * sizeof *c->hazards;
}

size_t
gci_selector_size(gci_selector const *selector)
{
    gci_tables const *tables = &selector->tables;
    size_t size = sizeof *selector + selector->id_room * sizeof(gci_chosen *) + tables->arena.total
                  + tables->slot_room * (sizeof *tables->slots + 2 * sizeof *tables->slot_places)
                  + tables->dimension_room * sizeof *tables->dimensions;

    for (uint32_t i = 0; i < selector->segment_count; i++)
        size += selector->segments[i]->arena.total + selector->segments[i]->count * sizeof(gci_chosen *);
    for (size_t i = 0; i < selector->id_room; i++)
        size += selector->by_id[i] != NULL ? size_of_chosen(selector->by_id[i]) : 0;
    return size;
}

/* ---- segments ---- */

static void
gather(gci_segment const *segment, gci_chosen **out, uint32_t *count)
{
    for (uint32_t i = 0; i < segment->count; i++)
        if (segment->candidates[i] != NULL)
            out[(*count)++] = segment->candidates[i];
}

/* Makes one segment of the last `merged` segments and of what waits. */
static gcache_status
merge(gci_selector *s, uint32_t merged, gcache_error *error)
{
    uint32_t first = s->segment_count - merged, total = s->fresh_count, count = 0;

    for (uint32_t i = first; i < s->segment_count; i++)
        total += s->segments[i]->live_count;
    gci_chosen **all = malloc((total + (size_t)1) * sizeof(gci_chosen *));
    if (all == NULL)
        return gci_fail_memory(error);
    for (uint32_t i = first; i < s->segment_count; i++)
        gather(s->segments[i], all, &count);
    for (uint32_t i = 0; i < s->fresh_count; i++)
        all[count++] = s->fresh[i];
    GCI_ASSERT(count == total);
    if (count > 1)
        qsort(all, count, sizeof(gci_chosen *), compare_chosen);
    gci_segment *segment = gci_segment_new(all, count, &s->tables);
    if (segment == NULL) {
        free(all);
        return gci_fail_memory(error);
    }
    for (uint32_t i = first; i < s->segment_count; i++)
        gci_segment_free(s->segments[i]);
    s->segments[first] = segment;
    s->segment_count = first + 1;
    s->fresh_count = 0;
    return GCACHE_OK;
}

/* How many of the last segments are no more than MERGE_FACTOR times as large as all behind them together. */
static uint32_t
merging(gci_selector const *s)
{
    uint32_t total = s->fresh_count, merged = 0;

    while (merged < s->segment_count) {
        uint32_t size = s->segments[s->segment_count - 1 - merged]->live_count;
        if (size > MERGE_FACTOR * total)
            break;
        total += size;
        merged++;
    }
    return merged == 0 && s->segment_count == GCI_MAX_SEGMENTS ? 1 : merged;
}

gcache_status
gci_selector_compact(gci_selector *selector, gcache_error *error)
{
    if (selector->segment_count <= 1 && selector->fresh_count == 0)
        return GCACHE_OK;
    return merge(selector, selector->segment_count, error);
}

/* ---- inserting ---- */

static gcache_status
make_room(gci_selector *s, uint32_t id, gcache_error *error)
{
    if (id < s->id_room)
        return GCACHE_OK;
    size_t room = s->id_room != 0 ? s->id_room : 64;
    while (room <= id)
        room *= 2;
    gci_chosen **by_id = realloc(s->by_id, room * sizeof(gci_chosen *));
    if (by_id == NULL)
        return gci_fail_memory(error);
    memset(by_id + s->id_room, 0, (room - s->id_room) * sizeof(gci_chosen *));
    s->by_id = by_id;
    s->id_room = room;
    return GCACHE_OK;
}

static void
wait(gci_selector *s, gci_chosen *chosen)
{
    uint32_t place = s->fresh_count++;

    GCI_ASSERT(place < GCI_INDEX_LEAST);
    for (; place > 0 && gci_rank_compare(&chosen->rank, &s->fresh[place - 1]->rank) < 0; place--)
        s->fresh[place] = s->fresh[place - 1];
    s->fresh[place] = chosen;
}

gcache_status
gci_selector_insert(gci_selector *selector, uint32_t id, gci_guards const *guards, gci_rank rank, gcache_error *error)
{
    gcache_status status = make_room(selector, id, error);

    if (status != GCACHE_OK)
        return status;
    if (selector->by_id[id] != NULL)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "candidate %u is there already", id);
    if (selector->fresh_count == GCI_INDEX_LEAST)
        status = merge(selector, merging(selector), error);
    gci_chosen *chosen = status == GCACHE_OK ? calloc(1, sizeof *chosen) : NULL;
    if (chosen == NULL)
        return status != GCACHE_OK ? status : gci_fail_memory(error);
    chosen->guards = guards;
    chosen->rank = rank;
    chosen->id = id;
    status = gci_chosen_prepare(chosen, &selector->tables, error);
    if (status != GCACHE_OK) {
        free_chosen(chosen);
        return status;
    }
    selector->by_id[id] = chosen;
    selector->count++;
    selector->generation++;
    wait(selector, chosen);
    return GCACHE_OK;
}

/* ---- removing ---- */

static bool
remove_fresh(gci_selector *s, gci_chosen const *chosen)
{
    for (uint32_t i = 0; i < s->fresh_count; i++) {
        if (s->fresh[i] != chosen)
            continue;
        s->fresh_count--;
        for (; i < s->fresh_count; i++)
            s->fresh[i] = s->fresh[i + 1];
        return true;
    }
    return false;
}

/* The first place in a segment that doesn't rank before the candidate. Gone ones have no rank: they are stepped over. */
static uint32_t
place_in(gci_segment const *segment, gci_chosen const *chosen)
{
    for (uint32_t i = 0; i < segment->count; i++)
        if (segment->candidates[i] == chosen)
            return i;
    return segment->count;
}

static void
remove_from_segments(gci_selector *s, gci_chosen const *chosen)
{
    for (uint32_t i = 0; i < s->segment_count; i++) {
        gci_segment *segment = s->segments[i];
        uint32_t place = place_in(segment, chosen);
        if (place == segment->count)
            continue;
        gci_segment_remove(segment, place);
        /* Without memory it stays as it is, only longer than it need be. */
        bool thin = segment->count - segment->live_count > segment->count / GONE_SHARE;
        if (thin && i + 1 == s->segment_count)
            merge(s, 1, NULL);
        else if (thin)
            merge(s, s->segment_count - i, NULL);
        return;
    }
}

bool
gci_selector_remove(gci_selector *selector, uint32_t id)
{
    if (id >= selector->id_room || selector->by_id[id] == NULL)
        return false;
    gci_chosen *chosen = selector->by_id[id];
    if (!remove_fresh(selector, chosen))
        remove_from_segments(selector, chosen);
    selector->by_id[id] = NULL;
    selector->count--;
    selector->generation++;
    free_chosen(chosen);
    return true;
}

/* ---- binding ---- */

static bool
grow_binding(gci_binding *b, size_t room)
{
    int64_t *frame = realloc(b->frame, (GCI_FRAME_SLOTS + room) * sizeof *frame);
    if (frame != NULL)
        b->frame = frame;
    gci_number const **numbers = realloc((void *)b->numbers, room * sizeof(gci_number const *));
    if (numbers != NULL)
        b->numbers = numbers;
    uint16_t *odd = realloc(b->odd, room * sizeof *odd);
    if (odd != NULL)
        b->odd = odd;
    gci_row const **rows = realloc((void *)b->rows, (room + GCI_MAX_WATCHED_HAZARDS) * sizeof(gci_row const *));
    if (rows != NULL)
        b->rows = rows;
    if (frame == NULL || numbers == NULL || odd == NULL || rows == NULL)
        return false;
    b->room = room;
    return true;
}

static void
bind_hint(gci_binding *b, gci_tables const *tables, gci_hint const *hint)
{
    uint32_t slot = gci_tables_find_slot(tables, hint->hash, hint->bound);

    if (slot == GCI_MAX_SLOTS)
        return;
    b->is_shadowed = b->is_shadowed || tables->slots[slot].is_callee;
    b->numbers[slot] = &hint->value;
    if (gci_number_is_small(hint->value))
        b->frame[GCI_FRAME_SLOTS + slot] = hint->value.i;
}

bool
gci_binding_set(gci_binding *binding, gci_selector const *selector, gci_hints const *hints)
{
    gci_tables const *tables = &selector->tables;
    uint32_t count = tables->slot_count;

    if (binding->frame == NULL || count > binding->room)
        if (!grow_binding(binding, count < 16 ? 16 : 2 * (size_t)count))
            return false;
    binding->hints = hints;
    binding->is_shadowed = false;
    binding->odd_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        binding->numbers[i] = NULL;
        binding->frame[GCI_FRAME_SLOTS + i] = 0;
    }
    for (size_t i = 0; i < hints->count; i++)
        bind_hint(binding, tables, &hints->items[i]);
    for (uint32_t i = 0; i < count; i++)
        if (tables->slots[i].is_name && (binding->numbers[i] == NULL || !gci_number_is_small(*binding->numbers[i])))
            binding->odd[binding->odd_count++] = (uint16_t)i;
    binding->is_plain = !binding->is_shadowed && binding->odd_count == 0;
    return true;
}

void
gci_binding_clear(gci_binding *binding)
{
    free(binding->frame);
    free((void *)binding->numbers);
    free(binding->odd);
    free((void *)binding->rows);
    *binding = (gci_binding){ .frame = NULL };
}
