/*
 * Methods of Cache over guardcache/artifacts.h: export and import, and what a run uses.
 */
#include "../native.h"

#include <stdio.h>

/* ---- what was left out ---- */

static void
left_out(void *state, gcache_error const *why)
{
    gathering *g = state;

    if (gather_enter(g))
        gather_leave(g, text_new(why->message));
}

static void
unmet(void *state, gcache_key const *key, char const *entry, char const *name, char const *required, char const *provided)
{
    gathering *g = state;
    char message[512];

    (void)key;
    snprintf(message, sizeof message, "entry %s requires %s=%s, here it is %s", entry, name, required,
             provided != NULL ? provided : "not given");
    if (gather_enter(g))
        gather_leave(g, text_new(message));
}

/* (entries, keys, attachments, blobs, rows, artifacts, existed, unmet, left_out, bytes, reasons), which is taken over */
static PyObject *
transfer_tuple(gcache_transfer const *sums, PyObject *reasons)
{
    if (reasons == NULL)
        return NULL;
    return Py_BuildValue("(KKKKKKKKKKN)", (unsigned long long)sums->entries, (unsigned long long)sums->keys,
                         (unsigned long long)sums->attachments, (unsigned long long)sums->blobs,
                         (unsigned long long)sums->rows, (unsigned long long)sums->artifacts,
                         (unsigned long long)sums->existed, (unsigned long long)sums->unmet,
                         (unsigned long long)sums->left_out, (unsigned long long)sums->bytes, reasons);
}

/* ---- export ---- */

/* export(file, key, label, namespace, since_ns, until_ns, entries_only, progress or None) */
PyObject *
cache_export(PyObject *self, PyObject *args)
{
    gcache_export_options options = GCACHE_EXPORT_OPTIONS_INIT;
    gcache_transfer sums = GCACHE_TRANSFER_INIT;
    unsigned long long since_ns, until_ns;
    char const *file, *hex;
    PyObject *progress;
    int entries_only;
    gcache_error error;
    gcache_key key;
    gathering g;

    if (!PyArg_ParseTuple(args, "szzzKKpO", &file, &hex, &options.label, &options.namespace_, &since_ns, &until_ns,
                          &entries_only, &progress)
        || key_or_none(state_of(self), hex, &key) < 0)
        return NULL;
    options.key = hex != NULL ? &key : NULL;
    options.since_ns = since_ns;
    options.until_ns = until_ns;
    options.entries_only = entries_only != 0;
    options.left_out = left_out;
    options.progress = gather_progress;
    options.state = &g;
    gcache *cache = gather_begin(&g, self, progress);
    if (cache == NULL)
        return NULL;
    gcache_status status = gcache_export(cache, file, &options, &sums, &error);
    return transfer_tuple(&sums, gather_end(&g, self, status, &error));
}

/* show_export(file) -> its manifest, JSON */
PyObject *
library_show_export(PyObject *module, PyObject *args)
{
    char const *file;
    char *text = NULL;
    gcache_status status;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "s", &file))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_export_show(file, &text, &error);
    Py_END_ALLOW_THREADS
    return text_taken(PyModule_GetState(module), status, text, &error);
}

/* ---- import ---- */

typedef struct importing {
    gathering gathering; /* first: callbacks take one for the other */
    PyObject *artifact;  /* (kind, name, bytes); None: artifacts of the caller's kinds are passed over */
} importing;

static gcache_status
artifact_found(void *state, char const *kind, char const *name, void const *bytes, size_t size, gcache_error *error)
{
    importing *i = state;

    (void)error;
    if (!gather_enter(&i->gathering))
        return GCACHE_ERROR_ARGUMENT;
    PyObject *answer = PyObject_CallFunction(i->artifact, "ssy#", kind, name, size > 0 ? bytes : "", (Py_ssize_t)size);
    i->gathering.raised = answer == NULL;
    Py_XDECREF(answer);
    i->gathering.thread = PyEval_SaveThread();
    return i->gathering.raised ? GCACHE_ERROR_ARGUMENT : GCACHE_OK;
}

/* import_file(file, provides or None, artifact or None, progress or None): with None requirements aren't looked at. */
PyObject *
cache_import(PyObject *self, PyObject *args)
{
    gcache_import_options options = GCACHE_IMPORT_OPTIONS_INIT;
    gcache_transfer sums = GCACHE_TRANSFER_INIT;
    native_pairs provides = { 0 };
    PyObject *given, *progress, *answer = NULL;
    importing i = { .artifact = NULL };
    char const *file;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "sOOO", &file, &given, &i.artifact, &progress))
        return NULL;
    gcache *cache = pairs_read(given, &provides) < 0 ? NULL : gather_begin(&i.gathering, self, progress);
    if (cache != NULL) {
        options.provides = provides.items;
        options.provides_count = provides.count;
        options.check_requirements = given != Py_None;
        options.unmet = unmet;
        options.left_out = left_out;
        options.artifact = i.artifact == Py_None ? NULL : artifact_found;
        options.watch = gather_progress;
        options.state = &i;
        gcache_status status = gcache_import(cache, file, &options, &sums, &error);
        i.gathering.may_be_refused = sums.left_out > 0;
        answer = transfer_tuple(&sums, gather_end(&i.gathering, self, status, &error));
    }
    pairs_clear(&provides);
    return answer;
}

/* ---- what a run uses ---- */

/* artifacts_begin() */
PyObject *
cache_artifacts_begin(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache *cache = cache_enter(self);
    gcache_status status;
    gcache_error error;

    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_artifacts_begin(cache, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    if (status != GCACHE_OK)
        return raise_error(state_of(self), &error);
    Py_RETURN_NONE;
}

/* artifacts_end() */
PyObject *
cache_artifacts_end(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache *cache = cache_enter(self);

    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    gcache_artifacts_end(cache);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    Py_RETURN_NONE;
}

/* artifacts_dirty() */
PyObject *
cache_artifacts_dirty(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache *cache = cache_enter(self);
    bool dirty;

    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    dirty = gcache_artifacts_dirty(cache);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    return PyBool_FromLong(dirty);
}

/* artifacts_add(kind, name, bytes) */
PyObject *
cache_artifacts_add(PyObject *self, PyObject *args)
{
    char const *kind, *name;
    gcache_error error;
    Py_buffer bytes;

    if (!PyArg_ParseTuple(args, "ssy*", &kind, &name, &bytes))
        return NULL;
    gcache *cache = cache_enter(self);
    gcache_status status = GCACHE_OK;
    if (cache != NULL) {
        Py_BEGIN_ALLOW_THREADS
        status = gcache_artifacts_add(cache, kind, name, bytes.buf, (size_t)bytes.len, &error);
        Py_END_ALLOW_THREADS
        cache_unuse(self);
    }
    PyBuffer_Release(&bytes);
    if (cache == NULL)
        return NULL;
    if (status != GCACHE_OK)
        return raise_error(state_of(self), &error);
    Py_RETURN_NONE;
}

/* artifacts_save(file) -> as export */
PyObject *
cache_artifacts_save(PyObject *self, PyObject *args)
{
    gcache_transfer sums = GCACHE_TRANSFER_INIT;
    char const *file;
    gcache_error error;
    gathering g;

    if (!PyArg_ParseTuple(args, "s", &file))
        return NULL;
    gcache *cache = gather_begin(&g, self, Py_None);
    if (cache == NULL)
        return NULL;
    gcache_status status = gcache_artifacts_save(cache, file, &sums, &error);
    return transfer_tuple(&sums, gather_end(&g, self, status, &error));
}
