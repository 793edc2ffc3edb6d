/*
 * Making a candidate: its program moved to the selector's frame, and the filters of its normal form.
 */
#include "guards/select/candidate.h"

#include "base/check.h"
#include "guards/text/hint.h"

#include <stdlib.h>

#define FIRST_SLOTS 16

/* ---- tables ---- */

void
gci_tables_init(gci_tables *tables)
{
    *tables = (gci_tables){ .slot_count = 0 };
    gci_arena_init(&tables->arena, GCI_GUARD_PARSE_MEMORY);
}

void
gci_tables_clear(gci_tables *tables)
{
    free(tables->slots);
    free(tables->slot_places);
    free(tables->dimensions);
    gci_arena_clear(&tables->arena);
}

uint32_t
gci_tables_find_slot(gci_tables const *tables, uint64_t hash, gci_view name)
{
    if (tables->slot_count == 0)
        return GCI_MAX_SLOTS;
    for (uint64_t place = hash;; place++) {
        uint32_t slot = tables->slot_places[place & tables->slot_mask];
        if (slot == 0)
            return GCI_MAX_SLOTS;
        if (tables->slots[slot - 1].hash == hash && gci_view_equal(tables->slots[slot - 1].name, name))
            return slot - 1;
    }
}

static void
place_slot(gci_tables *tables, uint32_t slot)
{
    uint64_t place = tables->slots[slot].hash;

    while (tables->slot_places[place & tables->slot_mask] != 0)
        place++;
    tables->slot_places[place & tables->slot_mask] = slot + 1;
}

static bool
grow_slots(gci_tables *tables)
{
    uint32_t room = tables->slot_room != 0 ? 2 * tables->slot_room : FIRST_SLOTS;
    gci_slot *slots = realloc(tables->slots, room * sizeof *slots);
    uint32_t *places = calloc(2 * (size_t)room, sizeof *places);

    if (slots != NULL)
        tables->slots = slots;
    if (slots == NULL || places == NULL) {
        free(places);
        return false;
    }
    free(tables->slot_places);
    tables->slot_places = places;
    tables->slot_room = room;
    tables->slot_mask = 2 * room - 1;
    for (uint32_t i = 0; i < tables->slot_count; i++)
        place_slot(tables, i);
    return true;
}

static gcache_status
intern_slot(gci_tables *tables, gci_view name, uint32_t *out_slot, gcache_error *error)
{
    uint64_t hash = gci_name_hash(name);

    *out_slot = gci_tables_find_slot(tables, hash, name);
    if (*out_slot != GCI_MAX_SLOTS)
        return GCACHE_OK;
    if (tables->slot_count == GCI_MAX_SLOTS)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "more than %d names under one key", GCI_MAX_SLOTS);
    if (tables->slot_count == tables->slot_room && !grow_slots(tables))
        return gci_fail_memory(error);
    gci_view copy = gci_arena_copy(&tables->arena, name);
    if (copy.data == NULL)
        return gci_fail_memory(error);
    *out_slot = tables->slot_count++;
    tables->slots[*out_slot] = (gci_slot){ .name = copy, .hash = hash };
    place_slot(tables, *out_slot);
    return GCACHE_OK;
}

/* false: no memory. *out_index is GCI_MAX_DIMENSIONS for what can't be one. */
static bool
intern_dimension(gci_tables *tables, gci_expr const *expr, uint32_t *out_index)
{
    gci_dimension dimension;
    bool unfit;

    for (uint32_t i = 0; i < tables->dimension_count; i++) {
        *out_index = i;
        if (gci_expr_equal(tables->dimensions[i].expr, expr))
            return true;
    }
    *out_index = GCI_MAX_DIMENSIONS;
    if (tables->dimension_count == GCI_MAX_DIMENSIONS)
        return true;
    if (tables->dimension_count == tables->dimension_room) {
        uint32_t room = tables->dimension_room != 0 ? 2 * tables->dimension_room : 16;
        gci_dimension *more = realloc(tables->dimensions, room * sizeof *more);
        if (more == NULL)
            return false;
        tables->dimensions = more;
        tables->dimension_room = room;
    }
    if (!gci_dimension_make(expr, &tables->arena, &dimension, &unfit))
        return unfit;
    *out_index = tables->dimension_count;
    tables->dimensions[tables->dimension_count++] = dimension;
    return true;
}

/* ---- programs on a frame ---- */

static uint16_t
on_frame(gci_chosen const *chosen, uint16_t r)
{
    uint32_t names = chosen->guards->program.name_count;

    return (uint16_t)(r < names ? GCI_FRAME_SLOTS + chosen->slots[r] : r - names);
}

static void
relocate(gci_chosen const *chosen, gci_instruction *i)
{
    switch (gci_opcode_at(i->op)->operands) {
    case GCI_NONE_OPERANDS:
    case GCI_T:
    case GCI_R_I: break;
    case GCI_S:
    case GCI_D_I:
    case GCI_S_T:
    case GCI_S_X_T:
    case GCI_S_X_Z_T: i->a = on_frame(chosen, i->a); break;
    case GCI_D_S:
    case GCI_D_S_I:
    case GCI_CALL:
    case GCI_S_S_T:
    case GCI_S_S_X_T:
        i->a = on_frame(chosen, i->a);
        i->b = on_frame(chosen, i->b);
        break;
    case GCI_D_S_S:
    case GCI_D_S_S_I:
        i->a = on_frame(chosen, i->a);
        i->b = on_frame(chosen, i->b);
        i->c = on_frame(chosen, i->c);
        break;
    }
}

/* The list's names as slots. */
static gcache_status
intern_names(gci_chosen *chosen, gci_tables *tables, gcache_error *error)
{
    gci_program const *program = &chosen->guards->program;
    gcache_status status = GCACHE_OK;
    uint32_t slot;

    chosen->slots = calloc(program->name_count + 1, sizeof *chosen->slots);
    if (chosen->slots == NULL)
        return gci_fail_memory(error);
    for (uint32_t i = 0; i < program->name_count && status == GCACHE_OK; i++) {
        status = intern_slot(tables, program->names[i].name, &slot, error);
        if (status != GCACHE_OK)
            return status;
        chosen->slots[i] = (uint16_t)slot;
        tables->slots[slot].is_name = true;
    }
    for (uint32_t i = 0; i < program->callee_count && status == GCACHE_OK; i++) {
        status = intern_slot(tables, program->callees[i], &slot, error);
        if (status == GCACHE_OK)
            tables->slots[slot].is_callee = true;
    }
    return status;
}

static gcache_status
make_code(gci_chosen *chosen, gcache_error *error)
{
    gci_program const *program = &chosen->guards->program;

    if (program->exact_only)
        return GCACHE_OK;
    chosen->code = malloc(program->code_count * sizeof *chosen->code);
    if (chosen->code == NULL)
        return gci_fail_memory(error);
    for (uint32_t i = 0; i < program->code_count; i++) {
        chosen->code[i] = program->code[i];
        relocate(chosen, &chosen->code[i]);
    }
    return GCACHE_OK;
}

/* ---- filters ---- */

/* Fills filters and hazards of one list. */
typedef struct filtering {
    gci_chosen *chosen;
    gci_tables *tables;
    gci_normal normal;
    gci_filter filters[GCI_MAX_FILTERS];
    uint32_t hazards[GCI_MAX_HAZARDS];
    uint32_t filter_count, hazard_count;
    bool no_memory;
} filtering;

static gci_expr *
slot_symbol(void *state, gci_ast const *node)
{
    filtering *f = state;
    gci_view bound = gci_guards_bound_name(f->chosen->guards, node->name);
    uint32_t slot = gci_tables_find_slot(f->tables, gci_name_hash(bound), bound);

    /* A callee is no name of the program; nothing is known of its value. */
    if (slot == GCI_MAX_SLOTS)
        return gci_expr_text(&f->normal.arena, node->name, node->begin);
    return gci_expr_slot(&f->normal.arena, (uint16_t)slot);
}

/* Narrows the filter of a dimension. */
static void
add_filter(filtering *f, uint32_t dimension, int64_t low, int64_t high)
{
    for (uint32_t i = 0; i < f->filter_count; i++) {
        gci_filter *filter = &f->filters[i];
        if (filter->dimension != dimension)
            continue;
        filter->low = low > filter->low ? low : filter->low;
        filter->high = high < filter->high ? high : filter->high;
        return;
    }
    if (f->filter_count < GCI_MAX_FILTERS)
        f->filters[f->filter_count++] = (gci_filter){ dimension, low, high };
}

/* false: the divisor can't be watched. */
static bool
add_hazard(filtering *f, gci_expr const *divisor)
{
    uint32_t dimension;
    int64_t value;

    if (gci_expr_constant(divisor, &value))
        return value != 0;
    if (!intern_dimension(f->tables, divisor, &dimension)) {
        f->no_memory = true;
        return false;
    }
    for (uint32_t i = 0; i < f->hazard_count; i++)
        if (f->hazards[i] == dimension)
            return true;
    if (dimension == GCI_MAX_DIMENSIONS || f->hazard_count == GCI_MAX_HAZARDS)
        return false;
    f->hazards[f->hazard_count++] = dimension;
    return true;
}

/* Takes a conjunct in. false: it may raise unseen, so that nothing from it on can be relied on. */
static bool
add_conjunct(filtering *f, gci_conjunct const *conjunct)
{
    uint32_t dimension;

    if (conjunct->raises)
        return false;
    for (size_t i = 0; i < conjunct->divisor_count; i++)
        if (!add_hazard(f, conjunct->divisors[i]))
            return false;
    if (conjunct->kind != GCI_CONJUNCT_BOUNDS)
        return true;
    if (!intern_dimension(f->tables, conjunct->expr, &dimension))
        f->no_memory = true;
    else if (dimension != GCI_MAX_DIMENSIONS)
        add_filter(f, dimension, conjunct->low, conjunct->high);
    return !f->no_memory;
}

static bool
keep_filters(filtering *f)
{
    gci_chosen *chosen = f->chosen;

    chosen->filters = malloc((f->filter_count + 1) * sizeof *chosen->filters);
    chosen->hazards = malloc((f->hazard_count + 1) * sizeof *chosen->hazards);
    if (chosen->filters == NULL || chosen->hazards == NULL)
        return false;
    memcpy(chosen->filters, f->filters, f->filter_count * sizeof *chosen->filters);
    memcpy(chosen->hazards, f->hazards, f->hazard_count * sizeof *chosen->hazards);
    chosen->filter_count = f->filter_count;
    chosen->hazard_count = f->filter_count != 0 ? f->hazard_count : 0;
    return true;
}

static gcache_status
make_filters(gci_chosen *chosen, gci_tables *tables, gcache_error *error)
{
    filtering f = { .chosen = chosen, .tables = tables };

    /* What the parser doesn't take any more (a limit that was lowered) only isn't filtered. */
    bool parsed = gci_normal_make(chosen->guards->texts, chosen->guards->count, slot_symbol, &f, &f.normal);
    for (size_t i = 0; parsed && i < f.normal.count && add_conjunct(&f, &f.normal.conjuncts[i]); i++)
        ;
    bool kept = !f.no_memory && keep_filters(&f);
    gci_normal_clear(&f.normal);
    return kept ? GCACHE_OK : gci_fail_memory(error);
}

gcache_status
gci_chosen_prepare(gci_chosen *chosen, gci_tables *tables, gcache_error *error)
{
    gcache_status status = intern_names(chosen, tables, error);

    if (status == GCACHE_OK)
        status = make_code(chosen, error);
    return status == GCACHE_OK ? make_filters(chosen, tables, error) : status;
}

void
gci_chosen_clear(gci_chosen *chosen)
{
    free(chosen->code);
    free(chosen->slots);
    free(chosen->filters);
    free(chosen->hazards);
}
