/*
 * Names that a payload may have inside: as a record keeps them, compared, and walked.
 */
#include "cache/candidates/names.h"

#define SYMBOL '$'
#define TEXT '@'

gci_view
gci_context_bound_name(gci_context const *context, gci_view name)
{
    return context->naming.rename(context->naming.state, name);
}

/* ---- as a record keeps them ---- */

static gci_view
bind_text(gci_arena *arena, char const *canonical)
{
    size_t size = strlen(canonical);
    char *bound = gci_arena_alloc(arena, size + 1);

    if (bound == NULL)
        return (gci_view){ NULL, 0 };
    bound[0] = TEXT;
    memcpy(bound + 1, canonical, size);
    return gci_view_of(bound, size + 1);
}

gci_pair *
gci_names_of(gci_context const *context, gci_arena *arena, size_t *out_count)
{
    gci_pair *names = gci_arena_array(arena, context->names.symbol_count + context->names.text_count, sizeof *names);
    size_t count = 0;

    for (size_t i = 0; names != NULL && i < context->names.symbol_count; i++) {
        gci_view name = gci_view_text(context->names.symbols[i].name);
        names[count++] = (gci_pair){ name, gci_context_bound_name(context, name) };
    }
    for (size_t i = 0; names != NULL && i < context->names.text_count; i++) {
        gcache_text_name const *name = &context->names.texts[i];
        names[count++] = (gci_pair){ gci_view_text(name->original), bind_text(arena, name->canonical) };
    }
    *out_count = count;
    return arena->failed ? NULL : names;
}

bool
gci_name_is_text(gci_pair const *name)
{
    return name->value.size != 0 && name->value.data[0] == TEXT;
}

/* true if the pair's name counts as `canonical`, with the mark before it. */
static bool
counts_as(gci_pair const *name, char mark, char const *canonical)
{
    return name->value.size > 0 && name->value.data[0] == mark &&
           gci_view_is(gci_view_of(name->value.data + 1, name->value.size - 1), canonical);
}

/* ---- compared ---- */

bool
gci_names_same(gci_context const *context, gci_record const *record)
{
    gci_pair const *names = record->names, *texts = names + context->names.symbol_count;

    if (record->name_count != context->names.symbol_count + context->names.text_count)
        return false;
    for (size_t i = 0; i < context->names.symbol_count; i++)
        if (!gci_view_is(names[i].name, context->names.symbols[i].name) ||
            !counts_as(&names[i], SYMBOL, context->names.symbols[i].canonical))
            return false;
    for (size_t i = 0; i < context->names.text_count; i++)
        if (!gci_view_is(texts[i].name, context->names.texts[i].original) ||
            !counts_as(&texts[i], TEXT, context->names.texts[i].canonical))
            return false;
    return true;
}

/* ---- translated ---- */

static gci_view
current_symbol(gci_context const *context, gci_pair const *stored)
{
    for (size_t i = 0; i < context->names.symbol_count; i++)
        if (counts_as(stored, SYMBOL, context->names.symbols[i].canonical))
            return gci_view_text(context->names.symbols[i].name);
    return (gci_view){ NULL, 0 };
}

gci_view
gci_names_symbol(gci_context const *context, gci_record const *record, gci_view stored)
{
    for (size_t i = 0; i < record->name_count && !gci_name_is_text(&record->names[i]); i++)
        if (gci_view_equal(record->names[i].name, stored))
            return current_symbol(context, &record->names[i]);
    return (gci_view){ NULL, 0 };
}

/* Both sides have nearly the same names in the same order, so the search goes round from behind the last one found. */
static gci_view
current_text(gci_names_walk *walk, gci_pair const *stored)
{
    gci_context const *context = walk->context;

    for (size_t i = 0; i < context->names.text_count; i++) {
        size_t at = (walk->near + i) % context->names.text_count;
        if (counts_as(stored, TEXT, context->names.texts[at].canonical)) {
            walk->near = at + 1;
            return gci_view_text(context->names.texts[at].original);
        }
    }
    return (gci_view){ NULL, 0 };
}

bool
gci_names_next(gci_names_walk *walk)
{
    if (walk->next == walk->record->name_count)
        return false;
    gci_pair const *stored = &walk->record->names[walk->next++];
    walk->stored = stored->name;
    walk->current =
        gci_name_is_text(stored) ? current_text(walk, stored) : current_symbol(walk->context, stored);
    if (walk->current.data == NULL)
        walk->current = stored->name;
    return true;
}
