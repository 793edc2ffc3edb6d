/*
 * Opening what a command works on: the cache directory and a description.
 */
#ifndef GCI_CLI_SHARED_OPEN_H
#define GCI_CLI_SHARED_OPEN_H

#include "cli/shared/cli.h"

#include "base/buf.h"

#include <guardcache/settings.h>

/*
 * Opens the cache: directory, else GUARDCACHE_DIR, else guardcache in the XDG cache directory. What the library has to
 * tell goes to standard error. Settings come from --set, the environment and the cache's config.json. A read-only open never
 * makes or changes anything.
 */
gcache_status cli_open_cache(char const *directory, bool read_only, gcache **out_cache, gcache_error *error);

/* The same for commands that look after what is stored, or at it: they do so while the cache is switched off (disabled) too. */
gcache_status cli_open_directory(char const *directory, bool read_only, gcache **out_cache, gcache_error *error);

/* The same for writing, but a cache that isn't there is ERROR_NOT_FOUND: for commands that only make sense on one. */
gcache_status cli_open_existing(char const *directory, gcache **out_cache, gcache_error *error);

/* Writes the cache directory, zero-terminated: given, else GUARDCACHE_DIR, else the XDG one, whose parent is made if it is to
   be written to. */
gcache_status cli_cache_directory(char const *given, bool read_only, gci_buf *out, gcache_error *error);

/* The settings for a directory and a namespace, with those of --set; NULL: the namespace of --namespace, else the one in
   GUARDCACHE_NAMESPACE. */
gcache_status cli_load_settings(char const *directory, char const *namespace, gcache_settings **out_settings,
                                gcache_error *error);

/* The setting trust alone, for those who change the file that the other settings stand in. */
gcache_status cli_trust(char const *directory, gcache_trust *out_trust, gcache_error *error);

/* The library's log callback: a line on standard error. */
void cli_log(void *state, char const *line);

/* The folder that what is asked is recorded in; NULL: it isn't. */
char const *cli_recording(void);

/* Reads a description file; "-" is standard input. */
gcache_status cli_read_graph(char const *path, gcache_graph **out_graph, gcache_error *error);

/* Reads a rule set of the user's. path NULL: *out_rules is NULL too, and every description has the rules of its kind. */
gcache_status cli_read_rules(char const *path, gcache_rules **out_rules, gcache_error *error);

/* cli_read_graph under rules, which must outlive the graph; NULL: those of its kind. */
gcache_status cli_read_graph_under(char const *path, gcache_rules const *rules, gcache_graph **out_graph,
                                   gcache_error *error);

#define CLI_RULES_OPTION(type, member)                                                                \
    { "rules", CLI_TEXT, offsetof(type, member), "FILE", "a rule set in place of those of the kind" }

#endif
