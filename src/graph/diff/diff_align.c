/*
 * What stands for what: nodes, inputs and items of lists, by longest common subsequences of hashes, from strict to lenient.
 *
 * Placeholders stand for inputs, so they are aligned as the inputs are, and hold fast what lies between them.
 */
#include "base/check.h"
#include "base/digest.h"
#include "graph/diff/diff_run.h"
#include "graph/diff/lcs.h"

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

uint32_t
gci_diff_counterpart(gci_diff_run const *run, int64_t ref)
{
    uint32_t serial = gci_node_ref_serial(ref), position = gci_node_ref_position(ref);
    gci_alignment const *alignment = serial == GCI_NODE_INPUTS ? run->inputs : run->open;

    for (uint32_t up = serial; up > 1 && alignment != NULL; up--)
        alignment = alignment->outer;
    return alignment != NULL && position < alignment->stored_count ? alignment->to_asked[position] : position;
}

/* ---- hashes ---- */

/* How references and numbers count. */
typedef struct lens {
    uint64_t const *nodes;     /* what references count as, by position in the graph at hand; NULL: all alike */
    uint32_t count;
    gci_diff_run const *run;   /* instead, references count as what they are aligned with; NULL: they don't */
    bool of_asked;
    bool without_numbers;
} lens;

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
hash_reference(int64_t ref, lens const *how)
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

static uint64_t
hash_value(gci_value const *value, lens const *how)
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
            hash = gci_mix(hash, hash_value(&value->items[i], how));
        return hash;
    case GCI_MAP:
    case GCI_TENSOR:
        for (uint32_t i = 0; i < value->count; i++) {
            hash = gci_mix(hash, gci_hash64(value->members[i].name.data, value->members[i].name.size, 0));
            hash = gci_mix(hash, hash_value(&value->members[i].value, how));
        }
        return hash;
    }
    return hash;
}

static uint64_t
hash_member(gci_value const *map, char const *name)
{
    gci_value const *member = map->type == GCI_MAP || map->type == GCI_TENSOR ? gci_map_find(map, name) : NULL;
    lens plain = { .count = 0 };

    return member != NULL ? hash_value(member, &plain) : 0;
}

/* What a node does, whatever it is applied to. */
static uint64_t
hash_operation(gci_value const *node)
{
    return gci_mix(hash_member(node, "op"), hash_member(node, "target"));
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

/* What uses each node of a list. NULL without memory. */
static uint64_t *
hash_uses(gci_value const *nodes)
{
    uint64_t *uses = calloc((size_t)nodes->count + 1, sizeof *uses);

    for (uint32_t i = 0; i < nodes->count && uses != NULL; i++)
        add_uses(&nodes->items[i], hash_operation(&nodes->items[i]), uses, nodes->count);
    return uses;
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

/* Matches what lies between two matches. false without memory. */
typedef struct gap {
    uint32_t a, a_end, b, b_end;
} gap;
typedef bool (*gap_fn)(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gap between);

static bool
match_equal(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gap g)
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
match_at_place(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gap g)
{
    for (uint32_t i = 0; g.a_end - g.a == g.b_end - g.b && i < g.a_end - g.a; i++)
        if (stored[g.a + i] == asked[g.b + i])
            out->to_asked[g.a + i] = g.b + i;
    return true;
}

/* Where both sides have as many and of the same sort, one by one. */
static bool
match_in_order(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gap g)
{
    bool same = g.a_end - g.a == g.b_end - g.b;

    for (uint32_t i = 0; same && stored != NULL && i < g.a_end - g.a; i++)
        same = stored[g.a + i] == asked[g.b + i];
    for (uint32_t i = 0; same && i < g.a_end - g.a; i++)
        out->to_asked[g.a + i] = g.b + i;
    return true;
}

static bool
fill_gaps(gci_alignment *out, gap_fn match, uint64_t const *stored, uint64_t const *asked)
{
    uint32_t a = 0, b = 0;

    for (uint32_t i = 0; i <= out->stored_count; i++) {
        uint32_t to = i < out->stored_count ? out->to_asked[i] : out->asked_count;
        if (to == GCI_LCS_NONE)
            continue;
        if (a < i && b < to && !match(out, stored, asked, (gap){ a, i, b, to }))
            return false;
        a = i + 1;
        b = to + 1;
    }
    return true;
}

static void
invert(gci_alignment *out)
{
    for (uint32_t i = 0; i < out->stored_count; i++)
        if (out->to_asked[i] != GCI_LCS_NONE)
            out->to_stored[out->to_asked[i]] = i;
}

typedef uint64_t (*hash_fn)(gci_value const *item, uint32_t position, void const *state);

static uint64_t *
hash_items(gci_value const *list, hash_fn hash, void const *state)
{
    uint64_t *hashes = malloc(((size_t)list->count + 1) * sizeof *hashes);

    for (uint32_t i = 0; i < list->count && hashes != NULL; i++)
        hashes[i] = hash(&list->items[i], i, state);
    return hashes;
}

/* Matches what isn't matched yet by one more kind of hashes. */
static bool
match_by(gci_alignment *out, gap_fn match, hash_fn hash, gci_value const *stored, void const *of_stored, gci_value const *asked,
         void const *of_asked)
{
    uint64_t *a = hash_items(stored, hash, of_stored), *b = hash_items(asked, hash, of_asked);
    bool done = a != NULL && b != NULL && fill_gaps(out, match, a, b);

    free(a);
    free(b);
    return done;
}

/* ---- lists ---- */

static uint64_t
hash_item(gci_value const *item, uint32_t position, void const *state)
{
    (void)position;
    return hash_value(item, state);
}

bool
gci_diff_align_lists(gci_diff_run *run, gci_value const *stored, gci_value const *asked, gci_alignment *out)
{
    lens of_stored = { .run = run }, of_asked = { .run = run, .of_asked = true };
    bool aligned = new_alignment(&run->arena, stored->count, asked->count, out) &&
                   match_by(out, match_equal, hash_item, stored, &of_stored, asked, &of_asked) &&
                   fill_gaps(out, match_in_order, NULL, NULL);

    if (aligned)
        invert(out);
    return aligned;
}

/* ---- inputs ---- */

/* One side's inputs, with what is known of them elsewhere in the form. */
typedef struct ports {
    gci_value const *inputs, *nodes;
    gci_value const *sources; /* of PyTorch's AOT: where each input comes from; NULL: not there */
    uint32_t *placeholders;   /* positions of the nodes that stand for inputs, count of them */
    uint32_t count;
    uint64_t *uses;           /* of nodes */
} ports;

static bool
find_placeholders(gci_value const *nodes, ports *out)
{
    out->nodes = nodes;
    out->placeholders = malloc(((size_t)nodes->count + 1) * sizeof *out->placeholders);
    out->uses = hash_uses(nodes);
    for (uint32_t i = 0; i < nodes->count && out->placeholders != NULL; i++)
        if (gci_diff_is_placeholder(&nodes->items[i]))
            out->placeholders[out->count++] = i;
    return out->placeholders != NULL && out->uses != NULL;
}

static void
ports_clear(ports *p)
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
    ports const *p = state;
    lens plain = { .count = 0 };

    (void)input;
    return hash_value(&p->sources->items[position], &plain);
}

/* All that is said of it, and who uses it. */
static uint64_t
hash_used_input(gci_value const *input, uint32_t position, void const *state)
{
    ports const *p = state;
    lens plain = { .count = 0 };
    bool is_node = p->count == p->inputs->count;

    return gci_mix(hash_value(input, &plain), is_node ? p->uses[p->placeholders[position]] : 0);
}

/* Element type and rank: the same tensor with other sizes. */
static uint64_t
hash_rough_input(gci_value const *input, uint32_t position, void const *state)
{
    gci_value const *value = value_of(input);
    gci_value const *shape = value->type == GCI_TENSOR ? gci_map_find(value, "shape") : NULL;

    (void)position;
    (void)state;
    return gci_mix(gci_mix(value->type, hash_member(value, "dtype")), shape != NULL ? shape->count : 0);
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
    ports const *p = state;
    bool is_node = p->count == p->inputs->count;

    return gci_mix(hash_type(input, position, state), is_node ? p->uses[p->placeholders[position]] : 0);
}

static bool
has_sources(ports const *p)
{
    return p->sources != NULL && p->sources->type == GCI_LIST && p->sources->count == p->inputs->count;
}

static bool
match_inputs(gci_alignment *out, ports const *stored, ports const *asked)
{
    gci_value const *a = stored->inputs, *b = asked->inputs;
    lens plain = { .count = 0 };

    if (has_sources(stored) && has_sources(asked) && !match_by(out, match_equal, hash_source, a, stored, b, asked))
        return false;
    if (a->count == b->count && !match_by(out, match_at_place, hash_item, a, &plain, b, &plain))
        return false;
    return match_by(out, match_equal, hash_used_input, a, stored, b, asked) &&
           match_by(out, match_equal, hash_input_uses, a, stored, b, asked) &&
           match_by(out, match_equal, hash_item, a, &plain, b, &plain) &&
           match_by(out, match_equal, hash_rough_input, a, NULL, b, NULL) &&
           match_by(out, match_equal, hash_type, a, NULL, b, NULL) && fill_gaps(out, match_in_order, NULL, NULL);
}

bool
gci_diff_align_inputs(gci_diff_run *run, gci_value const *stored, gci_value const *asked, gci_alignment *out)
{
    ports a = { .inputs = gci_map_find(stored, "inputs"), .sources = gci_diff_sources(stored) };
    ports b = { .inputs = gci_map_find(asked, "inputs"), .sources = gci_diff_sources(asked) };
    bool aligned = find_placeholders(gci_diff_nodes(gci_map_find(stored, "graph")), &a) &&
                   find_placeholders(gci_diff_nodes(gci_map_find(asked, "graph")), &b) &&
                   new_alignment(&run->arena, a.inputs->count, b.inputs->count, out) && match_inputs(out, &a, &b);

    if (aligned)
        invert(out);
    ports_clear(&a);
    ports_clear(&b);
    return aligned;
}

/* ---- nodes ---- */

/* As many as inputs: each stands for the one at its place. */
static bool
match_by_inputs(gci_alignment const *inputs, ports const *stored, ports const *asked, gci_alignment *out)
{
    if (inputs == NULL || stored->count != inputs->stored_count || asked->count != inputs->asked_count)
        return false;
    for (uint32_t i = 0; i < stored->count; i++)
        if (inputs->to_asked[i] != GCI_LCS_NONE)
            out->to_asked[stored->placeholders[i]] = asked->placeholders[inputs->to_asked[i]];
    return true;
}

/* What isn't matched, to what lies between the same matches, in order. */
static void
match_rest(uint32_t *match, uint32_t count, uint32_t asked_count)
{
    uint32_t next = 0, limit_for = 0, limit = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (match[i] == GCI_LCS_NONE && i >= limit_for) {
            for (limit_for = i; limit_for < count && match[limit_for] == GCI_LCS_NONE;)
                limit_for++;
            limit = limit_for < count ? match[limit_for] : asked_count;
        }
        if (match[i] == GCI_LCS_NONE && next < limit)
            match[i] = next;
        if (match[i] != GCI_LCS_NONE)
            next = match[i] + 1;
    }
}

/* Without inputs: as many on both sides in their order, else those first that are used alike. false without memory. */
static bool
match_by_uses(ports const *stored, ports const *asked, gci_alignment *out)
{
    uint64_t *a = calloc((size_t)stored->count + 1, sizeof *a), *b = calloc((size_t)asked->count + 1, sizeof *b);
    uint32_t *match = malloc(((size_t)stored->count + 1) * sizeof *match);
    bool done = a != NULL && b != NULL && match != NULL, as_many = stored->count == asked->count;

    for (uint32_t i = 0; i < stored->count && done && !as_many; i++)
        a[i] = stored->uses[stored->placeholders[i]];
    for (uint32_t i = 0; i < asked->count && done && !as_many; i++)
        b[i] = asked->uses[asked->placeholders[i]];
    done = done && gci_lcs(a, stored->count, b, asked->count, match);
    if (done)
        match_rest(match, stored->count, asked->count);
    for (uint32_t i = 0; i < stored->count && done; i++)
        if (match[i] != GCI_LCS_NONE)
            out->to_asked[stored->placeholders[i]] = asked->placeholders[match[i]];
    free(a);
    free(b);
    free(match);
    return done;
}

/* What references to nodes count as: a placeholder as the pair it is in, others as what they do. NULL without memory. */
static uint64_t *
name_nodes(gci_value const *nodes, gci_alignment const *pairs, bool of_asked)
{
    uint64_t *names = malloc(((size_t)nodes->count + 1) * sizeof *names);

    for (uint32_t i = 0; i < nodes->count && names != NULL; i++) {
        uint32_t pair = of_asked || pairs->to_asked[i] == GCI_LCS_NONE ? i : pairs->to_asked[i];
        bool alone = !of_asked && pairs->to_asked[i] == GCI_LCS_NONE;
        names[i] = gci_diff_is_placeholder(&nodes->items[i]) ? gci_mix(alone ? 14 : 15, pair) : hash_operation(&nodes->items[i]);
    }
    return names;
}

static uint64_t
hash_node(gci_value const *node, uint32_t position, void const *state)
{
    lens const *how = state;

    return gci_diff_is_placeholder(node) ? how->nodes[position] : hash_value(node, how);
}

static uint64_t
hash_node_operation(gci_value const *node, uint32_t position, void const *state)
{
    lens const *how = state;

    (void)node;
    return how->nodes[position];
}

/* A function may be called as a method now. */
static uint64_t
hash_node_target(gci_value const *node, uint32_t position, void const *state)
{
    lens const *how = state;

    return gci_diff_is_placeholder(node) ? how->nodes[position] : hash_member(node, "target");
}

/* Nodes of one sort may have become one another; a placeholder never becomes another. */
static uint64_t
hash_node_sort(gci_value const *node, uint32_t position, void const *state)
{
    lens const *how = state;

    return gci_diff_is_placeholder(node) ? how->nodes[position] : hash_member(node, "op");
}

static bool
match_nodes(gci_alignment *out, gci_value const *stored, gci_value const *asked)
{
    uint64_t *a = name_nodes(stored, out, false), *b = name_nodes(asked, out, true);
    lens of_stored = { .nodes = a, .count = stored->count }, of_asked = { .nodes = b, .count = asked->count };
    lens rough_stored = of_stored, rough_asked = of_asked;

    rough_stored.without_numbers = rough_asked.without_numbers = true;
    bool done = a != NULL && b != NULL && match_by(out, match_equal, hash_node, stored, &of_stored, asked, &of_asked) &&
                match_by(out, match_equal, hash_node, stored, &rough_stored, asked, &rough_asked) &&
                match_by(out, match_equal, hash_node_operation, stored, &of_stored, asked, &of_asked) &&
                match_by(out, match_equal, hash_node_target, stored, &of_stored, asked, &of_asked) &&
                match_by(out, match_in_order, hash_node_sort, stored, &of_stored, asked, &of_asked);
    free(a);
    free(b);
    return done;
}

bool
gci_diff_align_nodes(gci_diff_run *run, gci_value const *stored, gci_value const *asked, gci_alignment *out)
{
    gci_alignment const *inputs = run->open == NULL ? run->inputs : NULL; /* a graph within a graph has others */
    ports a = { .count = 0 }, b = { .count = 0 };
    bool aligned = find_placeholders(stored, &a) && find_placeholders(asked, &b) &&
                   new_alignment(&run->arena, stored->count, asked->count, out) &&
                   (match_by_inputs(inputs, &a, &b, out) || match_by_uses(&a, &b, out)) && match_nodes(out, stored, asked);

    if (aligned)
        invert(out);
    out->stored = stored;
    out->asked = asked;
    ports_clear(&a);
    ports_clear(&b);
    return aligned;
}
