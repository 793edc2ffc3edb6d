/*
 * Candidates that no lookup chooses, since one that is tried before them holds whenever they do.
 */
#ifndef GCI_CACHE_CANDIDATES_SHADOW_H
#define GCI_CACHE_CANDIDATES_SHADOW_H

#include "cache/candidates/ranking.h"

#define GCI_NOT_SHADOWED SIZE_MAX

/*
 * For every candidate of a ranking the one that shadows it, by its number, or GCI_NOT_SHADOWED. In the arena; NULL without
 * memory. As far as guards/prove/prove.h decides it: for integer hints. One of another variant or with requirements that the
 * other hasn't shadows nobody, since some lookups pass it over.
 */
size_t *gci_shadows_find(gci_ranking const *ranking, gci_arena *arena);

#endif
