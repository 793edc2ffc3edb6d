/*
 * Arrays that grow by doubling: in a struct with a `count` and a `capacity`.
 */
#ifndef GCI_BASE_ARRAY_H
#define GCI_BASE_ARRAY_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* items is the address of the array's pointer. false: no memory, and the array is as it was. */
static inline bool
gci_array_grow(void *items, size_t *capacity, size_t size)
{
    size_t wanted = *capacity == 0 ? 64 : *capacity * 2;
    void *array;

    memcpy(&array, items, sizeof array);
    array = realloc(array, wanted * size);
    if (array == NULL)
        return false;
    memcpy(items, &array, sizeof array);
    *capacity = wanted;
    return true;
}

/* Whether there is room for one more item, by now. */
#define GCI_ARRAY_HAS_ROOM(array, items)                                                              \
    ((array)->count < (array)->capacity ||                                                            \
     gci_array_grow(&(array)->items, &(array)->capacity, sizeof *(array)->items))

#endif
