/*
 * The Graph type, over the builder of guardcache/graph.h.
 */
#include "../native.h"

/*
 * Graph: a description under construction, then finished.
 *
 * 1. graph is never NULL in an object that Python can reach.
 * 2. finished is set by the first call that needs the key, under the interpreter lock and whether or not there is one; from
 *    then on nothing is added, so library calls may read the graph without the lock.
 */
typedef struct graph_object {
    PyObject_HEAD
    gcache_graph *graph;
    bool finished;
    PyObject *rules; /* which it uses in place of those of its kind; NULL: those */
} graph_object;

static graph_object *
graph_of(PyObject *self)
{
    return (graph_object *)self;
}

static PyObject *
graph_wrap(PyTypeObject *type, gcache_graph *graph)
{
    if (graph == NULL)
        return PyErr_NoMemory();
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    graph_object *self = (graph_object *)alloc(type, 0);
    if (self == NULL)
        gcache_graph_free(graph);
    else
        self->graph = graph;
    return (PyObject *)self;
}

/* Graph(kind, key): with a key in hex instead of None it is a keyed description. */
static PyObject *
graph_make(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    char const *kind;
    char const *hex = NULL;
    gcache_key key;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "sz", &kind, &hex))
        return NULL;
    if (hex == NULL)
        return graph_wrap(type, gcache_graph_new(kind));
    if (gcache_key_from_hex(hex, &key, &error) != GCACHE_OK)
        return raise_error(PyType_GetModuleState(type), &error);
    return graph_wrap(type, gcache_graph_new_keyed(kind, &key));
}

/* Graph.read(text, name): from the text of a description file. */
static PyObject *
graph_read(PyObject *type, PyObject *args)
{
    char const *text;
    char const *name;
    Py_ssize_t size;
    gcache_graph *graph = NULL;
    gcache_error error;
    gcache_status status;

    if (!PyArg_ParseTuple(args, "s#s", &text, &size, &name))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_graph_read(text, (size_t)size, name, &graph, &error);
    Py_END_ALLOW_THREADS
    if (status != GCACHE_OK)
        return raise_error(PyType_GetModuleState((PyTypeObject *)type), &error);
    return graph_wrap((PyTypeObject *)type, graph);
}

static void
graph_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    gcache_graph_free(graph_of(self)->graph);
    Py_CLEAR(graph_of(self)->rules);
    free_object(self);
    Py_DECREF(type);
}

gcache_graph *
graph_given(native_state *state, PyObject *object)
{
    if (Py_TYPE(object) != state->graph_type) {
        PyErr_SetString(PyExc_TypeError, "a guardcache.Graph is needed");
        return NULL;
    }
    graph_of(object)->finished = true;
    return graph_of(object)->graph;
}

gcache_graph *
graph_finished(native_state *state, PyObject *object)
{
    gcache_graph *graph = graph_given(state, object);
    gcache_key key;
    gcache_error error;

    if (graph != NULL && gcache_graph_key(graph, &key, &error) != GCACHE_OK)
        return (gcache_graph *)raise_error(state, &error);
    return graph;
}

/* The graph for a call that adds to it. */
static gcache_graph *
graph_open(PyObject *self)
{
    if (!graph_of(self)->finished)
        return graph_of(self)->graph;
    PyErr_SetString(PyExc_ValueError, "the description is finished: its key was computed");
    return NULL;
}

static PyObject *
node_object(PyObject *self, gcache_node node)
{
    return PyObject_CallFunction((PyObject *)state_of(self)->node_type, "I", (unsigned)node);
}

static PyObject *
graph_input(PyObject *self, PyObject *args)
{
    char const *name;
    PyObject *object;
    gcache_value *value = NULL;
    gcache_graph *graph = graph_open(self);

    if (graph == NULL || !PyArg_ParseTuple(args, "sO", &name, &object)
        || value_read(state_of(self), graph, object, &value) < 0)
        return NULL;
    return node_object(self, gcache_graph_input_value(graph, name, value));
}

static int
kwargs_add(native_state *state, gcache_graph *graph, gcache_node node, PyObject *kwargs)
{
    PyObject *name;
    PyObject *object;
    Py_ssize_t at = 0;

    while (PyDict_Next(kwargs, &at, &name, &object)) {
        char const *text = text_of(name);
        gcache_value *value = NULL;
        if (text == NULL || value_read(state, graph, object, &value) < 0)
            return -1;
        gcache_graph_kwarg(graph, node, text, value);
    }
    return 0;
}

/* node(op, target, args, kwargs) */
static PyObject *
graph_node(PyObject *self, PyObject *arguments)
{
    native_state *state = state_of(self);
    char const *op;
    char const *target;
    PyObject *args;
    PyObject *kwargs;
    gcache_graph *graph = graph_open(self);

    if (graph == NULL
        || !PyArg_ParseTuple(arguments, "ssO!O!", &op, &target, &PyTuple_Type, &args, &PyDict_Type, &kwargs))
        return NULL;
    Py_ssize_t count = PyTuple_Size(args);
    gcache_value **values = PyMem_Calloc((size_t)count + 1, sizeof *values);
    if (values == NULL)
        return PyErr_NoMemory();
    gcache_node node = 0;
    int outcome = 0;
    for (Py_ssize_t i = 0; i < count && outcome == 0; i++)
        outcome = value_read(state, graph, PyTuple_GetItem(args, i), &values[i]);
    if (outcome == 0) {
        node = gcache_graph_node(graph, op, target, values, (size_t)count);
        outcome = kwargs_add(state, graph, node, kwargs);
    }
    PyMem_Free((void *)values);
    return outcome < 0 ? NULL : node_object(self, node);
}

static PyObject *
graph_output(PyObject *self, PyObject *object)
{
    gcache_value *value = NULL;
    gcache_graph *graph = graph_open(self);

    if (graph == NULL || value_read(state_of(self), graph, object, &value) < 0)
        return NULL;
    gcache_graph_outputs(graph, value);
    Py_RETURN_NONE;
}

static PyObject *
graph_component(PyObject *self, PyObject *args)
{
    char const *name;
    PyObject *object;
    gcache_value *value = NULL;
    gcache_graph *graph = graph_open(self);

    if (graph == NULL || !PyArg_ParseTuple(args, "sO", &name, &object)
        || value_read(state_of(self), graph, object, &value) < 0)
        return NULL;
    gcache_graph_component(graph, name, value);
    Py_RETURN_NONE;
}

static PyObject *
graph_subgraph_begin(PyObject *self, PyObject *name)
{
    gcache_graph *graph = graph_open(self);
    char const *text = graph == NULL ? NULL : text_of(name);

    if (text == NULL)
        return NULL;
    gcache_graph_subgraph_begin(graph, text);
    Py_RETURN_NONE;
}

static PyObject *
graph_subgraph_end(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_graph *graph = graph_open(self);

    if (graph == NULL)
        return NULL;
    gcache_graph_subgraph_end(graph);
    Py_RETURN_NONE;
}

static PyObject *
graph_line(PyObject *self, PyObject *args)
{
    char const *name;
    char const *hash;
    char const *text;
    gcache_graph *graph = graph_open(self);

    if (graph == NULL || !PyArg_ParseTuple(args, "sss", &name, &hash, &text))
        return NULL;
    gcache_graph_line(graph, name, hash, text);
    Py_RETURN_NONE;
}

/* use_rules(rules) */
static PyObject *
graph_use_rules(PyObject *self, PyObject *object)
{
    gcache_graph *graph = graph_open(self);
    gcache_rules const *rules = graph == NULL ? NULL : rules_use(state_of(self), object);

    if (rules == NULL)
        return NULL;
    gcache_graph_use_rules(graph, rules);
    Py_XDECREF(graph_of(self)->rules);
    graph_of(self)->rules = Py_NewRef(object);
    Py_RETURN_NONE;
}

/* ---- what comes out ---- */

static PyObject *
graph_kind(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyUnicode_FromString(gcache_graph_kind(graph_of(self)->graph));
}

static PyObject *
graph_key(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_graph *graph = graph_finished(state_of(self), self);
    gcache_key key;
    gcache_error error;
    char hex[GCACHE_KEY_HEX_SIZE];

    if (graph == NULL)
        return NULL;
    if (gcache_graph_key(graph, &key, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    gcache_key_to_hex(&key, hex);
    return PyUnicode_FromString(hex);
}

static PyObject *
graph_components(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_graph *graph = graph_finished(state_of(self), self);
    gcache_component const *components = NULL;
    size_t count = 0;
    gcache_error error;

    if (graph == NULL)
        return NULL;
    if (gcache_graph_components(graph, &components, &count, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        char hex[GCACHE_KEY_HEX_SIZE];
        gcache_key_to_hex(&components[i].hash, hex);
        PyObject *pair = Py_BuildValue("(ss)", components[i].name, hex);
        if (pair == NULL || PyList_SetItem(list, (Py_ssize_t)i, pair) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *
graph_symbols(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_graph *graph = graph_finished(state_of(self), self);
    gcache_symbol const *symbols = NULL;
    size_t count = 0;
    gcache_error error;

    if (graph == NULL)
        return NULL;
    if (gcache_graph_symbols(graph, &symbols, &count, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    PyObject *list = PyList_New((Py_ssize_t)count);
    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *pair = Py_BuildValue("(ss)", symbols[i].name, symbols[i].canonical);
        if (pair == NULL || PyList_SetItem(list, (Py_ssize_t)i, pair) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *
graph_canonical(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_graph *graph = graph_finished(state_of(self), self);
    void const *bytes = NULL;
    size_t size = 0;
    gcache_error error;

    if (graph == NULL)
        return NULL;
    if (gcache_graph_canonical(graph, &bytes, &size, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    return PyBytes_FromStringAndSize(bytes, (Py_ssize_t)size);
}

/* A list that the library's callbacks fill, in the thread that keeps the interpreter lock; NULL once there is an exception. */
static void
append(PyObject **list, PyObject *item)
{
    if (*list != NULL && (item == NULL || PyList_Append(*list, item) < 0))
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

static PyObject *
listed(PyObject *self, PyObject *list, gcache_status status, gcache_error const *error)
{
    if (list == NULL || status == GCACHE_OK)
        return list;
    Py_DECREF(list);
    return raise_error(state_of(self), error);
}

/* text_names() -> [(original, canonical)] */
static PyObject *
graph_text_names(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_graph *graph = graph_finished(state_of(self), self);
    gcache_text_name const *names = NULL;
    size_t count = 0;
    gcache_error error;

    if (graph == NULL)
        return NULL;
    gcache_status status = gcache_graph_text_names(graph, &names, &count, &error);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; status == GCACHE_OK && list != NULL && i < count; i++)
        append(&list, Py_BuildValue("(NN)", text_new(names[i].original), text_new(names[i].canonical)));
    return listed(self, list, status, &error);
}

/* text(name) -> a component's text as it counts */
static PyObject *
graph_text(PyObject *self, PyObject *name)
{
    char const *component = text_of(name);
    gcache_graph *graph = component == NULL ? NULL : graph_finished(state_of(self), self);
    char *text = NULL;
    size_t size = 0;
    gcache_error error;

    if (graph == NULL)
        return NULL;
    if (gcache_graph_text(graph, component, &text, &size, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    PyObject *found = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
    gcache_free(text);
    return found;
}

static void
change_found(void *state, gcache_change const *change)
{
    PyObject **list = state;

    if (*list != NULL)
        append(list, Py_BuildValue("(NNNNN)", text_new(change->path), text_new(change->rule), text_new(change->why),
                                   text_new(change->from), text_new(change->to)));
}

/* trace() -> [(path, rule or None, why, from, to or None)] */
static PyObject *
graph_trace(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_graph *graph = graph_given(state_of(self), self);
    PyObject *list = PyList_New(0);
    gcache_error error;

    if (list == NULL)
        return NULL;
    gcache_status status = gcache_graph_trace(graph, change_found, &list, &error);
    return listed(self, list, status, &error);
}

static void
line_found(void *state, gcache_line const *line)
{
    PyObject **list = state;

    if (*list != NULL)
        append(list, Py_BuildValue("(NNN)", text_new(line->name), text_new(line->hash), text_new(line->text)));
}

/* lines() -> [(name, hash, text)] */
static PyObject *
graph_lines(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_graph *graph = graph_given(state_of(self), self);
    PyObject *list = PyList_New(0);
    gcache_error error;

    if (list == NULL)
        return NULL;
    gcache_status status = gcache_graph_lines(graph, line_found, &list, &error);
    return listed(self, list, status, &error);
}

/* write() -> the text of a description file */
static PyObject *
graph_write(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_graph *graph = graph_given(state_of(self), self);
    char *text = NULL;
    size_t size = 0;
    gcache_error error;

    if (gcache_graph_write(graph, &text, &size, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    PyObject *written = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "strict");
    gcache_free(text);
    return written;
}

/* diff(stored, asked, max_items, form) -> (text, count): of two canonical forms */
PyObject *
library_diff(PyObject *module, PyObject *args)
{
    native_state *state = PyModule_GetState(module);
    Py_buffer stored, asked;
    Py_ssize_t max_items;
    int form;
    char *text = NULL;
    size_t count = 0;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "y*y*ni", &stored, &asked, &max_items, &form))
        return NULL;
    gcache_status status = gcache_diff(stored.buf, (size_t)stored.len, asked.buf, (size_t)asked.len, (size_t)max_items,
                                       (gcache_diff_form)form, &text, &count, &error);
    PyBuffer_Release(&stored);
    PyBuffer_Release(&asked);
    PyObject *shown = text_taken(state, status, text, &error);
    return shown == NULL ? NULL : Py_BuildValue("(Nn)", shown, (Py_ssize_t)count);
}

static PyMethodDef graph_methods[] = {
    { "read", graph_read, METH_VARARGS | METH_CLASS, NULL },
    { "input", graph_input, METH_VARARGS, NULL },
    { "node", graph_node, METH_VARARGS, NULL },
    { "output", graph_output, METH_O, NULL },
    { "component", graph_component, METH_VARARGS, NULL },
    { "subgraph_begin", graph_subgraph_begin, METH_O, NULL },
    { "subgraph_end", graph_subgraph_end, METH_NOARGS, NULL },
    { "line", graph_line, METH_VARARGS, NULL },
    { "use_rules", graph_use_rules, METH_O, NULL },
    { "kind", graph_kind, METH_NOARGS, NULL },
    { "key", graph_key, METH_NOARGS, NULL },
    { "components", graph_components, METH_NOARGS, NULL },
    { "symbols", graph_symbols, METH_NOARGS, NULL },
    { "canonical", graph_canonical, METH_NOARGS, NULL },
    { "text_names", graph_text_names, METH_NOARGS, NULL },
    { "text", graph_text, METH_O, NULL },
    { "trace", graph_trace, METH_NOARGS, NULL },
    { "lines", graph_lines, METH_NOARGS, NULL },
    { "write", graph_write, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot graph_slots[] = {
    { Py_tp_new, graph_make },
    { Py_tp_dealloc, graph_dealloc },
    { Py_tp_methods, graph_methods },
    { 0, NULL },
};

PyType_Spec graph_spec = {
    .name = "guardcache._native.Graph",
    .basicsize = sizeof(graph_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = graph_slots,
};
