/* A walk that lists each folder before it looks at what is in it: so nothing that moves meanwhile confuses it. */
#include "store/directory/tree.h"

#include "base/array.h"

#include <limits.h>
#include <stdio.h>

/* The deepest path of a cache, and names that aren't ours. */
#define PATH_ROOM 600

struct names {
    char (*items)[NAME_MAX + 1];
    size_t count, capacity;
    bool failed;
};

static int
add_name(void *state, char const *name)
{
    struct names *names = state;

    names->failed = !GCI_ARRAY_HAS_ROOM(names, items);
    if (!names->failed)
        snprintf(names->items[names->count++], sizeof *names->items, "%s", name);
    return names->failed;
}

struct tree {
    gci_dir dir;
    gci_tree_fn fn;
    void *state;
    gcache_status status;
    gcache_error *error;
    bool ended;
};

static void walk(struct tree *tree, char const *folder);

static void
visit(struct tree *tree, char const *folder, char const *name)
{
    bool top = strcmp(folder, ".") == 0;
    char path[PATH_ROOM];
    struct stat facts;

    if ((size_t)snprintf(path, sizeof path, "%s%s%s", top ? "" : folder, top ? "" : "/", name) >= sizeof path ||
        gci_dir_stat(tree->dir, path, &facts, NULL) != GCACHE_OK)
        return;
    gci_tree_step step = tree->fn(tree->state, path, &facts);
    tree->ended = step == GCI_TREE_END;
    if (step == GCI_TREE_ON && S_ISDIR(facts.st_mode))
        walk(tree, path);
}

static void
walk(struct tree *tree, char const *folder)
{
    gcache_error *error = tree->status == GCACHE_OK ? tree->error : NULL;
    struct names names = { 0 };

    gcache_status status = gci_dir_each(tree->dir, folder, add_name, &names, error);
    if (names.failed)
        status = gci_fail_memory(error);
    if (tree->status == GCACHE_OK && status != GCACHE_ERROR_NOT_FOUND && status != GCACHE_ERROR_CORRUPT)
        tree->status = status;
    for (size_t i = 0; !tree->ended && i < names.count; i++)
        visit(tree, folder, names.items[i]);
    free(names.items);
}

gcache_status
gci_tree_each(gci_dir dir, char const *folder, gci_tree_fn fn, void *state, gcache_error *error)
{
    struct tree tree = { .dir = dir, .fn = fn, .state = state, .error = error };

    walk(&tree, folder);
    return tree.status;
}
