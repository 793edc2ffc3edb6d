#include "graph/exprs.h"

#include "base/check.h"
#include "base/digest.h"

#include <stdlib.h>
#include <string.h>

/* The memory for forms; a description of the largest size with nothing but distinct expressions stays below. */
#define ARENA_LIMIT ((size_t)4 << 30)

/* Refinement costs a pass over all expressions a round. Real descriptions need none, or two; this many bound what a
   constructed one can cost, which then may get another key than one isomorphic to it. */
#define MAX_ROUNDS 64

#define FIRST_ROOM 16

void
gci_exprs_init(gci_exprs *x, gci_occurrences_fn occurrences, void *state)
{
    *x = (gci_exprs){ .occurrences = occurrences, .state = state, .rounds_left = MAX_ROUNDS };
    gci_arena_init(&x->arena, ARENA_LIMIT);
}

void
gci_exprs_clear(gci_exprs *x)
{
    gci_arena_clear(&x->arena);
    gci_intern_clear(&x->texts);
    gci_intern_clear(&x->symbols);
    free(x->forms);
    free(x->names);
    free(x->colors);
    free(x->order);
    *x = (gci_exprs){ .failed = false };
}

/* ---- symbols ---- */

static bool
grow_symbols(gci_exprs *x)
{
    uint32_t room = x->symbol_room == 0 ? FIRST_ROOM : x->symbol_room * 2;
    gci_symbol_name *names = realloc(x->names, room * sizeof *names);
    if (names != NULL)
        x->names = names;
    uint64_t *colors = realloc(x->colors, room * sizeof *colors);
    if (colors != NULL)
        x->colors = colors;
    uint32_t *order = realloc(x->order, room * sizeof *order);
    if (order != NULL)
        x->order = order;
    if (names == NULL || colors == NULL || order == NULL)
        return false;
    x->symbol_room = room;
    return true;
}

static uint32_t
add_symbol(gci_exprs *x, gci_view name)
{
    bool is_new = false;
    uint32_t symbol = gci_intern_add(&x->symbols, name, &is_new);

    if (symbol == GCI_INTERN_NONE || (symbol >= x->symbol_room && !grow_symbols(x))) {
        x->failed = true;
        return GCI_INTERN_NONE;
    }
    if (is_new) {
        x->names[symbol] = (gci_symbol_name){ .text = { NULL, 0 } };
        x->colors[symbol] = gci_exprs_first_color(x, symbol);
    }
    return symbol;
}

uint64_t
gci_exprs_first_color(gci_exprs const *x, uint32_t symbol)
{
    gci_view canonical = x->names[symbol].text;

    return canonical.data != NULL ? gci_hash64(canonical.data, canonical.size, 1)
                                  : gci_mix(2, (uint8_t)x->symbols.texts[symbol].data[0]);
}

static uint64_t
color_of(void *state, gci_view name)
{
    gci_exprs const *x = state;
    uint32_t symbol = gci_intern_find(&x->symbols, name);

    return symbol != GCI_INTERN_NONE ? x->colors[symbol] : 0;
}

static gci_view
canonical_of(void const *state, gci_view name)
{
    gci_exprs const *x = state;
    uint32_t symbol = gci_intern_find(&x->symbols, name);

    GCI_ASSERT(symbol != GCI_INTERN_NONE && x->names[symbol].text.data != NULL);
    gci_view bound = x->names[symbol].text;
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
    x->names[symbol].text = gci_arena_copy(&x->arena, gci_view_of(text + size, sizeof text - size));
    if (x->names[symbol].text.data == NULL) {
        x->failed = true;
        return;
    }
    x->colors[symbol] = gci_exprs_first_color(x, symbol);
    x->order[x->named++] = symbol;
}

/* ---- reading ---- */

static bool
is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_name_byte(char c)
{
    return is_name_start(c) || (c >= '0' && c <= '9');
}

static bool
is_symbol(gci_view text)
{
    static char const *const words[] = { "True", "False", "None", "and", "or", "not", "if", "else" };

    if (text.size == 0 || !is_name_start(text.data[0]))
        return false;
    for (size_t i = 1; i < text.size; i++)
        if (!is_name_byte(text.data[i]))
            return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (gci_view_is(text, words[i]))
            return false;
    return true;
}

static size_t
skip_spaces(gci_view text, size_t at)
{
    while (at < text.size && text.data[at] == ' ')
        at++;
    return at;
}

/* Bytes of other scripts stay together with names: a text must not be cut inside a character. */
static bool
is_word_byte(char c)
{
    return is_name_byte(c) || (uint8_t)c >= 0x80;
}

/* token := name | any other byte, spaces around it. *out_symbol: it is a name, and no '(' follows. */
static gci_view
next_token(gci_view text, size_t *at, bool *out_symbol)
{
    size_t start = skip_spaces(text, *at), end = start;

    while (end < text.size && is_word_byte(text.data[end]))
        end++;
    end += end == start && end < text.size;
    gci_view token = gci_view_of(text.data + start, end - start);
    *at = end = skip_spaces(text, end);
    *out_symbol = is_symbol(token) && !(end < text.size && text.data[end] == '(');
    return token;
}

static bool
set_symbols(gci_exprs *x, gci_form *form, gci_view const *names, size_t count)
{
    form->symbols = gci_arena_alloc(&x->arena, count * sizeof *form->symbols);
    for (size_t i = 0; i < count && form->symbols != NULL && !x->failed; i++) {
        uint32_t symbol = add_symbol(x, names[i]), k = 0;
        while (k < form->symbol_count && form->symbols[k] != symbol)
            k++;
        if (k == form->symbol_count)
            form->symbols[form->symbol_count++] = symbol;
    }
    return form->symbols != NULL && !x->failed;
}

/* The symbols of a text that isn't in the language. */
static bool
read_tokens(gci_exprs *x, gci_form *form)
{
    gci_view *names = malloc((form->text.size + 1) * sizeof *names);
    size_t at = 0, count = 0;
    bool symbol;

    if (names == NULL)
        return false;
    while (at < form->text.size) {
        names[count] = next_token(form->text, &at, &symbol);
        count += symbol;
    }
    form->type = GCI_FORM_TOKENS;
    bool set = set_symbols(x, form, names, count);
    free(names);
    return set;
}

static bool
read_form(gci_exprs *x, gci_form *form)
{
    gcache_error error;

    if (is_symbol(form->text)) {
        form->type = GCI_FORM_SYMBOL;
        return set_symbols(x, form, &form->text, 1);
    }
    error.status = GCACHE_OK;
    form->expr = gci_expr_read(form->text, &x->arena, &error);
    if (form->expr == NULL)
        return error.status != GCACHE_ERROR_MEMORY && read_tokens(x, form);
    size_t count = gci_expr_symbols(form->expr, color_of, x, NULL, 0);
    gci_view *names = malloc((count + 1) * sizeof *names);
    if (names == NULL)
        return false;
    gci_expr_symbols(form->expr, color_of, x, names, count);
    bool set = set_symbols(x, form, names, count);
    free(names);
    return set;
}

static bool
grow_forms(gci_exprs *x)
{
    uint32_t room = x->form_room == 0 ? FIRST_ROOM : x->form_room * 2;
    gci_form *forms = realloc(x->forms, room * sizeof *forms);

    if (forms == NULL)
        return false;
    x->forms = forms;
    x->form_room = room;
    return true;
}

uint32_t
gci_exprs_form(gci_exprs *x, gci_view text)
{
    bool is_new = false;
    uint32_t number = gci_intern_add(&x->texts, text, &is_new);

    if (number == GCI_INTERN_NONE || (number >= x->form_room && !grow_forms(x))) {
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

/* ---- naming ---- */

bool
gci_exprs_named(gci_exprs *x, uint32_t number)
{
    gci_form *form = &x->forms[number];

    for (uint32_t i = 0; i < form->symbol_count && !form->named; i++)
        if (x->names[form->symbols[i]].text.data == NULL)
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
        gci_view token = next_token(form->text, &at, &is_name);
        uint64_t part = !is_name ? gci_hash64(token.data, token.size, 0) : gci_view_equal(token, name) ? 1 : color_of(x, token);
        hash = gci_mix(hash, part);
    }
    return hash;
}

uint64_t
gci_exprs_hash(gci_exprs *x, uint32_t number)
{
    gci_form const *form = &x->forms[number];
    uint64_t hash = 4;
    size_t at = 0;
    bool is_name;

    if (form->type == GCI_FORM_SYMBOL)
        return x->colors[form->symbols[0]];
    if (form->type == GCI_FORM_EXPR)
        return gci_expr_hash(form->expr, color_of, x);
    while (at < form->text.size) {
        gci_view token = next_token(form->text, &at, &is_name);
        hash = gci_mix(hash, is_name ? color_of(x, token) : gci_hash64(token.data, token.size, 0));
    }
    return hash;
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
        if (x->names[symbol].text.data != NULL)
            continue;
        uint64_t hash = gci_mix(gci_exprs_symbol_hash(x, form, symbol), x->colors[symbol]);
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

/* Names the unnamed symbols of a form. A tie makes the colors of all symbols be refined, with those named so far told
   apart by their names. forms may move meanwhile. */
static void
name_symbols(gci_exprs *x, uint32_t number)
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
        gci_view token = next_token(text, &at, &is_name);
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
