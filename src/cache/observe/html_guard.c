/*
 * A guard in the user's names: x.size(0) % 8 == 0 for L['t0'] % 8 == 0. What its producer called a symbol becomes what guards
 * call it inside, and that what the lookups' caller said it is.
 */
#include "cache/observe/html_coverage.h"

#include "cache/handle/words.h"

#include <ctype.h>

static bool
in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* What the user calls a producer's symbol; empty if that isn't known. */
static gci_view
source_of(gci_cover const *cover, gci_naming naming, gci_view name)
{
    gci_view bound = naming.rename != NULL ? naming.rename(naming.state, name) : name;

    for (size_t i = 0; i < cover->hint_count; i++)
        if (gci_view_equal(cover->hints[i].bound, bound))
            return cover->hints[i].source;
    return gci_view_text("");
}

/* The identifier at a place; of L['t0'] the whole. *out_name is t0 in both cases. */
static size_t
read_name(gci_view guard, size_t at, gci_view *out_name)
{
    static char const open[] = "L['";
    bool indexed = guard.size - at > strlen(open) && memcmp(guard.data + at, open, strlen(open)) == 0;
    size_t start = at + (indexed ? strlen(open) : 0), end = start;

    while (end < guard.size && in_name(guard.data[end]))
        end++;
    *out_name = gci_view_of(guard.data + start, end - start);
    if (!indexed)
        return end - at;
    return guard.size - end >= 2 && memcmp(guard.data + end, "']", 2) == 0 ? end + 2 - at : 1;
}

void
gci_cover_write_guard(gci_cover const *cover, gci_record const *record, gci_view guard, gci_buf *out)
{
    gci_naming naming = gci_producer_naming(record);
    size_t size;

    for (size_t at = 0; at < guard.size; at += size) {
        gci_view name;
        size = 1;
        bool begins = in_name(guard.data[at]) && !isdigit((unsigned char)guard.data[at]) &&
                      (at == 0 || (!in_name(guard.data[at - 1]) && guard.data[at - 1] != '.'));
        if (begins)
            size = read_name(guard, at, &name);
        gci_view source = begins ? source_of(cover, naming, name) : gci_view_text("");
        gci_buf_append_view(out, source.size != 0 ? source : gci_view_of(guard.data + at, size));
    }
}
