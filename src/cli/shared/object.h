/*
 * JSON objects of the command's input and output: both are trees of gci_value in an arena.
 *
 * Writing: members are set one after another, later ones behind; a name isn't set twice. Running out of memory is
 * remembered in the arena (arena.failed) and found when the object is printed.
 * Reading: a cli_place says where a map comes from, so that every complaint has file and line.
 */
#ifndef GCI_CLI_SHARED_OBJECT_H
#define GCI_CLI_SHARED_OBJECT_H

#include "base/arena.h"
#include "base/text/value.h"

#include <guardcache/cache.h>

/* ---- writing ---- */

typedef struct cli_object {
    gci_arena *arena;
    gci_value map;
    uint32_t room;
} cli_object;

cli_object cli_object_new(gci_arena *arena);

void cli_object_set(cli_object *object, char const *name, gci_value value);
/* Copies text; NULL is null. */
void cli_object_set_text(cli_object *object, char const *name, char const *text);
void cli_object_set_int(cli_object *object, char const *name, int64_t value);
void cli_object_set_count(cli_object *object, char const *name, uint64_t value);
void cli_object_set_bool(cli_object *object, char const *name, bool value);

/* Null for an empty text too. */
void cli_object_set_nonempty(cli_object *object, char const *name, char const *text);
void cli_object_set_key(cli_object *object, char const *name, gcache_key const *key);
void cli_object_set_texts(cli_object *object, char const *name, char const *const *texts, size_t count);
/* An object of their names and values. */
void cli_object_set_pairs(cli_object *object, char const *name, gcache_pair const *pairs, size_t count);

/* "components": their names and hashes. Fails where the description has none, and leaves the object as it was. */
bool cli_object_set_components(cli_object *object, gcache_graph *graph, gcache_error *error);

/* A list with room for count values; they are null until assigned. */
gci_value cli_list_of(gci_arena *arena, size_t count);

/* A value's JSON, zero-terminated; NULL without memory. */
char const *cli_json_text(gci_arena *arena, gci_value const *value);

/* Writes the object and a line end to standard output. */
bool cli_object_print(cli_object const *object, gcache_error *error);

/* ---- reading ---- */

/* A line of a file; line 0 if the file is one value. */
typedef struct cli_place {
    char const *file;
    size_t line;
} cli_place;

/* Reads one JSON value that must be an object. */
bool cli_object_read(gci_view text, cli_place place, gci_arena *arena, gci_value *out_map, gcache_error *error);

/* If one of an event's guards isn't a guard, says which and where, in place of what *error says, and returns true. */
bool cli_guards_blame(cli_place place, char const *const *texts, size_t count, gcache_error *error);

/* Says, and returns false: `file:line: member "name" message`. */
bool cli_bad_member(cli_place place, char const *name, char const *message, gcache_error *error);

/* Members by type. An absent one, or null, leaves *out_value as it was. */
/* A string, copied into the arena so that it ends with a zero; zero bytes inside are an error. */
bool cli_get_text(gci_value const *map, char const *name, cli_place place, gci_arena *arena,
                           char const **out_value, gcache_error *error);
bool cli_get_int(gci_value const *map, char const *name, cli_place place, int64_t *out_value,
                          gcache_error *error);
bool cli_get_value(gci_value const *map, char const *name, gci_value_type type, cli_place place,
                            gci_value const **out_value, gcache_error *error);

/* A zero-terminated copy of a string value without zero bytes inside; NULL for anything else, or without memory. */
char const *cli_copy_text(gci_arena *arena, gci_value const *value);

#endif
