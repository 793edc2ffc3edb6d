/* Canonical forms from elsewhere: read and compared without harm, whatever they are. */
#include "graph/cbor/cbor_read.h"
#include "graph/diff/diff.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    size_t half = size / 2;
    gci_view whole = gci_view_of(data, size), first = gci_view_of(data, half), second = gci_view_of(data + half, size - half);
    gci_diff *diff;
    gcache_error error;

    gci_cbor_item_size(whole);
    if (gci_diff_make(whole, whole, 5, &diff, &error) == GCACHE_OK) {
        if (diff->count != 0)
            abort();
        gci_diff_free(diff);
    }
    /* Two forms behind one another, of one size. */
    if (gci_diff_make(first, second, 5, &diff, &error) == GCACHE_OK)
        gci_diff_free(diff);
    return 0;
}
