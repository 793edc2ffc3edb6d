/*
 * One canonicalisation at work: the state that all of canon shares, and what each part needs of it.
 *
 * Invariants:
 *  1. In mode CANON_WRITE symbols are named when first met; the other modes name none and apply no text rules.
 *  2. out holds the bytes since the last flush; nothing is flushed while hold > 0, as a set being sorted needs its bytes.
 *  3. Once status isn't GCACHE_OK nothing that follows matters.
 */
#ifndef GCI_GRAPH_CANON_RUN_H
#define GCI_GRAPH_CANON_RUN_H

#include "base/digest.h"
#include "graph/canon/canon.h"
#include "graph/cbor/cbor.h"
#include "graph/describe/description.h"
#include "graph/canon/exprs.h"
#include "graph/rules/text_rules.h"

/* Trees nest no deeper than JSON may; the builder could go on for ever. */
#define GCI_CANON_MAX_DEPTH 600

/* Sets within sets: the items of each are written twice to be sorted, so that a deeper one would cost the square of its
   depth. Real ones nest twice. */
#define GCI_CANON_MAX_SETS 24

typedef enum gci_canon_mode {
    CANON_WRITE,   /* the canonical form */
    CANON_BLIND,   /* for sorting sets: unnamed symbols count as their colors */
    CANON_COLLECT  /* as blind, and every expression's place is recorded */
} gci_canon_mode;

/* A step of the path to the present value, innermost first. */
typedef struct gci_canon_step {
    struct gci_canon_step const *outer;
    gci_view name; /* data NULL: an index */
    uint32_t index;
} gci_canon_step;

typedef struct gci_canon_run {
    gcache_graph const *graph;
    gci_canonical *canon; /* what becomes of it; NULL while places are collected */
    gcache_rules const *rules;
    gci_rewriter *rewriter; /* made when the first text rule applies */
    gci_exprs *exprs;

    gci_buf out;
    gci_buf members;  /* a stack of gci_canon_member */
    gci_digest *digest;
    bool keep_bytes;
    gci_canon_mode mode;
    bool blinded;  /* a symbol without a name was written since this was cleared */
    bool rewrites; /* a text was met that rules rewrite, in whatever mode */
    unsigned hold;
    unsigned depth;
    gci_subgraph const *open; /* the innermost (sub)graph references are made in */

    gci_view *sizes; /* of plain tensors, by their texts' numbers: canonical bytes; data NULL: not written yet */
    gci_arena size_bytes;

    gci_buf occurrences; /* gci_occurrence's, in mode CANON_COLLECT */
    bool collected;      /* occurrences are those of the whole description */
    uint64_t place;      /* where the next expression stands */

    gci_canon_step const *step;
    gci_trace_fn trace;
    void *trace_state;

    gcache_status status;
    gcache_error *error;
} gci_canon_run;

void gci_canon_fail(gci_canon_run *run, gcache_status status, char const *format, ...)
    __attribute__((format(printf, 3, 4)));
void gci_canon_fail_memory(gci_canon_run *run);
void gci_canon_flush(gci_canon_run *run);
/* Appends canonical bytes that have no expressions in them; long ones are hashed where they are. */
void gci_canon_append(gci_canon_run *run, gci_view bytes);

/* Asks whether a rule drops what is here; reports it to the trace. */
bool gci_canon_dropped(gci_canon_run *run, gci_rules_state place, gci_value const *value);
/* Reports to the trace something that the format itself leaves out: a name, a node's meta. */
void gci_canon_left_out(gci_canon_run *run, gci_view name, gci_value const *value);
/* The text after its rules. */
gci_view gci_canon_rewrite(gci_canon_run *run, gci_view text, gci_rules_state place);

#endif
