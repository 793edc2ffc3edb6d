/*
 * Shared values that this process knows: a list that only grows.
 */
#include "cache/handle/values.h"

#include <stdlib.h>
#include <string.h>

static gci_shared_value *
find_from(gci_shared_value *node, uint8_t const name[GCI_SHA256_BYTES])
{
    while (node != NULL && memcmp(node->name, name, GCI_SHA256_BYTES) != 0)
        node = node->next;
    return node;
}

gci_shared_value const *
gci_shared_values_find(gci_shared_values *values, uint8_t const name[GCI_SHA256_BYTES])
{
    return find_from(atomic_load(&values->first), name);
}

gci_shared_value const *
gci_shared_values_add(gci_shared_values *values, uint8_t const name[GCI_SHA256_BYTES], gci_view bytes)
{
    gci_shared_value *node = malloc(sizeof *node + bytes.size);

    if (node == NULL)
        return NULL;
    memcpy(node->name, name, GCI_SHA256_BYTES);
    node->size = bytes.size;
    if (bytes.size != 0)
        memcpy(node->bytes, bytes.data, bytes.size);
    node->next = atomic_load(&values->first);
    do {
        gci_shared_value *earlier = find_from(node->next, name);
        if (earlier != NULL) {
            free(node);
            return earlier;
        }
    } while (!atomic_compare_exchange_weak(&values->first, &node->next, node));
    return node;
}

void
gci_shared_values_clear(gci_shared_values *values)
{
    for (gci_shared_value *node = atomic_exchange(&values->first, NULL), *next; node != NULL; node = next) {
        next = node->next;
        free(node);
    }
}
