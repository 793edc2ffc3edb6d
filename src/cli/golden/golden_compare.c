/*
 * What differs between two golden files, line by line: lines are known by their description or their event's number, so
 * that an event that was added doesn't shift all others.
 */
#include "base/text/json.h"
#include "cli/golden/golden.h"

#include <stdlib.h>

/* Both files' trees. */
#define COMPARE_MAX_BYTES ((size_t)4 << 30)
/* Longer values are cut: the file has them whole. */
#define VALUE_SHOWN 90

typedef struct golden_line {
    gci_value map;
    gci_view subject; /* "event 17", "graphs/3f2a.json", "rules fx"; empty: nothing that is known */
    gci_view outcome; /* "hit", "miss (guard_false)"; empty for what is no event */
} golden_line;

typedef struct golden_lines {
    golden_line *items;
    size_t count;
} golden_lines;

/* ---- reading ---- */

static gci_view
text_member(gci_value const *map, char const *name)
{
    gci_value const *value = gci_map_find(map, name);

    return value != NULL && value->type == GCI_STRING ? value->text : (gci_view){ 0 };
}

static bool
describe(golden_line *line, gci_arena *arena)
{
    gci_value const *seq = gci_map_find(&line->map, "seq");
    gci_view rules = text_member(&line->map, "rules"), reason = text_member(&line->map, "reason");
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (seq != NULL && seq->type == GCI_INT)
        gci_buf_format(&text, "event %lld", (long long)seq->integer);
    else if (rules.size != 0)
        gci_buf_format(&text, "rules %.*s", (int)rules.size, rules.data);
    else
        gci_buf_append_view(&text, text_member(&line->map, "graph"));
    line->subject = gci_arena_copy(arena, gci_buf_view(&text));
    text.size = 0;
    gci_buf_append_view(&text, text_member(&line->map, "outcome"));
    if (reason.size != 0)
        gci_buf_format(&text, " (%.*s)", (int)reason.size, reason.data);
    line->outcome = gci_arena_copy(arena, gci_buf_view(&text));
    gci_buf_clear(&text);
    return line->subject.data != NULL && line->outcome.data != NULL;
}

static bool
read_lines(gci_view text, gci_arena *arena, golden_lines *out)
{
    size_t room = 1;

    for (size_t i = 0; i < text.size; i++)
        room += text.data[i] == '\n';
    *out = (golden_lines){ .items = gci_arena_array(arena, room, sizeof *out->items) };
    for (gci_view line; out->items != NULL && gci_view_next_line(&text, &line);) {
        golden_line *item = &out->items[out->count];
        if (line.size == 0)
            continue;
        if (gci_json_read(line, CLI_GOLDEN_NAME, arena, &item->map, NULL) != GCACHE_OK || item->map.type != GCI_MAP ||
            !describe(item, arena))
            return false;
        out->count++;
    }
    return out->items != NULL;
}

/* ---- values ---- */

static bool
same(gci_value const *a, gci_value const *b)
{
    gci_buf texts;

    gci_buf_init(&texts, GCI_BUF_NO_LIMIT);
    gci_json_write(&texts, a);
    size_t size = texts.size;
    gci_json_write(&texts, b);
    bool equal = texts.size == 2 * size && memcmp(texts.data, texts.data + size, size) == 0;
    gci_buf_clear(&texts);
    return equal;
}

static void
write_value(gci_buf *out, gci_value const *value)
{
    size_t start = out->size;

    if (value == NULL)
        gci_buf_append_text(out, "nothing");
    else
        gci_json_write(out, value);
    if (out->size - start < VALUE_SHOWN)
        return;
    out->size = start + VALUE_SHOWN;
    gci_buf_append_text(out, "...");
}

static void
write_change(gci_buf *out, gci_view path, gci_value const *was, gci_value const *is)
{
    gci_buf_format(out, "        %.*s: ", (int)path.size, path.data);
    write_value(out, was);
    gci_buf_append_text(out, " -> ");
    write_value(out, is);
    gci_buf_append_char(out, '\n');
}

static gci_value const *
member_of(gci_value const *map, gci_view name)
{
    for (uint32_t i = 0; i < map->count; i++)
        if (gci_view_equal(map->members[i].name, name))
            return &map->members[i].value;
    return NULL;
}

static void compare_values(gci_buf *path, gci_value const *was, gci_value const *is, gci_buf *out);

static void
compare_members(gci_buf *path, gci_value const *was, gci_value const *is, gci_buf *out)
{
    size_t mark = path->size;

    for (uint32_t i = 0; i < was->count; i++) {
        gci_buf_format(path, "%s%.*s", mark != 0 ? "." : "", (int)was->members[i].name.size, was->members[i].name.data);
        compare_values(path, &was->members[i].value, member_of(is, was->members[i].name), out);
        path->size = mark;
    }
    for (uint32_t i = 0; i < is->count; i++) {
        if (member_of(was, is->members[i].name) != NULL)
            continue;
        gci_buf_format(path, "%s%.*s", mark != 0 ? "." : "", (int)is->members[i].name.size, is->members[i].name.data);
        write_change(out, gci_buf_view(path), NULL, &is->members[i].value);
        path->size = mark;
    }
}

static void
compare_items(gci_buf *path, gci_value const *was, gci_value const *is, gci_buf *out)
{
    size_t mark = path->size;
    uint32_t most = was->count > is->count ? was->count : is->count;

    for (uint32_t i = 0; i < most; i++) {
        gci_buf_format(path, "[%u]", i);
        compare_values(path, i < was->count ? &was->items[i] : NULL, i < is->count ? &is->items[i] : NULL, out);
        path->size = mark;
    }
}

/* Writes the places where two values differ, as deep as they are alike in kind. One of them may be NULL. */
static void
compare_values(gci_buf *path, gci_value const *was, gci_value const *is, gci_buf *out)
{
    bool both = was != NULL && is != NULL;

    if (both && same(was, is))
        return;
    if (both && was->type == GCI_MAP && is->type == GCI_MAP)
        compare_members(path, was, is, out);
    else if (both && was->type == GCI_LIST && is->type == GCI_LIST)
        compare_items(path, was, is, out);
    else
        write_change(out, gci_buf_view(path), was, is);
}

/* ---- lines ---- */

/* The line about the same thing; NULL if there is none. Lines are nearly always in the same place. */
static golden_line const *
find_line(golden_lines const *lines, golden_line const *wanted, size_t near)
{
    if (wanted->subject.size == 0)
        return NULL;
    if (near < lines->count && gci_view_equal(lines->items[near].subject, wanted->subject))
        return &lines->items[near];
    for (size_t i = 0; i < lines->count; i++)
        if (gci_view_equal(lines->items[i].subject, wanted->subject))
            return &lines->items[i];
    return NULL;
}

static void
write_what(gci_buf *out, golden_line const *line, char const *what)
{
    gci_buf_format(out, "    %.*s: %s\n", (int)line->subject.size, line->subject.data, what);
}

static void
write_difference(gci_buf *out, golden_line const *was, golden_line const *is)
{
    gci_buf path;

    if (!gci_view_equal(was->outcome, is->outcome))
        gci_buf_format(out, "    %.*s: %s became %s\n", (int)was->subject.size, was->subject.data, was->outcome.data,
                       is->outcome.data);
    else
        write_what(out, was, gci_map_find(&was->map, "seq") != NULL   ? "another result"
                             : gci_map_find(&was->map, "set") != NULL ? "another rule set"
                                                                      : "another key");
    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    compare_members(&path, &was->map, &is->map, out);
    gci_buf_clear(&path);
}

static size_t
compare_lines(golden_lines const *expected, golden_lines const *found, size_t room, gci_buf *out)
{
    size_t count = 0;

    for (size_t i = 0; i < expected->count; i++) {
        golden_line const *was = &expected->items[i], *is = find_line(found, was, i);
        if ((is != NULL && same(&was->map, &is->map)) || count++ >= room)
            continue;
        if (is != NULL)
            write_difference(out, was, is);
        else
            write_what(out, was, "it is gone");
    }
    for (size_t i = 0; i < found->count; i++)
        if (find_line(expected, &found->items[i], i) == NULL && count++ < room)
            write_what(out, &found->items[i], "it is new");
    return count;
}

size_t
cli_golden_compare(gci_view expected, gci_view found, size_t room, gci_buf *out)
{
    golden_lines was, is;
    gci_arena arena;
    size_t count = 1;

    if (gci_view_equal(expected, found))
        return 0;
    gci_arena_init(&arena, COMPARE_MAX_BYTES);
    if (read_lines(expected, &arena, &was) && read_lines(found, &arena, &is))
        count = compare_lines(&was, &is, room, out);
    else
        gci_buf_append_text(out, "    " CLI_GOLDEN_NAME " is no golden file\n");
    if (count > room)
        gci_buf_format(out, "    and %zu more\n", count - room);
    gci_arena_clear(&arena);
    return count;
}
