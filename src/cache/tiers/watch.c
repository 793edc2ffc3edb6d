/* Tiers looked at: what they have been doing, whether they are there, and whether they have everything. */
#include "base/check.h"
#include "base/system/clock.h"
#include "cache/tiers/upload.h"

static gcache_status
check(gcache const *cache, gcache_tier_state_fn fn, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL && fn != NULL, error, "cache or fn is NULL");
    return GCACHE_OK;
}

static size_t
count_of(gcache const *cache)
{
    return cache->tiers != NULL ? cache->tiers->count : 0;
}

static int
hand_out(gci_tier *tier, gcache_tier_state *said, gcache_tier_state_fn fn, void *state)
{
    uint64_t counts[GCACHE_TIER_COUNT_COUNT];

    for (size_t i = 0; i < GCACHE_TIER_COUNT_COUNT; i++)
        counts[i] = atomic_load_explicit(&tier->counts[i], memory_order_relaxed);
    said->name = tier->shown;
    said->read_only = tier->read_only;
    said->left_alone = atomic_load(&tier->reading.until_ns) > gci_clock_steady_ns();
    said->counts = counts;
    return fn(state, said);
}

gcache_status
gcache_tiers_each(gcache *cache, gcache_tier_state_fn fn, void *state, gcache_error *error)
{
    gcache_status status = check(cache, fn, error);

    for (size_t i = 0; status == GCACHE_OK && i < count_of(cache); i++) {
        gcache_tier_state said = { .message = "" };
        if (hand_out(cache->tiers->items[i], &said, fn, state) != 0)
            break;
    }
    return status;
}

void
gci_tier_ignore_number(void *state, char const *name, uint64_t value)
{
    (void)state, (void)name, (void)value;
}

static int
ignore_object(void *state, gcache_object const *object)
{
    (void)state, (void)object;
    return 1;
}

/* A tier that has no numbers of its own is asked for what isn't there. */
static gcache_tier_answer
ask_whether_there(gci_asking *asking, gcache_tier_number_fn number, void *state)
{
    gcache_key const none = { { 0 } };

    if (asking->tier->functions->statistics != NULL)
        return GCI_ASK(asking, statistics, number != NULL ? number : gci_tier_ignore_number, state);
    gcache_tier_answer answer = GCI_ASK(asking, list, &none, ignore_object, NULL);
    return answer == GCACHE_TIER_MISS ? GCACHE_TIER_HIT : answer;
}

static int
ping(gci_tier *tier, gcache_tier_number_fn number, gcache_tier_state_fn fn, void *state)
{
    gcache_tier_state said = { .message = "" };
    gci_asking asking;

    gci_asking_begin(&asking, tier, GCI_ASK_TO_KNOW, 0);
    said.answer = ask_whether_there(&asking, number, state);
    said.elapsed_ns = gci_asking_end(&asking);
    said.reason = asking.call.reason;
    if (said.answer == GCACHE_TIER_TROUBLE)
        said.message = asking.call.message;
    return hand_out(tier, &said, fn, state);
}

gcache_status
gcache_tiers_ping(gcache *cache, gcache_tier_number_fn number, gcache_tier_state_fn fn, void *state, gcache_error *error)
{
    gcache_status status = check(cache, fn, error);

    for (size_t i = 0; status == GCACHE_OK && i < count_of(cache); i++) {
        if (ping(cache->tiers->items[i], number, fn, state) != 0)
            break;
    }
    return status;
}

gcache_status
gcache_tiers_flush(gcache *cache, uint64_t timeout_ns, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    if (cache->tiers == NULL || cache->tiers->uploads == NULL)
        return GCACHE_OK;
    return gci_uploads_flush(cache->tiers->uploads, timeout_ns != 0 ? timeout_ns : UINT64_MAX / 2, timeout_ns != 0, error);
}
