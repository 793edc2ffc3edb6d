/*
 * Who serves which sizes. A cell holds many sizes on a logarithmic axis, so a round one and an odd one are asked: candidates
 * for multiples of 8 are seen, and seen to serve not all. Sizes that were looked up or stand in guards are asked as well, since
 * they are often the only ones that a candidate serves.
 */
#include "cache/observe/html_coverage.h"

#include "guards/guards.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

/* Single sizes an axis that are asked beside the cells. */
#define SPECIAL_MAX 40
#define LONE_CELLS 3
/* With more candidates one size a cell is asked, so that a picture stays a matter of a second. */
#define THOROUGH_CANDIDATES 32

double
gci_cover_place(gci_cover_axis const *axis, double value)
{
    return log(value / axis->low) / log(axis->high / axis->low);
}

static double
value_at(gci_cover_axis const *axis, double place)
{
    return axis->low * pow(axis->high / axis->low, place);
}

/* ---- one size ---- */

static gci_view
bound_name(void const *state, gci_view name)
{
    gci_cover const *cover = state;

    for (size_t i = 0; i < cover->hint_count; i++)
        if (gci_view_is(name, cover->hints[i].name))
            return cover->hints[i].bound;
    return name;
}

/* The place in rank of the first candidate that holds, or -1. y doesn't matter without a second axis. */
static int
winner_at(gci_cover const *cover, gci_ranking const *ranking, int64_t x, int64_t y)
{
    gcache_hint items[2];
    gcache_hint_literal literals[GCI_COVER_HINTS];
    gcache_hints hints = { .items = items, .literals = literals };
    gci_hints bound;
    int winner = -1;

    for (size_t i = 0; i < cover->hint_count; i++) {
        if (i == cover->x.hint || i == cover->y.hint)
            items[hints.count++] = (gcache_hint){ cover->hints[i].name, i == cover->x.hint ? x : y };
        else
            literals[hints.literal_count++] = (gcache_hint_literal){ cover->hints[i].name, cover->hints[i].literal };
    }
    gci_hints_init(&bound);
    bool read = gci_hints_read(&bound, &hints, (gci_naming){ .rename = bound_name, .state = cover }, NULL) == GCACHE_OK;
    for (size_t i = 0; read && i < ranking->count && winner < 0; i++) {
        gcache_verdict verdict;
        if (ranking->items[i]->guards != NULL && gci_guards_eval(ranking->items[i]->guards, &bound, &verdict) == GCACHE_TRUE)
            winner = (int)i;
    }
    gci_hints_clear(&bound);
    return winner;
}

/* ---- cells ---- */

typedef struct sample {
    int64_t values[2];
    int count;
} sample;

/* The sizes that stand for those between two places: the roundest, and an odd one where there are several. */
static sample
sample_between(gci_cover_axis const *axis, double from, double to, bool thorough)
{
    int64_t low = (int64_t)ceil(value_at(axis, from)), high = (int64_t)ceil(value_at(axis, to)) - 1;

    if (high <= low)
        return (sample){ { high == low ? low : llround(value_at(axis, (from + to) / 2)) }, 1 };
    int64_t middle = low + (high - low) / 2, odd = (middle | 1) <= high ? middle | 1 : low, round = high;
    if (!thorough)
        return (sample){ { middle }, 1 };
    while ((round & (round - 1)) >= low)
        round &= round - 1;
    return (sample){ { round, odd }, 2 };
}

static gci_cover_cell
decide_cell(gci_cover const *cover, gci_ranking const *ranking, sample xs, sample ys)
{
    gci_cover_cell cell = { .winner = -1 };
    bool unserved = false;

    for (int i = 0; i < ys.count; i++)
        for (int j = 0; j < xs.count; j++) {
            int winner = winner_at(cover, ranking, xs.values[j], ys.values[i]);
            unserved |= winner < 0;
            if (cell.winner < 0)
                cell.winner = winner;
        }
    cell.some = unserved && cell.winner >= 0;
    return cell;
}

static void
decide_cells(gci_cover const *cover, gci_ranking const *ranking, gci_cover_grid *grid)
{
    bool thorough = ranking->count <= THOROUGH_CANDIDATES;

    for (int row = 0; row < grid->rows; row++) {
        double top = 1 - (double)row / grid->rows;
        sample ys = { { 0 }, 1 };
        if (cover->y.hint != SIZE_MAX)
            ys = sample_between(&cover->y, top - 1.0 / grid->rows, top, thorough);
        for (int column = 0; column < GCI_COVER_COLUMNS; column++) {
            double left = (double)column / GCI_COVER_COLUMNS;
            sample xs = sample_between(&cover->x, left, left + 1.0 / GCI_COVER_COLUMNS, thorough);
            grid->cells[row][column] = decide_cell(cover, ranking, xs, ys);
        }
    }
}

/* ---- single sizes ---- */

typedef struct specials {
    int64_t values[SPECIAL_MAX];
    size_t count;
} specials;

static void
add_special(specials *s, gci_cover_axis const *axis, int64_t value)
{
    if (s->count == SPECIAL_MAX || (double)value < axis->low || (double)value > axis->high)
        return;
    for (size_t i = 0; i < s->count; i++)
        if (s->values[i] == value)
            return;
    s->values[s->count++] = value;
}

/* Whole numbers as they stand in a guard: "s0 == 17". */
static void
add_literals(specials *s, gci_cover_axis const *axis, gci_view guard)
{
    for (size_t i = 0; i < guard.size; i++) {
        bool inside = i > 0 && (isalnum((unsigned char)guard.data[i - 1]) || guard.data[i - 1] == '_' || guard.data[i - 1] == '.');
        int64_t value = 0;
        if (!isdigit((unsigned char)guard.data[i]) || inside)
            continue;
        for (; i < guard.size && isdigit((unsigned char)guard.data[i]) && value < INT32_MAX; i++)
            value = value * 10 + guard.data[i] - '0';
        add_special(s, axis, value);
    }
}

static specials
find_specials(gci_cover const *cover, gci_ranking const *ranking, gci_cover_axis const *axis)
{
    specials s = { .count = 0 };

    if (axis->hint == SIZE_MAX)
        return (specials){ .values = { 1 }, .count = 1 };
    for (size_t i = 0; i < cover->count; i++)
        add_special(&s, axis, cover->points[i].values[axis->hint]);
    for (size_t i = 0; i < ranking->count; i++) {
        gci_record const *record = &ranking->items[i]->candidate->record;
        for (size_t g = 0; g < record->guard_count; g++)
            add_literals(&s, axis, record->guards[g]);
    }
    return s;
}

static bool
was_looked_up(gci_cover const *cover, int64_t x, int64_t y)
{
    for (size_t i = 0; i < cover->count; i++) {
        int64_t const *values = cover->points[i].values;
        if (values[cover->x.hint] == x && (cover->y.hint == SIZE_MAX || values[cover->y.hint] == y))
            return true;
    }
    return false;
}

/* A region of hardly more than this cell, which a mark upon it would hide. */
static bool
is_lone(gci_cover_grid const *grid, int row, int column)
{
    int winner = grid->cells[row][column].winner, around = 0;

    for (int i = row - 1; i <= row + 1; i++)
        for (int j = column - 1; j <= column + 1; j++)
            around += i >= 0 && i < grid->rows && j >= 0 && j < GCI_COVER_COLUMNS && grid->cells[i][j].winner == winner;
    return around <= LONE_CELLS;
}

static void
add_tiny(gci_cover const *cover, gci_ranking const *ranking, gci_cover_grid *grid, int64_t x, int64_t y)
{
    bool plane = cover->y.hint != SIZE_MAX;
    gci_cover_tiny tiny = { .x = gci_cover_place(&cover->x, (double)x),
                            .y = plane ? gci_cover_place(&cover->y, (double)y) : 0.5 };
    int column = (int)(tiny.x * GCI_COVER_COLUMNS), row = (int)((1 - tiny.y) * grid->rows);

    column = column < GCI_COVER_COLUMNS ? column : GCI_COVER_COLUMNS - 1;
    row = row < grid->rows ? row : grid->rows - 1;
    tiny.winner = winner_at(cover, ranking, x, y);
    tiny.marked = was_looked_up(cover, x, y);
    bool seen = tiny.winner == grid->cells[row][column].winner && !(tiny.marked && is_lone(grid, row, column));
    if (tiny.winner >= 0 && !seen && grid->tiny_count < GCI_COVER_TINY)
        grid->tiny[grid->tiny_count++] = tiny;
}

void
gci_cover_decide(gci_cover const *cover, gci_ranking const *ranking, gci_cover_grid *out_grid)
{
    out_grid->rows = cover->y.hint != SIZE_MAX ? GCI_COVER_ROWS : 1;
    out_grid->tiny_count = 0;
    decide_cells(cover, ranking, out_grid);
    specials xs = find_specials(cover, ranking, &cover->x), ys = find_specials(cover, ranking, &cover->y);
    for (size_t i = 0; i < ys.count; i++)
        for (size_t j = 0; j < xs.count; j++)
            add_tiny(cover, ranking, out_grid, xs.values[j], ys.values[i]);
}
