/*
 * Files of a cache: what they take on disk, writing one under a temporary name and moving it to its place, and putting a damaged
 * one aside.
 */
#include "store/state/files.h"

#include "base/system/clock.h"
#include "store/directory/layout.h"
#include "store/directory/trust.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

uint64_t
gci_cost_of_facts(struct stat const *facts)
{
    uint64_t size = gci_disk_cost((uint64_t)facts->st_size), taken = gci_disk_cost((uint64_t)facts->st_blocks * 512);

    if (!S_ISREG(facts->st_mode) || facts->st_size <= 0)
        return 0;
    /* Small files may lie in their inode, and on some file systems a file that is being written has no blocks yet. */
    return taken == 0 ? GCI_DISK_BLOCK : taken < size ? taken : size;
}

uint64_t
gci_cost_of_path(gci_store *store, char const *path)
{
    struct stat facts;

    return gci_dir_stat(store->directory, path, &facts, NULL) == GCACHE_OK ? gci_cost_of_facts(&facts) : 0;
}

bool
gci_must_sync(gci_store const *store, gci_weight weight)
{
    gcache_durability durability = store->options.durability;

    return durability == GCACHE_DURABILITY_FULL ||
           (durability == GCACHE_DURABILITY_ENTRY && weight == GCI_WEIGHT_COMMIT);
}

static void
drop_temporary(gci_store *store, gci_path const *path, gci_file *file)
{
    gci_file_close(file);
    gci_dir_unlink(store->directory, path->text, NULL);
}

gcache_status
gci_begin_temporary(gci_store *store, gci_view const *parts, size_t count, gci_path *out_path, gci_file *out_file,
                    gcache_error *error)
{
    *out_path = gci_path_temporary();
    gcache_status status = gci_trust_folders(store->directory, out_path->text, error);
    if (status == GCACHE_OK)
        status = gci_layout_create(store->directory, out_path->text, O_WRONLY | O_CREAT | O_EXCL, out_file,
                                             error);
    if (status != GCACHE_OK)
        return status;
    status = gci_file_write(out_file, parts, count, error);
    if (status != GCACHE_OK)
        drop_temporary(store, out_path, out_file);
    return status;
}

gcache_status
gci_start_temporary(gci_store *store, gci_path const *path, gci_file *file, gcache_error *error)
{
    gcache_status status = gci_file_start_sync(file, error);

    if (status != GCACHE_OK)
        drop_temporary(store, path, file);
    return status;
}

gcache_status
gci_end_temporary(gci_store *store, gci_weight weight, gci_path const *path, gci_file *file, gcache_error *error)
{
    gcache_status status = gci_must_sync(store, weight) ? gci_file_sync(file, error) : GCACHE_OK;

    if (status == GCACHE_OK)
        gci_file_close(file);
    else
        drop_temporary(store, path, file);
    return status;
}

gcache_status
gci_write_temporary(gci_store *store, gci_weight weight, gci_view const *parts, size_t count, gci_path *out_path,
                    gcache_error *error)
{
    gci_file file;

    gcache_status status = gci_begin_temporary(store, parts, count, out_path, &file, error);
    return status == GCACHE_OK ? gci_end_temporary(store, weight, out_path, &file, error) : status;
}

/* The directory of a path below entries/ or attachments/. */
static gci_path
parent_of(gci_path const *place)
{
    gci_path parent = *place;
    char *slash = strrchr(parent.text, '/');

    GCI_ASSERT(slash != NULL);
    *slash = '\0';
    return parent;
}

static gcache_status
sync_parent(gci_store *store, gci_path const *place, gcache_error *error)
{
    gci_path parent = parent_of(place);
    gci_dir dir;

    gcache_status status = gci_dir_open(store->directory, parent.text, parent.text, &dir, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_dir_sync(dir, error);
    gci_dir_close(&dir);
    return status;
}

/* `full` makes what is made durable too. */
static gcache_status
make_way(gci_store *store, gci_path const *place, gcache_error *error)
{
    gci_path parent = parent_of(place);

    gcache_status status = gci_layout_make_way(store->directory, place->text, error);
    if (status == GCACHE_OK && store->options.durability == GCACHE_DURABILITY_FULL)
        status = sync_parent(store, &parent, error);
    return status;
}

/* Folders that are empty go when inodes are short, and one that was just made may. */
#define RENAME_ATTEMPTS 3

/* The directories are made when the first file goes in: of 256, so that hardly any rename fails. */
static gcache_status
rename_into(gci_store *store, gci_path const *temporary, gci_path const *place, gcache_error *error)
{
    gci_dir dir = store->directory;
    gcache_status status = GCACHE_ERROR_NOT_FOUND;
    gcache_error why = { .status = status };

    if (gci_layout_has_way(dir, place->text))
        status = gci_dir_rename(dir, temporary->text, dir, place->text, &why);
    for (int attempt = 0; attempt < RENAME_ATTEMPTS && gci_layout_may_help(status); attempt++) {
        status = make_way(store, place, &why);
        if (status == GCACHE_OK)
            status = gci_dir_rename(dir, temporary->text, dir, place->text, &why);
        else
            break;
    }
    /* What a later attempt mended is no error. */
    if (status != GCACHE_OK && error != NULL)
        *error = why;
    return status;
}

gcache_status
gci_move_into_place(gci_store *store, gci_path const *temporary, gci_path const *place, gcache_error *error)
{
    gci_dir dir = store->directory;

    gcache_status status = rename_into(store, temporary, place, error);
    if (status == GCACHE_OK && store->options.durability == GCACHE_DURABILITY_FULL)
        status = sync_parent(store, place, error);
    if (status != GCACHE_OK)
        gci_dir_unlink(dir, temporary->text, NULL);
    return status;
}

gcache_status
gci_link_into_place(gci_store *store, gci_path const *temporary, gci_path const *place, bool *out_existed,
                    gcache_error *error)
{
    gci_dir dir = store->directory;
    struct stat facts;

    /* Not every file system has hard links: there the later of two writers wins. And what exists must be a file. */
    bool linked = (gci_layout_has_way(dir, place->text) || gci_layout_make_way(dir, place->text, NULL) == GCACHE_OK) &&
                  gci_dir_link(dir, temporary->text, dir, place->text, out_existed, NULL) == GCACHE_OK;
    if (!linked || (*out_existed && (gci_dir_stat(dir, place->text, &facts, NULL) != GCACHE_OK || !S_ISREG(facts.st_mode)))) {
        *out_existed = false;
        return gci_move_into_place(store, temporary, place, error);
    }
    gci_dir_unlink(dir, temporary->text, NULL);
    return !*out_existed && store->options.durability == GCACHE_DURABILITY_FULL ? sync_parent(store, place, error)
                                                                                : GCACHE_OK;
}

uint64_t
gci_changed_ns(struct stat const *facts)
{
    return gci_timespec_ns(facts->st_mtim);
}

bool
gci_is_old(struct stat const *facts)
{
    uint64_t changed = gci_changed_ns(facts), now = gci_clock_wall_ns();

    return now > changed && now - changed > GCI_OLD_NS;
}

/* ---- quarantine ---- */

static void
report(gci_store *store, char const *origin, char const *why, gci_path const *place)
{
    char text[sizeof place->text + 64];

    gci_store_count(store, GCI_COUNT_CORRUPT, 1);
    gci_store_log(store, "%s/%s: %s; put aside as %s", store->directory.name, origin, why, place->text);
    if (store->options.event == NULL)
        return;
    snprintf(text, sizeof text, "%s: %s", origin, why);
    store->options.event(store->options.event_state, &(gci_store_event){ .kind = GCI_STORE_CORRUPT, .text = text });
}

gcache_status
gci_quarantine_file(gci_store *store, char const *path, char const *why, gcache_error *error)
{
    uint64_t moment = gci_count_moment(store), before = gci_cost_of_path(store, path);
    gci_path place;

    gcache_status status = gci_layout_put_aside(store->directory, path, &place, error);
    if (status != GCACHE_OK)
        return status;
    gci_count_change(store, moment, before, 0);
    report(store, path, why, &place);
    return GCACHE_OK;
}

gcache_status
gci_quarantine_bytes(gci_store *store, char const *origin, gci_view bytes, char const *why, gcache_error *error)
{
    gci_path place = gci_path_quarantine(origin), temporary;

    gcache_status status = gci_write_temporary(store, GCI_WEIGHT_LIGHT, &bytes, 1, &temporary, error);
    if (status != GCACHE_OK)
        return status;
    status = rename_into(store, &temporary, &place, error);
    if (status == GCACHE_OK)
        report(store, origin, why, &place);
    else
        gci_dir_unlink(store->directory, temporary.text, NULL);
    return status;
}
