/*
 * The file of an export: store frames one after the other, verifiable as a whole (docs/formats/export.md).
 *
 *      at          what
 *      0           header (transfer_file.c)
 *      16          frames (store/format/frame.h); the last one is the manifest
 *      end-48      trailer: number of frames, size of the file, SHA-256 of all bytes before
 *
 * The SHA-256, the sizes and the numbers are looked at before anything is believed.
 */
#ifndef GCI_CACHE_TRANSFER_TRANSFER_FILE_H
#define GCI_CACHE_TRANSFER_TRANSFER_FILE_H

#include "base/digest.h"
#include "base/system/file.h"
#include "store/format/frame.h"

#include <stdbool.h>

#define GCI_TRANSFER_VERSION 3

/* What stands at the heads of frames that only exports have. Texts of heads that were read point into them. */
typedef struct gci_blob_head {
    char const *path; /* below the cache directory */
} gci_blob_head;

typedef struct gci_artifact_head {
    char const *kind, *name;
} gci_artifact_head;

extern gci_fields const gci_blob_fields, gci_artifact_fields;
extern gci_fields const gci_transfer_header_fields, gci_transfer_trailer_fields;

/* ---- writing ---- */

typedef struct gci_transfer_writer {
    gci_dir dir;
    gci_file file;
    gci_buf names;   /* the directory, the temporary name and the final one, each with its zero */
    size_t temporary_at, final_at;
    gci_digest *digest;
    uint64_t size, items;
} gci_transfer_writer;

/* Opens a temporary file beside `path`, which must lie outside `cache`, an absolute path, and be a plain file if it is there:
   else ERROR_ARGUMENT. Close it whatever the outcome. */
gcache_status gci_transfer_create(gci_transfer_writer *writer, char const *path, gci_view cache, gcache_error *error);
gcache_status gci_transfer_put(gci_transfer_writer *writer, gci_frame_type type, gci_view head, gci_view payload,
                               gcache_error *error);
/* A whole frame. */
gcache_status gci_transfer_put_frame(gci_transfer_writer *writer, gci_view frame, gcache_error *error);
/* Writes the end, makes it durable, and gives the file its name. */
gcache_status gci_transfer_finish(gci_transfer_writer *writer, gcache_error *error);
/* Without finish before: removes what was written. */
void gci_transfer_close(gci_transfer_writer *writer);

/* ---- reading ---- */

typedef struct gci_transfer_reader {
    gci_dir dir;
    gci_file file;
    gci_buf path, parent; /* what messages call the file, and its directory */
    gci_buf bytes; /* of the present frame */
    gci_buf manifest; /* JSON */
    uint64_t size, at, end;
} gci_transfer_reader;

/* Opens and verifies the whole file: that nothing is damaged or missing, and that it holds what it says. ERROR_FORMAT,
   ERROR_CORRUPT, ERROR_NOT_FOUND, ERROR_IO. Close it whatever the outcome. */
gcache_status gci_transfer_open(gci_transfer_reader *reader, char const *path, gcache_error *error);
/* The next frame, valid until the next call; without its head and payload if they are damaged. *out_more is false behind the
   last. */
gcache_status gci_transfer_next(gci_transfer_reader *reader, gci_frame *out_frame, bool *out_more, gcache_error *error);
void gci_transfer_close_reader(gci_transfer_reader *reader);

#endif
