#include "cache/watch.h"

#include "base/clock.h"
#include "cache/events.h"
#include "cache/journal.h"
#include "cache/tape.h"

gci_watch
gci_watch_begin(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_request const *request)
{
    gci_watch watch = { .cache = cache, .graph = graph, .hints = hints, .request = request };

    watch.lane = gci_counters_lane(&cache->counters);
    if (cache->event != NULL)
        gci_tell_request(cache, graph, request);
    if (cache->event != NULL || gci_counters_next_is_due(watch.lane))
        watch.start_ns = gci_clock_steady_ns();
    return watch;
}

/* A hit that wasn't timed when it began became due through another thread's hits: its duration isn't known. */
static void
journal_hit(gci_watch const *watch, gci_ended *ended)
{
    gci_untold untold = gci_counters_tell(&watch->cache->counters, watch->lane);

    if (untold.hits != 0)
        gci_journal_hit(ended, untold);
}

void
gci_watch_end(gci_watch const *watch, gcache_status status, gcache_result const *result)
{
    gcache *cache = watch->cache;
    gci_ended ended = { cache, watch->graph, watch->hints, watch->request, result, 0 };

    if (watch->start_ns != 0)
        ended.elapsed_ns = gci_clock_steady_ns() - watch->start_ns;
    if (cache->event != NULL && status >= 0)
        gci_tell_outcome(cache, watch->graph, watch->request, result, ended.elapsed_ns);
    if (cache->tape != NULL && status >= 0)
        gci_tape_lookup(cache->tape, watch->graph, watch->hints, watch->request, result);
    if (status == GCACHE_HIT) {
        if (atomic_load_explicit(&cache->recorder.recording, memory_order_relaxed))
            gci_recorder_note(&cache->recorder, GCI_USED_ENTRY,
                              gci_view_of(result->key.bytes, sizeof result->key.bytes), gci_view_text(result->entry),
                              false);
        if (gci_count_hit(&cache->counters, watch->lane, result->compile_ns))
            journal_hit(watch, &ended);
    } else if (status == GCACHE_MISS) {
        atomic_fetch_add_explicit(&cache->counters.misses[result->reason], 1, memory_order_relaxed);
        if (result->reason != GCACHE_REASON_NONE)
            gci_journal_miss(&ended);
    }
}

void
gci_watch_close(gcache *cache)
{
    gci_untold untold = gci_counters_tell_all(&cache->counters);
    gcache_result nobody = { .outcome = GCACHE_HIT };

    if (untold.hits != 0 && cache->store != NULL)
        gci_journal_hit(&(gci_ended){ .cache = cache, .result = &nobody }, untold);
}
