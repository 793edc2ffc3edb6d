/*
 * What an entry is made of: the record of a candidate, and the description of its key.
 */
#ifndef GCI_STORE_FORMAT_ENTRY_H
#define GCI_STORE_FORMAT_ENTRY_H

#include "base/fields.h"
#include <guardcache/key.h>
#include <guardcache/cache.h>
#include <stdint.h>

#define GCI_PUBLIC_KEY_BYTES 32

/* Entries are signed with the first key that can, and accepted with any. */
typedef struct gci_signing_key {
    char const *id;  /* at most 63 bytes; stored in clear in every entry */
    gci_view secret; /* of Ed25519 the seed; empty: it verifies, and signs nothing */
    gcache_signing_algorithm algorithm;
    uint8_t public_key[GCI_PUBLIC_KEY_BYTES]; /* of Ed25519 */
} gci_signing_key;

typedef struct gci_pair {
    gci_view name, value;
} gci_pair;

/* A named file that belongs to an entry, kept once by content. */
typedef struct gci_attachment {
    gci_view name;      /* a relative path without "..", as the caller wants it placed */
    uint8_t sha256[32];
    uint64_t size;
    uint32_t mode;      /* permission bits: 0644 or 0755 */
} gci_attachment;

typedef enum gci_compression {
    GCI_RAW = 0,
    GCI_ZSTD = 1
} gci_compression;

/*
 * Everything about one candidate but its payload. For an insert the caller fills in what isn't marked; views are
 * borrowed during the call. In a set, everything is set and points into the set.
 */
typedef struct gci_record {
    gcache_key key;
    char id[GCACHE_ENTRY_ID_SIZE]; /* store: derived from the content, so that equal inserts are one */
    gci_view kind;
    gci_view namespace_;           /* the namespace label; NULL at insert: the store's */
    gci_view const *guards;
    size_t guard_count;
    gci_view program;              /* the guards compiled, as the guard engine wrote it */
    gci_pair const *names;         /* the producer's symbol -> canonical symbol */
    size_t name_count;
    gci_pair const *requirements;
    size_t requirement_count;
    gci_view variant;
    int64_t priority;
    uint32_t equalities, conjuncts; /* specificity */
    uint64_t sequence;             /* store: newer is larger, within the key */
    uint64_t created_ns;           /* 0 at insert: now */
    uint64_t compile_ns;
    gci_view label;
    gci_view metadata;
    gci_view identity;             /* stands for the payload's content in the id; empty: the payload itself */
    gci_attachment const *attachments;
    size_t attachment_count;
    gcache_delta const *deltas;    /* of the compiler's counters */
    size_t delta_count;
    uint64_t payload_size;         /* store: as the caller gave it */
    uint64_t stored_size;          /* store: payload bytes on disk */
    gci_compression compression;   /* store */
} gci_record;

typedef struct gci_component {
    gci_view name;
    uint8_t hash[32];
    gci_view text; /* a line for people, of a key that somebody else computed; else empty */
} gci_component;

/* What a key was computed from. Kept once per key. */
typedef struct gci_description {
    gci_view kind;
    gci_component const *components;
    size_t component_count;
    gci_view canonical; /* the canonical form; empty for a key that somebody else computed */
} gci_description;

/* Their field tables, which other formats use too. */
extern gci_fields const gci_pair_item, gci_component_item;

#endif
