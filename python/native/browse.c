/*
 * Cache.entries, remove, verify and explain_past.
 */
#include "native.h"

/* Looking around in a cache, beyond lookup and insert. */

/* A list that a library callback fills while the interpreter lock is let go in between. */
typedef struct entry_list {
    PyObject *list;
    PyThreadState *thread;
    bool raised;
} entry_list;

static void
collect(entry_list *found, PyObject *item)
{
    if (item == NULL || PyList_Append(found->list, item) < 0)
        found->raised = true;
    Py_XDECREF(item);
}

static PyObject *
pairs_dict(gcache_pair const *items, size_t count)
{
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict != NULL && i < count; i++) {
        PyObject *value = PyUnicode_FromString(items[i].value);
        if (value == NULL || PyDict_SetItemString(dict, items[i].name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

static int
entry_found(void *state, gcache_entry_view const *view)
{
    entry_list *found = state;
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&view->key, hex);
    PyEval_RestoreThread(found->thread);
    collect(found, Py_BuildValue("(sssNNsLKKKKKy#s)", hex, view->id, view->kind,
                                 text_tuple(view->guards, view->guard_count),
                                 pairs_dict(view->requires_, view->requires_count), view->variant,
                                 (long long)view->priority, (unsigned long long)view->sequence,
                                 (unsigned long long)view->compile_ns, (unsigned long long)view->created_ns,
                                 (unsigned long long)view->payload_size, (unsigned long long)view->stored_size,
                                 view->metadata_size > 0 ? view->metadata : "", (Py_ssize_t)view->metadata_size,
                                 view->label));
    found->thread = PyEval_SaveThread();
    return found->raised;
}

/* entries(key or None) */
PyObject *
cache_entries(PyObject *self, PyObject *args)
{
    char const *hex;
    gcache_key key;
    gcache_error error;
    entry_list found = { 0 };

    if (!PyArg_ParseTuple(args, "z", &hex))
        return NULL;
    if (hex != NULL && gcache_key_from_hex(hex, &key, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    if ((found.list = PyList_New(0)) == NULL)
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL) {
        Py_DECREF(found.list);
        return NULL;
    }
    found.thread = PyEval_SaveThread();
    gcache_status status = gcache_each_entry(cache, hex == NULL ? NULL : &key, entry_found, &found, &error);
    PyEval_RestoreThread(found.thread);
    cache_unuse(self);
    if (!found.raised && status == GCACHE_OK)
        return found.list;
    Py_DECREF(found.list);
    return found.raised ? NULL : raise_error(state_of(self), &error);
}

static void
problem_found(void *state, char const *path, char const *problem)
{
    entry_list *found = state;

    PyEval_RestoreThread(found->thread);
    if (!found->raised)
        collect(found, Py_BuildValue("(ss)", path, problem));
    found->thread = PyEval_SaveThread();
}

/* verify() -> (keys, entries, bytes, problems) */
PyObject *
cache_verify(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_verified verified = GCACHE_VERIFIED_INIT;
    gcache_error error;
    entry_list found = { 0 };
    gcache_maintenance_options options = { .size = sizeof options, .problem = problem_found, .state = &found };

    if ((found.list = PyList_New(0)) == NULL)
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL) {
        Py_DECREF(found.list);
        return NULL;
    }
    found.thread = PyEval_SaveThread();
    gcache_status status = gcache_verify(cache, &options, &verified, &error);
    PyEval_RestoreThread(found.thread);
    cache_unuse(self);
    if (!found.raised && status == GCACHE_OK)
        return Py_BuildValue("(KKKN)", (unsigned long long)verified.keys, (unsigned long long)verified.entries,
                             (unsigned long long)verified.bytes, found.list);
    Py_DECREF(found.list);
    return found.raised ? NULL : raise_error(state_of(self), &error);
}

/* remove(key, entry) */
PyObject *
cache_remove(PyObject *self, PyObject *args)
{
    char const *hex, *entry;
    gcache_key key;
    gcache_error error;
    gcache_status status;

    if (!PyArg_ParseTuple(args, "ss", &hex, &entry))
        return NULL;
    if (gcache_key_from_hex(hex, &key, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_remove(cache, &key, entry, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    if (status != GCACHE_OK)
        return raise_error(state_of(self), &error);
    Py_RETURN_NONE;
}

/* explain_past(last, label, key, form): 0 short, 1 everything, 2 JSON. */
PyObject *
cache_explain_past(PyObject *self, PyObject *args)
{
    gcache_journal_query query = GCACHE_JOURNAL_QUERY_INIT;
    Py_ssize_t last;
    int form;
    char *text = NULL;
    gcache_error error;
    gcache_status status;

    if (!PyArg_ParseTuple(args, "nzzi", &last, &query.label, &query.key, &form))
        return NULL;
    query.last = (size_t)last;
    query.misses_only = true;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_journal_explain(cache, &query, (gcache_explain_form)form, &text, NULL, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    PyObject *shown = status == GCACHE_OK ? PyUnicode_FromString(text) : raise_error(state_of(self), &error);
    gcache_free(text);
    return shown;
}
