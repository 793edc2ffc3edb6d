/*
 * A lookup's trace as a story for people: outcome, reason, whose lookup, key; then only what decides.
 */
#include "base/system/clock.h"
#include "base/visible.h"
#include "cache/candidates/names.h"
#include "cache/explain/explanation.h"
#include "cache/handle/words.h"

/* What a brief text has room for within 25 lines. */
#define BRIEF_CANDIDATES 6
#define BRIEF_NEAREST_HINTS 4

/* Names that differ, of a candidate, and how much is shown of one: mangled names are long. */
#define BRIEF_NAMES 3
#define NAME_WIDTH 64

static gci_record const *
record_of(gci_trial const *trial)
{
    return &trial->ranked->candidate->record;
}

static void
tell_head(gci_journal_entry const *entry, gci_story *story)
{
    gci_context const *context = &entry->context;
    bool keyed = entry->reason != GCACHE_REASON_DISABLED && entry->reason != GCACHE_REASON_BYPASS;
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_HEAD);

    gci_buf_append_text(out, entry->kind == GCACHE_JOURNAL_HIT ? "hit" : "miss: ");
    gci_buf_append_text(out, gcache_reason_name(entry->reason));
    if (context->request.label != NULL)
        gci_visible_format(gci_story_part(story, GCI_HEAD_LABEL), "%s", context->request.label);
    if (keyed)
        gci_phrase(gci_story_part(story, GCI_HEAD_KEY), "key {} ({})", GCI_AS_KEY(&context->key),
                   GCI_AS_TEXT(gcache_graph_kind(context->graph)));
    if (entry->reason == GCACHE_REASON_NO_KEY)
        gci_buf_append_text(gci_story_part(story, GCI_HEAD_REMARK),
                            entry->at_ns == 0 ? "nothing is stored under it" : "nothing was stored under it");
    if (entry->at_ns == 0)
        return;
    out = gci_story_part(story, GCI_HEAD_WHEN);
    gci_phrase(out, "{}", GCI_AS_MOMENT(entry->at_ns));
    if (entry->compile_ns != 0)
        gci_phrase(out, entry->reason == GCACHE_REASON_NO_KEY ? ", compiled in {}" : ", compiled again in {}",
                   GCI_AS_DURATION(entry->compile_ns));
}

static void
write_hints(gci_context const *context, gci_buf *out)
{
    size_t count = context->hints.count;

    if (count == 0)
        gci_buf_append_text(out, " no hints");
    for (size_t i = 0; i < count; i++) {
        gci_buf_append_text(out, "  ");
        gci_visible_append(out, gci_hint_shown(&context->hints, i));
        gci_buf_append_char(out, '=');
        gci_number_write(context->hints.items[i].value, out);
    }
}

/* ---- evictions ---- */

/* "the cache holds 5.0 GiB of at most 5.0 GiB; its least recent entry is unused for 40 min 3 s; 61 % of evicted ..." */
static void
tell_fullness(gci_journal_entry const *entry, gci_story *story)
{
    gci_fullness const *fullness = &entry->trace.eviction->fullness;
    bool now = entry->at_ns == 0;
    uint64_t then_ns = now ? gci_clock_wall_ns() : entry->at_ns;

    if (fullness->max_size == 0 || fullness->max_size == UINT64_MAX)
        return;
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_REMARK);
    gci_phrase(out, "the cache {} {} of at most {}", GCI_AS_TEXT(now ? "holds" : "held"), GCI_AS_SIZE(fullness->bytes),
               GCI_AS_SIZE(fullness->max_size));
    if (fullness->least_recent_ns != 0 && fullness->least_recent_ns < then_ns)
        gci_phrase(out, "; its least recent entry {} unused for {}", GCI_AS_TEXT(now ? "is" : "was"),
                   GCI_AS_DURATION(then_ns - fullness->least_recent_ns));
    gci_write_asked_again(out, fullness->asked_again, fullness->evictions);
}

/* "evicted at 14:29, 12 s after the last hit: the cache was over its size limit" */
static void
write_evicted(gci_tombstone const *tombstone, gci_buf *out)
{
    gci_phrase(out, "evicted at {}", GCI_AS_TIME(tombstone->evicted_ns));
    if (tombstone->used_ns != 0 && tombstone->used_ns < tombstone->evicted_ns)
        gci_phrase(out, tombstone->hits != 0 ? ", {} after the last hit" : ", {} later and never hit",
                   GCI_AS_DURATION(tombstone->evicted_ns - tombstone->used_ns));
    gci_phrase(out, ": {}", GCI_AS_TEXT(gci_eviction_text((int)tombstone->cause)));
}

/* A key of which nothing is left. "1 entry was stored at 13:58 and evicted at 14:29, ..." */
static void
tell_key_eviction(gci_journal_entry const *entry, gci_story *story)
{
    gci_key_eviction const *eviction = gci_trace_eviction(&entry->trace);

    if (eviction == NULL || eviction->tombstone.left != 0)
        return;
    gci_tombstone const *tombstone = &eviction->tombstone;
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_SENTENCE);
    gci_buf_format(out, "%u %s ", tombstone->entries, tombstone->entries == 1 ? "entry was" : "entries were");
    if (tombstone->stored_ns != 0)
        gci_phrase(out, "stored at {} and ", GCI_AS_TIME(tombstone->stored_ns));
    write_evicted(tombstone, out);
    if (tombstone->cause == GCI_EVICTED_SIZE)
        tell_fullness(entry, story);
}

/* One candidate of several. */
static void
tell_candidate_eviction(gci_journal_entry const *entry, gci_candidate const *candidate, gci_story *story)
{
    gci_key_eviction const *eviction = gci_trace_eviction(&entry->trace);
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_REMARK);

    gci_buf_append_text(out, "would have hit, but was ");
    if (eviction == NULL || eviction->tombstone.evicted_ns != candidate->evicted_ns) {
        gci_phrase(out, "evicted at {}", GCI_AS_TIME(candidate->evicted_ns));
        return;
    }
    write_evicted(&eviction->tombstone, out);
    if (eviction->tombstone.cause == GCI_EVICTED_SIZE)
        tell_fullness(entry, story);
}

/* ---- one candidate ---- */

static void
tell_candidate(gci_trial const *trial, gci_story *story)
{
    gci_record const *record = record_of(trial);

    gci_buf_format(gci_story_begin(story, GCI_BLOCK_CANDIDATE), "#%zu", trial->rank + 1);
    gci_buf_format(gci_story_part(story, GCI_CANDIDATE_ID), "%.*s", GCI_SHORT_ENTRY_DIGITS, record->id);
    gci_buf *out = gci_story_part(story, GCI_CANDIDATE_FACTS);
    gci_phrase(out, "since {}", GCI_AS_TIME(record->created_ns));
    if (record->variant.size != 0)
        gci_phrase(out, ", variant {}", GCI_AS_VIEW(record->variant));
    if (record->priority != 0)
        gci_buf_format(out, ", priority %lld", (long long)record->priority);
    if (record->compile_ns != 0)
        gci_phrase(out, ", {} to compile", GCI_AS_DURATION(record->compile_ns));
}

/* The failing guard as far as the journal has kept it. */
static void
tell_cut_guard(gci_trial const *trial, gci_story *story)
{
    bool raises = trial->reason == GCACHE_REASON_GUARD_ERROR;
    size_t guard = trial->verdict.guard;

    if ((trial->cut & GCI_CUT_SHORT) != 0 && guard < record_of(trial)->guard_count) {
        gci_visible_append(gci_story_begin(story, GCI_BLOCK_GUARD), record_of(trial)->guards[guard]);
        if (raises)
            gci_buf_append_text(gci_story_part(story, GCI_GUARD_VALUES), trial->verdict.message);
        gci_buf_append_text(gci_story_part(story, GCI_GUARD_VERDICT), raises ? trial->verdict.exception : "false");
    }
    gci_story_say(story, GCI_BLOCK_REMARK, "its guards are too long for the journal");
}

/* The decisive part of a guard that is false or raises, and its arithmetic. */
static void
tell_failing_guard(gci_context const *context, gci_trial const *trial, gci_story *story)
{
    gci_buf part, values;

    if (context->request.guard_test != NULL) {
        gci_story_say(story, GCI_BLOCK_REMARK, "the caller's own test of guards doesn't want it");
        return;
    }
    if (trial->ranked->guards == NULL || trial->verdict.guard >= record_of(trial)->guard_count) {
        tell_cut_guard(trial, story);
        return;
    }
    bool raises = trial->reason == GCACHE_REASON_GUARD_ERROR;
    gci_buf_init(&part, GCI_BUF_NO_LIMIT);
    gci_buf_init(&values, GCI_BUF_NO_LIMIT);
    gci_guards_explain(trial->ranked->guards, trial->verdict.guard, &context->hints, &part, &values);
    if (raises && values.size == 0)
        gci_buf_append_text(&values, trial->verdict.message);
    gci_visible_append(gci_story_begin(story, GCI_BLOCK_GUARD), gci_buf_view(&part));
    gci_visible_append(gci_story_part(story, GCI_GUARD_VALUES), gci_buf_view(&values));
    gci_buf_append_text(gci_story_part(story, GCI_GUARD_VERDICT), raises ? trial->verdict.exception : "false");
    if (trial->cut != GCI_CUT_NOTHING)
        gci_story_say(story, GCI_BLOCK_REMARK, "its other guards are too long for the journal");
    gci_buf_clear(&part);
    gci_buf_clear(&values);
}

static void
write_quoted(gci_buf *out, gci_view value)
{
    if (value.data == NULL)
        gci_buf_append_text(out, "nothing");
    else
        gci_phrase(out, "\"{}\"", GCI_AS_EXCERPT(value, 60));
}

static void
tell_difference(gci_story *story, gci_view name, gci_view stored, gci_view asked)
{
    gci_visible_append(gci_story_begin(story, GCI_BLOCK_DIFFERENCE), name);
    write_quoted(gci_story_part(story, GCI_DIFFERENCE_STORED), stored);
    write_quoted(gci_story_part(story, GCI_DIFFERENCE_ASKED), asked);
}

static void
tell_name(gci_names_walk const *walk, gci_story *story)
{
    size_t at = gci_first_difference(walk->stored, walk->current);
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_REMARK);

    gci_buf_append_text(out, "compiled as \"");
    gci_write_excerpt_around(out, walk->stored, at, NAME_WIDTH);
    gci_buf_append_text(out, "\", yours is \"");
    gci_write_excerpt_around(out, walk->current, at, NAME_WIDTH);
    gci_buf_append_text(out, "\"");
}

/* What the payload would say otherwise than its caller. */
static void
tell_names(gci_context const *context, gci_record const *record, bool brief, gci_story *story)
{
    gci_names_walk walk = { .context = context, .record = record };
    size_t differing = 0, shown = 0;

    while (gci_names_next(&walk)) {
        if (gci_view_equal(walk.stored, walk.current))
            continue;
        differing++;
        if (brief && shown == BRIEF_NAMES)
            continue;
        tell_name(&walk, story);
        shown++;
    }
    if (differing > shown)
        gci_buf_format(gci_story_begin(story, GCI_BLOCK_REMARK), "and %zu more names", differing - shown);
    if (differing == 0)
        gci_story_say(story, GCI_BLOCK_REMARK, "compiled with other names than the caller's");
}

static void
tell_holds(gci_journal_entry const *entry, gci_trial const *trial, bool brief, gci_story *story)
{
    gci_record const *record = record_of(trial);
    bool renamed = entry->context.request.accept_renames && !gci_names_same(&entry->context, record);

    gci_story_say(story, GCI_BLOCK_REMARK, renamed ? "holds, under other names:" : "holds");
    if (renamed)
        tell_names(&entry->context, record, brief, story);
}

static void
tell_trial(gci_journal_entry const *entry, gci_trial const *trial, bool brief, gci_story *story)
{
    gci_context const *context = &entry->context;
    gci_record const *record = record_of(trial);

    tell_candidate(trial, story);
    switch (trial->reason) {
    case GCACHE_REASON_GUARD_FALSE:
    case GCACHE_REASON_GUARD_ERROR:
        tell_failing_guard(context, trial, story);
        break;
    case GCACHE_REASON_VARIANT:
        tell_difference(story, gci_view_text("variant"), record->variant, gci_view_text(context->request.variant));
        break;
    case GCACHE_REASON_REQUIREMENT:
        tell_difference(story, trial->requirement->name, trial->requirement->value, trial->provided);
        break;
    case GCACHE_REASON_NAMES:
        tell_names(context, record, brief, story);
        break;
    case GCACHE_REASON_EVICTED:
        tell_candidate_eviction(entry, trial->ranked->candidate, story);
        break;
    case GCACHE_REASON_UNREADABLE:
        gci_story_say(story, GCI_BLOCK_REMARK, "its guards can't be read by this version");
        break;
    default:
        tell_holds(entry, trial, brief, story);
        break;
    }
}

/* ---- all candidates ---- */

static void
tell_summary(gci_journal_entry const *entry, gci_story *story)
{
    gci_trace const *trace = &entry->trace;
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_SENTENCE);

    gci_phrase(out, trace->live_count == 1 ? "{} candidate" : "{} candidates", GCI_AS_COUNT(trace->live_count));
    if (entry->kind == GCACHE_JOURNAL_HIT)
        gci_buf_format(out, ", #%zu is the best that holds for", trace->winner->rank + 1);
    else
        gci_buf_append_text(out, trace->live_count == 1 ? ", it doesn't hold for" : ", none holds for");
    write_hints(&entry->context, out);
}

void
gci_explain_variant(gci_journal_entry const *entry, gci_buf *out)
{
    gci_trace const *trace = &entry->trace;
    char const *expected = entry->context.request.expect_variant;

    if (entry->kind != GCACHE_JOURNAL_HIT || expected == NULL ||
        strcmp(trace->winner->ranked->answer.variant, expected) == 0)
        return;
    for (size_t i = 0; i < trace->trial_count; i++) {
        gci_trial const *trial = &trace->trials[i];
        if (gci_trial_is_evicted(trace, trial) || strcmp(trial->ranked->answer.variant, expected) != 0)
            continue;
        gci_visible_format(out, "the expected variant \"%s\" is there (#%zu) but can't serve: %s", expected,
                           trial->rank + 1, gcache_reason_name(trial->reason));
        return;
    }
    gci_visible_format(out, "the expected variant \"%s\" isn't there: perhaps it was never compiled", expected);
}

/* The changes of hints that would have made a candidate hold, each once. */
static void
tell_would_hit(gci_journal_entry const *entry, gci_story *story)
{
    gci_trace const *trace = &entry->trace;
    gci_buf change;
    size_t written = 0, work = GCI_NEAREST_WORK;

    gci_buf_init(&change, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < trace->trial_count && written < BRIEF_NEAREST_HINTS; i++) {
        gci_trial const *trial = &trace->trials[i];
        if (trial->reason != GCACHE_REASON_GUARD_FALSE && trial->reason != GCACHE_REASON_GUARD_ERROR)
            continue;
        if (gci_trial_is_evicted(trace, trial) || trial->ranked->guards == NULL || trial->cut != GCI_CUT_NOTHING)
            continue;
        change.size = 0;
        if (!gci_guards_nearest(trial->ranked->guards, &entry->context.hints, trial->rank < GCI_PAIRS_CANDIDATES,
                                &work, &change))
            continue;
        gci_visible_append(gci_story_begin(story, GCI_BLOCK_WOULD_HIT), gci_buf_view(&change));
        gci_buf_format(gci_story_part(story, GCI_WOULD_HIT_WHOSE), "#%zu", trial->rank + 1);
        written++;
    }
    gci_buf_clear(&change);
}

/* Those that got as far as the reason says come first in interest; in a brief text the others give way. */
static bool
worth_showing(gci_journal_entry const *entry, gci_trial const *trial, size_t shown)
{
    if (entry->kind == GCACHE_JOURNAL_HIT)
        return trial == entry->trace.winner || shown < 2;
    return trial->reason == entry->reason;
}

static void
tell_candidates(gci_journal_entry const *entry, bool brief, gci_story *story)
{
    gci_trace const *trace = &entry->trace;
    size_t shown = 0, live = 0;

    tell_summary(entry, story);
    gci_explain_variant(entry, gci_story_begin(story, GCI_BLOCK_SENTENCE));
    for (size_t i = 0; i < trace->trial_count; i++) {
        gci_trial const *trial = &trace->trials[i];
        bool evicted = gci_trial_is_evicted(trace, trial);
        if (evicted && trial->reason != GCACHE_REASON_EVICTED)
            continue;
        if (brief && (shown == BRIEF_CANDIDATES || !worth_showing(entry, trial, shown)))
            continue;
        tell_trial(entry, trial, brief, story);
        shown++;
        live += !evicted;
    }
    if (live < trace->live_count)
        gci_buf_format(gci_story_begin(story, GCI_BLOCK_MORE), "and %zu more", trace->live_count - live);
    if (live < trace->live_count && entry->at_ns == 0)
        gci_buf_append_text(gci_story_part(story, GCI_MORE_HOW), "--all shows them");
    if (entry->kind == GCACHE_JOURNAL_MISS)
        tell_would_hit(entry, story);
}

/* The miss will come again, whatever is compiled. */
static void
tell_read_only(gci_journal_entry const *entry, gci_story *story)
{
    gci_store *store = entry->context.cache->store;

    if (store == NULL || !gci_store_is_read_only(store))
        return;
    gci_story_say(story, GCI_BLOCK_NOTE, "note");
    gci_buf_append_text(gci_story_part(story, GCI_NOTE_TEXT),
                        "the cache is read-only: what is compiled now isn't stored, and will miss again");
}

/* Without a candidate to show, there is nothing to say but the reason in words. */
static bool
reason_says_all(gci_journal_entry const *entry)
{
    gci_trace const *trace = &entry->trace;

    if (trace->live_count + trace->evicted_count != 0 || trace->eviction != NULL)
        return false;
    return entry->reason != GCACHE_REASON_NO_KEY && entry->reason != GCACHE_REASON_BYPASS &&
           entry->kind == GCACHE_JOURNAL_MISS;
}

/* It was compiled before, and that didn't help. */
static void
tell_not_stored(gci_trace const *trace, gci_story *story)
{
    if (trace->not_stored != NULL)
        gci_phrase(gci_story_begin(story, GCI_BLOCK_SENTENCE), "it was compiled at {} and {}",
                   GCI_AS_MOMENT(trace->not_stored_ns), GCI_AS_TEXT(trace->not_stored));
}

static void
tell_reason(gci_journal_entry const *entry, gci_story *story)
{
    if (entry->cut)
        gci_story_say(story, GCI_BLOCK_SENTENCE, "too long for the journal, which kept only what decided");
    if (entry->reason == GCACHE_REASON_BYPASS && entry->bypass != NULL)
        gci_visible_format(gci_story_begin(story, GCI_BLOCK_SENTENCE), "%s", entry->bypass);
    if (reason_says_all(entry))
        gci_story_say(story, GCI_BLOCK_SENTENCE, gcache_reason_text(entry->reason));
}

void
gci_explain_tell(gci_journal_entry const *entry, bool brief, gci_story *story)
{
    tell_head(entry, story);
    tell_reason(entry, story);
    if (entry->trace.live_count + entry->trace.evicted_count > 0)
        tell_candidates(entry, brief, story);
    if (entry->reason == GCACHE_REASON_EVICTED)
        tell_key_eviction(entry, story);
    if (entry->trace.trouble.status != GCACHE_OK)
        gci_visible_format(gci_story_begin(story, GCI_BLOCK_SENTENCE), "%s", entry->trace.trouble.message);
    if (entry->reason == GCACHE_REASON_NO_KEY) {
        tell_not_stored(&entry->trace, story);
        gci_explain_nearest(entry, brief, story);
    }
    if (entry->former != 0)
        gci_phrase(gci_story_begin(story, GCI_BLOCK_SENTENCE), "the compile was " GCI_TAKEOVER, GCI_AS_NUMBER(entry->former));
    if (entry->kind == GCACHE_JOURNAL_HIT)
        return;
    if (entry->at_ns == 0)
        tell_read_only(entry, story);
    gci_write_advice(entry, gci_story_begin(story, GCI_BLOCK_ADVICE));
}
