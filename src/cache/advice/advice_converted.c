/*
 * {inputs}: all inputs of which the same differs, their element types or their devices, from what to what.
 */
#include "cache/advice/advice.h"
#include "cache/advice/input_text.h"
#include "cache/candidates/sources.h"

/* Of inputs that differ in different ways so many are named. */
#define INPUTS_MOST 4

typedef struct converted {
    gci_view name; /* in the user's program, else inputs[1] */
    gci_view from, to;
    bool is_named;
} converted;

typedef struct conversions {
    converted items[INPUTS_MOST];
    size_t count; /* all, written down or not */
    bool alike;   /* all from the same to the same */
    bool named;   /* all */
} conversions;

bool
gci_has_other_sizes(gci_near_key const *near, gci_view tensor)
{
    for (size_t i = 0; i < near->count; i++) {
        gci_view path = near->items[i].path;
        if (path.size > tensor.size && memcmp(path.data, tensor.data, tensor.size) == 0 &&
            gci_view_begins(gci_view_of(path.data + tensor.size, path.size - tensor.size), "shape"))
            return true;
    }
    return false;
}

/* Of a line of PyTorch's key; of those of which the type differs, the device isn't told. */
static bool
read_line(gci_tensor_line const *stored, gci_tensor_line const *asked, bool dtype, converted *out)
{
    bool same_type = gci_view_equal(stored->dtype, asked->dtype);

    out->from = dtype ? asked->dtype : asked->device;
    out->to = dtype ? stored->dtype : stored->device;
    return gci_view_equal(stored->sizes, asked->sizes) && same_type != dtype && !gci_view_equal(out->from, out->to);
}

/* What both sides have. false: it isn't that which differs. */
static bool
read_converted(gci_near_key const *near, gci_diff_item const *item, bool dtype, converted *out)
{
    static char const value[] = "].value.";
    gci_tensor_line stored, asked;

    if (gci_read_tensors(item, &stored, &asked))
        return read_line(&stored, &asked, dtype, out);
    char const *member = strstr(item->path.data, value);
    if (member == NULL || strcmp(member + sizeof value - 1, dtype ? "dtype" : "device") != 0)
        return false;
    out->from = gci_without_quotes(item->asked);
    out->to = gci_without_quotes(item->stored);
    return !gci_has_other_sizes(near, gci_view_of(item->path.data, (size_t)(member - item->path.data) + sizeof value - 1));
}

static void
add(conversions *found, converted one)
{
    bool first = found->count == 0;

    found->alike = first || (found->alike && gci_view_equal(one.from, found->items[0].from) &&
                             gci_view_equal(one.to, found->items[0].to));
    found->named = (first || found->named) && one.is_named;
    if (found->count < INPUTS_MOST)
        found->items[found->count] = one;
    found->count++;
}

static void
write_change(converted const *one, gci_buf *out)
{
    gci_buf_append_text(out, " from ");
    gci_buf_append_view(out, one->from);
    gci_buf_append_text(out, " to ");
    gci_buf_append_view(out, one->to);
}

/* "x and y from f64 to f32", "x from f64 to f32 and y from f16 to f32", "inputs from f64 to f32" */
static void
write_conversions(conversions const *found, gci_buf *out)
{
    bool few = found->count <= INPUTS_MOST, each = few && (found->named || !found->alike);

    if (!each)
        gci_buf_append_text(out, found->alike ? "inputs" : "inputs to what they were in the stored run");
    for (size_t i = 0; each && i < found->count; i++) {
        gci_buf_append_text(out, i == 0 ? "" : i + 1 == found->count ? " and " : ", ");
        gci_buf_append_view(out, found->items[i].name);
        if (!found->alike)
            write_change(&found->items[i], out);
    }
    if (found->alike)
        write_change(&found->items[0], out);
}

void
gci_advice_list_inputs(gci_journal_entry const *entry, gci_near_key const *near, gci_advice_case *out)
{
    bool dtype = (out->facts & GCI_FACT_BIT(DTYPE)) != 0;
    conversions found = { .count = 0 };
    converted one;
    gci_buf text;

    for (size_t i = 0; (dtype || (out->facts & GCI_FACT_BIT(DEVICE)) != 0) && i < near->count; i++) {
        gci_diff_item const *item = &near->items[i];
        if (!gci_diff_is_input(item->path) || !read_converted(near, item, dtype, &one))
            continue;
        char const *source = gci_input_source(&entry->context.request, item->path);
        gci_view rest = item->path, place = gci_take_up_to(&rest, "]");
        one.is_named = source != NULL;
        one.name = source != NULL ? gci_view_text(source) : gci_view_of(place.data, place.size + (rest.size != 0));
        add(&found, one);
    }
    if (found.count == 0)
        return;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    write_conversions(&found, &text);
    out->values[GCI_VALUE_INPUTS] = gci_arena_copy(out->arena, gci_buf_view(&text));
    gci_buf_clear(&text);
}
