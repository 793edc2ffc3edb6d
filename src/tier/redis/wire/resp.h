/*
 * RESP2, the protocol of Redis: commands written, replies read as they arrive.
 *
 *   command = "*" count CRLF { "$" size CRLF bytes CRLF }
 *   reply   = "+" text CRLF | "-" text CRLF | ":" integer CRLF | "$" size CRLF bytes CRLF | "$-1" CRLF
 *           | "*" count CRLF { reply } | "*-1" CRLF
 *
 * Replies are foreign bytes. A reader's invariants:
 *  1. What it keeps never exceeds limits.total, nor GCI_RESP_VALUES_MAX values, whatever sizes and counts are claimed; no memory is
 *     taken for what is claimed before a good part of it has arrived.
 *  2. values are in the order of the stream, an array before what is in it; starts[i] is where reply i begins.
 *  3. After a fault nothing more is read. The stream is out of step then: its connection must not be used again.
 */
#ifndef GCI_TIER_REDIS_WIRE_RESP_H
#define GCI_TIER_REDIS_WIRE_RESP_H

#include "base/buf.h"

#include <stdint.h>

/* CLUSTER SLOTS nests so deep, and so may a module in the answer to HELLO. */
#define GCI_RESP_DEPTH_MAX 4
/* Statuses, errors, integers, sizes. Servers' own limit for a line is the same. */
#define GCI_RESP_LINE_MAX ((size_t)64 << 10)
/* Half a million heads of one key. A value takes 32 bytes here, but only 3 on the wire. */
#define GCI_RESP_VALUES_MAX ((size_t)1 << 20)

/* ---- writing ---- */

void gci_resp_begin(gci_buf *buf, size_t arguments);
/* What stands before an argument's bytes; behind them stands GCI_RESP_END. */
void gci_resp_argument_head(gci_buf *buf, size_t size);
#define GCI_RESP_END "\r\n"

/* ---- reading ---- */

typedef enum gci_resp_type {
    GCI_RESP_TEXT, /* "+OK" */
    GCI_RESP_ERROR,
    GCI_RESP_INTEGER,
    GCI_RESP_BULK,
    GCI_RESP_NIL,
    GCI_RESP_ARRAY,
    GCI_RESP_LEFT_OUT /* a bulk larger than limits.keep: it was read and dropped */
} gci_resp_type;

typedef struct gci_resp_value {
    gci_resp_type type;
    size_t at;       /* in the input: TEXT, ERROR, BULK */
    uint64_t size;   /* in bytes, or an array's elements */
    int64_t integer; /* INTEGER */
} gci_resp_value;

typedef struct gci_resp_limits {
    uint64_t keep;  /* a larger bulk is left out */
    uint64_t total; /* more bytes, of all replies together, are a fault */
} gci_resp_limits;

typedef struct gci_resp_reader {
    gci_resp_limits limits;
    size_t wanted;             /* replies that were asked for */
    char const *fault;         /* why reading ended; static */
    bool is_too_large;         /* the fault is that: there is more than was wanted, but nothing wrong with it */
    gci_buf input;             /* what arrived and wasn't dropped */
    size_t at;                 /* it is read up to here */
    uint64_t total;            /* bytes that arrived */
    uint64_t dropping;         /* bytes to come that belong to what is left out */
    uint64_t missing;          /* bytes that the bulk which is being read still wants, at least */
    gci_resp_value *values;
    size_t count, capacity;    /* of values */
    size_t *starts;            /* of each reply, in values */
    size_t replies;            /* that are complete */
    unsigned depth;
    uint64_t left[GCI_RESP_DEPTH_MAX]; /* elements of the open arrays */
} gci_resp_reader;

/* false: no memory. Clear it in either case. */
bool gci_resp_reader_init(gci_resp_reader *reader, size_t wanted, gci_resp_limits limits);
void gci_resp_reader_clear(gci_resp_reader *reader);

/* Where the next bytes go, *out_room of them at most. NULL: no memory, which is a fault. */
char *gci_resp_room(gci_resp_reader *reader, size_t *out_room);
/* So many have been put there. false: a fault. */
bool gci_resp_arrived(gci_resp_reader *reader, size_t size);

static inline bool
gci_resp_complete(gci_resp_reader const *reader)
{
    return reader->replies == reader->wanted;
}

/* Whether the stream ends with the last reply, as it must before its connection is used again. */
static inline bool
gci_resp_in_step(gci_resp_reader const *reader)
{
    return reader->fault == NULL && gci_resp_complete(reader) && reader->at == reader->input.size && reader->dropping == 0;
}

/* The bytes of a TEXT, ERROR or BULK; empty for others. Valid until the reader is cleared, once nothing more arrives. */
gci_view gci_resp_bytes(gci_resp_reader const *reader, gci_resp_value const *value);

/* The index of the value behind this one and all that is in it. */
size_t gci_resp_next(gci_resp_reader const *reader, size_t index);

/* Strict: digits, and a minus before them. */
bool gci_resp_integer(gci_view text, int64_t *out_integer);

#endif
