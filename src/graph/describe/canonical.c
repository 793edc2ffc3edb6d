/*
 * The result of canonicalisation as an object; graph/canon makes it.
 */
#include "graph/describe/canonical.h"

#include "graph/describe/description.h"

#include <stdlib.h>

gci_canonical *
gci_canonical_new(void)
{
    gci_canonical *canon = calloc(1, sizeof *canon);

    if (canon == NULL)
        return NULL;
    gci_arena_init(&canon->arena, GCI_GRAPH_MAX_BYTES);
    gci_buf_init(&canon->bytes, GCI_BUF_NO_LIMIT);
    gci_buf_init(&canon->text_names, GCI_BUF_NO_LIMIT);
    return canon;
}

void
gci_canonical_free(gci_canonical *canon)
{
    if (canon == NULL)
        return;
    gci_intern_clear(&canon->symbol_names);
    gci_buf_clear(&canon->bytes);
    gci_buf_clear(&canon->text_names);
    gci_arena_clear(&canon->arena);
    free(canon);
}
