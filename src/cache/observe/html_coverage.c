/*
 * The coverage picture: hints as axes (the two that vary most), logarithmic; in every cell the first candidate whose guards
 * hold; hits as dots, misses as crosses. Other hints stay as the newest lookup of the key had them.
 */
#include "base/check.h"
#include "cache/candidates/ranking.h"
#include "cache/candidates/shadow.h"
#include "cache/handle/words.h"
#include "cache/observe/html_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define PICTURES 6
#define COLUMNS 72
#define ROWS 40
#define CELL 8
#define MARGIN_LEFT 84
#define MARGIN_BOTTOM 30
#define TICKS_MAX 6
/* Colours that can be distinguished; later candidates share them. */
#define COLOURS 6
/* More points than cells show nothing more. */
#define POINTS_MAX 2000
#define HINTS_MAX 32
/* The picture goes on beyond what was seen: what lies there is a reader's next question. */
#define BEYOND 4.0

typedef struct point {
    int64_t values[HINTS_MAX];
    bool hit;
} point;

typedef struct axis {
    size_t hint; /* SIZE_MAX: none */
    double low, high;
} axis;

typedef struct picture {
    gcache_key key;
    gci_arena *arena;
    gci_view label;
    char const *names[HINTS_MAX];
    gci_view bound[HINTS_MAX];
    size_t hint_count;
    point *points;
    size_t count;
    axis x, y;
} picture;

/* ---- points ---- */

static bool
read_value(char const *literal, int64_t *out_value)
{
    char *end;

    *out_value = strtoll(literal, &end, 10);
    return end != literal && *end == '\0' && *out_value > 0;
}

static void
take_names(picture *p, gci_journal_entry const *entry)
{
    p->label = gci_arena_copy(p->arena, entry->label);
    for (size_t i = 0; i < entry->hint_count && p->hint_count < HINTS_MAX; i++) {
        p->names[p->hint_count] = gci_arena_copy(p->arena, gci_view_text(entry->hints[i].name)).data;
        p->bound[p->hint_count++] = gci_arena_copy(p->arena, entry->kept_hints[i].bound_name);
    }
}

/* Only lookups with the same names, all of whose values are positive integers, have a place. */
static void
add_point(picture *p, gci_journal_entry const *entry)
{
    point *added = &p->points[p->count];

    if (entry->hint_count == 0 || p->count == POINTS_MAX)
        return;
    if (p->hint_count == 0)
        take_names(p, entry);
    if (entry->hint_count != p->hint_count)
        return;
    for (size_t i = 0; i < p->hint_count; i++)
        if (strcmp(entry->hints[i].name, p->names[i]) != 0 || !read_value(entry->hints[i].literal, &added->values[i]))
            return;
    added->hit = entry->kind == GCACHE_JOURNAL_HIT;
    p->count++;
}

typedef struct gatherer {
    picture *pictures;
    size_t count;
} gatherer;

static int
gather(void *state, gci_journal_entry *entry)
{
    gatherer *g = state;

    if (entry->kind != GCACHE_JOURNAL_MISS && entry->kind != GCACHE_JOURNAL_HIT)
        return 0;
    for (size_t i = 0; i < g->count; i++)
        if (memcmp(&g->pictures[i].key, &entry->key, sizeof entry->key) == 0)
            add_point(&g->pictures[i], entry);
    return 0;
}

/* ---- axes ---- */

static size_t
count_distinct(picture const *p, size_t hint)
{
    size_t distinct = 0;

    for (size_t i = 0; i < p->count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = p->points[j].values[hint] == p->points[i].values[hint];
        distinct += !seen;
    }
    return distinct;
}

static axis
make_axis(picture const *p, size_t hint)
{
    axis a = { .hint = hint, .low = INFINITY, .high = 1 };

    for (size_t i = 0; i < p->count; i++) {
        a.low = fmin(a.low, (double)p->points[i].values[hint]);
        a.high = fmax(a.high, (double)p->points[i].values[hint]);
    }
    a.low = fmax(1, a.low / BEYOND);
    a.high *= BEYOND;
    return a;
}

static void
choose_axes(picture *p)
{
    size_t best = SIZE_MAX, second = SIZE_MAX, most = 0, next = 0;

    for (size_t i = 0; i < p->hint_count; i++) {
        size_t distinct = count_distinct(p, i);
        if (distinct > most) {
            second = best;
            next = most;
            best = i;
            most = distinct;
        } else if (distinct > next) {
            second = i;
            next = distinct;
        }
    }
    p->x = make_axis(p, best);
    p->y = next > 1 ? make_axis(p, second) : (axis){ .hint = SIZE_MAX };
}

static int64_t
value_at(axis const *a, double place)
{
    return (int64_t)llround(a->low * pow(a->high / a->low, place));
}

static double
place_of(axis const *a, int64_t value)
{
    return log((double)value / a->low) / log(a->high / a->low);
}

/* ---- cells ---- */

static gci_view
bound_name(void const *state, gci_view name)
{
    picture const *p = state;

    for (size_t i = 0; i < p->hint_count; i++)
        if (gci_view_is(name, p->names[i]))
            return p->bound[i];
    return name;
}

/* The place in rank of the first candidate that holds in a cell, or -1. */
static int
decide(picture const *p, gci_ranking const *ranking, double x, double y)
{
    gcache_hint items[HINTS_MAX];
    gcache_hints hints = { .items = items, .count = p->hint_count };
    gci_naming naming = { .rename = bound_name, .state = p };
    gci_hints bound;
    int winner = -1;

    for (size_t i = 0; i < p->hint_count; i++)
        items[i] = (gcache_hint){ p->names[i], p->points[0].values[i] };
    items[p->x.hint].value = value_at(&p->x, x);
    if (p->y.hint != SIZE_MAX)
        items[p->y.hint].value = value_at(&p->y, y);
    gci_hints_init(&bound);
    bool read = gci_hints_read(&bound, &hints, naming, NULL) == GCACHE_OK;
    for (size_t i = 0; read && i < ranking->count && winner < 0; i++) {
        gcache_verdict verdict;
        if (ranking->items[i]->guards != NULL && gci_guards_eval(ranking->items[i]->guards, &bound, &verdict) == GCACHE_TRUE)
            winner = (int)i;
    }
    gci_hints_clear(&bound);
    return winner;
}

static void
write_run(gci_buf *out, int winner, int row, int start, int end)
{
    if (winner >= 0)
        gci_buf_format(out, "<rect class=\"region c%d\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>", winner % COLOURS,
                       MARGIN_LEFT + start * CELL, row * CELL, (end - start) * CELL, CELL);
}

/* Neighbours in a row with the same answer are one rectangle. */
static void
write_cells(picture const *p, gci_ranking const *ranking, gci_buf *out)
{
    for (int row = 0; row < ROWS; row++) {
        int start = 0, winner = -1;
        for (int column = 0; column <= COLUMNS; column++) {
            double x = (column + 0.5) / COLUMNS, y = 1 - (row + 0.5) / ROWS;
            int here = column < COLUMNS ? decide(p, ranking, x, y) : -2;
            if (here == winner)
                continue;
            write_run(out, winner, row, start, column);
            start = column;
            winner = here;
        }
    }
}

static void
write_points(picture const *p, gci_buf *out)
{
    for (size_t i = 0; i < p->count; i++) {
        double x = MARGIN_LEFT + place_of(&p->x, p->points[i].values[p->x.hint]) * COLUMNS * CELL;
        double y = ROWS * CELL / 2.0;
        if (p->y.hint != SIZE_MAX)
            y = (1 - place_of(&p->y, p->points[i].values[p->y.hint])) * ROWS * CELL;
        if (p->points[i].hit)
            gci_buf_format(out, "<circle class=\"hit\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>", x, y);
        else
            gci_buf_format(out, "<path class=\"cross\" d=\"M%.1f %.1fl8 8m0 -8l-8 8\"/>", x - 4, y - 4);
    }
}

/* Round numbers that lie on the axis: powers of 4 on a short one, of 10, 100 or more on others. */
static void
write_ticks(axis const *a, bool horizontal, gci_buf *out)
{
    double decades = log10(a->high / a->low), step = decades > 4 ? pow(10, ceil(decades / TICKS_MAX)) : 4;

    for (double value = 1; value <= a->high; value *= step) {
        if (value < a->low)
            continue;
        double place = log(value / a->low) / log(a->high / a->low);
        if (horizontal)
            gci_buf_format(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>",
                           MARGIN_LEFT + place * COLUMNS * CELL, ROWS * CELL + 14, value);
        else
            gci_buf_format(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.0f</text>", MARGIN_LEFT - 4,
                           (1 - place) * ROWS * CELL + 4, value);
    }
}

/* ---- one picture ---- */

static void
write_legend(gci_ranking const *ranking, size_t const *shadows, gci_buf *out)
{
    gci_buf_append_text(out, "<ul>\n");
    for (size_t i = 0; i < ranking->count; i++) {
        gci_ranked const *ranked = ranking->items[i];
        gci_buf_format(out, "<li><svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect class=\"c%zu\" width=\"14\" "
                            "height=\"14\"/></svg> #%zu <code>%.*s</code> ", i % COLOURS, i + 1, GCI_SHORT_ENTRY_DIGITS,
                       ranked->candidate->record.id);
        for (size_t g = 0; g < ranked->candidate->record.guard_count; g++) {
            gci_buf excerpt;
            gci_buf_init(&excerpt, GCI_BUF_NO_LIMIT);
            gci_write_excerpt(&excerpt, ranked->candidate->record.guards[g], 120);
            gci_buf_append_text(out, g > 0 ? "; <code>" : "<code>");
            gci_write_html(out, gci_buf_view(&excerpt));
            gci_buf_append_text(out, "</code>");
            gci_buf_clear(&excerpt);
        }
        if (shadows != NULL && shadows[i] != GCI_NOT_SHADOWED)
            gci_buf_format(out, " <strong>shadowed</strong> by #%zu, which holds whenever it does", shadows[i] + 1);
        gci_buf_append_text(out, "</li>\n");
    }
    gci_buf_append_text(out, "</ul>\n");
}

static void
write_title(picture const *p, gci_ranking const *ranking, gci_buf *out)
{
    size_t hits = 0;

    for (size_t i = 0; i < p->count; i++)
        hits += p->points[i].hit;
    gci_phrase(out, "<h3>key {} {}</h3>\n", GCI_AS_KEY(&p->key), GCI_AS_HTML(p->label));
    gci_buf_format(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Coverage over ",
                   MARGIN_LEFT + COLUMNS * CELL + 4, ROWS * CELL + MARGIN_BOTTOM);
    gci_phrase(out, "{}", GCI_AS_HTML(gci_view_text(p->names[p->x.hint])));
    if (p->y.hint != SIZE_MAX)
        gci_phrase(out, " and {}", GCI_AS_HTML(gci_view_text(p->names[p->y.hint])));
    gci_buf_format(out, ": %zu candidates, %zu hits, %zu misses\">", ranking->count, hits, p->count - hits);
}

static void
write_names(picture const *p, gci_buf *out)
{
    gci_phrase(out, "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>", GCI_AS_NUMBER(MARGIN_LEFT + COLUMNS * CELL),
               GCI_AS_NUMBER(ROWS * CELL + 28), GCI_AS_HTML(gci_view_text(p->names[p->x.hint])));
    if (p->y.hint != SIZE_MAX)
        gci_phrase(out, "<text x=\"{}\" y=\"12\">{}</text>", GCI_AS_NUMBER(MARGIN_LEFT + 4),
                   GCI_AS_HTML(gci_view_text(p->names[p->y.hint])));
}

static void
write_picture(picture *p, gci_ranking const *ranking, gci_buf *out)
{
    choose_axes(p);
    write_title(p, ranking, out);
    write_cells(p, ranking, out);
    gci_buf_format(out, "<rect class=\"frame\" x=\"%d\" y=\"0\" width=\"%d\" height=\"%d\"/>", MARGIN_LEFT, COLUMNS * CELL,
                   ROWS * CELL);
    write_points(p, out);
    write_ticks(&p->x, true, out);
    if (p->y.hint != SIZE_MAX)
        write_ticks(&p->y, false, out);
    write_names(p, out);
    gci_buf_append_text(out, "</svg>\n");
    write_legend(ranking, gci_shadows_find(ranking, p->arena), out);
}

static void
draw(gcache *cache, picture *p, gci_buf *out)
{
    gci_candidates *set = NULL;

    if (p->count == 0 || gci_store_candidates(cache->store, &p->key, &set, NULL) != GCI_FOUND)
        return;
    gci_ranking const *ranking = gci_ranking_of(set);
    if (ranking != NULL && ranking->count != 0)
        write_picture(p, ranking, out);
    gci_candidates_release(set);
}

gcache_status
gci_report_coverage(gcache *cache, gcache_journal_query const *query, gci_statistics const *statistics, gci_buf *out,
                    gcache_error *error)
{
    picture pictures[PICTURES];
    gatherer all = { .pictures = pictures };
    gci_arena arena;

    gci_arena_init(&arena, SIZE_MAX / 2);
    for (size_t i = 0; i < statistics->keys.count && all.count < PICTURES && statistics->keys.items[i].misses != 0; i++) {
        picture *p = &pictures[all.count++];
        *p = (picture){ .key = statistics->keys.items[i].key, .arena = &arena };
        /* One more than counts: a lookup that turns out to have no place is written there first. */
        p->points = gci_arena_array(&arena, POINTS_MAX + 1, sizeof *p->points);
    }
    gcache_status status = arena.failed ? gci_fail_memory(error) : gci_history_each(cache, query, gather, &all, error);
    if (status == GCACHE_OK && all.count != 0) {
        gci_buf_append_text(out, "<h2>What is covered</h2>\n<p>Coloured: shapes that a stored candidate serves. Dots: hits. "
                                 "Crosses: misses, as they were then. Both axes are logarithmic.</p>\n");
        for (size_t i = 0; i < all.count; i++)
            draw(cache, &pictures[i], out);
    }
    gci_arena_clear(&arena);
    return status;
}
