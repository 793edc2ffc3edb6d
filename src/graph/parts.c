/*
 * What a description says about itself to people: the trace of its normalisation, its texts, its lines.
 */
#include "base/check.h"
#include "base/utf8.h"
#include "graph/canon/canon.h"
#include "graph/cbor/cbor_read.h"
#include "graph/describe/description.h"
#include "graph/diff/diff.h"
#include "graph/diff/diff_run.h"
#include "graph/graph.h"
#include "graph/rules/rules.h"

#include <stdio.h>
#include <stdlib.h>

/* A line's text: enough to recognise the part by. */
#define LINE_TEXT 160

gci_advice const *
gci_graph_advice(gcache_graph const *graph, size_t *out_count)
{
    return gci_rules_advice(graph->rules != NULL ? graph->rules : gci_rules_loaded(graph->kind), out_count);
}

/* ---- traces ---- */

typedef struct tracer {
    gcache_change_fn fn;
    void *state;
    gci_arena arena; /* of the change at hand */
    bool failed;
} tracer;

static char const *
copy_text(tracer *t, gci_view view)
{
    return view.data != NULL ? gci_arena_copy(&t->arena, view).data : NULL;
}

static void
report_change(void *state, char const *path, gci_rule const *rule, gci_view from, gci_view to)
{
    tracer *t = state;

    gci_arena_reset(&t->arena);
    gcache_change change = { .path = path, .from = copy_text(t, from), .to = copy_text(t, to),
                             .rule = rule != NULL ? copy_text(t, gci_rule_name(rule)) : NULL,
                             .why = rule != NULL ? copy_text(t, gci_rule_why(rule)) : "" };
    t->failed = t->failed || t->arena.failed;
    if (!t->failed)
        t->fn(t->state, &change);
}

gcache_status
gcache_graph_trace(gcache_graph *graph, gcache_change_fn fn, void *state, gcache_error *error)
{
    tracer t = { .fn = fn, .state = state };
    gci_canonical *canon;
    gcache_status status = gci_graph_check(graph, error);

    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(fn != NULL, error, "gcache_graph_trace needs a function");
    GCI_REQUIRE(!graph->keyed, error, "a keyed description isn't normalised");
    gci_arena_init(&t.arena, GCI_GRAPH_MAX_BYTES);
    status = gci_canonical_make(graph, false, report_change, &t, &canon, error);
    gci_canonical_free(canon);
    gci_arena_clear(&t.arena);
    return status == GCACHE_OK && t.failed ? gci_fail_memory(error) : status;
}

/* ---- parts of the canonical form ---- */

/* Reads a description's form into a tree; components is its member of that name. */
static gcache_status
read_form(gcache_graph *graph, gci_arena *arena, gci_view *out_bytes, gci_value **out_components, gcache_error *error)
{
    void const *bytes;
    size_t size;
    gci_value *form = GCI_ARENA_NEW(arena, gci_value);
    gcache_status status = gcache_graph_canonical(graph, &bytes, &size, error);

    if (status != GCACHE_OK)
        return status;
    if (form == NULL)
        return gci_fail_memory(error);
    *out_bytes = gci_view_of(bytes, size);
    status = gci_cbor_read(*out_bytes, arena, form, error);
    if (status == GCACHE_OK)
        *out_components = gci_map_find(form, "components");
    GCI_ASSERT(status != GCACHE_OK || *out_components != NULL);
    return status;
}

gcache_status
gcache_graph_text(gcache_graph *graph, char const *name, char **out_text, size_t *out_size, gcache_error *error)
{
    gci_arena arena;
    gci_view bytes;
    gci_value *components = NULL;
    gcache_status status = gci_graph_check(graph, error);

    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(name != NULL && out_text != NULL, error, "gcache_graph_text needs a name and a result");
    *out_text = NULL;
    gci_arena_init(&arena, GCI_GRAPH_MAX_BYTES);
    status = read_form(graph, &arena, &bytes, &components, error);
    gci_value const *text = status == GCACHE_OK ? gci_map_find(components, name) : NULL;
    if (status == GCACHE_OK && (text == NULL || text->type != GCI_STRING))
        status = gci_fail(error, GCACHE_ERROR_NOT_FOUND, "there is no component \"%s\" that is a text", name);
    if (status == GCACHE_OK) {
        *out_text = malloc(text->text.size + 1);
        if (*out_text == NULL) {
            status = gci_fail_memory(error);
        } else {
            memcpy(*out_text, text->text.data, text->text.size);
            (*out_text)[text->text.size] = '\0';
            if (out_size != NULL)
                *out_size = text->text.size;
        }
    }
    gci_arena_clear(&arena);
    return status;
}

/* ---- lines ---- */

typedef struct liner {
    gcache_line_fn fn;
    void *state;
    gci_digest *digest;
    gci_view bytes;
    bool failed;
} liner;

static void
put_line(liner *l, char const *name, gci_value const *value)
{
    gci_buf text;
    uint8_t hash[GCI_SHA256_BYTES];
    char hex[2 * GCI_SHA256_BYTES + 1];
    gci_view item = gci_view_of(l->bytes.data + value->at - 1, l->bytes.size - (value->at - 1));

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (value->type == GCI_MAP && gci_map_find(value, "op") != NULL)
        gci_diff_show_node(value, &text);
    else
        gci_diff_show(value, &text);
    text.size = gci_utf8_cut(gci_buf_view(&text), LINE_TEXT).size;
    gci_buf_append_char(&text, '\0');
    item.size = gci_cbor_item_size(item);
    if (text.failed || !gci_digest_of(l->digest, item, hash)) {
        l->failed = true;
    } else {
        gci_hex(hash, sizeof hash, hex);
        l->fn(l->state, &(gcache_line){ .name = name, .hash = hex, .text = text.data });
    }
    gci_buf_clear(&text);
}

/* A component's line, or one for each of its elements. */
static void
put_component_lines(liner *l, gci_view name, gci_value const *value)
{
    bool map = value->type == GCI_MAP && value->count != 0, list = value->type == GCI_LIST;
    gci_buf path;

    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    for (uint32_t i = 0; i < (map || list ? value->count : 1) && !l->failed; i++) {
        path.size = 0;
        gci_buf_append_view(&path, name);
        if (map)
            gci_buf_format(&path, "[%.*s]", (int)value->members[i].name.size, value->members[i].name.data);
        else if (list)
            gci_buf_format(&path, "[%u]", (unsigned)i);
        gci_buf_append_char(&path, '\0');
        l->failed = path.failed;
        if (!l->failed)
            put_line(l, path.data, map ? &value->members[i].value : list ? &value->items[i] : value);
    }
    gci_buf_clear(&path);
}

/* A graph's nodes are its elements; its other members have a line each. */
static void
put_graph_lines(liner *l, gci_value const *graph)
{
    for (uint32_t i = 0; i < graph->count && !l->failed; i++) {
        gci_member const *member = &graph->members[i];
        if (gci_view_is(member->name, "nodes"))
            put_component_lines(l, (gci_view)GCI_VIEW("graph.nodes"), &member->value);
        else if (gci_view_is(member->name, "subgraphs"))
            put_component_lines(l, (gci_view)GCI_VIEW("graph.subgraphs"), &member->value);
        else
            put_component_lines(l, (gci_view)GCI_VIEW("graph"), &(gci_value){ .type = GCI_MAP, .count = 1,
                                                                             .members = &graph->members[i] });
    }
}

static void
put_keyed_lines(gcache_graph const *graph, gcache_line_fn fn, void *state)
{
    for (size_t i = 0; i < graph->line_count; i++) {
        gci_graph_line const *line = &graph->lines[i];
        fn(state, &(gcache_line){ .name = line->name.data, .hash = line->hash.data, .text = line->text.data });
    }
}

gcache_status
gcache_graph_lines(gcache_graph *graph, gcache_line_fn fn, void *state, gcache_error *error)
{
    gci_arena arena;
    gci_value *components = NULL;
    liner l = { .fn = fn, .state = state };
    gcache_status status = gci_graph_check(graph, error);

    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(fn != NULL, error, "gcache_graph_lines needs a function");
    if (graph->keyed) {
        put_keyed_lines(graph, fn, state);
        return GCACHE_OK;
    }
    gci_arena_init(&arena, GCI_GRAPH_MAX_BYTES);
    status = read_form(graph, &arena, &l.bytes, &components, error);
    l.digest = gci_digest_new();
    l.failed = l.digest == NULL;
    for (uint32_t i = 0; status == GCACHE_OK && i < components->count && !l.failed; i++) {
        gci_member const *member = &components->members[i];
        if (gci_view_is(member->name, "graph") && member->value.type == GCI_MAP)
            put_graph_lines(&l, &member->value);
        else
            put_component_lines(&l, member->name, &member->value);
    }
    if (status == GCACHE_OK && l.failed)
        status = gci_fail_memory(error);
    gci_digest_free(l.digest);
    gci_arena_clear(&arena);
    return status;
}
