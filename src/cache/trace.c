#include "cache/trace.h"

#include "base/digest.h"
#include "cache/description.h"

#include <stdlib.h>

/* Trials of a thousand candidates with their verdicts take 0.4 MB. */
#define TRACE_BYTES_MAX ((size_t)256 << 20)

/* Keys whose stored descriptions are compared in full: of those with as many equal components, the one whose structure
   differs least is nearest. */
#define CLOSE_LOOKS 8

void
gci_trace_init(gci_trace *trace)
{
    *trace = (gci_trace){ 0 };
    gci_arena_init(&trace->arena, TRACE_BYTES_MAX);
}

void
gci_trace_clear(gci_trace *trace)
{
    for (size_t i = 0; i < trace->nearest_count; i++)
        gci_diff_free(trace->nearest[i].diff);
    gci_candidates_release(trace->set);
    gci_arena_clear(&trace->arena);
}

/* ---- how one stored key differs ---- */

/* Copies of the items, in an array. */
static bool
compare_forms(gci_near_key *near, gci_view stored, gci_view asked, gci_arena *arena)
{
    if (gci_diff_make(stored, asked, GCI_DIFF_ITEMS_DEFAULT, &near->diff, NULL) != GCACHE_OK)
        return false;
    gci_diff_item *items = gci_arena_array(arena, gci_diff_count(near->diff), sizeof *items);
    if (items == NULL)
        return false;
    near->items = items;
    near->count = gci_diff_count(near->diff);
    near->left_out = gci_diff_left_out(near->diff);
    for (size_t i = 0; i < near->count; i++)
        items[i] = *gci_diff_at(near->diff, i);
    return true;
}

static gci_component const *
find_component(gci_description const *description, gci_view name)
{
    for (size_t i = 0; i < description->component_count; i++)
        if (gci_view_equal(description->components[i].name, name))
            return &description->components[i];
    return NULL;
}

/* The text of a component line, its hash where an adapter gave no text. */
static gci_view
line_text(gci_component const *component, gci_arena *arena)
{
    char hex[2 * sizeof component->hash + 1];

    if (component == NULL)
        return (gci_view){ NULL, 0 };
    if (component->text.size != 0)
        return gci_arena_copy(arena, component->text);
    gci_hex(component->hash, sizeof component->hash, hex);
    return gci_arena_copy(arena, gci_view_text(hex));
}

static void
add_line(gci_near_key *near, gci_component const *stored, gci_component const *asked, gci_arena *arena)
{
    gci_diff_item *items = (gci_diff_item *)near->items;

    if (near->count == GCI_DIFF_ITEMS_DEFAULT) {
        near->left_out++;
        return;
    }
    items[near->count++] = (gci_diff_item){
        .path = gci_arena_copy(arena, (asked != NULL ? asked : stored)->name),
        .stored = line_text(stored, arena),
        .asked = line_text(asked, arena),
    };
}

/* Keys that somebody else computed have component lines in place of a canonical form. */
static bool
compare_lines(gci_near_key *near, gci_description const *stored, gci_description const *asked, gci_arena *arena)
{
    near->items = gci_arena_array(arena, GCI_DIFF_ITEMS_DEFAULT, sizeof *near->items);
    if (near->items == NULL)
        return false;
    for (size_t i = 0; i < asked->component_count; i++) {
        gci_component const *there = find_component(stored, asked->components[i].name);
        if (there == NULL || memcmp(there->hash, asked->components[i].hash, sizeof there->hash) != 0)
            add_line(near, there, &asked->components[i], arena);
    }
    for (size_t i = 0; i < stored->component_count; i++)
        if (find_component(asked, stored->components[i].name) == NULL)
            add_line(near, &stored->components[i], NULL, arena);
    return !arena->failed;
}

/* false where nothing can be said about it: its description is gone, or it is of another sort of key. */
static bool
look_closely(gci_near_key *near, gci_store *store, gci_description const *asked, gci_arena *arena)
{
    gci_stored_description *holder = NULL;
    bool said = false;

    if (gci_store_description(store, &near->key, &holder, NULL) != GCI_FOUND)
        return false;
    gci_description const *stored = gci_stored_description_get(holder);
    if (stored->canonical.size != 0 && asked->canonical.size != 0)
        said = compare_forms(near, stored->canonical, asked->canonical, arena);
    else if (stored->canonical.size == 0 && asked->canonical.size == 0)
        said = compare_lines(near, stored, asked, arena);
    gci_stored_description_free(holder);
    return said;
}

/* ---- the nearest ---- */

static int
compare_nearness(void const *left, void const *right)
{
    gci_near_key const *a = left, *b = right;
    size_t a_differs = a->count + a->left_out, b_differs = b->count + b->left_out;

    if (a->equal != b->equal)
        return a->equal > b->equal ? -1 : 1;
    return (a_differs > b_differs) - (a_differs < b_differs);
}

static void
keep_nearest(gci_trace *trace, gci_near_key *keys, size_t count)
{
    qsort(keys, count, sizeof *keys, compare_nearness);
    for (size_t i = 0; i < count; i++) {
        if (i < GCI_TRACE_NEAREST)
            trace->nearest[trace->nearest_count++] = keys[i];
        else
            gci_diff_free(keys[i].diff);
    }
}

static uint64_t
oldest_candidate_ns(gci_store *store, gcache_key const *key)
{
    gci_candidates *set = NULL;
    uint64_t oldest = 0;

    if (gci_store_candidates(store, key, &set, NULL) == GCI_FOUND)
        for (size_t i = 0; i < set->count; i++)
            if (oldest == 0 || set->items[i].record.created_ns < oldest)
                oldest = set->items[i].record.created_ns;
    gci_candidates_release(set);
    return oldest;
}

void
gci_trace_find_nearest_of(gci_trace *trace, gci_store *store, gci_description const *asked, uint64_t before_ns)
{
    gci_near_key keys[CLOSE_LOOKS] = { 0 };
    gci_near near[CLOSE_LOOKS];
    size_t found = 0, count = 0;
    gci_store_stats stats;

    trace->past = before_ns != UINT64_MAX;
    if (gci_store_nearest(store, asked->kind, asked->components, asked->component_count, near, CLOSE_LOOKS, &found, NULL) !=
        GCACHE_OK)
        return;
    if (gci_store_stats_get(store, &stats, NULL) == GCACHE_OK)
        trace->stored_keys = stats.keys;
    for (size_t i = 0; i < found; i++) {
        keys[count] = (gci_near_key){
            .key = near[i].key,
            .components = (uint32_t)asked->component_count,
            .equal = near[i].equal,
            .created_ns = oldest_candidate_ns(store, &near[i].key),
        };
        if (keys[count].created_ns < before_ns && look_closely(&keys[count], store, asked, &trace->arena))
            count++;
        else
            gci_diff_free(keys[count].diff);
    }
    keep_nearest(trace, keys, count);
}

void
gci_trace_find_nearest(gci_trace *trace, gci_question const *question)
{
    gci_description asked;

    if (gci_description_of(question->graph, true, &trace->arena, &asked, NULL) == GCACHE_OK)
        gci_trace_find_nearest_of(trace, question->cache->store, &asked, UINT64_MAX);
}
