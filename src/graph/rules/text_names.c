/*
 * Names that rules replaced, followed from rule to rule.
 */
#include "graph/rules/text_names.h"

#include "base/array.h"
#include "base/check.h"

#include <stdlib.h>

/* Texts that rules are applied to have at most so many bytes, and names are few of them. */
#define ARENA_LIMIT ((size_t)1 << 30)

void
gci_text_names_init(gci_text_names *names)
{
    *names = (gci_text_names){ .count = 0 };
    gci_arena_init(&names->arena, ARENA_LIMIT);
}

void
gci_text_names_clear(gci_text_names *names)
{
    gci_arena_clear(&names->arena);
    gci_intern_clear(&names->known);
    gci_intern_clear(&names->folded);
    gci_intern_clear(&names->hidden);
    free(names->item_of);
    free(names->items);
    gci_text_names_init(names);
}

void
gci_text_names_reset(gci_text_names *names)
{
    gci_arena_reset(&names->arena);
    gci_intern_reset(&names->known);
    gci_intern_reset(&names->folded);
    gci_intern_reset(&names->hidden);
    names->count = 0;
}

static bool
is_name_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80) != 0 || c == '-' ||
           c == '_' || c == '$' || c == '.' || c == '#' || c == '!';
}

/* Takes note of the quotes and line ends up to a place. */
static void
see_to(gci_text_name_search *search, size_t end)
{
    char const *from = search->text.data + search->seen;

    if (end <= search->seen)
        return;
    char const *line = memrchr(from, '\n', end - search->seen);
    char const *start = line != NULL ? line : from;
    char const *quote = memrchr(start, '"', (size_t)(search->text.data + end - start));
    char const *last = quote != NULL ? quote : line;
    if (last != NULL)
        search->left = (size_t)(last - search->text.data) + 1;
    search->seen = end;
}

/* name := "@" '"' any byte but '"' .. '"' */
static bool
find_quoted(gci_text_name_search *search, size_t start, size_t end, gci_view *out_name)
{
    gci_view text = search->text;

    see_to(search, start);
    size_t left = search->left;
    if (left < 2 || text.data[left - 1] != '"' || text.data[left - 2] != '@')
        return false;
    if (search->right < end) {
        char const *right = memchr(text.data + end, '"', text.size - end);
        search->right = right != NULL ? (size_t)(right - text.data) : text.size;
    }
    if (search->right == text.size)
        return false;
    *out_name = gci_view_of(text.data + left, search->right - left);
    return true;
}

gci_view
gci_text_name_around(gci_text_name_search *search, size_t start, size_t end)
{
    gci_view text = search->text, name;

    GCI_ASSERT(start < end && end <= text.size);
    if (text.data[start] == '@')
        start++; /* the match begins with the mark of a name */
    else if (find_quoted(search, start, end, &name))
        return name;
    else
        while (start > 0 && is_name_byte(text.data[start - 1]))
            start--;
    while (end < text.size && is_name_byte(text.data[end]))
        end++;
    return gci_view_of(text.data + start, end - start);
}

static bool
add_item(gci_text_names *names, gci_view original)
{
    if (!gci_array_has_room(&names->items, names->count, &names->room, sizeof *names->items))
        return false;
    names->items[names->count] = (gci_text_name){ .original = gci_arena_copy(&names->arena, original) };
    names->count++;
    return names->items[names->count - 1].original.data != NULL;
}

/* Remembers that `after` is the item's name now. */
static bool
know(gci_text_names *names, gci_view after, size_t item)
{
    gci_view copy = gci_arena_copy(&names->arena, after);
    bool is_new = false;
    uint32_t number = copy.data != NULL ? gci_intern_add(&names->known, copy, &is_new) : GCI_INTERN_NONE;

    if (number == GCI_INTERN_NONE ||
        !gci_array_has_room(&names->item_of, number, &names->known_room, sizeof *names->item_of))
        return false;
    names->item_of[number] = (uint32_t)item;
    names->items[item].canonical = copy;
    return true;
}

/* `after` is what another name became before: a name of its own, unless this pair was met already. */
static bool
add_folded(gci_text_names *names, gci_view before, gci_view after)
{
    char *pair = gci_arena_alloc(&names->arena, before.size + 1 + after.size);
    bool is_new = false;

    if (pair == NULL)
        return false;
    memcpy(pair, before.data, before.size);
    pair[before.size] = '\n';
    memcpy(pair + before.size + 1, after.data, after.size);
    gci_view whole = gci_view_of(pair, before.size + 1 + after.size);
    if (gci_intern_add(&names->folded, whole, &is_new) == GCI_INTERN_NONE)
        return false;
    if (!is_new)
        return true;
    if (!add_item(names, before))
        return false;
    names->items[names->count - 1].canonical = gci_view_of(pair + before.size + 1, after.size);
    return true;
}

bool
gci_text_names_add(gci_text_names *names, gci_view before, gci_view after)
{
    if (gci_view_equal(before, after))
        return true;
    uint32_t earlier = gci_intern_find(&names->known, before), met = gci_intern_find(&names->known, after);
    if (met != GCI_INTERN_NONE) {
        gci_text_name const *first = &names->items[names->item_of[met]];
        bool same = gci_view_equal(first->original, before) ||
                    (earlier != GCI_INTERN_NONE && names->item_of[earlier] == names->item_of[met]);
        return same || add_folded(names, before, after);
    }
    size_t item = earlier != GCI_INTERN_NONE ? names->item_of[earlier] : names->count;
    if (earlier == GCI_INTERN_NONE && !add_item(names, before))
        return false;
    return know(names, after, item);
}

bool
gci_text_names_hide(gci_text_names *names, gci_view name)
{
    gci_view copy = gci_arena_copy(&names->arena, name);
    bool is_new;

    return copy.data != NULL && gci_intern_add(&names->hidden, copy, &is_new) != GCI_INTERN_NONE;
}

bool
gci_text_names_is_hidden(gci_text_names const *names, size_t item)
{
    return gci_intern_find(&names->hidden, names->items[item].original) != GCI_INTERN_NONE;
}
