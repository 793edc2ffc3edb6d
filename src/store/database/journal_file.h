/*
 * The journal: what past lookups looked like, as events (event.h) in two files of the cache directory: `journal`, to which
 * entries are appended, and `journal.old`, which was it before.
 *
 * Invariants:
 *  1. An entry is added by one write to the end of the file, which the kernel keeps apart from those of others: without a lock,
 *     and it is there when the write has returned, whatever becomes of its process. Nothing is synced. Where the end isn't one
 *     for all, on network file systems, writes of two machines at once may harm each other; readers step over what isn't whole.
 *  2. A `journal` that has reached GCI_JOURNAL_FILE_BYTES is renamed to `journal.old`, whose place it takes: the oldest entries
 *     go at once. Who has it open still adds to it, which loses nothing.
 *  3. Who appends looks now and then (CHECK_NS, CHECK_BYTES) whether the file still has its name and how long it is: somebody
 *     may have ended it, put it aside, cut or removed it. So each process may exceed the length by CHECK_BYTES, and what is
 *     added to a file that is gone is lost for CHECK_NS.
 *
 * Order is that of appending; entries of different processes may be out of order by CHECK_NS when a file ends.
 *
 * Locking: `appending` within a process, so that nobody closes the file under another; the layout's lock (layout.h) to rename.
 */
#ifndef GCI_STORE_DATABASE_JOURNAL_FILE_H
#define GCI_STORE_DATABASE_JOURNAL_FILE_H

#include "base/system/file.h"
#include "base/system/turns.h"

/* Newest first. */
#define GCI_JOURNAL_FILES 2
extern char const *const gci_journal_names[GCI_JOURNAL_FILES];

/* Room for a lookup's explanation of a few candidates. */
#define GCI_JOURNAL_BYTES_MAX ((size_t)64 << 10)
/* So many are read, from the newest on: statistics of more would say the same, later. */
#define GCI_JOURNAL_ENTRIES 10000
/* A miss of ten candidates takes 1.5 kB, a hit a few hundred bytes: one file alone holds as many as are read. */
#define GCI_JOURNAL_FILE_BYTES ((uint64_t)16 << 20)

typedef struct gci_journal {
    gci_dir dir;
    gci_file file; /* for appending; opened when first needed */
    gci_turns appending;
    uint64_t checked_ns; /* when it was last looked at, and what was appended since */
    uint64_t unchecked_bytes;
} gci_journal;

void gci_journal_init(gci_journal *journal, gci_dir dir);
void gci_journal_close(gci_journal *journal);
void gci_journal_after_fork(gci_journal *journal);

/* entry: at most GCI_JOURNAL_BYTES_MAX. */
gcache_status gci_journal_append(gci_journal *journal, gci_view entry, gcache_error *error);

/* Calls fn for entries, newest first; anything but 0 ends it. Nothing is locked meanwhile. */
typedef int (*gci_journal_fn)(void *state, uint64_t at_ns, gci_view entry);
gcache_status gci_journal_each(gci_dir dir, gci_journal_fn fn, void *state, gcache_error *error);

/* Removes a file and gives back what it takes, also while others have it open. */
void gci_journal_discard(gci_dir dir, char const *name);

#endif
