/*
 * The kinds that are compiled in: a folder each, which embed.py makes the tables of.
 *
 *   rules.json    what of a description is volatile, with examples that are tests (docs/formats/rules.md)
 *   advice.json   what helps after a miss, in the words of the user's own framework; {"as": kind} has another kind's
 */
#ifndef GCI_KINDS_H
#define GCI_KINDS_H

#include <stddef.h>

typedef struct gci_shipped_rules {
    char const *kind;
    char const *text; /* the file as it stands */
    size_t text_size;
    char const *rules; /* the same without reasons and examples: what a key needs, in a tenth of the time */
    size_t rules_size;
} gci_shipped_rules;

/* By kind. */
extern gci_shipped_rules const gci_shipped[];
extern size_t const gci_shipped_count;

/* What else must be so for an advice, besides the path that differs. */
typedef enum gci_advice_where {
    GCI_ADVICE_ALWAYS,
    GCI_ADVICE_SIZES,     /* both values are integers */
    GCI_ADVICE_ADDRESSES, /* both hold an address */
    GCI_ADVICE_SHAPES     /* only sizes of tensors differ */
} gci_advice_where;

/*
 * What helps when nothing is stored under a key, by the first path that differs from the nearest one that is. A row is
 * here only because doing what it says is known to turn the miss into a hit, or because nothing can and the reader should
 * stop searching. The first row that fits wins: those before all kinds', the kind's own, those after all kinds' (generic).
 */
typedef struct gci_advice {
    char const *kind; /* NULL: all */
    char const *path; /* the beginning of the path; * stands for an index */
    gci_advice_where where;
    char const *text; /* {name} is the path behind its first part, {stored} and {asked} the values */
} gci_advice;

extern gci_advice const gci_advice_rows[];
extern size_t const gci_advice_count;

#endif
