/*
 * Cache.export and import.
 */
#include "native.h"

#include <stdio.h>
#include <string.h>

#include <guardcache/artifacts.h>

/* Export and import. */

/* What was left out, gathered while the interpreter lock is let go. */
typedef struct left_out_list {
    PyObject *list;
    PyThreadState *thread;
} left_out_list;

static void
append_text(left_out_list *found, char const *message)
{
    PyEval_RestoreThread(found->thread);
    PyObject *text = PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "replace");
    if (text == NULL || PyList_Append(found->list, text) < 0)
        PyErr_Clear(); /* no memory: the count still tells */
    Py_XDECREF(text);
    found->thread = PyEval_SaveThread();
}

static void
left_out(void *state, gcache_error const *why)
{
    append_text(state, why->message);
}

static void
unmet(void *state, gcache_key const *key, char const *entry, char const *name, char const *required, char const *provided)
{
    char message[512];

    (void)key;
    snprintf(message, sizeof message, "entry %s requires %s=%s, here it is %s", entry, name, required,
             provided != NULL ? provided : "not given");
    append_text(state, message);
}

/* (entries, keys, attachments, blobs, rows, artifacts, existed, unmet, left_out, bytes, reasons) */
static PyObject *
transfer_tuple(gcache_transfer const *sums, PyObject *reasons)
{
    return Py_BuildValue("(KKKKKKKKKKO)", (unsigned long long)sums->entries, (unsigned long long)sums->keys,
                         (unsigned long long)sums->attachments, (unsigned long long)sums->blobs,
                         (unsigned long long)sums->rows, (unsigned long long)sums->artifacts,
                         (unsigned long long)sums->existed, (unsigned long long)sums->unmet,
                         (unsigned long long)sums->left_out, (unsigned long long)sums->bytes, reasons);
}

/* export(file, key, label, namespace, since_ns, until_ns, entries_only) */
PyObject *
cache_export(PyObject *self, PyObject *args)
{
    gcache_export_options options = GCACHE_EXPORT_OPTIONS_INIT;
    char const *file, *hex;
    unsigned long long since_ns, until_ns;
    int entries_only;
    gcache_transfer sums = GCACHE_TRANSFER_INIT;
    gcache_error error;
    gcache_key key;
    left_out_list found;

    if (!PyArg_ParseTuple(args, "szzzKKp", &file, &hex, &options.label, &options.namespace_, &since_ns, &until_ns,
                          &entries_only))
        return NULL;
    if (hex != NULL && gcache_key_from_hex(hex, &key, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    options.key = hex != NULL ? &key : NULL;
    options.since_ns = since_ns;
    options.until_ns = until_ns;
    options.entries_only = entries_only != 0;
    options.left_out = left_out;
    options.state = &found;
    found.list = PyList_New(0);
    gcache_status status = GCACHE_ERROR_MEMORY;
    if (found.list != NULL) {
        found.thread = PyEval_SaveThread();
        status = gcache_export(cache, file, &options, &sums, &error);
        PyEval_RestoreThread(found.thread);
    }
    cache_unuse(self);
    PyObject *answer = found.list == NULL ? NULL
                       : status < 0       ? raise_error(state_of(self), &error)
                                          : transfer_tuple(&sums, found.list);
    Py_XDECREF(found.list);
    return answer;
}

/* import_file(file, provides or None): with None requirements aren't looked at. */
PyObject *
cache_import(PyObject *self, PyObject *args)
{
    gcache_import_options options = GCACHE_IMPORT_OPTIONS_INIT;
    native_pairs provides = { 0 };
    PyObject *given, *answer = NULL;
    char const *file;
    gcache_transfer sums = GCACHE_TRANSFER_INIT;
    gcache_error error;
    left_out_list found = { 0 };

    if (!PyArg_ParseTuple(args, "sO", &file, &given))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    if (pairs_read(given, &provides) < 0 || (found.list = PyList_New(0)) == NULL)
        goto cleanup;
    options.provides = provides.items;
    options.provides_count = provides.count;
    options.check_requirements = given != Py_None;
    options.unmet = unmet;
    options.left_out = left_out;
    options.state = &found;
    found.thread = PyEval_SaveThread();
    gcache_status status = gcache_import(cache, file, &options, &sums, &error);
    PyEval_RestoreThread(found.thread);
    bool failed = status < 0 || (status == GCACHE_REFUSED && sums.left_out == 0);
    answer = failed ? raise_error(state_of(self), &error) : transfer_tuple(&sums, found.list);
cleanup:
    Py_XDECREF(found.list);
    pairs_clear(&provides);
    cache_unuse(self);
    return answer;
}
