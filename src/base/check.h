/*
 * Two macros that are never mixed: GCI_REQUIRE checks what a caller of the public API may get wrong and returns an error;
 * GCI_ASSERT states what must be true inside the library and aborts in debug builds.
 */
#ifndef GCI_BASE_CHECK_H
#define GCI_BASE_CHECK_H

#include "base/error.h"

#include <assert.h>

#define GCI_ASSERT(condition) assert(condition)

#define GCI_REQUIRE(condition, error, ...)                                                            \
    do {                                                                                              \
        if (!(condition))                                                                             \
            return gci_fail((error), GCACHE_ERROR_ARGUMENT, __VA_ARGS__);                             \
    } while (0)

/*
 * A struct of the caller's must have been initialised with its _INIT macro, which sets its first member, the size. Members are
 * appended only, so that a later library tells from the size which of them a caller's header had. NULL is accepted.
 */
#define GCI_REQUIRE_INIT(given, error)                                                                \
    GCI_REQUIRE((given) == NULL || (given)->size == sizeof *(given), error,                           \
                "%s: its size is %zu, this library knows %zu; initialise it with its _INIT macro", #given, (given)->size, \
                sizeof *(given))

#endif
