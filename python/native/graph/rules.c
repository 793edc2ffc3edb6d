/*
 * The Rules type, over the rule sets of guardcache/graph.h.
 */
#include "../native.h"

/* Rules: a set; immutable once a graph uses it. rules is never NULL in an object that Python can reach. */
typedef struct rules_object {
    PyObject_HEAD
    gcache_rules *rules;
    bool used;
} rules_object;

static gcache_rules *
rules_of(PyObject *self)
{
    return ((rules_object *)self)->rules;
}

gcache_rules const *
rules_use(native_state *state, PyObject *object)
{
    if (Py_TYPE(object) != state->rules_type) {
        PyErr_SetString(PyExc_TypeError, "guardcache.Rules are needed");
        return NULL;
    }
    ((rules_object *)object)->used = true;
    return rules_of(object);
}

static PyObject *
rules_wrap(PyTypeObject *type, gcache_rules *rules)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    rules_object *self = (rules_object *)alloc(type, 0);

    if (self == NULL)
        gcache_rules_free(rules);
    else
        self->rules = rules;
    return (PyObject *)self;
}

/* Rules(text, name) */
static PyObject *
rules_make(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    char const *text, *name;
    gcache_rules *rules;
    gcache_error error;
    Py_ssize_t size;

    if (!PyArg_ParseTuple(args, "s#s", &text, &size, &name))
        return NULL;
    if (gcache_rules_read(text, (size_t)size, name, &rules, &error) != GCACHE_OK)
        return raise_error(PyType_GetModuleState(type), &error);
    return rules_wrap(type, rules);
}

/* Rules.of_kind(kind) */
static PyObject *
rules_of_kind(PyObject *type, PyObject *kind)
{
    char const *text = text_of(kind);
    gcache_rules *rules;
    gcache_error error;

    if (text == NULL)
        return NULL;
    if (gcache_rules_of_kind(text, &rules, &error) != GCACHE_OK)
        return raise_error(PyType_GetModuleState((PyTypeObject *)type), &error);
    return rules_wrap((PyTypeObject *)type, rules);
}

/* Rules.read_kind(folder) */
static PyObject *
rules_read_kind(PyObject *type, PyObject *folder)
{
    char const *text = text_of(folder);
    gcache_rules *rules;
    gcache_error error;

    if (text == NULL)
        return NULL;
    if (gcache_kinds_read(text, &rules, &error) != GCACHE_OK)
        return raise_error(PyType_GetModuleState((PyTypeObject *)type), &error);
    return rules_wrap((PyTypeObject *)type, rules);
}

static void
rules_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    gcache_rules_free(rules_of(self));
    free_object(self);
    Py_DECREF(type);
}

/* advise(text, name) */
static PyObject *
rules_advise(PyObject *self, PyObject *args)
{
    char const *text, *name;
    gcache_error error;
    Py_ssize_t size;

    if (!PyArg_ParseTuple(args, "s#s", &text, &size, &name))
        return NULL;
    if (((rules_object *)self)->used) {
        PyErr_SetString(PyExc_ValueError, "a graph uses these rules already");
        return NULL;
    }
    if (gcache_rules_read_advice(rules_of(self), text, (size_t)size, name, &error) != GCACHE_OK)
        return raise_error(state_of(self), &error);
    Py_RETURN_NONE;
}

static PyObject *
rules_name(PyObject *self, PyObject *Py_UNUSED(none))
{
    return text_new(gcache_rules_name(rules_of(self)));
}

static PyObject *
rules_hash(PyObject *self, PyObject *Py_UNUSED(none))
{
    char hex[GCACHE_KEY_HEX_SIZE];
    gcache_key hash;

    gcache_rules_hash(rules_of(self), &hash);
    gcache_key_to_hex(&hash, hex);
    return PyUnicode_FromString(hex);
}

/* all() -> [(kind, path, pattern, with, why, examples)] */
static PyObject *
rules_all(PyObject *self, PyObject *Py_UNUSED(none))
{
    PyObject *list = PyList_New(0);
    gcache_rule rule = GCACHE_RULE_INIT;

    for (size_t i = 0; list != NULL && gcache_rules_at(rules_of(self), i, &rule); i++) {
        PyObject *tuple = Py_BuildValue("(sNNNNn)", rule.kind, text_new(rule.path), text_new(rule.pattern),
                                        text_new(rule.with), text_new(rule.why), (Py_ssize_t)rule.examples);
        if (tuple == NULL || PyList_Append(list, tuple) < 0)
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    return list;
}

/* A list of problems; NULL once there is an exception. */
static void
problem_found(void *state, size_t rule, char const *problem)
{
    PyObject **list = state;
    PyObject *tuple = *list == NULL ? NULL : Py_BuildValue("(nN)", (Py_ssize_t)rule, text_new(problem));

    if (*list != NULL && (tuple == NULL || PyList_Append(*list, tuple) < 0))
        Py_CLEAR(*list);
    Py_XDECREF(tuple);
}

/* test() -> (examples, [(rule, problem)]) */
static PyObject *
rules_test(PyObject *self, PyObject *Py_UNUSED(none))
{
    PyObject *list = PyList_New(0);
    size_t examples = 0, problems = 0;
    gcache_error error;

    if (list == NULL)
        return NULL;
    gcache_status status = gcache_rules_test(rules_of(self), problem_found, &list, &examples, &problems, &error);
    if (list == NULL)
        return NULL;
    if (status == GCACHE_OK)
        return Py_BuildValue("(nN)", (Py_ssize_t)examples, list);
    Py_DECREF(list);
    return raise_error(state_of(self), &error);
}

/* shipped_rules(kind) -> their text, or None */
PyObject *
library_shipped_rules(PyObject *Py_UNUSED(module), PyObject *args)
{
    char const *kind, *text;
    size_t size = 0;

    if (!PyArg_ParseTuple(args, "s", &kind))
        return NULL;
    text = gcache_rules_shipped(kind, &size);
    return text == NULL ? Py_NewRef(Py_None) : PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "strict");
}

/* kind_folder(kind) -> where it was loaded from, or None */
PyObject *
library_kind_folder(PyObject *Py_UNUSED(module), PyObject *args)
{
    char const *kind;

    return PyArg_ParseTuple(args, "s", &kind) ? text_new(gcache_kinds_folder(kind)) : NULL;
}

/* rule_kinds() -> those with rules of their own */
PyObject *
library_rule_kinds(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    PyObject *list = PyList_New(0);
    char const *kind;

    for (size_t i = 0; list != NULL && (kind = gcache_rules_kind(i)) != NULL; i++) {
        PyObject *text = PyUnicode_FromString(kind);
        if (text == NULL || PyList_Append(list, text) < 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

static PyMethodDef rules_methods[] = {
    { "of_kind", rules_of_kind, METH_O | METH_CLASS, NULL },
    { "read_kind", rules_read_kind, METH_O | METH_CLASS, NULL },
    { "advise", rules_advise, METH_VARARGS, NULL },
    { "name", rules_name, METH_NOARGS, NULL },
    { "hash", rules_hash, METH_NOARGS, NULL },
    { "all", rules_all, METH_NOARGS, NULL },
    { "test", rules_test, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot rules_slots[] = {
    { Py_tp_new, rules_make },
    { Py_tp_dealloc, rules_dealloc },
    { Py_tp_methods, rules_methods },
    { 0, NULL },
};

PyType_Spec rules_spec = {
    .name = "guardcache._native.Rules",
    .basicsize = sizeof(rules_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = rules_slots,
};
