/*
 * A journal entry read back: the question and the trace as they were, so that what explains a lookup now explains a past
 * one with the same code.
 *
 * A past owns everything it points to. Its question has no graph but one that knows kind and key; its trace has the trials
 * that decided.
 */
#ifndef GCI_CACHE_JOURNAL_JOURNAL_ENTRY_H
#define GCI_CACHE_JOURNAL_JOURNAL_ENTRY_H

#include "cache/journal/journal_writer.h"

typedef struct gci_past {
    uint64_t at_ns;
    gcache_journal_kind act;
    gcache_reason reason;
    bool cut; /* too long for the journal: only what decided was kept */
    uint32_t process;
    gci_view space, kind, label;
    gcache_key key;
    gci_arena arena;
    gci_question question; /* hints are read by gci_past_open only */
    gci_trace trace;
    gci_ranked *ranked; /* what the trials that were kept point to */
    gcache_hint_literal *hints; /* in the caller's names; the values as Python prints them */
    gci_view *bound_names;
    size_t hint_count;
    gci_description asked; /* of a miss of reason no_key; nothing if it wasn't kept */
    char const *bypass;    /* what a bypass said, "" if nothing */
    char const *entry;     /* of a hit or insert: its id */
    uint64_t hits;         /* of a hit: how many it stands for */
    uint64_t saved_ns, elapsed_ns;
    uint64_t compile_ns;   /* of an insert or what wasn't stored; of a miss: what was compiled because of it */
    uint64_t payload_size;
    char const *why;       /* it wasn't stored; of a takeover: in words */
    uint64_t former;       /* of a takeover, and of a miss that it followed: the process that died; 0: none */
} gci_past;

/*
 * Reads an entry. bytes must outlive *out_past. Clear it whatever the outcome. GCACHE_OK, ERROR_FORMAT (another version's
 * entry), ERROR_CORRUPT, ERROR_MEMORY.
 */
gcache_status gci_past_read(gcache *cache, uint64_t at_ns, gci_view bytes, gci_past *out_past, gcache_error *error);
/* Only what an entry is about, without reading the rest of it. false: it can't be read. */
bool gci_past_peek(gci_view bytes, gcache_journal_kind *out_act, gcache_key *out_key);
void gci_past_clear(gci_past *past);

/* Makes hints and guards ready for an explanation. A guard that can't be compiled any more is shown as text only. */
gcache_status gci_past_open(gci_past *past, gcache_error *error);

#endif
