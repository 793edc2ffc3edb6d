/*
 * A coverage picture drawn: regions and marks in SVG that fills its place, texts around it in HTML, so that they are as large on
 * a phone as anywhere.
 */
#include "cache/observe/html_coverage.h"

#include "cache/candidates/shadow.h"
#include "cache/explain/html_page.h"
#include "cache/handle/words.h"

#include <math.h>

/* In units of the picture. */
#define CELL 8
#define WIDTH (GCI_COVER_COLUMNS * CELL)
#define STRIP_HEIGHT 72
#define TINY 8.0
#define TINY_MARKED 22.0
#define RADIUS 4.0
#define COLOURS 12
#define NO_COLOUR (-1)
#define TICKS_MAX 6
/* Candidates and guards that a reader looks at; the others fold away. */
#define LEGEND_SHOWN 12
#define GUARDS_SHOWN 3
#define GUARD_WIDTH 120

static int
height_of(gci_cover_grid const *grid)
{
    return grid->rows == 1 ? STRIP_HEIGHT : grid->rows * CELL;
}

static gci_view
name_of(gci_cover const *cover, gci_cover_axis const *axis)
{
    gci_cover_hint const *hint = &cover->hints[axis->hint];

    return hint->source.size != 0 ? hint->source : gci_view_text(hint->name);
}

/* ---- regions ---- */

static void
write_guards(gci_cover const *cover, gci_ranked const *ranked, gci_buf *out)
{
    gci_record const *record = &ranked->candidate->record;
    gci_buf guard, excerpt;

    gci_buf_init(&guard, GCI_BUF_NO_LIMIT);
    gci_buf_init(&excerpt, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < record->guard_count && i < GUARDS_SHOWN; i++) {
        guard.size = excerpt.size = 0;
        gci_cover_write_guard(cover, record, record->guards[i], &guard);
        gci_write_excerpt(&excerpt, gci_buf_view(&guard), GUARD_WIDTH);
        gci_phrase(out, i > 0 ? "; {}" : "{}", GCI_AS_HTML(gci_buf_view(&excerpt)));
    }
    if (record->guard_count == 0)
        gci_buf_append_text(out, "no guards: every size");
    if (record->guard_count > GUARDS_SHOWN)
        gci_buf_format(out, "; and %zu more", record->guard_count - GUARDS_SHOWN);
    out->failed |= guard.failed || excerpt.failed;
    gci_buf_clear(&guard);
    gci_buf_clear(&excerpt);
}

/* Neighbours in a row with the same answer are one piece of the path. Returns how many pieces there are. */
static size_t
write_pieces(gci_cover_grid const *grid, int winner, bool some, gci_buf *out)
{
    int height = height_of(grid) / grid->rows;
    size_t pieces = 0;

    for (int row = 0; row < grid->rows; row++)
        for (int column = 0; column < GCI_COVER_COLUMNS; column++) {
            int start = column;
            while (column < GCI_COVER_COLUMNS && grid->cells[row][column].winner == winner &&
                   grid->cells[row][column].some == some)
                column++;
            if (column > start) {
                gci_buf_format(out, "M%d %dh%dv%dh%dz", start * CELL, row * height, (column - start) * CELL, height,
                               (start - column) * CELL);
                pieces++;
            }
        }
    return pieces;
}

static size_t
write_tiny_pieces(gci_cover_grid const *grid, int winner, gci_buf *out)
{
    size_t pieces = 0;

    for (size_t i = 0; i < grid->tiny_count; i++) {
        gci_cover_tiny const *tiny = &grid->tiny[i];
        if (tiny->winner != winner)
            continue;
        double width = tiny->marked ? TINY_MARKED : TINY, height = grid->rows == 1 ? STRIP_HEIGHT : width;
        double top = grid->rows == 1 ? 0 : (1 - tiny->y) * height_of(grid) - width / 2;
        gci_buf_format(out, "M%.1f %.1fh%.0fv%.0fh-%.0fz", tiny->x * WIDTH - width / 2, top, width, height, width);
        pieces++;
    }
    return pieces;
}

typedef enum piece_kind { WHOLE, SOME, SINGLE } piece_kind;

/* A path, unless nothing is in it. */
static void
write_region(gci_cover const *cover, gci_cover_grid const *grid, gci_ranked const *ranked, int winner, piece_kind kind,
             int colour, gci_buf *out)
{
    static char const *const classes[] = { "region", "some", "single" };
    size_t start = out->size;

    gci_buf_format(out, "<path class=\"%s c%d\" d=\"", classes[kind], colour);
    size_t pieces = kind == SINGLE ? write_tiny_pieces(grid, winner, out) : write_pieces(grid, winner, kind == SOME, out);
    if (pieces == 0) {
        out->size = start;
        return;
    }
    gci_buf_format(out, "\"><title>#%d: ", winner + 1);
    write_guards(cover, ranked, out);
    gci_buf_append_text(out, kind == SOME ? " (some of these sizes)</title></path>" : "</title></path>");
}

static void
write_regions(gci_cover const *cover, gci_cover_grid const *grid, gci_ranking const *ranking, int const *colours, gci_buf *out)
{
    for (int kind = WHOLE; kind <= SINGLE; kind++)
        for (size_t i = 0; i < ranking->count; i++)
            if (colours[i] != NO_COLOUR)
                write_region(cover, grid, ranking->items[i], (int)i, (piece_kind)kind, colours[i], out);
}

/* Those that serve something in the picture get a colour each, as long as there are any. */
static void
choose_colours(gci_cover_grid const *grid, size_t count, int *out_colours)
{
    int next = 0;

    for (size_t i = 0; i < count; i++)
        out_colours[i] = NO_COLOUR;
    for (int row = 0; row < grid->rows; row++)
        for (int column = 0; column < GCI_COVER_COLUMNS; column++)
            if (grid->cells[row][column].winner >= 0)
                out_colours[grid->cells[row][column].winner] = 0;
    for (size_t i = 0; i < grid->tiny_count; i++)
        out_colours[grid->tiny[i].winner] = 0;
    for (size_t i = 0; i < count; i++)
        if (out_colours[i] != NO_COLOUR)
            out_colours[i] = next++ % COLOURS;
}

/* ---- marks ---- */

/* "x.size(0)=48 y=16: 3 hits, 1 miss" */
static void
write_values(gci_cover const *cover, gci_cover_point const *point, gci_buf *out)
{
    gci_phrase(out, "{}={}", GCI_AS_HTML(name_of(cover, &cover->x)), GCI_AS_NUMBER((uint64_t)point->values[cover->x.hint]));
    if (cover->y.hint != SIZE_MAX)
        gci_phrase(out, " {}={}", GCI_AS_HTML(name_of(cover, &cover->y)),
                   GCI_AS_NUMBER((uint64_t)point->values[cover->y.hint]));
    gci_buf_append_text(out, ":");
    if (point->hits != 0)
        gci_phrase(out, " {} {}", GCI_AS_COUNT(point->hits), GCI_AS_TEXT(point->hits == 1 ? "hit" : "hits"));
    if (point->misses != 0)
        gci_phrase(out, "{} {} {}", GCI_AS_TEXT(point->hits != 0 ? "," : ""), GCI_AS_COUNT(point->misses),
                   GCI_AS_TEXT(point->misses == 1 ? "miss" : "misses"));
}

static void
write_mark(gci_cover const *cover, gci_cover_point const *point, double x, double y, gci_buf *out)
{
    gci_buf_append_text(out, "<g class=\"mark\"><title>");
    write_values(cover, point, out);
    gci_buf_append_text(out, "</title>");
    if (point->hits != 0)
        gci_buf_format(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.0f\"/>", point->misses != 0 ? "hit ring" : "hit", x,
                       y, point->misses != 0 ? 2 * RADIUS : RADIUS);
    if (point->misses != 0)
        gci_buf_format(out, "<path class=\"cross\" d=\"M%.1f %.1fl8 8m0 -8l-8 8\"/>", x - RADIUS, y - RADIUS);
    gci_buf_append_text(out, "</g>");
}

static bool
has_place(gci_cover const *cover, gci_cover_point const *point)
{
    return point->values[cover->x.hint] != 0 && (cover->y.hint == SIZE_MAX || point->values[cover->y.hint] != 0);
}

static void
write_marks(gci_cover const *cover, gci_cover_grid const *grid, gci_buf *out)
{
    for (size_t i = 0; i < cover->count; i++) {
        gci_cover_point const *point = &cover->points[i];
        double y = 0.5;
        if (!has_place(cover, point))
            continue;
        if (cover->y.hint != SIZE_MAX)
            y = gci_cover_place(&cover->y, (double)point->values[cover->y.hint]);
        write_mark(cover, point, gci_cover_place(&cover->x, (double)point->values[cover->x.hint]) * WIDTH,
                   (1 - y) * height_of(grid), out);
    }
}

/* ---- axes ---- */

/* Sizes are powers of 2 more often than not; on a long axis those of 10 are read faster. */
static double
step_of(gci_cover_axis const *axis)
{
    double ratio = axis->high / axis->low;

    if (ratio <= pow(2, TICKS_MAX))
        return 2;
    return ratio <= pow(4, TICKS_MAX) ? 4 : pow(10, ceil(log10(ratio) / TICKS_MAX));
}

static void
write_number(double value, gci_buf *out)
{
    if (value < 1e6)
        gci_phrase(out, "{}", GCI_AS_COUNT((uint64_t)value));
    else
        gci_buf_format(out, "10<sup>%.0f</sup>", log10(value));
}

static void
write_ticks(gci_cover_axis const *axis, bool horizontal, gci_buf *out)
{
    size_t written = 0;

    for (double value = 1, step = step_of(axis); value <= axis->high; value *= step) {
        double place = gci_cover_place(axis, value);
        if (value < axis->low)
            continue;
        if (horizontal)
            gci_html_tick(out, place, written % 2 != 0);
        else
            gci_buf_format(out, "<span class=\"y\" style=\"bottom:%.2f%%\">", 100 * place);
        written++;
        write_number(value, out);
        gci_buf_append_text(out, "</span>");
    }
}

static void
write_axis_names(gci_cover const *cover, gci_buf *out)
{
    gci_phrase(out, "<span class=\"xname\"><code>{}</code> &#8594;</span>", GCI_AS_HTML(name_of(cover, &cover->x)));
    if (cover->y.hint != SIZE_MAX)
        gci_phrase(out, "<span class=\"yname\"><code>{}</code> &#8593;</span>", GCI_AS_HTML(name_of(cover, &cover->y)));
}

/* ---- the legend ---- */

static void
write_candidate(gci_cover const *cover, gci_ranking const *ranking, size_t place, size_t const *shadows, int colour, gci_buf *out)
{
    gci_ranked const *ranked = ranking->items[place];

    gci_buf_append_text(out, "<li>");
    if (colour != NO_COLOUR)
        gci_buf_format(out, "<svg width=\"14\" height=\"14\" aria-hidden=\"true\"><rect class=\"c%d\" width=\"14\" "
                            "height=\"14\"/></svg> ", colour);
    gci_buf_format(out, "#%zu <code>", place + 1);
    write_guards(cover, ranked, out);
    gci_buf_format(out, "</code> <code class=\"id\">%.*s</code>", GCI_SHORT_ENTRY_DIGITS, ranked->candidate->record.id);
    if (shadows != NULL && shadows[place] != GCI_NOT_SHADOWED)
        gci_buf_format(out, " <strong>shadowed</strong> by #%zu, which holds whenever it does", shadows[place] + 1);
    gci_buf_append_text(out, "</li>\n");
}

static bool
is_shown(int const *colours, size_t place, size_t *shown)
{
    if (colours[place] == NO_COLOUR || *shown == LEGEND_SHOWN)
        return false;
    (*shown)++;
    return true;
}

/* A dozen of those that serve something; the others fold away. */
static void
write_legend(gci_cover const *cover, gci_ranking const *ranking, int const *colours, gci_buf *out)
{
    size_t const *shadows = gci_shadows_find(ranking, cover->arena);
    size_t shown = 0;

    gci_buf_append_text(out, "<div><ul class=\"legend\">\n");
    for (size_t i = 0; i < ranking->count; i++)
        if (is_shown(colours, i, &shown))
            write_candidate(cover, ranking, i, shadows, colours[i], out);
    gci_buf_append_text(out, "</ul>");
    if (shown < ranking->count)
        gci_buf_format(out, "<details><summary>%zu more, which serve little or none of what is shown</summary><ul "
                            "class=\"legend\">\n", ranking->count - shown);
    for (size_t i = 0, again = 0; i < ranking->count && shown < ranking->count; i++)
        if (!is_shown(colours, i, &again))
            write_candidate(cover, ranking, i, shadows, colours[i], out);
    gci_buf_append_text(out, shown < ranking->count ? "</ul></details></div>\n" : "</div>\n");
}

/* ---- one picture ---- */

static void
write_heading(gci_cover const *cover, gci_ranking const *ranking, gci_buf *out)
{
    gci_group const *group = cover->group;

    gci_phrase(out, "<figure class=\"card cover\"><h3>{}", GCI_AS_HTML(gci_group_name(group)));
    gci_group_write_others(group, out);
    gci_phrase(out, " <code class=\"id\">{}</code></h3>\n<p class=\"dim\">{} {}, {} {}, {} {}</p>\n",
               GCI_AS_KEY(&group->key), GCI_AS_COUNT(ranking->count),
               GCI_AS_TEXT(ranking->count == 1 ? "candidate" : "candidates"), GCI_AS_COUNT(group->hits),
               GCI_AS_TEXT(group->hits == 1 ? "hit" : "hits"), GCI_AS_COUNT(group->misses),
               GCI_AS_TEXT(group->misses == 1 ? "miss" : "misses"));
}

/* For whoever can't see the picture. */
static void
write_label(gci_cover const *cover, gci_ranking const *ranking, gci_buf *out)
{
    uint64_t hits = 0, misses = 0;

    for (size_t i = 0; i < cover->count; i++) {
        hits += cover->points[i].hits;
        misses += cover->points[i].misses;
    }
    gci_phrase(out, "Coverage over {}", GCI_AS_HTML(name_of(cover, &cover->x)));
    if (cover->y.hint != SIZE_MAX)
        gci_phrase(out, " and {}", GCI_AS_HTML(name_of(cover, &cover->y)));
    gci_buf_format(out, ": %zu candidates, %llu hits, %llu misses", ranking->count, (unsigned long long)hits,
                   (unsigned long long)misses);
}

void
gci_cover_draw(gci_cover const *cover, gci_ranking const *ranking, gci_cover_grid const *grid, gci_buf *out)
{
    int *colours = gci_arena_array(cover->arena, ranking->count, sizeof *colours);

    if (colours == NULL)
        return;
    choose_colours(grid, ranking->count, colours);
    write_heading(cover, ranking, out);
    gci_buf_format(out, "<div class=\"side\"><div class=\"plot%s\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"",
                   grid->rows == 1 ? " strip" : "", WIDTH, height_of(grid));
    write_label(cover, ranking, out);
    gci_buf_append_text(out, "\">");
    write_regions(cover, grid, ranking, colours, out);
    gci_buf_format(out, "<rect class=\"frame\" x=\"0\" y=\"0\" width=\"%d\" height=\"%d\"/>", WIDTH, height_of(grid));
    write_marks(cover, grid, out);
    gci_buf_append_text(out, "</svg>");
    write_ticks(&cover->x, true, out);
    if (cover->y.hint != SIZE_MAX)
        write_ticks(&cover->y, false, out);
    write_axis_names(cover, out);
    gci_buf_append_text(out, "</div>\n");
    write_legend(cover, ranking, colours, out);
    gci_buf_append_text(out, "</div></figure>\n");
}
