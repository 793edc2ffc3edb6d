/*
 * Python lists, mappings and texts as C sees them.
 */
#include "native.h"

#include <stdio.h>
#include <string.h>

char const *
text_of(PyObject *object)
{
    Py_ssize_t size;

    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "a text is needed, not %R", object);
        return NULL;
    }
    char const *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text != NULL && strlen(text) != (size_t)size) {
        PyErr_SetString(PyExc_ValueError, "a text with a null character");
        return NULL;
    }
    return text;
}

int
text_or_none(PyObject *object, char const **out_text)
{
    *out_text = object == Py_None ? NULL : text_of(object);
    return object != Py_None && *out_text == NULL ? -1 : 0;
}

/* As Python writes what it can't encode: "\\udc80", "\\x00". Bytes. */
static PyObject *
escaped(PyObject *text)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
    PyObject *whole = bytes == NULL ? NULL : PyObject_CallMethod(bytes, "replace", "y#y", "", (Py_ssize_t)1, "\\x00");

    Py_XDECREF(bytes);
    return whole;
}

int
shown_or_none(PyObject *object, char const **out_text, PyObject **kept)
{
    Py_ssize_t size = 0;

    *out_text = NULL;
    if (object == Py_None)
        return 0;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "a text is needed, not %R", object);
        return -1;
    }
    if ((*out_text = PyUnicode_AsUTF8AndSize(object, &size)) != NULL && strlen(*out_text) == (size_t)size)
        return 0;
    PyErr_Clear();
    PyObject *bytes = *kept == NULL && (*kept = PyList_New(0)) == NULL ? NULL : escaped(object);
    *out_text = bytes == NULL || PyList_Append(*kept, bytes) < 0 ? NULL : PyBytes_AsString(bytes);
    Py_XDECREF(bytes);
    return *out_text == NULL ? -1 : 0;
}

void
exception_shown(PyObject *exception, gcache_error *error)
{
    PyObject *text = exception == NULL ? NULL : PyObject_Str(exception);
    PyObject *kept = NULL;
    char const *shown = NULL;

    if (text == NULL || shown_or_none(text, &shown, &kept) < 0)
        PyErr_Clear();
    if (error != NULL)
        snprintf(error->message, sizeof error->message, "%s", shown != NULL ? shown : "an exception");
    Py_XDECREF(kept);
    Py_XDECREF(text);
}

PyObject *
text_tuple(char const *const *items, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);

    for (size_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *text = PyUnicode_FromString(items[i]);
        if (text == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, text) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* PyMem_Calloc of none may be NULL, which would look like a failure. */
static void *
array_new(Py_ssize_t count, size_t item_size)
{
    void *array = PyMem_Calloc((size_t)count + 1, item_size);

    if (array == NULL)
        PyErr_NoMemory();
    return array;
}

int
texts_read(PyObject *sequence, native_texts *out_texts)
{
    *out_texts = (native_texts){ 0 };
    if ((out_texts->owner = PySequence_Tuple(sequence)) == NULL)
        return -1;
    Py_ssize_t count = PyTuple_Size(out_texts->owner);
    if ((out_texts->items = array_new(count, sizeof *out_texts->items)) == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        if ((out_texts->items[i] = text_of(PyTuple_GetItem(out_texts->owner, i))) == NULL)
            return -1;
    }
    out_texts->count = (size_t)count;
    return 0;
}

void
texts_clear(native_texts *list)
{
    PyMem_Free((void *)list->items);
    Py_CLEAR(list->owner);
}

PyObject *
text_new(char const *text)
{
    return text == NULL ? Py_NewRef(Py_None) : PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *
text_taken(native_state *state, gcache_status status, char *text, gcache_error const *error)
{
    bool failed = status < 0 || status == GCACHE_REFUSED;
    PyObject *taken = failed ? raise_error(state, error) : text_new(text);

    gcache_free(text);
    return taken;
}

int
key_or_none(native_state *state, char const *hex, gcache_key *out_key)
{
    gcache_error error;

    if (hex == NULL || gcache_key_from_hex(hex, out_key, &error) == GCACHE_OK)
        return 0;
    raise_error(state, &error);
    return -1;
}

PyObject *
pairs_dict(gcache_pair const *items, size_t count)
{
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict != NULL && i < count; i++) {
        PyObject *value = text_new(items[i].value);
        if (value == NULL || PyDict_SetItemString(dict, items[i].name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* A mapping's pairs, as a list. */
static PyObject *
items_of(PyObject *mapping)
{
    PyObject *items = PyMapping_Items(mapping);

    if (items == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Format(PyExc_TypeError, "a mapping is needed, not %R", mapping);
    return items;
}

/* A list of pairs keeps also what a text of them was escaped to. */
static int
pair_text(PyObject *object, bool shown, char const **out_text, PyObject **list)
{
    return shown && object != Py_None ? shown_or_none(object, out_text, list) : (*out_text = text_of(object)) == NULL ? -1 : 0;
}

static int
read_pairs(PyObject *mapping, bool shown, native_pairs *out_pairs)
{
    *out_pairs = (native_pairs){ 0 };
    if (mapping == Py_None)
        return 0;
    if ((out_pairs->owner = items_of(mapping)) == NULL)
        return -1;
    Py_ssize_t count = PyList_Size(out_pairs->owner);
    if ((out_pairs->items = array_new(count, sizeof *out_pairs->items)) == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(out_pairs->owner, i);
        gcache_pair *pair = &out_pairs->items[i];
        if (pair_text(PyTuple_GetItem(item, 0), shown, &pair->name, &out_pairs->owner) < 0
            || pair_text(PyTuple_GetItem(item, 1), shown, &pair->value, &out_pairs->owner) < 0)
            return -1;
    }
    out_pairs->count = (size_t)count;
    return 0;
}

int
pairs_read(PyObject *mapping, native_pairs *out_pairs)
{
    return read_pairs(mapping, false, out_pairs);
}

int
pairs_read_shown(PyObject *mapping, native_pairs *out_pairs)
{
    return read_pairs(mapping, true, out_pairs);
}

void
pairs_clear(native_pairs *list)
{
    PyMem_Free(list->items);
    Py_CLEAR(list->owner);
}

/* The number that a value is: itself, or what its __index__ or __float__ says (a NumPy scalar). A new reference. */
static PyObject *
number_of(PyObject *value)
{
    if (PyLong_Check(value) || PyFloat_Check(value) || value == Py_None)
        return Py_NewRef(value);
    if (PyIndex_Check(value)) {
        PyObject *number = PyNumber_Index(value);
        if (number != NULL || !PyErr_ExceptionMatches(PyExc_TypeError))
            return number;
        PyErr_Clear();
    }
    if (!PyUnicode_Check(value) && PyObject_HasAttrString(value, "__float__"))
        return PyNumber_Float(value);
    PyErr_Format(PyExc_TypeError, "a hint is an int, a float, a bool, None or a number like these, not %R",
                 (PyObject *)Py_TYPE(value));
    return NULL;
}

/* A hint that is no 64-bit integer travels as its literal, which Python's repr writes. */
static int
hint_literal(native_hints *out_hints, PyObject *pair, char const *name, PyObject *number)
{
    PyObject *literal = PyObject_Repr(number);
    /* The tuple keeps name and literal alive in place of name and value. */
    PyObject *kept = literal == NULL ? NULL : PyTuple_Pack(2, pair, literal);
    Py_XDECREF(literal);
    if (kept == NULL || PyList_Append(out_hints->owner, kept) < 0) {
        Py_XDECREF(kept);
        return -1;
    }
    Py_DECREF(kept);
    gcache_hint_literal *item = &out_hints->literals[out_hints->view.literal_count++];
    item->name = name;
    item->literal = text_of(literal);
    return item->literal == NULL ? -1 : 0;
}

static int
hint_read(native_hints *out_hints, PyObject *pair)
{
    char const *name = text_of(PyTuple_GetItem(pair, 0));
    PyObject *number = name == NULL ? NULL : number_of(PyTuple_GetItem(pair, 1));
    int overflow = 1, outcome = 0;
    long long value = 0;

    if (number == NULL)
        return -1;
    if (PyLong_Check(number) && !PyBool_Check(number))
        value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0)
        outcome = hint_literal(out_hints, pair, name, number);
    else
        out_hints->items[out_hints->view.count++] = (gcache_hint){ .name = name, .value = value };
    Py_DECREF(number);
    return outcome;
}

int
hints_read(PyObject *mapping, native_hints *out_hints)
{
    *out_hints = (native_hints){ 0 };
    if (mapping == Py_None)
        return 0;
    out_hints->given = true;
    if ((out_hints->owner = items_of(mapping)) == NULL)
        return -1;
    Py_ssize_t count = PyList_Size(out_hints->owner);
    out_hints->items = array_new(count, sizeof *out_hints->items);
    out_hints->literals = array_new(count, sizeof *out_hints->literals);
    if (out_hints->items == NULL || out_hints->literals == NULL)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (hint_read(out_hints, PyList_GetItem(out_hints->owner, i)) < 0)
            return -1;
    }
    out_hints->view.items = out_hints->items;
    out_hints->view.literals = out_hints->literals;
    return 0;
}

void
hints_clear(native_hints *list)
{
    PyMem_Free(list->items);
    PyMem_Free(list->literals);
    Py_CLEAR(list->owner);
}

gcache_hints const *
hints_or_null(native_hints const *list)
{
    return list->given ? &list->view : NULL;
}
