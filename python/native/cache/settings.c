/*
 * Settings of a directory: as options of a cache, one by one, and written; and files with keys.
 */
#include "../native.h"

#include <stdlib.h>
#include <string.h>

/* What environment and config.json say: guardcache/settings.h. */

static char const *
variable(void *state, char const *name)
{
    (void)state;
    return getenv(name);
}

/* Puts an option into the dict if somebody set it; takes over value. */
static void
put(PyObject *dict, gcache_settings *settings, gcache_setting_id id, char const *name, PyObject *value)
{
    bool set = gcache_settings_get(settings, id)->origin != GCACHE_ORIGIN_DEFAULT;

    if (value != NULL && set && !PyErr_Occurred())
        (void)PyDict_SetItemString(dict, name, value);
    Py_XDECREF(value);
}

static PyObject *
text_or_nothing(char const *text)
{
    return text == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(text);
}

/* (id, secret or None, algorithm, public key or None) */
static PyObject *
key_parts(gcache_signing_key const *key)
{
    return Py_BuildValue("(sy#iy#)", key->id, (char const *)key->secret, (Py_ssize_t)key->secret_size, (int)key->algorithm,
                         (char const *)key->public_key, (Py_ssize_t)GCACHE_ED25519_BYTES);
}

static PyObject *
keys_list(gcache_options const *options)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list != NULL && i < options->signing_count; i++) {
        PyObject *parts = key_parts(&options->signing[i]);
        if (parts == NULL || PyList_Append(list, parts) < 0)
            Py_CLEAR(list);
        Py_XDECREF(parts);
    }
    return list;
}

PyObject *
library_signing_key_read(PyObject *module, PyObject *args)
{
    gcache_signing_key *key;
    gcache_error error;
    char const *file;

    if (!PyArg_ParseTuple(args, "s", &file))
        return NULL;
    if (gcache_signing_key_read(file, &key, &error) != GCACHE_OK)
        return raise_error(PyModule_GetState(module), &error);
    PyObject *parts = key_parts(key);
    gcache_signing_key_free(key);
    return parts;
}

PyObject *
library_signing_key_make(PyObject *module, PyObject *args)
{
    char const *file, *id;
    gcache_error error;
    int algorithm;

    if (!PyArg_ParseTuple(args, "szi", &file, &id, &algorithm))
        return NULL;
    if (gcache_signing_key_make(file, id, (gcache_signing_algorithm)algorithm, &error) != GCACHE_OK)
        return raise_error(PyModule_GetState(module), &error);
    Py_RETURN_NONE;
}

/* The options of guardcache.Cache that somebody set; what is left at its default isn't there. */
static PyObject *
options_dict(gcache_settings *settings, native_state *state)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_error error;

    if (gcache_settings_apply(settings, &options, &error) != GCACHE_OK)
        return raise_error(state, &error);
    PyObject *dict = PyDict_New();
    if (dict == NULL)
        return NULL;
    size_t memory_bytes = options.memory_bytes > PY_SSIZE_T_MAX ? PY_SSIZE_T_MAX : options.memory_bytes;
#define PUT(id, name, value) put(dict, settings, GCACHE_SETTING_##id, name, value)
    PUT(DISABLED, "disabled", PyBool_FromLong(options.disabled));
    PUT(BYPASS, "bypass", text_or_nothing(options.bypass));
    PUT(READ_ONLY, "read_only", PyBool_FromLong(options.read_only));
    PUT(STRICT, "strict", PyBool_FromLong(options.strict));
    PUT(UNSAFE_SKIP_GUARDS, "unsafe_skip_guards", PyBool_FromLong(options.unsafe_skip_guards));
    PUT(REFRESH, "refresh", PyBool_FromLong(options.refresh));
    PUT(MAX_SIZE, "max_size", PyLong_FromUnsignedLongLong(options.max_size));
    PUT(MEMORY, "memory_bytes", PyLong_FromSize_t(memory_bytes));
    PUT(MAX_CANDIDATES, "max_candidates", PyLong_FromSize_t(options.max_candidates));
    PUT(COMPRESSION_LEVEL, "compression_level", PyLong_FromLong(options.compression_level));
    PUT(DURABILITY, "durability", PyLong_FromLong((long)options.durability));
    PUT(TRUST, "trust", PyLong_FromLong((long)options.trust));
    PUT(REQUIRE_SIGNATURE, "require_signature", PyBool_FromLong(options.require_signature));
    PUT(SIGNING_KEYS, "signing", keys_list(&options));
    PUT(TIERS, "tiers", text_or_nothing(options.tiers));
#undef PUT
    if (PyErr_Occurred())
        Py_CLEAR(dict);
    return dict;
}

/* What is wrong with config.json, as a list of texts. */
static PyObject *
warnings_list(gcache_settings *settings)
{
    PyObject *list = PyList_New(0);
    char const *warning;

    for (size_t i = 0; list != NULL && (warning = gcache_settings_warning(settings, i)) != NULL; i++) {
        PyObject *text = PyUnicode_DecodeUTF8(warning, (Py_ssize_t)strlen(warning), "replace");
        if (text == NULL || PyList_Append(list, text) < 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* ---- kinds of one's own ---- */

static void
note_problem(void *state, char const *folder, gcache_error const *problem)
{
    (void)folder;
    PyObject *text = PyUnicode_DecodeUTF8(problem->message, (Py_ssize_t)strlen(problem->message), "replace");

    if (text != NULL)
        (void)PyList_Append(state, text);
    Py_XDECREF(text);
}

/* What can't be used is raised if the caller named the path, and else handed back. The lock is kept: it is a few small files. */
static PyObject *
load_kinds(PyObject *module, char const *path, bool is_named)
{
    PyObject *problems = PyList_New(0);
    gcache_error error;

    if (problems == NULL)
        return NULL;
    gcache_status status = gcache_kinds_load(path, note_problem, problems, &error);
    if (!PyErr_Occurred() && (status == GCACHE_OK || !is_named))
        return problems;
    Py_DECREF(problems);
    return PyErr_Occurred() ? NULL : raise_error(PyModule_GetState(module), &error);
}

/* kinds_load(path, or None for the environment's): a list of messages. */
PyObject *
library_kinds_load(PyObject *module, PyObject *args)
{
    char const *path;
    char *found = NULL;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "z", &path))
        return NULL;
    if (path == NULL && gcache_kinds_path(variable, NULL, &found, &error) != GCACHE_OK)
        return raise_error(PyModule_GetState(module), &error);
    PyObject *problems = load_kinds(module, path != NULL ? path : found, path != NULL);
    gcache_free(found);
    return problems;
}

PyObject *
library_settings(PyObject *module, PyObject *args)
{
    char const *directory, *namespace;
    gcache_settings *settings;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "sz", &directory, &namespace))
        return NULL;
    if (gcache_settings_load(directory, namespace, variable, NULL, &settings, &error) != GCACHE_OK)
        return raise_error(PyModule_GetState(module), &error);
    PyObject *dict = options_dict(settings, PyModule_GetState(module));
    PyObject *warnings = dict != NULL ? warnings_list(settings) : NULL;
    gcache_settings_free(settings);
    if (warnings == NULL) {
        Py_XDECREF(dict);
        return NULL;
    }
    return Py_BuildValue("(NN)", dict, warnings);
}

/* setting_list(directory, namespace) -> [(name, value, meaning, variable, origin)] */
PyObject *
library_setting_list(PyObject *module, PyObject *args)
{
    char const *directory, *namespace;
    gcache_settings *settings;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "sz", &directory, &namespace))
        return NULL;
    if (gcache_settings_load(directory, namespace, variable, NULL, &settings, &error) != GCACHE_OK)
        return raise_error(PyModule_GetState(module), &error);
    PyObject *list = PyList_New(0);
    for (int id = 0; list != NULL && id < GCACHE_SETTING_COUNT; id++) {
        gcache_setting const *s = gcache_settings_get(settings, (gcache_setting_id)id);
        PyObject *tuple = Py_BuildValue("(sNsss)", s->name, text_new(s->value), s->meaning, s->variable,
                                        gcache_origin_name(s->origin));
        if (tuple == NULL || PyList_Append(list, tuple) < 0)
            Py_CLEAR(list);
        Py_XDECREF(tuple);
    }
    gcache_settings_free(settings);
    return list;
}

static void
take_line(void *state, char const *line)
{
    PyObject **lines = state;
    PyObject *text = *lines == NULL ? NULL : text_new(line);

    if (*lines != NULL && (text == NULL || PyList_Append(*lines, text) < 0))
        Py_CLEAR(*lines);
    Py_XDECREF(text);
}

/* write_setting(directory, trust, namespace, name, value or None) -> lines for people */
PyObject *
library_write_setting(PyObject *module, PyObject *args)
{
    char const *directory, *namespace, *name, *value;
    gcache_error error;
    int trust;

    if (!PyArg_ParseTuple(args, "sizsz", &directory, &trust, &namespace, &name, &value))
        return NULL;
    PyObject *lines = PyList_New(0);
    gcache_status status = gcache_settings_write(directory, (gcache_trust)trust, namespace, name, value, take_line, &lines,
                                                 &error);
    if (lines == NULL || status == GCACHE_OK)
        return lines;
    Py_DECREF(lines);
    return raise_error(PyModule_GetState(module), &error);
}
