/*
 * Files and folders by descriptors: whose they are, opening without following links, reading and writing whole, syncing.
 */
#include "base/system/file.h"

#include "base/check.h"
#include "base/system/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- trust ---- */

bool
gci_owners_trust(gci_owners const *owners, uid_t user, gid_t group, mode_t mode, char out_why[GCI_DISTRUST_TEXT])
{
    bool ours = user == owners->user || user == 0;
    unsigned bits = (unsigned)mode & 07777u;

    if (owners->trust == GCACHE_TRUST_ANY)
        return true;
    if ((mode & S_IWOTH) != 0)
        snprintf(out_why, GCI_DISTRUST_TEXT, "everybody may write to it (mode %03o)", bits);
    else if (owners->trust == GCACHE_TRUST_GROUP && group == owners->group)
        return true;
    else if (!ours)
        snprintf(out_why, GCI_DISTRUST_TEXT, "belongs to user %ld, not to us", (long)user);
    else if ((mode & S_IWGRP) != 0)
        snprintf(out_why, GCI_DISTRUST_TEXT, "group %ld may write to it (mode %03o)", (long)group, bits);
    else
        return true;
    return false;
}

bool
gci_group_is_ours(gid_t group)
{
    int count = getgroups(0, NULL);
    gid_t *groups = count > 0 ? malloc((size_t)count * sizeof *groups) : NULL;
    bool found = group == getegid();

    if (groups != NULL)
        count = getgroups(count, groups);
    for (int i = 0; groups != NULL && i < count; i++)
        found |= groups[i] == group;
    free(groups);
    return found;
}

static bool
shares_with_group(gci_dir dir)
{
    return dir.owners != NULL && dir.owners->trust == GCACHE_TRUST_GROUP;
}

/* ---- directories ---- */

gcache_status
gci_dir_open_user(char const *path, gci_dir *out_dir, gcache_error *error)
{
    int fd;

    *out_dir = (gci_dir){ .fd = -1, .name = path };
    do
        fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return gci_fail_errno(error, errno, "%s", path);
    out_dir->fd = fd;
    return GCACHE_OK;
}

/* Not blocking: a pipe or a device that somebody put in a file's place must not stop us. A plain file never blocks. */
#define OPEN_FLAGS (O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)

/*
 * Symbolic links are refused in every component, not only in the last. Kernels before 5.6 and some sandboxes lack
 * openat2; there the last component is all that can be asked for.
 */
static int
open_beneath(int at, char const *path, int flags)
{
    struct open_how how = {
        .flags = (unsigned)(flags | OPEN_FLAGS),
        .mode = (flags & O_CREAT) != 0 ? 0600 : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
    };
    int fd;

    do
        fd = (int)syscall(SYS_openat2, at, path, &how, sizeof how);
    while (fd < 0 && (errno == EINTR || errno == EAGAIN));
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
        return fd;
    do
        fd = openat(at, path, flags | OPEN_FLAGS, 0600);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Whether a call failed because a name, or one on the way to it, stands for something else than was asked for. */
static bool
is_of_another_kind(int reason)
{
    return reason == ELOOP || reason == ENOTDIR || reason == EISDIR || reason == ENXIO || reason == ENODEV;
}

static gcache_status
fail_path(gci_dir dir, char const *path, gcache_error *error)
{
    int reason = errno;
    gcache_status status = gci_fail_errno(error, reason, "%s/%s", dir.name, path);

    if (!is_of_another_kind(reason))
        return status;
    if (error != NULL)
        error->status = GCACHE_ERROR_CORRUPT;
    return GCACHE_ERROR_CORRUPT;
}

gcache_status
gci_dir_open(gci_dir dir, char const *path, char const *name, gci_dir *out_dir, gcache_error *error)
{
    *out_dir = (gci_dir){ .fd = -1, .name = name, .owners = dir.owners };
    int fd = open_beneath(dir.fd, path, O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return fail_path(dir, path, error);
    out_dir->fd = fd;
    return GCACHE_OK;
}

void
gci_dir_close(gci_dir *dir)
{
    if (dir->fd >= 0)
        close(dir->fd);
    dir->fd = -1;
}

bool
gci_dir_still_named(gci_dir dir)
{
    struct stat named, opened;

    return stat(dir.name, &named) == 0 && fstat(dir.fd, &opened) == 0 && named.st_dev == opened.st_dev &&
           named.st_ino == opened.st_ino;
}

gcache_status
gci_dir_make(gci_dir dir, char const *path, bool *out_made, gcache_error *error)
{
    bool made = mkdirat(dir.fd, path, 0700) == 0;

    if (!made && errno != EEXIST)
        return fail_path(dir, path, error);
    /* What is made below then has the group from the directory. The umask isn't asked. */
    if (made && shares_with_group(dir) &&
        (fchownat(dir.fd, path, (uid_t)-1, dir.owners->group, AT_SYMLINK_NOFOLLOW) != 0 ||
         fchmodat(dir.fd, path, 02770, 0) != 0))
        return fail_path(dir, path, error);
    if (out_made != NULL)
        *out_made = made;
    return GCACHE_OK;
}

gcache_status
gci_dir_stat(gci_dir dir, char const *path, struct stat *out_facts, gcache_error *error)
{
    return fstatat(dir.fd, path, out_facts, AT_SYMLINK_NOFOLLOW) == 0 ? GCACHE_OK : fail_path(dir, path, error);
}

bool
gci_dir_may_read(gci_dir dir, char const *path)
{
    struct stat facts;

    return gci_dir_stat(dir, path, &facts, NULL) == GCACHE_OK && S_ISREG(facts.st_mode) &&
           faccessat(dir.fd, path, R_OK, AT_EACCESS) == 0;
}

gcache_status
gci_dir_rename(gci_dir from_dir, char const *from, gci_dir to_dir, char const *to, gcache_error *error)
{
    return renameat(from_dir.fd, from, to_dir.fd, to) == 0 ? GCACHE_OK : fail_path(to_dir, to, error);
}

gcache_status
gci_dir_link(gci_dir from_dir, char const *from, gci_dir to_dir, char const *to, bool *out_existed, gcache_error *error)
{
    int failed = linkat(from_dir.fd, from, to_dir.fd, to, 0);

    *out_existed = failed && errno == EEXIST;
    return failed && !*out_existed ? fail_path(to_dir, to, error) : GCACHE_OK;
}

gcache_status
gci_dir_touch(gci_dir dir, char const *path, gcache_error *error)
{
    return utimensat(dir.fd, path, NULL, AT_SYMLINK_NOFOLLOW) == 0 ? GCACHE_OK : fail_path(dir, path, error);
}

gcache_status
gci_dir_make_old(gci_dir dir, char const *path, gcache_error *error)
{
    struct timespec const times[] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 0 } };

    return utimensat(dir.fd, path, times, AT_SYMLINK_NOFOLLOW) == 0 ? GCACHE_OK : fail_path(dir, path, error);
}

gcache_status
gci_dir_unlink(gci_dir dir, char const *path, gcache_error *error)
{
    return unlinkat(dir.fd, path, 0) == 0 || errno == ENOENT ? GCACHE_OK : fail_path(dir, path, error);
}

gcache_status
gci_dir_remove(gci_dir dir, char const *path, gcache_error *error)
{
    return unlinkat(dir.fd, path, AT_REMOVEDIR) == 0 ? GCACHE_OK : fail_path(dir, path, error);
}

gcache_status
gci_dir_sync(gci_dir dir, gcache_error *error)
{
    return fsync(dir.fd) == 0 ? GCACHE_OK : gci_fail_errno(error, errno, "%s", dir.name);
}

gcache_status
gci_dir_each(gci_dir dir, char const *path, gci_name_fn fn, void *state, gcache_error *error)
{
    int fd = open_beneath(dir.fd, path, O_RDONLY | O_DIRECTORY);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;

    if (stream == NULL) {
        gcache_status status = fail_path(dir, path, error);
        if (fd >= 0)
            close(fd);
        return status;
    }
    gcache_status status = GCACHE_OK;
    for (;;) {
        errno = 0;
        struct dirent *entry = readdir(stream);
        if (entry == NULL) {
            if (errno != 0)
                status = fail_path(dir, path, error);
            break;
        }
        bool itself = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        if (!itself && fn(state, entry->d_name) != 0)
            break;
    }
    closedir(stream);
    return status;
}

gcache_status
gci_dir_free_bytes(gci_dir dir, uint64_t *out_bytes, gcache_error *error)
{
    struct statvfs facts;

    if (fstatvfs(dir.fd, &facts) != 0)
        return gci_fail_errno(error, errno, "%s", dir.name);
    *out_bytes = (uint64_t)facts.f_bavail * facts.f_frsize;
    return GCACHE_OK;
}

uint64_t
gci_dir_free_names(gci_dir dir)
{
    struct statvfs facts;

    return fstatvfs(dir.fd, &facts) == 0 && facts.f_files != 0 ? facts.f_favail : UINT64_MAX;
}

char const *
gci_dir_network(gci_dir dir)
{
    static struct {
        uint32_t type;
        char const *name;
    } const networks[] = {
        { 0x6969, "nfs" },       { 0xFF534D42, "cifs" },   { 0xFE534D42, "smb2" },    { 0x517B, "smb" },
        { 0x0BD00BD0, "lustre" }, { 0x00C36400, "ceph" },  { 0x5346414F, "afs" },     { 0x47504653, "gpfs" },
        { 0x19830326, "beegfs" }, { 0x01021997, "9p" },    { 0x01161970, "gfs2" },    { 0x7461636F, "ocfs2" },
        { 0x65735546, "fuse" },   { 0x73757245, "coda" },  { 0x013111A8, "ibrix" },   { 0xAAD7AAEA, "panfs" },
    };
    struct statfs facts;

    if (fstatfs(dir.fd, &facts) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        if ((uint32_t)facts.f_type == networks[i].type)
            return networks[i].name;
    }
    return NULL;
}

/* ---- files below a directory ---- */

static gcache_status
fail_file(gci_file const *file, gcache_error *error)
{
    return fail_path(file->dir, file->path, error);
}

static uint64_t
ns_of(struct statx_timestamp time)
{
    return (uint64_t)time.tv_sec * GCI_SECOND_NS + time.tv_nsec;
}

/* Some sandboxes refuse statx, as they did before they knew it. */
static gcache_status
stamp_without_birth(gci_file const *file, gci_file_stamp *out_stamp, gcache_error *error)
{
    struct stat facts;

    gcache_status status = gci_file_stat(file, &facts, error);
    if (status != GCACHE_OK)
        return status;
    *out_stamp = (gci_file_stamp){
        .device = facts.st_dev,
        .inode = facts.st_ino,
        .size = (uint64_t)facts.st_size,
        .modified_ns = gci_timespec_ns(facts.st_mtim),
        .changed_ns = gci_timespec_ns(facts.st_ctim),
        .mode = facts.st_mode,
        .user = facts.st_uid,
        .group = facts.st_gid,
    };
    return GCACHE_OK;
}

static gcache_status
stamp_of(gci_file const *file, gci_file_stamp *out_stamp, gcache_error *error)
{
    struct statx facts;

    if (statx(file->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &facts) != 0)
        return stamp_without_birth(file, out_stamp, error);
    *out_stamp = (gci_file_stamp){
        .device = (uint64_t)facts.stx_dev_major << 32 | facts.stx_dev_minor,
        .inode = facts.stx_ino,
        .size = facts.stx_size,
        .modified_ns = ns_of(facts.stx_mtime),
        .changed_ns = ns_of(facts.stx_ctime),
        .born_ns = (facts.stx_mask & STATX_BTIME) != 0 ? ns_of(facts.stx_btime) : 0,
        .mode = facts.stx_mode,
        .user = facts.stx_uid,
        .group = facts.stx_gid,
    };
    return GCACHE_OK;
}

/* Lets the group into a file of ours that is open for writing: it may be new. */
static gcache_status
share_with_group(gci_file *file, gcache_error *error)
{
    gci_file_stamp *opened = &file->opened;
    gid_t group = file->dir.owners->group;

    if (opened->user != file->dir.owners->user || (opened->group == group && (opened->mode & 0060) == 0060))
        return GCACHE_OK;
    if ((opened->group != group && fchown(file->fd, (uid_t)-1, group) != 0) ||
        fchmod(file->fd, (opened->mode & 07777) | 0060) != 0)
        return fail_file(file, error);
    opened->group = group;
    opened->mode |= 0060;
    return GCACHE_OK;
}

/* Looks at what was opened: a plain file, by somebody who is trusted? */
static gcache_status
look_at(gci_file *file, int flags, gcache_error *error)
{
    gci_file_stamp const *opened = &file->opened;
    gci_owners const *owners = file->dir.owners;
    char why[GCI_DISTRUST_TEXT];

    gcache_status status = stamp_of(file, &file->opened, error);
    if (status == GCACHE_OK && !S_ISREG(opened->mode))
        status = gci_fail(error, GCACHE_ERROR_CORRUPT, "%s/%s: not a plain file", file->dir.name, file->path);
    if (status == GCACHE_OK && shares_with_group(file->dir) && (flags & O_CREAT) != 0)
        status = share_with_group(file, error);
    if (status == GCACHE_OK && owners != NULL &&
        !gci_owners_trust(owners, opened->user, opened->group, opened->mode, why))
        status = gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s/%s: %s", file->dir.name, file->path, why);
    if (status != GCACHE_OK)
        gci_file_close(file);
    return status;
}

gcache_status
gci_file_open(gci_dir dir, char const *path, int flags, gci_file *out_file, gcache_error *error)
{
    *out_file = (gci_file){ .fd = open_beneath(dir.fd, path, flags), .dir = dir, .path = path };
    return out_file->fd >= 0 ? look_at(out_file, flags, error) : fail_file(out_file, error);
}

gcache_status
gci_file_open_existing(gci_dir dir, char const *path, int flags, gci_file *out_file, gcache_error *error)
{
    *out_file = (gci_file){ .fd = open_beneath(dir.fd, path, flags), .dir = dir, .path = path };
    if (out_file->fd < 0 && errno == ENOENT)
        return GCACHE_OK;
    return out_file->fd >= 0 ? look_at(out_file, flags, error) : fail_file(out_file, error);
}

void
gci_file_close(gci_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

bool
gci_file_replace(gci_file *file, gci_file *with)
{
    int fd;

    do
        fd = dup3(with->fd, file->fd, O_CLOEXEC);
    while (fd < 0 && (errno == EINTR || errno == EBUSY));
    gci_file_close(with);
    return fd >= 0;
}

gcache_status
gci_file_stat(gci_file const *file, struct stat *out_facts, gcache_error *error)
{
    return fstat(file->fd, out_facts) == 0 ? GCACHE_OK : fail_file(file, error);
}

bool
gci_file_stat_named(gci_file const *file, struct stat *out_facts)
{
    struct stat named;

    return gci_file_stat(file, out_facts, NULL) == GCACHE_OK &&
           gci_dir_stat(file->dir, file->path, &named, NULL) == GCACHE_OK && out_facts->st_ino == named.st_ino &&
           out_facts->st_dev == named.st_dev;
}

bool
gci_file_still_named(gci_file const *file)
{
    struct stat facts;

    return gci_file_stat_named(file, &facts);
}

gcache_status
gci_file_read(gci_file const *file, void *out_bytes, size_t size, uint64_t offset, size_t *out_got, gcache_error *error)
{
    size_t got = 0;

    while (got < size) {
        ssize_t step = pread(file->fd, (char *)out_bytes + got, size - got, (off_t)(offset + got));
        if (step < 0 && errno == EINTR)
            continue;
        if (step < 0)
            return fail_file(file, error);
        if (step == 0)
            break;
        got += (size_t)step;
    }
    *out_got = got;
    return GCACHE_OK;
}

/* More parts than a record has. */
#define PARTS_MAX 8

/* Takes what was written off the front of the parts. */
static void
skip_written(struct iovec *parts, size_t count, size_t written)
{
    for (size_t i = 0; i < count && written > 0; i++) {
        size_t step = written < parts[i].iov_len ? written : parts[i].iov_len;
        if (step == 0)
            continue; /* an empty part may point nowhere */
        parts[i].iov_base = (char *)parts[i].iov_base + step;
        parts[i].iov_len -= step;
        written -= step;
    }
}

gcache_status
gci_file_write(gci_file const *file, gci_view const *parts, size_t count, gcache_error *error)
{
    struct iovec left[PARTS_MAX];
    size_t total = 0;

    GCI_ASSERT(count <= PARTS_MAX);
    for (size_t i = 0; i < count; i++) {
        left[i] = (struct iovec){ (void *)(uintptr_t)parts[i].data, parts[i].size };
        total += parts[i].size;
    }
    while (total > 0) {
        ssize_t put = writev(file->fd, left, (int)count);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fail_file(file, error);
        skip_written(left, count, (size_t)put);
        total -= (size_t)put;
    }
    return GCACHE_OK;
}

gcache_status
gci_file_write_at(gci_file const *file, gci_view bytes, uint64_t offset, gcache_error *error)
{
    while (bytes.size > 0) {
        ssize_t put = pwrite(file->fd, bytes.data, bytes.size, (off_t)offset);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return fail_file(file, error);
        bytes = gci_view_of(bytes.data + put, bytes.size - (size_t)put);
        offset += (uint64_t)put;
    }
    return GCACHE_OK;
}

gcache_status
gci_file_start_sync(gci_file const *file, gcache_error *error)
{
    bool failed = sync_file_range(file->fd, 0, 0, SYNC_FILE_RANGE_WRITE) != 0;

    /* Anything else: not on this file system. */
    return failed && (errno == EIO || errno == ENOSPC || errno == EDQUOT) ? fail_file(file, error) : GCACHE_OK;
}

gcache_status
gci_file_sync(gci_file const *file, gcache_error *error)
{
    return fdatasync(file->fd) == 0 ? GCACHE_OK : fail_file(file, error);
}

gcache_status
gci_file_truncate(gci_file const *file, uint64_t size, gcache_error *error)
{
    int failed;

    do
        failed = ftruncate(file->fd, (off_t)size);
    while (failed && errno == EINTR);
    return failed ? fail_file(file, error) : GCACHE_OK;
}

gcache_status
gci_file_set_mode(gci_file const *file, mode_t mode, gcache_error *error)
{
    return fchmod(file->fd, mode) == 0 ? GCACHE_OK : fail_file(file, error);
}

gcache_status
gci_file_allocate(gci_file const *file, uint64_t size, gcache_error *error)
{
    int reason;

    do
        reason = posix_fallocate(file->fd, 0, (off_t)size);
    while (reason == EINTR);
    errno = reason;
    if (reason == EFBIG)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "%s/%s: no file may be so large here", file->dir.name, file->path);
    return reason != 0 ? fail_file(file, error) : GCACHE_OK;
}

gcache_status
gci_file_write_whole(gci_dir dir, char const *temporary, char const *name, gci_view bytes, gcache_error *error)
{
    gci_file file;

    gcache_status status = gci_file_open(dir, temporary, O_WRONLY | O_CREAT | O_EXCL, &file, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_file_write(&file, &bytes, 1, error);
    if (status == GCACHE_OK)
        status = gci_file_sync(&file, error);
    gci_file_close(&file);
    if (status == GCACHE_OK)
        status = gci_dir_rename(dir, temporary, dir, name, error);
    if (status != GCACHE_OK)
        gci_dir_unlink(dir, temporary, NULL);
    return status;
}

uint64_t
gci_unique_number(void)
{
    uint64_t number;

    if (getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
        number = gci_clock_wall_ns() ^ ((uint64_t)getpid() << 40) ^ (uint64_t)(uintptr_t)&number;
    return number;
}

static gcache_status
load_opened(gci_file const *file, size_t limit, gci_buf *out, gcache_error *error)
{
    uint64_t size = file->opened.size;

    if (size > limit)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "%s/%s: larger than %zu bytes", file->dir.name, file->path, limit);
    char *room = gci_buf_reserve(out, (size_t)size);
    if (out->failed)
        return gci_fail_memory(error);
    return gci_file_read(file, room, (size_t)size, 0, &out->size, error);
}

static gcache_status
load_and_close(gci_file *file, size_t limit, gci_buf *out, gcache_error *error)
{
    gcache_status status = load_opened(file, limit, out, error);

    gci_file_close(file);
    if (status != GCACHE_OK)
        gci_buf_clear(out);
    return status;
}

gcache_status
gci_file_load(gci_dir dir, char const *path, size_t limit, gci_buf *out, gcache_error *error)
{
    gci_file file;

    gci_buf_clear(out);
    gcache_status status = gci_file_open(dir, path, O_RDONLY, &file, error);
    return status == GCACHE_OK ? load_and_close(&file, limit, out, error) : status;
}

gcache_status
gci_file_load_existing(gci_dir dir, char const *path, size_t limit, gci_buf *out, gcache_error *error)
{
    gci_file file;

    gci_buf_clear(out);
    gcache_status status = gci_file_open_existing(dir, path, O_RDONLY, &file, error);
    return status == GCACHE_OK && file.fd >= 0 ? load_and_close(&file, limit, out, error) : status;
}

void *
gci_file_map(gci_file const *file, size_t size, bool writable, gcache_error *error)
{
    void *address = mmap(NULL, size, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, file->fd, 0);

    if (address != MAP_FAILED)
        return address;
    fail_file(file, error);
    return NULL;
}

void
gci_file_unmap(void *address, size_t size)
{
    if (address != NULL)
        munmap(address, size);
}

bool
gci_file_map_over(gci_file const *file, void *address, size_t size, bool writable)
{
    int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;

    return mmap(address, size, access, MAP_SHARED | MAP_FIXED, file->fd, 0) != MAP_FAILED;
}

void
gci_file_unmap_to_zeros(void *address, size_t size)
{
    mmap(address, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

bool
gci_file_clone(gci_file const *from, gci_file const *to)
{
    return ioctl(to->fd, FICLONE, from->fd) == 0;
}
