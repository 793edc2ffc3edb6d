/*
 * Texts of differences as far as advice reads them: numbers, symbols, sizes, and tensors in two forms, a path into `inputs`
 * (inputs[2].value.shape[0]) and a line of PyTorch's key (example_inputs[2]: f32[4, 16][16, 1]cpu requires_grad=True).
 */
#ifndef GCI_CACHE_ADVICE_INPUT_TEXT_H
#define GCI_CACHE_ADVICE_INPUT_TEXT_H

#include "graph/diff/diff.h"

/* What a path into `inputs` has before a dimension. */
#define GCI_SHAPE_MEMBER "].value.shape["
/* And of another rank, all of them at once. */
#define GCI_SHAPES_MEMBER "].value.shape"

/* Digits alone; s0, s77, u3. */
bool gci_text_is_number(gci_view text);
bool gci_text_is_symbol(gci_view text);

/* Takes from *rest what stands up to a character of `ends`, or all. */
gci_view gci_take_up_to(gci_view *rest, char const *ends);

/* A line of PyTorch's key about a tensor. */
typedef struct gci_tensor_line {
    gci_view dtype, sizes, strides, device, more;
} gci_tensor_line;

/* Both sides, where both are such lines. */
bool gci_read_tensors(gci_diff_item const *item, gci_tensor_line *out_stored, gci_tensor_line *out_asked);

/* The next of the sizes between commas. false: there are no more. */
bool gci_next_size(gci_view *rest, gci_view *out);

/* The sizes of an input's text: a size by itself, or of f32[4, s0][s0, 1]cpu, of float32[4, s0] on cpu. Empty: it has none. */
gci_view gci_input_sizes(gci_diff_item const *item, gci_view text);

/* Whether it is about an input's sizes. */
bool gci_input_resizes(gci_diff_item const *item);

/* torch.float32 of "torch.float32" */
gci_view gci_without_quotes(gci_view text);

/* graph.nodes[3], or PyTorch's text of the graph. */
bool gci_path_is_in_graph(gci_view path);

#endif
