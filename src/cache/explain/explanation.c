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

/* What a terminal shows at once; below a usual width it takes as many as it takes. */
#define LINES_MOST 25
#define COLUMNS_USUAL 80
#define ROOM_LEAST 2

static size_t
count_lines(gci_view text)
{
    size_t lines = 0;

    for (gci_view line; gci_view_next_line(&text, &line);)
        lines++;
    return lines;
}

void
gci_explain_write(gci_journal_entry *entry, gcache_explain_form form, gci_tell_fn *tell, gci_buf *out)
{
    gcache_options const *options = &entry->context.cache->options;
    gci_look look = { .columns = options->columns, .color = options->color, .brief = form == GCACHE_EXPLAIN_TEXT };
    bool bounded = look.brief && (look.columns == 0 || look.columns >= COLUMNS_USUAL);
    size_t before = out->size, room = look.brief ? GCI_ROOM_BRIEF : GCI_ROOM_ALL;

    for (;; room -= 2) {
        gci_story story;
        gci_story_init(&story);
        tell(entry, room, &story);
        gci_story_print(&story, look, out);
        gci_story_clear(&story);
        if (!bounded || room <= ROOM_LEAST || count_lines(gci_view_of(out->data + before, out->size - before)) <= LINES_MOST)
            return;
        out->size = before;
    }
}

static void
tell_present(gci_journal_entry *entry, size_t room, gci_story *story)
{
    gci_explain_tell(entry, room, story);
}

static void
write_page(gci_journal_entry const *entry, gci_buf *out)
{
    gci_story story;

    gci_story_init(&story);
    gci_explain_tell(entry, GCI_ROOM_ALL, &story);
    gci_explain_page(&story, out);
    gci_story_clear(&story);
}

static gcache_status
write_explanation(gci_journal_entry *entry, gcache_explain_form form, char **out_text, gcache_error *error)
{
    gci_buf text;

    gci_buf_init(&text, EXPLANATION_BYTES_MAX);
    if (form == GCACHE_EXPLAIN_JSON)
        gci_explain_json(entry, &text);
    else if (form == GCACHE_EXPLAIN_HTML)
        write_page(entry, &text);
    else
        gci_explain_write(entry, form, tell_present, &text);
    *out_text = gci_buf_take_text(&text);
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
        if (status == GCACHE_MISS && gci_entry_local_reason(entry) == GCACHE_REASON_NO_KEY)
            gci_history_find_fate(cache, &entry->context.key, UINT64_MAX, 0, &entry->trace);
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
    gci_context_know_sizes(&entry.context, &entry.context.arena);
    if (form != GCACHE_EXPLAIN_JSON)
        gci_context_show_sources(&entry.context, &entry.context.arena);
    if (status >= 0 && write_explanation(&entry, form, out_text, error) != GCACHE_OK)
        status = GCACHE_ERROR_MEMORY;
    gci_trace_clear(&entry.trace);
    gci_context_clear(&entry.context);
    return status;
}
