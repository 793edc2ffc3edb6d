/*
 * A journal entry: the lookup context and the trace as they were, so that one code explains a present
 * lookup and a past one. It is written and read by the field tables in journal_entry.c (docs/formats/journal.md).
 *
 * One that was read owns everything it points to but the entry's bytes. Its context has no graph but one that knows kind
 * and key; its trace has the trials that decided.
 */
#ifndef GCI_CACHE_JOURNAL_JOURNAL_ENTRY_H
#define GCI_CACHE_JOURNAL_JOURNAL_ENTRY_H

#include "base/fields.h"
#include "cache/candidates/context.h"
#include "cache/candidates/trace.h"

#include <guardcache/fleet.h>
#include <guardcache/observe.h>

typedef struct gci_kept_hint {
    gci_view name, bound_name, literal; /* as the caller calls it, as guards do, its value as Python prints it */
} gci_kept_hint;

/* A trial with what it points to. */
typedef struct gci_kept_trial {
    gci_trial trial;
    gci_ranked ranked;
    gci_candidate candidate;
    gci_view const *provided; /* trial.provided; NULL: nothing */
} gci_kept_trial;

/* One of a tier's counts, by its word, so that readers know those they know. */
typedef struct gci_tier_counted {
    char const *name;
    uint64_t value;
} gci_tier_counted;

typedef struct gci_journal_entry {
    uint64_t at_ns;
    gcache_journal_kind kind;
    gcache_reason reason;
    bool cut; /* too long for the journal: only what decided was kept */
    uint32_t process;
    gci_view namespace_, graph_kind, label;
    gcache_key key;
    gci_arena arena;
    gci_context context; /* hints are read by gci_journal_entry_open only */
    gci_trace trace;
    gci_kept_trial *trials; /* what the trace's are made of, as many */
    gci_kept_hint *kept_hints;
    gcache_hint_literal *hints; /* the same for callers */
    size_t hint_count;
    bool own_test; /* the caller tested guards itself */
    gci_description asked; /* of a miss of reason no_key; nothing if it wasn't kept */
    gci_view packed;       /* its canonical form, compressed, if that is too long as it is */
    uint64_t form_size;    /* of the canonical form, kept or not; 0: it has none */
    gci_view sketch;       /* of it, where the form isn't kept */
    uint64_t looked_ns;    /* of a miss: when it found nothing, which its line says later; 0: not known */
    char const *bypass;    /* what a bypass said, "" if nothing */
    char const *entry;     /* of a hit or insert: its id */
    uint64_t hits;         /* of a hit: how many it stands for */
    uint64_t saved_ns, elapsed_ns;
    uint64_t compile_ns;   /* of an insert or what wasn't stored; of a miss: what was compiled because of it */
    uint64_t payload_size;
    char const *why;       /* it wasn't stored; of a takeover: in words */
    char const *tier;      /* of a hit: that served it; of a tier's counts: whose; NULL: not known */
    uint64_t waited_ns;    /* of a hit: for tiers */
    gci_tier_counted *counted; /* of a tier, those that aren't 0 */
    size_t counted_count;
    uint64_t *tier_counts; /* the same by their numbers, of one that was read; NULL: none */
    uint64_t former;       /* of a takeover, and of a miss that it followed: the process that died; 0: none */
} gci_journal_entry;

/* Why a miss would be one if no tier had been in trouble. */
static inline gcache_reason
gci_entry_local_reason(gci_journal_entry const *entry)
{
    return entry->trace.local_reason != GCACHE_REASON_NONE ? entry->trace.local_reason : entry->reason;
}

/* Appends an entry as its kind has it. Failures show in out->failed. */
void gci_journal_entry_write(gci_buf *out, gci_journal_entry const *entry);
/*
 * Reads an entry. bytes must outlive *out_entry. Clear it whatever the outcome. GCACHE_OK, ERROR_FORMAT (another version's
 * entry), ERROR_CORRUPT, ERROR_MEMORY.
 */
gcache_status gci_journal_entry_read(gcache *cache, uint64_t at_ns, gci_view bytes, gci_journal_entry *out_entry,
                                     gcache_error *error);
/* Only what an entry is about, without reading the rest of it. false: it can't be read. */
bool gci_journal_entry_peek(gci_view bytes, gcache_journal_kind *out_kind, gcache_key *out_key);
void gci_journal_entry_clear(gci_journal_entry *entry);

/* Makes hints and guards ready for an explanation. A guard that can't be compiled any more is shown as text only. */
gcache_status gci_journal_entry_open(gci_journal_entry *entry, gcache_error *error);

/* Its byte tables: what every entry begins with, and what follows by kind. */
#define GCI_JOURNAL_TABLES 15
extern gci_fields const *const gci_journal_tables[GCI_JOURNAL_TABLES];

#endif
