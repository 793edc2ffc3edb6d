/* Into the directory and its folders: whose they are, the rights of what is made, trouble as a message. */
#include "tier/directory/directory_call.h"

#include "base/check.h"
#include "base/system/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- trouble ---- */

#define SCHEME "file://"

/* A path may be longer than a message: its beginning goes then, for what failed stands at the end. */
static gcache_tier_answer
say(gci_directory_tier const *tier, gcache_tier_call *call, gcache_reason reason, gcache_error const *error)
{
    bool placed = strncmp(error->message, tier->path, strlen(tier->path)) == 0;
    char text[sizeof error->message + 512];

    snprintf(text, sizeof text, "%.500s%s%s", placed ? "" : tier->path, placed ? "" : ": ", error->message);
    size_t size = strlen(text), room = sizeof call->message - sizeof SCHEME;
    char const *from = size > room ? text + (size - room) : text;
    while (from != text && ((unsigned char)*from & 0xC0) == 0x80)
        from++;
    call->reason = reason;
    snprintf(call->message, sizeof call->message, SCHEME "%.*s", (int)room, from);
    return GCACHE_TIER_TROUBLE;
}

gcache_tier_answer
gci_directory_trouble(gci_directory_tier const *tier, gcache_tier_call *call, gcache_error const *error)
{
    return say(tier, call, GCACHE_REASON_REMOTE_UNAVAILABLE, error);
}

gcache_tier_answer
gci_directory_timeout(gci_directory_tier const *tier, gcache_tier_call *call)
{
    gcache_error error;

    gci_fail(&error, GCACHE_ERROR_BUSY, "%s: no answer in time", tier->path);
    return say(tier, call, GCACHE_REASON_REMOTE_TIMEOUT, &error);
}

bool
gci_directory_is_late(gcache_tier_call const *call)
{
    return call->deadline_ns != 0 && gci_clock_steady_ns() >= call->deadline_ns;
}

/* Of ERROR_NOT_FOUND, whose causes race; of ERROR_IO, most of whose causes last, a few. */
#define ATTEMPTS 21
#define ATTEMPTS_OF_IO 3

bool
gci_directory_try_again(gcache_status status, int *attempt)
{
    *attempt += status == GCACHE_ERROR_IO ? ATTEMPTS / ATTEMPTS_OF_IO : 1;
    return (status == GCACHE_ERROR_NOT_FOUND || status == GCACHE_ERROR_IO) && *attempt < ATTEMPTS;
}

/* ---- the directory ---- */

void
gci_directory_make_root(gci_directory_tier const *tier)
{
    char *parent = strdup(tier->path);
    char *slash = parent != NULL ? strrchr(parent, '/') : NULL;
    gci_dir above;

    if (slash != NULL && slash[1] != '\0') {
        char const *name = tier->path + (slash - parent) + 1;
        slash[slash == parent] = '\0';
        if (gci_dir_open_user(parent, &above, NULL) == GCACHE_OK)
            gci_dir_make(above, name, NULL, NULL);
        gci_dir_close(&above);
    }
    free(parent);
}

/* Others than the owner have rights in a directory that a team shares: then they have the same in what is made there. */
static void
choose_modes(gci_directory_call *c, mode_t mode)
{
    bool group = c->owners.trust == GCACHE_TRUST_GROUP;

    c->folder_mode = c->file_mode = 0;
    if ((mode & 0077) == 0)
        return;
    c->folder_mode = (mode & 02777) | (group ? 02070u : 0u);
    c->file_mode = (mode & 0666) | (group ? 0060u : 0u);
}

/* Who may write to the directory decides what is read from it. */
static gcache_status
look_at_root(gci_directory_call *c, gcache_error *error)
{
    char const *path = c->tier->path;
    char why[GCI_DISTRUST_TEXT];
    struct stat facts;

    gcache_status status = gci_dir_stat(c->root, ".", &facts, error);
    if (status != GCACHE_OK)
        return status;
    c->owners = (gci_owners){ c->tier->trust, geteuid(), facts.st_gid };
    c->root.owners = &c->owners;
    choose_modes(c, facts.st_mode);
    if (c->owners.trust == GCACHE_TRUST_GROUP && !gci_group_is_ours(facts.st_gid))
        return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s: its group %ld, which would be trusted, is none of ours", path,
                        (long)facts.st_gid);
    if (!gci_owners_trust(&c->owners, facts.st_uid, facts.st_gid, facts.st_mode, why))
        return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s: %s", path, why);
    return GCACHE_OK;
}

static gcache_status
open_root(gci_directory_call *c, bool writes, gcache_error *error)
{
    gci_directory_tier *tier = c->tier;

    if (writes && tier->read_only)
        return gci_fail(error, GCACHE_ERROR_READ_ONLY, "%s: read-only", tier->path);
    gcache_status status = gci_dir_open_user(tier->path, &c->root, error);
    if (status == GCACHE_ERROR_NOT_FOUND && writes) {
        gci_directory_make_root(tier);
        status = gci_dir_open_user(tier->path, &c->root, error);
    }
    if (status == GCACHE_OK)
        status = look_at_root(c, error);
    if (status != GCACHE_OK)
        gci_dir_close(&c->root);
    return status;
}

gcache_tier_answer
gci_directory_begin(gci_directory_tier *tier, gcache_tier_call *call, bool writes, gci_directory_call *out)
{
    gcache_error error;

    *out = (gci_directory_call){ .tier = tier, .call = call, .root = { .fd = -1, .name = tier->path } };
    if (gci_directory_is_late(call))
        return gci_directory_timeout(tier, call);
    call->round_trips++;
    return open_root(out, writes, &error) == GCACHE_OK ? GCACHE_TIER_HIT : gci_directory_trouble(tier, call, &error);
}

void
gci_directory_end(gci_directory_call *c)
{
    gci_dir_close(&c->root);
}

/* ---- folders ---- */

/* A folder of somebody who isn't trusted may hold trusted files under wrong names. */
static gcache_status
look_at_folder(gci_directory_call *c, gci_dir parent, char const *name, gcache_error *error)
{
    char why[GCI_DISTRUST_TEXT];
    struct stat facts;

    if (c->owners.trust == GCACHE_TRUST_ANY)
        return GCACHE_OK;
    gcache_status status = gci_dir_stat(parent, name, &facts, error);
    if (status != GCACHE_OK || !S_ISDIR(facts.st_mode) ||
        gci_owners_trust(&c->owners, facts.st_uid, facts.st_gid, facts.st_mode, why))
        return status;
    return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s/%s: %s", parent.name, name, why);
}

/* It gets its mode under another name first: a team-mate must not meet a folder that only its maker may enter, and a maker that
   dies must not leave one. */
static gcache_status
make_with_mode(gci_directory_call *c, gci_dir parent, char const *name, gcache_error *error)
{
    char temporary[GCI_DIRECTORY_PREFIX_MAX + 32];
    gci_dir made;

    snprintf(temporary, sizeof temporary, "%.*s.%016llx", GCI_DIRECTORY_PREFIX_MAX, name, (unsigned long long)gci_unique_number());
    gcache_status status = gci_dir_make(parent, temporary, NULL, error);
    if (status == GCACHE_OK)
        status = gci_dir_open(parent, temporary, parent.name, &made, error);
    if (status != GCACHE_OK)
        return status;
    gci_file folder = { .fd = made.fd, .dir = parent, .path = temporary };
    status = gci_file_set_mode(&folder, c->folder_mode, error);
    gci_dir_close(&made);
    if (status == GCACHE_OK)
        status = gci_dir_rename(parent, temporary, parent, name, error);
    if (status != GCACHE_OK)
        gci_dir_remove(parent, temporary, NULL);
    return status;
}

/* One that somebody else makes meanwhile is as good. ERROR_NOT_FOUND: his was in the way, and is gone again. */
static gcache_status
make_in(gci_directory_call *c, gci_dir parent, char const *name, gcache_error *error)
{
    struct stat facts;

    if (c->folder_mode == 0)
        return gci_dir_make(parent, name, NULL, error);
    gcache_status status = make_with_mode(c, parent, name, error);
    return status == GCACHE_ERROR_IO ? gci_dir_stat(parent, name, &facts, NULL) : status;
}

static gcache_status
step_into(gci_directory_call *c, gci_dir parent, char const *name, bool make, gci_directory_folder *folder,
          gci_dir *out_dir, gcache_error *error)
{
    gcache_status status = gci_dir_open(parent, name, folder->name, out_dir, error);

    if (status == GCACHE_ERROR_NOT_FOUND && make) {
        status = make_in(c, parent, name, error);
        if (status == GCACHE_OK)
            status = gci_dir_open(parent, name, folder->name, out_dir, error);
    }
    if (status != GCACHE_OK)
        return status;
    status = look_at_folder(c, parent, name, error);
    if (status != GCACHE_OK)
        gci_dir_close(out_dir);
    return status;
}

/* Component by component: each is looked at where it is, and what is made lies in what was looked at. */
static gcache_status
walk_into(gci_directory_call *c, char const *path, bool make, gci_directory_folder *out, gcache_error *error)
{
    char part[GCI_DIRECTORY_FOLDER_SIZE];
    gci_dir dir = c->root, next;
    gcache_status status = GCACHE_OK;

    for (char const *from = path; status == GCACHE_OK && *from != '\0';) {
        size_t length = strcspn(from, "/");
        snprintf(part, sizeof part, "%.*s", (int)length, from);
        snprintf(out->name, sizeof out->name, "%s/%.*s", c->root.name, (int)(from - path) - (from != path), path);
        dir.name = from == path ? c->root.name : out->name;
        status = step_into(c, dir, part, make, out, &next, error);
        if (dir.fd != c->root.fd)
            gci_dir_close(&dir);
        dir = next;
        from += length + (from[length] == '/');
    }
    snprintf(out->name, sizeof out->name, "%s/%s", c->root.name, path);
    out->dir = dir;
    out->dir.name = out->name;
    return status;
}

static gcache_status
open_or_make(gci_directory_call *c, char const *path, bool make, gci_directory_folder *out, gcache_error *error)
{
    gcache_status status;
    int attempt = 0;

    *out = (gci_directory_folder){ .dir = { .fd = -1 } };
    snprintf(out->path, sizeof out->path, "%s", path);
    do {
        c->call->round_trips++;
        status = walk_into(c, path, make, out, error);
    } while ((make || status == GCACHE_ERROR_IO) && gci_directory_try_again(status, &attempt));
    return status;
}

gcache_status
gci_directory_open_folder(gci_directory_call *c, char const *path, gci_directory_folder *out, gcache_error *error)
{
    return open_or_make(c, path, false, out, error);
}

gcache_status
gci_directory_make_folder(gci_directory_call *c, char const *path, gci_directory_folder *out, gcache_error *error)
{
    return open_or_make(c, path, true, out, error);
}

gcache_status
gci_directory_reopen_folder(gci_directory_call *c, gci_directory_folder *folder, gcache_error *error)
{
    char path[GCI_DIRECTORY_FOLDER_SIZE];

    snprintf(path, sizeof path, "%s", folder->path);
    gci_directory_close_folder(folder);
    return gci_directory_open_folder(c, path, folder, error);
}

void
gci_directory_close_folder(gci_directory_folder *folder)
{
    gci_dir_close(&folder->dir);
}
