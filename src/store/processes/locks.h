/*
 * One writer of a key's files at a time, among threads and processes.
 *
 * A key's lock is the byte of its slot in the file locks/keys, locked by an open file description lock: the
 * kernel releases it when its holder dies. Threads of one store share the open file, so they take turns before it.
 *
 * Who has a lock looks whether its file still has its name: two files of one name would be two locks. One that was removed
 * under a writer protects him no longer; all who come later agree again.
 *
 * Also here: lock files that are taken whole, and how a forked child is noticed.
 */
#ifndef GCI_STORE_PROCESSES_LOCKS_H
#define GCI_STORE_PROCESSES_LOCKS_H

#include "base/system/file.h"
#include "base/system/turns.h"

#include <guardcache/key.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* One word each for keys that are in use at the same time; a collision costs a file's fstat, or a wait. */
#define GCI_SLOTS 16384

static inline uint32_t
gci_slot_of(gcache_key const *key)
{
    /* The first byte selects the directory; these are independent of it. A key is a hash: any bits do. */
    return ((uint32_t)key->bytes[8] | (uint32_t)key->bytes[9] << 8) % GCI_SLOTS;
}

/* More than threads that insert at the same time. */
#define GCI_KEY_TURNS 32

typedef struct gci_key_locks {
    gci_dir dir;
    gci_file file;         /* opened when the first key is locked */
    pthread_mutex_t opening;
    _Atomic uint32_t held; /* locks of keys */
    gci_turns turns[GCI_KEY_TURNS]; /* before the lock on the file, which threads share */
    gci_turns pool_turns[GCI_KEY_TURNS]; /* the same for pools: who takes them has a key's */
} gci_key_locks;

void gci_key_locks_init(gci_key_locks *locks, gci_dir dir);
void gci_key_locks_close(gci_key_locks *locks);
/* In a forked child: the parent's mutexes may be locked by threads that aren't there. */
void gci_key_locks_after_fork(gci_key_locks *locks);

/* Waiting for longer than this means that a writer has been stopped: better no insert than no progress. */
#define GCI_KEY_LOCK_WAIT_NS UINT64_C(10000000000)

gcache_status gci_key_lock(gci_key_locks *locks, gcache_key const *key, uint64_t wait_ns, gcache_error *error);
void gci_key_unlock(gci_key_locks *locks, gcache_key const *key);
/* Whether somebody holds one now; if that can't be found out, somebody may. */
bool gci_key_is_any_locked(gci_key_locks *locks);

/* The same for the pools of the folder that the key belongs to: a byte behind those of all slots. Never before a key's lock. */
gcache_status gci_pool_lock(gci_key_locks *locks, gcache_key const *key, uint64_t wait_ns, gcache_error *error);
void gci_pool_unlock(gci_key_locks *locks, gcache_key const *key);

/* ---- whole files ---- */

/* Takes the flock on a lock file, which is made if need be; gci_file_close gives it back. ERROR_BUSY, ERROR_IO, ... */
gcache_status gci_lock_take(gci_dir dir, char const *path, gci_lock_kind kind, uint64_t wait_ns, gci_file *out_lock,
                            gcache_error *error);

/* ---- fork ---- */

/*
 * A word that is 1 in the process that made it and 0 in its children: on a page that the kernel wipes on fork. Where it
 * doesn't (Linux before 4.14, some sandboxes), or without memory for a page, the process id is asked for every time.
 */
typedef struct gci_fork_mark {
    _Atomic uint32_t *word; /* on the page, or own */
    _Atomic uint32_t own;
    _Atomic pid_t process;  /* who made it, if it isn't on a page; else 0 */
} gci_fork_mark;

void gci_fork_mark_open(gci_fork_mark *mark);
void gci_fork_mark_close(gci_fork_mark *mark);

/* Whether this is a forked child in which gci_fork_mark_settle wasn't called yet. A load, where the kernel helps. */
static inline bool
gci_fork_mark_is_child(gci_fork_mark const *mark)
{
    pid_t process = atomic_load_explicit(&mark->process, memory_order_relaxed);

    if (process != 0 && process != getpid())
        return true;
    return atomic_load_explicit(mark->word, memory_order_acquire) != 1;
}

/* true: the caller is the one thread that has to put things right, and calls settle; others wait for it. */
bool gci_fork_mark_begin(gci_fork_mark *mark);
void gci_fork_mark_settle(gci_fork_mark *mark);

#endif
