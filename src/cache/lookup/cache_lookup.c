/*
 * The story of a lookup: context -> candidates of the key -> the best one whose guards hold -> its payload. It begins at the
 * end of this file; each function stands below those it calls:
 *
 *     gcache_lookup_with   with a report to listener and journal
 *     gci_answer           through the gate
 *     answer_admitted      with the context: key, hints, names, request
 *     look_up              keeps what a miss is to tell
 *     choose_from_all      the store, then the tiers, one after the other
 *     choose_from_store    asks the store for the candidates
 *     choose_from_tier     asks a tier for them
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
#include "cache/tiers/account.h"
#include "cache/tiers/remote.h"
#include "cache/tiers/upload.h"
#include "store/read/foreign.h"

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
    gci_remote *remote;   /* where the candidates come from; NULL: the store */
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

/* Whether its signature is what is required. */
static gci_found
vouch_for(walk *w, gci_candidate *candidate)
{
    gci_store *store = w->context->cache->store;

    return w->remote != NULL ? gci_foreign_vouch(store, candidate, &w->trouble) : gci_store_vouch(store, candidate, &w->trouble);
}

/* Whether it may be served. If it may not, that is why it isn't. */
static bool
is_vouched_for(walk *w, gci_ranked const *ranked, gci_trial *tried)
{
    if (vouch_for(w, ranked->candidate) == GCI_FOUND)
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

static gci_found
fetch_payload(walk *w, gci_candidate *candidate, gci_payload *out_payload)
{
    gci_store *store = w->context->cache->store;

    if (w->remote != NULL)
        return gci_remote_fetch(w->remote, candidate, out_payload, &w->trouble);
    gci_found found = gci_store_vouch(store, candidate, &w->trouble);
    if (found == GCI_FOUND)
        found = gci_store_complete(store, candidate, &w->trouble);
    return found == GCI_FOUND ? gci_store_payload(store, candidate, out_payload, &w->trouble) : found;
}

/* The payload, and the files that belong to it. *out_status: of placing them, if the fault is the caller's directory. */
static gci_found
fetch(walk *w, gci_candidate *candidate, gci_payload *out_payload, gcache_status *out_status)
{
    gcache_request const *request = &w->context->request;
    gcache *cache = w->context->cache;

    if (request->probe)
        return vouch_for(w, candidate);
    gci_found found = fetch_payload(w, candidate, out_payload);
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
            if (!w->context->request.probe && w->remote == NULL)
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

/* The key's candidates are there: which one? *again, if not NULL: they are to be read again, since one has been renewed.
   remote: where they come from; NULL: the store. */
static gcache_status
choose(gci_context const *context, gci_candidates *set, gci_remote *remote, gci_trace *trace, bool *again, gcache_result *result,
       gcache_error *error)
{
    /* Not all of it is set: the room for an error would take longer than the rest. */
    walk w;
    /* Somebody in this process has chosen from it before. */
    bool known = gci_extra_get(&set->extra) != NULL;

    w.context = context;
    w.ranking = gci_ranking_of(set);
    w.trace = trace;
    w.failed = NULL;
    w.has_trouble = false;
    w.again = again;
    w.remote = remote;

    if (w.ranking == NULL)
        return gci_fail_memory(error);
    w.reason = first_reason(set);
    gcache_status status = trace != NULL ? record_best(&w) : serve_best(&w, result, error);
    result->tier = remote != NULL ? remote->reply.tier : known ? "memory" : "local";
    if (again != NULL && *again)
        return status;
    if (status == GCACHE_MISS || trace != NULL)
        try_evicted(&w);
    if (status != GCACHE_MISS)
        return status;
    result->reason = w.reason;
    bool store_failed = w.reason == GCACHE_REASON_CORRUPT || w.reason == GCACHE_REASON_UNREADABLE;
    if (remote != NULL)
        return GCACHE_MISS;
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
            status = choose(context, *out_set, NULL, trace, met < GCI_RENEWALS_MET ? &again : NULL, out_result, error);
        else
            status = found_none(context, found, trouble, out_result, error);
    }
    out_result->outcome = status == GCACHE_HIT ? GCACHE_HIT : GCACHE_MISS;
    return status;
}

/* ---- tiers ---- */

/* What was found out so far: the miss is told by the place that got furthest. */
typedef struct so_far {
    gcache_reason reason, trouble; /* trouble of a tier: NONE, or which; a time-out rather than another */
    bool key_is_known;
    gci_candidates *local; /* that the directory has; NULL: none */
} so_far;

/* What explain shows of a place's candidates. */
static void
show_candidates_of(gci_trace *trace, gci_trace const *other)
{
    trace->set = other->set;
    trace->trials = other->trials;
    trace->trial_count = other->trial_count;
    trace->live_count = other->live_count;
    trace->evicted_count = other->evicted_count;
    trace->winner = other->winner;
}

/* The same of a lookup and of an explanation: which of a tier's candidates. *inout_set: the set that tells the miss, or has the
   winner. */
static gcache_status
choose_remotely(gci_context const *context, gci_remote *remote, gci_trace *trace, so_far *sum, gci_candidates **inout_set,
                gcache_result *result, gcache_error *error)
{
    gci_trace before = trace != NULL ? *trace : (gci_trace){ 0 };
    gcache_result theirs = GCACHE_RESULT_INIT;

    gci_result_init(&theirs, &context->key);
    gcache_status status = choose(context, remote->set, remote, trace, NULL, &theirs, error);
    remote->reply.reason = theirs.reason;
    /* What couldn't be fetched for trouble is the trouble's, which is told beside what would be so without this tier. */
    bool trouble = remote->asking.answer == GCACHE_TIER_TROUBLE;
    bool further = status == GCACHE_HIT || (!trouble && distance(theirs.reason) > distance(sum->reason));
    if (further) {
        gcache_result_clear(result);
        *result = theirs;
        sum->reason = theirs.reason;
        gci_candidates_release(*inout_set);
        *inout_set = gci_candidates_retain(remote->set);
    } else {
        gcache_result_clear(&theirs);
    }
    if (trace != NULL && further)
        trace->set = *inout_set;
    else if (trace != NULL)
        show_candidates_of(trace, &before);
    return status;
}

static uint32_t
count_only_there(gci_candidates const *theirs, gci_candidates *ours)
{
    uint32_t count = 0;

    for (size_t i = 0; i < theirs->count; i++)
        count += ours == NULL || gci_candidates_find(ours, theirs->items[i]->record.id) == NULL;
    return count;
}

static bool
keep_reply(gci_trace *trace, gci_remote const *remote)
{
    gci_tier_reply *reply = &trace->replies[trace->reply_count];

    *reply = remote->reply;
    reply->message = gci_arena_copy(&trace->arena, gci_view_text(remote->reply.message)).data;
    trace->reply_count += reply->message != NULL;
    return reply->message != NULL;
}

/* What is left to do when a tier has been asked: storing what came, and taking away what ran out long ago. */
static void
take_care(gci_tiers *tiers, gci_remote *remote, bool at_once)
{
    unsigned bit = 0;

    if (remote->arrival.set != NULL && at_once)
        gci_arrival_store(remote->cache, &remote->arrival);
    else if (remote->arrival.set != NULL)
        gci_uploads_store(tiers->uploads, &remote->arrival);
    for (size_t i = 0; i < tiers->count; i++)
        bit |= tiers->items[i] == remote->asking.tier && !tiers->items[i]->read_only ? 1U << i : 0;
    for (size_t i = 0; remote->is_lookup && i < remote->stale_count; i++)
        gci_uploads_remove(tiers->uploads, &remote->stale[i], bit);
}

static gcache_status
choose_from_tier(gci_context *context, gci_tier *tier, gci_trace *trace, gci_trace *replies, so_far *sum,
                 gci_candidates **inout_set, gcache_result *result, gcache_error *error)
{
    gcache_status status = GCACHE_MISS;
    gci_remote remote;

    gcache_tier_answer answer = gci_remote_list(&remote, context->cache, tier, &context->key);
    remote.key_is_known = sum->key_is_known;
    remote.is_lookup = trace == NULL;
    remote.reply.reason = GCACHE_REASON_NO_KEY;
    if (answer == GCACHE_TIER_HIT && trace != NULL)
        remote.reply.only_there = count_only_there(remote.set, sum->local);
    if (answer == GCACHE_TIER_HIT)
        status = gci_context_learn_names(context, remote.set, error);
    status = status == GCACHE_OK ? GCACHE_MISS : status;
    if (answer == GCACHE_TIER_HIT && status == GCACHE_MISS)
        status = choose_remotely(context, &remote, trace, sum, inout_set, result, error);
    if (remote.set != NULL && *inout_set == remote.set)
        replies->candidates_of = tier->shown;
    gci_remote_end(&remote, status == GCACHE_HIT ? GCACHE_TIER_HIT : GCACHE_TIER_MISS);
    if (remote.reply.answer == GCACHE_TIER_TROUBLE && sum->trouble != GCACHE_REASON_REMOTE_TIMEOUT)
        sum->trouble = remote.reply.reason;
    if (replies != NULL && !keep_reply(replies, &remote) && status == GCACHE_MISS)
        status = gci_fail_memory(error);
    if (context->cache->tiers->uploads != NULL)
        take_care(context->cache->tiers, &remote, context->at_once);
    gci_remote_clear(&remote);
    return status;
}

/* What a miss is that a tier in trouble might have been a hit. */
static gcache_status
miss_for_trouble(gci_context const *context, gci_trace *replies, so_far const *sum, gcache_result *result, gcache_error *error)
{
    gci_tier_reply const *reply = replies->replies;

    while (reply->answer != GCACHE_TIER_TROUBLE || reply->reason != sum->trouble)
        reply++;
    gcache_result_clear(result);
    result->key = context->key;
    result->reason = sum->trouble;
    result->local_reason = replies->local_reason = sum->reason;
    gci_buf note;
    gci_buf_init(&note, GCI_BUF_NO_LIMIT);
    gci_buf_format(&note, "%s: %s", reply->tier, reply->message);
    gcache_status status = GCACHE_MISS;
    char *text = gci_buf_take_text(&note);
    if (text == NULL)
        status = gci_fail_memory(error);
    else if (context->cache->strict)
        status = gci_fail(error, sum->trouble == GCACHE_REASON_REMOTE_TIMEOUT ? GCACHE_ERROR_BUSY : GCACHE_ERROR_IO, "%s", text);
    else
        status = miss_with_note(result, text, error);
    free(text);
    return status;
}

/*
 * Asks the tiers, after the directory has missed. trace: as in choose. replies: where what they replied is kept.
 * *inout_set: the candidates that tell the miss, or have the winner; NULL: there are none.
 */
static gcache_status
choose_from_tiers(gci_context *context, gci_trace *trace, gci_trace *replies, gci_candidates **inout_set,
                  gcache_result *result, gcache_error *error)
{
    gci_tiers *tiers = context->cache->tiers;
    so_far sum = { .reason = result->reason, .key_is_known = *inout_set != NULL, .local = *inout_set };
    gcache_status status = GCACHE_MISS;

    replies->replies = gci_arena_array(&replies->arena, tiers->count, sizeof *replies->replies);
    if (replies->replies == NULL)
        return gci_fail_memory(error);
    gci_account_begin(context->cache);
    if (sum.local != NULL)
        gci_candidates_retain(sum.local);
    for (size_t i = 0; status == GCACHE_MISS && i < tiers->count; i++)
        status = choose_from_tier(context, tiers->items[i], trace, replies, &sum, inout_set, result, error);
    gci_candidates_release(sum.local);
    gci_account_go_on(context->cache);
    if (status == GCACHE_HIT)
        replies->served_by = result->tier;
    if (status != GCACHE_MISS || sum.trouble == GCACHE_REASON_NONE)
        return status;
    return miss_for_trouble(context, replies, &sum, result, error);
}

gcache_status
gci_lookup_traced(gci_context *context, gci_trace *trace, gcache_result *out_result, gcache_error *error)
{
    gcache_status status = choose_from_store(context, trace, &trace->set, &trace->trouble, out_result, error);

    if (status == GCACHE_MISS && context->cache->tiers != NULL)
        status = choose_from_tiers(context, trace, trace, &trace->set, out_result, error);
    out_result->outcome = status == GCACHE_HIT ? GCACHE_HIT : GCACHE_MISS;
    gcache_reason reason = gci_result_local_reason(out_result);
    if (reason == GCACHE_REASON_EVICTED)
        gci_trace_find_eviction(trace, context->cache->store, &context->key, true);
    if (status == GCACHE_MISS && reason == GCACHE_REASON_NO_KEY)
        gci_trace_find_nearest(trace, context);
    return status;
}

gcache_status
gci_bypass(gcache_result *result, char const *why, gcache_error *error)
{
    result->reason = GCACHE_REASON_BYPASS;
    return miss_with_note(result, why, error);
}

/* What a hit from afar may be for others: a tier that was asked before and has it not. */
static void
bring_nearer(gcache *cache, gci_trace const *replies, gcache_result const *result)
{
    unsigned lacking = 0;

    for (size_t i = 0; i + 1 < replies->reply_count; i++) {
        if (replies->replies[i].answer == GCACHE_TIER_MISS && !cache->tiers->items[i]->read_only)
            lacking |= 1U << i;
    }
    if (cache->tiers->uploads != NULL)
        gci_uploads_add(cache->tiers->uploads, &result->key, result->entry, lacking, NULL);
}

static uint64_t
waited_for(gci_trace const *replies)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < replies->reply_count; i++)
        sum += replies->replies[i].elapsed_ns;
    return sum;
}

/* The directory has missed. *out_replies is initialised. */
static gcache_status
look_further(gci_context *context, gci_candidates **inout_set, gci_trace *out_replies, gcache_result *out_result,
             gcache_error *error)
{
    gci_trace_init(out_replies);
    gcache_status status = choose_from_tiers(context, NULL, out_replies, inout_set, out_result, error);
    out_result->outcome = status == GCACHE_HIT ? GCACHE_HIT : GCACHE_MISS;
    if (status == GCACHE_HIT && !context->request.probe)
        bring_nearer(context->cache, out_replies, out_result);
    return status;
}

/* Not an explanation (gci_lookup_traced). missed: NULL, or it has the context. */
static gcache_status
look_up(gci_context *context, gci_missed *missed, gcache_result *out_result, gcache_error *error)
{
    gcache_error trouble;
    gci_candidates *set;
    gci_trace replies;

    gci_error_clear(&trouble);
    gcache_status status = choose_from_store(context, NULL, &set, &trouble, out_result, error);
    bool further = status == GCACHE_MISS && context->cache->tiers != NULL;
    if (further)
        status = look_further(context, &set, &replies, out_result, error);
    if (missed != NULL) {
        missed->from_tier = further && status == GCACHE_HIT;
        missed->waited_ns = missed->from_tier ? waited_for(&replies) : 0;
    }
    if (missed != NULL && status == GCACHE_MISS)
        missed->looked_ns = gci_clock_wall_ns();
    if (out_result->reason == GCACHE_REASON_EVICTED && !context->request.probe)
        gci_store_asked_again(context->cache->store, &context->key);
    bool kept = missed != NULL && (status == GCACHE_MISS || missed->may_refuse);
    if (kept) {
        if (further)
            missed->trace = replies;
        else
            gci_trace_init(&missed->trace);
        missed->trace.set = set;
        missed->kept = true;
        if (status == GCACHE_MISS)
            gci_missed_decide(missed, gci_result_local_reason(out_result));
    } else if (further) {
        gci_trace_clear(&replies);
    }
    if (status == GCACHE_HIT)
        out_result->candidates = kept ? gci_candidates_retain(set) : set;
    else if (!kept)
        gci_candidates_release(set);
    return status;
}

/* The gate is open, or closed by nothing but a refresh. */
static gcache_status
answer_admitted(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gci_call const *call,
                gci_admission admission, gci_missed *missed, gcache_result *out_result, gcache_error *error)
{
    gci_context local, *context = missed != NULL ? &missed->context : &local;
    gcache_error why;

    gcache_status status = gci_context_init(context, cache, graph, hints, call->request, &why);
    context->at_once = call->at_once;
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
        return answer_admitted(cache, graph, hints, call, admission, missed, out_result, error);
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
