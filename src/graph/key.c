/*
 * From a description to its key, and what else comes out of it: components, symbols, canonical bytes.
 */
#include "base/check.h"
#include "base/codec.h"
#include "graph/canon/canon.h"
#include "graph/describe/description.h"
#include "graph/graph.h"

#include <stdlib.h>

/* The first field of what a key is the hash of: no other hash of ours begins so. */
#define KEY_DOMAIN "guardcache-key"
/* The first field for a key that the caller brought and a salt is mixed into. */
#define KEYED_DOMAIN "guardcache-keyed"

/* The canonical form, made on first use. Threads may race for it: the first one's stays. */
static gcache_status
canonical_of(gcache_graph *graph, bool with_bytes, gci_canonical const **out_canon, gcache_error *error)
{
    gci_canonical *kept = atomic_load(&graph->kept), *hashed = atomic_load(&graph->hashed), *made, *none = NULL;

    *out_canon = kept != NULL || with_bytes ? kept : hashed;
    if (*out_canon != NULL)
        return GCACHE_OK;
    gcache_status status = gci_canonical_make(graph, with_bytes, NULL, NULL, &made, error);
    if (status != GCACHE_OK)
        return status;
    if (!atomic_compare_exchange_strong(with_bytes ? &graph->kept : &graph->hashed, &none, made)) {
        gci_canonical_free(made);
        made = none;
    }
    *out_canon = made;
    return GCACHE_OK;
}

/* A caller's own key under a salt; without one it is left alone. */
static gcache_status
salt_key(gcache_key const *key, gci_view salt, gcache_key *out_key, gcache_error *error)
{
    gci_buf fields;

    if (salt.size == 0) {
        *out_key = *key;
        return GCACHE_OK;
    }
    gci_buf_init(&fields, GCI_BUF_NO_LIMIT);
    gci_put_bytes(&fields, (gci_view)GCI_VIEW(KEYED_DOMAIN));
    gci_put_bytes(&fields, gci_view_of(key->bytes, sizeof key->bytes));
    gci_put_bytes(&fields, salt);
    return gci_digest_of_buf(&fields, out_key->bytes) ? GCACHE_OK : gci_fail_memory(error);
}

static gcache_status
compute_key(gcache_graph *graph, gci_view salt, gcache_key *out_key, gcache_error *error)
{
    gci_canonical const *canon;
    gci_buf fields;

    if (graph->keyed)
        return salt_key(&graph->key, salt, out_key, error);
    gcache_status status = canonical_of(graph, false, &canon, error);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&fields, GCI_BUF_NO_LIMIT);
    gci_put_bytes(&fields, (gci_view)GCI_VIEW(KEY_DOMAIN));
    gci_put_bytes(&fields, (gci_view)GCI_VIEW(GCI_GRAPH_FORMAT));
    gci_put_bytes(&fields, graph->kind);
    gci_put_bytes(&fields, gci_view_of(canon->rules_hash.bytes, sizeof canon->rules_hash.bytes));
    gci_put_bytes(&fields, salt);
    gcache_component const *components = canon->components;
    for (size_t i = 0; i < canon->count; i++) {
        gci_put_bytes(&fields, gci_view_text(components[i].name));
        gci_put_bytes(&fields, gci_view_of(components[i].hash.bytes, sizeof components[i].hash.bytes));
    }
    return gci_digest_of_buf(&fields, out_key->bytes) ? GCACHE_OK : gci_fail_memory(error);
}

/* Threads may race to remember: the first one's stays. Without memory nothing is remembered. */
static void
remember_key(gcache_graph *graph, gci_view salt, gcache_key const *key)
{
    gci_salted_key *salted = malloc(sizeof *salted + salt.size), *none = NULL;

    if (salted == NULL)
        return;
    salted->key = *key;
    salted->salt_size = salt.size;
    if (salt.size != 0)
        memcpy(salted->salt, salt.data, salt.size);
    if (!atomic_compare_exchange_strong(&graph->salted, &none, salted))
        free(salted);
}

gcache_status
gci_graph_key(gcache_graph *graph, gci_view salt, gcache_key *out_key, gcache_error *error)
{
    gcache_status status = gci_graph_check(graph, error);

    if (status != GCACHE_OK)
        return status;
    gci_salted_key const *salted = atomic_load_explicit(&graph->salted, memory_order_acquire);
    if (salted != NULL && gci_view_equal(salt, gci_view_of(salted->salt, salted->salt_size))) {
        *out_key = salted->key;
        return GCACHE_OK;
    }
    status = compute_key(graph, salt, out_key, error);
    if (status == GCACHE_OK && salted == NULL)
        remember_key(graph, salt, out_key);
    return status;
}

gcache_status
gcache_graph_key(gcache_graph *graph, gcache_key *out_key, gcache_error *error)
{
    GCI_REQUIRE(out_key != NULL, error, "gcache_graph_key needs a result");
    return gci_graph_key(graph, (gci_view){ NULL, 0 }, out_key, error);
}

/* What a call asks of the canonical form: *out_canon stays NULL for a keyed description, which has none. */
static gcache_status
ask(gcache_graph *graph, bool with_bytes, bool has_results, char const *call, gci_canonical const **out_canon,
    gcache_error *error)
{
    gcache_status status = gci_graph_check(graph, error);

    *out_canon = NULL;
    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(has_results, error, "%s needs results", call);
    return graph->keyed ? GCACHE_OK : canonical_of(graph, with_bytes, out_canon, error);
}

gcache_status
gcache_graph_components(gcache_graph *graph, gcache_component const **out_components, size_t *out_count,
                        gcache_error *error)
{
    gci_canonical const *canon;
    bool has_results = out_components != NULL && out_count != NULL;
    gcache_status status = ask(graph, false, has_results, "gcache_graph_components", &canon, error);

    if (has_results) {
        *out_components = canon != NULL ? canon->components : NULL;
        *out_count = canon != NULL ? canon->count : 0;
    }
    return status;
}

gcache_status
gcache_graph_symbols(gcache_graph *graph, gcache_symbol const **out_symbols, size_t *out_count, gcache_error *error)
{
    gci_canonical const *canon;
    bool has_results = out_symbols != NULL && out_count != NULL;
    gcache_status status = ask(graph, false, has_results, "gcache_graph_symbols", &canon, error);

    if (has_results) {
        *out_symbols = canon != NULL ? canon->symbols : NULL;
        *out_count = canon != NULL ? canon->symbol_names.count : 0;
    }
    return status;
}

gcache_status
gcache_graph_text_names(gcache_graph *graph, gcache_text_name const **out_names, size_t *out_count, gcache_error *error)
{
    gci_canonical const *canon;
    bool has_results = out_names != NULL && out_count != NULL;
    gcache_status status = ask(graph, false, has_results, "gcache_graph_text_names", &canon, error);

    if (has_results) {
        *out_names = canon != NULL ? (gcache_text_name const *)(void const *)canon->text_names.data : NULL;
        *out_count = canon != NULL ? canon->text_names.size / sizeof **out_names : 0;
    }
    return status;
}

gcache_status
gcache_graph_canonical(gcache_graph *graph, void const **out_bytes, size_t *out_size, gcache_error *error)
{
    gci_canonical const *canon;
    gcache_status status = ask(graph, true, out_bytes != NULL && out_size != NULL, "gcache_graph_canonical", &canon, error);

    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(canon != NULL, error, "a keyed description has no canonical form");
    *out_bytes = canon->bytes.data;
    *out_size = canon->bytes.size;
    return GCACHE_OK;
}

/* What is there of a canonical form; the caller has asked for the key before. */
static gci_canonical const *
present_canonical(gcache_graph const *graph)
{
    gci_canonical const *kept = atomic_load(&((gcache_graph *)graph)->kept);

    return kept != NULL ? kept : atomic_load(&((gcache_graph *)graph)->hashed);
}

gci_view
gci_graph_canonical_symbol(gcache_graph const *graph, gci_view name)
{
    gci_canonical const *canon = present_canonical(graph);

    GCI_ASSERT(canon != NULL || graph->keyed);
    uint32_t symbol = canon != NULL ? gci_intern_find(&canon->symbol_names, name) : GCI_INTERN_NONE;
    return symbol != GCI_INTERN_NONE ? gci_view_text(canon->symbols[symbol].canonical - 1) : name;
}

gci_graph_names
gci_graph_names_of(gcache_graph const *graph)
{
    gci_canonical const *canon = present_canonical(graph);

    if (canon == NULL)
        return (gci_graph_names){ .id = 0 };
    return (gci_graph_names){
        .symbols = canon->symbols,
        .symbol_count = canon->symbol_names.count,
        .texts = (gcache_text_name const *)(void const *)canon->text_names.data,
        .text_count = canon->text_names.size / sizeof(gcache_text_name),
        .id = canon->id,
    };
}

void const *
gci_graph_remembered(gcache_graph const *graph)
{
    gci_canonical const *canon = present_canonical(graph);

    return canon != NULL ? atomic_load_explicit(&canon->remembered, memory_order_acquire) : NULL;
}

void
gci_graph_remember(gcache_graph *graph, void *block)
{
    gci_canonical *canon = (gci_canonical *)present_canonical(graph);
    void *none = NULL;

    if (canon == NULL || !atomic_compare_exchange_strong(&canon->remembered, &none, block))
        free(block);
}

void
gcache_graph_use_rules(gcache_graph *graph, gcache_rules const *rules)
{
    if (graph == NULL)
        return;
    gci_graph_drop_canonical(graph);
    graph->rules = rules;
}
