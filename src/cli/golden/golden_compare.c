/*
 * What differs between two golden files, record by record: records are known by their description or their event's number, so
 * that an event that was added doesn't shift all others.
 */
#include "base/array.h"
#include "base/text/json.h"
#include "cli/golden/golden_change.h"
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

#define OTHER_DESCRIPTION "it is about another description"
#define OTHER_GUARDS "stored with other guards"

enum { RANK_RULES, RANK_DESCRIPTION, RANK_OUTCOME, RANK_EVENT };

typedef struct comparison {
    cli_golden const *expected, *found;
    cli_changes *changes;
    gci_arena *arena;
} comparison;

/* Rows below a change while they are written. */
typedef struct rows {
    gci_buf text, path;
    size_t count;
    cli_hashes hashes;
} rows;

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

static gci_value const *
member_of(gci_value const *map, gci_view name)
{
    for (uint32_t i = 0; i < map->count; i++)
        if (gci_view_equal(map->members[i].name, name))
            return &map->members[i].value;
    return NULL;
}

/* Members by name: a file that was edited by hand may have them in another order. */
static bool
same_members(gci_value const *was, gci_value const *is)
{
    bool equal = was->count == is->count;

    for (uint32_t i = 0; equal && i < was->count; i++) {
        gci_value const *other = member_of(is, was->members[i].name);
        equal = other != NULL && same(&was->members[i].value, other);
    }
    return equal;
}

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

/* ---- rows ---- */

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
write_row(rows *out, gci_value const *was, gci_value const *is)
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

static void compare_values(rows *out, gci_value const *was, gci_value const *is);

static void
compare_member(rows *out, gci_view name, gci_value const *was, gci_value const *is)
{
    size_t mark = out->path.size;

    gci_buf_append_text(&out->path, mark != 0 ? "." : "");
    gci_buf_append_view(&out->path, name);
    compare_values(out, was, is);
    out->path.size = mark;
}

static void
compare_members(rows *out, gci_value const *was, gci_value const *is)
{
    for (uint32_t i = 0; i < was->count; i++)
        compare_member(out, was->members[i].name, &was->members[i].value, member_of(is, was->members[i].name));
    for (uint32_t i = 0; i < is->count; i++)
        if (member_of(was, is->members[i].name) == NULL)
            compare_member(out, is->members[i].name, NULL, &is->members[i].value);
}

static void
write_text_row(rows *out, char const *text)
{
    if (out->count++ >= ROWS_SHOWN)
        return;
    gci_buf_append_view(&out->text, gci_buf_view(&out->path));
    gci_buf_format(&out->text, ": %s\n", text);
}

/* A list where there was none, or none where there was one: how long it is says enough. */
static void
write_counts(rows *out, uint32_t was, uint32_t is)
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

    if (at < others->count && same(item, &others->items[at]))
        return at;
    for (uint32_t i = 0; i < others->count; i++) {
        if (same(item, &others->items[i]))
            return i;
        if (named == UINT32_MAX && name.size != 0 && gci_view_equal(item_name(&others->items[i]), name))
            named = i;
    }
    bool in_place = name.size == 0 && at < others->count && item_name(&others->items[at]).size == 0;
    for (uint32_t i = 0; in_place && i < list->count; i++)
        in_place = !same(&list->items[i], &others->items[at]);
    return in_place ? at : named;
}

/* One item more or less is one row, wherever it stands. */
static void
compare_items(rows *out, gci_value const *was, gci_value const *is)
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
compare_values(rows *out, gci_value const *was, gci_value const *is)
{
    was = list_beside(was, is);
    is = list_beside(is, was);
    if (was == NULL && is == NULL)
        return;
    bool both = was != NULL && is != NULL, lists = both && was->type == GCI_LIST && is->type == GCI_LIST;

    if (both && same(was, is))
        return;
    if (both && was->type == GCI_MAP && is->type == GCI_MAP)
        compare_members(out, was, is);
    else if (lists && (was->count == 0 || is->count == 0) && was->count + is->count > 1)
        write_counts(out, was->count, is->count);
    else if (lists)
        compare_items(out, was, is);
    else
        write_row(out, was, is);
}

static void
rows_init(rows *out)
{
    *out = (rows){ 0 };
    gci_buf_init(&out->text, GCI_BUF_NO_LIMIT);
    gci_buf_init(&out->path, GCI_BUF_NO_LIMIT);
}

/* ---- changes ---- */

static gci_view
keep(comparison *c, gci_buf *text)
{
    c->arena->failed |= text->failed;
    gci_view kept = gci_arena_copy(c->arena, gci_buf_view(text));
    gci_buf_clear(text);
    return kept;
}

static cli_change *
add(comparison *c, cli_golden_record const *was, cli_golden_record const *is, int rank, char const *reason)
{
    if (!GCI_ARRAY_HAS_ROOM(c->changes, items)) {
        c->arena->failed = true;
        return NULL;
    }
    cli_change *change = &c->changes->items[c->changes->count++];
    *change = (cli_change){ .was = was, .is = is, .rank = rank, .reason = gci_view_text(reason), .cause = CLI_NO_CAUSE };
    change->subject = cli_golden_subject(cli_change_record(change), c->arena);
    return change;
}

static void
add_rows(comparison *c, cli_change *change, rows *from)
{
    if (from->count > ROWS_SHOWN)
        gci_buf_format(&from->text, "and in %s\n", cli_count(from->count - ROWS_SHOWN, "more place", "more places").text);
    gci_view details = keep(c, &from->text);
    c->arena->failed |= from->path.failed;
    gci_buf_clear(&from->path);
    if (change == NULL)
        return;
    change->details = details;
    change->hashes = from->hashes;
}

/* Index of the change about a record; CLI_NO_CAUSE: it is as it was. */
static size_t
change_of(comparison const *c, cli_golden_part part, gci_view name)
{
    for (size_t i = 0; i < c->changes->count; i++) {
        cli_golden_record const *record = cli_change_record(&c->changes->items[i]);
        if (record->part == part && gci_view_equal(record->name, name))
            return i;
    }
    return CLI_NO_CAUSE;
}

/* ---- rules and descriptions ---- */

static void
compare_rules(comparison *c, cli_golden_record const *was, cli_golden_record const *is)
{
    rows out;

    rows_init(&out);
    compare_members(&out, &was->map, &is->map);
    add_rows(c, add(c, was, is, RANK_RULES, "another rule set"), &out);
}

/* The names of components that differ, as a reason; the count of them. */
static size_t
write_components(gci_buf *out, gci_value const *was, gci_value const *is)
{
    size_t count = 0;

    for (int side = 0; side < 2; side++) {
        gci_value const *one = side == 0 ? was : is, *other = side == 0 ? is : was;
        for (uint32_t i = 0; one != NULL && i < one->count; i++) {
            gci_value const *hash = other != NULL ? member_of(other, one->members[i].name) : NULL;
            if (hash != NULL && (side == 1 || same(hash, &one->members[i].value)))
                continue;
            gci_buf_append_text(out, count++ != 0 ? ", " : "");
            gci_buf_append_view(out, one->members[i].name);
            gci_buf_append_text(out, hash != NULL ? "" : side == 0 ? " (gone)" : " (new)");
        }
    }
    return count;
}

/* The rule set of its kind changed: that says it all. Else the components that differ do, and the key is what follows. */
static void
compare_descriptions(comparison *c, cli_golden_record const *was, cli_golden_record const *is)
{
    gci_buf names, text;

    gci_buf_init(&names, GCI_BUF_NO_LIMIT);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    size_t components = write_components(&names, gci_map_find(&was->map, "components"), gci_map_find(&is->map, "components"));
    if (components == 0)
        gci_buf_append_text(&text, "another key, though all its components are as they were");
    else
        gci_buf_format(&text, "component%s %.*s %s", components == 1 ? "" : "s", (int)names.size, names.data,
                       components == 1 ? "differs" : "differ");
    gci_buf_clear(&names);
    gci_view reason = keep(c, &text);
    size_t cause = change_of(c, CLI_GOLDEN_RULES, cli_golden_text(&is->map, "kind"));
    cli_change *change = add(c, was, is, RANK_DESCRIPTION, NULL);
    if (change == NULL)
        return;
    change->reason = reason;
    change->cause = cause;
    change->hashes = (cli_hashes){ .keys = components != 0 || cause != CLI_NO_CAUSE,
                                   .components = cause != CLI_NO_CAUSE ? components : 0 };
}

/* ---- events ---- */

static gci_view
outcome_of(comparison *c, cli_golden_record const *event)
{
    gci_view reason = cli_golden_text(&event->map, "reason");
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_view(&text, cli_golden_text(&event->map, "outcome"));
    if (reason.size != 0)
        gci_buf_format(&text, " (%.*s)", (int)reason.size, reason.data);
    return keep(c, &text);
}

static gci_value const *
list_of(gci_value const *map, char const *name)
{
    gci_value const *list = map != NULL ? gci_map_find(map, name) : NULL;

    return list != NULL && list->type == GCI_LIST ? list : NULL;
}

/* The candidate that decided: the first that failed for the event's reason. */
static gci_value const *
deciding(cli_golden_record const *event)
{
    gci_value const *list = list_of(gci_map_find(&event->map, "why"), "candidates");
    gci_view reason = cli_golden_text(&event->map, "reason");

    for (uint32_t i = 0; list != NULL && i < list->count; i++)
        if (list->items[i].type == GCI_MAP && gci_view_equal(cli_golden_text(&list->items[i], "outcome"), reason))
            return &list->items[i];
    return NULL;
}

static void
append(gci_buf *out, char const *before, gci_view text)
{
    if (text.size == 0)
        return;
    gci_buf_append_text(out, before);
    gci_buf_append_view(out, text);
}

/* What decided that an event missed: a candidate, or what differs from the nearest key. */
static void
write_why(gci_buf *out, cli_golden_record const *event)
{
    gci_value const *candidate = deciding(event), *why = gci_map_find(&event->map, "why"), *differs = list_of(why, "differs");
    gci_value const *requirement = candidate != NULL ? gci_map_find(candidate, "requirement") : NULL;

    if (candidate != NULL) {
        append(out, "", cli_golden_text(candidate, "part"));
        append(out, ": ", cli_golden_text(candidate, "arithmetic"));
    }
    if (requirement != NULL && requirement->type == GCI_MAP) {
        append(out, "requires ", cli_golden_text(requirement, "name"));
        append(out, " = ", cli_golden_text(requirement, "stored"));
        append(out, ", asked with ", cli_golden_text(requirement, "asked"));
    }
    if (candidate != NULL)
        append(out, out->size != 0 ? "   of the entry of " : "the entry of ", cli_golden_text(candidate, "entry"));
    if (differs == NULL || differs->count == 0 || differs->items[0].type != GCI_MAP)
        return;
    append(out, "nearest is ", cli_golden_text(why, "nearest"));
    append(out, ", where ", cli_golden_text(&differs->items[0], "path"));
    append(out, " was stored as ", cli_golden_text(&differs->items[0], "stored"));
    append(out, " and is asked as ", cli_golden_text(&differs->items[0], "asked"));
}

/* An event's result in a line: `was   s0 % 8 == 0: 12 % 8 = 4   of the entry of event 2`. */
static void
write_state(gci_buf *out, char const *when, cli_golden_record const *event)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (gci_view_is(cli_golden_text(&event->map, "outcome"), "hit"))
        append(&text, "the entry of ", cli_golden_text(&event->map, "entry"));
    append(&text, ", variant ", cli_golden_text(&event->map, "variant"));
    append(&text, "", cli_golden_text(&event->map, "message"));
    write_why(&text, event);
    if (text.size != 0)
        gci_buf_format(out, "%s   %.*s\n", when, (int)text.size, text.data);
    out->failed |= text.failed;
    gci_buf_clear(&text);
}

/* What was asked otherwise: another description, the guards of an insert that is refused or isn't any more. */
static void
write_member(comparison *c, gci_buf *out, gci_view name, cli_golden_record const *was, cli_golden_record const *is)
{
    rows found;

    rows_init(&found);
    compare_member(&found, name, member_of(&was->map, name), member_of(&is->map, name));
    gci_buf_append_view(out, gci_buf_view(&found.text));
    c->arena->failed |= found.text.failed || found.path.failed;
    gci_buf_clear(&found.text);
    gci_buf_clear(&found.path);
}

/* An event that ends otherwise. */
static void
compare_outcomes(comparison *c, cli_golden_record const *was, cli_golden_record const *is)
{
    gci_view then = outcome_of(c, was), now = outcome_of(c, is);
    cli_change *change = add(c, was, is, RANK_OUTCOME, NULL);
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "%.*s became %.*s", (int)then.size, then.data, (int)now.size, now.data);
    gci_view reason = keep(c, &text);
    write_member(c, &text, (gci_view)GCI_VIEW("graph"), was, is);
    write_member(c, &text, (gci_view)GCI_VIEW("guards"), was, is);
    write_state(&text, "was", was);
    write_state(&text, "is ", is);
    if (is->expected != NULL) {
        gci_buf_append_text(&text, "the trace expects ");
        gci_json_write(&text, is->expected);
        gci_buf_append_char(&text, '\n');
    }
    gci_view details = keep(c, &text);
    if (change == NULL)
        return;
    change->reason = reason;
    change->details = details;
}

/* What it says that a member differs. */
typedef struct member_reason {
    char const *member, *text;
} member_reason;

/* Whether a member of one of two maps, which may be NULL, is another one in the other. */
static bool
member_differs(gci_value const *was, gci_value const *is, char const *name)
{
    gci_value const *a = was != NULL ? gci_map_find(was, name) : NULL, *b = is != NULL ? gci_map_find(is, name) : NULL;

    return (a == NULL) != (b == NULL) || (a != NULL && !same(a, b));
}

/* Of the first member that differs, in the order of a table that ends with a reason for the rest. */
static char const *
first_reason(member_reason const *reasons, gci_value const *was, gci_value const *is)
{
    while (reasons->member != NULL && !member_differs(was, is, reasons->member))
        reasons++;
    return reasons->text;
}

static char const *
reason_of(gci_value const *was, gci_value const *is)
{
    static member_reason const of_event[] = {
        { "op", "another operation" },
        { "graph", OTHER_DESCRIPTION },
        { "guards", OTHER_GUARDS },
        { "key", "another key" },
        { "variant", "another variant" },
        { "entry", "another entry" },
        { "message", "another message" },
        { "why", NULL },
        { NULL, "another result" },
    };
    static member_reason const of_why[] = {
        { "nearest", "another key is the nearest" },
        { "differs", "other differences from the nearest key" },
        { "candidates", "the candidates fail for other reasons" },
        { "advice", "another advice" },
        { NULL, "another explanation" },
    };
    char const *text = first_reason(of_event, was, is);

    return text != NULL ? text : first_reason(of_why, gci_map_find(was, "why"), gci_map_find(is, "why"));
}

/* The change that an event's hashes follow from: its description's. */
static size_t
cause_of(comparison const *c, cli_golden_record const *event)
{
    gci_view graph = cli_golden_text(&event->map, "graph");

    return graph.size != 0 ? change_of(c, CLI_GOLDEN_DESCRIPTION, graph) : CLI_NO_CAUSE;
}

static void
compare_events(comparison *c, cli_golden_record const *was, cli_golden_record const *is)
{
    rows out;

    if (!gci_view_equal(outcome_of(c, was), outcome_of(c, is))) {
        compare_outcomes(c, was, is);
        return;
    }
    rows_init(&out);
    compare_members(&out, &was->map, &is->map);
    bool only_hashes = out.count == 0;
    cli_change *change = add(c, was, is, RANK_EVENT, reason_of(&was->map, &is->map));
    add_rows(c, change, &out);
    if (change != NULL && only_hashes)
        change->cause = cause_of(c, is);
    if (change != NULL && only_hashes && change->cause == CLI_NO_CAUSE)
        change->reason = gci_view_text("another entry id: payload, metadata, variant, priority or requirements differ");
}

/* An event that is as it was, but not as the trace says. */
static void
note_expected(comparison *c, cli_golden_record const *is)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&text, "the trace expects ");
    gci_json_write(&text, is->expected);
    gci_buf_append_text(&text, ", and it ended as ");
    gci_buf_append_view(&text, outcome_of(c, is));
    gci_view reason = keep(c, &text);
    cli_change *change = add(c, is, is, RANK_OUTCOME, NULL);
    if (change == NULL)
        return;
    change->reason = reason;
    change->expects = true;
}

/* ---- inserts that are told by the events that they changed ---- */

static cli_change *
insert_changed(comparison *c, gci_view entry)
{
    char const *before = "event ";
    size_t size = strlen(before);

    if (entry.size <= size || memcmp(entry.data, before, size) != 0)
        return NULL;
    size_t at = change_of(c, CLI_GOLDEN_EVENT, gci_view_of(entry.data + size, entry.size - size));
    if (at == CLI_NO_CAUSE)
        return NULL;
    cli_change *change = &c->changes->items[at];
    bool guards = change->rank == RANK_EVENT && gci_view_is(change->reason, OTHER_GUARDS);
    return guards && change->was != NULL && change->is != NULL ? change : NULL;
}

/* The insert whose entry decided how an event ended: what it hit, or the candidate that failed. */
static cli_change *
insert_behind(comparison *c, cli_golden_record const *event)
{
    gci_value const *candidate = deciding(event);
    cli_change *change = insert_changed(c, cli_golden_text(&event->map, "entry"));

    return change == NULL && candidate != NULL ? insert_changed(c, cli_golden_text(candidate, "entry")) : change;
}

/* The insert's change stands first below the event that ends otherwise for it. */
static void
tell_insert(comparison *c, size_t at)
{
    cli_change *event = &c->changes->items[at];
    bool hit = gci_view_is(cli_golden_text(&event->was->map, "outcome"), "hit");
    cli_change *insert = insert_behind(c, hit ? event->was : event->is);
    gci_buf text;

    if (insert == NULL)
        insert = insert_behind(c, hit ? event->is : event->was);
    if (insert == NULL)
        return;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "%.*s was %.*s:\n", (int)insert->subject.size, insert->subject.data, (int)insert->reason.size,
                   insert->reason.data);
    for (gci_view rest = insert->details, line; gci_view_next_line(&rest, &line);)
        gci_buf_format(&text, "    %.*s\n", (int)line.size, line.data);
    gci_buf_append_view(&text, event->details);
    event->details = keep(c, &text);
    insert->cause = insert->cause == CLI_NO_CAUSE ? at : insert->cause;
}

/* ---- descriptions that others stand in for ---- */

bool
cli_change_is_redescribed(cli_change const *change)
{
    if (change->was == NULL || change->is == NULL || change->is->part != CLI_GOLDEN_EVENT)
        return false;
    gci_view was = cli_golden_text(&change->was->map, "graph"), is = cli_golden_text(&change->is->map, "graph");
    return was.size != 0 && is.size != 0 && !gci_view_equal(was, is);
}

/* A description that is gone, or new, because an event is about another one now. */
static void
follow_event(comparison *c, cli_change *description)
{
    for (size_t i = 0; i < c->changes->count; i++) {
        cli_change const *event = &c->changes->items[i];
        if (!cli_change_is_redescribed(event) || event->cause != CLI_NO_CAUSE)
            continue;
        gci_value const *map = description->is == NULL ? &event->was->map : &event->is->map;
        if (gci_view_equal(cli_golden_text(map, "graph"), cli_change_record(description)->name)) {
            description->cause = i;
            return;
        }
    }
}

/* ---- records ---- */

static void
compare_records(comparison *c, cli_golden_record const *was, cli_golden_record const *is)
{
    static void (*const by_part[])(comparison *, cli_golden_record const *, cli_golden_record const *) = {
        [CLI_GOLDEN_RULES] = compare_rules,
        [CLI_GOLDEN_DESCRIPTION] = compare_descriptions,
        [CLI_GOLDEN_EVENT] = compare_events,
    };

    if (!same_members(&was->map, &is->map))
        by_part[is->part](c, was, is);
    else if (is->expected != NULL)
        note_expected(c, is);
}

static int
rank_alone(cli_golden_record const *record)
{
    return record->part == CLI_GOLDEN_RULES ? RANK_RULES : record->part == CLI_GOLDEN_DESCRIPTION ? RANK_DESCRIPTION : RANK_OUTCOME;
}

/* By rank; what is of one rank stays as it is. Few kinds of rank, so a pass for each. */
static bool
sort(cli_changes *changes)
{
    size_t *places = malloc((changes->count + 1) * sizeof *places), count = 0;
    cli_change *sorted = malloc((changes->count + 1) * sizeof *sorted);

    for (int rank = RANK_RULES; places != NULL && sorted != NULL && rank <= RANK_EVENT; rank++)
        for (size_t i = 0; i < changes->count; i++)
            if (changes->items[i].rank == rank) {
                sorted[count] = changes->items[i];
                places[i] = count++;
            }
    for (size_t i = 0; places != NULL && i < count; i++)
        if (sorted[i].cause != CLI_NO_CAUSE)
            sorted[i].cause = places[sorted[i].cause];
    bool done = places != NULL && sorted != NULL;
    if (done && count != 0)
        memcpy(changes->items, sorted, count * sizeof *sorted);
    free(places);
    free(sorted);
    return done;
}

bool
cli_golden_compare(cli_golden const *expected, cli_golden const *found, cli_changes *out, gcache_error *error)
{
    comparison c = { .expected = expected, .found = found, .changes = out, .arena = found->arena };
    uint32_t near = 0;

    *out = (cli_changes){ .arena = found->arena };
    for (uint32_t i = 0; i < expected->count; i++) {
        cli_golden_record const *was = &expected->items[i], *is = cli_golden_find(found, was, &near);
        if (is != NULL)
            compare_records(&c, was, is);
        else
            add(&c, was, NULL, rank_alone(was), "it is gone");
    }
    near = 0;
    for (uint32_t i = 0; i < found->count; i++)
        if (cli_golden_find(expected, &found->items[i], &near) == NULL)
            add(&c, NULL, &found->items[i], rank_alone(&found->items[i]), "it is new");
    for (size_t i = 0; i < out->count; i++)
        if (out->items[i].rank == RANK_OUTCOME && out->items[i].was != NULL && out->items[i].is != NULL && !out->items[i].expects)
            tell_insert(&c, i);
    for (size_t i = 0; i < out->count; i++)
        if (out->items[i].rank == RANK_DESCRIPTION && (out->items[i].was == NULL || out->items[i].is == NULL))
            follow_event(&c, &out->items[i]);
    return (!c.arena->failed && sort(out)) || cli_no_memory(error);
}

void
cli_changes_clear(cli_changes *changes)
{
    free(changes->items);
    *changes = (cli_changes){ 0 };
}
