/*
 * The module: its types, its functions, and errors as exceptions.
 */
#include "native.h"

#include <string.h>

native_state *
state_of(PyObject *object)
{
    return PyType_GetModuleState(Py_TYPE(object));
}

PyObject *
raise_error(native_state *state, gcache_error const *error)
{
    if (error->status == GCACHE_ERROR_MEMORY)
        return PyErr_NoMemory();
    /* A message may quote a text that was cut within a character. */
    PyObject *message = PyUnicode_DecodeUTF8(error->message, (Py_ssize_t)strlen(error->message), "replace");
    PyObject *path = PyUnicode_DecodeUTF8(error->path, (Py_ssize_t)strlen(error->path), "replace");
    if (message != NULL && path != NULL) {
        PyObject *exception = PyObject_CallFunction(state->make_error, "sOiiO", gcache_status_name(error->status),
                                                    message, error->line, error->column, path);
        if (exception != NULL)
            PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
        Py_XDECREF(exception);
    }
    Py_XDECREF(path);
    Py_XDECREF(message);
    return NULL;
}

PyObject *
take_raised(void)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value != NULL && traceback != NULL)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

static PyObject *
library_version(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyUnicode_FromString(gcache_version());
}

/* [(name, text)] of all reasons, in the order of the header. */
static PyObject *
library_reasons(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    PyObject *list = PyList_New(0);

    for (int reason = 1; list != NULL && reason < GCACHE_REASON_COUNT; reason++) {
        PyObject *pair = Py_BuildValue("(ss)", gcache_reason_name((gcache_reason)reason),
                                       gcache_reason_text((gcache_reason)reason));
        if (pair == NULL || PyList_Append(list, pair) < 0)
            Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static PyMethodDef module_methods[] = {
    { "version", library_version, METH_NOARGS, NULL },
    { "reasons", library_reasons, METH_NOARGS, NULL },
    { "settings", library_settings, METH_VARARGS, NULL },
    { "kinds_load", library_kinds_load, METH_VARARGS, NULL },
    { "signing_key_read", library_signing_key_read, METH_VARARGS, NULL },
    { "signing_key_make", library_signing_key_make, METH_VARARGS, NULL },
    { "places", bytes_places, METH_VARARGS, NULL },
    { "digest_outside", bytes_digest, METH_VARARGS, NULL },
    { "compare", library_compare, METH_VARARGS, NULL },
    { "diff", library_diff, METH_VARARGS, NULL },
    { "shipped_rules", library_shipped_rules, METH_VARARGS, NULL },
    { "kind_folder", library_kind_folder, METH_VARARGS, NULL },
    { "rule_kinds", library_rule_kinds, METH_NOARGS, NULL },
    { "show_export", library_show_export, METH_VARARGS, NULL },
    { "source_hash", library_source_hash, METH_VARARGS, NULL },
    { "setting_list", library_setting_list, METH_VARARGS, NULL },
    { "write_setting", library_write_setting, METH_VARARGS, NULL },
    { "callbacks_end", callbacks_end, METH_VARARGS, NULL },
    { "callbacks_forked", callbacks_forked, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static int
add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out_type)
{
    *out_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *out_type == NULL ? -1 : PyModule_AddType(module, *out_type);
}

static int
import_from(char const *module_name, char const *name, PyObject **out_object)
{
    PyObject *module = PyImport_ImportModule(module_name);

    *out_object = module == NULL ? NULL : PyObject_GetAttrString(module, name);
    Py_XDECREF(module);
    return *out_object == NULL ? -1 : 0;
}

static int
module_exec(PyObject *module)
{
    native_state *state = PyModule_GetState(module);

    /* The library's threads take the interpreter lock by PyGILState_Ensure, which knows the main interpreter alone. */
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError, "guardcache works in the main interpreter alone, not in subinterpreters");
        return -1;
    }
    if (add_type(module, &graph_spec, &state->graph_type) < 0
        || add_type(module, &guards_spec, &state->guards_type) < 0
        || add_type(module, &cache_spec, &state->cache_type) < 0
        || add_type(module, &payload_spec, &state->payload_type) < 0
        || add_type(module, &compile_spec, &state->compile_type) < 0
        || add_type(module, &user_tier_spec, &state->user_tier_type) < 0
        || add_type(module, &rules_spec, &state->rules_type) < 0
        || add_type(module, &fingerprint_spec, &state->fingerprint_type) < 0
        || add_type(module, &prepared_spec, &state->prepared_type) < 0)
        return -1;
    if (import_from("guardcache._errors", "make_error", &state->make_error) < 0
        || import_from("guardcache._values", "Node", (PyObject **)&state->node_type) < 0
        || import_from("guardcache._values", "Symbolic", (PyObject **)&state->symbolic_type) < 0
        || import_from("guardcache._values", "Enum", (PyObject **)&state->enum_type) < 0
        || import_from("guardcache._values", "Tensor", (PyObject **)&state->tensor_type) < 0
        || import_from("guardcache._values", "Json", (PyObject **)&state->json_type) < 0
        || import_from("collections.abc", "Mapping", &state->mapping_type) < 0
        || import_from("collections.abc", "Sequence", &state->sequence_type) < 0
        || import_from("guardcache._tier", "TierCall", &state->tier_call) < 0
        || import_from("guardcache._tier", "TierObject", &state->tier_object) < 0
        || import_from("guardcache._tier", "TierLease", &state->tier_lease) < 0
        || import_from("guardcache._errors", "FencedError", &state->fenced_error) < 0)
        return -1;
    return 0;
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    native_state *state = PyModule_GetState(module);

    Py_VISIT(state->graph_type);
    Py_VISIT(state->guards_type);
    Py_VISIT(state->cache_type);
    Py_VISIT(state->payload_type);
    Py_VISIT(state->compile_type);
    Py_VISIT(state->make_error);
    Py_VISIT(state->node_type);
    Py_VISIT(state->symbolic_type);
    Py_VISIT(state->enum_type);
    Py_VISIT(state->tensor_type);
    Py_VISIT(state->user_tier_type);
    Py_VISIT(state->rules_type);
    Py_VISIT(state->fingerprint_type);
    Py_VISIT(state->prepared_type);
    Py_VISIT(state->json_type);
    Py_VISIT(state->mapping_type);
    Py_VISIT(state->sequence_type);
    Py_VISIT(state->tier_call);
    Py_VISIT(state->tier_object);
    Py_VISIT(state->tier_lease);
    Py_VISIT(state->fenced_error);
    return 0;
}

static int
module_clear(PyObject *module)
{
    native_state *state = PyModule_GetState(module);

    Py_CLEAR(state->graph_type);
    Py_CLEAR(state->guards_type);
    Py_CLEAR(state->cache_type);
    Py_CLEAR(state->payload_type);
    Py_CLEAR(state->compile_type);
    Py_CLEAR(state->make_error);
    Py_CLEAR(state->node_type);
    Py_CLEAR(state->symbolic_type);
    Py_CLEAR(state->enum_type);
    Py_CLEAR(state->tensor_type);
    Py_CLEAR(state->user_tier_type);
    Py_CLEAR(state->rules_type);
    Py_CLEAR(state->fingerprint_type);
    Py_CLEAR(state->prepared_type);
    Py_CLEAR(state->json_type);
    Py_CLEAR(state->mapping_type);
    Py_CLEAR(state->sequence_type);
    Py_CLEAR(state->tier_call);
    Py_CLEAR(state->tier_object);
    Py_CLEAR(state->tier_lease);
    Py_CLEAR(state->fenced_error);
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    { Py_mod_exec, (void *)(uintptr_t)module_exec },
    { 0, NULL },
};

static struct PyModuleDef module_def = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "guardcache._native",
    .m_size = sizeof(native_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__native(void);

PyMODINIT_FUNC
PyInit__native(void)
{
    return PyModuleDef_Init(&module_def);
}
