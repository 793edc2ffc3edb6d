/*
 * Cache.lookup and explain, what they return, and what is done with a hit.
 */
#include "../native.h"

int
context_read(native_state *state, PyObject *graph, PyObject *mapping, PyObject *asked, lookup_context *out_context)
{
    *out_context = (lookup_context){ 0 };
    if ((out_context->graph = graph_given(state, graph)) == NULL
        || hints_read(mapping, &out_context->hints) < 0 || request_read(asked, &out_context->request) < 0)
        return -1;
    return 0;
}

void
context_clear(lookup_context *context)
{
    hints_clear(&context->hints);
    request_clear(&context->request);
}

static PyObject *
renames_list(gcache_result const *result)
{
    PyObject *list = PyList_New((Py_ssize_t)result->rename_count);

    for (size_t i = 0; list != NULL && i < result->rename_count; i++) {
        PyObject *pair = Py_BuildValue("(ss)", result->renames[i].stored, result->renames[i].current);
        if (pair == NULL || PyList_SetItem(list, (Py_ssize_t)i, pair) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *
attachment_names(gcache_result const *result)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)result->attachment_count);

    for (size_t i = 0; tuple != NULL && i < result->attachment_count; i++) {
        PyObject *name = PyUnicode_FromString(result->attachments[i].name);
        if (name == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, name) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *
deltas_dict(gcache_result const *result)
{
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict != NULL && i < result->delta_count; i++) {
        PyObject *value = PyLong_FromLongLong(result->deltas[i].value);
        if (value == NULL || PyDict_SetItemString(dict, result->deltas[i].name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* (key, entry, payload, metadata, guards, renames, renamed, variant, priority, compile_ns, note, attachments, tier, deltas) */
PyObject *
hit_tuple_with(PyObject *payload, gcache_result const *result)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    if (payload == NULL)
        return NULL;
    gcache_key_to_hex(&result->key, hex);
    return Py_BuildValue("(ssNy#NNNsLKsNsN)", hex, result->entry, payload,
                         result->metadata_size > 0 ? result->metadata : "", (Py_ssize_t)result->metadata_size,
                         text_tuple(result->guards, result->guard_count), renames_list(result),
                         PyBool_FromLong(result->renamed), result->variant, (long long)result->priority,
                         (unsigned long long)result->compile_ns, result->note, attachment_names(result),
                         result->tier != NULL ? result->tier : "", deltas_dict(result));
}

PyObject *
hit_tuple(native_state *state, PyObject *cache, gcache_result *result)
{
    return hit_tuple_with(payload_new(state, cache, result), result);
}

/* (key, reason, note, local_reason) */
PyObject *
miss_tuple(gcache_result const *result)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&result->key, hex);
    return Py_BuildValue("(ssss)", hex, gcache_reason_name(result->reason), result->note == NULL ? "" : result->note,
                         gcache_reason_name(result->local_reason));
}

/* lookup(graph, hints, request) */
PyObject *
cache_lookup(PyObject *self, PyObject *args)
{
    native_state *state = state_of(self);
    PyObject *graph, *mapping, *asked;
    lookup_context context;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;
    gcache_status status = GCACHE_MISS;

    if (!PyArg_ParseTuple(args, "OOO!", &graph, &mapping, &PyTuple_Type, &asked))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    bool readable = context_read(state, graph, mapping, asked, &context) == 0;
    if (readable) {
        context.request.thread = PyEval_SaveThread();
        status = gcache_lookup_with(cache, context.graph, hints_or_null(&context.hints), &context.request.view,
                                    &result, &error);
        PyEval_RestoreThread(context.request.thread);
    }
    bool raised = context.request.raised;
    context_clear(&context);
    PyObject *found = NULL;
    if (readable && !raised)
        found = status == GCACHE_HIT    ? hit_tuple(state, self, &result)
                : status == GCACHE_MISS ? miss_tuple(&result)
                                        : raise_error(state, &error);
    if (readable && (raised || status != GCACHE_HIT))
        gcache_result_clear(&result);
    cache_unuse(self);
    return found;
}

/* explain(graph, hints, request, form): 0 short, 1 everything, 2 JSON. */
PyObject *
cache_explain(PyObject *self, PyObject *args)
{
    native_state *state = state_of(self);
    PyObject *graph, *mapping, *asked;
    int form;
    lookup_context context;
    char *text = NULL;
    gcache_error error;
    gcache_status status = GCACHE_MISS;

    if (!PyArg_ParseTuple(args, "OOO!i", &graph, &mapping, &PyTuple_Type, &asked, &form))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    bool readable = context_read(state, graph, mapping, asked, &context) == 0;
    if (readable) {
        context.request.thread = PyEval_SaveThread();
        status = gcache_explain(cache, context.graph, hints_or_null(&context.hints), &context.request.view,
                                (gcache_explain_form)form, &text, &error);
        PyEval_RestoreThread(context.request.thread);
    }
    bool raised = context.request.raised;
    context_clear(&context);
    PyObject *shown = NULL;
    if (readable && !raised)
        shown = status < 0 ? raise_error(state, &error) : PyUnicode_FromString(text);
    gcache_free(text);
    cache_unuse(self);
    return shown;
}

/* As cache_enter, for what is done with a hit; NULL also if that isn't one. */
static gcache *
cache_enter_with(PyObject *self, PyObject *payload)
{
    if (Py_TYPE(payload) == state_of(self)->payload_type)
        return cache_enter(self);
    PyErr_Format(PyExc_TypeError, "a payload of a lookup is needed");
    return NULL;
}

/* place(payload, directory, name): all of them if name is None */
PyObject *
cache_place(PyObject *self, PyObject *args)
{
    PyObject *payload;
    char const *directory, *name;
    gcache_error error;
    gcache_status status;

    if (!PyArg_ParseTuple(args, "Osz", &payload, &directory, &name))
        return NULL;
    gcache *cache = cache_enter_with(self, payload);
    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = name == NULL ? gcache_place(cache, payload_result(payload), directory, &error)
                          : gcache_place_one(cache, payload_result(payload), name, directory, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    if (status != GCACHE_OK)
        return raise_error(state_of(self), &error);
    Py_RETURN_NONE;
}

/* attachment(payload, name) */
PyObject *
cache_attachment(PyObject *self, PyObject *args)
{
    PyObject *payload;
    char const *name;
    gcache_error error;
    gcache_status status;
    void *bytes;
    size_t size = 0;

    if (!PyArg_ParseTuple(args, "Os", &payload, &name))
        return NULL;
    gcache *cache = cache_enter_with(self, payload);
    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_attachment_get(cache, payload_result(payload), name, &bytes, &size, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    if (status != GCACHE_OK)
        return raise_error(state_of(self), &error);
    PyObject *read = PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
    gcache_free(bytes);
    return read;
}
