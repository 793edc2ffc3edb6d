#include "native.h"

#include <string.h>

/*
 * Lease: the right to compile a graph while others wait. lease is NULL once it was given back. The thread that took it
 * gives it back; the object's death is only the last resort. stored: see gcache_lease_take.
 */
typedef struct lease_object {
    PyObject_HEAD
    PyObject *cache;
    gcache_lease *lease;
    bool stored;
} lease_object;

static void
lease_give_back(lease_object *self)
{
    gcache_lease *lease = self->lease;

    if (lease == NULL)
        return;
    self->lease = NULL;
    Py_BEGIN_ALLOW_THREADS
    gcache_lease_release(lease);
    Py_END_ALLOW_THREADS
    cache_unuse(self->cache);
}

static PyObject *
lease_release(PyObject *self, PyObject *Py_UNUSED(none))
{
    lease_give_back((lease_object *)self);
    Py_RETURN_NONE;
}

static PyObject *
lease_stored(PyObject *self, PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(((lease_object *)self)->stored);
}

static void
lease_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    lease_give_back((lease_object *)self);
    Py_CLEAR(((lease_object *)self)->cache);
    free_object(self);
    Py_DECREF(type);
}

static gcache_reason
reason_of(char const *word)
{
    for (int reason = 0; reason < GCACHE_REASON_COUNT; reason++)
        if (strcmp(gcache_reason_name((gcache_reason)reason), word) == 0)
            return (gcache_reason)reason;
    return GCACHE_REASON_NONE;
}

/* lease(graph, hints, request, reason, timeout_ns) */
PyObject *
cache_lease(PyObject *self, PyObject *args)
{
    native_state *state = state_of(self);
    PyObject *graph, *mapping, *asked;
    char const *word;
    unsigned long long timeout_ns;
    lookup_question question;
    gcache_error error;
    gcache_status status = GCACHE_OK;

    if (!PyArg_ParseTuple(args, "OOO!sK", &graph, &mapping, &PyTuple_Type, &asked, &word, &timeout_ns))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->lease_type, Py_tp_alloc);
    lease_object *lease = (lease_object *)alloc(state->lease_type, 0);
    bool readable = question_read(state, graph, mapping, asked, &question) == 0 && lease != NULL;
    if (readable) {
        Py_BEGIN_ALLOW_THREADS
        status = gcache_lease_take(cache, question.graph, hints_or_null(&question.hints), &question.request.view,
                                   reason_of(word), timeout_ns, &lease->stored, &lease->lease, &error);
        Py_END_ALLOW_THREADS
    }
    question_clear(&question);
    if (readable && status == GCACHE_OK) {
        lease->cache = Py_NewRef(self);
        return (PyObject *)lease;
    }
    cache_unuse(self);
    Py_XDECREF((PyObject *)lease);
    return readable ? raise_error(state, &error) : NULL;
}

static PyMethodDef lease_methods[] = {
    { "release", lease_release, METH_NOARGS, NULL },
    { "stored", lease_stored, METH_NOARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot lease_slots[] = {
    { Py_tp_dealloc, lease_dealloc },
    { Py_tp_methods, lease_methods },
    { 0, NULL },
};

PyType_Spec lease_spec = {
    .name = "guardcache._native.Lease",
    .basicsize = sizeof(lease_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = lease_slots,
};
