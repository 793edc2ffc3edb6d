/*
 * Compile: a compile that has begun, and that others wait for (gcache_compile_begin and _end). compile is NULL once it has
 * ended. The thread that began it ends it; the object's death is only the last resort.
 */
#include "native.h"

typedef struct compile_object {
    PyObject_HEAD
    PyObject *cache, *arguments; /* what the lookup borrows from */
    gcache_compile *compile;
    lookup_context context;
    gcache_group group;
    gcache_result result;
} compile_object;

/* Ends it with an entry or with NULL, and lets go of all but the result. */
static gcache_status
end(compile_object *self, gcache_entry const *entry, gcache_error *error)
{
    gcache_entry copy = GCACHE_ENTRY_INIT;
    gcache_compiled compiled = { .size = sizeof compiled, .entry = &copy };
    gcache_compile *compile = self->compile;
    gcache_status status;

    if (entry != NULL)
        copy = *entry;
    self->compile = NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_compile_end(compile, entry != NULL ? &compiled : NULL, error);
    Py_END_ALLOW_THREADS
    context_clear(&self->context);
    Py_CLEAR(self->arguments);
    cache_unuse(self->cache);
    return status;
}

/* end([entry]) -> (note, name of the status of storing); entry as entry_read takes it, None: there is nothing to store */
static PyObject *
compile_end(PyObject *object, PyObject *args)
{
    compile_object *self = (compile_object *)object;
    PyObject *given = Py_None;
    native_entry entry = { 0 };
    gcache_error error = { .message = "" };

    if (!PyArg_ParseTuple(args, "|O", &given))
        return NULL;
    if (self->compile == NULL)
        Py_RETURN_NONE;
    bool readable = given == Py_None || entry_read(given, &entry) == 0;
    gcache_status status = end(self, readable && given != Py_None ? &entry.view : NULL, &error);
    PyObject *outcome = NULL;
    if (readable)
        outcome = status < 0 ? raise_error(state_of(object), &error)
                             : Py_BuildValue("(ss)", self->result.note, gcache_status_name(self->result.stored));
    gcache_result_clear(&self->result);
    entry_clear(&entry);
    return outcome;
}

static void
compile_dealloc(PyObject *object)
{
    compile_object *self = (compile_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    if (self->compile != NULL)
        end(self, NULL, NULL);
    gcache_result_clear(&self->result);
    Py_CLEAR(self->cache);
    free_object(object);
    Py_DECREF(type);
}

/* The lookup's answer: (hit, None), (miss, Compile), or NULL with an exception set. Takes over self, and the use of its cache. */
static PyObject *
answer(native_state *state, compile_object *self, gcache_status status, gcache_error const *error)
{
    if (status == GCACHE_MISS && !PyErr_Occurred()) {
        PyObject *found = miss_tuple(&self->result);
        return found != NULL ? Py_BuildValue("(NN)", found, (PyObject *)self) : (Py_DECREF(self), NULL);
    }
    PyObject *found = NULL;
    if (status == GCACHE_MISS) {
        end(self, NULL, NULL);
    } else {
        context_clear(&self->context);
        if (!PyErr_Occurred() && status == GCACHE_HIT) {
            found = hit_tuple(state, self->cache, &self->result);
            self->result = (gcache_result){ .size = sizeof(gcache_result), .note = "" };
        }
        cache_unuse(self->cache);
    }
    if (status < 0 && !PyErr_Occurred())
        raise_error(state, error);
    Py_XDECREF(self->arguments);
    self->arguments = NULL;
    Py_DECREF(self);
    return found != NULL ? Py_BuildValue("(NO)", found, Py_None) : NULL;
}

/* (name, members); None: there is no group. */
static int
group_read(PyObject *object, gcache_group *out_group, gcache_group const **out_given)
{
    Py_ssize_t members;

    *out_group = (gcache_group)GCACHE_GROUP_INIT;
    *out_given = object == Py_None ? NULL : out_group;
    if (object == Py_None)
        return 0;
    if (!PyTuple_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "a group is its name and how many members it has");
        return -1;
    }
    if (!PyArg_ParseTuple(object, "sn", &out_group->name, &members))
        return -1;
    if (members < 1) {
        PyErr_SetString(PyExc_ValueError, "a group has members");
        return -1;
    }
    out_group->members = (size_t)members;
    return 0;
}

/* begin(graph, hints, request, lease_timeout_ns, group) -> (a hit as lookup gives it, None), or (a miss, Compile) */
PyObject *
cache_begin(PyObject *cache_object, PyObject *args)
{
    native_state *state = state_of(cache_object);
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    PyObject *graph, *mapping, *asked, *group;
    unsigned long long timeout_ns;
    gcache_error error = { .message = "" };

    if (!PyArg_ParseTuple(args, "OOO!KO", &graph, &mapping, &PyTuple_Type, &asked, &timeout_ns, &group))
        return NULL;
    gcache *cache = cache_enter(cache_object);
    if (cache == NULL)
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->compile_type, Py_tp_alloc);
    compile_object *self = (compile_object *)alloc(state->compile_type, 0);
    if (self == NULL) {
        cache_unuse(cache_object);
        return NULL;
    }
    self->cache = Py_NewRef(cache_object);
    self->arguments = Py_NewRef(args);
    self->result = (gcache_result){ .size = sizeof(gcache_result), .note = "" };
    gcache_status status = GCACHE_ERROR_ARGUMENT;
    if (context_read(state, graph, mapping, asked, &self->context) == 0
        && group_read(group, &self->group, &options.group) == 0) {
        options.request = &self->context.request.view;
        options.lease_timeout_ns = timeout_ns;
        self->context.request.thread = PyEval_SaveThread();
        status = gcache_compile_begin(cache, self->context.graph, hints_or_null(&self->context.hints), &options, NULL,
                                      &self->compile, &self->result, &error);
        PyEval_RestoreThread(self->context.request.thread);
    }
    return answer(state, self, status, &error);
}

static PyMethodDef compile_methods[] = {
    { "end", compile_end, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot compile_slots[] = {
    { Py_tp_dealloc, compile_dealloc },
    { Py_tp_doc, "A compile that has begun (Cache.begin), for which others wait until its end()." },
    { Py_tp_methods, compile_methods },
    { 0, NULL },
};

PyType_Spec compile_spec = {
    .name = "guardcache._native.Compile",
    .basicsize = sizeof(compile_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = compile_slots,
};
