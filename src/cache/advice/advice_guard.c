/*
 * What a guard that failed asks for: one value, multiples, what lies on one side of a bound.
 */
#include "cache/advice/advice.h"

#include <stdio.h>

/* Where a kernel's indices stop fitting 32 bits. */
#define INT32_LIMIT "2147483647"

void
gci_advice_name(gci_advice_case *what, char const *source)
{
    char const *call = source != NULL ? strstr(source, ".size(") : NULL;

    if (source == NULL)
        return;
    what->facts |= GCI_FACT_BIT(NAMED);
    what->values[GCI_VALUE_SOURCE] = gci_view_text(source);
    if (call == NULL || strchr(call, ')') == NULL)
        return;
    what->facts |= GCI_FACT_BIT(SIZED);
    what->values[GCI_VALUE_TENSOR] = gci_view_of(source, (size_t)(call - source));
    call += strlen(".size(");
    what->values[GCI_VALUE_DIM] = gci_view_of(call, strcspn(call, ")"));
}

static gci_view
number(gci_arena *arena, int64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%lld", (long long)value);
    return gci_arena_copy(arena, gci_view_text(text));
}

/* 4 <= x.size(0), or x.size(0) <= 1024 */
static gci_view
bound_text(gci_arena *arena, gci_symbol_bounds const *bounds, gci_view source)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (bounds->low != INT64_MIN)
        gci_buf_format(&text, "%lld <= ", (long long)bounds->low);
    gci_buf_append_view(&text, source);
    if (bounds->high != INT64_MAX)
        gci_buf_format(&text, " <= %lld", (long long)bounds->high);
    gci_view copy = gci_arena_copy(arena, gci_buf_view(&text));
    gci_buf_clear(&text);
    return copy;
}

/* Multiples above the value that are tried: another guard may bound them from below. */
#define MULTIPLES_MOST 64

static bool
holds_for_any(gci_trace const *trace, gci_hints const *hints)
{
    gcache_verdict verdict;

    for (size_t i = 0; i < trace->live_count && i < trace->trial_count; i++) {
        gci_trial const *trial = &trace->trials[i];
        if (trial->cut == GCI_CUT_NOTHING && trial->reason == GCACHE_REASON_GUARD_FALSE && trial->ranked->guards != NULL &&
            gci_guards_eval(trial->ranked->guards, hints, &verdict) == GCACHE_TRUE)
            return true;
    }
    return false;
}

/* Whether a multiple above the value, the other hints as they are, makes a candidate hold: only then padding helps. */
static bool
padding_helps(gci_journal_entry const *entry, gci_symbol_bounds const *bounds, gci_arena *arena)
{
    gci_hints const *asked = &entry->context.hints;
    gci_hint *items = gci_arena_array(arena, asked->count, sizeof *items), *varied = NULL;
    gci_hints tried = *asked;

    for (size_t i = 0; items != NULL && i < asked->count; i++) {
        items[i] = asked->items[i];
        if (gci_view_equal(items[i].name, bounds->name))
            varied = &items[i];
    }
    if (varied == NULL || varied->value.kind != GCI_KIND_INT || varied->value.i < 0 ||
        varied->value.i > INT32_MAX || bounds->modulus > INT32_MAX)
        return false;
    tried.items = items;
    int64_t value = varied->value.i;
    for (size_t i = 0; i < MULTIPLES_MOST; i++) {
        value += bounds->modulus - value % bounds->modulus;
        varied->value = gci_number_int(value);
        if (holds_for_any(&entry->trace, &tried))
            return true;
    }
    return false;
}

/* From the normal form of what decides the guard. */
static void
note_bounds(gci_journal_entry const *entry, gci_symbol_bounds const *bounds, gci_advice_case *out)
{
    gcache_request const *request = &entry->context.request;
    bool one_side = (bounds->low == INT64_MIN) != (bounds->high == INT64_MAX);

    out->values[GCI_VALUE_SOURCE] = bounds->name;
    gci_advice_name(out, gci_pairs_value(request->sources, request->sources_count, bounds->name));
    if (bounds->modulus != 0 && bounds->low == 0 && bounds->high == 0) {
        out->facts |= padding_helps(entry, bounds, out->arena) ? GCI_FACT_BIT(MODULUS) : 0;
        out->values[GCI_VALUE_MODULUS] = number(out->arena, bounds->modulus);
    } else if (bounds->modulus == 0 && bounds->low == bounds->high) {
        out->facts |= GCI_FACT_BIT(EQUALITY);
        out->values[GCI_VALUE_LOW] = number(out->arena, bounds->low);
    } else if (bounds->modulus == 0 && one_side) {
        out->facts |= GCI_FACT_BIT(BOUND);
        out->values[GCI_VALUE_BOUND] = bound_text(out->arena, bounds, out->values[GCI_VALUE_SOURCE]);
    }
}

void
gci_advice_on_guard(gci_journal_entry const *entry, gci_trial const *trial, gci_advice_case *out)
{
    gci_symbol_bounds bounds;
    gci_buf part;

    if (trial->ranked->guards == NULL || trial->verdict.guard >= trial->ranked->candidate->record.guard_count)
        return;
    gci_buf_init(&part, GCI_BUF_NO_LIMIT);
    gci_hints named = entry->context.hints;
    named.shown = NULL; /* as the guard is written, to be read again */
    gci_guards_explain(trial->ranked->guards, trial->verdict.guard, &named, &part, NULL);
    gci_view text = gci_arena_copy(out->arena, gci_buf_view(&part)); /* bounds point into it */
    gci_buf_clear(&part);
    if (gci_view_contains(text, INT32_LIMIT))
        out->facts |= GCI_FACT_BIT(INT32);
    /* Calls and what is put in parentheses are a compiler's own arithmetic, but for remainders, as (x % 8) == 0. */
    else if (gci_bounds_of_symbol(text, &bounds) && (bounds.modulus != 0 || !gci_view_contains(text, "(")))
        note_bounds(entry, &bounds, out);
}
