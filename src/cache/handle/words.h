/*
 * Small pieces of the texts for people, so that the same thing is written the same way everywhere.
 */
#ifndef GCI_CACHE_HANDLE_WORDS_H
#define GCI_CACHE_HANDLE_WORDS_H

#include "base/buf.h"
#include "base/visible.h"

#include <guardcache/key.h>
#include <stdint.h>

/* Enough digits to tell a few thousand keys, and the entries of one key, apart. */
#define GCI_SHORT_KEY_DIGITS 8
#define GCI_SHORT_ENTRY_DIGITS 6

/*
 * Texts are written as whole phrases, with {} where a piece goes:
 *
 *      gci_phrase(out, "the cache holds {} of at most {}", GCI_AS_SIZE(bytes), GCI_AS_SIZE(cap));
 */
typedef struct gci_piece {
    void (*number)(gci_buf *out, uint64_t number); /* how it is written: one of these three */
    void (*text)(gci_buf *out, gci_view text);
    void (*excerpt)(gci_buf *out, gci_view text, size_t width);
    uint64_t value;
    gci_view view;
    size_t width;
    size_t room;   /* filled up with spaces to so many columns: in front (right) or behind */
    bool right;
} gci_piece;

#define GCI_AS_NUMBER(n) (gci_piece){ .number = gci_write_number, .value = (n) }
#define GCI_AS_COUNT(n) (gci_piece){ .number = gci_write_count, .value = (n) }
#define GCI_AS_SIZE(bytes) (gci_piece){ .number = gci_write_size, .value = (bytes) }
#define GCI_AS_DURATION(ns) (gci_piece){ .number = gci_write_duration, .value = (ns) }
#define GCI_AS_TIME(at_ns) (gci_piece){ .number = gci_write_time, .value = (at_ns) }
#define GCI_AS_MOMENT(at_ns) (gci_piece){ .number = gci_write_moment, .value = (at_ns) }
#define GCI_AS_DATE(at_ns) (gci_piece){ .number = gci_write_date, .value = (at_ns) }
#define GCI_AS_VIEW(text_view) (gci_piece){ .text = gci_visible_append, .view = (text_view) }
#define GCI_AS_TEXT(string) GCI_AS_VIEW(gci_view_text(string))
#define GCI_AS_KEY(key) (gci_piece){ .text = gci_write_short_key, .view = gci_view_of((key)->bytes, sizeof(key)->bytes) }
#define GCI_AS_HTML(text_view) (gci_piece){ .text = gci_write_html, .view = (text_view) }
#define GCI_AS_EXCERPT(text_view, columns) (gci_piece){ .excerpt = gci_write_excerpt, .view = (text_view), .width = (columns) }
#define GCI_AS_COLUMN(text_view, columns) (gci_piece){ .excerpt = gci_write_column, .view = (text_view), .width = (columns) }
#define GCI_LEFT(columns, piece) gci_piece_fill((piece), (columns), false)
#define GCI_RIGHT(columns, piece) gci_piece_fill((piece), (columns), true)

static inline gci_piece
gci_piece_fill(gci_piece piece, size_t columns, bool right)
{
    piece.room = columns;
    piece.right = right;
    return piece;
}

#define gci_phrase(out, template, ...) gci_write_phrase((out), (template), (gci_piece const[]){ __VA_ARGS__ })
void gci_write_phrase(gci_buf *out, char const *template, gci_piece const *pieces);

/* The first digits of a key. */
void gci_write_short_key(gci_buf *out, gci_view key);

void gci_write_number(gci_buf *out, uint64_t number);

/* "4.1 s", "812 ms", "2 h 5 min" */
void gci_write_duration(gci_buf *out, uint64_t ns);

/* Local time: "14:02" if it is today's, else "2026-11-20 14:02". */
void gci_write_time(gci_buf *out, uint64_t at_ns);

/* The same with seconds: "14:02:07". */
void gci_write_moment(gci_buf *out, uint64_t at_ns);
/* The same with the date, also today's. */
void gci_write_date(gci_buf *out, uint64_t at_ns);

/* Large counts with thousands separated: 18,412 */
void gci_write_count(gci_buf *out, uint64_t count);

/* Lines of at most `width` columns, broken at spaces; the first begins with `first`, the others with as many spaces. */
void gci_write_paragraph(gci_buf *out, char const *first, gci_view text, size_t width);

/* "812 bytes", "3.1 GiB" */
void gci_write_size(gci_buf *out, uint64_t bytes);

/* Writes view cut to `width` columns, with "..." for what is left out, and fills up with spaces. UTF-8 is kept whole. */
void gci_write_column(gci_buf *out, gci_view text, size_t width);
/* The same where a longer text may stand out of its column, cut only to `widest`. */
void gci_write_cell(gci_buf *out, gci_view text, size_t width, size_t widest);

/* What a caller's room of `size` bytes holds of the line, and a terminating zero. */
void gci_copy_line(gci_buf const *line, char *out_text, size_t size);

/* Why entries were evicted, for a cause as in gci_tombstone: "the cache was over its size limit". */
char const *gci_eviction_text(int cause);

/* "; 61 % of evicted entries were asked for again": nothing where none was. */
void gci_write_asked_again(gci_buf *out, uint64_t asked, uint64_t evicted);

/* A phrase with the process's number. */
#define GCI_TAKEOVER "taken over from process {}, which died while it compiled the same"

/* A value as Python prints it becomes what JSON has for it; floats that JSON has no word for, {"$float": "nan"}. */
void gci_write_json_literal(gci_buf *out, gci_view literal);

/* For HTML: &, <, > and quotes replaced, and what isn't to be seen as in base/visible.h. */
void gci_write_html(gci_buf *out, gci_view text);
/* The same for a text of several lines. */
void gci_write_html_lines(gci_buf *out, gci_view text);

/* The text on one line of at most `width` columns: white space folded, "..." in the middle if it is cut, never within a number. */
void gci_write_excerpt(gci_buf *out, gci_view text, size_t width);
/* Where two texts begin to differ. */
size_t gci_first_difference(gci_view a, gci_view b);
/* An excerpt cut at both ends if need be, so that what stands at `at` is there. */
void gci_write_excerpt_around(gci_buf *out, gci_view text, size_t at, size_t width);

#endif
