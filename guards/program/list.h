/*
 * Guard lists: compiled, saved, evaluated.
 *
 * A list is compiled once and is immutable afterwards: any number of threads may evaluate it. The meaning is Python's,
 * exactly.
 */
#ifndef GCI_GUARDS_LIST_H
#define GCI_GUARDS_LIST_H

#include "guards/text/hints.h"

#include <guardcache/guard.h>

/* The public type is the same. */
typedef gcache_guards gci_guards;

gcache_status gci_guards_compile(gci_view const *texts, size_t count, gci_naming naming, gci_guards **out_guards,
                                 gcache_error *error);
void gci_guards_free(gci_guards *guards);

/* The compiled form as bytes, for an entry; loading verifies everything, hostile bytes give ERROR_CORRUPT. A loaded
   list points into the bytes, which must outlive it. */
void gci_guards_save(gci_guards const *guards, gci_buf *out);
gcache_status gci_guards_load(gci_view bytes, gci_guards **out_guards, gcache_error *error);

/* The verdict of a list for hints. Never fails: out of memory is the exception MemoryError, as in Python. */
gcache_truth gci_guards_eval(gci_guards const *guards, gci_hints const *hints, gcache_verdict *out_verdict);

/* The same where no hint hides a function. *out_memory is what numbers took that aren't 64 bits: most of its time, if there is
   much of it. */
gcache_truth gci_guards_eval_plain(gci_guards const *guards, gci_hints const *hints, gcache_verdict *out_verdict,
                                   size_t *out_memory);

/* The verdict of one guard of the list alone, for explain. */
gcache_truth gci_guards_eval_one(gci_guards const *guards, size_t index, gci_hints const *hints,
                                 gcache_verdict *out_verdict);

/* What rank needs: more equalities first, then more conjuncts. */
typedef struct gci_specificity {
    uint32_t equalities, conjuncts;
} gci_specificity;
gci_specificity gci_guards_specificity(gci_guards const *guards);

/* The names the list reads, as bound, in order of first use. */
size_t gci_guards_name_count(gci_guards const *guards);
gci_view gci_guards_name(gci_guards const *guards, size_t index);
/* Whether a name, as bound, is among them. */
bool gci_guards_reads(gci_guards const *guards, gci_view bound_name);

#endif
