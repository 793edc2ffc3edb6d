/* Attachments: stored by content, read back verified, and put in place below a directory. */
#include "store/insert/attach.h"

#include "base/digest.h"
#include "store/directory/trust.h"
#include "store/evict/references.h"
#include "store/evict/capacity.h"
#include "store/publish/publish.h"
#include "store/read/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A sweep holds its lock for as long as it takes to remove what it found. */
#define SWEEP_WAIT_NS UINT64_C(10000000000)

/* ---- putting in ---- */

static bool
holds(gci_store *store, gci_path const *place, gci_view bytes)
{
    gci_buf there;

    gci_buf_init(&there, GCI_BUF_NO_LIMIT);
    bool same = gci_file_load(store->directory, place->text, bytes.size, &there, NULL) == GCACHE_OK &&
                gci_view_equal(gci_buf_view(&there), bytes);
    gci_buf_clear(&there);
    return same;
}

/* Makes an attachment that is there look new, so that a sweep leaves it to the entry that is about to name it. What is
   there under its name and isn't it is put aside. */
static bool
renew(gci_store *store, gci_path const *place, gci_view bytes)
{
    struct stat facts;

    if (gci_dir_stat(store->directory, place->text, &facts, NULL) != GCACHE_OK)
        return false;
    if ((uint64_t)facts.st_size == bytes.size && holds(store, place, bytes))
        return gci_dir_touch(store->directory, place->text, NULL) == GCACHE_OK;
    gci_quarantine_file(store, place->text, "damaged attachment", NULL);
    return false;
}

static gcache_status
write_attachment(gci_store *store, gci_path const *place, gci_view bytes, gcache_error *error)
{
    gci_path temporary;

    gcache_status status = gci_write_temporary(store, GCI_WEIGHT_COMMIT, &bytes, 1, &temporary, error);
    if (status == GCACHE_OK)
        status = gci_move_into_place(store, &temporary, place, error);
    if (status == GCACHE_OK)
        gci_count_bytes(store, gci_disk_cost(bytes.size));
    return status;
}

/* As much of a name as a message has room for. */
#define SHOWN(name) (int)((name).size < 64 ? (name).size : 64), (name).data

static gcache_status
fail_name(gcache_error *error, gci_view name)
{
    return gci_fail(error, GCACHE_ERROR_ARGUMENT, "attachment \"%.*s\": its name leads out of a directory", SHOWN(name));
}

/* name = part ("/" part)*, where a part is neither empty nor "." nor ".." */
static gcache_status
check_name(gci_view name, gcache_error *error)
{
    size_t begin = 0;

    if (memchr(name.data, '\0', name.size) != NULL)
        return fail_name(error, name);
    if (name.size >= GCACHE_ATTACHMENT_NAME_SIZE)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "attachment \"%.*s...\": its name has %zu bytes, at most %d are taken",
                        SHOWN(name), name.size, GCACHE_ATTACHMENT_NAME_SIZE - 1);
    for (size_t i = 0; i <= name.size; i++) {
        if (i < name.size && name.data[i] != '/')
            continue;
        gci_view part = gci_view_of(name.data + begin, i - begin);
        if (part.size == 0 || gci_view_is(part, ".") || gci_view_is(part, ".."))
            return fail_name(error, name);
        if (part.size > GCACHE_ATTACHMENT_PART_MAX)
            return gci_fail(error, GCACHE_ERROR_LIMIT,
                            "attachment \"%.*s...\": a part of its name has %zu bytes, file systems take %d", SHOWN(name),
                            part.size, GCACHE_ATTACHMENT_PART_MAX);
        begin = i + 1;
    }
    return GCACHE_OK;
}

/* By parts: what lies in a folder follows the folder's own name at once. */
static int
by_parts(void const *left, void const *right)
{
    gci_view const *a = left, *b = right;

    for (size_t i = 0; i < a->size && i < b->size; i++)
        if (a->data[i] != b->data[i])
            return a->data[i] == '/' ? -1 : b->data[i] == '/' ? 1 : (unsigned char)a->data[i] - (unsigned char)b->data[i];
    return (a->size > b->size) - (a->size < b->size);
}

/* Of two neighbours in that order. */
static gcache_status
check_neighbours(gci_view const *name, gci_view const *next, gcache_error *error)
{
    if (next->size < name->size || memcmp(name->data, next->data, name->size) != 0)
        return GCACHE_OK;
    if (next->size == name->size)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "two attachments are named \"%.*s\"", SHOWN(*name));
    if (next->data[name->size] == '/')
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "attachment \"%.*s\" can't be a file and the folder of \"%.*s\"",
                        SHOWN(*name), SHOWN(*next));
    return GCACHE_OK;
}

gcache_status
gci_attachments_check_names(gci_attachment const *attachments, size_t count, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    for (size_t i = 0; status == GCACHE_OK && i < count; i++)
        status = check_name(attachments[i].name, error);
    if (status != GCACHE_OK || count < 2)
        return status;
    gci_view *names = malloc(count * sizeof *names);
    if (names == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < count; i++)
        names[i] = attachments[i].name;
    qsort(names, count, sizeof *names, by_parts);
    for (size_t i = 1; status == GCACHE_OK && i < count; i++)
        status = check_neighbours(&names[i - 1], &names[i], error);
    free(names);
    return status;
}

gcache_status
gci_attachments_check(gci_store *store, gci_record const *record, gcache_error *error)
{
    gcache_status status = gci_attachments_check_names(record->attachments, record->attachment_count, error);

    if (status != GCACHE_OK)
        return status;
    for (size_t i = 0; i < record->attachment_count; i++) {
        gci_attachment const *attachment = &record->attachments[i];
        struct stat facts;
        gci_path place = gci_path_attachment(attachment->sha256);
        if (gci_dir_stat(store->directory, place.text, &facts, NULL) != GCACHE_OK ||
            (uint64_t)facts.st_size != attachment->size)
            return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "attachment \"%.*s\" of entry %s is missing",
                            SHOWN(attachment->name), record->id);
    }
    return GCACHE_OK;
}

/* NOT_FOUND: it isn't there, and wasn't to be written. */
static gcache_status
renew_or_write(gci_store *store, gci_path const *place, gci_view bytes, bool write, gcache_error *error)
{
    gci_file lock;

    gcache_status status = gci_attach_lock(store, GCI_LOCK_SHARED, SWEEP_WAIT_NS, &lock, error);
    if (status != GCACHE_OK)
        return status;
    if (!renew(store, place, bytes))
        status = write ? write_attachment(store, place, bytes, error) : GCACHE_ERROR_NOT_FOUND;
    gci_file_unlock_and_close(&lock);
    return status;
}

gcache_status
gci_store_attach(gci_store *store, gci_view bytes, gci_attachment *out_attachment, gcache_error *error)
{
    gci_store_enter(store);
    gcache_status status = check_name(out_attachment->name, error);
    if (status != GCACHE_OK)
        return status;
    if (store->read_only)
        return gci_store_check_writable(store, error);
    if (!gci_sha256(bytes, out_attachment->sha256))
        return gci_fail_memory(error);
    out_attachment->size = bytes.size;
    gci_path place = gci_path_attachment(out_attachment->sha256);
    status = renew_or_write(store, &place, bytes, false, error);
    if (status != GCACHE_ERROR_NOT_FOUND)
        return status;
    /* Room is made before the lock is taken: making it may have to sweep. */
    uint64_t need = gci_disk_cost(bytes.size);
    status = gci_reserve(store, need, error);
    if (status != GCACHE_OK)
        return status;
    status = renew_or_write(store, &place, bytes, true, error);
    gci_unreserve(store, need);
    return status != GCACHE_ERROR_NOT_FOUND ? status : gci_fail(error, GCACHE_ERROR_IO, "%s/%s: removed while it was written",
                                                                store->directory.name, place.text);
}

/* ---- taking out ---- */

gcache_status
gci_attachment_read(gci_store *store, gci_attachment const *attachment, gci_buf *out, gcache_error *error)
{
    gci_path place = gci_path_attachment(attachment->sha256);
    uint8_t hash[32];

    gcache_status status = gci_trust_folders(store->directory, place.text, error);
    if (status == GCACHE_OK)
        /* One that is too long, by far perhaps, isn't read to its end. */
        status = gci_file_load(store->directory, place.text, (size_t)attachment->size, out, error);
    if (status != GCACHE_OK && status != GCACHE_ERROR_LIMIT)
        return status;
    if (status == GCACHE_OK && !gci_sha256(gci_buf_view(out), hash))
        return gci_fail_memory(error);
    if (status == GCACHE_OK && memcmp(hash, attachment->sha256, sizeof hash) == 0)
        return GCACHE_OK;
    gci_buf_clear(out);
    return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s/%s: damaged attachment", store->directory.name, place.text);
}

/* What is damaged is put aside. */
static gcache_status
load_verified(gci_store *store, gci_attachment const *attachment, gci_buf *out, gci_found *out_found, gcache_error *error)
{
    gcache_status status = gci_attachment_read(store, attachment, out, error);

    if (status == GCACHE_ERROR_CORRUPT && !store->read_only)
        gci_quarantine_file(store, gci_path_attachment(attachment->sha256).text, "damaged attachment", NULL);
    *out_found = status == GCACHE_OK                ? GCI_FOUND
                 : status == GCACHE_ERROR_NOT_FOUND ? GCI_ABSENT
                 : status == GCACHE_ERROR_CORRUPT   ? GCI_CORRUPT
                                                    : gci_unreadable(store);
    return status;
}

gci_found
gci_store_attachment(gci_store *store, gci_attachment const *attachment, gci_buf *out_bytes, gcache_error *error)
{
    gci_found found;

    gci_store_enter(store);
    load_verified(store, attachment, out_bytes, &found, error);
    return found;
}

/* ---- putting in place ---- */

/* Trouble with the caller's directory: whatever stands in the way there, nothing that is stored is damaged or gone. */
static gcache_status
fail_in_the_way(gci_dir target, char const *path, gcache_status status, gcache_error *error)
{
    struct stat facts;

    if (status != GCACHE_ERROR_CORRUPT && status != GCACHE_ERROR_NOT_FOUND)
        return status;
    if (gci_dir_stat(target, path, &facts, NULL) != GCACHE_OK)
        return gci_fail(error, GCACHE_ERROR_IO, "%s/%s: can't be put in place there", target.name, path);
    char const *what = S_ISDIR(facts.st_mode)   ? "a directory"
                       : S_ISLNK(facts.st_mode) ? "a symbolic link"
                       : S_ISREG(facts.st_mode) ? "a file"
                                                : "something else than a file or directory";
    return gci_fail(error, GCACHE_ERROR_IO, "%s/%s: %s is in the way of an attachment", target.name, path, what);
}

/* Makes the directories that name goes through. No link is followed: what stands there must be directories. */
static gcache_status
make_parents(gci_dir target, char const *name, gcache_error *error)
{
    char part[GCACHE_ATTACHMENT_NAME_SIZE];
    gci_dir dir;

    for (char const *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        gcache_status status = gci_dir_make(target, part, NULL, error);
        if (status == GCACHE_OK)
            status = gci_dir_open(target, part, target.name, &dir, error);
        if (status != GCACHE_OK)
            return fail_in_the_way(target, part, status, error);
        gci_dir_close(&dir);
    }
    return GCACHE_OK;
}

static bool
is_in_place(gci_dir target, char const *name, gci_attachment const *attachment)
{
    uint8_t hash[32];
    gci_buf there;

    gci_buf_init(&there, GCI_BUF_NO_LIMIT);
    bool same = gci_file_load(target, name, (size_t)attachment->size, &there, NULL) == GCACHE_OK &&
                there.size == attachment->size && gci_sha256(gci_buf_view(&there), hash) &&
                memcmp(hash, attachment->sha256, sizeof hash) == 0;
    gci_buf_clear(&there);
    return same;
}

/* Shares blocks with the stored file where the file system can, else writes the verified bytes. Where signatures are
   required, somebody else may be writing: then it is the verified bytes. */
static gcache_status
fill(gci_store *store, gci_attachment const *attachment, gci_view bytes, gci_file const *file, gcache_error *error)
{
    gci_path place = gci_path_attachment(attachment->sha256);
    gci_file source;
    bool cloned = false;

    if (!store->options.require_signature &&
        gci_file_open(store->directory, place.text, O_RDONLY, &source, NULL) == GCACHE_OK) {
        cloned = gci_file_clone(&source, file);
        gci_file_close(&source);
    }
    gcache_status status = cloned ? GCACHE_OK : gci_file_write(file, &bytes, 1, error);
    if (status == GCACHE_OK)
        status = gci_file_set_mode(file, attachment->mode & 0755, error);
    return status;
}

static gcache_status
place_bytes(gci_store *store, gci_attachment const *attachment, gci_view bytes, gci_dir target, char const *name,
            gcache_error *error)
{
    char temporary[GCACHE_ATTACHMENT_NAME_SIZE + sizeof(gci_path)];
    char const *slash = strrchr(name, '/');
    gci_file file;

    gcache_status status = make_parents(target, name, error);
    if (status != GCACHE_OK)
        return status;
    /* Beside its place, by a short name of its own: the longest that is taken has no room for a suffix. */
    snprintf(temporary, sizeof temporary, "%.*s.%.16s", slash != NULL ? (int)(slash + 1 - name) : 0, name,
             gci_path_temporary().text + sizeof "tmp/" - 1);
    status = gci_file_open(target, temporary, O_RDWR | O_CREAT | O_EXCL, &file, error);
    if (status != GCACHE_OK)
        return fail_in_the_way(target, temporary, status, error);
    status = fill(store, attachment, bytes, &file, error);
    gci_file_close(&file);
    if (status == GCACHE_OK)
        status = gci_dir_rename(target, temporary, target, name, error);
    if (status == GCACHE_OK)
        return GCACHE_OK;
    gci_dir_unlink(target, temporary, NULL);
    return fail_in_the_way(target, name, status, error);
}

/* The directory that the user named. */
static gcache_status
open_target(char const *directory, gci_dir *out_target, gcache_error *error)
{
    if (mkdir(directory, 0700) == 0 || errno == EEXIST)
        return gci_dir_open_user(directory, out_target, error);
    gcache_status status = gci_fail_errno(error, errno, "%s", directory);
    if (status == GCACHE_ERROR_NOT_FOUND)
        status = gci_fail(error, GCACHE_ERROR_IO, "%s: there is no directory to make it in", directory);
    return status;
}

gcache_status
gci_store_place(gci_store *store, gci_attachment const *attachment, char const *directory, gci_found *out_found,
                gcache_error *error)
{
    char name[GCACHE_ATTACHMENT_NAME_SIZE];
    gci_buf bytes;
    gci_dir target;

    gci_store_enter(store);
    *out_found = GCI_FOUND;
    gcache_status status = check_name(attachment->name, error);
    if (status == GCACHE_OK)
        status = open_target(directory, &target, error);
    if (status != GCACHE_OK)
        return status;
    snprintf(name, sizeof name, "%.*s", (int)attachment->name.size, attachment->name.data);
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    if (!is_in_place(target, name, attachment)) {
        status = load_verified(store, attachment, &bytes, out_found, error);
        if (status == GCACHE_OK)
            status = place_bytes(store, attachment, gci_buf_view(&bytes), target, name, error);
    }
    gci_buf_clear(&bytes);
    gci_dir_close(&target);
    return status;
}
