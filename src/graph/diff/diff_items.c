/*
 * The differences that were found, whoever found them: kept, counted and written.
 */
#include "base/array.h"
#include "base/text/json.h"
#include "base/visible.h"
#include "graph/diff/diff_run.h"

#include <stdlib.h>

/* Texts of the items are short and items bounded by the caller. */
#define ARENA_LIMIT ((size_t)16 << 30)

gci_diff *
gci_diff_new(size_t max_items)
{
    gci_diff *diff = calloc(1, sizeof *diff);

    if (diff == NULL)
        return NULL;
    diff->max_items = max_items;
    gci_arena_init(&diff->arena, ARENA_LIMIT);
    return diff;
}

gci_diff_item *
gci_diff_add(gci_diff *diff, gci_view path, bool *out_full)
{
    *out_full = diff->count == diff->max_items;
    if (*out_full) {
        diff->left_out++;
        return NULL;
    }
    if (!gci_array_has_room(&diff->items, diff->count, &diff->room, sizeof *diff->items))
        return NULL;
    gci_diff_item *item = &diff->items[diff->count];
    *item = (gci_diff_item){ .path = gci_arena_copy(&diff->arena, path) };
    if (item->path.data == NULL)
        return NULL;
    diff->count++;
    return item;
}

static bool
copy_text(gci_diff *diff, gci_view text, gci_view *out_copy)
{
    if (text.data != NULL)
        *out_copy = gci_arena_copy(&diff->arena, text);
    return text.data == NULL || out_copy->data != NULL;
}

bool
gci_diff_add_hunks(gci_diff *diff, gci_diff_item *item, gci_view stored, gci_view asked)
{
    gci_buf hunks;

    if (stored.data == NULL || asked.data == NULL || !gci_diff_wants_hunks(stored, asked))
        return true;
    gci_buf_init(&hunks, GCI_BUF_NO_LIMIT);
    if (gci_diff_hunks(stored, asked, &hunks))
        item->hunks = gci_arena_copy(&diff->arena, gci_buf_view(&hunks));
    gci_buf_clear(&hunks);
    return item->hunks.data != NULL;
}

bool
gci_diff_add_texts(gci_diff *diff, gci_view path, gci_view stored, gci_view asked)
{
    bool full;
    gci_diff_item *item = gci_diff_add(diff, path, &full);

    if (item == NULL)
        return full;
    return copy_text(diff, stored, &item->stored) && copy_text(diff, asked, &item->asked) &&
           gci_diff_add_hunks(diff, item, stored, asked);
}

void
gci_diff_free(gci_diff *diff)
{
    if (diff == NULL)
        return;
    gci_arena_clear(&diff->arena);
    free(diff->items);
    free(diff);
}

/* ---- writing ---- */

static void
write_hunks(gci_view hunks, char const *indent, gci_buf *out)
{
    for (gci_view line; gci_view_next_line(&hunks, &line);) {
        gci_buf_append_text(out, indent);
        gci_buf_append_text(out, "  ");
        gci_visible_append_lines(out, line);
        gci_buf_append_char(out, '\n');
    }
}

void
gci_diff_write_text(gci_diff const *diff, char const *indent, gci_buf *out)
{
    for (size_t i = 0; i < diff->count; i++) {
        gci_diff_item const *item = &diff->items[i];
        gci_buf_append_text(out, indent);
        if (item->stored.data == NULL || item->asked.data == NULL)
            gci_buf_append_text(out, item->stored.data == NULL ? "+ " : "- ");
        gci_visible_append(out, item->path);
        if (item->hunks.data != NULL) {
            gci_buf_append_text(out, ":\n");
            write_hunks(item->hunks, indent, out);
            continue;
        }
        gci_buf_append_text(out, ": ");
        gci_visible_append(out, item->stored);
        if (item->stored.data != NULL && item->asked.data != NULL)
            gci_buf_append_text(out, " -> ");
        gci_visible_append(out, item->asked);
        gci_buf_append_char(out, '\n');
    }
    if (diff->left_out != 0)
        gci_buf_format(out, "%s... and %zu more\n", indent, diff->left_out);
}

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
        if (item->hunks.data != NULL)
            write_nullable(out, "hunks", item->hunks);
        gci_buf_append_char(out, '}');
    }
}
