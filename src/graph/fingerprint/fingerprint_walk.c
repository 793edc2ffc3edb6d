/*
 * Finding the files of a tree.
 */
#include "base/check.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "graph/fingerprint/fingerprint_run.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Deeper than any source tree; a loop of bind mounts ends here. */
#define MAX_DEPTH 128

/* What is made by using a tree, not part of it. */
static char const *const always_skipped[] = { ".git", "__pycache__" };

typedef struct walker {
    gcache_fingerprint *print;
    gcache_tree_options const *options;
    gci_buf files; /* gci_print_file's */
    gci_buf names; /* of the directory being listed: views */
    char const *root;
    gcache_error *error;
} walker;

static gci_file_facts
facts_of(struct stat const *s)
{
    return (gci_file_facts){
        .size = (uint64_t)s->st_size,
        .mtime_ns = gci_timespec_ns(s->st_mtim),
        .ctime_ns = gci_timespec_ns(s->st_ctim),
        .device = s->st_dev,
        .inode = s->st_ino,
    };
}

static bool
is_skipped(gcache_tree_options const *options, char const *name)
{
    for (size_t i = 0; i < sizeof always_skipped / sizeof always_skipped[0]; i++)
        if (strcmp(name, always_skipped[i]) == 0)
            return true;
    for (size_t i = 0; i < options->skip_count; i++)
        if (strcmp(name, options->skip[i]) == 0)
            return true;
    return false;
}

static bool
is_wanted(gcache_tree_options const *options, gci_view path)
{
    for (size_t i = 0; i < options->suffix_count; i++) {
        size_t size = strlen(options->suffixes[i]);
        if (path.size >= size && memcmp(path.data + path.size - size, options->suffixes[i], size) == 0)
            return true;
    }
    return options->suffix_count == 0;
}

/* a/b, in the arena; a alone if b is empty. */
static gci_view
join(walker *w, char const *a, char const *b)
{
    gci_buf path;

    gci_buf_init(&path, PATH_MAX * 4);
    gci_buf_append_text(&path, a);
    if (a[0] != '\0' && b[0] != '\0')
        gci_buf_append_char(&path, '/');
    gci_buf_append_text(&path, b);
    gci_view copy = path.failed ? (gci_view){ NULL, 0 } : gci_arena_copy(&w->print->arena, gci_buf_view(&path));
    gci_buf_clear(&path);
    return copy;
}

static gcache_status
add_file(walker *w, gci_view path, gci_view full, gci_view link, struct stat const *s)
{
    gci_print_file file = { .path = path, .full = full, .link = link, .facts = facts_of(s) };

    gci_buf_append(&w->files, &file, sizeof file);
    return w->files.failed || path.data == NULL || full.data == NULL ? gci_fail_memory(w->error) : GCACHE_OK;
}

/* A link to a file counts as the file, one to a directory by where it points; one to nowhere by that, too. */
static gcache_status
add_link(walker *w, gci_view path, gci_view full)
{
    char target[PATH_MAX];
    struct stat s = { .st_size = 0 };

    if (stat(full.data, &s) == 0 && S_ISREG(s.st_mode))
        return is_wanted(w->options, path) ? add_file(w, path, full, (gci_view){ NULL, 0 }, &s) : GCACHE_OK;
    ssize_t size = readlink(full.data, target, sizeof target);
    if (size < 0)
        return gci_fail_errno(w->error, errno, "can't read the link %s", full.data);
    gci_view link = gci_arena_copy(&w->print->arena, gci_view_of(target, (size_t)size));
    return link.data != NULL ? add_file(w, path, full, link, &s) : gci_fail_memory(w->error);
}

static int
add_name(void *state, char const *name)
{
    walker *w = state;
    gci_view copy = gci_arena_copy(&w->print->arena, gci_view_text(name));

    gci_buf_append(&w->names, &copy, sizeof copy);
    return copy.data == NULL || w->names.failed;
}

static gcache_status walk_directory(walker *w, gci_view path, int depth);

static gcache_status
walk_entry(walker *w, gci_view directory, gci_view name, int depth)
{
    gci_view path = join(w, directory.data, name.data), full = join(w, w->root, path.data != NULL ? path.data : "");
    struct stat s;

    if (path.data == NULL || full.data == NULL)
        return gci_fail_memory(w->error);
    if (lstat(full.data, &s) != 0)
        return gci_fail_errno(w->error, errno, "can't look at %s", full.data);
    if (S_ISDIR(s.st_mode))
        return walk_directory(w, path, depth + 1);
    if (S_ISLNK(s.st_mode))
        return add_link(w, path, full);
    if (S_ISREG(s.st_mode) && is_wanted(w->options, path))
        return add_file(w, path, full, (gci_view){ NULL, 0 }, &s);
    return GCACHE_OK; /* sockets, devices and the like are no part of a source tree */
}

static gcache_status
walk_directory(walker *w, gci_view path, int depth)
{
    size_t mark = w->names.size;
    gci_dir dir;
    gci_view full = join(w, w->root, path.data);

    if (depth > MAX_DEPTH)
        return gci_fail(w->error, GCACHE_ERROR_LIMIT, "%s: deeper than %d directories", path.data, MAX_DEPTH);
    if (full.data == NULL)
        return gci_fail_memory(w->error);
    gcache_status status = gci_dir_open_user(full.data, &dir, w->error);
    if (status != GCACHE_OK)
        return status;
    status = gci_dir_each(dir, ".", add_name, w, w->error);
    gci_dir_close(&dir);
    if (status == GCACHE_OK && w->names.failed)
        status = gci_fail_memory(w->error);
    size_t end = w->names.size;
    for (size_t at = mark; at < end && status == GCACHE_OK; at += sizeof(gci_view)) {
        gci_view name;
        memcpy(&name, w->names.data + at, sizeof name);
        if (!is_skipped(w->options, name.data))
            status = walk_entry(w, path, name, depth);
    }
    w->names.size = mark;
    return status;
}

static int
compare_files(void const *a, void const *b)
{
    return gci_view_compare(((gci_print_file const *)a)->path, ((gci_print_file const *)b)->path);
}

static gcache_status
take_files(walker *w, gci_print_part *part)
{
    part->file_count = w->files.size / sizeof *part->files;
    part->files = gci_arena_alloc(&w->print->arena, w->files.size);
    if (part->files == NULL)
        return gci_fail_memory(w->error);
    if (w->files.size != 0)
        memcpy(part->files, w->files.data, w->files.size);
    qsort(part->files, part->file_count, sizeof *part->files, compare_files);
    return GCACHE_OK;
}

/* The files of a tree, or the one file where there are no options. */
static gcache_status
find_files(walker *w, char const *path, gcache_error *error)
{
    struct stat s;

    if (w->options != NULL)
        return walk_directory(w, (gci_view)GCI_VIEW(""), 0);
    if (stat(w->root, &s) != 0)
        return gci_fail_errno(error, errno, "can't find %s", path);
    if (!S_ISREG(s.st_mode))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s is not a file", path);
    gci_view full = gci_arena_copy(&w->print->arena, gci_view_text(w->root));
    return add_file(w, (gci_view)GCI_VIEW(""), full, (gci_view){ NULL, 0 }, &s);
}

gcache_status
gci_print_find(gcache_fingerprint *print, char const *path, gcache_tree_options const *options, gci_print_part *part,
               gcache_error *error)
{
    char *root = realpath(path, NULL);
    walker w = { .print = print, .options = options, .root = root, .error = error };

    if (root == NULL)
        return gci_fail_errno(error, errno, "can't find %s", path);
    gci_buf_init(&w.files, GCI_BUF_NO_LIMIT);
    gci_buf_init(&w.names, GCI_BUF_NO_LIMIT);
    gcache_status status = find_files(&w, path, error);
    if (status == GCACHE_OK)
        status = take_files(&w, part);
    gci_buf_clear(&w.files);
    gci_buf_clear(&w.names);
    free(root);
    return status;
}
