/*
 * The Fingerprint type, over guardcache/fingerprint.h.
 */
#include "../native.h"

/* Fingerprint: fingerprint is never NULL in an object that Python can reach. Touched with the interpreter lock alone, but for
   trees, which keep `busy` set meanwhile. */
typedef struct fingerprint_object {
    PyObject_HEAD
    gcache_fingerprint *fingerprint;
    bool busy;
} fingerprint_object;

/* NULL with an exception set, if another thread is reading a tree into it. */
static gcache_fingerprint *
fingerprint_of(PyObject *self)
{
    if (!((fingerprint_object *)self)->busy)
        return ((fingerprint_object *)self)->fingerprint;
    PyErr_SetString(PyExc_RuntimeError, "another thread is using this fingerprint");
    return NULL;
}

gcache_value *
fingerprint_value(PyObject *self, gcache_graph *graph)
{
    gcache_fingerprint *fingerprint = fingerprint_of(self);

    return fingerprint == NULL ? NULL : gcache_fingerprint_value(fingerprint, graph);
}

static PyObject *
fingerprint_make(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    fingerprint_object *self = (fingerprint_object *)alloc(type, 0);

    if (self == NULL)
        return NULL;
    if ((self->fingerprint = gcache_fingerprint_new()) == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void
fingerprint_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    gcache_fingerprint_free(((fingerprint_object *)self)->fingerprint);
    free_object(self);
    Py_DECREF(type);
}

/* ---- parts ---- */

typedef gcache_status (*add_fn)(gcache_fingerprint *fingerprint, char const *name, char const *what, gcache_error *error);

static PyObject *
add(PyObject *self, PyObject *args, add_fn function)
{
    gcache_fingerprint *fingerprint = fingerprint_of(self);
    char const *name, *what;
    gcache_error error;

    if (fingerprint == NULL || !PyArg_ParseTuple(args, "ss", &name, &what))
        return NULL;
    if (function(fingerprint, name, what, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    Py_RETURN_NONE;
}

/* fact(name, value) */
static PyObject *
fingerprint_fact(PyObject *self, PyObject *args)
{
    return add(self, args, gcache_fingerprint_fact);
}

/* file(name, path) */
static PyObject *
fingerprint_file(PyObject *self, PyObject *args)
{
    return add(self, args, gcache_fingerprint_file);
}

/* preset(name, hash) */
static PyObject *
fingerprint_preset(PyObject *self, PyObject *args)
{
    return add(self, args, gcache_fingerprint_preset);
}

/* tree(name, path, threads, suffixes, skip) */
static PyObject *
fingerprint_tree(PyObject *self, PyObject *args)
{
    gcache_fingerprint *fingerprint = fingerprint_of(self);
    gcache_tree_options options = GCACHE_TREE_OPTIONS_INIT;
    native_texts suffixes = { 0 }, skip = { 0 };
    PyObject *endings, *passed;
    char const *name, *path;
    gcache_status status = GCACHE_OK;
    gcache_error error;

    if (fingerprint == NULL
        || !PyArg_ParseTuple(args, "ssIOO", &name, &path, &options.threads, &endings, &passed))
        return NULL;
    bool readable = texts_read(endings, &suffixes) == 0 && texts_read(passed, &skip) == 0;
    if (readable) {
        options.suffixes = suffixes.items;
        options.suffix_count = suffixes.count;
        options.skip = skip.items;
        options.skip_count = skip.count;
        ((fingerprint_object *)self)->busy = true;
        Py_BEGIN_ALLOW_THREADS
        status = gcache_fingerprint_tree(fingerprint, name, path, &options, &error);
        Py_END_ALLOW_THREADS
        ((fingerprint_object *)self)->busy = false;
    }
    texts_clear(&suffixes);
    texts_clear(&skip);
    if (!readable)
        return NULL;
    if (status != GCACHE_OK)
        return raise_error(state_of(self), &error);
    Py_RETURN_NONE;
}

static PyObject *
fingerprint_clear(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_fingerprint *fingerprint = fingerprint_of(self);

    if (fingerprint == NULL)
        return NULL;
    gcache_fingerprint_clear(fingerprint);
    Py_RETURN_NONE;
}

/* ---- the index ---- */

typedef gcache_status (*index_fn)(gcache_fingerprint *fingerprint, char const *path, gcache_error *error);

static PyObject *
use_index(PyObject *self, PyObject *path, index_fn function)
{
    gcache_fingerprint *fingerprint = fingerprint_of(self);
    char const *file = fingerprint == NULL ? NULL : text_of(path);
    gcache_error error;

    if (file == NULL)
        return NULL;
    if (function(fingerprint, file, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    Py_RETURN_NONE;
}

static PyObject *
fingerprint_open_index(PyObject *self, PyObject *path)
{
    return use_index(self, path, gcache_fingerprint_index_open);
}

static PyObject *
fingerprint_save_index(PyObject *self, PyObject *path)
{
    return use_index(self, path, gcache_fingerprint_index_save);
}

/* ---- what comes out ---- */

static PyObject *
fingerprint_hash(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_fingerprint *fingerprint = fingerprint_of(self);
    char hex[GCACHE_KEY_HEX_SIZE];
    gcache_error error;
    gcache_key hash;

    if (fingerprint == NULL)
        return NULL;
    if (gcache_fingerprint_hash(fingerprint, &hash, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    gcache_key_to_hex(&hash, hex);
    return PyUnicode_FromString(hex);
}

/* A list that is NULL once there is an exception; item is taken over. */
static void
append(PyObject **list, PyObject *item)
{
    if (*list != NULL && (item == NULL || PyList_Append(*list, item) < 0))
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

static void
line_found(void *state, gcache_fingerprint_line const *line)
{
    PyObject **list = state;

    if (*list != NULL)
        append(list, Py_BuildValue("(NNNN)", text_new(line->part), text_new(line->path), text_new(line->value),
                                   PyBool_FromLong(line->read)));
}

/* lines() -> [(part, path, value, read)] */
static PyObject *
fingerprint_lines(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_fingerprint *fingerprint = fingerprint_of(self);
    PyObject *list = fingerprint == NULL ? NULL : PyList_New(0);

    if (list != NULL)
        gcache_fingerprint_each(fingerprint, line_found, &list);
    return list;
}

static PyObject *
fingerprint_write(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_fingerprint *fingerprint = fingerprint_of(self);
    char *text = NULL;
    gcache_error error;

    if (fingerprint == NULL)
        return NULL;
    gcache_status status = gcache_fingerprint_write(fingerprint, &text, &error);
    return text_taken(state_of(self), status, text, &error);
}

static void
change_found(void *state, gcache_fingerprint_change const *change)
{
    PyObject **list = state;

    if (*list != NULL)
        append(list, Py_BuildValue("(NNNN)", text_new(change->part), text_new(change->path), text_new(change->before),
                                   text_new(change->after)));
}

/* compare(written) -> [(part, path, before or None, after or None)] */
static PyObject *
fingerprint_compare(PyObject *self, PyObject *args)
{
    gcache_fingerprint *fingerprint = fingerprint_of(self);
    char const *written;
    gcache_error error;
    Py_ssize_t size;

    if (fingerprint == NULL || !PyArg_ParseTuple(args, "s#", &written, &size))
        return NULL;
    PyObject *list = PyList_New(0);
    if (list == NULL)
        return NULL;
    gcache_status status = gcache_fingerprint_compare(fingerprint, written, (size_t)size, change_found, &list, &error);
    if (list == NULL || status == GCACHE_OK)
        return list;
    Py_DECREF(list);
    return raise_error(state_of(self), &error);
}

static PyMethodDef fingerprint_methods[] = {
    { "fact", fingerprint_fact, METH_VARARGS, NULL },
    { "file", fingerprint_file, METH_VARARGS, NULL },
    { "tree", fingerprint_tree, METH_VARARGS, NULL },
    { "preset", fingerprint_preset, METH_VARARGS, NULL },
    { "clear", fingerprint_clear, METH_NOARGS, NULL },
    { "open_index", fingerprint_open_index, METH_O, NULL },
    { "save_index", fingerprint_save_index, METH_O, NULL },
    { "hash", fingerprint_hash, METH_NOARGS, NULL },
    { "lines", fingerprint_lines, METH_NOARGS, NULL },
    { "write", fingerprint_write, METH_NOARGS, NULL },
    { "compare", fingerprint_compare, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot fingerprint_slots[] = {
    { Py_tp_new, fingerprint_make },
    { Py_tp_dealloc, fingerprint_dealloc },
    { Py_tp_methods, fingerprint_methods },
    { 0, NULL },
};

PyType_Spec fingerprint_spec = {
    .name = "guardcache._native.Fingerprint",
    .basicsize = sizeof(fingerprint_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = fingerprint_slots,
};
