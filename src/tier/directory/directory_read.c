/*
 * Reading without locks. Names are collected before any file is opened, since callbacks and other hosts change the folder
 * meanwhile; what has vanished by then was removed, and is no trouble.
 *
 * A failing call is made once more by way of the folder's path: its server may have forgotten the handle (ESTALE).
 */
#include "tier/directory/directory_read.h"

#include "base/array.h"
#include "base/digest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

typedef char hex_name[GCACHE_OBJECT_NAME_SIZE];

typedef struct hex_names {
    hex_name *items;
    size_t count, capacity;
    size_t digits;     /* names of so many are meant; others are somebody else's, or being written */
    char const *after; /* in their order; "": all */
    gcache_tier_call const *call;
    bool failed, late;
} hex_names;

static int
add_name(void *state, char const *name)
{
    hex_names *names = state;

    names->late = gci_directory_is_late(names->call);
    if (names->late)
        return 1;
    if (!gci_is_hex_name(name, names->digits) || strcmp(name, names->after) <= 0)
        return 0;
    names->failed = !GCI_ARRAY_HAS_ROOM(names, items);
    if (!names->failed)
        snprintf(names->items[names->count++], sizeof *names->items, "%s", name);
    return names->failed;
}

static void
clear_names(hex_names *names)
{
    free(names->items);
}

static gcache_status
collect(gci_directory_call *c, gci_directory_folder *folder, hex_names *out, gcache_error *error)
{
    out->call = c->call;
    gcache_status status = gci_dir_each(folder->dir, ".", add_name, out, error);
    if (status == GCACHE_ERROR_IO) {
        out->count = 0;
        status = gci_directory_reopen_folder(c, folder, error);
        if (status == GCACHE_OK)
            status = gci_dir_each(folder->dir, ".", add_name, out, error);
    }
    c->call->round_trips++;
    return out->failed ? gci_fail_memory(error) : status;
}

/* ---- objects ---- */

static size_t
limit_of(gcache_tier_call const *call)
{
    uint64_t most = call->max_bytes != 0 ? call->max_bytes : GCACHE_TIER_BYTES_MAX;

    return most < SIZE_MAX / 2 ? (size_t)most : SIZE_MAX / 2;
}

static gcache_status
load(gci_directory_call *c, gci_directory_folder *folder, char const *name, gci_buf *out, gcache_error *error)
{
    gcache_status status = gci_file_load(folder->dir, name, limit_of(c->call), out, error);

    if (status == GCACHE_ERROR_IO) {
        status = gci_directory_reopen_folder(c, folder, error);
        if (status == GCACHE_OK)
            status = gci_file_load(folder->dir, name, limit_of(c->call), out, error);
    }
    c->call->round_trips++;
    c->call->bytes_received += out->size;
    return status;
}

/* Loads a file of a folder and calls each with it. */
static gcache_status
hand_out_from(gci_directory_call *c, gci_directory_folder *folder, char const *name, gcache_object const *wanted,
              gcache_object_fn each, void *state, bool *out_ended, gcache_error *error)
{
    gci_buf bytes;

    gci_buf_init(&bytes, limit_of(c->call));
    gcache_status status = load(c, folder, name, &bytes, error);
    if (status == GCACHE_OK) {
        gcache_object object = *wanted;
        object.bytes = bytes.size > 0 ? bytes.data : "";
        object.size = bytes.size;
        *out_ended = each(state, &object) != 0;
    }
    gci_buf_clear(&bytes);
    return status;
}

gcache_status
gci_directory_hand_out(gci_directory_call *c, gcache_object const *wanted, gcache_object_fn each, void *state,
                       bool *out_ended, gcache_error *error)
{
    gci_directory_folder folder;
    gci_object_place place;

    *out_ended = false;
    if (!gci_object_place_of(c->tier->prefix, wanted, &place))
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "%s: no object has such a name", c->tier->path);
    gcache_status status = gci_directory_open_folder(c, place.folder, &folder, error);
    if (status == GCACHE_OK)
        status = hand_out_from(c, &folder, place.name, wanted, each, state, out_ended, error);
    gci_directory_close_folder(&folder);
    return status;
}

/* Another's file, a link or a pipe in an object's place, a file that is larger than wanted: not an object here. */
static bool
is_absent(gcache_status status)
{
    return status == GCACHE_ERROR_NOT_FOUND || status == GCACHE_ERROR_LIMIT || status == GCACHE_ERROR_CORRUPT;
}

gcache_tier_answer
gci_directory_fetch(gci_directory_call *c, gcache_object const *wanted, size_t count, gcache_object_fn each, void *state)
{
    gcache_tier_answer answer = GCACHE_TIER_HIT;
    bool ended = false;
    gcache_error error;

    for (size_t i = 0; !ended && i < count; i++) {
        if (gci_directory_is_late(c->call))
            return gci_directory_timeout(c->tier, c->call);
        gcache_status status = gci_directory_hand_out(c, &wanted[i], each, state, &ended, &error);
        if (status != GCACHE_OK && !is_absent(status))
            return gci_directory_trouble(c->tier, c->call, &error);
        if (status != GCACHE_OK)
            answer = GCACHE_TIER_MISS;
    }
    return answer;
}

/* ---- heads ---- */

/* What became of a key's heads so far. */
struct listing {
    size_t handed;
    bool ended, refused, failed; /* refused: there was one whose owner isn't trusted */
    gcache_error error;          /* of the first that was refused or failed */
};

/* One that can't be read doesn't keep the others from being handed out. */
static void
list_head(gci_directory_call *c, gci_directory_folder *folder, gcache_object const *head, gcache_object_fn each, void *state,
          struct listing *listing)
{
    gcache_error error;

    gcache_status status = hand_out_from(c, folder, head->name, head, each, state, &listing->ended, &error);
    listing->handed += status == GCACHE_OK;
    if (status == GCACHE_OK || is_absent(status))
        return;
    if (!listing->refused && !listing->failed)
        listing->error = error;
    if (status == GCACHE_ERROR_UNTRUSTED)
        listing->refused = true;
    else
        listing->failed = true;
}

static gcache_tier_answer
list_names(gci_directory_call *c, gci_directory_folder *folder, gcache_key const *key, hex_names const *names,
           gcache_object_fn each, void *state)
{
    gcache_object head = { .kind = GCACHE_OBJECT_HEAD, .key = *key };
    struct listing listing = { 0 };

    for (size_t i = 0; !listing.ended && i < names->count; i++) {
        if (gci_directory_is_late(c->call))
            return gci_directory_timeout(c->tier, c->call);
        memcpy(head.name, names->items[i], sizeof head.name);
        list_head(c, folder, &head, each, state, &listing);
    }
    /* A stranger's file beside ours is passed over. If there are only such, people want to know. */
    if (listing.failed || (listing.refused && listing.handed == 0))
        return gci_directory_trouble(c->tier, c->call, &listing.error);
    return listing.handed > 0 ? GCACHE_TIER_HIT : GCACHE_TIER_MISS;
}

gcache_tier_answer
gci_directory_list(gci_directory_call *c, gcache_key const *key, gcache_object_fn each, void *state)
{
    hex_names names = { .digits = GCI_HEAD_DIGITS, .after = "" };
    char path[GCI_DIRECTORY_FOLDER_SIZE];
    gci_directory_folder folder;
    gcache_tier_answer answer;
    gcache_error error;

    gci_key_folder(c->tier->prefix, key, path);
    gcache_status status = gci_directory_open_folder(c, path, &folder, &error);
    if (status == GCACHE_OK)
        status = collect(c, &folder, &names, &error);
    if (status == GCACHE_ERROR_NOT_FOUND)
        answer = GCACHE_TIER_MISS;
    else if (status != GCACHE_OK)
        answer = gci_directory_trouble(c->tier, c->call, &error);
    else
        answer = names.late ? gci_directory_timeout(c->tier, c->call) : list_names(c, &folder, key, &names, each, state);
    gci_directory_close_folder(&folder);
    clear_names(&names);
    return answer;
}

/* ---- keys ---- */

static int
meet_head(void *state, char const *name)
{
    bool *has_head = state;

    *has_head = gci_is_hex_name(name, GCI_HEAD_DIGITS);
    return *has_head;
}

static int
compare_names(void const *a, void const *b)
{
    return strcmp(a, b);
}

/* Keys of a shard, in their order. *out_ended: the callback ends the walk. */
static gcache_status
walk_names(gci_directory_call *c, gci_dir shard, hex_names *names, char cursor[GCACHE_TIER_CURSOR_SIZE],
           gcache_tier_key_fn each, void *state, size_t *out_handed, bool *out_ended)
{
    gcache_key key;

    if (names->count > 1)
        qsort(names->items, names->count, sizeof *names->items, compare_names);
    for (size_t i = 0; !*out_ended && i < names->count; i++) {
        bool has_head = false;
        if (gci_directory_is_late(c->call))
            return GCACHE_ERROR_BUSY;
        c->call->round_trips++;
        gci_dir_each(shard, names->items[i], meet_head, &has_head, NULL);
        if (has_head && gci_unhex(gci_view_text(names->items[i]), key.bytes, sizeof key.bytes)) {
            *out_ended = each(state, &key) != 0;
            ++*out_handed;
        }
        snprintf(cursor, GCACHE_TIER_CURSOR_SIZE, "%s", names->items[i]);
    }
    return GCACHE_OK;
}

/* ERROR_BUSY: it is too late. */
static gcache_status
walk_shard(gci_directory_call *c, unsigned shard, char cursor[GCACHE_TIER_CURSOR_SIZE], gcache_tier_key_fn each,
           void *state, size_t *out_handed, bool *out_ended, gcache_error *error)
{
    char path[GCI_DIRECTORY_FOLDER_SIZE], after[GCACHE_TIER_CURSOR_SIZE];
    hex_names names = { .digits = 2 * GCACHE_KEY_BYTES, .after = after };
    gci_directory_folder folder;

    snprintf(after, sizeof after, "%s", cursor);
    gci_shard_folder(c->tier->prefix, shard, path);
    gcache_status status = gci_directory_open_folder(c, path, &folder, error);
    if (status == GCACHE_OK)
        status = collect(c, &folder, &names, error);
    if (status == GCACHE_OK)
        status = names.late ? GCACHE_ERROR_BUSY : walk_names(c, folder.dir, &names, cursor, each, state, out_handed, out_ended);
    gci_directory_close_folder(&folder);
    clear_names(&names);
    return status == GCACHE_ERROR_NOT_FOUND ? GCACHE_OK : status;
}

/* The cursor is the key that came last, or the two digits of the shard that comes next. A call goes on until there is a key. */
gcache_tier_answer
gci_directory_walk(gci_directory_call *c, char cursor[GCACHE_TIER_CURSOR_SIZE], gcache_tier_key_fn each, void *state)
{
    uint8_t first = 0;
    size_t handed = 0;
    bool ended = false;
    gcache_error error;

    if (cursor[0] != '\0' && !gci_unhex(gci_view_of(cursor, 2), &first, 1))
        return GCACHE_TIER_MISS;
    for (unsigned shard = first; handed == 0 && shard < GCI_KEY_SHARDS; shard++) {
        gcache_status status = walk_shard(c, shard, cursor, each, state, &handed, &ended, &error);
        if (status == GCACHE_ERROR_BUSY)
            return gci_directory_timeout(c->tier, c->call);
        if (status != GCACHE_OK)
            return gci_directory_trouble(c->tier, c->call, &error);
        if (ended)
            return GCACHE_TIER_HIT;
        snprintf(cursor, GCACHE_TIER_CURSOR_SIZE, shard + 1 < GCI_KEY_SHARDS ? "%02x" : "end", shard + 1);
    }
    return strcmp(cursor, "end") == 0 ? GCACHE_TIER_MISS : GCACHE_TIER_HIT;
}
