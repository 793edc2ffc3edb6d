/*
 * What a guard list is, for the files that make, save and explain one.
 */
#ifndef GCI_GUARDS_LIST_H
#define GCI_GUARDS_LIST_H

#include "guards/guards.h"
#include "guards/program.h"

struct gci_guards {
    gci_arena arena;
    size_t count;
    gci_view *texts;
    gci_program program; /* lives in the arena */
};

/* A list with copies of the texts and no program yet. NULL without memory. */
gci_guards *gci_guards_new(gci_view const *texts, size_t count);

/* The bound name of what the texts call `text`: a naming's function, state is the list. */
gci_view gci_guards_bound_name(void const *guards, gci_view text);

/* A hint called `max` takes the place of the function, as a local variable does in Python: the program isn't for it. */
bool gci_program_is_shadowed(gci_program const *program, gci_hints const *hints);

/* The normal form: the conjuncts of all guards, one a line. */
void gci_guards_normal(gci_guards const *guards, gci_buf *out);

#endif
