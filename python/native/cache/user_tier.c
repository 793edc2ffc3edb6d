/*
 * UserTier: a guardcache.Tier as the library sees it, a table of functions that call its methods.
 *
 * The functions are called by any thread, of Python or not, without the interpreter lock, and never raise: an exception is
 * trouble of the tier, told in its words. What they hand out is handed out without the lock, since the library stores it then.
 */
#include "../native.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND_NS 1e9

typedef struct user_tier {
    PyObject_HEAD
    PyObject *tier; /* the guardcache.Tier */
    PyObject *name; /* what view.name points into */
    gcache_tier_functions functions;
    gcache_tier_user view;
} user_tier;

/* One call of a method. The interpreter lock is held from begin to end, and what is raised meanwhile is trouble. */
typedef struct call_frame {
    user_tier *self;
    gcache_tier_call *call;
    native_state *state;
    PyGILState_STATE lock;
    PyObject *type, *value, *traceback; /* what was raised before: by a guard test, in the same lookup */
} call_frame;

/* ---- trouble ---- */

static uint64_t
steady_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static gcache_tier_answer
trouble(gcache_tier_call *call, gcache_reason reason, char const *what)
{
    call->reason = reason;
    snprintf(call->message, sizeof call->message, "%s", what);
    return GCACHE_TIER_TROUBLE;
}

static bool
is_late(gcache_tier_call const *call)
{
    return call->deadline_ns != 0 && steady_ns() >= call->deadline_ns;
}

static gcache_tier_answer
too_late(gcache_tier_call *call)
{
    return trouble(call, GCACHE_REASON_REMOTE_TIMEOUT, "no answer in time");
}

/* One line, cut between characters. */
static void
message_set(gcache_tier_call *call, char const *text)
{
    size_t size = strlen(text);

    if (size >= sizeof call->message) {
        size = sizeof call->message - 1;
        while (size > 0 && ((unsigned char)text[size] & 0xC0) == 0x80)
            size--;
    }
    memcpy(call->message, text, size);
    call->message[size] = '\0';
    for (char *c = call->message; *c != '\0'; c++)
        *c = *c == '\n' || *c == '\r' ? ' ' : *c;
}

/* "KeyError: 'x'"; of the package's own exceptions, and of time-outs, what they say. */
static void
message_of(call_frame *frame, PyObject *exception, bool plain)
{
    PyObject *said = PyObject_Str(exception);
    PyObject *name = PyType_GetName(Py_TYPE(exception));
    Py_ssize_t size = said == NULL ? 0 : PyUnicode_GetLength(said);
    PyObject *text = said == NULL || name == NULL ? NULL
                     : size == 0                  ? Py_NewRef(name)
                     : plain                      ? Py_NewRef(said)
                                                  : PyUnicode_FromFormat("%U: %U", name, said);
    PyObject *bytes = text == NULL ? NULL : PyUnicode_AsEncodedString(text, "utf-8", "replace");

    message_set(frame->call, bytes == NULL ? "an exception that can't be shown" : PyBytes_AsString(bytes));
    PyErr_Clear();
    Py_XDECREF(bytes);
    Py_XDECREF(text);
    Py_XDECREF(name);
    Py_XDECREF(said);
}

/* The exception that is set becomes trouble, or says that somebody else leads. */
static gcache_tier_answer
raised(call_frame *frame)
{
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    bool fenced = PyErr_GivenExceptionMatches(type, frame->state->fenced_error);
    bool timeout = PyErr_GivenExceptionMatches(type, PyExc_TimeoutError);
    if (value != NULL)
        message_of(frame, value, fenced || timeout);
    pass_on_interrupt(type);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    frame->call->fenced = fenced;
    if (fenced)
        return GCACHE_TIER_MISS;
    frame->call->reason = timeout ? GCACHE_REASON_REMOTE_TIMEOUT : GCACHE_REASON_REMOTE_UNAVAILABLE;
    return GCACHE_TIER_TROUBLE;
}

/* ---- values for Python ---- */

/* Steals value. None for 0. */
static PyObject *
none_if(bool none, PyObject *value)
{
    if (!none)
        return value;
    Py_XDECREF(value);
    return Py_NewRef(Py_None);
}

static PyObject *
seconds(uint64_t ns)
{
    return none_if(ns == 0, PyFloat_FromDouble((double)ns / SECOND_NS));
}

/* Zeros where a kind has no key. */
static PyObject *
key_text(gcache_key const *key)
{
    static gcache_key const none;
    char hex[GCACHE_KEY_HEX_SIZE];

    if (memcmp(key, &none, sizeof none) == 0)
        return PyUnicode_FromString("");
    gcache_key_to_hex(key, hex);
    return PyUnicode_FromString(hex);
}

static PyObject *
object_new(native_state *state, gcache_object const *object)
{
    PyObject *bytes = object->bytes == NULL ? Py_NewRef(Py_None)
                                            : PyBytes_FromStringAndSize(object->bytes, (Py_ssize_t)object->size);

    return PyObject_CallFunction(state->tier_object, "sNsN", gcache_object_kind_name(object->kind), key_text(&object->key),
                                 object->name, bytes);
}

static PyObject *
objects_new(native_state *state, gcache_object const *objects, size_t count)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);

    for (size_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *object = object_new(state, &objects[i]);
        if (object == NULL || PyTuple_SetItem(tuple, (Py_ssize_t)i, object) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *
lease_new(native_state *state, gcache_tier_lease const *lease)
{
    if (lease == NULL)
        return Py_NewRef(Py_None);
    return PyObject_CallFunction(state->tier_lease, "NssNK", key_text(&lease->key), lease->name, lease->holder,
                                 PyFloat_FromDouble((double)lease->ttl_ns / SECOND_NS), (unsigned long long)lease->token);
}

static PyObject *
call_new(call_frame *frame)
{
    gcache_tier_call const *call = frame->call;
    uint64_t most = call->max_bytes != 0 ? call->max_bytes : GCACHE_TIER_BYTES_MAX;

    return PyObject_CallFunction(frame->state->tier_call, "NNKNN", seconds(call->deadline_ns),
                                 seconds(call->connect_deadline_ns != 0 ? call->connect_deadline_ns : call->deadline_ns),
                                 (unsigned long long)most, seconds(call->ttl_ns), lease_new(frame->state, call->fence));
}

/* ---- calling ---- */

/* false: no call is made, and the trouble is told. */
static bool
frame_begin(call_frame *frame, void *tier, gcache_tier_call *call)
{
    frame->self = tier;
    frame->call = call;
    call->fenced = false;
    if (is_late(call)) {
        too_late(call);
        return false;
    }
    if (!callback_begin(&frame->lock)) {
        trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, "the interpreter is ending");
        return false;
    }
    frame->state = state_of((PyObject *)frame->self);
    PyErr_Fetch(&frame->type, &frame->value, &frame->traceback);
    call->round_trips++;
    return true;
}

/* What is raised by now counts, whatever the answer was. */
static gcache_tier_answer
frame_end(call_frame *frame, gcache_tier_answer answer)
{
    if (PyErr_Occurred())
        answer = raised(frame);
    PyErr_Restore(frame->type, frame->value, frame->traceback);
    callback_end(frame->lock);
    return answer;
}

/* method(call, argument); the argument is taken over. NULL with an exception set, also if the answer came too late. */
static PyObject *
ask(call_frame *frame, char const *method, PyObject *argument)
{
    PyObject *call = argument != NULL || !PyErr_Occurred() ? call_new(frame) : NULL;
    PyObject *name = PyUnicode_FromString(method);
    PyObject *answer = call == NULL || name == NULL
                           ? NULL
                           : PyObject_CallMethodObjArgs(frame->self->tier, name, call, argument, NULL);

    Py_XDECREF(name);
    Py_XDECREF(call);
    Py_XDECREF(argument);
    if (answer == NULL || !is_late(frame->call))
        return answer;
    Py_DECREF(answer);
    PyErr_SetString(PyExc_TimeoutError, "the answer came too late");
    return NULL;
}

static gcache_tier_answer
truth(PyObject *answer)
{
    int is_true = answer == NULL ? 0 : PyObject_IsTrue(answer);

    Py_XDECREF(answer);
    return is_true > 0 ? GCACHE_TIER_HIT : GCACHE_TIER_MISS;
}

/* Where nothing but an exception says otherwise. */
static gcache_tier_answer
done(PyObject *answer)
{
    Py_XDECREF(answer);
    return GCACHE_TIER_HIT;
}

static void
count_sent(gcache_tier_call *call, gcache_object const *objects, size_t count)
{
    for (size_t i = 0; i < count; i++)
        call->bytes_sent += objects[i].size;
}

/* ---- handing out ---- */

static bool
kind_read(char const *word, gcache_object_kind *out_kind)
{
    for (int kind = 0; kind < GCACHE_OBJECT_KIND_COUNT; kind++) {
        *out_kind = (gcache_object_kind)kind;
        if (strcmp(word, gcache_object_kind_name(*out_kind)) == 0)
            return true;
    }
    PyErr_Format(PyExc_ValueError, "there are no objects of kind \"%s\"", word);
    return false;
}

/* From (kind, key, name, content); the bytes are the buffer's, which is released if this returns true. */
static bool
object_read(PyObject *item, gcache_object *out_object, Py_buffer *out_buffer)
{
    char const *kind, *key, *name;
    gcache_error error;

    *out_object = (gcache_object){ .bytes = NULL };
    if (!PyTuple_Check(item)) {
        PyErr_Format(PyExc_TypeError, "a tier hands out objects, not %R", (PyObject *)Py_TYPE(item));
        return false;
    }
    if (!PyArg_ParseTuple(item, "sssy*", &kind, &key, &name, out_buffer))
        return false;
    bool good = kind_read(kind, &out_object->kind);
    if (good && (strlen(name) >= sizeof out_object->name ||
                 (key[0] != '\0' && gcache_key_from_hex(key, &out_object->key, &error) != GCACHE_OK))) {
        PyErr_SetString(PyExc_ValueError, "no object has such a key and name");
        good = false;
    }
    if (!good) {
        PyBuffer_Release(out_buffer);
        return false;
    }
    memcpy(out_object->name, name, strlen(name) + 1);
    out_object->bytes = out_buffer->buf;
    out_object->size = (size_t)out_buffer->len;
    return true;
}

typedef struct handing_out {
    gcache_object_fn each;
    void *state;
    size_t count;
    bool ended; /* by each */
} handing_out;

/* false: an exception is set. */
static bool
hand_out_one(call_frame *frame, PyObject *item, handing_out *to)
{
    gcache_tier_call *call = frame->call;
    uint64_t most = call->max_bytes != 0 ? call->max_bytes : GCACHE_TIER_BYTES_MAX;
    gcache_object object;
    Py_buffer buffer;

    if (!object_read(item, &object, &buffer))
        return false;
    if (object.size <= most) {
        to->count++;
        call->bytes_received += object.size;
        Py_BEGIN_ALLOW_THREADS
        to->ended = to->each(to->state, &object) != 0;
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&buffer);
    return true;
}

/* Takes over an iterable of objects. Exceptions stay set. */
static void
hand_out(call_frame *frame, PyObject *objects, handing_out *to)
{
    PyObject *iterator = objects == NULL ? NULL : PyObject_GetIter(objects), *item;
    bool good = true;

    while (good && !to->ended && iterator != NULL && (item = PyIter_Next(iterator)) != NULL) {
        good = hand_out_one(frame, item, to);
        Py_DECREF(item);
    }
    Py_XDECREF(iterator);
    Py_XDECREF(objects);
}

/* ---- the functions ---- */

static gcache_tier_answer
user_list(void *tier, gcache_tier_call *call, gcache_key const *key, gcache_object_fn each, void *state)
{
    handing_out to = { .each = each, .state = state };
    call_frame frame;

    if (!frame_begin(&frame, tier, call))
        return GCACHE_TIER_TROUBLE;
    hand_out(&frame, ask(&frame, "list", key_text(key)), &to);
    return frame_end(&frame, to.count > 0 ? GCACHE_TIER_HIT : GCACHE_TIER_MISS);
}

static gcache_tier_answer
user_fetch(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count, gcache_object_fn each, void *state)
{
    handing_out to = { .each = each, .state = state };
    call_frame frame;

    if (!frame_begin(&frame, tier, call))
        return GCACHE_TIER_TROUBLE;
    hand_out(&frame, ask(&frame, "fetch", objects_new(state_of(tier), wanted, count)), &to);
    return frame_end(&frame, to.count >= count ? GCACHE_TIER_HIT : GCACHE_TIER_MISS);
}

static gcache_tier_answer
user_publish(void *tier, gcache_tier_call *call, gcache_object const *objects, size_t count)
{
    call_frame frame;

    if (!frame_begin(&frame, tier, call))
        return GCACHE_TIER_TROUBLE;
    count_sent(call, objects, count);
    return frame_end(&frame, done(ask(&frame, "publish", objects_new(frame.state, objects, count))));
}

static gcache_tier_answer
user_touch(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count)
{
    call_frame frame;

    if (!frame_begin(&frame, tier, call))
        return GCACHE_TIER_TROUBLE;
    return frame_end(&frame, done(ask(&frame, "touch", objects_new(frame.state, wanted, count))));
}

static gcache_tier_answer
user_remove(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count)
{
    call_frame frame;

    if (!frame_begin(&frame, tier, call))
        return GCACHE_TIER_TROUBLE;
    return frame_end(&frame, done(ask(&frame, "remove", objects_new(frame.state, wanted, count))));
}

/* The value that was there already, as bytes; None: it is this. */
static gcache_tier_answer
user_share(void *tier, gcache_tier_call *call, gcache_object const *value, gcache_object_fn each, void *state)
{
    gcache_tier_answer found = GCACHE_TIER_MISS;
    call_frame frame;
    Py_buffer buffer;

    if (!frame_begin(&frame, tier, call))
        return GCACHE_TIER_TROUBLE;
    count_sent(call, value, 1);
    PyObject *answer = ask(&frame, "share", object_new(frame.state, value));
    if (answer != NULL && answer != Py_None && PyObject_GetBuffer(answer, &buffer, PyBUF_SIMPLE) == 0) {
        gcache_object object = *value;
        object.bytes = buffer.buf;
        object.size = (size_t)buffer.len;
        call->bytes_received += object.size;
        found = GCACHE_TIER_HIT;
        Py_BEGIN_ALLOW_THREADS
        each(state, &object);
        Py_END_ALLOW_THREADS
        PyBuffer_Release(&buffer);
    }
    Py_XDECREF(answer);
    return frame_end(&frame, found);
}

/* The token; None: it is somebody else's. */
static gcache_tier_answer
user_lease(void *tier, gcache_tier_call *call, gcache_tier_lease *lease)
{
    gcache_tier_answer found = GCACHE_TIER_MISS;
    call_frame frame;

    if (!frame_begin(&frame, tier, call))
        return GCACHE_TIER_TROUBLE;
    PyObject *answer = ask(&frame, "lease", lease_new(frame.state, lease));
    if (answer != NULL && answer != Py_None) {
        lease->token = PyLong_AsUnsignedLongLong(answer);
        found = GCACHE_TIER_HIT;
    }
    Py_XDECREF(answer);
    return frame_end(&frame, found);
}

static gcache_tier_answer
user_keep(void *tier, gcache_tier_call *call, gcache_tier_lease const *lease)
{
    call_frame frame;

    if (!frame_begin(&frame, tier, call))
        return GCACHE_TIER_TROUBLE;
    return frame_end(&frame, truth(ask(&frame, "keep", lease_new(frame.state, lease))));
}

static gcache_tier_answer
user_release(void *tier, gcache_tier_call *call, gcache_tier_lease const *lease)
{
    call_frame frame;

    if (!frame_begin(&frame, tier, call))
        return GCACHE_TIER_TROUBLE;
    return frame_end(&frame, truth(ask(&frame, "release", lease_new(frame.state, lease))));
}

/* ---- walking ---- */

/* Hands keys out. false: an exception is set. */
static bool
hand_out_keys(PyObject *keys, gcache_tier_key_fn each, void *state, bool *out_ended)
{
    PyObject *iterator = PyObject_GetIter(keys), *item;
    gcache_error error;
    gcache_key key;
    bool good = iterator != NULL;

    *out_ended = false;
    while (good && !*out_ended && (item = PyIter_Next(iterator)) != NULL) {
        char const *hex = text_of(item);
        good = hex != NULL && gcache_key_from_hex(hex, &key, &error) == GCACHE_OK;
        if (!good && !PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%R is no key", item);
        Py_DECREF(item);
        if (good) {
            Py_BEGIN_ALLOW_THREADS
            *out_ended = each(state, &key) != 0;
            Py_END_ALLOW_THREADS
        }
    }
    Py_XDECREF(iterator);
    return good && !PyErr_Occurred();
}

/* (keys, next cursor); None for the next one: that was the end. */
static gcache_tier_answer
user_walk(void *tier, gcache_tier_call *call, char cursor[GCACHE_TIER_CURSOR_SIZE], gcache_tier_key_fn each, void *state)
{
    gcache_tier_answer found = GCACHE_TIER_MISS;
    char const *next = NULL;
    PyObject *keys;
    call_frame frame;
    bool ended;

    if (!frame_begin(&frame, tier, call))
        return GCACHE_TIER_TROUBLE;
    PyObject *answer = ask(&frame, "walk", PyUnicode_FromString(cursor));
    if (answer != NULL && !PyTuple_Check(answer)) {
        PyErr_SetString(PyExc_TypeError, "walk returns keys and the next cursor");
    } else if (answer != NULL && PyArg_ParseTuple(answer, "Oz", &keys, &next) && hand_out_keys(keys, each, state, &ended)) {
        found = ended || next != NULL ? GCACHE_TIER_HIT : GCACHE_TIER_MISS;
        if (!ended && next != NULL && strlen(next) >= GCACHE_TIER_CURSOR_SIZE)
            PyErr_Format(PyExc_ValueError, "a cursor has at most %d bytes", GCACHE_TIER_CURSOR_SIZE - 1);
        else if (!ended && next != NULL)
            memcpy(cursor, next, strlen(next) + 1);
    }
    Py_XDECREF(answer);
    return frame_end(&frame, found);
}

static gcache_tier_answer
user_statistics(void *tier, gcache_tier_call *call, gcache_tier_number_fn each, void *state)
{
    native_pairs numbers = { 0 };
    call_frame frame;

    if (!frame_begin(&frame, tier, call))
        return GCACHE_TIER_TROUBLE;
    PyObject *answer = ask(&frame, "statistics", NULL);
    numbers.owner = answer == NULL ? NULL : PyMapping_Items(answer);
    Py_ssize_t count = numbers.owner == NULL ? 0 : PyList_Size(numbers.owner);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(numbers.owner, i);
        char const *name = text_of(PyTuple_GetItem(item, 0));
        unsigned long long number = name == NULL ? 0 : PyLong_AsUnsignedLongLong(PyTuple_GetItem(item, 1));
        if (PyErr_Occurred())
            break;
        Py_BEGIN_ALLOW_THREADS
        each(state, name, number);
        Py_END_ALLOW_THREADS
    }
    pairs_clear(&numbers);
    Py_XDECREF(answer);
    return frame_end(&frame, GCACHE_TIER_HIT);
}

/* Nobody calls it: the cache closes no tiers of a program's own. */
static void
user_close(void *tier)
{
    (void)tier;
}

/* ---- the type ---- */

gcache_tier_user const *
user_tier_view(PyObject *object)
{
    return &((user_tier *)object)->view;
}

/* After a cache that had it open was closed. */
void
user_tier_leave(PyObject *object)
{
    PyObject *left = PyObject_CallMethod(((user_tier *)object)->tier, "_leave", NULL);

    if (left == NULL)
        PyErr_WriteUnraisable(((user_tier *)object)->tier);
    Py_XDECREF(left);
}

static gcache_tier_functions
functions_of(int has_touch, int has_share, int has_leases, int has_walk)
{
    return (gcache_tier_functions){
        .size = sizeof(gcache_tier_functions),
        .version = GCACHE_TIER_VERSION,
        .list = user_list,
        .fetch = user_fetch,
        .publish = user_publish,
        .touch = has_touch ? user_touch : NULL,
        .remove = user_remove,
        .share = has_share ? user_share : NULL,
        .lease = has_leases ? user_lease : NULL,
        .keep = has_leases ? user_keep : NULL,
        .release = has_leases ? user_release : NULL,
        .walk = has_walk ? user_walk : NULL,
        .statistics = user_statistics,
        .close = user_close,
    };
}

/* UserTier(tier, name, touch, share, leases, walk, read_only, ttl_ns, timeout_ns) */
static PyObject *
user_tier_make(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *tier, *name;
    int has_touch, has_share, has_leases, has_walk, read_only;
    unsigned long long ttl_ns, timeout_ns;

    if (!PyArg_ParseTuple(args, "OUpppppKK", &tier, &name, &has_touch, &has_share, &has_leases, &has_walk, &read_only,
                          &ttl_ns, &timeout_ns))
        return NULL;
    char const *text = text_of(name);
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    user_tier *self = text == NULL ? NULL : (user_tier *)alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->tier = Py_NewRef(tier);
    self->name = Py_NewRef(name);
    self->functions = functions_of(has_touch, has_share, has_leases, has_walk);
    self->view = (gcache_tier_user){ .name = text, .functions = &self->functions, .tier = self,
                                     .read_only = read_only != 0, .ttl_ns = ttl_ns, .timeout_ns = timeout_ns };
    return (PyObject *)self;
}

static void
user_tier_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);

    Py_CLEAR(((user_tier *)object)->tier);
    Py_CLEAR(((user_tier *)object)->name);
    free_object(object);
    Py_DECREF(type);
}

static PyType_Slot user_tier_slots[] = {
    { Py_tp_new, user_tier_make },
    { Py_tp_dealloc, user_tier_dealloc },
    { 0, NULL },
};

PyType_Spec user_tier_spec = {
    .name = "guardcache._native.UserTier",
    .basicsize = sizeof(user_tier),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = user_tier_slots,
};
