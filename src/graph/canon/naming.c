/*
 * Canonical names: which symbol of an expression is named first, and the expression written with the names.
 */
#include "graph/canon/exprs.h"

#include "base/check.h"
#include "graph/canon/tokens.h"

#include <stdlib.h>

static gci_view
canonical_of(void const *state, gci_view name)
{
    gci_exprs const *x = state;
    uint32_t symbol = gci_intern_find(&x->symbols, name);

    GCI_ASSERT(symbol != GCI_INTERN_NONE && x->by_symbol[symbol].bound.data != NULL);
    gci_view bound = x->by_symbol[symbol].bound;
    return gci_view_of(bound.data + 1, bound.size - 1);
}

/* A symbol's class is its first character: one byte, but for the letters of other alphabets. */
static gci_view
class_of(gci_view name)
{
    size_t size = 1;

    while (size < name.size && size < 4 && ((uint8_t)name.data[size] & 0xC0) == 0x80)
        size++;
    return gci_view_of(name.data, size);
}

static void
name_symbol(gci_exprs *x, uint32_t symbol)
{
    gci_view class = class_of(x->symbols.texts[symbol]);
    uint32_t number = x->class_counts[(uint8_t)class.data[0]]++;
    char text[16];
    size_t size = sizeof text;

    do
        text[--size] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    size -= class.size;
    memcpy(text + size, class.data, class.size);
    text[--size] = '$';
    x->by_symbol[symbol].bound = gci_arena_copy(&x->arena, gci_view_of(text + size, sizeof text - size));
    if (x->by_symbol[symbol].bound.data == NULL) {
        x->failed = true;
        return;
    }
    x->by_symbol[symbol].color = gci_exprs_first_color(x, symbol);
    x->order[x->named++] = symbol;
}

/* The symbol that comes first among a form's unnamed ones: class letter, then how the expression depends on it, then
   color. *out_tied: another one is equal in all three. */
static uint32_t
first_unnamed(gci_exprs *x, gci_form const *form, bool *out_tied)
{
    uint32_t best = GCI_INTERN_NONE;
    uint64_t best_hash = 0;

    *out_tied = false;
    for (uint32_t i = 0; i < form->symbol_count; i++) {
        uint32_t symbol = form->symbols[i];
        if (x->by_symbol[symbol].bound.data != NULL)
            continue;
        uint64_t hash = gci_mix(gci_exprs_symbol_hash(x, form, symbol), x->by_symbol[symbol].color);
        if (best == GCI_INTERN_NONE || hash < best_hash) {
            best = symbol;
            best_hash = hash;
            *out_tied = false;
        } else if (hash == best_hash) {
            *out_tied = true;
        }
    }
    return best;
}

/* Names the unnamed symbols of a form, one by one. A tie makes the colors of all symbols be refined, with those named so
   far told apart by their names. forms may move meanwhile. */
static void
name_few(gci_exprs *x, uint32_t number)
{
    uint32_t symbol = 0;
    bool tied;

    while (!x->failed && symbol != GCI_INTERN_NONE) {
        symbol = first_unnamed(x, &x->forms[number], &tied);
        if (tied && x->rounds_left != 0) {
            gci_colors_refine(x);
            symbol = first_unnamed(x, &x->forms[number], &tied);
        }
        if (symbol != GCI_INTERN_NONE && !x->failed)
            name_symbol(x, symbol);
    }
}

/* The unnamed symbols of a form, in the order they are to be named; at is their place in it. */
static size_t
rank_unnamed(gci_exprs *x, gci_form const *form, uint64_t *hashes, gci_ranked_symbol *out)
{
    size_t count = 0;

    gci_exprs_symbol_hashes(x, form, hashes);
    for (uint32_t i = 0; i < form->symbol_count; i++) {
        uint32_t symbol = form->symbols[i];
        if (x->by_symbol[symbol].bound.data == NULL)
            out[count++] = (gci_ranked_symbol){ .symbol = symbol, .at = i, .hash = gci_mix(hashes[i], x->by_symbol[symbol].color) };
    }
    if (count > 1)
        qsort(out, count, sizeof *out, gci_ranked_compare);
    return count;
}

static bool
is_tied(gci_ranked_symbol const *ranked, size_t count, size_t i)
{
    return (i > 0 && ranked[i - 1].hash == ranked[i].hash) || (i + 1 < count && ranked[i + 1].hash == ranked[i].hash);
}

static bool
has_ties(gci_ranked_symbol const *ranked, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_tied(ranked, count, i))
            return true;
    return false;
}

/* Names all that aren't tied, or all; without any such, the first one. */
static void
name_ranked(gci_exprs *x, gci_ranked_symbol const *ranked, size_t count, bool all)
{
    bool any = false;

    for (size_t i = 0; i < count && !x->failed; i++) {
        if (!all && is_tied(ranked, count, i))
            continue;
        name_symbol(x, ranked[i].symbol);
        any = true;
    }
    if (!any && count != 0 && !x->failed)
        name_symbol(x, ranked[0].symbol);
}

/* As name_few, but all that can be told apart get their names at once. */
static void
name_many(gci_exprs *x, uint32_t number)
{
    uint32_t room = x->forms[number].symbol_count;
    uint64_t *hashes = malloc(room * sizeof *hashes);
    gci_ranked_symbol *ranked = malloc(room * sizeof *ranked);
    size_t count = hashes != NULL && ranked != NULL ? room : 0;

    x->failed = x->failed || count == 0;
    for (unsigned pass = 1; count != 0 && !x->failed; pass++) {
        count = rank_unnamed(x, &x->forms[number], hashes, ranked);
        if (x->rounds_left != 0 && has_ties(ranked, count)) {
            gci_colors_refine(x);
            count = rank_unnamed(x, &x->forms[number], hashes, ranked);
        }
        name_ranked(x, ranked, count, pass == GCI_NAMING_PASSES);
    }
    free(hashes);
    free(ranked);
}

static void
name_symbols(gci_exprs *x, uint32_t number)
{
    if (x->forms[number].symbol_count > GCI_FEW_SYMBOLS)
        name_many(x, number);
    else
        name_few(x, number);
}

void
gci_exprs_refine(gci_exprs *x)
{
    if (!x->refined && x->rounds_left != 0)
        gci_colors_refine(x);
    x->refined = true;
}

/* ---- writing ---- */

static void
write_tokens(gci_exprs const *x, gci_view text, gci_buf *out)
{
    size_t at = 0;
    bool is_name;

    while (at < text.size) {
        gci_view token = gci_next_token(text, &at, &is_name);
        if (out->size != 0)
            gci_buf_append_char(out, ' ');
        gci_buf_append_view(out, is_name ? canonical_of(x, token) : token);
    }
}

gci_view
gci_exprs_write(gci_exprs *x, uint32_t number)
{
    gci_form *form = &x->forms[number];
    gci_buf out;

    if (form->written.data != NULL)
        return form->written;
    if (!gci_exprs_named(x, number))
        name_symbols(x, number);
    if (x->failed)
        return (gci_view){ NULL, 0 };
    form = &x->forms[number]; /* refinement may have met new expressions */
    if (form->type == GCI_FORM_SYMBOL) {
        form->written = canonical_of(x, form->text);
        return form->written;
    }
    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    if (form->type == GCI_FORM_EXPR)
        gci_expr_write(form->expr, (gci_naming){ .rename = canonical_of, .state = x }, &out);
    else
        write_tokens(x, form->text, &out);
    form->written = out.failed ? (gci_view){ NULL, 0 } : gci_arena_copy(&x->arena, gci_buf_view(&out));
    x->failed = form->written.data == NULL;
    gci_buf_clear(&out);
    return form->written;
}
