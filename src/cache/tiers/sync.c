/*
 * Directory and tiers made equal: key by key, the entries of both sides are compared by their ids, and those that one side
 * lacks are taken there. Ids are names of content, so nothing else is compared.
 */
#include "base/check.h"
#include "base/system/clock.h"
#include "cache/tiers/parcel.h"
#include "cache/tiers/remote.h"
#include "store/read/foreign.h"

#include <guardcache/fleet.h>

typedef struct syncing {
    gcache *cache;
    gcache_sync_options const *options;
    gci_tier *tier;
    gcache_synced *sum;
    uint64_t done, total;
    gcache_error *error;
    gcache_status status;
} syncing;

static bool
pushes(syncing const *s)
{
    return s->options->push || !s->options->pull;
}

static bool
pulls(syncing const *s)
{
    return s->options->pull || !s->options->push;
}

static gcache_status
in_trouble(syncing *s, gcache_tier_call const *call)
{
    gcache_status status = call->reason == GCACHE_REASON_REMOTE_TIMEOUT ? GCACHE_ERROR_BUSY : GCACHE_ERROR_IO;

    return gci_fail(s->error, status, "%s: %s", s->tier->shown, call->message);
}

static void
watch(syncing *s)
{
    s->done++;
    if (s->options->progress != NULL)
        s->options->progress(s->options->state, s->done, s->total);
}

/* ---- one key ---- */

static gcache_status
push_entry(syncing *s, gcache_key const *key, char const *id)
{
    gcache_error why = { 0 };
    gci_parcel parcel;
    gci_asking asking;
    gcache_tier_answer answer = GCACHE_TIER_MISS;

    gci_found found = gci_parcel_pack(&parcel, s->cache->store, key, id, &why);
    if (found == GCI_FOUND)
        answer = gci_parcel_publish(&parcel, s->tier, NULL, &asking);
    gci_parcel_clear(&parcel);
    if (answer == GCACHE_TIER_TROUBLE)
        return in_trouble(s, &asking.call);
    s->sum->pushed += answer == GCACHE_TIER_HIT;
    s->sum->left_out += answer == GCACHE_TIER_MISS;
    return GCACHE_OK;
}

/* As it is here: one without the signature that it has here is no use to those who require it. */
static bool
is_there(gci_remote const *remote, gci_candidate const *here)
{
    gci_candidate const *there = remote->set != NULL ? gci_candidates_find(remote->set, here->record.id) : NULL;

    return there != NULL && gci_foreign_same_signature(here, there);
}

static gcache_status
push_key(syncing *s, gci_remote const *remote, gci_candidates *here)
{
    gcache_status status = GCACHE_OK;

    for (size_t i = 0; here != NULL && status == GCACHE_OK && i < here->count; i++) {
        char const *id = here->items[i]->record.id;
        if (!s->options->again && is_there(remote, here->items[i]))
            s->sum->present++;
        else
            status = push_entry(s, &remote->key, id);
    }
    return status;
}

static gcache_status
pull_key(syncing *s, gci_remote *remote, gci_candidates *here)
{
    for (size_t i = 0; remote->set != NULL && i < remote->set->count; i++) {
        gci_candidate *candidate = remote->set->items[i];
        gci_payload payload;
        if (here != NULL && gci_candidates_find(here, candidate->record.id) != NULL) {
            s->sum->present += !pushes(s);
            continue;
        }
        gci_asking_renew(&remote->asking);
        gci_found found = gci_remote_fetch(remote, candidate, &payload, NULL);
        gci_payload_release(&payload);
        gcache_status stored = found == GCI_FOUND ? gci_arrival_store(s->cache, &remote->arrival) : GCACHE_REFUSED;
        gci_arrival_clear(&remote->arrival);
        if (remote->asking.answer == GCACHE_TIER_TROUBLE)
            return in_trouble(s, &remote->asking.call);
        s->sum->pulled += stored == GCACHE_OK;
        s->sum->left_out += stored != GCACHE_OK;
    }
    return GCACHE_OK;
}

/* here: the store's candidates; NULL: it has none. */
static gcache_status
compare(syncing *s, gcache_key const *key, bool push, bool pull)
{
    gci_candidates *here = NULL;
    gci_remote remote;
    gcache_status status = GCACHE_OK;

    gci_store_load(s->cache->store, key, &here, NULL);
    gcache_tier_answer answer = gci_remote_list(&remote, s->cache, s->tier, key);
    remote.key_is_known = here != NULL;
    s->sum->left_out += remote.reply.refused;
    if (answer == GCACHE_TIER_TROUBLE)
        status = in_trouble(s, &remote.asking.call);
    if (status == GCACHE_OK && push)
        status = push_key(s, &remote, here);
    if (status == GCACHE_OK && pull)
        status = pull_key(s, &remote, here);
    gci_remote_end(&remote, answer);
    gci_remote_clear(&remote);
    s->sum->keys += push || !pushes(s) || here == NULL;
    gci_candidates_release(here);
    watch(s);
    return status;
}

/* ---- all keys ---- */

static int
push_stored_key(void *state, gcache_key const *key)
{
    syncing *s = state;

    s->status = compare(s, key, true, false);
    return s->status != GCACHE_OK;
}

/* Calls of the tier aren't made from within another one: keys are gathered first, a piece of the walk at a time. */
static int
gather(void *state, gcache_key const *key)
{
    gci_buf *keys = state;

    gci_buf_append(keys, key->bytes, sizeof key->bytes);
    return keys->failed;
}

static gcache_status
pull_piece(syncing *s, gci_buf const *keys)
{
    gcache_status status = GCACHE_OK;
    gcache_key key;

    for (size_t at = 0; status == GCACHE_OK && at + sizeof key.bytes <= keys->size; at += sizeof key.bytes) {
        memcpy(key.bytes, keys->data + at, sizeof key.bytes);
        status = compare(s, &key, false, true);
    }
    return status;
}

static gcache_status
pull_all(syncing *s)
{
    char cursor[GCACHE_TIER_CURSOR_SIZE] = "";
    gcache_status status = GCACHE_OK;
    bool more = true;

    while (more && status == GCACHE_OK) {
        gci_asking asking;
        gci_buf keys;
        gci_buf_init(&keys, GCI_BUF_NO_LIMIT);
        gcache_tier_answer answer = GCACHE_TIER_TROUBLE;
        if (gci_asking_begin(&asking, s->tier, GCI_ASK_TO_READ, 0))
            answer = GCI_ASK(&asking, walk, cursor, gather, &keys);
        gci_asking_end(&asking);
        more = answer == GCACHE_TIER_HIT;
        if (answer == GCACHE_TIER_TROUBLE)
            status = in_trouble(s, &asking.call);
        else
            status = keys.failed ? gci_fail_memory(s->error) : pull_piece(s, &keys);
        gci_buf_clear(&keys);
    }
    return status;
}

static gcache_status
sync_with(syncing *s, gci_tier *tier)
{
    gcache_status status = GCACHE_OK;

    s->tier = tier;
    bool only_read = tier->read_only && s->options->tier == NULL && pulls(s);
    if (pushes(s) && tier->read_only && !only_read)
        return gci_fail(s->error, GCACHE_ERROR_READ_ONLY, "%s: it isn't to be written", tier->shown);
    if (pulls(s) && !gci_is_open(&s->cache->gate, GCI_STORE))
        return gci_pass(&s->cache->gate, NULL, GCI_STORE, s->error);
    if (pushes(s) && !only_read) {
        gci_store_stats stats = { 0 };
        s->done = 0;
        s->total = gci_store_stats_get(s->cache->store, &stats, NULL) == GCACHE_OK ? stats.keys : 0;
        s->status = GCACHE_OK;
        status = gci_store_each_key(s->cache->store, push_stored_key, s, s->error);
        status = s->status != GCACHE_OK ? s->status : status;
    }
    s->done = s->total = 0;
    return status == GCACHE_OK && pulls(s) ? pull_all(s) : status;
}

static gcache_status
sync_with_url(syncing *s, char const *url)
{
    gci_tier *tier = NULL;

    gcache_status status = gci_tier_open(gci_view_text(url), s->cache->options.trust, &tier, s->error);
    if (status == GCACHE_OK)
        status = sync_with(s, tier);
    gci_tier_free(tier);
    return status;
}

/* The first trouble is told; the others are no worse for it. */
static gcache_status
sync_with_all(syncing *s)
{
    gcache_status status = GCACHE_OK;
    gcache_error first = { 0 }, *told = s->error;

    for (size_t i = 0; i < s->cache->tiers->count; i++) {
        gcache_error error = { 0 };
        s->error = &error;
        gcache_status one = sync_with(s, s->cache->tiers->items[i]);
        if (one != GCACHE_OK && status == GCACHE_OK) {
            status = one;
            first = error;
        }
    }
    if (status != GCACHE_OK && told != NULL)
        *told = first;
    return status;
}

gcache_status
gcache_tiers_sync(gcache *cache, gcache_sync_options const *options, gcache_synced *out_synced, gcache_error *error)
{
    static gcache_sync_options const defaults = GCACHE_SYNC_OPTIONS_INIT;
    gcache_synced sum = GCACHE_SYNCED_INIT;
    syncing s = { .cache = cache, .options = options != NULL ? options : &defaults, .sum = &sum, .error = error };

    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE_INIT(options, error);
    GCI_REQUIRE_INIT(out_synced, error);
    gcache_status status = gci_pass(&cache->gate, NULL, GCI_LOOK_UP, error);
    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(s.options->tier != NULL || cache->tiers != NULL, error, "the cache has no tiers: the setting tiers names them");
    if (s.options->tier != NULL)
        status = sync_with_url(&s, s.options->tier);
    else
        status = sync_with_all(&s);
    if (out_synced != NULL)
        *out_synced = sum;
    return status;
}
