/*
 * The fewest edits that make one sequence of another: items inserted, items removed, and items changed in their place.
 */
#ifndef GCI_GRAPH_EDITS_H
#define GCI_GRAPH_EDITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an item is compared by, each a hash: the item; in outline; all but its name. */
typedef enum gci_edit_hash { GCI_EDIT_WHOLE, GCI_EDIT_OUTLINE, GCI_EDIT_REST, GCI_EDIT_HASHES } gci_edit_hash;

/*
 * An item inserted, removed, or changed within its outline or in its name, is one edit; of others, one is removed and one inserted.
 * Items are GCI_EDIT_HASHES hashes each. match[i] becomes the place in b of what a[i] is, changed or not; where it is neither, it
 * stays as it is. Of as few edits, items changed in their place are taken. Sequences with more edits than GCI_EDITS_MOST are
 * left alone. Time and room: as many as items, and as edits by edits. false without memory.
 */
#define GCI_EDITS_MOST 400
bool gci_edits(uint64_t const *a, uint32_t a_count, uint64_t const *b, uint32_t b_count, uint32_t *match);

#endif
