/*
 * guardcache/version.h - the version of the library.
 */
#ifndef GUARDCACHE_VERSION_H
#define GUARDCACHE_VERSION_H

#include <guardcache/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GCACHE_VERSION "0.1.0"

/* The version of the library that runs, as opposed to the header it was compiled with. Static storage. */
GCACHE_API char const *gcache_version(void);

#ifdef __cplusplus
}
#endif
#endif
