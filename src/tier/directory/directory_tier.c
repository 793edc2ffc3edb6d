/* The functions of a tier in a directory, and opening one. */
#include "tier/directory/directory_tier.h"

#include "base/check.h"
#include "tier/directory/directory_read.h"
#include "tier/directory/directory_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- reading ---- */

static gcache_tier_answer
directory_list(void *tier, gcache_tier_call *call, gcache_key const *key, gcache_object_fn each, void *state)
{
    gci_directory_call c;

    gcache_tier_answer answer = gci_directory_begin(tier, call, false, &c);
    if (answer == GCACHE_TIER_HIT)
        answer = gci_directory_list(&c, key, each, state);
    gci_directory_end(&c);
    return answer;
}

static gcache_tier_answer
directory_fetch(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count, gcache_object_fn each,
                void *state)
{
    gci_directory_call c;

    gcache_tier_answer answer = gci_directory_begin(tier, call, false, &c);
    if (answer == GCACHE_TIER_HIT)
        answer = gci_directory_fetch(&c, wanted, count, each, state);
    gci_directory_end(&c);
    return answer;
}

static gcache_tier_answer
directory_walk(void *tier, gcache_tier_call *call, char cursor[GCACHE_TIER_CURSOR_SIZE], gcache_tier_key_fn each,
               void *state)
{
    gci_directory_call c;

    gcache_tier_answer answer = gci_directory_begin(tier, call, false, &c);
    if (answer == GCACHE_TIER_HIT)
        answer = gci_directory_walk(&c, cursor, each, state);
    gci_directory_end(&c);
    return answer;
}

static gcache_tier_answer
directory_statistics(void *tier, gcache_tier_call *call, gcache_tier_number_fn each, void *state)
{
    gci_directory_call c;
    gcache_error error;
    uint64_t bytes = 0;

    gcache_tier_answer answer = gci_directory_begin(tier, call, false, &c);
    if (answer == GCACHE_TIER_HIT && gci_dir_free_bytes(c.root, &bytes, &error) != GCACHE_OK)
        answer = gci_directory_trouble(tier, call, &error);
    if (answer == GCACHE_TIER_HIT) {
        uint64_t names = gci_dir_free_names(c.root);
        each(state, "free_bytes", bytes);
        if (names != UINT64_MAX)
            each(state, "free_names", names);
    }
    gci_directory_end(&c);
    return answer;
}

/* ---- writing ---- */

/* What is done with each object of a call. */
typedef gcache_status (*step)(gci_directory_call *c, gcache_object const *object, gcache_error *error);

static gcache_tier_answer
each_object(gci_directory_tier *tier, gcache_tier_call *call, gcache_object const *objects, size_t count, step each)
{
    gci_directory_call c;
    gcache_error error;

    gcache_tier_answer answer = gci_directory_begin(tier, call, true, &c);
    for (size_t i = 0; answer == GCACHE_TIER_HIT && i < count; i++) {
        gcache_status status = GCACHE_ERROR_IO;
        for (int attempt = 0; status == GCACHE_ERROR_IO && attempt < 2 && !gci_directory_is_late(call); attempt++)
            status = each(&c, &objects[i], &error);
        if (status != GCACHE_OK && gci_directory_is_late(call))
            answer = gci_directory_timeout(tier, call);
        else if (status != GCACHE_OK)
            answer = gci_directory_trouble(tier, call, &error);
    }
    gci_directory_end(&c);
    return answer;
}

/* Without its folder there is nothing to do. */
static gcache_status
open_place(gci_directory_call *c, gcache_object const *object, gci_object_place *out_place, gci_directory_folder *out_folder,
           gcache_error *error)
{
    *out_folder = (gci_directory_folder){ .dir = { .fd = -1 } };
    if (!gci_object_place_of(c->tier->prefix, object, out_place))
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "%s: no object has such a name", c->tier->path);
    return gci_directory_open_folder(c, out_place->folder, out_folder, error);
}

static gcache_status
touch(gci_directory_call *c, gcache_object const *object, gcache_error *error)
{
    gci_directory_folder folder;
    gci_object_place place;

    gcache_status status = open_place(c, object, &place, &folder, error);
    if (status == GCACHE_OK)
        status = gci_dir_touch(folder.dir, place.name, error);
    gci_directory_close_folder(&folder);
    return status == GCACHE_ERROR_NOT_FOUND ? GCACHE_OK : status;
}

/* A key's folder goes with what was in it last; one that isn't empty stays. */
static gcache_status
take_away(gci_directory_call *c, gcache_object const *object, gcache_error *error)
{
    bool alone = object->kind == GCACHE_OBJECT_HEAD || object->kind == GCACHE_OBJECT_DESCRIPTION;
    gci_directory_folder folder;
    gci_object_place place;

    gcache_status status = open_place(c, object, &place, &folder, error);
    if (status == GCACHE_OK)
        status = gci_dir_unlink(folder.dir, place.name, error);
    if (status == GCACHE_OK && alone)
        gci_dir_remove(c->root, place.folder, NULL);
    gci_directory_close_folder(&folder);
    return status == GCACHE_ERROR_NOT_FOUND ? GCACHE_OK : status;
}

static gcache_tier_answer
directory_publish(void *tier, gcache_tier_call *call, gcache_object const *objects, size_t count)
{
    return each_object(tier, call, objects, count, gci_directory_store);
}

static gcache_tier_answer
directory_touch(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count)
{
    return each_object(tier, call, wanted, count, touch);
}

static gcache_tier_answer
directory_remove(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count)
{
    return each_object(tier, call, wanted, count, take_away);
}

/* ---- sharing ---- */

/* Links it. *out_existed: somebody was first. */
static gcache_status
offer(gci_directory_call *c, gcache_object const *value, bool *out_existed, gcache_error *error)
{
    gci_directory_draft draft;
    gci_object_place place;

    if (!gci_object_place_of(c->tier->prefix, value, &place))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: a value whose name isn't one", c->tier->path);
    gcache_status status = gci_directory_draft_write(c, gci_view_of(value->bytes, value->size), &draft, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_directory_draft_link(c, &draft, &place, out_existed, error);
    gci_directory_draft_drop(&draft);
    return status;
}

/* It may be removed between being in the way and being read. */
#define SHARE_ATTEMPTS 5

static gcache_tier_answer
share(gci_directory_call *c, gcache_object const *value, gcache_object_fn each, void *state)
{
    bool existed = true, ended;
    gcache_error error;

    for (int i = 0; i < SHARE_ATTEMPTS; i++) {
        if (gci_directory_is_late(c->call))
            return gci_directory_timeout(c->tier, c->call);
        gcache_status status = gci_directory_hand_out(c, value, each, state, &ended, &error);
        if (status == GCACHE_OK)
            return GCACHE_TIER_HIT;
        if (status == GCACHE_ERROR_NOT_FOUND)
            status = offer(c, value, &existed, &error);
        if (status != GCACHE_OK)
            break;
        if (!existed)
            return GCACHE_TIER_MISS;
        gci_fail(&error, GCACHE_ERROR_BUSY, "%s: a shared value comes and goes", c->tier->path);
    }
    return gci_directory_trouble(c->tier, c->call, &error);
}

static gcache_tier_answer
directory_share(void *tier, gcache_tier_call *call, gcache_object const *value, gcache_object_fn each, void *state)
{
    gci_directory_call c;

    gcache_tier_answer answer = gci_directory_begin(tier, call, true, &c);
    if (answer == GCACHE_TIER_HIT)
        answer = share(&c, value, each, state);
    gci_directory_end(&c);
    return answer;
}

/* ---- the face ---- */

static void
directory_close(void *given)
{
    gci_directory_tier *tier = given;

    if (tier == NULL)
        return;
    free(tier->path);
    free(tier);
}

static gcache_tier_functions const functions = {
    .size = sizeof functions,
    .version = GCACHE_TIER_VERSION,
    .list = directory_list,
    .fetch = directory_fetch,
    .publish = directory_publish,
    .touch = directory_touch,
    .remove = directory_remove,
    .share = directory_share,
    .walk = directory_walk,
    .statistics = directory_statistics,
    .close = directory_close,
};

/* What is optional and can't be done isn't offered: a lookup must not take a touch that fails for trouble. */
static gcache_tier_functions const read_only_functions = {
    .size = sizeof read_only_functions,
    .version = GCACHE_TIER_VERSION,
    .list = directory_list,
    .fetch = directory_fetch,
    .publish = directory_publish,
    .remove = directory_remove,
    .walk = directory_walk,
    .statistics = directory_statistics,
    .close = directory_close,
};

/* Of the host's name what may stand in a file's. */
static void
name_host(char out_host[GCI_HOST_SIZE])
{
    char const *good = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.";

    if (gethostname(out_host, GCI_HOST_SIZE) != 0)
        out_host[0] = '\0';
    out_host[GCI_HOST_SIZE - 1] = '\0';
    for (char *c = out_host; *c != '\0'; c++) {
        if (strchr(good, *c) == NULL)
            *c = '_';
    }
}

gcache_status
gci_directory_tier_open(gci_directory_tier_options const *options, gcache_tier_functions const **out_functions,
                        void **out_tier, gcache_error *error)
{
    GCI_REQUIRE(options->path != NULL && options->path[0] == '/', error, "a directory's path is absolute");
    GCI_REQUIRE(options->prefix != NULL && gci_prefix_is_good(options->prefix), error,
                "prefix: path components, without . and .., of %d bytes at most", GCI_DIRECTORY_PREFIX_MAX);
    GCI_REQUIRE(options->trust < GCACHE_TRUST_COUNT, error, "trust: %d is none", (int)options->trust);
    gci_directory_tier *tier = calloc(1, sizeof *tier);

    if (tier == NULL || (tier->path = strdup(options->path)) == NULL) {
        directory_close(tier);
        return gci_fail_memory(error);
    }
    for (size_t size = strlen(tier->path); size > 1 && tier->path[size - 1] == '/'; size--)
        tier->path[size - 1] = '\0';
    snprintf(tier->prefix, sizeof tier->prefix, "%s", options->prefix);
    name_host(tier->host);
    tier->read_only = options->read_only;
    tier->trust = options->trust;
    if (!tier->read_only)
        gci_directory_make_root(tier);
    *out_functions = tier->read_only ? &read_only_functions : &functions;
    *out_tier = tier;
    return GCACHE_OK;
}
