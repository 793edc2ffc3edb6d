/*
 * Best configurations of kernels: one record a kernel, used only where it says exactly what to do.
 */
#include "base/check.h"
#include "base/system/clock.h"
#include "base/utf8.h"
#include "cache/handle/cache.h"
#include "cache/tuning/best.h"
#include "cache/tuning/tier_rows.h"
#include "store/index/tables.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- verdicts ---- */

char const *
gcache_best_verdict_name(gcache_best_verdict verdict)
{
    static char const *const words[] = {
#define X(name, word, text) word,
        GCACHE_BEST_MAP(X)
#undef X
    };
    return (size_t)verdict < sizeof words / sizeof *words ? words[verdict] : "?";
}

char const *
gcache_best_verdict_text(gcache_best_verdict verdict)
{
    static char const *const texts[] = {
#define X(name, word, text) text,
        GCACHE_BEST_MAP(X)
#undef X
    };
    return (size_t)verdict < sizeof texts / sizeof *texts ? texts[verdict] : "?";
}

/* ---- putting ---- */

gcache_status
gci_check_kernel(gcache const *cache, gcache_kernel const *kernel, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE(kernel != NULL, error, "kernel is NULL");
    GCI_REQUIRE_INIT(kernel, error);
    GCI_REQUIRE(kernel->source_hash != NULL && kernel->source_hash[0] != '\0', error, "the kernel has no source hash");
    gcache_pair const texts[] = { { "the source hash", kernel->source_hash },
                                  { "the tag", kernel->tag },
                                  { "the toolchain", kernel->toolchain } };
    return gci_check_utf8(texts, sizeof texts / sizeof *texts, error);
}

static gcache_status
check_config(gcache_config const *config, gcache_error *error)
{
    GCI_REQUIRE(config->parameters != NULL || config->count == 0, error, "the parameters are NULL");
    for (size_t i = 0; i < config->count; i++) {
        char const *name = config->parameters[i].name;
        GCI_REQUIRE(name != NULL && config->parameters[i].value != NULL, error, "parameter %zu has no name or no value", i);
        gcache_pair const texts[] = { { "a parameter's name", name }, { name, config->parameters[i].value } };
        gcache_status status = gci_check_utf8(texts, 2, error);
        if (status != GCACHE_OK)
            return status;
        for (size_t j = 0; j < i; j++)
            GCI_REQUIRE(strcmp(config->parameters[j].name, name) != 0, error, "parameter %s is given twice", name);
    }
    return GCACHE_OK;
}

static gcache_status
check_record(gcache_best const *best, gcache_error *error)
{
    gcache_pair const hashes[] = { { "configs_hash", best->configs_hash }, { "kernel_hash", best->kernel_hash } };
    gcache_status status = gci_check_utf8(hashes, 2, error);

    return status == GCACHE_OK ? check_config(&best->config, error) : status;
}

static gcache_status
put_record(gcache *cache, gcache_kernel const *kernel, gcache_best const *best, gci_view name, gci_view record,
           gcache_error *error)
{
    gci_row row = { .table = gci_view_text(GCI_TABLE_BEST), .namespace_ = cache->namespace_, .name = name, .value = record };
    gcache_status status = gci_tables_put(cache->store, &row, 1, error);

    if (status == GCACHE_OK) {
        gci_bundle_collect(cache->bundle, name, record, gci_clock_wall_ns());
        gci_recorder_note(&cache->recorder, GCI_USED_ROW, row.table, name, true);
        gci_tier_rows which = { GCI_TABLE_BEST, name, kernel->backend, best->configs_hash };
        gci_tier_rows_put(cache, &which, &row, 1);
    }
    return status;
}

gcache_status
gcache_best_put(gcache *cache, gcache_kernel const *kernel, gcache_best const *best, gcache_error *error)
{
    gci_buf name, record;

    gcache_status status = gci_check_kernel(cache, kernel, error);
    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(best != NULL, error, "best is NULL");
    GCI_REQUIRE_INIT(best, error);
    status = check_record(best, error);
    if (status == GCACHE_OK)
        status = gci_pass(&cache->gate, NULL, GCI_STORE, error);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&name, GCI_RECORD_BYTES_MAX);
    gci_buf_init(&record, GCI_RECORD_BYTES_MAX);
    gci_write_kernel(&name, kernel);
    gci_write_best(&record, best);
    status = name.failed || record.failed ? gci_fail_memory(error)
                                          : put_record(cache, kernel, best, gci_buf_view(&name), gci_buf_view(&record), error);
    gci_buf_clear(&name);
    gci_buf_clear(&record);
    return status;
}

/* ---- finding ---- */

/* What a found record's texts live in. */
typedef struct owner {
    gci_arena arena;
    gci_view value; /* the row's */
    uint64_t at_ns;
} owner;

static int
keep_value(void *state, gci_row const *row)
{
    owner *o = state;

    o->value = gci_arena_copy(&o->arena, row->value);
    o->at_ns = row->at_ns;
    return 1;
}

/* The first of the offered configuration's parameters that is another one in the record; its count if there is none. */
static size_t
first_difference(gcache_config const *offered, gcache_config const *record)
{
    size_t i = 0;

    for (; i < offered->count; i++) {
        char const *value = gci_pairs_value(record->parameters, record->count, gci_view_text(offered->parameters[i].name));
        if (value == NULL || strcmp(value, offered->parameters[i].value) != 0)
            break;
    }
    return i;
}

static gcache_best_verdict
match(gcache_config const *offered, size_t count, gcache_best_found *found)
{
    for (size_t i = 0; i < count; i++) {
        if (first_difference(&offered[i], &found->record.config) < offered[i].count)
            continue;
        if (found->matches++ == 0)
            found->index = i;
    }
    return found->matches == 1   ? GCACHE_BEST_USED
           : found->matches == 0 ? GCACHE_BEST_NO_MATCH
                                 : GCACHE_BEST_SEVERAL_MATCH;
}

static gcache_best_verdict
judge(gcache_config const *offered, size_t count, char const *configs_hash, bool allow_descent, gcache_best_found *found)
{
    if (strcmp(found->record.configs_hash, configs_hash) != 0)
        return GCACHE_BEST_CONFIGS_HASH;
    if (allow_descent && found->record.by_descent)
        return GCACHE_BEST_DESCENT;
    return match(offered, count, found);
}

static gcache_best_verdict
read_and_judge(owner *o, gcache_config const *offered, size_t count, char const *configs_hash, bool allow_descent,
               gcache_best_found *found)
{
    found->matches = 0;
    found->index = SIZE_MAX;
    if (!gci_read_best(o->value, &o->arena, &found->record))
        return GCACHE_BEST_UNREADABLE;
    return judge(offered, count, configs_hash, allow_descent, found);
}

/* Both sides of the comparison that decided. */
static void
write_why(gcache_best_found const *found, gcache_config const *offered, size_t count, char const *configs_hash, gci_buf *out)
{
    gcache_config const *record = &found->record.config;

    gci_buf_append_text(out, gcache_best_verdict_text(found->verdict));
    if (found->verdict == GCACHE_BEST_CONFIGS_HASH)
        gci_buf_format(out, ": stored %s, asked %s", found->record.configs_hash, configs_hash);
    if (found->verdict == GCACHE_BEST_SEVERAL_MATCH)
        gci_buf_format(out, ": %zu of %zu", found->matches, count);
    if (found->verdict != GCACHE_BEST_NO_MATCH)
        return;
    for (size_t i = 0; i < count; i++) {
        size_t at = first_difference(&offered[i], record);
        gcache_pair const *pair = &offered[i].parameters[at];
        char const *stored = gci_pairs_value(record->parameters, record->count, gci_view_text(pair->name));
        gci_buf_format(out, "%s #%zu %s stored %s, asked %s", i == 0 ? ":" : ";", i + 1, pair->name,
                       stored != NULL ? stored : "nothing", pair->value);
    }
}

static gcache_status
explain(gcache_best_found *found, gcache_config const *offered, size_t count, char const *configs_hash, gci_arena *arena,
        gcache_error *error)
{
    gci_buf why;

    gci_buf_init(&why, GCI_BUF_NO_LIMIT);
    if (found->verdict > GCACHE_BEST_DESCENT)
        write_why(found, offered, count, configs_hash, &why);
    gci_view copy = why.failed ? (gci_view){ NULL, 0 } : gci_arena_copy(arena, gci_buf_view(&why));
    gci_buf_clear(&why);
    found->why = copy.data;
    if (copy.data == NULL)
        return gci_fail_memory(error);
    return found->verdict <= GCACHE_BEST_DESCENT ? GCACHE_HIT : GCACHE_MISS;
}

/* The record's bytes into o->value; its data stays NULL where there is none. Trouble is the same, unless strict. */
static gcache_status
read_row(gcache *cache, gci_view name, owner *o, gcache_error *error)
{
    gci_row_filter filter = { gci_view_text(GCI_TABLE_BEST), cache->namespace_, name, gci_view_of("", 0) };

    gcache_status status = gci_tables_each(cache->store, &filter, keep_value, o, cache->strict ? error : NULL);
    if (o->arena.failed)
        return gci_fail_memory(error);
    return cache->strict ? status : GCACHE_OK;
}

static gcache_status
look_up(gcache *cache, gcache_kernel const *kernel, owner *o, gcache_error *error)
{
    gci_buf name;

    gci_buf_init(&name, GCI_RECORD_BYTES_MAX);
    gci_write_kernel(&name, kernel);
    gcache_status status = name.failed ? gci_fail_memory(error) : read_row(cache, gci_buf_view(&name), o, error);
    if (status == GCACHE_OK && o->value.data != NULL) {
        gci_bundle_collect(cache->bundle, gci_buf_view(&name), o->value, o->at_ns);
        gci_recorder_note(&cache->recorder, GCI_USED_ROW, gci_view_text(GCI_TABLE_BEST), gci_buf_view(&name), false);
    }
    gci_buf_clear(&name);
    return status;
}

/* Whether a tier has the record for these configurations: then *o is that. It is kept here for the next time. */
static bool
look_further(gcache *cache, gcache_kernel const *kernel, char const *configs_hash, owner *o)
{
    gci_row *rows;
    size_t count;
    gci_buf name;

    gci_buf_init(&name, GCI_RECORD_BYTES_MAX);
    gci_write_kernel(&name, kernel);
    gci_tier_rows which = { GCI_TABLE_BEST, gci_buf_view(&name), kernel->backend, configs_hash };
    bool found = !name.failed && gci_tier_rows_get(cache, &which, &o->arena, &rows, &count) && count == 1;
    if (found) {
        o->value = rows[0].value;
        o->at_ns = rows[0].at_ns;
        if (gci_is_open(&cache->gate, GCI_STORE))
            gci_tables_put(cache->store, rows, 1, NULL);
        gci_bundle_collect(cache->bundle, gci_buf_view(&name), o->value, o->at_ns);
    }
    gci_buf_clear(&name);
    return found;
}

static gcache_status
check_offer(gcache_config const *offered, size_t count, char const *configs_hash, gcache_error *error)
{
    GCI_REQUIRE(offered != NULL || count == 0, error, "the offered configurations are NULL");
    GCI_REQUIRE(configs_hash != NULL, error, "configs_hash is NULL");
    GCI_REQUIRE(gci_utf8_valid(gci_view_text(configs_hash)), error, "configs_hash isn't UTF-8");
    for (size_t i = 0; i < count; i++) {
        gcache_status status = check_config(&offered[i], error);
        if (status != GCACHE_OK)
            return status;
    }
    return GCACHE_OK;
}

gcache_status
gcache_best_find(gcache *cache, gcache_kernel const *kernel, gcache_config const *offered, size_t count,
                 char const *configs_hash, bool allow_descent, gcache_best_found *out_found, gcache_error *error)
{
    GCI_REQUIRE(out_found != NULL, error, "out_found is NULL");
    GCI_REQUIRE_INIT(out_found, error);
    *out_found = (gcache_best_found){ .size = sizeof(gcache_best_found), .verdict = GCACHE_BEST_NO_RECORD, .index = SIZE_MAX };
    gcache_status status = gci_check_kernel(cache, kernel, error);
    if (status == GCACHE_OK)
        status = check_offer(offered, count, configs_hash, error);
    if (status != GCACHE_OK)
        return status;
    owner *o = calloc(1, sizeof *o);
    if (o == NULL)
        return gci_fail_memory(error);
    gci_arena_init(&o->arena, 8 * GCI_RECORD_BYTES_MAX);
    out_found->owner = o;
    if (gci_is_open(&cache->gate, GCI_LOOK_UP))
        status = look_up(cache, kernel, o, error);
    if (status != GCACHE_OK)
        return status;
    if (o->value.data != NULL)
        out_found->verdict = read_and_judge(o, offered, count, configs_hash, allow_descent, out_found);
    bool unknown = out_found->verdict == GCACHE_BEST_NO_RECORD || out_found->verdict == GCACHE_BEST_CONFIGS_HASH;
    if (unknown && gci_is_open(&cache->gate, GCI_LOOK_UP) && look_further(cache, kernel, configs_hash, o))
        out_found->verdict = read_and_judge(o, offered, count, configs_hash, allow_descent, out_found);
    return explain(out_found, offered, count, configs_hash, &o->arena, error);
}

void
gcache_best_found_clear(gcache_best_found *found)
{
    if (found == NULL || found->owner == NULL)
        return;
    owner *o = found->owner;
    gci_arena_clear(&o->arena);
    free(o);
    *found = (gcache_best_found){ .size = sizeof(gcache_best_found), .verdict = GCACHE_BEST_NO_RECORD, .index = SIZE_MAX };
}

/* ---- looking around ---- */

typedef struct best_visit {
    gcache_best_fn fn;
    void *state;
} best_visit;

static int
visit_best(void *state, gci_row const *row)
{
    best_visit const *v = state;
    gcache_kernel kernel;
    gcache_best best;
    int ended = 0;
    gci_arena arena;

    gci_arena_init(&arena, 8 * GCI_RECORD_BYTES_MAX);
    if (gci_read_kernel(row->name, &arena, &kernel) && gci_read_best(row->value, &arena, &best))
        ended = v->fn(v->state, &kernel, &best, row->at_ns);
    gci_arena_clear(&arena);
    return ended;
}

gcache_status
gcache_best_each(gcache *cache, gcache_best_fn fn, void *state, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL && fn != NULL, error, "cache or fn is NULL");
    if (!gci_is_open(&cache->gate, GCI_BROWSE))
        return GCACHE_OK;
    gci_row_filter filter = { gci_view_text(GCI_TABLE_BEST), cache->namespace_, { NULL, 0 }, { NULL, 0 } };
    return gci_tables_each(cache->store, &filter, visit_best, &(best_visit){ fn, state }, error);
}
