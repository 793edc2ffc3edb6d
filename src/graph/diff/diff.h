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

/* One difference. Texts are short (cut with "...") and zero-terminated too. */
typedef struct gci_diff_item {
    gci_view path;   /* options.max_autotune, graph.nodes[41].kwargs.dim */
    gci_view stored; /* the value in the first form; data NULL: absent */
    gci_view asked;  /* in the second */
    gci_view typed_stored, typed_asked; /* the same as a description writes it; data NULL: as above */
    gci_view hunks;  /* a text's differences as unified hunks, lines ended; data NULL for other values */
} gci_diff_item;

typedef struct gci_diff {
    gci_arena arena; /* of the items' texts */
    gci_diff_item *items;
    size_t count, room, max_items;
    size_t left_out; /* further differences */
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

/* For people: an item a line ("options.max_autotune: false -> true", "+ graph.nodes[7]: aten.mul.Tensor(nodes[3], 0.5)"),
   each line begun with `indent`, and a last one with the count of what was left out. */
void gci_diff_write_text(gci_diff const *diff, char const *indent, gci_buf *out);

/* Objects {"path", "stored", "asked"} with commas between: what stands between a list's brackets. Both values are texts, typed
   where that differs; absent is null; a text's object has "hunks" too. */
void gci_diff_write_json(gci_diff const *diff, gci_buf *out);

#endif
