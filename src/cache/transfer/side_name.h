/*
 * Names that callers choose for files in the cache directory.
 */
#ifndef GCI_CACHE_TRANSFER_SIDE_NAME_H
#define GCI_CACHE_TRANSFER_SIDE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* name = (letter | digit | "_" | "-") { letter | digit | "_" | "-" | "." }, shorter than size. */
bool gci_side_name_valid(char const *name, size_t size);

#endif
