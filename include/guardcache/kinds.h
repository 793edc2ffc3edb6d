/*
 * guardcache/kinds.h - kinds of one's own, read at run time.
 *
 * A kind is a folder of that name (docs/adapters.md):
 *
 *   rules.json    what of a description is volatile, with examples that are tests (docs/formats/rules.md). Without it: generic's
 *   advice.json   what helps after a miss, in the words of the compiler's users; may be absent
 *   examples/     whatever shows how it is used; not read
 *
 * Once it is loaded it counts for every description of that kind in this process, as one that is compiled in: for keys, which
 * the hash of its rules is part of, and for explanations. It stays until the process ends, since a kind must mean one thing
 * throughout: two meanings of it, or another meaning of one that is compiled in, are an error, and the first stays.
 *
 * A kind that can't be used isn't passed over: its descriptions have no key, with the reason, so that nothing is compiled under
 * rules that weren't meant. Loading it again, mended, makes it usable.
 *
 * Threads: any number at once, also beside lookups.
 */
#ifndef GUARDCACHE_KINDS_H
#define GUARDCACHE_KINDS_H

#include <guardcache/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Told of a kind's folder that can't be used, and of a folder of kinds that can't be read. */
typedef void (*gcache_kind_problem_fn)(void *state, char const *folder, gcache_error const *problem);

/*
 * Loads each kind of each folder in path: folders with a colon between them; NULL or "": none. What lies in them and has
 * neither rules.json nor advice.json is no kind. What can't be used is reported to fn (may be NULL); all others are loaded.
 * GCACHE_OK: nothing was wrong; else what was wrong first: ERROR_NOT_FOUND, ERROR_IO: a folder or file can't be read;
 * ERROR_SYNTAX, ERROR_DESCRIPTION, ERROR_LIMIT: as gcache_rules_read says, at file, line and column; ERROR_ARGUMENT: the kind
 * means something else already; ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_kinds_load(char const *path, gcache_kind_problem_fn fn, void *state, gcache_error *error);

/*
 * The path by the environment, to load: GUARDCACHE_KINDS, else guardcache/kinds in XDG_CONFIG_HOME or in .config below HOME if
 * that is there, else "". variable returns a variable's value or NULL, as getenv does. *out_path is freed with gcache_free.
 * GCACHE_OK or ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_kinds_path(char const *(*variable)(void *state, char const *name), void *state,
                                           char **out_path, gcache_error *error);

/* The folder that a kind was loaded from; NULL: it is compiled in, or wasn't loaded. Belongs to the library. */
GCACHE_API char const *gcache_kinds_folder(char const *kind);

/*
 * Reads the rules and the advice of one kind's folder, for gcache_graph_use_rules, and loads nothing. Free with
 * gcache_rules_free. GCACHE_OK, ERROR_NOT_FOUND: it has neither; ERROR_IO, ERROR_SYNTAX, ERROR_DESCRIPTION, ERROR_LIMIT,
 * ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_kinds_read(char const *folder, gcache_rules **out_rules, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
