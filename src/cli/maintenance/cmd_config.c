/*
 * guardcache config: settings with their origins, and changing them.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/object.h"
#include "cli/shared/open.h"

#include <stdio.h>

typedef struct options {
    char const *cache, *namespace;
    bool unset, json;
} options;

/* A dozen settings. */
#define OBJECT_MAX_BYTES ((size_t)1 << 20)

static gcache_status
print_setting(bool json, gcache_setting const *setting, gcache_error *error)
{
    char const *origin = gcache_origin_name(setting->origin);
    gci_arena arena;

    if (!json) {
        cli_print("%-19s %-12s %-27s %s\n", setting->name, setting->value[0] != '\0' ? setting->value : "-", origin,
                  setting->meaning);
        return GCACHE_OK;
    }
    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    cli_object object = cli_object_new(&arena);
    cli_object_set_text(&object, "name", setting->name);
    cli_object_set_text(&object, "value", setting->value);
    cli_object_set_text(&object, "origin", origin);
    cli_object_set_text(&object, "variable", setting->variable);
    cli_object_set_text(&object, "meaning", setting->meaning);
    gcache_status status = cli_object_print(&object, error);
    gci_arena_clear(&arena);
    return status;
}

/* All of them, or the one called name. */
static gcache_status
show(options const *wanted, char const *directory, char const *name, gcache_error *error)
{
    gcache_settings *settings;
    bool found = name == NULL;

    gcache_status status = cli_load_settings(directory, wanted->namespace, &settings, error);
    if (status != GCACHE_OK)
        return status;
    for (int id = 0; status == GCACHE_OK && id < GCACHE_SETTING_COUNT; id++) {
        gcache_setting const *setting = gcache_settings_get(settings, (gcache_setting_id)id);
        if (name != NULL && strcmp(name, setting->name) != 0)
            continue;
        found = true;
        status = print_setting(wanted->json, setting, error);
    }
    gcache_settings_free(settings);
    return found ? status : gci_fail(error, GCACHE_ERROR_NOT_FOUND, "there is no setting %s", name);
}

/* A cache that isn't there yet is made, so that a cap can be set before the first insert. */
static gcache_status
change(options const *wanted, char const *directory, char const *name, char const *value, gcache_error *error)
{
    gcache_options opened = GCACHE_OPTIONS_INIT;
    gcache *cache;

    gcache_status status = cli_trust(directory, &opened.trust, error);
    if (status == GCACHE_OK && opened.trust == GCACHE_TRUST_ANY)
        opened.trust = GCACHE_TRUST_OWNER; /* what is in the file carries no signature */
    if (status == GCACHE_OK)
        status = gcache_open(directory, &opened, &cache, error);
    if (status != GCACHE_OK)
        return status;
    gcache_close(cache);
    return gcache_settings_write(directory, opened.trust, wanted->namespace, name, value, cli_log, NULL, error);
}

static gcache_status
config(options const *wanted, cli_call const *call, char const *directory, gcache_error *error)
{
    char const *name = call->count > 0 ? call->arguments[0] : NULL, *value = call->count > 1 ? call->arguments[1] : NULL;

    if (wanted->unset && (name == NULL || value != NULL))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "config: --unset takes a name and no value");
    if (wanted->unset || value != NULL)
        return change(wanted, directory, name, value, error);
    return show(wanted, directory, name, error);
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_error error = { 0 };
    gci_buf directory;

    gci_buf_init(&directory, GCI_BUF_NO_LIMIT);
    gcache_status status = cli_cache_directory(wanted->cache, call->count < 2, &directory, &error);
    if (status == GCACHE_OK)
        status = config(wanted, call, directory.data, &error);
    gci_buf_clear(&directory);
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { "namespace", CLI_TEXT, offsetof(options, namespace), "NAME", "settings of this namespace" },
    { "unset", CLI_FLAG, offsetof(options, unset), NULL, "take the value out of the file" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object a setting" },
    { 0 },
};

cli_command const cli_cmd_config = {
    .name = "config",
    .arguments = "[NAME [VALUE]]",
    .summary = "show or change the settings of a cache",
    .about = "Without a value: each setting, its value, where that comes from, and what it means. With one: it is written into\n"
             "config.json in the cache directory. A value comes from the first of these places that has one:\n"
             "\n"
             "    --set max-size=7G, with any command that takes --cache; --set refresh alone sets a flag\n"
             "    GUARDCACHE_MAX_SIZE__TEAM_A in the environment, for the namespace \"team a\"\n"
             "    GUARDCACHE_MAX_SIZE\n"
             "    config.json: the namespace's section, then the general one\n"
             "    the default\n"
             "\n"
             "Any number of processes may change settings at once. Of a config.json that is damaged nothing counts, which every\n"
             "command says on standard error; one bad setting in it is left out alone. The next change, or guardcache repair,\n"
             "puts a damaged file into quarantine/. A variable or --set that makes no sense is an error.\n"
             "\n"
             "max-size: for a new entry the longest unused go. A cache that is larger already is shrunk by its own max-size, the\n"
             "one in the general section of config.json, and by guardcache gc --target. A smaller one given by --set, by the\n"
             "environment or by a program only keeps that program from storing more, and nothing is evicted.\n"
             "\n"
             "disabled, bypass (with the reason as its value), read-only, strict, unsafe-skip-guards and refresh are\n"
             "switches that are mostly wanted for one call.\n",
    .options = table,
    .options_size = sizeof(options),
    .most = 2,
    .run = run,
};
