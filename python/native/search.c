/*
 * Finding a text in large contents, fast.
 */
#include "native.h"

#include <string.h>

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
