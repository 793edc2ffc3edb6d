/* A cache directory: recognised by its format file or by what lies in it, made, completed, and kept in order. */
#include "store/directory/layout.h"

#include "base/check.h"
#include "base/digest.h"
#include "store/directory/paths.h"
#include "store/directory/shard.h"
#include "store/directory/tree.h"
#include "store/format/candidate_index.h"

#include <endian.h>
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

/* Whoever holds the lock makes a few system calls. */
#define LOCK_WAIT_NS UINT64_C(1000000000)

void
gci_layout_lock(gci_dir dir, gci_file *out_lock)
{
    gci_dir itself;

    gci_dir_open(dir, ".", dir.name, &itself, NULL);
    *out_lock = (gci_file){ .fd = itself.fd, .dir = dir, .path = "." };
    if (out_lock->fd >= 0)
        gci_file_lock(out_lock, GCI_LOCK_EXCLUSIVE, LOCK_WAIT_NS, NULL);
}

/* ---- putting aside ---- */

/* What has the folder's place, if anything has, is moved into the folder that takes it. */
static gcache_status
make_quarantine(gci_dir dir, gcache_error *error)
{
    gci_path place = gci_path_quarantine("quarantine"), beside = place;
    struct stat facts;

    gcache_status status = gci_dir_stat(dir, "quarantine", &facts, NULL);
    if (status == GCACHE_OK && S_ISDIR(facts.st_mode))
        return status;
    if (status == GCACHE_ERROR_NOT_FOUND)
        return gci_dir_make(dir, "quarantine", NULL, error);
    beside.text[sizeof "quarantine" - 1] = '.';
    status = gci_dir_rename(dir, "quarantine", dir, beside.text, error);
    if (status == GCACHE_OK)
        status = gci_dir_make(dir, "quarantine", NULL, error);
    return status == GCACHE_OK ? gci_dir_rename(dir, beside.text, dir, place.text, error) : status;
}

gcache_status
gci_layout_put_aside(gci_dir dir, char const *path, gci_path *out_place, gcache_error *error)
{
    gci_path place = gci_path_quarantine(path);

    if (out_place != NULL)
        *out_place = place;
    gcache_status status = make_quarantine(dir, error);
    /* Which put aside what had its own place. */
    if (status != GCACHE_OK || strcmp(path, "quarantine") == 0)
        return status;
    return gci_dir_rename(dir, path, dir, place.text, error);
}

/* Under the layout's lock. */
static gcache_status
clear_place(gci_dir dir, char const *path, mode_t kind, gcache_error *error)
{
    struct stat facts;

    gcache_status status = gci_dir_stat(dir, path, &facts, error);
    if (status == GCACHE_ERROR_NOT_FOUND)
        return GCACHE_OK;
    if (status != GCACHE_OK || (facts.st_mode & S_IFMT) == kind)
        return status;
    return gci_layout_put_aside(dir, path, NULL, error);
}

static gcache_status
make_folder(gci_dir dir, char const *path, gcache_error *error)
{
    gcache_status status = clear_place(dir, path, S_IFDIR, error);

    return status == GCACHE_OK ? gci_dir_make(dir, path, NULL, error) : status;
}

/* ---- making way ---- */

bool
gci_layout_has_way(gci_dir dir, char const *path)
{
    char const *slash = strrchr(path, '/');
    gci_path parent;
    gci_dir opened;

    snprintf(parent.text, sizeof parent.text, "%.*s", slash != NULL ? (int)(slash - path) : 0, path);
    if (slash == NULL || gci_dir_open(dir, parent.text, dir.name, &opened, NULL) != GCACHE_OK)
        return slash == NULL;
    gci_dir_close(&opened);
    return true;
}

bool
gci_layout_may_help(gcache_status status)
{
    return status == GCACHE_ERROR_NOT_FOUND || status == GCACHE_ERROR_CORRUPT;
}

gcache_status
gci_layout_make_way(gci_dir dir, char const *path, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    gci_file lock;
    gci_path part;

    gci_layout_lock(dir, &lock);
    for (char const *slash = strchr(path, '/'); status == GCACHE_OK && slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(part.text, sizeof part.text, "%.*s", (int)(slash - path), path);
        status = make_folder(dir, part.text, error);
    }
    if (status == GCACHE_OK)
        status = clear_place(dir, path, S_IFREG, error);
    gci_file_unlock_and_close(&lock);
    return status;
}

void
gci_layout_prune(gci_dir dir)
{
    static char const *const parents[] = { "entries", "attachments" };
    char path[32];

    for (unsigned i = 0; i < 2 * GCI_SHARDS; i++) {
        snprintf(path, sizeof path, "%s/%02x", parents[i / GCI_SHARDS], i % GCI_SHARDS);
        gci_dir_remove(dir, path, NULL);
    }
}

gcache_status
gci_layout_fail_gone(gci_dir dir, gcache_error *error)
{
    return gci_fail(error, GCACHE_ERROR_IO, "%s: the directory was moved or removed; open the cache anew", dir.name);
}

gcache_status
gci_layout_create(gci_dir dir, char const *path, int flags, gci_file *out_file, gcache_error *error)
{
    gcache_status status = gci_file_open(dir, path, flags, out_file, error);

    if (!gci_layout_may_help(status))
        return status;
    bool lacking = status == GCACHE_ERROR_NOT_FOUND;
    gcache_status made = gci_layout_make_way(dir, path, lacking ? error : NULL);
    if (made == GCACHE_OK)
        status = gci_file_open(dir, path, flags, out_file, error);
    else if (lacking)
        status = made;
    return status == GCACHE_ERROR_NOT_FOUND ? gci_layout_fail_gone(dir, error) : status;
}

gcache_status
gci_layout_write(gci_dir dir, char const *name, gci_view bytes, gcache_error *error)
{
    gci_path temporary = gci_path_temporary();

    gcache_status status = gci_file_write_whole(dir, temporary.text, name, bytes, error);
    if (!gci_layout_may_help(status) || gci_layout_make_way(dir, temporary.text, NULL) != GCACHE_OK ||
        gci_layout_make_way(dir, name, NULL) != GCACHE_OK)
        return status;
    return gci_file_write_whole(dir, temporary.text, name, bytes, error);
}

/* ---- what is there ---- */

bool
gci_layout_has_tag(gci_dir dir)
{
    gci_buf text;

    gci_buf_init(&text, sizeof cachedir_tag);
    bool ours = gci_file_load(dir, "CACHEDIR.TAG", sizeof cachedir_tag, &text, NULL) == GCACHE_OK &&
                gci_view_is(gci_buf_view(&text), cachedir_tag);
    gci_buf_clear(&text);
    return ours;
}

gcache_status
gci_layout_complete(gci_dir dir, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    gci_file lock;

    gci_layout_lock(dir, &lock);
    for (size_t i = 0; status == GCACHE_OK && i < sizeof folders / sizeof *folders; i++)
        status = make_folder(dir, folders[i], error);
    gci_file_unlock_and_close(&lock);
    if (status == GCACHE_OK && !gci_layout_has_tag(dir))
        status = gci_layout_write(dir, "CACHEDIR.TAG", gci_view_text(cachedir_tag), error);
    return status;
}

static bool
is_ours(char const *name)
{
    static char const *const names[] = {
#define X(name, kind) name,
        GCI_TOP_MAP(X)
#undef X
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

struct content {
    size_t ours, folders, strangers;
    bool used; /* opened and used, so it was complete once */
};

static int
note_content(void *state, char const *name)
{
    struct content *content = state;

    bool folder = strcmp(name, "entries") == 0 || strcmp(name, "locks") == 0 || strcmp(name, "quarantine") == 0;
    content->folders += folder;
    content->used |= strcmp(name, "generations") == 0 || strcmp(name, "segment") == 0;
    if (is_ours(name))
        content->ours++;
    else
        content->strangers++;
    return 0;
}

/*
 * Whether a directory without a good format file is a cache (*out_cache) that was complete once (*out_used), or may become
 * one: if it is empty, or holds only what a cache does. Of one that others use as well our tag says that it is a cache, or
 * three of our folders.
 */
static gcache_status
look_around(gci_dir dir, bool *out_cache, bool *out_used, gcache_error *error)
{
    struct content content = { 0 };

    *out_cache = *out_used = false;
    gcache_status status = gci_dir_each(dir, ".", note_content, &content, error);
    if (status != GCACHE_OK)
        return status;
    *out_cache = (content.strangers == 0 && content.ours > 0) || content.folders == 3 || gci_layout_has_tag(dir);
    if (!*out_cache && content.strangers > 0)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: not a cache, and not empty", dir.name);
    *out_used = content.used;
    return GCACHE_OK;
}

/* ---- the records' own version ---- */

struct newest {
    gci_dir dir;
    bool newer;
};

static gci_tree_step
note_pack(void *state, char const *path, struct stat const *facts)
{
    struct newest *newest = state;
    char id[GCACHE_ENTRY_ID_SIZE], header[GCI_PACK_HEADER];
    gci_pack_walk walk;
    gci_file file;
    gcache_key key;
    size_t got = 0;

    gci_name_kind kind = gci_name_read(strrchr(path, '/') + 1, &key, id);
    if (!S_ISREG(facts->st_mode) || (kind != GCI_NAME_PACK && kind != GCI_NAME_POOL) ||
        gci_file_open(newest->dir, path, O_RDONLY, &file, NULL) != GCACHE_OK)
        return GCI_TREE_ON;
    gci_file_read(&file, header, sizeof header, 0, &got, NULL);
    gci_file_close(&file);
    gci_pack_state pack = gci_pack_begin(gci_view_of(header, got), &key, &walk);
    newest->newer = pack == GCI_PACK_NEWER;
    return newest->newer || pack == GCI_PACK_GOOD ? GCI_TREE_END : GCI_TREE_ON;
}

/* Where the format file says nothing the first whole candidate index does: one cache has one version. */
static gcache_status
check_versions(gci_dir dir, gcache_error *error)
{
    struct newest newest = { .dir = dir };

    gci_tree_each(dir, "entries", note_pack, &newest, NULL);
    return newest.newer ? gci_fail(error, GCACHE_ERROR_FORMAT, "%s: a cache of a newer format than %d", dir.name,
                                   GCI_FORMAT_VERSION)
                        : GCACHE_OK;
}

/* ---- the format file ---- */

static gci_view
write_format(long version, char line[FORMAT_MAX])
{
    int size = snprintf(line, FORMAT_MAX, FORMAT_WORD "%ld ", version);
    uint64_t checksum = htobe64(gci_hash64(line, (size_t)size - 1, 0));

    gci_hex((uint8_t const *)&checksum, sizeof checksum, line + size);
    memcpy(line + size + 2 * sizeof checksum, "\n", sizeof "\n");
    return gci_view_text(line);
}

/* format = "guardcache-store " number " " checksum "\n". What isn't exactly one that was written is damaged. */
static gcache_status
check_format(gci_dir dir, gci_view text, gcache_error *error)
{
    char line[FORMAT_MAX + 1], whole[FORMAT_MAX];

    if (gci_view_equal(text, write_format(GCI_FORMAT_VERSION, whole)))
        return GCACHE_OK;
    snprintf(line, sizeof line, "%.*s", (int)text.size, text.data);
    bool known = strncmp(line, FORMAT_WORD, sizeof FORMAT_WORD - 1) == 0;
    long version = known ? strtol(line + sizeof FORMAT_WORD - 1, NULL, 10) : 0;
    if (version < 1 || !gci_view_equal(text, write_format(version, whole)))
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s/format: not a guardcache format file", dir.name);
    return gci_fail(error, GCACHE_ERROR_FORMAT, "%s: a cache of format %ld; this version reads format %d", dir.name, version,
                    GCI_FORMAT_VERSION);
}

static gcache_status
read_format(gci_dir dir, gcache_error *error)
{
    char text[FORMAT_MAX];
    size_t size = 0;
    gci_file file;

    /* A number that nothing is executed for: whoever wrote it. */
    dir.owners = NULL;
    gcache_status status = gci_file_open(dir, "format", O_RDONLY, &file, error);
    if (status != GCACHE_OK)
        return status;
    size_t wanted = file.opened.size < sizeof text ? (size_t)file.opened.size : sizeof text;
    status = gci_file_read(&file, text, wanted, 0, &size, error);
    gci_file_close(&file);
    return status == GCACHE_OK ? check_format(dir, gci_view_of(text, size), error) : status;
}

/* Several processes may do this at once: each step leaves what it finds. The format file comes last. */
static gcache_status
complete_and_mark(gci_dir dir, gcache_error *error)
{
    char line[FORMAT_MAX];

    gcache_status status = gci_layout_complete(dir, error);
    return status == GCACHE_OK ? gci_layout_write(dir, "format", write_format(GCI_FORMAT_VERSION, line), error) : status;
}

/* A format file that can't be relied on. */
static gcache_status
mend_format(gci_dir dir, bool make, gcache_status damage, bool *out_mended, gcache_error *error)
{
    bool cache, used;

    gcache_status status = look_around(dir, &cache, &used, error);
    if (status == GCACHE_OK && !cache && !make)
        status = gci_fail(error, damage, "%s: not a cache", dir.name);
    if (status == GCACHE_OK && cache)
        status = check_versions(dir, error);
    if (status != GCACHE_OK)
        return status;
    /* Without a format file a directory that was never used is one that somebody else is making. */
    *out_mended = used || damage == GCACHE_ERROR_CORRUPT;
    status = make ? complete_and_mark(dir, error) : GCACHE_OK;
    return cache && faccessat(dir.fd, ".", W_OK, AT_EACCESS) != 0 ? GCACHE_OK : status;
}

/* What is in a cache gets executed: only those who are trusted may be able to put something there. *owners says who, and learns
   which group that is. */
gcache_status
gci_layout_trusted(gci_dir dir, gci_owners *owners, gcache_error *error)
{
    char why[GCI_DISTRUST_TEXT];
    struct stat facts;

    if (fstat(dir.fd, &facts) != 0)
        return gci_fail_errno(error, errno, "%s", dir.name);
    owners->user = geteuid();
    owners->group = facts.st_gid;
    if (owners->trust == GCACHE_TRUST_GROUP && !gci_group_is_ours(facts.st_gid))
        return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s: its group %ld, which trust=group would trust, is none of ours",
                        dir.name, (long)facts.st_gid);
    if (gci_owners_trust(owners, facts.st_uid, facts.st_gid, facts.st_mode, why))
        return GCACHE_OK;
    bool ours = facts.st_uid == owners->user || facts.st_uid == 0;
    if (!ours)
        return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s: %s; chown -R %ld '%s' if it should be ours", dir.name, why,
                        (long)owners->user, dir.name);
    return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s: %s; chmod go-w '%s' if that is a mistake%s", dir.name, why, dir.name,
                    (facts.st_mode & S_IWOTH) != 0 ? "" : ", trust=group if the group may decide what is executed");
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
open_format(gci_dir dir, bool make, bool *out_mended, gcache_error *error)
{
    gcache_status status = read_format(dir, error);

    return gci_layout_may_help(status) ? mend_format(dir, make, status, out_mended, error) : status;
}

gcache_status
gci_layout_open(char const *path, bool make, gci_owners *owners, gci_dir *out_dir, bool *out_mended, gcache_error *error)
{
    gcache_status status = gci_dir_open_user(path, out_dir, NULL);

    *out_mended = false;
    if (status == GCACHE_ERROR_NOT_FOUND && make) {
        status = make_path(path, error);
        if (status != GCACHE_OK)
            return status;
    }
    if (out_dir->fd < 0)
        status = gci_dir_open_user(path, out_dir, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_layout_trusted(*out_dir, owners, error);
    out_dir->owners = owners;
    if (status == GCACHE_OK)
        status = open_format(*out_dir, make, out_mended, error);
    if (status != GCACHE_OK)
        gci_dir_close(out_dir);
    return status;
}
