/*
 * Methods of Cache over guardcache/maintenance.h: verify, repair, gc and doctor.
 */
#include "../native.h"

static void
problem_found(void *state, char const *path, char const *problem)
{
    gathering *g = state;

    if (gather_enter(g))
        gather_leave(g, Py_BuildValue("(NN)", text_new(path), text_new(problem)));
}

/* verify(threads, progress or None) -> (keys, entries, bytes, problems) */
PyObject *
cache_verify(PyObject *self, PyObject *args)
{
    gcache_verified sums = GCACHE_VERIFIED_INIT;
    gathering g;
    gcache_maintenance_options options = { .size = sizeof options, .problem = problem_found, .progress = gather_progress,
                                           .state = &g };
    gcache_error error;
    PyObject *progress;

    if (!PyArg_ParseTuple(args, "iO", &options.threads, &progress))
        return NULL;
    gcache *cache = gather_begin(&g, self, progress);
    if (cache == NULL)
        return NULL;
    gcache_status status = gcache_verify(cache, &options, &sums, &error);
    PyObject *problems = gather_end(&g, self, status, &error);
    return problems == NULL ? NULL
                            : Py_BuildValue("(KKKN)", (unsigned long long)sums.keys, (unsigned long long)sums.entries,
                                            (unsigned long long)sums.bytes, problems);
}

/* repair(progress or None) -> (keys, entries, quarantined, recovered, lost, problems) */
PyObject *
cache_repair(PyObject *self, PyObject *progress)
{
    gcache_repaired sums = GCACHE_REPAIRED_INIT;
    gathering g;
    gcache_maintenance_options options = { .size = sizeof options, .problem = problem_found, .progress = gather_progress,
                                           .state = &g };
    gcache_error error;

    gcache *cache = gather_begin(&g, self, progress);
    if (cache == NULL)
        return NULL;
    gcache_status status = gcache_repair(cache, &options, &sums, &error);
    PyObject *problems = gather_end(&g, self, status, &error);
    return problems == NULL ? NULL
                            : Py_BuildValue("(KKKKKN)", (unsigned long long)sums.keys, (unsigned long long)sums.entries,
                                            (unsigned long long)sums.quarantined, (unsigned long long)sums.recovered,
                                            (unsigned long long)sums.lost, problems);
}

static void
victim_found(void *state, gcache_key const *key, char const *entry, uint64_t bytes)
{
    gathering *g = state;
    char hex[GCACHE_KEY_HEX_SIZE];

    if (!gather_enter(g))
        return;
    gcache_key_to_hex(key, hex);
    gather_leave(g, Py_BuildValue("(ssK)", hex, entry, (unsigned long long)bytes));
}

/* gc(dry_run, target_bytes, max_age_ns, namespace or None, progress or None) -> (entries, bytes, attachments, stray, left_bytes,
   victims) */
PyObject *
cache_gc(PyObject *self, PyObject *args)
{
    gcache_gc_options options = GCACHE_GC_OPTIONS_INIT;
    gcache_collected sums = GCACHE_COLLECTED_INIT;
    unsigned long long target_bytes, max_age_ns;
    int dry_run;
    PyObject *progress;
    gcache_error error;
    gathering g;

    if (!PyArg_ParseTuple(args, "pKKzO", &dry_run, &target_bytes, &max_age_ns, &options.namespace_, &progress))
        return NULL;
    options.dry_run = dry_run != 0;
    options.target_bytes = target_bytes;
    options.max_age_ns = max_age_ns;
    options.victim = victim_found;
    options.progress = gather_progress;
    options.state = &g;
    gcache *cache = gather_begin(&g, self, progress);
    if (cache == NULL)
        return NULL;
    gcache_status status = gcache_gc(cache, &options, &sums, &error);
    PyObject *victims = gather_end(&g, self, status, &error);
    return victims == NULL ? NULL
                           : Py_BuildValue("(KKKKKN)", (unsigned long long)sums.entries, (unsigned long long)sums.bytes,
                                           (unsigned long long)sums.attachments, (unsigned long long)sums.stray,
                                           (unsigned long long)sums.left_bytes, victims);
}

static void
fact_found(void *state, char const *name, char const *value, char const *warning)
{
    gathering *g = state;

    if (gather_enter(g))
        gather_leave(g, Py_BuildValue("(NNN)", text_new(name), text_new(value), text_new(warning)));
}

/* doctor() -> [(name, value, warning or None)] */
PyObject *
cache_doctor(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache_error error;
    gathering g;

    gcache *cache = gather_begin(&g, self, Py_None);
    if (cache == NULL)
        return NULL;
    gcache_status status = gcache_doctor(cache, fact_found, &g, &error);
    return gather_end(&g, self, status, &error);
}
