/*
 * Locking: none. A file is written under a temporary name and then gets its own; of two writers of one name the first wins.
 */
#include "store/publish/side.h"

#include "base/system/clock.h"
#include "base/system/dir_path.h"
#include "store/directory/tree.h"
#include "store/directory/trust.h"
#include "store/publish/publish.h"
#include "store/state/usage.h"

#include <stdio.h>
#include <string.h>

/* What has its place and isn't one is put aside: a link would lead out of the cache. */
static gcache_status
make_folder(gci_store *store, char const *path, gcache_error *error)
{
    struct stat facts;

    if (gci_dir_stat(store->directory, path, &facts, NULL) == GCACHE_OK && !S_ISDIR(facts.st_mode))
        gci_quarantine_file(store, path, "not a directory", NULL);
    return gci_dir_make(store->directory, path, NULL, error);
}

/* Makes a folder, and those that path goes through. */
static gcache_status
make_folders(gci_store *store, char const *path, gcache_error *error)
{
    char part[GCI_SIDE_PATH_MAX + 1];

    for (char const *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        gcache_status status = make_folder(store, part, error);
        if (status != GCACHE_OK)
            return status;
    }
    return make_folder(store, path, error);
}

gcache_status
gci_side_write(gci_store *store, char const *path, gci_view bytes, bool *out_existed, gcache_error *error)
{
    gci_path temporary, place;

    GCI_ASSERT(strlen(path) <= GCI_SIDE_PATH_MAX);
    gci_store_enter(store);
    *out_existed = false;
    gcache_status status = gci_store_check_writable(store, error);
    if (status == GCACHE_OK)
        status = gci_trust_path(gci_trust_unsigned(store), path, error);
    if (status == GCACHE_OK)
        status = gci_write_temporary(store, GCI_WEIGHT_COMMIT, &bytes, 1, &temporary, error);
    if (status != GCACHE_OK)
        return status;
    snprintf(place.text, sizeof place.text, "%s", path);
    status = gci_link_into_place(store, &temporary, &place, out_existed, error);
    return status == GCACHE_OK ? gci_store_check_place(store, error) : status;
}

void
gci_side_touch(gci_store *store, char const *path)
{
    gci_store_enter(store);
    if (!store->read_only)
        gci_dir_touch(store->directory, path, NULL);
}

gcache_status
gci_side_read(gci_store *store, char const *path, size_t limit, gci_buf *out, gcache_error *error)
{
    gci_dir dir = gci_trust_unsigned(store);

    gci_store_enter(store);
    gcache_status status = gci_trust_folders(dir, path, error);
    return status == GCACHE_OK ? gci_file_load(dir, path, limit, out, error) : status;
}

void
gci_side_quarantine(gci_store *store, char const *path, char const *why)
{
    gci_store_enter(store);
    uint64_t cost = gci_cost_of_path(store, path);
    /* Quarantine takes off what the file took; side files were never added. */
    if (!store->read_only && gci_quarantine_file(store, path, why, NULL) == GCACHE_OK)
        gci_count_bytes(store, cost);
}

gci_dir
gci_side_directory(gci_store const *store)
{
    return store->directory;
}

gcache_status
gci_side_folder(gci_store *store, char const *path, bool make, gcache_error *error)
{
    struct stat facts;

    gci_store_enter(store);
    gcache_status status = gci_trust_path(gci_trust_unsigned(store), path, error);
    if (status != GCACHE_OK)
        return status;
    if (!make)
        return gci_dir_stat(store->directory, path, &facts, error);
    status = gci_store_check_writable(store, error);
    return status == GCACHE_OK ? make_folders(store, path, error) : status;
}

gcache_status
gci_side_absolute(gci_store *store, char const *path, gci_buf *out, gcache_error *error)
{
    gcache_status status = gci_dir_path(store->directory, out, error);

    if (status != GCACHE_OK)
        return status;
    if (path[0] != '\0') {
        gci_buf_append_char(out, '/');
        gci_buf_append_text(out, path);
    }
    return out->failed ? gci_fail_memory(error) : GCACHE_OK;
}

/* ---- walking ---- */

struct walk {
    gci_side_fn fn;
    void *state;
};

static gci_tree_step
visit_file(void *state, char const *path, struct stat const *facts)
{
    struct walk *walk = state;

    if (strlen(path) > GCI_SIDE_PATH_MAX)
        return GCI_TREE_PAST;
    return S_ISREG(facts->st_mode) && walk->fn(walk->state, path) != 0 ? GCI_TREE_END : GCI_TREE_ON;
}

gcache_status
gci_side_each(gci_store *store, char const *folder, gci_side_fn fn, void *state, gcache_error *error)
{
    struct walk walk = { fn, state };

    gci_store_enter(store);
    return gci_tree_each(store->directory, folder, visit_file, &walk, error);
}

/* ---- expiry ---- */

typedef struct expiry {
    gci_store *store;
    uint64_t oldest_ns; /* what was used at or after this stays */
    uint64_t removed;
} expiry;

static int
expire_file(void *state, char const *path)
{
    expiry *e = state;
    struct stat facts;

    if (gci_dir_stat(e->store->directory, path, &facts, NULL) != GCACHE_OK)
        return 0;
    if (gci_changed_ns(&facts) < e->oldest_ns && gci_dir_unlink(e->store->directory, path, NULL) == GCACHE_OK)
        e->removed++;
    return 0;
}

gcache_status
gci_side_expire(gci_store *store, char const *folder, uint64_t age_ns, uint64_t *out_removed, gcache_error *error)
{
    uint64_t now = gci_clock_wall_ns();
    expiry e = { .store = store, .oldest_ns = now > age_ns ? now - age_ns : 0 };

    gci_store_enter(store);
    gcache_status status = gci_store_check_writable(store, error);
    if (status == GCACHE_OK)
        status = gci_side_each(store, folder, expire_file, &e, error);
    *out_removed = e.removed;
    return status;
}
