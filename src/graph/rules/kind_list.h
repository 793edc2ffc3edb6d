/*
 * The kinds that were loaded at run time: a list that the whole process has.
 *
 * Invariants:
 *  1. The list grows at its end. What is in it never changes or goes, so readers take no lock.
 *  2. Of one name at most one can be used. One that can't may stand before it: it was loaded again, mended.
 *  3. None has the name of a kind that is compiled in.
 */
#ifndef GCI_GRAPH_KIND_LIST_H
#define GCI_GRAPH_KIND_LIST_H

#include "graph/rules/rules_set.h"

typedef struct gci_loaded_kind {
    struct gci_loaded_kind *_Atomic next;
    gcache_rules *rules; /* NULL: it can't be used */
    gcache_error problem; /* then: why */
    char *name, *folder;
} gci_loaded_kind;

/* Takes over the rules (or the problem, if they are NULL). ERROR_ARGUMENT: the name means something else already;
   ERROR_MEMORY. */
gcache_status gci_kind_list_add(char const *name, char const *folder, gcache_rules *rules, gcache_error const *problem,
                                gcache_error *error);

/* The one of that name, one that can be used before one that can't; NULL: none was loaded. */
gci_loaded_kind const *gci_kind_list_find(gci_view name);

#endif
