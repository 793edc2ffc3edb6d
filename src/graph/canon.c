/*
 * The canonical form as a whole: which components, in which order, hashed or kept; and what came of it.
 */
#include "graph/canon_run.h"

#include "base/check.h"
#include "base/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Enough to make hashing efficient, little enough to stay in the second-level cache. */
#define FLUSH_BYTES ((size_t)32 << 10)

/* What a trace shows of a value. */
#define TRACE_TEXT 200

struct gci_canonical {
    gcache_component *components;
    size_t count;
    gci_exprs exprs; /* the symbols' names; what is for reading expressions is unused */
    gcache_symbol *symbols;
    gci_buf text_names; /* gcache_text_name's */
    uint8_t rules_hash[GCI_SHA256_BYTES];
    gci_buf bytes; /* the whole form, if kept */
    bool kept;
    gci_arena arena;
};

/* ---- failing ---- */

static void
write_path(gci_canon_step const *step, gci_buf *out)
{
    if (step == NULL)
        return;
    write_path(step->outer, out);
    if (step->name.data == NULL)
        gci_buf_format(out, "[%u]", (unsigned)step->index);
    else
        gci_buf_format(out, "%s%.*s", out->size != 0 ? "." : "", (int)step->name.size, step->name.data);
}

/* The path to the present value, zero-terminated, in a buffer the caller clears. */
static char const *
path_of(gci_canon_run const *run, gci_buf *buffer)
{
    gci_buf_init(buffer, GCI_BUF_NO_LIMIT);
    write_path(run->step, buffer);
    gci_buf_append_char(buffer, '\0');
    return buffer->failed ? "" : buffer->data;
}

void
gci_canon_fail(gci_canon_run *run, gcache_status status, char const *format, ...)
{
    char message[sizeof run->error->message];
    gci_place place = { .name = run->graph->source_name.data };
    gci_buf path;
    va_list arguments;

    if (run->status != GCACHE_OK)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    place.path = path_of(run, &path);
    run->status = gci_fail_at(run->error, status, &place, "%s", message);
    gci_buf_clear(&path);
}

void
gci_canon_fail_memory(gci_canon_run *run)
{
    if (run->status == GCACHE_OK)
        run->status = gci_fail_memory(run->error);
}

/* ---- rules and the trace ---- */

static void
tell(gci_canon_run *run, gci_rule const *rule, gci_value const *value)
{
    gci_buf path, text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_json_write(&text, value);
    if (!text.failed) {
        gci_view shown = gci_view_of(text.data, text.size < TRACE_TEXT ? text.size : TRACE_TEXT);
        run->trace(run->trace_state, path_of(run, &path), rule, shown, (gci_view){ NULL, 0 });
        gci_buf_clear(&path);
    }
    gci_buf_clear(&text);
}

bool
gci_canon_dropped(gci_canon_run *run, gci_rules_state place, gci_value const *value)
{
    if (place == GCI_RULES_INERT)
        return false;
    gci_rule const *rule = gci_rules_drop(run->rules, place);
    if (rule != NULL && run->trace != NULL && run->mode == CANON_WRITE)
        tell(run, rule, value);
    return rule != NULL;
}

void
gci_canon_left_out(gci_canon_run *run, gci_view name, gci_value const *value)
{
    if (run->trace == NULL || run->mode != CANON_WRITE)
        return;
    gci_canon_step step = { .outer = run->step, .name = name };
    run->step = &step;
    tell(run, NULL, value);
    run->step = step.outer;
}

static void
tell_rewrite(void *state, gci_rule const *rule, gci_view from, gci_view to)
{
    gci_canon_run *run = state;
    gci_buf path;

    run->trace(run->trace_state, path_of(run, &path), rule, from, to);
    gci_buf_clear(&path);
}

static void
note_name(void *state, gci_view original, gci_view canonical)
{
    gci_canon_run *run = state;
    gci_canonical *canon = run->canon;
    gcache_text_name name = { .original = gci_arena_copy(&canon->arena, original).data,
                              .canonical = gci_arena_copy(&canon->arena, canonical).data };

    gci_buf_append(&canon->text_names, &name, sizeof name);
    if (name.original == NULL || name.canonical == NULL || canon->text_names.failed)
        gci_canon_fail_memory(run);
}

gci_view
gci_canon_rewrite(gci_canon_run *run, gci_view text, gci_rules_state place)
{
    gcache_error error;

    if (run->rewriter == NULL)
        run->rewriter = gci_rewriter_new(run->rules, run->trace != NULL ? tell_rewrite : NULL, note_name, run);
    if (run->rewriter == NULL) {
        gci_canon_fail_memory(run);
        return text;
    }
    gcache_status status = gci_rewriter_apply(run->rewriter, place, text, &text, &error);
    if (status != GCACHE_OK)
        gci_canon_fail(run, status, "%s", error.message);
    return text;
}

/* ---- components ---- */

void
gci_canon_flush(gci_canon_run *run)
{
    if (run->out.failed)
        gci_canon_fail_memory(run);
    if (run->hold != 0 || run->keep_bytes || run->out.size < FLUSH_BYTES)
        return;
    if (run->digest != NULL && !gci_digest_update(run->digest, run->out.data, run->out.size))
        gci_canon_fail(run, GCACHE_ERROR_INTERNAL, "SHA-256 failed");
    run->out.size = 0;
}

void
gci_canon_append(gci_canon_run *run, gci_view bytes)
{
    bool in_place = run->hold == 0 && !run->keep_bytes && run->digest != NULL && bytes.size >= FLUSH_BYTES;

    if (run->mode == CANON_COLLECT)
        return;
    if (!in_place) {
        gci_buf_append_view(&run->out, bytes);
        return;
    }
    if (!gci_digest_update(run->digest, run->out.data, run->out.size) ||
        !gci_digest_update(run->digest, bytes.data, bytes.size))
        gci_canon_fail(run, GCACHE_ERROR_INTERNAL, "SHA-256 failed");
    run->out.size = 0;
}

/* The components that count, in the order symbols are named: inputs, then the others by name. */
static int
compare_components(void const *a, void const *b)
{
    gci_component const *x = *(gci_component const *const *)a, *y = *(gci_component const *const *)b;
    bool x_first = x->type == GCI_COMPONENT_INPUTS, y_first = y->type == GCI_COMPONENT_INPUTS;

    return x_first != y_first ? (x_first ? -1 : 1) : gci_view_compare(x->name, y->name);
}

static gci_component const **
order_components(gcache_graph const *graph, size_t *out_count)
{
    gci_component const **order = malloc((graph->component_count + 1) * sizeof *order);

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
put_component(gci_canon_run *run, gci_component const *component, gci_rules_state place)
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
typedef void (*component_fn)(gci_canon_run *run, gci_component const *component, void *state);

static void
walk(gci_canon_run *run, component_fn fn, void *state)
{
    size_t count;
    gci_component const **order = order_components(run->graph, &count);
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
ignore_component(gci_canon_run *run, gci_component const *component, void *state)
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
finish_component(gci_canon_run *run, gci_component const *component, void *state)
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
    gci_cbor_bytes(out, gci_view_of(canon->rules_hash, sizeof canon->rules_hash));
    gci_cbor_text(out, (gci_view)GCI_VIEW("format"));
    gci_cbor_text(out, (gci_view)GCI_VIEW(GCI_GRAPH_FORMAT));
    gci_cbor_text(out, (gci_view)GCI_VIEW("components"));
    gci_cbor_head(out, GCI_CBOR_MAP, canon->count);
    for (size_t i = 0; i < canon->count; i++) {
        gci_cbor_text(out, m->kept[i].name);
        gci_buf_append(out, m->items.data + m->kept[i].start, m->kept[i].size);
    }
    canon->kept = true;
    if (out->failed)
        gci_canon_fail_memory(run);
}

static void
list_symbols(gci_canon_run *run, gci_canonical *canon)
{
    gci_exprs const *exprs = &canon->exprs;

    canon->symbols = gci_arena_array(&canon->arena, exprs->named, sizeof *canon->symbols);
    if (canon->symbols == NULL) {
        gci_canon_fail_memory(run);
        return;
    }
    for (uint32_t i = 0; i < exprs->named; i++) {
        gci_view name = gci_arena_copy(&canon->arena, exprs->symbols.texts[exprs->order[i]]);
        if (name.data == NULL) {
            gci_canon_fail_memory(run);
            return;
        }
        canon->symbols[i].name = name.data;
        canon->symbols[i].canonical = exprs->names[exprs->order[i]].text.data + 1;
    }
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
    gci_rules_hash(run->rules, canon->rules_hash);
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
    gci_rewriter_free(run->rewriter);
    gci_digest_free(run->digest);
    gci_buf_clear(&run->out);
    gci_buf_clear(&run->members);
    gci_buf_clear(&run->occurrences);
    gci_arena_clear(&run->size_bytes);
    free(run->sizes);
}

/* A run and its result; own is the kind's rule set where the graph has none given to it. */
static gcache_status
run_canonical(gcache_graph const *graph, bool keep_bytes, gci_trace_fn trace, void *trace_state,
              gci_canonical **out_canon, gcache_error *error)
{
    gcache_error ignored;
    gcache_rules *own = NULL;
    gci_canonical *canon = calloc(1, sizeof *canon);
    gci_canon_run run = { .graph = graph, .rules = graph->rules, .trace = trace, .trace_state = trace_state,
                          .keep_bytes = keep_bytes, .error = error != NULL ? error : &ignored };

    *out_canon = NULL;
    if (canon == NULL)
        return gci_fail_memory(error);
    gci_arena_init(&canon->arena, GCI_GRAPH_MAX_BYTES);
    gci_buf_init(&canon->bytes, GCI_BUF_NO_LIMIT);
    gci_buf_init(&canon->text_names, GCI_BUF_NO_LIMIT);
    run.canon = canon;
    gci_buf_init(&run.out, GCI_BUF_NO_LIMIT);
    gci_buf_init(&run.members, GCI_BUF_NO_LIMIT);
    gci_buf_init(&run.occurrences, GCI_BUF_NO_LIMIT);
    gci_exprs_init(&canon->exprs, collect_occurrences, &run);
    run.exprs = &canon->exprs;
    gci_arena_init(&run.size_bytes, GCI_GRAPH_MAX_BYTES);
    run.sizes = calloc((size_t)graph->texts.count + 1, sizeof *run.sizes);
    if (run.sizes == NULL)
        gci_canon_fail_memory(&run);
    if (run.status == GCACHE_OK && run.rules == NULL) {
        run.status = gci_rules_of_kind(graph->kind, &own, run.error);
        run.rules = own;
    }
    if (run.status == GCACHE_OK)
        make(&run, canon);
    clear_run(&run);
    gcache_rules_free(own);
    if (run.status != GCACHE_OK) {
        gci_canonical_free(canon);
        return run.status;
    }
    *out_canon = canon;
    return GCACHE_OK;
}

gcache_status
gci_canonical_make(gcache_graph const *graph, bool keep_bytes, gci_canonical **out_canon, gcache_error *error)
{
    GCI_ASSERT(graph->status == GCACHE_OK && !graph->keyed);
    return run_canonical(graph, keep_bytes, NULL, NULL, out_canon, error);
}

gcache_status
gci_canonical_trace(gcache_graph const *graph, gci_trace_fn fn, void *state, gcache_error *error)
{
    gci_canonical *canon;

    GCI_ASSERT(graph->status == GCACHE_OK && !graph->keyed);
    gcache_status status = run_canonical(graph, false, fn, state, &canon, error);
    gci_canonical_free(canon);
    return status;
}

void
gci_canonical_free(gci_canonical *canon)
{
    if (canon == NULL)
        return;
    gci_exprs_clear(&canon->exprs);
    gci_buf_clear(&canon->bytes);
    gci_buf_clear(&canon->text_names);
    gci_arena_clear(&canon->arena);
    free(canon);
}

size_t
gci_canonical_count(gci_canonical const *canon)
{
    return canon->count;
}

gcache_component const *
gci_canonical_components(gci_canonical const *canon)
{
    return canon->components;
}

gcache_symbol const *
gci_canonical_symbols(gci_canonical const *canon, size_t *out_count)
{
    *out_count = canon->exprs.named;
    return canon->symbols;
}

gcache_text_name const *
gci_canonical_text_names(gci_canonical const *canon, size_t *out_count)
{
    *out_count = canon->text_names.size / sizeof(gcache_text_name);
    return (gcache_text_name const *)(void const *)canon->text_names.data;
}

gci_view
gci_canonical_bound_name(gci_canonical const *canon, gci_view name)
{
    uint32_t symbol = gci_intern_find(&canon->exprs.symbols, name);

    return symbol != GCI_INTERN_NONE ? canon->exprs.names[symbol].text : (gci_view){ NULL, 0 };
}

gci_view
gci_canonical_bytes(gci_canonical const *canon)
{
    return canon->kept ? gci_buf_view(&canon->bytes) : (gci_view){ NULL, 0 };
}

void
gci_canonical_rules_hash(gci_canonical const *canon, uint8_t out_hash[GCI_SHA256_BYTES])
{
    memcpy(out_hash, canon->rules_hash, GCI_SHA256_BYTES);
}
