/*
 * The one tree of values: what JSON holds, and what a description holds.
 *
 * The JSON reader makes the first seven types only. src/graph turns one-member maps such as {"$tuple": [..]} into the
 * others in place; the builder makes them directly. All of it lives in an arena and is not freed piece by piece.
 *
 * Invariants:
 *  1. Members of a map have distinct names and keep the order they were given in.
 *  2. A GCI_BIGINT's text is a canonical decimal: an optional '-', no leading zeros, outside the int64 range.
 *  3. `at` is 1 + the byte offset in the source text, 0 for a value that was built: messages find line and column by it.
 */
#ifndef GCI_BASE_VALUE_H
#define GCI_BASE_VALUE_H

#include "base/view.h"

#include <stdint.h>

typedef enum gci_value_type {
    /* JSON */
    GCI_NULL,
    GCI_BOOL,
    GCI_INT,    /* fits int64 */
    GCI_BIGINT, /* text */
    GCI_FLOAT,
    GCI_STRING, /* text */
    GCI_LIST,
    GCI_MAP,
    /* descriptions only */
    GCI_BYTES,  /* text: the decoded bytes */
    GCI_TUPLE,  /* list */
    GCI_SET,    /* list */
    GCI_NODE,   /* integer: gci_node_ref */
    GCI_SYM,    /* text: an expression */
    GCI_TENSOR, /* map */
    GCI_ENUM    /* text */
} gci_value_type;

typedef struct gci_value gci_value;
typedef struct gci_member gci_member;

struct gci_value {
    uint8_t type;
    uint32_t at;
    uint32_t count; /* of a list or map; a text's size is in the view */
    union {
        bool boolean;
        int64_t integer;
        double real;
        gci_view text;
        gci_value *items;    /* list, tuple, set: count values */
        gci_member *members; /* map, tensor: count members */
    };
};

struct gci_member {
    gci_view name;
    gci_value value;
};

static inline gci_value *
gci_map_member(gci_value const *map, gci_view name)
{
    for (uint32_t i = 0; i < map->count; i++)
        if (gci_view_equal(map->members[i].name, name))
            return &map->members[i].value;
    return NULL;
}

static inline gci_value *
gci_map_find(gci_value const *map, char const *name)
{
    return gci_map_member(map, gci_view_text(name));
}

/* The same types, and the same in each, members in the same order; references and expressions as they are written. */
bool gci_value_equal(gci_value const *a, gci_value const *b);

/*
 * The integer of a GCI_NODE: the serial number of a (sub)graph, or GCI_NODE_INPUTS for the list of
 * inputs, and the position in it.
 */
#define GCI_NODE_INPUTS 0 /* the serial number that stands for the list of inputs */

static inline int64_t
gci_node_ref(uint32_t serial, uint32_t position)
{
    return (int64_t)((uint64_t)serial << 32 | position);
}

static inline uint32_t
gci_node_ref_serial(int64_t ref)
{
    return (uint32_t)((uint64_t)ref >> 32);
}

static inline uint32_t
gci_node_ref_position(int64_t ref)
{
    return (uint32_t)ref;
}

#endif
