/*
 * The smallest change of one hint with which a list holds.
 *
 * Values near the present one are tried, and those that stand in the guards themselves: the edges of ranges. Every value is
 * tried by evaluating the whole list, so what is said to hit does; where nothing is found, nothing is said.
 */
#include "base/check.h"
#include "guards/ast.h"
#include "guards/hints.h"
#include "guards/list.h"

#include <stdlib.h>

/* How far from the present value every value is tried. Multiples that real guards ask for are up to 1,024. */
#define NEAR 1024

typedef struct search {
    gci_guards const *guards;
    gci_hints trial;      /* a copy whose values are changed */
    gci_hint *changed;
    int64_t present;
    uint64_t best;        /* the smallest change so far; 0: none */
    int64_t best_value;
} search;

static uint64_t
change(int64_t from, int64_t to)
{
    return from > to ? (uint64_t)from - (uint64_t)to : (uint64_t)to - (uint64_t)from;
}

static void
try_value(search *s, int64_t value)
{
    uint64_t by = change(s->present, value);
    gcache_verdict verdict;

    /* Of two as near, the larger: more is padded up to. */
    if (by == 0 || (s->best != 0 && (by > s->best || (by == s->best && value < s->best_value))))
        return;
    s->changed->value = gci_number_int(value);
    if (gci_guards_eval(s->guards, &s->trial, &verdict) == GCACHE_TRUE) {
        s->best = by;
        s->best_value = value;
    }
}

/* Constants of the guards, and their neighbours. */
static void
try_constants(search *s, gci_ast const *node)
{
    if (node->kind == GCI_AST_NAME || node->kind == GCI_AST_HINT)
        return;
    if (node->kind == GCI_AST_NUMBER) {
        for (int64_t step = -1; step <= 1 && node->number.kind == GCI_KIND_INT; step++) {
            int64_t value;
            if (!__builtin_add_overflow(node->number.i, step, &value))
                try_value(s, value);
        }
        return;
    }
    for (gci_ast const *child = node->first; child != NULL; child = child->next)
        try_constants(s, child);
}

static void
try_near(search *s)
{
    for (int64_t step = 1; step <= NEAR && s->best == 0; step++) {
        int64_t value;
        if (!__builtin_add_overflow(s->present, step, &value))
            try_value(s, value);
        if (!__builtin_sub_overflow(s->present, step, &value))
            try_value(s, value);
    }
}

static void
search_hint(search *s, size_t index)
{
    gci_arena arena;

    s->changed = &s->trial.items[index];
    s->best = 0;
    if (s->changed->value.kind != GCI_KIND_INT)
        return;
    s->present = s->changed->value.i;
    try_near(s);
    gci_arena_init(&arena, SIZE_MAX / 2);
    for (size_t i = 0; i < s->guards->count; i++) {
        gci_ast const *tree = gci_ast_parse(s->guards->texts[i], &arena, NULL);
        if (tree != NULL)
            try_constants(s, tree);
    }
    gci_arena_clear(&arena);
    s->changed->value = gci_number_int(s->present);
}

static bool
reads(gci_guards const *guards, gci_view bound)
{
    for (uint32_t i = 0; i < guards->program.name_count; i++)
        if (gci_view_equal(guards->program.names[i].name, bound))
            return true;
    return false;
}

bool
gci_guards_nearest(gci_guards const *guards, gci_hints const *hints, gci_buf *out)
{
    search s = { .guards = guards, .trial = *hints };
    uint64_t smallest = 0;
    int64_t value = 0;
    size_t which = 0;

    if (hints->count == 0)
        return false;
    s.trial.items = malloc(hints->count * sizeof *s.trial.items);
    if (s.trial.items == NULL)
        return false;
    memcpy(s.trial.items, hints->items, hints->count * sizeof *s.trial.items);
    for (size_t i = 0; i < hints->count; i++) {
        if (!reads(guards, hints->items[i].bound))
            continue;
        search_hint(&s, i);
        if (s.best != 0 && (smallest == 0 || s.best < smallest)) {
            smallest = s.best;
            value = s.best_value;
            which = i;
        }
    }
    free(s.trial.items);
    if (smallest == 0)
        return false;
    gci_buf_append_view(out, hints->items[which].name);
    gci_buf_format(out, "=%lld", (long long)value);
    return true;
}
