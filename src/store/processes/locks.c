/* Locks of keys, lock files that are taken whole, and the mark by which a forked child is recognised. */
#include "store/processes/locks.h"

#include "base/check.h"
#include "store/directory/layout.h"
#include "store/directory/paths.h"
#include "store/directory/trust.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

static void
init_turns(gci_key_locks *locks)
{
    pthread_mutex_init(&locks->opening, NULL);
    for (size_t i = 0; i < GCI_KEY_TURNS; i++) {
        gci_turns_init(&locks->turns[i]);
        gci_turns_init(&locks->pool_turns[i]);
    }
}

void
gci_key_locks_init(gci_key_locks *locks, gci_dir dir)
{
    *locks = (gci_key_locks){ .dir = dir, .file = GCI_FILE_NONE };
    init_turns(locks);
}

void
gci_key_locks_close(gci_key_locks *locks)
{
    gci_file_close(&locks->file);
    pthread_mutex_destroy(&locks->opening);
    for (size_t i = 0; i < GCI_KEY_TURNS; i++) {
        gci_turns_clear(&locks->turns[i]);
        gci_turns_clear(&locks->pool_turns[i]);
    }
}

void
gci_key_locks_after_fork(gci_key_locks *locks)
{
    gci_file_close(&locks->file);
    atomic_store(&locks->held, 0);
    init_turns(locks);
}

static gcache_status
open_lock_file(gci_key_locks *locks, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    pthread_mutex_lock(&locks->opening);
    if (locks->file.fd < 0)
        status = gci_trust_folders(locks->dir, "locks/keys", error);
    if (status == GCACHE_OK && locks->file.fd < 0)
        status = gci_layout_create(locks->dir, "locks/keys", O_RDWR | O_CREAT, &locks->file, error);
    pthread_mutex_unlock(&locks->opening);
    return status;
}

/* The descriptor's number stays: other threads use it. The locks they hold are on the file that nobody finds any more. */
static gcache_status
reopen_lock_file(gci_key_locks *locks, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    gci_file file;

    pthread_mutex_lock(&locks->opening);
    if (!gci_file_still_named(&locks->file)) {
        status = gci_layout_create(locks->dir, "locks/keys", O_RDWR | O_CREAT, &file, error);
        if (status == GCACHE_OK && !gci_file_replace(&locks->file, &file))
            status = gci_fail(error, GCACHE_ERROR_IO, "%s/locks/keys: can't be opened again", locks->dir.name);
    }
    pthread_mutex_unlock(&locks->opening);
    return status;
}

/* Removed again and again: nobody does that. */
#define ATTEMPTS 4

/* Locks a byte of the file, by the holder of its turns. */
static gcache_status
lock_byte(gci_key_locks *locks, uint64_t byte, uint64_t wait_ns, gcache_error *error)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        gcache_status status = gci_file_lock_range(&locks->file, GCI_LOCK_EXCLUSIVE, byte, 1, wait_ns, error);
        if (status != GCACHE_OK || gci_file_still_named(&locks->file))
            return status;
        gci_file_unlock_range(&locks->file, byte, 1);
        status = reopen_lock_file(locks, error);
        if (status != GCACHE_OK)
            return status;
    }
    return gci_fail(error, GCACHE_ERROR_BUSY, "%s/locks/keys: removed again and again", locks->dir.name);
}

static gcache_status
take_turn(gci_key_locks *locks, gci_turns *turns, uint64_t byte, uint64_t wait_ns, gcache_error *error)
{
    gcache_status status = open_lock_file(locks, error);

    if (status != GCACHE_OK)
        return status;
    if (!gci_turns_lock(turns, wait_ns))
        return gci_fail(error, GCACHE_ERROR_BUSY, "%s/locks/keys: another thread holds the key for too long",
                        locks->dir.name);
    status = lock_byte(locks, byte, wait_ns, error);
    if (status != GCACHE_OK)
        gci_turns_unlock(turns);
    return status;
}

static gci_turns *
turns_of(gci_key_locks *locks, gcache_key const *key)
{
    return &locks->turns[gci_slot_of(key) % GCI_KEY_TURNS];
}

gcache_status
gci_key_lock(gci_key_locks *locks, gcache_key const *key, uint64_t wait_ns, gcache_error *error)
{
    gcache_status status = take_turn(locks, turns_of(locks, key), gci_slot_of(key), wait_ns, error);

    if (status == GCACHE_OK)
        atomic_fetch_add(&locks->held, 1);
    return status;
}

void
gci_key_unlock(gci_key_locks *locks, gcache_key const *key)
{
    atomic_fetch_sub(&locks->held, 1);
    gci_file_unlock_range(&locks->file, gci_slot_of(key), 1);
    gci_turns_unlock(turns_of(locks, key));
}

/* The kernel doesn't tell a handle of its own locks. */
bool
gci_key_is_any_locked(gci_key_locks *locks)
{
    return open_lock_file(locks, NULL) != GCACHE_OK || gci_file_is_locked_elsewhere(&locks->file, 0, GCI_SLOTS) ||
           atomic_load(&locks->held) > 0;
}

static gci_turns *
pool_turns_of(gci_key_locks *locks, gcache_key const *key)
{
    return &locks->pool_turns[key->bytes[0] % GCI_KEY_TURNS];
}

gcache_status
gci_pool_lock(gci_key_locks *locks, gcache_key const *key, uint64_t wait_ns, gcache_error *error)
{
    return take_turn(locks, pool_turns_of(locks, key), (uint64_t)GCI_SLOTS + key->bytes[0], wait_ns, error);
}

void
gci_pool_unlock(gci_key_locks *locks, gcache_key const *key)
{
    gci_file_unlock_range(&locks->file, (uint64_t)GCI_SLOTS + key->bytes[0], 1);
    gci_turns_unlock(pool_turns_of(locks, key));
}

/* ---- whole files ---- */

gcache_status
gci_lock_take(gci_dir dir, char const *path, gci_lock_kind kind, uint64_t wait_ns, gci_file *out_lock, gcache_error *error)
{
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        gcache_status status = gci_layout_create(dir, path, O_RDWR | O_CREAT, out_lock, error);
        if (status == GCACHE_OK)
            status = gci_file_lock(out_lock, kind, wait_ns, error);
        if (status == GCACHE_OK && gci_file_still_named(out_lock))
            return status;
        gci_file_unlock_and_close(out_lock);
        if (status != GCACHE_OK)
            return status;
    }
    return gci_fail(error, GCACHE_ERROR_BUSY, "%s/%s: removed again and again", dir.name, path);
}

/* ---- fork ---- */

void
gci_fork_mark_open(gci_fork_mark *mark)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    mark->word = &mark->own;
    atomic_store(&mark->process, getpid());
    if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0) {
        mark->word = page;
        atomic_store(&mark->process, 0);
    } else if (page != MAP_FAILED) {
        munmap(page, size);
    }
    atomic_store(mark->word, 1);
}

void
gci_fork_mark_close(gci_fork_mark *mark)
{
    if (mark->word != NULL && mark->word != &mark->own)
        munmap((void *)mark->word, (size_t)sysconf(_SC_PAGESIZE));
    mark->word = NULL;
}

bool
gci_fork_mark_begin(gci_fork_mark *mark)
{
    uint32_t inherited = mark->word == &mark->own ? 1 : 0;

    if (atomic_compare_exchange_strong(mark->word, &inherited, 2)) {
        if (mark->word != &mark->own || atomic_load(&mark->process) != getpid())
            return true;
        /* Without a page, what was inherited looks like what is settled: another thread has been here. */
        atomic_store(mark->word, 1);
    }
    while (atomic_load_explicit(mark->word, memory_order_acquire) != 1)
        sched_yield();
    return false;
}

void
gci_fork_mark_settle(gci_fork_mark *mark)
{
    if (mark->word == &mark->own)
        atomic_store(&mark->process, getpid());
    atomic_store_explicit(mark->word, 1, memory_order_release);
}
