/*
 * Decisions of groups. One is a letter and, of an entry, its frame with the payload (docs/formats/remote.md): so whoever takes it
 * needs no cache that still has it.
 */
#include "cache/compile/alike.h"

#include "base/check.h"
#include "cache/candidates/ranking.h"
#include "cache/lookup/result.h"
#include "cache/tiers/remote.h"
#include "store/read/foreign.h"
#include "store/read/portable.h"

#include <guardcache/share.h>

#define LETTER_ENTRY 'E'
#define LETTER_OWN 'O'
/* Frames begin at a multiple of 8. */
#define FRAME_AT 8
/* As a shared value. */
#define DECISION_BYTES_MAX (GCACHE_SHARE_BYTES_MAX - FRAME_AT)
/* A domain tag: no other name is a hash of what begins so. */
static char const tag[] = "guardcache-question-1";

/* ---- the question ---- */

static void
put_text(gci_buf *text, char const *piece)
{
    gci_buf_append_text(text, piece != NULL ? piece : "");
    gci_buf_append_char(text, '\0');
}

gcache_status
gci_question_name(gci_context const *context, gcache_group const *group, gci_meeting_name out_name, gcache_error *error)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append(&text, tag, sizeof tag);
    put_text(&text, group->name);
    gci_buf_append(&text, context->key.bytes, sizeof context->key.bytes);
    put_text(&text, context->request.variant);
    put_text(&text, context->request.expect_variant);
    for (size_t i = 0; i < context->hints.count; i++) {
        gci_buf_append_view(&text, context->hints.items[i].name);
        gci_buf_append_char(&text, '=');
        gci_number_write(context->hints.items[i].value, &text);
        gci_buf_append_char(&text, '\0');
    }
    return gci_digest_of_buf(&text, out_name) ? GCACHE_OK : gci_fail_memory(error);
}

/* ---- taking a decision ---- */

/* Files that belong to the entry and aren't here are in a tier. */
static bool
fetch_files(gci_context const *context, gci_record const *record)
{
    gcache *cache = context->cache;
    bool fetched = false;

    for (size_t i = 0; !fetched && cache->tiers != NULL && i < cache->tiers->count; i++) {
        gci_remote remote;
        gci_payload payload = { 0 };
        gcache_tier_answer answer = gci_remote_list(&remote, cache, cache->tiers->items[i], &context->key);
        gci_candidate *candidate = answer == GCACHE_TIER_HIT ? gci_candidates_find(remote.set, record->id) : NULL;
        fetched = candidate != NULL && gci_remote_fetch(&remote, candidate, &payload, NULL) == GCI_FOUND;
        gci_payload_release(&payload);
        gci_arrival_store(cache, &remote.arrival);
        remote.reply.reason = GCACHE_REASON_NO_KEY;
        gci_remote_end(&remote, fetched ? GCACHE_TIER_HIT : GCACHE_TIER_MISS);
        gci_remote_clear(&remote);
    }
    return fetched;
}

static bool
has_files(gci_context const *context, gci_record const *record)
{
    for (size_t i = 0; i < record->attachment_count; i++) {
        if (!gci_store_has_attachment(context->cache->store, &record->attachments[i]))
            return fetch_files(context, record);
    }
    return true;
}

/* For later lookups, which needn't be by a group. */
static void
keep(gci_context const *context, gci_candidate const *candidate, gci_view stored)
{
    gci_portable entry = gci_foreign_portable(candidate, stored);
    gci_inserted inserted;

    if (gci_is_open(&context->cache->gate, GCI_STORE))
        gci_store_adopt(context->cache->store, &entry, NULL, &inserted, NULL);
}

static gci_decided
serve(gci_context const *context, gci_candidates *set, gcache_result *result, gcache_error *error)
{
    gci_ranking const *ranking = gci_ranking_of(set);
    gci_payload payload;
    bool inlined;

    if (ranking == NULL || ranking->count != 1)
        return GCI_DECIDED_LOST;
    gci_candidate *candidate = ranking->items[0]->candidate;
    gci_view stored = gci_foreign_inlined(candidate, &inlined);
    if (!inlined || !has_files(context, &candidate->record) ||
        gci_foreign_payload(context->cache->store, candidate, stored, GCACHE_TIER_BYTES_MAX, &payload, error) != GCI_FOUND)
        return GCI_DECIDED_LOST;
    keep(context, candidate, stored);
    gcache_result_clear(result);
    if (gci_result_fill(result, context, ranking->items[0], &payload, error) != GCACHE_HIT)
        return GCI_DECIDED_LOST;
    result->candidates = gci_candidates_retain(set);
    result->outcome = GCACHE_HIT;
    result->tier = "group";
    return GCI_DECIDED_ENTRY;
}

/* decision = "E" pad frame | "O" */
static gci_decided
take(gci_context const *context, gci_view decision, gcache_result *result, gcache_error *error)
{
    gci_candidates *set;

    if (decision.size >= 1 && decision.data[0] == LETTER_OWN)
        return GCI_DECIDED_OWN;
    gci_fail(error, GCACHE_ERROR_CORRUPT, "what the group decided is damaged");
    if (decision.size < FRAME_AT || decision.data[0] != LETTER_ENTRY)
        return GCI_DECIDED_LOST;
    gci_view frame = gci_view_of(decision.data + FRAME_AT, decision.size - FRAME_AT);
    if (gci_foreign_candidates(context->cache->store, &context->key, &frame, 1, &set, error) != GCI_FOUND)
        return GCI_DECIDED_LOST;
    gci_decided decided = serve(context, set, result, error);
    gci_candidates_release(set);
    return decided;
}

gci_decided
gci_decision_read(gci_context const *context, gci_meeting_name const name, gcache_result *out_result, gcache_error *error)
{
    gci_decided decided = GCI_UNDECIDED;
    gci_buf decision;

    gci_buf_init(&decision, GCACHE_SHARE_BYTES_MAX);
    if (gci_meeting_read(context->cache, name, GCACHE_SHARE_BYTES_MAX, &decision, error) == GCACHE_OK)
        decided = take(context, gci_buf_view(&decision), out_result, error);
    gci_buf_clear(&decision);
    return decided;
}

/* ---- deciding ---- */

static bool
put_entry(gci_context const *context, char const *id, gci_buf *out)
{
    gci_store *store = context->cache->store;
    gci_candidates *set;

    if (gci_store_candidates(store, &context->key, &set, NULL) != GCI_FOUND)
        return false;
    gci_candidate *candidate = gci_candidates_find(set, id);
    gci_buf_append(out, "E\0\0\0\0\0\0\0", FRAME_AT);
    bool put = candidate != NULL && gci_portable_write_entry(store, candidate, out, NULL) == GCI_FOUND && !out->failed;
    gci_candidates_release(set);
    return put;
}

gci_decided
gci_decision_say(gci_context const *context, gci_meeting_name const name, char const *entry, gcache_result *out_result,
                 gcache_error *error)
{
    gci_decided decided = GCI_DECIDED_LOST;
    gci_buf ours, decision;

    gci_buf_init(&ours, DECISION_BYTES_MAX + FRAME_AT);
    gci_buf_init(&decision, GCACHE_SHARE_BYTES_MAX);
    /* One that is too large to be shared is everybody's own, too. */
    if (entry == NULL || !put_entry(context, entry, &ours)) {
        gci_buf_clear(&ours);
        gci_buf_init(&ours, FRAME_AT);
        gci_buf_append_char(&ours, LETTER_OWN);
    }
    if (gci_meeting_say(context->cache, name, gci_buf_view(&ours), &decision, error) == GCACHE_OK)
        decided = take(context, gci_buf_view(&decision), out_result, error);
    gci_buf_clear(&ours);
    gci_buf_clear(&decision);
    return decided;
}
