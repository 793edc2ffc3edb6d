/*
 * Golden records made comparable: ids of entries and keys replaced by what a reader can find in the trace, empty members left
 * out, the others in one order.
 *
 * An entry is called by the first event that stored it, a key by the first description that has it. Each hash is then written in
 * one place, the record that it belongs to.
 */
#include "cli/golden/golden.h"

#include "base/text/intern.h"

/* What ids and keys are called. */
typedef struct names {
    gci_intern known;
    gci_view *called; /* by number in `known` */
    gci_intern descriptions;
    gci_view *keys;   /* by number in `descriptions` */
    gci_arena *arena;
} names;

static bool
names_init(names *n, cli_golden const *golden)
{
    *n = (names){ .arena = golden->arena };
    n->called = gci_arena_array(golden->arena, golden->count, sizeof *n->called);
    n->keys = gci_arena_array(golden->arena, golden->count, sizeof *n->keys);
    return n->called != NULL && n->keys != NULL;
}

/* The first name stays. */
static void
call(names *n, gci_view hash, gci_view name)
{
    bool new = false;

    if (hash.size == 0)
        return;
    uint32_t number = gci_intern_add(&n->known, hash, &new);
    if (number != GCI_INTERN_NONE && new)
        n->called[number] = name;
}

static void
replace(names const *n, gci_value *value)
{
    if (value == NULL || value->type != GCI_STRING)
        return;
    uint32_t number = gci_intern_find(&n->known, value->text);
    if (number != GCI_INTERN_NONE)
        value->text = n->called[number];
}

static void
replace_in_why(names const *n, gci_value *why)
{
    gci_value *candidates = gci_map_find(why, "candidates");

    replace(n, gci_map_find(why, "nearest"));
    for (uint32_t i = 0; candidates != NULL && candidates->type == GCI_LIST && i < candidates->count; i++)
        if (candidates->items[i].type == GCI_MAP)
            replace(n, gci_map_find(&candidates->items[i], "entry"));
}

/* ---- what says nothing ---- */

static bool
is_empty(gci_value const *value)
{
    return value->type == GCI_NULL || ((value->type == GCI_LIST || value->type == GCI_MAP) && value->count == 0);
}

static void
prune(gci_value *map)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < map->count; i++) {
        gci_value *value = &map->members[i].value;
        if (value->type == GCI_MAP)
            prune(value);
        for (uint32_t at = 0; value->type == GCI_LIST && at < value->count; at++)
            if (value->items[at].type == GCI_MAP)
                prune(&value->items[at]);
        if (!is_empty(value))
            map->members[kept++] = map->members[i];
    }
    map->count = kept;
}

/* ---- events ---- */

/* The order of an event's members. Others follow as they come. */
static char const *const order[] = { "op",      "graph", "outcome", "reason", "key", "entry", "variant", "priority", "note",
                                     "message", "guards", "why" };
#define ORDERED (sizeof order / sizeof order[0])

static size_t
rank_of(gci_view name)
{
    size_t rank = 0;

    while (rank < ORDERED && !gci_view_is(name, order[rank]))
        rank++;
    return rank;
}

/* By insertion: there are a dozen, nearly in order. */
static void
sort_members(gci_value *map)
{
    for (uint32_t i = 1; i < map->count; i++) {
        gci_member moved = map->members[i];
        uint32_t at = i;
        for (; at > 0 && rank_of(map->members[at - 1].name) > rank_of(moved.name); at--)
            map->members[at] = map->members[at - 1];
        map->members[at] = moved;
    }
}

/* Its key is the description's, unless something is odd. */
static void
settle_key(names const *n, cli_golden_record *event)
{
    uint32_t number = gci_intern_find(&n->descriptions, cli_golden_text(&event->map, "graph"));
    gci_value *key = gci_map_find(&event->map, "key");

    if (key != NULL && number != GCI_INTERN_NONE && gci_view_equal(cli_golden_text(&event->map, "key"), n->keys[number]))
        *key = (gci_value){ .type = GCI_NULL };
}

/* What the trace expects stands there; that it didn't happen is no result to be kept. */
static void
take_expected(cli_golden_record *event, gci_arena *arena)
{
    gci_value *expected = gci_map_find(&event->map, "expected"), *copy;

    if (expected == NULL || (copy = GCI_ARENA_NEW(arena, gci_value)) == NULL)
        return;
    *copy = *expected;
    event->expected = copy;
    *expected = (gci_value){ .type = GCI_NULL };
}

static void
settle_event(names *n, cli_golden_record *event)
{
    gci_value *why = gci_map_find(&event->map, "why"), *priority = gci_map_find(&event->map, "priority");

    settle_key(n, event);
    take_expected(event, n->arena);
    if (gci_view_is(cli_golden_text(&event->map, "outcome"), "inserted"))
        call(n, cli_golden_text(&event->map, "entry"), cli_golden_subject(event, n->arena));
    else
        replace(n, gci_map_find(&event->map, "entry"));
    if (priority != NULL && priority->type == GCI_INT && priority->integer == 0)
        *priority = (gci_value){ .type = GCI_NULL };
    if (why != NULL && why->type == GCI_MAP)
        replace_in_why(n, why);
    sort_members(&event->map);
}

static void
note_description(names *n, cli_golden_record const *description)
{
    gci_view key = cli_golden_text(&description->map, "key");
    bool new = false;

    call(n, key, description->name);
    uint32_t number = gci_intern_add(&n->descriptions, description->name, &new);
    if (number != GCI_INTERN_NONE && new)
        n->keys[number] = key;
}

void
cli_golden_settle(cli_golden *golden)
{
    names n;

    if (!names_init(&n, golden))
        return;
    for (uint32_t i = 0; i < golden->count; i++) {
        cli_golden_record *record = &golden->items[i];
        if (record->part == CLI_GOLDEN_DESCRIPTION)
            note_description(&n, record);
        if (record->part == CLI_GOLDEN_EVENT)
            settle_event(&n, record);
        prune(&record->map);
    }
    gci_intern_clear(&n.known);
    gci_intern_clear(&n.descriptions);
}
