/*
 * The canonical form as a whole: which components, in which order, hashed or kept; and what came of it.
 */
#include "graph/canon/canon.h"

#include "base/check.h"
#include "graph/canon/canon_graph.h"
#include "graph/canon/canon_value.h"

#include <stdlib.h>

/* ---- components ---- */

/* The components that count, in the order symbols are named: inputs, then the others by name. */
static int
compare_components(void const *a, void const *b)
{
    gci_graph_component const *x = *(gci_graph_component const *const *)a, *y = *(gci_graph_component const *const *)b;
    bool x_first = x->type == GCI_COMPONENT_INPUTS, y_first = y->type == GCI_COMPONENT_INPUTS;

    return x_first != y_first ? (x_first ? -1 : 1) : gci_view_compare(x->name, y->name);
}

static gci_graph_component const **
order_components(gcache_graph const *graph, size_t *out_count)
{
    gci_graph_component const **order = malloc((graph->component_count + 1) * sizeof *order);

    *out_count = 0;
    if (order == NULL)
        return NULL;
    for (size_t i = 0; i < graph->component_count; i++)
        if (graph->components[i].counts)
            order[(*out_count)++] = &graph->components[i];
    qsort(order, *out_count, sizeof *order, compare_components);
    return order;
}

static void
put_component(gci_canon_run *run, gci_graph_component const *component, gci_rules_state place)
{
    run->open = component->type == GCI_COMPONENT_GRAPH ? NULL : run->graph->root;
    if (component->type == GCI_COMPONENT_GRAPH)
        gci_canon_graph(run, run->graph->root, place);
    else if (component->type == GCI_COMPONENT_INPUTS)
        gci_canon_inputs(run, place);
    else
        gci_canon_value(run, &component->value, place);
    if (run->out.failed)
        gci_canon_fail_memory(run);
}

/* Called with each component written, its bytes in run->out as far as they weren't flushed. */
typedef void (*component_fn)(gci_canon_run *run, gci_graph_component const *component, void *state);

static void
walk(gci_canon_run *run, component_fn fn, void *state)
{
    size_t count;
    gci_graph_component const **order = order_components(run->graph, &count);
    static gci_value const null = { .type = GCI_NULL };

    if (order == NULL)
        gci_canon_fail_memory(run);
    for (size_t i = 0; i < run->graph->component_count; i++)
        if (!run->graph->components[i].counts)
            gci_canon_left_out(run, run->graph->components[i].name, &run->graph->components[i].value);
    for (size_t i = 0; i < count && run->status == GCACHE_OK; i++) {
        gci_canon_step step = { .name = order[i]->name };
        gci_rules_state place = gci_rules_member(run->rules, gci_rules_start(run->rules), order[i]->name);
        bool is_tree = order[i]->type == GCI_COMPONENT_VALUE;
        run->step = &step;
        if (gci_canon_dropped(run, place, is_tree ? &order[i]->value : &null))
            continue;
        if (run->digest != NULL && !gci_digest_begin(run->digest))
            gci_canon_fail(run, GCACHE_ERROR_INTERNAL, "SHA-256 failed");
        put_component(run, order[i], place);
        if (run->status == GCACHE_OK)
            fn(run, order[i], state);
        run->step = NULL;
    }
    free(order);
}

/* ---- the places of all expressions, for colors ---- */

static void
ignore_component(gci_canon_run *run, gci_graph_component const *component, void *state)
{
    (void)component;
    (void)state;
    run->out.size = 0;
}

static bool
collect_occurrences(void *state, gci_occurrence const **out_items, size_t *out_count)
{
    gci_canon_run *run = state;
    gcache_error error;
    gci_canon_run collect = { .graph = run->graph, .rules = run->rules, .exprs = run->exprs, .mode = CANON_COLLECT,
                              .error = &error };

    if (!run->collected) {
        gci_buf_init(&collect.out, GCI_BUF_NO_LIMIT);
        gci_buf_init(&collect.members, GCI_BUF_NO_LIMIT);
        gci_buf_init(&collect.occurrences, GCI_BUF_NO_LIMIT);
        walk(&collect, ignore_component, NULL);
        gci_buf_clear(&collect.out);
        gci_buf_clear(&collect.members);
        gci_buf_clear(&run->occurrences);
        run->occurrences = collect.occurrences;
        run->collected = true;
    }
    *out_items = (gci_occurrence const *)(void *)run->occurrences.data;
    *out_count = run->occurrences.size / sizeof **out_items;
    return collect.status == GCACHE_OK;
}

/* ---- the result ---- */

/* The bytes of a component, while they are assembled. */
typedef struct kept_item {
    gci_view name;
    size_t start, size;
} kept_item;

typedef struct making {
    gci_canonical *canon;
    gci_buf items; /* the components' bytes, in the order they were written */
    kept_item *kept;
} making;

static void
finish_component(gci_canon_run *run, gci_graph_component const *component, void *state)
{
    making *m = state;
    gci_canonical *canon = m->canon;
    gcache_component *result = &canon->components[canon->count];
    gci_view name = gci_arena_copy(&canon->arena, component->name);

    if (name.data == NULL || !gci_digest_update(run->digest, run->out.data, run->out.size) ||
        !gci_digest_end(run->digest, result->hash.bytes)) {
        gci_canon_fail_memory(run);
        return;
    }
    result->name = name.data;
    if (run->keep_bytes) {
        m->kept[canon->count] = (kept_item){ .name = name, .start = m->items.size, .size = run->out.size };
        gci_buf_append_view(&m->items, gci_buf_view(&run->out));
    }
    canon->count++;
    run->out.size = 0;
}

static int
compare_results(void const *a, void const *b)
{
    return strcmp(((gcache_component const *)a)->name, ((gcache_component const *)b)->name);
}

static int
compare_kept(void const *a, void const *b)
{
    return gci_cbor_key_compare(((kept_item const *)a)->name, ((kept_item const *)b)->name);
}

/* form := { "kind": text, "rules": bytes, "format": text, "components": { name: item } } */
static void
assemble(gci_canon_run *run, making *m)
{
    gci_canonical *canon = m->canon;
    gci_buf *out = &canon->bytes;

    if (m->items.failed) {
        gci_canon_fail_memory(run);
        return;
    }
    qsort(m->kept, canon->count, sizeof *m->kept, compare_kept);
    gci_buf_reserve(out, m->items.size + 256);
    gci_cbor_head(out, GCI_CBOR_MAP, 4);
    gci_cbor_text(out, (gci_view)GCI_VIEW("kind"));
    gci_cbor_text(out, run->graph->kind);
    gci_cbor_text(out, (gci_view)GCI_VIEW("rules"));
    gci_cbor_bytes(out, gci_view_of(canon->rules_hash.bytes, sizeof canon->rules_hash.bytes));
    gci_cbor_text(out, (gci_view)GCI_VIEW("format"));
    gci_cbor_text(out, (gci_view)GCI_VIEW(GCI_GRAPH_FORMAT));
    gci_cbor_text(out, (gci_view)GCI_VIEW("components"));
    gci_cbor_head(out, GCI_CBOR_MAP, canon->count);
    for (size_t i = 0; i < canon->count; i++) {
        gci_cbor_text(out, m->kept[i].name);
        gci_buf_append(out, m->items.data + m->kept[i].start, m->kept[i].size);
    }
    if (out->failed)
        gci_canon_fail_memory(run);
}

static void
list_symbols(gci_canon_run *run, gci_canonical *canon)
{
    gci_exprs const *exprs = run->exprs;
    bool is_new, added = true;

    canon->symbols = gci_arena_array(&canon->arena, exprs->named, sizeof *canon->symbols);
    for (uint32_t i = 0; i < exprs->named && canon->symbols != NULL && added; i++) {
        gci_view name = gci_arena_copy(&canon->arena, exprs->symbols.texts[exprs->order[i]]);
        gci_view bound = gci_arena_copy(&canon->arena, exprs->by_symbol[exprs->order[i]].bound);
        added = name.data != NULL && bound.data != NULL &&
                gci_intern_add(&canon->symbol_names, name, &is_new) != GCI_INTERN_NONE;
        if (added)
            canon->symbols[i] = (gcache_symbol){ .name = name.data, .canonical = bound.data + 1 };
    }
    if (canon->symbols == NULL || !added)
        gci_canon_fail_memory(run);
}

static void
make(gci_canon_run *run, gci_canonical *canon)
{
    size_t room = run->graph->component_count;
    making m = { .canon = canon };

    gci_buf_init(&m.items, GCI_BUF_NO_LIMIT);
    canon->components = gci_arena_array(&canon->arena, room, sizeof *canon->components);
    m.kept = gci_arena_array(&canon->arena, room, sizeof *m.kept);
    run->digest = gci_digest_new();
    gcache_rules_hash(run->rules, &canon->rules_hash);
    if (canon->components == NULL || m.kept == NULL || run->digest == NULL)
        gci_canon_fail_memory(run);
    else
        walk(run, finish_component, &m);
    if (run->status == GCACHE_OK) {
        qsort(canon->components, canon->count, sizeof *canon->components, compare_results);
        list_symbols(run, canon);
        if (run->keep_bytes)
            assemble(run, &m);
    }
    gci_buf_clear(&m.items);
}

static void
clear_run(gci_canon_run *run)
{
    gci_exprs_clear(run->exprs);
    gci_rewriter_free(run->rewriter);
    gci_digest_free(run->digest);
    gci_buf_clear(&run->out);
    gci_buf_clear(&run->members);
    gci_buf_clear(&run->occurrences);
    gci_arena_clear(&run->size_bytes);
    free(run->sizes);
}

gcache_status
gci_canonical_make(gcache_graph const *graph, bool keep_bytes, gci_trace_fn trace, void *trace_state,
                   gci_canonical **out_canon, gcache_error *error)
{
    gcache_error ignored;
    gcache_rules *own = NULL; /* the kind's rule set where the graph has none given to it */
    gci_exprs exprs;
    gci_canonical *canon = gci_canonical_new();
    gci_canon_run run = { .graph = graph, .canon = canon, .rules = graph->rules, .exprs = &exprs, .trace = trace,
                          .trace_state = trace_state, .keep_bytes = keep_bytes, .error = error != NULL ? error : &ignored };

    GCI_ASSERT(graph->status == GCACHE_OK && !graph->keyed);
    *out_canon = NULL;
    if (canon == NULL)
        return gci_fail_memory(error);
    gci_buf_init(&run.out, GCI_BUF_NO_LIMIT);
    gci_buf_init(&run.members, GCI_BUF_NO_LIMIT);
    gci_buf_init(&run.occurrences, GCI_BUF_NO_LIMIT);
    gci_exprs_init(&exprs, collect_occurrences, &run);
    gci_arena_init(&run.size_bytes, GCI_GRAPH_MAX_BYTES);
    run.sizes = calloc((size_t)graph->texts.count + 1, sizeof *run.sizes);
    if (run.sizes == NULL)
        gci_canon_fail_memory(&run);
    if (run.status == GCACHE_OK && run.rules == NULL) {
        run.status = gci_rules_of_kind(graph->kind, true, &own, run.error);
        run.rules = own;
    }
    if (run.status == GCACHE_OK)
        make(&run, canon);
    clear_run(&run);
    gcache_rules_free(own);
    if (run.status == GCACHE_OK)
        *out_canon = canon;
    else
        gci_canonical_free(canon);
    return run.status;
}
