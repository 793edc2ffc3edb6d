/*
 * The smallest change of one hint, or else of two, with which a list holds.
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
/* The same for two hints at once, and how many pairs are tried in all: a few milliseconds. */
#define NEAR_OF_PAIR 32
#define PAIRS_MAX 20000
/* Values of one hint that are tried with those of another; guards of real graphs hold some dozens of constants. */
#define VALUES_MAX 256

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

/* ---- two at once ---- */

/* What one hint of a pair is tried with, nearest first. */
typedef struct values {
    int64_t present;
    int64_t items[VALUES_MAX];
    size_t count;
} values;

static void
add_value(values *v, int64_t value)
{
    if (v->count < VALUES_MAX && value != v->present)
        v->items[v->count++] = value;
}

static void
add_constants(values *v, gci_ast const *node)
{
    if (node->kind == GCI_AST_NUMBER && node->number.kind == GCI_KIND_INT) {
        for (int64_t step = -1; step <= 1; step++) {
            int64_t value;
            if (!__builtin_add_overflow(node->number.i, step, &value) && change(v->present, value) > NEAR_OF_PAIR)
                add_value(v, value);
        }
    }
    for (gci_ast const *child = node->first; child != NULL; child = child->next)
        add_constants(v, child);
}

static void
sort_values(values *v)
{
    for (size_t i = 1; i < v->count; i++) {
        int64_t value = v->items[i];
        size_t at = i;
        for (; at > 0 && change(v->present, v->items[at - 1]) > change(v->present, value); at--)
            v->items[at] = v->items[at - 1];
        v->items[at] = value;
    }
}

static void
collect_values(gci_guards const *guards, int64_t present, values *out_values)
{
    gci_arena arena;

    out_values->present = present;
    out_values->count = 0;
    for (int64_t step = 1; step <= NEAR_OF_PAIR; step++) {
        int64_t value;
        if (!__builtin_add_overflow(present, step, &value))
            add_value(out_values, value);
        if (!__builtin_sub_overflow(present, step, &value))
            add_value(out_values, value);
    }
    gci_arena_init(&arena, SIZE_MAX / 2);
    for (size_t i = 0; i < guards->count; i++) {
        gci_ast const *tree = gci_ast_parse(guards->texts[i], &arena, NULL);
        if (tree != NULL)
            add_constants(out_values, tree);
    }
    gci_arena_clear(&arena);
    sort_values(out_values);
}

/* The two hints and the values with which the list holds. */
typedef struct pair {
    size_t first, second;
    int64_t first_value, second_value;
    uint64_t by;  /* the sum of both changes; 0: none is found yet */
    size_t tries; /* left */
} pair;

static uint64_t
sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void
try_pairs(search *s, size_t first, size_t second, values const *of_first, values const *of_second, pair *best)
{
    gcache_verdict verdict;

    for (size_t i = 0; i < of_first->count; i++) {
        uint64_t by_first = change(of_first->present, of_first->items[i]);
        s->trial.items[first].value = gci_number_int(of_first->items[i]);
        for (size_t j = 0; j < of_second->count && best->tries > 0; j++) {
            uint64_t by = sum_of(by_first, change(of_second->present, of_second->items[j]));
            if (best->by != 0 && by >= best->by)
                break;
            best->tries--;
            s->trial.items[second].value = gci_number_int(of_second->items[j]);
            if (gci_guards_eval(s->guards, &s->trial, &verdict) == GCACHE_TRUE)
                *best = (pair){ first, second, of_first->items[i], of_second->items[j], by, best->tries };
        }
    }
    s->trial.items[first].value = gci_number_int(of_first->present);
    s->trial.items[second].value = gci_number_int(of_second->present);
}

static bool
is_changeable(gci_guards const *guards, gci_hint const *hint)
{
    return hint->value.kind == GCI_KIND_INT && reads(guards, hint->bound);
}

static pair
search_pairs(search *s)
{
    pair best = { .tries = PAIRS_MAX };
    values of_first, of_second;

    for (size_t i = 0; i < s->trial.count; i++) {
        if (!is_changeable(s->guards, &s->trial.items[i]))
            continue;
        collect_values(s->guards, s->trial.items[i].value.i, &of_first);
        for (size_t j = i + 1; j < s->trial.count && best.tries > 0; j++) {
            if (!is_changeable(s->guards, &s->trial.items[j]))
                continue;
            collect_values(s->guards, s->trial.items[j].value.i, &of_second);
            try_pairs(s, i, j, &of_first, &of_second, &best);
        }
    }
    return best;
}

/* ---- the whole ---- */

static bool
write_single(search *s, gci_hints const *hints, gci_buf *out)
{
    uint64_t smallest = 0;
    int64_t value = 0;
    size_t which = 0;

    for (size_t i = 0; i < hints->count; i++) {
        if (!is_changeable(s->guards, &hints->items[i]))
            continue;
        search_hint(s, i);
        if (s->best != 0 && (smallest == 0 || s->best < smallest)) {
            smallest = s->best;
            value = s->best_value;
            which = i;
        }
    }
    if (smallest == 0)
        return false;
    gci_buf_append_view(out, hints->items[which].name);
    gci_buf_format(out, "=%lld", (long long)value);
    return true;
}

static bool
write_pair(search *s, gci_hints const *hints, gci_buf *out)
{
    pair best = search_pairs(s);

    if (best.by == 0)
        return false;
    gci_buf_append_view(out, hints->items[best.first].name);
    gci_buf_format(out, "=%lld ", (long long)best.first_value);
    gci_buf_append_view(out, hints->items[best.second].name);
    gci_buf_format(out, "=%lld", (long long)best.second_value);
    return true;
}

bool
gci_guards_nearest(gci_guards const *guards, gci_hints const *hints, bool pairs, gci_buf *out)
{
    search s = { .guards = guards, .trial = *hints };

    if (hints->count == 0)
        return false;
    s.trial.items = malloc(hints->count * sizeof *s.trial.items);
    if (s.trial.items == NULL)
        return false;
    memcpy(s.trial.items, hints->items, hints->count * sizeof *s.trial.items);
    bool found = write_single(&s, hints, out) || (pairs && write_pair(&s, hints, out));
    free(s.trial.items);
    return found;
}
