/*
 * What stands for what: inputs and items of lists, by longest common subsequences of hashes, from strict to lenient.
 *
 * Placeholders stand for inputs, so they are aligned as the inputs are, and hold fast what lies between them.
 */
#include "base/digest.h"
#include "graph/diff/diff_align.h"

#include <stdlib.h>

/* ---- what is where in a form ---- */

static gci_value const no_nodes = { .type = GCI_LIST };

gci_value const *
gci_diff_nodes(gci_value const *graph)
{
    gci_value const *nodes = graph != NULL && graph->type == GCI_MAP ? gci_map_find(graph, "nodes") : NULL;

    return nodes != NULL && nodes->type == GCI_LIST ? nodes : &no_nodes;
}

gci_value const *
gci_diff_sources(gci_value const *components)
{
    gci_value const *config = gci_map_find(components, "aot_config");

    return config != NULL && config->type == GCI_MAP ? gci_map_find(config, "aot_autograd_arg_pos_to_source") : NULL;
}

static gci_alignment const *
alignment_of(gci_diff_run const *run, int64_t ref)
{
    uint32_t serial = gci_node_ref_serial(ref);
    gci_alignment const *alignment = serial == GCI_NODE_INPUTS ? run->inputs : run->open;

    for (uint32_t up = serial; up > 1 && alignment != NULL; up--)
        alignment = alignment->outer;
    return alignment;
}

uint32_t
gci_diff_counterpart(gci_diff_run const *run, int64_t ref)
{
    gci_alignment const *alignment = alignment_of(run, ref);
    uint32_t position = gci_node_ref_position(ref);

    return alignment != NULL && position < alignment->stored_count ? alignment->to_asked[position] : position;
}

uint32_t
gci_diff_origin(gci_diff_run const *run, int64_t ref)
{
    gci_alignment const *alignment = alignment_of(run, ref);
    uint32_t position = gci_node_ref_position(ref);

    return alignment != NULL && position < alignment->asked_count ? alignment->to_stored[position] : position;
}

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

static uint64_t
hash_reference(int64_t ref, gci_lens const *how)
{
    uint32_t serial = gci_node_ref_serial(ref), position = gci_node_ref_position(ref);

    if (how->run != NULL)
        return gci_mix(serial, how->of_asked ? position : gci_diff_counterpart(how->run, ref));
    return serial == 1 && position < how->count ? how->nodes[position] : serial;
}

static bool
is_number(gci_value const *value)
{
    return value->type == GCI_INT || value->type == GCI_FLOAT || value->type == GCI_BIGINT || value->type == GCI_SYM;
}

uint64_t
gci_hash_value(gci_value const *value, gci_lens const *how)
{
    uint64_t hash = gci_mix(12, value->type);

    if (how->without_numbers && is_number(value))
        return 13;
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
        return gci_mix(hash, hash_reference(value->integer, how));
    case GCI_BIGINT:
    case GCI_STRING:
    case GCI_BYTES:
    case GCI_ENUM:
        return gci_mix(hash, gci_hash64(value->text.data, value->text.size, 0));
    case GCI_LIST:
    case GCI_TUPLE:
    case GCI_SET:
        for (uint32_t i = 0; i < value->count; i++)
            hash = gci_mix(hash, gci_hash_value(&value->items[i], how));
        return hash;
    case GCI_MAP:
    case GCI_TENSOR:
        for (uint32_t i = 0; i < value->count; i++) {
            hash = gci_mix(hash, gci_hash64(value->members[i].name.data, value->members[i].name.size, 0));
            hash = gci_mix(hash, gci_hash_value(&value->members[i].value, how));
        }
        return hash;
    }
    return hash;
}

uint64_t
gci_hash_member(gci_value const *map, char const *name)
{
    gci_value const *member = map->type == GCI_MAP || map->type == GCI_TENSOR ? gci_map_find(map, name) : NULL;
    gci_lens plain = { .count = 0 };

    return member != NULL ? gci_hash_value(member, &plain) : 0;
}

uint64_t
gci_hash_operation(gci_value const *node)
{
    return gci_mix(gci_hash_member(node, "op"), gci_hash_member(node, "target"));
}

uint64_t
gci_hash_rest(gci_value const *node, gci_lens const *how)
{
    uint64_t hash = 16;

    if (node->type != GCI_MAP)
        return gci_hash_value(node, how);
    for (uint32_t i = 0; i < node->count; i++) {
        gci_member const *member = &node->members[i];
        if (gci_view_is(member->name, "target"))
            continue;
        hash = gci_mix(hash, gci_hash64(member->name.data, member->name.size, 0));
        hash = gci_mix(hash, gci_hash_value(&member->value, how));
    }
    return hash;
}

uint64_t
gci_hash_outline(gci_value const *node)
{
    uint64_t hash = gci_hash_operation(node);

    for (uint32_t i = 0; node->type == GCI_MAP && i < node->count; i++) {
        gci_value const *value = &node->members[i].value;
        bool list = value->type == GCI_LIST || value->type == GCI_TUPLE;
        hash = gci_mix(hash, list ? value->count : 0);
        for (uint32_t k = 0; value->type == GCI_MAP && k < value->count; k++)
            hash = gci_mix(hash, gci_hash64(value->members[k].name.data, value->members[k].name.size, 0));
    }
    return hash;
}

bool
gci_diff_is_placeholder(gci_value const *node)
{
    gci_value const *op = node->type == GCI_MAP ? gci_map_find(node, "op") : NULL;

    return op != NULL && op->type == GCI_STRING && gci_view_is(op->text, "placeholder");
}

/* ---- who uses a node ---- */

/* Adds to each node that a value refers to whose argument it is, and which one. */
static void
add_uses(gci_value const *value, uint64_t place, uint64_t *uses, uint32_t count)
{
    if (value->type == GCI_NODE && gci_node_ref_serial(value->integer) == 1 && gci_node_ref_position(value->integer) < count)
        uses[gci_node_ref_position(value->integer)] += place;
    if (value->type == GCI_LIST || value->type == GCI_TUPLE)
        for (uint32_t i = 0; i < value->count; i++)
            add_uses(&value->items[i], gci_mix(place, i), uses, count);
    if (value->type == GCI_MAP)
        for (uint32_t i = 0; i < value->count; i++)
            add_uses(&value->members[i].value, gci_mix(place, value->members[i].name.size), uses, count);
}

uint64_t *
gci_hash_uses(gci_value const *nodes)
{
    uint64_t *uses = calloc((size_t)nodes->count + 1, sizeof *uses);

    for (uint32_t i = 0; i < nodes->count && uses != NULL; i++)
        add_uses(&nodes->items[i], gci_hash_operation(&nodes->items[i]), uses, nodes->count);
    return uses;
}

/* ---- alignment ---- */

bool
gci_alignment_new(gci_arena *arena, uint32_t stored_count, uint32_t asked_count, gci_alignment *out)
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

bool
gci_match_equal(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gci_gap g)
{
    if (!gci_lcs(stored + g.a, g.a_end - g.a, asked + g.b, g.b_end - g.b, out->to_asked + g.a))
        return false;
    for (uint32_t i = g.a; i < g.a_end; i++)
        if (out->to_asked[i] != GCI_LCS_NONE)
            out->to_asked[i] += g.b;
    return true;
}

/* As many on both sides, and equal where they stand. */
static bool
match_at_place(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gci_gap g)
{
    for (uint32_t i = 0; g.a_end - g.a == g.b_end - g.b && i < g.a_end - g.a; i++)
        if (stored[g.a + i] == asked[g.b + i])
            out->to_asked[g.a + i] = g.b + i;
    return true;
}

bool
gci_match_in_order(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gci_gap g)
{
    bool same = g.a_end - g.a == g.b_end - g.b;

    for (uint32_t i = 0; same && stored != NULL && i < g.a_end - g.a; i++)
        same = stored[g.a + i] == asked[g.b + i];
    for (uint32_t i = 0; same && i < g.a_end - g.a; i++)
        out->to_asked[g.a + i] = g.b + i;
    return true;
}

bool
gci_fill_gaps(gci_alignment *out, gci_gap_fn match, uint64_t const *stored, uint64_t const *asked)
{
    uint32_t a = 0, b = 0;

    for (uint32_t i = 0; i <= out->stored_count; i++) {
        uint32_t to = i < out->stored_count ? out->to_asked[i] : out->asked_count;
        if (to == GCI_LCS_NONE)
            continue;
        if (a < i && b < to && !match(out, stored, asked, (gci_gap){ a, i, b, to }))
            return false;
        a = i + 1;
        b = to + 1;
    }
    return true;
}

void
gci_alignment_invert(gci_alignment *out)
{
    for (uint32_t i = 0; i < out->stored_count; i++)
        if (out->to_asked[i] != GCI_LCS_NONE)
            out->to_stored[out->to_asked[i]] = i;
}

uint64_t *
gci_hash_items(gci_value const *list, gci_hash_fn hash, void const *state)
{
    uint64_t *hashes = malloc(((size_t)list->count + 1) * sizeof *hashes);

    for (uint32_t i = 0; i < list->count && hashes != NULL; i++)
        hashes[i] = hash(&list->items[i], i, state);
    return hashes;
}

static bool
is_gap(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gci_gap g)
{
    (void)out;
    (void)stored;
    (void)asked;
    (void)g;
    return false;
}

bool
gci_match_by(gci_alignment *out, gci_gap_fn match, gci_hash_fn hash, gci_value const *stored, void const *of_stored,
             gci_value const *asked, void const *of_asked)
{
    if (gci_fill_gaps(out, is_gap, NULL, NULL))
        return true; /* nothing is left */
    uint64_t *a = gci_hash_items(stored, hash, of_stored), *b = gci_hash_items(asked, hash, of_asked);
    bool done = a != NULL && b != NULL && gci_fill_gaps(out, match, a, b);

    free(a);
    free(b);
    return done;
}

/* ---- lists ---- */

static uint64_t
hash_item(gci_value const *item, uint32_t position, void const *state)
{
    (void)position;
    return gci_hash_value(item, state);
}

bool
gci_diff_align_lists(gci_diff_run *run, gci_value const *stored, gci_value const *asked, gci_alignment *out)
{
    gci_lens of_stored = { .run = run }, of_asked = { .run = run, .of_asked = true };
    bool aligned = gci_alignment_new(&run->arena, stored->count, asked->count, out) &&
                   gci_match_by(out, gci_match_equal, hash_item, stored, &of_stored, asked, &of_asked) &&
                   gci_fill_gaps(out, gci_match_in_order, NULL, NULL);

    if (aligned)
        gci_alignment_invert(out);
    return aligned;
}

/* ---- inputs ---- */

bool
gci_ports_find(gci_value const *nodes, gci_ports *out)
{
    out->nodes = nodes;
    out->placeholders = malloc(((size_t)nodes->count + 1) * sizeof *out->placeholders);
    out->uses = gci_hash_uses(nodes);
    for (uint32_t i = 0; i < nodes->count && out->placeholders != NULL; i++)
        if (gci_diff_is_placeholder(&nodes->items[i]))
            out->placeholders[out->count++] = i;
    return out->placeholders != NULL && out->uses != NULL;
}

void
gci_ports_clear(gci_ports *p)
{
    free(p->placeholders);
    free(p->uses);
}

static gci_value const *
value_of(gci_value const *input)
{
    gci_value const *value = input->type == GCI_MAP ? gci_map_find(input, "value") : NULL;

    return value != NULL ? value : input;
}

static uint64_t
hash_source(gci_value const *input, uint32_t position, void const *state)
{
    gci_ports const *p = state;
    gci_lens plain = { .count = 0 };

    (void)input;
    return gci_hash_value(&p->sources->items[position], &plain);
}

/* All that is said of it, and who uses it. */
static uint64_t
hash_used_input(gci_value const *input, uint32_t position, void const *state)
{
    gci_ports const *p = state;
    gci_lens plain = { .count = 0 };
    bool is_node = p->count == p->inputs->count;

    return gci_mix(gci_hash_value(input, &plain), is_node ? p->uses[p->placeholders[position]] : 0);
}

/* Element type and rank: the same tensor with other sizes. */
static uint64_t
hash_rough_input(gci_value const *input, uint32_t position, void const *state)
{
    gci_value const *value = value_of(input);
    gci_value const *shape = value->type == GCI_TENSOR ? gci_map_find(value, "shape") : NULL;

    (void)position;
    (void)state;
    return gci_mix(gci_mix(value->type, gci_hash_member(value, "dtype")), shape != NULL ? shape->count : 0);
}

static uint64_t
hash_type(gci_value const *input, uint32_t position, void const *state)
{
    (void)position;
    (void)state;
    return value_of(input)->type;
}

/* The place of an input among a tensor's, sizes' and others' uses. */
static uint64_t
hash_input_uses(gci_value const *input, uint32_t position, void const *state)
{
    gci_ports const *p = state;
    bool is_node = p->count == p->inputs->count;

    return gci_mix(hash_type(input, position, state), is_node ? p->uses[p->placeholders[position]] : 0);
}

static bool
has_sources(gci_ports const *p)
{
    return p->sources != NULL && p->sources->type == GCI_LIST && p->sources->count == p->inputs->count;
}

static bool
match_inputs(gci_alignment *out, gci_ports const *stored, gci_ports const *asked)
{
    gci_value const *a = stored->inputs, *b = asked->inputs;
    gci_lens plain = { .count = 0 };

    if (has_sources(stored) && has_sources(asked) && !gci_match_by(out, gci_match_equal, hash_source, a, stored, b, asked))
        return false;
    if (a->count == b->count && !gci_match_by(out, match_at_place, hash_item, a, &plain, b, &plain))
        return false;
    return gci_match_by(out, gci_match_equal, hash_used_input, a, stored, b, asked) &&
           gci_match_by(out, gci_match_equal, hash_input_uses, a, stored, b, asked) &&
           gci_match_by(out, gci_match_equal, hash_item, a, &plain, b, &plain) &&
           gci_match_by(out, gci_match_equal, hash_rough_input, a, NULL, b, NULL) &&
           gci_match_by(out, gci_match_equal, hash_type, a, NULL, b, NULL) && gci_fill_gaps(out, gci_match_in_order, NULL, NULL);
}

bool
gci_diff_align_inputs(gci_diff_run *run, gci_value const *stored, gci_value const *asked, gci_alignment *out)
{
    gci_ports a = { .inputs = gci_map_find(stored, "inputs"), .sources = gci_diff_sources(stored) };
    gci_ports b = { .inputs = gci_map_find(asked, "inputs"), .sources = gci_diff_sources(asked) };
    bool aligned = gci_ports_find(gci_diff_nodes(gci_map_find(stored, "graph")), &a) &&
                   gci_ports_find(gci_diff_nodes(gci_map_find(asked, "graph")), &b) &&
                   gci_alignment_new(&run->arena, a.inputs->count, b.inputs->count, out) && match_inputs(out, &a, &b);

    if (aligned)
        gci_alignment_invert(out);
    gci_ports_clear(&a);
    gci_ports_clear(&b);
    return aligned;
}
