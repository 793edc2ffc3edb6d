/*
 * From JSON's types to a description's: one-member maps such as {"$tuple": [..]} become values of their own type, in
 * place, checked on the way. What is wrong is an ERROR_DESCRIPTION with line, column and path.
 */
#ifndef GCI_GRAPH_TYPED_H
#define GCI_GRAPH_TYPED_H

#include "graph/describe/description.h"
#include "base/text/intern.h"

/* The nodes a `$node` may name: those of a (sub)graph, then of the enclosing ones, then the inputs. */
typedef struct gci_scope gci_scope;
struct gci_scope {
    gci_scope const *outer;
    uint32_t serial;  /* of the (sub)graph; GCI_NODE_INPUTS: the inputs */
    gci_intern names; /* a name's number is its position */
};

/* Where values come from, for messages and references. */
typedef struct gci_typing {
    gcache_graph *graph;
    char const *name;       /* of the source; NULL: none */
    gci_view text;          /* the source */
    gci_value const *root;  /* of the tree that paths are given in */
    gci_scope const *scope; /* NULL: no node can be named */
} gci_typing;

/* The graph fails with a message about value, which lies in the tree below typing->root. Returns false. */
bool gci_typed_fail(gci_typing const *typing, gci_value const *value, char const *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Types a value and everything in it. */
bool gci_typed_value(gci_typing const *typing, gci_value *value);

/* Types the members of a map that is one by its place, whatever its members are called. */
bool gci_typed_members(gci_typing const *typing, gci_value *map);

/* The checks of one tensor's members; value is a GCI_TENSOR whose members are typed. */
bool gci_typed_tensor(gci_typing const *typing, gci_value const *value);

/* decimal: an optional sign and digits. false if it isn't, or has more than GCI_JSON_MAX_DIGITS. */
bool gci_typed_integer(gci_view decimal, gci_value *out_value);

#endif
