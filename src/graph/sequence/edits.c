/*
 * The fewest edits: furthest points on diagonals by number of edits (Ukkonen 1985), as lcs.c has them, with changes in place.
 */
#include "graph/sequence/edits.h"

#include <stdlib.h>
#include <string.h>

/* No point of a diagonal is reached. */
#define NOWHERE (-1)

/* At work: row d of the furthest points has 2d + 1 of them, for diagonals -d to d, behind those of fewer edits. */
typedef struct table {
    uint64_t const *a, *b;
    int32_t n, m;
    int32_t *rows;
    size_t room;
} table;

static uint64_t const *
item(uint64_t const *items, int32_t at)
{
    return items + (size_t)at * GCI_EDIT_HASHES;
}

static bool
are_equal(table const *t, int32_t x, int32_t y)
{
    return item(t->a, x)[GCI_EDIT_WHOLE] == item(t->b, y)[GCI_EDIT_WHOLE];
}

static bool
may_change(table const *t, int32_t x, int32_t y)
{
    uint64_t const *a = item(t->a, x), *b = item(t->b, y);

    return a[GCI_EDIT_OUTLINE] == b[GCI_EDIT_OUTLINE] || a[GCI_EDIT_REST] == b[GCI_EDIT_REST];
}

/* The furthest point on diagonal k (places in a before those in b) with d edits. */
static int32_t
furthest(table const *t, int32_t d, int32_t k)
{
    return d < 0 || k < -d || k > d ? NOWHERE : t->rows[(size_t)d * (size_t)d + (size_t)(k + d)];
}

/* One edit more from where d - 1 of them lead. */
static int32_t
by_change(table const *t, int32_t d, int32_t k)
{
    int32_t x = furthest(t, d - 1, k);

    return x != NOWHERE && x < t->n && x - k < t->m && may_change(t, x, x - k) ? x + 1 : x;
}

static int32_t
by_removal(table const *t, int32_t d, int32_t k)
{
    int32_t x = furthest(t, d - 1, k - 1);

    return x != NOWHERE && x < t->n ? x + 1 : NOWHERE;
}

static int32_t
by_insertion(table const *t, int32_t d, int32_t k)
{
    int32_t x = furthest(t, d - 1, k + 1);

    return x != NOWHERE && x - k <= t->m ? x : NOWHERE;
}

static int32_t
begin_of(table const *t, int32_t d, int32_t k)
{
    int32_t change = by_change(t, d, k), removal = by_removal(t, d, k), insertion = by_insertion(t, d, k);
    int32_t alone = removal > insertion ? removal : insertion;

    return d == 0 ? 0 : change > alone ? change : alone;
}

static void
trace_back(table const *t, int32_t d, uint32_t *match)
{
    int32_t x = t->n, k = t->n - t->m;

    for (; d >= 0; d--) {
        int32_t begin = begin_of(t, d, k);
        for (; x > begin; x--)
            match[x - 1] = (uint32_t)(x - 1 - k);
        if (d > 0 && by_change(t, d, k) == begin) {
            if (begin > furthest(t, d - 1, k))
                match[begin - 1] = (uint32_t)(begin - 1 - k);
            x = furthest(t, d - 1, k);
        } else if (d > 0) {
            bool removal = by_removal(t, d, k) == begin;
            x = removal ? begin - 1 : begin;
            k += removal ? -1 : 1;
        }
    }
}

static bool
has_room(table *t, int32_t d)
{
    size_t wanted = ((size_t)d + 1) * ((size_t)d + 1);

    if (wanted <= t->room)
        return true;
    int32_t *rows = realloc(t->rows, 2 * wanted * sizeof *rows);
    if (rows == NULL)
        return false;
    t->rows = rows;
    t->room = 2 * wanted;
    return true;
}

/* The row of points with d edits; true if the last point of all is one of them. */
static bool
fill_row(table *t, int32_t d)
{
    int32_t *row = t->rows + (size_t)d * (size_t)d + (size_t)d;

    for (int32_t k = -d; k <= d; k++) {
        int32_t x = begin_of(t, d, k);
        while (x != NOWHERE && x < t->n && x - k < t->m && are_equal(t, x, x - k))
            x++;
        row[k] = x;
    }
    return t->n - t->m >= -d && t->n - t->m <= d && row[t->n - t->m] >= t->n;
}

bool
gci_edits(uint64_t const *a, uint32_t a_count, uint64_t const *b, uint32_t b_count, uint32_t *match)
{
    table t = { .a = a, .b = b, .n = (int32_t)a_count, .m = (int32_t)b_count };
    bool done = false, roomy = true;

    for (int32_t d = 0; d <= GCI_EDITS_MOST && !done && roomy; d++) {
        roomy = has_room(&t, d);
        done = roomy && fill_row(&t, d);
        if (done)
            trace_back(&t, d, match);
    }
    free(t.rows);
    return roomy;
}
