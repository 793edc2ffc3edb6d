/*
 * guardcache config: settings with their origins, and changing them.
 */
#include "base/error.h"
#include "base/text/similar.h"
#include "cli/shared/cli.h"
#include "cli/shared/object.h"

typedef struct options {
    char const *namespace;
    bool unset, json;
} options;

static bool
print_setting(cli_call *call, gcache_setting const *setting)
{
    options const *wanted = call->options;
    char const *origin = gcache_origin_name(setting->origin);

    if (!wanted->json) {
        cli_print("%-19s %-12s %-27s %s\n", setting->name, setting->value[0] != '\0' ? setting->value : "-", origin,
                  setting->meaning);
        return true;
    }
    cli_object object = cli_object_new(&call->arena);
    cli_object_set_text(&object, "name", setting->name);
    cli_object_set_text(&object, "value", setting->value);
    cli_object_set_text(&object, "origin", origin);
    cli_object_set_text(&object, "variable", setting->variable);
    cli_object_set_text(&object, "meaning", setting->meaning);
    return cli_object_print(&object, &call->error);
}

/* All of them, or the one called name. */
static bool
show(cli_call *call, char const *directory, char const *name)
{
    options const *wanted = call->options;
    gcache_settings *settings;
    bool found = name == NULL, done = true;
    gci_similar similar = gci_similar_to(gci_view_text(name));

    if (!cli_load_settings(directory, wanted->namespace, &settings, &call->error))
        return false;
    for (int id = 0; done && id < GCACHE_SETTING_COUNT; id++) {
        gcache_setting const *setting = gcache_settings_get(settings, (gcache_setting_id)id);
        gci_similar_offer(&similar, setting->name);
        if (name != NULL && strcmp(name, setting->name) != 0)
            continue;
        found = true;
        done = print_setting(call, setting);
    }
    gcache_settings_free(settings);
    return found ? done : cli_wrong(&call->error, "there is no setting %s%s", name, gci_similar_question(&similar, "").text);
}

/* A cache that isn't there yet is made, so that a cap can be set before the first insert. */
static bool
change(cli_call *call, char const *directory, char const *name, char const *value)
{
    options const *wanted = call->options;
    gcache_options opened = GCACHE_OPTIONS_INIT;
    gcache *cache;

    if (!cli_trust(directory, &opened.trust, &call->error))
        return false;
    if (opened.trust == GCACHE_TRUST_ANY)
        opened.trust = GCACHE_TRUST_OWNER; /* what is in the file carries no signature */
    if (gcache_open(directory, &opened, &cache, &call->error) != GCACHE_OK)
        return false;
    gcache_close(cache);
    return gcache_settings_write(directory, opened.trust, wanted->namespace, name, value, cli_log, NULL, &call->error) ==
           GCACHE_OK;
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    char const *name = call->count > 0 ? call->arguments[0] : NULL, *value = call->count > 1 ? call->arguments[1] : NULL;
    char const *directory;

    if (!cli_cache_directory(call, call->count < 2, &directory))
        return false;
    if (wanted->unset && (name == NULL || value != NULL))
        return cli_wrong(&call->error, "config: --unset takes a name and no value");
    return wanted->unset || value != NULL ? change(call, directory, name, value) : show(call, directory, name);
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
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
             "switches that are mostly wanted for one call.\n"
             "\n"
             "signing-keys: paths of key files (help signing-key new). config.json takes absolute ones, under trust any none.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
