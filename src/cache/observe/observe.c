/*
 * The public side of observe.h: counters, statistics, the journal; but neither explanations nor what is shown of statistics.
 */
#include <guardcache/observe.h>

#include "base/check.h"
#include "cache/journal/history.h"

#include <stdlib.h>

/* ---- counters of a handle ---- */

static uint64_t
read_number(_Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

uint64_t
gcache_counter_read(gcache *cache, gcache_counter counter)
{
    if (cache == NULL || (unsigned)counter >= GCACHE_COUNTER_COUNT)
        return 0;
    uint64_t sum = read_number(&cache->counters.numbers[counter]);
    for (size_t i = 0; i <= GCI_LANES; i++) {
        gci_lane_numbers *lane = &cache->counters.lanes[i].numbers;
        sum += counter == GCACHE_COUNTER_HITS ? read_number(&lane->hits) : 0;
        sum += counter == GCACHE_COUNTER_SAVED_NS ? read_number(&lane->saved_ns) : 0;
    }
    return sum;
}

uint64_t
gcache_counter_misses(gcache *cache, gcache_reason reason)
{
    uint64_t sum = 0;

    for (unsigned i = 0; cache != NULL && i < GCACHE_REASON_COUNT; i++)
        if (reason == GCACHE_REASON_NONE || i == (unsigned)reason)
            sum += read_number(&cache->counters.misses[i]);
    return sum;
}

/* ---- statistics of the directory ---- */

struct gcache_statistics {
    uint64_t values[GCACHE_STATISTIC_COUNT];
};

static void
take_statistics(gci_store_stats const *stats, uint64_t values[GCACHE_STATISTIC_COUNT])
{
    values[GCACHE_STATISTIC_BYTES] = stats->bytes;
    values[GCACHE_STATISTIC_MAX_SIZE] = stats->max_size;
    values[GCACHE_STATISTIC_ENTRIES] = stats->entries;
    values[GCACHE_STATISTIC_KEYS] = stats->keys;
    values[GCACHE_STATISTIC_MEMORY_BYTES] = stats->memory_bytes;
    values[GCACHE_STATISTIC_MEMORY_KEYS] = stats->memory_sets;
#define X(name, word, text) values[GCACHE_STATISTIC_##name] = stats->counters[GCI_COUNT_##name];
    GCACHE_STATISTIC_COUNTER_MAP(X)
#undef X
}

gcache_status
gcache_statistics_read(gcache *cache, gcache_statistics **out_statistics, gcache_error *error)
{
    gci_store_stats stats = { 0 };
    gci_store *store;

    GCI_REQUIRE(cache != NULL && out_statistics != NULL, error, "cache or out_statistics is NULL");
    *out_statistics = NULL;
    gcache_status status = gci_look_begin(cache, &store, error);
    if (status == GCACHE_OK && store != NULL)
        status = gci_store_stats_get(store, &stats, error);
    gci_look_end(cache, store);
    if (status == GCACHE_OK && (*out_statistics = malloc(sizeof **out_statistics)) == NULL)
        status = gci_fail_memory(error);
    if (status == GCACHE_OK)
        take_statistics(&stats, (*out_statistics)->values);
    return status;
}

void
gcache_statistics_free(gcache_statistics *statistics)
{
    free(statistics);
}

uint64_t
gcache_statistics_get(gcache_statistics const *statistics, gcache_statistic statistic)
{
    return statistics != NULL && (unsigned)statistic < GCACHE_STATISTIC_COUNT ? statistics->values[statistic] : 0;
}

/* ---- the journal ---- */

char const *
gcache_journal_kind_name(gcache_journal_kind kind)
{
    switch (kind) {
#define X(name, value, word, meaning)                                                                 \
    case GCACHE_JOURNAL_##name:                                                                           \
        return word;
        GCACHE_JOURNAL_KIND_MAP(X)
#undef X
    }
    return "?";
}

typedef struct listener {
    gcache_journal_fn fn;
    void *state;
} listener;

static char const *
text_of(gci_view view)
{
    return view.data != NULL ? view.data : "";
}

static char const *
remark_of(gci_journal_entry const *entry)
{
    if (entry->kind == GCACHE_JOURNAL_NOT_STORED || entry->kind == GCACHE_JOURNAL_TAKEOVER)
        return entry->why;
    return entry->kind == GCACHE_JOURNAL_MISS ? entry->bypass : "";
}

static uint64_t
waited_of(gci_journal_entry const *entry)
{
    uint64_t sum = entry->waited_ns;

    for (size_t i = 0; i < entry->trace.reply_count; i++)
        sum += entry->trace.replies[i].elapsed_ns;
    return sum;
}

static int
hand_over(void *state, gci_journal_entry *entry)
{
    listener const *to = state;
    gcache_journal_entry view = {
        .at_ns = entry->at_ns,
        .kind = entry->kind,
        .reason = entry->reason,
        .process = entry->process,
        .key = entry->key,
        .namespace_ = text_of(entry->namespace_),
        .graph_kind = text_of(entry->graph_kind),
        .label = text_of(entry->label),
        .sources = entry->context.request.sources,
        .sources_count = entry->context.request.sources_count,
        .hints = entry->hints,
        .hint_count = entry->hint_count,
        .entry = entry->entry != NULL ? entry->entry : "",
        .hits = entry->hits,
        .saved_ns = entry->saved_ns,
        .elapsed_ns = entry->elapsed_ns,
        .compile_ns = entry->compile_ns,
        .payload_size = entry->payload_size,
        .text = remark_of(entry),
        .why_asked = entry->context.request.why_asked != NULL ? entry->context.request.why_asked : "",
        .tier = entry->tier != NULL ? entry->tier : "",
        .waited_ns = waited_of(entry),
        .tier_counts = entry->tier_counts,
    };

    return to->fn(to->state, &view);
}

gcache_status
gcache_journal_each(gcache *cache, gcache_journal_query const *query, gcache_journal_fn fn, void *state, gcache_error *error)
{
    listener to = { fn, state };

    GCI_REQUIRE(cache != NULL && fn != NULL, error, "cache or fn is NULL");
    return gci_history_each(cache, query, hand_over, &to, error);
}
