/*
 * gcache_explain: a lookup with a trace, and the trace in words.
 */
#include "cache/explain/explanation.h"

#include "base/check.h"
#include "cache/candidates/sources.h"
#include "cache/journal/history.h"
#include "cache/lookup/cache_lookup.h"
#include "cache/lookup/result.h"

/* The longest: a thousand candidates with guards of 30,000 characters, in JSON. */
#define EXPLANATION_BYTES_MAX ((size_t)256 << 20)

void
gci_explain_print(gci_journal_entry const *entry, gcache_explain_form form, gci_story *story, gci_buf *out)
{
    gcache_options const *options = &entry->context.cache->options;
    gci_look look = { .columns = options->columns, .color = options->color, .brief = form == GCACHE_EXPLAIN_TEXT };

    gci_story_print(story, look, out);
}

static gcache_status
write_explanation(gci_journal_entry const *entry, gcache_explain_form form, char **out_text, gcache_error *error)
{
    gci_story story;
    gci_buf text;

    gci_story_init(&story);
    gci_buf_init(&text, EXPLANATION_BYTES_MAX);
    if (form != GCACHE_EXPLAIN_JSON)
        gci_explain_tell(entry, form == GCACHE_EXPLAIN_TEXT, &story);
    if (form == GCACHE_EXPLAIN_JSON)
        gci_explain_json(entry, &text);
    else if (form == GCACHE_EXPLAIN_HTML)
        gci_explain_page(&story, &text);
    else
        gci_explain_print(entry, form, &story, &text);
    *out_text = gci_buf_take_text(&text);
    gci_story_clear(&story);
    return *out_text != NULL ? GCACHE_OK : gci_fail_memory(error);
}

static gcache_status
miss_unseen(gci_journal_entry *entry, gcache_reason reason, char const *bypass)
{
    entry->reason = reason;
    entry->bypass = bypass;
    return GCACHE_MISS;
}

/* Fills what the journal would have written of such a lookup. GCACHE_HIT, GCACHE_MISS or an error. */
static gcache_status
look_up_to_explain(gci_journal_entry *entry, gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                   gcache_request const *request, gcache_error *error)
{
    gci_admission admission = gci_admit(&cache->gate, &(gci_call){ .request = request }, GCI_LOOK_UP);
    gcache_result result = GCACHE_RESULT_INIT;

    if (admission.by == GCI_BY_DISABLED || admission.by == GCI_BY_BYPASS) {
        entry->context = (gci_context){ .cache = cache, .graph = graph };
        if (request != NULL)
            entry->context.request = *request;
        return miss_unseen(entry, admission.reason, admission.why);
    }
    gcache_status status = gci_context_init(&entry->context, cache, graph, hints, request, error);
    if (status == GCACHE_REFUSED)
        return miss_unseen(entry, GCACHE_REASON_BYPASS, error->message);
    if (status == GCACHE_OK && admission.by == GCI_BY_REFRESH)
        return miss_unseen(entry, admission.reason, NULL);
    if (status == GCACHE_OK) {
        status = gci_lookup_traced(&entry->context, &entry->trace, &result, error);
        entry->kind = status == GCACHE_HIT ? GCACHE_JOURNAL_HIT : GCACHE_JOURNAL_MISS;
        entry->reason = result.reason;
        if (status == GCACHE_MISS && result.reason == GCACHE_REASON_NO_KEY)
            gci_history_find_not_stored(cache, &entry->context.key, UINT64_MAX, &entry->trace);
        gcache_result_clear(&result);
    }
    return status;
}

gcache_status
gcache_explain(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_request const *request,
               gcache_explain_form form, char **out_text, gcache_error *error)
{
    gci_journal_entry entry = { .kind = GCACHE_JOURNAL_MISS };
    gcache_error local;

    GCI_REQUIRE(cache != NULL && graph != NULL && out_text != NULL, error, "cache, graph or out_text is NULL");
    GCI_REQUIRE(form <= GCACHE_EXPLAIN_HTML, error, "unknown form %d", (int)form);
    *out_text = NULL;
    if (error == NULL)
        error = &local;
    gci_trace_init(&entry.trace);
    gcache_status status = look_up_to_explain(&entry, cache, graph, hints, request, error);
    gci_context_complete_request(&entry.context, true, &entry.context.request, &entry.context.arena);
    if (form != GCACHE_EXPLAIN_JSON)
        gci_context_show_sources(&entry.context, &entry.context.arena);
    if (status >= 0 && write_explanation(&entry, form, out_text, error) != GCACHE_OK)
        status = GCACHE_ERROR_MEMORY;
    gci_trace_clear(&entry.trace);
    gci_context_clear(&entry.context);
    return status;
}
