/*
 * Explaining past misses: the journal's trace in the same words as a present one's, and what has changed since.
 */
#include "base/check.h"
#include "base/system/clock.h"
#include "cache/explain/explanation.h"
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
find_nearest(gci_past *past)
{
    gci_store *store = past->question.cache->store;
    gci_stored_description *stored = NULL;
    gci_candidates *set = NULL;
    gci_description asked = past->asked;

    if (asked.canonical.size == 0 && gci_store_description(store, &past->key, &stored, NULL) == GCI_FOUND)
        asked.canonical = gci_stored_description_get(stored)->canonical;
    gci_trace_find_nearest_of(&past->trace, store, &asked, past->at_ns);
    gci_stored_description_free(stored);
    /* Stored since then: it doesn't count among those that were there. */
    if (past->trace.stored_keys != 0 && gci_store_candidates(store, &past->key, &set, NULL) == GCI_FOUND)
        past->trace.stored_keys--;
    gci_candidates_release(set);
}

/* ---- what has changed ---- */

static bool
can_be_asked_again(gci_past const *past)
{
    return past->reason != GCACHE_REASON_BYPASS && past->question.request.guard_test == NULL;
}

static void
write_hit_now(gci_past const *past, gci_trace const *trace, gci_buf *out)
{
    gci_record const *record = &trace->winner->ranked->candidate->record;

    gci_buf_format(out, "\n  since then: now it hits %.*s, stored ", GCI_SHORT_ENTRY_DIGITS, record->id);
    gci_write_moment(out, record->created_ns, gci_clock_wall_ns());
    gci_buf_append_text(out, record->created_ns < past->at_ns ? " already\n" : "\n");
}

/* Asks the same question of the cache as it is now. */
static void
write_change(gci_past *past, gcache_explain_form form, gci_buf *out)
{
    gcache_result now = GCACHE_RESULT_INIT;
    gci_trace trace;

    if (!can_be_asked_again(past))
        return;
    gci_trace_init(&trace);
    gcache_status status = gci_lookup(&past->question, &trace, &now, NULL);
    bool changed = status == GCACHE_HIT || (status == GCACHE_MISS && now.reason != past->reason);
    if (form == GCACHE_EXPLAIN_JSON && status >= 0)
        gci_buf_format(out, ", \"now\": {\"outcome\": \"%s\", \"reason\": \"%s\"}", status == GCACHE_HIT ? "hit" : "miss",
                       gcache_reason_name(now.reason));
    else if (changed && status == GCACHE_HIT)
        write_hit_now(past, &trace, out);
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
write_json(gci_story const *story, gci_past *past, gci_buf *out)
{
    gci_explain_json(story, out);
    if (!out->failed && out->size != 0)
        out->size--; /* the closing brace: there is more to say */
    gci_buf_format(out, ", \"process\": %u", past->process);
    write_change(past, GCACHE_EXPLAIN_JSON, out);
    gci_buf_append_text(out, "}\n");
}

void
gci_explain_past(gci_past *past, gcache_explain_form form, gci_buf *out)
{
    gci_story story = {
        .question = &past->question,
        .trace = &past->trace,
        .outcome = GCACHE_MISS,
        .reason = past->reason,
        .bypass = past->reason == GCACHE_REASON_BYPASS ? past->bypass : NULL,
        .at_ns = past->at_ns,
        .cost_ns = past->compile_ns,
        .former = past->former,
        .cut = past->cut,
    };

    if (past->reason == GCACHE_REASON_NO_KEY) {
        find_nearest(past);
        gci_history_find_not_stored(past->question.cache, &past->key, past->at_ns, &past->trace);
    }
    if (form == GCACHE_EXPLAIN_JSON) {
        write_json(&story, past, out);
        return;
    }
    gci_explain_text(&story, form == GCACHE_EXPLAIN_TEXT, out);
    write_change(past, form, out);
}

static int
explain_one(void *state, gci_past *past)
{
    explainer *t = state;

    t->status = gci_past_open(past, t->error);
    if (t->status != GCACHE_OK)
        return 1;
    if (t->count++ > 0 && t->form != GCACHE_EXPLAIN_JSON)
        gci_buf_append_char(t->out, '\n');
    gci_explain_past(past, t->form, t->out);
    return 0;
}

gcache_status
gcache_journal_explain(gcache *cache, gcache_journal_query const *query, gcache_explain_form form, char **out_text,
                    size_t *out_count, gcache_error *error)
{
    gcache_journal_query misses = GCACHE_JOURNAL_QUERY_INIT;
    gci_buf out;

    GCI_REQUIRE(cache != NULL && out_text != NULL, error, "cache or out_text is NULL");
    GCI_REQUIRE(form <= GCACHE_EXPLAIN_JSON, error, "unknown form %d", (int)form);
    *out_text = NULL;
    gci_buf_init(&out, EXPLANATIONS_BYTES_MAX);
    explainer t = { .form = form, .out = &out, .error = error };
    if (query != NULL)
        misses = *query;
    misses.misses_only = true;
    gcache_status status = gci_history_each(cache, &misses, explain_one, &t, error);
    if (status == GCACHE_OK)
        status = t.status;
    if (status == GCACHE_OK) {
        *out_text = gci_buf_take_text(&out);
        status = *out_text != NULL ? GCACHE_OK : gci_fail_memory(error);
    }
    gci_buf_clear(&out);
    if (out_count != NULL)
        *out_count = t.count;
    return status;
}
