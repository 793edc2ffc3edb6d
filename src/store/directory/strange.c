/*
 * A table of rooms: a folder of the cache, what names in it look like, and what they stand for. `*` in a folder's name is any
 * name of two hexadecimal digits, a room each.
 */
#include "store/directory/strange.h"

#include "base/array.h"
#include "base/digest.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#define SHA256_HEX 64
#define PART_HEX 2

typedef struct room room;

struct room {
    char const *folder;
    bool (*knows)(char const *folder, char const *name, mode_t *out_kind); /* false: none of ours; kind 0: anything */
};

/* ---- names ---- */

static bool
is_hex(char const *name, size_t digits)
{
    uint8_t bytes[SHA256_HEX / 2];

    return strlen(name) == digits && gci_unhex(gci_view_of(name, digits), bytes, digits / 2);
}

/* The digits that a folder of two holds begin the names in it. */
static bool
belongs(char const *folder, char const *name)
{
    return memcmp(folder + strlen(folder) - PART_HEX, name, PART_HEX) == 0;
}

static bool
knows_part(char const *folder, char const *name, mode_t *out_kind)
{
    (void)folder;
    *out_kind = S_IFDIR;
    return is_hex(name, PART_HEX);
}

static bool
knows_entry(char const *folder, char const *name, mode_t *out_kind)
{
    char id[GCACHE_ENTRY_ID_SIZE];
    gcache_key key;

    *out_kind = S_IFREG;
    return gci_name_read(name, &key, id) != GCI_NAME_STRANGE && belongs(folder, name);
}

static bool
knows_attachment(char const *folder, char const *name, mode_t *out_kind)
{
    *out_kind = S_IFREG;
    return is_hex(name, SHA256_HEX) && belongs(folder, name);
}

static bool
knows_file(char const *folder, char const *name, mode_t *out_kind)
{
    (void)folder;
    (void)name;
    *out_kind = S_IFREG;
    return true;
}

static bool
knows_lock(char const *folder, char const *name, mode_t *out_kind)
{
    (void)folder;
    *out_kind = strcmp(name, "leases") == 0 ? S_IFDIR : S_IFREG;
    return true;
}

/* Of what lies at the top only our own names count, and not the settings: who reads them puts them aside. */
static bool
knows_top(char const *folder, char const *name, mode_t *out_kind)
{
    static struct {
        char const *name;
        mode_t kind;
    } const ours[] = {
#define X(name, kind) { name, kind },
        GCI_TOP_MAP(X)
#undef X
    };

    (void)folder;
    *out_kind = 0;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
        if (strcmp(name, ours[i].name) == 0 && strcmp(name, "config.json") != 0)
            *out_kind = ours[i].kind;
    }
    return true;
}

/* A folder before what lies in it: what isn't one can't be listed. */
static room const rooms[] = {
    { ".", knows_top },         { "entries", knows_part }, { "entries/*", knows_entry },   { "attachments", knows_part },
    { "attachments/*", knows_attachment }, { "locks", knows_lock }, { "locks/leases", knows_file },
};

/* ---- walking ---- */

typedef struct names {
    char (*items)[NAME_MAX + 1];
    size_t count, capacity;
    bool failed;
} names;

/* Names are gathered first: what is reported may be moved away. */
static int
add_name(void *state, char const *name)
{
    names *list = state;

    if (!GCI_ARRAY_HAS_ROOM(list, items)) {
        list->failed = true;
        return 1;
    }
    snprintf(list->items[list->count++], sizeof *list->items, "%s", name);
    return 0;
}

typedef struct walk {
    gci_dir dir;
    gci_strange_fn fn;
    void *state;
    gcache_error *error;
} walk;

static void
check_name(walk const *w, room const *r, char const *folder, char const *name)
{
    char path[sizeof "attachments/xx/" + NAME_MAX + 1];
    struct stat facts;
    mode_t kind;

    snprintf(path, sizeof path, "%s%s%s", strcmp(folder, ".") != 0 ? folder : "", strcmp(folder, ".") != 0 ? "/" : "", name);
    bool known = r->knows(folder, name, &kind);
    /* What others have removed meanwhile is nobody's trouble. */
    if ((known && kind == 0) || gci_dir_stat(w->dir, path, &facts, NULL) != GCACHE_OK)
        return;
    if (!known)
        w->fn(w->state, path, "a name that is none of ours");
    else if ((facts.st_mode & S_IFMT) != kind)
        w->fn(w->state, path, kind == S_IFREG ? "not a plain file" : "not a directory");
}

static gcache_status
check_folder(walk const *w, room const *r, char const *folder)
{
    names list = { 0 };
    struct stat facts;

    /* One that isn't a folder was reported as a name in its own. */
    if (gci_dir_stat(w->dir, folder, &facts, NULL) != GCACHE_OK || !S_ISDIR(facts.st_mode))
        return GCACHE_OK;
    gcache_status status = gci_dir_each(w->dir, folder, add_name, &list, w->error);
    /* It was removed meanwhile, or one on the way to it isn't a folder and was reported as such. */
    if (status == GCACHE_ERROR_NOT_FOUND || status == GCACHE_ERROR_CORRUPT)
        status = GCACHE_OK;
    if (list.failed)
        status = gci_fail_memory(w->error);
    for (size_t i = 0; status == GCACHE_OK && i < list.count; i++)
        check_name(w, r, folder, list.items[i]);
    free(list.items);
    return status;
}

static gcache_status
check_room(walk const *w, room const *r)
{
    size_t stem = strcspn(r->folder, "*");
    gcache_status status = GCACHE_OK;
    char folder[32];

    if (r->folder[stem] == '\0')
        return check_folder(w, r, r->folder);
    for (unsigned number = 0; status == GCACHE_OK && number < 256; number++) {
        snprintf(folder, sizeof folder, "%.*s%02x", (int)stem, r->folder, number);
        status = check_folder(w, r, folder);
    }
    return status;
}

gcache_status
gci_strange_each(gci_dir dir, gci_strange_fn fn, void *state, gcache_error *error)
{
    walk w = { dir, fn, state, error };
    gcache_status status = GCACHE_OK;

    for (size_t i = 0; status == GCACHE_OK && i < sizeof rooms / sizeof *rooms; i++)
        status = check_room(&w, &rooms[i]);
    return status;
}
