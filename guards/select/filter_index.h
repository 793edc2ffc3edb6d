/*
 * An index that tells for a frame which of many lists may hold.
 *
 * It has, for each of some dimensions, up to 64 buckets of values, and for each bucket a row of bits: the lists whose
 * bounds meet the bucket. The rows of the buckets that the present values fall into are intersected, 512 lists at a
 * time; a summary bit for each 512 says whether there is anything to intersect.
 *
 * It also has a row for each slot, of the lists that read it, and for each hazard, of those it makes unsure. The row of a
 * slot without an integer, or of a hazard that is 0, is added to the result.
 */
#ifndef GCI_GUARDS_FILTER_INDEX_H
#define GCI_GUARDS_FILTER_INDEX_H

#include "guards/select/filters.h"

#define GCI_BLOCK_WORDS 8 /* of 64 lists each: one summary bit */

typedef struct gci_bits {
    uint64_t *bits;    /* word_count */
    uint64_t *summary; /* summary_count: blocks that have any bit */
} gci_bits;

typedef struct gci_axis {
    uint32_t dimension;
    uint32_t bucket_count;
    int64_t *edges; /* bucket_count - 1 values, rising; bucket i holds those from edges[i - 1] on, below edges[i] */
    gci_bits *rows; /* by bucket */
} gci_axis;

/* More axes cost more to intersect than they save; more hazards would be computed at each lookup. */
#define GCI_MAX_AXES 24
#define GCI_MAX_WATCHED_HAZARDS 16

typedef struct gci_filter_index {
    gci_arena *arena;
    gci_dimension const *dimensions;
    uint32_t word_count, summary_count;
    gci_axis *axes;      /* most selective first */
    gci_bits *by_slot;   /* lists that read it */
    gci_bits *by_hazard;
    uint32_t *hazards;   /* dimensions */
    uint32_t axis_count, hazard_count;
    gci_bits every;      /* all lists */
} gci_filter_index;

/* In the arena. *out_index is NULL if there is nothing to filter by. false: no memory. The filters' arena is scratch. */
bool gci_filter_index_make(gci_filters *filters, gci_arena *arena, gci_filter_index **out_index);

/* The values of names, to compute with. */
typedef struct gci_name_frame {
    int64_t *registers;
    uint16_t *odd; /* slots of names that aren't bound to integers */
    size_t odd_count;
    gci_bits const **rows; /* room for a cursor */
} gci_name_frame;

/* A walk over the lists that may hold for a frame. */
typedef struct gci_cursor {
    gci_filter_index const *index;
    gci_bits const *all[GCI_MAX_AXES]; /* rows that are intersected */
    gci_bits const **any;              /* rows that are added then */
    uint32_t all_count, any_count;
    uint32_t summary_at, block, word;
    uint64_t summary;                  /* blocks of the present 64 that are left */
    uint64_t bits[GCI_BLOCK_WORDS];    /* lists of the present block that are left */
} gci_cursor;

void gci_cursor_init(gci_cursor *cursor, gci_filter_index const *index, gci_name_frame const *frame);

/* The place of the next list that may hold, in order; UINT32_MAX at the end. */
uint32_t gci_cursor_next(gci_cursor *cursor);

#endif
