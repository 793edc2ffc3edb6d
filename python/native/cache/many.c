/*
 * Cache.compile_many, over guardcache/bulk.h. Compile functions are called by the library's threads, any number at once.
 */
#include "../native.h"

#include <stdatomic.h>

/*
 * A module and what its compile gave.
 *
 * 1. What the result points into (entry) lives until the result is cleared.
 * 2. What is a Python object is touched with the interpreter lock alone.
 */
typedef struct piece {
    struct many *many;
    PyObject *graph, *compile; /* borrowed */
    native_hints hints;
    native_entry entry;
    PyObject *answer;          /* what compile gave, which entry borrows from */
    PyObject *kept;            /* texts that were escaped */
    PyObject *exception;       /* what it raised, or what kept what it gave from being an entry */
    bool failed;               /* it raised */
} piece;

typedef struct many {
    native_state *state;
    PyObject *progress;
    PyObject *trouble;         /* what ends the call: what progress raised, Ctrl-C, what no Exception is (SystemExit) */
    atomic_bool ended;         /* there is trouble */
    gcache_module *modules;
    piece *pieces;
    size_t count;
} many;

/* ---- calls by any thread ---- */

/* Takes over an exception that ends the call, of which the first is raised. */
static void
end_call(many *m, PyObject *exception)
{
    if (m->trouble == NULL)
        m->trouble = exception;
    else
        Py_XDECREF(exception);
    atomic_store(&m->ended, true);
}

static bool
progress_call(void *state, gcache_many_summary const *s)
{
    many *m = state;
    PyGILState_STATE lock;

    if (m->progress == Py_None || atomic_load(&m->ended) || !callback_begin(&lock))
        return !atomic_load(&m->ended);
    PyObject *answer = PyObject_CallFunction(m->progress, "nnnnnKK", (Py_ssize_t)s->modules, (Py_ssize_t)s->hits,
                                             (Py_ssize_t)s->compiled, (Py_ssize_t)s->failed, (Py_ssize_t)s->stored,
                                             (unsigned long long)s->compile_ns, (unsigned long long)s->saved_ns);
    /* Only what is False ends it: a function that just prints returns None. */
    bool go_on = answer != NULL && answer != Py_False;
    if (answer == NULL)
        end_call(m, take_raised());
    Py_XDECREF(answer);
    callback_end(lock);
    return go_on;
}

/* Ctrl-C is heard by the main thread alone, which waits here or for the others; those hear of it from it. */
static bool
goes_on(many *m)
{
    PyGILState_STATE lock;

    if (atomic_load(&m->ended) || !callback_begin(&lock))
        return !atomic_load(&m->ended);
    if (PyErr_CheckSignals() < 0)
        end_call(m, take_raised());
    callback_end(lock);
    return !atomic_load(&m->ended);
}

static bool
keep_waiting_all(void *state)
{
    return goes_on(state);
}

static bool
keep_waiting_one(void *state)
{
    return goes_on(((piece *)state)->many);
}

/* What is no Exception (KeyboardInterrupt, SystemExit) isn't this module's alone. */
static gcache_status
failed(piece *p, gcache_error *error)
{
    p->failed = true;
    p->exception = take_raised();
    if (p->exception != NULL && !PyErr_GivenExceptionMatches(p->exception, PyExc_Exception))
        end_call(p->many, Py_NewRef(p->exception));
    exception_shown(p->exception, error);
    return GCACHE_ERROR_ARGUMENT;
}

static gcache_status
piece_compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    piece *p = state;
    PyGILState_STATE lock;
    PyObject *made, *do_not_store;
    gcache_status status = GCACHE_OK;

    (void)graph, (void)hints;
    if (!callback_begin(&lock))
        return GCACHE_ERROR_ARGUMENT;
    /* A wait that was ended isn't followed by a compile. */
    p->answer = !atomic_load(&p->many->ended) ? PyObject_CallNoArgs(p->compile) : NULL;
    if (p->answer == NULL || !PyArg_ParseTuple(p->answer, "OO", &made, &do_not_store)) {
        status = failed(p, error);
    } else {
        if (PyExceptionInstance_Check(made))
            p->exception = Py_NewRef(made);
        else if (entry_read(made, &p->entry) < 0)
            p->exception = take_raised();
        if (p->exception == NULL && shown_or_none(do_not_store, &out_compiled->do_not_store, &p->kept) < 0)
            p->exception = take_raised();
        if (p->exception == NULL)
            *out_compiled->entry = p->entry.view;
        else
            out_compiled->do_not_store = "it is no entry";
    }
    callback_end(lock);
    return status;
}

/* ---- before and after ---- */

/* (graph, hints, bypass, compile) */
static int
piece_read(many *m, size_t number, PyObject *tuple)
{
    gcache_module *module = &m->modules[number];
    piece *p = &m->pieces[number];
    PyObject *mapping, *bypass;

    *module = (gcache_module)GCACHE_MODULE_INIT;
    p->many = m;
    m->count++;
    if (!PyArg_ParseTuple(tuple, "OOOO", &p->graph, &mapping, &bypass, &p->compile)
        || shown_or_none(bypass, &module->bypass, &p->kept) < 0
        || (module->graph = graph_given(m->state, p->graph)) == NULL || hints_read(mapping, &p->hints) < 0)
        return -1;
    module->hints = hints_or_null(&p->hints);
    module->state = p;
    return 0;
}

/* (key, reason, note, status of storing, compile_ns, trouble or None): as of get_or_compile */
static PyObject *
product(gcache_module const *module, piece const *p)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&module->result.key, hex);
    return Py_BuildValue("(ssssKO)", hex, gcache_reason_name(module->result.reason), module->result.note,
                         gcache_status_name(module->result.stored), (unsigned long long)module->result.compile_ns,
                         p->exception != NULL ? p->exception : Py_None);
}

/* A hit's tuple, a product's, an exception, or None: it wasn't begun. */
static PyObject *
outcome(many *m, PyObject *cache, size_t number)
{
    gcache_module *module = &m->modules[number];
    piece *p = &m->pieces[number];

    if (!module->done)
        return Py_NewRef(Py_None);
    if (p->failed)
        return Py_XNewRef(p->exception);
    if (module->status == GCACHE_HIT) {
        PyObject *found = hit_tuple(m->state, cache, &module->result);
        module->result = (gcache_result){ .size = sizeof module->result, .variant = "", .note = "" };
        return found;
    }
    bool compiled = p->answer != NULL && module->status != GCACHE_ERROR_MEMORY;
    if (module->status >= 0)
        return product(module, p);
    raise_error(m->state, &module->error);
    PyObject *raised = take_raised();
    if (!compiled)
        return raised;
    /* Only storing it failed. */
    Py_XDECREF(p->exception);
    p->exception = raised;
    return product(module, p);
}

static PyObject *
outcomes(many *m, PyObject *cache)
{
    PyObject *list = PyList_New((Py_ssize_t)m->count);

    for (size_t i = 0; list != NULL && i < m->count; i++) {
        PyObject *item = outcome(m, cache, i);
        if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static void
many_clear(many *m)
{
    for (size_t i = 0; i < m->count; i++) {
        gcache_result_clear(&m->modules[i].result);
        hints_clear(&m->pieces[i].hints);
        entry_clear(&m->pieces[i].entry);
        Py_CLEAR(m->pieces[i].answer);
        Py_CLEAR(m->pieces[i].kept);
        Py_CLEAR(m->pieces[i].exception);
    }
    PyMem_Free(m->modules);
    PyMem_Free(m->pieces);
    Py_CLEAR(m->trouble);
}

static int
many_read(many *m, PyObject *tuple)
{
    size_t count = (size_t)PyTuple_Size(tuple);

    m->modules = PyMem_Calloc(count + 1, sizeof *m->modules);
    m->pieces = PyMem_Calloc(count + 1, sizeof *m->pieces);
    if (m->modules == NULL || m->pieces == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        if (piece_read(m, i, PyTuple_GetItem(tuple, (Py_ssize_t)i)) < 0)
            return -1;
    }
    return 0;
}

/* Of what the library did; the first module's error is among the outcomes. */
static PyObject *
answer(many *m, PyObject *cache, gcache_many_summary const *s)
{
    char line[GCACHE_MANY_LINE_SIZE];
    PyObject *list = outcomes(m, cache);

    if (list == NULL)
        return NULL;
    gcache_many_line(s, line, sizeof line);
    return Py_BuildValue("(N(nnnnnnKKKs))", list, (Py_ssize_t)s->modules, (Py_ssize_t)s->hits, (Py_ssize_t)s->compiled,
                         (Py_ssize_t)s->failed, (Py_ssize_t)s->stored, (Py_ssize_t)s->cancelled,
                         (unsigned long long)s->compile_ns, (unsigned long long)s->saved_ns,
                         (unsigned long long)s->elapsed_ns, line);
}

/* compile_many(modules, request, (refresh, min_compile_ns, reader, follow, lease_timeout_ns, flight), workers, progress or None)
   -> (outcomes, summary); modules are tuples (graph, hints, bypass, compile) */
PyObject *
cache_compile_many(PyObject *self, PyObject *args)
{
    many m = { .state = state_of(self) };
    gcache_compile_options each = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_many_options options = GCACHE_MANY_OPTIONS_INIT;
    gcache_many_summary sums = GCACHE_MANY_SUMMARY_INIT;
    native_request request = { .view = GCACHE_REQUEST_INIT };
    PyObject *modules, *asked, *given = NULL;
    unsigned long long min_compile_ns, lease_timeout_ns;
    int refresh, reader, follow;
    gcache_error error = { .message = "" };
    gcache_status status = GCACHE_OK;

    if (!PyArg_ParseTuple(args, "O!O!(pKppKz)IO", &PyTuple_Type, &modules, &PyTuple_Type, &asked, &refresh, &min_compile_ns,
                          &reader, &follow, &lease_timeout_ns, &each.flight, &options.workers, &m.progress))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    if (many_read(&m, modules) == 0 && request_read(asked, &request) == 0) {
        each.request = &request.view;
        each.refresh = refresh != 0;
        each.min_compile_ns = min_compile_ns;
        each.reader = reader != 0;
        each.follow = follow != 0;
        each.lease_timeout_ns = lease_timeout_ns;
        each.keep_waiting = keep_waiting_one;
        options.each = &each;
        options.progress = progress_call;
        options.progress_state = &m;
        options.keep_waiting = keep_waiting_all;
        Py_BEGIN_ALLOW_THREADS
        status = gcache_compile_many(cache, m.modules, m.count, &options, piece_compile, &sums, &error);
        Py_END_ALLOW_THREADS
        bool nothing_begun = status < 0 && sums.modules == 0;
        if (m.trouble != NULL)
            PyErr_SetObject((PyObject *)Py_TYPE(m.trouble), m.trouble);
        else
            given = nothing_begun ? raise_error(m.state, &error) : answer(&m, self, &sums);
    }
    request_clear(&request);
    many_clear(&m);
    cache_unuse(self);
    return given;
}
