/*
 * A lookup's context, read from the caller's arguments.
 */
#include "cache/candidates/context.h"

#include "base/check.h"
#include "cache/candidates/names.h"
#include "graph/graph.h"

static gci_view
rename_symbol(void const *state, gci_view name)
{
    return gci_graph_canonical_symbol(state, name);
}

/* ---- the names of a description that is only a key ---- */

/* Names borrowed from a stored entry: what its producer called the symbols, and how they are bound. */
typedef struct borrowed {
    gci_pair const *names;
    size_t count;
} borrowed;

static gci_view
borrowed_name(void const *state, gci_view name)
{
    borrowed const *with = state;

    for (size_t i = 0; i < with->count; i++)
        if (gci_view_equal(with->names[i].name, name))
            return with->names[i].value;
    return name;
}

static gcache_status
copy_names(gci_context *context, gci_record const *record, gcache_error *error)
{
    gci_arena *arena = &context->arena;
    borrowed *with = GCI_ARENA_NEW(arena, borrowed);
    gci_pair *names = gci_arena_array(arena, record->name_count, sizeof *names);
    gcache_symbol *symbols = gci_arena_array(arena, record->name_count, sizeof *symbols);
    size_t count = 0;

    for (; !arena->failed && count < record->name_count && !gci_name_is_text(&record->names[count]); count++) {
        names[count].name = gci_arena_copy(arena, record->names[count].name);
        names[count].value = gci_arena_copy(arena, record->names[count].value);
        /* A canonical name is the bound one without its "$". */
        symbols[count] = (gcache_symbol){ names[count].name.data, names[count].value.data + (names[count].value.size != 0) };
    }
    if (arena->failed)
        return gci_fail_memory(error);
    *with = (borrowed){ names, count };
    context->naming = (gci_naming){ .rename = borrowed_name, .state = with };
    context->names.symbols = symbols;
    context->names.symbol_count = count;
    return GCACHE_OK;
}

/* Who asks the store next will find nothing any more. */
static gcache_status
remember_damage(gci_context *context, gcache_error const *damage, gcache_error *error)
{
    gcache_error *copy = gci_arena_alloc(&context->arena, sizeof *copy);

    if (copy == NULL)
        return gci_fail_memory(error);
    *copy = *damage;
    context->damage = copy;
    return GCACHE_OK;
}

static gcache_status
copy_first_names(gci_context *context, gci_candidates const *set, gcache_error *error)
{
    gci_candidate const *first = set->count != 0 ? set->items[0] : set->evicted_count != 0 ? set->evicted[0] : NULL;

    return first != NULL && first->record.name_count != 0 ? copy_names(context, &first->record, error) : GCACHE_OK;
}

/* Names stay as they are if nothing is stored, or nothing with symbols. */
static gcache_status
borrow_names(gci_context *context, gcache_error *error)
{
    gci_candidates *set = NULL;
    gcache_status status = GCACHE_OK;
    gcache_error trouble = { 0 };

    gci_found found = gci_store_candidates(context->cache->store, &context->key, &set, &trouble);
    if (found != GCI_FOUND)
        return found == GCI_CORRUPT ? remember_damage(context, &trouble, error) : GCACHE_OK;
    status = copy_first_names(context, set, error);
    gci_candidates_release(set);
    return status;
}

/* ---- the context ---- */

static gcache_status
check_request(gcache_request const *request, gcache_error *error)
{
    GCI_REQUIRE_INIT(request, error);
    GCI_REQUIRE(request->provides_count == 0 || request->provides != NULL, error, "provides is NULL");
    for (size_t i = 0; i < request->provides_count; i++)
        GCI_REQUIRE(request->provides[i].name != NULL && request->provides[i].value != NULL, error,
                    "provides[%zu] has no name or no value", i);
    return GCACHE_OK;
}

/* Who asks again does so with the same names as a rule: what they are called inside is kept with the graph. */
static gcache_status
read_hints(gci_context *context, gcache_hints const *hints, gcache_error *error)
{
    gci_hint_names const *known = gci_graph_remembered(context->graph);

    if (known != NULL && gci_hints_read_known(&context->hints, hints, known))
        return GCACHE_OK;
    gcache_status status = gci_hints_read(&context->hints, hints, context->naming, error);
    if (status == GCACHE_OK && known == NULL && context->hints.count != 0)
        gci_graph_remember(context->graph, gci_hint_names_of(&context->hints));
    return status;
}

gcache_status
gci_context_init(gci_context *context, gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                  gcache_request const *request, gcache_error *error)
{
    static gcache_hints const no_hints;
    static gcache_request const defaults = GCACHE_REQUEST_INIT;

    context->cache = cache;
    context->graph = graph;
    context->request = request != NULL ? *request : defaults;
    context->key = (gcache_key){ { 0 } };
    context->naming = (gci_naming){ NULL, NULL };
    context->names = (gci_graph_names){ .id = 0 };
    context->damage = NULL;
    context->at_once = false;
    gci_arena_init(&context->arena, SIZE_MAX / 2);
    gci_hints_init(&context->hints);
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE(graph != NULL, error, "graph is NULL");
    gcache_status status = check_request(&context->request, error);
    if (status == GCACHE_OK)
        status = gci_graph_key(graph, cache->namespace_, &context->key, error);
    /* Too much work for a key: the caller compiles without a cache. */
    if (status == GCACHE_ERROR_LIMIT)
        status = GCACHE_REFUSED;
    if (error != NULL && status == GCACHE_REFUSED)
        error->status = status;
    if (status != GCACHE_OK)
        return status;
    context->naming = (gci_naming){ .rename = rename_symbol, .state = graph };
    context->names = gci_graph_names_of(graph);
    if (gci_graph_is_keyed(graph) && cache->store != NULL)
        status = borrow_names(context, error);
    context->given = hints != NULL ? hints : &no_hints;
    return status == GCACHE_OK ? read_hints(context, context->given, error) : status;
}

gcache_status
gci_context_learn_names(gci_context *context, gci_candidates const *set, gcache_error *error)
{
    if (!gci_graph_is_keyed(context->graph) || context->names.symbol_count != 0)
        return GCACHE_OK;
    gcache_status status = copy_first_names(context, set, error);
    if (status != GCACHE_OK || context->names.symbol_count == 0)
        return status;
    gci_hints_clear(&context->hints);
    gci_hints_init(&context->hints);
    return gci_hints_read(&context->hints, context->given, context->naming, error);
}

void
gci_context_clear(gci_context *context)
{
    gci_hints_clear(&context->hints);
    gci_arena_clear(&context->arena);
}
