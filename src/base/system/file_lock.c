/*
 * Locks on files and on ranges of them, waited for in pauses that grow.
 */
#include "base/system/clock.h"
#include "base/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

/* The first pause is about what a short critical section takes; the last bounds how late a release is noticed. */
#define PAUSE_FIRST_NS 20000
#define PAUSE_LAST_NS 5000000
/* Who has waited for so long asks more often than those who came later: else luck decides, and somebody has none. */
#define LONG_WAIT_NS UINT64_C(1000000000)
#define PAUSE_LONG_NS 200000

/* Calls attempt (0: taken, else errno) until it succeeds, fails for another reason than being busy, or time is up. */
static int
wait_for(int (*attempt)(gci_file const *, void const *), gci_file const *file, void const *what, uint64_t wait_ns)
{
    uint64_t start = 0;
    long pause = PAUSE_FIRST_NS;

    for (;;) {
        int reason = attempt(file, what);
        if (reason == EINTR)
            continue;
        if ((reason != EAGAIN && reason != EACCES) || wait_ns == 0)
            return reason;
        uint64_t now = gci_clock_steady_ns();
        if (start == 0)
            start = now;
        if (now - start >= wait_ns)
            return reason;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = pause }, NULL);
        pause = pause * 2 < PAUSE_LAST_NS ? pause * 2 : PAUSE_LAST_NS;
        if (now - start >= LONG_WAIT_NS)
            pause = PAUSE_LONG_NS;
    }
}

static gcache_status
lock_outcome(gci_file const *file, int reason, gcache_error *error)
{
    if (reason == 0)
        return GCACHE_OK;
    if (reason == EAGAIN || reason == EACCES)
        return gci_fail(error, GCACHE_ERROR_BUSY, "%s/%s: somebody else holds the lock", file->dir.name, file->path);
    return gci_fail_errno(error, reason, "%s/%s", file->dir.name, file->path);
}

static int
attempt_flock(gci_file const *file, void const *operation)
{
    return flock(file->fd, *(int const *)operation | LOCK_NB) == 0 ? 0 : errno;
}

gcache_status
gci_file_lock(gci_file const *file, gci_lock_kind kind, uint64_t wait_ns, gcache_error *error)
{
    int operation = kind == GCI_LOCK_SHARED ? LOCK_SH : LOCK_EX;

    return lock_outcome(file, wait_for(attempt_flock, file, &operation, wait_ns), error);
}

void
gci_file_unlock(gci_file const *file)
{
    flock(file->fd, LOCK_UN);
}

void
gci_file_unlock_and_close(gci_file *file)
{
    if (file->fd >= 0)
        gci_file_unlock(file);
    gci_file_close(file);
}

static int
attempt_range(gci_file const *file, void const *range)
{
    return fcntl(file->fd, F_OFD_SETLK, range) == 0 ? 0 : errno;
}

static struct flock
range_of(short type, uint64_t offset, uint64_t size)
{
    return (struct flock){ .l_type = type, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = (off_t)size };
}

gcache_status
gci_file_lock_range(gci_file const *file, gci_lock_kind kind, uint64_t offset, uint64_t size, uint64_t wait_ns,
                    gcache_error *error)
{
    struct flock range = range_of(kind == GCI_LOCK_SHARED ? F_RDLCK : F_WRLCK, offset, size);

    return lock_outcome(file, wait_for(attempt_range, file, &range, wait_ns), error);
}

bool
gci_file_is_locked_elsewhere(gci_file const *file, uint64_t offset, uint64_t size)
{
    struct flock range = range_of(F_WRLCK, offset, size);

    return fcntl(file->fd, F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

void
gci_file_unlock_range(gci_file const *file, uint64_t offset, uint64_t size)
{
    struct flock range = range_of(F_UNLCK, offset, size);

    fcntl(file->fd, F_OFD_SETLK, &range);
}
