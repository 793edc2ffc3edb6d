/*
 * A lookup's beginning and end, reported to counters, listener, trace writer and journal.
 */
#include "cache/journal/lookup_report.h"

#include "base/system/clock.h"
#include "cache/journal/events.h"
#include "cache/journal/trace_writer.h"

gci_missed *
gci_lookup_begin(gci_lookup_report *lookup, gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                gcache_request const *request)
{
    lookup->ended = (gci_ended){ .cache = cache, .graph = graph, .hints = hints, .request = request };
    lookup->lane = gci_counters_lane(&cache->counters);
    lookup->start_ns = 0;
    lookup->missed.kept = lookup->missed.may_refuse = false;
    lookup->missed.looked_ns = lookup->missed.waited_ns = 0;
    lookup->missed.from_tier = false;
    if (cache->event != NULL)
        gci_report_request(cache, graph, request);
    if (cache->event != NULL || (cache->journal && gci_counters_next_is_due(lookup->lane)))
        lookup->start_ns = gci_clock_steady_ns();
    return cache->journal ? &lookup->missed : NULL;
}

/* A hit that wasn't timed when it began became due through another thread's hits: its duration isn't known. */
static void
journal_hit(gci_lookup_report const *lookup)
{
    gci_unreported unreported = gci_counters_report(&lookup->ended.cache->counters, lookup->lane);

    /* A hit is counted before its time: another thread may have reported the one without the other. */
    if (unreported.hits == 0 || !gci_journal_hit(&lookup->ended, unreported))
        gci_counters_take_back(lookup->lane, unreported);
}

/* A tier's hits are rare, and worth knowing one by one. */
static void
report_hit_of_tier(gci_lookup_report *lookup)
{
    gci_counters *counters = &lookup->ended.cache->counters;
    gci_unreported one = { 1, lookup->ended.result->compile_ns };

    gci_count_hit_reported(counters, lookup->lane, one.saved_ns);
    lookup->ended.waited_ns = lookup->missed.waited_ns;
    if (lookup->ended.elapsed_ns == 0)
        lookup->ended.elapsed_ns = lookup->missed.waited_ns;
    if (!gci_journal_hit(&lookup->ended, one))
        gci_counters_take_back(lookup->lane, one);
}

/* Those who only listen if they are asked to. */
static void
report_to_others(gci_ended const *ended)
{
    gcache_result const *result = ended->result;
    gcache *cache = ended->cache;

    if (cache->event != NULL)
        gci_report_outcome(cache, ended->graph, ended->request, result, ended->elapsed_ns);
    if (cache->trace_writer != NULL)
        gci_trace_writer_lookup(cache->trace_writer, ended->graph, ended->hints, ended->request, result);
    if (result->outcome == GCACHE_HIT)
        gci_recorder_note(&cache->recorder, GCI_USED_ENTRY, gci_view_of(result->key.bytes, sizeof result->key.bytes),
                          gci_view_text(result->entry), false);
}

static void
report(gci_lookup_report *lookup)
{
    gcache_result const *result = lookup->ended.result;
    gcache *cache = lookup->ended.cache;

    if (cache->event != NULL || cache->trace_writer != NULL ||
        atomic_load_explicit(&cache->recorder.recording, memory_order_relaxed))
        report_to_others(&lookup->ended);
    if (result->outcome == GCACHE_HIT) {
        gci_counters_notice_fork(&cache->counters, gci_store_forks(cache->store));
        if (cache->journal && lookup->missed.from_tier)
            report_hit_of_tier(lookup);
        else if (gci_count_hit(&cache->counters, lookup->lane, result->compile_ns) && cache->journal)
            journal_hit(lookup);
        return;
    }
    atomic_fetch_add_explicit(&cache->counters.misses[result->reason], 1, memory_order_relaxed);
    if (cache->journal)
        gci_journal_miss(&lookup->ended, &lookup->missed);
}

void
gci_lookup_end(gci_lookup_report *lookup, gcache_status status, gcache_result const *result)
{
    lookup->ended.result = result;
    if (lookup->start_ns != 0)
        lookup->ended.elapsed_ns = gci_clock_steady_ns() - lookup->start_ns;
    if (status == GCACHE_HIT || status == GCACHE_MISS)
        report(lookup);
    gci_missed_clear(&lookup->missed);
}

void
gci_lookups_close(gcache *cache)
{
    gci_unreported unreported = gci_counters_report_all(&cache->counters);
    gcache_result nobody = { .size = sizeof nobody, .outcome = GCACHE_HIT };

    if ((unreported.hits != 0 || unreported.saved_ns != 0) && cache->journal)
        gci_journal_hit(&(gci_ended){ .cache = cache, .result = &nobody }, unreported);
}
