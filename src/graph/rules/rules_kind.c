/*
 * Which rules a kind has: those that are compiled in, else those that were loaded at run time, else those of generic.
 */
#include "base/check.h"
#include "graph/rules/kind_list.h"

#include <guardcache/graph.h>
#include <stdatomic.h>
#include <stdlib.h>

static gci_loaded_kind *_Atomic first;

static gci_shipped_rules const *
find_shipped(gci_view kind)
{
    for (size_t i = 0; i < gci_shipped_count; i++)
        if (gci_view_is(kind, gci_shipped[i].kind))
            return &gci_shipped[i];
    return NULL;
}

/* ---- the list ---- */

gci_loaded_kind const *
gci_kind_list_find(gci_view name)
{
    gci_loaded_kind const *found = NULL;

    for (gci_loaded_kind const *at = atomic_load(&first); at != NULL; at = atomic_load(&at->next))
        if (gci_view_is(name, at->name) && (found == NULL || at->rules != NULL))
            found = at;
    return found;
}

static gci_loaded_kind *
make_kind(char const *name, char const *folder, gcache_rules *rules, gcache_error const *problem)
{
    size_t name_size = strlen(name) + 1, folder_size = strlen(folder) + 1;
    gci_loaded_kind *made = malloc(sizeof *made + name_size + folder_size);

    if (made == NULL)
        return NULL;
    *made = (gci_loaded_kind){ .rules = rules, .name = (char *)(made + 1) };
    if (rules == NULL)
        made->problem = *problem;
    else
        rules->loaded = true;
    made->folder = made->name + name_size;
    memcpy(made->name, name, name_size);
    memcpy(made->folder, folder, folder_size);
    return made;
}

/* Puts it behind the last, unless one of its name is on the way. Returns that one, or NULL. */
static gci_loaded_kind const *
append(gci_loaded_kind *made)
{
    gci_loaded_kind *_Atomic *place = &first;

    for (;;) {
        gci_loaded_kind *at = NULL;
        if (atomic_compare_exchange_strong(place, &at, made))
            return NULL;
        if (at->rules != NULL && strcmp(at->name, made->name) == 0)
            return at;
        place = &at->next;
    }
}

/* The same rules from another folder are no other meaning. */
static gcache_status
compare_meanings(gci_loaded_kind const *there, gci_loaded_kind const *made, gcache_error *error)
{
    if (made->rules == NULL)
        return GCACHE_OK; /* what is wrong with it has been said */
    if (memcmp(there->rules->hash, made->rules->hash, sizeof there->rules->hash) == 0)
        return GCACHE_OK;
    if (strcmp(made->folder, there->folder) == 0)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: the rules of kind %s have changed since they were loaded; "
                        "this process keeps the former ones", made->folder, made->name);
    return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: kind %s has other rules already, from %s", made->folder, made->name,
                    there->folder);
}

gcache_status
gci_kind_list_add(char const *name, char const *folder, gcache_rules *rules, gcache_error const *problem, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    if (find_shipped(gci_view_text(name)) != NULL) {
        gcache_rules_free(rules);
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: kind %s is compiled in, and can't mean something else", folder, name);
    }
    gci_loaded_kind *made = make_kind(name, folder, rules, problem);
    if (made == NULL) {
        gcache_rules_free(rules);
        return gci_fail_memory(error);
    }
    gci_loaded_kind const *there = append(made);
    if (there == NULL)
        return GCACHE_OK;
    status = compare_meanings(there, made, error);
    if (rules != NULL)
        rules->loaded = false;
    gcache_rules_free(rules);
    free(made);
    return status;
}

/* ---- the faces ---- */

gcache_rules const *
gci_rules_loaded(gci_view kind)
{
    gci_loaded_kind const *loaded = gci_kind_list_find(kind);

    return loaded != NULL ? loaded->rules : NULL;
}

static gcache_status
rules_of_loaded(gci_loaded_kind const *loaded, gcache_rules **out_rules, gcache_error *error)
{
    *out_rules = loaded->rules;
    if (loaded->rules != NULL)
        return GCACHE_OK;
    return gci_fail(error, loaded->problem.status, "kind %s can't be used: %s", loaded->name, loaded->problem.message);
}

gcache_status
gci_rules_of_kind(gci_view kind, bool lazy, gcache_rules **out_rules, gcache_error *error)
{
    gci_shipped_rules const *shipped = find_shipped(kind);
    gci_loaded_kind const *loaded = shipped == NULL ? gci_kind_list_find(kind) : NULL;

    if (loaded != NULL)
        return rules_of_loaded(loaded, out_rules, error);
    if (shipped == NULL)
        shipped = find_shipped((gci_view)GCI_VIEW("generic"));
    GCI_ASSERT(shipped != NULL);
    return gci_rules_read_set(gci_view_of(shipped->rules, shipped->rules_size), shipped->kind, true, lazy, out_rules, error);
}

gcache_status
gcache_rules_of_kind(char const *kind, gcache_rules **out_rules, gcache_error *error)
{
    GCI_REQUIRE(kind != NULL && out_rules != NULL, error, "gcache_rules_of_kind needs a kind and a result");
    return gci_rules_of_kind(gci_view_text(kind), false, out_rules, error);
}

char const *
gcache_rules_shipped(char const *kind, size_t *out_size)
{
    gci_shipped_rules const *shipped = find_shipped(gci_view_text(kind));
    gcache_rules const *loaded = shipped == NULL ? gci_rules_loaded(gci_view_text(kind)) : NULL;
    gci_view text = shipped != NULL  ? gci_view_of(shipped->text, shipped->text_size)
                    : loaded != NULL ? loaded->text
                                     : (gci_view){ NULL, 0 };

    if (text.data != NULL && out_size != NULL)
        *out_size = text.size;
    return text.data;
}

char const *
gcache_rules_kind(size_t index)
{
    if (index < gci_shipped_count)
        return gci_shipped[index].kind;
    index -= gci_shipped_count;
    for (gci_loaded_kind const *at = atomic_load(&first); at != NULL; at = atomic_load(&at->next))
        if (at->rules != NULL && index-- == 0)
            return at->name;
    return NULL;
}

char const *
gcache_kinds_folder(char const *kind)
{
    gci_loaded_kind const *loaded = kind != NULL ? gci_kind_list_find(gci_view_text(kind)) : NULL;

    return loaded != NULL ? loaded->folder : NULL;
}
