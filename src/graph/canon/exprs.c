/*
 * The expressions of a description: each distinct text read once, its symbols found, and hashes under the present colors.
 */
#include "graph/canon/exprs.h"

#include "base/array.h"
#include "base/check.h"
#include "base/digest.h"
#include "graph/canon/tokens.h"

#include <stdlib.h>
#include <string.h>

/* The memory of forms, which is also what making normal forms may cost. Real expressions take some 100 bytes a byte. */
#define ARENA_FLOOR ((size_t)32 << 20)
#define ARENA_PER_BYTE ((size_t)320)

/* Steps of the walks over normal forms that find and name their symbols. Sums that are multiplied out take more than their
   text has bytes, real descriptions as a whole about two a byte. */
#define WEIGHT_FLOOR ((uint64_t)1 << 20)
#define WEIGHT_PER_BYTE 8

/* Refinement costs a pass over all expressions a round. Real descriptions need none, or two; this many bound what a
   constructed one can cost, which then may get another key than one isomorphic to it. */
#define MAX_ROUNDS 64

void
gci_exprs_init(gci_exprs *x, gci_occurrences_fn occurrences, void *state)
{
    *x = (gci_exprs){ .occurrences = occurrences, .state = state, .rounds_left = MAX_ROUNDS };
    gci_arena_init(&x->arena, ARENA_FLOOR);
}

void
gci_exprs_clear(gci_exprs *x)
{
    gci_arena_clear(&x->arena);
    gci_intern_clear(&x->texts);
    gci_intern_clear(&x->symbols);
    free(x->forms);
    free(x->by_symbol);
    free(x->order);
    *x = (gci_exprs){ .failed = false };
}

/* ---- symbols ---- */

static uint32_t
add_symbol(gci_exprs *x, gci_view name)
{
    bool is_new = false;
    uint32_t symbol = gci_intern_add(&x->symbols, name, &is_new);

    if (symbol == GCI_INTERN_NONE || !gci_array_has_room(&x->by_symbol, symbol, &x->symbol_room, sizeof *x->by_symbol) ||
        !gci_array_has_room(&x->order, symbol, &x->order_room, sizeof *x->order)) {
        x->failed = true;
        return GCI_INTERN_NONE;
    }
    if (is_new)
        x->by_symbol[symbol] = (gci_symbol){ .color = 0 }; /* until the form is read that brings it */
    return symbol;
}

uint64_t
gci_exprs_first_color(gci_exprs const *x, uint32_t symbol)
{
    gci_view canonical = x->by_symbol[symbol].bound;

    return canonical.data != NULL ? gci_hash64(canonical.data, canonical.size, 1)
                                  : gci_mix(2, (uint8_t)x->symbols.texts[symbol].data[0]);
}

static uint64_t
color_of(void *state, gci_view name)
{
    gci_exprs const *x = state;
    uint32_t symbol = gci_intern_find(&x->symbols, name);

    return symbol != GCI_INTERN_NONE ? x->by_symbol[symbol].color : 0;
}

/* ---- reading ---- */

typedef struct finding {
    gci_exprs *x;
    gci_buf found; /* gci_ranked_symbol's, distinct */
} finding;

/* A place of a symbol: the symbol is found, and the place's context added to the others'. */
static void
note_symbol(void *state, gci_view name, uint64_t context, size_t at)
{
    finding *f = state;
    gci_exprs *x = f->x;
    uint32_t symbol = add_symbol(x, name);

    if (symbol == GCI_INTERN_NONE)
        return;
    if (x->by_symbol[symbol].mark != x->mark) {
        x->by_symbol[symbol].mark = x->mark;
        x->by_symbol[symbol].context = 0;
        x->by_symbol[symbol].place = (uint32_t)at;
        gci_buf_append(&f->found, &(gci_ranked_symbol){ .symbol = symbol }, sizeof(gci_ranked_symbol));
    }
    x->by_symbol[symbol].context += context;
    if (at < x->by_symbol[symbol].place)
        x->by_symbol[symbol].place = (uint32_t)at;
}

int
gci_ranked_compare(void const *left, void const *right)
{
    gci_ranked_symbol const *a = left, *b = right;

    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Takes over what was found. */
static bool
set_symbols(gci_exprs *x, gci_form *form, finding *f)
{
    gci_ranked_symbol const *found = (gci_ranked_symbol const *)(void const *)f->found.data;
    size_t count = f->found.size / sizeof *found;

    form->symbols = f->found.failed ? NULL : gci_arena_alloc(&x->arena, count * sizeof *form->symbols);
    if (form->symbols == NULL || x->failed)
        return false;
    for (size_t i = 0; i < count; i++) {
        form->symbols[i] = found[i].symbol;
        if (x->by_symbol[found[i].symbol].color == 0)
            x->by_symbol[found[i].symbol].color = gci_exprs_first_color(x, found[i].symbol);
    }
    form->symbol_count = (uint32_t)count;
    return true;
}

/* The symbols of a text that isn't in the language, in its order. */
static bool
find_in_tokens(gci_exprs *x, gci_form *form, finding *f)
{
    size_t at = 0;
    bool symbol;

    form->type = GCI_FORM_TOKENS;
    while (at < form->text.size) {
        gci_view token = gci_next_token(form->text, &at, &symbol);
        form->weight++;
        if (symbol)
            note_symbol(f, token, 0, at);
    }
    return set_symbols(x, form, f);
}

/* Which symbols they are, and what is known of them from elsewhere, doesn't count yet. */
static uint64_t
no_color(void *state, gci_view name)
{
    (void)state;
    (void)name;
    return 0;
}

/* The symbols of a normal form, in an order that depends on nothing but the form; of equal ones, in that of the text. */
static bool
find_in_expr(gci_exprs *x, gci_form *form, finding *f)
{
    form->weight = (uint32_t)gci_expr_weight(form->expr);
    if (!gci_expr_each_symbol(form->expr, no_color, note_symbol, f) || f->found.failed || x->failed)
        return false;
    gci_ranked_symbol *found = (gci_ranked_symbol *)(void *)f->found.data;
    size_t count = f->found.size / sizeof *found;
    for (size_t i = 0; i < count; i++) {
        uint32_t symbol = found[i].symbol;
        found[i].at = x->by_symbol[symbol].place;
        found[i].hash = count > GCI_FEW_SYMBOLS ? x->by_symbol[symbol].context
                                            : gci_expr_symbol_hash(form->expr, x->symbols.texts[symbol], color_of, x);
    }
    if (count > 1)
        qsort(found, count, sizeof *found, gci_ranked_compare);
    return set_symbols(x, form, f);
}

static bool
find_symbols(gci_exprs *x, gci_form *form)
{
    finding f = { .x = x };

    gci_buf_init(&f.found, GCI_BUF_NO_LIMIT);
    x->mark++;
    if (form->type == GCI_FORM_SYMBOL)
        note_symbol(&f, form->text, 0, 0);
    bool found = form->type == GCI_FORM_SYMBOL ? set_symbols(x, form, &f)
                 : form->expr != NULL          ? find_in_expr(x, form, &f)
                                               : find_in_tokens(x, form, &f);
    gci_buf_clear(&f.found);
    return found;
}

/* What is read must be in proportion to its text: each of a few symbols takes a walk. */
static bool
is_in_proportion(gci_exprs *x, gci_form const *form)
{
    x->weight += (uint64_t)form->weight * (form->symbol_count > GCI_FEW_SYMBOLS ? GCI_NAMING_PASSES : form->symbol_count + 1);
    x->too_large = x->too_large || x->weight > WEIGHT_FLOOR + WEIGHT_PER_BYTE * x->text_bytes;
    return !x->too_large;
}

static bool
read_form(gci_exprs *x, gci_form *form)
{
    gcache_error error = { .status = GCACHE_OK };

    form->weight = 1;
    form->type = gci_is_symbol(form->text) ? GCI_FORM_SYMBOL : GCI_FORM_EXPR;
    x->text_bytes += form->text.size;
    x->arena.limit = ARENA_FLOOR + ARENA_PER_BYTE * x->text_bytes;
    if (form->type == GCI_FORM_EXPR)
        form->expr = gci_expr_read(form->text, &x->arena, &error);
    x->too_large = x->too_large || x->arena.full;
    return error.status != GCACHE_ERROR_MEMORY && find_symbols(x, form) && is_in_proportion(x, form);
}

uint32_t
gci_exprs_form(gci_exprs *x, gci_view text)
{
    bool is_new = false;
    uint32_t number = gci_intern_add(&x->texts, text, &is_new);

    if (number == GCI_INTERN_NONE || !gci_array_has_room(&x->forms, number, &x->form_room, sizeof *x->forms)) {
        x->failed = true;
        return GCI_INTERN_NONE;
    }
    if (is_new) {
        x->forms[number] = (gci_form){ .text = text };
        if (!read_form(x, &x->forms[number]))
            x->failed = true;
    }
    return x->failed ? GCI_INTERN_NONE : number;
}

/* ---- colors ---- */

bool
gci_exprs_named(gci_exprs *x, uint32_t number)
{
    gci_form *form = &x->forms[number];

    for (uint32_t i = 0; i < form->symbol_count && !form->named; i++)
        if (x->by_symbol[form->symbols[i]].bound.data == NULL)
            return false;
    form->named = true;
    return true;
}

uint64_t
gci_exprs_symbol_hash(gci_exprs *x, gci_form const *form, uint32_t symbol)
{
    gci_view name = x->symbols.texts[symbol];
    uint64_t hash = 3;
    size_t at = 0;
    bool is_name;

    if (form->type == GCI_FORM_SYMBOL)
        return hash;
    if (form->type == GCI_FORM_EXPR)
        return gci_expr_symbol_hash(form->expr, name, color_of, x);
    while (at < form->text.size) {
        gci_view token = gci_next_token(form->text, &at, &is_name);
        uint64_t part = !is_name ? gci_hash64(token.data, token.size, 0) : gci_view_equal(token, name) ? 1 : color_of(x, token);
        hash = gci_mix(hash, part);
    }
    return hash;
}

static void
add_context(void *state, gci_view name, uint64_t context, size_t at)
{
    gci_exprs *x = state;

    (void)at;
    x->by_symbol[gci_intern_find(&x->symbols, name)].context += context;
}

/* Each symbol's contexts added up, in one walk. Tokens stand in an order: a symbol's places are its context. */
static void
add_contexts(gci_exprs *x, gci_form const *form)
{
    size_t at = 0;
    bool is_name;

    for (uint32_t i = 0; i < form->symbol_count; i++)
        x->by_symbol[form->symbols[i]].context = 0;
    if (form->type == GCI_FORM_EXPR)
        x->failed = !gci_expr_each_symbol(form->expr, color_of, add_context, x) || x->failed;
    for (uint64_t number = 0; form->type == GCI_FORM_TOKENS && at < form->text.size; number++) {
        gci_view token = gci_next_token(form->text, &at, &is_name);
        if (is_name)
            add_context(x, token, gci_mix(5, number), at);
    }
}

void
gci_exprs_symbol_hashes(gci_exprs *x, gci_form const *form, uint64_t *out_hashes)
{
    bool many = form->symbol_count > GCI_FEW_SYMBOLS;

    if (many)
        add_contexts(x, form);
    for (uint32_t i = 0; i < form->symbol_count; i++)
        out_hashes[i] = many ? x->by_symbol[form->symbols[i]].context : gci_exprs_symbol_hash(x, form, form->symbols[i]);
}

uint64_t
gci_exprs_symbol_work(gci_form const *form)
{
    return (uint64_t)form->weight * (form->symbol_count > GCI_FEW_SYMBOLS ? 2 : form->symbol_count);
}

uint64_t
gci_exprs_hash(gci_exprs *x, uint32_t number)
{
    gci_form const *form = &x->forms[number];
    uint64_t hash = 4;
    size_t at = 0;
    bool is_name;

    if (form->type == GCI_FORM_SYMBOL)
        return x->by_symbol[form->symbols[0]].color;
    if (form->type == GCI_FORM_EXPR)
        return gci_expr_hash(form->expr, color_of, x);
    while (at < form->text.size) {
        gci_view token = gci_next_token(form->text, &at, &is_name);
        hash = gci_mix(hash, is_name ? color_of(x, token) : gci_hash64(token.data, token.size, 0));
    }
    return hash;
}
