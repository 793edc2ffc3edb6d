/*
 * Settings: a table of names and readers, and the places that give them values.
 *
 * A value in config.json that makes no sense is a warning, so that a torn or mistyped file stops nobody; elsewhere it is an
 * error, because whoever wrote it is there to read it.
 */
#include <guardcache/settings.h>

#include "base/arena.h"
#include "base/check.h"
#include "base/system/file.h"
#include "base/text/quantity.h"
#include "base/text/similar.h"
#include "base/utf8.h"
#include "cache/settings/config_file.h"
#include "cache/settings/key_file.h"
#include "store/directory/layout.h"
#include "tier/url.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Every value and warning of a file. */
#define TEXT_BYTES_MAX ((size_t)16 << 20)
/* The beginning of a long list says enough. */
#define WARNINGS_MAX 16
/* GUARDCACHE_, the longest name, and a namespace. */
#define VARIABLE_BYTES 256

typedef struct held {
    char const *value;
    char const *shown; /* the same without credentials */
    gcache_origin origin;
    int64_t number; /* what the text means, if it is no text */
} held;

struct gcache_settings {
    gci_arena arena;
    char const *namespace_;
    held values[GCACHE_SETTING_COUNT];
    gcache_setting shown[GCACHE_SETTING_COUNT]; /* gcache_settings_get */
    char const *warnings[WARNINGS_MAX];
    size_t warning_count;
    char variables[GCACHE_SETTING_COUNT][VARIABLE_BYTES];
    gci_key_ring *keys; /* those that were applied; NULL: none yet */
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

/* a size, or "none"; not 0, which in gcache_options stands for the default */
static bool
read_size(char const *text, int64_t *out_number)
{
    uint64_t bytes;

    if (strcmp(text, "none") == 0)
        return *out_number = -1, true;
    if (!gci_size_read(text, &bytes) || bytes == 0)
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

static bool
read_trust(char const *text, int64_t *out_number)
{
    for (int trust = 0; trust < GCACHE_TRUST_COUNT; trust++) {
        if (strcmp(text, gcache_trust_name((gcache_trust)trust)) == 0)
            return *out_number = trust, true;
    }
    return false;
}

/* ---- the table ---- */

static struct {
    char const *name, *type, *meaning;
    bool (*read)(char const *text, int64_t *out_number);
} const table[GCACHE_SETTING_COUNT] = {
#define X(id, name, type, meaning) [GCACHE_SETTING_##id] = { name, #type, meaning, read_##type },
    GCACHE_SETTING_MAP(X)
#undef X
};

static char const *
default_of(gcache_setting_id id, char room[24])
{
    uint64_t number = id == GCACHE_SETTING_MAX_SIZE            ? GCACHE_MAX_SIZE_DEFAULT
                      : id == GCACHE_SETTING_MEMORY            ? GCACHE_MEMORY_BYTES_DEFAULT
                      : id == GCACHE_SETTING_MAX_CANDIDATES    ? GCACHE_MAX_CANDIDATES_DEFAULT
                      : id == GCACHE_SETTING_COMPRESSION_LEVEL ? GCACHE_COMPRESSION_DEFAULT
                                                               : 0;

    if (id == GCACHE_SETTING_BYPASS || id == GCACHE_SETTING_TIERS || id == GCACHE_SETTING_SIGNING_KEYS)
        return "";
    if (id == GCACHE_SETTING_DURABILITY)
        return "entry";
    if (id == GCACHE_SETTING_TRUST)
        return "owner";
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

/* Says that there is no setting of that name, and which one was probably meant. where: what the message begins with. */
static gcache_status
fail_unknown(gci_view name, char const *where, gcache_error *error)
{
    gci_similar similar = gci_similar_to(name);

    for (size_t id = 0; id < GCACHE_SETTING_COUNT; id++)
        gci_similar_offer(&similar, table[id].name);
    return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "%sthere is no setting %.*s%s", where, (int)name.size, name.data,
                    gci_similar_question(&similar, "").text);
}

/* What may be printed of a value; NULL: no memory. */
static char const *
show(gcache_settings *settings, gcache_setting_id id, char const *value)
{
    gci_view rest = gci_view_text(value), url;
    gci_buf shown;

    if (id != GCACHE_SETTING_TIERS)
        return value;
    if (!gci_tier_urls_are_whole(rest))
        return "(not URLs: a space in a password is written %20)";
    gci_buf_init(&shown, GCI_BUF_NO_LIMIT);
    while (gci_tier_url_next(&rest, &url)) {
        if (shown.size != 0)
            gci_buf_append_char(&shown, ' ');
        gci_tier_url_show(url, &shown);
    }
    char const *copy = shown.failed ? NULL : gci_arena_copy(&settings->arena, gci_buf_view(&shown)).data;
    gci_buf_clear(&shown);
    return copy;
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
    if (strlen(copy.data) != copy.size || !table[id].read(copy.data, &number))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: '%s' is no %s for %s", where, copy.data, table[id].type,
                        table[id].name);
    gcache_error why;
    if (id == GCACHE_SETTING_TIERS && gci_tier_urls_check(copy, &why) != GCACHE_OK)
        return gci_fail(error, why.status, "%s: %s", where, why.message);
    char const *shown = show(settings, id, copy.data);
    if (shown == NULL)
        return gci_fail_memory(error);
    if (value->value == NULL || origin >= value->origin)
        *value = (held){ copy.data, shown, origin, number };
    return GCACHE_OK;
}

/* ---- environment ---- */

/* GUARDCACHE_MAX_SIZE[__TEAM_A] */
static void
name_variable(char const *name, char const *namespace_, char out[VARIABLE_BYTES])
{
    snprintf(out, VARIABLE_BYTES, "GUARDCACHE_%s%s%s", name, namespace_[0] != '\0' ? "__" : "", namespace_);
    for (char *p = out; *p != '\0'; p++)
        *p = isalnum((unsigned char)*p) ? (char)toupper((unsigned char)*p) : '_';
}

static gcache_status
take_environment(gcache_settings *settings, gcache_variable_fn variable, void *state, gcache_error *error)
{
    for (size_t id = 0; id < GCACHE_SETTING_COUNT; id++) {
        for (int own = 0; own <= (settings->namespace_[0] != '\0'); own++) {
            char name[VARIABLE_BYTES];
            name_variable(table[id].name, own ? settings->namespace_ : "", name);
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

static gcache_status
warn(gcache_settings *settings, gcache_error const *why, gcache_error *error)
{
    if (settings->warning_count == WARNINGS_MAX)
        return GCACHE_OK;
    gci_view text = gci_arena_copy(&settings->arena, gci_view_text(why->message));
    if (text.data == NULL)
        return gci_fail_memory(error);
    settings->warnings[settings->warning_count++] = text.data;
    return GCACHE_OK;
}

static gcache_status
take_member(gcache_settings *settings, gci_member const *member, gcache_origin origin, gcache_error *error)
{
    gcache_setting_id id = find_setting(member->name);
    gcache_error why = { .message = "" }, bad;
    gcache_status status;

    if (id == GCACHE_SETTING_COUNT)
        status = fail_unknown(member->name, GCI_CONFIG_NAME ": ", &why);
    else if (member->value.type != GCI_STRING)
        status = gci_fail(&why, GCACHE_ERROR_ARGUMENT, GCI_CONFIG_NAME ": the value of %s is no text", table[id].name);
    else if (id == GCACHE_SETTING_TIERS && gci_tier_urls_check(member->value.text, &bad) != GCACHE_OK)
        status = gci_fail(&why, bad.status, GCI_CONFIG_NAME ": tiers doesn't count (guardcache config %s--unset tiers): %s",
                          origin == GCACHE_ORIGIN_FILE_NAMESPACE ? "--namespace NAME " : "", bad.message);
    else
        status = take(settings, id, member->value.text, origin, GCI_CONFIG_NAME, &why);
    if (status == GCACHE_ERROR_MEMORY)
        return gci_fail_memory(error);
    return status == GCACHE_OK ? GCACHE_OK : warn(settings, &why, error);
}

/* section = object of setting names and texts */
static gcache_status
take_section(gcache_settings *settings, gci_value const *section, gcache_origin origin, gcache_error *error)
{
    gcache_error why = { .message = "" };
    gcache_status status = GCACHE_OK;

    if (section == NULL)
        return GCACHE_OK;
    if (section->type != GCI_MAP) {
        gci_fail(&why, GCACHE_ERROR_SYNTAX, GCI_CONFIG_NAME ": a section is not an object");
        return warn(settings, &why, error);
    }
    for (uint32_t i = 0; status == GCACHE_OK && i < section->count; i++)
        status = take_member(settings, &section->members[i], origin, error);
    return status;
}

static gcache_status
warn_of_file(gcache_settings *settings, gci_dir dir, gcache_error const *why, gcache_error *error)
{
    gcache_error whole = { .message = "" };

    gci_fail(&whole, why->status, "%s: its settings don't count: %s", dir.name, why->message);
    return warn(settings, &whole, error);
}

/* From config.json, where not everything may stand. */
static bool
is_from_file(held const *value)
{
    return value->origin == GCACHE_ORIGIN_FILE || value->origin == GCACHE_ORIGIN_FILE_NAMESPACE;
}

/* Trust in everybody's files rests on keys, which somebody else's file mustn't name. */
static bool
may_name_keys(gcache_settings const *settings)
{
    return settings->values[GCACHE_SETTING_TRUST].number != GCACHE_TRUST_ANY ||
           !is_from_file(&settings->values[GCACHE_SETTING_SIGNING_KEYS]);
}

static gcache_status
warn_of_keys(gcache_settings *settings, gcache_error *error)
{
    gcache_error why = { .message = "" };

    gci_fail(&why, GCACHE_ERROR_UNTRUSTED, GCI_CONFIG_NAME ": its signing-keys don't count, since trust is any");
    return warn(settings, &why, error);
}

/* The directory, to read config.json in it as trust says. */
static gcache_status
open_trusted(char const *directory, gcache_trust trust, gci_owners *owners, gci_dir *out_dir, gcache_error *error)
{
    *owners = (gci_owners){ .trust = trust == GCACHE_TRUST_GROUP ? GCACHE_TRUST_GROUP : GCACHE_TRUST_OWNER };
    gcache_status status = gci_dir_open_user(directory, out_dir, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_layout_trusted(*out_dir, owners, error);
    out_dir->owners = owners;
    if (status != GCACHE_OK)
        gci_dir_close(out_dir);
    return status;
}

static gcache_status
take_file(gcache_settings *settings, char const *directory, gcache_error *error)
{
    gcache_error why = { .message = "" };
    gci_config config;
    gci_dir dir;

    gci_owners owners;

    /* No directory, no file: then there is nothing to read. Of one that isn't trusted gcache_open says so. */
    if (open_trusted(directory, (gcache_trust)settings->values[GCACHE_SETTING_TRUST].number, &owners, &dir, NULL) != GCACHE_OK)
        return GCACHE_OK;
    gcache_status status = GCACHE_OK;
    if (gci_config_read(dir, &config, &why) != GCI_CONFIG_GOOD)
        status = why.status == GCACHE_ERROR_MEMORY ? gci_fail_memory(error) : warn_of_file(settings, dir, &why, error);
    if (status == GCACHE_OK)
        status = take_section(settings, gci_config_section(&config, ""), GCACHE_ORIGIN_FILE, error);
    if (status == GCACHE_OK && settings->namespace_[0] != '\0')
        status = take_section(settings, gci_config_section(&config, settings->namespace_), GCACHE_ORIGIN_FILE_NAMESPACE, error);
    gci_config_clear(&config);
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
gcache_settings_load(char const *directory, char const *namespace_, gcache_variable_fn variable, void *state,
                     gcache_settings **out_settings, gcache_error *error)
{
    GCI_REQUIRE(directory != NULL && out_settings != NULL, error, "directory or out_settings is NULL");
    gcache_settings *settings = calloc(1, sizeof *settings);
    if (settings == NULL)
        return gci_fail_memory(error);
    gci_arena_init(&settings->arena, TEXT_BYTES_MAX);
    settings->namespace_ = gci_arena_copy(&settings->arena, gci_view_text(namespace_)).data;
    gcache_status status = settings->namespace_ != NULL ? take_defaults(settings, error) : gci_fail_memory(error);
    if (status == GCACHE_OK)
        status = variable != NULL ? take_environment(settings, variable, state, error) : GCACHE_OK;
    /* What the environment says of trust decides about the file. */
    if (status == GCACHE_OK)
        status = take_file(settings, directory, error);
    if (status == GCACHE_OK && !may_name_keys(settings))
        status = warn_of_keys(settings, error);
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
    gci_key_ring_free(settings->keys);
    gci_arena_clear(&settings->arena);
    free(settings);
}

gcache_status
gcache_settings_set(gcache_settings *settings, char const *name, char const *value, gcache_error *error)
{
    GCI_REQUIRE(settings != NULL && name != NULL && value != NULL, error, "settings, name or value is NULL");
    gcache_setting_id id = find_setting(gci_view_text(name));
    if (id == GCACHE_SETTING_COUNT)
        return fail_unknown(gci_view_text(name), "", error);
    return take(settings, id, gci_view_text(value), GCACHE_ORIGIN_OPTION, "option", error);
}

gcache_setting const *
gcache_settings_get(gcache_settings *settings, gcache_setting_id id)
{
    if ((unsigned)id >= GCACHE_SETTING_COUNT)
        return NULL;
    held const *value = &settings->values[id];
    settings->shown[id] =
        (gcache_setting){ table[id].name, value->shown, table[id].meaning, settings->variables[id], value->origin };
    return &settings->shown[id];
}

char const *
gcache_settings_warning(gcache_settings const *settings, size_t index)
{
    return index < settings->warning_count ? settings->warnings[index] : NULL;
}

/* Read once, so that what was handed out stays. */
static gcache_status
read_keys(gcache_settings *settings, gcache_error *error)
{
    held const *value = &settings->values[GCACHE_SETTING_SIGNING_KEYS];
    gci_key_ring *ring;

    if (settings->keys != NULL && settings->keys->paths == value->value)
        return GCACHE_OK;
    ring = calloc(1, sizeof *ring);
    if (ring == NULL)
        return gci_fail_memory(error);
    gcache_status status = gci_key_ring_read(ring, value->value, is_from_file(value), error);
    if (status != GCACHE_OK) {
        gci_key_ring_free(ring);
        return status;
    }
    ring->former = settings->keys;
    settings->keys = ring;
    return GCACHE_OK;
}

static gcache_status
apply_keys(gcache_settings *settings, gcache_options *options, gcache_error *error)
{
    if (settings->values[GCACHE_SETTING_SIGNING_KEYS].value[0] == '\0' || !may_name_keys(settings))
        return GCACHE_OK;
    gcache_status status = read_keys(settings, error);
    if (status != GCACHE_OK)
        return status;
    options->signing = settings->keys->keys;
    options->signing_count = settings->keys->count;
    return GCACHE_OK;
}

gcache_status
gcache_settings_apply(gcache_settings *settings, gcache_options *options, gcache_error *error)
{
#define NUMBER(id) settings->values[GCACHE_SETTING_##id].number
    GCI_REQUIRE(settings != NULL && options != NULL, error, "settings or options is NULL");
    char const *bypass = settings->values[GCACHE_SETTING_BYPASS].value;
    char const *tiers = settings->values[GCACHE_SETTING_TIERS].value;

    options->namespace_ = settings->namespace_;
    options->disabled = NUMBER(DISABLED) != 0;
    options->bypass = bypass[0] != '\0' ? bypass : NULL;
    options->read_only = NUMBER(READ_ONLY) != 0;
    options->strict = NUMBER(STRICT) != 0;
    options->unsafe_skip_guards = NUMBER(UNSAFE_SKIP_GUARDS) != 0;
    options->refresh = NUMBER(REFRESH) != 0;
    options->max_size = (uint64_t)NUMBER(MAX_SIZE);
    options->memory_bytes = NUMBER(MEMORY) >= 0 ? (size_t)NUMBER(MEMORY) : SIZE_MAX;
    options->max_candidates = (size_t)NUMBER(MAX_CANDIDATES);
    options->compression_level = (int)NUMBER(COMPRESSION_LEVEL);
    options->durability = (gcache_durability)NUMBER(DURABILITY);
    options->trust = (gcache_trust)NUMBER(TRUST);
    options->tiers = tiers[0] != '\0' ? tiers : NULL;
    options->require_signature = NUMBER(REQUIRE_SIGNATURE) != 0;
    return apply_keys(settings, options, error);
#undef NUMBER
}

/* ---- writing ---- */

gcache_status
gcache_settings_write(char const *directory, gcache_trust trust, char const *namespace_, char const *name, char const *value,
                      gcache_log_fn log, void *log_state, gcache_error *error)
{
    gci_owners owners;
    int64_t number;
    gci_dir dir;

    GCI_REQUIRE(trust < GCACHE_TRUST_COUNT, error, "unknown trust %d", (int)trust);
    GCI_REQUIRE(directory != NULL && name != NULL, error, "directory or name is NULL");
    gcache_setting_id id = find_setting(gci_view_text(name));
    if (id == GCACHE_SETTING_COUNT)
        return fail_unknown(gci_view_text(name), "", error);
    GCI_REQUIRE(value == NULL || table[id].read(value, &number), error, "'%s' is no %s for %s", value,
                table[id].type, name);
    if (id == GCACHE_SETTING_TIERS && gci_tier_urls_check(gci_view_text(value), error) != GCACHE_OK)
        return error != NULL ? error->status : GCACHE_ERROR_ARGUMENT;
    GCI_REQUIRE(gci_utf8_valid(gci_view_text(namespace_)) && gci_utf8_valid(gci_view_text(value)), error,
                "%s: a namespace and a value are UTF-8, as the file is", name);
    GCI_REQUIRE(id != GCACHE_SETTING_SIGNING_KEYS || gci_relative_path_in(value).size == 0, error,
                "%s: config.json takes absolute paths only", name);
    gcache_status status = open_trusted(directory, trust, &owners, &dir, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_config_change(dir, namespace_ != NULL ? namespace_ : "", name, value, log, log_state, error);
    gci_dir_close(&dir);
    return status;
}
