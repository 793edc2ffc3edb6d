/*
 * How many columns of a terminal a text takes: two a character of East Asian scripts and an emoji, none a combining one.
 */
#ifndef GCI_BASE_TEXT_COLUMNS_H
#define GCI_BASE_TEXT_COLUMNS_H

#include "base/view.h"

#include <stdint.h>

/* Bytes that aren't UTF-8 count as one column each. */
size_t gci_columns(gci_view text);

/* The columns of the character at the beginning of text, which isn't empty, and its size in bytes. */
size_t gci_columns_of_first(gci_view text, size_t *out_size);

#endif
