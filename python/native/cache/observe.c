/*
 * Methods of Cache over guardcache/observe.h: counters of the handle, statistics of the directory, the journal.
 */
#include "../native.h"

#include <string.h>

/* ---- numbers ---- */

/* Puts a number into the dict, which is NULL once that failed. */
static void
put_number(PyObject **dict, char const *name, uint64_t value)
{
    PyObject *number = *dict == NULL ? NULL : PyLong_FromUnsignedLongLong(value);

    if (*dict != NULL && (number == NULL || PyDict_SetItemString(*dict, name, number) < 0))
        Py_CLEAR(*dict);
    Py_XDECREF(number);
}

/* counters() -> what the handle has been doing, by word */
PyObject *
cache_counters(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache *cache = cache_enter(self);
    PyObject *dict = cache == NULL ? NULL : PyDict_New();

    if (cache == NULL)
        return NULL;
#define X(name, word, text) put_number(&dict, word, gcache_counter_read(cache, GCACHE_COUNTER_##name));
    GCACHE_COUNTER_MAP(X)
#undef X
    cache_unuse(self);
    return dict;
}

/* misses() -> how many for each reason */
PyObject *
cache_misses(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache *cache = cache_enter(self);
    PyObject *dict = cache == NULL ? NULL : PyDict_New();

    if (cache == NULL)
        return NULL;
    for (int reason = 1; reason < GCACHE_REASON_COUNT; reason++)
        put_number(&dict, gcache_reason_name((gcache_reason)reason), gcache_counter_misses(cache, (gcache_reason)reason));
    cache_unuse(self);
    return dict;
}

/* statistics() -> those of the directory, by word */
PyObject *
cache_statistics(PyObject *self, PyObject *Py_UNUSED(none))
{
    gcache *cache = cache_enter(self);
    gcache_statistics *statistics = NULL;
    gcache_status status;
    gcache_error error;

    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = gcache_statistics_read(cache, &statistics, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    if (status != GCACHE_OK)
        return raise_error(state_of(self), &error);
    PyObject *dict = PyDict_New();
#define X(name, word, text) put_number(&dict, word, gcache_statistics_get(statistics, GCACHE_STATISTIC_##name));
    GCACHE_STATISTIC_SIZE_MAP(X)
    GCACHE_STATISTIC_COUNTER_MAP(X)
#undef X
    gcache_statistics_free(statistics);
    return dict;
}

/* ---- the journal ---- */

static int
reason_read(char const *word, gcache_reason *out_reason)
{
    for (int reason = 0; reason < GCACHE_REASON_COUNT; reason++) {
        *out_reason = (gcache_reason)reason;
        if (strcmp(word, gcache_reason_name(*out_reason)) == 0)
            return 0;
    }
    PyErr_Format(PyExc_ValueError, "there is no reason \"%s\"", word);
    return -1;
}

/* (last, since_ns, label, key, reason, misses_only, namespace) */
static int
query_read(PyObject *tuple, gcache_journal_query *out_query)
{
    unsigned long long since_ns;
    Py_ssize_t last;
    char const *reason;
    int misses_only;

    *out_query = (gcache_journal_query)GCACHE_JOURNAL_QUERY_INIT;
    if (!PyArg_ParseTuple(tuple, "nKzzspz", &last, &since_ns, &out_query->label, &out_query->key, &reason, &misses_only,
                          &out_query->namespace_))
        return -1;
    out_query->last = (size_t)last;
    out_query->since_ns = since_ns;
    out_query->misses_only = misses_only != 0;
    return reason_read(reason, &out_query->reason);
}

static PyObject *
literals_dict(gcache_hint_literal const *hints, size_t count)
{
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict != NULL && i < count; i++) {
        PyObject *literal = text_new(hints[i].literal);
        if (literal == NULL || PyDict_SetItemString(dict, hints[i].name, literal) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(literal);
    }
    return dict;
}

/* In the order of the header. */
static PyObject *
journal_tuple(gcache_journal_entry const *e)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&e->key, hex);
    return Py_BuildValue("(KssksNNNNNKKKKKNNNNKN)", (unsigned long long)e->at_ns, gcache_journal_kind_name(e->kind),
                         gcache_reason_name(e->reason), (unsigned long)e->process, hex, text_new(e->namespace_),
                         text_new(e->graph_kind), text_new(e->label), literals_dict(e->hints, e->hint_count), text_new(e->entry),
                         (unsigned long long)e->hits, (unsigned long long)e->saved_ns, (unsigned long long)e->elapsed_ns,
                         (unsigned long long)e->compile_ns, (unsigned long long)e->payload_size, text_new(e->text),
                         pairs_dict(e->sources, e->sources_count), text_new(e->why_asked), text_new(e->tier),
                         (unsigned long long)e->waited_ns, e->tier_counts != NULL ? counts_new(e->tier_counts) : PyDict_New());
}

static int
journal_found(void *state, gcache_journal_entry const *entry)
{
    gathering *g = state;

    return !gather_enter(g) || gather_leave(g, journal_tuple(entry));
}

/* journal(query) */
PyObject *
cache_journal(PyObject *self, PyObject *asked)
{
    gcache_journal_query query;
    gcache_error error;
    gathering g;

    if (query_read(asked, &query) < 0)
        return NULL;
    gcache *cache = gather_begin(&g, self, Py_None);
    if (cache == NULL)
        return NULL;
    gcache_status status = gcache_journal_each(cache, &query, journal_found, &g, &error);
    return gather_end(&g, self, status, &error);
}

/* ---- as text ---- */

/* What is asked of the journal as a text: which it is, of which entries, in which form, and how many. */
typedef struct showing {
    gcache_journal_query query;
    int form, kind;
    Py_ssize_t count;
} showing;

typedef gcache_status (*show_fn)(gcache *cache, showing const *asked, char **out_text, gcache_error *error);

static gcache_status
show_misses(gcache *cache, showing const *asked, char **out_text, gcache_error *error)
{
    return gcache_journal_explain(cache, &asked->query, (gcache_explain_form)asked->form, out_text, NULL, error);
}

static gcache_status
show_statistics(gcache *cache, showing const *asked, char **out_text, gcache_error *error)
{
    return gcache_statistics_show(cache, &asked->query, (gcache_statistics_form)asked->form, out_text, error);
}

static gcache_status
show_top(gcache *cache, showing const *asked, char **out_text, gcache_error *error)
{
    return gcache_statistics_top(cache, &asked->query, (gcache_top_kind)asked->kind, (size_t)asked->count,
                                 (gcache_statistics_form)asked->form, out_text, error);
}

static gcache_status
show_report(gcache *cache, showing const *asked, char **out_text, gcache_error *error)
{
    return gcache_report(cache, &asked->query, out_text, error);
}

static PyObject *
show(PyObject *self, showing const *asked, show_fn function)
{
    gcache *cache = cache_enter(self);
    gcache_status status;
    gcache_error error;
    char *text = NULL;

    if (cache == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = function(cache, asked, &text, &error);
    Py_END_ALLOW_THREADS
    cache_unuse(self);
    return text_taken(state_of(self), status, text, &error);
}

/* explain_past(query, form): 0 short, 1 everything, 2 JSON, 3 HTML. */
PyObject *
cache_explain_past(PyObject *self, PyObject *args)
{
    PyObject *query;
    showing asked = { 0 };

    if (!PyArg_ParseTuple(args, "O!i", &PyTuple_Type, &query, &asked.form) || query_read(query, &asked.query) < 0)
        return NULL;
    return show(self, &asked, show_misses);
}

/* show_statistics(query, form): 0 text, 1 JSON, 2 for Prometheus. */
PyObject *
cache_show_statistics(PyObject *self, PyObject *args)
{
    PyObject *query;
    showing asked = { 0 };

    if (!PyArg_ParseTuple(args, "O!i", &PyTuple_Type, &query, &asked.form) || query_read(query, &asked.query) < 0)
        return NULL;
    return show(self, &asked, show_statistics);
}

/* top(query, kind, count, form): 0 misses, 1 keys, 2 guards. */
PyObject *
cache_top(PyObject *self, PyObject *args)
{
    PyObject *query;
    showing asked = { 0 };

    if (!PyArg_ParseTuple(args, "O!ini", &PyTuple_Type, &query, &asked.kind, &asked.count, &asked.form)
        || query_read(query, &asked.query) < 0)
        return NULL;
    return show(self, &asked, show_top);
}

/* report(query) */
PyObject *
cache_report(PyObject *self, PyObject *query)
{
    showing asked = { 0 };

    return query_read(query, &asked.query) < 0 ? NULL : show(self, &asked, show_report);
}
