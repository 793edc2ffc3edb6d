/* Owners and permissions of folders and files. */
#include "store/directory/trust.h"

#include "store/directory/tree.h"

#include <string.h>

/* The deepest path of a cache, and names that aren't ours. */
#define PATH_ROOM 600

/* What isn't there has nothing in it; what is neither file nor folder is refused by whoever opens it, and put aside. */
static gcache_status
check_path(gci_dir dir, char const *path, gcache_error *error)
{
    char why[GCI_DISTRUST_TEXT];
    struct stat facts;

    if (dir.owners == NULL || gci_dir_stat(dir, path, &facts, NULL) != GCACHE_OK ||
        (!S_ISDIR(facts.st_mode) && !S_ISREG(facts.st_mode)) ||
        gci_owners_trust(dir.owners, facts.st_uid, facts.st_gid, facts.st_mode, why))
        return GCACHE_OK;
    return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s/%s: %s", dir.name, path, why);
}

/* The first bytes of a path. Every key's folders are looked at: no format string. */
static char const *
cut(char const *path, size_t size, char part[PATH_ROOM])
{
    if (size >= PATH_ROOM)
        size = PATH_ROOM - 1;
    memcpy(part, path, size);
    part[size] = '\0';
    return part;
}

gcache_status
gci_trust_folders(gci_dir dir, char const *path, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    char part[PATH_ROOM];

    if (dir.owners == NULL || dir.owners->trust == GCACHE_TRUST_ANY)
        return GCACHE_OK;
    for (char const *slash = strchr(path, '/'); status == GCACHE_OK && slash != NULL; slash = strchr(slash + 1, '/')) {
        status = check_path(dir, cut(path, (size_t)(slash - path), part), error);
    }
    return status;
}

gcache_status
gci_trust_path(gci_dir dir, char const *path, gcache_error *error)
{
    gcache_status status = gci_trust_folders(dir, path, error);

    return status == GCACHE_OK ? check_path(dir, path, error) : status;
}

/* ---- all ---- */

struct search {
    gci_owners const *owners;
    gci_distrust_fn fn;
    void *state;
};

static gci_tree_step
check_name(void *state, char const *path, struct stat const *facts)
{
    struct search *search = state;
    char why[GCI_DISTRUST_TEXT];

    if ((S_ISDIR(facts->st_mode) || S_ISREG(facts->st_mode)) &&
        !gci_owners_trust(search->owners, facts->st_uid, facts->st_gid, facts->st_mode, why))
        search->fn(search->state, path, why);
    /* What was put aside is nobody's to open, and the compilers' own folders are theirs. */
    return strcmp(path, "quarantine") == 0 || strcmp(path, "sub") == 0 ? GCI_TREE_PAST : GCI_TREE_ON;
}

void
gci_trust_each(gci_dir dir, gci_distrust_fn fn, void *state)
{
    struct search search = { dir.owners, fn, state };

    if (dir.owners->trust != GCACHE_TRUST_ANY)
        gci_tree_each(dir, ".", check_name, &search, NULL);
}
