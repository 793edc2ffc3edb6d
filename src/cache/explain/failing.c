/*
 * Candidates whose guards don't hold: grouped by the expression that decides, and searched for the smallest change of hints.
 */
#include "cache/explain/failing.h"

#include "cache/handle/words.h"

#include <math.h>
#include <stdlib.h>

/* From so many on, candidates that fail alike are told in one sentence. */
#define ALIKE_LEAST 3
/* Sentences of that kind. */
#define ALIKE_MOST 2

/* Guards that are looked at to estimate which candidates are near: some ten milliseconds. */
#define ESTIMATED_GUARDS 20000
/* Candidates for which the smallest change is searched, the nearest by the estimate. */
#define SEARCHED_MOST 64
/* Changes that are told. */
#define TOLD_MOST 16

/* ---- who fails on what ---- */

static bool
is_failing(gci_trace const *trace, gci_trial const *trial)
{
    bool by_guard = trial->reason == GCACHE_REASON_GUARD_FALSE || trial->reason == GCACHE_REASON_GUARD_ERROR;

    return by_guard && !gci_trial_is_evicted(trace, trial) && trial->ranked->guards != NULL &&
           trial->verdict.guard < trial->ranked->candidate->record.guard_count;
}

/* How far the hints are from what all guards of a candidate want, each guard by itself. */
static double
estimate(gci_failing_one const *one, gci_hints const *hints, gci_arena *scratch, size_t *budget)
{
    gci_guards const *guards = one->trial->ranked->guards;
    size_t guard_count = one->trial->ranked->candidate->record.guard_count;
    double distance = 0;

    if (*budget < guard_count || one->trial->cut != GCI_CUT_NOTHING)
        return HUGE_VAL;
    *budget -= guard_count;
    for (size_t i = 0; i < guard_count; i++) {
        gci_guard_part parts[GCI_BRIEF_ALTERNATIVES];
        size_t count = gci_guards_parts(guards, i, hints, scratch, parts, GCI_BRIEF_ALTERNATIVES);
        double least = count != 0 ? parts[0].distance : 0;
        for (size_t k = 1; k < count && k < GCI_BRIEF_ALTERNATIVES; k++)
            least = parts[k].distance < least ? parts[k].distance : least;
        distance += least;
    }
    return distance;
}

static bool
are_alike(gci_failing_one const *a, gci_guard_part const *b)
{
    return a->parts == 1 && a->part.subject.size != 0 && a->part.op == b->op && gci_view_equal(a->part.subject, b->subject);
}

static void
add_alike(gci_failing *failing, gci_failing_one *first)
{
    gci_alike alike = { .nearest = first->part, .rank = first->trial->rank, .one_bound = true };
    gci_failing_one *end = failing->items + failing->count;

    for (gci_failing_one *one = first; one < end; one++) {
        if (one->alike != NULL || !are_alike(one, &first->part))
            continue;
        alike.count++;
        alike.one_bound = alike.one_bound && gci_view_equal(one->part.bound, first->part.bound);
        if (one->part.distance < alike.nearest.distance) {
            alike.nearest = one->part;
            alike.rank = one->trial->rank;
        }
    }
    if (alike.count < ALIKE_LEAST)
        return;
    gci_alike *kept = &failing->alike[failing->alike_count++];
    *kept = alike;
    for (gci_failing_one *one = first; one < end; one++)
        if (one->alike == NULL && are_alike(one, &first->part))
            one->alike = kept;
}

static void
find_alike(gci_failing *failing)
{
    for (size_t i = 0; i < failing->count && failing->alike_count < ALIKE_MOST; i++)
        if (failing->items[i].alike == NULL && failing->items[i].part.subject.size != 0)
            add_alike(failing, &failing->items[i]);
}

void
gci_failing_find(gci_journal_entry const *entry, gci_arena *arena, gci_failing *out, bool together)
{
    gci_trace const *trace = &entry->trace;
    gci_hints const *hints = &entry->context.hints;
    size_t budget = ESTIMATED_GUARDS;
    gci_arena scratch;

    *out = (gci_failing){ .items = gci_arena_array(arena, trace->trial_count, sizeof *out->items),
                          .alike = gci_arena_array(arena, ALIKE_MOST, sizeof *out->alike) };
    if (arena->failed || entry->context.request.guard_test != NULL)
        return;
    gci_arena_init(&scratch, SIZE_MAX / 2);
    for (size_t i = 0; i < trace->trial_count; i++) {
        gci_trial const *trial = &trace->trials[i];
        if (!is_failing(trace, trial))
            continue;
        gci_failing_one *one = &out->items[out->count++];
        one->trial = trial;
        one->parts = gci_guards_parts(trial->ranked->guards, trial->verdict.guard, hints, arena, &one->part, 1);
        one->distance = estimate(one, hints, &scratch, &budget);
        gci_arena_reset(&scratch);
    }
    gci_arena_clear(&scratch);
    if (together)
        find_alike(out);
}

/* ---- what would hit ---- */

typedef struct change {
    uint64_t by;
    size_t rank;
    gci_view text;
} change;

typedef struct changes {
    change items[TOLD_MOST]; /* the smallest first */
    size_t count, most;
    gci_arena arena;
} changes;

/* Each change once, for the candidate that would be taken. */
static void
keep_change(changes *kept, uint64_t by, size_t rank, gci_view text)
{
    size_t at = 0;

    for (size_t i = 0; i < kept->count; i++) {
        if (!gci_view_equal(kept->items[i].text, text))
            continue;
        kept->items[i].rank = rank < kept->items[i].rank ? rank : kept->items[i].rank;
        return;
    }
    while (at < kept->count && (kept->items[at].by < by || (kept->items[at].by == by && kept->items[at].rank < rank)))
        at++;
    if (at == kept->most)
        return;
    kept->count += kept->count < kept->most;
    memmove(kept->items + at + 1, kept->items + at, (kept->count - at - 1) * sizeof *kept->items);
    kept->items[at] = (change){ .by = by, .rank = rank, .text = gci_arena_copy(&kept->arena, text) };
}

static int
compare_distances(void const *left, void const *right)
{
    gci_failing_one const *a = *(gci_failing_one const *const *)left, *b = *(gci_failing_one const *const *)right;

    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return (a->trial->rank > b->trial->rank) - (a->trial->rank < b->trial->rank);
}

static void
search(gci_journal_entry const *entry, gci_failing_one const *const *order, size_t count, changes *kept)
{
    size_t work = GCI_NEAREST_WORK;
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < count && i < SEARCHED_MOST; i++) {
        gci_trial const *trial = order[i]->trial;
        uint64_t by;
        text.size = 0;
        if (trial->cut == GCI_CUT_NOTHING && gci_guards_nearest(trial->ranked->guards, &entry->context.hints,
                                                                i < GCI_PAIRS_CANDIDATES, &work, &text, &by))
            keep_change(kept, by, trial->rank, gci_buf_view(&text));
    }
    gci_buf_clear(&text);
}

void
gci_failing_tell_would_hit(gci_journal_entry const *entry, gci_failing const *failing, size_t most, bool brief, gci_story *story)
{
    changes kept = { .most = most < TOLD_MOST ? most : TOLD_MOST };

    gci_arena_init(&kept.arena, SIZE_MAX / 2);
    gci_failing_one const **order = gci_arena_array(&kept.arena, failing->count, sizeof *order);
    if (order != NULL) {
        for (size_t i = 0; i < failing->count; i++)
            order[i] = &failing->items[i];
        qsort(order, failing->count, sizeof *order, compare_distances);
        search(entry, order, failing->count, &kept);
    }
    for (size_t i = 0; i < kept.count; i++) {
        gci_explain_deciding(gci_story_begin(story, GCI_BLOCK_WOULD_HIT), kept.items[i].text, brief);
        gci_buf_format(gci_story_part(story, GCI_WOULD_HIT_WHOSE), "#%zu", kept.items[i].rank + 1);
    }
    gci_arena_clear(&kept.arena);
}
