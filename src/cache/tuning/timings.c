/*
 * Timings of choices. All of a site's timings come from one run of the benchmark, or they can't be compared; hence all or
 * none. Who measures holds a lease, so that of all who ask one does.
 */
#include "base/check.h"
#include "base/utf8.h"
#include "cache/handle/awaited.h"
#include "cache/handle/cache.h"
#include "cache/tuning/tuning_rows.h"
#include "store/index/tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A site's texts and a few hundred choices. */
#define ROWS_BYTES_MAX ((size_t)64 << 20)
/* The longest benchmark of a site, many times over. */
#define LEASE_TIMEOUT_NS (UINT64_C(600) * 1000000000)

typedef struct query {
    gcache *cache;
    char const *const *choices;
    size_t count;
    gci_buf name; /* the site's */
    gcache_timings *timings;
    char const *unknown; /* the first choice without a timing */
} query;

static gcache_status
check_arguments(gcache const *cache, gcache_site const *site, char const *const *choices, size_t count, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE(site != NULL, error, "site is NULL");
    GCI_REQUIRE_INIT(site, error);
    GCI_REQUIRE(choices != NULL || count == 0, error, "choices is NULL");
    for (size_t i = 0; i < count; i++) {
        GCI_REQUIRE(choices[i] != NULL, error, "choice %zu is NULL", i);
        GCI_REQUIRE(gci_utf8_valid(gci_view_text(choices[i])), error, "choice %zu isn't UTF-8", i);
    }
    return gci_check_site(site, error);
}

/* ---- looking ---- */

static int
take_row(void *state, gci_row const *row)
{
    query *q = state;
    double timing;

    for (size_t i = 0; i < q->count; i++) {
        if (gci_view_is(row->item, q->choices[i]) && gci_read_timing(row->value, &timing))
            q->timings->timings[i] = timing;
    }
    return 0;
}

static void
explain_unknown(query *q)
{
    size_t unknown = q->count - q->timings->known;

    snprintf(q->timings->why, sizeof q->timings->why, "%zu of %zu choices %s unknown: %.160s%s", unknown, q->count,
             unknown == 1 ? "is" : "are", q->unknown, unknown == 1 ? "" : ", ...");
}

static void
forget(query *q)
{
    q->unknown = NULL;
    q->timings->known = 0;
    q->timings->why[0] = '\0';
    for (size_t i = 0; i < q->count; i++)
        q->timings->timings[i] = (double)NAN;
}

/* GCACHE_HIT, GCACHE_MISS with the reason in words, or an error. */
static gcache_status
look(query *q, gcache_error *error)
{
    gci_row_filter filter = { gci_view_text(GCI_TABLE_TIMING), q->cache->namespace_, gci_buf_view(&q->name), { NULL, 0 } };

    forget(q);
    gcache_status status = gci_tables_each(q->cache->store, &filter, take_row, q, error);
    for (size_t i = 0; i < q->count; i++) {
        bool known = !isnan(q->timings->timings[i]);
        q->timings->known += known;
        if (!known && q->unknown == NULL)
            q->unknown = q->choices[i];
    }
    if (status != GCACHE_OK)
        return status;
    if (q->unknown == NULL) {
        gci_recorder_note(&q->cache->recorder, GCI_USED_ROW, gci_view_text(GCI_TABLE_TIMING), gci_buf_view(&q->name), false);
        return GCACHE_HIT;
    }
    explain_unknown(q);
    return GCACHE_MISS;
}

/* Trouble with the table is a miss, unless the caller wants to know. */
static gcache_status
look_mildly(query *q, gcache_error *error)
{
    gcache_error trouble = { 0 };
    gcache_status status = look(q, &trouble);

    if (status >= 0)
        return status;
    snprintf(q->timings->why, sizeof q->timings->why, "%.255s", trouble.message);
    return gci_trouble(q->cache, &trouble, error);
}

/* ---- storing ---- */

static gcache_status
put(gcache *cache, gci_view name, char const *const *choices, double const *timings, size_t count, gcache_error *error)
{
    gci_row *rows = calloc(count + 1, sizeof *rows);
    gci_buf values;

    gci_buf_init(&values, ROWS_BYTES_MAX);
    for (size_t i = 0; i < count; i++)
        gci_write_timing(&values, timings[i]);
    gcache_status status = rows == NULL || values.failed ? gci_fail_memory(error) : GCACHE_OK;
    for (size_t i = 0; status == GCACHE_OK && i < count; i++)
        rows[i] = (gci_row){ .table = gci_view_text(GCI_TABLE_TIMING), .namespace_ = cache->namespace_, .name = name,
                             .item = gci_view_text(choices[i]),
                             .value = gci_view_of(values.data + i * sizeof(double), sizeof(double)) };
    if (status == GCACHE_OK)
        status = gci_tables_put(cache->store, rows, count, error);
    if (status == GCACHE_OK)
        gci_recorder_note(&cache->recorder, GCI_USED_ROW, gci_view_text(GCI_TABLE_TIMING), name, true);
    gci_buf_clear(&values);
    free(rows);
    return status;
}

gcache_status
gcache_timings_put(gcache *cache, gcache_site const *site, char const *const *choices, double const *timings, size_t count,
                   gcache_error *error)
{
    gci_buf name;

    gcache_status status = check_arguments(cache, site, choices, count, error);
    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(timings != NULL || count == 0, error, "timings is NULL");
    for (size_t i = 0; i < count; i++)
        GCI_REQUIRE(!isnan(timings[i]), error, "the timing of %s is not a number", choices[i]);
    status = gci_pass(&cache->gate, NULL, GCI_STORE, error);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&name, ROWS_BYTES_MAX);
    gci_write_site(&name, site);
    status = name.failed ? gci_fail_memory(error)
                         : put(cache, gci_buf_view(&name), choices, timings, count, error);
    gci_buf_clear(&name);
    return status;
}

/* ---- measuring ---- */

static gcache_status
measure(query *q, gcache_benchmark_fn benchmark, void *state, gcache_error *error)
{
    gcache_timings *timings = q->timings;
    gcache_error unused = { 0 }, trouble = { 0 };

    error = error != NULL ? error : &unused;
    gcache_status status = benchmark(state, q->choices, q->count, timings->timings, error);
    if (status != GCACHE_OK)
        return status < 0 ? status : gci_fail(error, GCACHE_ERROR_ARGUMENT, "the benchmark returned %d", status);
    for (size_t i = 0; i < q->count; i++)
        GCI_REQUIRE(!isnan(timings->timings[i]), error, "the benchmark left out %s", q->choices[i]);
    timings->measured = true;
    if (!gci_is_open(&q->cache->gate, GCI_STORE))
        return GCACHE_MISS;
    status = put(q->cache, gci_buf_view(&q->name), q->choices, timings->timings, q->count, &trouble);
    return status == GCACHE_OK ? GCACHE_MISS : gci_trouble(q->cache, &trouble, error);
}

/* Measures, unless somebody else did while this one waited for its turn. */
static gcache_status
measure_in_turn(query *q, gcache_benchmark_fn benchmark, void *state, gcache_error *error)
{
    gci_lease *lease = NULL;
    gci_awaited awaited = { .begun = false };
    bool waited = false;
    gcache_error trouble = { 0 };
    gcache_status status = GCACHE_MISS;
    uint64_t most_ns = gci_awaited_here() ? 0 : LEASE_TIMEOUT_NS;

    if (gci_is_open(&q->cache->gate, GCI_LEASE))
        status = gci_lease_take(q->cache->store, gci_buf_view(&q->name), most_ns, &lease, &waited, &trouble);
    if (lease != NULL)
        gci_awaited_begin(&awaited);
    bool look = gci_is_open(&q->cache->gate, GCI_LOOK_UP) || gci_lease_others_stored(lease);
    if (status == GCACHE_OK)
        status = look ? look_mildly(q, error) : GCACHE_MISS;
    else if (status == GCACHE_ERROR_BUSY || status == GCACHE_ERROR_READ_ONLY || status == GCACHE_ERROR_ARGUMENT)
        status = GCACHE_MISS; /* nobody to wait for: it is measured twice at worst */
    else if (status < 0)
        status = gci_trouble(q->cache, &trouble, error);
    if (status == GCACHE_MISS)
        status = measure(q, benchmark, state, error);
    if (q->timings->measured)
        gci_lease_note_stored(lease);
    gci_lease_release(lease);
    gci_awaited_end(&awaited);
    return status;
}

gcache_status
gcache_timings_get(gcache *cache, gcache_site const *site, char const *const *choices, size_t count,
                   gcache_benchmark_fn benchmark, void *state, gcache_timings *timings, gcache_error *error)
{
    gcache_status status = check_arguments(cache, site, choices, count, error);

    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(timings != NULL && (timings->timings != NULL || count == 0), error, "timings is NULL");
    GCI_REQUIRE_INIT(timings, error);
    query q = { .cache = cache, .choices = choices, .count = count, .timings = timings };
    timings->measured = false;
    forget(&q);
    gci_buf_init(&q.name, ROWS_BYTES_MAX);
    gci_write_site(&q.name, site);
    gci_admission admission = gci_admit(&cache->gate, NULL, GCI_LOOK_UP);
    if (q.name.failed) {
        status = gci_fail_memory(error);
    } else if (admission.by == GCI_BY_NOBODY) {
        status = look_mildly(&q, error);
    } else {
        snprintf(timings->why, sizeof timings->why, "%s", admission.why);
        status = GCACHE_MISS;
    }
    if (status == GCACHE_MISS && benchmark != NULL)
        status = measure_in_turn(&q, benchmark, state, error);
    gci_buf_clear(&q.name);
    return status;
}

/* ---- looking around ---- */

typedef struct timing_visit {
    gcache_timing_fn fn;
    void *state;
} timing_visit;

static int
visit_timing(void *state, gci_row const *row)
{
    timing_visit const *v = state;
    gcache_site site;
    double timing;
    int ended = 0;
    gci_arena arena;

    gci_arena_init(&arena, ROWS_BYTES_MAX);
    gci_view choice = gci_arena_copy(&arena, row->item);
    if (choice.data != NULL && gci_read_site(row->name, &arena, &site) && gci_read_timing(row->value, &timing))
        ended = v->fn(v->state, &site, choice.data, timing, row->at_ns);
    gci_arena_clear(&arena);
    return ended;
}

gcache_status
gcache_timings_each(gcache *cache, gcache_timing_fn fn, void *state, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL && fn != NULL, error, "cache or fn is NULL");
    if (!gci_is_open(&cache->gate, GCI_BROWSE))
        return GCACHE_OK;
    gci_row_filter filter = { gci_view_text(GCI_TABLE_TIMING), cache->namespace_, { NULL, 0 }, { NULL, 0 } };
    return gci_tables_each(cache->store, &filter, visit_timing, &(timing_visit){ fn, state }, error);
}
