/*
 * Writing down what a lookup's trace shows.
 */
#ifndef GCI_CACHE_EXPLAIN_EXPLANATION_H
#define GCI_CACHE_EXPLAIN_EXPLANATION_H

#include "base/buf.h"
#include "cache/candidates/trace.h"

/* A lookup that is explained, and how it ended. */
typedef struct gci_explained {
    gci_context const *context;
    gci_trace const *trace;
    gcache_status outcome;
    gcache_reason reason;
    char const *bypass; /* why the graph can't be keyed; NULL if it can */
    uint64_t at_ns;     /* of a past lookup: when it was; 0: now */
    uint64_t cost_ns;   /* of a past lookup: how long what it missed took to compile; 0: not known */
    uint64_t former;    /* of a past lookup: the process that died while it compiled the same; 0: none */
    bool cut;           /* of a past lookup: too long for the journal, which kept only what decided */
} gci_explained;

/* Candidates for which a change of two hints is searched where one isn't enough: some milliseconds each. */
#define GCI_PAIRS_CANDIDATES 8

/* What the search for nearest hints may cost for all candidates of an explanation: some tenths of a second. */
#define GCI_NEAREST_WORK ((size_t)1 << 22)

/* For people. brief: at most 25 lines. */
void gci_explain_text(gci_explained const *explained, bool brief, gci_buf *out);

/* The middle part of gci_explain_text where nothing is stored under the key: the nearest keys and how they differ. */
void gci_explain_nearest(gci_trace const *trace, bool brief, gci_buf *out);

/* Writes that another variant serves than the expected one, and why; nothing if it doesn't. No line end. */
void gci_explain_variant(gci_explained const *explained, gci_buf *out);

/* What can be done about a miss: a sentence or two in the words of the user's framework. Nothing where nothing is known to
   help. */
void gci_write_advice(gci_explained const *explained, gci_buf *out);

/* One JSON object on one line, without a line end. */
void gci_explain_json(gci_explained const *explained, gci_buf *out);

#endif
