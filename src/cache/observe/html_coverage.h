/*
 * The coverage picture in its parts: points from the journal (html_coverage.c), cells decided by the candidates' own guards
 * (html_cells.c), both drawn (html_picture.c).
 */
#ifndef GCI_CACHE_OBSERVE_HTML_COVERAGE_H
#define GCI_CACHE_OBSERVE_HTML_COVERAGE_H

#include "base/arena.h"
#include "base/buf.h"
#include "cache/candidates/ranking.h"
#include "cache/observe/statistics.h"

#define GCI_COVER_HINTS 32
#define GCI_COVER_COLUMNS 72
#define GCI_COVER_ROWS 40
/* Single sizes that are shown although the cells around them go another way. */
#define GCI_COVER_TINY 400

/* Lookups with the same values. */
typedef struct gci_cover_point {
    int64_t values[GCI_COVER_HINTS]; /* 0: not a positive integer, which has no place */
    uint64_t hits, misses;
} gci_cover_point;

typedef struct gci_cover_axis {
    size_t hint; /* SIZE_MAX: none */
    double low, high;
} gci_cover_axis;

typedef struct gci_cover_hint {
    char const *name, *literal; /* as the newest lookup had it */
    gci_view bound;             /* what guards call it */
    gci_view source;            /* what the user calls it; empty if that isn't known */
} gci_cover_hint;

typedef struct gci_cover {
    gci_group const *group; /* the key's */
    gci_arena *arena;
    gci_cover_hint hints[GCI_COVER_HINTS];
    size_t hint_count;
    gci_cover_point *points;
    size_t count;
    gci_cover_axis x, y;
    uint64_t guards; /* a hash of all candidates' */
    bool drawn;
} gci_cover;

/* Who serves a cell: the place in rank of the first candidate that holds. */
typedef struct gci_cover_cell {
    int winner; /* -1: nobody */
    bool some;  /* only some of the sizes in the cell */
} gci_cover_cell;

typedef struct gci_cover_tiny {
    double x, y; /* from 0 to 1, y upwards */
    int winner;
    bool marked; /* it was looked up: what is drawn must be seen around the mark */
} gci_cover_tiny;

typedef struct gci_cover_grid {
    int rows; /* 1 without a second axis */
    gci_cover_cell cells[GCI_COVER_ROWS][GCI_COVER_COLUMNS]; /* from the top */
    gci_cover_tiny tiny[GCI_COVER_TINY];
    size_t tiny_count;
} gci_cover_grid;

/* Where a value lies on an axis, from 0 to 1. */
double gci_cover_place(gci_cover_axis const *axis, double value);

/* Asks the candidates' guards about every cell. */
void gci_cover_decide(gci_cover const *cover, gci_ranking const *ranking, gci_cover_grid *out_grid);

/* A candidate's guard with the names that the user has for its symbols, as far as they are known. Not escaped. */
void gci_cover_write_guard(gci_cover const *cover, gci_record const *record, gci_view guard, gci_buf *out);

/* A whole picture with its heading and legend. */
void gci_cover_draw(gci_cover const *cover, gci_ranking const *ranking, gci_cover_grid const *grid, gci_buf *out);

#endif
