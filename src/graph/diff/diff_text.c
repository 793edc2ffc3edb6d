/*
 * Two texts as unified hunks.
 */
#include "base/digest.h"
#include "base/utf8.h"
#include "graph/diff/diff_run.h"
#include "graph/diff/lcs.h"

#include <stdlib.h>

/* Shorter texts are shown as they are. */
#define LONG_TEXT 200

/* Lines around a change, lines shown at most, and bytes of a line. */
#define CONTEXT_LINES 2
#define LINES_SHOWN 60
#define LINE_SHOWN 160

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

static void
put_line(gci_buf *out, char mark, gci_view line)
{
    gci_view shown = gci_utf8_cut(line, LINE_SHOWN);

    gci_buf_append_char(out, mark);
    gci_buf_append_view(out, shown);
    gci_buf_append_text(out, shown.size < line.size ? "...\n" : "\n");
}

/* One hunk: a_start..a_end of the stored lines against b_start..b_end of the asked ones. */
typedef struct hunk {
    uint32_t a_start, a_end, b_start, b_end;
} hunk;

static void
put_hunk(lines const *a, lines const *b, uint32_t const *match, hunk h, gci_buf *out, uint32_t *shown)
{
    uint32_t k = h.b_start;

    gci_buf_format(out, "@@ -%u,%u +%u,%u @@\n", h.a_start + 1, h.a_end - h.a_start, h.b_start + 1, h.b_end - h.b_start);
    for (uint32_t i = h.a_start; i <= h.a_end && *shown < LINES_SHOWN; i++) {
        uint32_t to = i < h.a_end ? match[i] : h.b_end;
        if (i < h.a_end && to == GCI_LCS_NONE) {
            put_line(out, '-', a->texts[i]);
            ++*shown;
            continue;
        }
        for (; k < to && *shown < LINES_SHOWN; k++, ++*shown)
            put_line(out, '+', b->texts[k]);
        if (i < h.a_end && *shown < LINES_SHOWN) {
            put_line(out, ' ', a->texts[i]);
            ++*shown;
        }
        k = to + 1;
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
    uint32_t at = 0, at_b = 0, shown = 0, left_out = 0;
    hunk h;

    while (next_hunk(a, b, match, &at, &at_b, &h)) {
        if (shown < LINES_SHOWN)
            put_hunk(a, b, match, h, out, &shown);
        else
            left_out++;
    }
    if (left_out != 0)
        gci_buf_format(out, "... %u more hunks\n", left_out);
    else if (shown >= LINES_SHOWN)
        gci_buf_append_text(out, "... cut here\n");
}

static bool
has_lines(gci_view text)
{
    return text.size != 0 && memchr(text.data, '\n', text.size) != NULL;
}

bool
gci_diff_wants_hunks(gci_view stored, gci_view asked)
{
    return (stored.size > LONG_TEXT || asked.size > LONG_TEXT) && (has_lines(stored) || has_lines(asked));
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
