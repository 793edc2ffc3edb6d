/*
 * Recording a real run as a trace that `guardcache replay` and `guardcache test` play (fixtures/README.md has the format):
 * trace.jsonl, one event a line, and the descriptions in graphs/, each once.
 *
 * Invariants:
 *  1. An event is one write, made while the file's lock is held: processes that record into one folder leave one trace,
 *     in the order in which things ended.
 *  2. counted lines end before `counted_size`: an event's number is one more than the lines before it.
 *
 * Locking: mutex among threads, a lock on trace.jsonl among processes. Trouble ends the recording with a line in the log:
 * it must not make a lookup fail.
 */
#ifndef GCI_CACHE_JOURNAL_TRACE_WRITER_H
#define GCI_CACHE_JOURNAL_TRACE_WRITER_H

#include "cache/handle/cache.h"

typedef struct gci_trace_writer gci_trace_writer;

/* Begins or goes on recording into a directory, which is made if need be. log may be NULL. */
gcache_status gci_trace_writer_open(char const *directory, gcache_log_fn log, void *log_state, gci_trace_writer **out_writer,
                            gcache_error *error);
void gci_trace_writer_close(gci_trace_writer *writer);

/* A lookup and how it ended; a bypass if that is how. hints and request may be NULL. */
void gci_trace_writer_lookup(gci_trace_writer *writer, gcache_graph *graph, gcache_hints const *hints,
                             gcache_request const *request, gcache_result const *result);

/* An insert and how it ended. */
void gci_trace_writer_insert(gci_trace_writer *writer, gcache_graph *graph, gcache_hints const *hints,
                             gcache_entry const *entry, gcache_inserted const *inserted);

#endif
