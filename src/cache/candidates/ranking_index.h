/*
 * An index over a ranking, for keys with many candidates and many lookups. Its result is that of trying the candidates one
 * by one in rank order (cache_lookup.c). Lookups that it can't serve fall back to that.
 *
 * Threads: any number may use it at once, without waiting. A lookup takes one of a few spare bindings, or makes one.
 */
#ifndef GCI_CACHE_CANDIDATES_RANKING_INDEX_H
#define GCI_CACHE_CANDIDATES_RANKING_INDEX_H

#include "cache/candidates/context.h"
#include "cache/candidates/ranking.h"

/* Fewer candidates than this are tried one by one, which is as fast. */
#define GCI_RANKING_INDEX_LEAST 8

/* The index is made for this lookup of a set, not the first: making it costs about as much as so many walks. */
#define GCI_RANKING_INDEX_LOOKUPS 32

typedef struct gci_indexed {
    size_t best; /* place in the ranking, or GCI_NOBODY: none holds */
    gcache_reason reason;   /* then: of the candidate that got furthest */
} gci_indexed;

/*
 * failed: by place in the ranking, candidates that don't count; may be NULL. false: try them one by one; out is
 * unset.
 */
bool gci_ranking_index_select(gci_ranking *ranking, gci_context const *context, bool const *failed, gci_indexed *out);

/* NULL is accepted. */
void gci_ranking_index_free(void *index);

#endif
