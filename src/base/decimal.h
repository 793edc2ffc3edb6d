/*
 * Floats as printf writes them, but with a point: the locale's own, which the host program chose, may be anything.
 */
#ifndef GCI_BASE_DECIMAL_H
#define GCI_BASE_DECIMAL_H

#include <stddef.h>

/* "%.*f" or "%.*g" by the letter. room: text's, zero included; snprintf's rules for what is too long. */
void gci_write_decimal(char *text, size_t room, char letter, int precision, double value);

/* Makes the locale's point in the text of a finite number one byte: it may be several. */
void gci_restore_point(char *text);

#endif
