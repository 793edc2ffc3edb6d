/*
 * A guard's text with other names: what the producer wrote as `s77 % 8 == 0` is `s0 % 8 == 0` to a caller whose s0 it is.
 */
#ifndef GCI_CACHE_LOOKUP_RENAME_H
#define GCI_CACHE_LOOKUP_RENAME_H

#include "base/buf.h"
#include "guards/guards.h"

/* Writes text with every identifier that `naming` renames replaced; `L['s77']` and s77 alike. The rest stays as it is. */
void gci_guard_rename(gci_view text, gci_naming naming, gci_buf *out);

#endif
