/*
 * Makes bounds of dimensions from the normal form of a list.
 *
 * Normal forms are kept while the filters are, as far as dimensions lie in them.
 */
#include "guards/select/filters.h"

#include "base/check.h"

bool
gci_filters_init(gci_filters *filters, uint32_t count, uint32_t slot_count, gci_arena *kept)
{
    *filters = (gci_filters){ .slot_count = slot_count, .kept = kept };
    gci_arena_init(&filters->arena, GCI_GUARD_PARSE_MEMORY);
    filters->lists = gci_arena_array(&filters->arena, count, sizeof *filters->lists);
    filters->dimensions = gci_arena_array(&filters->arena, GCI_MAX_DIMENSIONS, sizeof *filters->dimensions);
    filters->normals = gci_arena_array(&filters->arena, GCI_MAX_DIMENSIONS, sizeof *filters->normals);
    return !filters->arena.failed;
}

void
gci_filters_clear(gci_filters *filters)
{
    for (uint32_t i = 0; i < filters->normal_count; i++)
        gci_normal_clear(&filters->normals[i]);
    gci_arena_clear(&filters->arena);
}

/* One list on its way in. */
typedef struct adding {
    gci_filters *into;
    gci_program const *program;
    uint16_t const *slots;
    gci_normal normal;
    gci_filter filters[GCI_MAX_FILTERS];
    uint32_t hazards[GCI_MAX_HAZARDS];
    uint32_t filter_count, hazard_count;
    bool no_memory;
} adding;

/* A callee is no name of the program; nothing is known of its value. */
static gci_expr *
slot_symbol(void *state, gci_ast const *node)
{
    adding *a = state;

    for (uint32_t i = 0; i < a->program->name_count; i++)
        if (gci_view_equal(a->program->names[i].text, node->name))
            return gci_expr_slot(&a->normal.arena, a->slots[i]);
    return gci_expr_text(&a->normal.arena, node->name, node->begin);
}

/* The number of an expression's dimension, or GCI_MAX_DIMENSIONS for what can't be one. */
static uint32_t
intern_dimension(adding *a, gci_expr const *expr)
{
    gci_filters *f = a->into;
    bool unfit;

    for (uint32_t i = 0; i < f->dimension_count; i++)
        if (gci_expr_equal(f->dimensions[i].expr, expr))
            return i;
    if (f->dimension_count == GCI_MAX_DIMENSIONS)
        return GCI_MAX_DIMENSIONS;
    if (gci_dimension_make(expr, f->kept, &f->dimensions[f->dimension_count], &unfit))
        return f->dimension_count++;
    a->no_memory = a->no_memory || !unfit;
    return GCI_MAX_DIMENSIONS;
}

/* Narrows the filter of a dimension. */
static void
add_filter(adding *a, uint32_t dimension, int64_t low, int64_t high)
{
    uint32_t i = 0;

    while (i < a->filter_count && a->filters[i].dimension != dimension)
        i++;
    if (i == GCI_MAX_FILTERS)
        return;
    gci_filter *filter = &a->filters[i];
    if (i == a->filter_count) {
        *filter = (gci_filter){ dimension, low, high };
        a->filter_count++;
    }
    filter->low = low > filter->low ? low : filter->low;
    filter->high = high < filter->high ? high : filter->high;
}

/* false: the divisor can't be watched. */
static bool
add_hazard(adding *a, gci_expr const *divisor)
{
    int64_t value;

    if (gci_expr_constant(divisor, &value))
        return value != 0;
    uint32_t dimension = intern_dimension(a, divisor);
    for (uint32_t i = 0; i < a->hazard_count; i++)
        if (a->hazards[i] == dimension)
            return true;
    if (dimension == GCI_MAX_DIMENSIONS || a->hazard_count == GCI_MAX_HAZARDS)
        return false;
    a->hazards[a->hazard_count++] = dimension;
    return true;
}

/* Takes a conjunct in. false: it may raise unseen, so that nothing from it on can be relied on. */
static bool
add_conjunct(adding *a, gci_conjunct const *conjunct)
{
    if (conjunct->raises)
        return false;
    for (size_t i = 0; i < conjunct->divisor_count; i++)
        if (!add_hazard(a, conjunct->divisors[i]))
            return false;
    if (conjunct->kind != GCI_CONJUNCT_BOUNDS)
        return true;
    uint32_t dimension = intern_dimension(a, conjunct->expr);
    if (dimension != GCI_MAX_DIMENSIONS)
        add_filter(a, dimension, conjunct->low, conjunct->high);
    return true;
}

static bool
keep(adding *a)
{
    gci_filters *f = a->into;
    gci_view filters = gci_arena_copy(&f->arena, gci_view_of(a->filters, a->filter_count * sizeof a->filters[0]));
    gci_view hazards = gci_arena_copy(&f->arena, gci_view_of(a->hazards, a->hazard_count * sizeof a->hazards[0]));

    f->lists[f->count++] = (gci_list_filters){
        .filters = (gci_filter *)(void *)filters.data,
        .hazards = (uint32_t *)(void *)hazards.data,
        .slots = a->slots,
        .filter_count = a->filter_count,
        .hazard_count = a->filter_count != 0 ? a->hazard_count : 0,
        .slot_count = a->program->name_count,
    };
    return !a->no_memory && !f->arena.failed;
}

bool
gci_filters_add(gci_filters *filters, gci_guards const *guards, uint16_t const *slots)
{
    adding a = { .into = filters, .program = &guards->program, .slots = slots };
    uint32_t dimensions = filters->dimension_count;

    /* A list that the parser doesn't take any more (a limit was lowered) isn't filtered. */
    bool parsed = gci_normal_make(guards->texts, guards->count, slot_symbol, &a, &a.normal);
    for (size_t i = 0; parsed && i < a.normal.count && add_conjunct(&a, &a.normal.conjuncts[i]); i++)
        ;
    if (filters->dimension_count != dimensions)
        filters->normals[filters->normal_count++] = a.normal;
    else
        gci_normal_clear(&a.normal);
    return keep(&a);
}
