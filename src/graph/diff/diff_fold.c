/*
 * Differences put in the order in which people look for causes, and those that say nothing new folded into the first of their
 * sort: the same change in further nodes, a constant that changes with a size, nodes that are new one after another.
 */
#include "base/text/intern.h"
#include "graph/diff/diff_run.h"

#include <stdlib.h>

/* ---- order ---- */

typedef struct slot {
    gci_diff_item item;
    size_t before; /* its place before */
} slot;

static bool
follows(gci_diff_item const *item)
{
    return item->follows > GCI_DIFF_AGAIN;
}

static int
compare_slots(void const *a, void const *b)
{
    slot const *x = a, *y = b;

    if (follows(&x->item) != follows(&y->item))
        return follows(&x->item) ? 1 : -1;
    if (x->item.part != y->item.part)
        return x->item.part < y->item.part ? -1 : 1;
    return x->before < y->before ? -1 : 1;
}

/* By parts, consequences last. `like` is the place of an item that comes before, and stays so. */
static bool
sort_items(gci_diff *diff)
{
    slot *slots = malloc((diff->count + 1) * sizeof *slots);
    size_t *places = malloc((diff->count + 1) * sizeof *places);
    bool sorted = slots != NULL && places != NULL;

    for (size_t i = 0; i < diff->count && sorted; i++)
        slots[i] = (slot){ diff->items[i], i };
    if (sorted)
        qsort(slots, diff->count, sizeof *slots, compare_slots);
    for (size_t i = 0; i < diff->count && sorted; i++)
        places[slots[i].before] = i;
    for (size_t i = 0; i < diff->count && sorted; i++) {
        diff->items[i] = slots[i].item;
        diff->items[i].like = places[slots[i].item.like];
    }
    free(slots);
    free(places);
    return sorted;
}

/* ---- the same again ---- */

uint32_t
gci_diff_sameness(gci_diff_run *run, gci_view text, bool *out_new)
{
    gci_intern *all = &run->sameness;
    uint32_t number = gci_intern_add(all, text, out_new);

    if (number == GCI_INTERN_NONE)
        return GCI_DIFF_ALONE;
    if (*out_new)
        all->texts[number] = gci_arena_copy(&run->arena, text);
    return all->texts[number].data != NULL ? number : GCI_DIFF_ALONE;
}

static gci_diff_again
kind_again(gci_diff_item const *item, bool in_graph)
{
    if (item->is_size && item->whole == 0)
        return in_graph ? GCI_DIFF_CONSTANTS : GCI_DIFF_SIZES;
    return in_graph ? GCI_DIFF_NODES : GCI_DIFF_INPUT_VALUES;
}

/* Sizes that are shown as a whole say the same if the wholes are. */
static bool
note_whole(gci_diff_run *run, gci_diff_item *item)
{
    gci_buf text;
    bool is_new;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&text, "whole ");
    gci_buf_append(&text, item->path.data + item->place, item->whole - item->place);
    gci_buf_append_char(&text, ' ');
    gci_buf_append_view(&text, item->whole_stored);
    gci_buf_append_text(&text, " ");
    gci_buf_append_view(&text, item->whole_asked);
    item->same = gci_diff_sameness(run, gci_buf_view(&text), &is_new);
    bool noted = !text.failed && item->same != GCI_DIFF_ALONE;
    gci_buf_clear(&text);
    return noted;
}

/* The first item that says it stands for the others, and for those that weren't kept. */
static bool
fold_again(gci_diff_run *run)
{
    gci_diff *diff = run->diff;

    for (size_t i = 0; i < diff->count; i++)
        if (diff->items[i].whole != 0 && !note_whole(run, &diff->items[i]))
            return false;
    size_t *first = calloc((size_t)run->sameness.count + 1, sizeof *first);
    if (first == NULL)
        return false;
    for (size_t i = 0; i < diff->count; i++) {
        gci_diff_item *item = &diff->items[i];
        if (item->same == GCI_DIFF_ALONE || item->follows != GCI_DIFF_NOTHING || item->run > 1)
            continue;
        if (first[item->same] == 0) {
            first[item->same] = i + 1;
            for (int in_graph = 0; in_graph < 2 && item->same < run->dropped_count; in_graph++)
                item->again[kind_again(item, in_graph != 0)] += run->dropped[item->same][in_graph];
            continue;
        }
        item->follows = GCI_DIFF_AGAIN;
        item->like = first[item->same] - 1;
        diff->followed[GCI_DIFF_AGAIN]++;
        diff->items[item->like].again[kind_again(item, item->part == GCI_DIFF_PART_GRAPH)]++;
    }
    free(first);
    return true;
}

/* ---- runs of nodes ---- */

static bool
goes_on(gci_diff_item const *before, gci_diff_item const *item)
{
    return before->is_node && item->is_node && before->place != 0 && before->follows <= GCI_DIFF_WHOLE &&
           (before->stored.data == NULL) == (item->stored.data == NULL) && item->position == before->position + 1 &&
           item->place >= before->place && item->follows == GCI_DIFF_NOTHING;
}

static void
fold_runs(gci_diff *diff)
{
    for (size_t i = 0; i < diff->count; i++) {
        gci_diff_item *item = &diff->items[i];
        if (item->is_node && item->follows == GCI_DIFF_NOTHING)
            item->run = 1;
        if (i == 0 || !goes_on(item - 1, item))
            continue;
        item->like = (item - 1)->follows == GCI_DIFF_WHOLE ? (item - 1)->like : i - 1;
        item->follows = GCI_DIFF_WHOLE;
        diff->items[item->like].run++;
    }
}

/* ---- inputs that are symbols ---- */

bool
gci_diff_is_input(gci_view path)
{
    return gci_view_begins(path, "inputs[") || gci_view_begins(path, "example_inputs[");
}

/* s0, s77, u3, zuf0 */
static bool
is_symbol(gci_view text)
{
    size_t letters = 0, digits = 0;

    while (letters < text.size && text.data[letters] >= 'a' && text.data[letters] <= 'z')
        letters++;
    while (letters + digits < text.size && text.data[letters + digits] >= '0' && text.data[letters + digits] <= '9')
        digits++;
    return letters != 0 && digits != 0 && letters + digits == text.size;
}

gci_view
gci_diff_symbol(gci_view value)
{
    static char const *const around[][2] = { { "{\"value\": ", "}" }, { "('", "',)" } };

    for (size_t i = 0; i < 2; i++) {
        size_t begin = strlen(around[i][0]), end = strlen(around[i][1]);
        if (value.size <= begin + end || !gci_view_begins(value, around[i][0]) ||
            memcmp(value.data + value.size - end, around[i][1], end) != 0)
            continue;
        gci_view symbol = gci_view_of(value.data + begin, value.size - begin - end);
        return is_symbol(symbol) ? symbol : (gci_view){ NULL, 0 };
    }
    return (gci_view){ NULL, 0 };
}

static bool
is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool
has_word(gci_view text, gci_view word)
{
    for (size_t at = 0; at + word.size <= text.size; at++) {
        bool here = memcmp(text.data + at, word.data, word.size) == 0 && (at == 0 || !is_word(text.data[at - 1])) &&
                    (at + word.size == text.size || !is_word(text.data[at + word.size]));
        if (here)
            return true;
    }
    return false;
}

/* Does another input have, on this side, the symbol among what differs? No symbol: there is nothing to say. */
static bool
is_said(gci_diff const *diff, gci_view symbol, bool of_asked)
{
    for (size_t i = 0; i < diff->count && symbol.size != 0; i++) {
        gci_diff_item const *item = &diff->items[i];
        gci_view text = of_asked ? item->asked : item->stored;
        if (gci_diff_is_input(item->path) && gci_diff_symbol(text).size == 0 && has_word(text, symbol))
            return true;
    }
    return symbol.size == 0;
}

/* path = "arguments[" N "]", on one side only: what the input of that number, on that side only too, is called. */
static bool
names_lone_input(gci_diff const *diff, gci_diff_item const *item)
{
    size_t before = strlen("arguments");
    bool stored = item->stored.data != NULL, found = false;

    if (!gci_view_begins(item->path, "arguments[") || stored == (item->asked.data != NULL))
        return false;
    gci_view number = gci_view_of(item->path.data + before, item->path.size - before);
    for (size_t i = 0; i < diff->count && !found; i++) {
        gci_diff_item const *other = &diff->items[i];
        found = gci_diff_is_input(other->path) && (other->stored.data != NULL) == stored &&
                (other->asked.data != NULL) != stored && other->path.size > number.size &&
                memcmp(other->path.data + other->path.size - number.size, number.data, number.size) == 0;
    }
    return found;
}

static void
set_follows(gci_diff *diff, gci_diff_item *item, gci_diff_follows follows)
{
    item->follows = follows;
    diff->followed[follows]++;
}

void
gci_diff_fold_inputs(gci_diff *diff)
{
    for (size_t i = 0; i < diff->count; i++) {
        gci_diff_item *item = &diff->items[i];
        gci_view stored = gci_diff_symbol(item->stored), asked = gci_diff_symbol(item->asked);
        bool symbol = gci_diff_is_input(item->path) && (stored.size != 0 || asked.size != 0) &&
                      (stored.size != 0) == (item->stored.data != NULL) && (asked.size != 0) == (item->asked.data != NULL);
        if (item->follows != GCI_DIFF_NOTHING)
            continue;
        if (symbol && is_said(diff, stored, false) && is_said(diff, asked, true))
            set_follows(diff, item, GCI_DIFF_SYMBOL);
        else if (names_lone_input(diff, item))
            set_follows(diff, item, GCI_DIFF_SOURCE);
    }
}

/* ---- as many as wanted ---- */

/* Those that say something new before the others, in the same order. `like` is the place of one that stays. */
static bool
keep_most(gci_diff *diff)
{
    size_t *places = malloc((diff->count + 1) * sizeof *places), room = diff->max_items, count = 0;

    if (places == NULL)
        return false;
    for (int others = 0; others < 2; others++) {
        for (size_t i = 0; i < diff->count; i++) {
            if ((diff->items[i].follows >= GCI_DIFF_AGAIN) != (others != 0))
                continue;
            places[i] = room != 0 ? 1 : 0;
            room -= places[i];
        }
    }
    for (size_t i = 0; i < diff->count; i++) {
        if (places[i] == 0)
            continue;
        places[i] = count;
        diff->items[count] = diff->items[i];
        if (diff->items[count].follows == GCI_DIFF_WHOLE || diff->items[count].follows == GCI_DIFF_AGAIN)
            diff->items[count].like = places[diff->items[count].like];
        count++;
    }
    diff->left_out += diff->count - count;
    diff->count = count;
    free(places);
    return true;
}

bool
gci_diff_fold(gci_diff_run *run)
{
    gci_diff *diff = run->diff;

    gci_diff_fold_inputs(diff);
    if (!sort_items(diff))
        return false;
    fold_runs(diff);
    return fold_again(run) && (diff->count <= diff->max_items || keep_most(diff));
}
