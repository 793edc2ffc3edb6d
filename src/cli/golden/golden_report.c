/*
 * Changes between golden files for people: causes first, each with what shows it; the same change of several records once; what
 * follows from them in a line.
 */
#include "cli/golden/golden_change.h"
#include "cli/shared/cli.h"

/* Subjects that are named of those that show the same. */
#define ALIKE_NAMED 3

static void
write_count(gci_buf *out, size_t count, char const *one, char const *many, size_t *parts_left)
{
    if (count == 0)
        return;
    gci_buf_append_text(out, cli_count(count, one, many).text);
    --*parts_left;
    gci_buf_append_text(out, *parts_left == 0 ? "" : *parts_left == 1 ? " and " : ", ");
}

void
cli_hashes_write(gci_buf *out, char const *before, cli_hashes hashes)
{
    size_t parts = (size_t)(hashes.keys != 0) + (hashes.components != 0) + (hashes.ids != 0);
    size_t all = hashes.keys + hashes.components + hashes.ids;

    if (all == 0)
        return;
    gci_buf_format(out, "%sand so: ", before);
    if (hashes.keys == 1) {
        gci_buf_append_text(out, --parts == 0 ? "the key" : parts == 1 ? "the key and " : "the key, ");
        hashes.keys = 0;
    }
    write_count(out, hashes.keys, "key", "keys", &parts);
    write_count(out, hashes.components, "component", "components", &parts);
    write_count(out, hashes.ids, "entry id", "entry ids", &parts);
    gci_buf_append_text(out, all == 1 ? " differs\n" : " differ\n");
}

/* Of the same rank, for the same reason, at the same places. */
bool
cli_changes_alike(cli_change const *a, cli_change const *b)
{
    return a->rank == b->rank && gci_view_equal(a->reason, b->reason) && gci_view_equal(a->details, b->details);
}

static bool
told_before(cli_changes const *changes, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (cli_change_is_shown(&changes->items[i]) && cli_changes_alike(&changes->items[i], &changes->items[at]))
            return true;
    return false;
}

static void
write_alike(gci_buf *out, cli_changes const *changes, size_t at)
{
    size_t count = 0;

    for (size_t i = at + 1; i < changes->count; i++) {
        cli_change const *other = &changes->items[i];
        if (!cli_change_is_shown(other) || !cli_changes_alike(&changes->items[at], other))
            continue;
        if (count++ >= ALIKE_NAMED)
            continue;
        gci_buf_append_text(out, count == 1 ? "        the same in " : ", ");
        gci_buf_append_view(out, other->subject);
    }
    if (count > ALIKE_NAMED)
        gci_buf_format(out, " and %zu more", count - ALIKE_NAMED);
    gci_buf_append_text(out, count != 0 ? "\n" : "");
}

static void
write_subject(gci_buf *out, cli_change const *change)
{
    gci_buf_append_view(out, change->subject);
    gci_buf_append_text(out, ": ");
    gci_buf_append_view(out, change->reason);
}

void
cli_changes_write_headline(gci_buf *out, cli_changes const *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        if (cli_change_is_shown(&changes->items[i])) {
            write_subject(out, &changes->items[i]);
            return;
        }
}

static void
write_one(gci_buf *out, cli_changes const *changes, size_t at, bool with_subject)
{
    cli_change const *change = &changes->items[at];

    if (with_subject) {
        gci_buf_append_text(out, "    ");
        write_subject(out, change);
        gci_buf_append_char(out, '\n');
    }
    for (gci_view rest = change->details, line; gci_view_next_line(&rest, &line);)
        gci_buf_format(out, "        %.*s\n", (int)line.size, line.data);
    write_alike(out, changes, at);
}

void
cli_changes_write_one(gci_buf *out, cli_changes const *changes, size_t at)
{
    write_one(out, changes, at, true);
}

void
cli_changes_write(gci_buf *out, cli_changes const *changes, bool below_headline, size_t room)
{
    size_t shown = 0;

    for (size_t i = 0; i < changes->count; i++) {
        if (!cli_change_is_shown(&changes->items[i]) || told_before(changes, i))
            continue;
        if (shown < room)
            write_one(out, changes, i, shown != 0 || !below_headline);
        shown++;
    }
    if (shown > room)
        gci_buf_format(out, "    and %zu more\n", shown - room);
}

cli_hashes
cli_changes_hashes(cli_changes const *changes)
{
    cli_hashes all = { 0 };

    for (size_t i = 0; i < changes->count; i++) {
        all.keys += changes->items[i].hashes.keys;
        all.components += changes->items[i].hashes.components;
        all.ids += changes->items[i].hashes.ids;
    }
    return all;
}
