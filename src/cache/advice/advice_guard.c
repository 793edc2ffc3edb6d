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

/* ---- multiples ---- */

/* Candidates whose multiples are tried: each is asked about each. */
#define TRIED_MOST 64

static bool
is_live_failure(gci_trace const *trace, gci_trial const *trial)
{
    return !gci_trial_is_evicted(trace, trial) && trial->reason == GCACHE_REASON_GUARD_FALSE && trial->ranked->guards != NULL;
}

static bool
holds_for_any(gci_trace const *trace, gci_hints const *hints)
{
    gcache_verdict verdict;

    for (size_t i = 0; i < trace->trial_count; i++) {
        gci_trial const *trial = &trace->trials[i];
        if (trial->cut == GCI_CUT_NOTHING && is_live_failure(trace, trial) &&
            gci_guards_eval(trial->ranked->guards, hints, &verdict) == GCACHE_TRUE)
            return true;
    }
    return false;
}

/* The part of a candidate's guards that decided, as it is written, in the arena. Empty: none did. */
static gci_view
deciding_part(gci_journal_entry const *entry, gci_trial const *trial, gci_arena *arena)
{
    gci_hints named = entry->context.hints;
    gci_buf part;

    if (trial->ranked->guards == NULL || trial->verdict.guard >= trial->ranked->candidate->record.guard_count)
        return (gci_view){ 0 };
    gci_buf_init(&part, GCI_BUF_NO_LIMIT);
    named.shown = NULL; /* to be read again */
    gci_guards_explain(trial->ranked->guards, trial->verdict.guard, &named, &part, NULL);
    gci_view text = gci_arena_copy(arena, gci_buf_view(&part));
    gci_buf_clear(&part);
    return text;
}

/* A guard for multiples, and nothing else. */
static bool
wants_multiples(gci_symbol_bounds const *bounds)
{
    return bounds->modulus > 0 && bounds->low == 0 && bounds->high == 0;
}

/* What is known of the multiples that candidates want. */
typedef struct multiples {
    gci_journal_entry const *entry;
    gci_symbol_bounds const *bounds; /* of the candidate that decided */
    gci_arena *arena;
    gci_hints tried;  /* those that were asked for, but for */
    gci_hint *varied; /* the one of that name */
    int64_t value;    /* what it was */
    int64_t least;    /* the next multiple that hits; 0: none does */
    bool every;       /* candidate wants the same */
} multiples;

/* false: there is none, or it would be of no size. */
static bool
next_multiple(int64_t value, int64_t modulus, int64_t *out)
{
    if (value < 0 || value > INT32_MAX || modulus > INT32_MAX)
        return false;
    *out = value + modulus - value % modulus;
    return true;
}

static void
try_candidate(multiples *m, gci_trial const *trial)
{
    gci_symbol_bounds bounds;
    gci_view part = is_live_failure(&m->entry->trace, trial) ? deciding_part(m->entry, trial, m->arena) : (gci_view){ 0 };
    bool wants = part.size != 0 && gci_bounds_of_symbol(part, &bounds) && wants_multiples(&bounds) &&
                 gci_view_equal(bounds.name, m->bounds->name);
    int64_t multiple;

    m->every = m->every && wants && bounds.modulus == m->bounds->modulus;
    if (!wants || !next_multiple(m->value, bounds.modulus, &multiple) || (m->least != 0 && m->least <= multiple))
        return;
    m->varied->value = gci_number_int(multiple);
    if (holds_for_any(&m->entry->trace, &m->tried))
        m->least = multiple;
}

static void
find_multiple(multiples *m)
{
    gci_trace const *trace = &m->entry->trace;

    m->every = trace->trial_count >= trace->live_count && trace->live_count <= TRIED_MOST;
    for (size_t i = 0; i < trace->trial_count && i < TRIED_MOST; i++)
        if (!gci_trial_is_evicted(trace, &trace->trials[i]))
            try_candidate(m, &trace->trials[i]);
}

/* Padding helps where the next multiple hits, the other hints as they are: another guard may exclude it. */
static void
note_multiples(gci_journal_entry const *entry, gci_symbol_bounds const *bounds, gci_advice_case *out)
{
    gci_hints const *asked = &entry->context.hints;
    multiples m = { .entry = entry, .bounds = bounds, .arena = out->arena, .tried = *asked };
    gci_hint *items = gci_arena_array(out->arena, asked->count, sizeof *items);

    for (size_t i = 0; items != NULL && i < asked->count; i++) {
        items[i] = asked->items[i];
        if (gci_view_equal(items[i].name, bounds->name) && items[i].value.kind == GCI_KIND_INT)
            m.varied = &items[i];
    }
    if (m.varied == NULL)
        return;
    m.tried.items = items;
    m.value = m.varied->value.i;
    find_multiple(&m);
    if (m.least == 0)
        return;
    out->facts |= GCI_FACT_BIT(MODULUS) | (m.every ? GCI_FACT_BIT(EVERY) : 0);
    out->values[GCI_VALUE_MODULUS] = number(out->arena, bounds->modulus);
    out->values[GCI_VALUE_MULTIPLE] = number(out->arena, m.least);
}

/* ---- all of it ---- */

/* From the normal form of what decides the guard. */
static void
note_bounds(gci_journal_entry const *entry, gci_symbol_bounds const *bounds, gci_advice_case *out)
{
    gcache_request const *request = &entry->context.request;
    bool one_side = (bounds->low == INT64_MIN) != (bounds->high == INT64_MAX);

    out->values[GCI_VALUE_SOURCE] = bounds->name;
    gci_advice_name(out, gci_pairs_value(request->sources, request->sources_count, bounds->name));
    if (wants_multiples(bounds)) {
        note_multiples(entry, bounds, out);
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
    gci_view text = deciding_part(entry, trial, out->arena); /* bounds point into it */

    if (text.size == 0)
        return;
    if (gci_view_contains(text, INT32_LIMIT))
        out->facts |= GCI_FACT_BIT(INT32);
    /* Calls and what is put in parentheses are a compiler's own arithmetic, but for remainders, as (x % 8) == 0. */
    else if (gci_bounds_of_symbol(text, &bounds) && (bounds.modulus != 0 || !gci_view_contains(text, "(")))
        note_bounds(entry, &bounds, out);
}
