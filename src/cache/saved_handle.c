/*
 * A handle's state as text: {"format": "guardcache-handle/1", "directory": .., and the options that aren't at their default}.
 * "tiers" are URLs separated by spaces; "withheld_tiers" are those that had credentials, which don't belong into a text.
 */
#include <guardcache/share.h>

#include "base/check.h"
#include "base/text/json.h"
#include "cache/handle/cache.h"
#include "cache/tiers/tiers.h"
#include "store/publish/side.h"

#include <stdio.h>
#include <string.h>

#define FORMAT "guardcache-handle/1"
/* A directory and a namespace. */
#define TEXT_BYTES_MAX ((size_t)1 << 20)

/* What is saved of gcache_options besides namespace and bypass: the field, its type, the type of the JSON value. */
#define OPTION_MAP(X)                                                                                 \
    X(read_only, bool, GCI_BOOL)                                                                      \
    X(strict, bool, GCI_BOOL)                                                                         \
    X(disabled, bool, GCI_BOOL)                                                                       \
    X(unsafe_skip_guards, bool, GCI_BOOL)                                                             \
    X(refresh, bool, GCI_BOOL)                                                                        \
    X(no_journal, bool, GCI_BOOL)                                                                     \
    X(require_signature, bool, GCI_BOOL)                                                              \
    X(trust, gcache_trust, GCI_INT)                                                                   \
    X(max_age_ns, uint64_t, GCI_INT)                                                                  \
    X(durability, gcache_durability, GCI_INT)                                                         \
    X(max_candidates, size_t, GCI_INT)                                                                \
    X(max_size, uint64_t, GCI_INT)                                                                   \
    X(memory_bytes, size_t, GCI_INT)                                                                  \
    X(compression_level, int, GCI_INT)                                                                \
    X(columns, size_t, GCI_INT)                                                                       \
    X(flush_ns, uint64_t, GCI_INT)                                                                    \
    X(color, bool, GCI_BOOL)

/* ---- saving ---- */

static void
write_number(gci_buf *out, char const *name, gci_value_type type, uint64_t value)
{
    if (value == 0)
        return;
    if (type == GCI_BOOL)
        gci_buf_format(out, ", \"%s\": true", name);
    else
        gci_buf_format(out, ", \"%s\": %lld", name, (long long)value);
}

static gcache_status
write_directory(gcache *cache, gci_buf *out, gcache_error *error)
{
    gci_buf path;

    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    gcache_status status = GCACHE_OK;
    if (cache->store != NULL)
        status = gci_side_absolute(cache->store, "", &path, error);
    else
        gci_buf_append_text(&path, cache->directory != NULL ? cache->directory : ".");
    if (status == GCACHE_OK)
        gci_json_member_text(out, "directory", gci_buf_view(&path));
    gci_buf_clear(&path);
    return status;
}

/* The URLs of tiers with credentials, without these, or of those that have none. A program's own tiers are no text. */
static void
write_tiers(gcache const *cache, gci_buf *out, char const *name, bool withheld)
{
    gci_buf urls;

    gci_buf_init(&urls, TEXT_BYTES_MAX);
    for (size_t i = 0; cache->tiers != NULL && i < cache->tiers->count; i++) {
        gci_tier const *tier = cache->tiers->items[i];
        if (!tier->owned || tier->has_credentials != withheld)
            continue;
        if (urls.size != 0)
            gci_buf_append_char(&urls, ' ');
        gci_buf_append_text(&urls, tier->shown);
    }
    out->failed |= urls.failed;
    if (urls.size != 0)
        gci_json_member_text(out, name, gci_buf_view(&urls));
    gci_buf_clear(&urls);
}

gcache_status
gcache_handle_save(gcache *cache, char **out_text, gcache_error *error)
{
    gci_buf text;

    GCI_REQUIRE(cache != NULL && out_text != NULL, error, "cache or out_text is NULL");
    gci_buf_init(&text, TEXT_BYTES_MAX);
    gci_buf_append_text(&text, "{\"format\": \"" FORMAT "\"");
    gcache_status status = write_directory(cache, &text, error);
    if (cache->namespace_.size != 0)
        gci_json_member_text(&text, "namespace", cache->namespace_);
    if (cache->gate.bypass != NULL)
        gci_json_member_text(&text, "bypass", gci_view_text(cache->gate.bypass));
    write_tiers(cache, &text, "tiers", false);
    write_tiers(cache, &text, "withheld_tiers", true);
#define X(field, type, json_type) write_number(&text, #field, json_type, (uint64_t)cache->options.field);
    OPTION_MAP(X)
#undef X
    gci_buf_append_char(&text, '}');
    if (status == GCACHE_OK && (*out_text = gci_buf_take_text(&text)) == NULL)
        status = gci_fail_memory(error);
    gci_buf_clear(&text);
    return status;
}

/* ---- opening ---- */

/* A member's text, zero-terminated; NULL: there is none, or it is of another type. */
static char const *
read_text(gci_value const *map, char const *name, gci_arena *arena)
{
    gci_value const *value = gci_map_find(map, name);

    return value != NULL && value->type == GCI_STRING ? gci_arena_copy(arena, value->text).data : NULL;
}

static int64_t
read_number(gci_value const *map, char const *name, gci_value_type type)
{
    gci_value const *value = gci_map_find(map, name);

    if (value == NULL || value->type != type)
        return 0;
    return type == GCI_BOOL ? value->boolean : value->integer;
}

/* What the listeners name counts; else what was saved, without those that need credentials. */
static void
read_tiers(gci_value const *map, gci_arena *arena, gcache_options *options)
{
    char const *withheld = read_text(map, "withheld_tiers", arena);
    char line[1024];

    if (options->tiers != NULL)
        return;
    options->tiers = read_text(map, "tiers", arena);
    if (withheld == NULL || options->log == NULL)
        return;
    snprintf(line, sizeof line, "without %s: a saved handle has no credentials, name the tiers when it is opened", withheld);
    options->log(options->log_state, line);
}

static void
read_options(gci_value const *map, gci_arena *arena, gcache_options *options)
{
    options->namespace_ = read_text(map, "namespace", arena);
    options->bypass = read_text(map, "bypass", arena);
    read_tiers(map, arena, options);
#define X(field, type, json_type) options->field = (type)read_number(map, #field, json_type);
    OPTION_MAP(X)
#undef X
}

/* state = object with "format", "directory" and options */
static gcache_status
open_state(gci_value const *map, gci_arena *arena, gcache_options *options, gcache **out_cache, gcache_error *error)
{
    char const *format = map->type == GCI_MAP ? read_text(map, "format", arena) : NULL;
    char const *directory = format != NULL ? read_text(map, "directory", arena) : NULL;

    if (format == NULL)
        return gci_fail(error, GCACHE_ERROR_SYNTAX, "not a saved handle");
    if (strcmp(format, FORMAT) != 0)
        return gci_fail(error, GCACHE_ERROR_FORMAT, "a saved handle of format %s; this version reads " FORMAT, format);
    if (directory == NULL)
        return gci_fail(error, GCACHE_ERROR_SYNTAX, "the saved handle names no directory");
    read_options(map, arena, options);
    return arena->failed ? gci_fail_memory(error) : gcache_open(directory, options, out_cache, error);
}

gcache_status
gcache_handle_open(char const *text, gcache_options const *listeners, gcache **out_cache, gcache_error *error)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gci_arena arena;
    gci_value map;

    GCI_REQUIRE(text != NULL && out_cache != NULL, error, "text or out_cache is NULL");
    if (listeners != NULL) {
        options.log = listeners->log;
        options.log_state = listeners->log_state;
        options.event = listeners->event;
        options.event_state = listeners->event_state;
        options.signing = listeners->signing;
        options.signing_count = listeners->signing_count;
        options.tiers = listeners->tiers;
        options.user_tiers = listeners->user_tiers;
        options.user_tier_count = listeners->user_tier_count;
    }
    gci_arena_init(&arena, 4 * TEXT_BYTES_MAX);
    gcache_status status = gci_json_read(gci_view_text(text), "handle", &arena, &map, error);
    if (status == GCACHE_OK)
        status = open_state(&map, &arena, &options, out_cache, error);
    gci_arena_clear(&arena);
    return status;
}
