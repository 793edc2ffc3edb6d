/*
 * Best configurations of kernels and bundles of them, over guardcache/tuning.h.
 */
#include "../native.h"

/* ---- kernels and records ---- */

/* (source_hash, tag, toolchain, backend) */
static int
kernel_read(PyObject *tuple, gcache_kernel *out_kernel)
{
    *out_kernel = (gcache_kernel)GCACHE_KERNEL_INIT;
    return PyArg_ParseTuple(tuple, "sssz", &out_kernel->source_hash, &out_kernel->tag, &out_kernel->toolchain,
                            &out_kernel->backend)
               ? 0
               : -1;
}

/* (config, configs_hash, by_descent, tuning_ns, kernel_hash); pairs keeps what the record borrows. */
static int
best_read(PyObject *tuple, native_pairs *pairs, gcache_best *out_best)
{
    unsigned long long tuning_ns;
    PyObject *config;
    int by_descent;

    *out_best = (gcache_best)GCACHE_BEST_INIT;
    if (!PyArg_ParseTuple(tuple, "OspKs", &config, &out_best->configs_hash, &by_descent, &tuning_ns, &out_best->kernel_hash)
        || pairs_read(config, pairs) < 0)
        return -1;
    out_best->config = (gcache_config){ pairs->items, pairs->count };
    out_best->by_descent = by_descent != 0;
    out_best->tuning_ns = tuning_ns;
    return 0;
}

static PyObject *
best_tuple(gcache_best const *best)
{
    return Py_BuildValue("(NNNKN)", pairs_dict(best->config.parameters, best->config.count),
                         text_new(best->configs_hash != NULL ? best->configs_hash : ""), PyBool_FromLong(best->by_descent),
                         (unsigned long long)best->tuning_ns, text_new(best->kernel_hash != NULL ? best->kernel_hash : ""));
}

/* put_best(kernel, record) -> whether it was stored */
PyObject *
cache_put_best(PyObject *self, PyObject *args)
{
    PyObject *which, *record;
    gcache_kernel kernel;
    native_pairs pairs = { 0 };
    gcache_best best;
    gcache_status status = GCACHE_OK;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &which, &PyTuple_Type, &record) || kernel_read(which, &kernel) < 0)
        return NULL;
    gcache *cache = best_read(record, &pairs, &best) < 0 ? NULL : cache_enter(self);
    if (cache != NULL) {
        Py_BEGIN_ALLOW_THREADS
        status = gcache_best_put(cache, &kernel, &best, &error);
        Py_END_ALLOW_THREADS
        cache_unuse(self);
    }
    pairs_clear(&pairs);
    if (cache == NULL)
        return NULL;
    return status < 0 ? raise_error(state_of(self), &error) : PyBool_FromLong(status == GCACHE_OK);
}

/* ---- finding ---- */

/* The configurations that are offered, as mappings. Free with offered_clear whether or not reading succeeded. */
typedef struct offered {
    PyObject *owner;
    gcache_config *configs;
    native_pairs *pairs;
    size_t count;
} offered;

static int
offered_read(PyObject *sequence, offered *out_offered)
{
    *out_offered = (offered){ .owner = PySequence_Tuple(sequence) };
    if (out_offered->owner == NULL)
        return -1;
    size_t count = (size_t)PyTuple_Size(out_offered->owner);
    out_offered->configs = PyMem_Calloc(count + 1, sizeof *out_offered->configs);
    out_offered->pairs = PyMem_Calloc(count + 1, sizeof *out_offered->pairs);
    if (out_offered->configs == NULL || out_offered->pairs == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (; out_offered->count < count; out_offered->count++) {
        native_pairs *pairs = &out_offered->pairs[out_offered->count];
        if (pairs_read(PyTuple_GetItem(out_offered->owner, (Py_ssize_t)out_offered->count), pairs) < 0) {
            out_offered->count++;
            return -1;
        }
        out_offered->configs[out_offered->count] = (gcache_config){ pairs->items, pairs->count };
    }
    return 0;
}

static void
offered_clear(offered *given)
{
    for (size_t i = 0; i < given->count; i++)
        pairs_clear(&given->pairs[i]);
    PyMem_Free(given->configs);
    PyMem_Free(given->pairs);
    Py_CLEAR(given->owner);
}

/* (verdict, index, record or None, matches, why) */
static PyObject *
found_tuple(gcache_best_found const *found)
{
    bool has_record = found->verdict != GCACHE_BEST_NO_RECORD && found->verdict != GCACHE_BEST_UNREADABLE;

    return Py_BuildValue("(snNnN)", gcache_best_verdict_name(found->verdict), (Py_ssize_t)found->index,
                         has_record ? best_tuple(&found->record) : Py_NewRef(Py_None), (Py_ssize_t)found->matches,
                         text_new(found->why));
}

/* find_best(kernel, offered, configs_hash, allow_descent) */
PyObject *
cache_find_best(PyObject *self, PyObject *args)
{
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;
    PyObject *which, *sequence, *answer = NULL;
    char const *configs_hash;
    int allow_descent;
    gcache_kernel kernel;
    offered given;
    gcache_status status;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "O!Osp", &PyTuple_Type, &which, &sequence, &configs_hash, &allow_descent)
        || kernel_read(which, &kernel) < 0)
        return NULL;
    gcache *cache = offered_read(sequence, &given) < 0 ? NULL : cache_enter(self);
    if (cache != NULL) {
        Py_BEGIN_ALLOW_THREADS
        status = gcache_best_find(cache, &kernel, given.configs, given.count, configs_hash, allow_descent != 0, &found, &error);
        Py_END_ALLOW_THREADS
        answer = status < 0 ? raise_error(state_of(self), &error) : found_tuple(&found);
        gcache_best_found_clear(&found);
        cache_unuse(self);
    }
    offered_clear(&given);
    return answer;
}

static int
best_found(void *state, gcache_kernel const *kernel, gcache_best const *best, uint64_t at_ns)
{
    gathering *g = state;

    if (!gather_enter(g))
        return 1;
    return gather_leave(g, Py_BuildValue("(NNNNNK)", text_new(kernel->source_hash), text_new(kernel->tag),
                                         text_new(kernel->toolchain), text_new(kernel->backend), best_tuple(best),
                                         (unsigned long long)at_ns));
}

/* all_best() -> [(source_hash, tag, toolchain, backend, record, at_ns)] */
PyObject *
cache_all_best(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_error error;
    gathering g;

    gcache *cache = gather_begin(&g, self, Py_None);
    if (cache == NULL)
        return NULL;
    gcache_status status = gcache_best_each(cache, best_found, &g, &error);
    return gather_end(&g, self, status, &error);
}

/* ---- bundles ---- */

/* begin_bundle(source, source_hash, comment, backend, extra) -> (hit, records, saved_ns) */
PyObject *
cache_begin_bundle(PyObject *self, PyObject *args)
{
    gcache_bundle_options options = GCACHE_BUNDLE_OPTIONS_INIT;
    gcache_bundle_loaded loaded = GCACHE_BUNDLE_LOADED_INIT;
    gcache_status status;
    gcache_error error;

    if (!PyArg_ParseTuple(args, "zzzzz", &options.source, &options.source_hash, &options.comment, &options.backend,
                          &options.extra))
        return NULL;
    gcache *cache = cache_enter(self);
    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_bundle_begin(cache, &options, &loaded, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    if (status < 0)
        return raise_error(state_of(self), &error);
    return Py_BuildValue("(NnK)", PyBool_FromLong(status == GCACHE_HIT), (Py_ssize_t)loaded.records,
                         (unsigned long long)loaded.saved_ns);
}

/* end_bundle() -> whether it was stored */
PyObject *
cache_end_bundle(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache *cache = cache_enter(self);
    gcache_status status;
    gcache_error error;

    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_bundle_end(cache, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    return status < 0 ? raise_error(state_of(self), &error) : PyBool_FromLong(status == GCACHE_OK);
}

/* source_hash(source, comment or None) */
PyObject *
library_source_hash(PyObject *module, PyObject *args)
{
    char const *source, *comment;
    char hex[GCACHE_KEY_HEX_SIZE];
    gcache_error error;
    gcache_key hash;

    if (!PyArg_ParseTuple(args, "sz", &source, &comment))
        return NULL;
    if (gcache_source_hash(source, comment, &hash, &error) != GCACHE_OK)
        return raise_error(PyModule_GetState(module), &error);
    gcache_key_to_hex(&hash, hex);
    return PyUnicode_FromString(hex);
}
