/* The journal's files: appended to, ended, and read backwards. See journal_file.h. */
#include "store/database/journal_file.h"

#include "base/array.h"
#include "base/check.h"
#include "base/system/clock.h"
#include "store/database/event.h"
#include "store/directory/layout.h"

#include <fcntl.h>
#include <stdlib.h>

char const *const gci_journal_names[GCI_JOURNAL_FILES] = { "journal", "journal.old" };

#define NEWEST gci_journal_names[0]
#define OLDER gci_journal_names[1]

/* Two hundred misses, or as long as a look at the file takes a ten thousandth of. */
#define CHECK_BYTES ((uint64_t)256 << 10)
#define CHECK_NS UINT64_C(10000000)
/* For other threads, which append: what was looked up isn't worth more. */
#define TURN_WAIT_NS UINT64_C(50000000)

void
gci_journal_init(gci_journal *journal, gci_dir dir)
{
    *journal = (gci_journal){ .dir = dir, .file = GCI_FILE_NONE };
    gci_turns_init(&journal->appending);
}

void
gci_journal_close(gci_journal *journal)
{
    gci_file_close(&journal->file);
    gci_turns_clear(&journal->appending);
}

void
gci_journal_after_fork(gci_journal *journal)
{
    gci_file_close(&journal->file);
    gci_turns_init(&journal->appending);
}

/* ---- a file's end ---- */

void
gci_journal_discard(gci_dir dir, char const *name)
{
    gci_file file;

    if (gci_file_open_existing(dir, name, O_WRONLY, &file, NULL) == GCACHE_OK && file.fd >= 0)
        gci_file_truncate(&file, 0, NULL);
    gci_file_close(&file);
    gci_dir_unlink(dir, name, NULL);
}

/* Of several who find the file long the first ends it. */
static gcache_status
end_newest(gci_dir dir, gcache_error *error)
{
    struct stat facts;
    gci_file lock;

    gcache_status status = gci_layout_make_way(dir, OLDER, error);
    if (status != GCACHE_OK)
        return status;
    gci_layout_lock(dir, &lock);
    if (gci_dir_stat(dir, NEWEST, &facts, NULL) == GCACHE_OK && (uint64_t)facts.st_size >= GCI_JOURNAL_FILE_BYTES) {
        gci_journal_discard(dir, OLDER);
        status = gci_dir_rename(dir, NEWEST, dir, OLDER, error);
    }
    gci_file_unlock_and_close(&lock);
    return status;
}

/* ---- appending ---- */

/* A long one is ended, and another made; by others at the same time, too. */
#define ATTEMPTS 4

static gcache_status
open_newest(gci_journal *journal, gcache_error *error)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        gcache_status status = gci_layout_create(journal->dir, NEWEST, O_WRONLY | O_CREAT | O_APPEND, &journal->file, error);
        if (status != GCACHE_OK || journal->file.opened.size < GCI_JOURNAL_FILE_BYTES)
            return status;
        gci_file_close(&journal->file);
        status = end_newest(journal->dir, error);
        if (status != GCACHE_OK)
            return status;
    }
    return gci_fail(error, GCACHE_ERROR_BUSY, "%s/%s: it is filled again and again", journal->dir.name, NEWEST);
}

/* The file that is open is the newest, as far as was seen lately. */
static gcache_status
make_ready(gci_journal *journal, uint64_t now, gcache_error *error)
{
    struct stat facts;

    /* Also when the clock went back. */
    bool due = now - journal->checked_ns >= CHECK_NS || journal->unchecked_bytes >= CHECK_BYTES;
    if (journal->file.fd >= 0 && !due)
        return GCACHE_OK;
    if (journal->file.fd >= 0 &&
        (!gci_file_stat_named(&journal->file, &facts) || (uint64_t)facts.st_size >= GCI_JOURNAL_FILE_BYTES))
        gci_file_close(&journal->file);
    journal->checked_ns = now;
    journal->unchecked_bytes = 0;
    return journal->file.fd >= 0 ? GCACHE_OK : open_newest(journal, error);
}

gcache_status
gci_journal_append(gci_journal *journal, gci_view entry, gcache_error *error)
{
    gci_event event = { GCI_EVENT_LOOKUP, gci_clock_wall_ns(), entry };
    char header[GCI_EVENT_HEADER];
    gci_view parts[] = { gci_view_of(header, sizeof header), entry };

    GCI_ASSERT(entry.size <= GCI_JOURNAL_BYTES_MAX);
    gci_event_seal(&event, header);
    if (!gci_turns_lock(&journal->appending, TURN_WAIT_NS))
        return gci_fail(error, GCACHE_ERROR_BUSY, "%s/%s: other threads wait to append", journal->dir.name, NEWEST);
    gcache_status status = make_ready(journal, event.at_ns, error);
    if (status == GCACHE_OK)
        status = gci_file_write(&journal->file, parts, 2, error);
    journal->unchecked_bytes += sizeof header + entry.size;
    gci_turns_unlock(&journal->appending);
    return status;
}

/* ---- reading ---- */

/* What is read at a time, and the longest event that may begin before it. */
#define BLOCK ((size_t)512 << 10)
#define EVENT_MOST (GCI_EVENT_HEADER + GCI_JOURNAL_BYTES_MAX)
/* Of a file that is longer than appends can have made it, the end is read. */
#define READ_MAX (4 * GCI_JOURNAL_FILE_BYTES)

typedef struct walk {
    gci_journal_fn fn;
    void *state;
    size_t left; /* entries that may still be read */
    gci_buf block;
    gci_event *events; /* of the block */
    size_t count, capacity;
} walk;

static bool
note(walk *w, gci_event const *event)
{
    if (event->type != GCI_EVENT_LOOKUP || event->body.size > GCI_JOURNAL_BYTES_MAX)
        return true;
    if (!GCI_ARRAY_HAS_ROOM(w, events))
        return false;
    w->events[w->count++] = *event;
    return true;
}

/* Nothing, if the file was cut meanwhile: what is left of the block would be older than what is missing. */
static gcache_status
load(walk *w, gci_file const *file, uint64_t start, uint64_t end, gcache_error *error)
{
    size_t size = (size_t)(end - start);

    w->block.size = 0;
    char *room = gci_buf_reserve(&w->block, size);
    gcache_status status = room != NULL ? gci_file_read(file, room, size, start, &w->block.size, error)
                                        : gci_fail_memory(error);
    if (w->block.size < size)
        w->block.size = 0;
    return status;
}

/*
 * Finds the events of the block that ends at *end, and moves *end to where the first of them begins. A block may begin inside
 * an event, whose body may look like events: what begins before that event must have ended is left to the next block.
 */
static gcache_status
read_block(walk *w, gci_file const *file, uint64_t *end, gcache_error *error)
{
    uint64_t start = *end > BLOCK ? *end - BLOCK : 0, doubtful = start == 0 ? 0 : EVENT_MOST, first = 0;
    gci_event event;
    size_t at = 0;

    w->count = 0;
    gcache_status status = load(w, file, start, *end, error);
    while (status == GCACHE_OK && gci_event_next(gci_buf_view(&w->block), &at, &event)) {
        uint64_t begin = (uint64_t)(event.body.data - w->block.data) - GCI_EVENT_HEADER;
        if (begin < doubtful)
            continue;
        if (first == 0)
            first = begin;
        if (!note(w, &event))
            status = gci_fail_memory(error);
    }
    *end = start == 0 ? 0 : start + (first != 0 ? first : 2 * EVENT_MOST);
    return status;
}

static gcache_status
each_in_file(walk *w, gci_file const *file, gcache_error *error)
{
    uint64_t end = file->opened.size, least = end > READ_MAX ? end - READ_MAX : 0;
    gcache_status status = GCACHE_OK;

    while (status == GCACHE_OK && w->left > 0 && end > least) {
        status = read_block(w, file, &end, error);
        for (size_t i = w->count; status == GCACHE_OK && w->left > 0 && i-- > 0;)
            w->left = w->fn(w->state, w->events[i].at_ns, w->events[i].body) != 0 ? 0 : w->left - 1;
    }
    return status;
}

/* What has a file's place and isn't one holds nothing. */
static gcache_status
open_to_read(gci_dir dir, char const *name, gci_file *out_file, gcache_error *error)
{
    gcache_status status = gci_file_open_existing(dir, name, O_RDONLY, out_file, error);

    return status == GCACHE_ERROR_CORRUPT ? GCACHE_OK : status;
}

/* The newer one first: if it ends meanwhile it is opened twice, and the older one is gone. An older one that isn't trusted hides
   nothing that the newer one has: doctor says what is wrong with it. */
static gcache_status
open_files(gci_dir dir, gci_file files[GCI_JOURNAL_FILES], gcache_error *error)
{
    gcache_status status = open_to_read(dir, NEWEST, &files[0], error);

    if (status != GCACHE_OK)
        return status;
    status = open_to_read(dir, OLDER, &files[1], error);
    if (files[0].fd >= 0 && files[1].fd >= 0 && files[0].opened.inode == files[1].opened.inode)
        gci_file_close(&files[1]);
    return files[0].fd >= 0 ? GCACHE_OK : status;
}

gcache_status
gci_journal_each(gci_dir dir, gci_journal_fn fn, void *state, gcache_error *error)
{
    gci_file files[GCI_JOURNAL_FILES] = { GCI_FILE_NONE, GCI_FILE_NONE };
    walk w = { .fn = fn, .state = state, .left = GCI_JOURNAL_ENTRIES };

    gci_buf_init(&w.block, BLOCK);
    gcache_status status = open_files(dir, files, error);
    for (int i = 0; i < GCI_JOURNAL_FILES; i++) {
        if (status == GCACHE_OK && files[i].fd >= 0)
            status = each_in_file(&w, &files[i], error);
        gci_file_close(&files[i]);
    }
    gci_buf_clear(&w.block);
    free(w.events);
    return status;
}
