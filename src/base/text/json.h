/*
 * The one strict JSON reader and writer (RFC 8259).
 *
 * Strict: duplicate member names, bad UTF-8, lone surrogates, unescaped control characters, numbers out of the grammar,
 * text behind the value, and nesting deeper than GCI_JSON_MAX_DEPTH are errors with line and column. Integers of any
 * size are kept exactly; a number with a fraction or an exponent is the nearest double (overflow is an error). `-0` is
 * the integer 0, `-0.0` the float.
 */
#ifndef GCI_BASE_JSON_H
#define GCI_BASE_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/text/value.h"

/* Deep enough for any real graph (subgraphs of subgraphs reach 20), shallow enough that recursion can't overflow a
   thread's stack of 256 KiB. */
#define GCI_JSON_MAX_DEPTH 512

/* A description of this size takes a second to hash; the largest captured ones have 0.25 MB. */
#define GCI_JSON_MAX_BYTES ((size_t)128 << 20)

/* Python's own limit for the text of an int; larger ones would make conversion quadratic. */
#define GCI_JSON_MAX_DIGITS 4300

/*
 * Reads one value. Strings in the tree point into text where they have no escapes, else into the arena: both must
 * outlive the tree. name is used in messages.
 */
gcache_status gci_json_read(gci_view text, char const *name, gci_arena *arena, gci_value *out_value, gcache_error *error);

/* Line and column (1-based, bytes) of a value's or member's `at` in its text; 0, 0 if it has none. */
void gci_json_locate(gci_view text, uint32_t at, int *out_line, int *out_column);

/* Writes a JSON string with quotes and escapes, also of what a terminal would act on (base/visible.h). Bytes that aren't UTF-8
   become U+FFFD. */
void gci_json_write_text(gci_buf *buf, gci_view text);
/* Objects and arrays are written piece by piece: each of these puts ", " before itself, but not behind "{" or "[". The member's
   value follows. */
void gci_json_next(gci_buf *buf);
void gci_json_member(gci_buf *buf, char const *name);
void gci_json_member_text(gci_buf *buf, char const *name, gci_view text);
void gci_json_member_number(gci_buf *buf, char const *name, uint64_t number);

/* Writes "path": "..", and if that isn't exact, "path_hex" with all of its bytes: what files are called needn't be UTF-8. */
void gci_json_write_path(gci_buf *buf, gci_view path);

/* Writes a double so that reading it gives the same double; a fraction or exponent always shows that it is a float. */
void gci_json_write_float(gci_buf *buf, double value);

/* Writes a tree; types beyond JSON's are written as their `$` objects, nodes as n<serial>_<position> and inputs as
   in<position>. Compact: no white space except ", " and ": ". */
void gci_json_write(gci_buf *buf, gci_value const *value);

#endif
