/*
 * A description in memory: what the builder and the JSON reader make, and the canonical form is made of.
 *
 * Invariants:
 *  1. All of it lives in the graph's arena; nothing is freed piece by piece.
 *  2. A GCI_NODE value's `integer` is gci_node_ref's: which (sub)graph and the position in it, or GCI_NODE_INPUTS and the
 *     position among the inputs. Names are resolved when a description is read.
 *  3. Subgraph serial numbers are distinct; the component `graph` has number 1.
 *  4. Once status isn't GCACHE_OK, error says why and nothing changes any more.
 *  5. What is in `hashed` and `kept` belongs to the present content: whatever changes the content drops it. They are set
 *     once, atomically, so that many threads may ask a finished description for its key.
 */
#ifndef GCI_GRAPH_DESCRIPTION_H
#define GCI_GRAPH_DESCRIPTION_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/text/value.h"
#include "graph/describe/canonical.h"
#include "graph/describe/keyed.h"
#include "base/text/intern.h"

#include <stdatomic.h>

/* Memory one description may take: eight times the largest text that is read, which the tree of any text stays below. */
#define GCI_GRAPH_MAX_BYTES ((size_t)8 << 27)

/* References hold a position in 32 bits. */
#define GCI_GRAPH_MAX_NODES UINT32_MAX

/* Subgraphs in subgraphs: as deep as JSON may be, so that both ways of describing have one limit. */
#define GCI_GRAPH_MAX_NESTING 256

typedef struct gci_node {
    gci_view name;     /* for references and messages; empty if built */
    gci_view op;
    gci_view target;   /* data is NULL if absent */
    gci_value args;    /* a list */
    gci_value kwargs;  /* a map */
    size_t kwarg_room; /* of a built node: the members that kwargs has room for */
    gci_value others;  /* a map: members that aren't well known */
    gci_value const *meta; /* NULL if absent; never counts, shown in traces */
} gci_node;

typedef struct gci_subgraph gci_subgraph;

/* What the builder's callers hold. */
struct gcache_value {
    gci_value value;
};

/* Where a handed-out node is. */
typedef struct gci_node_place {
    gci_subgraph *graph;
    uint32_t position;
} gci_node_place;

/* Handles from `first` on, up to the next run's, are nodes of one (sub)graph from `position` on. */
typedef struct gci_handle_run {
    gcache_node first;
    uint32_t position;
    gci_subgraph *graph;
} gci_handle_run;

typedef struct gci_subgraph_link {
    gci_view name;
    gci_subgraph *graph;
} gci_subgraph_link;

struct gci_subgraph {
    gci_subgraph *outer; /* NULL for the component */
    uint32_t serial;
    uint32_t node_count;
    size_t node_room;
    uint32_t sub_count;
    size_t sub_room;
    gci_node *nodes;
    bool packed; /* its nodes are canonical bytes already, see encoded.h */
    gci_buf packed_nodes;
    size_t kwargs_at, kwargs_end;
    gci_subgraph *older; /* the one made before it, for freeing */
    gci_subgraph_link *subs;
    gci_value constants; /* a map */
    gci_value others;    /* a map */
};

/*
 * A built tensor's metadata: numbers of texts in the graph's `texts`. It is a quarter of the tree it stands for, and lets
 * a size's canonical bytes be found by number.
 */
typedef struct gci_plain_tensor {
    uint32_t dtype, device, layout; /* the latter two GCI_INTERN_NONE if absent */
    uint16_t rank;
    bool has_stride, requires_grad;
    uint32_t sizes[]; /* shape, then stride */
} gci_plain_tensor;

typedef struct gci_input {
    gci_view name;
    gci_plain_tensor const *tensor; /* NULL: value is it */
    gci_value value;
    gci_value others; /* a map */
} gci_input;

typedef enum gci_component_type { GCI_COMPONENT_VALUE, GCI_COMPONENT_GRAPH, GCI_COMPONENT_INPUTS } gci_component_type;

typedef struct gci_graph_component {
    gci_view name;
    gci_value value; /* of GCI_COMPONENT_VALUE */
    gci_component_type type;
    bool counts; /* false: `volatile` */
} gci_graph_component;

#define GCI_GRAPH_FORMAT "guardcache-graph/1"

/* The key under the first salt that was asked for; nearly always the only one. */
typedef struct gci_salted_key {
    gcache_key key;
    size_t salt_size;
    char salt[];
} gci_salted_key;

struct gcache_graph {
    gci_arena arena;
    gci_view kind;
    gci_view source_name; /* of a description that was read: for messages */
    gcache_status status;
    gcache_error error;

    gci_graph_component *components;
    size_t component_count, component_room;
    gci_subgraph *root; /* the component `graph`; NULL if there is none */
    gci_subgraph *newest; /* of all (sub)graphs */
    gci_input *inputs;
    uint32_t input_count;
    size_t input_room;
    bool has_inputs; /* the component exists, if only as an empty list */

    /* the builder's */
    gci_intern texts; /* of plain tensors */
    gci_subgraph *open; /* where nodes go */
    uint32_t last_serial;
    uint32_t nesting;
    gci_handle_run *runs; /* of handles, ascending; a new one where nodes go to another (sub)graph */
    size_t run_count, run_room;
    uint32_t handle_count;

    gcache_rules const *rules; /* the caller's; NULL: the kind's */
    _Atomic(gci_salted_key *) salted; /* NULL until asked for */
    _Atomic(gci_canonical *) hashed; /* NULL until asked for */
    _Atomic(gci_canonical *) kept;   /* the same with its bytes */

    bool keyed;
    gcache_key key;
    gci_graph_line *lines;
    size_t line_count, line_room;
};

/* Remembers the first error. */
void gci_graph_fail(gcache_graph *graph, gcache_status status, char const *format, ...)
    __attribute__((format(printf, 3, 4)));
void gci_graph_fail_memory(gcache_graph *graph);

/* The graph fails, and the function returns the result, unless the condition holds. */
#define GCI_GRAPH_REQUIRE(condition, graph, result, ...)                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            gci_graph_fail((graph), GCACHE_ERROR_ARGUMENT, __VA_ARGS__);                              \
            return result;                                                                            \
        }                                                                                             \
    } while (0)

/* The graph's own error, if it has one; ERROR_ARGUMENT for NULL. */
gcache_status gci_graph_check(gcache_graph const *graph, gcache_error *error);

/* Adds a component; the caller has checked that there is none of this name. NULL without memory. */
gci_graph_component *gci_graph_add_component(gcache_graph *graph, gci_view name, gci_component_type type);
gci_graph_component *gci_graph_find_component(gcache_graph const *graph, gci_view name);
/* The component `module_name` is true: the module's name counts, whatever the kind's rules say. */
bool gci_graph_counts_module_name(gcache_graph const *graph);

/* packed: its nodes will come from the builder. */
gci_subgraph *gci_graph_new_subgraph(gcache_graph *graph, gci_subgraph *outer, bool packed);

/* How many levels out of `sub` the (sub)graph of a serial number is; false if it doesn't enclose it. */
static inline bool
gci_subgraph_levels(gci_subgraph const *sub, uint32_t serial, uint32_t *out_up)
{
    for (*out_up = 0; sub != NULL && sub->serial != serial; sub = sub->outer)
        ++*out_up;
    return sub != NULL;
}

/* The component `graph`, made if there is none yet. NULL without memory. */
gci_subgraph *gci_graph_root(gcache_graph *graph, bool packed);

/* Memory of the graph's arena, zeroed; NULL without any, and the graph has failed. */
void *gci_graph_array(gcache_graph *graph, size_t count, size_t item_size);

/* Is a text there, and UTF-8, as a canonical form's must be? Else the graph has failed. */
bool gci_graph_check_text(gcache_graph *graph, gci_view text);

/* Copies bytes, or a text that is checked first, into the arena. false: the graph has failed. */
bool gci_graph_copy(gcache_graph *graph, gci_view bytes, gci_view *out_copy);
bool gci_graph_copy_text(gcache_graph *graph, gci_view text, gci_view *out_text);

/*
 * Room for one more item in an array of the arena. items_at is where the pointer to it is; of *room items count are used,
 * and it is moved to twice the room when it is full. NULL without memory (and the graph has failed), else the new item,
 * zeroed.
 */
void *gci_graph_grow(gcache_graph *graph, void *items_at, size_t count, size_t *room, size_t item_size);

/* Forgets what was computed from the content. */
void gci_graph_drop_canonical(gcache_graph *graph);

/* What a component's name says about it. */
bool gci_component_is_volatile(gci_view name);

#endif
