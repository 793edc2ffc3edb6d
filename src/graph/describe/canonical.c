/*
 * The result of canonicalisation as an object; graph/canon makes it.
 */
#include "graph/describe/canonical.h"

#include "graph/describe/description.h"

#include <stdatomic.h>
#include <stdlib.h>

gci_canonical *
gci_canonical_new(void)
{
    static _Atomic uint64_t made;
    gci_canonical *canon = calloc(1, sizeof *canon);

    if (canon == NULL)
        return NULL;
    canon->id = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) + 1;
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
    free(atomic_load(&canon->remembered));
    free(canon);
}
