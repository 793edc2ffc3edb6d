/*
 * A fingerprint in memory: parts and files, and what the index remembers.
 *
 * Invariants:
 *  1. All texts live in the fingerprint's arena. Files of a part are sorted by path, and every file of a part that is
 *     there has its hash.
 *  2. `remembered` is only read while files are hashed, so that several threads may look into it.
 */
#ifndef GCI_GRAPH_FINGERPRINT_RUN_H
#define GCI_GRAPH_FINGERPRINT_RUN_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/text/intern.h"

#include <guardcache/fingerprint.h>

/* What tells that a file is as it was. */
typedef struct gci_file_facts {
    uint64_t size, mtime_ns, ctime_ns, device, inode;
} gci_file_facts;

typedef struct gci_print_file {
    gci_view path; /* relative to the part's; empty for a single file */
    gci_view full; /* as it is opened and remembered: absolute */
    gci_view link; /* data NULL: a file; else where a link to a directory points */
    gci_file_facts facts;
    uint8_t hash[GCI_SHA256_BYTES];
    bool read; /* its content was read for this fingerprint */
} gci_print_file;

typedef enum gci_part_type { GCI_PART_FACT, GCI_PART_FILE, GCI_PART_TREE, GCI_PART_PRESET } gci_part_type;

typedef struct gci_print_part {
    gci_part_type type;
    gci_view name, value; /* value: the fact, or the hash in hex */
    gci_print_file *files;
    size_t file_count;
} gci_print_part;

typedef struct gci_remembered {
    gci_file_facts facts;
    uint8_t hash[GCI_SHA256_BYTES];
    bool trusted; /* it wasn't changed shortly before the index was written */
} gci_remembered;

struct gcache_fingerprint {
    gci_arena arena;
    gci_print_part *parts;
    size_t part_count, part_room;
    gci_arena index_arena;
    gci_intern paths;           /* full paths that are remembered; numbers are of `remembered` */
    gci_remembered *remembered;
    size_t remembered_room;
};

/* fingerprint_walk.c: the files below a directory, sorted, without their hashes; options NULL: a single file. */
gcache_status gci_print_find(gcache_fingerprint *print, char const *path, gcache_tree_options const *options,
                             gci_print_part *part, gcache_error *error);

/* fingerprint_read.c: the hashes of a part's files, from the index or by reading them. */
gcache_status gci_print_read(gcache_fingerprint *print, gci_print_part *part, unsigned threads, gcache_error *error);

/* fingerprint_index.c */
gci_remembered const *gci_print_remembered(gcache_fingerprint const *print, gci_view full);
extern struct gci_fields const gci_index_header_fields, gci_index_file_fields;

#endif
