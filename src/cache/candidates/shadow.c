/*
 * Which candidates can never be served, because one before them holds wherever they do.
 */
#include "cache/candidates/shadow.h"

#include "guards/guards.h"

static bool
has_pair(gci_pair const *pairs, size_t count, gci_pair const *wanted)
{
    for (size_t i = 0; i < count; i++)
        if (gci_view_equal(pairs[i].name, wanted->name) && gci_view_equal(pairs[i].value, wanted->value))
            return true;
    return false;
}

static bool
has_pairs(gci_pair const *pairs, size_t count, gci_pair const *wanted, size_t wanted_count)
{
    for (size_t i = 0; i < wanted_count; i++)
        if (!has_pair(pairs, count, &wanted[i]))
            return false;
    return true;
}

/* Every lookup that may take `later` may take `earlier`. */
static bool
is_as_welcome(gci_record const *earlier, gci_record const *later)
{
    return gci_view_equal(earlier->variant, later->variant) && earlier->name_count == later->name_count &&
           has_pairs(earlier->names, earlier->name_count, later->names, later->name_count) &&
           has_pairs(later->requirements, later->requirement_count, earlier->requirements, earlier->requirement_count);
}

static size_t
find_shadow(gci_ranking const *ranking, gci_claims *const *claims, size_t later)
{
    for (size_t earlier = 0; earlier < later; earlier++) {
        if (claims[earlier] == NULL || claims[later] == NULL)
            continue;
        if (is_as_welcome(&ranking->items[earlier]->candidate->record, &ranking->items[later]->candidate->record) &&
            gci_claims_imply(claims[later], claims[earlier]))
            return earlier;
    }
    return GCI_NOT_SHADOWED;
}

size_t *
gci_shadows_find(gci_ranking const *ranking, gci_arena *arena)
{
    size_t *shadows = gci_arena_array(arena, ranking->count, sizeof *shadows);
    gci_claims **claims = gci_arena_array(arena, ranking->count, sizeof *claims);
    bool complete = shadows != NULL && claims != NULL;

    for (size_t i = 0; complete && i < ranking->count; i++) {
        claims[i] = NULL;
        if (ranking->items[i]->guards != NULL)
            claims[i] = gci_claims_new(ranking->items[i]->guards);
    }
    for (size_t i = 0; complete && i < ranking->count; i++)
        shadows[i] = find_shadow(ranking, claims, i);
    for (size_t i = 0; complete && i < ranking->count; i++)
        gci_claims_free(claims[i]);
    return complete ? shadows : NULL;
}
