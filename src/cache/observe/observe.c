/*
 * The public side of observe.h but for explanations and sums.
 */
#include <guardcache/observe.h>

#include "base/check.h"
#include "cache/journal/history.h"

static uint64_t
read_number(_Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

void
gcache_counters_read(gcache *cache, gcache_counters *out_counters)
{
    *out_counters = (gcache_counters){ 0 };
    if (cache == NULL)
        return;
    for (size_t i = 0; i <= GCI_LANES; i++) {
        out_counters->hits += read_number(&cache->counters.lanes[i].numbers.hits);
        out_counters->saved_ns += read_number(&cache->counters.lanes[i].numbers.saved_ns);
    }
    for (size_t i = 0; i < GCACHE_REASON_COUNT; i++)
        out_counters->misses[i] = read_number(&cache->counters.misses[i]);
    out_counters->inserts = read_number(&cache->counters.inserts);
    out_counters->refusals = read_number(&cache->counters.refusals);
    out_counters->not_stored = read_number(&cache->counters.not_stored);
    out_counters->evictions = read_number(&cache->counters.evictions);
    out_counters->evicted_bytes = read_number(&cache->counters.evicted_bytes);
    out_counters->corrupt = read_number(&cache->counters.corrupt);
    out_counters->leases = read_number(&cache->counters.leases);
    out_counters->lease_waits = read_number(&cache->counters.lease_waits);
}

char const *
gcache_act_name(gcache_act act)
{
    switch (act) {
#define X(name, value, word, meaning)                                                                 \
    case GCACHE_ACT_##name:                                                                           \
        return word;
        GCACHE_ACT_MAP(X)
#undef X
    }
    return "?";
}

/* ---- the journal ---- */

typedef struct listener {
    gcache_past_fn fn;
    void *state;
} listener;

static char const *
text_of(gci_view view)
{
    return view.data != NULL ? view.data : "";
}

static char const *
remark_of(gci_past const *past)
{
    if (past->act == GCACHE_ACT_NOT_STORED || past->act == GCACHE_ACT_TAKEOVER)
        return past->why;
    return past->act == GCACHE_ACT_MISS ? past->bypass : "";
}

static int
hand_over(void *state, gci_past *past)
{
    listener const *to = state;
    gcache_past view = {
        .at_ns = past->at_ns,
        .act = past->act,
        .reason = past->reason,
        .process = past->process,
        .key = past->key,
        .space = text_of(past->space),
        .kind = text_of(past->kind),
        .label = text_of(past->label),
        .hints = past->hints,
        .hint_count = past->hint_count,
        .entry = past->entry != NULL ? past->entry : "",
        .hits = past->hits,
        .saved_ns = past->saved_ns,
        .elapsed_ns = past->elapsed_ns,
        .compile_ns = past->compile_ns,
        .payload_size = past->payload_size,
        .text = remark_of(past),
    };

    return to->fn(to->state, &view);
}

gcache_status
gcache_each_past(gcache *cache, gcache_past_query const *query, gcache_past_fn fn, void *state, gcache_error *error)
{
    listener to = { fn, state };

    GCI_REQUIRE(cache != NULL && fn != NULL, error, "cache or fn is NULL");
    return gci_history_each(cache, query, hand_over, &to, error);
}
