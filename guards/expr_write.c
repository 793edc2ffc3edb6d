/*
 * What the canonical form asks of a normal form: a text in which operand order doesn't show, hashes in which symbols
 * count as colors, and the symbols in an order that nobody's names decide.
 */
#include "base/check.h"
#include "base/digest.h"
#include "guards/expr.h"

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
    size_t limbs = (size_t)(term->coefficient.size < 0 ? -term->coefficient.size : term->coefficient.size);
    uint64_t hash = gci_hash64(term->coefficient.limbs, limbs * sizeof(uint64_t), (uint64_t)(int64_t)term->coefficient.size);
    uint64_t sum = 0;

    for (uint32_t i = 0; i < term->count; i++)
        sum += mix(hash_node(c, term->factors[i].atom), term->factors[i].exponent);
    return mix(hash, sum);
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

/* ---- symbols ---- */

typedef struct symbol_order {
    gci_view name;
    uint64_t hash; /* of its context */
    uint32_t at;
} symbol_order;

typedef struct symbol_list {
    symbol_order *items;
    size_t count, room;
} symbol_list;

static void
note_symbol(symbol_list *list, gci_expr const *expr)
{
    for (size_t i = 0; i < list->count && i < list->room; i++) {
        if (gci_view_equal(list->items[i].name, expr->name)) {
            if (expr->at < list->items[i].at)
                list->items[i].at = expr->at;
            return;
        }
    }
    if (list->count < list->room)
        list->items[list->count] = (symbol_order){ .name = expr->name, .at = expr->at };
    list->count++;
}

static void
find_symbols(symbol_list *list, gci_expr const *expr)
{
    switch (expr->type) {
    case GCI_EXPR_SYMBOL:
        note_symbol(list, expr);
        break;
    case GCI_EXPR_POLYNOMIAL:
        for (uint32_t i = 0; i < expr->count; i++)
            for (uint32_t j = 0; j < expr->terms[i].count; j++)
                find_symbols(list, expr->terms[i].factors[j].atom);
        break;
    case GCI_EXPR_APPLY:
        for (uint32_t i = 0; i < expr->count; i++)
            find_symbols(list, expr->args[i]);
        break;
    case GCI_EXPR_TEXT:
        break;
    }
}

static int
compare_symbols(void const *left, void const *right)
{
    symbol_order const *a = left, *b = right;

    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

size_t
gci_expr_symbols(gci_expr const *expr, gci_color_fn color, void *state, gci_view *out_symbols, size_t room)
{
    symbol_order few[16];
    symbol_list list = { .items = few, .room = sizeof few / sizeof few[0] };

    find_symbols(&list, expr);
    if (list.count > list.room) {
        /* More than the list has room for: count is an upper bound, and that much is enough. */
        list = (symbol_list){ .items = calloc(list.count, sizeof *list.items), .room = list.count };
        if (list.items == NULL)
            return 0;
        find_symbols(&list, expr);
    }
    for (size_t i = 0; i < list.count; i++)
        list.items[i].hash = gci_expr_symbol_hash(expr, list.items[i].name, color, state);
    qsort(list.items, list.count, sizeof *list.items, compare_symbols);
    for (size_t i = 0; i < list.count && i < room; i++)
        out_symbols[i] = list.items[i].name;
    if (list.items != few)
        free(list.items);
    return list.count;
}

/* ---- text ---- */

/* Texts to be sorted: slices of one buffer, each begun at starts[i], the last ended by its size. */
typedef struct pieces {
    gci_view *items;
    size_t count;
} pieces;

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

/* Writes the pieces, sorted if wanted, with a separator between. */
static void
write_pieces(pieces *p, bool sorted, char const *separator, gci_buf *out)
{
    if (sorted && p->count > 1)
        qsort(p->items, p->count, sizeof *p->items, compare_pieces);
    for (size_t i = 0; i < p->count; i++) {
        gci_buf_append_text(out, i > 0 ? separator : "");
        gci_buf_append_view(out, p->items[i]);
    }
}

/* Takes the text in scratch as one more piece. */
static void
add_piece(writing *w, pieces *p, gci_buf *scratch)
{
    gci_view copy = gci_arena_copy(&w->arena, gci_buf_view(scratch));

    scratch->failed |= copy.data == NULL;
    if (copy.data != NULL)
        p->items[p->count++] = copy;
    scratch->size = 0;
}

static void
write_factor(writing *w, gci_factor const *factor, gci_buf *out)
{
    write_node(w, factor->atom, out);
    if (factor->exponent > 1)
        gci_buf_format(out, "**%u", factor->exponent);
}

/* term -> coefficient ['*' factor]* , the factors sorted */
static void
write_term(writing *w, gci_term const *term, gci_buf *out)
{
    pieces p = { .items = gci_arena_array(&w->arena, term->count, sizeof *p.items) };
    int64_t small;
    gci_buf scratch;

    gci_buf_init(&scratch, out->limit);
    bool one = gci_int_fits(term->coefficient, &small) && small == 1 && term->count > 0;
    if (!one && !gci_int_write(&w->arena, term->coefficient, out))
        out->failed = true;
    if (!one && term->count > 0)
        gci_buf_append_char(out, '*');
    for (uint32_t i = 0; p.items != NULL && i < term->count; i++) {
        write_factor(w, &term->factors[i], &scratch);
        add_piece(w, &p, &scratch);
    }
    write_pieces(&p, true, "*", out);
    out->failed |= scratch.failed || p.items == NULL;
    gci_buf_clear(&scratch);
}

/* polynomial -> '(' term ['+' term]* ')' , the terms sorted; a constant alone is a plain integer */
static void
write_polynomial(writing *w, gci_expr const *expr, gci_buf *out)
{
    pieces p = { .items = gci_arena_array(&w->arena, expr->count, sizeof *p.items) };
    gci_int value;
    gci_buf scratch;

    if (gci_expr_is_constant(expr, &value)) {
        out->failed |= !gci_int_write(&w->arena, value, out);
        return;
    }
    gci_buf_init(&scratch, out->limit);
    for (uint32_t i = 0; p.items != NULL && i < expr->count; i++) {
        write_term(w, &expr->terms[i], &scratch);
        add_piece(w, &p, &scratch);
    }
    gci_buf_append_char(out, '(');
    write_pieces(&p, true, "+", out);
    gci_buf_append_char(out, ')');
    out->failed |= scratch.failed || p.items == NULL;
    gci_buf_clear(&scratch);
}

/* application -> name '(' argument [',' argument]* ')' , the arguments sorted where their order doesn't matter */
static void
write_apply(writing *w, gci_expr const *expr, gci_buf *out)
{
    pieces p = { .items = gci_arena_array(&w->arena, expr->count, sizeof *p.items) };
    gci_buf scratch;
    bool open = expr->name.size > 0 && expr->name.data[expr->name.size - 1] == '(';

    gci_buf_init(&scratch, out->limit);
    for (uint32_t i = 0; p.items != NULL && i < expr->count; i++) {
        write_node(w, expr->args[i], &scratch);
        add_piece(w, &p, &scratch);
    }
    gci_buf_append_view(out, expr->name);
    gci_buf_append_text(out, open ? "" : "(");
    write_pieces(&p, expr->commutative, ",", out);
    gci_buf_append_char(out, ')');
    out->failed |= scratch.failed || p.items == NULL;
    gci_buf_clear(&scratch);
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
