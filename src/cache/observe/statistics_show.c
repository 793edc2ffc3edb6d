/*
 * gcache_statistics_show: the shown over the journal and the state of the store, for people, programs and Prometheus.
 */
#include "base/check.h"
#include "base/system/clock.h"
#include "base/text/json.h"
#include "cache/handle/words.h"
#include "cache/observe/statistics.h"

/* Labels that a text shows; JSON has all of them. */
#define LABELS_SHOWN 10

/* Columns of the text. */
#define NAME_WIDTH 12
#define COUNT_WIDTH 10

typedef struct shown {
    gci_statistics statistics;
    gci_store_stats store;
    uint64_t idle_ns; /* of the least recent entry; 0: not known */
} shown;

/* ---- for people ---- */

static void
write_row_start(gci_buf *out, char const *name, uint64_t count)
{
    gci_phrase(out, "{}{}", GCI_LEFT(NAME_WIDTH, GCI_AS_TEXT(name)), GCI_RIGHT(COUNT_WIDTH, GCI_AS_COUNT(count)));
}

static void
write_lookups(gci_statistics const *statistics, gci_buf *out)
{
    uint64_t misses = gci_statistics_misses(statistics), lookups = statistics->hits + misses;

    write_row_start(out, "lookups", lookups);
    gci_phrase(out, "      hits {}", GCI_AS_COUNT(statistics->hits));
    gci_buf_format(out, " (%.1f %%)", gci_percent(statistics->hits, lookups));
    gci_phrase(out, "      compile time saved {}\n", GCI_AS_DURATION(statistics->saved_ns));
    write_row_start(out, "misses", misses);
    gci_buf_append_text(out, "   ");
    for (int i = 1; i < GCACHE_REASON_COUNT; i++) {
        if (statistics->misses[i] != 0)
            gci_phrase(out, "   {} {}", GCI_AS_TEXT(gcache_reason_name((gcache_reason)i)), GCI_AS_COUNT(statistics->misses[i]));
    }
    if (statistics->cost_ns != 0)
        gci_phrase(out, "      compiled for {}", GCI_AS_DURATION(statistics->cost_ns));
    gci_buf_append_char(out, '\n');
}

static void
write_entries(shown const *all, gci_buf *out)
{
    gci_store_stats const *store = &all->store;

    write_row_start(out, "entries", store->entries);
    gci_phrase(out, store->keys == 1 ? "      {} key, {}" : "      {} keys, {}", GCI_AS_COUNT(store->keys),
               GCI_AS_SIZE(store->bytes));
    if (store->max_size != UINT64_MAX)
        gci_phrase(out, " of at most {}", GCI_AS_SIZE(store->max_size));
    if (all->idle_ns != 0)
        gci_phrase(out, "; the least recent is unused for {}", GCI_AS_DURATION(all->idle_ns));
    gci_buf_append_char(out, '\n');
    write_row_start(out, "evicted", store->counters[GCI_COUNT_EVICTIONS]);
    gci_phrase(out, "      {}", GCI_AS_SIZE(store->counters[GCI_COUNT_EVICTED_BYTES]));
    gci_write_asked_again(out, store->counters[GCI_COUNT_ASKED_AGAIN], store->counters[GCI_COUNT_EVICTIONS]);
    gci_phrase(out, "; damaged and put aside {}\n", GCI_AS_COUNT(store->counters[GCI_COUNT_CORRUPT]));
}

/* From which tier the candidates of the lookups came. */
static void
write_asked(gci_store_stats const *store, gci_buf *out)
{
    uint64_t memory = store->counters[GCI_COUNT_MEMORY_HITS], disk = store->counters[GCI_COUNT_DISK_READS];

    if (memory + disk == 0)
        return;
    write_row_start(out, "asked", memory + disk);
    gci_phrase(out, "      memory {}", GCI_AS_COUNT(memory));
    gci_buf_format(out, " (%.1f %%)", gci_percent(memory, memory + disk));
    gci_phrase(out, "   disk {}\n", GCI_AS_COUNT(disk));
}

static void
write_times(gci_statistics const *statistics, gci_buf *out)
{
    if (statistics->timed == 0)
        return;
    gci_phrase(out, "\na hit took {} on average:", GCI_AS_DURATION(statistics->time_sum_ns / statistics->timed));
    for (size_t i = 0; i < GCI_TIME_BUCKETS; i++) {
        if (statistics->times[i] == 0)
            continue;
        bool last = i + 1 == GCI_TIME_BUCKETS;
        gci_phrase(out, last ? "   over {}" : "   under {}", GCI_AS_DURATION(gci_time_bucket_end(last ? i - 1 : i)));
        gci_buf_format(out, " %.0f %%", gci_percent(statistics->times[i], statistics->timed));
    }
    gci_buf_append_char(out, '\n');
}

static void
write_groups(char const *title, gci_groups const *groups, gci_buf *out)
{
    bool named = groups->count > 1 || (groups->count == 1 && groups->items[0].name.size != 0);

    if (!named)
        return;
    gci_buf_format(out, "\n%-40s %10s %10s %8s %14s\n", title, "hits", "misses", "rate", "compiled for");
    for (size_t i = 0; i < groups->count && i < LABELS_SHOWN; i++) {
        gci_group const *group = &groups->items[i];
        gci_phrase(out, "{} {} {}", GCI_AS_COLUMN(group->name.size != 0 ? group->name : gci_view_text("(none)"), 40),
                   GCI_RIGHT(10, GCI_AS_NUMBER(group->hits)), GCI_RIGHT(10, GCI_AS_NUMBER(group->misses)));
        gci_buf_format(out, " %6.1f %%", gci_percent(group->hits, group->hits + group->misses));
        /* Nothing is known to have been compiled, or for how long. */
        gci_phrase(out, " {}\n", GCI_RIGHT(14, group->cost_ns != 0 ? GCI_AS_DURATION(group->cost_ns) : GCI_AS_TEXT("-")));
    }
    if (groups->count > LABELS_SHOWN)
        gci_buf_format(out, "and %zu more (--json has all)\n", groups->count - LABELS_SHOWN);
}

static void
write_text(shown const *all, gci_buf *out)
{
    write_lookups(&all->statistics, out);
    write_entries(all, out);
    write_asked(&all->store, out);
    gci_statistics_write_tiers(&all->statistics, out);
    if (all->statistics.oldest_ns != 0)
        gci_phrase(out, "since {}\n", GCI_AS_TIME(all->statistics.oldest_ns));
    write_times(&all->statistics, out);
    write_groups("label", &all->statistics.labels, out);
    write_groups("namespace", &all->statistics.spaces, out);
}

/* ---- JSON ---- */

static void
write_groups_json(char const *name, gci_groups const *groups, gci_buf *out)
{
    gci_buf_format(out, ", \"%s\": [", name);
    for (size_t i = 0; i < groups->count; i++) {
        gci_group const *group = &groups->items[i];
        gci_json_next(out);
        gci_buf_append_char(out, '{');
        gci_json_member_text(out, "name", group->name);
        gci_json_member_number(out, "hits", group->hits);
        gci_json_member_number(out, "misses", group->misses);
        gci_json_member_number(out, "saved_ns", group->saved_ns);
        gci_json_member_number(out, "compile_ns", group->cost_ns);
        gci_buf_append_char(out, '}');
    }
    gci_buf_append_char(out, ']');
}

static void
write_times_json(gci_statistics const *statistics, gci_buf *out)
{
    gci_buf_append_text(out, ", \"retrieval\": [");
    for (size_t i = 0; i < GCI_TIME_BUCKETS; i++) {
        gci_json_next(out);
        gci_buf_append_char(out, '{');
        if (i + 1 < GCI_TIME_BUCKETS)
            gci_json_member_number(out, "below_ns", gci_time_bucket_end(i));
        else
            gci_buf_append_text(out, "\"below_ns\": null");
        gci_json_member_number(out, "count", statistics->times[i]);
        gci_buf_append_char(out, '}');
    }
    gci_buf_append_char(out, ']');
}

static void
write_counters_json(shown const *all, gci_buf *out)
{
    static char const *const words[GCI_COUNT_COUNT] = {
#define X(name, word, text) [GCI_COUNT_##name] = word,
        GCACHE_STATISTIC_COUNTER_MAP(X)
#undef X
    };
    gci_store_stats const *store = &all->store;

    gci_buf_append_text(out, ", \"store\": {");
    gci_json_member_number(out, "keys", store->keys);
    gci_json_member_number(out, "entries", store->entries);
    gci_json_member_number(out, "bytes", store->bytes);
    if (store->max_size != UINT64_MAX)
        gci_json_member_number(out, "max_bytes", store->max_size);
    if (all->idle_ns != 0)
        gci_json_member_number(out, "least_recent_idle_ns", all->idle_ns);
    for (size_t i = 0; i < GCI_COUNT_COUNT; i++)
        gci_json_member_number(out, words[i], store->counters[i]);
    gci_buf_append_char(out, '}');
}

static void
write_json(shown const *all, gci_buf *out)
{
    gci_statistics const *statistics = &all->statistics;

    gci_buf_append_char(out, '{');
    gci_json_member_number(out, "lookups", statistics->hits + gci_statistics_misses(statistics));
    gci_json_member_number(out, "hits", statistics->hits);
    gci_buf_append_text(out, ", \"misses\": {");
    for (int i = 1; i < GCACHE_REASON_COUNT; i++) {
        if (statistics->misses[i] != 0)
            gci_json_member_number(out, gcache_reason_name((gcache_reason)i), statistics->misses[i]);
    }
    gci_buf_append_char(out, '}');
    gci_json_member_number(out, "saved_ns", statistics->saved_ns);
    gci_json_member_number(out, "compile_ns", statistics->cost_ns);
    gci_json_member_number(out, "inserts", statistics->inserts);
    gci_json_member_number(out, "not_stored", statistics->not_stored);
    gci_json_member_number(out, "oldest_ns", statistics->oldest_ns);
    gci_json_member_number(out, "newest_ns", statistics->newest_ns);
    write_times_json(statistics, out);
    write_groups_json("labels", &statistics->labels, out);
    write_groups_json("namespaces", &statistics->spaces, out);
    gci_statistics_write_tiers_json(statistics, out);
    write_counters_json(all, out);
    gci_buf_append_text(out, "}\n");
}

/* ---- Prometheus ---- */

static void
write_metric(gci_buf *out, char const *name, char const *type, char const *help, double value)
{
    gci_buf_format(out, "# HELP guardcache_%s %s\n# TYPE guardcache_%s %s\nguardcache_%s %.15g\n", name, help, name, type,
                   name, value);
}

/* Cumulative, as its histograms are. */
static void
write_times_prometheus(gci_statistics const *statistics, gci_buf *out)
{
    uint64_t sum = 0;

    gci_buf_append_text(out, "# HELP guardcache_retrieval_seconds What a measured hit took\n"
                             "# TYPE guardcache_retrieval_seconds histogram\n");
    for (size_t i = 0; i < GCI_TIME_BUCKETS; i++) {
        sum += statistics->times[i];
        if (i + 1 < GCI_TIME_BUCKETS)
            gci_buf_format(out, "guardcache_retrieval_seconds_bucket{le=\"%g\"} %llu\n",
                           (double)gci_time_bucket_end(i) / 1e9, (unsigned long long)sum);
    }
    gci_buf_format(out, "guardcache_retrieval_seconds_bucket{le=\"+Inf\"} %llu\n", (unsigned long long)sum);
    gci_buf_format(out, "guardcache_retrieval_seconds_sum %.15g\nguardcache_retrieval_seconds_count %llu\n",
                   (double)statistics->time_sum_ns / 1e9, (unsigned long long)sum);
}

static void
write_prometheus(shown const *all, gci_buf *out)
{
    gci_statistics const *statistics = &all->statistics;

    write_metric(out, "hits", "gauge", "Hits that the journal knows of", (double)statistics->hits);
    gci_buf_append_text(out, "# HELP guardcache_misses Misses that the journal knows of, by reason\n"
                             "# TYPE guardcache_misses gauge\n");
    for (int i = 1; i < GCACHE_REASON_COUNT; i++)
        gci_buf_format(out, "guardcache_misses{reason=\"%s\"} %llu\n", gcache_reason_name((gcache_reason)i),
                       (unsigned long long)statistics->misses[i]);
    write_metric(out, "saved_seconds", "gauge", "Compile time that those hits saved", (double)statistics->saved_ns / 1e9);
    write_metric(out, "compile_seconds", "gauge", "Compile time that those misses cost", (double)statistics->cost_ns / 1e9);
    write_metric(out, "entries", "gauge", "Entries stored", (double)all->store.entries);
    write_metric(out, "keys", "gauge", "Keys stored", (double)all->store.keys);
    write_metric(out, "bytes", "gauge", "Size of the cache directory", (double)all->store.bytes);
    if (all->store.max_size != UINT64_MAX)
        write_metric(out, "max_bytes", "gauge", "Size cap of the cache directory", (double)all->store.max_size);
    if (all->idle_ns != 0)
        write_metric(out, "least_recent_idle_seconds", "gauge", "For how long the least recent entry is unused",
                     (double)all->idle_ns / 1e9);
#define X(name, word, text) write_metric(out, word "_total", "counter", text, (double)all->store.counters[GCI_COUNT_##name]);
    GCACHE_STATISTIC_COUNTER_MAP(X)
#undef X
    gci_statistics_write_tiers_prometheus(statistics, out);
    write_times_prometheus(statistics, out);
}

/* ---- the call ---- */

static gcache_status
ask_store(gci_store *store, shown *all, gcache_error *error)
{
    gcache_status status = gci_store_stats_get(store, &all->store, error);

    if (status != GCACHE_OK)
        return status;
    uint64_t used = gci_store_least_recent_ns(store, true), now = gci_clock_wall_ns();
    all->idle_ns = used != 0 && used < now ? now - used : 0;
    return GCACHE_OK;
}

gcache_status
gcache_statistics_show(gcache *cache, gcache_journal_query const *query, gcache_statistics_form form, char **out_text,
                       gcache_error *error)
{
    static void (*const writers[])(shown const *, gci_buf *) = { write_text, write_json, write_prometheus };
    shown all = { 0 };
    gci_store *store = NULL;
    gci_buf out;

    GCI_REQUIRE(cache != NULL && out_text != NULL, error, "cache or out_text is NULL");
    GCI_REQUIRE(form <= GCACHE_STATISTICS_PROMETHEUS, error, "unknown form %d", (int)form);
    *out_text = NULL;
    gcache_status status = gci_statistics_collect(cache, query, false, &all.statistics, error);
    if (status == GCACHE_OK)
        status = gci_look_begin(cache, &store, error);
    if (status == GCACHE_OK && store != NULL)
        status = ask_store(store, &all, error);
    gci_look_end(cache, store);
    if (status == GCACHE_OK) {
        gci_groups_sort(&all.statistics.labels);
        gci_groups_sort(&all.statistics.spaces);
        gci_buf_init(&out, GCI_BUF_NO_LIMIT);
        writers[form](&all, &out);
        *out_text = gci_buf_take_text(&out);
        status = *out_text != NULL ? GCACHE_OK : gci_fail_memory(error);
    }
    gci_statistics_clear(&all.statistics);
    return status;
}
