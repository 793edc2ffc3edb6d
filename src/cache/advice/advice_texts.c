/*
 * What a difference between two texts is, in the terms that advice is written in: other sizes of tensors alone, the same
 * operations in another order or with other arguments, a setting on its line.
 */
#include "cache/advice/advice.h"

#include <ctype.h>

/* ---- what the lines of one side have ---- */

/* The lines that begin with sign: their text with the sizes of tensors taken out, and those sizes. */
static void
part_sizes(gci_view hunks, char sign, gci_buf *text, gci_buf *sizes)
{
    static char const type[] = "tensor<";
    bool wanted = false;

    for (size_t i = 0; i < hunks.size; i++) {
        if (i == 0 || hunks.data[i - 1] == '\n') {
            wanted = hunks.data[i] == sign;
            continue;
        }
        if (!wanted)
            continue;
        gci_buf_append_char(text, hunks.data[i]);
        if (i + 1 < sizeof type || memcmp(hunks.data + i - (sizeof type - 2), type, sizeof type - 1) != 0)
            continue;
        while (i + 1 < hunks.size && (isdigit((unsigned char)hunks.data[i + 1]) || hunks.data[i + 1] == 'x'))
            gci_buf_append_char(sizes, hunks.data[++i]);
        gci_buf_append_char(sizes, ' ');
    }
}

/* What converts element types, as torch.autocast does around operations, and the views of what it has converted. */
static bool
is_cast(gci_view operation)
{
    return gci_view_contains(operation, "convert_element_type") || gci_view_contains(operation, "aten.permute");
}

static gci_view
operation_at(gci_view line, size_t at)
{
    size_t end = at;

    while (end < line.size && line.data[end] != '(')
        end++;
    return gci_view_of(line.data + at, end - at);
}

/* The operations that the lines beginning with sign call: torch.ops.aten.mul.Tensor and the like, one behind the other. */
static void
list_calls(gci_view hunks, char sign, bool casts, gci_buf *out)
{
    static char const prefix[] = "torch.ops.";
    gci_view line;

    while (gci_view_next_line(&hunks, &line)) {
        if (line.size == 0 || line.data[0] != sign)
            continue;
        for (size_t i = 1; i + sizeof prefix <= line.size; i++) {
            gci_view operation = operation_at(line, i);
            if (memcmp(line.data + i, prefix, sizeof prefix - 1) != 0 ||
                (!casts && is_cast(operation)))
                continue;
            gci_buf_append_view(out, operation);
            gci_buf_append_char(out, '\n');
        }
    }
}

static void
list_operations(gci_view hunks, char sign, gci_buf *out)
{
    list_calls(hunks, sign, true, out);
}

static void
list_uncast(gci_view hunks, char sign, gci_buf *out)
{
    list_calls(hunks, sign, false, out);
}

typedef void lister(gci_view hunks, char sign, gci_buf *out);

static bool
same_lists(gci_view hunks, lister *list)
{
    gci_buf lists[2];

    for (size_t i = 0; i < 2; i++) {
        gci_buf_init(&lists[i], GCI_BUF_NO_LIMIT);
        list(hunks, i == 0 ? '-' : '+', &lists[i]);
    }
    bool same = gci_view_equal(gci_buf_view(&lists[0]), gci_buf_view(&lists[1]));
    for (size_t i = 0; i < 2; i++)
        gci_buf_clear(&lists[i]);
    return same;
}

static void
list_text(gci_view hunks, char sign, gci_buf *out)
{
    gci_buf sizes;

    gci_buf_init(&sizes, GCI_BUF_NO_LIMIT);
    part_sizes(hunks, sign, out, &sizes);
    gci_buf_clear(&sizes);
}

static void
list_sizes(gci_view hunks, char sign, gci_buf *out)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    part_sizes(hunks, sign, &text, out);
    gci_buf_clear(&text);
}

/* ---- training ---- */

/* Operations that a module in training has and one in evaluation hasn't: it draws random numbers, or normalizes by the batch. */
static char const *const training[] = { "inductor_random", "inductor_seeds", "native_dropout", "aten.bernoulli", "aten.rand",
                                        "batch_norm_legit_functional", "aten.var_mean" };

static bool
has_training(gci_view text)
{
    for (size_t i = 0; i < sizeof training / sizeof *training; i++)
        if (gci_view_contains(text, training[i]))
            return true;
    return false;
}

static bool
lines_have_training(gci_view hunks, char sign)
{
    gci_buf calls;

    gci_buf_init(&calls, GCI_BUF_NO_LIMIT);
    list_operations(hunks, sign, &calls);
    bool found = has_training(gci_buf_view(&calls));
    gci_buf_clear(&calls);
    return found;
}

bool
gci_advice_is_training(gci_diff_item const *item)
{
    if (item->hunks.data != NULL)
        return lines_have_training(item->hunks, '-') != lines_have_training(item->hunks, '+');
    return has_training(item->stored) != has_training(item->asked);
}

/* ---- one line of a text ---- */

/* The only line that begins with sign, without it; data NULL: there are several, or none. */
static gci_view
only_line(gci_view hunks, char sign)
{
    gci_view line, found = { 0 };

    while (gci_view_next_line(&hunks, &line)) {
        if (line.size == 0 || line.data[0] != sign)
            continue;
        if (found.data != NULL)
            return (gci_view){ 0 };
        found = gci_view_of(line.data + 1, line.size - 1);
    }
    return found;
}

static bool
part_setting(gci_view line, gci_view *out_name, gci_view *out_value)
{
    static char const sign[] = " = ";

    for (size_t i = 0; line.data != NULL && i + sizeof sign <= line.size; i++) {
        if (memcmp(line.data + i, sign, sizeof sign - 1) != 0)
            continue;
        *out_name = gci_view_of(line.data, i);
        *out_value = gci_view_of(line.data + i + sizeof sign - 1, line.size - i - (sizeof sign - 1));
        return true;
    }
    return false;
}

/* name = value on both sides, of one name. */
void
gci_advice_on_line(gci_view stored_line, gci_view asked_line, gci_advice_case *out)
{
    gci_view stored_name, asked_name, stored, asked;

    if (!part_setting(stored_line, &stored_name, &stored) || !part_setting(asked_line, &asked_name, &asked) ||
        !gci_view_equal(stored_name, asked_name))
        return;
    out->facts |= GCI_FACT_BIT(LINE);
    out->values[GCI_VALUE_NAME] = stored_name;
    out->values[GCI_VALUE_STORED] = stored;
    out->values[GCI_VALUE_ASKED] = asked;
}

void
gci_advice_on_hunks(gci_view hunks, gci_advice_case *out)
{
    if (same_lists(hunks, list_text) && !same_lists(hunks, list_sizes))
        out->facts |= GCI_FACT_BIT(SHAPES);
    gci_advice_on_line(only_line(hunks, '-'), only_line(hunks, '+'), out);
}

gci_advice_graph
gci_advice_graph_of_hunks(gci_view hunks)
{
    if (same_lists(hunks, list_operations))
        return GCI_GRAPH_OPERATIONS;
    return same_lists(hunks, list_uncast) ? GCI_GRAPH_CASTS : GCI_GRAPH_ANY;
}
