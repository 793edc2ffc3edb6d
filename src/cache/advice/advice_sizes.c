/*
 * Sizes that vary: what is to be marked as dynamic for them all, and whether that would help.
 */
#include "cache/advice/advice.h"
#include "cache/advice/input_text.h"
#include "cache/candidates/sources.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- all sizes that vary ---- */

/* How the label of a backward graph ends. */
#define BACKWARD " (backward)"

/* Calls of mark_dynamic that are written down: more of them are no advice. */
#define MARKS_MAX 6

typedef struct mark {
    char const *tensor; /* NULL: it has no name */
    size_t dimension;
} mark;

typedef struct marks {
    mark items[MARKS_MAX];
    size_t count; /* all, written down or not */
    bool unnamed;
} marks;

static void
add_mark(marks *found, char const *tensor, size_t dimension)
{
    if (found->count < MARKS_MAX)
        found->items[found->count] = (mark){ tensor, dimension };
    found->count++;
    found->unnamed |= tensor == NULL;
}

/* The sizes of an input that are symbols now, or else others than before. */
static void
add_marks(gcache_request const *request, gci_diff_item const *item, bool symbols, marks *found)
{
    char const *tensor = gci_input_source(request, item->path), *member = strstr(item->path.data, GCI_SHAPE_MEMBER);
    size_t first = member != NULL ? strtoul(member + strlen(GCI_SHAPE_MEMBER), NULL, 10) : 0;
    gci_view stored = gci_input_sizes(item, item->stored), asked = gci_input_sizes(item, item->asked), a, b;

    for (size_t i = first; gci_next_size(&asked, &b); i++) {
        bool both = gci_next_size(&stored, &a);
        bool differs = both && !gci_view_equal(a, b) && (gci_text_is_number(a) || gci_text_is_number(b));
        if (symbols ? gci_text_is_symbol(b) : differs)
            add_mark(found, tensor, i);
    }
}

static void
write_marks(marks const *found, gci_buf *out)
{
    for (size_t i = 0; i < found->count; i++) {
        if (i != 0)
            gci_buf_append_text(out, i + 1 == found->count ? " and " : ", ");
        gci_buf_format(out, "torch._dynamo.mark_dynamic(%s, %zu)", found->items[i].tensor, found->items[i].dimension);
    }
}

/*
 * {marks}: every size that varies. To mark one of several that are the same symbol is an error in PyTorch, so it is all or none.
 */
static void
note_marks(gci_journal_entry const *entry, gci_near_key const *near, gci_advice_case *out)
{
    bool symbols = (out->facts & GCI_FACT_BIT(TO_SYMBOL)) != 0;
    marks found = { .count = 0 };
    gci_buf text;

    for (size_t i = 0; i < near->count; i++)
        if (gci_diff_is_input(near->items[i].path))
            add_marks(&entry->context.request, &near->items[i], symbols, &found);
    if (found.count == 1 && found.unnamed && (out->facts & GCI_FACT_BIT(SIZED)) != 0) {
        found.items[0].tensor = gci_arena_copy(out->arena, out->values[GCI_VALUE_TENSOR]).data;
        found.items[0].dimension = strtoul(out->values[GCI_VALUE_DIM].data, NULL, 10);
        found.unnamed = found.items[0].tensor == NULL;
    }
    if (found.count == 0 || found.count > MARKS_MAX || found.unnamed || near->left_out != 0)
        return;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    write_marks(&found, &text);
    out->facts |= GCI_FACT_BIT(MARKS);
    out->values[GCI_VALUE_MARKS] = gci_arena_copy(out->arena, gci_buf_view(&text));
    gci_buf_clear(&text);
}

/* s.head.weight is what a module has; x and batch['x.y'] aren't. */
static bool
is_member(char const *source)
{
    int depth = 0;

    for (; *source != '\0'; source++) {
        depth += *source == '[' || *source == '(';
        depth -= *source == ']' || *source == ')';
        if (*source == '.' && depth == 0)
            return true;
    }
    return false;
}

/* Where inputs have names at all, parameters of the module itself have none. */
static bool
is_parameter(gcache_request const *request, gci_view path)
{
    char const *source = gci_input_source(request, path);
    bool named = false;

    gci_view rest = path, list = gci_take_up_to(&rest, "[");

    for (size_t i = 0; i < request->sources_count; i++) {
        rest = gci_view_text(request->sources[i].name);
        gci_view part = gci_take_up_to(&rest, "[");
        named |= rest.size != 0 && gci_view_equal(part, list);
    }
    return source != NULL ? is_member(source) : named;
}

/* PyTorch keeps sizes of parameters static, whatever is marked. */
static bool
has_resized_parameter(gci_journal_entry const *entry, gci_near_key const *near)
{
    for (size_t i = 0; i < near->count; i++)
        if (gci_input_resizes(&near->items[i]) && is_parameter(&entry->context.request, near->items[i].path))
            return true;
    return false;
}

/* ---- whether sizes are all that differs ---- */

/* Whether two orders of strides agree: no dimension that lay behind another lies before it now. Symbols may be anything. */
static bool
same_order(gci_view stored, gci_view asked)
{
    gci_view a, b;
    long before[2] = { 0 };

    for (size_t i = 0; gci_next_size(&stored, &a) && gci_next_size(&asked, &b); i++) {
        if (!gci_text_is_number(a) || !gci_text_is_number(b))
            continue;
        long now[2] = { strtol(a.data, NULL, 10), strtol(b.data, NULL, 10) };
        if (before[0] != 0 && before[1] != 0 && (now[0] > before[0]) != (now[1] > before[1]))
            return false;
        before[0] = now[0];
        before[1] = now[1];
    }
    return true;
}

/* An input in which only sizes differ, with the strides that follow from them. */
static bool
only_resized(gci_diff_item const *item)
{
    gci_tensor_line stored, asked;

    if (item->follows == GCI_DIFF_SYMBOL || item->follows == GCI_DIFF_STRIDE || gci_view_contains(item->path, GCI_SHAPE_MEMBER))
        return true;
    return gci_read_tensors(item, &stored, &asked) && gci_view_equal(stored.dtype, asked.dtype) &&
           gci_view_equal(stored.device, asked.device) && same_order(stored.strides, asked.strides) &&
           gci_view_contains(stored.more, "requires_grad=True") == gci_view_contains(asked.more, "requires_grad=True");
}

/* The element of a pair of sizes that a constant follows: it is a multiple of the size, and of the other the same multiple. */
static bool
follows_pair(long stored, long asked, gci_view sizes, gci_view others)
{
    gci_view a, b;

    while (gci_next_size(&sizes, &a) && gci_next_size(&others, &b)) {
        long from = gci_text_is_number(a) ? strtol(a.data, NULL, 10) : 0, to = gci_text_is_number(b) ? strtol(b.data, NULL, 10) : 0;
        if (from > 1 && to > 1 && from != to && stored % from == 0 && asked % to == 0 && stored / from == asked / to)
            return true;
    }
    return false;
}

/* A number in the graph that is another one now, because a size is. */
static bool
follows_size(gci_near_key const *near, gci_view stored, gci_view asked)
{
    if (!gci_text_is_number(stored) || !gci_text_is_number(asked))
        return gci_text_is_symbol(stored) || gci_text_is_symbol(asked);
    long from = strtol(stored.data, NULL, 10), to = strtol(asked.data, NULL, 10);
    for (size_t i = 0; i < near->count; i++) {
        gci_diff_item const *item = &near->items[i];
        if (gci_diff_is_input(item->path) &&
            follows_pair(from, to, gci_input_sizes(item, item->stored), gci_input_sizes(item, item->asked)))
            return true;
    }
    return false;
}

/* The next number of a line that is no part of a name. */
static bool
next_number(gci_view *rest, gci_view *out)
{
    for (size_t i = 0; i < rest->size; i++) {
        if (!isdigit((unsigned char)rest->data[i]) ||
            (i != 0 && (isalnum((unsigned char)rest->data[i - 1]) || strchr("_.", rest->data[i - 1]) != NULL)))
            continue;
        size_t end = i;
        while (end < rest->size && (isalnum((unsigned char)rest->data[end]) || rest->data[end] == '.'))
            end++;
        *out = gci_view_of(rest->data + i, end - i);
        *rest = gci_view_of(rest->data + end, rest->size - end);
        return true;
    }
    return false;
}

/* The lines of a text that begin with sign, one behind the other. */
static void
append_side(gci_view hunks, char sign, gci_buf *out)
{
    gci_view line;

    while (gci_view_next_line(&hunks, &line))
        if (line.size != 0 && line.data[0] == sign) {
            gci_buf_append_view(out, gci_view_of(line.data + 1, line.size - 1));
            gci_buf_append_char(out, '\n');
        }
}

/* Numbers of a text that differ follow from sizes. Where some became symbols, those that are left are compared no further. */
static bool
numbers_follow(gci_near_key const *near, gci_view hunks)
{
    gci_view rest[2], a, b;
    gci_buf sides[2];
    bool more[2], follow = true;

    for (size_t i = 0; i < 2; i++) {
        gci_buf_init(&sides[i], GCI_BUF_NO_LIMIT);
        append_side(hunks, i == 0 ? '-' : '+', &sides[i]);
        rest[i] = gci_buf_view(&sides[i]);
    }
    do {
        more[0] = next_number(&rest[0], &a);
        more[1] = next_number(&rest[1], &b);
        follow &= !more[0] || !more[1] || gci_view_equal(a, b) || follows_size(near, a, b);
    } while (more[0] && more[1]);
    for (size_t i = 0; i < 2; i++)
        gci_buf_clear(&sides[i]);
    return follow && more[0] == more[1];
}

bool
gci_advice_follows_sizes(gci_near_key const *near, gci_diff_item const *item)
{
    if (gci_diff_is_input(item->path))
        return only_resized(item);
    if (!gci_path_is_in_graph(item->path))
        return gci_view_begins(item->path, "options.static_input_idxs") ||
               gci_view_begins(item->path, "fx_kwargs[static_input_idxs]");
    if (item->hunks.data != NULL)
        return numbers_follow(near, item->hunks);
    return item->follows != GCI_DIFF_NOTHING || follows_size(near, item->stored, item->asked);
}

static bool
is_only_size(gci_near_key const *near)
{
    for (size_t i = 0; i < near->count; i++)
        if (!gci_advice_follows_sizes(near, &near->items[i]))
            return false;
    return near->left_out == 0;
}

/* Of the sizes that differ some are numbers on both sides, others on one. */
static bool
varies_in_two_ways(gci_near_key const *near)
{
    bool found[2] = { false, false };

    for (size_t i = 0; i < near->count; i++) {
        gci_diff_item const *item = &near->items[i];
        gci_view stored = gci_input_sizes(item, item->stored), asked = gci_input_sizes(item, item->asked), a, b;
        if (!gci_input_resizes(item))
            continue;
        while (gci_next_size(&stored, &a) && gci_next_size(&asked, &b))
            if (!gci_view_equal(a, b) && (gci_text_is_number(a) || gci_text_is_number(b)))
                found[gci_text_is_number(a) && gci_text_is_number(b)] = true;
    }
    return found[0] && found[1];
}

void
gci_advice_on_sizes(gci_journal_entry const *entry, gci_near_key const *near, gci_advice_case *out)
{
    static uint64_t const varying = GCI_FACT_BIT(SIZES) | GCI_FACT_BIT(TO_SYMBOL);

    /* One of them being dynamic alone makes no entry fit both. */
    if ((out->facts & (varying | GCI_FACT_BIT(FROM_SYMBOL))) != 0 && varies_in_two_ways(near))
        out->facts = (out->facts & ~(GCI_FACT_BIT(TO_SYMBOL) | GCI_FACT_BIT(FROM_SYMBOL))) | GCI_FACT_BIT(SIZES);
    if ((out->facts & varying) == 0)
        return;
    /* What nobody passes can't be marked: the forward's miss says what to do. */
    if (entry->context.request.label != NULL && strstr(entry->context.request.label, BACKWARD) != NULL) {
        out->facts &= ~varying;
        return;
    }
    if ((out->facts & GCI_FACT_BIT(SIZES)) != 0 && has_resized_parameter(entry, near))
        out->facts |= GCI_FACT_BIT(PARAMETER);
    if (is_only_size(near))
        out->facts |= GCI_FACT_BIT(ONLY_SIZE);
    note_marks(entry, near, out);
}
