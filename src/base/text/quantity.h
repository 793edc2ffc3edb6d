/*
 * Sizes and ages as people write them: in settings, and as values of the command's options.
 */
#ifndef GCI_BASE_QUANTITY_H
#define GCI_BASE_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

/* size = digits [space] [("K" | "M" | "G" | "T") ["i"]] ["B"]; the letters are powers of 1,024. At most INT64_MAX bytes. */
bool gci_size_read(char const *text, uint64_t *out_bytes);

/* age = digits ("s" | "m" | "min" | "h" | "d"). More nanoseconds than fit are the most that do. */
bool gci_age_read(char const *text, uint64_t *out_ns);

#endif
