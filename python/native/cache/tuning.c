/*
 * Timings of choices, over guardcache/tuning.h.
 */
#include "../native.h"

/* A benchmark in Python: called in the thread of the lookup, which let the interpreter lock go. */
typedef struct native_benchmark {
    PyObject *function; /* () -> a sequence of floats, one a choice */
    PyThreadState *thread;
} native_benchmark;

static int
timings_read(PyObject *sequence, size_t count, double *out_timings)
{
    PyObject *tuple = PySequence_Tuple(sequence);

    if (tuple != NULL && (size_t)PyTuple_Size(tuple) != count)
        PyErr_SetString(PyExc_ValueError, "a timing for every choice is needed");
    for (size_t i = 0; tuple != NULL && !PyErr_Occurred() && i < count; i++)
        out_timings[i] = PyFloat_AsDouble(PyTuple_GetItem(tuple, (Py_ssize_t)i));
    Py_XDECREF(tuple);
    return PyErr_Occurred() ? -1 : 0;
}

/* An exception stays set, and is what the caller sees. */
static gcache_status
benchmark_call(void *state, char const *const *choices, size_t count, double *out_timings, gcache_error *error)
{
    native_benchmark *benchmark = state;

    (void)choices, (void)error;
    PyEval_RestoreThread(benchmark->thread);
    PyObject *measured = PyObject_CallNoArgs(benchmark->function);
    int outcome = measured == NULL ? -1 : timings_read(measured, count, out_timings);
    Py_XDECREF(measured);
    benchmark->thread = PyEval_SaveThread();
    return outcome < 0 ? GCACHE_ERROR_ARGUMENT : GCACHE_OK;
}

static int
site_read(PyObject *tuple, gcache_site *out_site)
{
    return PyArg_ParseTuple(tuple, "zzzzz", &out_site->system, &out_site->op, &out_site->inputs, &out_site->hint,
                            &out_site->precision)
               ? 0
               : -1;
}

static PyObject *
timings_tuple(double const *timings, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);

    for (size_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *timing = PyFloat_FromDouble(timings[i]);
        if (timing == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, timing) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* timings(site, choices, benchmark or None) -> (all known or measured, timings, why not) */
PyObject *
cache_timings(PyObject *self, PyObject *args)
{
    native_state *state = state_of(self);
    PyObject *given, *names, *function;
    gcache_site site = GCACHE_SITE_INIT;
    native_texts choices = { 0 };
    gcache_error error;
    gcache_status status = GCACHE_OK;
    gcache_timings found = GCACHE_TIMINGS_INIT;
    PyObject *answer = NULL;

    if (!PyArg_ParseTuple(args, "O!OO", &PyTuple_Type, &given, &names, &function) || site_read(given, &site) < 0)
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    native_benchmark benchmark = { .function = function };
    if (texts_read(names, &choices) < 0
        || (found.timings = PyMem_Calloc(choices.count + 1, sizeof *found.timings)) == NULL)
        goto cleanup;
    benchmark.thread = PyEval_SaveThread();
    status = gcache_timings_get(cache, &site, choices.items, choices.count, function == Py_None ? NULL : benchmark_call,
                                &benchmark, &found, &error);
    PyEval_RestoreThread(benchmark.thread);
    if (PyErr_Occurred())
        goto cleanup;
    if (status < 0)
        raise_error(state, &error);
    else
        answer = Py_BuildValue("(NNs)", PyBool_FromLong(status == GCACHE_HIT || found.measured),
                               timings_tuple(found.timings, choices.count), found.why);
cleanup:
    PyMem_Free(found.timings);
    texts_clear(&choices);
    cache_unuse(self);
    return answer;
}

/* put_timings(site, choices, timings) -> whether they were stored */
PyObject *
cache_put_timings(PyObject *self, PyObject *args)
{
    PyObject *given, *names, *numbers;
    gcache_site site = GCACHE_SITE_INIT;
    native_texts choices = { 0 };
    double *timings = NULL;
    gcache_status status = GCACHE_OK;
    gcache_error error;
    PyObject *answer = NULL;

    if (!PyArg_ParseTuple(args, "O!OO", &PyTuple_Type, &given, &names, &numbers) || site_read(given, &site) < 0)
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    if (texts_read(names, &choices) < 0 || (timings = PyMem_Calloc(choices.count + 1, sizeof *timings)) == NULL
        || timings_read(numbers, choices.count, timings) < 0)
        goto cleanup;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_timings_put(cache, &site, choices.items, timings, choices.count, &error);
    Py_END_ALLOW_THREADS
    answer = status < 0 ? raise_error(state_of(self), &error) : PyBool_FromLong(status == GCACHE_OK);
cleanup:
    PyMem_Free(timings);
    texts_clear(&choices);
    cache_unuse(self);
    return answer;
}

static int
timing_found(void *state, gcache_site const *site, char const *choice, double timing, uint64_t at_ns)
{
    gathering *g = state;

    if (!gather_enter(g))
        return 1;
    return gather_leave(g, Py_BuildValue("(sssssNNK)", site->system, site->op, site->inputs, site->hint, site->precision,
                                         text_new(choice), PyFloat_FromDouble(timing), (unsigned long long)at_ns));
}

/* all_timings() -> [(system, op, inputs, hint, precision, choice, timing, at_ns)] */
PyObject *
cache_all_timings(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_error error;
    gathering g;

    gcache *cache = gather_begin(&g, self, Py_None);
    if (cache == NULL)
        return NULL;
    gcache_status status = gcache_timings_each(cache, timing_found, &g, &error);
    return gather_end(&g, self, status, &error);
}
