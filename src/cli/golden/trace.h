/*
 * One event of a trace: a line of trace.jsonl, read and checked.
 *
 *   event = { "seq": N, "op": "lookup" | "insert" | "bypass", "graph": FILE | null, "hints": {..}, "expect": {..}, .. }
 *   insert: "guards": [TEXT ..], "payload": {"size": N} | {"file": FILE}, "compile_ns", "variant", "priority",
 *           "requires": {NAME: VALUE}, "metadata": ANY
 *   lookup: "variant", "expect_variant", "provides": {NAME: VALUE}
 *   bypass: "reason": TEXT
 *
 * Members that aren't named here are ignored, so that a recorder may keep notes.
 */
#ifndef GCI_CLI_GOLDEN_TRACE_H
#define GCI_CLI_GOLDEN_TRACE_H

#include "cli/shared/object.h"

#include <guardcache/cache.h>

typedef enum cli_event_op {
    CLI_EVENT_LOOKUP,
    CLI_EVENT_INSERT,
    CLI_EVENT_BYPASS
} cli_event_op;

typedef struct cli_event {
    int64_t seq;
    cli_event_op op;
    char const *graph;  /* relative to the trace; NULL for a bypass */
    bool hinted;        /* hints were given, if only {} */
    gcache_hints hints;
    gcache_request request; /* of a lookup */
    gcache_entry entry;     /* of an insert, but for the payload */
    char const *payload_file;
    int64_t payload_size;   /* if there is no payload_file */
    char const *reason;     /* of a bypass */
    gci_value const *expect; /* a map, or NULL */
} cli_event;

/* Everything in *out_event lives in the arena or in the line. */
bool cli_event_read(gci_view line, cli_place place, gci_arena *arena, cli_event *out_event, gcache_error *error);

#endif
