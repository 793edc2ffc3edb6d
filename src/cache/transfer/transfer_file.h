/*
 * The file of an export: items one after the other, verifiable as a whole (docs/formats/export.md).
 *
 *      at          size    what
 *      0           8       magic "GCEXPORT"
 *      8           4       version, 2
 *      12          4       0
 *      16                  items:
 *                  4           type
 *                  4           H, size of the head
 *                  8           P, size of the body
 *                  16          XXH3-128 of the head and of the body: low halves xored, high halves added
 *                  H           head
 *                  P           body
 *      end-48      8       number of items
 *      end-40      8       size of the file
 *      end-32      32      SHA-256 of all bytes before
 *
 * Little-endian. The SHA-256, the sizes and the numbers are looked at before anything is believed; the items' own checksums
 * guard against a file that changes while it is read.
 */
#ifndef GCI_CACHE_TRANSFER_TRANSFER_FILE_H
#define GCI_CACHE_TRANSFER_TRANSFER_FILE_H

#include "base/digest.h"
#include "base/system/file.h"

#include <stdbool.h>

#define GCI_TRANSFER_VERSION 2
/* Differs in that its entries aren't signed. Who knows no other would sign those of the present version anew. */
#define GCI_TRANSFER_VERSION_OLDEST 1

/* name, number, what it is */
#define GCI_TRANSFER_MAP(X)                                                                           \
    X(MANIFEST, 1)    /* body: JSON; the last item */                                                 \
    X(DESCRIPTION, 2) /* body: a DESCRIPTION frame */                                                 \
    X(ATTACHMENT, 3)  /* body: the bytes; before the entries that name it */                          \
    X(ENTRY, 4)       /* body: an ENTRY frame as it is stored; behind its key's description */        \
    X(BLOB, 5)        /* head: the path below the cache directory; body: the bytes */                 \
    X(ROWS, 6)        /* body: rows, each table, space, name, item, value (length and bytes), at (8) */ \
    X(ARTIFACT, 7)    /* head: kind and name (length and bytes each); body: the bytes */

typedef enum gci_transfer_type {
#define X(name, number) GCI_TRANSFER_##name = number,
    GCI_TRANSFER_MAP(X)
#undef X
} gci_transfer_type;

/* One more than the largest. */
enum {
#define X(name, number) +1
    GCI_TRANSFER_TYPES = 1 GCI_TRANSFER_MAP(X)
#undef X
};

/* ---- writing ---- */

typedef struct gci_transfer_writer {
    gci_dir dir;
    gci_file file;
    gci_buf names;   /* the directory, the temporary name and the final one, each with its zero */
    size_t temporary_at, final_at;
    gci_digest *digest;
    uint64_t size, items;
} gci_transfer_writer;

/* Opens a temporary file beside `path`. Close it whatever the outcome. */
gcache_status gci_transfer_create(gci_transfer_writer *writer, char const *path, gcache_error *error);
gcache_status gci_transfer_put(gci_transfer_writer *writer, gci_transfer_type type, gci_view head, gci_view body,
                               gcache_error *error);
/* Writes the end, makes it durable, and gives the file its name. */
gcache_status gci_transfer_finish(gci_transfer_writer *writer, gcache_error *error);
/* Without finish before: removes what was written. */
void gci_transfer_close(gci_transfer_writer *writer);

/* ---- reading ---- */

typedef struct gci_transfer_item {
    gci_transfer_type type;
    gci_view head, body;
} gci_transfer_item;

typedef struct gci_transfer_reader {
    gci_dir dir;
    gci_file file;
    gci_buf path, parent; /* what messages call the file, and its directory */
    gci_buf bytes; /* of the present item */
    gci_buf manifest; /* JSON */
    uint64_t size, at, end;
} gci_transfer_reader;

/* Opens and verifies the whole file: that nothing is damaged or missing, and that it holds what it says. ERROR_FORMAT,
   ERROR_CORRUPT, ERROR_NOT_FOUND, ERROR_IO. Close it whatever the outcome. */
gcache_status gci_transfer_open(gci_transfer_reader *reader, char const *path, gcache_error *error);
/* The next item, valid until the next call. *out_more is false behind the last. */
gcache_status gci_transfer_next(gci_transfer_reader *reader, gci_transfer_item *out_item, bool *out_more,
                                gcache_error *error);
void gci_transfer_close_reader(gci_transfer_reader *reader);

#endif
