/*
 * What every page of HTML has in common: one file with its style inside, without scripts and without network, for light and
 * dark, narrow and wide, screen and paper. What goes into it is escaped by whoever writes it (GCI_AS_HTML).
 */
#ifndef GCI_CACHE_EXPLAIN_HTML_PAGE_H
#define GCI_CACHE_EXPLAIN_HTML_PAGE_H

#include "base/buf.h"

#include <stdbool.h>

/* Everything up to the body's first words. */
void gci_html_page_begin(gci_buf *out, char const *title);
void gci_html_page_end(gci_buf *out);

/*
 * Begins a mark below a picture, at a place from 0 to 1 of its width, which </span> ends. At the edges it stays within; one that
 * is `spare` isn't there on a narrow screen, so that every second can be.
 */
void gci_html_tick(gci_buf *out, double place, bool spare);

#endif
