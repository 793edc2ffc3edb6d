/*
 * Guard lists: compiled once, evaluated many times.
 *
 * An evaluation runs on 64-bit integers first, which takes no memory and nearly always decides; what it can't tell, the
 * exact path does.
 */
#include "base/check.h"
#include "guards/text/hints.h"
#include "guards/value/limits.h"
#include "guards/program/program.h"

#include <stdio.h>
#include <stdlib.h>

void
gci_guards_free(gci_guards *guards)
{
    if (guards == NULL)
        return;
    gci_arena_clear(&guards->arena);
    free(guards);
}

/* A list with copies of the texts and no program yet. NULL without memory. */
static gci_guards *
new_guards(gci_view const *texts, size_t count)
{
    gci_guards *guards = calloc(1, sizeof *guards);

    if (guards == NULL)
        return NULL;
    gci_arena_init(&guards->arena, GCI_GUARD_PARSE_MEMORY);
    guards->count = count;
    guards->texts = gci_arena_array(&guards->arena, count, sizeof *guards->texts);
    for (size_t i = 0; i < count && guards->texts != NULL; i++)
        guards->texts[i] = gci_arena_copy(&guards->arena, texts[i]);
    if (!guards->arena.failed)
        return guards;
    gci_guards_free(guards);
    return NULL;
}

/* The trees are of no use once the program is there: they go with an arena of their own, the program is copied out. */
gcache_status
gci_guards_compile(gci_view const *texts, size_t count, gci_naming naming, gci_guards **out_guards, gcache_error *error)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += texts[i].size;
    if (size > GCI_GUARD_MAX_TEXT)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "guards of more than %zu characters", GCI_GUARD_MAX_TEXT);
    gci_guards *guards = new_guards(texts, count);
    if (guards == NULL)
        return gci_fail_memory(error);
    gci_compilation what = { .texts = guards->texts, .count = count, .naming = naming };
    gcache_status status = gci_program_compile(&what, &guards->arena, &guards->program, error);
    if (status != GCACHE_OK) {
        gci_guards_free(guards);
        return status;
    }
    *out_guards = guards;
    return GCACHE_OK;
}

/* ---- evaluating ---- */

static void
set_truth(gcache_verdict *verdict, gcache_truth truth, size_t guard)
{
    verdict->truth = truth;
    verdict->guard = guard;
    verdict->exception[0] = '\0';
    verdict->message[0] = '\0';
}

/* Binds the program's names to hints. false: not all of them are 64-bit integers (or booleans, which count as such). */
static bool
bind_names(gci_program const *program, gci_hints const *hints, gci_number const **values, int64_t *registers)
{
    bool all_small = true;

    for (uint32_t i = 0; i < program->name_count; i++) {
        values[i] = gci_hints_find_hashed(hints, program->names[i].name, program->names[i].hash);
        if (values[i] != NULL && gci_number_is_small(*values[i]))
            registers[i] = values[i]->i;
        else
            all_small = false;
    }
    return all_small;
}

static gcache_truth
run_exactly(gci_program const *program, gci_number const *const *values, gcache_verdict *verdict, size_t *out_memory)
{
    gci_calc calc;
    uint32_t at = 0;

    gci_calc_init(&calc);
    gcache_truth truth = gci_exact_run(program, values, &calc, &at);
    set_truth(verdict, truth, truth == GCACHE_TRUE ? program->guard_count : gci_program_guard_at(program, at));
    if (truth == GCACHE_RAISES) {
        snprintf(verdict->exception, sizeof verdict->exception, "%s", gci_exception_name(calc.raised));
        memcpy(verdict->message, calc.message, sizeof verdict->message);
    }
    *out_memory = gci_arena_used(&calc.arena);
    gci_calc_clear(&calc);
    return truth;
}

static gcache_truth
run(gci_program const *program, gci_hints const *hints, gcache_verdict *verdict, size_t *out_memory)
{
    gci_number const *values[GCI_GUARD_MAX_NAMES];
    int64_t registers[GCI_GUARD_MAX_REGISTERS];
    uint32_t at = 0;

    GCI_ASSERT(program->register_count <= GCI_GUARD_MAX_REGISTERS && program->name_count <= GCI_GUARD_MAX_NAMES);
    *out_memory = 0;
    bool all_small = bind_names(program, hints, values, registers);
    if (all_small && !program->exact_only) {
        switch (gci_fast_run(program->code, registers, &at)) {
        case GCI_FAST_TRUE:
            set_truth(verdict, GCACHE_TRUE, program->guard_count);
            return GCACHE_TRUE;
        case GCI_FAST_FALSE:
            set_truth(verdict, GCACHE_FALSE, gci_program_guard_at(program, at));
            return GCACHE_FALSE;
        case GCI_FAST_UNKNOWN:
            break;
        }
    }
    return run_exactly(program, values, verdict, out_memory);
}

bool
gci_program_is_shadowed(gci_program const *program, gci_hints const *hints)
{
    for (uint32_t i = 0; i < program->callee_count; i++)
        if (gci_hints_find(hints, program->callees[i]) != NULL)
            return true;
    return false;
}

static gcache_truth
compile_and_run(gci_compilation const *what, gci_hints const *hints, gcache_verdict *verdict)
{
    gci_program program;
    gci_arena arena;
    size_t memory;
    gcache_truth truth = GCACHE_RAISES;

    gci_arena_init(&arena, GCI_GUARD_PARSE_MEMORY);
    if (gci_program_compile(what, &arena, &program, NULL) == GCACHE_OK) {
        truth = run(&program, hints, verdict, &memory);
    } else {
        set_truth(verdict, truth, 0);
        snprintf(verdict->exception, sizeof verdict->exception, "%s", gci_exception_name(GCI_RAISED_MEMORY));
    }
    gci_arena_clear(&arena);
    return truth;
}

gcache_truth
gci_guards_eval_plain(gci_guards const *guards, gci_hints const *hints, gcache_verdict *out_verdict, size_t *out_memory)
{
    return run(&guards->program, hints, out_verdict, out_memory);
}

gcache_truth
gci_guards_eval(gci_guards const *guards, gci_hints const *hints, gcache_verdict *out_verdict)
{
    size_t memory;

    if (!gci_program_is_shadowed(&guards->program, hints))
        return gci_guards_eval_plain(guards, hints, out_verdict, &memory);
    gci_naming naming = { .rename = gci_guards_bound_name, .state = guards };
    gci_compilation what = { .texts = guards->texts, .count = guards->count, .naming = naming, .shadows = hints };
    return compile_and_run(&what, hints, out_verdict);
}

bool
gci_guards_value(gci_guards const *guards, gci_ast *tree, gci_hints const *hints, gci_calc *calc, gci_number *out)
{
    gci_naming naming = { .rename = gci_guards_bound_name, .state = guards };
    gci_compilation what = { .naming = naming, .shadows = hints };
    gci_number const *values[GCI_GUARD_MAX_NAMES];
    int64_t registers[GCI_GUARD_MAX_REGISTERS];
    gci_program program;
    uint16_t result;

    /* The program lives as long as its value, which may be one of its constants. */
    if (gci_program_compile_tree(&what, tree, &calc->arena, &program, &result) != GCACHE_OK)
        return gci_raise_memory(calc);
    bind_names(&program, hints, values, registers);
    return gci_exact_value(&program, values, calc, result, out);
}

gci_view
gci_guards_bound_name(void const *guards_, gci_view text)
{
    gci_program const *program = &((gci_guards const *)guards_)->program;

    for (uint32_t i = 0; i < program->name_count; i++)
        if (gci_view_equal(program->names[i].text, text))
            return program->names[i].name;
    return text;
}

/* A guard's own code relies on what those before it computed; alone it is compiled anew, which explain can afford. */
gcache_truth
gci_guards_eval_one(gci_guards const *guards, size_t index, gci_hints const *hints, gcache_verdict *out_verdict)
{
    gci_naming naming = { .rename = gci_guards_bound_name, .state = guards };
    gci_compilation what = { .texts = &guards->texts[index], .count = 1, .naming = naming, .shadows = hints };

    GCI_ASSERT(index < guards->count);
    gcache_truth truth = compile_and_run(&what, hints, out_verdict);
    out_verdict->guard = index;
    return truth;
}

/* ---- what is in a list ---- */

gci_specificity
gci_guards_specificity(gci_guards const *guards)
{
    return (gci_specificity){ guards->program.equalities, guards->program.conjuncts };
}

size_t
gci_guards_name_count(gci_guards const *guards)
{
    return guards->program.name_count;
}

gci_view
gci_guards_name(gci_guards const *guards, size_t index)
{
    return guards->program.names[index].name;
}

bool
gci_guards_reads(gci_guards const *guards, gci_view bound_name)
{
    for (size_t i = 0; i < gci_guards_name_count(guards); i++)
        if (gci_view_equal(gci_guards_name(guards, i), bound_name))
            return true;
    return false;
}
