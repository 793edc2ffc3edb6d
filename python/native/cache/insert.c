/*
 * Cache.insert.
 */
#include "../native.h"

/* (stored, reason, key, entry, existed, verdict, shadows) */
static PyObject *
inserted_tuple(gcache_inserted const *inserted)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&inserted->key, hex);
    return Py_BuildValue("(NsssNNs)", PyBool_FromLong(inserted->outcome == GCACHE_OK),
                         gcache_reason_name(inserted->reason), hex, inserted->entry,
                         PyBool_FromLong(inserted->existed), verdict_tuple(&inserted->verdict), inserted->shadows);
}

/* insert(graph, hints, entry) */
PyObject *
cache_insert(PyObject *self, PyObject *args)
{
    native_state *state = state_of(self);
    PyObject *object, *mapping, *given;
    native_hints values = { 0 };
    native_entry entry = { 0 };
    gcache_inserted inserted = GCACHE_INSERTED_INIT;
    gcache_error error;
    gcache_status status = GCACHE_OK;

    if (!PyArg_ParseTuple(args, "OOO!", &object, &mapping, &PyTuple_Type, &given))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    gcache_graph *graph = graph_given(state, object);
    bool readable = graph != NULL && hints_read(mapping, &values) == 0 && entry_read(given, &entry) == 0;
    if (readable) {
        Py_BEGIN_ALLOW_THREADS
        status = gcache_insert(cache, graph, hints_or_null(&values), &entry.view, &inserted, &error);
        Py_END_ALLOW_THREADS
    }
    hints_clear(&values);
    entry_clear(&entry);
    cache_unuse(self);
    if (!readable)
        return NULL;
    return status < 0 ? raise_error(state, &error) : inserted_tuple(&inserted);
}
