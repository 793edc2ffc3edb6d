/*
 * Python values as values of a graph.
 */
#include "../native.h"

/*
 * Python values become description values by their exact kind: bool is no int, Symbolic, Enum and Node are more than
 * the str and int they derive from. A mapping or sequence of another type is a map or a list, a number that has __index__ an
 * integer. docs/formats/description.md says what each kind means.
 */

/* A list's or tuple's items as values. Free *out_values with PyMem_Free, also after -1. */
static int
items_read(native_state *state, gcache_graph *graph, PyObject *tuple, gcache_value ***out_values)
{
    Py_ssize_t count = PyTuple_Size(tuple);

    *out_values = PyMem_Calloc((size_t)count + 1, sizeof **out_values);
    if (*out_values == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (value_read(state, graph, PyTuple_GetItem(tuple, i), &(*out_values)[i]) < 0)
            return -1;
    }
    return 0;
}

typedef gcache_value *(*items_fn)(gcache_graph *graph, gcache_value *const *items, size_t count);

static int
sequence_read(native_state *state, gcache_graph *graph, PyObject *object, items_fn make, gcache_value **out_value)
{
    gcache_value **values = NULL;
    PyObject *tuple = PySequence_Tuple(object);
    int outcome = tuple == NULL ? -1 : items_read(state, graph, tuple, &values);

    if (outcome == 0)
        *out_value = make(graph, values, (size_t)PyTuple_Size(tuple));
    PyMem_Free((void *)values);
    Py_XDECREF(tuple);
    return outcome;
}

static int
map_read(native_state *state, gcache_graph *graph, PyObject *mapping, gcache_value **out_value)
{
    native_texts names = { 0 };
    gcache_value **values = NULL;
    int outcome = -1;

    PyObject *keys = PyMapping_Keys(mapping);
    PyObject *items = PyMapping_Values(mapping);
    PyObject *tuple = items == NULL ? NULL : PySequence_Tuple(items);
    if (keys == NULL || tuple == NULL || texts_read(keys, &names) < 0)
        goto cleanup;
    if (items_read(state, graph, tuple, &values) < 0)
        goto cleanup;
    *out_value = gcache_value_map(graph, names.items, values, names.count);
    outcome = 0;
cleanup:
    PyMem_Free((void *)values);
    texts_clear(&names);
    Py_XDECREF(tuple);
    Py_XDECREF(items);
    Py_XDECREF(keys);
    return outcome;
}

static int
tensor_read(native_state *state, gcache_graph *graph, PyObject *tensor, gcache_value **out_value)
{
    PyObject *members = PyObject_CallMethod(tensor, "members", NULL);
    int outcome = members == NULL ? -1 : map_read(state, graph, members, out_value);

    if (outcome == 0)
        *out_value = gcache_value_tensor(graph, *out_value);
    Py_XDECREF(members);
    return outcome;
}

static int
integer_read(gcache_graph *graph, PyObject *object, gcache_value **out_value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(object, &overflow);

    if (overflow == 0) {
        *out_value = gcache_value_int(graph, number);
        return number == -1 && PyErr_Occurred() ? -1 : 0;
    }
    PyObject *decimal = PyObject_Str(object);
    char const *text = decimal == NULL ? NULL : text_of(decimal);
    if (text != NULL)
        *out_value = gcache_value_int_text(graph, text);
    Py_XDECREF(decimal);
    return text == NULL ? -1 : 0;
}

static int
text_read(native_state *state, gcache_graph *graph, PyObject *object, gcache_value **out_value)
{
    Py_ssize_t size;
    char const *text = PyUnicode_AsUTF8AndSize(object, &size);

    if (text == NULL)
        return -1;
    if (Py_TYPE(object) == state->symbolic_type)
        *out_value = gcache_value_symbolic(graph, text);
    else if (Py_TYPE(object) == state->enum_type)
        *out_value = gcache_value_enum(graph, text);
    else if (Py_TYPE(object) == state->json_type)
        *out_value = gcache_value_json(graph, text, (size_t)size);
    else
        *out_value = gcache_value_text(graph, text, (size_t)size);
    return 0;
}

static int
bytes_read(gcache_graph *graph, PyObject *object, gcache_value **out_value)
{
    Py_buffer buffer;

    if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) < 0)
        return -1;
    *out_value = gcache_value_bytes(graph, buffer.buf, (size_t)buffer.len);
    PyBuffer_Release(&buffer);
    return 0;
}

/* The kinds that hold no others. 1: it was one of them, 0: it wasn't, -1: an exception is set. */
static int
scalar_read(native_state *state, gcache_graph *graph, PyObject *object, gcache_value **out_value)
{
    int outcome = 0;

    if (object == Py_None)
        *out_value = gcache_value_null(graph);
    else if (PyBool_Check(object))
        *out_value = gcache_value_bool(graph, object == Py_True);
    else if (Py_TYPE(object) == state->node_type)
        *out_value = gcache_value_node(graph, (gcache_node)PyLong_AsUnsignedLong(object));
    else if (PyLong_Check(object))
        outcome = integer_read(graph, object, out_value);
    else if (PyFloat_Check(object))
        *out_value = gcache_value_float(graph, PyFloat_AsDouble(object));
    else if (PyUnicode_Check(object))
        outcome = text_read(state, graph, object, out_value);
    else if (PyBytes_Check(object) || PyByteArray_Check(object) || PyMemoryView_Check(object))
        outcome = bytes_read(graph, object, out_value);
    else
        return 0;
    return outcome < 0 ? -1 : 1;
}

/* A guardcache.Fingerprint, which holds a native one. 1: it is one, 0: it isn't, -1: an exception is set. */
static int
fingerprint_read(native_state *state, gcache_graph *graph, PyObject *object, gcache_value **out_value)
{
    PyObject *native = PyObject_GetAttrString(object, "_native");
    bool is_one = native != NULL && Py_TYPE(native) == state->fingerprint_type;

    PyErr_Clear();
    if (is_one)
        *out_value = fingerprint_value(native, graph);
    Py_XDECREF(native);
    return PyErr_Occurred() ? -1 : is_one;
}

/* A scalar of an array library (np.float32(1), np.bool_(1)): what it is in Python. 1: it is one, 0: it isn't, -1: an exception is
   set. */
static int
array_scalar_read(native_state *state, gcache_graph *graph, PyObject *object, gcache_value **out_value)
{
    PyObject *shape = PyObject_GetAttrString(object, "shape");
    bool is_one = shape != NULL && PyTuple_Check(shape) && PyTuple_Size(shape) == 0;

    PyErr_Clear();
    Py_XDECREF(shape);
    PyObject *item = is_one ? PyObject_CallMethod(object, "item", NULL) : NULL;
    int outcome = item == NULL ? 0 : scalar_read(state, graph, item, out_value);
    if (item == NULL)
        PyErr_Clear();
    Py_XDECREF(item);
    return outcome;
}

/* What is no built-in kind: a mapping or a sequence of any other type, a number (a NumPy scalar), a fingerprint. */
static int
other_read(native_state *state, gcache_graph *graph, PyObject *object, gcache_value **out_value)
{
    int kind = fingerprint_read(state, graph, object, out_value);
    if (kind == 0)
        kind = array_scalar_read(state, graph, object, out_value);
    if (kind != 0)
        return kind < 0 ? -1 : 0;
    if (PyIndex_Check(object)) {
        PyObject *number = PyNumber_Index(object);
        int outcome = number == NULL ? -1 : integer_read(graph, number, out_value);
        Py_XDECREF(number);
        return outcome;
    }
    kind = PyObject_IsInstance(object, state->mapping_type);
    if (kind != 0)
        return kind < 0 ? -1 : map_read(state, graph, object, out_value);
    kind = PyObject_IsInstance(object, state->sequence_type);
    if (kind != 0)
        return kind < 0 ? -1 : sequence_read(state, graph, object, gcache_value_list, out_value);
    PyErr_Format(PyExc_TypeError, "a description can't hold %R", (PyObject *)Py_TYPE(object));
    return -1;
}

int
value_read(native_state *state, gcache_graph *graph, PyObject *object, gcache_value **out_value)
{
    int outcome = scalar_read(state, graph, object, out_value);

    if (outcome != 0)
        return outcome < 0 ? -1 : 0;
    if (Py_EnterRecursiveCall(" while describing a value") != 0)
        return -1;
    if (Py_TYPE(object) == state->tensor_type)
        outcome = tensor_read(state, graph, object, out_value);
    else if (PyTuple_Check(object))
        outcome = sequence_read(state, graph, object, gcache_value_tuple, out_value);
    else if (PyList_Check(object))
        outcome = sequence_read(state, graph, object, gcache_value_list, out_value);
    else if (PyAnySet_Check(object))
        outcome = sequence_read(state, graph, object, gcache_value_set, out_value);
    else if (PyDict_Check(object))
        outcome = map_read(state, graph, object, out_value);
    else
        outcome = other_read(state, graph, object, out_value);
    Py_LeaveRecursiveCall();
    return outcome;
}
