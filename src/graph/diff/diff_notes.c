/*
 * What keeps a row true where the two sides count differently: the place of a path among what was stored, and what two values
 * that are written alike are on the other side.
 */
#include "graph/diff/diff_run.h"
#include "graph/sequence/lcs.h"

/* The present path with the indices that the stored side has. */
static void
write_stored_path(gci_diff_run const *run, gci_buf *out)
{
    gci_view path = gci_buf_view(&run->path);
    size_t from = 0;

    for (size_t i = 0; i < run->shift_count; i++) {
        gci_diff_shift const *shift = &run->shifts[i];
        gci_buf_append(out, path.data + from, shift->at - from);
        gci_buf_format(out, "%u", (unsigned)shift->stored);
        from = shift->at + shift->size;
    }
    gci_buf_append(out, path.data + from, path.size - from);
}

void
gci_diff_note_place(gci_diff_run *run, gci_diff_item *item)
{
    gci_buf path;

    if (run->shift_count == 0 || item->stored.data == NULL)
        return;
    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    write_stored_path(run, &path);
    item->stored_path = gci_diff_keep(run, &path);
    for (size_t i = 0; i < run->shift_count; i++) {
        gci_diff_shift const *shift = &run->shifts[i];
        if (shift->at + shift->size + 1 != item->place) /* and the bracket */
            continue;
        item->is_moved = true;
        item->was_at = shift->stored;
    }
}

/* data NULL: it isn't there. */
static gci_view
reference_to(gci_diff_run *run, int64_t ref, uint32_t position)
{
    gci_buf text;

    if (position == GCI_LCS_NONE)
        return (gci_view){ NULL, 0 };
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_diff_show_reference(gci_node_ref(gci_node_ref_serial(ref), position), &text);
    return gci_diff_keep(run, &text);
}

static gci_view
renamed(gci_diff_run *run, gci_view expression, bool of_asked)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (gci_diff_rename(run, expression, of_asked, &text))
        return gci_diff_keep(run, &text);
    gci_buf_clear(&text);
    return (gci_view){ NULL, 0 };
}

static gci_view
bytes_around(gci_diff_run *run, gci_view bytes, gci_view other)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_diff_show_bytes(bytes, other, &text);
    return gci_diff_keep(run, &text);
}

void
gci_diff_note_alike(gci_diff_run *run, gci_diff_item *item, gci_value const *stored, gci_value const *asked)
{
    if (item->stored.data == NULL || item->asked.data == NULL || !gci_view_equal(item->stored, item->asked))
        return;
    if (item->typed_stored.data != NULL && !gci_view_equal(item->typed_stored, item->typed_asked)) {
        item->stored = item->typed_stored;
        item->asked = item->typed_asked;
    } else if (stored->type == GCI_NODE && asked->type == GCI_NODE) {
        item->is_alike = item->is_reference = true;
        item->now = reference_to(run, stored->integer, gci_diff_counterpart(run, stored->integer));
        item->was = reference_to(run, asked->integer, gci_diff_origin(run, asked->integer));
    } else if (stored->type == GCI_SYM && asked->type == GCI_SYM) {
        item->is_alike = true;
        item->now = renamed(run, stored->text, false);
        item->was = renamed(run, asked->text, true);
    } else if (stored->type == GCI_BYTES && asked->type == GCI_BYTES) {
        item->stored = item->typed_stored = bytes_around(run, stored->text, asked->text);
        item->asked = item->typed_asked = bytes_around(run, asked->text, stored->text);
    }
}
