/*
 * Kinds of a user's own: folders read, and put into the list of the process.
 */
#include "base/check.h"
#include "base/system/file.h"
#include "base/text/json.h"
#include "graph/rules/kind_list.h"

#include <guardcache/graph.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RULES_NAME "rules.json"
#define ADVICE_NAME "advice.json"

/* first/second, zero-terminated, in place of what is there. */
static gcache_status
join(gci_buf *out, gci_view first, char const *second, gcache_error *error)
{
    out->size = 0;
    gci_buf_append_view(out, first);
    gci_buf_append_char(out, '/');
    gci_buf_append_text(out, second);
    gci_buf_append_char(out, '\0');
    return out->failed ? gci_fail_memory(error) : GCACHE_OK;
}

/* ---- one folder ---- */

/* With another status than that of a file that isn't there. */
static gcache_status
follow_failed(char const *path, int number, gcache_error *error)
{
    gcache_error why;

    gci_fail_errno(&why, number, "%s", path);
    return gci_fail(error, GCACHE_ERROR_IO, "%s: the link can't be followed", why.message);
}

/* NOT_FOUND: there is nothing of that name. A link that leads nowhere is something, and so is a pipe, which nobody waits for. */
static gcache_status
check_plain(char const *path, gcache_error *error)
{
    struct stat facts;

    if (lstat(path, &facts) != 0)
        return gci_fail_errno(error, errno, "%s", path);
    if (stat(path, &facts) != 0)
        return follow_failed(path, errno, error);
    return S_ISREG(facts.st_mode) ? GCACHE_OK : gci_fail(error, GCACHE_ERROR_IO, "%s: not a plain file", path);
}

/* A file of the folder, whose path is in `path` afterwards. */
static gcache_status
read_file(char const *folder, char const *name, gci_buf *path, gci_buf *text, gcache_error *error)
{
    gcache_status status = join(path, gci_view_text(folder), name, error);

    if (status == GCACHE_OK)
        status = check_plain(path->data, error);
    return status == GCACHE_OK ? gci_file_read_user(path->data, GCI_JSON_MAX_BYTES, text, error) : status;
}

/* Of its own, else generic's, which go with advice alone. */
static gcache_status
read_rules(char const *folder, gci_buf *path, gci_buf *text, bool *out_own, gcache_rules **out_rules, gcache_error *error)
{
    gcache_status status = read_file(folder, RULES_NAME, path, text, error);

    *out_own = status == GCACHE_OK;
    if (status == GCACHE_ERROR_NOT_FOUND)
        return gcache_rules_of_kind("generic", out_rules, error);
    return status == GCACHE_OK ? gcache_rules_read(text->data, text->size, path->data, out_rules, error) : status;
}

static gcache_status
read_advice(char const *folder, gci_buf *path, gci_buf *text, bool has_rules, gcache_rules *rules, gcache_error *error)
{
    gcache_status status = read_file(folder, ADVICE_NAME, path, text, error);

    if (status == GCACHE_ERROR_NOT_FOUND)
        return has_rules ? GCACHE_OK
                         : gci_fail(error, status, "%s: there is neither %s nor %s", folder, RULES_NAME, ADVICE_NAME);
    return status == GCACHE_OK ? gcache_rules_read_advice(rules, text->data, text->size, path->data, error) : status;
}

/* out_own: whether it has rules of its own, and not generic's. */
static gcache_status
read_folder(char const *folder, bool *out_own, gcache_rules **out_rules, gcache_error *error)
{
    gci_buf path, text;

    *out_rules = NULL;
    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gcache_status status = read_rules(folder, &path, &text, out_own, out_rules, error);
    if (status == GCACHE_OK)
        status = read_advice(folder, &path, &text, *out_own, *out_rules, error);
    if (status != GCACHE_OK) {
        gcache_rules_free(*out_rules);
        *out_rules = NULL;
    }
    gci_buf_clear(&text);
    gci_buf_clear(&path);
    return status;
}

gcache_status
gcache_kinds_read(char const *folder, gcache_rules **out_rules, gcache_error *error)
{
    bool own;

    GCI_REQUIRE(folder != NULL && out_rules != NULL, error, "gcache_kinds_read needs a folder and a result");
    return read_folder(folder, &own, out_rules, error);
}

/* ---- all of them ---- */

typedef struct loader {
    gcache_kind_problem_fn fn;
    void *state;
    gcache_status status; /* of the first problem */
    gcache_error *error;
    gci_buf folder, file; /* paths */
} loader;

static void
report(loader *l, char const *folder, gcache_error const *problem)
{
    if (l->fn != NULL)
        l->fn(l->state, folder, problem);
    if (l->status == GCACHE_OK && l->error != NULL)
        *l->error = *problem;
    if (l->status == GCACHE_OK)
        l->status = problem->status;
}

/* A set under another kind's name would be taken for that one's wherever rules are told apart by their names. */
static gcache_status
check_name(gcache_rules const *rules, char const *name, char const *folder, gcache_error *error)
{
    if (strcmp(gcache_rules_name(rules), name) == 0)
        return GCACHE_OK;
    return gci_fail(error, GCACHE_ERROR_DESCRIPTION, "%s/%s: its name is %s, but the folder's is %s", folder, RULES_NAME,
                    gcache_rules_name(rules), name);
}

static void
load_kind(loader *l, char const *name)
{
    char const *folder = l->folder.data;
    gcache_error problem = { .status = GCACHE_OK }, taken;
    gcache_rules *rules;
    bool own;

    gcache_status status = read_folder(folder, &own, &rules, &problem);
    if (status == GCACHE_OK && own)
        status = check_name(rules, name, folder, &problem);
    if (status != GCACHE_OK) {
        gcache_rules_free(rules);
        rules = NULL;
        report(l, folder, &problem);
    }
    if (gci_kind_list_add(name, folder, rules, &problem, &taken) != GCACHE_OK)
        report(l, folder, &taken);
}

/* What lies in a folder of kinds is one if it has a file of one. */
static bool
is_kind(loader *l)
{
    static char const *const names[] = { RULES_NAME, ADVICE_NAME };
    gcache_error problem;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (join(&l->file, gci_view_text(l->folder.data), names[i], &problem) != GCACHE_OK) {
            report(l, l->folder.data, &problem);
            return false;
        }
        if (faccessat(AT_FDCWD, l->file.data, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return true;
    }
    return false;
}

static int
is_visible(struct dirent const *entry)
{
    return entry->d_name[0] != '.';
}

/* In the order of their names, so that what is wrong first doesn't hang on the file system. */
static void
load_folder(loader *l, char const *path)
{
    struct dirent **entries;
    gcache_error problem;
    int count = scandir(path, &entries, is_visible, alphasort);

    if (count < 0) {
        gci_fail_errno(&problem, errno, "%s", path);
        report(l, path, &problem);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (join(&l->folder, gci_view_text(path), entries[i]->d_name, &problem) != GCACHE_OK)
            report(l, path, &problem);
        else if (is_kind(l))
            load_kind(l, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
}

/* path := [ folder { ":" folder } ]; one without a name is none. */
static void
load_path(loader *l, char const *path)
{
    gcache_error problem;
    gci_buf one;

    gci_buf_init(&one, GCI_BUF_NO_LIMIT);
    for (char const *rest = path; *rest != '\0'; rest += *rest == ':') {
        size_t size = strcspn(rest, ":");
        one.size = 0;
        gci_buf_append(&one, rest, size);
        gci_buf_append_char(&one, '\0');
        if (one.failed) {
            gci_fail_memory(&problem);
            report(l, path, &problem);
            break;
        }
        if (size != 0)
            load_folder(l, one.data);
        rest += size;
    }
    gci_buf_clear(&one);
}

gcache_status
gcache_kinds_load(char const *path, gcache_kind_problem_fn fn, void *state, gcache_error *error)
{
    loader l = { .fn = fn, .state = state, .status = GCACHE_OK, .error = error };

    gci_buf_init(&l.folder, GCI_BUF_NO_LIMIT);
    gci_buf_init(&l.file, GCI_BUF_NO_LIMIT);
    if (path != NULL)
        load_path(&l, path);
    gci_buf_clear(&l.folder);
    gci_buf_clear(&l.file);
    return l.status;
}

/* ---- where they are ---- */

/* The XDG base directory specification: a relative XDG_CONFIG_HOME is ignored. */
static void
append_default(gci_buf *out, char const *(*variable)(void *state, char const *name), void *state)
{
    char const *config = variable(state, "XDG_CONFIG_HOME"), *home = variable(state, "HOME");

    if (config != NULL && config[0] == '/')
        gci_buf_format(out, "%s/guardcache/kinds", config);
    else if (home != NULL && home[0] != '\0')
        gci_buf_format(out, "%s/.config/guardcache/kinds", home);
    gci_buf_append_char(out, '\0');
    if (!out->failed && access(out->data, F_OK) != 0)
        out->size = 0;
}

gcache_status
gcache_kinds_path(char const *(*variable)(void *state, char const *name), void *state, char **out_path, gcache_error *error)
{
    gci_buf path;

    GCI_REQUIRE(variable != NULL && out_path != NULL, error, "gcache_kinds_path needs a function and a result");
    char const *given = variable(state, "GUARDCACHE_KINDS");
    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    if (given != NULL)
        gci_buf_append_text(&path, given);
    else
        append_default(&path, variable, state);
    *out_path = gci_buf_take_text(&path);
    return *out_path != NULL ? GCACHE_OK : gci_fail_memory(error);
}
