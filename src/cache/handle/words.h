/*
 * Small pieces of the texts for people, so that the same thing is written the same way everywhere.
 */
#ifndef GCI_CACHE_HANDLE_WORDS_H
#define GCI_CACHE_HANDLE_WORDS_H

#include "base/buf.h"

#include <guardcache/key.h>
#include <stdint.h>

/* Enough digits to tell a few thousand keys, and the entries of one key, apart. */
#define GCI_SHORT_KEY_DIGITS 8
#define GCI_SHORT_ENTRY_DIGITS 6

void gci_write_short_key(gci_buf *out, gcache_key const *key);

/* "4.1 s", "812 ms", "2 h 5 min" */
void gci_write_duration(gci_buf *out, uint64_t ns);

/* Local time: "14:02" if it is today's, else "2026-11-20 14:02". */
void gci_write_time(gci_buf *out, uint64_t at_ns, uint64_t now_ns);

/* The same with seconds: "14:02:07". */
void gci_write_moment(gci_buf *out, uint64_t at_ns, uint64_t now_ns);

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

/* "taken over from process 4711, which died while it compiled the same" */
void gci_write_takeover(gci_buf *out, uint64_t process);

/* For HTML: &, <, > and quotes replaced, and what isn't to be seen as in base/visible.h. */
void gci_write_html(gci_buf *out, gci_view text);
/* The same for a text of several lines. */
void gci_write_html_lines(gci_buf *out, gci_view text);

/* The text on one line of at most `width` bytes: white space folded, "..." in the middle if it is cut. */
void gci_write_excerpt(gci_buf *out, gci_view text, size_t width);
/* The same, cut at both ends if need be, so that what stands at `at` is there. */
void gci_write_excerpt_around(gci_buf *out, gci_view text, size_t at, size_t width);

#endif
