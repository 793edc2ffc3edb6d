#include "native.h"

/*
 * Look up or compile, in one call: gcache_get_or_compile_with, with a compile in Python. The callback gives back an entry as
 * entry_read takes it; what was compiled besides is for the Python side to keep.
 */
typedef struct native_compile {
    PyObject *function; /* () -> an entry */
    PyThreadState *thread;
    PyObject *given;    /* what it returned, which `entry` borrows from */
    native_entry entry;
} native_compile;

/* Runs in the thread of the call, which let the interpreter lock go. An exception stays set, and is what the caller sees. */
static gcache_status
compile_call(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    native_compile *compile = state;

    (void)graph, (void)hints, (void)error;
    PyEval_RestoreThread(compile->thread);
    compile->given = PyObject_CallNoArgs(compile->function);
    bool readable = compile->given != NULL && entry_read(compile->given, &compile->entry) == 0;
    if (readable)
        out_compiled->entry = compile->entry.view;
    compile->thread = PyEval_SaveThread();
    return readable ? GCACHE_OK : GCACHE_ERROR_ARGUMENT;
}

/* (key, reason, note, name of the status of storing) of what was compiled just now */
static PyObject *
compiled_tuple(gcache_result const *result)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&result->key, hex);
    return Py_BuildValue("(ssss)", hex, gcache_reason_name(result->reason), result->note, gcache_status_name(result->stored));
}

/* get_or_compile(graph, hints, request, lease_timeout_ns, function) -> a hit as lookup gives it, or compiled_tuple */
PyObject *
cache_get_or_compile(PyObject *self, PyObject *args)
{
    native_state *state = state_of(self);
    PyObject *graph, *mapping, *asked;
    native_compile compile = { .thread = NULL };
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    unsigned long long timeout_ns;
    lookup_question question;
    gcache_result result = { .note = "" };
    gcache_error error = { .message = "" };
    gcache_status status = GCACHE_MISS;

    if (!PyArg_ParseTuple(args, "OOO!KO", &graph, &mapping, &PyTuple_Type, &asked, &timeout_ns, &compile.function))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    bool readable = question_read(state, graph, mapping, asked, &question) == 0;
    if (readable) {
        options.request = &question.request.view;
        options.lease_timeout_ns = timeout_ns;
        compile.thread = question.request.thread = PyEval_SaveThread();
        status = gcache_get_or_compile_with(cache, question.graph, hints_or_null(&question.hints), &options, compile_call,
                                            &compile, &result, &error);
        PyEval_RestoreThread(compile.thread);
    }
    question_clear(&question);
    PyObject *found = NULL;
    if (readable && !PyErr_Occurred())
        found = status == GCACHE_HIT    ? hit_tuple(state, self, &result)
                : status == GCACHE_MISS ? compiled_tuple(&result)
                                        : raise_error(state, &error);
    if (readable && status != GCACHE_HIT)
        gcache_result_clear(&result);
    entry_clear(&compile.entry);
    Py_XDECREF(compile.given);
    cache_unuse(self);
    return found;
}
