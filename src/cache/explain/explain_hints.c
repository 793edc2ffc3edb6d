/*
 * The hints of a lookup in words, behind a verb: all of them, or in a brief text those that decide and some of the others.
 */
#include "base/visible.h"
#include "cache/explain/explanation.h"
#include "cache/handle/words.h"

#include <stdlib.h>

/* Hints in a brief text: as many as it has lines of details, and twice as many of those that a guard below reads. */
#define HINTS_LEAST 4
#define HINTS_IN(room) ((room) > HINTS_LEAST ? (room) : HINTS_LEAST)
#define DECIDING_IN(room) (2 * HINTS_IN(room))
/* How much is shown of a name: machines make them of any length. */
#define HINT_NAME_WIDTH 64

/* ---- which hints decide ---- */

static bool
is_of_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || (unsigned char)c >= 0x80;
}

/* Not as a part of a longer name: s1 isn't in s12. */
static bool
has_name(gci_view text, gci_view name)
{
    char const *end = text.data + text.size;

    for (char const *at = text.data; name.size != 0 && (size_t)(end - at) >= name.size; at++) {
        at = memchr(at, name.data[0], (size_t)(end - at) - name.size + 1);
        if (at == NULL)
            return false;
        bool begins = at == text.data || !is_of_name(at[-1]) || !is_of_name(name.data[0]);
        bool ends = at + name.size == end || !is_of_name(at[name.size]) || !is_of_name(name.data[name.size - 1]);
        if (begins && ends && memcmp(at, name.data, name.size) == 0)
            return true;
    }
    return false;
}

/* Of a miss what the guards shown read, of a hit what the guards of the one that is taken read. */
static bool
decides(gci_journal_entry const *entry, gci_block const *below, size_t hint)
{
    gci_hints const *hints = &entry->context.hints;
    gci_trial const *winner = entry->trace.winner;

    if (winner != NULL && winner->ranked->guards != NULL && gci_guards_reads(winner->ranked->guards, hints->items[hint].bound))
        return true;
    for (; below != NULL; below = below->next)
        if (below->kind == GCI_BLOCK_GUARD && has_name(below->texts[GCI_GUARD_PART], gci_hint_shown(hints, hint)))
            return true;
    return false;
}

/* ---- words ---- */

static void
write_hint(gci_hints const *hints, size_t i, bool brief, gci_buf *out)
{
    gci_buf_append_text(out, "  ");
    if (brief)
        gci_write_excerpt(out, gci_hint_shown(hints, i), HINT_NAME_WIDTH);
    else
        gci_visible_append(out, gci_hint_shown(hints, i));
    gci_buf_append_char(out, '=');
    gci_number_write(hints->items[i].value, out);
}

/* Those that decide, or those that don't, as long as fewer than `most` are written. Returns how many are. */
static size_t
write_some(gci_hints const *hints, bool const *deciding, bool which, size_t written, size_t most, gci_buf *out)
{
    for (size_t i = 0; i < hints->count && written < most; i++) {
        if (deciding[i] != which)
            continue;
        write_hint(hints, i, true, out);
        written++;
    }
    return written;
}

static void
write_brief(gci_journal_entry const *entry, size_t room, gci_block const *below, gci_buf *out)
{
    gci_hints const *hints = &entry->context.hints;
    bool *deciding = calloc(hints->count, sizeof *deciding);

    if (deciding == NULL) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < hints->count; i++)
        deciding[i] = decides(entry, below, i);
    size_t written = write_some(hints, deciding, true, 0, DECIDING_IN(room), out);
    written = write_some(hints, deciding, false, written, HINTS_IN(room), out);
    if (written < hints->count)
        gci_buf_format(out, "  and %zu more (--all shows them)", hints->count - written);
    free(deciding);
}

bool
gci_explain_cuts_hints(gci_journal_entry const *entry, size_t room)
{
    return room != GCI_ROOM_ALL && entry->context.hints.count > HINTS_IN(room);
}

void
gci_explain_hints(gci_journal_entry const *entry, size_t room, gci_block const *below, gci_buf *out)
{
    gci_hints const *hints = &entry->context.hints;

    /* Of a cut entry they may be unknown. */
    gci_buf_append_text(out, hints->count != 0 ? " for" : entry->cut ? "" : " without hints");
    if (gci_explain_cuts_hints(entry, room)) {
        write_brief(entry, room, below, out);
        return;
    }
    for (size_t i = 0; i < hints->count; i++)
        write_hint(hints, i, room != GCI_ROOM_ALL, out);
}
