/*
 * The rule sets that are compiled in: made from src/kinds/NAME/rules.json by embed.py, sorted by kind.
 */
#ifndef GCI_GRAPH_SHIPPED_H
#define GCI_GRAPH_SHIPPED_H

#include <stddef.h>

typedef struct gci_shipped_rules {
    char const *kind;
    char const *text; /* the file as it stands */
    size_t text_size;
    char const *rules; /* the same without reasons and examples: what a key needs, in a tenth of the time */
    size_t rules_size;
} gci_shipped_rules;

extern gci_shipped_rules const gci_shipped[];
extern size_t const gci_shipped_count;

#endif
