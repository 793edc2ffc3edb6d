/*
 * A run of candidates in rank order, with an index that tells for a frame which of them may hold.
 *
 * The index has, for each of some dimensions, up to 64 buckets of values, and for each bucket a row of bits: the
 * candidates whose bounds meet the bucket. The rows of the buckets that the present values fall into are intersected,
 * 512 candidates at a time; a summary bit for each 512 says whether there is anything to intersect.
 *
 * Beside the rows: for each slot the candidates that read it, for each hazard those it makes unsure; where a slot or a
 * hazard is out of order, its row is added to the result.
 *
 * A segment is not changed but for candidates that leave: their bit in `live` goes.
 */
#ifndef GCI_GUARDS_SEGMENT_H
#define GCI_GUARDS_SEGMENT_H

#include "guards/select/candidate.h"

#define GCI_BLOCK_WORDS 8 /* of 64 candidates each: one summary bit */

typedef struct gci_row {
    uint64_t *bits;    /* word_count */
    uint64_t *summary; /* summary_count: blocks that have any bit */
} gci_row;

typedef struct gci_axis {
    uint32_t dimension;
    uint32_t bucket_count;
    int64_t *edges; /* bucket_count - 1 values, rising; bucket i holds those from edges[i - 1] on, below edges[i] */
    gci_row *rows;  /* by bucket */
} gci_axis;

typedef struct gci_watch {
    uint32_t what; /* a slot or a dimension */
    gci_row row;
} gci_watch;

typedef struct gci_segment {
    gci_chosen **candidates; /* best first; NULL: gone */
    uint32_t count, live_count;
    uint32_t word_count, summary_count;
    gci_axis *axes; /* most selective first; none in a short segment */
    gci_watch *slots, *hazards;
    uint32_t axis_count, slot_count, hazard_count;
    gci_row live;
    gci_arena arena;
} gci_segment;

/* Takes over an array of candidates in rank order, which is freed with the segment. NULL without memory: not taken. */
gci_segment *gci_segment_new(gci_chosen **candidates, uint32_t count, gci_tables const *tables);
/* Not the candidates themselves. */
void gci_segment_free(gci_segment *segment);

void gci_segment_remove(gci_segment *segment, uint32_t place);

/* More axes cost more to intersect than they save; more hazards would be computed at each lookup. */
#define GCI_MAX_AXES 24
#define GCI_MAX_WATCHED_HAZARDS 16

/* A walk over the candidates that may hold for a frame. */
typedef struct gci_cursor {
    gci_segment const *segment;
    gci_row const *all[GCI_MAX_AXES]; /* rows that are intersected */
    gci_row const **any;              /* rows that are added then */
    uint32_t all_count, any_count;
    uint32_t summary_at, block, word;
    uint64_t summary;                 /* blocks of the present 64 that are left */
    uint64_t bits[GCI_BLOCK_WORDS];   /* candidates of the present block that are left */
} gci_cursor;

void gci_cursor_init(gci_cursor *cursor, gci_segment const *segment, gci_tables const *tables, gci_binding *binding);

/* The place of the next candidate that may hold, in rank order; UINT32_MAX at the end. */
uint32_t gci_cursor_next(gci_cursor *cursor);

#endif
