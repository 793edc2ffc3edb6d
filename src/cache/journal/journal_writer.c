#include "cache/journal/journal_writer.h"

#include "base/codec.h"
#include "cache/candidates/graph_description.h"
#include "cache/candidates/names.h"
#include "cache/candidates/trial.h"
#include "cache/handle/words.h"
#include "graph/graph.h"

#include <unistd.h>

static void
put_text(gci_buf *out, char const *text)
{
    gci_put_bytes(out, gci_view_text(text));
}

static void
put_pairs(gci_buf *out, gcache_pair const *pairs, size_t count)
{
    gci_put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        put_text(out, pairs[i].name);
        put_text(out, pairs[i].value);
    }
}

/* How much of a miss is written down: what doesn't fit is told in less detail. */
typedef enum extent {
    DETAIL_ALL,
    DETAIL_DECISION, /* what decided, and its hints */
    DETAIL_SHORT     /* what decided, shortened so that it fits whatever it is */
} extent;

/* The text, or one with " ... " in its middle. */
static void
append_short(gci_buf *out, gci_view text)
{
    if (text.size > GCI_JOURNAL_TEXT_BYTES)
        gci_write_excerpt(out, text, GCI_JOURNAL_TEXT_BYTES);
    else
        gci_buf_append_view(out, text);
}

static gci_view
short_text(gci_arena *arena, gci_view text)
{
    gci_buf shortened;

    if (text.size <= GCI_JOURNAL_TEXT_BYTES)
        return text;
    gci_buf_init(&shortened, GCI_BUF_NO_LIMIT);
    append_short(&shortened, text);
    gci_view copy = gci_arena_copy(arena, gci_buf_view(&shortened));
    gci_buf_clear(&shortened);
    return copy;
}

static void
put_short(gci_buf *out, gci_view text)
{
    gci_buf shortened;

    gci_buf_init(&shortened, GCI_BUF_NO_LIMIT);
    append_short(&shortened, text);
    gci_put_bytes(out, gci_buf_view(&shortened));
    out->failed |= shortened.failed;
    gci_buf_clear(&shortened);
}

/* ---- what every entry has ---- */

static void
put_hint(gci_buf *out, gci_question const *question, size_t index)
{
    gci_view name = gci_hints_name(question->hints, index);
    gci_buf value;

    gci_buf_init(&value, GCI_JOURNAL_BYTES_MAX);
    gci_hints_write(question->hints, index, &value);
    gci_put_bytes(out, name);
    gci_put_bytes(out, gci_question_bound_name(question, name));
    gci_put_bytes(out, gci_buf_view(&value));
    out->failed |= value.failed;
    gci_buf_clear(&value);
}

static void
put_hints(gci_buf *out, gci_question const *question)
{
    size_t count = question->hints != NULL ? gci_hints_count(question->hints) : 0;

    gci_put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++)
        put_hint(out, question, i);
}

static void
put_what(gci_buf *out, gci_question const *question, gcache_journal_kind act, gcache_reason reason, bool cut)
{
    gci_put_u8(out, GCI_JOURNAL_VERSION);
    gci_put_u8(out, (uint8_t)act);
    gci_put_u8(out, (uint8_t)reason);
    gci_put_u8(out, cut);
    gci_put_u32(out, (uint32_t)getpid());
    gci_buf_append(out, question->key.bytes, sizeof question->key.bytes);
    gci_view kind = gci_view_text(question->graph != NULL ? gcache_graph_kind(question->graph) : "");
    if (cut) {
        put_short(out, question->cache->salt);
        put_short(out, kind);
    } else {
        gci_put_bytes(out, question->cache->salt);
        gci_put_bytes(out, kind);
    }
}

static void
put_head(gci_buf *out, gci_question const *question, gcache_journal_kind act, gcache_reason reason)
{
    put_what(out, question, act, reason, false);
    put_text(out, question->request.label);
    put_hints(out, question);
}

/* Of an entry that is too long with all it has. */
static void
put_cut_what(gci_buf *out, gci_question const *question, gcache_journal_kind act, gcache_reason reason)
{
    char const *label = question->request.label;

    put_what(out, question, act, reason, true);
    put_text(out, label != NULL && strlen(label) <= GCI_JOURNAL_LABEL_BYTES ? label : "");
}

/* The head of an entry other than a miss: without the hints if they are too many. */
static void
put_head_that_fits(gci_buf *out, gci_question const *question, gcache_journal_kind act)
{
    put_head(out, question, act, GCACHE_REASON_NONE);
    if (!out->failed && out->size <= GCI_JOURNAL_HEAD_BYTES)
        return;
    gci_buf_clear(out);
    put_cut_what(out, question, act, GCACHE_REASON_NONE);
    gci_put_u32(out, 0);
}

static bool
append(gcache *cache, gci_buf *entry)
{
    return !entry->failed && gci_store_journal_append(cache->store, gci_buf_view(entry));
}

/* ---- a miss ---- */

static void
put_request(gci_buf *out, gcache_request const *request)
{
    put_text(out, request->variant);
    put_text(out, request->expect_variant);
    gci_put_u8(out, request->accept_renames);
    put_pairs(out, request->provides, request->provides_count);
    put_pairs(out, request->sources, request->sources_count);
    gci_put_u8(out, request->guard_test != NULL);
}

static void
put_symbols(gci_buf *out, gci_question const *question)
{
    gci_put_u32(out, (uint32_t)question->symbol_count);
    for (size_t i = 0; i < question->symbol_count; i++) {
        put_text(out, question->symbols[i].name);
        put_text(out, question->symbols[i].canonical);
    }
}

/* The first names in texts that the caller has otherwise than the producer, and what the caller calls them. */
static size_t
pick_names(gci_question const *question, gci_record const *record, gci_pair *out_stored, gci_view *out_current)
{
    gci_names_walk walk = { .question = question, .record = record };
    size_t count = 0;

    while (count < GCI_JOURNAL_NAMES && gci_names_next(&walk)) {
        gci_pair const *stored = &record->names[walk.next - 1];
        if (!gci_name_is_text(stored) || gci_view_equal(walk.stored, walk.current))
            continue;
        out_stored[count] = *stored;
        out_current[count++] = walk.current;
    }
    return count;
}

/* The part of a trace that gci_trace_find_eviction sets. */
static void
put_tombstone(gci_buf *out, gci_trace const *trace)
{
    gci_put_u8(out, trace->has_tombstone ? (uint8_t)trace->tombstone.cause : 0);
    if (!trace->has_tombstone)
        return;
    gci_put_u64(out, trace->tombstone.evicted_ns);
    gci_put_u32(out, trace->tombstone.entries);
    gci_put_u32(out, trace->tombstone.hits);
}

/* eviction = left u32, stored, used, evicted before u64, fullness; nothing without a tombstone */
static void
put_eviction(gci_buf *out, gci_trace const *trace)
{
    if (!trace->has_tombstone)
        return;
    gci_put_u32(out, trace->tombstone.left);
    gci_put_u64(out, trace->tombstone.stored_ns);
    gci_put_u64(out, trace->tombstone.used_ns);
    gci_put_u64(out, trace->tombstone.evicted_bytes);
    gci_put_u64(out, trace->fullness.bytes);
    gci_put_u64(out, trace->fullness.max_bytes);
    gci_put_u64(out, trace->fullness.evicted_bytes);
    gci_put_u64(out, trace->fullness.least_recent_ns);
    gci_put_u64(out, trace->fullness.evictions);
    gci_put_u64(out, trace->fullness.asked_again);
}

static void
put_pair_texts(gci_buf *out, gci_pair const *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gci_put_bytes(out, pairs[i].name);
        gci_put_bytes(out, pairs[i].value);
    }
}

/* Symbols, since guards have them, and those names in texts that explain a miss. */
static void
put_record_names(gci_buf *out, gci_question const *question, gci_trial const *trial)
{
    gci_record const *record = &trial->ranked->candidate->record;
    gci_pair stored[GCI_JOURNAL_NAMES];
    gci_view current[GCI_JOURNAL_NAMES];
    size_t symbols = 0;

    while (symbols < record->name_count && !gci_name_is_text(&record->names[symbols]))
        symbols++;
    size_t texts = trial->reason == GCACHE_REASON_NAMES ? pick_names(question, record, stored, current) : 0;
    gci_put_u32(out, (uint32_t)(symbols + texts));
    put_pair_texts(out, record->names, symbols);
    put_pair_texts(out, stored, texts);
}

static size_t
guards_size(gci_record const *record)
{
    size_t size = 0;

    for (size_t i = 0; i < record->guard_count; i++)
        size += record->guards[i].size;
    return size;
}

/* The failing guard, or of one that is too long the part that decided. */
static void
write_decision(gci_question const *question, gci_trial const *trial, gci_buf *out)
{
    gci_view text = trial->ranked->candidate->record.guards[trial->verdict.guard];
    gci_buf arithmetic;

    if (text.size <= GCI_JOURNAL_GUARDS_BYTES || trial->ranked->guards == NULL) {
        gci_buf_append_view(out, text);
        return;
    }
    gci_buf_init(&arithmetic, GCI_BUF_NO_LIMIT);
    gci_guards_explain(trial->ranked->guards, trial->verdict.guard, question->hints, out, &arithmetic);
    gci_buf_clear(&arithmetic);
}

/*
 * guards = count u32, texts, failing u32, cut u8 (gci_cut): what decided is kept whatever it takes. failing is the place
 * of the failing guard, the count if none of them failed.
 */
static void
put_guards(gci_buf *out, gci_question const *question, gci_trial const *trial)
{
    gci_record const *record = &trial->ranked->candidate->record;
    size_t failing = trial->verdict.guard;
    bool all = guards_size(record) <= GCI_JOURNAL_GUARDS_BYTES;
    unsigned cut = trial->cut | (all ? GCI_CUT_NOTHING : GCI_CUT_OTHERS);
    gci_buf decision;

    gci_buf_init(&decision, GCI_BUF_NO_LIMIT);
    if (!all && failing < record->guard_count)
        write_decision(question, trial, &decision);
    if (decision.size != 0 && decision.size < record->guards[failing].size)
        cut |= GCI_CUT_PART;
    gci_put_u32(out, (uint32_t)record->guard_count);
    for (size_t i = 0; i < record->guard_count; i++)
        gci_put_bytes(out, all ? record->guards[i] : i == failing ? gci_buf_view(&decision) : (gci_view){ NULL, 0 });
    gci_put_u32(out, (uint32_t)failing);
    gci_put_u8(out, (uint8_t)cut);
    out->failed |= decision.failed;
    gci_buf_clear(&decision);
}

static void
put_trial(gci_buf *out, gci_question const *question, gci_trial const *trial)
{
    gci_record const *record = &trial->ranked->candidate->record;

    gci_put_u32(out, (uint32_t)trial->place);
    gci_put_u8(out, (uint8_t)trial->reason);
    gci_buf_append(out, record->id, GCACHE_ENTRY_ID_SIZE - 1);
    gci_put_u64(out, record->created_ns);
    gci_put_u64(out, record->compile_ns);
    gci_put_u64(out, trial->ranked->candidate->evicted_ns);
    gci_put_u64(out, (uint64_t)record->priority);
    gci_put_bytes(out, record->variant);
    put_record_names(out, question, trial);
    put_guards(out, question, trial);
    put_text(out, trial->verdict.exception);
    put_text(out, trial->reason == GCACHE_REASON_GUARD_ERROR ? trial->verdict.message : "");
    gci_put_u32(out, trial->requirement != NULL);
    put_pair_texts(out, trial->requirement, trial->requirement != NULL);
    gci_put_u8(out, trial->provided.data != NULL);
    gci_put_bytes(out, trial->provided);
}

/* The failing guard as it begins and ends. " ..." behind it even if it is all there: it can't be evaluated without hints. */
static gci_view
short_guard(gci_question const *question, gci_trial const *trial, gci_arena *arena)
{
    gci_buf decision, shortened;

    gci_buf_init(&decision, GCI_BUF_NO_LIMIT);
    gci_buf_init(&shortened, GCI_BUF_NO_LIMIT);
    write_decision(question, trial, &decision);
    append_short(&shortened, gci_buf_view(&decision));
    gci_buf_append_text(&shortened, " ...");
    gci_view copy = decision.failed ? (gci_view){ NULL, 0 } : gci_arena_copy(arena, gci_buf_view(&shortened));
    gci_buf_clear(&decision);
    gci_buf_clear(&shortened);
    return copy;
}

/* A trial as put_trial writes it, of a size that fits whatever the candidate is like. */
static void
put_short_trial(gci_buf *out, gci_question const *question, gci_trial const *trial)
{
    gci_candidate candidate = *trial->ranked->candidate;
    gci_ranked ranked = { .candidate = &candidate };
    gci_trial lean = *trial;
    gci_pair requirement;
    gci_view guard;
    gci_arena arena;

    gci_arena_init(&arena, GCI_JOURNAL_BYTES_MAX);
    bool has_guard = trial->verdict.guard < candidate.record.guard_count;
    guard = has_guard ? short_guard(question, trial, &arena) : (gci_view){ NULL, 0 };
    candidate.record.guards = &guard;
    candidate.record.guard_count = has_guard;
    candidate.record.name_count = 0;
    candidate.record.variant = short_text(&arena, candidate.record.variant);
    if (trial->requirement != NULL) {
        requirement = (gci_pair){ .name = short_text(&arena, trial->requirement->name),
                                  .value = short_text(&arena, trial->requirement->value) };
        lean.requirement = &requirement;
    }
    lean.provided = short_text(&arena, trial->provided);
    lean.ranked = &ranked;
    lean.verdict.guard = 0;
    lean.cut = GCI_CUT_SHORT;
    put_trial(out, question, &lean);
    out->failed |= arena.failed;
    gci_arena_clear(&arena);
}

/* The first candidate that decided; NULL: none did. Who has waited for a lease in vain may miss for another reason. */
static gci_trial const *
first_of(gci_trace const *trace, gcache_reason reason)
{
    for (size_t i = 0; i < trace->trial_count; i++)
        if (trace->trials[i].reason == reason)
            return &trace->trials[i];
    return NULL;
}

/* trials = live u32, evicted u32, count u32, { trial } */
static void
put_trials(gci_buf *out, gci_question const *question, gcache_reason reason, gci_trace const *trace, extent detail)
{
    gci_trial const *first = first_of(trace, reason);
    size_t count = first == NULL ? 0 : detail == DETAIL_ALL ? trace->trial_count : 1;

    gci_put_u32(out, (uint32_t)trace->count);
    gci_put_u32(out, (uint32_t)trace->evicted_count);
    gci_put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        if (detail == DETAIL_SHORT)
            put_short_trial(out, question, &first[i]);
        else
            put_trial(out, question, &first[i]);
    }
}

/* texts = count u32, { name, what counts in its place }: as far as the first candidate that is skipped for its names differs */
static void
put_text_names(gci_buf *out, gci_question const *question, gcache_reason reason, gci_trace const *trace)
{
    gci_trial const *first = reason == GCACHE_REASON_NAMES ? first_of(trace, reason) : NULL;
    gci_pair stored[GCI_JOURNAL_NAMES];
    gci_view current[GCI_JOURNAL_NAMES];

    size_t count = first != NULL ? pick_names(question, &first->ranked->candidate->record, stored, current) : 0;
    gci_put_u32(out, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        gci_put_bytes(out, current[i]);
        gci_put_bytes(out, gci_view_of(stored[i].value.data + 1, stored[i].value.size - 1));
    }
}

/* description = count u32, { name, hash 32 bytes, text }, canonical form; nothing but for a key that nobody knows */
static void
put_description(gci_buf *out, gci_question const *question, gcache_reason reason)
{
    gci_arena arena;
    gci_description description = { 0 };

    gci_arena_init(&arena, GCI_JOURNAL_BYTES_MAX);
    if (reason == GCACHE_REASON_NO_KEY &&
        gci_description_of(question->graph, true, &arena, &description, NULL) != GCACHE_OK)
        description = (gci_description){ 0 };
    gci_put_u32(out, (uint32_t)description.component_count);
    for (size_t i = 0; i < description.component_count; i++) {
        gci_put_bytes(out, description.components[i].name);
        gci_buf_append(out, description.components[i].hash, sizeof description.components[i].hash);
        gci_put_bytes(out, description.components[i].text);
    }
    bool keep = description.canonical.size <= GCI_JOURNAL_CANONICAL_BYTES;
    gci_put_bytes(out, keep ? description.canonical : (gci_view){ NULL, 0 });
    gci_arena_clear(&arena);
}

/* What a miss leaves besides its head. */
static void
put_miss(gci_buf *out, gci_question const *question, gcache_result const *result, gci_trace const *trace, extent detail)
{
    static gcache_request const no_request = GCACHE_REQUEST_INIT;
    static gci_question const nothing;
    bool cut = detail != DETAIL_ALL;

    put_request(out, cut ? &no_request : &question->request);
    put_symbols(out, cut ? &nothing : question);
    put_text(out, cut ? "" : result->note);
    put_tombstone(out, trace);
    put_trials(out, question, result->reason, trace, detail);
    put_description(out, question, cut ? GCACHE_REASON_NONE : result->reason);
    put_eviction(out, trace);
    put_text_names(out, question, detail == DETAIL_SHORT ? GCACHE_REASON_NONE : result->reason, trace);
}

/* What decided, as guards by themselves; NULL: no guard did. */
static gci_guards *
decision_of(gci_question const *question, gci_trial const *trial)
{
    gci_guards *guards = NULL;
    gci_buf text;

    if (trial == NULL)
        return NULL;
    gci_record const *record = &trial->ranked->candidate->record;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (trial->verdict.guard < record->guard_count)
        write_decision(question, trial, &text);
    gci_view view = gci_buf_view(&text);
    if (text.size != 0)
        gci_guards_compile(&view, 1, gci_producer_naming(record), &guards, NULL);
    gci_buf_clear(&text);
    return guards;
}

/* Of the hints those that what decided reads. */
static void
put_deciding_hints(gci_buf *out, gci_question const *question, gci_guards const *decision)
{
    uint32_t count = 0;
    gci_buf hints;

    gci_buf_init(&hints, GCI_JOURNAL_BYTES_MAX);
    for (size_t i = 0; decision != NULL && i < gci_hints_count(question->hints); i++) {
        if (!gci_guards_reads(decision, gci_question_bound_name(question, gci_hints_name(question->hints, i))))
            continue;
        put_hint(&hints, question, i);
        count++;
    }
    gci_put_u32(out, count);
    gci_buf_append_view(out, gci_buf_view(&hints));
    out->failed |= hints.failed;
    gci_buf_clear(&hints);
}

/*
 * A miss that is too long with everything: the rare lookup with megabytes of hints, names, requirements or guards. What decided
 * stays; the entry says that there was more.
 */
static void
put_cut_miss(gci_buf *out, gci_question const *question, gcache_result const *result, gci_trace const *trace)
{
    gci_guards *decision = question->hints != NULL ? decision_of(question, first_of(trace, result->reason)) : NULL;

    put_cut_what(out, question, GCACHE_JOURNAL_MISS, result->reason);
    put_deciding_hints(out, question, decision);
    put_miss(out, question, result, trace, DETAIL_DECISION);
    gci_guards_free(decision);
}

/* The rarer one whose decision is too long by itself: a guard, a requirement, names or values of hints beyond 64 KiB. */
static void
put_short_miss(gci_buf *out, gci_question const *question, gcache_result const *result, gci_trace const *trace)
{
    put_cut_what(out, question, GCACHE_JOURNAL_MISS, result->reason);
    gci_put_u32(out, 0); /* hints */
    put_miss(out, question, result, trace, DETAIL_SHORT);
}

/* All that is known of a graph without a key. */
static gci_question
keyless(gci_ended const *ended)
{
    static gcache_request const defaults = GCACHE_REQUEST_INIT;

    return (gci_question){ .cache = ended->cache,
                           .graph = ended->graph,
                           .request = ended->request != NULL ? *ended->request : defaults };
}

void
gci_journal_miss(gci_ended const *ended, gci_missed const *missed)
{
    static gci_trace const nothing;
    gcache_result const *result = ended->result;
    gci_question unasked = keyless(ended);
    gci_question const *question = missed->asked ? &missed->question : &unasked;
    gci_trace const *trace = missed->asked ? &missed->trace : &nothing;
    gci_buf entry;

    gci_buf_init(&entry, GCI_JOURNAL_BYTES_MAX);
    put_head(&entry, question, GCACHE_JOURNAL_MISS, result->reason);
    put_miss(&entry, question, result, trace, DETAIL_ALL);
    if (entry.failed) {
        gci_buf_clear(&entry);
        put_cut_miss(&entry, question, result, trace);
    }
    if (entry.failed) {
        gci_buf_clear(&entry);
        put_short_miss(&entry, question, result, trace);
    }
    append(ended->cache, &entry);
    gci_buf_clear(&entry);
}

/* ---- the others ---- */

/* Whose key and hints an entry besides a miss names. */
static bool
init_question(gci_ended const *ended, gci_question *out_question)
{
    if (ended->graph != NULL && ended->result->reason != GCACHE_REASON_BYPASS)
        return gci_question_init(out_question, ended->cache, ended->graph, ended->hints, ended->request, NULL) ==
               GCACHE_OK;
    *out_question = keyless(ended);
    return true;
}

/* An entry of act, to be filled in; false: there is nothing to be written down. End it in any case. */
static bool
begin_entry(gci_buf *entry, gci_ended const *ended, gcache_journal_kind act)
{
    gci_question question = { 0 };

    gci_buf_init(entry, GCI_JOURNAL_BYTES_MAX);
    bool asked = ended->cache->journal && init_question(ended, &question);
    if (asked)
        put_head_that_fits(entry, &question, act);
    gci_question_clear(&question);
    return asked;
}

static bool
end_entry(gci_buf *entry, gci_ended const *ended)
{
    bool written = entry->size != 0 && append(ended->cache, entry);

    gci_buf_clear(entry);
    return written;
}

bool
gci_journal_hit(gci_ended const *ended, gci_unreported unreported)
{
    gci_buf entry;

    if (begin_entry(&entry, ended, GCACHE_JOURNAL_HIT)) {
        put_text(&entry, ended->result->entry);
        gci_put_u64(&entry, unreported.hits);
        gci_put_u64(&entry, unreported.saved_ns);
        gci_put_u64(&entry, ended->elapsed_ns);
    }
    return end_entry(&entry, ended);
}

void
gci_journal_not_stored(gci_ended const *ended, char const *why, uint64_t compile_ns)
{
    gci_buf entry;

    if (begin_entry(&entry, ended, GCACHE_JOURNAL_NOT_STORED)) {
        put_short(&entry, gci_view_text(why));
        gci_put_u64(&entry, compile_ns);
    }
    end_entry(&entry, ended);
}

void
gci_journal_takeover(gci_ended const *ended, uint64_t former)
{
    gci_buf entry;

    if (begin_entry(&entry, ended, GCACHE_JOURNAL_TAKEOVER))
        gci_put_u64(&entry, former);
    end_entry(&entry, ended);
}

void
gci_journal_insert(gci_question const *question, gcache_inserted const *inserted, gcache_entry const *entry)
{
    gci_buf out;

    if (inserted->existed || !question->cache->journal)
        return;
    gci_buf_init(&out, GCI_JOURNAL_BYTES_MAX);
    put_head_that_fits(&out, question, GCACHE_JOURNAL_INSERT);
    put_text(&out, inserted->entry);
    gci_put_u64(&out, entry->compile_ns);
    gci_put_u64(&out, entry->payload_size);
    append(question->cache, &out);
    gci_buf_clear(&out);
}
