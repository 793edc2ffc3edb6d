/*
 * Building the index of a segment, and walking the candidates that it lets through.
 */
#include "guards/select/segment.h"

#include "base/check.h"

#include <stdlib.h>

/* A value falls into one of so many buckets: bounds in guards cluster, and rows for more would not fit the cache. */
#define MAX_BUCKETS 64

/* Bounds of a dimension that are looked at to choose edges; drawn at random if there are more. */
#define MAX_SAMPLE 4096

/* An axis that lets more than this share of the candidates through isn't worth its row. */
#define WORST_SHARE 0.97

/* Axes are added until fewer candidates than this are expected to get through. */
#define ENOUGH 0.25

/* ---- rows ---- */

static bool
new_rows(gci_segment *s, gci_row *rows, uint32_t count)
{
    uint64_t *bits = gci_arena_array(&s->arena, (size_t)count * s->word_count, sizeof *bits);
    uint64_t *summary = gci_arena_array(&s->arena, (size_t)count * s->summary_count, sizeof *summary);

    if (bits == NULL || summary == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (gci_row){ bits + (size_t)i * s->word_count, summary + (size_t)i * s->summary_count };
    return true;
}

static void
toggle(gci_row *row, uint32_t candidate)
{
    row->bits[candidate / 64] ^= (uint64_t)1 << candidate % 64;
}

static void
set(gci_row *row, uint32_t candidate)
{
    row->bits[candidate / 64] |= (uint64_t)1 << candidate % 64;
}

static void
summarise(gci_segment const *s, gci_row *row)
{
    for (uint32_t word = 0; word < s->word_count; word++) {
        uint32_t block = word / GCI_BLOCK_WORDS;
        if (row->bits[word] != 0)
            row->summary[block / 64] |= (uint64_t)1 << block % 64;
    }
}

/* ---- filters by dimension ---- */

/* The filters of all candidates, grouped: those of dimension d are items[starts[d]..starts[d + 1]). */
typedef struct grouped {
    struct member {
        uint32_t candidate;
        int64_t low, high;
    } *items;
    uint32_t *starts;
    bool *unsure; /* candidates that can't be filtered */
} grouped;

static bool
group_filters(gci_segment const *s, gci_tables const *tables, gci_arena *arena, grouped *g)
{
    uint32_t dimensions = tables->dimension_count, total = 0;
    uint32_t *ends = gci_arena_array(arena, dimensions + 1, sizeof *ends);

    g->starts = gci_arena_array(arena, dimensions + 1, sizeof *g->starts);
    if (ends == NULL || g->starts == NULL)
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < s->candidates[i]->filter_count && !g->unsure[i]; k++)
            ends[s->candidates[i]->filters[k].dimension]++;
    for (uint32_t d = 0; d < dimensions; d++) {
        g->starts[d] = total;
        total += ends[d];
        ends[d] = g->starts[d];
    }
    g->starts[dimensions] = total;
    g->items = gci_arena_array(arena, total, sizeof *g->items);
    if (g->items == NULL)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t k = 0; k < s->candidates[i]->filter_count && !g->unsure[i]; k++) {
            gci_filter const *filter = &s->candidates[i]->filters[k];
            g->items[ends[filter->dimension]++] = (struct member){ i, filter->low, filter->high };
        }
    }
    return true;
}

/* ---- axes ---- */

static int
compare_values(void const *left, void const *right)
{
    int64_t const *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

/* The number of edges that are at or below a value. */
static inline uint32_t
bucket_of(gci_axis const *axis, int64_t value)
{
    int64_t const *edges = axis->edges;
    uint32_t count = axis->bucket_count - 1, base = 0;

    while (count > 0) {
        uint32_t half = (count + 1) / 2;
        base += edges[base + half - 1] <= value ? half : 0;
        count -= half;
    }
    return base;
}

/* Where the bounds of some members begin and end, sorted. */
static size_t
sample_bounds(struct member const *members, uint32_t count, int64_t *out)
{
    uint64_t random = 88172645463325252u;
    uint32_t looked = count < MAX_SAMPLE ? count : MAX_SAMPLE;
    size_t found = 0;

    for (uint32_t i = 0; i < looked; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        struct member const *member = &members[count == looked ? i : random % count];
        if (member->low > member->high)
            continue;
        if (member->low > INT64_MIN)
            out[found++] = member->low;
        if (member->high < INT64_MAX)
            out[found++] = member->high + 1;
    }
    if (found > 1)
        qsort(out, found, sizeof *out, compare_values);
    return found;
}

static size_t
drop_repeated(int64_t *values, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (kept == 0 || values[i] != values[kept - 1])
            values[kept++] = values[i];
    return kept;
}

/* All distinct bounds where they are few enough, else such that each bucket has about as many. */
static bool
choose_edges(gci_segment *s, gci_axis *axis, struct member const *members, uint32_t count)
{
    int64_t *bounds = malloc(2 * MAX_SAMPLE * sizeof *bounds), spread[MAX_BUCKETS - 1], *chosen = spread;

    if (bounds == NULL)
        return false;
    size_t found = sample_bounds(members, count, bounds), kept;
    for (size_t i = 0; i < MAX_BUCKETS - 1 && found != 0; i++)
        spread[i] = bounds[(i + 1) * found / MAX_BUCKETS];
    kept = found != 0 ? drop_repeated(spread, MAX_BUCKETS - 1) : 0;
    size_t distinct = drop_repeated(bounds, found);
    if (distinct < MAX_BUCKETS) {
        chosen = bounds;
        kept = distinct;
    }
    axis->edges = gci_arena_array(&s->arena, kept, sizeof *axis->edges);
    axis->bucket_count = (uint32_t)kept + 1;
    if (axis->edges != NULL)
        memcpy(axis->edges, chosen, kept * sizeof *axis->edges);
    free(bounds);
    return axis->edges != NULL;
}

/* The share of candidates that a value in a random bucket lets through. */
static double
share_let_through(gci_segment const *s, gci_axis const *axis, struct member const *members, uint32_t count)
{
    double covered = 0;

    for (uint32_t i = 0; i < count; i++)
        if (members[i].low <= members[i].high)
            covered += 1 + bucket_of(axis, members[i].high) - bucket_of(axis, members[i].low);
    return (covered / axis->bucket_count + (s->count - count)) / s->count;
}

/* Rows by toggling where bounds begin and where they have ended, then adding up from bucket to bucket. */
static bool
fill_rows(gci_segment *s, gci_axis *axis, struct member const *members, uint32_t count, gci_arena *arena)
{
    bool *bounded = gci_arena_array(arena, s->count, sizeof *bounded);

    axis->rows = gci_arena_array(&s->arena, axis->bucket_count, sizeof *axis->rows);
    if (bounded == NULL || axis->rows == NULL || !new_rows(s, axis->rows, axis->bucket_count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        bounded[members[i].candidate] = true;
        if (members[i].low > members[i].high)
            continue;
        uint32_t end = bucket_of(axis, members[i].high) + 1;
        toggle(&axis->rows[bucket_of(axis, members[i].low)], members[i].candidate);
        if (end < axis->bucket_count)
            toggle(&axis->rows[end], members[i].candidate);
    }
    for (uint32_t i = 0; i < s->count; i++)
        if (!bounded[i])
            toggle(&axis->rows[0], i);
    for (uint32_t b = 1; b < axis->bucket_count; b++)
        for (uint32_t w = 0; w < s->word_count; w++)
            axis->rows[b].bits[w] ^= axis->rows[b - 1].bits[w];
    for (uint32_t b = 0; b < axis->bucket_count; b++)
        summarise(s, &axis->rows[b]);
    return true;
}

typedef struct proposal {
    gci_axis axis;
    double share;
} proposal;

static int
compare_proposals(void const *left, void const *right)
{
    proposal const *a = left, *b = right;

    if (a->share != b->share)
        return a->share < b->share ? -1 : 1;
    return (a->axis.dimension > b->axis.dimension) - (a->axis.dimension < b->axis.dimension);
}

static bool
propose_axes(gci_segment *s, gci_tables const *tables, grouped const *g, proposal *out, size_t *out_count)
{
    for (uint32_t d = 0; d < tables->dimension_count; d++) {
        uint32_t count = g->starts[d + 1] - g->starts[d];
        proposal *next = &out[*out_count];
        if (count == 0)
            continue;
        next->axis = (gci_axis){ .dimension = d };
        if (!choose_edges(s, &next->axis, g->items + g->starts[d], count))
            return false;
        next->share = share_let_through(s, &next->axis, g->items + g->starts[d], count);
        *out_count += next->share <= WORST_SHARE;
    }
    if (*out_count > 1)
        qsort(out, *out_count, sizeof *out, compare_proposals);
    return true;
}

static bool
make_axes(gci_segment *s, gci_tables const *tables, grouped const *g, gci_arena *arena)
{
    proposal *proposals = gci_arena_array(arena, tables->dimension_count + 1, sizeof *proposals);
    size_t count = 0;
    double expected = s->count;

    s->axes = gci_arena_array(&s->arena, GCI_MAX_AXES, sizeof *s->axes);
    if (proposals == NULL || s->axes == NULL || !propose_axes(s, tables, g, proposals, &count))
        return false;
    for (size_t i = 0; i < count && s->axis_count < GCI_MAX_AXES && expected > ENOUGH; i++) {
        gci_axis *axis = &s->axes[s->axis_count];
        *axis = proposals[i].axis;
        uint32_t start = g->starts[axis->dimension];
        if (!fill_rows(s, axis, g->items + start, g->starts[axis->dimension + 1] - start, arena))
            return false;
        s->axis_count++;
        expected *= proposals[i].share;
    }
    return true;
}

/* ---- what switches filtering off ---- */

/* The hazards that most candidates have; a candidate with any other one isn't filtered. */
static bool
choose_hazards(gci_segment *s, gci_tables const *tables, gci_arena *arena, bool *unsure)
{
    uint32_t *uses = gci_arena_array(arena, tables->dimension_count + 1, sizeof *uses);
    bool *watched = gci_arena_array(arena, tables->dimension_count + 1, sizeof *watched);

    s->hazards = gci_arena_array(&s->arena, GCI_MAX_WATCHED_HAZARDS, sizeof *s->hazards);
    if (uses == NULL || watched == NULL || s->hazards == NULL)
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < s->candidates[i]->hazard_count; k++)
            uses[s->candidates[i]->hazards[k]]++;
    while (s->hazard_count < GCI_MAX_WATCHED_HAZARDS) {
        uint32_t most = 0;
        for (uint32_t d = 1; d < tables->dimension_count; d++)
            if (uses[d] > uses[most])
                most = d;
        if (tables->dimension_count == 0 || uses[most] == 0)
            break;
        s->hazards[s->hazard_count++].what = most;
        watched[most] = true;
        uses[most] = 0;
    }
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < s->candidates[i]->hazard_count; k++)
            unsure[i] = unsure[i] || !watched[s->candidates[i]->hazards[k]];
    return true;
}

static bool
fill_watches(gci_segment *s, gci_watch *watches, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!new_rows(s, &watches[i].row, 1))
            return false;
    return true;
}

static bool
fill_hazards(gci_segment *s)
{
    if (!fill_watches(s, s->hazards, s->hazard_count))
        return false;
    for (uint32_t h = 0; h < s->hazard_count; h++) {
        for (uint32_t i = 0; i < s->count; i++)
            for (uint32_t k = 0; k < s->candidates[i]->hazard_count; k++)
                if (s->candidates[i]->hazards[k] == s->hazards[h].what)
                    set(&s->hazards[h].row, i);
        summarise(s, &s->hazards[h].row);
    }
    return true;
}

/* Watches of slots are in the order of the slots' numbers, all of them, so that they are found at once. */
static bool
fill_slots(gci_segment *s, gci_tables const *tables)
{
    s->slot_count = tables->slot_count;
    s->slots = gci_arena_array(&s->arena, s->slot_count, sizeof *s->slots);
    if (s->slots == NULL || !fill_watches(s, s->slots, s->slot_count))
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < s->candidates[i]->guards->program.name_count; k++)
            set(&s->slots[s->candidates[i]->slots[k]].row, i);
    for (uint32_t k = 0; k < s->slot_count; k++)
        summarise(s, &s->slots[k].row);
    return true;
}

/* ---- the whole ---- */

static bool
make_index(gci_segment *s, gci_tables const *tables)
{
    grouped g = { .items = NULL };
    gci_arena arena;

    gci_arena_init(&arena, SIZE_MAX / 2);
    g.unsure = gci_arena_array(&arena, s->count, sizeof *g.unsure);
    bool done = g.unsure != NULL && choose_hazards(s, tables, &arena, g.unsure)
                && group_filters(s, tables, &arena, &g) && make_axes(s, tables, &g, &arena);
    if (done && s->axis_count > 0)
        done = fill_hazards(s) && fill_slots(s, tables);
    gci_arena_clear(&arena);
    return done;
}

static bool
make_live(gci_segment *s)
{
    if (!new_rows(s, &s->live, 1))
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        set(&s->live, i);
    summarise(s, &s->live);
    return true;
}

gci_segment *
gci_segment_new(gci_chosen **candidates, uint32_t count, gci_tables const *tables)
{
    gci_segment *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    gci_arena_init(&s->arena, SIZE_MAX / 2);
    s->candidates = candidates;
    s->count = s->live_count = count;
    /* Whole blocks, so that intersecting one never looks past the end. */
    s->word_count = (count + 64 * GCI_BLOCK_WORDS - 1) / (64 * GCI_BLOCK_WORDS) * GCI_BLOCK_WORDS;
    s->summary_count = (s->word_count / GCI_BLOCK_WORDS + 63) / 64;
    if (make_live(s) && (count < GCI_INDEX_LEAST || make_index(s, tables)))
        return s;
    s->candidates = NULL;
    gci_segment_free(s);
    return NULL;
}

void
gci_segment_free(gci_segment *segment)
{
    if (segment == NULL)
        return;
    free(segment->candidates);
    gci_arena_clear(&segment->arena);
    free(segment);
}

void
gci_segment_remove(gci_segment *segment, uint32_t place)
{
    GCI_ASSERT(place < segment->count && segment->candidates[place] != NULL);
    segment->candidates[place] = NULL;
    segment->live.bits[place / 64] &= ~((uint64_t)1 << place % 64);
    segment->live_count--;
}

/* ---- walking ---- */

static bool
reads_odd_slot(gci_dimension const *dimension, gci_binding const *binding)
{
    for (size_t i = 0; i < dimension->slot_count; i++)
        for (size_t k = 0; k < binding->odd_count; k++)
            if (dimension->slots[i] == binding->odd[k])
                return true;
    return false;
}

/* false: nothing is known of the dimension. */
static inline bool
value_of(gci_dimension const *dimension, gci_binding const *binding, int64_t *out)
{
    if (binding->odd_count != 0 && reads_odd_slot(dimension, binding))
        return false;
    return gci_dimension_value(dimension, binding->frame, out);
}

static void
add_unsure(gci_cursor *c, gci_tables const *tables, gci_binding const *binding)
{
    gci_segment const *s = c->segment;
    int64_t value;

    for (uint32_t i = 0; i < s->hazard_count; i++)
        if (!value_of(&tables->dimensions[s->hazards[i].what], binding, &value) || value == 0)
            c->any[c->any_count++] = &s->hazards[i].row;
    for (size_t i = 0; i < binding->odd_count; i++)
        if (binding->odd[i] < s->slot_count)
            c->any[c->any_count++] = &s->slots[binding->odd[i]].row;
}

void
gci_cursor_init(gci_cursor *cursor, gci_segment const *segment, gci_tables const *tables, gci_binding *binding)
{
    int64_t value;

    cursor->segment = segment;
    cursor->any = binding->rows;
    cursor->all_count = cursor->any_count = 0;
    cursor->summary_at = 0;
    cursor->block = UINT32_MAX;
    cursor->word = GCI_BLOCK_WORDS;
    cursor->summary = 0;
    for (uint32_t i = 0; i < segment->axis_count; i++) {
        gci_axis const *axis = &segment->axes[i];
        if (value_of(&tables->dimensions[axis->dimension], binding, &value))
            cursor->all[cursor->all_count++] = &axis->rows[bucket_of(axis, value)];
    }
    if (cursor->all_count != 0)
        add_unsure(cursor, tables, binding);
}

/* What may hold of the blocks of one summary word. */
static uint64_t
load_summary(gci_cursor const *c, uint32_t at)
{
    uint64_t all = c->segment->live.summary[at], any = 0;

    for (uint32_t i = 0; i < c->all_count; i++)
        all &= c->all[i]->summary[at];
    for (uint32_t i = 0; i < c->any_count; i++)
        any |= c->any[i]->summary[at];
    return all | any;
}

static void
add_any(gci_cursor *c, size_t first, uint64_t const *live)
{
    for (uint32_t i = 0; i < c->any_count; i++)
        for (uint32_t w = 0; w < GCI_BLOCK_WORDS; w++)
            c->bits[w] |= c->any[i]->bits[first + w] & live[w];
}

/* The most selective rows come first: most blocks are empty after a few of them. */
static void
load_block(gci_cursor *c)
{
    size_t first = (size_t)c->block * GCI_BLOCK_WORDS;
    uint64_t const *live = c->segment->live.bits + first;
    uint64_t left = 1;

    memcpy(c->bits, live, sizeof c->bits);
    for (uint32_t i = 0; i < c->all_count && left != 0; i++) {
        uint64_t const *row = c->all[i]->bits + first;
        left = 0;
        for (uint32_t w = 0; w < GCI_BLOCK_WORDS; w++) {
            c->bits[w] &= row[w];
            left |= c->bits[w];
        }
    }
    if (c->any_count != 0)
        add_any(c, first, live);
}

/* Goes on to the next block that may have anything. */
static bool
next_block(gci_cursor *c)
{
    while (c->summary == 0) {
        if (c->summary_at == c->segment->summary_count)
            return false;
        c->summary = load_summary(c, c->summary_at++);
    }
    c->block = (c->summary_at - 1) * 64 + (uint32_t)__builtin_ctzll(c->summary);
    c->summary &= c->summary - 1;
    c->word = 0;
    load_block(c);
    return true;
}

uint32_t
gci_cursor_next(gci_cursor *cursor)
{
    for (;;) {
        for (; cursor->word < GCI_BLOCK_WORDS; cursor->word++) {
            uint64_t *bits = &cursor->bits[cursor->word];
            if (*bits == 0)
                continue;
            uint32_t bit = (uint32_t)__builtin_ctzll(*bits);
            *bits &= *bits - 1;
            return (cursor->block * GCI_BLOCK_WORDS + cursor->word) * 64 + bit;
        }
        if (!next_block(cursor))
            return UINT32_MAX;
    }
}
