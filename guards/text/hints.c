/*
 * Reading hints: integers as they are, other values from Python literals.
 */
#include "guards/text/hints.h"

#include "guards/value/limits.h"
#include "guards/text/ast.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Comparing all pairs of more names, to find one given twice, would show. */
#define MAX_PAIRWISE 32

gci_number const *
gci_hints_find_hashed(gci_hints const *hints, gci_view bound, uint64_t hash)
{
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
    hint->name = gci_view_text(name);
    hint->bound = naming.rename != NULL ? naming.rename(naming.state, hint->name) : hint->name;
    hint->hash = gci_hash_name(hint->bound);
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

void
gci_hints_init(gci_hints *hints)
{
    gci_arena_init(&hints->arena, GCI_EVAL_MEMORY);
    hints->items = hints->few;
    hints->count = 0;
    hints->names_id = 0;
    hints->shown = NULL;
    hints->sizes = NULL;
}

gcache_status
gci_hints_read(gci_hints *hints, gcache_hints const *source, gci_naming naming, gcache_error *error)
{
    size_t count = source->count + source->literal_count;
    gcache_status status = GCACHE_OK;

    if (count > GCI_HINTS_FEW)
        hints->items = gci_arena_array(&hints->arena, count, sizeof *hints->items);
    if (hints->items == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < source->count && status == GCACHE_OK; i++)
        status = add_hint(hints, source->items[i].name, naming, gci_number_int(source->items[i].value), error);
    for (size_t i = 0; i < source->literal_count && status == GCACHE_OK; i++)
        status = add_literal(hints, &source->literals[i], naming, error);
    return status == GCACHE_OK ? check_distinct(hints, error) : status;
}

/* ---- read again ---- */

typedef struct known_name {
    gci_view name; /* behind the items, with a zero */
    gci_view bound;
    uint64_t hash;
} known_name;

struct gci_hint_names {
    uint64_t id; /* no other names of this process have it, so that what was resolved for them is known by it */
    size_t count;
    known_name items[];
};

/* Copies a name to where *to is, and moves that on. */
static gci_view
put_name(char **to, gci_view name)
{
    char *copy = memcpy(*to, name.data, name.size + 1);

    *to += name.size + 1;
    return gci_view_of(copy, name.size);
}

gci_hint_names *
gci_hint_names_of(gci_hints const *hints)
{
    static _Atomic uint64_t last_id;
    size_t size = sizeof(gci_hint_names) + hints->count * sizeof(known_name);

    for (size_t i = 0; i < hints->count; i++)
        size += hints->items[i].name.size + 1;
    gci_hint_names *names = malloc(size);
    if (names == NULL)
        return NULL;
    char *texts = (char *)&names->items[hints->count];
    names->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
    names->count = hints->count;
    for (size_t i = 0; i < hints->count; i++) {
        gci_hint const *hint = &hints->items[i];
        gci_view name = put_name(&texts, hint->name);
        names->items[i] = (known_name){ name, hint->bound.data != hint->name.data ? hint->bound : name, hint->hash };
    }
    return names;
}

bool
gci_hints_read_known(gci_hints *hints, gcache_hints const *source, gci_hint_names const *known)
{
    if (source->count != known->count || source->literal_count != 0 || known->count > GCI_HINTS_FEW)
        return false;
    for (size_t i = 0; i < known->count; i++) {
        known_name const *name = &known->items[i];
        gcache_hint const *given = &source->items[i];
        if (given->name == NULL || strcmp(given->name, name->name.data) != 0)
            return false;
        hints->few[i] = (gci_hint){ name->name, name->bound, name->hash, gci_number_int(given->value) };
    }
    hints->count = known->count;
    hints->names_id = known->id;
    return true;
}

void
gci_hints_clear(gci_hints *hints)
{
    gci_arena_clear(&hints->arena);
    hints->count = 0;
}
