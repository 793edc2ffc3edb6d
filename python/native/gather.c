/*
 * Calls of the library's that tell things one by one, through callbacks in the thread that let the interpreter lock go: what they
 * tell becomes a list.
 */
#include "native.h"

gcache *
gather_begin(gathering *out_gathering, PyObject *cache, PyObject *progress)
{
    *out_gathering = (gathering){ .state = state_of(cache), .progress = progress, .list = PyList_New(0) };
    gcache *native = out_gathering->list == NULL ? NULL : cache_enter(cache);

    if (native == NULL)
        Py_CLEAR(out_gathering->list);
    else
        out_gathering->thread = PyEval_SaveThread();
    return native;
}

PyObject *
gather_end(gathering *g, PyObject *cache, gcache_status status, gcache_error const *error)
{
    PyEval_RestoreThread(g->thread);
    cache_unuse(cache);
    if (!g->raised && status >= 0 && (status != GCACHE_REFUSED || g->may_be_refused))
        return g->list;
    Py_CLEAR(g->list);
    return g->raised ? NULL : raise_error(g->state, error);
}

bool
gather_enter(gathering *g)
{
    if (g->raised)
        return false;
    PyEval_RestoreThread(g->thread);
    return true;
}

bool
gather_leave(gathering *g, PyObject *item)
{
    g->raised = item == NULL || PyList_Append(g->list, item) < 0;
    Py_XDECREF(item);
    g->thread = PyEval_SaveThread();
    return g->raised;
}

void
gather_progress(void *state, uint64_t done, uint64_t total)
{
    gathering *g = state;

    if (g->progress == Py_None || !gather_enter(g))
        return;
    PyObject *answer = PyObject_CallFunction(g->progress, "KK", (unsigned long long)done, (unsigned long long)total);
    g->raised = answer == NULL;
    Py_XDECREF(answer);
    g->thread = PyEval_SaveThread();
}
