/*
 * Methods of Cache over guardcache/fleet.h: tiers looked at, asked, waited for, and made equal to the directory.
 */
#include "../native.h"

/* ---- what tiers say ---- */

/* Gathered while the interpreter lock is let go. */
typedef struct telling {
    PyObject *list;    /* of tuples, a tier each */
    PyObject *numbers; /* of the tier that is asked now; NULL: they aren't wanted */
    PyThreadState *thread;
    bool failed;       /* an exception is set */
} telling;

PyObject *
counts_new(uint64_t const *counts)
{
    PyObject *dict = PyDict_New();

    for (int i = 0; dict != NULL && i < GCACHE_TIER_COUNT_COUNT; i++) {
        PyObject *number = PyLong_FromUnsignedLongLong(counts[i]);
        if (number == NULL || PyDict_SetItemString(dict, gcache_tier_count_name((gcache_tier_count)i), number) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(number);
    }
    return dict;
}

/* (name, read_only, left_alone, counts), and of a ping (.., answered, reason, message, elapsed_ns, numbers) */
static PyObject *
state_tuple(telling *t, gcache_tier_state const *tier)
{
    if (t->numbers == NULL)
        return Py_BuildValue("(NNNN)", text_new(tier->name), PyBool_FromLong(tier->read_only),
                             PyBool_FromLong(tier->left_alone), counts_new(tier->counts));
    PyObject *numbers = t->numbers;
    t->numbers = PyDict_New();
    return Py_BuildValue("(NNNNNsNKN)", text_new(tier->name), PyBool_FromLong(tier->read_only),
                         PyBool_FromLong(tier->left_alone), counts_new(tier->counts),
                         PyBool_FromLong(tier->answer == GCACHE_TIER_HIT),
                         tier->answer == GCACHE_TIER_HIT ? "" : gcache_reason_name(tier->reason), text_new(tier->message),
                         (unsigned long long)tier->elapsed_ns, numbers);
}

static int
tell(void *state, gcache_tier_state const *tier)
{
    telling *t = state;

    PyEval_RestoreThread(t->thread);
    PyObject *tuple = t->failed ? NULL : state_tuple(t, tier);
    t->failed |= tuple == NULL || PyList_Append(t->list, tuple) < 0;
    Py_XDECREF(tuple);
    t->thread = PyEval_SaveThread();
    return t->failed;
}

static void
tell_number(void *state, char const *name, uint64_t value)
{
    telling *t = state;

    PyEval_RestoreThread(t->thread);
    PyObject *number = t->failed || t->numbers == NULL ? NULL : PyLong_FromUnsignedLongLong(value);
    t->failed |= number == NULL || PyDict_SetItemString(t->numbers, name, number) < 0;
    Py_XDECREF(number);
    t->thread = PyEval_SaveThread();
}

static PyObject *
tell_all(PyObject *self, bool ping)
{
    telling t = { .list = PyList_New(0), .numbers = ping ? PyDict_New() : NULL };
    gcache *cache = t.list == NULL || (ping && t.numbers == NULL) ? NULL : cache_enter(self);
    gcache_status status = GCACHE_OK;
    gcache_error error;

    if (cache != NULL) {
        t.thread = PyEval_SaveThread();
        status = ping ? gcache_tiers_ping(cache, tell_number, tell, &t, &error) : gcache_tiers_each(cache, tell, &t, &error);
        PyEval_RestoreThread(t.thread);
        cache_unuse(self);
    }
    if (cache == NULL || t.failed)
        Py_CLEAR(t.list);
    else if (status < 0) {
        Py_CLEAR(t.list);
        raise_error(state_of(self), &error);
    }
    Py_XDECREF(t.numbers);
    return t.list;
}

/* tiers() -> [(name, read_only, left_alone, counts)] */
PyObject *
cache_tiers(PyObject *self, PyObject *Py_UNUSED(none))
{
    return tell_all(self, false);
}

/* ping() -> [(name, read_only, left_alone, counts, answered, reason, message, elapsed_ns, numbers)] */
PyObject *
cache_ping(PyObject *self, PyObject *Py_UNUSED(none))
{
    return tell_all(self, true);
}

/* ---- waiting ---- */

/* flush(timeout_ns) */
PyObject *
cache_flush(PyObject *self, PyObject *args)
{
    unsigned long long timeout_ns;
    gcache_status status;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "K", &timeout_ns))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_tiers_flush(cache, timeout_ns, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    if (status != GCACHE_OK)
        return raise_error(state_of(self), &error);
    Py_RETURN_NONE;
}

/* ---- syncing ---- */

/* sync(url or None, push, pull, again, progress or None) -> (keys, pushed, pulled, present, left_out) */
PyObject *
cache_sync(PyObject *self, PyObject *args)
{
    gcache_sync_options options = GCACHE_SYNC_OPTIONS_INIT;
    gcache_synced sum = GCACHE_SYNCED_INIT;
    int push, pull, again;
    PyObject *progress;
    gcache_error error;
    gathering g;

    if (!PyArg_ParseTuple(args, "zpppO", &options.tier, &push, &pull, &again, &progress))
        return NULL;
    options.push = push != 0;
    options.pull = pull != 0;
    options.again = again != 0;
    options.progress = gather_progress;
    options.state = &g;
    gcache *cache = gather_begin(&g, self, progress);
    if (cache == NULL)
        return NULL;
    gcache_status status = gcache_tiers_sync(cache, &options, &sum, &error);
    PyObject *none = gather_end(&g, self, status, &error);
    Py_XDECREF(none);
    return none == NULL ? NULL
                        : Py_BuildValue("(KKKKK)", (unsigned long long)sum.keys, (unsigned long long)sum.pushed,
                                        (unsigned long long)sum.pulled, (unsigned long long)sum.present,
                                        (unsigned long long)sum.left_out);
}
