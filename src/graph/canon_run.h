/*
 * One canonicalisation at work: the state that canon.c, canon_value.c and canon_graph.c share.
 *
 * Invariants:
 *  1. In mode CANON_WRITE symbols are named when first met; the other modes name none and apply no text rules.
 *  2. out holds the bytes since the last flush; nothing is flushed while hold > 0, as a set being sorted needs its bytes.
 *  3. Once status isn't GCACHE_OK nothing that follows matters.
 */
#ifndef GCI_GRAPH_CANON_RUN_H
#define GCI_GRAPH_CANON_RUN_H

#include "base/digest.h"
#include "graph/canon.h"
#include "graph/cbor.h"
#include "graph/description.h"
#include "graph/exprs.h"
#include "graph/rewrite.h"

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

/* canon_value.c */
void gci_canon_value(gci_canon_run *run, gci_value const *value, gci_rules_state place);
void gci_canon_text(gci_canon_run *run, gci_view text, gci_rules_state place);

/*
 * A map's members in canonical order, without those that rules leave out, on the scratch stack: gci_canon_members pushes
 * them and gives the mark, gci_canon_member_at reads one (the stack may have moved), gci_canon_members_pop ends it.
 */
typedef struct gci_canon_member {
    gci_view name;
    gci_value const *value;
    gci_rules_state place;
} gci_canon_member;

size_t gci_canon_members(gci_canon_run *run, gci_value const *map, gci_rules_state place, uint32_t *out_count);
void gci_canon_push_member(gci_canon_run *run, gci_view name, gci_value const *value, gci_rules_state place,
                           uint32_t *count);
void gci_canon_sort_members(gci_canon_run *run, size_t mark, uint32_t count);

static inline gci_canon_member
gci_canon_member_at(gci_canon_run const *run, size_t mark, uint32_t index)
{
    gci_canon_member member;

    memcpy(&member, run->members.data + mark + index * sizeof member, sizeof member);
    return member;
}

static inline void
gci_canon_members_pop(gci_canon_run *run, size_t mark)
{
    run->members.size = mark;
}

/* The sizes of a plain tensor, by the numbers of their texts. */
void gci_canon_sizes(gci_canon_run *run, uint32_t const *numbers, uint32_t rank);

/* canon_graph.c */
void gci_canon_graph(gci_canon_run *run, gci_subgraph const *graph, gci_rules_state place);
void gci_canon_inputs(gci_canon_run *run, gci_rules_state place);

/* canon.c */
void gci_canon_fail(gci_canon_run *run, gcache_status status, char const *format, ...)
    __attribute__((format(printf, 3, 4)));
void gci_canon_fail_memory(gci_canon_run *run);
void gci_canon_flush(gci_canon_run *run);
/* Appends canonical bytes that have no expressions in them; long ones are hashed where they are. */
void gci_canon_append(gci_canon_run *run, gci_view bytes);

/* Asks whether a rule drops what is here; tells the trace. */
bool gci_canon_dropped(gci_canon_run *run, gci_rules_state place, gci_value const *value);
/* Tells the trace of something that the format itself leaves out: a name, a node's meta. */
void gci_canon_left_out(gci_canon_run *run, gci_view name, gci_value const *value);
/* The text after its rules. */
gci_view gci_canon_rewrite(gci_canon_run *run, gci_view text, gci_rules_state place);

#endif
