/*
 * A source of PyTorch's Dynamo, as it prints itself, in the words of the program it was taken from.
 */
#ifndef GCI_GRAPH_TORCH_SOURCE_H
#define GCI_GRAPH_TORCH_SOURCE_H

#include "base/buf.h"

/*
 * Writes "x.size(0)" for "TensorPropertySource(base=LocalSource(local_name='x', ..), prop=<TensorProperty.SIZE: 0>, idx=0)".
 * false: the text can't be read to its end (a long one may have been cut), or says nothing to a user; what was written is to be
 * forgotten.
 */
bool gci_torch_source_write(gci_view text, gci_buf *out);

/* The same for the tensor alone: "x". */
bool gci_torch_source_write_base(gci_view text, gci_buf *out);

#endif
