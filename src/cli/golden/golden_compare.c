/*
 * What differs between two golden files, record by record: records are known by their description or their event's number, so
 * that an event that was added doesn't shift all others.
 */
#include "base/array.h"
#include "base/text/json.h"
#include "cli/golden/golden_change.h"
#include "cli/golden/golden_rows.h"
#include "cli/shared/cli.h"

#include <stdio.h>


#define OTHER_DESCRIPTION "it is about another description"
#define OTHER_GUARDS "stored with other guards"

enum { RANK_RULES, RANK_DESCRIPTION, RANK_OUTCOME, RANK_EVENT };

typedef struct comparison {
    cli_golden const *expected, *found;
    cli_changes *changes;
    gci_arena *arena;
} comparison;

/* Members by name: a file that was edited by hand may have them in another order. */
static bool
same_members(gci_value const *was, gci_value const *is)
{
    bool equal = was->count == is->count;

    for (uint32_t i = 0; equal && i < was->count; i++) {
        gci_value const *other = gci_map_member(is, was->members[i].name);
        equal = other != NULL && gci_value_equal(&was->members[i].value, other);
    }
    return equal;
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
add_rows(comparison *c, cli_change *change, cli_rows *from)
{
    cli_rows_end(from);
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
    cli_rows out;

    cli_rows_init(&out);
    cli_rows_compare_members(&out, &was->map, &is->map);
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
            gci_value const *hash = other != NULL ? gci_map_member(other, one->members[i].name) : NULL;
            if (hash != NULL && (side == 1 || gci_value_equal(hash, &one->members[i].value)))
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
    cli_rows found;

    cli_rows_init(&found);
    cli_rows_compare(&found, name, gci_map_member(&was->map, name), gci_map_member(&is->map, name));
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

    return (a == NULL) != (b == NULL) || (a != NULL && !gci_value_equal(a, b));
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
    cli_rows out;

    if (!gci_view_equal(outcome_of(c, was), outcome_of(c, is))) {
        compare_outcomes(c, was, is);
        return;
    }
    cli_rows_init(&out);
    cli_rows_compare_members(&out, &was->map, &is->map);
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
