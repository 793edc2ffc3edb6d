/*
 * Two texts as unified hunks.
 */
#include "base/digest.h"
#include "base/utf8.h"
#include "graph/diff/diff_run.h"
#include "graph/sequence/lcs.h"

#include <stdlib.h>

/* Lines around a change, lines kept at most, and bytes of a line. */
#define CONTEXT_LINES 2
#define LINES_SHOWN 200
#define LINE_KEPT 4000
/* Of a line that is shown around a difference, in front of it. */
#define LINE_BEFORE 60

typedef struct lines {
    gci_view *texts;
    uint64_t *hashes;
    uint32_t count;
} lines;

static void
clear_lines(lines *l)
{
    free(l->texts);
    free(l->hashes);
}

static bool
split_lines(gci_view text, lines *l)
{
    size_t count = 1;

    for (size_t i = 0; i < text.size; i++)
        count += text.data[i] == '\n';
    l->count = 0;
    l->texts = malloc(count * sizeof *l->texts);
    l->hashes = malloc(count * sizeof *l->hashes);
    if (l->texts == NULL || l->hashes == NULL || count > INT32_MAX / 2)
        return false;
    for (gci_view line; gci_view_next_line(&text, &line); l->count++) {
        l->texts[l->count] = line;
        l->hashes[l->count] = gci_hash64(line.data, line.size, 0);
    }
    return true;
}

/* Where a line begins to differ from the one that it stands beside; its beginning, if there is none. */
static size_t
differs_at(gci_view line, gci_view other)
{
    size_t at = 0;

    while (other.data != NULL && at < line.size && at < other.size && line.data[at] == other.data[at])
        at++;
    return other.data != NULL ? at : 0;
}

static bool
is_within_character(gci_view text, size_t at)
{
    return at < text.size && ((uint8_t)text.data[at] & 0xc0) == 0x80;
}

/* A long line is cut, but never before it differs from the other. */
static void
put_line(gci_buf *out, char mark, gci_view line, gci_view other, size_t most)
{
    size_t at = differs_at(line, other), start = 0;

    if (line.size > most && at > most - LINE_BEFORE)
        start = at - LINE_BEFORE;
    while (start != 0 && is_within_character(line, start))
        start--;
    gci_view rest = gci_view_of(line.data + start, line.size - start), shown = gci_utf8_cut(rest, most);
    gci_buf_append_char(out, mark);
    gci_buf_append_text(out, start != 0 ? "..." : "");
    gci_buf_append_view(out, shown);
    gci_buf_append_text(out, shown.size < rest.size ? "...\n" : "\n");
}

/* ---- hunks made ---- */

/* One hunk: a_start..a_end of the stored lines against b_start..b_end of the asked ones. */
typedef struct hunk {
    uint32_t a_start, a_end, b_start, b_end;
} hunk;

/* The state of writing hunks. */
typedef struct writer {
    lines const *a, *b;
    uint32_t const *match; /* of each line of a, its line of b */
    gci_buf *out;
    size_t shown, left_out; /* lines; changed ones that aren't shown */
} writer;

static void
put(writer *w, char mark, gci_view line, gci_view other)
{
    if (w->shown < LINES_SHOWN)
        put_line(w->out, mark, line, other, LINE_KEPT);
    else
        w->left_out += mark != ' ';
    w->shown++;
}

/* Lines a..a_end were replaced by b..b_end: one stands beside the other in their order. */
static void
put_change(writer *w, hunk h)
{
    gci_view none = { NULL, 0 };

    for (uint32_t i = h.a_start; i < h.a_end; i++) {
        uint32_t beside = h.b_start + (i - h.a_start);
        put(w, '-', w->a->texts[i], beside < h.b_end ? w->b->texts[beside] : none);
    }
    for (uint32_t k = h.b_start; k < h.b_end; k++) {
        uint32_t beside = h.a_start + (k - h.b_start);
        put(w, '+', w->b->texts[k], beside < h.a_end ? w->a->texts[beside] : none);
    }
}

static void
put_hunk(writer *w, hunk h)
{
    uint32_t i = h.a_start, k = h.b_start;

    if (w->shown < LINES_SHOWN)
        gci_buf_format(w->out, "@@ -%u,%u +%u,%u @@\n", h.a_start + 1, h.a_end - h.a_start, h.b_start + 1,
                       h.b_end - h.b_start);
    while (i < h.a_end || k < h.b_end) {
        hunk change = { .a_start = i, .b_start = k };
        while (i < h.a_end && w->match[i] == GCI_LCS_NONE)
            i++;
        k = i < h.a_end ? w->match[i] : h.b_end;
        change.a_end = i;
        change.b_end = k;
        put_change(w, change);
        if (i < h.a_end) {
            put(w, ' ', w->a->texts[i], (gci_view){ NULL, 0 });
            i++;
            k++;
        }
    }
}

/* Finds the next run of changes at or behind *at (in a) and *at_b, with context; false if there is none. */
static bool
next_hunk(lines const *a, lines const *b, uint32_t const *match, uint32_t *at, uint32_t *at_b, hunk *out)
{
    uint32_t i = *at, k = *at_b, quiet = 0;

    while (i < a->count && match[i] == k) {
        i++;
        k++;
    }
    if (i == a->count && k == b->count)
        return false;
    uint32_t back = i - *at < CONTEXT_LINES ? i - *at : CONTEXT_LINES;
    *out = (hunk){ .a_start = i - back, .b_start = k - back };
    while ((i < a->count || k < b->count) && quiet <= 2 * CONTEXT_LINES) {
        if (i < a->count && match[i] == GCI_LCS_NONE) {
            i++;
            quiet = 0;
        } else if (k < b->count && (i == a->count || match[i] != k)) {
            k++;
            quiet = 0;
        } else {
            i++;
            k++;
            quiet++;
        }
    }
    uint32_t cut = quiet > CONTEXT_LINES ? quiet - CONTEXT_LINES : 0;
    out->a_end = i - cut;
    out->b_end = k - cut;
    *at = out->a_end;
    *at_b = out->b_end;
    return true;
}

static void
put_hunks(lines const *a, lines const *b, uint32_t const *match, gci_buf *out)
{
    writer w = { .a = a, .b = b, .match = match, .out = out };
    uint32_t at = 0, at_b = 0;
    hunk h;

    while (next_hunk(a, b, match, &at, &at_b, &h))
        put_hunk(&w, h);
    if (w.left_out != 0)
        gci_buf_format(out, GCI_DIFF_MORE_LINES "%zu more changed line%s\n", w.left_out, w.left_out == 1 ? "" : "s");
}

static bool
has_lines(gci_view text)
{
    return text.size != 0 && memchr(text.data, '\n', text.size) != NULL;
}

bool
gci_diff_wants_hunks(gci_view stored, gci_view asked)
{
    return (gci_diff_is_cut(stored) || gci_diff_is_cut(asked)) && (has_lines(stored) || has_lines(asked));
}

bool
gci_diff_hunks(gci_view stored, gci_view asked, gci_buf *out)
{
    lines a = { .count = 0 }, b = { .count = 0 };
    uint32_t *match = NULL;
    bool split = split_lines(stored, &a) && split_lines(asked, &b);

    if (split)
        match = malloc(((size_t)a.count + 1) * sizeof *match);
    bool done = match != NULL && gci_lcs(a.hashes, a.count, b.hashes, b.count, match);
    if (done)
        put_hunks(&a, &b, match, out);
    free(match);
    clear_lines(&a);
    clear_lines(&b);
    return done && !out->failed;
}

/* ---- hunks read ---- */

static bool
is_of(gci_view line, char sign)
{
    return line.size != 0 && line.data[0] == sign;
}

bool
gci_diff_next_hunk_line(gci_diff_hunk_lines *walk, gci_view *out_line, gci_view *out_other)
{
    gci_view here = walk->rest, next;

    *out_other = (gci_view){ NULL, 0 };
    if (!gci_view_next_line(&walk->rest, out_line))
        return false;
    if (is_of(*out_line, '-') && !walk->in_change) {
        walk->before = walk->now = here;
        while (gci_view_next_line(&here, &next) && is_of(next, '-'))
            walk->now = here;
    }
    walk->in_change = is_of(*out_line, '-') || (walk->in_change && is_of(*out_line, '+'));
    bool gone = is_of(*out_line, '-');
    if (walk->in_change && gci_view_next_line(gone ? &walk->now : &walk->before, &next) && is_of(next, gone ? '+' : '-'))
        *out_other = next;
    return true;
}

void
gci_diff_write_hunk_line(gci_view line, gci_view other, gci_buf *out)
{
    if (line.size == 0) {
        gci_buf_append_char(out, '\n');
        return;
    }
    if (other.data != NULL)
        other = gci_view_of(other.data + 1, other.size - 1);
    put_line(out, line.data[0], gci_view_of(line.data + 1, line.size - 1), other, GCI_DIFF_LINE_SHOWN);
}
