/*
 * Some of the changes accepted: a golden file made of what was found and, for the rest, of what it said before.
 */
#include "cli/golden/golden_change.h"

#include <stdlib.h>

/* ---- choosing ---- */

/* Causes never form a circle: they lead to a smaller rank, or to the one event that tells an insert. */
void
cli_changes_take_consequences(cli_changes const *changes, bool *take)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < changes->count; i++) {
            size_t cause = changes->items[i].cause;
            bool new = cause != CLI_NO_CAUSE && !take[i] && take[cause];
            take[i] |= new;
            more |= new;
        }
    }
}

static gci_view
member_of(cli_golden const *golden, cli_golden_part part, gci_view name, char const *member)
{
    cli_golden_record wanted = { .part = part, .name = name };
    uint32_t near = 0;
    cli_golden_record const *record = name.size != 0 ? cli_golden_find(golden, &wanted, &near) : NULL;

    return record != NULL ? cli_golden_text(&record->map, member) : (gci_view){ 0 };
}

void
cli_changes_take_event(cli_changes const *changes, cli_golden const *found, int64_t event, bool *take)
{
    gci_buf number;

    gci_buf_init(&number, GCI_BUF_NO_LIMIT);
    gci_buf_append_int(&number, event);
    gci_view wanted[] = { [CLI_GOLDEN_EVENT] = gci_buf_view(&number) };
    wanted[CLI_GOLDEN_DESCRIPTION] = member_of(found, CLI_GOLDEN_EVENT, wanted[CLI_GOLDEN_EVENT], "graph");
    wanted[CLI_GOLDEN_RULES] = member_of(found, CLI_GOLDEN_DESCRIPTION, wanted[CLI_GOLDEN_DESCRIPTION], "kind");
    for (size_t i = 0; i < changes->count; i++) {
        cli_golden_record const *record = cli_change_record(&changes->items[i]);
        take[i] = record->name.size != 0 && gci_view_equal(record->name, wanted[record->part]);
    }
    gci_buf_clear(&number);
    cli_changes_take_consequences(changes, take);
}

/* ---- merging ---- */

typedef struct merge {
    cli_golden const *expected, *found;
    cli_changes const *changes;
    bool const *take;
    cli_golden *out;
    uint32_t at; /* in expected: what is before it is dealt with */
} merge;

/* The change about a record of either side that isn't taken; NULL: there is none. */
static cli_change const *
left_change(merge const *m, cli_golden_record const *record)
{
    for (size_t i = 0; i < m->changes->count; i++) {
        cli_change const *change = &m->changes->items[i];
        if (!m->take[i] && !change->expects && (change->was == record || change->is == record))
            return change;
    }
    return NULL;
}

/* Records that are gone and stay golden, up to a place. */
static bool
keep_gone(merge *m, uint32_t end)
{
    bool done = true;

    for (; done && m->at < end; m->at++) {
        cli_change const *left = left_change(m, &m->expected->items[m->at]);
        done = left == NULL || left->is != NULL || cli_golden_push(m->out, left->was);
    }
    return done;
}

/* A record that was found: as it is, or, of a change that isn't taken, as it was. */
static bool
push_found(merge *m, cli_golden_record const *found, uint32_t *near)
{
    cli_golden_record const *was = cli_golden_find(m->expected, found, near);
    cli_change const *left = left_change(m, found);

    if (was != NULL && !keep_gone(m, (uint32_t)(was - m->expected->items)))
        return false;
    if (left == NULL)
        return cli_golden_push(m->out, found);
    return left->was == NULL || cli_golden_push(m->out, left->was);
}

bool
cli_golden_merge(cli_golden const *expected, cli_golden const *found, cli_changes const *changes, bool const *take,
                 cli_golden *out, gcache_error *error)
{
    merge m = { .expected = expected, .found = found, .changes = changes, .take = take, .out = out };
    uint32_t near = 0;
    bool done = true, all = true;

    for (size_t i = 0; i < changes->count; i++)
        all &= take[i] || changes->items[i].expects;
    *out = all ? *found : (cli_golden){ .arena = found->arena };
    if (all)
        return true;
    for (uint32_t i = 0; done && i < found->count; i++)
        done = push_found(&m, &found->items[i], &near);
    return (done && keep_gone(&m, expected->count)) || cli_no_memory(error);
}
