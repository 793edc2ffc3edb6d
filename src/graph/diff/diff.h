/*
 * How two descriptions differ, found from their canonical forms.
 *
 * Nodes are aligned by longest common subsequence, and references and symbols are compared through the alignment: an
 * inserted node, or a size that became symbolic, is one line and not a change of everything behind it.
 */
#ifndef GCI_GRAPH_DIFF_H
#define GCI_GRAPH_DIFF_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/view.h"

#include <guardcache/graph.h>

/* Parts of a description in the order in which people look for causes, and where they stand: the first name of a path. */
#define GCI_DIFF_PART_MAP(X)     \
    X(ENVIRONMENT, "environment") \
    X(OPTIONS, "options")         \
    X(CONFIG, "config")           \
    X(INPUTS, "inputs")           \
    X(OTHER, "")                  \
    X(GRAPH, "graph")

/* What a difference follows from, and what people call several such. */
#define GCI_DIFF_FOLLOWS_MAP(X)                                                                     \
    X(NOTHING, "")            /* it stands for itself */                                            \
    X(WHOLE, "")              /* shown with the whole: an element of sizes, the next of several nodes */ \
    X(AGAIN, "")              /* the same once more as in the item that it is like */               \
    X(STRIDE, "stride")       /* of a tensor that is contiguous before and after: its sizes say it */ \
    X(SYMBOL, "symbol input") /* the size that became symbolic, or isn't any more, is another row's */ \
    X(PLACEHOLDER, "placeholder") /* of an input that is new or gone */                             \
    X(SOURCE, "source")       /* where such an input comes from */                                  \
    X(INDEX, "input number")  /* the same input at another place */                                 \
    X(REFERENCE, "reference") /* past a node that is gone, or to one that is new, which takes what it was to */

/* What is certain of a tensor's sizes that differ, in words. */
#define GCI_DIFF_REMARK_MAP(X)             \
    X(NONE, "")                            \
    X(TRANSPOSED, "is transposed")         \
    X(WAS_TRANSPOSED, "was transposed")    \
    X(CHANNELS_LAST, "is channels last")   \
    X(WAS_CHANNELS_LAST, "was channels last")

#define X(id, text) GCI_DIFF_PART_##id,
typedef enum gci_diff_part { GCI_DIFF_PART_MAP(X) GCI_DIFF_PARTS } gci_diff_part;
#undef X
#define X(id, text) GCI_DIFF_##id,
typedef enum gci_diff_follows { GCI_DIFF_FOLLOWS_MAP(X) GCI_DIFF_FOLLOWS_KINDS } gci_diff_follows;
typedef enum gci_diff_remark { GCI_DIFF_REMARK_MAP(X) GCI_DIFF_REMARKS } gci_diff_remark;
#undef X

/* What others, of which a difference is the first, are. */
typedef enum gci_diff_again {
    GCI_DIFF_CONSTANTS,
    GCI_DIFF_SIZES,
    GCI_DIFF_NODES,
    GCI_DIFF_INPUT_VALUES,
    GCI_DIFF_AGAINS
} gci_diff_again;

#define GCI_DIFF_ALONE UINT32_MAX

/* How the line of hunks begins that says how many changed lines aren't among them: "... and 12 more changed lines". */
#define GCI_DIFF_MORE_LINES "... and "

/* One difference. Texts are short (cut with "...", never in a number) and zero-terminated too. */
typedef struct gci_diff_item {
    gci_view path;   /* options.max_autotune, graph.nodes[41].kwargs.dim */
    gci_view stored; /* the value in the first form; data NULL: absent */
    gci_view asked;  /* in the second */
    gci_view typed_stored, typed_asked; /* the same as a description writes it; data NULL: as above */
    gci_view hunks;  /* a text's differences as unified hunks, lines ended; data NULL for other values */
    gci_view stored_path; /* where the path leads among what was stored; data NULL: to the same place, or it isn't there */
    bool is_moved;        /* the node or input that it is in was at another place: was_at */
    uint32_t was_at;
    bool is_alike;        /* both sides are written alike, and mean another node or symbol: */
    bool is_reference;    /* nodes */
    gci_view now, was;    /* the stored value in the names of what was asked, and the other way round; data NULL: it has none */

    gci_diff_part part;
    gci_diff_follows follows;
    size_t like;       /* of WHOLE and AGAIN: the place of the item that is shown for it */
    size_t place;      /* so much of the path names the node or input; 0: in neither */
    gci_view target;   /* of that node, what it does */
    gci_view after;    /* of a node that only one side has: the one before, with its target; empty: it is the first */
    uint32_t position; /* of a node */
    uint32_t same;     /* the number of what it has in common with others that say the same; GCI_DIFF_ALONE: nothing */
    bool is_node;      /* a node as a whole */
    bool is_size;      /* a number on both sides, of which others that are the same follow */

    /* Of an item that stands for others too. */
    size_t run;        /* nodes that only one side has, one after another, with this one */
    size_t again[GCI_DIFF_AGAINS];
    gci_view whole_stored, whole_asked; /* all sizes; data NULL: the item stands for itself */
    size_t whole;      /* so much of the path names them */
    gci_diff_remark remark;
    bool was_contiguous, is_contiguous; /* a stride: whether its tensor certainly was, and is */
} gci_diff_item;

typedef struct gci_diff {
    gci_arena arena; /* of the items' texts */
    gci_diff_item *items;
    size_t count, room, max_items;
    size_t left_out; /* further differences */
    size_t followed[GCI_DIFF_FOLLOWS_KINDS]; /* of all differences */
    bool by_parts;   /* while they are found, max_items of each part are kept */
    size_t kept[GCI_DIFF_PARTS][2]; /* of those: that say something new, and others */
} gci_diff;

/* Items a reader can take in; more are counted. */
#define GCI_DIFF_ITEMS_DEFAULT 50

/*
 * Compares two canonical forms. At most max_items differences are kept, all are counted. No differences: the forms are
 * equal. GCACHE_OK, ERROR_CORRUPT (not a canonical form), ERROR_MEMORY. Neither form is needed afterwards.
 */
gcache_status gci_diff_make(gci_view stored, gci_view asked, size_t max_items, gci_diff **out_diff, gcache_error *error);
void gci_diff_free(gci_diff *diff);

/* An empty list of differences for somebody who finds them elsewhere. NULL without memory. */
gci_diff *gci_diff_new(size_t max_items);
/* Adds one; what is copied may be NULL on the side where there is nothing. false without memory. */
bool gci_diff_add_texts(gci_diff *diff, gci_view path, gci_view stored, gci_view asked);
/* The same before all others, also where there are as many as are kept. */
bool gci_diff_add_first(gci_diff *diff, gci_view path, gci_view stored, gci_view asked);

/* Is it the path of an input, or of something in one? And of an input that is a symbol by itself, as either sort of key writes
   it, the symbol: s0 of {"value": s0} and of ('s0',); empty for all others. */
bool gci_diff_is_input(gci_view path);
gci_view gci_diff_symbol(gci_view value);
/* Inputs that are symbols follow from the sizes in other inputs that differ and have these symbols, and what inputs are called
   from those that are new or gone. */
void gci_diff_fold_inputs(gci_diff *diff);

/* A walk over the lines of hunks: {.rest = hunks}. */
typedef struct gci_diff_hunk_lines {
    gci_view rest, before, now; /* of a change, the lines that are still to be seen on each side */
    bool in_change;
} gci_diff_hunk_lines;

/* Bytes that are shown of a line. */
#define GCI_DIFF_LINE_SHOWN 160

/* The next line, and the line that it has replaced or that has replaced it; data NULL: none. false: there are no more. */
bool gci_diff_next_hunk_line(gci_diff_hunk_lines *walk, gci_view *out_line, gci_view *out_other);
/* A line for people, ended: cut if it is long, but never before it differs from the other. */
void gci_diff_write_hunk_line(gci_view line, gci_view other, gci_buf *out);

/* A path for people: the node that it is in with its target, "graph.nodes[41] aten.sum.dim_IntList .kwargs.keepdim", and where
   that was, "graph.nodes[41] (was nodes[40])". */
void gci_diff_write_path(gci_diff_item const *item, gci_buf *out);
/* "the same in 14 more nodes", "and so: 12 more constants 2 -> 3": what else an item stands for; false: nothing. */
bool gci_diff_write_again(gci_diff_item const *item, gci_buf *out);
/* "graph: 2 nodes inserted after nodes[57] aten.relu.default" */
void gci_diff_write_run(gci_diff_item const *item, gci_buf *out);
/* "22 references renumbered, 3 strides": what follows from the differences; false: nothing does. */
bool gci_diff_write_followed(gci_diff const *diff, gci_buf *out);
/* The value of a side, as a whole if the item stands for all sizes; what it is on the other side, if both are written alike:
   "nodes[4] (now nodes[3])". Nothing for a side that has none. */
void gci_diff_write_stored(gci_diff_item const *item, gci_buf *out);
void gci_diff_write_asked(gci_diff_item const *item, gci_buf *out);
/* A value without the braces of an input that has nothing else: float32[s0, 16] for {"value": float32[s0, 16]}. */
gci_view gci_diff_plain(gci_view value);
/* Differences that were left out and are in no sum of others either. */
size_t gci_diff_unsaid(gci_diff const *diff);
char const *gci_diff_remark_text(gci_diff_remark remark);

/* For people: an item a line ("options.max_autotune: false -> true", "+ graph.nodes[7]: aten.mul.Tensor(nodes[3], 0.5)"),
   each line begun with `indent`, and a last one with the count of what was left out. */
void gci_diff_write_text(gci_diff const *diff, char const *indent, gci_buf *out);

/* Objects {"path", "stored", "asked"} with commas between: what stands between a list's brackets. Both values are texts, typed
   where that differs; absent is null; a text's object has "hunks" too. Where the path leads elsewhere on the stored side there is
   "stored_path", and where both values are written alike, and mean another node or symbol, "stored_now" and "asked_was": what
   they are called on the other side, null if they aren't there. */
void gci_diff_write_json(gci_diff const *diff, gci_buf *out);

#endif
