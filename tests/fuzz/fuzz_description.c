/* Descriptions: whatever is read has a key or is refused, and its canonical form is read back without a difference. */
#include "graph/cbor_read.h"
#include "graph/diff.h"

#include <guardcache/graph.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

static void
check_form(gcache_graph *graph)
{
    void const *bytes;
    size_t size;
    gcache_error error;
    gci_diff *diff;

    if (gcache_graph_canonical(graph, &bytes, &size, &error) != GCACHE_OK)
        return;
    gci_view form = gci_view_of(bytes, size);
    if (gci_cbor_item_size(form) != size || gci_diff_make(form, form, 5, &diff, &error) != GCACHE_OK ||
        gci_diff_count(diff) != 0)
        abort();
    gci_diff_free(diff);
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    gcache_graph *graph;
    gcache_key key;
    gcache_error error;

    if (gcache_graph_read((char const *)data, size, "fuzz", &graph, &error) != GCACHE_OK)
        return 0;
    if (gcache_graph_key(graph, &key, &error) == GCACHE_OK)
        check_form(graph);
    gcache_graph_free(graph);
    return 0;
}
