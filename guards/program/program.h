/*
 * The register program of a guard list, and what makes, checks and runs it.
 *
 * Invariants, which compile_tree.c keeps and verify.c proves of a program that was loaded:
 *  1. Every jump goes forward and lands inside the code; the last instruction is HOLD.
 *  2. Registers below name_count are names and never written; the others are written before they are read on every path.
 *  3. Indices of functions, constants, messages and exceptions exist; a call has as many arguments as its function takes.
 *  4. starts[i] is where guard i begins; they don't fall, and no register is read in a guard that wasn't written before it
 *     begins or in it.
 *
 * A program is immutable: any number of threads may run it.
 */
#ifndef GCI_GUARDS_PROGRAM_H
#define GCI_GUARDS_PROGRAM_H

#include "base/fields.h"
#include "guards/program/instruction.h"
#include "guards/program/list.h"
#include "guards/text/ast.h"
#include "guards/value/number.h"

typedef struct gci_opcode_facts {
    char const *name;
    gci_operands operands;
    gci_operator op;
    char const *effect;
} gci_opcode_facts;

gci_opcode_facts const *gci_opcode_at(unsigned op);

/* How many of a, b and c are registers, from a on (of the arguments of a call the first); whether a is written; whether y
   is a target. */
typedef struct gci_operand_shape {
    uint8_t registers;
    bool writes, jumps;
} gci_operand_shape;

gci_operand_shape gci_opcode_shape(unsigned op);

/* The instruction for R[b] op constant, or HOLD if it has none. */
gci_instruction gci_immediate_form(gci_operator op, uint16_t b, int64_t imm);

typedef struct gci_bound_name {
    gci_view name; /* what hints call it, after renaming */
    uint64_t hash; /* of it; not saved */
    gci_view text; /* what the guard calls it */
    bool is_key;   /* L['t0'], whose absence is a KeyError; else s0 and NameError */
} gci_bound_name;

typedef struct gci_program {
    gci_instruction *code;
    gci_bound_name *names;
    gci_number *constants;
    gci_view *messages;
    uint32_t *starts;
    gci_view *callees; /* names that stand for functions and modules, renamed: a hint of that name takes their place */
    uint32_t code_count, name_count, constant_count, message_count, guard_count, callee_count;
    uint32_t register_count; /* names included */
    uint32_t equalities, conjuncts;
    bool exact_only; /* some instruction has no fast form: don't try */
} gci_program;

/* ---- making ---- */

typedef struct gci_compilation {
    gci_view const *texts;
    size_t count;
    gci_naming naming;
    gci_hints const *shadows; /* hints that take the place of functions of the same name; may be NULL */
} gci_compilation;

/* The program and all it points to live in the arena; texts must outlive it. */
gcache_status gci_program_compile(gci_compilation const *what, gci_arena *arena, gci_program *out, gcache_error *error);

/* The same for one tree, whose value is in *out_result at the end. */
gcache_status gci_program_compile_tree(gci_compilation const *what, gci_ast *tree, gci_arena *arena, gci_program *out,
                                       uint16_t *out_result);

/* true if the invariants hold. The arena is for scratch. */
bool gci_program_verify(gci_program const *program, gci_arena *arena);

/* ---- running ---- */

/* The fast path's answer: what holds for 64-bit integers, or that it can't tell. */
typedef enum gci_fast_truth { GCI_FAST_FALSE, GCI_FAST_TRUE, GCI_FAST_UNKNOWN } gci_fast_truth;

/*
 * Runs code on registers, the first of which hold the names' values. *out_at is the instruction that failed. Never reads
 * or writes outside registers[0..register_count).
 */
gci_fast_truth gci_fast_run(gci_instruction const *code, int64_t *registers, uint32_t *out_at);

/* The same with Python's exact meaning. values[i] is the value of name i, NULL where it is not bound. */
gcache_truth gci_exact_run(gci_program const *program, gci_number const *const *values, gci_calc *calc,
                           uint32_t *out_at);

/* The value that a program for one tree has in a register at its end. false: it raised. */
bool gci_exact_value(gci_program const *program, gci_number const *const *values, gci_calc *calc, uint16_t result,
                     gci_number *out);

/* The guard that an instruction belongs to. */
uint32_t gci_program_guard_at(gci_program const *program, uint32_t at);

/* ---- text ---- */

void gci_program_show(gci_program const *program, gci_buf *out);

/* ---- lists ---- */

struct gcache_guards {
    gci_arena arena;
    size_t count;
    gci_view *texts;
    gci_program program; /* lives in the arena */
};

/* Its saved form. */
extern gci_fields const gci_program_fields;

/* The value of a part of one of the texts, for explain. false: Python would raise; the calc has the exception. */
bool gci_guards_value(gci_guards const *guards, gci_ast *tree, gci_hints const *hints, gci_calc *calc, gci_number *out);

/* The bound name of what the texts call `text`: a naming's function, state is the list. */
gci_view gci_guards_bound_name(void const *guards, gci_view text);

/* A hint called `max` takes the place of the function, as a local variable does in Python: the program isn't for it. */
bool gci_program_is_shadowed(gci_program const *program, gci_hints const *hints);

#endif
