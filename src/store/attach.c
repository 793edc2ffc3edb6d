#include "base/digest.h"
#include "store/attach.h"
#include "store/lookup.h"
#include "store/publish.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* A sweep holds its lock for as long as it takes to remove what it found. */
#define SWEEP_WAIT_NS UINT64_C(10000000000)

/* ---- putting in ---- */

static bool
hash_bytes(gci_view bytes, uint8_t out_sha256[32])
{
    gci_digest *digest = gci_digest_new();
    bool hashed = digest != NULL && gci_digest_of(digest, bytes, out_sha256);

    gci_digest_free(digest);
    return hashed;
}

/* Makes an attachment that is there look new, so that a sweep leaves it to the entry that is about to name it. */
static bool
renew(gci_store *store, gci_path const *place, uint64_t size)
{
    struct stat facts;

    return gci_dir_stat(store->directory, place->text, &facts, NULL) == GCACHE_OK && (uint64_t)facts.st_size == size &&
           gci_dir_touch(store->directory, place->text, NULL) == GCACHE_OK;
}

static gcache_status
write_attachment(gci_store *store, gci_path const *place, gci_view bytes, gcache_error *error)
{
    gci_path temporary;

    gcache_status status = gci_write_temporary(store, GCI_WEIGHT_COMMIT, &bytes, 1, &temporary, error);
    if (status == GCACHE_OK)
        status = gci_move_into_place(store, &temporary, place, error);
    if (status == GCACHE_OK)
        gci_shared_add(&store->shared.head->bytes, (int64_t)gci_disk_cost(bytes.size));
    return status;
}

gcache_status
gci_attach_lock(gci_store *store, gci_lock_kind kind, uint64_t wait_ns, gci_file *out_lock, gcache_error *error)
{
    gcache_status status = gci_file_open(store->directory, "locks/attachments", O_RDWR | O_CREAT, out_lock, error);

    if (status != GCACHE_OK)
        return status;
    status = gci_file_lock(out_lock, kind, wait_ns, error);
    if (status != GCACHE_OK)
        gci_file_close(out_lock);
    return status;
}

/* name = part ("/" part)*, where a part is neither empty nor "." nor ".." */
static bool
is_safe_name(gci_view name)
{
    size_t begin = 0;

    if (name.size == 0 || name.size >= GCI_ATTACHMENT_NAME_MAX || memchr(name.data, '\0', name.size) != NULL)
        return false;
    for (size_t i = 0; i <= name.size; i++) {
        if (i < name.size && name.data[i] != '/')
            continue;
        gci_view part = gci_view_of(name.data + begin, i - begin);
        if (part.size == 0 || gci_view_is(part, ".") || gci_view_is(part, ".."))
            return false;
        begin = i + 1;
    }
    return true;
}

gcache_status
gci_store_attach(gci_store *store, gci_view bytes, gci_attachment *out_attachment, gcache_error *error)
{
    gci_file lock;

    gci_store_enter(store);
    if (!is_safe_name(out_attachment->name))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "attachment %.*s: its name leads out of a directory, or is too long",
                        (int)out_attachment->name.size, out_attachment->name.data);
    if (store->read_only)
        return gci_fail(error, GCACHE_ERROR_READ_ONLY, "%s: the cache is read-only", store->directory.name);
    if (!hash_bytes(bytes, out_attachment->sha256))
        return gci_fail_memory(error);
    out_attachment->size = bytes.size;
    gci_path place = gci_path_attachment(out_attachment->sha256);
    gcache_status status = gci_attach_lock(store, GCI_LOCK_SHARED, SWEEP_WAIT_NS, &lock, error);
    if (status != GCACHE_OK)
        return status;
    if (!renew(store, &place, bytes.size))
        status = write_attachment(store, &place, bytes, error);
    gci_file_close(&lock);
    return status;
}

/* ---- taking out ---- */

static gci_found
load_verified(gci_store *store, gci_attachment const *attachment, gci_buf *out, gcache_error *error)
{
    gci_path place = gci_path_attachment(attachment->sha256);
    uint8_t hash[32];

    gcache_status status = gci_file_load(store->directory, place.text, GCI_BUF_NO_LIMIT, out, error);
    if (status == GCACHE_ERROR_NOT_FOUND)
        return GCI_ABSENT;
    if (status != GCACHE_OK)
        return gci_unreadable(store);
    if (!hash_bytes(gci_buf_view(out), hash)) {
        gci_fail_memory(error);
        return gci_unreadable(store);
    }
    if (memcmp(hash, attachment->sha256, sizeof hash) == 0)
        return GCI_FOUND;
    gci_buf_clear(out);
    if (!store->read_only)
        gci_quarantine_file(store, place.text, "damaged attachment", NULL);
    gci_fail(error, GCACHE_ERROR_CORRUPT, "%s/%s: damaged attachment", store->directory.name, place.text);
    return GCI_CORRUPT;
}

gci_found
gci_store_attachment(gci_store *store, gci_attachment const *attachment, gci_buf *out_bytes, gcache_error *error)
{
    gci_store_enter(store);
    return load_verified(store, attachment, out_bytes, error);
}

/* ---- putting in place ---- */

/* Makes the directories that name goes through. No link is followed: what stands there must be directories. */
static gcache_status
make_parents(gci_dir target, char const *name, gcache_error *error)
{
    char part[GCI_ATTACHMENT_NAME_MAX];
    gci_dir dir;

    for (char const *slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        gcache_status status = gci_dir_make(target, part, NULL, error);
        if (status == GCACHE_OK)
            status = gci_dir_open(target, part, target.name, &dir, error);
        if (status != GCACHE_OK)
            return status;
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
                there.size == attachment->size && hash_bytes(gci_buf_view(&there), hash) &&
                memcmp(hash, attachment->sha256, sizeof hash) == 0;
    gci_buf_clear(&there);
    return same;
}

/* Shares blocks with the stored file where the file system can, else writes the verified bytes. */
static gcache_status
fill(gci_store *store, gci_attachment const *attachment, gci_view bytes, gci_file const *file, gcache_error *error)
{
    gci_path place = gci_path_attachment(attachment->sha256);
    gci_file source;
    bool cloned = false;

    if (gci_file_open(store->directory, place.text, O_RDONLY, &source, NULL) == GCACHE_OK) {
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
    char temporary[GCI_ATTACHMENT_NAME_MAX + sizeof(gci_path)];
    gci_file file;

    gcache_status status = make_parents(target, name, error);
    if (status != GCACHE_OK)
        return status;
    snprintf(temporary, sizeof temporary, "%s.%s", name, gci_path_temporary().text + sizeof "tmp/" - 1);
    status = gci_file_open(target, temporary, O_RDWR | O_CREAT | O_EXCL, &file, error);
    if (status != GCACHE_OK)
        return status;
    status = fill(store, attachment, bytes, &file, error);
    gci_file_close(&file);
    if (status == GCACHE_OK)
        status = gci_dir_rename(target, temporary, target, name, error);
    if (status != GCACHE_OK)
        gci_dir_unlink(target, temporary, NULL);
    return status;
}

gci_found
gci_store_place(gci_store *store, gci_attachment const *attachment, char const *directory, gcache_error *error)
{
    char name[GCI_ATTACHMENT_NAME_MAX];
    gci_found found = GCI_FOUND;
    gci_buf bytes;
    gci_dir target;

    gci_store_enter(store);
    if (!is_safe_name(attachment->name)) {
        gci_fail(error, GCACHE_ERROR_CORRUPT, "an attachment's name leads out of its directory, or is too long");
        return GCI_CORRUPT;
    }
    snprintf(name, sizeof name, "%.*s", (int)attachment->name.size, attachment->name.data);
    gci_dir here = { .fd = AT_FDCWD, .name = "" };
    if (gci_dir_make(here, directory, NULL, error) != GCACHE_OK ||
        gci_dir_open_user(directory, &target, error) != GCACHE_OK)
        return gci_unreadable(store);
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    if (!is_in_place(target, name, attachment)) {
        found = load_verified(store, attachment, &bytes, error);
        if (found == GCI_FOUND &&
            place_bytes(store, attachment, gci_buf_view(&bytes), target, name, error) != GCACHE_OK)
            found = gci_unreadable(store);
    }
    gci_buf_clear(&bytes);
    gci_dir_close(&target);
    return found;
}
