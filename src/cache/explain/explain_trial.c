/*
 * One candidate of a lookup's trace in words: what it is, and what decided; how it was evicted, if it was.
 */
#include "base/system/clock.h"
#include "base/visible.h"
#include "cache/candidates/names.h"
#include "cache/explain/explanation.h"
#include "cache/explain/failing.h"
#include "cache/handle/words.h"

/* Alternatives of an `or`, and how much is shown of a part and of its arithmetic: machines write them of any length. */
#define ALTERNATIVES_MOST 64
#define BRIEF_DECIDING_WIDTH 300

/* From so many candidates on that lack the same they are told together, and as many of their values. */
#define LACKING_LEAST 3
#define LACKING_VALUES 4

/* Names that differ, of a candidate, and how much is shown of one: mangled names are long. */
#define BRIEF_NAMES 3
#define NAME_WIDTH 64

static gci_record const *
record_of(gci_trial const *trial)
{
    return &trial->ranked->candidate->record;
}

void
gci_explain_deciding(gci_buf *out, gci_view text, bool brief)
{
    if (brief)
        gci_write_excerpt(out, text, BRIEF_DECIDING_WIDTH);
    else
        gci_visible_append(out, text);
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
void
gci_explain_key_eviction(gci_journal_entry const *entry, gci_story *story)
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
    if (entry->context.hints.count != 0)
        gci_story_say(story, GCI_BLOCK_REMARK, tombstone->entries == 1
                                                   ? "its guards went with it: whether these hints would have hit isn't known"
                                                   : "their guards went with them: whether these hints would have hit isn't known");
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

/* The part of a guard that is false or raises, and its arithmetic. */
static void
tell_part(gci_trial const *trial, gci_guard_part const *part, bool brief, gci_story *story)
{
    bool raises = part->raises && trial->reason == GCACHE_REASON_GUARD_ERROR;
    gci_view values = raises && part->values.size == 0 ? gci_view_text(trial->verdict.message) : part->values;

    gci_explain_deciding(gci_story_begin(story, GCI_BLOCK_GUARD), part->part, brief);
    gci_explain_deciding(gci_story_part(story, GCI_GUARD_VALUES), values, brief);
    gci_buf_append_text(gci_story_part(story, GCI_GUARD_VERDICT), raises ? trial->verdict.exception : "false");
}

static void
tell_failing_guard(gci_context const *context, gci_trial const *trial, bool brief, gci_story *story)
{
    gci_guard_part parts[ALTERNATIVES_MOST];
    size_t most = brief ? GCI_BRIEF_ALTERNATIVES : ALTERNATIVES_MOST;
    gci_arena arena;

    if (context->request.guard_test != NULL) {
        gci_story_say(story, GCI_BLOCK_REMARK, "the caller's own test of guards doesn't want it");
        return;
    }
    if (trial->ranked->guards == NULL || trial->verdict.guard >= record_of(trial)->guard_count) {
        tell_cut_guard(trial, story);
        return;
    }
    gci_arena_init(&arena, SIZE_MAX / 2);
    size_t count = gci_guards_parts(trial->ranked->guards, trial->verdict.guard, &context->hints, &arena, parts, most);
    for (size_t i = 0; i < count && i < most; i++) {
        tell_part(trial, &parts[i], brief, story);
        gci_buf_append_text(gci_story_part(story, GCI_GUARD_LABEL), i != 0 ? "or" : "");
    }
    if (count > most)
        gci_buf_format(gci_story_begin(story, GCI_BLOCK_REMARK), "and %zu more alternatives, false as well", count - most);
    if (trial->cut != GCI_CUT_NOTHING)
        gci_story_say(story, GCI_BLOCK_REMARK, "its other guards are too long for the journal");
    gci_arena_clear(&arena);
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

    if (entry->context.cache->unsafe_skip_guards && record->guard_count != 0) {
        gci_story_say(story, GCI_BLOCK_REMARK, "its guards weren't asked: unsafe-skip-guards is set");
        return;
    }
    gci_story_say(story, GCI_BLOCK_REMARK, renamed ? "holds, under other names:" : "holds");
    if (renamed)
        tell_names(&entry->context, record, brief, story);
}

void
gci_explain_trial(gci_journal_entry const *entry, gci_trial const *trial, bool brief, gci_story *story)
{
    gci_context const *context = &entry->context;
    gci_record const *record = record_of(trial);

    tell_candidate(trial, story);
    switch (trial->reason) {
    case GCACHE_REASON_GUARD_FALSE:
    case GCACHE_REASON_GUARD_ERROR:
        tell_failing_guard(context, trial, brief, story);
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
        gci_story_say(story, GCI_BLOCK_REMARK, "its guards or its payload can't be read, or the program can't load it");
        break;
    default:
        tell_holds(entry, trial, brief, story);
        break;
    }
}

/* ---- candidates that lack the same ---- */

/* What a candidate wants to be there and isn't: a requirement, or a variant. */
typedef struct lack {
    gci_view name, stored, asked;
} lack;

static lack
lack_of(gci_journal_entry const *entry, gci_trial const *trial)
{
    if (trial->reason == GCACHE_REASON_REQUIREMENT)
        return (lack){ trial->requirement->name, trial->requirement->value, trial->provided };
    return (lack){ GCI_VIEW("variant"), record_of(trial)->variant, gci_view_text(entry->context.request.variant) };
}

static bool
is_lacking(gci_journal_entry const *entry, gci_trial const *trial)
{
    return trial->reason == entry->reason && !gci_trial_is_evicted(&entry->trace, trial);
}

/* How many lack the same as the first; 0: some lack something else. */
static size_t
count_lacking(gci_journal_entry const *entry)
{
    gci_trace const *trace = &entry->trace;
    gci_view name = { NULL, 0 };
    size_t count = 0;

    for (size_t i = 0; i < trace->trial_count; i++) {
        if (!is_lacking(entry, &trace->trials[i]))
            continue;
        lack one = lack_of(entry, &trace->trials[i]);
        name = count++ == 0 ? one.name : name;
        if (!gci_view_equal(one.name, name))
            return 0;
    }
    return count;
}

/* "600", "590" and others: each value once. */
static void
write_lacking(gci_journal_entry const *entry, gci_buf *out)
{
    gci_trace const *trace = &entry->trace;
    gci_view values[LACKING_VALUES];
    size_t shown = 0;
    bool more = false;

    for (size_t i = 0; i < trace->trial_count; i++) {
        if (!is_lacking(entry, &trace->trials[i]))
            continue;
        lack one = lack_of(entry, &trace->trials[i]);
        size_t at = 0;
        while (at < shown && !gci_view_equal(values[at], one.stored))
            at++;
        if (at < shown)
            continue;
        more = shown == LACKING_VALUES;
        if (more)
            break;
        values[shown++] = one.stored;
        gci_buf_append_text(out, shown > 1 ? ", " : "");
        write_quoted(out, one.stored);
    }
    gci_buf_append_text(out, more ? " and others" : "");
}

size_t
gci_explain_lacking(gci_journal_entry const *entry, gci_story *story)
{
    bool told = entry->reason == GCACHE_REASON_REQUIREMENT || entry->reason == GCACHE_REASON_VARIANT;
    size_t count = told ? count_lacking(entry) : 0;

    if (count < LACKING_LEAST)
        return 0;
    lack first = lack_of(entry, gci_trace_first(&entry->trace, entry->reason));
    gci_visible_append(gci_story_begin(story, GCI_BLOCK_DIFFERENCE), first.name);
    write_lacking(entry, gci_story_part(story, GCI_DIFFERENCE_STORED));
    write_quoted(gci_story_part(story, GCI_DIFFERENCE_ASKED), first.asked);
    return count;
}
