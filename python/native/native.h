/*
 * The compiled half of the Python package: guardcache._native.
 *
 * It does what Python can't: it calls the C library without the interpreter lock, hands payloads out as buffers without
 * a copy, and turns Python values into descriptions at C speed. Everything with names and defaults for people is in the
 * Python files beside it; the types here are reached only from there, so arguments are checked for memory safety, and
 * for meaning by the library itself.
 *
 * Only the stable ABI (Python 3.11) is used: one wheel serves every later Python.
 *
 * Threads: what belongs to a Python object is touched under the interpreter lock; library calls that may wait or take
 * long run without it. A graph is finished before the lock is let go, for a finished graph may be read by many.
 */
#ifndef GUARDCACHE_NATIVE_H
#define GUARDCACHE_NATIVE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030b0000
#include <Python.h>
#ifdef Py_GIL_DISABLED
#error "guardcache needs a Python with an interpreter lock: there is none in a free-threaded build"
#endif

#include <guardcache/guardcache.h>

typedef struct native_state {
    PyTypeObject *graph_type;
    PyTypeObject *guards_type;
    PyTypeObject *cache_type;
    PyTypeObject *payload_type;
    PyTypeObject *compile_type;
    PyTypeObject *user_tier_type;
    PyTypeObject *rules_type;
    PyTypeObject *fingerprint_type;
    PyTypeObject *prepared_type;
    PyObject *make_error;      /* guardcache._errors.make_error */
    PyTypeObject *node_type;   /* guardcache._values.Node, and so on */
    PyTypeObject *symbolic_type;
    PyTypeObject *enum_type;
    PyTypeObject *tensor_type;
    PyTypeObject *json_type;
    PyObject *mapping_type;    /* collections.abc.Mapping, and Sequence */
    PyObject *sequence_type;
    PyObject *tier_call;       /* guardcache._tier.TierCall, and so on */
    PyObject *tier_object;
    PyObject *tier_lease;
    PyObject *fenced_error;
} native_state;

native_state *state_of(PyObject *object);

/* Raises the Python exception that stands for error; NULL, so that callers can return it. */
PyObject *raise_error(native_state *state, gcache_error const *error);
/* The exception that is set, which is cleared. */
PyObject *take_raised(void);

/* ---- convert.c ---- */

/* A list of strings as C sees it; owner keeps them alive. Clear with texts_clear whether or not reading succeeded. */
typedef struct native_texts {
    char const **items;
    size_t count;
    PyObject *owner;
} native_texts;

int texts_read(PyObject *sequence, native_texts *out_texts);
void texts_clear(native_texts *list);

/* A mapping of strings; None is the empty one. */
typedef struct native_pairs {
    gcache_pair *items;
    size_t count;
    PyObject *owner;
} native_pairs;

int pairs_read(PyObject *mapping, native_pairs *out_pairs);
/* The same where they are for people. */
int pairs_read_shown(PyObject *mapping, native_pairs *out_pairs);
void pairs_clear(native_pairs *list);

/* A mapping of names to int, float, bool or None. None instead of a mapping: no hints were given. */
typedef struct native_hints {
    gcache_hints view;
    bool given;
    gcache_hint *items;
    gcache_hint_literal *literals;
    PyObject *owner;
} native_hints;

int hints_read(PyObject *mapping, native_hints *out_hints);
void hints_clear(native_hints *list);
gcache_hints const *hints_or_null(native_hints const *list);

/* Zero-terminated UTF-8 that lives as long as the object; NULL with TypeError if it is no text. */
char const *text_of(PyObject *object);

/* The same, but None is NULL. Returns -1 with an exception set. */
int text_or_none(PyObject *object, char const **out_text);

/* A text for people, or None, which is NULL: what C can't hold (lone surrogates, null characters) is escaped. *kept, a list that is
   made where one is needed, keeps what was. -1 with an exception set. */
int shown_or_none(PyObject *object, char const **out_text, PyObject **kept);

/* What an exception says, cut to the error's message; error may be NULL. No exception is set afterwards. */
void exception_shown(PyObject *exception, gcache_error *error);

PyObject *text_tuple(char const *const *items, size_t count);

/* A text of the library's; None for NULL. What isn't UTF-8 in it is replaced. */
PyObject *text_new(char const *text);
/* The same of one that it handed out, which is freed; or the exception that stands for the error. */
PyObject *text_taken(native_state *state, gcache_status status, char *text, gcache_error const *error);

PyObject *pairs_dict(gcache_pair const *items, size_t count);

/* A key in hex; NULL leaves *out_key alone. -1 with an exception set. */
int key_or_none(native_state *state, char const *hex, gcache_key *out_key);

/* ---- gather.c ---- */

/*
 * A list that the library's callbacks fill. Between gather_begin and gather_end the interpreter lock is let go; a callback takes
 * it by gather_enter, unless an exception is set already, and lets it go again by gather_leave.
 */
typedef struct gathering {
    native_state *state;
    PyObject *list;
    PyObject *progress;    /* borrowed: (done, total); None: nobody watches */
    PyThreadState *thread;
    bool raised;           /* an exception is set */
    bool may_be_refused;   /* GCACHE_REFUSED is no error */
} gathering;

/* NULL with an exception set. */
gcache *gather_begin(gathering *out_gathering, PyObject *cache, PyObject *progress);
/* The list, or NULL with an exception set. */
PyObject *gather_end(gathering *g, PyObject *cache, gcache_status status, gcache_error const *error);
bool gather_enter(gathering *g);
/* Appends item, which is taken over and may be NULL with an exception set. Whether there is an exception. */
bool gather_leave(gathering *g, PyObject *item);
/* A gcache_progress_fn. */
void gather_progress(void *state, uint64_t done, uint64_t total);

/* ---- callback.c ---- */

/* Takes the interpreter lock for a call by one of the library's threads, or any other. false: there are no more calls, since
   the interpreter is about to end. */
bool callback_begin(PyGILState_STATE *out_lock);
void callback_end(PyGILState_STATE lock);
/* An exception of this type ends with the call: whether it is Ctrl-C, which the program gets once the library has returned. */
bool pass_on_interrupt(PyObject *type);
/* One of them doesn't return, and the interpreter is about to end. */
bool callbacks_are_stuck(void);

PyObject *callbacks_end(PyObject *module, PyObject *args);
PyObject *callbacks_forked(PyObject *module, PyObject *none);

/* ---- values.c ---- */

/* Makes a value of the graph. *out_value is NULL also after a sticky error of the graph; -1 only for Python's errors. */
int value_read(native_state *state, gcache_graph *graph, PyObject *object, gcache_value **out_value);

/* ---- graph.c ---- */

extern PyType_Spec graph_spec;

/* The description in a Python Graph, to which nothing is added any more; NULL with an exception set. */
gcache_graph *graph_given(native_state *state, PyObject *object);
/* The same, but without a key it is NULL with an exception set, too. */
gcache_graph *graph_finished(native_state *state, PyObject *object);

/* ---- rules.c, fingerprint.c ---- */

extern PyType_Spec rules_spec;
extern PyType_Spec fingerprint_spec;

/* The set in a Python Rules, which nobody changes any more; NULL with an exception set. */
gcache_rules const *rules_use(native_state *state, PyObject *object);
/* NULL also after a sticky error of the graph. */
gcache_value *fingerprint_value(PyObject *self, gcache_graph *graph);

/* ---- the other types ---- */

extern PyType_Spec prepared_spec;
extern PyType_Spec guards_spec;
extern PyType_Spec cache_spec;
extern PyType_Spec payload_spec;
extern PyType_Spec compile_spec;
extern PyType_Spec user_tier_spec;

/* A UserTier as the library takes it; borrowed from the object. */
gcache_tier_user const *user_tier_view(PyObject *object);
/* Its tier hears that a cache that had it open was closed. */
void user_tier_leave(PyObject *object);

/* settings(directory, namespace): the options of Cache that environment and config.json set, as a dict. */
PyObject *library_settings(PyObject *module, PyObject *args);
PyObject *library_kinds_load(PyObject *module, PyObject *args);
/* signing_key_read(file) gives id, secret, algorithm and public key; signing_key_make(file, id, algorithm). */
PyObject *library_signing_key_read(PyObject *module, PyObject *args);
PyObject *library_signing_key_make(PyObject *module, PyObject *args);

/* Functions of the module that have a file of their own. */
PyObject *library_compare(PyObject *module, PyObject *args);
PyObject *library_show_export(PyObject *module, PyObject *args);
PyObject *library_source_hash(PyObject *module, PyObject *args);
PyObject *library_setting_list(PyObject *module, PyObject *args);
PyObject *library_write_setting(PyObject *module, PyObject *args);
PyObject *library_diff(PyObject *module, PyObject *args);
PyObject *library_shipped_rules(PyObject *module, PyObject *args);
PyObject *library_kind_folder(PyObject *module, PyObject *args);
PyObject *library_rule_kinds(PyObject *module, PyObject *none);

/* places(content, text, pair): where the text occurs, fast if bytes pair and pair + 1 of it are rarely neighbours. */
PyObject *bytes_places(PyObject *module, PyObject *args);
/* digest_outside(content, parts, more): XXH3-128 of what lies outside of parts, a sorted list of (begin, end), and of more. */
PyObject *bytes_digest(PyObject *module, PyObject *args);

PyObject *verdict_tuple(gcache_verdict const *verdict);

/* Takes over *result (it is cleared when the object dies). cache is the Cache it came from, which stays open until then. */
PyObject *payload_new(native_state *state, PyObject *cache, gcache_result *result);
gcache_result const *payload_result(PyObject *payload);

/* The same of a result that belongs to somebody else: its bytes are copied, its attachments are there until payload_end. */
PyObject *payload_lend(native_state *state, PyObject *cache, gcache_result const *result);
void payload_end(PyObject *payload);

/* What lookup returns of a hit; takes over *result as payload_new does. */
PyObject *hit_tuple(native_state *state, PyObject *cache, gcache_result *result);
/* The same with a payload, a reference to which it takes over, that was lent. */
PyObject *hit_tuple_with(PyObject *payload, gcache_result const *result);
/* What it returns of a miss. */
PyObject *miss_tuple(gcache_result const *result);

/* A Cache closes when it was told to and nobody uses it any more: every payload, compile and running call is a user. */
gcache *cache_use(PyObject *cache);
void cache_unuse(PyObject *cache);

/* cache_use for a new call: NULL with ValueError once the cache was closed. */
gcache *cache_enter(PyObject *cache);

/* What a tier has been doing, by word. */
PyObject *counts_new(uint64_t const *counts);

/* Methods of Cache that have a file of their own. */
PyObject *cache_lookup(PyObject *self, PyObject *args);
PyObject *cache_explain(PyObject *self, PyObject *args);
PyObject *cache_place(PyObject *self, PyObject *args);
PyObject *cache_attachment(PyObject *self, PyObject *args);
PyObject *cache_insert(PyObject *self, PyObject *args);
PyObject *cache_entries(PyObject *self, PyObject *args);
PyObject *cache_remove(PyObject *self, PyObject *args);
PyObject *cache_shadowed(PyObject *self, PyObject *args);
PyObject *cache_read_entry(PyObject *self, PyObject *args);
PyObject *cache_verify(PyObject *self, PyObject *args);
PyObject *cache_repair(PyObject *self, PyObject *progress);
PyObject *cache_gc(PyObject *self, PyObject *args);
PyObject *cache_doctor(PyObject *self, PyObject *none);
PyObject *cache_counters(PyObject *self, PyObject *none);
PyObject *cache_misses(PyObject *self, PyObject *none);
PyObject *cache_statistics(PyObject *self, PyObject *none);
PyObject *cache_journal(PyObject *self, PyObject *query);
PyObject *cache_show_statistics(PyObject *self, PyObject *args);
PyObject *cache_top(PyObject *self, PyObject *args);
PyObject *cache_report(PyObject *self, PyObject *query);
PyObject *cache_artifacts_begin(PyObject *self, PyObject *none);
PyObject *cache_artifacts_end(PyObject *self, PyObject *none);
PyObject *cache_artifacts_dirty(PyObject *self, PyObject *none);
PyObject *cache_artifacts_add(PyObject *self, PyObject *args);
PyObject *cache_artifacts_save(PyObject *self, PyObject *args);
PyObject *cache_put_blob(PyObject *self, PyObject *args);
PyObject *cache_get_blob(PyObject *self, PyObject *args);
PyObject *cache_expire_blobs(PyObject *self, PyObject *args);
PyObject *cache_subdirectory(PyObject *self, PyObject *args);
PyObject *cache_share(PyObject *self, PyObject *args);
PyObject *cache_compile_many(PyObject *self, PyObject *args);
PyObject *cache_put_timings(PyObject *self, PyObject *args);
PyObject *cache_all_timings(PyObject *self, PyObject *none);
PyObject *cache_put_best(PyObject *self, PyObject *args);
PyObject *cache_find_best(PyObject *self, PyObject *args);
PyObject *cache_all_best(PyObject *self, PyObject *none);
PyObject *cache_begin_bundle(PyObject *self, PyObject *args);
PyObject *cache_end_bundle(PyObject *self, PyObject *none);
PyObject *cache_begin(PyObject *self, PyObject *args);
PyObject *cache_get_or_compile(PyObject *self, PyObject *args);
PyObject *cache_explain_past(PyObject *self, PyObject *args);
PyObject *cache_timings(PyObject *self, PyObject *args);
PyObject *cache_export(PyObject *self, PyObject *args);
PyObject *cache_import(PyObject *self, PyObject *args);
PyObject *cache_tiers(PyObject *self, PyObject *none);
PyObject *cache_ping(PyObject *self, PyObject *none);
PyObject *cache_flush(PyObject *self, PyObject *args);
PyObject *cache_sync(PyObject *self, PyObject *args);

/* ---- request.c: what lookup and explain are asked, insert is given ---- */

/* A request and what it borrows from. Clear with request_clear whether or not reading succeeded. */
typedef struct native_request {
    gcache_request view;
    native_pairs provides, sources;
    PyObject *guard_test;      /* borrowed; NULL: guards are evaluated */
    PyObject *kept;            /* texts that were escaped */
    PyThreadState *thread;     /* of the call in progress, while the interpreter lock is let go */
    bool raised;               /* the guard test raised an exception, which is set */
} native_request;

/* From a tuple (variant, expect_variant, provides, accept_renames, label, sources, guard_test, bypass). */
int request_read(PyObject *tuple, native_request *out_request);
void request_clear(native_request *request);

/* Everything that lookup and explain share: who asks what. */
typedef struct lookup_context {
    gcache_graph *graph;
    native_hints hints;
    native_request request;
} lookup_context;

/* From (graph, hints, request). Clear it with context_clear whether or not reading succeeded. */
int context_read(native_state *state, PyObject *graph, PyObject *mapping, PyObject *asked,
                  lookup_context *out_context);
void context_clear(lookup_context *context);

/* A mapping of names to numbers; None is the empty one. */
typedef struct native_deltas {
    gcache_delta *items;
    size_t count;
    PyObject *owner;
} native_deltas;

typedef struct native_entry {
    gcache_entry view;
    native_texts guards;
    native_pairs requirements;
    native_deltas deltas;
    gcache_attachment *attachments;
    PyObject *kept;            /* texts that were escaped */
    Py_buffer *buffers;        /* payload, metadata, identity, attachments */
    size_t buffer_count;
} native_entry;

/*
 * From a tuple (guards, payload, metadata, variant, priority, requirements, compile_ns, label, identity, attachments, deltas);
 * attachments are tuples (name, bytes, executable).
 */
int entry_read(PyObject *tuple, native_entry *out_entry);
void entry_clear(native_entry *entry);

#endif
