/*
 * Guard texts, one a line: what compiles can be evaluated, saved, loaded, listed and explained, and the ways to evaluate
 * agree: the fast path, the exact one, and the program that was loaded.
 */
#include "guards/guards.h"
#include "guards/value/limits.h"
#include "guards/program/program.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

#define MOST_GUARDS 16

/* The search for the nearest hints takes a hundred times as long as all the rest: of texts of every eighth length. */
#define LONGEST_SEARCHED 200
#define SEARCHED_OF 8

static gcache_hint const sizes[] = { { "s0", 16 }, { "s1", 0 }, { "t0", 12 }, { "t1", -7 }, { "b", INT64_MAX },
                                    { "x", INT64_MIN } };
static gcache_hint_literal const others[] = { { "t2", "0.5" }, { "t3", "None" }, { "t4", "True" },
                                             { "n", "1180591620717411303424" } };

static gcache_hints const hint_sets[] = {
    { sizes, 6, NULL, 0 },
    { sizes, 6, others, 4 },
    { NULL, 0, NULL, 0 },
};

static size_t
split_lines(gci_view text, gci_view *out_lines)
{
    size_t count = 0, begin = 0;

    for (size_t i = 0; i <= text.size && count < MOST_GUARDS; i++) {
        if (i < text.size && text.data[i] != '\n')
            continue;
        out_lines[count++] = gci_view_of(text.data + begin, i - begin);
        begin = i + 1;
    }
    return count;
}

static void
require(bool condition)
{
    if (!condition)
        abort();
}

static bool
same_verdict(gcache_verdict const *a, gcache_verdict const *b)
{
    return a->truth == b->truth && a->guard == b->guard && strcmp(a->exception, b->exception) == 0
           && strcmp(a->message, b->message) == 0;
}

/* The exact path alone comes to what evaluation came to, whichever path it took. */
static void
compare_exact(gci_guards const *guards, gci_hints const *hints, gcache_verdict const *verdict)
{
    gci_number const *values[GCI_GUARD_MAX_NAMES];
    gci_calc calc;
    uint32_t at = 0;

    if (gci_program_is_shadowed(&guards->program, hints))
        return;
    for (uint32_t i = 0; i < guards->program.name_count; i++)
        values[i] = gci_hints_find(hints, guards->program.names[i].name);
    gci_calc_init(&calc);
    require(gci_exact_run(&guards->program, values, &calc, &at) == verdict->truth);
    gci_calc_clear(&calc);
}

static void
explain_all(gci_guards const *guards, gci_hints const *hints)
{
    gci_buf part, values;
    gcache_verdict verdict;

    gci_guard_part parts[4];
    gci_arena arena;

    gci_arena_init(&arena, SIZE_MAX / 2);
    gci_buf_init(&part, GCI_BUF_NO_LIMIT);
    gci_buf_init(&values, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < guards->count; i++) {
        bool holds = gci_guards_eval_one(guards, i, hints, &verdict) == GCACHE_TRUE;
        size_t count = gci_guards_parts(guards, i, hints, &arena, parts, 4);
        require((count == 0) == holds);
        gci_guards_explain(guards, i, hints, &part, &values);
    }
    if (guards->texts[0].size < LONGEST_SEARCHED && guards->texts[0].size % SEARCHED_OF == 0)
        gci_guards_nearest(guards, hints, false, NULL, &values, NULL);
    gci_arena_clear(&arena);
    gci_buf_clear(&part);
    gci_buf_clear(&values);
}

static void
evaluate(gci_guards const *guards, gci_guards const *loaded)
{
    gcache_verdict verdict, again;
    gcache_error error;
    gci_hints hints;

    for (size_t i = 0; i < sizeof hint_sets / sizeof hint_sets[0]; i++) {
        gci_hints_init(&hints);
        if (gci_hints_read(&hints, &hint_sets[i], (gci_naming){ NULL, NULL }, &error) != GCACHE_OK)
            abort();
        gci_guards_eval(guards, &hints, &verdict);
        compare_exact(guards, &hints, &verdict);
        if (loaded != NULL) {
            gci_guards_eval(loaded, &hints, &again);
            require(same_verdict(&verdict, &again));
        }
        explain_all(guards, &hints);
        gci_hints_clear(&hints);
    }
}

/* NULL if the list isn't of the kind that is saved. It points into out_bytes. */
static gci_guards *
save_and_load(gci_guards const *guards, gci_buf *out_bytes)
{
    gci_guards *loaded = NULL;
    gcache_error error;

    gci_buf_init(out_bytes, GCI_BUF_NO_LIMIT);
    gci_guards_save(guards, out_bytes);
    gcache_status status = gci_guards_load(gci_buf_view(out_bytes), &loaded, &error);
    require(status == GCACHE_OK || status == GCACHE_ERROR_FORMAT);
    return loaded;
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    gci_view lines[MOST_GUARDS];
    size_t count = split_lines(gci_view_of((char const *)data, size), lines);
    gcache_error error;
    gci_guards *guards;
    gci_buf text, saved;

    if (gci_guards_compile(lines, count, (gci_naming){ NULL, NULL }, &guards, &error) != GCACHE_OK)
        return 0;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_guards_show(guards, GCACHE_GUARDS_PROGRAM, &text);
    gci_guards_show(guards, GCACHE_GUARDS_NORMAL, &text);
    gci_buf_clear(&text);
    gci_guards *loaded = save_and_load(guards, &saved);
    evaluate(guards, loaded);
    gci_guards_free(loaded);
    gci_guards_free(guards);
    gci_buf_clear(&saved);
    return 0;
}
