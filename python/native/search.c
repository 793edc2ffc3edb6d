/*
 * Finding a text in large contents, and hashing them without some of their parts, fast.
 */
#include "native.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/*
 * Where a text occurs in the pickle of a compiled graph. bytes.find takes up to half a nanosecond a byte; here two
 * neighbours that hardly occur elsewhere are looked for at many places at once, and the text only where they are.
 */
typedef struct native_needle {
    char const *text;
    size_t size;
    size_t pair; /* where its two rare bytes are */
} native_needle;

/* Places compared at once: compilers make vector instructions of a loop of fixed length without a way out. */
#define BLOCK ((size_t)64)

static bool
block_has(char const *bytes, char first, char second)
{
    unsigned char found = 0;

    for (size_t i = 0; i < BLOCK; i++)
        found |= (unsigned char)((bytes[i] == first) & (bytes[i + 1] == second));
    return found != 0;
}

/* Adds to the list where from begin up to end the text is. */
static int
add_places(PyObject *list, char const *content, native_needle const *needle, size_t begin, size_t end)
{
    for (size_t at = begin; at < end; at++) {
        if (content[at] != needle->text[0] || memcmp(content + at, needle->text, needle->size) != 0)
            continue;
        PyObject *place = PyLong_FromSize_t(at);
        int outcome = place == NULL ? -1 : PyList_Append(list, place);
        Py_XDECREF(place);
        if (outcome < 0)
            return -1;
    }
    return 0;
}

static int
search(PyObject *list, char const *content, size_t size, native_needle const *needle)
{
    char first = needle->text[needle->pair], second = needle->text[needle->pair + 1];
    size_t end = size < needle->size ? 0 : size - needle->size + 1;
    int outcome = 0;

    for (size_t at = 0; at < end && outcome == 0; at += BLOCK) {
        /* The last pair of a whole block ends within the text that may begin there, so within the content. */
        if (end - at < BLOCK)
            outcome = add_places(list, content, needle, at, end);
        else if (block_has(content + at + needle->pair, first, second))
            outcome = add_places(list, content, needle, at, at + BLOCK);
    }
    return outcome;
}

PyObject *
bytes_places(PyObject *Py_UNUSED(module), PyObject *args)
{
    char const *content;
    Py_ssize_t size, needle_size, pair;
    native_needle needle;

    if (!PyArg_ParseTuple(args, "y#y#n", &content, &size, &needle.text, &needle_size, &pair))
        return NULL;
    if (pair < 0 || pair > needle_size - 2)
        return PyErr_Format(PyExc_ValueError, "no pair of bytes at %zd of a text of %zd", pair, needle_size);
    needle.size = (size_t)needle_size;
    needle.pair = (size_t)pair;
    PyObject *list = PyList_New(0);
    if (list != NULL && search(list, content, (size_t)size, &needle) < 0)
        Py_CLEAR(list);
    return list;
}

/* ---- what is left without some parts ---- */

/* Adds what lies between the parts: those of spans, which are sorted, may touch, lie in each other and, of damaged contents, go
   beyond the end. */
static int
hash_outside(XXH3_state_t *state, char const *content, Py_ssize_t size, PyObject *spans)
{
    Py_ssize_t kept = 0, count = PyList_Size(spans);

    for (Py_ssize_t i = 0; i <= count; i++) {
        Py_ssize_t start = size, end = size;
        if (i < count && !PyArg_ParseTuple(PyList_GetItem(spans, i), "nn", &start, &end))
            return -1;
        if (start < 0 || end < start) {
            PyErr_Format(PyExc_ValueError, "no part from %zd to %zd", start, end);
            return -1;
        }
        start = start < size ? start : size;
        end = end < size ? end : size;
        if (start > kept)
            XXH3_128bits_update(state, content + kept, (size_t)(start - kept));
        kept = end > kept ? end : kept;
    }
    return 0;
}

PyObject *
bytes_digest(PyObject *Py_UNUSED(module), PyObject *args)
{
    char const *content, *more;
    Py_ssize_t size, more_size;
    PyObject *spans;
    XXH3_state_t state; /* as large as it is: XXH3_128bits_reset sets it up */
    XXH128_canonical_t digest;

    if (!PyArg_ParseTuple(args, "y#Oy#", &content, &size, &spans, &more, &more_size))
        return NULL;
    if (!PyList_Check(spans))
        return PyErr_Format(PyExc_TypeError, "spans is not a list");
    XXH3_128bits_reset(&state);
    if (hash_outside(&state, content, size, spans) < 0)
        return NULL;
    XXH3_128bits_update(&state, more, (size_t)more_size);
    XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(&state));
    return PyBytes_FromStringAndSize((char const *)digest.digest, sizeof digest.digest);
}
