/*
 * The story of a lookup: context -> candidates of the key -> the best one whose guards hold -> its payload. It begins at the
 * end of this file; each function stands below those it calls:
 *
 *     gcache_lookup_with   with a report to listener and journal
 *     gci_answer           through the gate
 *     answer_admitted      with the context: key, hints, names, request
 *     look_up              keeps what a miss is to tell
 *     choose_from_store    asks the store for the candidates
 *     choose               names the reason of a miss
 *     serve_best           takes the best whose payload can be had
 *     select_candidate     through the index, or one by one (try_all)
 *
 * gci_lookup_traced does the same for explain: record_best tries all of them and reads no payload.
 *
 * Nothing on this path is an error by itself. Whatever goes wrong turns into a miss with a reason, or, if only one candidate
 * is concerned, into a try of the next one.
 */
#include "cache/lookup/cache_lookup.h"

#include "base/check.h"
#include "base/system/clock.h"
#include "cache/candidates/ranking_index.h"
#include "cache/candidates/trial.h"
#include "cache/journal/lookup_report.h"
#include "cache/lookup/attached_files.h"
#include "cache/lookup/result.h"

#include <stdlib.h>

/* How far a candidate got: the miss is explained by the one that got furthest. */
static int
distance(gcache_reason reason)
{
    static uint8_t const distances[GCACHE_REASON_COUNT] = {
        [GCACHE_REASON_NO_KEY] = 1,      [GCACHE_REASON_VARIANT] = 2,     [GCACHE_REASON_NAMES] = 3,
        [GCACHE_REASON_REQUIREMENT] = 4, [GCACHE_REASON_GUARD_ERROR] = 5, [GCACHE_REASON_GUARD_FALSE] = 6,
        [GCACHE_REASON_UNREADABLE] = 7,  [GCACHE_REASON_CORRUPT] = 8,     [GCACHE_REASON_EVICTED] = 9,
    };
    return distances[reason];
}

static void
keep_furthest(gcache_reason *furthest, gcache_reason reason)
{
    if (distance(reason) > distance(*furthest))
        *furthest = reason;
}

/* ---- the best candidate ---- */

/* The state of one walk over a key's candidates. */
typedef struct walk {
    gci_context const *context;
    gci_ranking *ranking;
    gci_trace *trace;
    gcache_reason reason; /* of the candidate that got furthest */
    bool *failed;         /* candidates whose payload can't be had; NULL as long as there is none */
    bool has_trouble;     /* trouble says why one of them couldn't */
    bool *again;          /* set if the best has been renewed since it was read (store/publish/renewal.h); NULL: skip it */
    gcache_error trouble;
} walk;

static bool
is_expected(gci_context const *context, gci_ranked const *ranked)
{
    char const *expected = context->request.expect_variant;

    return expected == NULL || strcmp(ranked->answer.variant, expected) == 0;
}

/*
 * Candidates are tried in rank order, so the first that holds is the answer; one of the expected variant is preferred to
 * any other. With a trace all of them are tried and recorded.
 */
static size_t
try_all(walk *w)
{
    gci_ranked const *const *items = w->ranking->items;
    size_t best = GCI_NOBODY;

    for (size_t i = 0; i < w->ranking->count; i++) {
        gci_trial trial;
        if (w->failed != NULL && w->failed[i])
            continue;
        gci_trial *tried = w->trace != NULL ? &w->trace->trials[i] : &trial;
        gci_try(w->context, items[i], tried);
        tried->rank = i;
        keep_furthest(&w->reason, tried->reason);
        if (tried->reason != GCACHE_REASON_NONE)
            continue;
        if (best == GCI_NOBODY || (!is_expected(w->context, items[best]) && is_expected(w->context, items[i])))
            best = i;
        if (w->trace == NULL && is_expected(w->context, items[best]))
            break;
    }
    return best;
}

/* The same without looking at each, where there is an index. */
static size_t
select_candidate(walk *w)
{
    gci_indexed indexed;

    if (w->trace != NULL || !gci_ranking_index_select(w->ranking, w->context, w->failed, &indexed))
        return try_all(w);
    if (indexed.best == GCI_NOBODY)
        keep_furthest(&w->reason, indexed.reason);
    return indexed.best;
}

/* Whether it may be served. If it may not, that is why it isn't. */
static bool
is_vouched_for(walk *w, gci_ranked const *ranked, gci_trial *tried)
{
    if (gci_store_vouch(w->context->cache->store, ranked->candidate, &w->trouble) == GCI_FOUND)
        return true;
    tried->reason = GCACHE_REASON_UNREADABLE;
    w->has_trouble = true;
    keep_furthest(&w->reason, tried->reason);
    return false;
}

/* Would a remembered candidate, whose payload is gone, have been a hit? */
static void
try_evicted(walk *w)
{
    for (size_t i = 0; i < w->ranking->evicted_count; i++) {
        size_t place = w->ranking->count + i;
        gci_trial trial;
        gci_trial *tried = w->trace != NULL ? &w->trace->trials[place] : &trial;
        gci_try(w->context, w->ranking->evicted[i], tried);
        tried->rank = place;
        if (tried->reason == GCACHE_REASON_NONE && is_vouched_for(w, w->ranking->evicted[i], tried)) {
            tried->reason = GCACHE_REASON_EVICTED;
            keep_furthest(&w->reason, GCACHE_REASON_EVICTED);
        }
    }
}

static gcache_reason
reason_of_found(gci_found found)
{
    switch (found) {
    case GCI_EVICTED:
        return GCACHE_REASON_EVICTED;
    case GCI_CORRUPT:
        return GCACHE_REASON_CORRUPT;
    case GCI_UNREADABLE:
    case GCI_RENEWED:
        return GCACHE_REASON_UNREADABLE;
    case GCI_ABSENT:
    case GCI_FOUND:
        break;
    }
    return GCACHE_REASON_NO_KEY;
}

/* Notes that a candidate can't be served and that the walk goes on without it. */
static gcache_status
exclude(walk *w, size_t place, gci_found found)
{
    keep_furthest(&w->reason, reason_of_found(found));
    if (w->failed == NULL)
        w->failed = calloc(w->ranking->count, sizeof *w->failed);
    if (w->failed == NULL)
        return GCACHE_ERROR_MEMORY;
    w->failed[place] = true;
    return GCACHE_OK;
}

/* The payload, and the files that belong to it. *out_status: of placing them, if the fault is the caller's directory. */
static gci_found
fetch(walk *w, gci_candidate *candidate, gci_payload *out_payload, gcache_status *out_status)
{
    gcache_request const *request = &w->context->request;
    gcache *cache = w->context->cache;

    gci_found found = gci_store_vouch(cache->store, candidate, &w->trouble);
    if (found != GCI_FOUND || request->probe)
        return found;
    found = gci_store_complete(cache->store, candidate, &w->trouble);
    if (found == GCI_FOUND)
        found = gci_store_payload(cache->store, candidate, out_payload, &w->trouble);
    if (found != GCI_FOUND || request->place == NULL)
        return found;
    gcache_status status = gci_place_attachments(cache, candidate, request->place, &found, &w->trouble);
    if (status == GCACHE_OK)
        return GCI_FOUND;
    gci_payload_release(out_payload);
    if (found == GCI_FOUND) {
        *out_status = status;
        return GCI_UNREADABLE;
    }
    return found == GCI_ABSENT ? GCI_CORRUPT : found;
}

/* Takes the best candidate whose payload can be had. GCACHE_HIT, GCACHE_MISS with w->reason, or ERROR_MEMORY. */
static gcache_status
serve_best(walk *w, gcache_result *result, gcache_error *error)
{
    gci_store *store = w->context->cache->store;
    gcache_status status = GCACHE_MISS;

    for (size_t place; status == GCACHE_MISS && (place = select_candidate(w)) != GCI_NOBODY;) {
        gci_ranked const *best = w->ranking->items[place];
        gci_payload payload = { 0 };
        gci_found found = fetch(w, best->candidate, &payload, &status);
        if (found == GCI_FOUND) {
            if (!w->context->request.probe)
                gci_store_touch(store, best->candidate);
            status = gci_result_fill(result, w->context, best, &payload, error);
        } else if (found == GCI_RENEWED && w->again != NULL) {
            *w->again = true;
            break;
        } else if (status == GCACHE_MISS) {
            w->has_trouble = true;
            if (exclude(w, place, found) != GCACHE_OK)
                status = gci_fail_memory(error);
        } else if (error != NULL) {
            *error = w->trouble;
        }
    }
    free(w->failed);
    return status;
}

/* The same without payloads: what explain asks. */
static gcache_status
record_best(walk *w)
{
    gci_trace *trace = w->trace;
    size_t count = w->ranking->count + w->ranking->evicted_count;

    trace->trials = gci_arena_array(&trace->arena, count, sizeof *trace->trials);
    if (trace->trials == NULL)
        return GCACHE_ERROR_MEMORY;
    trace->trial_count = count;
    trace->live_count = w->ranking->count;
    trace->evicted_count = w->ranking->evicted_count;
    gcache_status status = GCACHE_MISS;
    for (size_t best; status == GCACHE_MISS && (best = select_candidate(w)) != GCI_NOBODY;) {
        if (is_vouched_for(w, w->ranking->items[best], &trace->trials[best])) {
            trace->winner = &trace->trials[best];
            status = GCACHE_HIT;
        } else {
            status = exclude(w, best, GCI_UNREADABLE) == GCACHE_OK ? GCACHE_MISS : GCACHE_ERROR_MEMORY;
        }
    }
    free(w->failed);
    return status;
}

/* ---- the whole ---- */

/* The reason before any candidate was tried: trials only raise it (keep_furthest). */
static gcache_reason
first_reason(gci_candidates const *set)
{
    if (set->count != 0)
        return GCACHE_REASON_NO_KEY;
    if (set->damaged != 0)
        return GCACHE_REASON_CORRUPT;
    return set->untrusted != 0 ? GCACHE_REASON_UNREADABLE : GCACHE_REASON_NO_KEY;
}

/* A miss for trouble with the store, where that is to be an error. */
static gcache_status
fail_strictly(walk const *w, gcache_error *error)
{
    gcache_status status = w->reason == GCACHE_REASON_CORRUPT ? GCACHE_ERROR_CORRUPT : GCACHE_ERROR_IO;

    if (!w->has_trouble)
        return gci_fail(error, status, "%s", gcache_reason_text(w->reason));
    if (error != NULL)
        *error = w->trouble;
    return w->trouble.status;
}

/* A miss with something to say beside its reason: which call failed, or whose the file is. */
static gcache_status
miss_with_note(gcache_result *result, char const *why, gcache_error *error)
{
    char *note = strdup(why);

    if (note == NULL || !gci_result_own(result, note, free)) {
        free(note);
        return gci_fail_memory(error);
    }
    result->note = note;
    return GCACHE_MISS;
}

/* The key's candidates are there: which one? *again, if not NULL: they are to be read again, since one has been renewed. */
static gcache_status
choose(gci_context const *context, gci_candidates *set, gci_trace *trace, bool *again, gcache_result *result,
       gcache_error *error)
{
    /* Not all of it is set: the room for an error would take longer than the rest. */
    walk w;

    w.context = context;
    w.ranking = gci_ranking_of(set);
    w.trace = trace;
    w.failed = NULL;
    w.has_trouble = false;
    w.again = again;

    if (w.ranking == NULL)
        return gci_fail_memory(error);
    w.reason = first_reason(set);
    gcache_status status = trace != NULL ? record_best(&w) : serve_best(&w, result, error);
    if (again != NULL && *again)
        return status;
    if (status == GCACHE_MISS || trace != NULL)
        try_evicted(&w);
    if (status != GCACHE_MISS)
        return status;
    result->reason = w.reason;
    bool store_failed = w.reason == GCACHE_REASON_CORRUPT || w.reason == GCACHE_REASON_UNREADABLE;
    if (store_failed && trace == NULL && context->cache->strict)
        return fail_strictly(&w, error);
    return w.reason == GCACHE_REASON_UNREADABLE && w.has_trouble ? miss_with_note(result, w.trouble.message, error) : GCACHE_MISS;
}

/* There are no candidates to choose from. */
static gcache_status
found_none(gci_context const *context, gci_found found, gcache_error const *trouble, gcache_result *result,
           gcache_error *error)
{
    result->reason = reason_of_found(found);
    if (context->cache->strict && (found == GCI_CORRUPT || found == GCI_UNREADABLE)) {
        if (error != NULL)
            *error = *trouble;
        return trouble->status;
    }
    return found == GCI_UNREADABLE && trouble->message[0] != '\0' ? miss_with_note(result, trouble->message, error)
                                                                  : GCACHE_MISS;
}

/* Chooses among what the store has, and again if that has been renewed. *out_set: the candidates; NULL: there are none. */
static gcache_status
choose_from_store(gci_context const *context, gci_trace *trace, gci_candidates **out_set, gcache_error *trouble,
                  gcache_result *out_result, gcache_error *error)
{
    gcache_status status = GCACHE_MISS;
    bool again = true;

    *out_set = NULL;
    out_result->key = context->key;
    for (int met = 0; again; met++) {
        gci_candidates_release(*out_set);
        gci_found found = gci_store_candidates(context->cache->store, &context->key, out_set, trouble);
        if (found == GCI_ABSENT && context->damage != NULL) {
            found = GCI_CORRUPT;
            *trouble = *context->damage;
        }
        again = false;
        if (found == GCI_FOUND)
            status = choose(context, *out_set, trace, met < GCI_RENEWALS_MET ? &again : NULL, out_result, error);
        else
            status = found_none(context, found, trouble, out_result, error);
    }
    out_result->outcome = status == GCACHE_HIT ? GCACHE_HIT : GCACHE_MISS;
    return status;
}

gcache_status
gci_lookup_traced(gci_context const *context, gci_trace *trace, gcache_result *out_result, gcache_error *error)
{
    gcache_status status = choose_from_store(context, trace, &trace->set, &trace->trouble, out_result, error);

    if (out_result->reason == GCACHE_REASON_EVICTED)
        gci_trace_find_eviction(trace, context->cache->store, &context->key, true);
    if (status == GCACHE_MISS && out_result->reason == GCACHE_REASON_NO_KEY)
        gci_trace_find_nearest(trace, context);
    return status;
}

gcache_status
gci_bypass(gcache_result *result, char const *why, gcache_error *error)
{
    result->reason = GCACHE_REASON_BYPASS;
    return miss_with_note(result, why, error);
}

/* Not an explanation (gci_lookup_traced). missed: NULL, or it has the context. */
static gcache_status
look_up(gci_context const *context, gci_missed *missed, gcache_result *out_result, gcache_error *error)
{
    gcache_error trouble;
    gci_candidates *set;

    gci_error_clear(&trouble);
    gcache_status status = choose_from_store(context, NULL, &set, &trouble, out_result, error);
    if (missed != NULL && status == GCACHE_MISS)
        missed->looked_ns = gci_clock_wall_ns();
    if (out_result->reason == GCACHE_REASON_EVICTED && !context->request.probe)
        gci_store_asked_again(context->cache->store, &context->key);
    bool kept = missed != NULL && (status == GCACHE_MISS || missed->may_refuse);
    if (kept) {
        gci_trace_init(&missed->trace);
        missed->trace.set = set;
        missed->kept = true;
        if (status == GCACHE_MISS)
            gci_missed_decide(missed, out_result->reason);
    }
    if (status == GCACHE_HIT)
        out_result->candidates = kept ? gci_candidates_retain(set) : set;
    else if (!kept)
        gci_candidates_release(set);
    return status;
}

/* The gate is open, or closed by nothing but a refresh. */
static gcache_status
answer_admitted(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_request const *request,
                gci_admission admission, gci_missed *missed, gcache_result *out_result, gcache_error *error)
{
    gci_context local, *context = missed != NULL ? &missed->context : &local;
    gcache_error why;

    gcache_status status = gci_context_init(context, cache, graph, hints, request, &why);
    bool refresh = status == GCACHE_OK && admission.by == GCI_BY_REFRESH;
    if (refresh && !gci_leases_others_stored(cache->store, &context->key)) {
        gci_result_init(out_result, &context->key);
        out_result->reason = admission.reason;
        status = GCACHE_MISS;
        if (missed != NULL) {
            gci_trace_init(&missed->trace);
            missed->kept = true;
        }
    } else if (status == GCACHE_OK) {
        status = look_up(context, missed, out_result, error);
    } else if (status == GCACHE_REFUSED) {
        status = gci_bypass(out_result, why.message, error);
    } else if (error != NULL) {
        *error = why;
    }
    if (missed == NULL || !missed->kept)
        gci_context_clear(context);
    return status;
}

gcache_status
gci_answer(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gci_call const *call, gci_missed *missed,
           gcache_result *out_result, gcache_error *error)
{
    GCI_REQUIRE(out_result != NULL, error, "out_result is NULL");
    gci_result_init(out_result, NULL);
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    if (missed != NULL)
        gci_missed_clear(missed);
    gci_admission admission = gci_admit(&cache->gate, call, GCI_LOOK_UP);
    if (admission.by == GCI_BY_NOBODY || admission.by == GCI_BY_REFRESH)
        return answer_admitted(cache, graph, hints, call->request, admission, missed, out_result, error);
    if (admission.reason == GCACHE_REASON_BYPASS)
        return gci_bypass(out_result, admission.why, error);
    out_result->reason = admission.reason;
    return GCACHE_MISS;
}

gcache_status
gcache_lookup_with(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_request const *request,
                   gcache_result *out_result, gcache_error *error)
{
    gci_call call = { .request = request };
    gci_lookup_report lookup;

    GCI_REQUIRE_INIT(out_result, error);
    if (cache == NULL || out_result == NULL)
        return gci_answer(cache, graph, hints, &call, NULL, out_result, error);
    gci_missed *missed = gci_lookup_begin(&lookup, cache, graph, hints, request);
    gcache_status status = gci_answer(cache, graph, hints, &call, missed, out_result, error);
    gci_lookup_end(&lookup, status, out_result);
    return status;
}

gcache_status
gcache_lookup(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_result *out_result,
              gcache_error *error)
{
    return gcache_lookup_with(cache, graph, hints, NULL, out_result, error);
}
