/*
 * A lookup's trace as JSON: everything the text has, for programs. docs/formats/explain.md lists the members.
 */
#include "base/text/json.h"
#include "cache/candidates/names.h"
#include "cache/explain/explanation.h"
#include "cache/handle/words.h"

/* ---- candidates ---- */

static void
write_verdict(gci_buf *out, gcache_truth truth, gcache_verdict const *verdict)
{
    if (truth != GCACHE_RAISES) {
        gci_buf_append_text(out, truth == GCACHE_TRUE ? "true" : "false");
        return;
    }
    gci_buf_append_text(out, "\"error\"");
    gci_json_member_text(out, "error", gci_view_text(verdict->exception));
    gci_json_member_text(out, "message", gci_view_text(verdict->message));
}

/* A guard whose text the journal left out: those before the failing one held. */
static void
write_left_out(gci_trial const *trial, size_t index, gci_buf *out)
{
    gci_buf_append_text(out, ", \"cut\": true, \"result\": ");
    gci_buf_append_text(out, index < trial->verdict.guard ? "true" : "null");
}

/* Every guard by itself, whatever the others say. */
static void
write_guards(gci_context const *context, gci_trial const *trial, gci_buf *out)
{
    gci_record const *record = &trial->ranked->candidate->record;

    gci_buf_append_text(out, ", \"guards\": [");
    for (size_t i = 0; i < record->guard_count; i++) {
        gci_json_next(out);
        gci_buf_append_char(out, '{');
        gci_json_member_text(out, "text", record->guards[i]);
        if (record->guards[i].size == 0 && trial->cut != GCI_CUT_NOTHING) {
            write_left_out(trial, i, out);
        } else if (trial->ranked->guards != NULL) {
            gcache_verdict verdict;
            if (i == trial->verdict.guard && (trial->cut & GCI_CUT_PART) != 0)
                gci_buf_append_text(out, ", \"cut\": true");
            gci_json_member(out, "result");
            gcache_truth truth = gci_guards_eval_one(trial->ranked->guards, i, &context->hints, &verdict);
            write_verdict(out, truth, &verdict);
        } else if ((trial->cut & GCI_CUT_SHORT) != 0) {
            gci_buf_append_text(out, ", \"cut\": true");
            gci_json_member(out, "result");
            write_verdict(out, trial->reason == GCACHE_REASON_GUARD_FALSE ? GCACHE_FALSE : GCACHE_RAISES, &trial->verdict);
        }
        gci_buf_append_char(out, '}');
    }
    gci_buf_append_char(out, ']');
}

/* Not by the caller's own test, which names no guard. */
static bool
decided_by_guards(gci_trial const *trial)
{
    return (trial->reason == GCACHE_REASON_GUARD_FALSE || trial->reason == GCACHE_REASON_GUARD_ERROR) &&
           trial->verdict.guard < trial->ranked->candidate->record.guard_count;
}

/* The decisive part, its arithmetic, and the hints that would have hit. */
static void
write_decision(gci_context const *context, gci_trial const *trial, bool pairs, size_t *work, gci_buf *out)
{
    gci_buf part, values, nearest;

    gci_buf_init(&part, GCI_BUF_NO_LIMIT);
    gci_buf_init(&values, GCI_BUF_NO_LIMIT);
    gci_buf_init(&nearest, GCI_BUF_NO_LIMIT);
    gci_guards_explain(trial->ranked->guards, trial->verdict.guard, &context->hints, &part, &values);
    gci_buf_format(out, ", \"first_failing\": %zu", trial->verdict.guard);
    gci_json_member_text(out, "part", gci_buf_view(&part));
    gci_json_member_text(out, "arithmetic", gci_buf_view(&values));
    if (trial->cut == GCI_CUT_NOTHING && gci_guards_nearest(trial->ranked->guards, &context->hints, pairs, work, &nearest,
                                                               NULL))
        gci_json_member_text(out, "would_hit", gci_buf_view(&nearest));
    out->failed |= part.failed || values.failed || nearest.failed;
    gci_buf_clear(&part);
    gci_buf_clear(&values);
    gci_buf_clear(&nearest);
}

static void
write_requirement(gci_trial const *trial, gci_buf *out)
{
    gci_buf_append_text(out, ", \"requirement\": {");
    gci_json_member_text(out, "name", trial->requirement->name);
    gci_json_member_text(out, "stored", trial->requirement->value);
    gci_json_member(out, "asked");
    if (trial->provided.data != NULL)
        gci_json_write_text(out, trial->provided);
    else
        gci_buf_append_text(out, "null");
    gci_buf_append_char(out, '}');
}

static void
write_names(gci_context const *context, gci_record const *record, gci_buf *out)
{
    gci_names_walk walk = { .context = context, .record = record };

    gci_buf_append_text(out, ", \"names\": [");
    while (gci_names_next(&walk)) {
        if (gci_view_equal(walk.stored, walk.current))
            continue;
        gci_json_next(out);
        gci_buf_append_char(out, '{');
        gci_json_member_text(out, "stored", walk.stored);
        gci_json_member_text(out, "asked", walk.current);
        gci_buf_append_char(out, '}');
    }
    gci_buf_append_char(out, ']');
}

/* The hints that the candidate's guards read; all of them where guards were left out. */
static void
write_values(gci_context const *context, gci_trial const *trial, gci_buf *out)
{
    gci_guards const *guards = trial->ranked->guards;
    bool all = trial->cut != GCI_CUT_NOTHING;
    gci_buf literal;

    gci_buf_init(&literal, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(out, ", \"values\": {");
    for (size_t i = 0; i < context->hints.count; i++) {
        gci_view name = context->hints.items[i].name;
        if (!all && (guards == NULL || !gci_guards_reads(guards, gci_context_bound_name(context, name))))
            continue;
        gci_json_next(out);
        gci_json_write_text(out, name);
        gci_buf_append_text(out, ": ");
        literal.size = 0;
        gci_number_write(context->hints.items[i].value, &literal);
        gci_write_json_literal(out, gci_buf_view(&literal));
    }
    gci_buf_append_char(out, '}');
    out->failed |= literal.failed;
    gci_buf_clear(&literal);
}

static void
write_candidate(gci_context const *context, gci_trial const *trial, bool pairs, size_t *work, gci_buf *out)
{
    gci_record const *record = &trial->ranked->candidate->record;

    gci_buf_format(out, "{\"entry\": \"%s\", \"outcome\": \"%s\"", record->id,
                   trial->reason == GCACHE_REASON_NONE ? "holds" : gcache_reason_name(trial->reason));
    gci_json_member_text(out, "variant", record->variant);
    gci_buf_format(out, ", \"priority\": %lld, \"created_ns\": %llu, \"compile_ns\": %llu", (long long)record->priority,
                   (unsigned long long)record->created_ns, (unsigned long long)record->compile_ns);
    write_guards(context, trial, out);
    if (trial->ranked->guards != NULL && decided_by_guards(trial))
        write_decision(context, trial, pairs, work, out);
    if (trial->requirement != NULL)
        write_requirement(trial, out);
    if (trial->reason == GCACHE_REASON_NAMES)
        write_names(context, record, out);
    write_values(context, trial, out);
    gci_buf_append_text(out, trial->cut != GCI_CUT_NOTHING ? ", \"cut\": true}" : "}");
}

/* ---- nearest keys ---- */

static void
write_near_key(gci_near_key const *near, gci_buf *out)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&near->key, hex);
    gci_buf_format(out, "{\"key\": \"%s\", \"components\": %u, \"equal\": %u, \"differs\": [", hex, near->components,
                   near->equal);
    if (near->diff != NULL)
        gci_diff_write_json(near->diff, out);
    if (near->by_sketch) {
        gci_buf_format(out, "], \"left_out\": %zu, \"alike\": null}", near->left_out);
        return;
    }
    size_t of, differ = gci_likeness_units(&near->likeness, &of);
    gci_buf_format(out, "], \"left_out\": %zu, \"distance\": %zu, \"unit\": \"%s\", \"units_differ\": %zu, \"units\": %zu, ",
                   near->left_out, gci_likeness_differing(&near->likeness, GCI_EXACT),
                   gci_feature_sort_name(gci_likeness_unit(&near->likeness)), differ, of);
    gci_buf_format(out, "\"alike\": %s}", near->is_kin ? "true" : "false");
}

/* Candidates that the journal only counts are left out. */
static void
write_candidates(gci_journal_entry const *entry, gci_buf *out)
{
    gci_trace const *trace = &entry->trace;
    size_t work = GCI_NEAREST_WORK;

    gci_buf_append_text(out, ", \"candidates\": [");
    for (size_t i = 0; i < trace->trial_count; i++) {
        gci_trial const *trial = &trace->trials[i];
        gci_json_next(out);
        write_candidate(&entry->context, trial, trial->rank < GCI_PAIRS_CANDIDATES, &work, out);
    }
}

static void
write_eviction(gci_trace const *trace, gci_buf *out)
{
    gci_key_eviction const *eviction = gci_trace_eviction(trace);

    if (eviction == NULL)
        return;
    gci_tombstone const *tombstone = &eviction->tombstone;
    gci_fullness const *fullness = &eviction->fullness;
    gci_buf_append_text(out, ", \"eviction\": {");
    gci_json_member_number(out, "entries", tombstone->entries);
    gci_json_member_number(out, "hits", tombstone->hits);
    gci_json_member_number(out, "stored_ns", tombstone->stored_ns);
    gci_json_member_number(out, "used_ns", tombstone->used_ns);
    gci_json_member_number(out, "evicted_ns", tombstone->evicted_ns);
    gci_json_member_text(out, "why", gci_view_text(gci_eviction_text((int)tombstone->cause)));
    gci_json_member_number(out, "bytes", fullness->bytes);
    gci_json_member_number(out, "max_bytes", fullness->max_size);
    gci_json_member_number(out, "least_recent_ns", fullness->least_recent_ns);
    gci_json_member_number(out, "evictions", fullness->evictions);
    gci_json_member_number(out, "asked_again", fullness->asked_again);
    gci_buf_append_char(out, '}');
}

static void
write_sources(gcache_request const *request, gci_buf *out)
{
    if (request->sources_count == 0)
        return;
    gci_buf_append_text(out, ", \"sources\": {");
    for (size_t i = 0; i < request->sources_count; i++) {
        gcache_pair const *source = &request->sources[i];
        gci_view name = gci_view_text(source->name);
        if (gci_pairs_value(request->sources, request->sources_count, name) != source->value)
            continue; /* given twice: the first counts */
        gci_json_next(out);
        gci_json_write_text(out, name);
        gci_buf_append_text(out, ": ");
        gci_json_write_text(out, gci_view_text(source->value));
    }
    gci_buf_append_char(out, '}');
}

static void
write_past(gci_journal_entry const *entry, gci_buf *out)
{
    if (entry->context.request.label != NULL)
        gci_json_member_text(out, "label", gci_view_text(entry->context.request.label));
    write_sources(&entry->context.request, out);
    if (entry->context.request.why_asked != NULL)
        gci_json_member_text(out, "why_asked", gci_view_text(entry->context.request.why_asked));
    if (entry->at_ns == 0)
        return;
    gci_buf_format(out, ", \"at_ns\": %llu, \"compile_ns\": %llu", (unsigned long long)entry->at_ns,
                   (unsigned long long)entry->compile_ns);
    if (entry->cut)
        gci_buf_append_text(out, ", \"cut\": true");
    if (entry->former != 0)
        gci_buf_format(out, ", \"taken_over_from\": %llu", (unsigned long long)entry->former);
    if (entry->trace.lost)
        gci_buf_format(out, ", \"too_large\": %llu", (unsigned long long)entry->trace.lost_bytes);
}

/* What a piece of the text for people says, if it says anything. */
static void
write_remark(gci_journal_entry const *entry, char const *name, void (*write)(gci_journal_entry const *, gci_buf *), gci_buf *out)
{
    gci_buf remark;

    gci_buf_init(&remark, GCI_BUF_NO_LIMIT);
    write(entry, &remark);
    if (remark.size != 0)
        gci_json_member_text(out, name, gci_buf_view(&remark));
    out->failed |= remark.failed;
    gci_buf_clear(&remark);
}

void
gci_explain_reason_json(gcache_reason reason, gci_buf *out)
{
    if (reason == GCACHE_REASON_NONE)
        gci_buf_append_text(out, "null");
    else
        gci_json_write_text(out, gci_view_text(gcache_reason_name(reason)));
}

/* ---- tiers ---- */

static void
write_reply_json(gci_tier_reply const *reply, bool now, gci_buf *out)
{
    gci_buf_append_char(out, '{');
    gci_json_member_text(out, "tier", gci_view_text(reply->tier));
    gci_json_member_text(out, "answer", gci_view_text(gcache_tier_answer_name(reply->answer)));
    gci_json_member(out, "reason");
    gci_explain_reason_json(reply->reason, out);
    gci_json_member_number(out, "elapsed_ns", reply->elapsed_ns);
    gci_json_member_number(out, "candidates", reply->candidates);
    if (now)
        gci_json_member_number(out, "only_there", reply->only_there);
    gci_json_member_number(out, "evicted", reply->evicted);
    gci_json_member_number(out, "refused", reply->refused);
    if (reply->message[0] != '\0')
        gci_json_member_text(out, "message", gci_view_text(reply->message));
    gci_buf_append_char(out, '}');
}

static void
write_tiers(gci_journal_entry const *entry, gci_buf *out)
{
    gci_trace const *trace = &entry->trace;

    if (entry->kind == GCACHE_JOURNAL_HIT)
        gci_json_member_text(out, "tier", gci_view_text(trace->served_by != NULL ? trace->served_by : "local"));
    if (trace->local_reason != GCACHE_REASON_NONE)
        gci_json_member_text(out, "local_reason", gci_view_text(gcache_reason_name(trace->local_reason)));
    if (gci_trace_tier(trace) != NULL)
        gci_json_member_text(out, "candidates_of", gci_view_text(gci_trace_tier(trace)));
    bool has_tiers = entry->at_ns == 0 && entry->context.cache->tiers != NULL;
    if (trace->reply_count == 0 && !has_tiers)
        return;
    gci_buf_append_text(out, ", \"tiers\": [");
    for (size_t i = 0; i < trace->reply_count; i++) {
        gci_json_next(out);
        write_reply_json(&trace->replies[i], entry->at_ns == 0, out);
    }
    gci_buf_append_char(out, ']');
}

void
gci_explain_json(gci_journal_entry const *entry, gci_buf *out)
{
    gci_trace const *trace = &entry->trace;
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&entry->context.key, hex);
    gci_buf_format(out, "{\"outcome\": \"%s\", \"reason\": ", entry->kind == GCACHE_JOURNAL_HIT ? "hit" : "miss");
    gci_explain_reason_json(entry->reason, out);
    gci_buf_format(out, ", \"key\": \"%s\"", hex);
    gci_json_member_text(out, "kind", gci_view_text(gcache_graph_kind(entry->context.graph)));
    if (trace->winner != NULL)
        gci_json_member_text(out, "entry", gci_view_text(trace->winner->ranked->candidate->record.id));
    if (entry->reason == GCACHE_REASON_BYPASS && entry->bypass != NULL)
        gci_json_member_text(out, "message", gci_view_text(entry->bypass));
    if (trace->trouble.status != GCACHE_OK)
        gci_json_member_text(out, "message", gci_view_text(trace->trouble.message));
    write_remark(entry, "note", gci_explain_variant, out);
    write_past(entry, out);
    if (gci_entry_local_reason(entry) == GCACHE_REASON_EVICTED)
        write_eviction(trace, out);
    write_tiers(entry, out);
    write_candidates(entry, out);
    gci_buf_append_text(out, "], \"nearest\": [");
    for (size_t i = 0; i < trace->nearest_count; i++) {
        gci_json_next(out);
        write_near_key(&trace->nearest[i], out);
    }
    gci_buf_append_char(out, ']');
    if (trace->not_stored != NULL)
        gci_json_member_text(out, "not_stored", gci_view_text(trace->not_stored));
    if (trace->stored_ns != 0)
        gci_json_member_number(out, "was_stored_ns", trace->stored_ns);
    if (entry->kind == GCACHE_JOURNAL_MISS)
        write_remark(entry, "advice", gci_write_advice, out);
    gci_buf_append_char(out, '}');
}
