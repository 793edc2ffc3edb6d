/*
 * Hints, read: names and the numbers they stand for.
 */
#ifndef GCI_GUARDS_HINT_H
#define GCI_GUARDS_HINT_H

#include "base/arena.h"
#include "guards/text/hints.h"
#include "guards/value/number.h"

typedef struct gci_hint {
    gci_view name;  /* as the caller gave it */
    gci_view bound; /* after renaming: what programs ask for */
    uint64_t hash;  /* of bound */
    gci_number value;
} gci_hint;

struct gci_hints {
    gci_arena arena;
    gci_hint *items;
    size_t count;
};

/* The same for names of programs and of hints. */
uint64_t gci_name_hash(gci_view name);

/* The value bound to a name, or NULL. */
gci_number const *gci_hints_find(gci_hints const *hints, gci_view bound);

#endif
