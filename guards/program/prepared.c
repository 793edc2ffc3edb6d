/*
 * A guard list prepared for hints of certain names: where the value of each name that it reads stands among the caller's is found
 * once. An evaluation that can't do without names, because one isn't given or is that of a function, binds them as usual.
 */
#include "base/check.h"
#include "guards/program/program.h"
#include "guards/value/limits.h"

#include <stdlib.h>

struct gcache_prepared {
    gci_guards const *guards;
    gci_hints hints;  /* the names, bound; what values they have doesn't count */
    size_t count;     /* of values */
    bool is_plain;    /* places has all that the fast path needs */
    uint16_t places[GCI_GUARD_MAX_NAMES]; /* of each name of the program, among the values */
    char names[];
};

/* More hints than a list may read names aren't of use for one. */
#define VALUES_MAX ((size_t)UINT16_MAX)

static gcache_prepared *
new_prepared(gci_guards const *guards, char const *const *names, size_t count)
{
    size_t size = sizeof(gcache_prepared);

    for (size_t i = 0; i < count; i++)
        size += strlen(names[i]) + 1;
    gcache_prepared *prepared = malloc(size);
    if (prepared != NULL) {
        prepared->guards = guards;
        prepared->count = count;
        gci_hints_init(&prepared->hints);
    }
    return prepared;
}

/* Reads copies of the names, as hints are read. */
static gcache_status
read_names(gcache_prepared *prepared, char const *const *names, gcache_error *error)
{
    gcache_hint *items = calloc(prepared->count + 1, sizeof *items);
    char *copy = prepared->names;

    if (items == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < prepared->count; i++) {
        size_t size = strlen(names[i]) + 1;
        items[i].name = memcpy(copy, names[i], size);
        copy += size;
    }
    gcache_hints source = { .items = items, .count = prepared->count };
    gcache_status status = gci_hints_read(&prepared->hints, &source, (gci_naming){ NULL, NULL }, error);
    free(items);
    return status;
}

static size_t
place_of(gci_hints const *hints, gci_view name)
{
    size_t place = 0;

    while (place < hints->count && !gci_view_equal(hints->items[place].bound, name))
        place++;
    return place;
}

static void
find_places(gcache_prepared *prepared)
{
    gci_program const *program = &prepared->guards->program;

    prepared->is_plain = !program->exact_only && !gci_program_is_shadowed(program, &prepared->hints);
    for (uint32_t i = 0; i < program->name_count && prepared->is_plain; i++) {
        size_t place = place_of(&prepared->hints, program->names[i].name);
        prepared->places[i] = (uint16_t)place;
        prepared->is_plain = place < prepared->count;
    }
}

gcache_status
gcache_guards_prepare(gcache_guards const *guards, char const *const *names, size_t count, gcache_prepared **out_prepared,
                      gcache_error *error)
{
    GCI_REQUIRE(guards != NULL && out_prepared != NULL, error, "guards or out_prepared is NULL");
    GCI_REQUIRE(names != NULL || count == 0, error, "names is NULL");
    GCI_REQUIRE(count <= VALUES_MAX, error, "%zu names are more than %zu", count, VALUES_MAX);
    for (size_t i = 0; i < count; i++)
        GCI_REQUIRE(names[i] != NULL, error, "name %zu is NULL", i);
    gcache_prepared *prepared = new_prepared(guards, names, count);
    if (prepared == NULL)
        return gci_fail_memory(error);
    gcache_status status = read_names(prepared, names, error);
    if (status != GCACHE_OK) {
        gcache_prepared_free(prepared);
        return status;
    }
    find_places(prepared);
    *out_prepared = prepared;
    return GCACHE_OK;
}

void
gcache_prepared_free(gcache_prepared *prepared)
{
    if (prepared == NULL)
        return;
    gci_hints_clear(&prepared->hints);
    free(prepared);
}

static gcache_truth
eval_by_name(gcache_prepared const *prepared, int64_t const *values)
{
    gci_hints hints;
    gcache_verdict verdict = { .truth = GCACHE_RAISES };

    gci_hints_init(&hints);
    hints.items = prepared->count > GCI_HINTS_FEW ? gci_arena_array(&hints.arena, prepared->count, sizeof *hints.items) : hints.few;
    if (hints.items != NULL) {
        hints.count = prepared->count;
        for (size_t i = 0; i < prepared->count; i++) {
            hints.items[i] = prepared->hints.items[i];
            hints.items[i].value = gci_number_int(values[i]);
        }
        gci_guards_eval(prepared->guards, &hints, &verdict);
    }
    gci_hints_clear(&hints);
    return verdict.truth;
}

gcache_truth
gcache_prepared_eval(gcache_prepared const *prepared, int64_t const *values)
{
    gci_program const *program = &prepared->guards->program;
    int64_t registers[GCI_GUARD_MAX_REGISTERS];
    uint32_t at = 0;

    if (!prepared->is_plain)
        return eval_by_name(prepared, values);
    for (uint32_t i = 0; i < program->name_count; i++)
        registers[i] = values[prepared->places[i]];
    switch (gci_fast_run(program->code, registers, &at)) {
    case GCI_FAST_TRUE:
        return GCACHE_TRUE;
    case GCI_FAST_FALSE:
        return GCACHE_FALSE;
    case GCI_FAST_UNKNOWN:
        break;
    }
    return eval_by_name(prepared, values);
}
