/*
 * The Guards type, over guardcache/guard.h.
 */
#include "native.h"

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

static PyMethodDef guards_methods[] = {
    { "evaluate", guards_evaluate, METH_O, NULL },
    { "show", guards_show, METH_VARARGS, NULL },
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
