/*
 * Settings: a table of names and readers, and the places that give them values.
 *
 * config.json is {"format": "guardcache-config/1", "settings": {NAME: TEXT, ..}, "namespaces": {NAMESPACE: {NAME: TEXT, ..}}}.
 */
#include <guardcache/settings.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/file.h"
#include "base/json.h"
#include "base/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#define FORMAT "guardcache-config/1"
#define FILE_NAME "config.json"
#define CONFIG_BYTES_MAX ((size_t)1 << 20)
/* GUARDCACHE_, the longest name, and a namespace. */
#define VARIABLE_BYTES 256

typedef struct held {
    char const *value;
    gcache_origin origin;
    int64_t number; /* what the text means, if it is no text */
} held;

struct gcache_settings {
    gci_arena arena;
    char const *space;
    held values[GCACHE_SETTING_COUNT];
    char variables[GCACHE_SETTING_COUNT][VARIABLE_BYTES];
};

/* ---- what a value may be ---- */

static bool
read_flag(char const *text, int64_t *out_number)
{
    static char const *const yes[] = { "1", "true", "yes", "on" }, *const no[] = { "0", "false", "no", "off", "" };

    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        if (strcmp(text, yes[i]) == 0)
            return *out_number = 1, true;
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        if (strcmp(text, no[i]) == 0)
            return *out_number = 0, true;
    }
    return false;
}

static bool
read_text(char const *text, int64_t *out_number)
{
    (void)text;
    *out_number = 0;
    return true;
}

/* a size, or "none" */
static bool
read_size(char const *text, int64_t *out_number)
{
    uint64_t bytes;

    if (strcmp(text, "none") == 0)
        return *out_number = -1, true;
    if (!gci_size_read(text, &bytes))
        return false;
    *out_number = (int64_t)bytes;
    return true;
}

static bool
read_count(char const *text, int64_t *out_number)
{
    char *end;

    errno = 0;
    *out_number = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *out_number >= 1 && *out_number <= INT32_MAX;
}

static bool
read_level(char const *text, int64_t *out_number)
{
    if (strcmp(text, "-1") == 0)
        return *out_number = -1, true;
    return read_count(text, out_number) && *out_number <= 22;
}

static bool
read_durability(char const *text, int64_t *out_number)
{
    static char const *const words[] = {
        [GCACHE_DURABILITY_ENTRY] = "entry",
        [GCACHE_DURABILITY_FULL] = "full",
        [GCACHE_DURABILITY_NONE] = "none",
    };

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) == 0)
            return *out_number = (int64_t)i, true;
    }
    return false;
}

typedef bool (*read_fn)(char const *text, int64_t *out_number);

static read_fn
reader_of(char const *type)
{
    static struct {
        char const *type;
        read_fn read;
    } const readers[] = {
        { "flag", read_flag },   { "text", read_text },   { "size", read_size },
        { "count", read_count }, { "level", read_level }, { "durability", read_durability },
    };

    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (strcmp(readers[i].type, type) == 0)
            return readers[i].read;
    }
    GCI_ASSERT(false);
    return read_text;
}

/* ---- the table ---- */

static struct {
    char const *name, *type, *meaning;
} const table[GCACHE_SETTING_COUNT] = {
#define X(id, name, type, meaning) [GCACHE_SETTING_##id] = { name, type, meaning },
    GCACHE_SETTING_MAP(X)
#undef X
};

static char const *
default_of(gcache_setting_id id, char room[24])
{
    uint64_t number = id == GCACHE_SETTING_MAX_SIZE            ? GCACHE_MAX_BYTES_DEFAULT
                      : id == GCACHE_SETTING_MEMORY            ? GCACHE_MEMORY_BYTES_DEFAULT
                      : id == GCACHE_SETTING_MAX_CANDIDATES    ? GCACHE_MAX_CANDIDATES_DEFAULT
                      : id == GCACHE_SETTING_COMPRESSION_LEVEL ? GCACHE_COMPRESSION_DEFAULT
                                                               : 0;

    if (id == GCACHE_SETTING_BYPASS)
        return "";
    if (id == GCACHE_SETTING_DURABILITY)
        return "entry";
    snprintf(room, 24, "%llu", (unsigned long long)number);
    return room;
}

char const *
gcache_origin_name(gcache_origin origin)
{
    static char const *const words[GCACHE_ORIGIN_COUNT] = {
#define X(id, word) word,
        GCACHE_ORIGIN_MAP(X)
#undef X
    };
    return origin < GCACHE_ORIGIN_COUNT ? words[origin] : "?";
}

/* GCACHE_SETTING_COUNT: there is none of that name. */
static gcache_setting_id
find_setting(gci_view name)
{
    size_t id = 0;

    while (id < GCACHE_SETTING_COUNT && !gci_view_is(name, table[id].name))
        id++;
    return (gcache_setting_id)id;
}

/* Sets a value unless a stronger place has set it. */
static gcache_status
take(gcache_settings *settings, gcache_setting_id id, gci_view text, gcache_origin origin, char const *where,
     gcache_error *error)
{
    held *value = &settings->values[id];
    int64_t number;

    gci_view copy = gci_arena_copy(&settings->arena, text);
    if (copy.data == NULL)
        return gci_fail_memory(error);
    if (strlen(copy.data) != copy.size || !reader_of(table[id].type)(copy.data, &number))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: '%s' is no %s for %s", where, copy.data, table[id].type,
                        table[id].name);
    if (value->value == NULL || origin >= value->origin)
        *value = (held){ copy.data, origin, number };
    return GCACHE_OK;
}

/* ---- environment ---- */

/* GUARDCACHE_MAX_SIZE[__TEAM_A] */
static void
name_variable(char const *name, char const *space, char out[VARIABLE_BYTES])
{
    snprintf(out, VARIABLE_BYTES, "GUARDCACHE_%s%s%s", name, space[0] != '\0' ? "__" : "", space);
    for (char *p = out; *p != '\0'; p++)
        *p = isalnum((unsigned char)*p) ? (char)toupper((unsigned char)*p) : '_';
}

static gcache_status
take_environment(gcache_settings *settings, gcache_variable_fn variable, void *state, gcache_error *error)
{
    for (size_t id = 0; id < GCACHE_SETTING_COUNT; id++) {
        for (int own = 0; own <= (settings->space[0] != '\0'); own++) {
            char name[VARIABLE_BYTES];
            name_variable(table[id].name, own ? settings->space : "", name);
            char const *value = variable(state, name);
            if (value == NULL)
                continue;
            gcache_status status =
                take(settings, (gcache_setting_id)id, gci_view_text(value),
                     own ? GCACHE_ORIGIN_ENVIRONMENT_NAMESPACE : GCACHE_ORIGIN_ENVIRONMENT, name, error);
            if (status != GCACHE_OK)
                return status;
        }
    }
    return GCACHE_OK;
}

/* ---- the file ---- */

/* Reads config.json into *out_map, which is empty if there is none; text keeps the bytes. */
static gcache_status
read_file(gci_dir dir, gci_arena *arena, gci_buf *text, gci_value *out_map, gcache_error *error)
{
    *out_map = (gci_value){ .type = GCI_MAP };
    gcache_status status = gci_file_load(dir, FILE_NAME, CONFIG_BYTES_MAX, text, error);
    if (status == GCACHE_ERROR_NOT_FOUND)
        return GCACHE_OK;
    if (status == GCACHE_OK)
        status = gci_json_read(gci_buf_view(text), FILE_NAME, arena, out_map, error);
    if (status != GCACHE_OK)
        return status;
    gci_value const *format = out_map->type == GCI_MAP ? gci_map_find(out_map, "format") : NULL;
    if (format == NULL || format->type != GCI_STRING || !gci_view_is(format->text, FORMAT))
        return gci_fail(error, GCACHE_ERROR_SYNTAX, "%s/" FILE_NAME ": its format isn't " FORMAT, dir.name);
    return GCACHE_OK;
}

/* section = object of setting names and texts */
static gcache_status
take_section(gcache_settings *settings, gci_value const *section, gcache_origin origin, gcache_error *error)
{
    if (section == NULL)
        return GCACHE_OK;
    if (section->type != GCI_MAP)
        return gci_fail(error, GCACHE_ERROR_SYNTAX, FILE_NAME ": a section is not an object");
    for (uint32_t i = 0; i < section->count; i++) {
        gci_member const *member = &section->members[i];
        gcache_setting_id id = find_setting(member->name);
        if (id == GCACHE_SETTING_COUNT || member->value.type != GCI_STRING)
            return gci_fail(error, GCACHE_ERROR_ARGUMENT, FILE_NAME ": %.*s is no setting, or its value no text",
                            (int)member->name.size, member->name.data);
        gcache_status status = take(settings, id, member->value.text, origin, FILE_NAME, error);
        if (status != GCACHE_OK)
            return status;
    }
    return GCACHE_OK;
}

static gci_value *
section_of(gci_value const *map, char const *space)
{
    if (space[0] == '\0')
        return gci_map_find(map, "settings");
    gci_value *spaces = gci_map_find(map, "namespaces");
    return spaces != NULL && spaces->type == GCI_MAP ? gci_map_find(spaces, space) : NULL;
}

static gcache_status
take_file(gcache_settings *settings, char const *directory, gcache_error *error)
{
    gci_value map;
    gci_buf text;
    gci_dir dir;

    /* No directory, no file: then there is nothing to read. */
    if (gci_dir_open_user(directory, &dir, NULL) != GCACHE_OK)
        return GCACHE_OK;
    gci_buf_init(&text, CONFIG_BYTES_MAX + 1);
    gcache_status status = read_file(dir, &settings->arena, &text, &map, error);
    if (status == GCACHE_OK)
        status = take_section(settings, section_of(&map, ""), GCACHE_ORIGIN_FILE, error);
    if (status == GCACHE_OK && settings->space[0] != '\0')
        status = take_section(settings, section_of(&map, settings->space), GCACHE_ORIGIN_FILE_NAMESPACE, error);
    gci_buf_clear(&text);
    gci_dir_close(&dir);
    return status;
}

/* ---- loading ---- */

static gcache_status
take_defaults(gcache_settings *settings, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    char room[24];

    for (size_t i = 0; status == GCACHE_OK && i < GCACHE_SETTING_COUNT; i++) {
        gcache_setting_id id = (gcache_setting_id)i;
        name_variable(table[i].name, "", settings->variables[i]);
        status = take(settings, id, gci_view_text(default_of(id, room)), GCACHE_ORIGIN_DEFAULT, "default", error);
    }
    return status;
}

gcache_status
gcache_settings_load(char const *directory, char const *space, gcache_variable_fn variable, void *state,
                     gcache_settings **out_settings, gcache_error *error)
{
    GCI_REQUIRE(directory != NULL && out_settings != NULL, error, "directory or out_settings is NULL");
    gcache_settings *settings = calloc(1, sizeof *settings);
    if (settings == NULL)
        return gci_fail_memory(error);
    gci_arena_init(&settings->arena, 16 * CONFIG_BYTES_MAX);
    settings->space = gci_arena_copy(&settings->arena, gci_view_text(space)).data;
    gcache_status status = settings->space != NULL ? take_defaults(settings, error) : gci_fail_memory(error);
    if (status == GCACHE_OK)
        status = take_file(settings, directory, error);
    if (status == GCACHE_OK && variable != NULL)
        status = take_environment(settings, variable, state, error);
    if (status == GCACHE_OK)
        *out_settings = settings;
    else
        gcache_settings_free(settings);
    return status;
}

void
gcache_settings_free(gcache_settings *settings)
{
    if (settings == NULL)
        return;
    gci_arena_clear(&settings->arena);
    free(settings);
}

gcache_status
gcache_settings_set(gcache_settings *settings, char const *name, char const *value, gcache_error *error)
{
    GCI_REQUIRE(settings != NULL && name != NULL && value != NULL, error, "settings, name or value is NULL");
    gcache_setting_id id = find_setting(gci_view_text(name));
    if (id == GCACHE_SETTING_COUNT)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "there is no setting %s", name);
    return take(settings, id, gci_view_text(value), GCACHE_ORIGIN_OPTION, "option", error);
}

gcache_setting
gcache_settings_get(gcache_settings const *settings, gcache_setting_id id)
{
    GCI_ASSERT(id < GCACHE_SETTING_COUNT);
    held const *value = &settings->values[id];
    return (gcache_setting){ table[id].name, value->value, table[id].meaning, settings->variables[id], value->origin };
}

void
gcache_settings_apply(gcache_settings const *settings, gcache_options *options)
{
#define NUMBER(id) settings->values[GCACHE_SETTING_##id].number
    char const *bypass = settings->values[GCACHE_SETTING_BYPASS].value;

    options->space = settings->space;
    options->disabled = NUMBER(DISABLED) != 0;
    options->bypass = bypass[0] != '\0' ? bypass : NULL;
    options->read_only = NUMBER(READ_ONLY) != 0;
    options->strict = NUMBER(STRICT) != 0;
    options->unsafe_skip_guards = NUMBER(UNSAFE_SKIP_GUARDS) != 0;
    options->refresh = NUMBER(REFRESH) != 0;
    options->max_bytes = (uint64_t)NUMBER(MAX_SIZE);
    options->memory_bytes = NUMBER(MEMORY) >= 0 ? (size_t)NUMBER(MEMORY) : SIZE_MAX;
    options->max_candidates = (size_t)NUMBER(MAX_CANDIDATES);
    options->compression_level = (int)NUMBER(COMPRESSION_LEVEL);
    options->durability = (gcache_durability)NUMBER(DURABILITY);
#undef NUMBER
}

/* ---- writing ---- */

static void
write_member(gci_buf *out, bool *first, gci_view name, gci_view value)
{
    gci_buf_append_text(out, *first ? "" : ", ");
    gci_json_write_text(out, name);
    gci_buf_append_text(out, ": ");
    gci_json_write_text(out, value);
    *first = false;
}

/* A section with one member replaced, added or (value NULL) left out; name NULL: as it is. */
static void
write_section(gci_buf *out, gci_value const *section, char const *name, char const *value)
{
    bool first = true;

    gci_buf_append_char(out, '{');
    for (uint32_t i = 0; section != NULL && section->type == GCI_MAP && i < section->count; i++) {
        gci_member const *member = &section->members[i];
        if (member->value.type == GCI_STRING && (name == NULL || !gci_view_is(member->name, name)))
            write_member(out, &first, member->name, member->value.text);
    }
    if (name != NULL && value != NULL)
        write_member(out, &first, gci_view_text(name), gci_view_text(value));
    gci_buf_append_char(out, '}');
}

static void
write_config(gci_buf *out, gci_value const *map, char const *space, char const *name, char const *value)
{
    gci_value const *spaces = gci_map_find(map, "namespaces");
    bool general = space[0] == '\0', seen = false;

    gci_buf_append_text(out, "{\"format\": \"" FORMAT "\",\n \"settings\": ");
    write_section(out, section_of(map, ""), general ? name : NULL, value);
    gci_buf_append_text(out, ",\n \"namespaces\": {");
    for (uint32_t i = 0; spaces != NULL && spaces->type == GCI_MAP && i < spaces->count; i++) {
        bool own = !general && gci_view_is(spaces->members[i].name, space);
        gci_buf_append_text(out, i > 0 ? ",\n  " : "\n  ");
        gci_json_write_text(out, spaces->members[i].name);
        gci_buf_append_text(out, ": ");
        write_section(out, &spaces->members[i].value, own ? name : NULL, value);
        seen |= own;
    }
    if (!general && !seen) {
        gci_buf_append_text(out, spaces != NULL && spaces->count != 0 ? ",\n  " : "\n  ");
        gci_json_write_text(out, gci_view_text(space));
        gci_buf_append_text(out, ": ");
        write_section(out, NULL, name, value);
    }
    gci_buf_append_text(out, "}}\n");
}

static gcache_status
replace_file(gci_dir dir, gci_view bytes, gcache_error *error)
{
    static char const temporary[] = ".config.json.new";
    gci_file file;

    gcache_status status = gci_file_open(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC, &file, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_file_write(&file, &bytes, 1, error);
    if (status == GCACHE_OK)
        status = gci_file_sync(&file, error);
    gci_file_close(&file);
    return status == GCACHE_OK ? gci_dir_rename(dir, temporary, dir, FILE_NAME, error) : status;
}

static gcache_status
rewrite(gci_dir dir, char const *space, char const *name, char const *value, gcache_error *error)
{
    gci_buf text, out;
    gci_arena arena;
    gci_value map;

    gci_arena_init(&arena, 16 * CONFIG_BYTES_MAX);
    gci_buf_init(&text, CONFIG_BYTES_MAX + 1);
    gci_buf_init(&out, CONFIG_BYTES_MAX);
    gcache_status status = read_file(dir, &arena, &text, &map, error);
    if (status == GCACHE_OK) {
        write_config(&out, &map, space, name, value);
        status = out.failed ? gci_fail_memory(error) : replace_file(dir, gci_buf_view(&out), error);
    }
    gci_buf_clear(&text);
    gci_buf_clear(&out);
    gci_arena_clear(&arena);
    return status;
}

gcache_status
gcache_settings_write(char const *directory, char const *space, char const *name, char const *value, gcache_error *error)
{
    int64_t number;
    gci_dir dir;

    GCI_REQUIRE(directory != NULL && name != NULL, error, "directory or name is NULL");
    gcache_setting_id id = find_setting(gci_view_text(name));
    if (id == GCACHE_SETTING_COUNT)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "there is no setting %s", name);
    GCI_REQUIRE(value == NULL || reader_of(table[id].type)(value, &number), error, "'%s' is no %s for %s", value,
                table[id].type, name);
    gcache_status status = gci_dir_open_user(directory, &dir, error);
    if (status != GCACHE_OK)
        return status;
    status = rewrite(dir, space != NULL ? space : "", name, value, error);
    gci_dir_close(&dir);
    return status;
}
