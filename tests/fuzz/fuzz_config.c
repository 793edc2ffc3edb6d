/*
 * config.json from a hostile or a broken disk: what can be read of it counts, a change keeps the rest or puts the file aside,
 * and afterwards it can be read.
 */
#include "cache/settings/config_file.h"
#include "place.h"

#include <guardcache/settings.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

static void
require(bool condition)
{
    if (!condition)
        abort();
}

static gci_config_state
read_it(gci_dir dir)
{
    gci_config config;
    gcache_error why;

    gci_config_state state = gci_config_read(dir, &config, &why);
    gci_config_section(&config, "");
    gci_config_section(&config, "team a");
    gci_config_clear(&config);
    return state;
}

/* Every setting has a value whatever the file says; gives that of max-candidates. */
static gcache_setting const *
load_all(char const *space, gcache_settings **out_settings)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_error error;

    require(gcache_settings_load(place_path(""), space, NULL, NULL, out_settings, &error) == GCACHE_OK);
    for (int id = 0; id < GCACHE_SETTING_COUNT; id++)
        require(gcache_settings_get(*out_settings, (gcache_setting_id)id)->value != NULL);
    for (size_t i = 0; gcache_settings_warning(*out_settings, i) != NULL; i++)
        continue;
    gcache_settings_apply(*out_settings, &options, &error);
    return gcache_settings_get(*out_settings, GCACHE_SETTING_MAX_CANDIDATES);
}

/* A change is there afterwards, unless it was refused. */
static void
change(gci_dir dir, char const *space)
{
    gcache_settings *settings;
    gcache_error error;

    if (gci_config_change(dir, space, "max-candidates", "77", NULL, NULL, &error) != GCACHE_OK)
        return;
    require(read_it(dir) == GCI_CONFIG_GOOD);
    require(strcmp(load_all(space, &settings)->value, "77") == 0);
    gcache_settings_free(settings);
    gci_config_change(dir, space, "max-candidates", NULL, NULL, NULL, &error);
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    gcache_settings *settings;
    gcache_error error;
    bool aside;
    gci_dir dir;

    place_next();
    place_write("config.json", gci_view_of((char const *)data, size));
    require(gci_dir_open_user(place_path(""), &dir, &error) == GCACHE_OK);
    gci_config_state state = read_it(dir);
    load_all(NULL, &settings);
    gcache_settings_free(settings);
    load_all("team a", &settings);
    gcache_settings_free(settings);
    gci_config_check(dir, false, &aside, &error);
    if (size % 2 == 0)
        change(dir, size % 4 == 0 ? "" : "team a");
    else
        gci_config_check(dir, true, &aside, &error);
    require(state == GCI_CONFIG_REFUSED || read_it(dir) == GCI_CONFIG_GOOD);
    gci_dir_close(&dir);
    return 0;
}
