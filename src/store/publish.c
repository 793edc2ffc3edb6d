#include "store/publish.h"

#include "store/trust.h"

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

uint64_t
gci_cost_of_key(gci_store *store, gcache_key const *key)
{
    return gci_cost_of_path(store, gci_path_pack(key).text) + gci_cost_of_path(store, gci_path_description(key).text);
}

bool
gci_must_sync(gci_store const *store, gci_weight weight)
{
    gcache_durability durability = store->options.durability;

    return durability == GCACHE_DURABILITY_FULL ||
           (durability == GCACHE_DURABILITY_ENTRY && weight == GCI_WEIGHT_COMMIT);
}

static uint64_t
total_size(gci_view const *parts, size_t count)
{
    uint64_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    return size;
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
    if (status == GCACHE_OK)
        return status;
    gci_file_close(out_file);
    gci_dir_unlink(store->directory, out_path->text, NULL);
    return status;
}

gcache_status
gci_write_temporary(gci_store *store, gci_weight weight, gci_view const *parts, size_t count, gci_path *out_path,
                    gcache_error *error)
{
    gci_file file;

    gcache_status status = gci_begin_temporary(store, parts, count, out_path, &file, error);
    if (status != GCACHE_OK)
        return status;
    if (gci_must_sync(store, weight))
        status = gci_file_sync(&file, error);
    gci_file_close(&file);
    if (status != GCACHE_OK)
        gci_dir_unlink(store->directory, out_path->text, NULL);
    return status;
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

gcache_status
gci_publish_pack(gci_store *store, gcache_key const *key, gci_weight weight, gci_view const *parts, size_t count,
                 gcache_error *error)
{
    gci_path temporary;

    gcache_status status = gci_write_temporary(store, weight, parts, count, &temporary, error);
    if (status == GCACHE_OK)
        status = gci_publish_temporary(store, key, &temporary, total_size(parts, count), error);
    return status;
}

gcache_status
gci_publish_temporary(gci_store *store, gcache_key const *key, gci_path const *temporary, uint64_t size,
                      gcache_error *error)
{
    gci_path place = gci_path_pack(key);
    uint64_t before = gci_cost_of_path(store, place.text);

    gci_generation_begin(&store->shared, key);
    gcache_status status = gci_move_into_place(store, temporary, &place, error);
    /* A new one that may not last must not be found now either. */
    if (status != GCACHE_OK && before == 0)
        gci_dir_unlink(store->directory, place.text, NULL);
    gci_generation_end(&store->shared, key);
    if (status != GCACHE_OK)
        return status;
    gci_count_bytes(store, before, gci_disk_cost(size));
    if (before == 0)
        gci_count_keys(store, 1);
    return GCACHE_OK;
}

gcache_status
gci_append_pack(gci_store *store, gcache_key const *key, gci_weight weight, uint64_t end, gci_view const *parts,
                size_t count, gcache_error *error)
{
    gci_path place = gci_path_pack(key);
    gci_file file;

    gcache_status status = gci_file_open(store->directory, place.text, O_WRONLY | O_APPEND, &file, error);
    if (status != GCACHE_OK)
        return status;
    gci_generation_begin(&store->shared, key);
    status = gci_file_write(&file, parts, count, error);
    if (status == GCACHE_OK && gci_must_sync(store, weight))
        status = gci_file_sync(&file, error);
    /* What couldn't be written, or may not have reached the disk, must not be found by the next writer. */
    if (status != GCACHE_OK)
        gci_file_truncate(&file, end, NULL);
    gci_generation_end(&store->shared, key);
    gci_file_close(&file);
    if (status == GCACHE_OK)
        gci_count_bytes(store, gci_disk_cost(end), gci_disk_cost(end + total_size(parts, count)));
    return status;
}

/* *out_freed (may be NULL) is 0 if it wasn't there, which most often is so: then there is nothing to unlink. */
static gcache_status
remove_counted(gci_store *store, gci_path const *path, uint64_t *out_freed, gcache_error *error)
{
    struct stat facts = { .st_size = 0 };

    if (out_freed != NULL)
        *out_freed = 0;
    gcache_status status = gci_dir_stat(store->directory, path->text, &facts, NULL);
    if (status == GCACHE_ERROR_NOT_FOUND)
        return GCACHE_OK;
    status = gci_dir_unlink(store->directory, path->text, error);
    if (status != GCACHE_OK)
        return status;
    uint64_t freed = gci_cost_of_facts(&facts);
    gci_count_bytes(store, freed, 0);
    if (out_freed != NULL)
        *out_freed = freed;
    return GCACHE_OK;
}

gcache_status
gci_remove_pack(gci_store *store, gcache_key const *key, gcache_error *error)
{
    gci_path pack = gci_path_pack(key), description = gci_path_description(key);

    gci_generation_begin(&store->shared, key);
    gcache_status status = remove_counted(store, &pack, NULL, error);
    gci_generation_end(&store->shared, key);
    if (status != GCACHE_OK)
        return status;
    gci_count_keys(store, -1);
    return remove_counted(store, &description, NULL, error);
}

gcache_status
gci_remove_entry(gci_store *store, gcache_key const *key, char const *id, uint64_t *out_freed, gcache_error *error)
{
    gci_path path = gci_path_entry(key, id);

    return remove_counted(store, &path, out_freed, error);
}

/* ---- quarantine ---- */

static void
report(gci_store *store, char const *origin, char const *why, gci_path const *place)
{
    char text[sizeof place->text + 64];

    gci_store_count(store, GCI_COUNT_CORRUPT, 1);
    gci_store_log(store, "%s/%s: %s; put aside as %s", store->directory.name, origin, why, place->text);
    if (store->options.news == NULL)
        return;
    snprintf(text, sizeof text, "%s: %s", origin, why);
    store->options.news(store->options.news_state, &(gci_news){ .kind = GCI_NEWS_CORRUPT, .text = text });
}

gcache_status
gci_quarantine_file(gci_store *store, char const *path, char const *why, gcache_error *error)
{
    uint64_t before = gci_cost_of_path(store, path);
    gci_path place;

    gcache_status status = gci_layout_put_aside(store->directory, path, &place, error);
    if (status != GCACHE_OK)
        return status;
    gci_count_bytes(store, before, 0);
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
