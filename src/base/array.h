/*
 * Arrays from malloc that grow by doubling.
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

/* Whether there is room for one more item than count, by now. */
static inline bool
gci_array_has_room(void *items, size_t count, size_t *capacity, size_t size)
{
    return count < *capacity || gci_array_grow(items, capacity, size);
}

/* The same for a struct with a `count` and a `capacity`. */
#define GCI_ARRAY_HAS_ROOM(array, items)                                                              \
    gci_array_has_room(&(array)->items, (array)->count, &(array)->capacity, sizeof *(array)->items)

#endif
