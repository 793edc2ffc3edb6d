/*
 * A queue of modules and a pool of threads that empty it; what they compiled is stored in batches by one thread more.
 *
 * A worker doesn't wait for the disk: it leaves what it compiled to the writer and takes the next module. While the writer
 * commits one batch, the next one gathers; so the batches are as large as the disk is slow.
 *
 * Invariants:
 *  1. A module belongs to the thread that drew its number from `next`, then to the writer if it was left to it, until its
 *     `done` is set.
 *  2. Sums, progress and what gathers are only touched under `mutex`, so that what progress sees fits together.
 *  3. `stopped` only ever becomes true; what was begun is brought to its end.
 *  4. The writer never waits for a lease, so that whoever waits for one that lies with it gets on.
 */
#include <guardcache/bulk.h>

#include "base/check.h"
#include "base/system/clock.h"
#include "cache/compile/single_flight.h"
#include "cache/handle/words.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

/* Workers wait while so much has gathered: results are held in memory until they are stored. */
#define GATHERED_MAX 256
#define GATHERED_BYTES_MAX ((size_t)64 << 20)

/* How often keep_waiting is asked: a person who wants it to end doesn't notice. */
#define ASK_NS UINT64_C(50000000)

/* A module that was compiled and is to be stored. */
typedef struct unstored {
    gcache_compile compile;
    gcache_request request; /* where the module needs one of its own */
    gcache_module *module;
    struct unstored *next;
} unstored;

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
    pthread_cond_t arrived, taken; /* something for the writer; room for the workers */
    pthread_cond_t left;           /* a thread has no more to do */
    size_t working;                /* threads that have, the calling one apart */
    unstored *gathered;
    size_t gathered_count, gathered_bytes;
    pthread_t writer;
    bool has_writer, no_more;
} pool;

/* ---- sums ---- */

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
end_module(pool *p, gcache_module *module, gcache_status status)
{
    pthread_mutex_lock(&p->mutex);
    module->status = status;
    module->done = true;
    add(&p->sums, module);
    if (p->options.progress != NULL && !p->options.progress(p->options.progress_state, &p->sums))
        p->stopped = true;
    pthread_mutex_unlock(&p->mutex);
}

/* ---- storing ---- */

static void
store_batch(pool *p, unstored *batch, size_t count)
{
    gci_insert *inserts[GATHERED_MAX] = { NULL };
    size_t i = 0;

    GCI_ASSERT(count <= GATHERED_MAX);
    for (unstored *u = batch; u != NULL; u = u->next)
        inserts[i++] = &u->compile.insert;
    gci_insert_commit(inserts, count);
    for (unstored *u = batch, *next; u != NULL; u = next) {
        next = u->next;
        end_module(p, u->module, gci_compile_end(&u->compile));
        free(u);
    }
}

static void *
write_batches(void *state)
{
    pool *p = state;

    for (;;) {
        pthread_mutex_lock(&p->mutex);
        while (p->gathered == NULL && !p->no_more)
            pthread_cond_wait(&p->arrived, &p->mutex);
        unstored *batch = p->gathered;
        size_t count = p->gathered_count;
        p->gathered = NULL;
        p->gathered_count = p->gathered_bytes = 0;
        pthread_cond_broadcast(&p->taken);
        pthread_mutex_unlock(&p->mutex);
        if (batch == NULL)
            return NULL;
        store_batch(p, batch, count);
    }
}

/* Leaves it to the writer. false: there is none to be had. */
static bool
leave_to_writer(pool *p, unstored *u)
{
    pthread_mutex_lock(&p->mutex);
    if (!p->has_writer)
        p->has_writer = pthread_create(&p->writer, NULL, write_batches, p) == 0;
    bool left = p->has_writer;
    if (left) {
        while (p->gathered_count >= GATHERED_MAX || p->gathered_bytes > GATHERED_BYTES_MAX)
            pthread_cond_wait(&p->taken, &p->mutex);
        gci_compile_hand_over(&u->compile);
        u->next = p->gathered;
        p->gathered = u;
        p->gathered_count++;
        p->gathered_bytes += u->compile.insert.entry->payload_size;
        pthread_cond_signal(&p->arrived);
    }
    pthread_mutex_unlock(&p->mutex);
    return left;
}

static void
end_writer(pool *p)
{
    pthread_mutex_lock(&p->mutex);
    p->no_more = true;
    pthread_cond_signal(&p->arrived);
    pthread_mutex_unlock(&p->mutex);
    if (p->has_writer)
        pthread_join(p->writer, NULL);
}

/* ---- one module ---- */

static void
begin(pool const *p, gcache_module *module, unstored *u)
{
    static gcache_request const defaults = GCACHE_REQUEST_INIT;

    u->module = module;
    u->compile = (gcache_compile){ .cache = p->cache, .graph = module->graph, .hints = module->hints, .options = p->each,
                                .state = module->state, .result = &module->result, .error = &module->error };
    if (module->bypass == NULL)
        return;
    u->request = p->each.request != NULL ? *p->each.request : defaults;
    u->request.bypass = module->bypass;
    u->compile.options.request = &u->request;
}

static void
run_module(pool *p, gcache_module *module)
{
    unstored *u = calloc(1, sizeof *u);

    if (u == NULL) {
        end_module(p, module, gci_fail_memory(&module->error));
        return;
    }
    begin(p, module, u);
    gcache_status status = gci_compile_call(&u->compile, p->compile);
    if (status == GCACHE_OK && !gci_compile_is_to_commit(&u->compile))
        status = gci_compile_end(&u->compile);
    if (status != GCACHE_OK) {
        end_module(p, module, status);
        free(u);
    } else if (!gci_store_waits_for_disk(p->cache->store) || !leave_to_writer(p, u)) {
        store_batch(p, u, 1);
    }
}

/* ---- the pool ---- */

static void
work(pool *p)
{
    for (size_t i; !p->stopped && (i = atomic_fetch_add(&p->next, 1)) < p->count;)
        run_module(p, &p->modules[i]);
}

static void *
work_beside(void *state)
{
    pool *p = state;

    work(p);
    pthread_mutex_lock(&p->mutex);
    p->working--;
    pthread_cond_signal(&p->left);
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

static bool
start(pool *p, pthread_t *out_thread)
{
    pthread_mutex_lock(&p->mutex);
    bool started = pthread_create(out_thread, NULL, work_beside, p) == 0;
    p->working += started;
    pthread_mutex_unlock(&p->mutex);
    return started;
}

/* The mutex isn't held while the caller is asked: workers get on meanwhile. */
static void
wait_for_others(pool *p)
{
    pthread_mutex_lock(&p->mutex);
    while (p->working > 0) {
        struct timespec deadline = gci_clock_deadline(ASK_NS);
        if (pthread_cond_timedwait(&p->left, &p->mutex, &deadline) == 0 || p->options.keep_waiting == NULL)
            continue;
        pthread_mutex_unlock(&p->mutex);
        if (!p->options.keep_waiting(p->options.progress_state))
            p->stopped = true;
        pthread_mutex_lock(&p->mutex);
    }
    pthread_mutex_unlock(&p->mutex);
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

    while (threads != NULL && started < workers - 1 && start(p, &threads[started]))
        started++;
    work(p);
    wait_for_others(p);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    end_writer(p);
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
    GCI_REQUIRE_INIT(options, error);
    for (size_t i = 0; i < count; i++) {
        gcache_module const *module = &modules[i];
        GCI_REQUIRE_INIT(module, error);
        GCI_REQUIRE(module->graph != NULL, error, "module %zu has no graph", i);
    }
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
        modules[i].result = (gcache_result){ .size = sizeof(gcache_result), .outcome = GCACHE_MISS, .variant = "", .note = "" };
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
    GCI_REQUIRE_INIT(out_summary, error);
    gcache_status status = check_arguments(cache, modules, count, options, compile, error);
    if (status != GCACHE_OK)
        return status;
    pool p = { .cache = cache, .modules = modules, .count = count, .options = *options, .compile = compile,
               .each = options->each != NULL ? *options->each : each_default,
               .sums = { .size = sizeof(gcache_many_summary), .modules = count } };
    pthread_mutex_init(&p.mutex, NULL);
    pthread_cond_init(&p.arrived, NULL);
    pthread_cond_init(&p.taken, NULL);
    pthread_cond_init(&p.left, NULL);
    clear_outcomes(modules, count);
    run_pool(&p);
    pthread_cond_destroy(&p.left);
    pthread_cond_destroy(&p.taken);
    pthread_cond_destroy(&p.arrived);
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
    gci_phrase(line, s->modules == 1 ? "{} module, {} {}" : "{} modules, {} {}", GCI_AS_COUNT(s->modules),
               GCI_AS_COUNT(s->hits), GCI_AS_TEXT(s->hits == 1 ? "hit" : "hits"));
    gci_buf_format(line, " (%.1f %%)", s->modules != 0 ? 100.0 * (double)s->hits / (double)s->modules : 0.0);
    gci_phrase(line, ", compiled in {}, saved {}", GCI_AS_DURATION(s->compile_ns), GCI_AS_DURATION(s->saved_ns));
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
