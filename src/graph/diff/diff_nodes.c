/*
 * Which node stands for which. Several alignments are made, and the one that leaves the least to say is taken: all nodes in their
 * place, longest common subsequences from strict to lenient, and the fewest edits.
 */
#include "base/digest.h"
#include "graph/diff/diff_align.h"
#include "graph/sequence/edits.h"

#include <stdlib.h>

/* ---- placeholders ---- */

/* As many as inputs: each stands for the one at its place. */
static bool
match_by_inputs(gci_alignment const *inputs, gci_ports const *stored, gci_ports const *asked, gci_alignment *out)
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
match_by_uses(gci_ports const *stored, gci_ports const *asked, gci_alignment *out)
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

/* ---- common subsequences ---- */

/* What references to nodes count as: a placeholder as the pair it is in, others as what they do. NULL without memory. */
static uint64_t *
name_nodes(gci_value const *nodes, gci_alignment const *pairs, bool of_asked)
{
    uint64_t *names = malloc(((size_t)nodes->count + 1) * sizeof *names);

    for (uint32_t i = 0; i < nodes->count && names != NULL; i++) {
        uint32_t pair = of_asked || pairs->to_asked[i] == GCI_LCS_NONE ? i : pairs->to_asked[i];
        bool alone = !of_asked && pairs->to_asked[i] == GCI_LCS_NONE;
        gci_value const *node = &nodes->items[i];
        names[i] = gci_diff_is_placeholder(node) ? gci_mix(alone ? 14 : 15, pair) : gci_hash_operation(node);
    }
    return names;
}

static uint64_t
hash_node(gci_value const *node, uint32_t position, void const *state)
{
    gci_lens const *how = state;

    return gci_diff_is_placeholder(node) ? how->nodes[position] : gci_hash_value(node, how);
}

static uint64_t
hash_node_operation(gci_value const *node, uint32_t position, void const *state)
{
    gci_lens const *how = state;

    (void)node;
    return how->nodes[position];
}

/* A function may be called as a method now. */
static uint64_t
hash_node_target(gci_value const *node, uint32_t position, void const *state)
{
    gci_lens const *how = state;

    return gci_diff_is_placeholder(node) ? how->nodes[position] : gci_hash_member(node, "target");
}

/* Nodes of one sort may have become one another; a placeholder never becomes another. */
static uint64_t
hash_node_sort(gci_value const *node, uint32_t position, void const *state)
{
    gci_lens const *how = state;

    return gci_diff_is_placeholder(node) ? how->nodes[position] : gci_hash_member(node, "op");
}

static bool
match_nodes(gci_alignment *out, gci_value const *stored, gci_value const *asked)
{
    uint64_t *a = name_nodes(stored, out, false), *b = name_nodes(asked, out, true);
    gci_lens of_stored = { .nodes = a, .count = stored->count }, of_asked = { .nodes = b, .count = asked->count };
    gci_lens rough_stored = of_stored, rough_asked = of_asked;

    rough_stored.without_numbers = rough_asked.without_numbers = true;
    bool done = a != NULL && b != NULL && gci_match_by(out, gci_match_equal, hash_node, stored, &of_stored, asked, &of_asked) &&
                gci_match_by(out, gci_match_equal, hash_node, stored, &rough_stored, asked, &rough_asked) &&
                gci_match_by(out, gci_match_equal, hash_node_operation, stored, &of_stored, asked, &of_asked) &&
                gci_match_by(out, gci_match_equal, hash_node_target, stored, &of_stored, asked, &of_asked) &&
                gci_match_by(out, gci_match_in_order, hash_node_sort, stored, &of_stored, asked, &of_asked);
    free(a);
    free(b);
    return done;
}

/* ---- what an alignment leaves to say ---- */

/* A node that only one side has, or a value that differs, is a row. A reference that follows from the former is less. */
enum { FOLLOWS_COST = 1, ROW_COST = 4, PAIR_COST_MOST = 2 * ROW_COST };

static uint64_t
reference_cost(gci_diff_run const *run, int64_t stored, int64_t asked)
{
    gci_alignment const *at = run->open;
    uint32_t serial = gci_node_ref_serial(stored), to = gci_diff_counterpart(run, stored), position = gci_node_ref_position(asked);

    if (serial != gci_node_ref_serial(asked))
        return ROW_COST;
    if (to == position)
        return 0;
    bool is_new = serial == 1 && position < at->asked_count && at->to_stored[position] == GCI_LCS_NONE;
    return to == GCI_LCS_NONE || is_new ? FOLLOWS_COST : ROW_COST;
}

static uint64_t pair_cost(gci_diff_run const *run, gci_value const *stored, gci_value const *asked);

static uint64_t
members_cost(gci_diff_run const *run, gci_value const *stored, gci_value const *asked)
{
    uint64_t cost = 0;
    uint32_t common = 0;

    for (uint32_t i = 0; i < stored->count; i++) {
        gci_member const *a = &stored->members[i], *b = i < asked->count ? &asked->members[i] : NULL;
        bool beside = b != NULL && gci_view_equal(a->name, b->name);
        gci_value const *other = beside ? &b->value : gci_map_member(asked, a->name);
        common += other != NULL;
        cost += other != NULL ? pair_cost(run, &a->value, other) : ROW_COST;
    }
    return cost + (uint64_t)(asked->count - common) * ROW_COST;
}

/* Of two values that stand for each other: how much of them differs. */
static uint64_t
pair_cost(gci_diff_run const *run, gci_value const *stored, gci_value const *asked)
{
    static gci_lens const plain = { .count = 0 };
    bool lists = stored->type == GCI_LIST || stored->type == GCI_TUPLE || stored->type == GCI_SET;
    bool maps = stored->type == GCI_MAP || stored->type == GCI_TENSOR;
    uint64_t cost = 0;

    if (stored->type != asked->type)
        return ROW_COST;
    if (maps)
        return members_cost(run, stored, asked);
    if (stored->type == GCI_NODE)
        return reference_cost(run, stored->integer, asked->integer);
    if (!lists)
        return gci_hash_value(stored, &plain) != gci_hash_value(asked, &plain) ? ROW_COST : 0;
    uint32_t shorter = stored->count < asked->count ? stored->count : asked->count;
    if (stored->count != asked->count)
        return ROW_COST * (uint64_t)(stored->count + asked->count - 2 * shorter);
    for (uint32_t i = 0; i < shorter; i++)
        cost += pair_cost(run, &stored->items[i], &asked->items[i]);
    return cost;
}

/* ---- the choice ---- */

/* At work: the best alignment so far, and what all of them agree on. */
typedef struct choice {
    gci_diff_run *run;
    gci_value const *stored, *asked;
    gci_alignment const *ports; /* only placeholders are aligned */
    bool by_inputs;             /* and they by what the inputs say */
    gci_alignment best;
    uint64_t cost;
} choice;

/* Of all nodes, in the alignment. */
static uint64_t
cost_of(choice const *c, gci_alignment const *alignment)
{
    gci_diff_run run = *c->run; /* through which references are seen */
    uint64_t cost = 0;

    run.open = alignment;
    for (uint32_t i = 0; i < alignment->asked_count; i++)
        cost += alignment->to_stored[i] == GCI_LCS_NONE ? ROW_COST : 0;
    for (uint32_t i = 0; i < alignment->stored_count; i++) {
        uint32_t to = alignment->to_asked[i];
        uint64_t pair = to != GCI_LCS_NONE ? pair_cost(&run, &c->stored->items[i], &c->asked->items[to]) : ROW_COST;
        cost += pair < PAIR_COST_MOST ? pair : PAIR_COST_MOST;
    }
    return cost;
}

/* Of alignments that leave as much to say, the first one stays. */
static void
weigh(choice *c, gci_alignment *made)
{
    gci_alignment_invert(made);
    uint64_t cost = cost_of(c, made);
    if (cost >= c->cost)
        return;
    c->best = *made;
    c->cost = cost;
}

/* No alignment can leave less, or hardly. */
static bool
is_good(choice const *c)
{
    uint32_t n = c->stored->count, m = c->asked->count, alone = n > m ? n - m : m - n;

    return n == m ? c->cost <= (uint64_t)2 * ROW_COST : c->cost < ((uint64_t)alone + 1) * ROW_COST;
}

static bool
begin(choice const *c, gci_alignment *out)
{
    *out = *c->ports;
    if (!gci_alignment_new(&c->run->arena, c->stored->count, c->asked->count, out))
        return false;
    memcpy(out->to_asked, c->ports->to_asked, c->stored->count * sizeof *out->to_asked);
    return true;
}

/* ---- in their place ---- */

/* What a node does: a placeholder has no target, for it is called by its place. */
static bool
says_what(gci_view name)
{
    return gci_view_is(name, "op") || gci_view_is(name, "target");
}

/* Applied to the same. */
static bool
same_rest(gci_value const *stored, gci_value const *asked)
{
    bool same = stored->type == GCI_MAP && asked->type == GCI_MAP;
    uint32_t more = 0;

    for (uint32_t i = 0; same && i < stored->count; i++) {
        gci_member const *a = &stored->members[i];
        gci_value const *b = says_what(a->name) ? NULL : gci_map_member(asked, a->name);
        same = says_what(a->name) || (b != NULL && gci_value_equal(&a->value, b));
        more += !says_what(a->name);
    }
    for (uint32_t i = 0; same && i < asked->count; i++)
        more -= !says_what(asked->members[i].name);
    return same && more == 0;
}

static bool
may_be_one(gci_value const *stored, gci_value const *asked)
{
    if (gci_diff_is_placeholder(stored) != gci_diff_is_placeholder(asked))
        return same_rest(stored, asked);
    return gci_hash_member(stored, "op") == gci_hash_member(asked, "op") ||
           gci_hash_member(stored, "target") == gci_hash_member(asked, "target");
}

/* Each node with the one at its place. false: there is another number of them, or inputs say that placeholders stand elsewhere. */
static bool
align_in_place(choice const *c, gci_alignment *out)
{
    if (c->stored->count != c->asked->count)
        return false;
    for (uint32_t i = 0; i < c->stored->count; i++) {
        gci_value const *a = &c->stored->items[i], *b = &c->asked->items[i];
        bool said = c->by_inputs && (gci_diff_is_placeholder(a) || gci_diff_is_placeholder(b));
        if (said && out->to_asked[i] != GCI_LCS_NONE && out->to_asked[i] != i)
            return false;
        if (!said)
            out->to_asked[i] = may_be_one(a, b) ? i : GCI_LCS_NONE;
    }
    return true;
}

static bool
try_in_place(choice *c)
{
    gci_alignment made;

    if (!begin(c, &made))
        return false;
    if (align_in_place(c, &made))
        weigh(c, &made);
    return true;
}

/* ---- fewest edits ---- */

static bool
match_edits(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gci_gap g)
{
    uint32_t *match = out->to_asked + g.a;

    if (!gci_edits(stored + (size_t)g.a * GCI_EDIT_HASHES, g.a_end - g.a, asked + (size_t)g.b * GCI_EDIT_HASHES, g.b_end - g.b,
                   match))
        return false;
    for (uint32_t i = 0; i < g.a_end - g.a; i++)
        if (match[i] != GCI_LCS_NONE)
            match[i] += g.b;
    return true;
}

/* What edits compare nodes by. References to nodes count as `how` says; a placeholder is its pair's. NULL without memory. */
static uint64_t *
hash_for_edits(gci_value const *nodes, gci_lens const *how, uint64_t const *names)
{
    static gci_lens const alike = { .count = 0 };
    uint64_t *hashes = malloc(((size_t)nodes->count + 1) * GCI_EDIT_HASHES * sizeof *hashes);

    for (uint32_t i = 0; i < nodes->count && hashes != NULL; i++) {
        uint64_t *hash = hashes + (size_t)i * GCI_EDIT_HASHES;
        gci_value const *node = &nodes->items[i];
        bool port = gci_diff_is_placeholder(node);
        hash[GCI_EDIT_OUTLINE] = port ? names[i] : gci_hash_outline(node);
        hash[GCI_EDIT_REST] = port ? names[i] : gci_hash_rest(node, &alike);
        hash[GCI_EDIT_WHOLE] = port ? names[i] : gci_hash_value(node, how);
    }
    return hashes;
}

/* All nodes but placeholders count alike. NULL without memory. */
static uint64_t *
name_ports(gci_value const *nodes, uint64_t const *names)
{
    uint64_t *ports = malloc(((size_t)nodes->count + 1) * sizeof *ports);

    for (uint32_t i = 0; i < nodes->count && ports != NULL; i++)
        ports[i] = gci_diff_is_placeholder(&nodes->items[i]) ? names[i] : 17;
    return ports;
}

/* One side's nodes as edits compare them: references count as what they are aligned with, or but for placeholders alike. */
static uint64_t *
hash_side(choice const *c, gci_diff_run const *through, bool of_asked)
{
    gci_value const *nodes = of_asked ? c->asked : c->stored;
    uint64_t *names = name_nodes(nodes, c->ports, of_asked), *ports = names != NULL ? name_ports(nodes, names) : NULL;
    gci_lens how = { .nodes = ports, .count = nodes->count, .run = through, .of_asked = of_asked };
    uint64_t *hashes = ports != NULL ? hash_for_edits(nodes, &how, names) : NULL;

    free(names);
    free(ports);
    return hashes;
}

/* Too many edits everywhere: common subsequences have said it all. */
static bool
has_edits(choice const *c, gci_alignment const *made)
{
    return memcmp(made->to_asked, c->ports->to_asked, c->stored->count * sizeof *made->to_asked) != 0;
}

static bool
try_edits(choice *c, gci_diff_run const *through)
{
    gci_alignment made;
    uint64_t *a = hash_side(c, through, false), *b = hash_side(c, through, true);
    bool done = a != NULL && b != NULL && begin(c, &made) && gci_fill_gaps(&made, match_edits, a, b);

    if (done && has_edits(c, &made)) {
        done = match_nodes(&made, c->stored, c->asked);
        if (done)
            weigh(c, &made);
    }
    free(a);
    free(b);
    return done;
}

/* References as they are aligned now tell nodes apart that otherwise are the same. */
static bool
try_edits_again(choice *c)
{
    gci_alignment now = c->best;
    gci_diff_run through = *c->run;

    through.open = &now;
    return try_edits(c, &through);
}

/* ---- the whole ---- */

static bool
try_subsequences(choice *c)
{
    gci_alignment made;
    bool done = begin(c, &made) && match_nodes(&made, c->stored, c->asked);

    if (done)
        weigh(c, &made);
    return done;
}

static bool
choose(choice *c)
{
    return try_in_place(c) && (is_good(c) || try_subsequences(c)) && (is_good(c) || try_edits(c, NULL)) &&
           (is_good(c) || try_edits_again(c));
}

bool
gci_diff_align_nodes(gci_diff_run *run, gci_value const *stored, gci_value const *asked, gci_alignment *out)
{
    gci_alignment const *inputs = run->open == NULL ? run->inputs : NULL; /* a graph within a graph has others */
    gci_ports a = { .count = 0 }, b = { .count = 0 };
    choice c = { .run = run, .stored = stored, .asked = asked, .ports = out, .cost = UINT64_MAX };
    bool aligned = gci_ports_find(stored, &a) && gci_ports_find(asked, &b) &&
                   gci_alignment_new(&run->arena, stored->count, asked->count, out);

    out->stored = stored;
    out->asked = asked;
    c.by_inputs = aligned && match_by_inputs(inputs, &a, &b, out);
    aligned = aligned && (c.by_inputs || match_by_uses(&a, &b, out)) && choose(&c);
    if (aligned)
        *out = c.best;
    gci_ports_clear(&a);
    gci_ports_clear(&b);
    return aligned;
}
