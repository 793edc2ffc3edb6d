/*
 * Cache.get_or_compile, and its two halves: begin, and the Compile that it gives, for a compile that has begun and that others
 * wait for.
 */
#include "../native.h"

/*
 * A call of either kind.
 *
 * 1. Of the library's calls back none runs in Python once `raised` is set: an exception waits to be the caller's.
 * 2. What the result points into (entry) lives until the result is cleared.
 */
typedef struct compiling {
    native_state *state;
    PyObject *cache;
    lookup_context context;
    gcache_compile_options options;
    gcache_group group;
    PyObject *post_load; /* borrowed; None: hits are handed out as they are */
    PyObject *compile;   /* borrowed; gives an entry's tuple, or the exception that kept it from being one */
    native_entry entry;
    PyObject *answer;    /* what it gave, which entry borrows from */
    PyObject *kept;      /* texts that were escaped */
    PyObject *trouble;   /* the compile is there, but this speaks against storing it; NULL: nothing does */
    bool compiled;
    gcache_result result;
} compiling;

static bool
has_raised(compiling const *c)
{
    return c->context.request.raised;
}

/* ---- arguments ---- */

/* (name, members); None: there is no group. */
static int
group_read(PyObject *object, compiling *c)
{
    Py_ssize_t members;

    if (object == Py_None)
        return 0;
    if (!PyTuple_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "a group is its name and how many members it has");
        return -1;
    }
    c->group = (gcache_group)GCACHE_GROUP_INIT;
    if (!PyArg_ParseTuple(object, "sn", &c->group.name, &members))
        return -1;
    if (members < 1) {
        PyErr_SetString(PyExc_ValueError, "a group has members");
        return -1;
    }
    c->group.members = (size_t)members;
    c->options.group = &c->group;
    return 0;
}

static bool post_load_call(void *state, gcache_result const *hit);
static bool keep_waiting_call(void *state);

/* (refresh, min_compile_ns, reader, follow, post_load, group, lease_timeout_ns, flight) */
static int
options_read(PyObject *tuple, compiling *c)
{
    gcache_compile_options *options = &c->options;
    unsigned long long min_compile_ns, lease_timeout_ns;
    int refresh, reader, follow;
    PyObject *group;

    if (!PyArg_ParseTuple(tuple, "pKppOOKz", &refresh, &min_compile_ns, &reader, &follow, &c->post_load, &group,
                          &lease_timeout_ns, &options->flight)
        || group_read(group, c) < 0)
        return -1;
    options->request = &c->context.request.view;
    options->lease_timeout_ns = lease_timeout_ns;
    options->min_compile_ns = min_compile_ns;
    options->refresh = refresh != 0;
    options->reader = reader != 0;
    options->follow = follow != 0;
    options->post_load = c->post_load == Py_None ? NULL : post_load_call;
    options->keep_waiting = keep_waiting_call;
    return 0;
}

static int
compiling_read(compiling *c, PyObject *cache, PyObject *graph, PyObject *mapping, PyObject *asked, PyObject *options)
{
    *c = (compiling){ .state = state_of(cache), .cache = cache, .options = GCACHE_COMPILE_OPTIONS_INIT,
                      .result = { .size = sizeof c->result, .variant = "", .note = "" } };
    return context_read(c->state, graph, mapping, asked, &c->context) < 0 || options_read(options, c) < 0 ? -1 : 0;
}

static void
compiling_clear(compiling *c)
{
    gcache_result_clear(&c->result);
    entry_clear(&c->entry);
    Py_CLEAR(c->answer);
    Py_CLEAR(c->kept);
    Py_CLEAR(c->trouble);
    context_clear(&c->context);
}

/* ---- calls back, by the thread that let the interpreter lock go ---- */

static bool
post_load_call(void *state, gcache_result const *hit)
{
    compiling *c = state;

    if (has_raised(c))
        return false;
    PyEval_RestoreThread(c->context.request.thread);
    PyObject *payload = payload_lend(c->state, c->cache, hit);
    PyObject *found = hit_tuple_with(Py_XNewRef(payload), hit);
    PyObject *answer = found == NULL ? NULL : PyObject_CallFunctionObjArgs(c->post_load, found, NULL);
    int truth = answer == NULL ? -1 : PyObject_IsTrue(answer);
    if (payload != NULL)
        payload_end(payload);
    Py_XDECREF(answer);
    Py_XDECREF(found);
    Py_XDECREF(payload);
    c->context.request.raised = truth < 0;
    c->context.request.thread = PyEval_SaveThread();
    return truth > 0;
}

/* What was compiled, read into c->entry. Trouble with it is kept: the compile isn't lost. */
static void
entry_take(compiling *c, PyObject *made)
{
    if (PyExceptionInstance_Check(made))
        c->trouble = Py_NewRef(made);
    else if (entry_read(made, &c->entry) < 0)
        c->trouble = take_raised();
}

/* A wait ends with what a signal's handler raises: Ctrl-C. */
static bool
keep_waiting_call(void *state)
{
    compiling *c = state;

    if (has_raised(c))
        return false;
    PyEval_RestoreThread(c->context.request.thread);
    c->context.request.raised = PyErr_CheckSignals() < 0;
    c->context.request.thread = PyEval_SaveThread();
    return !has_raised(c);
}

static gcache_entry const empty_entry = GCACHE_ENTRY_INIT;

/* The entry, or, where there was trouble with it, an empty one that isn't to be stored. */
static void
compiled_fill(compiling *c, PyObject *do_not_store, gcache_compiled *out_compiled)
{
    if (shown_or_none(do_not_store, &out_compiled->do_not_store, &c->kept) < 0 && c->trouble == NULL)
        c->trouble = take_raised();
    PyErr_Clear();
    *out_compiled->entry = c->trouble == NULL ? c->entry.view : empty_entry;
    if (c->trouble != NULL)
        out_compiled->do_not_store = "it is no entry";
}

/* The exception stays set; the listener hears what it says. */
static void
tell_exception(gcache_error *error)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    exception_shown(value, error);
    PyErr_Restore(type, value, traceback);
}

/* The compile function gives (entry or exception, do_not_store). */
static gcache_status
compile_call(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    compiling *c = state;
    PyObject *made, *do_not_store;

    (void)graph, (void)hints;
    if (has_raised(c))
        return GCACHE_ERROR_ARGUMENT;
    PyEval_RestoreThread(c->context.request.thread);
    PyObject *answer = PyObject_CallNoArgs(c->compile);
    c->compiled = answer != NULL && PyArg_ParseTuple(answer, "OO", &made, &do_not_store);
    if (c->compiled) {
        entry_take(c, made);
        compiled_fill(c, do_not_store, out_compiled);
        c->answer = answer;
    } else {
        Py_XDECREF(answer);
        tell_exception(error);
        c->context.request.raised = true;
    }
    c->context.request.thread = PyEval_SaveThread();
    return c->compiled ? GCACHE_OK : GCACHE_ERROR_ARGUMENT;
}

/* ---- what comes out ---- */

/* (key, reason, note, status of storing, compile_ns, trouble or None): of what was compiled. */
static PyObject *
product_tuple(compiling const *c)
{
    gcache_result const *result = &c->result;
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&result->key, hex);
    return Py_BuildValue("(ssssKO)", hex, gcache_reason_name(result->reason), result->note, gcache_status_name(result->stored),
                         (unsigned long long)result->compile_ns, c->trouble != NULL ? c->trouble : Py_None);
}

/* Of a call that is over: a hit's tuple, or a product's, or NULL with an exception set. */
static PyObject *
outcome(compiling *c, gcache_status status, gcache_error const *error)
{
    if (has_raised(c))
        return NULL;
    if (status == GCACHE_HIT) {
        PyObject *found = hit_tuple(c->state, c->cache, &c->result);
        c->result = (gcache_result){ .size = sizeof c->result, .variant = "", .note = "" };
        return found;
    }
    if (status < 0)
        raise_error(c->state, error);
    /* Only storing it failed: the compile is there. */
    bool kept = status < 0 && c->compiled && status != GCACHE_ERROR_MEMORY;
    if (kept) {
        Py_XDECREF(c->trouble);
        c->trouble = take_raised();
    }
    return status < 0 && !kept ? NULL : product_tuple(c);
}

/* get_or_compile(graph, hints, request, options, compile) -> a hit as lookup gives it, or what product_tuple gives */
PyObject *
cache_get_or_compile(PyObject *self, PyObject *args)
{
    PyObject *graph, *mapping, *asked, *options, *function, *found = NULL;
    gcache_error error = { .message = "" };
    compiling c;

    if (!PyArg_ParseTuple(args, "OOO!O!O", &graph, &mapping, &PyTuple_Type, &asked, &PyTuple_Type, &options, &function))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    if (compiling_read(&c, self, graph, mapping, asked, options) == 0) {
        c.compile = function;
        c.context.request.thread = PyEval_SaveThread();
        gcache_status status = gcache_get_or_compile_with(cache, c.context.graph, hints_or_null(&c.context.hints), &c.options,
                                                          compile_call, &c, &c.result, &error);
        PyEval_RestoreThread(c.context.request.thread);
        found = outcome(&c, status, &error);
    }
    compiling_clear(&c);
    cache_unuse(self);
    return found;
}

/* ---- the two halves by themselves ---- */

/* begun is NULL once it has ended. The thread that began it ends it; the object's death is only the last resort. */
typedef struct compile_object {
    PyObject_HEAD
    PyObject *cache, *arguments; /* what the lookup borrows from */
    gcache_compile *begun;
    compiling call;
} compile_object;

/* Lets go of all that is needed until the end. */
static void
let_go(compile_object *self)
{
    compiling_clear(&self->call);
    Py_CLEAR(self->arguments);
    cache_unuse(self->cache);
}

/* Ends it with what was compiled, or with NULL. */
static gcache_status
end(compile_object *self, gcache_compiled const *compiled, gcache_error *error)
{
    gcache_compile *begun = self->begun;
    gcache_status status;

    self->begun = NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_compile_end(begun, compiled, error);
    Py_END_ALLOW_THREADS
    return status;
}

/* end(entry or exception or None, do_not_store or None) -> as get_or_compile, or None: it had ended, or there was nothing to
   store */
static PyObject *
compile_end(PyObject *object, PyObject *args)
{
    compile_object *self = (compile_object *)object;
    gcache_entry entry = GCACHE_ENTRY_INIT;
    gcache_compiled compiled = { .size = sizeof compiled, .entry = &entry };
    gcache_error error = { .message = "" };
    PyObject *made, *do_not_store, *found = NULL;

    if (!PyArg_ParseTuple(args, "OO", &made, &do_not_store))
        return NULL;
    if (self->begun == NULL)
        Py_RETURN_NONE;
    if (made == Py_None) {
        gcache_status status = end(self, NULL, &error);
        found = status < 0 ? raise_error(self->call.state, &error) : Py_NewRef(Py_None);
    } else {
        self->call.compiled = true;
        entry_take(&self->call, made);
        compiled_fill(&self->call, do_not_store, &compiled);
        gcache_status status = end(self, &compiled, &error);
        found = outcome(&self->call, status, &error);
    }
    let_go(self);
    return found;
}

static void
compile_dealloc(PyObject *object)
{
    compile_object *self = (compile_object *)object;
    PyTypeObject *type = Py_TYPE(object);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    if (self->begun != NULL) {
        end(self, NULL, NULL);
        let_go(self);
    }
    Py_CLEAR(self->cache);
    free_object(object);
    Py_DECREF(type);
}

/* The lookup's answer: (hit, None), (miss, Compile), or NULL with an exception set. Takes over self. */
static PyObject *
answer(compile_object *self, gcache_status status, gcache_error const *error)
{
    PyObject *found = NULL;

    if (status == GCACHE_MISS && !has_raised(&self->call)) {
        if ((found = miss_tuple(&self->call.result)) != NULL)
            return Py_BuildValue("(NN)", found, (PyObject *)self);
    } else if (!PyErr_Occurred()) {
        found = outcome(&self->call, status, error);
    }
    if (self->begun != NULL)
        end(self, NULL, NULL);
    let_go(self);
    Py_DECREF(self);
    return found != NULL ? Py_BuildValue("(NO)", found, Py_None) : NULL;
}

/* begin(graph, hints, request, options) -> (a hit as lookup gives it, None), or (a miss, Compile) */
PyObject *
cache_begin(PyObject *cache_object, PyObject *args)
{
    native_state *state = state_of(cache_object);
    allocfunc alloc = (allocfunc)PyType_GetSlot(state->compile_type, Py_tp_alloc);
    PyObject *graph, *mapping, *asked, *options;
    gcache_error error = { .message = "" };
    gcache_status status = GCACHE_ERROR_ARGUMENT;

    if (!PyArg_ParseTuple(args, "OOO!O!", &graph, &mapping, &PyTuple_Type, &asked, &PyTuple_Type, &options))
        return NULL;
    gcache *cache = cache_enter(cache_object);
    if (cache == NULL)
        return NULL;
    compile_object *self = (compile_object *)alloc(state->compile_type, 0);
    if (self == NULL) {
        cache_unuse(cache_object);
        return NULL;
    }
    self->cache = Py_NewRef(cache_object);
    self->arguments = Py_NewRef(args);
    compiling *c = &self->call;
    if (compiling_read(c, cache_object, graph, mapping, asked, options) == 0) {
        c->context.request.thread = PyEval_SaveThread();
        status = gcache_compile_begin(cache, c->context.graph, hints_or_null(&c->context.hints), &c->options, c,
                                      &self->begun, &c->result, &error);
        PyEval_RestoreThread(c->context.request.thread);
    }
    return answer(self, status, &error);
}

static PyMethodDef compile_methods[] = {
    { "end", compile_end, METH_VARARGS, NULL },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot compile_slots[] = {
    { Py_tp_dealloc, compile_dealloc },
    { Py_tp_methods, compile_methods },
    { 0, NULL },
};

PyType_Spec compile_spec = {
    .name = "guardcache._native.Compile",
    .basicsize = sizeof(compile_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = compile_slots,
};
