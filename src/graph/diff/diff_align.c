/*
 * What stands for what: nodes by longest common subsequence, symbols by where they stand.
 */
#include "base/array.h"
#include "base/check.h"
#include "base/digest.h"
#include "graph/cbor/cbor_read.h"
#include "graph/diff/diff_run.h"
#include "guards/guards.h"
#include "graph/diff/lcs.h"

#include <stdlib.h>

/* ---- hashes ---- */

/* An expression's shape: names count as their first letter. */
static uint64_t
hash_expression(gci_view text)
{
    uint64_t hash = 11;
    bool in_name = false;

    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (in_name && c >= '0' && c <= '9');
        if (!in_name || !word)
            hash = gci_mix(hash, (uint8_t)c);
        in_name = word;
    }
    return hash;
}

/* References count as what weak says of their nodes (NULL: all alike) and symbols as their class. */
static uint64_t
hash_value(gci_value const *value, uint64_t const *weak, uint32_t weak_count)
{
    uint64_t hash = gci_mix(12, value->type);
    uint32_t position;

    switch ((gci_value_type)value->type) {
    case GCI_NULL:
        return hash;
    case GCI_BOOL:
        return gci_mix(hash, value->boolean);
    case GCI_INT:
        return gci_mix(hash, (uint64_t)value->integer);
    case GCI_FLOAT:
        return gci_mix(hash, gci_hash64(&value->real, sizeof value->real, 0));
    case GCI_SYM:
        return gci_mix(hash, hash_expression(value->text));
    case GCI_NODE:
        position = gci_node_ref_position(value->integer);
        if (gci_node_ref_serial(value->integer) == 1 && weak != NULL && position < weak_count)
            return gci_mix(hash, weak[position]);
        return gci_mix(hash, gci_node_ref_serial(value->integer));
    case GCI_BIGINT:
    case GCI_STRING:
    case GCI_BYTES:
    case GCI_ENUM:
        return gci_mix(hash, gci_hash64(value->text.data, value->text.size, 0));
    case GCI_LIST:
    case GCI_TUPLE:
    case GCI_SET:
        for (uint32_t i = 0; i < value->count; i++)
            hash = gci_mix(hash, hash_value(&value->items[i], weak, weak_count));
        return hash;
    case GCI_MAP:
    case GCI_TENSOR:
        for (uint32_t i = 0; i < value->count; i++) {
            hash = gci_mix(hash, gci_hash64(value->members[i].name.data, value->members[i].name.size, 0));
            hash = gci_mix(hash, hash_value(&value->members[i].value, weak, weak_count));
        }
        return hash;
    }
    return hash;
}

/* What a node does, whatever it is applied to. */
static uint64_t
weak_hash(gci_value const *node)
{
    gci_value const *op = gci_map_find(node, "op"), *target = gci_map_find(node, "target");
    uint64_t hash = op != NULL ? hash_value(op, NULL, 0) : 0;

    return target != NULL ? gci_mix(hash, hash_value(target, NULL, 0)) : hash;
}

/* ---- alignment ---- */

static bool
new_alignment(gci_arena *arena, uint32_t stored_count, uint32_t asked_count, gci_alignment *out)
{
    out->stored_count = stored_count;
    out->asked_count = asked_count;
    out->to_asked = gci_arena_alloc(arena, stored_count * sizeof *out->to_asked);
    out->to_stored = gci_arena_alloc(arena, asked_count * sizeof *out->to_stored);
    if (out->to_asked == NULL || out->to_stored == NULL)
        return false;
    for (uint32_t i = 0; i < stored_count; i++)
        out->to_asked[i] = GCI_LCS_NONE;
    for (uint32_t i = 0; i < asked_count; i++)
        out->to_stored[i] = GCI_LCS_NONE;
    return true;
}

/* Matches what lies between two matches, by other hashes or, where both sides have as many, one by one. */
static bool
fill_gap(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, uint32_t a, uint32_t a_end, uint32_t b,
         uint32_t b_end)
{
    if (a == a_end || b == b_end)
        return true;
    if (stored != NULL) {
        if (!gci_lcs(stored + a, a_end - a, asked + b, b_end - b, out->to_asked + a))
            return false;
        for (uint32_t i = a; i < a_end; i++)
            if (out->to_asked[i] != GCI_LCS_NONE)
                out->to_asked[i] += b;
        return true;
    }
    for (uint32_t i = 0; a_end - a == b_end - b && i < a_end - a; i++)
        out->to_asked[a + i] = b + i;
    return true;
}

static bool
fill_gaps(gci_alignment *out, uint64_t const *stored, uint64_t const *asked)
{
    uint32_t a = 0, b = 0;

    for (uint32_t i = 0; i < out->stored_count; i++) {
        uint32_t match = out->to_asked[i];
        if (match == GCI_LCS_NONE)
            continue;
        if (!fill_gap(out, stored, asked, a, i, b, match))
            return false;
        a = i + 1;
        b = match + 1;
    }
    return fill_gap(out, stored, asked, a, out->stored_count, b, out->asked_count);
}

static void
invert(gci_alignment *out)
{
    for (uint32_t i = 0; i < out->stored_count; i++)
        if (out->to_asked[i] != GCI_LCS_NONE)
            out->to_stored[out->to_asked[i]] = i;
}

/* Hashes of nodes: what they do and to what, and (behind those) what they do. NULL without memory. */
static uint64_t *
hash_nodes(gci_value const *nodes)
{
    uint64_t *hashes = malloc(((size_t)nodes->count * 2 + 1) * sizeof *hashes);

    for (uint32_t i = 0; i < nodes->count && hashes != NULL; i++)
        hashes[nodes->count + i] = weak_hash(&nodes->items[i]);
    for (uint32_t i = 0; i < nodes->count && hashes != NULL; i++)
        hashes[i] = hash_value(&nodes->items[i], hashes + nodes->count, nodes->count);
    return hashes;
}

static uint64_t *
hash_items(gci_value const *list)
{
    uint64_t *hashes = malloc(((size_t)list->count + 1) * sizeof *hashes);

    for (uint32_t i = 0; i < list->count && hashes != NULL; i++)
        hashes[i] = hash_value(&list->items[i], NULL, 0);
    return hashes;
}

bool
gci_diff_align(gci_arena *arena, gci_value const *stored, gci_value const *asked, bool are_nodes, gci_alignment *out)
{
    uint64_t *a = are_nodes ? hash_nodes(stored) : hash_items(stored), *b = are_nodes ? hash_nodes(asked) : hash_items(asked);
    bool aligned = a != NULL && b != NULL && new_alignment(arena, stored->count, asked->count, out) &&
                   gci_lcs(a, stored->count, b, asked->count, out->to_asked) &&
                   (!are_nodes || fill_gaps(out, a + stored->count, b + asked->count)) && fill_gaps(out, NULL, NULL);

    if (aligned)
        invert(out);
    free(a);
    free(b);
    return aligned;
}

/* ---- symbols ---- */

static uint32_t
map_symbol(gci_diff_run *run, gci_symbol_map *map, gci_view name)
{
    bool is_new = false;
    uint32_t number = gci_intern_add(&map->names, name, &is_new);

    if (number == GCI_INTERN_NONE || !gci_array_has_room(&map->to, number, &map->room, sizeof *map->to)) {
        run->failed = true;
        return GCI_INTERN_NONE;
    }
    if (is_new)
        map->to[number] = GCI_INTERN_NONE;
    return number;
}

/* Canonical symbols are a letter and digits. */
static size_t
symbol_at(gci_view text, size_t at)
{
    size_t end = at;
    bool behind_word = at > 0 && (text.data[at - 1] == '_' || (text.data[at - 1] >= '0' && text.data[at - 1] <= '9') ||
                                  (text.data[at - 1] >= 'A' && text.data[at - 1] <= 'z'));

    if (behind_word || text.data[at] < 'A' || text.data[at] > 'z')
        return 0;
    for (end = at + 1; end < text.size && text.data[end] >= '0' && text.data[end] <= '9';)
        end++;
    bool more = end < text.size && ((text.data[end] >= 'A' && text.data[end] <= 'z') || text.data[end] == '(');
    return end > at + 1 && !more ? end - at : 0;
}

/* Matches up the symbols of two expressions of one shape; with `set`, new pairs are kept. */
static bool
match_symbols(gci_diff_run *run, gci_view stored, gci_view asked, bool set)
{
    size_t i = 0, k = 0;

    while (i < stored.size && k < asked.size) {
        size_t a = symbol_at(stored, i), b = symbol_at(asked, k);
        if ((a == 0) != (b == 0) || (a == 0 && stored.data[i] != asked.data[k]))
            return false;
        if (a == 0) {
            i++;
            k++;
            continue;
        }
        uint32_t x = map_symbol(run, &run->stored_symbols, gci_view_of(stored.data + i, a));
        uint32_t y = map_symbol(run, &run->asked_symbols, gci_view_of(asked.data + k, b));
        if (run->failed || stored.data[i] != asked.data[k])
            return false;
        uint32_t *to = &run->stored_symbols.to[x], *back = &run->asked_symbols.to[y];
        if ((*to != GCI_INTERN_NONE && *to != y) || (*back != GCI_INTERN_NONE && *back != x))
            return false;
        if (set) {
            *to = y;
            *back = x;
        }
        i += a;
        k += b;
    }
    return i == stored.size && k == asked.size;
}

static gci_view
asked_name(void const *state, gci_view name)
{
    gci_diff_run const *run = state;
    uint32_t number = gci_intern_find(&run->stored_symbols.names, name);

    if (number == GCI_INTERN_NONE || run->stored_symbols.to[number] == GCI_INTERN_NONE)
        return name;
    return run->asked_symbols.names.texts[run->stored_symbols.to[number]];
}

/* Operands are ordered by name, so a renamed expression must be brought to normal form again before it is compared. */
static bool
same_renamed(gci_diff_run *run, gci_view stored, gci_view asked)
{
    gci_arena arena;
    gci_buf written;
    gcache_error error;

    gci_arena_init(&arena, (size_t)1 << 24);
    gci_buf_init(&written, GCI_BUF_NO_LIMIT);
    gci_expr *expr = gci_expr_read(stored, &arena, &error);
    if (expr != NULL)
        gci_expr_write(expr, (gci_naming){ .rename = asked_name, .state = run }, &written);
    bool same = expr != NULL && !written.failed && gci_view_equal(gci_buf_view(&written), asked);
    gci_buf_clear(&written);
    gci_arena_clear(&arena);
    return same;
}

bool
gci_diff_same_expression(gci_diff_run *run, gci_view stored, gci_view asked)
{
    if (run->literal)
        return gci_view_equal(stored, asked);
    if (match_symbols(run, stored, asked, false))
        return match_symbols(run, stored, asked, true);
    return same_renamed(run, stored, asked);
}
