/*
 * Building the index, and walking the lists that it lets through.
 */
#include "guards/select/filter_index.h"

#include "base/check.h"

#include <stdlib.h>

/* A value falls into one of so many buckets: bounds in guards cluster, and rows for more would not fit the cache. */
#define MAX_BUCKETS 64

/* Bounds of a dimension that are looked at to choose edges. */
#define MAX_SAMPLE 4096

/* An axis that lets more than this share of the lists through isn't worth its row. */
#define WORST_SHARE 0.97

/* Axes are added until fewer lists than this are expected to get through. */
#define ENOUGH 0.25

typedef struct building {
    gci_filter_index *index;
    gci_filters const *from;
    gci_arena *scratch;
    bool *unsure; /* lists that can't be filtered */
    /* The filters of all lists, grouped: those of dimension d are members[starts[d]..starts[d + 1]). */
    struct member {
        uint32_t dimension, list;
        int64_t low, high;
    } *members;
    uint32_t *starts;
} building;

/* ---- rows ---- */

/* Empty rows. NULL: no memory. */
static gci_bits *
new_rows(gci_filter_index const *index, uint32_t count)
{
    gci_bits *rows = gci_arena_array(index->arena, count, sizeof *rows);
    uint64_t *bits = gci_arena_array(index->arena, (size_t)count * index->word_count, sizeof *bits);
    uint64_t *summary = gci_arena_array(index->arena, (size_t)count * index->summary_count, sizeof *summary);

    if (rows == NULL || bits == NULL || summary == NULL)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        rows[i] = (gci_bits){ bits + (size_t)i * index->word_count, summary + (size_t)i * index->summary_count };
    return rows;
}

static void
set(gci_bits *row, uint32_t list)
{
    uint32_t block = list / (64 * GCI_BLOCK_WORDS);

    row->bits[list / 64] |= (uint64_t)1 << list % 64;
    row->summary[block / 64] |= (uint64_t)1 << block % 64;
}

/* ---- filters by dimension ---- */

static int
compare_members(void const *left, void const *right)
{
    struct member const *a = left, *b = right;

    return a->dimension != b->dimension ? (a->dimension > b->dimension) - (a->dimension < b->dimension)
                                        : (a->list > b->list) - (a->list < b->list);
}

static bool
group_filters(building *b)
{
    gci_filters const *from = b->from;
    uint32_t total = 0, count = 0;

    for (uint32_t i = 0; i < from->count; i++)
        total += from->lists[i].filter_count;
    b->starts = gci_arena_array(b->scratch, from->dimension_count + 1, sizeof *b->starts);
    b->members = gci_arena_array(b->scratch, total, sizeof *b->members);
    if (b->starts == NULL || b->members == NULL)
        return false;
    for (uint32_t i = 0; i < from->count; i++) {
        gci_list_filters const *list = &from->lists[i];
        for (gci_filter const *f = list->filters; f < list->filters + list->filter_count && !b->unsure[i]; f++)
            b->members[count++] = (struct member){ f->dimension, i, f->low, f->high };
    }
    if (count > 1)
        qsort(b->members, count, sizeof *b->members, compare_members);
    for (uint32_t d = 0, at = 0; d <= from->dimension_count; d++) {
        while (at < count && b->members[at].dimension < d)
            at++;
        b->starts[d] = at;
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
    uint32_t looked = count < MAX_SAMPLE ? count : MAX_SAMPLE;
    size_t found = 0;

    for (uint32_t i = 0; i < looked; i++) {
        struct member const *member = &members[(uint64_t)i * count / looked];
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

/* All distinct bounds where they are few enough, else such that each bucket has about as many. bounds is room. */
static bool
choose_edges(building *b, gci_axis *axis, int64_t *bounds)
{
    struct member const *members = b->members + b->starts[axis->dimension];
    uint32_t count = b->starts[axis->dimension + 1] - b->starts[axis->dimension];
    int64_t spread[MAX_BUCKETS - 1], *picked = bounds;
    size_t found = sample_bounds(members, count, bounds);

    for (size_t i = 0; i < MAX_BUCKETS - 1 && found != 0; i++)
        spread[i] = bounds[(i + 1) * found / MAX_BUCKETS];
    size_t kept = drop_repeated(bounds, found);
    if (kept >= MAX_BUCKETS) {
        picked = spread;
        kept = drop_repeated(spread, MAX_BUCKETS - 1);
    }
    gci_view edges = gci_arena_copy(b->index->arena, gci_view_of(picked, kept * sizeof *picked));
    axis->edges = (int64_t *)(void *)edges.data;
    axis->bucket_count = (uint32_t)kept + 1;
    return axis->edges != NULL;
}

/* The share of lists that a value in a random bucket lets through. */
static double
share_let_through(building const *b, gci_axis const *axis)
{
    uint32_t first = b->starts[axis->dimension], end = b->starts[axis->dimension + 1], count = b->from->count;
    double covered = 0;

    for (struct member const *m = b->members + first; m < b->members + end; m++)
        if (m->low <= m->high)
            covered += 1 + bucket_of(axis, m->high) - bucket_of(axis, m->low);
    return (covered / axis->bucket_count + (count - (end - first))) / count;
}

static bool
fill_rows(building *b, gci_axis *axis)
{
    uint32_t first = b->starts[axis->dimension], end = b->starts[axis->dimension + 1];
    bool *bounded = gci_arena_array(b->scratch, b->from->count, sizeof *bounded);

    axis->rows = new_rows(b->index, axis->bucket_count);
    if (bounded == NULL || axis->rows == NULL)
        return false;
    for (struct member const *m = b->members + first; m < b->members + end; m++) {
        bounded[m->list] = true;
        for (uint32_t i = bucket_of(axis, m->low); m->low <= m->high && i <= bucket_of(axis, m->high); i++)
            set(&axis->rows[i], m->list);
    }
    for (uint32_t list = 0; list < b->from->count; list++)
        for (uint32_t i = 0; i < axis->bucket_count && !bounded[list]; i++)
            set(&axis->rows[i], list);
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
propose_axes(building *b, proposal *out, size_t *out_count)
{
    int64_t *bounds = gci_arena_alloc(b->scratch, 2 * MAX_SAMPLE * sizeof *bounds);

    for (uint32_t d = 0; d < b->from->dimension_count; d++) {
        proposal *next = &out[*out_count];
        if (b->starts[d + 1] == b->starts[d])
            continue;
        next->axis = (gci_axis){ .dimension = d };
        if (bounds == NULL || !choose_edges(b, &next->axis, bounds))
            return false;
        next->share = share_let_through(b, &next->axis);
        *out_count += next->share <= WORST_SHARE;
    }
    if (*out_count > 1)
        qsort(out, *out_count, sizeof *out, compare_proposals);
    return true;
}

static bool
make_axes(building *b)
{
    gci_filter_index *index = b->index;
    proposal *proposals = gci_arena_array(b->scratch, b->from->dimension_count + 1, sizeof *proposals);
    size_t count = 0;
    double expected = b->from->count;

    index->axes = gci_arena_array(index->arena, GCI_MAX_AXES, sizeof *index->axes);
    if (proposals == NULL || index->axes == NULL || !propose_axes(b, proposals, &count))
        return false;
    for (size_t i = 0; i < count && index->axis_count < GCI_MAX_AXES && expected > ENOUGH; i++) {
        gci_axis *axis = &index->axes[index->axis_count++];
        *axis = proposals[i].axis;
        if (!fill_rows(b, axis))
            return false;
        expected *= proposals[i].share;
    }
    return true;
}

/* ---- what switches filtering off ---- */

/* The hazards that most lists have; a list with any other one isn't filtered. */
static bool
choose_hazards(building *b)
{
    gci_filter_index *index = b->index;
    uint32_t dimensions = b->from->dimension_count;
    uint32_t *uses = gci_arena_array(b->scratch, dimensions + 1, sizeof *uses);

    index->hazards = gci_arena_array(index->arena, GCI_MAX_WATCHED_HAZARDS, sizeof *index->hazards);
    b->unsure = gci_arena_array(b->scratch, b->from->count, sizeof *b->unsure);
    if (uses == NULL || index->hazards == NULL || b->unsure == NULL)
        return false;
    for (uint32_t i = 0; i < b->from->count; i++)
        for (uint32_t k = 0; k < b->from->lists[i].hazard_count; k++)
            uses[b->from->lists[i].hazards[k]]++;
    while (index->hazard_count < GCI_MAX_WATCHED_HAZARDS) {
        uint32_t most = 0;
        for (uint32_t d = 1; d < dimensions; d++)
            if (uses[d] > uses[most])
                most = d;
        if (uses[most] == 0)
            break;
        index->hazards[index->hazard_count++] = most;
        uses[most] = 0;
    }
    for (uint32_t i = 0; i < b->from->count; i++)
        for (uint32_t k = 0; k < b->from->lists[i].hazard_count; k++)
            b->unsure[i] = b->unsure[i] || uses[b->from->lists[i].hazards[k]] != 0;
    return true;
}

static void
set_hazards(gci_filter_index *index, gci_list_filters const *filters, uint32_t list)
{
    for (uint32_t h = 0; h < index->hazard_count; h++)
        for (uint32_t k = 0; k < filters->hazard_count; k++)
            if (filters->hazards[k] == index->hazards[h])
                set(&index->by_hazard[h], list);
}

static bool
make_exceptions(building *b)
{
    gci_filter_index *index = b->index;
    gci_bits *every = new_rows(index, 1);

    index->by_hazard = new_rows(index, index->hazard_count);
    index->by_slot = new_rows(index, b->from->slot_count);
    if (every == NULL || index->by_hazard == NULL || index->by_slot == NULL)
        return false;
    index->every = *every;
    for (uint32_t i = 0; i < b->from->count; i++) {
        set(&index->every, i);
        set_hazards(index, &b->from->lists[i], i);
        for (uint32_t k = 0; k < b->from->lists[i].slot_count; k++)
            set(&index->by_slot[b->from->lists[i].slots[k]], i);
    }
    return true;
}

/* ---- the whole ---- */

bool
gci_filter_index_make(gci_filters *filters, gci_arena *arena, gci_filter_index **out_index)
{
    gci_filter_index *index = GCI_ARENA_NEW(arena, gci_filter_index);
    building b = { .index = index, .from = filters, .scratch = &filters->arena };
    uint32_t blocks = (filters->count + 64 * GCI_BLOCK_WORDS - 1) / (64 * GCI_BLOCK_WORDS);

    *out_index = NULL;
    if (index == NULL)
        return false;
    /* Whole blocks, so that intersecting one never looks past the end. */
    *index = (gci_filter_index){ .arena = arena, .word_count = blocks * GCI_BLOCK_WORDS, .summary_count = (blocks + 63) / 64 };
    if (!choose_hazards(&b) || !group_filters(&b) || !make_axes(&b))
        return false;
    if (index->axis_count == 0)
        return true;
    gci_view dimensions = gci_arena_copy(
        arena, gci_view_of(filters->dimensions, filters->dimension_count * sizeof *filters->dimensions));
    index->dimensions = (gci_dimension const *)(void const *)dimensions.data;
    *out_index = index;
    return index->dimensions != NULL && make_exceptions(&b);
}

/* ---- walking ---- */

/* So many rows are intersected before anybody asks whether anything is left: about as many as it takes. */
#define AT_ONCE 4

static bool
reads_odd_slot(gci_dimension const *dimension, gci_name_frame const *frame)
{
    for (size_t i = 0; i < dimension->slot_count; i++)
        for (size_t k = 0; k < frame->odd_count; k++)
            if (dimension->slots[i] == frame->odd[k])
                return true;
    return false;
}

/* false: nothing is known of the dimension. */
static inline bool
value_of(gci_dimension const *dimension, gci_name_frame const *frame, int64_t *out)
{
    if (frame->odd_count != 0 && reads_odd_slot(dimension, frame))
        return false;
    return gci_dimension_value(dimension, frame->registers, out);
}

static void
add_unsure(gci_cursor *c, gci_name_frame const *frame)
{
    gci_filter_index const *index = c->index;
    int64_t value;

    for (uint32_t i = 0; i < index->hazard_count; i++)
        if (!value_of(&index->dimensions[index->hazards[i]], frame, &value) || value == 0)
            c->any[c->any_count++] = &index->by_hazard[i];
    for (size_t i = 0; i < frame->odd_count; i++)
        c->any[c->any_count++] = &index->by_slot[frame->odd[i]];
}

void
gci_cursor_init(gci_cursor *cursor, gci_filter_index const *index, gci_name_frame const *frame)
{
    int64_t value;

    cursor->index = index;
    cursor->any = frame->rows;
    cursor->all_count = cursor->any_count = 0;
    cursor->summary_at = 0;
    cursor->block = UINT32_MAX;
    cursor->word = GCI_BLOCK_WORDS;
    cursor->summary = 0;
    for (uint32_t i = 0; i < index->axis_count; i++) {
        gci_axis const *axis = &index->axes[i];
        if (value_of(&index->dimensions[axis->dimension], frame, &value))
            cursor->all[cursor->all_count++] = &axis->rows[bucket_of(axis, value)];
    }
    if (cursor->all_count != 0)
        add_unsure(cursor, frame);
    while (cursor->all_count < AT_ONCE)
        cursor->all[cursor->all_count++] = &index->every;
}

/* The blocks of one summary word that may have a list. */
static uint64_t
load_summary(gci_cursor const *c, uint32_t at)
{
    uint64_t all = c->index->every.summary[at], any = 0;

    for (uint32_t i = 0; i < c->all_count; i++)
        all &= c->all[i]->summary[at];
    for (uint32_t i = 0; i < c->any_count; i++)
        any |= c->any[i]->summary[at];
    return all | any;
}

/* Intersects AT_ONCE rows. false: nothing is left. */
static inline bool
intersect_first(uint64_t *restrict out, gci_bits const *const *rows, size_t first)
{
    uint64_t const *a = rows[0]->bits + first, *b = rows[1]->bits + first;
    uint64_t const *c = rows[2]->bits + first, *d = rows[3]->bits + first;
    uint64_t left = 0;

    for (uint32_t w = 0; w < GCI_BLOCK_WORDS; w++) {
        out[w] = a[w] & b[w] & c[w] & d[w];
        left |= out[w];
    }
    return left != 0;
}

static inline bool
intersect(uint64_t *restrict out, gci_bits const *row, size_t first)
{
    uint64_t left = 0;

    for (uint32_t w = 0; w < GCI_BLOCK_WORDS; w++) {
        out[w] &= row->bits[first + w];
        left |= out[w];
    }
    return left != 0;
}

/* The most selective rows come first: most blocks are empty after a few of them. */
static void
load_block(gci_cursor *c)
{
    size_t first = (size_t)c->block * GCI_BLOCK_WORDS;
    bool left = intersect_first(c->bits, c->all, first);

    for (uint32_t i = AT_ONCE; i < c->all_count && left; i++)
        left = intersect(c->bits, c->all[i], first);
    for (uint32_t i = 0; i < c->any_count; i++)
        for (uint32_t w = 0; w < GCI_BLOCK_WORDS; w++)
            c->bits[w] |= c->any[i]->bits[first + w];
}

/* Goes on to the next block that may have anything. */
static bool
next_block(gci_cursor *c)
{
    while (c->summary == 0) {
        if (c->summary_at == c->index->summary_count)
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
