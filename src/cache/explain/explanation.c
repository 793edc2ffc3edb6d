/*
 * gcache_explain: a lookup with a trace, and the trace in words.
 */
#include "cache/explain/explanation.h"

#include "base/check.h"
#include "cache/journal/history.h"
#include "cache/lookup/cache_lookup.h"
#include "cache/lookup/result.h"

/* The longest: a thousand candidates with guards of 30,000 characters, in JSON. */
#define EXPLANATION_BYTES_MAX ((size_t)256 << 20)

static gcache_status
write_explained(gci_explained const *explained, gcache_explain_form form, char **out_text, gcache_error *error)
{
    gci_buf text;

    gci_buf_init(&text, EXPLANATION_BYTES_MAX);
    if (form == GCACHE_EXPLAIN_JSON)
        gci_explain_json(explained, &text);
    else
        gci_explain_text(explained, form == GCACHE_EXPLAIN_TEXT, &text);
    *out_text = gci_buf_take_text(&text);
    return *out_text != NULL ? explained->outcome : gci_fail_memory(error);
}

/* Finds out what there is to tell. GCACHE_HIT, GCACHE_MISS or an error. */
static gcache_status
find_explained(gci_explained *explained, gci_context *context, gci_trace *trace, gcache *cache, gcache_graph *graph,
           gcache_hints const *hints, gcache_request const *request, gcache_error *error)
{
    gci_admission admission = gci_admit(&cache->gate, &(gci_call){ .request = request }, GCI_LOOK_UP);
    gcache_result result = GCACHE_RESULT_INIT;

    if (admission.by == GCI_BY_DISABLED || admission.by == GCI_BY_BYPASS) {
        explained->reason = admission.reason;
        explained->bypass = admission.by == GCI_BY_BYPASS ? admission.why : NULL;
        *context = (gci_context){ .cache = cache, .graph = graph };
        if (request != NULL)
            context->request = *request;
        return GCACHE_MISS;
    }
    gcache_status status = gci_context_init(context, cache, graph, hints, request, error);
    if (status == GCACHE_REFUSED) {
        explained->reason = GCACHE_REASON_BYPASS;
        explained->bypass = error->message;
        return GCACHE_MISS;
    }
    if (status == GCACHE_OK && admission.by == GCI_BY_REFRESH) {
        explained->reason = admission.reason;
        return GCACHE_MISS;
    }
    if (status == GCACHE_OK) {
        status = gci_lookup(context, trace, &result, error);
        explained->reason = result.reason;
        if (status == GCACHE_MISS && result.reason == GCACHE_REASON_NO_KEY)
            gci_history_find_not_stored(cache, &context->key, UINT64_MAX, trace);
        gcache_result_clear(&result);
    }
    return status;
}

gcache_status
gcache_explain(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_request const *request,
               gcache_explain_form form, char **out_text, gcache_error *error)
{
    gcache_error local;
    gci_context context = { 0 };
    gci_trace trace;

    GCI_REQUIRE(cache != NULL && graph != NULL && out_text != NULL, error, "cache, graph or out_text is NULL");
    GCI_REQUIRE(form <= GCACHE_EXPLAIN_JSON, error, "unknown form %d", (int)form);
    *out_text = NULL;
    if (error == NULL)
        error = &local;
    gci_trace_init(&trace);
    gci_explained explained = { .context = &context, .trace = &trace };
    explained.outcome = find_explained(&explained, &context, &trace, cache, graph, hints, request, error);
    gcache_status status = explained.outcome;
    if (status == GCACHE_HIT || status == GCACHE_MISS)
        status = write_explained(&explained, form, out_text, error);
    gci_trace_clear(&trace);
    gci_context_clear(&context);
    return status;
}
