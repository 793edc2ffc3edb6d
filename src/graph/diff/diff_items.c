/*
 * The differences that were found, whoever found them: kept and counted.
 */
#include "base/array.h"
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

/* path = part rest */
static gci_diff_part
part_of(gci_view path)
{
    static struct {
        char const *name;
        gci_diff_part part;
    } const parts[] = {
#define X(id, name) { name, GCI_DIFF_PART_##id },
        GCI_DIFF_PART_MAP(X)
#undef X
        /* as PyTorch's keys call them */
        { "example_inputs", GCI_DIFF_PART_INPUTS },
        { "gm", GCI_DIFF_PART_GRAPH },
    };
    size_t size = 0;

    while (size < path.size && path.data[size] != '.' && path.data[size] != '[')
        size++;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (gci_view_is(gci_view_of(path.data, size), parts[i].name))
            return parts[i].part;
    return GCI_DIFF_PART_OTHER;
}

gci_diff_item *
gci_diff_add(gci_diff *diff, gci_view path, gci_diff_follows follows, bool is_new, bool *out_full)
{
    gci_diff_part part = part_of(path);
    size_t *kept = &diff->kept[part][!is_new];

    diff->followed[follows]++;
    *out_full = (diff->by_parts ? *kept : diff->count) == diff->max_items;
    if (*out_full) {
        diff->left_out++;
        return NULL;
    }
    if (!gci_array_has_room(&diff->items, diff->count, &diff->room, sizeof *diff->items))
        return NULL;
    gci_diff_item *item = &diff->items[diff->count];
    *item = (gci_diff_item){ .path = gci_arena_copy(&diff->arena, path), .part = part, .follows = follows,
                             .same = GCI_DIFF_ALONE };
    if (item->path.data == NULL)
        return NULL;
    diff->count++;
    ++*kept;
    return item;
}

gci_view
gci_diff_keep(gci_diff_run *run, gci_buf *text)
{
    gci_view copy = gci_arena_copy(&run->diff->arena, gci_buf_view(text));

    run->failed = run->failed || text->failed || copy.data == NULL;
    gci_buf_clear(text);
    return copy;
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
    gci_diff_item *item = gci_diff_add(diff, path, GCI_DIFF_NOTHING, true, &full);

    if (item == NULL)
        return full;
    return copy_text(diff, stored, &item->stored) && copy_text(diff, asked, &item->asked) &&
           gci_diff_add_hunks(diff, item, stored, asked);
}

bool
gci_diff_add_first(gci_diff *diff, gci_view path, gci_view stored, gci_view asked)
{
    size_t before = diff->count;

    diff->max_items++;
    if (!gci_diff_add_texts(diff, path, stored, asked) || diff->count == before)
        return false;
    gci_diff_item first = diff->items[before];
    memmove(diff->items + 1, diff->items, before * sizeof *diff->items);
    diff->items[0] = first;
    for (size_t i = 1; i < diff->count; i++)
        diff->items[i].like += diff->items[i].follows == GCI_DIFF_WHOLE || diff->items[i].follows == GCI_DIFF_AGAIN;
    return true;
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
