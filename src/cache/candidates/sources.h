/*
 * What hints and graphs are in the user's program: for those who read about a miss, never on a hit's path.
 */
#ifndef GCI_CACHE_CANDIDATES_SOURCES_H
#define GCI_CACHE_CANDIDATES_SOURCES_H

#include "cache/candidates/context.h"

/*
 * From now on guards, arithmetic and changes of hints are written with the request's sources: x.size(0) for L['t0'], and t0
 * where there is none. The arena must outlive the context. Without memory names stay as they are.
 */
void gci_context_show_sources(gci_context *context, gci_arena *arena);

#endif
