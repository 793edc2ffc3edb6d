/*
 * How two descriptions differ: of keys of ours by their canonical forms, of others by their component lines.
 */
#include "cache/candidates/compare.h"

#include "base/check.h"
#include "base/digest.h"
#include "base/text/json.h"
#include "base/visible.h"
#include "cache/handle/graph_description.h"
#include "cache/handle/cache.h"
#include "base/text/intern.h"

#include <stdlib.h>

/* Names and hashes of two descriptions' components. */
#define ARENA_LIMIT ((size_t)1 << 30)

/* Each side's components, beside what stands for them on the other, NULL where nothing does: as a rule those of the same name. */
typedef struct pairing {
    gci_component const **of_stored, **of_asked;
    bool *named_in_asked, *named_in_stored; /* of each stored and each asked one: whether the other side has its name */
} pairing;

static void
pairing_clear(pairing *p)
{
    free(p->of_stored);
    free(p->of_asked);
    free(p->named_in_asked);
    free(p->named_in_stored);
}

static gcache_status
pair_up(gci_description const *stored, gci_description const *asked, pairing *out, gcache_error *error)
{
    gci_intern names = { 0 };
    bool is_new, failed = false;

    out->of_stored = calloc(stored->component_count + 1, sizeof *out->of_stored);
    out->of_asked = calloc(asked->component_count + 1, sizeof *out->of_asked);
    out->named_in_asked = calloc(stored->component_count + 1, sizeof *out->named_in_asked);
    out->named_in_stored = calloc(asked->component_count + 1, sizeof *out->named_in_stored);
    failed = out->of_stored == NULL || out->of_asked == NULL || out->named_in_asked == NULL || out->named_in_stored == NULL;
    for (size_t i = 0; i < stored->component_count && !failed; i++)
        failed = gci_intern_add(&names, stored->components[i].name, &is_new) == GCI_INTERN_NONE;
    /* Names are numbered in their order: no side has one twice, and where one does nothing is paired. */
    for (size_t i = 0; i < asked->component_count && !failed; i++) {
        uint32_t number = gci_intern_find(&names, asked->components[i].name);
        if (number == GCI_INTERN_NONE || names.count != stored->component_count)
            continue;
        out->of_asked[i] = &stored->components[number];
        out->of_stored[number] = &asked->components[i];
        out->named_in_stored[i] = out->named_in_asked[number] = true;
    }
    gci_intern_clear(&names);
    if (!failed && stored->canonical.size == 0 && asked->canonical.size == 0)
        failed = !gci_pair_input_lines(stored, asked, out->of_stored, out->of_asked);
    if (!failed)
        return GCACHE_OK;
    pairing_clear(out);
    return gci_fail_memory(error);
}

static bool
is_equal(gci_component const *a, gci_component const *b)
{
    return a != NULL && b != NULL && memcmp(a->hash, b->hash, sizeof a->hash) == 0;
}

/* ---- component lines ---- */

/* Adds a line's difference: its texts, or the hashes where an adapter gave no text. NULL: it isn't there. */
static bool
add_line(gci_diff *diff, gci_component const *stored, gci_component const *asked)
{
    gci_component const *sides[2] = { stored, asked };
    char hex[2][2 * sizeof stored->hash + 1];
    gci_view texts[2];

    for (size_t i = 0; i < 2; i++) {
        texts[i] = sides[i] != NULL ? sides[i]->text : (gci_view){ NULL, 0 };
        if (sides[i] == NULL || texts[i].size != 0)
            continue;
        gci_hex(sides[i]->hash, sizeof sides[i]->hash, hex[i]);
        texts[i] = gci_view_text(hex[i]);
    }
    return gci_diff_add_texts(diff, (asked != NULL ? asked : stored)->name, texts[0], texts[1]);
}

gcache_status
gci_compare_components(gci_description const *stored, gci_description const *asked, size_t max_items, gci_diff **out_diff,
                       gcache_error *error)
{
    pairing p;

    gcache_status status = pair_up(stored, asked, &p, error);
    if (status != GCACHE_OK)
        return status;
    gci_diff *diff = gci_diff_new(max_items);
    bool added = diff != NULL;
    if (added && !gci_view_equal(stored->kind, asked->kind))
        added = gci_diff_add_texts(diff, (gci_view)GCI_VIEW("kind"), stored->kind, asked->kind);
    for (size_t i = 0; i < asked->component_count && added; i++) {
        if (!is_equal(p.of_asked[i], &asked->components[i]))
            added = add_line(diff, p.of_asked[i], &asked->components[i]);
    }
    for (size_t i = 0; i < stored->component_count && added; i++)
        if (p.of_stored[i] == NULL)
            added = add_line(diff, &stored->components[i], NULL);
    pairing_clear(&p);
    if (!added) {
        gci_diff_free(diff);
        return gci_fail_memory(error);
    }
    gci_diff_fold_inputs(diff);
    *out_diff = diff;
    return GCACHE_OK;
}

gcache_status
gci_compare(gci_description const *stored, gci_description const *asked, size_t max_items, gci_diff **out_diff,
            gcache_error *error)
{
    *out_diff = NULL;
    if ((stored->canonical.size == 0) != (asked->canonical.size == 0))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT,
                        "one of the two keys was computed by somebody else and has no canonical form to compare");
    if (stored->canonical.size == 0)
        return gci_compare_components(stored, asked, max_items, out_diff, error);
    return gci_diff_make(stored->canonical, asked->canonical, max_items, out_diff, error);
}

/* ---- two sides ---- */

/* A side as the store describes it, and what keeps that alive. */
typedef struct side {
    gci_description description;
    gci_stored_description *holder;
    gcache_key const *key; /* NULL: it's a graph */
} side;

static gcache_status
open_stored(gcache *cache, gcache_key const *key, side *out, gcache_error *error)
{
    char hex[GCACHE_KEY_HEX_SIZE];
    gcache_error trouble = { 0 };

    GCI_REQUIRE(cache != NULL && gci_is_open(&cache->gate, GCI_BROWSE), error, "a key needs a cache that holds it");
    gcache_key_to_hex(key, hex);
    switch (gci_store_description(cache->store, key, &out->holder, &trouble)) {
    case GCI_FOUND:
        out->description = *gci_stored_description_get(out->holder);
        return GCACHE_OK;
    case GCI_CORRUPT:
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "the description of key %s is damaged", hex);
    case GCI_UNREADABLE:
        if (error != NULL)
            *error = trouble;
        return trouble.status;
    case GCI_ABSENT:
    case GCI_EVICTED:
    case GCI_RENEWED:
        break;
    }
    return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "nothing is stored under key %s", hex);
}

static gcache_status
open_side(gcache *cache, gcache_subject const *subject, gci_arena *arena, side *out, gcache_error *error)
{
    out->key = subject->graph == NULL ? &subject->key : NULL;
    if (subject->graph == NULL)
        return open_stored(cache, &subject->key, out, error);
    return gci_description_of(subject->graph, true, arena, &out->description, error);
}

/* ---- writing ---- */

static void
write_equal_names(gci_description const *asked, pairing const *p, gci_buf *out)
{
    bool first = true;

    for (size_t i = 0; i < asked->component_count; i++) {
        if (!is_equal(p->of_asked[i], &asked->components[i]))
            continue;
        gci_buf_append_text(out, first ? "" : ", ");
        gci_visible_append(out, asked->components[i].name);
        first = false;
    }
}

static size_t
count_equal(gci_description const *asked, pairing const *p)
{
    size_t count = 0;

    for (size_t i = 0; i < asked->component_count; i++)
        count += is_equal(p->of_asked[i], &asked->components[i]);
    return count;
}

uint32_t
gci_count_equal_components(gci_description const *stored, gci_description const *asked)
{
    pairing p;

    if (pair_up(stored, asked, &p, NULL) != GCACHE_OK)
        return 0;
    size_t count = count_equal(asked, &p);
    pairing_clear(&p);
    return (uint32_t)count;
}

/* Keys that somebody else computed may differ in what they didn't tell us: then in nothing but themselves. */
static bool
add_keys(gci_diff *diff, side const *stored, side const *asked)
{
    char hex[2][GCACHE_KEY_HEX_SIZE];

    if (diff->count + diff->left_out != 0 || stored->key == NULL || asked->key == NULL ||
        memcmp(stored->key, asked->key, sizeof *asked->key) == 0)
        return true;
    gcache_key_to_hex(stored->key, hex[0]);
    gcache_key_to_hex(asked->key, hex[1]);
    return gci_diff_add_texts(diff, (gci_view)GCI_VIEW("key"), gci_view_text(hex[0]), gci_view_text(hex[1]));
}

/* "4 of 5 components equal: config, environment, graph, inputs", then the differences. Nothing for equal sides. */
static void
write_text(gci_description const *asked, pairing const *p, gci_diff const *diff, gci_buf *out)
{
    size_t equal = count_equal(asked, p);

    if (diff->count + diff->left_out == 0)
        return;
    if (equal == asked->component_count && diff->count == 1 && gci_view_is(diff->items[0].path, "key"))
        gci_buf_append_text(out, "in what they differ isn't known: whoever computed these keys stored nothing in which they do\n");
    gci_buf_format(out, "%zu of %zu components equal%s", equal, asked->component_count, equal != 0 ? ": " : "");
    write_equal_names(asked, p, out);
    gci_buf_append_char(out, '\n');
    gci_diff_write_text(diff, "  ", out);
}

static void
write_component_state(gci_buf *out, gci_view name, char const *word)
{
    gci_json_next(out);
    gci_json_write_text(out, name);
    gci_buf_format(out, ": \"%s\"", word);
}

static void
write_json(gci_description const *stored, gci_description const *asked, pairing const *p, gci_diff const *diff,
           gci_buf *out)
{
    gci_buf_format(out, "{\"equal\": %s, \"components\": {",
                   diff->count + diff->left_out == 0 ? "true" : "false");
    for (size_t i = 0; i < asked->component_count; i++) {
        gci_component const *component = &asked->components[i], *there = p->of_asked[i];
        bool alone = there == NULL && !p->named_in_stored[i];
        write_component_state(out, component->name, alone ? "asked" : is_equal(there, component) ? "equal" : "differs");
    }
    for (size_t i = 0; i < stored->component_count; i++)
        if (p->of_stored[i] == NULL && !p->named_in_asked[i])
            write_component_state(out, stored->components[i].name, "stored");
    gci_buf_append_text(out, "}, \"differs\": [");
    gci_diff_write_json(diff, out);
    gci_buf_format(out, "], \"left_out\": %zu}", diff->left_out);
}

static gcache_status
compare_sides(side const *stored, side const *asked, size_t max_items, gcache_diff_form form, char **out_text,
              size_t *out_count, gcache_error *error)
{
    gci_diff *diff;
    gci_buf text;
    pairing p;

    gcache_status status = gci_compare(&stored->description, &asked->description, max_items, &diff, error);
    if (status != GCACHE_OK)
        return status;
    status = add_keys(diff, stored, asked) ? pair_up(&stored->description, &asked->description, &p, error)
                                           : gci_fail_memory(error);
    if (status != GCACHE_OK) {
        gci_diff_free(diff);
        return status;
    }
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (form == GCACHE_DIFF_TEXT)
        write_text(&asked->description, &p, diff, &text);
    else
        write_json(&stored->description, &asked->description, &p, diff, &text);
    if (out_count != NULL)
        *out_count = diff->count + diff->left_out;
    *out_text = gci_buf_take_text(&text);
    gci_diff_free(diff);
    pairing_clear(&p);
    return *out_text != NULL ? GCACHE_OK : gci_fail_memory(error);
}

gcache_status
gcache_compare(gcache *cache, gcache_subject const *stored, gcache_subject const *asked, size_t max_items,
               gcache_diff_form form, char **out_text, size_t *out_count, gcache_error *error)
{
    side sides[2] = { { .holder = NULL }, { .holder = NULL } };
    gci_arena arena;

    GCI_REQUIRE(stored != NULL && asked != NULL && out_text != NULL, error, "gcache_compare needs two sides and a result");
    GCI_REQUIRE_INIT(stored, error);
    GCI_REQUIRE_INIT(asked, error);
    *out_text = NULL;
    gci_arena_init(&arena, ARENA_LIMIT);
    gcache_status status = open_side(cache, stored, &arena, &sides[0], error);
    if (status == GCACHE_OK)
        status = open_side(cache, asked, &arena, &sides[1], error);
    if (status == GCACHE_OK)
        status = compare_sides(&sides[0], &sides[1], max_items != 0 ? max_items : GCI_DIFF_ITEMS_DEFAULT, form, out_text,
                               out_count, error);
    gci_stored_description_free(sides[0].holder);
    gci_stored_description_free(sides[1].holder);
    gci_arena_clear(&arena);
    return status;
}
