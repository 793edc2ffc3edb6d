/*
 * Opens the cache that options, environment and config.json name.
 */
#include "cli/shared/cli.h"

#include "base/error.h"
#include "base/system/file.h"
#include "base/text/json.h"
#include "base/text/similar.h"

#include <guardcache/graph.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char const *
nonempty_variable(char const *name)
{
    char const *value = getenv(name);

    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The XDG base directory specification: a relative XDG_CACHE_HOME is ignored. The directory may not exist yet. */
static bool
find_cache_home(gci_buf *out, gcache_error *error)
{
    char const *xdg = nonempty_variable("XDG_CACHE_HOME"), *home = nonempty_variable("HOME");

    if (xdg != NULL && xdg[0] == '/')
        gci_buf_append_text(out, xdg);
    else if (home != NULL)
        gci_buf_format(out, "%s/.cache", home);
    else
        return cli_wrong(error, "no cache directory: give --cache DIR or set GUARDCACHE_DIR");
    gci_buf_append_char(out, '\0');
    return !out->failed || cli_no_memory(error);
}

static bool
find_default_directory(bool read_only, gci_buf *out, gcache_error *error)
{
    if (!find_cache_home(out, error))
        return false;
    /* Only its last part may be missing on a fresh account, and the library makes nothing but the cache itself. */
    if (!read_only && mkdir(out->data, 0700) != 0 && errno != EEXIST)
        return gci_fail_errno(error, errno, "%s", out->data) == GCACHE_OK;
    out->size--;
    gci_buf_append_text(out, "/guardcache");
    return true;
}

bool
cli_cache_directory(cli_call *call, bool read_only, char const **out_path)
{
    char const *given = cli_common_given()->cache != NULL ? cli_common_given()->cache : nonempty_variable("GUARDCACHE_DIR");
    gci_buf path;

    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&path, given != NULL ? given : "");
    bool found = given != NULL || find_default_directory(read_only, &path, &call->error);
    *out_path = path.failed ? NULL : gci_arena_copy(&call->arena, gci_buf_view(&path)).data;
    gci_buf_clear(&path);
    return found && (*out_path != NULL || cli_no_memory(&call->error));
}

void
cli_log(void *state, char const *line)
{
    (void)state;
    cli_complain("%s", line);
}

/* --set trust=.. decides, as GUARDCACHE_TRUST does, whether config.json may be read at all. */
static char const *
variable(void *state, char const *name)
{
    static char const trust[] = "trust=";
    cli_common const *given = state;

    for (size_t i = given->settings.count; strcmp(name, "GUARDCACHE_TRUST") == 0 && i > 0; i--) {
        if (strncmp(given->settings.items[i - 1], trust, sizeof trust - 1) == 0)
            return given->settings.items[i - 1] + sizeof trust - 1;
    }
    return getenv(name);
}

/* given = NAME [ "=" VALUE ]; a name alone is a flag that is set */
static gcache_status
set_given(gcache_settings *settings, char const *given, gcache_error *error)
{
    size_t size = strcspn(given, "=");
    gci_buf name;

    gci_buf_init(&name, GCI_BUF_NO_LIMIT);
    gci_buf_append(&name, given, size);
    gci_buf_append_char(&name, '\0');
    gcache_status status = name.failed ? gci_fail_memory(error)
                                       : gcache_settings_set(settings, name.data, given[size] == '=' ? given + size + 1 : "yes",
                                                             error);
    gci_buf_clear(&name);
    return status;
}

/* Commands that open the cache twice say it once. */
static void
print_warnings(gcache_settings const *settings)
{
    static bool printed;
    char const *warning;

    for (size_t i = 0; !printed && (warning = gcache_settings_warning(settings, i)) != NULL; i++)
        cli_complain("warning: %s", warning);
    printed = true;
}

char const *
cli_namespace(void)
{
    char const *given = cli_common_given()->namespace;

    return given != NULL ? given : nonempty_variable("GUARDCACHE_NAMESPACE");
}

bool
cli_load_settings(char const *directory, char const *namespace, gcache_settings **out_settings, gcache_error *error)
{
    cli_common const *given = cli_common_given();

    if (namespace == NULL)
        namespace = cli_namespace();
    if (gcache_settings_load(directory, namespace, variable, (void *)(uintptr_t)given, out_settings, error) != GCACHE_OK)
        return false;
    for (size_t i = 0; i < given->settings.count; i++) {
        if (set_given(*out_settings, given->settings.items[i], error) == GCACHE_OK)
            continue;
        gcache_settings_free(*out_settings);
        return false;
    }
    print_warnings(*out_settings);
    return true;
}

bool
cli_trust(char const *directory, gcache_trust *out_trust, gcache_error *error)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_settings *settings;

    if (gcache_settings_load(directory, NULL, variable, (void *)(uintptr_t)cli_common_given(), &settings, error) != GCACHE_OK)
        return false;
    /* The keys aren't asked for, nor need they be there: this is the way to name others. */
    gcache_status status = gcache_settings_set(settings, "signing-keys", "", error);
    if (status == GCACHE_OK)
        status = gcache_settings_apply(settings, &options, error);
    gcache_settings_free(settings);
    *out_trust = options.trust;
    return status == GCACHE_OK;
}

char const *
cli_recording(void)
{
    return nonempty_variable("GUARDCACHE_RECORD");
}

/* Whoever looks after the directory itself does so while the cache is switched off too, and hears of it once. */
static void
ignore_disabled(gcache_options *options)
{
    static bool printed;

    if (options->disabled && !printed)
        cli_complain("note: the cache is switched off: every lookup misses, nothing is stored");
    printed = printed || options->disabled;
    options->disabled = false;
}

static bool
open_directory(cli_call *call, char const *directory, bool read_only, bool keeper)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_settings *settings;

    if (!cli_load_settings(directory, NULL, &settings, &call->error))
        return false;
    gcache_status status = gcache_settings_apply(settings, &options, &call->error);
    if (keeper)
        ignore_disabled(&options);
    options.read_only |= read_only;
    options.log = cli_log;
    options.record = cli_recording();
    options.columns = cli_terminal_columns();
    options.color = cli_terminal_has_color();
    if (status == GCACHE_OK)
        status = gcache_open(directory, &options, &call->cache, &call->error);
    gcache_settings_free(settings);
    return status == GCACHE_OK;
}

bool
cli_open(cli_call *call, cli_open_how how)
{
    bool read_only = how == CLI_READ || how == CLI_LOOK, keeper = how >= CLI_LOOK;
    char const *directory;

    if (how == CLI_EXISTING) {
        if (!cli_open(call, CLI_LOOK))
            return false;
        gcache_close(call->cache);
        call->cache = NULL;
    }
    return cli_cache_directory(call, read_only, &directory) && open_directory(call, directory, read_only, keeper);
}

static gcache_status
read_rules_file(char const *path, gcache_rules **out_rules, gcache_error *error)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_file_read_user(path, GCI_JSON_MAX_BYTES, &text, error);
    if (status == GCACHE_OK)
        status = gcache_rules_read(text.data, text.size, path, out_rules, error);
    gci_buf_clear(&text);
    return status;
}

/* A kind's folder stands for what is in it: its rules, and its advice if there is any. */
bool
cli_read_rules(char const *path, gcache_rules **out_rules, gcache_error *error)
{
    struct stat facts;

    *out_rules = NULL;
    if (path == NULL)
        return true;
    bool is_folder = stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
    return (is_folder ? gcache_kinds_read : read_rules_file)(path, out_rules, error) == GCACHE_OK;
}

static char const *
environment(void *state, char const *name)
{
    (void)state;
    return getenv(name);
}

static void
warn_of_folder(void *state, char const *folder, gcache_error const *problem)
{
    (void)state;
    (void)folder;
    cli_complain("warning: kinds: %s", problem->message);
}

bool
cli_load_kinds(gcache_error *error)
{
    char *path;

    if (gcache_kinds_path(environment, NULL, &path, error) != GCACHE_OK)
        return false;
    gcache_kinds_load(path, warn_of_folder, NULL, NULL);
    gcache_free(path);
    return true;
}

/* A kind that nobody knows has the rules of generic, which is as it should be unless another was meant. Said once of each. */
static void
warn_of_kind(char const *path, gcache_graph const *graph)
{
    static char warned[64];
    char const *kind = gcache_graph_kind(graph), *known;
    gci_similar similar = gci_similar_to(gci_view_text(kind));

    for (size_t i = 0; (known = gcache_rules_kind(i)) != NULL; i++) {
        if (strcmp(known, kind) == 0)
            return;
        gci_similar_offer(&similar, known);
    }
    if (similar.word == NULL || strncmp(warned, kind, sizeof warned - 1) == 0)
        return;
    snprintf(warned, sizeof warned, "%s", kind);
    cli_complain("warning: %s: there is no kind %s with rules of its own%s", path, kind, gci_similar_question(&similar, "").text);
}

bool
cli_read_graph(char const *path, gcache_rules const *rules, gcache_graph **out_graph, gcache_error *error)
{
    gci_buf text;

    *out_graph = NULL;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    bool done = gci_file_read_user(path, GCI_JSON_MAX_BYTES, &text, error) == GCACHE_OK &&
                gcache_graph_read(text.data, text.size, path, out_graph, error) == GCACHE_OK;
    gci_buf_clear(&text);
    if (done && rules != NULL)
        gcache_graph_use_rules(*out_graph, rules);
    else if (done)
        warn_of_kind(path, *out_graph);
    return done;
}
