/*
 * A normal form for the canonical form: written so that operand order doesn't show, hashed with symbols as colors, and
 * its symbols listed in an order that no name decides.
 */
#include "base/check.h"
#include "base/digest.h"
#include "guards/normal/expr.h"

#include <stdlib.h>

static uint64_t
mix(uint64_t a, uint64_t b)
{
    uint64_t pair[2] = { a, b };

    return gci_hash64(pair, sizeof pair, 7);
}

/* ---- hashes under colors ---- */

typedef struct coloring {
    gci_color_fn color;
    void *state;
    gci_view marked; /* the symbol whose context is hashed; data NULL: none */
} coloring;

static uint64_t hash_node(coloring const *c, gci_expr const *expr);

static uint64_t
hash_term(coloring const *c, gci_term const *term)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < term->count; i++)
        sum += mix(hash_node(c, term->factors[i].atom), term->factors[i].exponent);
    return mix(gci_int_hash(term->coefficient), sum);
}

static uint64_t
hash_symbol(coloring const *c, gci_expr const *expr)
{
    uint64_t color = c->color(c->state, expr->name);

    return mix(c->marked.data != NULL && gci_view_equal(expr->name, c->marked) ? 21 : 22, color);
}

static uint64_t
hash_node(coloring const *c, gci_expr const *expr)
{
    uint64_t hash = 0, sum = 0;

    switch (expr->type) {
    case GCI_EXPR_SYMBOL:
        return hash_symbol(c, expr);
    case GCI_EXPR_TEXT:
        return gci_hash64(expr->name.data, expr->name.size, 23);
    case GCI_EXPR_POLYNOMIAL:
        for (uint32_t i = 0; i < expr->count; i++)
            sum += hash_term(c, &expr->terms[i]);
        return mix(24, sum);
    case GCI_EXPR_APPLY:
        break;
    }
    hash = gci_hash64(expr->name.data, expr->name.size, expr->count);
    for (uint32_t i = 0; i < expr->count; i++) {
        uint64_t argument = hash_node(c, expr->args[i]);
        if (expr->commutative)
            sum += mix(25, argument);
        else
            hash = mix(hash, argument);
    }
    return mix(hash, sum);
}

uint64_t
gci_expr_hash(gci_expr const *expr, gci_color_fn color, void *state)
{
    coloring c = { color, state, { NULL, 0 } };

    return hash_node(&c, expr);
}

uint64_t
gci_expr_symbol_hash(gci_expr const *expr, gci_view symbol, gci_color_fn color, void *state)
{
    coloring c = { color, state, symbol };

    return hash_node(&c, expr);
}

/* ---- the places of symbols ---- */

/*
 * The context of a place is hashed on the way down to it, from the hashes of the nodes beside the way. A first walk makes
 * those, in the order in which the second one needs them.
 */
typedef struct placing {
    coloring coloring;
    gci_symbol_fn fn;
    void *state;
    uint64_t *hashes; /* of the nodes and terms, in the order a walk begins them */
    size_t at;
} placing;

static uint64_t hash_before(placing *p, gci_expr const *expr);

/* Walks over long sums are made for each of their symbols' refinements: this is faster than mix. */
static inline uint64_t
stir(uint64_t a, uint64_t b)
{
    a = (a ^ (b + UINT64_C(0x9E3779B97F4A7C15))) * UINT64_C(0xBF58476D1CE4E5B9);
    return a ^ (a >> 29);
}

static uint64_t
hash_term_before(placing *p, gci_term const *term)
{
    size_t at = p->at++;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < term->count; i++)
        sum += stir(hash_before(p, term->factors[i].atom), term->factors[i].exponent);
    p->hashes[at] = stir(gci_int_hash(term->coefficient), sum);
    return p->hashes[at];
}

static uint64_t
hash_before(placing *p, gci_expr const *expr)
{
    size_t at = p->at++;
    uint64_t hash = gci_hash64(expr->name.data, expr->name.size, expr->count), sum = 0;

    if (expr->type == GCI_EXPR_SYMBOL || expr->type == GCI_EXPR_TEXT)
        hash = hash_node(&p->coloring, expr);
    for (uint32_t i = 0; expr->type == GCI_EXPR_POLYNOMIAL && i < expr->count; i++)
        sum += hash_term_before(p, &expr->terms[i]);
    for (uint32_t i = 0; expr->type == GCI_EXPR_APPLY && i < expr->count; i++) {
        uint64_t argument = hash_before(p, expr->args[i]);
        sum += expr->commutative ? stir(25, argument) : 0;
        hash = expr->commutative ? hash : stir(hash, argument);
    }
    p->hashes[at] = stir(hash, sum);
    return p->hashes[at];
}

/* context: of the node. */
static void
place_symbols(placing *p, gci_expr const *expr, uint64_t context)
{
    uint64_t inside = stir(context, p->hashes[p->at++]);

    switch (expr->type) {
    case GCI_EXPR_SYMBOL:
        p->fn(p->state, expr->name, context, expr->at);
        break;
    case GCI_EXPR_POLYNOMIAL:
        for (uint32_t i = 0; i < expr->count; i++) {
            uint64_t term = stir(inside, p->hashes[p->at++]);
            for (uint32_t k = 0; k < expr->terms[i].count; k++)
                place_symbols(p, expr->terms[i].factors[k].atom, stir(term, expr->terms[i].factors[k].exponent));
        }
        break;
    case GCI_EXPR_APPLY:
        for (uint32_t i = 0; i < expr->count; i++)
            place_symbols(p, expr->args[i], expr->commutative ? inside : stir(inside, i));
        break;
    case GCI_EXPR_TEXT:
        break;
    }
}

bool
gci_expr_each_symbol(gci_expr const *expr, gci_color_fn color, gci_symbol_fn fn, void *state)
{
    placing p = { .coloring = { color, state, { NULL, 0 } }, .fn = fn, .state = state };

    p.hashes = malloc(expr->weight * sizeof *p.hashes); /* terms weigh more than one each */
    if (p.hashes == NULL)
        return false;
    hash_before(&p, expr);
    GCI_ASSERT(p.at <= expr->weight);
    p.at = 0;
    place_symbols(&p, expr, 0);
    free(p.hashes);
    return true;
}

size_t
gci_expr_weight(gci_expr const *expr)
{
    return expr->weight;
}

/* ---- text ---- */

typedef struct writing {
    gci_naming naming;
    gci_arena arena; /* for big integers and texts to be sorted */
} writing;

static void write_node(writing *w, gci_expr const *expr, gci_buf *out);

static int
compare_pieces(void const *left, void const *right)
{
    return gci_view_compare(*(gci_view const *)left, *(gci_view const *)right);
}

/* Writes item i of a node's or a term's. */
typedef void (*item_fn)(writing *w, void const *of, uint32_t i, gci_buf *out);

/* The items' texts, sorted, with a separator between. */
static void
write_sorted(writing *w, item_fn write, void const *of, uint32_t count, char const *separator, gci_buf *out)
{
    gci_view *pieces = gci_arena_array(&w->arena, count, sizeof *pieces);
    gci_buf scratch;

    gci_buf_init(&scratch, out->limit);
    for (uint32_t i = 0; pieces != NULL && i < count; i++) {
        scratch.size = 0;
        write(w, of, i, &scratch);
        pieces[i] = gci_arena_copy(&w->arena, gci_buf_view(&scratch));
    }
    out->failed |= scratch.failed || w->arena.failed;
    gci_buf_clear(&scratch);
    if (out->failed)
        return;
    if (count > 1)
        qsort(pieces, count, sizeof *pieces, compare_pieces);
    for (uint32_t i = 0; i < count; i++) {
        gci_buf_append_text(out, i > 0 ? separator : "");
        gci_buf_append_view(out, pieces[i]);
    }
}

static void
write_factor(writing *w, void const *term, uint32_t i, gci_buf *out)
{
    gci_factor const *factor = &((gci_term const *)term)->factors[i];

    write_node(w, factor->atom, out);
    if (factor->exponent > 1)
        gci_buf_format(out, "**%u", factor->exponent);
}

/* term -> coefficient ['*' factor]* , the factors sorted */
static void
write_term(writing *w, void const *expr, uint32_t i, gci_buf *out)
{
    gci_term const *term = &((gci_expr const *)expr)->terms[i];
    int64_t small;

    bool one = gci_int_fits(term->coefficient, &small) && small == 1 && term->count > 0;
    if (!one && !gci_int_write(&w->arena, term->coefficient, out))
        out->failed = true;
    if (!one && term->count > 0)
        gci_buf_append_char(out, '*');
    write_sorted(w, write_factor, term, term->count, "*", out);
}

/* polynomial -> '(' term ['+' term]* ')' , the terms sorted; a constant alone is a plain integer */
static void
write_polynomial(writing *w, gci_expr const *expr, gci_buf *out)
{
    gci_int value;

    if (gci_expr_is_constant(expr, &value)) {
        out->failed |= !gci_int_write(&w->arena, value, out);
        return;
    }
    gci_buf_append_char(out, '(');
    write_sorted(w, write_term, expr, expr->count, "+", out);
    gci_buf_append_char(out, ')');
}

static void
write_argument(writing *w, void const *expr, uint32_t i, gci_buf *out)
{
    write_node(w, ((gci_expr const *)expr)->args[i], out);
}

/* application -> name '(' argument [',' argument]* ')' , the arguments sorted where their order doesn't matter */
static void
write_apply(writing *w, gci_expr const *expr, gci_buf *out)
{
    bool open = expr->name.size > 0 && expr->name.data[expr->name.size - 1] == '(';

    gci_buf_append_view(out, expr->name);
    gci_buf_append_text(out, open ? "" : "(");
    if (expr->commutative)
        write_sorted(w, write_argument, expr, expr->count, ",", out);
    for (uint32_t i = 0; !expr->commutative && i < expr->count; i++) {
        gci_buf_append_text(out, i > 0 ? "," : "");
        write_node(w, expr->args[i], out);
    }
    gci_buf_append_char(out, ')');
}

static void
write_node(writing *w, gci_expr const *expr, gci_buf *out)
{
    switch (expr->type) {
    case GCI_EXPR_SYMBOL:
        gci_buf_append_view(out, w->naming.rename != NULL ? w->naming.rename(w->naming.state, expr->name) : expr->name);
        break;
    case GCI_EXPR_TEXT:
        gci_buf_append_view(out, expr->name);
        break;
    case GCI_EXPR_POLYNOMIAL:
        write_polynomial(w, expr, out);
        break;
    case GCI_EXPR_APPLY:
        write_apply(w, expr, out);
        break;
    }
}

void
gci_expr_write(gci_expr const *expr, gci_naming naming, gci_buf *out)
{
    writing w = { .naming = naming };

    gci_arena_init(&w.arena, GCI_BUF_NO_LIMIT);
    write_node(&w, expr, out);
    gci_arena_clear(&w.arena);
}
