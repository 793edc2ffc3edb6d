/*
 * Paths of rules: their parser, and the deterministic automaton of a whole set.
 *
 * A position is a rule and a number of its steps already taken; a state stands for a set of positions. The usual subset
 * construction, with names and indexes as letters and one letter each for "any other name" and "any other index".
 */
#include "base/check.h"
#include "graph/rules/rules_set.h"

#include <stdlib.h>

/* Shipped sets need fewer; the arrays double from here. */
#define FIRST_STATES 16

/* ---- parsing ---- */

static bool
is_name_byte(char c)
{
    return c != '.' && c != '[' && c != ']' && c != '*' && c != '"' && c != '\0';
}

/* item := '[' ( '*' | digit+ | '"' byte* '"' ) ']'    at is behind the bracket; the quoted form is a name */
static char const *
parse_item(gci_view path, size_t *at, gci_path_step *step)
{
    char const *c = path.data + *at, *end = path.data + path.size;

    if (c < end && *c == '*') {
        step->type = GCI_STEP_ANY_ITEM;
        c++;
    } else if (c < end && *c == '"') {
        char const *close = memchr(c + 1, '"', (size_t)(end - c - 1));
        if (close == NULL)
            return "a quote isn't closed";
        step->type = GCI_STEP_NAME;
        step->name = gci_view_of(c + 1, (size_t)(close - c - 1));
        c = close + 1;
    } else {
        char const *start = c;
        uint64_t index = 0;
        for (; c < end && *c >= '0' && *c <= '9' && index <= UINT32_MAX; c++)
            index = index * 10 + (uint64_t)(*c - '0');
        if (c == start || index > UINT32_MAX)
            return "an index must be a number or *";
        step->type = GCI_STEP_ITEM;
        step->index = (uint32_t)index;
    }
    if (c == end || *c != ']')
        return "a bracket isn't closed";
    *at = (size_t)(c + 1 - path.data);
    return NULL;
}

/* word := '**' | '*' | name */
static char const *
parse_word(gci_view path, size_t *at, gci_path_step *step)
{
    size_t start = *at, left = path.size - start;

    if (left >= 2 && memcmp(path.data + start, "**", 2) == 0) {
        step->type = GCI_STEP_DEEP;
        *at += 2;
    } else if (left >= 1 && path.data[start] == '*') {
        step->type = GCI_STEP_ANY_NAME;
        *at += 1;
    } else {
        while (*at < path.size && is_name_byte(path.data[*at]))
            ++*at;
        if (*at == start)
            return "a name is missing";
        step->type = GCI_STEP_NAME;
        step->name = gci_view_of(path.data + start, *at - start);
    }
    return NULL;
}

/* path := word { '.' word | item } */
char const *
gci_rules_parse_path(gci_view path, gci_path_step *out_steps, uint32_t *out_count)
{
    size_t at = 0;
    uint32_t count = 0;
    char const *problem = parse_word(path, &at, &out_steps[count++]);

    while (problem == NULL && at < path.size) {
        if (count == GCI_RULES_MAX_STEPS)
            return "a path of more than 32 steps";
        out_steps[count] = (gci_path_step){ .type = GCI_STEP_NAME };
        char c = path.data[at++];
        if (c == '.')
            problem = parse_word(path, &at, &out_steps[count++]);
        else if (c == '[')
            problem = parse_item(path, &at, &out_steps[count++]);
        else
            return "expected a point or a bracket";
    }
    *out_count = count;
    return problem;
}

/* ---- the automaton ---- */

typedef struct position {
    uint16_t rule, step;
} position;

/* A set of positions in ascending order. */
typedef struct position_set {
    position *items;
    uint32_t count;
} position_set;

typedef struct builder {
    gcache_rules *rules;
    position_set *sets; /* by state */
    uint32_t room;      /* of sets and of the rules' states */
    position *scratch;  /* the set being made; room for all positions */
    uint32_t scratch_count;
    bool *seen;         /* by rule and step: is it on the scratch list? */
    bool full, failed;
} builder;

static bool *
seen(builder *b, uint32_t rule, uint32_t step)
{
    return &b->seen[rule * (GCI_RULES_MAX_STEPS + 1) + step];
}

/* Adds a position, and what it reaches without a step: `**` may stand for none. */
static void
add_position(builder *b, uint32_t rule, uint32_t step)
{
    gci_rule const *r = &b->rules->rules[rule];

    if (*seen(b, rule, step))
        return;
    *seen(b, rule, step) = true;
    b->scratch[b->scratch_count++] = (position){ .rule = (uint16_t)rule, .step = (uint16_t)step };
    if (step < r->step_count && r->steps[step].type == GCI_STEP_DEEP)
        add_position(b, rule, step + 1);
}

static int
compare_positions(void const *a, void const *b)
{
    position const *x = a, *y = b;

    return x->rule != y->rule ? (x->rule < y->rule ? -1 : 1) : (x->step > y->step) - (x->step < y->step);
}

/* A letter: a name, an index, or (absent) any other of its sort. */
typedef struct letter {
    bool is_name, other;
    gci_view name;
    uint32_t index;
} letter;

static bool
accepts(gci_path_step const *step, letter const *l)
{
    switch (step->type) {
    case GCI_STEP_NAME:
        return l->is_name && !l->other && gci_view_equal(step->name, l->name);
    case GCI_STEP_ITEM:
        return !l->is_name && !l->other && step->index == l->index;
    case GCI_STEP_ANY_NAME:
        return l->is_name;
    case GCI_STEP_ANY_ITEM:
        return !l->is_name;
    case GCI_STEP_DEEP:
        return true;
    }
    return false;
}

/* Room for one more state. */
static bool
grow(builder *b)
{
    gcache_rules *rules = b->rules;

    if (rules->state_count < b->room)
        return true;
    uint32_t room = b->room == 0 ? FIRST_STATES : b->room * 2;
    gci_rules_node *states = gci_arena_array(&rules->arena, room, sizeof *states);
    position_set *sets = gci_arena_array(&rules->arena, room, sizeof *sets);
    if (states == NULL || sets == NULL) {
        b->failed = true;
        return false;
    }
    if (rules->state_count != 0) {
        memcpy(states, rules->states, rules->state_count * sizeof *states);
        memcpy(sets, b->sets, rules->state_count * sizeof *sets);
    }
    rules->states = states;
    b->sets = sets;
    b->room = room;
    return true;
}

static gci_rules_state
new_state(builder *b, uint32_t count)
{
    if (b->rules->state_count == GCI_RULES_MAX_STATES) {
        b->full = true;
        return GCI_RULES_INERT;
    }
    position *items = gci_arena_alloc(&b->rules->arena, count * sizeof *items);
    if (items == NULL || !grow(b)) {
        b->failed = true;
        return GCI_RULES_INERT;
    }
    if (count != 0)
        memcpy(items, b->scratch, count * sizeof *items);
    b->sets[b->rules->state_count] = (position_set){ .items = items, .count = count };
    return (gci_rules_state)b->rules->state_count++;
}

/* The state of the positions on the scratch list, a new one if there is none yet; the list is empty afterwards. */
static gci_rules_state
intern_scratch(builder *b)
{
    uint32_t count = b->scratch_count;

    for (uint32_t i = 0; i < count; i++)
        *seen(b, b->scratch[i].rule, b->scratch[i].step) = false;
    qsort(b->scratch, count, sizeof *b->scratch, compare_positions);
    b->scratch_count = 0;
    for (uint32_t s = 0; s < b->rules->state_count; s++)
        if (b->sets[s].count == count &&
            (count == 0 || memcmp(b->sets[s].items, b->scratch, count * sizeof *b->scratch) == 0))
            return (gci_rules_state)s;
    return new_state(b, count);
}

static gci_rules_state
follow(builder *b, position_set set, letter const *l)
{
    for (uint32_t i = 0; i < set.count; i++) {
        position p = set.items[i];
        gci_rule const *rule = &b->rules->rules[p.rule];
        if (p.step == rule->step_count || !accepts(&rule->steps[p.step], l))
            continue;
        add_position(b, p.rule, rule->steps[p.step].type == GCI_STEP_DEEP ? p.step : p.step + 1u);
    }
    return intern_scratch(b);
}

static bool
has_edge(gci_rules_edge const *edges, uint32_t count, gci_path_step const *step)
{
    for (uint32_t i = 0; i < count; i++)
        if (step->type == GCI_STEP_NAME ? gci_view_equal(edges[i].name, step->name) : edges[i].index == step->index)
            return true;
    return false;
}

/* The edges of a state: one for each name and index its positions wait for. states may move while they are made. */
static void
build_edges(builder *b, gci_rules_node *node, position_set set)
{
    node->names = gci_arena_array(&b->rules->arena, set.count, sizeof *node->names);
    node->items = gci_arena_array(&b->rules->arena, set.count, sizeof *node->items);
    if (node->names == NULL || node->items == NULL) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < set.count; i++) {
        gci_rule const *rule = &b->rules->rules[set.items[i].rule];
        if (set.items[i].step == rule->step_count)
            continue;
        gci_path_step const *step = &rule->steps[set.items[i].step];
        letter l = { .is_name = step->type == GCI_STEP_NAME, .name = step->name, .index = step->index };
        if (step->type == GCI_STEP_NAME && !has_edge(node->names, node->name_count, step))
            node->names[node->name_count++] = (gci_rules_edge){ .name = step->name, .next = follow(b, set, &l) };
        else if (step->type == GCI_STEP_ITEM && !has_edge(node->items, node->item_count, step))
            node->items[node->item_count++] = (gci_rules_edge){ .index = step->index, .next = follow(b, set, &l) };
    }
    node->other_name = follow(b, set, &(letter){ .is_name = true, .other = true });
    node->other_item = follow(b, set, &(letter){ .is_name = false, .other = true });
}

/* The rules whose paths end in a state. */
static void
build_rules(builder *b, gci_rules_node *node, position_set set)
{
    node->text = gci_arena_array(&b->rules->arena, set.count, sizeof *node->text);
    if (node->text == NULL) {
        b->failed = true;
        return;
    }
    for (uint32_t i = 0; i < set.count; i++) {
        gci_rule const *rule = &b->rules->rules[set.items[i].rule];
        if (set.items[i].step != rule->step_count)
            continue;
        if (rule->kind != GCI_RULE_PATH)
            node->text[node->text_count++] = rule;
        else if (node->drop == NULL)
            node->drop = rule;
    }
}

static void
build_states(builder *b)
{
    gcache_rules *rules = b->rules;

    intern_scratch(b); /* the empty set comes first: GCI_RULES_INERT */
    for (uint32_t i = 0; i < rules->rule_count; i++)
        add_position(b, i, 0);
    rules->start = intern_scratch(b);
    for (uint32_t s = 0; s < rules->state_count && !b->failed && !b->full; s++) {
        gci_rules_node node = { .name_count = 0 };
        build_edges(b, &node, b->sets[s]);
        build_rules(b, &node, b->sets[s]);
        rules->states[s] = node;
    }
}

gcache_status
gci_rules_build_states(gcache_rules *rules, gcache_error *error)
{
    size_t positions = (size_t)rules->rule_count * (GCI_RULES_MAX_STEPS + 1);
    builder b = { .rules = rules };

    GCI_ASSERT(rules->rule_count <= GCI_RULES_MAX);
    b.scratch = calloc(positions + 1, sizeof *b.scratch);
    b.seen = calloc(positions + 1, sizeof *b.seen);
    b.failed = b.scratch == NULL || b.seen == NULL;
    if (!b.failed)
        build_states(&b);
    free(b.scratch);
    free(b.seen);
    if (b.full)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "the paths need more than %d states", GCI_RULES_MAX_STATES);
    return b.failed ? gci_fail_memory(error) : GCACHE_OK;
}

gci_rules_state
gci_rules_start(gcache_rules const *rules)
{
    return rules->start;
}

gci_rules_state
gci_rules_member(gcache_rules const *rules, gci_rules_state state, gci_view name)
{
    gci_rules_node const *node = &rules->states[state];

    for (uint32_t i = 0; i < node->name_count; i++)
        if (gci_view_equal(node->names[i].name, name))
            return node->names[i].next;
    return node->other_name;
}

gci_rules_state
gci_rules_item(gcache_rules const *rules, gci_rules_state state, uint32_t index)
{
    gci_rules_node const *node = &rules->states[state];

    for (uint32_t i = 0; i < node->item_count; i++)
        if (node->items[i].index == index)
            return node->items[i].next;
    return node->other_item;
}

gci_rule const *
gci_rules_drop(gcache_rules const *rules, gci_rules_state state)
{
    return rules->states[state].drop;
}

bool
gci_rules_has_text(gcache_rules const *rules, gci_rules_state state)
{
    return rules->states[state].text_count != 0;
}
