/*
 * A journal from a hostile disk: each of its files read without harm, the newest entries first, and what they hold decoded.
 *
 * The input is `journal`, and behind a line "----" `journal.old`. Half of the inputs are one entry instead, framed here.
 */
#include "cache/journal/journal_entry.h"
#include "place.h"
#include "store/database/event.h"
#include "store/database/journal_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

static char const between[] = "\n----\n";

static int
read_entry(void *state, uint64_t at_ns, gci_view bytes)
{
    gci_journal_entry entry;

    if (++*(size_t *)state > GCI_JOURNAL_ENTRIES || bytes.size > GCI_JOURNAL_BYTES_MAX)
        abort();
    if (gci_journal_entry_read(NULL, at_ns, bytes, &entry, NULL) == GCACHE_OK)
        gci_journal_entry_open(&entry, NULL);
    gci_journal_entry_clear(&entry);
    return 0;
}

static size_t
read_journal(void)
{
    size_t count = 0;
    gci_dir dir;

    if (gci_dir_open_user(place_path(""), &dir, NULL) != GCACHE_OK ||
        gci_journal_each(dir, read_entry, &count, NULL) != GCACHE_OK)
        abort();
    gci_dir_close(&dir);
    return count;
}

static void
read_files(gci_view input)
{
    char const *line = memmem(input.data, input.size, between, sizeof between - 1);
    size_t newest = line != NULL ? (size_t)(line - input.data) : input.size, rest = newest + sizeof between - 1;

    place_write("journal", gci_view_of(input.data, newest));
    place_write("journal.old", line != NULL ? gci_view_of(line + sizeof between - 1, input.size - rest) : gci_view_of("", 0));
    read_journal();
}

/* Found whatever it is, behind other bytes of the input. */
static void
read_framed(gci_view input)
{
    size_t noise = input.size / 8;
    gci_view body = gci_view_of(input.data + noise, input.size - noise);
    char *bytes = malloc(GCI_EVENT_HEADER + input.size);

    if (bytes == NULL || body.size > GCI_JOURNAL_BYTES_MAX) {
        free(bytes);
        return;
    }
    memcpy(bytes, input.data, noise);
    gci_event_seal(&(gci_event){ GCI_EVENT_LOOKUP, 1, body }, bytes + noise);
    memcpy(bytes + noise + GCI_EVENT_HEADER, body.data, body.size);
    place_write("journal", gci_view_of(bytes, GCI_EVENT_HEADER + input.size));
    place_write("journal.old", gci_view_of("", 0));
    if (read_journal() == 0)
        abort();
    free(bytes);
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    gci_view input = gci_view_of((char const *)data, size);

    place_next();
    if (size % 2 == 0)
        read_files(input);
    else
        read_framed(input);
    return 0;
}
