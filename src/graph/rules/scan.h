/*
 * Patterns of a plain subset of PCRE2's language, matched with a byte of look-ahead: what a search costs is hardly more than
 * reading the text, and nothing is compiled to machine code.
 *
 * A match is the one PCRE2 finds (rules_read.c's options: UTF-8, newline is LF). What lies outside the subset, and what would
 * take more than a few steps a byte, is PCRE2's: a scan says so, and never guesses.
 */
#ifndef GCI_GRAPH_SCAN_H
#define GCI_GRAPH_SCAN_H

#include "base/view.h"

#include <stdint.h>

typedef struct gci_scan gci_scan;

typedef struct gci_span {
    size_t start, end;
} gci_span;

typedef enum gci_scan_result {
    GCI_SCAN_NONE,
    GCI_SCAN_FOUND,
    GCI_SCAN_GAVE_UP /* the steps are used up, or it nests too deep */
} gci_scan_result;

/* NULL: the pattern isn't of the subset, or there is no memory. */
gci_scan *gci_scan_new(gci_view pattern);
void gci_scan_free(gci_scan *scan);

/* A search for a scan's matches in a text of valid UTF-8. */
typedef struct gci_scan_search {
    gci_scan const *scan;
    gci_view text;
    size_t seen;    /* pairs before it are known, those of the last lanes before it */
    uint32_t found; /* which are these, as far as they weren't gone into */
    size_t until;   /* the last pair that was: matches that begin before it have been looked for */
} gci_scan_search;

gci_scan_search gci_scan_begin(gci_scan const *scan, gci_view text);

/*
 * The next match at or behind `at`, which is no earlier place than the time before. out_group is the first group's span if it has
 * one, else the match's. No match is empty. *steps is what may be spent, a character of the pattern at a place each.
 */
gci_scan_result gci_scan_next(gci_scan_search *search, size_t at, uint64_t *steps, gci_span *out_match,
                              gci_span *out_group);

#endif
