/*
 * Which input line stands for which: those of the same name, where both sides have lines of names; symbols by themselves; the
 * others by place where there are as many of them, else by longest common subsequences, from equal lines to those of the same
 * rank or type.
 */
#include "cache/candidates/compare.h"

#include "base/digest.h"
#include "graph/sequence/lcs.h"

#include <stdlib.h>

/* How alike two lines are, from strict to lenient. */
typedef enum level { NAME, EQUAL, SIZES, INNER_SIZES, TYPE_AND_RANK, RANK, TYPE, LEVELS } level;

/* More lines between two that are paired: only equal ones are looked for, as which is which couldn't be told anyway. */
#define STRETCH_MOST 512

/* One side's lines of one sort, in order. */
typedef struct sequence {
    gci_component const *components;
    uint32_t *places; /* among the components */
    uint64_t (*hashes)[LEVELS];
    uint32_t count;
    bool named;
} sequence;

/* Lines of names, one an input: arguments[0]: x */
static char const names_of_inputs[] = "arguments[";

/* ---- lines ---- */

/* text = dtype "[" sizes "]" .. ; false: it is no tensor. */
static bool
find_sizes(gci_view text, gci_view *out_dtype, gci_view *out_sizes)
{
    char const *open = text.size != 0 ? memchr(text.data, '[', text.size) : NULL;
    char const *close = open != NULL ? memchr(open, ']', (size_t)(text.data + text.size - open)) : NULL;

    if (close == NULL)
        return false;
    *out_dtype = gci_view_of(text.data, (size_t)(open - text.data));
    *out_sizes = gci_view_of(open + 1, (size_t)(close - open - 1));
    return true;
}

static void
hash_line(gci_component const *component, uint64_t *out)
{
    gci_view dtype, sizes;

    out[EQUAL] = gci_hash64(component->hash, sizeof component->hash, 0);
    if (!find_sizes(component->text, &dtype, &sizes)) {
        for (level l = SIZES; l < LEVELS; l++)
            out[l] = 0;
        return;
    }
    uint64_t type = gci_hash64(dtype.data, dtype.size, 0), rank = sizes.size != 0;
    char const *inner = sizes.size != 0 ? memchr(sizes.data, ',', sizes.size) : NULL;
    for (size_t i = 0; i < sizes.size; i++)
        rank += sizes.data[i] == ',';
    out[SIZES] = gci_hash64(sizes.data, sizes.size, rank);
    out[INNER_SIZES] = gci_mix(type, inner != NULL ? gci_hash64(inner, (size_t)(sizes.data + sizes.size - inner), rank) : rank);
    out[TYPE_AND_RANK] = gci_mix(type, rank);
    out[RANK] = rank + 1;
    out[TYPE] = type;
}

static bool
is_name(gci_component const *component)
{
    return gci_view_begins(component->name, names_of_inputs);
}

/* As many lines of names as inputs; *out_first: where they begin. They stand one behind the other. */
static bool
has_names(gci_description const *description, size_t *out_first)
{
    size_t inputs = 0, names = 0;

    for (size_t i = 0; i < description->component_count; i++) {
        inputs += gci_diff_is_input(description->components[i].name);
        if (is_name(&description->components[i]) && names++ == 0)
            *out_first = i;
    }
    return names != 0 && names == inputs && is_name(&description->components[*out_first + names - 1]);
}

/* Symbols, or the others. false without memory. */
static bool
collect(gci_description const *description, bool symbols, sequence *out)
{
    size_t first_name = 0, input = 0;

    *out = (sequence){ .components = description->components, .named = has_names(description, &first_name) };
    out->places = malloc((description->component_count + 1) * sizeof *out->places);
    out->hashes = malloc((description->component_count + 1) * sizeof *out->hashes);
    if (out->places == NULL || out->hashes == NULL)
        return false;
    for (size_t i = 0; i < description->component_count; i++) {
        gci_component const *component = &description->components[i];
        if (!gci_diff_is_input(component->name))
            continue;
        gci_view name = out->named ? description->components[first_name + input].text : (gci_view){ NULL, 0 };
        input++;
        if ((gci_diff_symbol(component->text).size != 0) != symbols)
            continue;
        hash_line(component, out->hashes[out->count]);
        out->hashes[out->count][NAME] = gci_hash64(name.data, name.size, 0);
        out->places[out->count++] = (uint32_t)i;
    }
    return true;
}

static void
clear(sequence *s)
{
    free(s->places);
    free(s->hashes);
}

/* ---- pairs ---- */

/* What lies between two pairs. */
typedef struct stretch {
    uint32_t a, a_end, b, b_end;
} stretch;

static size_t
count_alike(sequence const *s, uint32_t from, uint32_t end, level l, uint64_t hash)
{
    size_t count = 0;

    for (uint32_t i = from; i < end; i++)
        count += s->hashes[i][l] == hash;
    return count;
}

/* Lines of which one side has more than the other are like none: which of them is new isn't known. */
static void
read_hashes(sequence const *s, uint32_t from, uint32_t end, stretch const *g, sequence const *const *sides, level l, uint64_t *out)
{
    for (uint32_t i = from; i < end; i++) {
        uint64_t hash = s->hashes[i][l];
        size_t stored = count_alike(sides[0], g->a, g->a_end, l, hash), asked = count_alike(sides[1], g->b, g->b_end, l, hash);
        bool certain = l <= EQUAL || stored == asked;
        out[i - from] = certain ? hash : gci_mix(hash, 2 * (uint64_t)i + (s == sides[0]));
    }
}

static bool
match_alike(sequence const *a, sequence const *b, stretch g, level l, uint32_t *to)
{
    sequence const *const sides[] = { a, b };
    uint32_t stored = g.a_end - g.a, asked = g.b_end - g.b;

    if (l > EQUAL && (stored > STRETCH_MOST || asked > STRETCH_MOST))
        return true;
    uint64_t *hashes = malloc(((size_t)stored + asked + 1) * sizeof *hashes);
    if (hashes == NULL)
        return false;
    read_hashes(a, g.a, g.a_end, &g, sides, l, hashes);
    read_hashes(b, g.b, g.b_end, &g, sides, l, hashes + stored);
    bool done = gci_lcs(hashes, stored, hashes + stored, asked, to + g.a);
    for (uint32_t i = g.a; i < g.a_end && done; i++)
        to[i] += to[i] != GCI_LCS_NONE ? g.b : 0;
    free(hashes);
    return done;
}

/* l = LEVELS: one by one, where there are as many. */
static bool
match_stretch(sequence const *a, sequence const *b, stretch g, level l, uint32_t *to)
{
    if (l != LEVELS)
        return match_alike(a, b, g, l, to);
    for (uint32_t i = g.a; g.a_end - g.a == g.b_end - g.b && i < g.a_end; i++)
        to[i] = g.b + (i - g.a);
    return true;
}

static bool
match_stretches(sequence const *a, sequence const *b, level l, uint32_t *to)
{
    stretch g = { .a = 0 };

    for (uint32_t i = 0; i <= a->count; i++) {
        uint32_t end = i < a->count ? to[i] : b->count;
        if (end == GCI_LCS_NONE)
            continue;
        g.a_end = i;
        g.b_end = end;
        if (g.a < g.a_end && g.b < g.b_end && !match_stretch(a, b, g, l, to))
            return false;
        g = (stretch){ .a = i + 1, .b = end + 1 };
    }
    return true;
}

/* As many on both sides, and nothing at its place became quite another, unless there is only one. */
static bool
agree_by_place(sequence const *a, sequence const *b)
{
    bool agree = a->count == b->count;

    for (uint32_t i = 0; i < a->count && a->count != 1 && agree; i++)
        agree = a->hashes[i][RANK] == b->hashes[i][RANK] || a->hashes[i][TYPE] == b->hashes[i][TYPE];
    return agree;
}

/* Symbols have nothing but their names: equal ones, then those between where there are as many. */
static bool
match(sequence const *a, sequence const *b, bool symbols, uint32_t *to)
{
    bool named = a->named && b->named, by_place = !symbols && !named && agree_by_place(a, b), done = true;

    for (uint32_t i = 0; i < a->count; i++)
        to[i] = by_place ? i : GCI_LCS_NONE;
    for (level l = named ? NAME : EQUAL; l < LEVELS && !by_place && done; l = symbols && l == EQUAL ? LEVELS : l + 1)
        done = match_stretches(a, b, l, to);
    return done && (!symbols || match_stretches(a, b, LEVELS, to));
}

static bool
pair_sort(gci_description const *stored, gci_description const *asked, bool symbols, gci_component const **of_stored,
          gci_component const **of_asked)
{
    sequence a = { .count = 0 }, b = { .count = 0 };
    uint32_t *to = NULL;
    bool done = collect(stored, symbols, &a) && collect(asked, symbols, &b) &&
                (to = malloc(((size_t)a.count + 1) * sizeof *to)) != NULL && match(&a, &b, symbols, to);

    for (uint32_t i = 0; i < a.count && done; i++)
        of_stored[a.places[i]] = to[i] != GCI_LCS_NONE ? &asked->components[b.places[to[i]]] : NULL;
    for (uint32_t i = 0; i < b.count && done; i++)
        of_asked[b.places[i]] = NULL;
    for (uint32_t i = 0; i < a.count && done; i++)
        if (to[i] != GCI_LCS_NONE)
            of_asked[b.places[to[i]]] = &stored->components[a.places[i]];
    free(to);
    clear(&a);
    clear(&b);
    return done;
}

/* ---- lines about inputs ---- */

/* The how manieth input each component is; of others it says nothing. NULL without memory. */
static uint32_t *
number_inputs(gci_description const *description)
{
    uint32_t *numbers = calloc(description->component_count + 1, sizeof *numbers), count = 0;

    for (size_t i = 0; i < description->component_count && numbers != NULL; i++)
        if (gci_diff_is_input(description->components[i].name))
            numbers[i] = count++;
    return numbers;
}

/* Lines of names are paired as the inputs are. false without memory. */
static bool
pair_names(gci_description const *stored, gci_description const *asked, gci_component const **of_stored,
           gci_component const **of_asked)
{
    size_t first_stored = 0, first_asked = 0;

    if (!has_names(stored, &first_stored) || !has_names(asked, &first_asked))
        return true;
    uint32_t *a = number_inputs(stored), *b = number_inputs(asked);
    bool done = a != NULL && b != NULL;
    for (size_t i = first_asked; done && i < asked->component_count && is_name(&asked->components[i]); i++)
        of_asked[i] = NULL;
    for (size_t i = 0; i < stored->component_count && done; i++) {
        if (!gci_diff_is_input(stored->components[i].name))
            continue;
        gci_component const *there = of_stored[i], **pair = &of_stored[first_stored + a[i]];
        *pair = there != NULL ? &asked->components[first_asked + b[there - asked->components]] : NULL;
        if (there != NULL)
            of_asked[*pair - asked->components] = &stored->components[first_stored + a[i]];
    }
    free(a);
    free(b);
    return done;
}

bool
gci_pair_input_lines(gci_description const *stored, gci_description const *asked, gci_component const **of_stored,
                     gci_component const **of_asked)
{
    return pair_sort(stored, asked, false, of_stored, of_asked) && pair_sort(stored, asked, true, of_stored, of_asked) &&
           pair_names(stored, asked, of_stored, of_asked);
}
