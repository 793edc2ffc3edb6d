/*
 * Requests and entries, read from tuples.
 */
#include "../native.h"

/* Runs in the thread of the lookup, which let the interpreter lock go. */
static bool
guard_test_call(void *context, char const *const *guards, size_t count)
{
    native_request *call = context;

    if (call->raised)
        return false;
    PyEval_RestoreThread(call->thread);
    PyObject *tuple = text_tuple(guards, count);
    PyObject *answer = tuple == NULL ? NULL : PyObject_CallFunctionObjArgs(call->guard_test, tuple, NULL);
    int truth = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    Py_XDECREF(tuple);
    call->raised = truth < 0;
    call->thread = PyEval_SaveThread();
    return truth > 0;
}

int
request_read(PyObject *tuple, native_request *out_request)
{
    PyObject *provides;
    PyObject *sources;
    PyObject *guard_test;
    PyObject *label, *bypass, *why_asked;
    int accept_renames;

    *out_request = (native_request){ .view = GCACHE_REQUEST_INIT };
    gcache_request *view = &out_request->view;
    if (!PyArg_ParseTuple(tuple, "zzOpOOOOO", &view->variant, &view->expect_variant, &provides, &accept_renames, &label,
                          &sources, &guard_test, &bypass, &why_asked)
        || shown_or_none(label, &view->label, &out_request->kept) < 0
        || shown_or_none(bypass, &view->bypass, &out_request->kept) < 0
        || shown_or_none(why_asked, &view->why_asked, &out_request->kept) < 0
        || pairs_read(provides, &out_request->provides) < 0 || pairs_read_shown(sources, &out_request->sources) < 0)
        return -1;
    view->accept_renames = accept_renames != 0;
    view->provides = out_request->provides.items;
    view->provides_count = out_request->provides.count;
    view->sources = out_request->sources.items;
    view->sources_count = out_request->sources.count;
    if (guard_test != Py_None) {
        out_request->guard_test = guard_test;
        view->guard_test = guard_test_call;
        view->guard_test_state = out_request;
    }
    return 0;
}

void
request_clear(native_request *request)
{
    pairs_clear(&request->provides);
    pairs_clear(&request->sources);
    Py_CLEAR(request->kept);
}

/* Borrows the bytes of object until entry_clear. */
static int
buffer_take(native_entry *entry, PyObject *object, void const **out_bytes, size_t *out_size)
{
    Py_buffer *buffer = &entry->buffers[entry->buffer_count];

    if (PyObject_GetBuffer(object, buffer, PyBUF_SIMPLE) < 0)
        return -1;
    entry->buffer_count++;
    *out_bytes = buffer->buf;
    *out_size = (size_t)buffer->len;
    return 0;
}

static int
attachment_read(native_entry *entry, PyObject *tuple, gcache_attachment *out_attachment)
{
    PyObject *bytes;
    int executable;
    size_t size;

    if (!PyArg_ParseTuple(tuple, "sOp", &out_attachment->name, &bytes, &executable)
        || buffer_take(entry, bytes, &out_attachment->bytes, &size) < 0)
        return -1;
    out_attachment->size = size;
    out_attachment->executable = executable != 0;
    return 0;
}

static int
deltas_read(PyObject *mapping, native_deltas *out_deltas)
{
    if (mapping == Py_None)
        return 0;
    if ((out_deltas->owner = PyMapping_Items(mapping)) == NULL)
        return -1;
    size_t count = (size_t)PyList_Size(out_deltas->owner);
    if ((out_deltas->items = PyMem_Calloc(count + 1, sizeof *out_deltas->items)) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (; out_deltas->count < count; out_deltas->count++) {
        PyObject *item = PyList_GetItem(out_deltas->owner, (Py_ssize_t)out_deltas->count);
        gcache_delta *delta = &out_deltas->items[out_deltas->count];
        if ((delta->name = text_of(PyTuple_GetItem(item, 0))) == NULL)
            return -1;
        delta->value = PyLong_AsLongLong(PyTuple_GetItem(item, 1));
        if (delta->value == -1 && PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* Payload, metadata and identity come first among the buffers. */
#define ENTRY_BUFFERS 3

static int
entry_buffers(native_entry *entry, PyObject *payload, PyObject *metadata, PyObject *identity, PyObject *attachments)
{
    gcache_entry *view = &entry->view;
    size_t count = (size_t)PyTuple_Size(attachments);

    entry->buffers = PyMem_Calloc(ENTRY_BUFFERS + count, sizeof *entry->buffers);
    entry->attachments = PyMem_Calloc(count + 1, sizeof *entry->attachments);
    if (entry->buffers == NULL || entry->attachments == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (buffer_take(entry, payload, &view->payload, &view->payload_size) < 0
        || buffer_take(entry, metadata, &view->metadata, &view->metadata_size) < 0
        || (identity != Py_None && buffer_take(entry, identity, &view->identity, &view->identity_size) < 0))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (attachment_read(entry, PyTuple_GetItem(attachments, (Py_ssize_t)i), &entry->attachments[i]) < 0)
            return -1;
    }
    view->attachments = entry->attachments;
    view->attachment_count = count;
    return 0;
}

int
entry_read(PyObject *tuple, native_entry *out_entry)
{
    PyObject *guards;
    PyObject *payload;
    PyObject *metadata;
    PyObject *requirements;
    PyObject *identity;
    PyObject *attachments;
    PyObject *deltas;
    PyObject *label;
    long long priority;
    unsigned long long compile_ns;

    *out_entry = (native_entry){ .view = GCACHE_ENTRY_INIT };
    gcache_entry *view = &out_entry->view;
    if (!PyArg_ParseTuple(tuple, "OOOzLOKOOO!O", &guards, &payload, &metadata, &view->variant, &priority, &requirements,
                          &compile_ns, &label, &identity, &PyTuple_Type, &attachments, &deltas)
        || shown_or_none(label, &view->label, &out_entry->kept) < 0 || texts_read(guards, &out_entry->guards) < 0
        || pairs_read(requirements, &out_entry->requirements) < 0
        || deltas_read(deltas, &out_entry->deltas) < 0
        || entry_buffers(out_entry, payload, metadata, identity, attachments) < 0)
        return -1;
    view->guards = out_entry->guards.items;
    view->guard_count = out_entry->guards.count;
    view->priority = priority;
    view->requires_ = out_entry->requirements.items;
    view->requires_count = out_entry->requirements.count;
    view->compile_ns = compile_ns;
    view->deltas = out_entry->deltas.items;
    view->delta_count = out_entry->deltas.count;
    return 0;
}

void
entry_clear(native_entry *entry)
{
    while (entry->buffer_count > 0)
        PyBuffer_Release(&entry->buffers[--entry->buffer_count]);
    PyMem_Free(entry->buffers);
    PyMem_Free(entry->attachments);
    texts_clear(&entry->guards);
    pairs_clear(&entry->requirements);
    PyMem_Free(entry->deltas.items);
    Py_CLEAR(entry->deltas.owner);
    Py_CLEAR(entry->kept);
}
