/*
 * Methods of Cache over guardcache/blobs.h and share.h: files by their content, directories for a compiler's own caches, and
 * values for the other processes of a job.
 */
#include "../native.h"

#include <guardcache/share.h>

/* Bytes that the library handed out, which are freed; or the exception that stands for the error. */
static PyObject *
bytes_taken(native_state *state, gcache_status status, void *bytes, size_t size, gcache_error const *error)
{
    PyObject *taken = status == GCACHE_OK ? PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size) : raise_error(state, error);

    gcache_free(bytes);
    return taken;
}

/* put_blob(bytes, extension, name, extra, text) -> (name, path, existed), or None: nothing is cached */
PyObject *
cache_put_blob(PyObject *self, PyObject *args)
{
    gcache_blob_options options = GCACHE_BLOB_OPTIONS_INIT;
    gcache_blob blob = GCACHE_BLOB_INIT;
    char const *extension;
    gcache_status status = GCACHE_OK;
    gcache_error error;
    Py_buffer bytes;
    int text;

    if (!PyArg_ParseTuple(args, "y*zzzp", &bytes, &extension, &options.name, &options.extra, &text))
        return NULL;
    options.text = text != 0;
    gcache *cache = cache_enter(self);
    if (cache != NULL) {
        Py_BEGIN_ALLOW_THREADS
        status = gcache_blob_put(cache, bytes.buf, (size_t)bytes.len, extension, &options, &blob, &error);
        Py_END_ALLOW_THREADS
        cache_unuse(self);
    }
    PyBuffer_Release(&bytes);
    if (cache == NULL)
        return NULL;
    if (status < 0)
        return raise_error(state_of(self), &error);
    if (status == GCACHE_REFUSED)
        Py_RETURN_NONE;
    return Py_BuildValue("(sNN)", blob.name, PyUnicode_DecodeFSDefault(blob.path), PyBool_FromLong(blob.existed));
}

/* get_blob(name, extension, name again if it was the caller's or None, extra, text): as it was put */
PyObject *
cache_get_blob(PyObject *self, PyObject *args)
{
    gcache_blob_options options = GCACHE_BLOB_OPTIONS_INIT;
    char const *name, *extension;
    void *bytes = NULL;
    size_t size = 0;
    int text;
    gcache_status status;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "szzzp", &name, &extension, &options.name, &options.extra, &text))
        return NULL;
    options.text = text != 0;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_blob_get(cache, name, extension, &options, &bytes, &size, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    return bytes_taken(state_of(self), status, bytes, size, &error);
}

/* expire_blobs(age_ns) -> how many were removed */
PyObject *
cache_expire_blobs(PyObject *self, PyObject *args)
{
    unsigned long long age_ns;
    uint64_t removed = 0;
    gcache_status status;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "K", &age_ns))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_blobs_expire(cache, age_ns, &removed, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    return status == GCACHE_OK ? PyLong_FromUnsignedLongLong(removed) : raise_error(state_of(self), &error);
}

/* subdirectory(name, update) -> (path, update), or None: nothing is cached */
PyObject *
cache_subdirectory(PyObject *self, PyObject *args)
{
    gcache_access access = GCACHE_ACCESS_READ;
    char *path = NULL;
    char const *name;
    int update;
    gcache_status status;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "sp", &name, &update))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_subdirectory(cache, name, update ? GCACHE_ACCESS_UPDATE : GCACHE_ACCESS_READ, &access, &path, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    if (status == GCACHE_REFUSED)
        Py_RETURN_NONE;
    if (status != GCACHE_OK)
        return raise_error(state_of(self), &error);
    PyObject *place = PyUnicode_DecodeFSDefault(path);
    gcache_free(path);
    return place == NULL ? NULL : Py_BuildValue("(NN)", place, PyBool_FromLong(access == GCACHE_ACCESS_UPDATE));
}

/* share(job, name, value or None, timeout_ns): who gives a value leads. */
PyObject *
cache_share(PyObject *self, PyObject *args)
{
    gcache_share share = GCACHE_SHARE_INIT;
    unsigned long long timeout_ns;
    PyObject *value;
    void *bytes = NULL;
    size_t size = 0;
    Py_buffer buffer = { .obj = NULL };
    gcache_status status = GCACHE_OK;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "ssOK", &share.job, &share.name, &value, &timeout_ns)
        || (value != Py_None && PyObject_GetBuffer(value, &buffer, PyBUF_SIMPLE) < 0))
        return NULL;
    share.leader = value != Py_None;
    share.value = buffer.buf;
    share.value_size = (size_t)buffer.len;
    share.timeout_ns = timeout_ns;
    gcache *cache = cache_enter(self);
    if (cache != NULL) {
        Py_BEGIN_ALLOW_THREADS
        status = gcache_share_value(cache, &share, &bytes, &size, &error);
        Py_END_ALLOW_THREADS
        cache_unuse(self);
    }
    PyBuffer_Release(&buffer);
    return cache == NULL ? NULL : bytes_taken(state_of(self), status, bytes, size, &error);
}
