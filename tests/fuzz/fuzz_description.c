/* Descriptions: whatever is read has a key or is refused, its canonical form is read back without a difference, and built by
   calls it is the same. */
#include "tests/unit/graph/by_calls.h"
#include "graph/cbor/cbor_read.h"
#include "graph/diff/diff.h"

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
        diff->count != 0)
        abort();
    gci_diff_free(diff);
}

/* What calls can't say isn't compared, nor what they refuse (a text with a zero byte, a handle that isn't there yet). */
static void
check_built(uint8_t const *data, size_t size, gcache_key const *wanted)
{
    for (int late = 0; late < 2; late++) {
        gcache_graph *graph = build_by_calls((char const *)data, size, late != 0);
        gcache_key key;
        gcache_error error;
        if (graph != NULL && gcache_graph_key(graph, &key, &error) == GCACHE_OK &&
            memcmp(key.bytes, wanted->bytes, sizeof key.bytes) != 0)
            abort();
        gcache_graph_free(graph);
    }
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    gcache_graph *graph;
    gcache_key key;
    gcache_error error;

    if (gcache_graph_read((char const *)data, size, "fuzz", &graph, &error) != GCACHE_OK)
        return 0;
    if (gcache_graph_key(graph, &key, &error) == GCACHE_OK) {
        check_form(graph);
        check_built(data, size, &key);
    }
    gcache_graph_free(graph);
    return 0;
}
