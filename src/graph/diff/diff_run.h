/*
 * A comparison at work: the state that the diff_*.c files share.
 */
#ifndef GCI_GRAPH_DIFF_RUN_H
#define GCI_GRAPH_DIFF_RUN_H

#include "base/arena.h"
#include "base/text/value.h"
#include "graph/diff/diff.h"
#include "base/text/intern.h"

/* Which node of one list stands for which of the other. */
typedef struct gci_alignment {
    struct gci_alignment const *outer; /* of the enclosing graph */
    uint32_t *to_asked, *to_stored;    /* GCI_LCS_NONE: no counterpart */
    uint32_t stored_count, asked_count;
    gci_value const *stored, *asked;   /* the nodes; NULL: it isn't one of nodes */
} gci_alignment;

/* Symbols of one form and what they are called in the other, as far as it has turned out. */
typedef struct gci_symbol_map {
    gci_intern names;
    uint32_t *to; /* by number, in the other's names; GCI_INTERN_NONE: not known yet */
    size_t room;
} gci_symbol_map;

/* An index in the present path that is another one on the stored side. */
typedef struct gci_diff_shift {
    size_t at, size; /* of the digits */
    uint32_t stored;
} gci_diff_shift;

typedef struct gci_diff_run {
    gci_diff *diff;
    gci_arena arena; /* of the two trees */
    gci_buf path;
    gci_diff_shift *shifts; /* from the outside in */
    size_t shift_count, shift_room;
    gci_alignment const *open;   /* of the innermost graph */
    gci_alignment const *inputs; /* NULL: none */
    gci_symbol_map stored_symbols, asked_symbols;
    gci_intern sameness; /* what differences say that others may say as well */
    size_t (*dropped)[2]; /* by its number: differences that weren't kept and say the same as one that was; elsewhere, in graphs */
    size_t dropped_count, dropped_room;
    gci_view target; /* of the node that is compared */
    size_t place;    /* so much of the path names it, or the input */
    bool in_tensor; /* whose sizes are written without types */
    bool literal; /* symbols aren't matched up: the second try, when the first found nothing */
    bool failed;  /* no memory */
} gci_diff_run;

/* diff_items.c: a further item, still without values. NULL: it was only counted (*out_full), or there is no memory. */
gci_diff_item *gci_diff_add(gci_diff *diff, gci_view path, gci_diff_follows follows, bool is_new, bool *out_full);

/* A text that was written, kept with the items, and cleared; without memory the run has failed. */
gci_view gci_diff_keep(gci_diff_run *run, gci_buf *text);

/* Long texts of several lines on both sides: hunks say more than the two side by side. false without memory. */
bool gci_diff_add_hunks(gci_diff *diff, gci_diff_item *item, gci_view stored, gci_view asked);

/* diff_show.c: short texts. For people `s0` is a symbol and `"s0"` a text; typed, the symbol is `{"$sym": "s0"}`. */
void gci_diff_show(gci_value const *value, gci_buf *out);
void gci_diff_show_typed(gci_value const *value, gci_buf *out);
void gci_diff_show_node(gci_value const *node, gci_buf *out);
/* nodes[3], inputs[0] */
void gci_diff_show_reference(int64_t ref, gci_buf *out);
/* Bytes from where they begin to differ from the others. */
void gci_diff_show_bytes(gci_view bytes, gci_view other, gci_buf *out);
/* A long text, around where it begins to differ from the other. */
bool gci_diff_is_cut(gci_view text);
void gci_diff_show_around(gci_view text, gci_view other, gci_buf *out);

/* diff_alike.c: whether two texts differ first in what isn't seen, or looks like another character: a zero width, a space that
   isn't one, an accent by itself; and a text in JSON with such characters escaped. */
bool gci_diff_look_alike(gci_view stored, gci_view asked);
void gci_diff_show_distinct(gci_view json, gci_buf *out);

/* diff_text.c: unified hunks of two texts, bounded; for long texts of several lines. */
bool gci_diff_wants_hunks(gci_view stored, gci_view asked);
bool gci_diff_hunks(gci_view stored, gci_view asked, gci_buf *out);

/* diff_fold.c: when all are found. false without memory. */
bool gci_diff_fold(gci_diff_run *run);

/* The number of a text among run->sameness, whether that is new or not. GCI_DIFF_ALONE: no memory. */
uint32_t gci_diff_sameness(gci_diff_run *run, gci_view text, bool *out_new);

/* diff_sizes.c: the items from `first` on are those of two tensors at the present path. */
void gci_diff_fold_sizes(gci_diff_run *run, size_t first, gci_value const *stored, gci_value const *asked);

/* diff_align.c: all return false without memory; *out lives in the run's arena. */
bool gci_diff_align_lists(gci_diff_run *run, gci_value const *stored, gci_value const *asked, gci_alignment *out);
/* The lists of inputs of two forms' components: both must be there. */
bool gci_diff_align_inputs(gci_diff_run *run, gci_value const *stored, gci_value const *asked, gci_alignment *out);
/* The nodes of two graphs, of which run->open is the graph around them. */
bool gci_diff_align_nodes(gci_diff_run *run, gci_value const *stored, gci_value const *asked, gci_alignment *out);
bool gci_diff_is_placeholder(gci_value const *node);

/* The nodes of a graph, none if it has no such list; where each input comes from, as PyTorch's AOT says; NULL: it doesn't. */
gci_value const *gci_diff_nodes(gci_value const *graph);
gci_value const *gci_diff_sources(gci_value const *components);
/* The position, among what was asked, of the node that stands for a stored reference's; GCI_LCS_NONE: there is none. */
uint32_t gci_diff_counterpart(gci_diff_run const *run, int64_t ref);
/* The other way round: among what was stored, of an asked reference's. */
uint32_t gci_diff_origin(gci_diff_run const *run, int64_t ref);

/* diff_follow.c: a reference that means another node now, which follows from nodes that were inserted or removed. */
bool gci_diff_reference_follows(gci_diff_run const *run, int64_t stored, int64_t asked);
/* A number, at the present path, that says how large a tensor is: of an input, or an argument of what takes sizes. */
bool gci_diff_is_size(gci_diff_run const *run);

/* diff_notes.c: where an item's path leads among what was stored, and what values that are written alike are on the other side. */
void gci_diff_note_place(gci_diff_run *run, gci_diff_item *item);
void gci_diff_note_alike(gci_diff_run *run, gci_diff_item *item, gci_value const *stored, gci_value const *asked);

/* diff_symbols.c: true if two expressions are the same once symbols are matched up; matches up those that aren't yet. */
bool gci_diff_same_expression(gci_diff_run *run, gci_view stored, gci_view asked);
/* An expression in the names of the other side, as far as they are known; false: it isn't written otherwise then. */
bool gci_diff_rename(gci_diff_run const *run, gci_view expression, bool of_asked, gci_buf *out);

#endif
