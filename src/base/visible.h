/*
 * Text from elsewhere (labels, kinds, file names, values, ...) in what people read on a terminal.
 *
 * What a terminal would act on, and what ends a line, is written as an escape: \n, \t, \x1b, \x7f, \u0085, \u202e, and \xff for
 * a byte that is no UTF-8. So no text can move the cursor, hide what stands before it, or pretend to be a line of its own. All else
 * stays, backslashes too: writing a text twice changes nothing, and whoever wants it exactly takes JSON.
 */
#ifndef GCI_BASE_VISIBLE_H
#define GCI_BASE_VISIBLE_H

#include "base/buf.h"

#include <stdarg.h>

/* Appends a text that belongs on one line. */
void gci_visible_append(gci_buf *out, gci_view text);

/* Appends a text of several lines that was composed from visible ones: line ends and tabs stay. */
void gci_visible_append_lines(gci_buf *out, gci_view text);

/* printf, but what %s stands for is written as above; columns are counted in characters. Conversions: c d i u x f g s. */
void gci_visible_format(gci_buf *out, char const *format, ...) __attribute__((format(printf, 2, 3)));
void gci_visible_vformat(gci_buf *out, char const *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* Makes a zero-terminated text of a fixed room visible; what doesn't fit any more is cut off. */
void gci_visible_make(char *text, size_t room);

/* The size of the sequence at the beginning of text (not empty) if it may stand on a line as it is, else 0. */
size_t gci_visible_sequence(gci_view text);

#endif
