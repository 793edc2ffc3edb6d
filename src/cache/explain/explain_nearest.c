/*
 * For a key under which nothing is stored: the stored keys like it, and where they differ.
 */
#include "cache/explain/explanation.h"
#include "cache/handle/words.h"

/* Rows a brief text has room for within 25 lines, and how long a hunk of a text may be in it. */
#define BRIEF_ROWS 16
#define BRIEF_HUNK_LINES 10

#define PATH_COLUMN 44
#define VALUE_WIDTH 40
#define FULL_WIDTH 400

static void
write_near_line(gci_trace const *trace, gci_near_key const *near, gci_buf *out)
{
    gci_phrase(out, trace->stored_keys == 1 ? "nearest of {} key: {}" : "nearest of {} keys: {}",
               GCI_AS_COUNT(trace->stored_keys), GCI_AS_KEY(&near->key));
    if (near->created_ns != 0)
        gci_phrase(out, ", stored {}", GCI_AS_TIME(near->created_ns));
    gci_buf_format(out, ", %u of %u components equal\n\n", near->equal, near->components);
}

static void
write_value(gci_buf *out, char const *word, gci_view value, size_t width, bool last)
{
    gci_buf_append_text(out, word);
    if (value.data == NULL)
        value = gci_view_text("nothing");
    if (last)
        gci_write_excerpt(out, value, width);
    else
        gci_write_cell(out, value, width == FULL_WIDTH || value.size <= 20 ? 20 : width, width);
}

/* At most `lines` lines of a text's hunks, indented. Returns how many. */
static size_t
write_hunks(gci_buf *out, gci_view hunks, size_t lines)
{
    size_t written = 0;

    for (gci_view line; written < lines && gci_view_next_line(&hunks, &line); written++)
        gci_phrase(out, "      {}\n", GCI_AS_EXCERPT(line, 110));
    return written;
}

/* One difference; returns the lines it took. */
static size_t
write_row(gci_diff_item const *item, bool brief, gci_buf *out)
{
    size_t width = brief ? VALUE_WIDTH : FULL_WIDTH;

    if (item->hunks.data != NULL) {
        gci_phrase(out, "  {}\n", GCI_AS_EXCERPT(item->path, FULL_WIDTH));
        return 1 + write_hunks(out, item->hunks, brief ? BRIEF_HUNK_LINES : SIZE_MAX);
    }
    gci_buf_append_text(out, "  ");
    gci_write_cell(out, item->path, PATH_COLUMN, brief ? PATH_COLUMN : FULL_WIDTH);
    write_value(out, " stored ", item->stored, width, false);
    write_value(out, " asked ", item->asked, width, true);
    gci_buf_append_char(out, '\n');
    return 1;
}

static void
write_rows(gci_near_key const *near, bool brief, gci_buf *out)
{
    size_t lines = 0, shown = 0;

    while (shown < near->count && (!brief || lines < BRIEF_ROWS))
        lines += write_row(&near->items[shown++], brief, out);
    size_t more = near->count - shown + near->left_out;
    if (more > 0)
        gci_buf_format(out, "  and %zu more%s\n", more, brief ? " (--all shows them)" : "");
}

/* "first compile of this graph; nothing like it is stored (the nearest differs in 212 of 230 nodes)" */
static void
write_first_compile(gci_trace const *trace, gci_buf *out)
{
    size_t of;

    gci_buf_append_text(out, trace->past ? "first compile of this graph; of what was stored then, nothing is like it"
                                         : "first compile of this graph; nothing like it is stored");
    if (trace->nearest_count == 0) {
        gci_buf_append_text(out, " (nothing of its kind)\n");
        return;
    }
    gci_likeness const *likeness = &trace->nearest[0].likeness;
    size_t differ = gci_likeness_units(likeness, &of);
    gci_buf_format(out, " (the nearest differs in %zu of %zu %s)\n", differ, of,
                   gci_feature_sort_name(gci_likeness_unit(likeness)));
}

void
gci_explain_nearest(gci_trace const *trace, bool brief, gci_buf *out)
{
    if (trace->stored_keys == 0)
        gci_buf_append_text(out, trace->past ? "the cache was empty\n" : "the cache is empty\n");
    else if (trace->nearest_count == 0 || !trace->nearest[0].is_kin)
        write_first_compile(trace, out);
    for (size_t i = 0; i < trace->nearest_count && trace->nearest[i].is_kin && (!brief || i == 0); i++) {
        write_near_line(trace, &trace->nearest[i], out);
        write_rows(&trace->nearest[i], brief, out);
    }
}
