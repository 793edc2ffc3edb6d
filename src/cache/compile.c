/*
 * gcache_get_or_compile: lookup, lease, lookup again, compile, insert.
 *
 * Invariants:
 *  1. The callback runs at most once a call, and exactly once if the outcome is a miss without an error.
 *  2. The lease is held from before the second lookup until after the insert, so that of all who wait for it one
 *     compiles and the others find what it stored.
 *  3. What was compiled is handed out whether or not it could be stored; result.note says why not.
 */
#include <guardcache/compile.h>

#include "base/check.h"
#include "base/clock.h"
#include "cache/question.h"
#include "cache/result.h"
#include "cache/words.h"

#include <stdio.h>
#include <stdlib.h>

/* A key and a few dozen hints. */
#define LEASE_NAME_BYTES_MAX ((size_t)1 << 20)
#define NOTE_BYTES 256

/* What a result points into that was compiled and not loaded. */
typedef struct product {
    gcache_compiled compiled;
    void *state;
    char note[NOTE_BYTES];
} product;

typedef struct job {
    gcache *cache;
    gcache_graph *graph;
    gcache_hints const *hints;
    gcache_compile_options options;
    gcache_compile_fn compile;
    void *state;
    gcache_result *result;
    gcache_error *error;
} job;

static void
free_product(void *value)
{
    product *p = value;

    if (p->compiled.release != NULL)
        p->compiled.release(p->state, &p->compiled);
    free(p);
}

/* ---- looking up ---- */

/* GCACHE_HIT, GCACHE_MISS with result->reason, or an error. */
static gcache_status
look_up(job *j)
{
    gcache_status status =
        gcache_lookup_with(j->cache, j->graph, j->hints, j->options.request, j->result, j->error);

    if (status != GCACHE_HIT || j->options.post_load == NULL || j->options.post_load(j->state, j->result))
        return status;
    gcache_key key = j->result->key;
    gcache_result_clear(j->result);
    j->result->key = key;
    j->result->reason = GCACHE_REASON_UNREADABLE;
    return GCACHE_MISS;
}

/* ---- the lease ---- */

/* Nothing stored: everybody who wants the key waits. Something stored for other shapes: only who has the same hints. */
static void
name_lease(gci_question const *question, gcache_reason reason, gci_buf *name)
{
    gci_buf_append(name, question->key.bytes, sizeof question->key.bytes);
    if (reason == GCACHE_REASON_NO_KEY)
        return;
    for (size_t i = 0; i < gci_hints_count(question->hints); i++) {
        gci_buf_append_char(name, ' ');
        gci_buf_append_view(name, gci_hints_name(question->hints, i));
        gci_buf_append_char(name, '=');
        gci_hints_write(question->hints, i, name);
    }
}

/* As gci_lease_take, for the lease that a miss with reason needs. */
static gcache_status
take_lease_for(gci_question const *question, gcache_reason reason, uint64_t timeout_ns, gci_lease **out_lease,
               bool *out_waited, gcache_error *error)
{
    gci_buf name;

    gci_buf_init(&name, LEASE_NAME_BYTES_MAX);
    name_lease(question, reason, &name);
    gcache_status status = name.failed ? gci_fail_memory(error)
                                       : gci_lease_take(question->cache->store, gci_buf_view(&name), timeout_ns,
                                                        out_lease, out_waited, error);
    gci_buf_clear(&name);
    return status;
}

static bool
may_write(job const *j)
{
    gcache_reason reason = j->result->reason;

    return !j->options.reader && reason != GCACHE_REASON_DISABLED && reason != GCACHE_REASON_BYPASS &&
           !gci_store_is_read_only(j->cache->store);
}

/*
 * Takes the lease, or goes on without one. GCACHE_HIT: while waiting, somebody stored what is wanted; GCACHE_MISS:
 * compile; ERROR_ARGUMENT: this thread is compiling the same already.
 */
static gcache_status
take_lease(job *j, gci_lease **out_lease)
{
    gcache_reason first_reason = j->result->reason;
    gcache_error error = { 0 };
    gci_question question;
    bool waited = false;

    gcache_status status = gci_question_init(&question, j->cache, j->graph, j->hints, j->options.request, &error);
    if (status == GCACHE_OK)
        status = take_lease_for(&question, first_reason, j->options.lease_timeout_ns, out_lease, &waited, &error);
    gci_question_clear(&question);
    if (status == GCACHE_ERROR_ARGUMENT) {
        if (j->error != NULL)
            *j->error = error;
        return status;
    }
    if (status == GCACHE_ERROR_BUSY)
        j->result->reason = GCACHE_REASON_LEASE_TIMEOUT;
    if (status != GCACHE_OK)
        return GCACHE_MISS;
    /* Also if nobody was waited for: somebody may have been done between the lookup and the lease. */
    if (j->options.refresh)
        return GCACHE_MISS;
    gcache_result_clear(j->result);
    status = look_up(j);
    if (status == GCACHE_MISS && first_reason != GCACHE_REASON_NO_KEY && !waited)
        j->result->reason = first_reason;
    return status;
}

/* ---- compiling ---- */

/* Why what was compiled isn't to be stored; false: store it. */
static bool
keep_out(job const *j, product *p, uint64_t compile_ns)
{
    gci_buf note;

    gci_buf_init(&note, NOTE_BYTES - 1);
    if (p->compiled.do_not_store != NULL) {
        gci_buf_format(&note, "not stored: %.200s", p->compiled.do_not_store);
    } else if (j->options.reader) {
        gci_buf_append_text(&note, "not stored: another process is the one that writes");
    } else if (!may_write(j)) {
        gci_buf_append_text(&note, "not stored: the cache is read-only, disabled or bypassed");
    } else if (compile_ns < j->options.min_compile_ns) {
        gci_buf_append_text(&note, "not stored: compiled in ");
        gci_write_duration(&note, compile_ns);
        gci_buf_append_text(&note, ", less than ");
        gci_write_duration(&note, j->options.min_compile_ns);
    }
    bool out = note.size != 0;
    memcpy(p->note, note.data != NULL ? note.data : "", note.size);
    p->note[note.size] = '\0';
    gci_buf_clear(&note);
    return out;
}

static void
store(job const *j, product *p)
{
    gcache_inserted inserted;
    gcache_error error = { 0 };
    gcache_status status = gcache_insert(j->cache, j->graph, j->hints, &p->compiled.entry, &inserted, &error);

    if (status == GCACHE_OK)
        memcpy(j->result->entry, inserted.entry, sizeof j->result->entry);
    else if (status == GCACHE_REFUSED)
        snprintf(p->note, sizeof p->note, "not stored: %s", gcache_reason_text(inserted.reason));
    else
        snprintf(p->note, sizeof p->note, "not stored: %.200s", error.message);
}

static void
hand_out(job const *j, product *p)
{
    gcache_entry const *entry = &p->compiled.entry;
    gcache_result *result = j->result;

    result->outcome = GCACHE_MISS;
    result->payload = entry->payload;
    result->payload_size = entry->payload_size;
    result->metadata = entry->metadata;
    result->metadata_size = entry->metadata_size;
    result->guards = entry->guards;
    result->guard_count = entry->guard_count;
    result->variant = entry->variant != NULL ? entry->variant : "";
    result->priority = entry->priority;
    result->compile_ns = entry->compile_ns;
    result->note = p->note;
}

static gcache_status
compile_and_store(job *j)
{
    product *p = calloc(1, sizeof *p);

    if (p == NULL)
        return gci_fail_memory(j->error);
    p->state = j->state;
    uint64_t start = gci_clock_steady_ns();
    gcache_status status = j->compile(j->state, j->graph, j->hints, &p->compiled, j->error);
    if (status == GCACHE_OK && !gci_result_own(j->result, p, free_product))
        status = gci_fail_memory(j->error);
    if (status != GCACHE_OK) {
        free_product(p);
        return status < 0 ? status : gci_fail(j->error, GCACHE_ERROR_ARGUMENT, "the compile callback returned %d", status);
    }
    if (p->compiled.entry.compile_ns == 0)
        p->compiled.entry.compile_ns = gci_clock_steady_ns() - start;
    if (!keep_out(j, p, p->compiled.entry.compile_ns))
        store(j, p);
    hand_out(j, p);
    return GCACHE_MISS;
}

/* ---- the call ---- */

static gcache_status
check_options(gcache_compile_options const *options, gcache_compile_fn compile, gcache_error *error)
{
    GCI_REQUIRE(compile != NULL, error, "there is no compile callback");
    GCI_REQUIRE(options->version == GCACHE_COMPILE_OPTIONS_VERSION, error,
                "the compile options have version %d, this library knows %d", options->version,
                GCACHE_COMPILE_OPTIONS_VERSION);
    return GCACHE_OK;
}

gcache_status
gcache_get_or_compile_with(gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                           gcache_compile_options const *options, gcache_compile_fn compile, void *state,
                           gcache_result *out_result, gcache_error *error)
{
    static gcache_compile_options const defaults = GCACHE_COMPILE_OPTIONS_INIT;
    gci_lease *lease = NULL;

    GCI_REQUIRE(out_result != NULL, error, "out_result is NULL");
    job j = { cache, graph, hints, options != NULL ? *options : defaults, compile, state, out_result, error };
    gci_result_init(out_result, NULL);
    gcache_status status = check_options(&j.options, compile, error);
    if (status != GCACHE_OK)
        return status;
    if (j.options.lease_timeout_ns == 0)
        j.options.lease_timeout_ns = GCACHE_LEASE_TIMEOUT_DEFAULT_NS;

    status = look_up(&j);
    if (status == GCACHE_HIT && j.options.refresh) {
        gcache_key key = out_result->key;
        gcache_result_clear(out_result);
        out_result->key = key;
        status = GCACHE_MISS;
    }
    if (status == GCACHE_MISS && may_write(&j))
        status = take_lease(&j, &lease);
    if (status == GCACHE_MISS)
        status = compile_and_store(&j);
    gci_lease_release(lease);
    return status;
}

gcache_status
gcache_get_or_compile(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_compile_fn compile,
                      void *state, gcache_result *out_result, gcache_error *error)
{
    return gcache_get_or_compile_with(cache, graph, hints, NULL, compile, state, out_result, error);
}

/* ---- leases by themselves ---- */

struct gcache_lease {
    gci_lease *lease;
};

gcache_status
gcache_lease_take(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_request const *request,
                  gcache_reason reason, uint64_t timeout_ns, gcache_lease **out_lease, gcache_error *error)
{
    gci_question question;
    bool waited;

    GCI_REQUIRE(out_lease != NULL, error, "out_lease is NULL");
    *out_lease = NULL;
    gcache_lease *lease = calloc(1, sizeof *lease);
    if (lease == NULL)
        return gci_fail_memory(error);
    if (timeout_ns == 0)
        timeout_ns = GCACHE_LEASE_TIMEOUT_DEFAULT_NS;
    gcache_status status = gci_question_init(&question, cache, graph, hints, request, error);
    if (status == GCACHE_OK)
        status = take_lease_for(&question, reason, timeout_ns, &lease->lease, &waited, error);
    gci_question_clear(&question);
    if (status == GCACHE_OK)
        *out_lease = lease;
    else
        free(lease);
    return status;
}

void
gcache_lease_release(gcache_lease *lease)
{
    if (lease == NULL)
        return;
    gci_lease_release(lease->lease);
    free(lease);
}
