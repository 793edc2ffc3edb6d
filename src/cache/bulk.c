/*
 * A queue of modules and a pool of threads that empty it.
 *
 * Invariants:
 *  1. A module belongs to the thread that drew its number from `next`, until its `done` is set.
 *  2. Sums and progress are only touched under `mutex`, so that what progress sees fits together.
 *  3. `stopped` only ever becomes true; what was begun is brought to its end.
 */
#include <guardcache/bulk.h>

#include "base/check.h"
#include "base/clock.h"
#include "cache/words.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct pool {
    gcache *cache;
    gcache_module *modules;
    size_t count;
    gcache_many_options options;
    gcache_compile_options each;
    gcache_compile_fn compile;
    atomic_size_t next;
    atomic_bool stopped;
    pthread_mutex_t mutex;
    gcache_many_summary sums;
} pool;

/* ---- one module ---- */

static void
run_module(pool const *p, gcache_module *module)
{
    static gcache_request const defaults = GCACHE_REQUEST_INIT;
    gcache_request request = p->each.request != NULL ? *p->each.request : defaults;
    gcache_compile_options options = p->each;

    if (module->bypass != NULL) {
        request.bypass = module->bypass;
        options.request = &request;
    }
    module->status = gcache_get_or_compile_with(p->cache, module->graph, module->hints, &options, p->compile,
                                                module->state, &module->result, &module->error);
    module->done = true;
}

static void
add(gcache_many_summary *sums, gcache_module const *module)
{
    if (module->status == GCACHE_HIT) {
        sums->hits++;
        sums->saved_ns += module->result.compile_ns;
    } else if (module->status == GCACHE_MISS) {
        sums->compiled++;
        sums->compile_ns += module->result.compile_ns;
        sums->stored += module->result.note[0] == '\0';
    } else {
        sums->failed++;
    }
}

static void
report(pool *p, gcache_module const *module)
{
    pthread_mutex_lock(&p->mutex);
    add(&p->sums, module);
    if (p->options.progress != NULL && !p->options.progress(p->options.progress_state, &p->sums))
        p->stopped = true;
    pthread_mutex_unlock(&p->mutex);
}

/* ---- the pool ---- */

static void *
work(void *state)
{
    pool *p = state;

    for (size_t i; !p->stopped && (i = atomic_fetch_add(&p->next, 1)) < p->count;) {
        run_module(p, &p->modules[i]);
        report(p, &p->modules[i]);
    }
    return NULL;
}

static size_t
count_workers(gcache_many_options const *options, size_t modules)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t workers = options->workers != 0 ? options->workers : processors > 0 ? (size_t)processors : 1;

    if (workers > GCACHE_MANY_WORKERS_MAX)
        workers = GCACHE_MANY_WORKERS_MAX;
    return workers < modules ? workers : modules;
}

/* Threads that can't be had are missing, no more: the calling thread alone gets through the queue as well. */
static void
run_pool(pool *p)
{
    size_t workers = count_workers(&p->options, p->count), started = 0;
    pthread_t *threads = workers > 1 ? calloc(workers - 1, sizeof *threads) : NULL;

    while (threads != NULL && started < workers - 1 && pthread_create(&threads[started], NULL, work, p) == 0)
        started++;
    work(p);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
}

/* ---- the call ---- */

static gcache_status
check_arguments(gcache const *cache, gcache_module const *modules, size_t count, gcache_many_options const *options,
                gcache_compile_fn compile, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE(compile != NULL, error, "there is no compile callback");
    GCI_REQUIRE(modules != NULL || count == 0, error, "modules is NULL");
    GCI_REQUIRE(options->version == GCACHE_MANY_OPTIONS_VERSION, error,
                "the options have version %d, this library knows %d", options->version, GCACHE_MANY_OPTIONS_VERSION);
    for (size_t i = 0; i < count; i++)
        GCI_REQUIRE(modules[i].graph != NULL, error, "module %zu has no graph", i);
    return GCACHE_OK;
}

static gcache_status
first_failure(gcache_module const *modules, size_t count, gcache_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (!modules[i].done || modules[i].status >= 0)
            continue;
        if (error != NULL)
            *error = modules[i].error;
        return modules[i].status;
    }
    return GCACHE_OK;
}

static void
clear_outcomes(gcache_module *modules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        modules[i].done = false;
        modules[i].status = GCACHE_MISS;
        modules[i].result = (gcache_result){ .outcome = GCACHE_MISS, .variant = "", .note = "" };
        modules[i].error = (gcache_error){ .status = GCACHE_OK };
    }
}

gcache_status
gcache_compile_many(gcache *cache, gcache_module *modules, size_t count, gcache_many_options const *options,
                    gcache_compile_fn compile, gcache_many_summary *out_summary, gcache_error *error)
{
    static gcache_many_options const defaults = GCACHE_MANY_OPTIONS_INIT;
    static gcache_compile_options const each_default = GCACHE_COMPILE_OPTIONS_INIT;
    uint64_t start = gci_clock_steady_ns();

    if (options == NULL)
        options = &defaults;
    gcache_status status = check_arguments(cache, modules, count, options, compile, error);
    if (status != GCACHE_OK)
        return status;
    pool p = { .cache = cache, .modules = modules, .count = count, .options = *options, .compile = compile,
               .each = options->each != NULL ? *options->each : each_default, .sums = { .modules = count } };
    if (pthread_mutex_init(&p.mutex, NULL) != 0)
        return gci_fail_memory(error);
    clear_outcomes(modules, count);
    run_pool(&p);
    pthread_mutex_destroy(&p.mutex);
    p.sums.cancelled = count - p.sums.hits - p.sums.compiled - p.sums.failed;
    p.sums.elapsed_ns = gci_clock_steady_ns() - start;
    if (out_summary != NULL)
        *out_summary = p.sums;
    return first_failure(modules, count, error);
}

/* ---- the final line ---- */

static void
write_line(gci_buf *line, gcache_many_summary const *s)
{
    gci_write_count(line, s->modules);
    gci_buf_append_text(line, s->modules == 1 ? " module, " : " modules, ");
    gci_write_count(line, s->hits);
    gci_buf_format(line, " %s (%.1f %%), compiled in ", s->hits == 1 ? "hit" : "hits",
                   s->modules != 0 ? 100.0 * (double)s->hits / (double)s->modules : 0.0);
    gci_write_duration(line, s->compile_ns);
    gci_buf_append_text(line, ", saved ");
    gci_write_duration(line, s->saved_ns);
    if (s->failed != 0)
        gci_buf_format(line, ", %zu failed", s->failed);
    if (s->cancelled != 0)
        gci_buf_format(line, ", %zu not begun", s->cancelled);
}

void
gcache_many_line(gcache_many_summary const *summary, char *out_line, size_t size)
{
    gci_buf line;

    gci_buf_init(&line, GCI_BUF_NO_LIMIT);
    write_line(&line, summary);
    gci_copy_line(&line, out_line, size);
    gci_buf_clear(&line);
}
