/*
 * config.json, read leniently and changed under a lock.
 */
#include "cache/settings/config_file.h"

#include "base/check.h"
#include "base/text/json.h"
#include "store/directory/layout.h"
#include "store/directory/paths.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#define FORMAT_WORD "guardcache-config/"
#define FORMAT_VERSION "1"
/* A tree of one-digit numbers takes so many times the space of its text. */
#define ARENA_BYTES_MAX (128 * GCI_CONFIG_BYTES_MAX)
/* A change takes a sync, which on a busy disk may take seconds; many of them queue. */
#define LOCK_WAIT_NS UINT64_C(60000000000)

/* ---- reading ---- */

/* format = "guardcache-config/" number */
static gci_config_state
check_format(gci_value const *map, gcache_error *why)
{
    gci_value const *format = map->type == GCI_MAP ? gci_map_find(map, "format") : NULL;

    if (format != NULL && format->type == GCI_STRING) {
        if (gci_view_is(format->text, FORMAT_WORD FORMAT_VERSION))
            return GCI_CONFIG_GOOD;
        if (format->text.size > sizeof FORMAT_WORD - 1 &&
            memcmp(format->text.data, FORMAT_WORD, sizeof FORMAT_WORD - 1) == 0) {
            gci_fail(why, GCACHE_ERROR_FORMAT, GCI_CONFIG_NAME ": of format %.*s; this version reads " FORMAT_WORD
                     FORMAT_VERSION, (int)format->text.size, format->text.data);
            return GCI_CONFIG_REFUSED;
        }
    }
    gci_fail(why, GCACHE_ERROR_SYNTAX, GCI_CONFIG_NAME ": its format isn't " FORMAT_WORD FORMAT_VERSION);
    return GCI_CONFIG_DAMAGED;
}

static gci_config_state
state_of(gci_dir dir, gcache_status status)
{
    switch (status) {
    case GCACHE_OK:
    case GCACHE_ERROR_NOT_FOUND:
        return GCI_CONFIG_GOOD;
    case GCACHE_ERROR_SYNTAX:
    case GCACHE_ERROR_LIMIT:
    case GCACHE_ERROR_CORRUPT:
        return GCI_CONFIG_DAMAGED;
    case GCACHE_ERROR_IO:
        return gci_dir_may_read(dir, GCI_CONFIG_NAME) ? GCI_CONFIG_REFUSED : GCI_CONFIG_DAMAGED;
    default:
        return GCI_CONFIG_REFUSED;
    }
}

gci_config_state
gci_config_read(gci_dir dir, gci_config *out_config, gcache_error *why)
{
    gci_value map;

    out_config->map = (gci_value){ .type = GCI_MAP };
    gci_arena_init(&out_config->arena, ARENA_BYTES_MAX);
    gci_buf_init(&out_config->text, GCI_CONFIG_BYTES_MAX + 1);
    gcache_status status = gci_file_load(dir, GCI_CONFIG_NAME, GCI_CONFIG_BYTES_MAX, &out_config->text, why);
    gci_config_state state = state_of(dir, status);
    if (status != GCACHE_OK)
        return state;
    status = gci_json_read(gci_buf_view(&out_config->text), GCI_CONFIG_NAME, &out_config->arena, &map, why);
    state = status == GCACHE_OK ? check_format(&map, why) : state_of(dir, status);
    if (state == GCI_CONFIG_GOOD)
        out_config->map = map;
    return state;
}

void
gci_config_clear(gci_config *config)
{
    gci_buf_clear(&config->text);
    gci_arena_clear(&config->arena);
}

gci_value const *
gci_config_section(gci_config const *config, char const *namespace_)
{
    if (namespace_[0] == '\0')
        return gci_map_find(&config->map, "settings");
    gci_value const *spaces = gci_map_find(&config->map, "namespaces");
    return spaces != NULL && spaces->type == GCI_MAP ? gci_map_find(spaces, namespace_) : NULL;
}

/* ---- writing ---- */

/* One member of a section. */
struct edit {
    char const *namespace_, *name, *value;
};

static void
write_name(gci_buf *out, char const *separator, gci_view name)
{
    gci_buf_append_text(out, separator);
    gci_json_write_text(out, name);
    gci_buf_append_text(out, ": ");
}

/* A section with one member replaced, added or left out; edit NULL: as it is. */
static void
write_section(gci_buf *out, gci_value const *section, struct edit const *edit)
{
    uint32_t count = section != NULL && section->type == GCI_MAP ? section->count : 0;
    char const *separator = "";

    if (edit == NULL && section != NULL) {
        gci_json_write(out, section);
        return;
    }
    gci_buf_append_char(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        gci_member const *member = &section->members[i];
        if (edit != NULL && gci_view_is(member->name, edit->name))
            continue;
        write_name(out, separator, member->name);
        gci_json_write(out, &member->value);
        separator = ", ";
    }
    if (edit != NULL && edit->value != NULL) {
        write_name(out, separator, gci_view_text(edit->name));
        gci_json_write_text(out, gci_view_text(edit->value));
    }
    gci_buf_append_char(out, '}');
}

static void
write_namespaces(gci_buf *out, gci_value const *spaces, struct edit const *edit)
{
    uint32_t count = spaces != NULL && spaces->type == GCI_MAP ? spaces->count : 0;
    char const *separator = "\n  ";
    bool seen = edit->namespace_[0] == '\0';

    gci_buf_append_char(out, '{');
    for (uint32_t i = 0; i < count; i++) {
        bool own = edit->namespace_[0] != '\0' && gci_view_is(spaces->members[i].name, edit->namespace_);
        write_name(out, separator, spaces->members[i].name);
        write_section(out, &spaces->members[i].value, own ? edit : NULL);
        seen |= own;
        separator = ",\n  ";
    }
    if (!seen) {
        write_name(out, separator, gci_view_text(edit->namespace_));
        write_section(out, NULL, edit);
    }
    gci_buf_append_char(out, '}');
}

static bool
is_known_member(gci_view name)
{
    return gci_view_is(name, "format") || gci_view_is(name, "settings") || gci_view_is(name, "namespaces");
}

/* What this version doesn't know stays. */
static void
write_config(gci_buf *out, gci_value const *map, struct edit const *edit)
{
    gci_buf_append_text(out, "{\"format\": \"" FORMAT_WORD FORMAT_VERSION "\",\n \"settings\": ");
    write_section(out, gci_map_find(map, "settings"), edit->namespace_[0] == '\0' ? edit : NULL);
    gci_buf_append_text(out, ",\n \"namespaces\": ");
    write_namespaces(out, gci_map_find(map, "namespaces"), edit);
    for (uint32_t i = 0; i < map->count; i++) {
        if (is_known_member(map->members[i].name))
            continue;
        write_name(out, ",\n ", map->members[i].name);
        gci_json_write(out, &map->members[i].value);
    }
    gci_buf_append_text(out, "}\n");
}

/* A file that can't be read goes away, and the change begins with an empty one. */
static gcache_status
make_way(gci_dir dir, gcache_error const *why, gcache_log_fn log, void *log_state, gcache_error *error)
{
    gci_path place;
    gci_buf line;

    gcache_status status = gci_layout_put_aside(dir, GCI_CONFIG_NAME, &place, error);
    if (status != GCACHE_OK || log == NULL)
        return status;
    gci_buf_init(&line, GCI_BUF_NO_LIMIT);
    gci_buf_format(&line, "%s; put aside as %s, and all its settings with it", why->message, place.text);
    char *text = gci_buf_take_text(&line);
    log(log_state, text != NULL ? text : why->message);
    free(text);
    return GCACHE_OK;
}

static gcache_status
replace(gci_dir dir, gci_value const *map, struct edit const *edit, gcache_error *error)
{
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_CONFIG_BYTES_MAX);
    write_config(&bytes, map, edit);
    gcache_status status;
    if (bytes.over_limit)
        status = gci_fail(error, GCACHE_ERROR_LIMIT, GCI_CONFIG_NAME ": more settings than fit into it");
    else if (bytes.failed)
        status = gci_fail_memory(error);
    else
        status = gci_layout_write(dir, GCI_CONFIG_NAME, gci_buf_view(&bytes), error);
    gci_buf_clear(&bytes);
    return status;
}

static gcache_status
change_locked(gci_dir dir, struct edit const *edit, gcache_log_fn log, void *log_state, gcache_error *error)
{
    gcache_error why = { .message = "" };
    gcache_status status = GCACHE_OK;
    gci_config config;

    gci_config_state state = gci_config_read(dir, &config, &why);
    if (state == GCI_CONFIG_DAMAGED) {
        status = make_way(dir, &why, log, log_state, error);
    } else if (state == GCI_CONFIG_REFUSED) {
        status = why.status;
        if (error != NULL)
            *error = why;
    }
    if (status == GCACHE_OK)
        status = replace(dir, &config.map, edit, error);
    gci_config_clear(&config);
    return status;
}

static gcache_status
lock_config(gci_dir dir, gci_file *out_lock, gcache_error *error)
{
    gcache_status status = gci_layout_create(dir, "locks/config", O_RDWR | O_CREAT, out_lock, error);

    return status == GCACHE_OK ? gci_file_lock(out_lock, GCI_LOCK_EXCLUSIVE, LOCK_WAIT_NS, error) : status;
}

gcache_status
gci_config_change(gci_dir dir, char const *namespace_, char const *name, char const *value, gcache_log_fn log,
                  void *log_state, gcache_error *error)
{
    struct edit const edit = { namespace_, name, value };
    gci_file lock = GCI_FILE_NONE;

    gcache_status status = lock_config(dir, &lock, error);
    if (status == GCACHE_OK)
        status = change_locked(dir, &edit, log, log_state, error);
    gci_file_unlock_and_close(&lock);
    return status == GCACHE_OK ? gci_dir_sync(dir, error) : status;
}

/* ---- maintenance ---- */

bool
gci_config_check(gci_dir dir, bool mend, bool *out_aside, gcache_error *what)
{
    gci_file lock = GCI_FILE_NONE;
    gci_config config;

    *out_aside = false;
    gci_config_state state = gci_config_read(dir, &config, what);
    gci_config_clear(&config);
    if (state == GCI_CONFIG_REFUSED && what->status == GCACHE_ERROR_FORMAT)
        return true;
    if (state != GCI_CONFIG_DAMAGED || !mend)
        return state == GCI_CONFIG_GOOD;
    /* Somebody may be writing a good one in its place. */
    if (lock_config(dir, &lock, NULL) == GCACHE_OK) {
        state = gci_config_read(dir, &config, what);
        gci_config_clear(&config);
        *out_aside = state == GCI_CONFIG_DAMAGED &&
                     gci_layout_put_aside(dir, GCI_CONFIG_NAME, NULL, NULL) == GCACHE_OK;
    }
    gci_file_unlock_and_close(&lock);
    return state == GCI_CONFIG_GOOD;
}
