/*
 * Explaining past misses: the journal's trace in the same words as a present one's, and what has changed since.
 */
#include "base/check.h"
#include "cache/candidates/sources.h"
#include "cache/explain/explanation.h"
#include "cache/explain/html_page.h"
#include "cache/handle/words.h"
#include "cache/journal/history.h"
#include "cache/lookup/cache_lookup.h"

/* A whole journal, explained in JSON. */
#define EXPLANATIONS_BYTES_MAX ((size_t)256 << 20)

/* ---- what nobody had stored ---- */

/*
 * The journal keeps what was asked for, so only the stored side is looked up: among the keys that were there then. Where
 * the canonical form was too long for the journal, the key may have been stored since, and with it the form.
 */
static void
find_nearest(gci_journal_entry *entry)
{
    gci_store *store = entry->context.cache->store;
    gci_stored_description *stored = NULL;
    gci_candidates *set = NULL;
    gci_description asked = entry->asked;

    if (asked.canonical.size == 0 && gci_store_description(store, &entry->key, &stored, NULL) == GCI_FOUND)
        asked.canonical = gci_stored_description_get(stored)->canonical;
    entry->trace.namespace_ = entry->namespace_;
    gci_trace_find_nearest_of(&entry->trace, store, &asked, entry->at_ns);
    gci_stored_description_free(stored);
    /* Stored since then: it doesn't count among those that were there. */
    if (entry->trace.stored_keys != 0 && gci_store_candidates(store, &entry->key, &set, NULL) == GCI_FOUND)
        entry->trace.stored_keys--;
    gci_candidates_release(set);
}

/* ---- what has changed ---- */

static void
write_hit_now(gci_journal_entry const *entry, gci_trace const *trace, gci_buf *out)
{
    gci_record const *record = &trace->winner->ranked->candidate->record;

    gci_buf_format(out, "\n  since then: now it hits %.*s, stored ", GCI_SHORT_ENTRY_DIGITS, record->id);
    gci_phrase(out, record->created_ns < entry->at_ns ? "{} already\n" : "{}\n", GCI_AS_MOMENT(record->created_ns));
}

/* Looks the same up in the cache as it is now. */
static void
write_change(gci_journal_entry *entry, gcache_explain_form form, gci_buf *out)
{
    gcache_result now = GCACHE_RESULT_INIT;
    gci_trace trace;

    if (entry->reason == GCACHE_REASON_BYPASS || entry->context.request.guard_test != NULL)
        return;
    gci_trace_init(&trace);
    gcache_status status = gci_lookup_traced(&entry->context, &trace, &now, NULL);
    bool changed = status == GCACHE_HIT || (status == GCACHE_MISS && now.reason != entry->reason);
    if (form == GCACHE_EXPLAIN_JSON && status >= 0)
        gci_buf_format(out, ", \"now\": {\"outcome\": \"%s\", \"reason\": \"%s\"}", status == GCACHE_HIT ? "hit" : "miss",
                       gcache_reason_name(now.reason));
    else if (changed && status == GCACHE_HIT)
        write_hit_now(entry, &trace, out);
    else if (changed)
        gci_buf_format(out, "\n  since then: now it is a miss for another reason: %s, %s\n", gcache_reason_name(now.reason),
                       gcache_reason_text(now.reason));
    gcache_result_clear(&now);
    gci_trace_clear(&trace);
}

/* ---- one past miss ---- */

typedef struct explainer {
    gcache_explain_form form;
    gci_buf *out;
    size_t count;
    gcache_status status;
    gcache_error *error;
} explainer;

static void
write_json(gci_journal_entry *entry, gci_buf *out)
{
    gci_explain_json(entry, out);
    if (!out->failed && out->size != 0)
        out->size--; /* the closing brace: there is more to say */
    gci_buf_format(out, ", \"process\": %u", entry->process);
    write_change(entry, GCACHE_EXPLAIN_JSON, out);
    gci_buf_append_text(out, "}\n");
}

static void
write_html(gci_journal_entry *entry, gci_buf *out)
{
    gci_buf change;

    gci_buf_init(&change, GCI_BUF_NO_LIMIT);
    write_change(entry, GCACHE_EXPLAIN_TEXT, &change);
    gci_explain_html(entry, gci_buf_view(&change), out);
    gci_buf_clear(&change);
}

void
gci_explain_entry(gci_journal_entry *entry, gcache_explain_form form, gci_buf *out)
{
    if (entry->reason == GCACHE_REASON_NO_KEY) {
        find_nearest(entry);
        gci_history_find_not_stored(entry->context.cache, &entry->key, entry->at_ns, &entry->trace);
    }
    if (form == GCACHE_EXPLAIN_JSON) {
        write_json(entry, out);
        return;
    }
    gci_context_show_sources(&entry->context, &entry->arena);
    if (form == GCACHE_EXPLAIN_HTML) {
        write_html(entry, out);
        return;
    }
    gci_explain_text(entry, form == GCACHE_EXPLAIN_TEXT, out);
    write_change(entry, form, out);
}

static int
explain_one(void *state, gci_journal_entry *entry)
{
    explainer *t = state;

    t->status = gci_journal_entry_open(entry, t->error);
    if (t->status != GCACHE_OK)
        return 1;
    if (t->count++ > 0 && t->form <= GCACHE_EXPLAIN_ALL)
        gci_buf_append_char(t->out, '\n');
    gci_explain_entry(entry, t->form, t->out);
    return 0;
}

gcache_status
gcache_journal_explain(gcache *cache, gcache_journal_query const *query, gcache_explain_form form, char **out_text,
                    size_t *out_count, gcache_error *error)
{
    gcache_journal_query misses = GCACHE_JOURNAL_QUERY_INIT;
    gci_buf out;

    GCI_REQUIRE(cache != NULL && out_text != NULL, error, "cache or out_text is NULL");
    GCI_REQUIRE(form <= GCACHE_EXPLAIN_HTML, error, "unknown form %d", (int)form);
    *out_text = NULL;
    gci_buf_init(&out, EXPLANATIONS_BYTES_MAX);
    explainer t = { .form = form, .out = &out, .error = error };
    if (query != NULL)
        misses = *query;
    misses.misses_only = true;
    if (form == GCACHE_EXPLAIN_HTML)
        gci_explain_page_begin(&out);
    gcache_status status = gci_history_each(cache, &misses, explain_one, &t, error);
    if (status == GCACHE_OK)
        status = t.status;
    if (form == GCACHE_EXPLAIN_HTML && t.count == 0)
        gci_buf_append_text(&out, "<p>The journal has no such miss.</p>\n");
    if (form == GCACHE_EXPLAIN_HTML)
        gci_html_page_end(&out);
    if (status == GCACHE_OK) {
        *out_text = gci_buf_take_text(&out);
        status = *out_text != NULL ? GCACHE_OK : gci_fail_memory(error);
    }
    gci_buf_clear(&out);
    if (out_count != NULL)
        *out_count = t.count;
    return status;
}
