/*
 * The Payload type: the bytes of a hit, without a copy.
 */
#include "../native.h"

/*
 * Payload: the bytes of a hit as a read-only buffer. The bytes are the library's own, so a view of them holds the
 * object, the object holds the result, and the result's cache stays open until then.
 */
typedef struct payload_object {
    PyObject_HEAD
    PyObject *cache;
    gcache_result result;
    PyObject *copy; /* of the bytes, where the result is somebody else's; NULL: it is ours */
} payload_object;

static payload_object *
payload_make(native_state *state, PyObject *cache, gcache_result const *result)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->payload_type, Py_tp_alloc);
    payload_object *self = (payload_object *)alloc(state->payload_type, 0);

    if (self == NULL)
        return NULL;
    self->result = *result;
    self->cache = Py_NewRef(cache);
    cache_use(cache);
    return self;
}

PyObject *
payload_new(native_state *state, PyObject *cache, gcache_result *result)
{
    payload_object *self = payload_make(state, cache, result);

    if (self == NULL)
        gcache_result_clear(result);
    return (PyObject *)self;
}

PyObject *
payload_lend(native_state *state, PyObject *cache, gcache_result const *result)
{
    PyObject *copy = PyBytes_FromStringAndSize(result->payload, (Py_ssize_t)result->payload_size);
    payload_object *self = copy == NULL ? NULL : payload_make(state, cache, result);

    if (self == NULL)
        Py_XDECREF(copy);
    else
        self->copy = copy;
    return (PyObject *)self;
}

void
payload_end(PyObject *payload)
{
    gcache_result *result = &((payload_object *)payload)->result;

    *result = (gcache_result){ .size = sizeof *result, .outcome = GCACHE_MISS, .variant = "", .note = "" };
}

gcache_result const *
payload_result(PyObject *payload)
{
    return &((payload_object *)payload)->result;
}

static void
payload_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
    payload_object *payload = (payload_object *)self;

    if (payload->copy == NULL)
        gcache_result_clear(&payload->result);
    Py_CLEAR(payload->copy);
    cache_unuse(payload->cache);
    Py_CLEAR(payload->cache);
    free_object(self);
    Py_DECREF(type);
}

static int
payload_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
    gcache_result const *result = payload_result(self);
    PyObject *copy = ((payload_object *)self)->copy;

    if (copy != NULL)
        return PyBuffer_FillInfo(view, self, PyBytes_AsString(copy), PyBytes_Size(copy), 1, flags);
    return PyBuffer_FillInfo(view, self, (void *)(uintptr_t)result->payload, (Py_ssize_t)result->payload_size, 1, flags);
}

static PyType_Slot payload_slots[] = {
    { Py_tp_dealloc, payload_dealloc },
    { Py_bf_getbuffer, payload_get_buffer },
    { 0, NULL },
};

PyType_Spec payload_spec = {
    .name = "guardcache._native.Payload",
    .basicsize = sizeof(payload_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = payload_slots,
};
