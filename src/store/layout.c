#include "store/paths.h"

#include "base/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The signature that https://bford.info/cachedir/ defines. */
static char const cachedir_tag[] =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This directory holds a guardcache cache; it may be deleted when no program uses it.\n";

#define FORMAT_WORD "guardcache-store "
/* A format file has one short line. */
#define FORMAT_MAX 64

static char const *const folders[] = { "entries", "attachments", "tmp", "quarantine", "locks", "locks/leases" };

static bool
is_ours(char const *name)
{
    static char const *const names[] = { "CACHEDIR.TAG", "format",     "generations", "evicted", "segment",   "index.db",
                                         "entries",      "attachments", "tmp",        "quarantine", "locks" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static int
note_stranger(void *state, char const *name)
{
    bool *found = state;

    *found = !is_ours(name);
    return *found;
}

/* A directory without a format file may become a cache if it is empty or if making one was interrupted. */
static gcache_status
check_may_become_cache(gci_dir dir, gcache_error *error)
{
    bool stranger = false;

    gcache_status status = gci_dir_each(dir, ".", note_stranger, &stranger, error);
    if (status == GCACHE_OK && stranger)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: not a cache, and not empty", dir.name);
    return status;
}

/* Writes a small file under a temporary name and renames it, so that it is there whole or not at all. */
static gcache_status
write_small(gci_dir dir, char const *name, gci_view bytes, gcache_error *error)
{
    gci_path temporary = gci_path_temporary();
    gci_file file;

    gcache_status status = gci_file_open(dir, temporary.text, O_WRONLY | O_CREAT | O_EXCL, &file, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_file_write(&file, &bytes, 1, error);
    if (status == GCACHE_OK)
        status = gci_file_sync(&file, error);
    gci_file_close(&file);
    if (status == GCACHE_OK)
        status = gci_dir_rename(dir, temporary.text, dir, name, error);
    if (status != GCACHE_OK)
        gci_dir_unlink(dir, temporary.text, NULL);
    return status;
}

gcache_status
gci_layout_furnish(gci_dir dir, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    for (size_t i = 0; status == GCACHE_OK && i < sizeof folders / sizeof *folders; i++)
        status = gci_dir_make(dir, folders[i], NULL, error);
    return status;
}

/* Several processes may do this at once: each step leaves what it finds. The format file comes last. */
static gcache_status
furnish(gci_dir dir, gcache_error *error)
{
    char line[FORMAT_MAX];

    gcache_status status = check_may_become_cache(dir, error);
    if (status == GCACHE_OK)
        status = gci_layout_furnish(dir, error);
    if (status == GCACHE_OK)
        status = write_small(dir, "CACHEDIR.TAG", gci_view_text(cachedir_tag), error);
    snprintf(line, sizeof line, FORMAT_WORD "%d\n", GCI_FORMAT_VERSION);
    if (status == GCACHE_OK)
        status = write_small(dir, "format", gci_view_text(line), error);
    return status;
}

/* format = "guardcache-store " number "\n" */
static gcache_status
check_format(gci_dir dir, gci_view text, gcache_error *error)
{
    char line[FORMAT_MAX + 1];
    char *end;

    snprintf(line, sizeof line, "%.*s", (int)text.size, text.data);
    bool known = strncmp(line, FORMAT_WORD, sizeof FORMAT_WORD - 1) == 0;
    long version = known ? strtol(line + sizeof FORMAT_WORD - 1, &end, 10) : 0;
    if (version < 1 || (*end != '\n' && *end != '\0'))
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s/format: not a guardcache format file", dir.name);
    if (version > GCI_FORMAT_VERSION)
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s: a cache of format %ld; this version reads up to %d", dir.name,
                        version, GCI_FORMAT_VERSION);
    return GCACHE_OK;
}

static gcache_status
read_format(gci_dir dir, gcache_error *error)
{
    /* One digit and the line's end. A longer number is newer, whatever follows, and one read is all it takes to see that. */
    char text[sizeof FORMAT_WORD - 1 + 2];
    size_t size = 0;
    gci_file file;

    gcache_status status = gci_file_open(dir, "format", O_RDONLY | O_NONBLOCK, &file, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_file_read(&file, text, sizeof text, 0, &size, error);
    gci_file_close(&file);
    return status == GCACHE_OK ? check_format(dir, gci_view_of(text, size), error) : status;
}

/* What is in a cache gets executed: nobody else may be able to put something there. Root may anyway. */
static gcache_status
check_trust(gci_dir dir, gcache_error *error)
{
    struct stat facts;

    if (fstat(dir.fd, &facts) != 0)
        return gci_fail_errno(error, errno, "%s", dir.name);
    if (facts.st_uid != geteuid() && facts.st_uid != 0)
        return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s: belongs to user %ld, not to us", dir.name, (long)facts.st_uid);
    if ((facts.st_mode & S_IWOTH) != 0)
        return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s: everybody may write to it (mode %03o)", dir.name,
                        (unsigned)facts.st_mode & 0777u);
    return GCACHE_OK;
}

/* Makes a directory a user named, and those above it that are missing. */
static gcache_status
make_path(char const *path, gcache_error *error)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return GCACHE_OK;
    if (errno != ENOENT)
        return gci_fail_errno(error, errno, "%s", path);
    char *parent = strdup(path);
    if (parent == NULL)
        return gci_fail_memory(error);
    char *slash = strrchr(parent, '/');
    gcache_status status = GCACHE_OK;
    if (slash == NULL || slash == parent) {
        status = gci_fail_errno(error, ENOENT, "%s", path);
    } else {
        *slash = '\0';
        status = make_path(parent, error);
    }
    free(parent);
    if (status == GCACHE_OK && mkdir(path, 0700) != 0 && errno != EEXIST)
        return gci_fail_errno(error, errno, "%s", path);
    return status;
}

static gcache_status
open_format(gci_dir dir, bool make, gcache_error *error)
{
    gcache_status status = read_format(dir, NULL);

    if (status == GCACHE_OK)
        return status;
    return status == GCACHE_ERROR_NOT_FOUND && make ? furnish(dir, error) : read_format(dir, error);
}

gcache_status
gci_layout_open(char const *path, bool make, gci_dir *out_dir, gcache_error *error)
{
    gcache_status status = gci_dir_open_user(path, out_dir, NULL);

    if (status == GCACHE_ERROR_NOT_FOUND && make) {
        status = make_path(path, error);
        if (status != GCACHE_OK)
            return status;
    }
    if (out_dir->fd < 0)
        status = gci_dir_open_user(path, out_dir, error);
    if (status != GCACHE_OK)
        return status;
    status = check_trust(*out_dir, error);
    if (status == GCACHE_OK)
        status = open_format(*out_dir, make, error);
    if (status != GCACHE_OK)
        gci_dir_close(out_dir);
    return status;
}
