/*
 * A lookup's trace as a story for people: outcome, reason, whose lookup, key; then only what decides.
 */
#include "base/visible.h"
#include "cache/explain/explanation.h"
#include "cache/explain/failing.h"
#include "cache/handle/words.h"

#define BRIEF_NEAREST_HINTS 4
/* Candidates in a brief text, six to begin with; and what a sentence about many takes of its room. */
#define CANDIDATES_IN(room) ((room) > 2 ? (room) * 3 / 8 : 1)
#define LINES_ALIKE 4

static void
tell_head(gci_journal_entry const *entry, bool brief, gci_story *story)
{
    gci_context const *context = &entry->context;
    bool keyed = entry->reason != GCACHE_REASON_DISABLED && entry->reason != GCACHE_REASON_BYPASS;
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_HEAD);

    gci_buf_append_text(out, entry->kind == GCACHE_JOURNAL_HIT ? "hit" : "miss: ");
    gci_buf_append_text(out, gcache_reason_name(entry->reason));
    if (context->request.label != NULL)
        gci_explain_deciding(gci_story_part(story, GCI_HEAD_LABEL), gci_view_text(context->request.label), brief);
    if (keyed)
        gci_phrase(gci_story_part(story, GCI_HEAD_KEY), "key {} ({})", GCI_AS_KEY(&context->key),
                   GCI_AS_TEXT(gcache_graph_kind(context->graph)));
    if (gci_entry_local_reason(entry) == GCACHE_REASON_NO_KEY)
        gci_buf_append_text(gci_story_part(story, GCI_HEAD_REMARK),
                            entry->at_ns == 0 ? "nothing is stored under it" : "nothing was stored under it");
    if (entry->at_ns == 0)
        return;
    out = gci_story_part(story, GCI_HEAD_WHEN);
    gci_phrase(out, "{}", GCI_AS_MOMENT(entry->at_ns));
    if (entry->compile_ns != 0)
        gci_phrase(out, gci_entry_local_reason(entry) == GCACHE_REASON_NO_KEY ? ", compiled in {}" : ", compiled again in {}",
                   GCI_AS_DURATION(entry->compile_ns));
}

/* ---- all candidates ---- */

/* What is said of candidates that fail for a reason: of one, of several. Those of guards come last, with the hints behind them. */
static struct {
    char const *one, *several;
    bool of_hints;
} const failures[GCACHE_REASON_COUNT] = {
    [GCACHE_REASON_VARIANT] = { "is of another variant", "are of another variant", false },
    [GCACHE_REASON_REQUIREMENT] = { "needs what isn't provided", "need what isn't provided", false },
    [GCACHE_REASON_NAMES] = { "was compiled with other names", "were compiled with other names", false },
    [GCACHE_REASON_UNREADABLE] = { "can't be read", "can't be read", false },
    [GCACHE_REASON_CORRUPT] = { "is damaged", "are damaged", false },
    [GCACHE_REASON_GUARD_ERROR] = { "has a guard that raises", "have guards that raise", true },
    [GCACHE_REASON_GUARD_FALSE] = { "doesn't hold", "don't hold", true },
};

/* Live candidates by reason; returns how many fail for one that has words. */
static size_t
count_failures(gci_trace const *trace, size_t counts[GCACHE_REASON_COUNT])
{
    size_t known = 0;

    memset(counts, 0, GCACHE_REASON_COUNT * sizeof *counts);
    for (size_t i = 0; i < trace->trial_count; i++) {
        gci_trial const *trial = &trace->trials[i];
        if (gci_trial_is_evicted(trace, trial) || failures[trial->reason].one == NULL)
            continue;
        counts[trial->reason]++;
        known++;
    }
    return known;
}

/* "6 candidates: 4 are of another variant, 2 don't hold for  s0=16" */
static void
write_failures(size_t const counts[GCACHE_REASON_COUNT], gci_view hints, gci_buf *out)
{
    size_t written = 0;
    bool of_hints = false;

    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < GCACHE_REASON_COUNT; i++) {
            if (counts[i] == 0 || failures[i].of_hints != (pass != 0))
                continue;
            gci_phrase(out, written++ == 0 ? ": {} {}" : ", {} {}", GCI_AS_COUNT(counts[i]),
                       GCI_AS_TEXT(counts[i] == 1 ? failures[i].one : failures[i].several));
            of_hints = of_hints || failures[i].of_hints;
        }
    }
    if (of_hints)
        gci_buf_append_view(out, hints);
}

static void
write_miss_summary(gci_journal_entry const *entry, gci_view hints, gci_buf *out)
{
    size_t counts[GCACHE_REASON_COUNT], live = entry->trace.live_count, alone = 0;
    size_t known = count_failures(&entry->trace, counts);

    for (size_t i = 0; i < GCACHE_REASON_COUNT; i++)
        alone = counts[i] == live ? i : alone;
    if (live == 0) {
        gci_buf_append_text(out, " is left");
    } else if (known < live) { /* the journal knows no more of the others */
        gci_buf_append_text(out, live == 1 ? ", it doesn't serve" : ", none serves");
        gci_buf_append_view(out, hints);
    } else if (alone == 0) {
        write_failures(counts, hints, out);
    } else if (alone == GCACHE_REASON_GUARD_FALSE && live > 1) {
        gci_buf_append_text(out, ", none holds");
        gci_buf_append_view(out, hints);
    } else {
        gci_phrase(out, live == 1 ? ", it {}" : ", all {}", GCI_AS_TEXT(live == 1 ? failures[alone].one : failures[alone].several));
        if (failures[alone].of_hints)
            gci_buf_append_view(out, hints);
    }
}

/* Candidates are the directory's unless a tier got further. */
static void
write_whose(gci_trace const *trace, gci_buf *out)
{
    char const *tier = gci_trace_tier(trace);

    if (tier != NULL)
        gci_phrase(out, " of {}", GCI_AS_TEXT(tier));
}

/* hints: what gci_explain_hints says of them. */
static void
tell_summary(gci_journal_entry const *entry, gci_view hints, gci_story *story)
{
    gci_trace const *trace = &entry->trace;
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_SENTENCE);

    gci_phrase(out, trace->live_count == 0 ? "no candidate" : trace->live_count == 1 ? "{} candidate" : "{} candidates",
               GCI_AS_COUNT(trace->live_count));
    write_whose(trace, out);
    if (entry->kind != GCACHE_JOURNAL_HIT) {
        write_miss_summary(entry, hints, out);
        return;
    }
    gci_buf_format(out, ", #%zu is ", trace->winner->rank + 1);
    if (entry->context.cache->unsafe_skip_guards) {
        gci_buf_append_text(out, "taken: unsafe-skip-guards is set, so no guard was asked");
        return;
    }
    gci_buf_append_text(out, "the best that holds");
    gci_buf_append_view(out, hints);
}

/* ---- candidates that fail alike ---- */

/* "one value of t0 // 8": what each of them was compiled for. */
static void
write_compiled_for(gci_alike const *alike, gci_buf *out)
{
    char const *template = alike->nearest.op == GCI_OPERATOR_EQ   ? "one value of {}"
                           : alike->nearest.op == GCI_OPERATOR_NE ? "all values of {} but one"
                           : alike->nearest.op == GCI_OPERATOR_LT || alike->nearest.op == GCI_OPERATOR_LE
                               ? "{} up to a bound"
                               : "{} from a bound on";

    if (alike->one_bound)
        gci_visible_append(out, alike->nearest.part);
    else
        gci_phrase(out, template, GCI_AS_VIEW(alike->nearest.subject));
}

/* "9 candidates, each compiled for one value of t0 // 8; yours is 11", and the nearest of them. */
static void
tell_alike(gci_trace const *trace, gci_alike const *alike, bool all, gci_story *story)
{
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_SENTENCE);

    gci_phrase(out, all ? "{} candidates" : "{} of them", GCI_AS_COUNT(alike->count));
    if (all)
        write_whose(trace, out);
    gci_buf_append_text(out, all ? ", each compiled for " : " were each compiled for ");
    write_compiled_for(alike, out);
    if (!alike->one_bound)
        gci_phrase(out, "; yours is {}", GCI_AS_VIEW(alike->nearest.value));
    gci_explain_deciding(gci_story_begin(story, GCI_BLOCK_GUARD), alike->nearest.part, true);
    gci_explain_deciding(gci_story_part(story, GCI_GUARD_VALUES), alike->nearest.values, true);
    gci_buf_append_text(gci_story_part(story, GCI_GUARD_VERDICT), "false");
    gci_buf_format(gci_story_part(story, GCI_GUARD_WHOSE), "(#%zu)", alike->rank + 1);
    gci_buf_append_text(gci_story_part(story, GCI_GUARD_LABEL), "nearest");
}

static bool
are_all_alike(gci_journal_entry const *entry, gci_failing const *failing)
{
    return failing->alike_count == 1 && failing->alike[0].count == entry->trace.live_count;
}

/* Returns how many candidates that is about. */
static size_t
tell_all_alike(gci_journal_entry const *entry, gci_failing const *failing, gci_story *story)
{
    bool all = are_all_alike(entry, failing);
    size_t told = 0;

    for (size_t i = 0; i < failing->alike_count; i++) {
        tell_alike(&entry->trace, &failing->alike[i], all, story);
        told += failing->alike[i].count;
    }
    return told;
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

/* Those that got as far as the reason says come first in interest; in a brief text the others give way. */
static bool
worth_showing(gci_journal_entry const *entry, gci_trial const *trial, size_t shown)
{
    if (entry->kind == GCACHE_JOURNAL_HIT)
        return trial == entry->trace.winner || shown < 2;
    return trial->reason == entry->reason;
}

static bool
is_told_alike(gci_failing const *failing, gci_trial const *trial)
{
    for (size_t i = 0; i < failing->count; i++)
        if (failing->items[i].trial == trial)
            return failing->items[i].alike != NULL;
    return false;
}

/* One by one, those that aren't among the ones told together. Returns how many live ones. */
static size_t
tell_trials(gci_journal_entry const *entry, gci_failing const *failing, size_t room, gci_story *story)
{
    gci_trace const *trace = &entry->trace;
    size_t shown = 0, live = 0;

    for (size_t i = 0; i < trace->trial_count; i++) {
        gci_trial const *trial = &trace->trials[i];
        bool evicted = gci_trial_is_evicted(trace, trial);
        if (evicted && trial->reason != GCACHE_REASON_EVICTED)
            continue;
        if (room != 0 && (shown >= CANDIDATES_IN(room) || !worth_showing(entry, trial, shown)))
            continue;
        if (is_told_alike(failing, trial))
            continue;
        gci_explain_trial(entry, trial, room != 0, story);
        shown++;
        live += !evicted;
    }
    return live;
}

/* Those that weren't told by what their guards have in common. Returns how many live ones. */
static size_t
tell_others(gci_journal_entry const *entry, gci_failing const *failing, size_t room, gci_story *story)
{
    size_t used = LINES_ALIKE * failing->alike_count;
    size_t lacking = room != GCI_ROOM_ALL ? gci_explain_lacking(entry, story) : 0;

    if (lacking != 0)
        return lacking;
    return tell_trials(entry, failing, room == GCI_ROOM_ALL ? room : room > used ? room - used : 1, story);
}

/* What stands below the summary. Returns how many live candidates it is about. */
static size_t
tell_below(gci_journal_entry const *entry, gci_failing const *failing, size_t room, gci_story *story)
{
    size_t told = tell_all_alike(entry, failing, story);

    gci_explain_variant(entry, gci_story_begin(story, GCI_BLOCK_SENTENCE));
    return told + tell_others(entry, failing, room, story);
}

/* The summary stands above the guards that say which hints belong in it: those are told once before. */
static void
tell_summary_of(gci_journal_entry const *entry, gci_failing const *failing, size_t room, gci_story *story)
{
    gci_story below;
    gci_buf hints;

    gci_story_init(&below);
    gci_buf_init(&hints, GCI_BUF_NO_LIMIT);
    if (gci_explain_cuts_hints(entry, room))
        tell_below(entry, failing, room, &below);
    gci_explain_hints(entry, room, gci_story_blocks(&below), &hints);
    tell_summary(entry, gci_buf_view(&hints), story);
    story->failed |= hints.failed || below.failed;
    gci_buf_clear(&hints);
    gci_story_clear(&below);
}

static void
tell_candidates(gci_journal_entry const *entry, size_t room, gci_story *story)
{
    gci_trace const *trace = &entry->trace;
    gci_failing failing = { 0 };
    gci_arena arena;

    gci_arena_init(&arena, SIZE_MAX / 2);
    /* What is nearest can only be told where all are known: the journal counts some. */
    bool together = room != GCI_ROOM_ALL && failures[entry->reason].of_hints &&
                    count_failures(trace, (size_t[GCACHE_REASON_COUNT]){ 0 }) == trace->live_count;
    if (entry->kind == GCACHE_JOURNAL_MISS)
        gci_failing_find(entry, &arena, &failing, together);
    if (!are_all_alike(entry, &failing))
        tell_summary_of(entry, &failing, room, story);
    size_t told = tell_below(entry, &failing, room, story);
    if (told < trace->live_count)
        gci_buf_format(gci_story_begin(story, GCI_BLOCK_MORE), "and %zu more", trace->live_count - told);
    if (told < trace->live_count && entry->at_ns == 0)
        gci_buf_append_text(gci_story_part(story, GCI_MORE_HOW), "--all shows them");
    if (entry->kind == GCACHE_JOURNAL_MISS)
        gci_failing_tell_would_hit(entry, &failing, BRIEF_NEAREST_HINTS, room != GCI_ROOM_ALL, story);
    gci_arena_clear(&arena);
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
    return entry->trace.reply_count == 0 && entry->reason != GCACHE_REASON_NO_KEY && entry->reason != GCACHE_REASON_BYPASS &&
           entry->kind == GCACHE_JOURNAL_MISS;
}

/* It was compiled before, and that didn't help. */
static void
tell_fate(gci_trace const *trace, gci_story *story)
{
    if (trace->not_stored != NULL)
        gci_phrase(gci_story_begin(story, GCI_BLOCK_SENTENCE), "it was compiled at {} and {}",
                   GCI_AS_MOMENT(trace->not_stored_ns), GCI_AS_TEXT(trace->not_stored));
    else if (trace->missed_ns != 0)
        gci_phrase(gci_story_begin(story, GCI_BLOCK_SENTENCE),
                   "another process missed it at {}, and nothing had been stored under it since",
                   GCI_AS_MOMENT(trace->missed_ns));
    else if (trace->stored_ns != 0)
        gci_phrase(gci_story_begin(story, GCI_BLOCK_SENTENCE), "it was stored at {}; what took it since isn't remembered",
                   GCI_AS_MOMENT(trace->stored_ns));
}

/* A sentence a line. */
static void
tell_why_asked(char const *why, gci_story *story)
{
    for (; why != NULL && *why != '\0'; why += strspn(why, "\n")) {
        size_t size = strcspn(why, "\n");
        gci_visible_append(gci_story_begin(story, GCI_BLOCK_SENTENCE), gci_view_of(why, size));
        why += size;
    }
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
gci_explain_tell(gci_journal_entry const *entry, size_t room, gci_story *story)
{
    tell_head(entry, room != GCI_ROOM_ALL, story);
    tell_why_asked(entry->context.request.why_asked, story);
    tell_reason(entry, story);
    gci_explain_tiers(entry, story);
    if (entry->trace.live_count + entry->trace.evicted_count > 0)
        tell_candidates(entry, room, story);
    if (gci_entry_local_reason(entry) == GCACHE_REASON_EVICTED)
        gci_explain_key_eviction(entry, story);
    if (entry->trace.trouble.status != GCACHE_OK)
        gci_visible_format(gci_story_begin(story, GCI_BLOCK_SENTENCE), "%s", entry->trace.trouble.message);
    if (gci_entry_local_reason(entry) == GCACHE_REASON_NO_KEY && entry->kind == GCACHE_JOURNAL_MISS) {
        tell_fate(&entry->trace, story);
        gci_explain_nearest(entry, room, story);
    }
    if (entry->former != 0)
        gci_phrase(gci_story_begin(story, GCI_BLOCK_SENTENCE), "the compile was " GCI_TAKEOVER, GCI_AS_NUMBER(entry->former));
    if (entry->kind == GCACHE_JOURNAL_HIT)
        return;
    if (entry->at_ns == 0)
        tell_read_only(entry, story);
    gci_write_advice(entry, gci_story_begin(story, GCI_BLOCK_ADVICE));
}
