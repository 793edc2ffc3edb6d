/*
 * What hints and graphs are in the user's program: for those who read about a miss, never on a hit's path.
 */
#ifndef GCI_CACHE_CANDIDATES_SOURCES_H
#define GCI_CACHE_CANDIDATES_SOURCES_H

#include "cache/candidates/context.h"

/*
 * Completes a request of this context for people: a source of each hint, of inputs (as "inputs[2]") if they are wanted, and a
 * label, as far as the description says (graph/describe/user_names.h). What the caller said stays. The arena must outlive the
 * request; without memory it stays as it was.
 */
void gci_context_complete_request(gci_context const *context, bool with_inputs, gcache_request *request, gci_arena *arena);

/* What the input that a path of what was asked lies in is called; NULL: not known. */
char const *gci_input_source(gcache_request const *request, gci_view path);
/* Writes a path of what was asked, an input with its name: "x (inputs[2]).stride[0]" for inputs[2].value.stride[0]. */
void gci_write_input_path(gcache_request const *request, gci_view path, gci_buf *out);

/* One hint's source alone. false: it isn't known. */
bool gci_context_source(gci_context const *context, gci_view hint, gci_arena *arena, gcache_pair *out_source);

/* The label alone: the request's, or what the description says; NULL: none. */
char const *gci_context_label(gci_context const *context, gci_arena *arena);

/* From now on hints that are sizes of tensors, by their sources in the request or by the description, are known as sizes. The
   arena must outlive the context. */
void gci_context_know_sizes(gci_context *context, gci_arena *arena);

/*
 * From now on guards, arithmetic and changes of hints are written with the request's sources: x.size(0) for L['t0'], and t0
 * where there is none. The arena must outlive the context. Without memory names stay as they are.
 */
void gci_context_show_sources(gci_context *context, gci_arena *arena);

#endif
