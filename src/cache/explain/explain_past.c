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

/* Somebody else's keys have no form, but texts of their components; the journal of a former version didn't say so. */
static bool
has_no_form(gci_journal_entry const *entry)
{
    bool texts = false;

    for (size_t i = 0; i < entry->asked.component_count; i++)
        texts |= entry->asked.components[i].text.size != 0;
    return entry->form_size == 0 && (entry->looked_ns != 0 || texts);
}

/* The form as the journal has it, or from the entry that has been stored under the key since. false: it is lost. */
static bool
find_form(gci_journal_entry const *entry, gci_description *asked, gci_buf *form, gci_stored_description **out_stored)
{
    if (entry->asked.canonical.size != 0)
        return true;
    if (entry->packed.size != 0 && gci_store_unpack(entry->packed, entry->form_size, form)) {
        asked->canonical = gci_buf_view(form);
        return true;
    }
    if (gci_store_description(entry->context.cache->store, &entry->key, out_stored, NULL) != GCI_FOUND)
        return has_no_form(entry);
    *asked = *gci_stored_description_get(*out_stored);
    return true;
}

/* The journal keeps what was asked for, so only the stored side is looked up: among the keys that were there then. */
static void
find_nearest(gci_journal_entry *entry)
{
    gci_store *store = entry->context.cache->store;
    gci_stored_description *stored = NULL;
    gci_description asked = entry->asked;
    gci_near_question question = { .key = &entry->key, .asked = &asked, .label = entry->label,
                                   .before_ns = entry->at_ns };
    gci_buf form;

    gci_buf_init(&form, GCI_BUF_NO_LIMIT);
    if (!find_form(entry, &asked, &form, &stored)) {
        entry->trace.lost = true;
        entry->trace.lost_bytes = entry->form_size;
        question.sketch = entry->sketch;
    } else if (stored == NULL && form.size == 0 && asked.canonical.size == 0) {
        question.sketch = entry->sketch;
    }
    entry->trace.namespace_ = entry->namespace_;
    gci_trace_find_nearest_of(&entry->trace, store, &question);
    gci_stored_description_free(stored);
    gci_buf_clear(&form);
}

/* ---- what has changed ---- */

/* What the same lookup finds in the cache as it is now. */
typedef struct lookup_now {
    bool any_names; /* the journal didn't keep the names in texts, and they would decide */
    gcache_result result;
    gci_trace trace;
    gcache_status status; /* a hit or a miss; else nothing is to be said */
} lookup_now;

static void
tell_hit_now(gci_journal_entry const *entry, lookup_now const *now, gci_buf *out)
{
    gci_record const *record = &now->trace.winner->ranked->candidate->record;

    gci_buf_format(out, "now it hits %.*s, stored ", GCI_SHORT_ENTRY_DIGITS, record->id);
    gci_phrase(out, record->created_ns < entry->at_ns ? "{} already" : "{}", GCI_AS_MOMENT(record->created_ns));
    gci_buf_append_text(out, now->any_names ? ", if its names are the same" : "");
}

static void
now_clear(lookup_now *now)
{
    gcache_result_clear(&now->result);
    gci_trace_clear(&now->trace);
}

static void
look_up_now(gci_journal_entry *entry, lookup_now *out)
{
    *out = (lookup_now){ .result = GCACHE_RESULT_INIT, .status = GCACHE_REFUSED };
    gci_trace_init(&out->trace);
    /* Of a cut entry not all hints are known. */
    if (entry->reason != GCACHE_REASON_BYPASS && entry->context.request.guard_test == NULL && !entry->cut)
        out->status = gci_lookup_traced(&entry->context, &out->trace, &out->result, NULL);
    if (out->status != GCACHE_MISS || out->result.reason != GCACHE_REASON_NAMES || entry->reason == GCACHE_REASON_NAMES)
        return;
    now_clear(out);
    *out = (lookup_now){ .result = GCACHE_RESULT_INIT, .any_names = true };
    gci_trace_init(&out->trace);
    entry->context.request.accept_renames = true;
    out->status = gci_lookup_traced(&entry->context, &out->trace, &out->result, NULL);
    entry->context.request.accept_renames = false;
}

static void
tell_change(gci_journal_entry const *entry, lookup_now const *now, gci_story *story)
{
    if (now->status != GCACHE_HIT && (now->status != GCACHE_MISS || now->result.reason == entry->reason))
        return;
    gci_story_say(story, GCI_BLOCK_NOTE, "since then");
    gci_buf *out = gci_story_part(story, GCI_NOTE_TEXT);
    if (now->status == GCACHE_HIT)
        tell_hit_now(entry, now, out);
    else
        gci_buf_format(out, "now it is a miss for another reason: %s, %s", gcache_reason_name(now->result.reason),
                       gcache_reason_text(now->result.reason));
}

static void
write_now_json(lookup_now const *now, gci_buf *out)
{
    gci_buf_format(out, ", \"now\": {\"outcome\": \"%s\", \"reason\": ", now->status == GCACHE_HIT ? "hit" : "miss");
    gci_explain_reason_json(now->result.reason, out);
    gci_buf_append_char(out, '}');
}

static void
write_change_json(gci_journal_entry *entry, gci_buf *out)
{
    lookup_now now;

    look_up_now(entry, &now);
    if (now.status == GCACHE_HIT || now.status == GCACHE_MISS)
        write_now_json(&now, out);
    now_clear(&now);
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
    write_change_json(entry, out);
    gci_buf_append_text(out, "}\n");
}

/* What is looked up only when somebody asks. */
static void
complete(gci_journal_entry *entry)
{
    gci_context_know_sizes(&entry->context, &entry->arena);
    if (gci_entry_local_reason(entry) != GCACHE_REASON_NO_KEY)
        return;
    find_nearest(entry);
    gci_history_find_fate(entry->context.cache, &entry->key, entry->at_ns, entry->process, &entry->trace);
}

/* Candidates of now that were there then, in their order and numbered as then; returns how many. */
static size_t
trials_of_then(gci_journal_entry const *entry, gci_trace const *now, gci_trial *out)
{
    size_t count = 0;

    for (size_t i = 0; i < now->trial_count; i++) {
        if (gci_trial_is_evicted(now, &now->trials[i]) ||
            now->trials[i].ranked->candidate->record.created_ns >= entry->at_ns)
            continue;
        out[count] = now->trials[i];
        out[count].rank = count;
        count++;
    }
    return count;
}

static bool
is_same(gci_trial const *kept, gci_trial const *of_then)
{
    return kept->reason == of_then->reason &&
           strcmp(kept->ranked->candidate->record.id, of_then->ranked->candidate->record.id) == 0;
}

/*
 * The journal keeps a few of the candidates that guards decided about. If as many as there were are there still, they are the
 * same, and failed then as they do now: so all can be told. Else nothing is changed.
 */
static void
recall_trials(gci_journal_entry *entry, lookup_now const *now, gci_arena *arena)
{
    gci_trace *trace = &entry->trace;
    bool by_guard = entry->reason == GCACHE_REASON_GUARD_FALSE || entry->reason == GCACHE_REASON_GUARD_ERROR;
    gci_trial *trials = gci_arena_array(arena, now->trace.trial_count, sizeof *trials);

    if (!by_guard || now->status < GCACHE_OK || trace->trial_count >= trace->live_count || trials == NULL ||
        trials_of_then(entry, &now->trace, trials) != trace->live_count)
        return;
    for (size_t i = 0; i < trace->trial_count; i++)
        if (trace->trials[i].rank >= trace->live_count || !is_same(&trace->trials[i], &trials[trace->trials[i].rank]))
            return;
    trace->trials = trials;
    trace->trial_count = trace->live_count;
}

static void
tell_completed(gci_journal_entry *entry, size_t room, gci_story *story)
{
    gci_trial *kept = entry->trace.trials;
    size_t kept_count = entry->trace.trial_count;
    lookup_now now;
    gci_arena arena;

    gci_arena_init(&arena, SIZE_MAX / 2);
    look_up_now(entry, &now);
    recall_trials(entry, &now, &arena);
    gci_explain_tell(entry, room, story);
    tell_change(entry, &now, story);
    entry->trace.trials = kept;
    entry->trace.trial_count = kept_count;
    now_clear(&now);
    gci_arena_clear(&arena);
}

void
gci_explain_tell_past(gci_journal_entry *entry, size_t room, gci_story *story)
{
    complete(entry);
    gci_context_show_sources(&entry->context, &entry->arena);
    tell_completed(entry, room, story);
}

static void
write_html(gci_journal_entry *entry, gci_buf *out)
{
    gci_story story;

    gci_story_init(&story);
    tell_completed(entry, GCI_ROOM_ALL, &story);
    gci_story_html(&story, 2, out);
    gci_story_clear(&story);
}

void
gci_explain_entry(gci_journal_entry *entry, gcache_explain_form form, gci_buf *out)
{
    complete(entry);
    if (form == GCACHE_EXPLAIN_JSON) {
        write_json(entry, out);
        return;
    }
    gci_context_show_sources(&entry->context, &entry->arena);
    if (form == GCACHE_EXPLAIN_HTML)
        write_html(entry, out);
    else
        gci_explain_write(entry, form, tell_completed, out);
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
