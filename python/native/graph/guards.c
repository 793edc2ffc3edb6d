/*
 * The Guards and Prepared types, over guardcache/guard.h.
 */
#include "../native.h"

/* Guards: a compiled guard list; immutable. */
typedef struct guards_object {
    PyObject_HEAD
    gcache_guards *guards;
} guards_object;

static gcache_guards *
guards_of(PyObject *self)
{
    return ((guards_object *)self)->guards;
}

static PyObject *
guards_make(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *sequence;
    native_texts list;
    gcache_guards *guards = NULL;
    gcache_error error;
    gcache_status status = GCACHE_OK;

    if (!PyArg_ParseTuple(args, "O", &sequence))
        return NULL;
    bool readable = texts_read(sequence, &list) == 0;
    if (readable)
        status = gcache_guards_compile(list.items, list.count, &guards, &error);
    texts_clear(&list);
    if (!readable)
        return NULL;
    if (status != GCACHE_OK)
        return raise_error(PyType_GetModuleState(type), &error);
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    guards_object *self = (guards_object *)alloc(type, 0);
    if (self == NULL)
        gcache_guards_free(guards);
    else
        self->guards = guards;
    return (PyObject *)self;
}

static void
guards_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    gcache_guards_free(guards_of(self));
    free_object(self);
    Py_DECREF(type);
}

PyObject *
verdict_tuple(gcache_verdict const *verdict)
{
    return Py_BuildValue("(inss)", (int)verdict->truth, (Py_ssize_t)verdict->guard, verdict->exception,
                         verdict->message);
}

static PyObject *
guards_evaluate(PyObject *self, PyObject *mapping)
{
    native_hints values;
    gcache_verdict verdict;
    gcache_error error;
    gcache_status status = GCACHE_OK;

    bool readable = hints_read(mapping, &values) == 0;
    if (readable)
        status = gcache_guards_eval(guards_of(self), &values.view, &verdict, &error);
    hints_clear(&values);
    if (!readable)
        return NULL;
    return status == GCACHE_OK ? verdict_tuple(&verdict) : raise_error(state_of(self), &error);
}

/* show(form): 0 the program, 1 the normal form. */
static PyObject *
guards_show(PyObject *self, PyObject *args)
{
    int form;
    char *text = NULL;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "i", &form))
        return NULL;
    if (gcache_guards_show(guards_of(self), (gcache_guards_form)form, &text, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    PyObject *shown = PyUnicode_FromString(text);
    gcache_free(text);
    return shown;
}

/* Prepared: a list that is asked about the same names again and again. */
typedef struct prepared_object {
    PyObject_HEAD
    PyObject *guards; /* must outlive it */
    gcache_prepared *prepared;
    size_t count;     /* of names */
} prepared_object;

/* prepare(names) */
static PyObject *
guards_prepare(PyObject *self, PyObject *sequence)
{
    native_state *state = state_of(self);
    gcache_prepared *prepared = NULL;
    native_texts names;
    gcache_error error;
    gcache_status status = GCACHE_OK;

    bool readable = texts_read(sequence, &names) == 0;
    size_t count = names.count;
    if (readable)
        status = gcache_guards_prepare(guards_of(self), names.items, count, &prepared, &error);
    texts_clear(&names);
    if (!readable)
        return NULL;
    if (status != GCACHE_OK)
        return raise_error(state, &error);
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->prepared_type, Py_tp_alloc);
    prepared_object *made = (prepared_object *)alloc(state->prepared_type, 0);
    if (made == NULL) {
        gcache_prepared_free(prepared);
        return NULL;
    }
    made->prepared = prepared;
    made->count = count;
    made->guards = Py_NewRef(self);
    return (PyObject *)made;
}

static void
prepared_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    gcache_prepared_free(((prepared_object *)self)->prepared);
    Py_CLEAR(((prepared_object *)self)->guards);
    free_object(self);
    Py_DECREF(type);
}

/* Few guard lists read more names. */
#define VALUES_MAX 32

static int
values_read(PyObject *tuple, size_t count, int64_t *out_values)
{
    if ((size_t)PyTuple_Size(tuple) != count) {
        PyErr_SetString(PyExc_ValueError, "a value for every name is needed");
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        PyObject *number = PyNumber_Index(PyTuple_GetItem(tuple, (Py_ssize_t)i));
        out_values[i] = number == NULL ? -1 : PyLong_AsLongLong(number);
        Py_XDECREF(number);
        if (out_values[i] == -1 && PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* evaluate(values, a tuple) -> 0 false, 1 true, 2 raises */
static PyObject *
prepared_evaluate(PyObject *self, PyObject *args)
{
    prepared_object *p = (prepared_object *)self;
    int64_t few[VALUES_MAX], *values = p->count <= VALUES_MAX ? few : PyMem_Malloc(p->count * sizeof *values);
    PyObject *tuple, *truth = NULL;

    if (values == NULL)
        return PyErr_NoMemory();
    if (PyArg_ParseTuple(args, "O!", &PyTuple_Type, &tuple) && values_read(tuple, p->count, values) == 0)
        truth = PyLong_FromLong((long)gcache_prepared_eval(p->prepared, values));
    if (values != few)
        PyMem_Free(values);
    return truth;
}

static PyMethodDef prepared_methods[] = {
    { "evaluate", prepared_evaluate, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot prepared_slots[] = {
    { Py_tp_dealloc, prepared_dealloc },
    { Py_tp_methods, prepared_methods },
    { 0, NULL },
};

PyType_Spec prepared_spec = {
    .name = "guardcache._native.Prepared",
    .basicsize = sizeof(prepared_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = prepared_slots,
};

static PyMethodDef guards_methods[] = {
    { "evaluate", guards_evaluate, METH_O, NULL },
    { "show", guards_show, METH_VARARGS, NULL },
    { "prepare", guards_prepare, METH_O, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot guards_slots[] = {
    { Py_tp_new, guards_make },
    { Py_tp_dealloc, guards_dealloc },
    { Py_tp_methods, guards_methods },
    { 0, NULL },
};

PyType_Spec guards_spec = {
    .name = "guardcache._native.Guards",
    .basicsize = sizeof(guards_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = guards_slots,
};
