/*
 * Reading hints: integers as they are, other values from Python literals.
 */
#include "guards/text/hints.h"

#include "base/digest.h"
#include "guards/value/limits.h"
#include "guards/text/ast.h"

#include <math.h>
#include <stdlib.h>

/* Comparing all pairs of more names, to find one given twice, would show. */
#define MAX_PAIRWISE 32

uint64_t
gci_name_hash(gci_view name)
{
    return gci_hash64(name.data, name.size, 0);
}

gci_number const *
gci_hints_find(gci_hints const *hints, gci_view bound)
{
    uint64_t hash = gci_name_hash(bound);

    for (size_t i = 0; i < hints->count; i++)
        if (hints->items[i].hash == hash && gci_view_equal(hints->items[i].bound, bound))
            return &hints->items[i].value;
    return NULL;
}

/* ---- literals ---- */

static bool
negate(gci_number *number)
{
    if (number->kind == GCI_KIND_FLOAT)
        number->f = -number->f;
    else if (number->kind == GCI_KIND_INT)
        number->i = -number->i;
    else if (number->kind == GCI_KIND_BIG)
        *number = gci_number_of_int(gci_int_negate((gci_int){ number->limbs, number->size }));
    return number->kind == GCI_KIND_FLOAT || gci_number_is_integral(*number);
}

/* literal -> 'None' | 'True' | 'False' | '-'? ('inf' | 'nan' | INT | FLOAT) */
static bool
read_literal(gci_view text, gci_arena *arena, gci_number *out)
{
    gci_ast const *node = gci_ast_parse(text, arena, NULL);
    bool negative = node != NULL && node->kind == GCI_AST_UNARY && node->first->joint == GCI_OPERATOR_NEG;

    node = negative ? node->first : node;
    if (node == NULL || node->parenthesised)
        return false;
    bool infinite = node->kind == GCI_AST_NAME && gci_view_is(node->name, "inf");
    if (infinite || (node->kind == GCI_AST_NAME && gci_view_is(node->name, "nan")))
        *out = gci_number_float(infinite ? (double)INFINITY : (double)NAN);
    else if (node->kind == GCI_AST_NUMBER && node->number.kind != GCI_KIND_COMPLEX)
        *out = node->number;
    else
        return false;
    return !negative || (out->kind != GCI_KIND_BOOL && negate(out));
}

/* ---- reading ---- */

static gcache_status
add_hint(gci_hints *hints, char const *name, gci_naming naming, gci_number value, gcache_error *error)
{
    gci_hint *hint = &hints->items[hints->count];

    if (name == NULL || name[0] == '\0')
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "a hint without a name");
    hint->name = gci_arena_copy(&hints->arena, gci_view_text(name));
    if (hint->name.data == NULL)
        return gci_fail_memory(error);
    hint->bound = naming.rename != NULL ? naming.rename(naming.state, hint->name) : hint->name;
    hint->hash = gci_name_hash(hint->bound);
    hints->count++;
    hint->value = value.kind == GCI_KIND_FLOAT ? gci_number_float_object(value.f, (int32_t)hints->count) : value;
    return GCACHE_OK;
}

static gcache_status
add_literal(gci_hints *hints, gcache_hint_literal const *literal, gci_naming naming, gcache_error *error)
{
    gci_view text = gci_arena_copy(&hints->arena, gci_view_text(literal->literal));
    gci_number value;

    if (text.data == NULL)
        return gci_fail_memory(error);
    if (literal->literal == NULL || !read_literal(text, &hints->arena, &value))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "hint %s: '%.80s' is not an integer, a float, True, False or None",
                        literal->name != NULL ? literal->name : "?", text.size != 0 ? text.data : "");
    return add_hint(hints, literal->name, naming, value, error);
}

static gcache_status
fail_twice(gci_hint const *hint, gcache_error *error)
{
    return gci_fail(error, GCACHE_ERROR_ARGUMENT, "hint %.*s is given twice", (int)hint->name.size, hint->name.data);
}

static int
compare_hints(void const *left, void const *right)
{
    gci_hint const *const *a = left, *const *b = right;

    return gci_view_compare((*a)->bound, (*b)->bound);
}

static gcache_status
check_sorted(gci_hints *hints, gcache_error *error)
{
    gci_hint **sorted = gci_arena_array(&hints->arena, hints->count, sizeof *sorted);

    if (sorted == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < hints->count; i++)
        sorted[i] = &hints->items[i];
    qsort(sorted, hints->count, sizeof *sorted, compare_hints);
    for (size_t i = 1; i < hints->count; i++)
        if (gci_view_equal(sorted[i - 1]->bound, sorted[i]->bound))
            return fail_twice(sorted[i], error);
    return GCACHE_OK;
}

static gcache_status
check_distinct(gci_hints *hints, gcache_error *error)
{
    if (hints->count > MAX_PAIRWISE)
        return check_sorted(hints, error);
    for (size_t i = 1; i < hints->count; i++)
        for (size_t j = 0; j < i; j++)
            if (hints->items[i].hash == hints->items[j].hash
                && gci_view_equal(hints->items[i].bound, hints->items[j].bound))
                return fail_twice(&hints->items[i], error);
    return GCACHE_OK;
}

static gcache_status
read_hints(gci_hints *hints, gcache_hints const *source, gci_naming naming, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    hints->items = gci_arena_array(&hints->arena, source->count + source->literal_count, sizeof *hints->items);
    if (hints->items == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < source->count && status == GCACHE_OK; i++)
        status = add_hint(hints, source->items[i].name, naming, gci_number_int(source->items[i].value), error);
    for (size_t i = 0; i < source->literal_count && status == GCACHE_OK; i++)
        status = add_literal(hints, &source->literals[i], naming, error);
    return status == GCACHE_OK ? check_distinct(hints, error) : status;
}

gcache_status
gci_hints_new(gcache_hints const *source, gci_naming naming, gci_hints **out_hints, gcache_error *error)
{
    gci_hints *hints = calloc(1, sizeof *hints);

    if (hints == NULL)
        return gci_fail_memory(error);
    gci_arena_init(&hints->arena, GCI_EVAL_MEMORY);
    gcache_status status = read_hints(hints, source, naming, error);
    if (status != GCACHE_OK) {
        gci_hints_free(hints);
        return status;
    }
    *out_hints = hints;
    return GCACHE_OK;
}

void
gci_hints_free(gci_hints *hints)
{
    if (hints == NULL)
        return;
    gci_arena_clear(&hints->arena);
    free(hints);
}
