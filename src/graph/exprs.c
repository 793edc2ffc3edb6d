#include "graph/exprs.h"

#include "base/check.h"
#include "base/digest.h"

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

/* Up to so many symbols of a form are hashed and named one by one; more are in one go. */
#define FEW_SYMBOLS 8

/* Of a form with many symbols so many are named, tied as they are, before the others get their names as they come. */
#define MAX_PASSES 2

#define FIRST_ROOM 16

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
    free(x->names);
    free(x->colors);
    free(x->contexts);
    free(x->marks);
    free(x->places);
    free(x->order);
    *x = (gci_exprs){ .failed = false };
}

/* ---- symbols ---- */

/* Makes room in an array by symbol. */
static bool
grow_array(void **array, uint32_t room, size_t item_size)
{
    void *grown = realloc(*array, room * item_size);

    if (grown != NULL)
        *array = grown;
    return grown != NULL;
}

static bool
grow_symbols(gci_exprs *x)
{
    uint32_t room = x->symbol_room == 0 ? FIRST_ROOM : x->symbol_room * 2;
    void *names = x->names, *colors = x->colors, *contexts = x->contexts;
    void *marks = x->marks, *places = x->places, *order = x->order;
    bool grown = grow_array(&names, room, sizeof *x->names) && grow_array(&colors, room, sizeof *x->colors) &&
                 grow_array(&contexts, room, sizeof *x->contexts) && grow_array(&marks, room, sizeof *x->marks) &&
                 grow_array(&places, room, sizeof *x->places) && grow_array(&order, room, sizeof *x->order);

    x->names = names;
    x->colors = colors;
    x->contexts = contexts;
    x->marks = marks;
    x->places = places;
    x->order = order;
    x->symbol_room = grown ? room : x->symbol_room;
    return grown;
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
        x->colors[symbol] = 0; /* until the form is read that brings it */
        x->marks[symbol] = 0;
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

/* A symbol of a form that is being read. */
typedef struct found_symbol {
    uint32_t symbol, at;
    uint64_t hash;
} found_symbol;

typedef struct finding {
    gci_exprs *x;
    gci_buf found; /* found_symbol's, distinct */
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
    if (x->marks[symbol] != x->mark) {
        x->marks[symbol] = x->mark;
        x->contexts[symbol] = 0;
        x->places[symbol] = (uint32_t)at;
        gci_buf_append(&f->found, &(found_symbol){ .symbol = symbol }, sizeof(found_symbol));
    }
    x->contexts[symbol] += context;
    if (at < x->places[symbol])
        x->places[symbol] = (uint32_t)at;
}

static int
compare_found(void const *left, void const *right)
{
    found_symbol const *a = left, *b = right;

    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

/* Takes over what was found. */
static bool
set_symbols(gci_exprs *x, gci_form *form, finding *f)
{
    found_symbol const *found = (found_symbol const *)(void const *)f->found.data;
    size_t count = f->found.size / sizeof *found;

    form->symbols = f->found.failed ? NULL : gci_arena_alloc(&x->arena, count * sizeof *form->symbols);
    if (form->symbols == NULL || x->failed)
        return false;
    for (size_t i = 0; i < count; i++) {
        form->symbols[i] = found[i].symbol;
        if (x->colors[found[i].symbol] == 0)
            x->colors[found[i].symbol] = gci_exprs_first_color(x, found[i].symbol);
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
        gci_view token = next_token(form->text, &at, &symbol);
        form->weight++;
        if (symbol)
            note_symbol(f, token, 0, at);
    }
    return set_symbols(x, form, f);
}

/* The symbols of a normal form, in an order that depends on nothing but the form; of equal ones, in that of the text. */
static bool
find_in_expr(gci_exprs *x, gci_form *form, finding *f)
{
    form->weight = (uint32_t)gci_expr_weight(form->expr);
    if (!gci_expr_each_symbol(form->expr, color_of, note_symbol, f) || f->found.failed || x->failed)
        return false;
    found_symbol *found = (found_symbol *)(void *)f->found.data;
    size_t count = f->found.size / sizeof *found;
    for (size_t i = 0; i < count; i++) {
        uint32_t symbol = found[i].symbol;
        found[i].at = x->places[symbol];
        found[i].hash = count > FEW_SYMBOLS ? x->contexts[symbol]
                                            : gci_expr_symbol_hash(form->expr, x->symbols.texts[symbol], color_of, x);
    }
    if (count > 1)
        qsort(found, count, sizeof *found, compare_found);
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
    x->weight += (uint64_t)form->weight * (form->symbol_count > FEW_SYMBOLS ? MAX_PASSES : form->symbol_count + 1);
    x->too_large = x->too_large || x->weight > WEIGHT_FLOOR + WEIGHT_PER_BYTE * x->text_bytes;
    return !x->too_large;
}

static bool
read_form(gci_exprs *x, gci_form *form)
{
    gcache_error error = { .status = GCACHE_OK };

    form->weight = 1;
    form->type = is_symbol(form->text) ? GCI_FORM_SYMBOL : GCI_FORM_EXPR;
    x->text_bytes += form->text.size;
    x->arena.limit = ARENA_FLOOR + ARENA_PER_BYTE * x->text_bytes;
    if (form->type == GCI_FORM_EXPR)
        form->expr = gci_expr_read(form->text, &x->arena, &error);
    x->too_large = x->too_large || x->arena.full;
    return error.status != GCACHE_ERROR_MEMORY && find_symbols(x, form) && is_in_proportion(x, form);
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

/* The hash of how a form depends on one of its symbols, others as their colors. */
static uint64_t
hash_symbol(gci_exprs *x, gci_form const *form, uint32_t symbol)
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

static void
add_context(void *state, gci_view name, uint64_t context, size_t at)
{
    gci_exprs *x = state;

    (void)at;
    x->contexts[gci_intern_find(&x->symbols, name)] += context;
}

/* Each symbol's contexts added up, in one walk. Tokens stand in an order: a symbol's places are its context. */
static void
add_contexts(gci_exprs *x, gci_form const *form)
{
    size_t at = 0;
    bool is_name;

    for (uint32_t i = 0; i < form->symbol_count; i++)
        x->contexts[form->symbols[i]] = 0;
    if (form->type == GCI_FORM_EXPR)
        x->failed = !gci_expr_each_symbol(form->expr, color_of, add_context, x) || x->failed;
    for (uint64_t number = 0; form->type == GCI_FORM_TOKENS && at < form->text.size; number++) {
        gci_view token = next_token(form->text, &at, &is_name);
        if (is_name)
            add_context(x, token, gci_mix(5, number), at);
    }
}

void
gci_exprs_symbol_hashes(gci_exprs *x, gci_form const *form, uint64_t *out_hashes)
{
    bool many = form->symbol_count > FEW_SYMBOLS;

    if (many)
        add_contexts(x, form);
    for (uint32_t i = 0; i < form->symbol_count; i++)
        out_hashes[i] = many ? x->contexts[form->symbols[i]] : hash_symbol(x, form, form->symbols[i]);
}

uint64_t
gci_exprs_symbol_work(gci_form const *form)
{
    return (uint64_t)form->weight * (form->symbol_count > FEW_SYMBOLS ? 2 : form->symbol_count);
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
        uint64_t hash = gci_mix(hash_symbol(x, form, symbol), x->colors[symbol]);
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
rank_unnamed(gci_exprs *x, gci_form const *form, uint64_t *hashes, found_symbol *out)
{
    size_t count = 0;

    gci_exprs_symbol_hashes(x, form, hashes);
    for (uint32_t i = 0; i < form->symbol_count; i++) {
        uint32_t symbol = form->symbols[i];
        if (x->names[symbol].text.data == NULL)
            out[count++] = (found_symbol){ .symbol = symbol, .at = i, .hash = gci_mix(hashes[i], x->colors[symbol]) };
    }
    if (count > 1)
        qsort(out, count, sizeof *out, compare_found);
    return count;
}

static bool
is_tied(found_symbol const *ranked, size_t count, size_t i)
{
    return (i > 0 && ranked[i - 1].hash == ranked[i].hash) || (i + 1 < count && ranked[i + 1].hash == ranked[i].hash);
}

static bool
has_ties(found_symbol const *ranked, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ranked[i - 1].hash == ranked[i].hash)
            return true;
    return false;
}

/* Names all that aren't tied, or all; without any such, the first one. */
static void
name_ranked(gci_exprs *x, found_symbol const *ranked, size_t count, bool all)
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
    found_symbol *ranked = malloc(room * sizeof *ranked);
    size_t count = hashes != NULL && ranked != NULL ? room : 0;

    x->failed = x->failed || count == 0;
    for (unsigned pass = 1; count != 0 && !x->failed; pass++) {
        count = rank_unnamed(x, &x->forms[number], hashes, ranked);
        if (x->rounds_left != 0 && has_ties(ranked, count)) {
            gci_colors_refine(x);
            count = rank_unnamed(x, &x->forms[number], hashes, ranked);
        }
        name_ranked(x, ranked, count, pass == MAX_PASSES);
    }
    free(hashes);
    free(ranked);
}

static void
name_symbols(gci_exprs *x, uint32_t number)
{
    if (x->forms[number].symbol_count > FEW_SYMBOLS)
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
