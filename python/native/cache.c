/*
 * The Cache type: opening, closing, lookup, explain, insert.
 */
#include "native.h"

#include <string.h>

/*
 * Cache: an open cache directory.
 *
 * 1. cache is NULL only before opening succeeded and after closing.
 * 2. It closes when `closing` is set and uses is 0; both are touched under the interpreter lock only.
 */
typedef struct cache_object {
    PyObject_HEAD
    gcache *cache;
    PyObject *log;
    size_t uses;
    bool closing;
} cache_object;

static cache_object *
cache_of(PyObject *self)
{
    return (cache_object *)self;
}

static void
cache_close_unused(cache_object *self)
{
    gcache *cache = self->cache;

    if (cache == NULL || !self->closing || self->uses > 0)
        return;
    self->cache = NULL;
    Py_BEGIN_ALLOW_THREADS
    gcache_close(cache);
    Py_END_ALLOW_THREADS
}

gcache *
cache_use(PyObject *object)
{
    cache_of(object)->uses++;
    return cache_of(object)->cache;
}

void
cache_unuse(PyObject *object)
{
    cache_of(object)->uses--;
    cache_close_unused(cache_of(object));
}

gcache *
cache_enter(PyObject *self)
{
    if (cache_of(self)->cache != NULL && !cache_of(self)->closing)
        return cache_use(self);
    PyErr_SetString(PyExc_ValueError, "the cache is closed");
    return NULL;
}

/* Called by any thread, without the interpreter lock. */
static void
log_line(void *state, char const *line)
{
    PyGILState_STATE lock = PyGILState_Ensure();
    PyObject *type;
    PyObject *value;
    PyObject *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = PyUnicode_DecodeUTF8(line, (Py_ssize_t)strlen(line), "replace");
    PyObject *answer = text == NULL ? NULL : PyObject_CallFunctionObjArgs(state, text, NULL);
    if (answer == NULL)
        PyErr_WriteUnraisable(state);
    Py_XDECREF(answer);
    Py_XDECREF(text);
    PyErr_Restore(type, value, traceback);
    PyGILState_Release(lock);
}

/* (id, secret or None, algorithm, public key or None); it borrows from that. */
static int
key_read(PyObject *parts, gcache_signing_key *out_key)
{
    Py_ssize_t secret_size, public_size;
    int algorithm;

    if (!PyArg_ParseTuple(parts, "sz#iz#", &out_key->id, &out_key->secret, &secret_size, &algorithm, &out_key->public_key,
                          &public_size))
        return -1;
    out_key->secret_size = (size_t)secret_size;
    out_key->algorithm = (gcache_signing_algorithm)algorithm;
    if (out_key->public_key == NULL || public_size == GCACHE_ED25519_BYTES)
        return 0;
    PyErr_Format(PyExc_ValueError, "the public key of %s has %d bytes", out_key->id, GCACHE_ED25519_BYTES);
    return -1;
}

/* Keys as a tuple; they borrow from it. The array is freed with PyMem_Free. */
static int
keys_read(PyObject *tuple, gcache_options *out_options)
{
    size_t count = (size_t)PyTuple_Size(tuple);
    gcache_signing_key *keys = PyMem_Calloc(count + 1, sizeof *keys);

    out_options->signing = keys;
    out_options->signing_count = count;
    for (size_t i = 0; keys != NULL && i < count; i++) {
        if (key_read(PyTuple_GetItem(tuple, (Py_ssize_t)i), &keys[i]) < 0)
            return -1;
    }
    return keys != NULL ? 0 : -1;
}

static int
options_read(PyObject *args, char const **out_directory, gcache_options *out_options, PyObject **out_log)
{
    int read_only, strict, disabled, unsafe_skip_guards, refresh, durability, trust, require_signature, color;
    Py_ssize_t max_candidates, memory_bytes, columns;
    unsigned long long max_size;
    PyObject *keys;

    *out_options = (gcache_options)GCACHE_OPTIONS_INIT;
    if (!PyArg_ParseTuple(args, "spppppziiznKnizOO!pnp", out_directory, &read_only, &strict, &disabled,
                          &unsafe_skip_guards, &refresh, &out_options->bypass, &durability, &trust, &out_options->namespace_,
                          &max_candidates, &max_size, &memory_bytes, &out_options->compression_level,
                          &out_options->record, out_log, &PyTuple_Type, &keys, &require_signature, &columns, &color)
        || keys_read(keys, out_options) < 0)
        return -1;
    out_options->require_signature = require_signature != 0;
    out_options->columns = (size_t)columns;
    out_options->color = color != 0;
    out_options->read_only = read_only != 0;
    out_options->strict = strict != 0;
    out_options->disabled = disabled != 0;
    out_options->unsafe_skip_guards = unsafe_skip_guards != 0;
    out_options->refresh = refresh != 0;
    out_options->durability = (gcache_durability)durability;
    out_options->trust = (gcache_trust)trust;
    out_options->max_candidates = (size_t)max_candidates;
    out_options->max_size = max_size;
    out_options->memory_bytes = (size_t)memory_bytes;
    if (*out_log != Py_None) {
        out_options->log = log_line;
        out_options->log_state = *out_log;
    }
    return 0;
}

/* Cache(directory, read_only, strict, disabled, unsafe_skip_guards, refresh, bypass, durability, trust, namespace, max_candidates,
   max_size, memory_bytes, compression_level, record, log, signing, require_signature, columns, color): numbers may be 0 for the
   default. */
static PyObject *
cache_make(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    char const *directory;
    gcache_options options = { .signing = NULL };
    gcache_error error;
    gcache_status status;
    PyObject *log;
    cache_object *self = NULL;

    if (options_read(args, &directory, &options, &log) == 0) {
        allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
        self = (cache_object *)alloc(type, 0);
    }
    if (self == NULL) {
        PyMem_Free((void *)(uintptr_t)options.signing);
        return NULL;
    }
    self->log = Py_NewRef(log);
    Py_BEGIN_ALLOW_THREADS
    status = gcache_open(directory, &options, &self->cache, &error);
    Py_END_ALLOW_THREADS
    PyMem_Free((void *)(uintptr_t)options.signing);
    if (status != GCACHE_OK) {
        self->cache = NULL;
        Py_DECREF(self);
        return raise_error(PyType_GetModuleState(type), &error);
    }
    return (PyObject *)self;
}

static void
cache_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    cache_of(self)->closing = true;
    cache_close_unused(cache_of(self));
    Py_CLEAR(cache_of(self)->log);
    free_object(self);
    Py_DECREF(type);
}

static PyObject *
cache_close(PyObject *self, PyObject *Py_UNUSED(none))
{
    cache_of(self)->closing = true;
    cache_close_unused(cache_of(self));
    Py_RETURN_NONE;
}

static PyObject *
cache_closed(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(cache_of(self)->closing);
}

/* ---- lookup ---- */

int
context_read(native_state *state, PyObject *graph, PyObject *mapping, PyObject *asked, lookup_context *out_context)
{
    *out_context = (lookup_context){ 0 };
    if ((out_context->graph = graph_finished(state, graph)) == NULL
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

/* (key, entry, payload, metadata, guards, renames, renamed, variant, priority, compile_ns, note, attachments) */
PyObject *
hit_tuple(native_state *state, PyObject *cache, gcache_result *result)
{
    char hex[GCACHE_KEY_HEX_SIZE];
    PyObject *payload = payload_new(state, cache, result);

    if (payload == NULL)
        return NULL;
    gcache_key_to_hex(&result->key, hex);
    return Py_BuildValue("(ssNy#NNNsLKsN)", hex, result->entry, payload,
                         result->metadata_size > 0 ? result->metadata : "", (Py_ssize_t)result->metadata_size,
                         text_tuple(result->guards, result->guard_count), renames_list(result),
                         PyBool_FromLong(result->renamed), result->variant, (long long)result->priority,
                         (unsigned long long)result->compile_ns, result->note, attachment_names(result));
}

/* (key, reason, note) */
PyObject *
miss_tuple(gcache_result const *result)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&result->key, hex);
    return Py_BuildValue("(sss)", hex, gcache_reason_name(result->reason), result->note == NULL ? "" : result->note);
}

/* lookup(graph, hints, request) */
static PyObject *
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
static PyObject *
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
static PyObject *
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
static PyObject *
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

/* ---- insert ---- */

/* (stored, reason, key, entry, existed, verdict) */
static PyObject *
inserted_tuple(gcache_inserted const *inserted)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&inserted->key, hex);
    return Py_BuildValue("(NsssNN)", PyBool_FromLong(inserted->outcome == GCACHE_OK),
                         gcache_reason_name(inserted->reason), hex, inserted->entry,
                         PyBool_FromLong(inserted->existed), verdict_tuple(&inserted->verdict));
}

/* insert(graph, hints, entry) */
static PyObject *
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
    gcache_graph *graph = graph_finished(state, object);
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

static PyMethodDef cache_methods[] = {
    { "close", cache_close, METH_NOARGS, NULL },
    { "closed", cache_closed, METH_NOARGS, NULL },
    { "lookup", cache_lookup, METH_VARARGS, NULL },
    { "explain", cache_explain, METH_VARARGS, NULL },
    { "explain_past", cache_explain_past, METH_VARARGS, NULL },
    { "place", cache_place, METH_VARARGS, NULL },
    { "attachment", cache_attachment, METH_VARARGS, NULL },
    { "insert", cache_insert, METH_VARARGS, NULL },
    { "entries", cache_entries, METH_VARARGS, NULL },
    { "remove", cache_remove, METH_VARARGS, NULL },
    { "verify", cache_verify, METH_NOARGS, NULL },
    { "begin", cache_begin, METH_VARARGS, NULL },
    { "timings", cache_timings, METH_VARARGS, NULL },
    { "export", cache_export, METH_VARARGS, NULL },
    { "import_file", cache_import, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot cache_slots[] = {
    { Py_tp_new, cache_make },
    { Py_tp_dealloc, cache_dealloc },
    { Py_tp_methods, cache_methods },
    { 0, NULL },
};

PyType_Spec cache_spec = {
    .name = "guardcache._native.Cache",
    .basicsize = sizeof(cache_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = cache_slots,
};
