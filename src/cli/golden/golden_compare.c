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

typedef struct golden_lines {
    gci_value *items;
    size_t count;
} golden_lines;

static bool
read_lines(gci_view text, gci_arena *arena, golden_lines *out)
{
    size_t room = 1;

    for (size_t i = 0; i < text.size; i++)
        room += text.data[i] == '\n';
    *out = (golden_lines){ .items = gci_arena_array(arena, room, sizeof *out->items) };
    for (gci_view line; out->items != NULL && gci_view_next_line(&text, &line);) {
        gci_value *item = &out->items[out->count];
        if (line.size == 0)
            continue;
        if (gci_json_read(line, CLI_GOLDEN_NAME, arena, item, NULL) != GCACHE_OK || item->type != GCI_MAP)
            return false;
        out->count++;
    }
    return out->items != NULL;
}

/* ---- values ---- */

static bool
same(gci_value const *a, gci_value const *b)
{
    gci_buf left, right;

    gci_buf_init(&left, GCI_BUF_NO_LIMIT);
    gci_buf_init(&right, GCI_BUF_NO_LIMIT);
    gci_json_write(&left, a);
    gci_json_write(&right, b);
    bool equal = gci_view_equal(gci_buf_view(&left), gci_buf_view(&right));
    gci_buf_clear(&left);
    gci_buf_clear(&right);
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

/* What a line is about: an event's number, a description's file, a rule set's name; NULL: nothing that is known. */
static char const *const subjects[] = { "seq", "graph", "rules" };

static gci_value const *
subject_of(gci_value const *line, char const **out_kind)
{
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        gci_value const *found = gci_map_find(line, subjects[i]);
        *out_kind = subjects[i];
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* "event 17", "graphs/3f2a.json", "rules fx" */
static void
write_subject(gci_buf *out, gci_value const *line)
{
    char const *kind;
    gci_value const *subject = subject_of(line, &kind);

    if (subject != NULL && subject->type == GCI_INT)
        gci_buf_format(out, "event %lld", (long long)subject->integer);
    else if (subject != NULL && subject->type == GCI_STRING)
        gci_buf_format(out, "%s%.*s", strcmp(kind, "rules") == 0 ? "rules " : "", (int)subject->text.size, subject->text.data);
}

static bool
same_subject(gci_value const *a, gci_value const *b)
{
    char const *a_kind, *b_kind;
    gci_value const *a_subject = subject_of(a, &a_kind), *b_subject = subject_of(b, &b_kind);

    return a_subject != NULL && b_subject != NULL && strcmp(a_kind, b_kind) == 0 && same(a_subject, b_subject);
}

/* Lines are nearly always in the same place. */
static gci_value const *
find_line(golden_lines const *lines, gci_value const *wanted, size_t near)
{
    if (near < lines->count && same_subject(&lines->items[near], wanted))
        return &lines->items[near];
    for (size_t i = 0; i < lines->count; i++)
        if (same_subject(&lines->items[i], wanted))
            return &lines->items[i];
    return NULL;
}

/* "hit", "miss (guard_false)" */
static void
write_outcome(gci_buf *out, gci_value const *line)
{
    gci_value const *outcome = gci_map_find(line, "outcome"), *reason = gci_map_find(line, "reason");

    if (outcome != NULL && outcome->type == GCI_STRING)
        gci_buf_append_view(out, outcome->text);
    if (reason != NULL && reason->type == GCI_STRING)
        gci_buf_format(out, " (%.*s)", (int)reason->text.size, reason->text.data);
}

static void
write_difference(gci_buf *out, gci_value const *was, gci_value const *is)
{
    gci_buf path, before, after;

    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    gci_buf_init(&before, GCI_BUF_NO_LIMIT);
    gci_buf_init(&after, GCI_BUF_NO_LIMIT);
    write_outcome(&before, was);
    write_outcome(&after, is);
    gci_buf_append_text(out, "    ");
    write_subject(out, was);
    if (gci_view_equal(gci_buf_view(&before), gci_buf_view(&after)))
        gci_buf_append_text(out, gci_map_find(was, "seq") != NULL   ? ": another result"
                                 : gci_map_find(was, "set") != NULL ? ": another rule set"
                                                                    : ": another key");
    else
        gci_buf_format(out, ": %.*s became %.*s", (int)before.size, before.data, (int)after.size, after.data);
    gci_buf_append_char(out, '\n');
    compare_members(&path, was, is, out);
    gci_buf_clear(&path);
    gci_buf_clear(&before);
    gci_buf_clear(&after);
}

static void
write_lonely(gci_buf *out, gci_value const *line, char const *what)
{
    gci_buf_append_text(out, "    ");
    write_subject(out, line);
    gci_buf_format(out, ": %s\n", what);
}

static size_t
compare_lines(golden_lines const *expected, golden_lines const *found, size_t room, gci_buf *out)
{
    size_t count = 0;

    for (size_t i = 0; i < expected->count; i++) {
        gci_value const *is = find_line(found, &expected->items[i], i);
        if (is != NULL && same(&expected->items[i], is))
            continue;
        if (count++ >= room)
            continue;
        if (is != NULL)
            write_difference(out, &expected->items[i], is);
        else
            write_lonely(out, &expected->items[i], "it is gone");
    }
    for (size_t i = 0; i < found->count; i++)
        if (find_line(expected, &found->items[i], i) == NULL && count++ < room)
            write_lonely(out, &found->items[i], "it is new");
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
