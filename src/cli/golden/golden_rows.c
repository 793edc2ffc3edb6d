/*
 * Where two records of golden files differ, as rows of text: a path, what was, what is.
 */
#include "cli/golden/golden_rows.h"
#include "base/text/json.h"
#include "cli/shared/cli.h"

#include <stdio.h>

/* Longer values are shown around their first difference: the file has them whole. */
#define VALUE_SHOWN 90
/* What stands before the first difference then. */
#define VALUE_BEFORE 24
/* Places shown of a record; where there are more, they mostly say the same. */
#define ROWS_SHOWN 3
/* "nothing -> 4294967295 items" */
#define ROW_BYTES 40
/* Hexadecimal digits of a key, and of an entry's id. */
#define KEY_DIGITS 64
#define ID_DIGITS 32

static bool
is_hash(gci_value const *value, size_t digits)
{
    if (value == NULL || value->type != GCI_STRING || value->text.size != digits)
        return false;
    for (size_t i = 0; i < digits; i++)
        if (gci_hex_digit(value->text.data[i]) < 0)
            return false;
    return true;
}

/* A text from its first difference on, if it is too long; never amid a character. */
static void
write_part(gci_buf *out, gci_view text, size_t differs)
{
    size_t start = text.size <= VALUE_SHOWN || differs < VALUE_BEFORE ? 0 : differs - VALUE_BEFORE;
    size_t end = text.size - start > VALUE_SHOWN ? start + VALUE_SHOWN : text.size;

    while (start > 0 && ((unsigned char)text.data[start] & 0xC0) == 0x80)
        start--;
    while (end < text.size && ((unsigned char)text.data[end] & 0xC0) == 0x80)
        end++;
    gci_buf_append_text(out, start > 0 ? "..." : "");
    gci_buf_append(out, text.data + start, end - start);
    gci_buf_append_text(out, end < text.size ? "..." : "");
}

static void
write_pair(gci_buf *out, gci_value const *was, gci_value const *is)
{
    gci_buf texts[2];
    gci_view views[2];
    size_t differs = 0;

    for (int side = 0; side < 2; side++) {
        gci_value const *value = side == 0 ? was : is;
        gci_buf_init(&texts[side], GCI_BUF_NO_LIMIT);
        if (value != NULL)
            gci_json_write(&texts[side], value);
        else
            gci_buf_append_text(&texts[side], "nothing");
        views[side] = gci_buf_view(&texts[side]);
        out->failed |= texts[side].failed;
    }
    while (differs < views[0].size && differs < views[1].size && views[0].data[differs] == views[1].data[differs])
        differs++;
    write_part(out, views[0], differs);
    gci_buf_append_text(out, " -> ");
    write_part(out, views[1], differs);
    gci_buf_clear(&texts[0]);
    gci_buf_clear(&texts[1]);
}

static void
write_row(cli_rows *out, gci_value const *was, gci_value const *is)
{
    bool key = is_hash(was, KEY_DIGITS) && is_hash(is, KEY_DIGITS), id = is_hash(was, ID_DIGITS) && is_hash(is, ID_DIGITS);

    out->hashes.keys += key;
    out->hashes.ids += id;
    if (key || id || out->count++ >= ROWS_SHOWN)
        return;
    gci_buf_append_view(&out->text, gci_buf_view(&out->path));
    gci_buf_append_text(&out->text, ": ");
    write_pair(&out->text, was, is);
    gci_buf_append_char(&out->text, '\n');
}

static void compare_values(cli_rows *out, gci_value const *was, gci_value const *is);

void
cli_rows_compare(cli_rows *out, gci_view name, gci_value const *was, gci_value const *is)
{
    size_t mark = out->path.size;

    gci_buf_append_text(&out->path, mark != 0 ? "." : "");
    gci_buf_append_view(&out->path, name);
    compare_values(out, was, is);
    out->path.size = mark;
}

void
cli_rows_compare_members(cli_rows *out, gci_value const *was, gci_value const *is)
{
    for (uint32_t i = 0; i < was->count; i++)
        cli_rows_compare(out, was->members[i].name, &was->members[i].value, gci_map_member(is, was->members[i].name));
    for (uint32_t i = 0; i < is->count; i++)
        if (gci_map_member(was, is->members[i].name) == NULL)
            cli_rows_compare(out, is->members[i].name, NULL, &is->members[i].value);
}

static void
write_text_row(cli_rows *out, char const *text)
{
    if (out->count++ >= ROWS_SHOWN)
        return;
    gci_buf_append_view(&out->text, gci_buf_view(&out->path));
    gci_buf_format(&out->text, ": %s\n", text);
}

/* A list where there was none, or none where there was one: how long it is says enough. */
static void
write_counts(cli_rows *out, uint32_t was, uint32_t is)
{
    char text[ROW_BYTES];

    snprintf(text, sizeof text, is == 0 ? "%u items -> nothing" : "nothing -> %u items", is == 0 ? was : is);
    write_text_row(out, text);
}

/* What an item of a list is known by, if it is a map: the path that differs, a candidate's entry. */
static gci_view
item_name(gci_value const *item)
{
    gci_view path = item->type == GCI_MAP ? cli_golden_text(item, "path") : (gci_view){ 0 };

    return path.size != 0 || item->type != GCI_MAP ? path : cli_golden_text(item, "entry");
}

/* The item of another list that one is to be compared with: an equal one, else one of its name, else, of items without names, the
   one in its place. UINT32_MAX: there is none. */
static uint32_t
partner_of(gci_value const *list, uint32_t at, gci_value const *others)
{
    gci_value const *item = &list->items[at];
    gci_view name = item_name(item);
    uint32_t named = UINT32_MAX;

    if (at < others->count && gci_value_equal(item, &others->items[at]))
        return at;
    for (uint32_t i = 0; i < others->count; i++) {
        if (gci_value_equal(item, &others->items[i]))
            return i;
        if (named == UINT32_MAX && name.size != 0 && gci_view_equal(item_name(&others->items[i]), name))
            named = i;
    }
    bool in_place = name.size == 0 && at < others->count && item_name(&others->items[at]).size == 0;
    for (uint32_t i = 0; in_place && i < list->count; i++)
        in_place = !gci_value_equal(&list->items[i], &others->items[at]);
    return in_place ? at : named;
}

/* One item more or less is one row, wherever it stands. */
static void
compare_items(cli_rows *out, gci_value const *was, gci_value const *is)
{
    size_t mark = out->path.size, before = out->count + out->hashes.keys + out->hashes.ids;

    for (uint32_t i = 0; i < was->count; i++) {
        uint32_t partner = partner_of(was, i, is);
        gci_buf_format(&out->path, "[%u]", i);
        compare_values(out, &was->items[i], partner != UINT32_MAX ? &is->items[partner] : NULL);
        out->path.size = mark;
    }
    for (uint32_t i = 0; i < is->count; i++) {
        if (partner_of(is, i, was) != UINT32_MAX)
            continue;
        gci_buf_format(&out->path, "[%u]", i);
        compare_values(out, NULL, &is->items[i]);
        out->path.size = mark;
    }
    if (out->count + out->hashes.keys + out->hashes.ids == before)
        write_text_row(out, was->count == is->count ? "the same in another order" : "the same, in another number");
}

/* A list that isn't there has no items: empty ones aren't written. */
static gci_value const *
list_beside(gci_value const *one, gci_value const *other)
{
    static gci_value const empty = { .type = GCI_LIST };

    return one == NULL && other != NULL && other->type == GCI_LIST ? &empty : one;
}

/* Writes the places where two values differ, as deep as they are alike in kind. One of them may be NULL. */
static void
compare_values(cli_rows *out, gci_value const *was, gci_value const *is)
{
    was = list_beside(was, is);
    is = list_beside(is, was);
    if (was == NULL && is == NULL)
        return;
    bool both = was != NULL && is != NULL, lists = both && was->type == GCI_LIST && is->type == GCI_LIST;

    if (both && gci_value_equal(was, is))
        return;
    if (both && was->type == GCI_MAP && is->type == GCI_MAP)
        cli_rows_compare_members(out, was, is);
    else if (lists && (was->count == 0 || is->count == 0) && was->count + is->count > 1)
        write_counts(out, was->count, is->count);
    else if (lists)
        compare_items(out, was, is);
    else
        write_row(out, was, is);
}

void
cli_rows_init(cli_rows *out)
{
    *out = (cli_rows){ 0 };
    gci_buf_init(&out->text, GCI_BUF_NO_LIMIT);
    gci_buf_init(&out->path, GCI_BUF_NO_LIMIT);
}

void
cli_rows_end(cli_rows *rows)
{
    if (rows->count > ROWS_SHOWN)
        gci_buf_format(&rows->text, "and in %s\n", cli_count(rows->count - ROWS_SHOWN, "more place", "more places").text);
}
