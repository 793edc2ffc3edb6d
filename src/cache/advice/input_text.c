/* Reading the texts of differences. */
#include "cache/advice/input_text.h"

#include <ctype.h>

bool
gci_text_is_number(gci_view text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!isdigit((unsigned char)text.data[i]))
            return false;
    return text.size != 0;
}

/* s0, s77, u3 */
bool
gci_text_is_symbol(gci_view text)
{
    return text.size >= 2 && (text.data[0] == 's' || text.data[0] == 'u') &&
           gci_text_is_number(gci_view_of(text.data + 1, text.size - 1));
}

/* Up to a character of `ends`, or all. */
gci_view
gci_take_up_to(gci_view *rest, char const *ends)
{
    size_t size = 0;

    while (size < rest->size && strchr(ends, rest->data[size]) == NULL)
        size++;
    gci_view taken = gci_view_of(rest->data, size);
    *rest = gci_view_of(rest->data + size, rest->size - size);
    return taken;
}

static bool
take_brackets(gci_view *rest, gci_view *out)
{
    if (rest->size == 0 || rest->data[0] != '[')
        return false;
    *rest = gci_view_of(rest->data + 1, rest->size - 1);
    *out = gci_take_up_to(rest, "]");
    if (rest->size == 0)
        return false;
    *rest = gci_view_of(rest->data + 1, rest->size - 1);
    return true;
}

/* line := dtype "[" sizes "]" "[" strides "]" device [" " more] */
static bool
read_tensor(gci_view text, gci_tensor_line *out)
{
    out->dtype = gci_take_up_to(&text, "[ ");
    if (out->dtype.size == 0 || !take_brackets(&text, &out->sizes) || !take_brackets(&text, &out->strides))
        return false;
    out->device = gci_take_up_to(&text, " ");
    out->more = text;
    return true;
}

bool
gci_read_tensors(gci_diff_item const *item, gci_tensor_line *out_stored, gci_tensor_line *out_asked)
{
    return read_tensor(item->stored, out_stored) && read_tensor(item->asked, out_asked);
}

/* The next of what stands between commas. */
bool
gci_next_size(gci_view *rest, gci_view *out)
{
    if (rest->size == 0)
        return false;
    *out = gci_take_up_to(rest, ",");
    while (rest->size != 0 && (rest->data[0] == ',' || rest->data[0] == ' '))
        *rest = gci_view_of(rest->data + 1, rest->size - 1);
    return true;
}

/* The sizes of an input's text: a size by itself, or of f32[4, s0][s0, 1]cpu, of float32[4, s0] on cpu. Empty: it has none. */
gci_view
gci_input_sizes(gci_diff_item const *item, gci_view text)
{
    if (gci_view_contains(item->path, ".shape["))
        return text;
    gci_take_up_to(&text, "[");
    if (text.size == 0)
        return text;
    text = gci_view_of(text.data + 1, text.size - 1);
    return gci_take_up_to(&text, "]");
}

bool
gci_input_resizes(gci_diff_item const *item)
{
    gci_tensor_line stored, asked;

    if (!gci_diff_is_input(item->path))
        return false;
    return gci_view_contains(item->path, GCI_SHAPES_MEMBER) ||
           (gci_read_tensors(item, &stored, &asked) && !gci_view_equal(stored.sizes, asked.sizes));
}

gci_view
gci_without_quotes(gci_view text)
{
    bool quoted = text.size >= 2 && text.data[0] == '"' && text.data[text.size - 1] == '"';

    return quoted ? gci_view_of(text.data + 1, text.size - 2) : text;
}

bool
gci_path_is_in_graph(gci_view path)
{
    return gci_view_begins(path, "graph") || gci_view_is(path, "gm");
}
