/*
 * Opening what a command works on: the cache directory and a description.
 */
#ifndef GCI_CLI_SHARED_OPEN_H
#define GCI_CLI_SHARED_OPEN_H

#include "cli/shared/cli.h"

#include "base/buf.h"

#include <guardcache/settings.h>

typedef enum cli_open_how {
    CLI_USE,     /* as a program does */
    CLI_READ,    /* the same, and nothing is made or changed */
    CLI_LOOK,    /* to look at what is stored, also while the cache is switched off (disabled); nothing is changed */
    CLI_CHANGE,  /* to look after what is stored, also then */
    CLI_EXISTING /* the same, but a cache that isn't there is ERROR_NOT_FOUND: for what only makes sense on one */
} cli_open_how;

/*
 * Opens the call's cache: --cache, else GUARDCACHE_DIR, else guardcache in the XDG cache directory. What the library has to
 * tell goes to standard error. Settings come from --set, the environment and the cache's config.json.
 */
bool cli_open(cli_call *call, cli_open_how how);

/* The cache directory, zero-terminated, in the call's arena; its parent is made if it is to be written to. */
bool cli_cache_directory(cli_call *call, bool read_only, char const **out_path);

/* The settings for a directory and a namespace, with those of --set; NULL: the namespace of --namespace, else the one in
   GUARDCACHE_NAMESPACE. */
bool cli_load_settings(char const *directory, char const *namespace, gcache_settings **out_settings, gcache_error *error);

/* The setting trust alone, for those who change the file that the other settings stand in. */
bool cli_trust(char const *directory, gcache_trust *out_trust, gcache_error *error);

/* The library's log callback: a line on standard error. */
void cli_log(void *state, char const *line);

/* The folder that what is asked is recorded in; NULL: it isn't. */
char const *cli_recording(void);

/* Reads a rule set of the user's. path NULL: *out_rules is NULL too, and every description has the rules of its kind. */
bool cli_read_rules(char const *path, gcache_rules **out_rules, gcache_error *error);

/* Reads a description file; "-" is standard input. rules, which must outlive the graph, stand in for those of its kind; NULL:
   they don't. */
bool cli_read_graph(char const *path, gcache_rules const *rules, gcache_graph **out_graph, gcache_error *error);

#define CLI_RULES_OPTION(type, member)                                                                \
    { "rules", CLI_TEXT, offsetof(type, member), "FILE", "a rule set in place of those of the kind" }

#endif
