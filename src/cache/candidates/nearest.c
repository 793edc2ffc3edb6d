/*
 * The stored keys nearest to one that isn't stored: of all keys of its kind those with the nearest sketches, compared in full.
 */
#include "base/text/json.h"
#include "cache/candidates/compare.h"
#include "cache/candidates/sources.h"
#include "cache/handle/graph_description.h"
#include "cache/handle/sketching.h"
#include "cache/candidates/trace.h"
#include "graph/diff/sketch.h"

#include <ctype.h>
#include <stdlib.h>

/* Keys whose stored descriptions are compared in full, at most: sketches tell a handful of differences exactly and many within
   some ten percent, so where nothing is near the nearest may stand some places behind. */
#define CLOSE_LOOKS 32
/* Of those that can't be nearer than what was found, only as near: so many, since of as many differences some are smaller. */
#define EQUAL_LOOKS 8

/* Components that say which part of a program a key is for: however like each other two parts are, none was made from the
   other. PyTorch's keys have one for a function's forward and its backward. */
static char const *const parts[] = { "fx_kwargs[is_backward]" };

static gci_component const *
find_component(gci_description const *description, char const *name)
{
    for (size_t i = 0; i < description->component_count; i++)
        if (gci_view_equal(description->components[i].name, gci_view_text(name)))
            return &description->components[i];
    return NULL;
}

static bool
is_another_part(gci_description const *stored, gci_description const *asked)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        gci_component const *was = find_component(stored, parts[i]), *is = find_component(asked, parts[i]);
        if (was != NULL && is != NULL && memcmp(was->hash, is->hash, sizeof is->hash) != 0)
            return true;
    }
    return false;
}

/* false: nothing can be said about it, since its description is gone or damaged, or it is for another part of a program. */
static bool
look_closely(gci_near_key *near, gci_store *store, gci_description const *asked, gci_feature_set *set)
{
    gci_stored_description *holder = NULL;

    if (gci_store_description(store, &near->key, &holder, NULL) != GCI_FOUND)
        return false;
    gci_description const *stored = gci_stored_description_get(holder);
    gci_feature_set_begin(set);
    bool read = (stored->canonical.size == 0) == (asked->canonical.size == 0) && !is_another_part(stored, asked) &&
                gci_description_features(stored, gci_feature_set_meet, set) && gci_feature_set_end(set, &near->likeness);
    near->is_kin = read && (near->is_same || gci_likeness_is_kin(&near->likeness));
    near->components = (uint32_t)asked->component_count;
    near->equal = read ? gci_count_equal_components(stored, asked) : 0;
    gci_stored_description_free(holder);
    return read;
}

/* What differs; false: it can't be said. */
static bool
find_differences(gci_near_key *near, gci_store *store, gci_description const *asked)
{
    gci_stored_description *holder = NULL;

    if (gci_store_description(store, &near->key, &holder, NULL) != GCI_FOUND)
        return false;
    gcache_status status =
        gci_compare(gci_stored_description_get(holder), asked, GCI_DIFF_ITEMS_DEFAULT, &near->diff, NULL);
    gci_stored_description_free(holder);
    if (status != GCACHE_OK)
        return false;
    near->count = near->diff->count;
    near->left_out = near->diff->left_out;
    near->items = near->diff->items;
    return true;
}

/* Where a key's entries were stored, and whose they were. false: none is left to tell. */
static bool
read_origin(gci_near_key *near, gci_store *store, gci_arena *arena, gci_view *out_namespace)
{
    gci_candidates *set = NULL;

    bool found = gci_store_candidates(store, &near->key, &set, NULL) == GCI_FOUND && set->count != 0;
    if (found) {
        *out_namespace = gci_arena_copy(arena, set->items[0]->record.namespace_);
        near->label = gci_arena_copy(arena, set->items[0]->record.label);
    }
    gci_candidates_release(set);
    return found && !arena->failed;
}

static gci_view
in_quotes(gci_view text, gci_arena *arena)
{
    gci_buf quoted;

    gci_buf_init(&quoted, GCI_BUF_NO_LIMIT);
    gci_json_write_text(&quoted, text);
    gci_view copy = gci_arena_copy(arena, gci_buf_view(&quoted));
    gci_buf_clear(&quoted);
    return copy;
}

/* What a key has besides its description: the namespace, and the rules, which only equal descriptions tell of. */
static void
name_salt(gci_trace *trace, gci_near_key *near, gci_view stored)
{
    bool is_equal = near->count == 0 && near->left_out == 0 && near->equal == near->components;

    if (!gci_view_equal(stored, trace->namespace_))
        gci_diff_add_first(near->diff, gci_view_text("namespace"), in_quotes(stored, &trace->arena),
                           in_quotes(trace->namespace_, &trace->arena));
    else if (is_equal)
        gci_diff_add_texts(near->diff, gci_view_text("rules"), gci_view_text("another set"), gci_view_text("this one"));
    near->count = near->diff->count;
    near->items = near->diff->items;
}

static void
find_origin(gci_trace *trace, gci_store *store, gci_near_key *near)
{
    gci_view namespace_ = { NULL, 0 };

    if (read_origin(near, store, &trace->arena, &namespace_))
        name_salt(trace, near, namespace_);
}

static int
compare_counts(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

/* Those of the same function first; by how many features differ; of as many, by how many stand elsewhere, have other numbers or
   neighbours; then the newest. */
static int
compare_nearness(void const *left, void const *right)
{
    gci_near_key const *a = left, *b = right;
    int order = (int)b->is_same - (int)a->is_same;

    for (gci_feature_level level = GCI_EXACT; order == 0 && level <= GCI_CONTEXT; level++)
        order = compare_counts(gci_likeness_differing(&a->likeness, level), gci_likeness_differing(&b->likeness, level));
    if (order == 0)
        order = compare_counts(b->equal, a->equal);
    if (order == 0 && a->created_ns != b->created_ns)
        order = a->created_ns > b->created_ns ? -1 : 1;
    return order != 0 ? order : memcmp(&a->key, &b->key, sizeof a->key);
}

/* Of the keys looked at, in how many features the last of those that would be shown differs. */
static size_t
distance_to_beat(gci_near_key const *keys, size_t count)
{
    size_t best[GCI_TRACE_NEAREST] = { 0 };
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        size_t distance = gci_likeness_differing(&keys[i].likeness, GCI_EXACT), at = kept;
        for (; at > 0 && best[at - 1] > distance; at--) {
            if (at < GCI_TRACE_NEAREST)
                best[at] = best[at - 1];
        }
        if (at < GCI_TRACE_NEAREST)
            best[at] = distance;
        kept += kept < GCI_TRACE_NEAREST;
    }
    return kept == GCI_TRACE_NEAREST ? best[kept - 1] : SIZE_MAX;
}

/* Of keys that differ in as many features the one with the fewest differences to read comes first. */
static void
order_by_differences(gci_near_key *keys, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        for (size_t at = i; at > 0; at--) {
            gci_near_key *left = &keys[at - 1], *right = &keys[at], swapped = *left;
            if (left->is_same != right->is_same ||
                gci_likeness_differing(&left->likeness, GCI_EXACT) != gci_likeness_differing(&right->likeness, GCI_EXACT) ||
                left->count + left->left_out <= right->count + right->left_out)
                break;
            *left = *right;
            *right = swapped;
        }
    }
}

/* Those that are shown: the nearest, and further ones that what is asked for may have been made from as well. */
static void
keep_nearest(gci_trace *trace, gci_store *store, gci_description const *asked, gci_near_key *keys, size_t count)
{
    qsort(keys, count, sizeof *keys, compare_nearness);
    for (size_t i = 0; i < count && trace->nearest_count < GCI_TRACE_NEAREST; i++) {
        if (!keys[i].is_kin && i > 0)
            continue;
        if (keys[i].is_kin && !find_differences(&keys[i], store, asked))
            continue;
        if (keys[i].is_kin)
            find_origin(trace, store, &keys[i]);
        trace->nearest[trace->nearest_count++] = keys[i];
    }
    if (trace->nearest_count != 0 && trace->nearest[0].is_kin)
        order_by_differences(trace->nearest, trace->nearest_count);
}

/* "train.py:88 forward(x)"; a name alone, such as jit_f, many functions have. */
static bool
names_place(gci_view label)
{
    for (size_t i = 0; i + 1 < label.size; i++)
        if (label.data[i] == ':' && isdigit((unsigned char)label.data[i + 1]))
            return true;
    return false;
}

static gci_near_key
begin_key(gci_near const *near, gci_near_question const *question, gci_store *store, gci_arena *arena)
{
    gci_near_key key = { .key = near->key, .created_ns = near->created_ns };
    gci_view namespace_;

    if (names_place(question->label) && read_origin(&key, store, arena, &namespace_))
        key.is_same = gci_view_equal(key.label, question->label);
    return key;
}

/* However far, those of the same function are looked at: how it differs from itself is what its user wants to know. */
static void
rank(gci_trace *trace, gci_store *store, gci_near_question const *question, gci_near const *near, size_t found)
{
    gci_near_key keys[CLOSE_LOOKS] = { 0 };
    gci_feature_set *set = gci_feature_set_new();
    size_t count = 0;

    if (set != NULL && gci_description_features(question->asked, gci_feature_set_add, set)) {
        for (size_t i = 0; i < found; i++) {
            size_t least = gci_sketch_least(near[i].distance), beat = distance_to_beat(keys, count);
            keys[count] = begin_key(&near[i], question, store, &trace->arena);
            if (keys[count].is_same || least < beat || (least == beat && i < EQUAL_LOOKS))
                count += look_closely(&keys[count], store, question->asked, set);
        }
    }
    gci_feature_set_free(set);
    keep_nearest(trace, store, question->asked, keys, count);
}

/* What a feature takes in a canonical form at most: a node is some 90 bytes, a line 60, an option 30. */
#define FEATURE_BYTES 150

/* Of a lost form about half of what it has may differ; a key that somebody else computed has components for features. */
static bool
is_kin_by_sketch(gci_trace const *trace, gci_near_key const *key, unsigned distance)
{
    return trace->lost ? gci_sketch_estimate(distance) <= trace->lost_bytes / FEATURE_BYTES / 2
                       : 2 * key->equal >= key->components;
}

/* By sketches alone: which components differ is all that can be said. */
static void
look_at_components(gci_near_key *key, gci_trace const *trace, gci_store *store, gci_description const *asked, unsigned distance)
{
    gci_stored_description *holder = NULL;

    if (gci_store_description(store, &key->key, &holder, NULL) != GCI_FOUND)
        return;
    gci_description const *stored = gci_stored_description_get(holder);
    key->components = (uint32_t)asked->component_count;
    key->equal = gci_count_equal_components(stored, asked);
    if (is_kin_by_sketch(trace, key, distance) &&
        gci_compare_components(stored, asked, GCI_DIFF_ITEMS_DEFAULT, &key->diff, NULL) == GCACHE_OK) {
        key->is_kin = true;
        key->count = key->diff->count;
        key->left_out = key->diff->left_out;
        key->items = key->diff->items;
    }
    gci_stored_description_free(holder);
}

static void
take_by_sketch(gci_trace *trace, gci_store *store, gci_description const *asked, gci_near const *near, size_t found)
{
    for (size_t i = 0; i < found && trace->nearest_count < GCI_TRACE_NEAREST; i++) {
        gci_near_key key = { .key = near[i].key, .created_ns = near[i].created_ns, .by_sketch = true };
        look_at_components(&key, trace, store, asked, near[i].distance);
        if (key.is_kin)
            find_origin(trace, store, &key);
        if (key.is_kin || trace->nearest_count == 0)
            trace->nearest[trace->nearest_count++] = key;
    }
}

/* Without the key itself, which may have been stored while this was found out. */
static size_t
drop_key(gci_near *near, size_t found, gcache_key const *key)
{
    size_t kept = 0;

    for (size_t i = 0; i < found; i++) {
        if (memcmp(&near[i].key, key, sizeof *key) != 0)
            near[kept++] = near[i];
    }
    return kept;
}

void
gci_trace_find_nearest_of(gci_trace *trace, gci_store *store, gci_near_question const *question)
{
    gci_description const *asked = question->asked;
    uint8_t sketch[GCI_KEY_SKETCH_BYTES];
    bool by_sketch = question->sketch.size == sizeof sketch;
    gci_near near[CLOSE_LOOKS];
    gci_store_stats stats;
    size_t found = 0;

    trace->past = question->before_ns != UINT64_MAX;
    trace->empty = gci_store_stats_get(store, &stats, NULL) == GCACHE_OK && stats.keys == 0;
    trace->bare = !by_sketch && !trace->lost && asked->canonical.size == 0 && asked->component_count == 0;
    if (by_sketch)
        memcpy(sketch, question->sketch.data, sizeof sketch);
    else if (!gci_sketching_of_features.make(asked, sketch))
        return;
    gci_near_query query = { .kind = asked->kind, .is_keyed = asked->canonical.size == 0 && !trace->lost,
                             .sketch = sketch, .before_ns = question->before_ns };
    if (gci_store_nearest(store, &query, near, CLOSE_LOOKS, &found, &trace->kind_keys, NULL) != GCACHE_OK)
        return;
    if (trace->kind_keys == 0)
        trace->bare_keys = gci_store_keys_bare(store, asked->kind);
    found = drop_key(near, found, question->key);
    if (by_sketch)
        take_by_sketch(trace, store, asked, near, found);
    else
        rank(trace, store, question, near, found);
}

void
gci_trace_find_nearest(gci_trace *trace, gci_context const *context)
{
    gci_description asked;
    gci_near_question question = { .key = &context->key, .asked = &asked, .before_ns = UINT64_MAX };

    question.label = gci_view_text(gci_context_label(context, &trace->arena));
    trace->namespace_ = context->cache->namespace_;
    if (gci_description_of(context->graph, true, &trace->arena, &asked, NULL) == GCACHE_OK)
        gci_trace_find_nearest_of(trace, context->cache->store, &question);
}
