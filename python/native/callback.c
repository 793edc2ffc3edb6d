/*
 * Calls from the library's threads into Python: logs and tiers.
 *
 * A thread that wants the interpreter lock while the interpreter ends is stopped dead by it, wherever it stands. So there are no
 * calls any more by then: before the interpreter ends, callbacks_end sees to it (guardcache._cache, atexit).
 */
#include "native.h"

#include <stdatomic.h>
#include <time.h>

static atomic_bool ending;
static atomic_int running;

bool
callback_begin(PyGILState_STATE *out_lock)
{
    atomic_fetch_add(&running, 1);
    if (atomic_load(&ending)) {
        atomic_fetch_sub(&running, 1);
        return false;
    }
    *out_lock = PyGILState_Ensure();
    return true;
}

void
callback_end(PyGILState_STATE lock)
{
    PyGILState_Release(lock);
    atomic_fetch_sub(&running, 1);
}

bool
pass_on_interrupt(PyObject *type)
{
    bool is_one = PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt) != 0;

    if (is_one)
        PyErr_SetInterrupt();
    return is_one;
}

bool
callbacks_are_stuck(void)
{
    return atomic_load(&ending) && atomic_load(&running) > 0;
}

/* callbacks_end(seconds): no more calls begin; waits so long for those under way. Whether there are none any more. */
PyObject *
callbacks_end(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct timespec const pause = { .tv_nsec = 1000000 };
    double seconds;

    if (!PyArg_ParseTuple(args, "d", &seconds))
        return NULL;
    atomic_store(&ending, true);
    Py_BEGIN_ALLOW_THREADS
    for (int waits = (int)(seconds * 1000); atomic_load(&running) > 0 && waits > 0; waits--)
        nanosleep(&pause, NULL);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(atomic_load(&running) <= 0);
}

/* callbacks_forked(): in a child there are no other threads. */
PyObject *
callbacks_forked(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    atomic_store(&running, 0);
    Py_RETURN_NONE;
}
