/*
 * A lookup's beginning and end, reported to counters, listener, trace writer and journal.
 */
#include "cache/journal/lookup_report.h"

#include "base/system/clock.h"
#include "cache/journal/events.h"
#include "cache/journal/journal_writer.h"
#include "cache/journal/trace_writer.h"

gci_missed *
gci_watch_begin(gci_watch *watch, gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                gcache_request const *request)
{
    watch->cache = cache;
    watch->graph = graph;
    watch->hints = hints;
    watch->request = request;
    watch->lane = gci_counters_lane(&cache->counters);
    watch->start_ns = 0;
    watch->missed.asked = watch->missed.may_refuse = false;
    if (cache->event != NULL)
        gci_tell_request(cache, graph, request);
    if (cache->event != NULL || (cache->journal && gci_counters_next_is_due(watch->lane)))
        watch->start_ns = gci_clock_steady_ns();
    return cache->journal ? &watch->missed : NULL;
}

static gci_ended
ended_of(gci_watch const *watch, gcache_result const *result)
{
    gci_ended ended = { watch->cache, watch->graph, watch->hints, watch->request, result, 0 };

    if (watch->start_ns != 0)
        ended.elapsed_ns = gci_clock_steady_ns() - watch->start_ns;
    return ended;
}

/* A hit that wasn't timed when it began became due through another thread's hits: its duration isn't known. */
static void
journal_hit(gci_watch const *watch, gcache_result const *result)
{
    gci_untold untold = gci_counters_tell(&watch->cache->counters, watch->lane);
    gci_ended ended = ended_of(watch, result);

    if (untold.hits != 0 && !gci_journal_hit(&ended, untold))
        gci_counters_untell(watch->lane, untold);
}

static void
journal_miss(gci_watch const *watch, gcache_result const *result)
{
    gci_ended ended = ended_of(watch, result);

    atomic_fetch_add_explicit(&watch->cache->counters.misses[result->reason], 1, memory_order_relaxed);
    if (watch->cache->journal)
        gci_journal_miss(&ended, &watch->missed);
}

/* Those who only listen if they are asked to. */
static void
tell_others(gci_watch const *watch, gcache_status status, gcache_result const *result)
{
    gcache *cache = watch->cache;

    if (cache->event != NULL)
        gci_tell_outcome(cache, watch->graph, watch->request, result, ended_of(watch, result).elapsed_ns);
    if (cache->tape != NULL)
        gci_tape_lookup(cache->tape, watch->graph, watch->hints, watch->request, result);
    if (status == GCACHE_HIT && atomic_load_explicit(&cache->recorder.recording, memory_order_relaxed))
        gci_recorder_note(&cache->recorder, GCI_USED_ENTRY, gci_view_of(result->key.bytes, sizeof result->key.bytes),
                          gci_view_text(result->entry), false);
}

static void
report(gci_watch const *watch, gcache_status status, gcache_result const *result)
{
    gcache *cache = watch->cache;

    if (cache->event != NULL || cache->tape != NULL ||
        atomic_load_explicit(&cache->recorder.recording, memory_order_relaxed))
        tell_others(watch, status, result);
    if (status == GCACHE_HIT) {
        if (gci_count_hit(&cache->counters, watch->lane, result->compile_ns) && cache->journal)
            journal_hit(watch, result);
    } else if (status == GCACHE_MISS) {
        journal_miss(watch, result);
    }
}

void
gci_watch_end(gci_watch *watch, gcache_status status, gcache_result const *result)
{
    if (status >= 0)
        report(watch, status, result);
    gci_missed_clear(&watch->missed);
}

void
gci_watch_close(gcache *cache)
{
    gci_untold untold = gci_counters_tell_all(&cache->counters);
    gcache_result nobody = { .size = sizeof nobody, .outcome = GCACHE_HIT };

    if (untold.hits != 0 && cache->journal)
        gci_journal_hit(&(gci_ended){ .cache = cache, .result = &nobody }, untold);
}
