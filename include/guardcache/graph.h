/*
 * guardcache/graph.h - the description of a graph: built call by call, or read from JSON.
 *
 * A description is a tree of named components (graph, inputs, options, config, environment, ...); what counts for the
 * key and what doesn't is written in docs/formats/description.md. A gcache_graph owns everything that was put into it:
 * all strings and arrays are copied by the call that takes them, and values (gcache_value) belong to the graph they were
 * made with and live as long as it does.
 *
 * Errors are sticky: a builder call that fails (no memory, a limit, an argument that is not valid) remembers the first
 * error and later calls do nothing; gcache_graph_key and everything that uses the graph then return that error. So a
 * builder sequence needs no checks in between. A value made after an error is NULL, which every call accepts.
 *
 * Threads: one thread at a time while building; a finished graph may be read by many.
 */
#ifndef GUARDCACHE_GRAPH_H
#define GUARDCACHE_GRAPH_H

#include <guardcache/key.h>
#include <guardcache/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcache_graph gcache_graph;
typedef struct gcache_rules gcache_rules;
typedef struct gcache_value gcache_value;

/* A node or input of the graph under construction; 0 is no node. Only valid for the graph that made it. */
typedef uint32_t gcache_node;

/* Room in gcache_tensor; tensors of a higher rank go through gcache_value_map and gcache_value_tensor. */
#define GCACHE_TENSOR_RANK 16

/* Tensor metadata. Shape and stride items are integers or expressions over symbols, as text: "16", "4*s0 + 1". */
typedef struct gcache_tensor {
    size_t size;                            /* set by GCACHE_TENSOR_INIT */
    char const *dtype;                      /* "float32" */
    char const *shape[GCACHE_TENSOR_RANK];
    char const *stride[GCACHE_TENSOR_RANK]; /* all NULL: not given */
    int rank;
    char const *device;                     /* "cuda:0"; NULL: not given */
    char const *layout;                     /* "strided"; NULL: not given */
    bool requires_grad;
} gcache_tensor;

#define GCACHE_TENSOR_INIT { .size = sizeof(gcache_tensor) }

/*
 * A new, empty description. kind selects the default rules ("fx", "aot", "stablehlo", "llvm-ir", "triton", "generic");
 * any other kind has the rules of "generic". NULL only without memory. Free with gcache_graph_free (NULL is accepted).
 */
GCACHE_API gcache_graph *gcache_graph_new(char const *kind);
GCACHE_API void gcache_graph_free(gcache_graph *graph);

/*
 * Reads a description file's text (format "guardcache-graph/1", docs/formats/description.md). name, a file's, is used in
 * messages.
 * GCACHE_OK, or ERROR_SYNTAX (not strict JSON), ERROR_DESCRIPTION (not a description), ERROR_LIMIT, ERROR_MEMORY;
 * the error has line, column and path. The text isn't needed afterwards.
 */
GCACHE_API gcache_status gcache_graph_read(char const *text, size_t size, char const *name, gcache_graph **out_graph,
                                           gcache_error *error);

/*
 * A description known only by a key that somebody else computed. Everything but gcache_graph_canonical works with it;
 * component lines (see gcache_graph_line) are what a miss can then be explained with.
 */
GCACHE_API gcache_graph *gcache_graph_new_keyed(char const *kind, gcache_key const *key);

/* Adds one component line to a keyed description: a component's name, its hash in hex, and a text for people. */
GCACHE_API void gcache_graph_line(gcache_graph *graph, char const *name, char const *hash, char const *text);

/* ---- nodes ---- */

/* An input in call order, and the placeholder node that stands for it. The name is for references and messages only. */
GCACHE_API gcache_node gcache_graph_input(gcache_graph *graph, char const *name, gcache_tensor const *tensor);

/* The same for an input that is any value (a $sym, a constant). */
GCACHE_API gcache_node gcache_graph_input_value(gcache_graph *graph, char const *name, gcache_value *value);

/* A call of target with nodes as arguments. */
GCACHE_API gcache_node gcache_graph_call(gcache_graph *graph, char const *target, gcache_node const *args, size_t count);

/* A node of any op ("call_function", "call_method", "get_attr", ...) with arguments of any kind. */
GCACHE_API gcache_node gcache_graph_node(gcache_graph *graph, char const *op, char const *target,
                                         gcache_value *const *args, size_t count);

/* Keyword arguments of a node. A name given twice for one node is an error. */
GCACHE_API void gcache_graph_kwarg(gcache_graph *graph, gcache_node node, char const *name, gcache_value *value);
GCACHE_API void gcache_graph_kwarg_bool(gcache_graph *graph, gcache_node node, char const *name, bool value);
GCACHE_API void gcache_graph_kwarg_int(gcache_graph *graph, gcache_node node, char const *name, int64_t value);
GCACHE_API void gcache_graph_kwarg_float(gcache_graph *graph, gcache_node node, char const *name, double value);
GCACHE_API void gcache_graph_kwarg_text(gcache_graph *graph, gcache_node node, char const *name, char const *value);

/* The output node: what the graph returns. */
GCACHE_API void gcache_graph_output(gcache_graph *graph, gcache_node node);
GCACHE_API void gcache_graph_outputs(gcache_graph *graph, gcache_value *value);

/*
 * Opens a subgraph under name: nodes added until gcache_graph_subgraph_end belong to it; they may refer to nodes of
 * the enclosing graphs. Nesting is allowed.
 */
GCACHE_API void gcache_graph_subgraph_begin(gcache_graph *graph, char const *name);
GCACHE_API void gcache_graph_subgraph_end(gcache_graph *graph);

/* ---- components ---- */

/* Sets component `name` (options, config, environment, module, volatile, any other) to a value. Twice is an error.
   "module_name" true: the name of the module counts, also where the kind's rules leave it out. */
GCACHE_API void gcache_graph_component(gcache_graph *graph, char const *name, gcache_value *value);

/* ---- values: see docs/formats/description.md for what each means ---- */

GCACHE_API gcache_value *gcache_value_null(gcache_graph *graph);
GCACHE_API gcache_value *gcache_value_bool(gcache_graph *graph, bool value);
GCACHE_API gcache_value *gcache_value_int(gcache_graph *graph, int64_t value);
GCACHE_API gcache_value *gcache_value_int_text(gcache_graph *graph, char const *decimal); /* of any size */
GCACHE_API gcache_value *gcache_value_float(gcache_graph *graph, double value);
GCACHE_API gcache_value *gcache_value_text(gcache_graph *graph, char const *utf8, size_t size);
GCACHE_API gcache_value *gcache_value_bytes(gcache_graph *graph, void const *bytes, size_t size);
GCACHE_API gcache_value *gcache_value_node(gcache_graph *graph, gcache_node node);
GCACHE_API gcache_value *gcache_value_symbolic(gcache_graph *graph, char const *expression);
GCACHE_API gcache_value *gcache_value_enum(gcache_graph *graph, char const *name);
GCACHE_API gcache_value *gcache_value_list(gcache_graph *graph, gcache_value *const *items, size_t count);
GCACHE_API gcache_value *gcache_value_tuple(gcache_graph *graph, gcache_value *const *items, size_t count);
GCACHE_API gcache_value *gcache_value_set(gcache_graph *graph, gcache_value *const *items, size_t count);
GCACHE_API gcache_value *gcache_value_map(gcache_graph *graph, char const *const *names, gcache_value *const *values,
                                          size_t count);
/* Turns a map with members dtype, shape, stride, device, values, ... into tensor metadata. */
GCACHE_API gcache_value *gcache_value_tensor(gcache_graph *graph, gcache_value *map);
/* Reads strict JSON, the `$` objects of descriptions included. */
GCACHE_API gcache_value *gcache_value_json(gcache_graph *graph, char const *text, size_t size);

/* ---- rules ---- */

/*
 * Reads a rule set (docs/formats/rules.md). name is used in messages. The set is immutable; free with gcache_rules_free
 * when no graph uses it. GCACHE_OK, ERROR_SYNTAX, ERROR_DESCRIPTION, ERROR_LIMIT, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_rules_read(char const *text, size_t size, char const *name, gcache_rules **out_rules,
                                           gcache_error *error);
GCACHE_API void gcache_rules_free(gcache_rules *rules);

/*
 * Adds what helps after a miss to a set that no graph uses yet: the text of an advice.json (docs/formats/rules.md), copied. It
 * takes the place of what the set had; a loaded kind's set, which all share, takes none. Explanations of graphs with these rules
 * show it; keys don't depend on it. name is used in messages. GCACHE_OK, ERROR_SYNTAX, ERROR_DESCRIPTION (the set is as it was),
 * ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_rules_read_advice(gcache_rules *rules, char const *text, size_t size, char const *name,
                                                  gcache_error *error);

/*
 * The set that descriptions of a kind use on their own, made for many of them: patterns are compiled to machine code once
 * and not for each description. Worth it for the text kinds. Free with gcache_rules_free. GCACHE_OK or ERROR_MEMORY; of a kind
 * that was loaded and can't be used (below), what gcache_kinds_load said of it.
 */
GCACHE_API gcache_status gcache_rules_of_kind(char const *kind, gcache_rules **out_rules, gcache_error *error);

/* The text of a rule set that is compiled in, or was loaded (below), or NULL. Static storage. */
GCACHE_API char const *gcache_rules_shipped(char const *kind, size_t *out_size);

/* The kinds with rules of their own: shipped ones in order, then those that were loaded; NULL past the last. Static storage. */
GCACHE_API char const *gcache_rules_kind(size_t index);

/* One rule of a set, as it is written; texts are NULL where absent and belong to the set. */
typedef struct gcache_rule {
    size_t size;         /* set by GCACHE_RULE_INIT */
    char const *kind;    /* "path" (a value left out), "drop", "const", "ordinal", "sort", "bypass", "private" */
    char const *path;    /* what it is bound to */
    char const *pattern; /* PCRE2, of text rules */
    char const *with;    /* what takes a match's place */
    char const *why;
    size_t examples;
} gcache_rule;

#define GCACHE_RULE_INIT { .size = sizeof(gcache_rule) }

/* A set's rules in order; false past the last. */
GCACHE_API bool gcache_rules_at(gcache_rules const *rules, size_t index, gcache_rule *out_rule);

/* A set's own name and the hash that enters keys: over what has an effect, so not over reasons, examples and limits. */
GCACHE_API char const *gcache_rules_name(gcache_rules const *rules);
GCACHE_API void gcache_rules_hash(gcache_rules const *rules, gcache_key *out_hash);

/* Told of an example that doesn't hold: the rule's number and what is wrong. */
typedef void (*gcache_rules_problem_fn)(void *state, size_t rule, char const *problem);

/*
 * Runs the examples of a set: each `same` pair must get one key, each `different` pair two, and each pattern must change
 * nothing when it is applied to its own result. GCACHE_OK also if some don't hold; out_examples and out_problems count.
 */
GCACHE_API gcache_status gcache_rules_test(gcache_rules const *rules, gcache_rules_problem_fn fn, void *state,
                                           size_t *out_examples, size_t *out_problems, gcache_error *error);

/* Uses rules in place of those of the kind. The rules must outlive the graph. */
GCACHE_API void gcache_graph_use_rules(gcache_graph *graph, gcache_rules const *rules);

/*
 * ---- kinds of one's own ----
 *
 * A kind is a folder of that name (docs/formats/rules.md): rules.json, without which it has generic's, and advice.json, which may
 * be absent. Once it is loaded it counts for every description of that kind in this process, as one that is compiled in: for
 * keys, which the hash of its rules is part of, and for explanations. It stays until the process ends, since a kind must mean one
 * thing throughout: two meanings of it, or another meaning of one that is compiled in, are an error, and the first stays.
 *
 * A kind that can't be used isn't passed over: its descriptions have no key, with the reason, so that nothing is stored under
 * rules that weren't meant. Loading it again, mended, makes it usable.
 *
 * Threads: any number at once, also beside lookups.
 */

/* Told of a kind's folder that can't be used, and of a folder of kinds that can't be read. */
typedef void (*gcache_kind_problem_fn)(void *state, char const *folder, gcache_error const *problem);

/*
 * Loads each kind of each folder in path: folders with a colon between them; NULL or "": none. What lies in them and has
 * neither rules.json nor advice.json is no kind. What can't be used is reported to fn (may be NULL); all others are loaded.
 * GCACHE_OK: nothing was wrong; else what was wrong first: ERROR_NOT_FOUND, ERROR_IO: a folder or file can't be read;
 * ERROR_SYNTAX, ERROR_DESCRIPTION, ERROR_LIMIT: as gcache_rules_read says, at file, line and column; ERROR_ARGUMENT: the kind
 * means something else already; ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_kinds_load(char const *path, gcache_kind_problem_fn fn, void *state, gcache_error *error);

/*
 * The path by the environment, to load: GUARDCACHE_KINDS, else guardcache/kinds in XDG_CONFIG_HOME or in .config below HOME if
 * that is there, else "". variable returns a variable's value or NULL, as getenv does. *out_path is freed with gcache_free.
 * GCACHE_OK or ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_kinds_path(char const *(*variable)(void *state, char const *name), void *state,
                                           char **out_path, gcache_error *error);

/* The folder that a kind was loaded from; NULL: it is compiled in, or wasn't loaded. Belongs to the library. */
GCACHE_API char const *gcache_kinds_folder(char const *kind);

/*
 * Reads the rules and the advice of one kind's folder, for gcache_graph_use_rules, and loads nothing. Free with
 * gcache_rules_free. GCACHE_OK, ERROR_NOT_FOUND: it has neither; ERROR_IO, ERROR_SYNTAX, ERROR_DESCRIPTION, ERROR_LIMIT,
 * ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_kinds_read(char const *folder, gcache_rules **out_rules, gcache_error *error);

/*
 * ---- what comes out ----
 *
 * Unless they say otherwise, these return GCACHE_OK; the first error of the building, ERROR_DESCRIPTION or ERROR_LIMIT for
 * what only shows when the description is normalised, or ERROR_MEMORY; GCACHE_REFUSED as gcache_graph_key does.
 */

typedef struct gcache_component {
    char const *name;
    gcache_key hash;
} gcache_component;

/* A symbol of the description and the name it has in the canonical form. */
typedef struct gcache_symbol {
    char const *name;
    char const *canonical;
} gcache_symbol;

/*
 * The key, computed on first use and kept. GCACHE_OK, GCACHE_REFUSED when a rule says the description can't be keyed
 * safely (a bypass; the error has the reason), or an error: ERROR_LIMIT where it would take more work than the description's
 * size allows (docs/formats/description.md).
 */
GCACHE_API gcache_status gcache_graph_key(gcache_graph *graph, gcache_key *out_key, gcache_error *error);

/* The components by name, with their hashes. The array belongs to the graph.
   GCACHE_OK, GCACHE_REFUSED, ERROR_ARGUMENT, ERROR_LIMIT, ERROR_MEMORY, or the graph's own error. */
GCACHE_API gcache_status gcache_graph_components(gcache_graph *graph, gcache_component const **out_components,
                                                 size_t *out_count, gcache_error *error);

/* The symbols in order of first use. The array belongs to the graph.
   GCACHE_OK, GCACHE_REFUSED, ERROR_ARGUMENT, ERROR_LIMIT, ERROR_MEMORY, or the graph's own error. */
GCACHE_API gcache_status gcache_graph_symbols(gcache_graph *graph, gcache_symbol const **out_symbols, size_t *out_count,
                                              gcache_error *error);

/* The canonical bytes (deterministic CBOR). *out_bytes belongs to the graph.
   GCACHE_OK, GCACHE_REFUSED, ERROR_ARGUMENT, ERROR_LIMIT, ERROR_MEMORY, or the graph's own error; a keyed description has
   none: ERROR_ARGUMENT. */
GCACHE_API gcache_status gcache_graph_canonical(gcache_graph *graph, void const **out_bytes, size_t *out_size,
                                                gcache_error *error);

/* A step of the normalisation: what was left out or rewritten, and by which rule. Texts are valid during the call only. */
typedef struct gcache_change {
    char const *path; /* options.graph_id, graph.nodes[3].meta */
    char const *rule; /* the rule's path; NULL: the description format's own */
    char const *why;  /* "" if the set doesn't say; shipped sets do when read with gcache_rules_read */
    char const *from; /* for values: as JSON, cut when long */
    char const *to;   /* NULL: left out */
} gcache_change;

typedef void (*gcache_change_fn)(void *state, gcache_change const *change);

/* Normalises once more and reports every step, in the order they are taken. Not for keyed descriptions.
   GCACHE_OK, GCACHE_REFUSED, ERROR_ARGUMENT, ERROR_LIMIT, ERROR_MEMORY, or the graph's own error. */
GCACHE_API gcache_status gcache_graph_trace(gcache_graph *graph, gcache_change_fn fn, void *state, gcache_error *error);

/* A whole name in a text that rules with `hand_back` replaced a part of, and that isn't private: what the compiled code may
   export, so what candidates are compared in (gcache_request.accept_renames) and what a link step must rename. */
typedef struct gcache_text_name {
    char const *original;
    char const *canonical;
} gcache_text_name;

/* Those names in order of first use. The array belongs to the graph.
   GCACHE_OK, GCACHE_REFUSED, ERROR_ARGUMENT, ERROR_LIMIT, ERROR_MEMORY, or the graph's own error. */
GCACHE_API gcache_status gcache_graph_text_names(gcache_graph *graph, gcache_text_name const **out_names,
                                                 size_t *out_count, gcache_error *error);

/* A text as it counts after the rules, such as the renamed `module`: that of the component `name`, which must be a text.
   *out_text belongs to the caller (gcache_free). ERROR_NOT_FOUND: there is no such component. */
GCACHE_API gcache_status gcache_graph_text(gcache_graph *graph, char const *name, char **out_text, size_t *out_size,
                                           gcache_error *error);

/*
 * The description as text that gcache_graph_read reads: of equal keys, under other node names, without its volatile parts.
 * *out_text is zero-terminated and freed with gcache_free; out_size may be NULL. Of a keyed description only the key is
 * written. GCACHE_OK, ERROR_MEMORY, or the graph's own error.
 */
GCACHE_API gcache_status gcache_graph_write(gcache_graph const *graph, char **out_text, size_t *out_size,
                                            gcache_error *error);

/* The kind it was made with. Belongs to the graph. */
GCACHE_API char const *gcache_graph_kind(gcache_graph const *graph);

/* ---- how two descriptions differ ---- */

typedef enum gcache_diff_form {
    GCACHE_DIFF_TEXT, /* a difference a line; texts as unified hunks */
    GCACHE_DIFF_JSON  /* {"equal": bool, "differs": [{"path", "stored", "asked"}], "left_out": N} */
} gcache_diff_form;

/*
 * Compares two canonical forms (what gcache_graph_canonical gives, and a cache keeps). At most max_items differences are
 * written and all are counted; 0: 50. *out_text is freed with gcache_free; *out_count may be NULL.
 * GCACHE_OK, ERROR_CORRUPT (not a canonical form), ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_diff(void const *stored, size_t stored_size, void const *asked, size_t asked_size,
                                     size_t max_items, gcache_diff_form form, char **out_text, size_t *out_count,
                                     gcache_error *error);

/* A line for each part of a description: a component, and each element of one that is a list or a map. */
typedef struct gcache_line {
    char const *name; /* "inputs[3]", "options[cpp_wrapper]", "module" */
    char const *hash; /* hex, of that part's canonical bytes */
    char const *text; /* for people, cut when long */
} gcache_line;

typedef void (*gcache_line_fn)(void *state, gcache_line const *line);

/* Lists the lines of a canonical form, or of a keyed description those it was given.
   GCACHE_OK, GCACHE_REFUSED, ERROR_ARGUMENT, ERROR_LIMIT, ERROR_MEMORY, or the graph's own error. */
GCACHE_API gcache_status gcache_graph_lines(gcache_graph *graph, gcache_line_fn fn, void *state, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
