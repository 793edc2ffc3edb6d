#include "given.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char const *
literal_of(gci_value const *value, gci_arena *arena)
{
    char text[64];

    switch ((gci_value_type)value->type) {
    case GCI_NULL: return "None";
    case GCI_BOOL: return value->boolean ? "True" : "False";
    case GCI_BIGINT: return gci_arena_copy(arena, value->text).data;
    case GCI_FLOAT:
        snprintf(text, sizeof text, "%.17g", value->real);
        /* A float shows that it is one. */
        if (strpbrk(text, ".en") == NULL)
            strncat(text, ".0", sizeof text - strlen(text) - 1);
        return gci_arena_copy(arena, gci_view_text(text)).data;
    default: break;
    }
    gci_value const *inside = gci_map_find(value, "$float");
    assert_non_null(inside);
    return gci_arena_copy(arena, inside->text).data;
}

gcache_hints
given_hints(gci_value const *map, gci_arena *arena)
{
    gcache_hint *items = gci_arena_array(arena, map->count, sizeof *items);
    gcache_hint_literal *literals = gci_arena_array(arena, map->count, sizeof *literals);
    gcache_hints hints = { .items = items, .literals = literals };

    for (uint32_t i = 0; i < map->count; i++) {
        gci_value const *value = &map->members[i].value;
        char const *name = gci_arena_copy(arena, map->members[i].name).data;
        if (value->type == GCI_INT)
            items[hints.count++] = (gcache_hint){ name, value->integer };
        else
            literals[hints.literal_count++] = (gcache_hint_literal){ name, literal_of(value, arena) };
    }
    return hints;
}

gcache_hints
given_hints_text(char const *json, gci_arena *arena)
{
    gci_value map;
    gcache_error error;

    if (gci_json_read(gci_view_text(json), "hints", arena, &map, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    return given_hints(&map, arena);
}

char const *
given_result(char const *guard, gcache_hints const *hints, gcache_verdict *out_verdict, gcache_error *out_error)
{
    gcache_guards *guards = NULL;

    if (gcache_guards_compile(&guard, 1, &guards, out_error) != GCACHE_OK)
        return "invalid";
    gcache_status status = gcache_guards_eval(guards, hints, out_verdict, out_error);
    gcache_guards_free(guards);
    if (status != GCACHE_OK)
        fail_msg("%s: %s", guard, out_error->message);
    if (out_verdict->truth == GCACHE_RAISES)
        return out_verdict->exception;
    return out_verdict->truth == GCACHE_TRUE ? "true" : "false";
}
