/*
 * Number tokens to numbers.
 */
#ifndef GCI_GUARDS_LITERAL_H
#define GCI_GUARDS_LITERAL_H

#include "base/error.h"
#include "guards/text/lex.h"
#include "guards/value/number.h"

/*
 * The value of an INT, FLOAT or IMAGINARY token; large ones live in the arena. ERROR_SYNTAX for a decimal of more than
 * GCI_INT_MAX_DIGITS digits, ERROR_LIMIT beyond GCI_INT_MAX_BITS, ERROR_MEMORY; *out_problem says it in words.
 */
gcache_status gci_literal_read(gci_token const *token, gci_arena *arena, gci_number *out, char const **out_problem);

#endif
