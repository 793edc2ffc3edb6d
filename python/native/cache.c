/*
 * The Cache type: opening, closing, lookup, explain, insert.
 */
#include "native.h"

#include <guardcache/share.h>
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
    PyObject *user_tiers; /* a tuple of UserTier: they stay until it is closed */
    size_t uses;
    bool closing;
} cache_object;

static cache_object *
cache_of(PyObject *self)
{
    return (cache_object *)self;
}

/* Tiers of Python's are left when the library has let go of them. */
static void
leave_tiers(cache_object *self)
{
    Py_ssize_t count = self->user_tiers == NULL ? 0 : PyTuple_Size(self->user_tiers);
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    for (Py_ssize_t i = 0; i < count; i++)
        user_tier_leave(PyTuple_GetItem(self->user_tiers, i));
    PyErr_Restore(type, value, traceback);
    Py_CLEAR(self->user_tiers);
}

static void
cache_close_unused(cache_object *self)
{
    gcache *cache = self->cache;

    if (cache == NULL || !self->closing || self->uses > 0)
        return;
    self->cache = NULL;
    /* The end of the process is no time to wait for a thread that is stuck in a tier of Python's. */
    if (callbacks_are_stuck() && self->user_tiers != NULL && PyTuple_Size(self->user_tiers) > 0)
        return;
    Py_BEGIN_ALLOW_THREADS
    gcache_close(cache);
    Py_END_ALLOW_THREADS
    leave_tiers(self);
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
    PyGILState_STATE lock;
    PyObject *type;
    PyObject *value;
    PyObject *traceback;

    if (!callback_begin(&lock))
        return;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = PyUnicode_DecodeUTF8(line, (Py_ssize_t)strlen(line), "replace");
    PyObject *answer = text == NULL ? NULL : PyObject_CallFunctionObjArgs(state, text, NULL);
    if (answer == NULL)
        PyErr_WriteUnraisable(state);
    Py_XDECREF(answer);
    Py_XDECREF(text);
    PyErr_Restore(type, value, traceback);
    callback_end(lock);
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

/* Tiers as a tuple of UserTier, which they borrow from. The array is freed with PyMem_Free. */
static int
user_tiers_read(native_state *state, PyObject *tuple, gcache_options *out_options)
{
    size_t count = (size_t)PyTuple_Size(tuple);
    gcache_tier_user *tiers = PyMem_Calloc(count + 1, sizeof *tiers);

    out_options->user_tiers = tiers;
    out_options->user_tier_count = count;
    if (tiers == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        PyObject *tier = PyTuple_GetItem(tuple, (Py_ssize_t)i);
        if (Py_TYPE(tier) != state->user_tier_type) {
            PyErr_SetString(PyExc_TypeError, "a tier is a URL or a guardcache.Tier");
            return -1;
        }
        tiers[i] = *user_tier_view(tier);
    }
    return 0;
}

/* What a Cache is opened with: a directory and options, or a saved handle and what it can't hold. */
typedef struct opening {
    char const *directory, *saved;
    gcache_options options;
    PyObject *log, *user_tiers;
} opening;

static void
opening_clear(opening *how)
{
    PyMem_Free((void *)(uintptr_t)how->options.signing);
    PyMem_Free((void *)(uintptr_t)how->options.user_tiers);
}

static void
log_to(gcache_options *options, PyObject *log)
{
    if (log == Py_None)
        return;
    options->log = log_line;
    options->log_state = log;
}

static int
options_read(native_state *state, PyObject *args, opening *out_how)
{
    gcache_options *options = &out_how->options;
    int read_only, strict, disabled, unsafe_skip_guards, refresh, durability, trust, require_signature, color;
    Py_ssize_t max_candidates, memory_bytes, columns;
    unsigned long long max_size, flush_ns;
    PyObject *keys;

    if (!PyArg_ParseTuple(args, "spppppziiznKnizOO!pnpzO!K", &out_how->directory, &read_only, &strict, &disabled,
                          &unsafe_skip_guards, &refresh, &options->bypass, &durability, &trust, &options->namespace_,
                          &max_candidates, &max_size, &memory_bytes, &options->compression_level, &options->record,
                          &out_how->log, &PyTuple_Type, &keys, &require_signature, &columns, &color, &options->tiers,
                          &PyTuple_Type, &out_how->user_tiers, &flush_ns)
        || keys_read(keys, options) < 0 || user_tiers_read(state, out_how->user_tiers, options) < 0)
        return -1;
    options->require_signature = require_signature != 0;
    options->columns = (size_t)columns;
    options->color = color != 0;
    options->read_only = read_only != 0;
    options->strict = strict != 0;
    options->disabled = disabled != 0;
    options->unsafe_skip_guards = unsafe_skip_guards != 0;
    options->refresh = refresh != 0;
    options->durability = (gcache_durability)durability;
    options->trust = (gcache_trust)trust;
    options->max_candidates = (size_t)max_candidates;
    options->max_size = max_size;
    options->memory_bytes = (size_t)memory_bytes;
    options->flush_ns = flush_ns;
    log_to(options, out_how->log);
    return 0;
}

/* Takes over how. NULL with an exception set. */
static PyObject *
cache_open(PyTypeObject *type, opening *how)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    cache_object *self = (cache_object *)alloc(type, 0);
    gcache_error error;
    gcache_status status;

    if (self == NULL) {
        opening_clear(how);
        return NULL;
    }
    self->log = Py_NewRef(how->log);
    Py_BEGIN_ALLOW_THREADS
    status = how->saved == NULL ? gcache_open(how->directory, &how->options, &self->cache, &error)
                                : gcache_handle_open(how->saved, &how->options, &self->cache, &error);
    Py_END_ALLOW_THREADS
    opening_clear(how);
    if (status != GCACHE_OK) {
        self->cache = NULL;
        Py_DECREF(self);
        return raise_error(PyType_GetModuleState(type), &error);
    }
    self->user_tiers = Py_NewRef(how->user_tiers);
    return (PyObject *)self;
}

/* Cache(directory, read_only, strict, disabled, unsafe_skip_guards, refresh, bypass, durability, trust, namespace, max_candidates,
   max_size, memory_bytes, compression_level, record, log, signing, require_signature, columns, color, tiers, user_tiers,
   flush_ns): numbers may be 0 for the default. */
static PyObject *
cache_make(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    opening how = { .options = GCACHE_OPTIONS_INIT };

    if (options_read(PyType_GetModuleState(type), args, &how) < 0) {
        opening_clear(&how);
        return NULL;
    }
    return cache_open(type, &how);
}

/* restore(text, tiers or None, user_tiers, log or None) */
static PyObject *
cache_restore(PyObject *type, PyObject *args)
{
    opening how = { .options = GCACHE_OPTIONS_INIT };

    if (!PyArg_ParseTuple(args, "szO!O", &how.saved, &how.options.tiers, &PyTuple_Type, &how.user_tiers, &how.log)
        || user_tiers_read(PyType_GetModuleState((PyTypeObject *)type), how.user_tiers, &how.options) < 0) {
        opening_clear(&how);
        return NULL;
    }
    log_to(&how.options, how.log);
    return cache_open((PyTypeObject *)type, &how);
}

/* save() -> the text that restore takes */
static PyObject *
cache_save(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache *cache = cache_enter(self);
    gcache_status status;
    gcache_error error;
    char *text = NULL;

    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_handle_save(cache, &text, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    if (status != GCACHE_OK)
        return raise_error(state_of(self), &error);
    PyObject *saved = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
    gcache_free(text);
    return saved;
}

static void
cache_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    cache_of(self)->closing = true;
    cache_close_unused(cache_of(self));
    Py_CLEAR(cache_of(self)->log);
    Py_CLEAR(cache_of(self)->user_tiers);
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

/* idle() -> whether nobody uses it any more */
static PyObject *
cache_idle(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(cache_of(self)->uses == 0);
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

static PyMethodDef cache_methods[] = {
    { "close", cache_close, METH_NOARGS, NULL },
    { "closed", cache_closed, METH_NOARGS, NULL },
    { "idle", cache_idle, METH_NOARGS, NULL },
    { "save", cache_save, METH_NOARGS, NULL },
    { "restore", cache_restore, METH_VARARGS | METH_CLASS, NULL },
    { "tiers", cache_tiers, METH_NOARGS, NULL },
    { "ping", cache_ping, METH_NOARGS, NULL },
    { "flush", cache_flush, METH_VARARGS, NULL },
    { "sync", cache_sync, METH_VARARGS, NULL },
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
    { "get_or_compile", cache_get_or_compile, METH_VARARGS, NULL },
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
