/*
 * Looking around in a cache, beyond lookups: entries, those that are shadowed, one by its id; what differs between two keys.
 */
#include "../native.h"

static int
entry_found(void *state, gcache_entry_view const *view)
{
    gathering *g = state;
    char hex[GCACHE_KEY_HEX_SIZE];

    if (!gather_enter(g))
        return 1;
    gcache_key_to_hex(&view->key, hex);
    return gather_leave(g, Py_BuildValue("(sssNNsLKKKKKy#ss)", hex, view->id, view->kind,
                                         text_tuple(view->guards, view->guard_count),
                                         pairs_dict(view->requires_, view->requires_count), view->variant,
                                         (long long)view->priority, (unsigned long long)view->sequence,
                                         (unsigned long long)view->compile_ns, (unsigned long long)view->created_ns,
                                         (unsigned long long)view->payload_size, (unsigned long long)view->stored_size,
                                         view->metadata_size > 0 ? view->metadata : "", (Py_ssize_t)view->metadata_size,
                                         view->label, view->shadowed_by != NULL ? view->shadowed_by : ""));
}

typedef gcache_status (*each_fn)(gcache *cache, gcache_key const *key, gcache_entry_fn fn, void *state, gcache_error *error);

static PyObject *
entries(PyObject *self, PyObject *args, each_fn each)
{
    char const *hex;
    gcache_key key;
    gcache_error error;
    gathering g;

    if (!PyArg_ParseTuple(args, "z", &hex) || key_or_none(state_of(self), hex, &key) < 0)
        return NULL;
    gcache *cache = gather_begin(&g, self, Py_None);
    if (cache == NULL)
        return NULL;
    gcache_status status = each(cache, hex == NULL ? NULL : &key, entry_found, &g, &error);
    return gather_end(&g, self, status, &error);
}

/* entries(key or None) */
PyObject *
cache_entries(PyObject *self, PyObject *args)
{
    return entries(self, args, gcache_each_entry);
}

/* shadowed(key or None) */
PyObject *
cache_shadowed(PyObject *self, PyObject *args)
{
    return entries(self, args, gcache_each_shadowed);
}

/* read_entry(key, entry) -> as lookup gives a hit */
PyObject *
cache_read_entry(PyObject *self, PyObject *args)
{
    char const *hex, *entry;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_key key;
    gcache_error error;
    gcache_status status;

    if (!PyArg_ParseTuple(args, "ss", &hex, &entry) || key_or_none(state_of(self), hex, &key) < 0)
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_read_entry(cache, &key, entry, &result, &error);
    Py_END_ALLOW_THREADS
    PyObject *found = NULL;
    if (status == GCACHE_HIT) {
        found = hit_tuple(state_of(self), self, &result);
    } else {
        gcache_result_clear(&result);
        raise_error(state_of(self), &error);
    }
    cache_unuse(self);
    return found;
}

/* remove(key, entry) */
PyObject *
cache_remove(PyObject *self, PyObject *args)
{
    char const *hex, *entry;
    gcache_key key;
    gcache_error error;
    gcache_status status;

    if (!PyArg_ParseTuple(args, "ss", &hex, &entry) || key_or_none(state_of(self), hex, &key) < 0)
        return NULL;
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

/* A Graph, or a key in hex. */
static int
subject_read(native_state *state, PyObject *object, gcache_subject *out_subject)
{
    *out_subject = (gcache_subject)GCACHE_SUBJECT_INIT;
    if (!PyUnicode_Check(object))
        return (out_subject->graph = graph_given(state, object)) != NULL ? 0 : -1;
    char const *hex = text_of(object);
    return hex != NULL ? key_or_none(state, hex, &out_subject->key) : -1;
}

/* compare(cache or None, stored, asked, max_items, form) -> (text, count) */
PyObject *
library_compare(PyObject *module, PyObject *args)
{
    native_state *state = PyModule_GetState(module);
    PyObject *holder, *stored, *asked;
    gcache_subject sides[2];
    gcache *cache = NULL;
    Py_ssize_t max_items;
    int form;
    char *text = NULL;
    size_t count = 0;
    gcache_status status;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "OOOni", &holder, &stored, &asked, &max_items, &form)
        || subject_read(state, stored, &sides[0]) < 0 || subject_read(state, asked, &sides[1]) < 0
        || (holder != Py_None && (cache = cache_enter(holder)) == NULL))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_compare(cache, &sides[0], &sides[1], (size_t)max_items, (gcache_diff_form)form, &text, &count, &error);
    Py_END_ALLOW_THREADS
    if (cache != NULL)
        cache_unuse(holder);
    PyObject *shown = text_taken(state, status, text, &error);
    return shown == NULL ? NULL : Py_BuildValue("(Nn)", shown, (Py_ssize_t)count);
}
