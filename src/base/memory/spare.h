/*
 * Memory for arenas and buffers. Large pieces that were freed are kept for whoever needs such next: malloc gives them back to
 * the system, which hands them out again page by page, zeroed, and that takes longer than what is computed in them.
 *
 * Every piece is one of malloc's and may be passed to free.
 */
#ifndef GCI_BASE_SPARE_H
#define GCI_BASE_SPARE_H

#include <stddef.h>

/* At least size bytes, uninitialised; NULL without memory. */
void *gci_spare_alloc(size_t size);

/* Like realloc, of a piece of which the first `used` bytes count; it may be NULL, of size 0. */
void *gci_spare_grow(void *piece, size_t used, size_t size, size_t wanted);

/* Frees a piece of the size it was asked for, or keeps it. NULL is nothing. */
void gci_spare_free(void *piece, size_t size);

#endif
