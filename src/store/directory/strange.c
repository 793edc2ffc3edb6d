/*
 * A table of rooms: a folder of the cache, what names in it look like, and what they stand for. `*` in a folder's name is any
 * name of two hexadecimal digits, a room each.
 */
#include "store/directory/strange.h"

#include "base/digest.h"
#include "store/directory/tree.h"

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

static room const rooms[] = {
    { ".", knows_top },         { "entries", knows_part }, { "entries/*", knows_entry },   { "attachments", knows_part },
    { "attachments/*", knows_attachment }, { "locks", knows_lock }, { "locks/leases", knows_file },
};

/* The room that a folder is; NULL: what lies in it is none of ours. */
static room const *
room_of(char const *folder)
{
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        size_t stem = strcspn(rooms[i].folder, "*");
        bool part = rooms[i].folder[stem] == '*';
        if (part ? strncmp(folder, rooms[i].folder, stem) == 0 && is_hex(folder + stem, PART_HEX)
                 : strcmp(folder, rooms[i].folder) == 0)
            return &rooms[i];
    }
    return NULL;
}

/* ---- walking ---- */

struct search {
    gci_strange_fn fn;
    void *state;
};

static gci_tree_step
check_name(void *state, char const *path, struct stat const *facts)
{
    char const *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    struct search *search = state;
    char folder[32];
    mode_t kind;

    snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) : 1, slash != NULL ? path : ".");
    room const *here = room_of(folder);
    bool known = here != NULL && here->knows(folder, name, &kind);
    if (!known)
        search->fn(search->state, path, "a name that is none of ours");
    else if (kind != 0 && (facts->st_mode & S_IFMT) != kind)
        search->fn(search->state, path, kind == S_IFREG ? "not a plain file" : "not a directory");
    return known && S_ISDIR(facts->st_mode) && room_of(path) != NULL ? GCI_TREE_ON : GCI_TREE_PAST;
}

gcache_status
gci_strange_each(gci_dir dir, gci_strange_fn fn, void *state, gcache_error *error)
{
    struct search search = { fn, state };

    return gci_tree_each(dir, ".", check_name, &search, error);
}
