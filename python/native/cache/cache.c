/*
 * The Cache type: opening, closing, and its methods, most of which have a file of their own.
 */
#include "../native.h"

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
    PyObject *log, *listener;
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

/* Calls a function of the caller's with an argument that make gives, by any thread that has let the interpreter lock go, or never
   had it. What is raised is written to stderr, since there is nobody it could be told; but for Ctrl-C. */
static void
call_out(void *function, PyObject *(*make)(void const *told), void const *told)
{
    PyObject *type, *value, *traceback;
    PyGILState_STATE lock;

    if (!callback_begin(&lock))
        return;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *argument = make(told);
    PyObject *answer = argument == NULL ? NULL : PyObject_CallFunctionObjArgs(function, argument, NULL);
    if (answer == NULL && !pass_on_interrupt(PyErr_Occurred()))
        PyErr_WriteUnraisable(function);
    PyErr_Clear();
    Py_XDECREF(answer);
    Py_XDECREF(argument);
    PyErr_Restore(type, value, traceback);
    callback_end(lock);
}

static PyObject *
line_text(void const *line)
{
    return text_new(line);
}

static void
log_line(void *state, char const *line)
{
    call_out(state, line_text, line);
}

/* (kind, reason, key, graph_kind, label, variant, compile_ns, elapsed_ns, entries, bytes, text, line) */
static PyObject *
event_tuple(void const *told)
{
    gcache_event const *event = told;
    char line[GCACHE_EVENT_LINE_SIZE], hex[GCACHE_KEY_HEX_SIZE];

    gcache_event_line(event, line, sizeof line);
    gcache_key_to_hex(&event->key, hex);
    return Py_BuildValue("(sssNNNKKKKNN)", gcache_event_name(event->kind), gcache_reason_name(event->reason), hex,
                         text_new(event->graph_kind != NULL ? event->graph_kind : ""),
                         text_new(event->label != NULL ? event->label : ""),
                         text_new(event->variant != NULL ? event->variant : ""), (unsigned long long)event->compile_ns,
                         (unsigned long long)event->elapsed_ns, (unsigned long long)event->entries,
                         (unsigned long long)event->bytes, text_new(event->text != NULL ? event->text : ""), text_new(line));
}

static void
hear_event(void *state, gcache_event const *event)
{
    call_out(state, event_tuple, event);
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
    PyObject *log, *listener, *user_tiers;
} opening;

static void
opening_clear(opening *how)
{
    PyMem_Free((void *)(uintptr_t)how->options.signing);
    PyMem_Free((void *)(uintptr_t)how->options.user_tiers);
}

static void
call_back_to(gcache_options *options, PyObject *log, PyObject *listener)
{
    if (log != Py_None) {
        options->log = log_line;
        options->log_state = log;
    }
    if (listener != Py_None) {
        options->event = hear_event;
        options->event_state = listener;
    }
}

static int
options_read(native_state *state, PyObject *args, opening *out_how)
{
    gcache_options *options = &out_how->options;
    int read_only, strict, disabled, unsafe_skip_guards, refresh, durability, trust, require_signature, color, journal;
    Py_ssize_t max_candidates, memory_bytes, columns;
    unsigned long long max_size, flush_ns, max_age_ns;
    PyObject *keys;

    if (!PyArg_ParseTuple(args, "spppppziiznKnizOO!pnpzO!KKpO", &out_how->directory, &read_only, &strict, &disabled,
                          &unsafe_skip_guards, &refresh, &options->bypass, &durability, &trust, &options->namespace_,
                          &max_candidates, &max_size, &memory_bytes, &options->compression_level, &options->record,
                          &out_how->log, &PyTuple_Type, &keys, &require_signature, &columns, &color, &options->tiers,
                          &PyTuple_Type, &out_how->user_tiers, &flush_ns, &max_age_ns, &journal, &out_how->listener)
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
    options->max_age_ns = max_age_ns;
    options->no_journal = journal == 0;
    call_back_to(options, out_how->log, out_how->listener);
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
    self->listener = Py_NewRef(how->listener);
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
   flush_ns, max_age_ns, journal, listener): numbers may be 0 for the default. */
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

/* restore(text, tiers or None, user_tiers, log or None, listener or None) */
static PyObject *
cache_restore(PyObject *type, PyObject *args)
{
    opening how = { .options = GCACHE_OPTIONS_INIT };

    if (!PyArg_ParseTuple(args, "szO!OO", &how.saved, &how.options.tiers, &PyTuple_Type, &how.user_tiers, &how.log,
                          &how.listener)
        || user_tiers_read(PyType_GetModuleState((PyTypeObject *)type), how.user_tiers, &how.options) < 0) {
        opening_clear(&how);
        return NULL;
    }
    call_back_to(&how.options, how.log, how.listener);
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
    Py_CLEAR(cache_of(self)->listener);
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
    { "shadowed", cache_shadowed, METH_VARARGS, NULL },
    { "read_entry", cache_read_entry, METH_VARARGS, NULL },
    { "remove", cache_remove, METH_VARARGS, NULL },
    { "verify", cache_verify, METH_VARARGS, NULL },
    { "repair", cache_repair, METH_O, NULL },
    { "gc", cache_gc, METH_VARARGS, NULL },
    { "doctor", cache_doctor, METH_NOARGS, NULL },
    { "counters", cache_counters, METH_NOARGS, NULL },
    { "misses", cache_misses, METH_NOARGS, NULL },
    { "statistics", cache_statistics, METH_NOARGS, NULL },
    { "journal", cache_journal, METH_O, NULL },
    { "show_statistics", cache_show_statistics, METH_VARARGS, NULL },
    { "top", cache_top, METH_VARARGS, NULL },
    { "report", cache_report, METH_O, NULL },
    { "begin", cache_begin, METH_VARARGS, NULL },
    { "get_or_compile", cache_get_or_compile, METH_VARARGS, NULL },
    { "compile_many", cache_compile_many, METH_VARARGS, NULL },
    { "timings", cache_timings, METH_VARARGS, NULL },
    { "put_timings", cache_put_timings, METH_VARARGS, NULL },
    { "all_timings", cache_all_timings, METH_NOARGS, NULL },
    { "put_best", cache_put_best, METH_VARARGS, NULL },
    { "find_best", cache_find_best, METH_VARARGS, NULL },
    { "all_best", cache_all_best, METH_NOARGS, NULL },
    { "begin_bundle", cache_begin_bundle, METH_VARARGS, NULL },
    { "end_bundle", cache_end_bundle, METH_NOARGS, NULL },
    { "put_blob", cache_put_blob, METH_VARARGS, NULL },
    { "get_blob", cache_get_blob, METH_VARARGS, NULL },
    { "expire_blobs", cache_expire_blobs, METH_VARARGS, NULL },
    { "subdirectory", cache_subdirectory, METH_VARARGS, NULL },
    { "share", cache_share, METH_VARARGS, NULL },
    { "export", cache_export, METH_VARARGS, NULL },
    { "import_file", cache_import, METH_VARARGS, NULL },
    { "artifacts_begin", cache_artifacts_begin, METH_NOARGS, NULL },
    { "artifacts_end", cache_artifacts_end, METH_NOARGS, NULL },
    { "artifacts_dirty", cache_artifacts_dirty, METH_NOARGS, NULL },
    { "artifacts_add", cache_artifacts_add, METH_VARARGS, NULL },
    { "artifacts_save", cache_artifacts_save, METH_VARARGS, NULL },
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
