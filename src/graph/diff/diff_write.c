/*
 * Differences in words, and as JSON.
 */
#include "base/text/json.h"
#include "base/visible.h"
#include "graph/diff/diff.h"

/* ---- pieces of texts ---- */

static char const *const follows_names[] = {
#define X(id, name) name,
    GCI_DIFF_FOLLOWS_MAP(X)
#undef X
};

char const *
gci_diff_remark_text(gci_diff_remark remark)
{
    static char const *const texts[] = {
#define X(id, text) text,
        GCI_DIFF_REMARK_MAP(X)
#undef X
    };
    return texts[remark];
}

gci_view
gci_diff_plain(gci_view value)
{
    size_t before = strlen("{\"value\": ");

    if (value.size > before && gci_view_begins(value, "{\"value\": ") && value.data[value.size - 1] == '}')
        return gci_view_of(value.data + before, value.size - before - 1);
    return value;
}

/* " (was nodes[40])": the last name of the place, which is an index, as it was. */
static void
write_was(gci_diff_item const *item, gci_buf *out)
{
    size_t end = item->place, from;

    while (end > 0 && item->path.data[end - 1] != '[')
        end--;
    for (from = end; from > 0 && item->path.data[from - 1] != '.';)
        from--;
    gci_buf_append_text(out, " (was ");
    gci_visible_append(out, gci_view_of(item->path.data + from, end - from));
    gci_buf_format(out, "%u])", (unsigned)item->was_at);
}

void
gci_diff_write_path(gci_diff_item const *item, gci_buf *out)
{
    size_t size = item->whole != 0 ? item->whole : item->path.size;
    gci_view rest = gci_view_of(item->path.data + item->place, size - item->place);

    gci_visible_append(out, gci_view_of(item->path.data, item->place));
    if (item->is_moved)
        write_was(item, out);
    if (item->target.size != 0 && !item->is_node && !gci_view_is(rest, ".target")) {
        gci_buf_append_char(out, ' ');
        gci_visible_append(out, item->target);
        gci_buf_append_char(out, ' ');
    }
    gci_visible_append(out, rest);
}

/* note = " (now nodes[3])" | " (gone)"; of a symbol that isn't known on the other side nothing is said. */
static void
write_note(gci_diff_item const *item, gci_view other, char const *is, char const *is_not, gci_buf *out)
{
    if (!item->is_alike || (other.data == NULL && !item->is_reference))
        return;
    gci_buf_append_text(out, other.data != NULL ? is : is_not);
    gci_visible_append(out, other);
    gci_buf_append_char(out, ')');
}

void
gci_diff_write_stored(gci_diff_item const *item, gci_buf *out)
{
    gci_visible_append(out, gci_diff_plain(item->whole_stored.data != NULL ? item->whole_stored : item->stored));
    write_note(item, item->now, " (now ", " (gone", out);
}

void
gci_diff_write_asked(gci_diff_item const *item, gci_buf *out)
{
    gci_visible_append(out, gci_diff_plain(item->whole_asked.data != NULL ? item->whole_asked : item->asked));
    write_note(item, item->was, " (was ", " (new", out);
}

static void
write_more(gci_buf *out, size_t start, size_t count, char const *what)
{
    if (count != 0)
        gci_buf_format(out, "%s%zu %s%s", out->size == start ? "" : ", ", count, what, count == 1 ? "" : "s");
}

bool
gci_diff_write_again(gci_diff_item const *item, gci_buf *out)
{
    bool whole = item->stored.data == NULL || item->asked.data == NULL;
    char const *begin = item->is_size ? "and so: " : whole ? "and " : "the same in ";
    size_t start = out->size;

    for (size_t i = 0; i < GCI_DIFF_AGAINS; i++) {
        static char const *const names[] = { "more constant", "more size", "more node", "more input" };
        if (item->again[i] != 0 && out->size == start)
            gci_buf_append_text(out, begin);
        write_more(out, start + strlen(begin), item->again[i], names[i]);
    }
    if (out->size != start && item->is_size) {
        gci_buf_append_char(out, ' ');
        gci_diff_write_stored(item, out);
        gci_buf_append_text(out, " -> ");
        gci_diff_write_asked(item, out);
    } else if (out->size != start && whole) {
        gci_buf_append_text(out, " like it");
    }
    return out->size != start;
}

void
gci_diff_write_run(gci_diff_item const *item, gci_buf *out)
{
    size_t place = item->path.size;

    while (place > 0 && item->path.data[place - 1] != '.')
        place--;
    gci_visible_append(out, gci_view_of(item->path.data, place > 0 ? place - 1 : 0));
    gci_buf_format(out, ": %zu node%s %s ", item->run, item->run == 1 ? "" : "s",
                   item->stored.data == NULL ? "inserted" : "removed");
    gci_buf_append_text(out, item->after.size == 0 ? "at the beginning" : "after ");
    gci_visible_append(out, item->after);
}

bool
gci_diff_write_followed(gci_diff const *diff, gci_buf *out)
{
    size_t start = out->size;

    for (size_t kind = GCI_DIFF_AGAIN + 1; kind < GCI_DIFF_FOLLOWS_KINDS; kind++) {
        write_more(out, start, diff->followed[kind], follows_names[kind]);
        if (kind == GCI_DIFF_REFERENCE && diff->followed[kind] != 0)
            gci_buf_append_text(out, " renumbered");
    }
    return out->size != start;
}

/* ---- texts ---- */

static void
write_hunks(gci_view hunks, char const *indent, gci_buf *out)
{
    gci_diff_hunk_lines lines = { .rest = hunks };
    gci_buf shown;

    gci_buf_init(&shown, GCI_BUF_NO_LIMIT);
    for (gci_view line, other; gci_diff_next_hunk_line(&lines, &line, &other); shown.size = 0) {
        gci_buf_append_text(out, indent);
        gci_buf_append_text(out, "  ");
        gci_diff_write_hunk_line(line, other, &shown);
        gci_visible_append_lines(out, gci_buf_view(&shown));
    }
    out->failed |= shown.failed;
    gci_buf_clear(&shown);
}

static void
write_item(gci_diff_item const *item, char const *indent, gci_buf *out)
{
    bool is_new = item->stored.data == NULL, is_gone = item->asked.data == NULL;

    gci_buf_append_text(out, indent);
    if (is_new || is_gone)
        gci_buf_append_text(out, is_new ? "+ " : "- ");
    gci_diff_write_path(item, out);
    if (item->hunks.data != NULL) {
        gci_buf_append_text(out, ":\n");
        write_hunks(item->hunks, indent, out);
        return;
    }
    gci_buf_append_text(out, ": ");
    gci_diff_write_stored(item, out);
    if (!is_new && !is_gone)
        gci_buf_append_text(out, " -> ");
    gci_diff_write_asked(item, out);
    if (item->remark != GCI_DIFF_NONE)
        gci_buf_format(out, "   it %s", gci_diff_remark_text(item->remark));
    gci_buf_append_char(out, '\n');
}

static void
write_sentence(char const *indent, char const *sentence, gci_buf *text, gci_buf *out)
{
    if (text->size != 0) {
        gci_buf_append_text(out, indent);
        gci_buf_append_text(out, sentence);
        gci_buf_append_view(out, gci_buf_view(text));
        gci_buf_append_char(out, '\n');
    }
    text->size = 0;
}

size_t
gci_diff_unsaid(gci_diff const *diff)
{
    size_t summed = 0;

    for (size_t kind = GCI_DIFF_AGAIN; kind < GCI_DIFF_FOLLOWS_KINDS; kind++)
        summed += diff->followed[kind];
    for (size_t i = 0; i < diff->count; i++)
        summed -= diff->items[i].follows >= GCI_DIFF_AGAIN;
    return diff->left_out > summed ? diff->left_out - summed : 0;
}

/* A line an item, but for those that another one stands for. */
void
gci_diff_write_text(gci_diff const *diff, char const *indent, gci_buf *out)
{
    gci_buf sentence;

    gci_buf_init(&sentence, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < diff->count; i++) {
        gci_diff_item const *item = &diff->items[i];
        if (item->follows > GCI_DIFF_WHOLE || (item->follows == GCI_DIFF_WHOLE && !item->is_node))
            continue;
        write_item(item, indent, out);
        gci_diff_write_again(item, &sentence);
        write_sentence(indent, "  ", &sentence, out);
    }
    gci_diff_write_followed(diff, &sentence);
    write_sentence(indent, "and so: ", &sentence, out);
    out->failed |= sentence.failed;
    gci_buf_clear(&sentence);
    if (gci_diff_unsaid(diff) != 0)
        gci_buf_format(out, "%s... and %zu more\n", indent, gci_diff_unsaid(diff));
}

/* ---- JSON ---- */

static void
write_nullable(gci_buf *out, char const *name, gci_view text)
{
    gci_buf_format(out, ", \"%s\": ", name);
    if (text.data == NULL)
        gci_buf_append_text(out, "null");
    else
        gci_json_write_text(out, text);
}

void
gci_diff_write_json(gci_diff const *diff, gci_buf *out)
{
    for (size_t i = 0; i < diff->count; i++) {
        gci_diff_item const *item = &diff->items[i];
        gci_buf_append_text(out, i != 0 ? ", {\"path\": " : "{\"path\": ");
        gci_json_write_text(out, item->path);
        write_nullable(out, "stored", item->typed_stored.data != NULL ? item->typed_stored : item->stored);
        write_nullable(out, "asked", item->typed_asked.data != NULL ? item->typed_asked : item->asked);
        if (item->stored_path.data != NULL)
            write_nullable(out, "stored_path", item->stored_path);
        if (item->is_alike) {
            write_nullable(out, "stored_now", item->now);
            write_nullable(out, "asked_was", item->was);
        }
        if (item->hunks.data != NULL)
            write_nullable(out, "hunks", item->hunks);
        if (item->target.size != 0)
            write_nullable(out, "target", item->target);
        if (item->remark != GCI_DIFF_NONE)
            write_nullable(out, "remark", gci_view_text(gci_diff_remark_text(item->remark)));
        if (item->follows == GCI_DIFF_WHOLE || item->follows == GCI_DIFF_AGAIN)
            gci_buf_format(out, ", \"like\": %zu", item->like);
        else if (item->follows != GCI_DIFF_NOTHING)
            write_nullable(out, "follows", gci_view_text(follows_names[item->follows]));
        gci_buf_append_char(out, '}');
    }
}
