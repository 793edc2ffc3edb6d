/*
 * Commands that are sent together, and their replies.
 *
 * Small arguments are copied into one text; large ones, the payloads, are only pointed to and go to the socket from where they lie.
 */
#ifndef GCI_TIER_REDIS_BATCH_H
#define GCI_TIER_REDIS_BATCH_H

#include "tier/redis/wire/resp.h"

#include <sys/uio.h>

/* A run of the text, or of memory of the caller's. */
typedef struct gci_batch_piece {
    char const *outside; /* NULL: in the text */
    size_t at, size;
} gci_batch_piece;

typedef struct gci_command {
    size_t piece, pieces; /* the first one, and how many */
    unsigned slot;        /* of its key, in a cluster */
    unsigned node;        /* where a redirection or somebody who wants a certain node sends it */
    bool directed;        /* node counts, not the slot's */
    bool asking;          /* ASKING goes before it */
    bool sent;            /* in the exchange that is going on */
    bool answered;
    gci_resp_reader const *reader; /* of its reply, once it was answered */
    size_t value;                  /* its place there */
} gci_command;

/* The reader of one exchange; they live as long as the batch. */
typedef struct gci_replies {
    struct gci_replies *next;
    gci_resp_reader reader;
} gci_replies;

typedef struct gci_batch {
    gci_buf text;
    gci_batch_piece *pieces;
    size_t piece_count, piece_capacity;
    gci_command *commands;
    size_t count, capacity; /* of commands */
    gci_replies *replies;
    bool failed;            /* no memory: it must not be sent */
} gci_batch;

void gci_batch_init(gci_batch *batch);
void gci_batch_clear(gci_batch *batch);

/* The next command, with so many arguments, its name among them, which are added one by one. slot: of its key. */
void gci_batch_begin(gci_batch *batch, unsigned slot, size_t arguments);
/* bytes are borrowed until the batch is cleared. */
void gci_batch_add(gci_batch *batch, gci_view bytes);
void gci_batch_add_text(gci_batch *batch, char const *text);
void gci_batch_add_number(gci_batch *batch, uint64_t number);

/* A command's pieces as a socket takes them. */
void gci_batch_fill(gci_batch const *batch, gci_command const *command, struct iovec *out);

/* A reply, once all is answered. */
static inline gci_resp_value const *
gci_batch_reply(gci_batch const *batch, size_t index)
{
    gci_command const *command = &batch->commands[index];
    return &command->reader->values[command->value];
}

/* The bytes of a reply, or of a value in it. */
static inline gci_view
gci_batch_bytes(gci_batch const *batch, size_t index, gci_resp_value const *value)
{
    return gci_resp_bytes(batch->commands[index].reader, value);
}

/* Whether what went wrong with asking is that a server has more to say than the limits allow. */
static inline bool
gci_batch_is_too_large(gci_batch const *batch)
{
    return batch->replies != NULL && batch->replies->reader.is_too_large;
}

#endif
