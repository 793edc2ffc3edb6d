/*
 * The seam to the file system: everything the store asks of the operating system goes through here, so that it can be
 * watched, and made to fail, in one place.
 *
 * All functions retry EINTR and short transfers, set O_CLOEXEC, follow no symbolic links below the directory they are
 * given unless they say so, and report errno through gcache_error as "directory/path: reason".
 *
 * Below a directory a name stands for a plain file or a directory. Where a link, a pipe, a device or the other of the two
 * has its place, or that of a directory on the way to it, the status is ERROR_CORRUPT; nothing ever waits for a pipe.
 */
#ifndef GCI_BASE_FILE_H
#define GCI_BASE_FILE_H

#include "base/buf.h"
#include "base/error.h"

#include <guardcache/cache.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* ---- files a user names: links are followed ---- */

/* Reads a whole file of at most `limit` bytes into out (cleared first).
   GCACHE_OK, ERROR_NOT_FOUND, ERROR_IO, ERROR_LIMIT, ERROR_MEMORY. path "-" is standard input. */
gcache_status gci_file_read_user(char const *path, size_t limit, gci_buf *out, gcache_error *error);

/* Writes a whole file a user named: a temporary beside it, then a rename; into what is no plain file (a device, a pipe, a link)
   straight. */
gcache_status gci_file_write_user(char const *path, gci_view bytes, gcache_error *error);

/* ---- directories ---- */

/* Whose files are trusted below a directory (gcache_trust): those of this user and of root, or of the group too. */
typedef struct gci_owners {
    gcache_trust trust;
    uid_t user;
    gid_t group; /* of the directory at the top */
} gci_owners;

/* false: what has these facts may have been written by somebody who isn't trusted; out_why says who. */
#define GCI_DISTRUST_TEXT 96
bool gci_owners_trust(gci_owners const *owners, uid_t user, gid_t group, mode_t mode, char out_why[GCI_DISTRUST_TEXT]);

/* Whether a group is one of this process's own. */
bool gci_group_is_ours(gid_t group);

/* An open directory and what it is called in messages (borrowed). Passed by value; fd -1 is none. owners (borrowed) goes to
   what is opened below it; NULL: everybody is trusted. */
typedef struct gci_dir {
    int fd;
    char const *name;
    gci_owners const *owners;
} gci_dir;

/* Opens path (absolute, or relative to the working directory) following links: the one a user names. */
gcache_status gci_dir_open_user(char const *path, gci_dir *out_dir, gcache_error *error);
/* Opens a directory below dir. name is what it is called, borrowed. */
gcache_status gci_dir_open(gci_dir dir, char const *path, char const *name, gci_dir *out_dir, gcache_error *error);
void gci_dir_close(gci_dir *dir);

/* Whether the name still leads to the directory that is open: it may have been moved, or the name removed. */
bool gci_dir_still_named(gci_dir dir);

/* Makes a directory with mode 0700 (2770 where the group is trusted); one that exists is fine. *out_made (may be NULL) tells
   which it was. */
gcache_status gci_dir_make(gci_dir dir, char const *path, bool *out_made, gcache_error *error);
gcache_status gci_dir_stat(gci_dir dir, char const *path, struct stat *out_facts, gcache_error *error);
/* Replaces `to`. Both names are seen from their directory. */
gcache_status gci_dir_rename(gci_dir from_dir, char const *from, gci_dir to_dir, char const *to, gcache_error *error);
/* Gives a file a second name; *out_existed instead of an error if `to` is there. */
gcache_status gci_dir_link(gci_dir from_dir, char const *from, gci_dir to_dir, char const *to, bool *out_existed,
                           gcache_error *error);
/* Whether it is a plain file that this process may read. */
bool gci_dir_may_read(gci_dir dir, char const *path);
/* Sets the times of a file to now. */
gcache_status gci_dir_touch(gci_dir dir, char const *path, gcache_error *error);
/* Sets a file's modification time to the beginning of time. */
gcache_status gci_dir_make_old(gci_dir dir, char const *path, gcache_error *error);
/* A file that isn't there is fine. */
gcache_status gci_dir_unlink(gci_dir dir, char const *path, gcache_error *error);
/* Removes an empty folder. */
gcache_status gci_dir_remove(gci_dir dir, char const *path, gcache_error *error);
/* Makes the directory's names durable. */
gcache_status gci_dir_sync(gci_dir dir, gcache_error *error);

/* Calls fn for every name but . and .. in the order the system gives them; anything but 0 ends it. */
typedef int (*gci_name_fn)(void *state, char const *name);
gcache_status gci_dir_each(gci_dir dir, char const *path, gci_name_fn fn, void *state, gcache_error *error);

/* Bytes a user may still write to the file system of dir. */
gcache_status gci_dir_free_bytes(gci_dir dir, uint64_t *out_bytes, gcache_error *error);
/* How many files and folders may still be made; UINT64_MAX: the file system doesn't say. */
uint64_t gci_dir_free_names(gci_dir dir);

/* The name of a network file system ("nfs", "cifs", ...) or NULL for a local one, by statfs's type. Static storage. */
char const *gci_dir_network(gci_dir dir);

/* ---- files below a directory ---- */

/* What tells whether a name still stands for the same file, and that file for the same content. */
typedef struct gci_file_stamp {
    uint64_t device, inode, size, modified_ns, changed_ns;
    uint64_t born_ns; /* 0: the file system doesn't know */
    mode_t mode;
    uid_t user;
    gid_t group;
} gci_file_stamp;

/* An open file and its name for messages. path is borrowed; fd -1 is none. */
typedef struct gci_file {
    int fd;
    gci_dir dir;
    char const *path;
    gci_file_stamp opened; /* what it was when it was opened, so that nobody has to ask again */
} gci_file;

#define GCI_FILE_NONE { .fd = -1, .dir = { .fd = -1, .name = "" }, .path = "" }

/* flags as open's; a file that is created gets mode 0600 (0660 where the group is trusted). ERROR_CORRUPT: not a plain file;
   ERROR_UNTRUSTED: by dir.owners. */
gcache_status gci_file_open(gci_dir dir, char const *path, int flags, gci_file *out_file, gcache_error *error);
/* The same, but a file that isn't there is fine: then out_file->fd is -1. */
gcache_status gci_file_open_existing(gci_dir dir, char const *path, int flags, gci_file *out_file, gcache_error *error);
void gci_file_close(gci_file *file);

/* What `with` has open is what `file`'s descriptor stands for from now on, at once for all threads; `with` is closed. */
bool gci_file_replace(gci_file *file, gci_file *with);

gcache_status gci_file_stat(gci_file const *file, struct stat *out_facts, gcache_error *error);

/* Whether the path still leads to the file that is open: it may have been replaced, or removed. */
bool gci_file_still_named(gci_file const *file);
/* The same, with what fstat says about it. */
bool gci_file_stat_named(gci_file const *file, struct stat *out_facts);

/* Reads up to size bytes at offset; *out_got is smaller only at the end of the file. */
gcache_status gci_file_read(gci_file const *file, void *out_bytes, size_t size, uint64_t offset, size_t *out_got,
                            gcache_error *error);
/* Writes all parts one after the other, at the file's position (its end, if it was opened with O_APPEND). */
gcache_status gci_file_write(gci_file const *file, gci_view const *parts, size_t count, gcache_error *error);
gcache_status gci_file_write_at(gci_file const *file, gci_view bytes, uint64_t offset, gcache_error *error);
/* What was written starts on its way to the disk, where the system can: a sync that follows has less to wait for. After a failure
   that sync must not be believed. */
gcache_status gci_file_start_sync(gci_file const *file, gcache_error *error);
/* fdatasync. After a failure the file must be thrown away: the kernel may have dropped what it could not write. */
gcache_status gci_file_sync(gci_file const *file, gcache_error *error);
gcache_status gci_file_truncate(gci_file const *file, uint64_t size, gcache_error *error);
/* Permission bits. */
gcache_status gci_file_set_mode(gci_file const *file, mode_t mode, gcache_error *error);
/* Real blocks for size bytes, so that a write into a mapping can't meet a full disk. ERROR_LIMIT: no file may be so large here,
   by a limit of the process or of the file system. */
gcache_status gci_file_allocate(gci_file const *file, uint64_t size, gcache_error *error);

/* Writes a whole small file under a temporary name, syncs it and renames it: it is there whole or not at all, whoever else
   writes it. Both names are seen from dir; nobody else may use the temporary one (gci_unique_number). */
gcache_status gci_file_write_whole(gci_dir dir, char const *temporary, char const *name, gci_view bytes, gcache_error *error);

/* For temporary names. Process ids repeat among hosts that share a directory; random bits don't. */
uint64_t gci_unique_number(void);

/* Opens, reads and closes. out is cleared first. ERROR_NOT_FOUND, ERROR_LIMIT, ERROR_IO, ERROR_MEMORY. */
gcache_status gci_file_load(gci_dir dir, char const *path, size_t limit, gci_buf *out, gcache_error *error);
/* The same, but a file that isn't there is an empty one. */
gcache_status gci_file_load_existing(gci_dir dir, char const *path, size_t limit, gci_buf *out, gcache_error *error);

/* Maps the first size bytes, shared. NULL on failure. */
void *gci_file_map(gci_file const *file, size_t size, bool writable, gcache_error *error);
void gci_file_unmap(void *address, size_t size);

/* Maps it, shared, in the place of what is mapped at address, at once for all threads. false: everything is as it was. */
bool gci_file_map_over(gci_file const *file, void *address, size_t size, bool writable);
/* Zeros of our own in the place of what is mapped at address: its file may have lost its end. */
void gci_file_unmap_to_zeros(void *address, size_t size);

/* Makes to share from's blocks where the file system can (reflink). false: it can't, nothing was written. */
bool gci_file_clone(gci_file const *from, gci_file const *to);

/* ---- locks: released by the kernel when their holder dies ---- */

typedef enum gci_lock_kind {
    GCI_LOCK_SHARED,
    GCI_LOCK_EXCLUSIVE
} gci_lock_kind;

/*
 * flock: belongs to the open file, which forked children share. Waits at most wait_ns, by asking again at growing
 * intervals. ERROR_BUSY, ERROR_IO.
 */
gcache_status gci_file_lock(gci_file const *file, gci_lock_kind kind, uint64_t wait_ns, gcache_error *error);
void gci_file_unlock(gci_file const *file);
/* Closing alone leaves the lock with a child that was forked meanwhile. */
void gci_file_unlock_and_close(gci_file *file);

/* The same for a range of bytes (an open file description lock); the bytes need not exist. */
gcache_status gci_file_lock_range(gci_file const *file, gci_lock_kind kind, uint64_t offset, uint64_t size,
                                  uint64_t wait_ns, gcache_error *error);
void gci_file_unlock_range(gci_file const *file, uint64_t offset, uint64_t size);
/* Whether anybody has locked any of them through another opening of the file, or that can't be found out. */
bool gci_file_is_locked_elsewhere(gci_file const *file, uint64_t offset, uint64_t size);

#endif
