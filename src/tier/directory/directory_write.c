/*
 * Writing without locks. A file is synced under a name that no other host, process or thread uses, then renamed or linked: so
 * readers see all of it or nothing, whoever dies. Folders that are empty may go at any time; then they are made once more.
 */
#include "tier/directory/directory_write.h"

#include "base/system/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- temporary files ---- */

#define OLD_NS (24 * 3600 * GCI_SECOND_NS)
#define SWEEP_EVERY_NS (3600 * GCI_SECOND_NS)
#define SWEEP_NAMES 1000

struct sweep {
    gci_dir dir;
    uint64_t now_ns;
    int left;
};

static int
sweep_name(void *state, char const *name)
{
    struct sweep *sweep = state;
    struct stat facts;

    if (gci_dir_stat(sweep->dir, name, &facts, NULL) == GCACHE_OK && S_ISREG(facts.st_mode) &&
        gci_timespec_ns(facts.st_mtim) + OLD_NS < sweep->now_ns)
        gci_dir_unlink(sweep->dir, name, NULL);
    return --sweep->left == 0;
}

/* What writers that died left behind, now and then. The time is that of a file just made: the server's, if that has its own. */
static void
sweep_sometimes(gci_directory_tier *tier, gci_directory_draft const *draft)
{
    uint64_t now = gci_clock_steady_ns(), last = atomic_load(&tier->swept_ns);
    struct sweep sweep = { .dir = draft->folder.dir, .left = SWEEP_NAMES };
    struct stat facts;

    if ((last != 0 && now - last < SWEEP_EVERY_NS) || !atomic_compare_exchange_strong(&tier->swept_ns, &last, now) ||
        gci_dir_stat(draft->folder.dir, draft->name, &facts, NULL) != GCACHE_OK)
        return;
    sweep.now_ns = gci_timespec_ns(facts.st_mtim);
    gci_dir_each(draft->folder.dir, ".", sweep_name, &sweep, NULL);
}

static gcache_status
fill(gci_directory_call *c, gci_file *file, gci_view bytes, gcache_error *error)
{
    gcache_status status = c->file_mode != 0 ? gci_file_set_mode(file, c->file_mode, error) : GCACHE_OK;

    if (status == GCACHE_OK)
        status = gci_file_write(file, &bytes, 1, error);
    if (status == GCACHE_OK)
        status = gci_file_sync(file, error);
    return status;
}

void
gci_directory_draft_drop(gci_directory_draft *draft)
{
    if (draft->folder.dir.fd >= 0)
        gci_dir_unlink(draft->folder.dir, draft->name, NULL);
    gci_directory_close_folder(&draft->folder);
}

gcache_status
gci_directory_draft_write(gci_directory_call *c, gci_view bytes, gci_directory_draft *out, gcache_error *error)
{
    char folder[GCI_DIRECTORY_FOLDER_SIZE];
    gci_file file = GCI_FILE_NONE;

    gci_temporary_folder(c->tier->prefix, folder);
    snprintf(out->name, sizeof out->name, "%s-%ld-%016llx%08x", c->tier->host, (long)getpid(),
             (unsigned long long)gci_unique_number(), (unsigned)gci_unique_number());
    gcache_status status = gci_directory_make_folder(c, folder, &out->folder, error);
    if (status == GCACHE_OK)
        status = gci_file_open(out->folder.dir, out->name, O_WRONLY | O_CREAT | O_EXCL, &file, error);
    if (status == GCACHE_OK)
        status = fill(c, &file, bytes, error);
    gci_file_close(&file);
    if (status == GCACHE_OK)
        sweep_sometimes(c->tier, out);
    else
        gci_directory_draft_drop(out);
    c->call->round_trips++;
    c->call->bytes_sent += bytes.size;
    return status;
}

/* ---- into place: whoever removes the last head of a key removes its folder, too ---- */

static gcache_status
rename_draft(gci_directory_call *c, gci_directory_draft const *draft, gci_object_place const *place, gcache_error *error)
{
    gci_directory_folder folder;
    gcache_status status;
    int attempt = 0;

    do {
        status = gci_directory_make_folder(c, place->folder, &folder, error);
        if (status == GCACHE_OK)
            status = gci_dir_rename(draft->folder.dir, draft->name, folder.dir, place->name, error);
        gci_directory_close_folder(&folder);
    } while (gci_directory_try_again(status, &attempt));
    return status;
}

gcache_status
gci_directory_draft_link(gci_directory_call *c, gci_directory_draft const *draft, gci_object_place const *place,
                         bool *out_existed, gcache_error *error)
{
    gci_directory_folder folder;
    gcache_status status;
    int attempt = 0;
    struct stat facts;

    do {
        status = gci_directory_make_folder(c, place->folder, &folder, error);
        *out_existed = false;
        if (status == GCACHE_OK)
            status = gci_dir_link(draft->folder.dir, draft->name, folder.dir, place->name, out_existed, error);
        gci_directory_close_folder(&folder);
    } while (gci_directory_try_again(status, &attempt));
    /* An NFS server whose answer was lost is asked once more and finds what it did itself: link(2), "BUGS". */
    if (*out_existed && gci_dir_stat(draft->folder.dir, draft->name, &facts, NULL) == GCACHE_OK && facts.st_nlink > 1)
        *out_existed = false;
    c->call->round_trips++;
    return status;
}

/* ---- objects ---- */

/* Whether the file that is there will do: what is called by its hash has the same bytes, if it has as many. */
static bool
is_there(gci_directory_call *c, gcache_object const *object, gci_object_place const *place)
{
    bool by_hash = object->kind == GCACHE_OBJECT_PAYLOAD || object->kind == GCACHE_OBJECT_ATTACHMENT;
    gci_directory_folder folder;
    char why[GCI_DISTRUST_TEXT];
    struct stat facts;

    if (!by_hash || gci_directory_open_folder(c, place->folder, &folder, NULL) != GCACHE_OK)
        return false;
    bool there = gci_dir_stat(folder.dir, place->name, &facts, NULL) == GCACHE_OK && S_ISREG(facts.st_mode) &&
                 (uint64_t)facts.st_size == object->size &&
                 gci_owners_trust(&c->owners, facts.st_uid, facts.st_gid, facts.st_mode, why) &&
                 gci_dir_touch(folder.dir, place->name, NULL) == GCACHE_OK;
    gci_directory_close_folder(&folder);
    return there;
}

gcache_status
gci_directory_store(gci_directory_call *c, gcache_object const *object, gcache_error *error)
{
    gci_directory_draft draft;
    gci_object_place place;

    if (!gci_object_place_of(c->tier->prefix, object, &place))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: an object whose name isn't one", c->tier->path);
    if (is_there(c, object, &place))
        return GCACHE_OK;
    gcache_status status = gci_directory_draft_write(c, gci_view_of(object->bytes, object->size), &draft, error);
    if (status != GCACHE_OK)
        return status;
    status = rename_draft(c, &draft, &place, error);
    c->call->round_trips++;
    if (status == GCACHE_OK)
        gci_directory_close_folder(&draft.folder);
    else
        gci_directory_draft_drop(&draft);
    return status;
}
