/*
 * The verifier: programs that a damaged or hostile file could hold are refused, each for one broken invariant of
 * program.h; and saved programs are read back as they were, or refused where bytes are missing.
 */
#include "guards/guards.h"
#include "guards/value/limits.h"
#include "guards/program/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Registers 0 and 1 are names; 2, 3 and 4 are to compute with. */
#define NAMES 2
#define REGISTERS 5
#define MAX_CODE 6

typedef struct program_case {
    char const *what;
    bool good;
    uint32_t guards;
    uint32_t starts[2];
    gci_instruction code[MAX_CODE]; /* ends with the first HOLD that nothing follows */
    uint32_t count;
} program_case;

#define I(o, ...) { .op = GCI_OP_##o, __VA_ARGS__ }
#define HOLD I(HOLD, .a = 0)
/* Immediate, target and second immediate of what jumps. */
#define TO(target) .y = (target)

static program_case const cases[] = {
    { "nothing but HOLD", true, 1, { 0 }, { HOLD }, 1 },
    { "a value", true, 1, { 0 }, { I(ADD, .a = 2, .b = 0, .c = 1), I(UNLESS, .a = 2), HOLD }, 3 },
    { "a jump over an instruction", true, 1, { 0 }, { I(IF, .a = 0, TO(2)), I(UNLESS, .a = 1), HOLD }, 3 },
    { "both ways write", true, 1, { 0 },
      { I(IF, .a = 0, TO(3)), I(MOVE, .a = 2, .b = 0), I(JUMP, TO(4)), I(MOVE, .a = 2, .b = 1), I(UNLESS, .a = 2), HOLD }, 6 },
    { "two guards", true, 2, { 0, 1 }, { I(UNLESS, .a = 0), I(UNLESS, .a = 1), HOLD }, 3 },
    { "a call", true, 1, { 0 }, { I(CALL, .a = 2, .b = 0, .c = 1, .imm = 3), I(UNLESS, .a = 2), HOLD }, 3 },

    { "no end", false, 1, { 0 }, { I(UNLESS, .a = 0) }, 1 },
    { "no code", false, 0, { 0 }, { HOLD }, 0 },
    { "an unknown instruction", false, 1, { 0 }, { { .op = GCI_OPCODE_COUNT }, HOLD }, 2 },
    { "the largest instruction", false, 1, { 0 }, { { .op = UINT16_MAX }, HOLD }, 2 },
    { "a name is written", false, 1, { 0 }, { I(CONST, .a = 1, .imm = 7), HOLD }, 2 },
    { "a register that isn't there is written", false, 1, { 0 }, { I(CONST, .a = REGISTERS, .imm = 7), HOLD }, 2 },
    { "the largest register is written", false, 1, { 0 }, { I(MOVE, .a = UINT16_MAX, .b = 0), HOLD }, 2 },
    { "a register that isn't there is read", false, 1, { 0 }, { I(MOVE, .a = 2, .b = REGISTERS), HOLD }, 2 },
    { "an unwritten register is read", false, 1, { 0 }, { I(MOVE, .a = 2, .b = 3), HOLD }, 2 },
    { "an unwritten register decides", false, 1, { 0 }, { I(UNLESS, .a = 4), HOLD }, 2 },
    { "an unwritten second operand", false, 1, { 0 }, { I(UNLESS_EQ, .a = 0, .b = 3), HOLD }, 2 },
    { "an unwritten third operand", false, 1, { 0 }, { I(ADD_MUL, .a = 2, .b = 0, .c = 3, .imm = 2), HOLD }, 2 },
    { "one way doesn't write", false, 1, { 0 },
      { I(IF, .a = 0, TO(2)), I(MOVE, .a = 2, .b = 0), I(UNLESS, .a = 2), HOLD }, 4 },
    { "the other way doesn't write", false, 1, { 0 },
      { I(IF, .a = 0, TO(3)), I(MOVE, .a = 2, .b = 0), I(JUMP, TO(3)), I(UNLESS, .a = 2), HOLD }, 5 },
    { "a jump back", false, 1, { 0 }, { I(UNLESS, .a = 0), I(UNLESS, .a = 0), I(JUMP, TO(1)), HOLD }, 4 },
    { "a jump to itself", false, 1, { 0 }, { I(UNLESS, .a = 0), I(JUMP, TO(1)), HOLD }, 3 },
    { "a jump beyond the end", false, 1, { 0 }, { I(IF, .a = 0, TO(2)), HOLD }, 2 },
    { "a jump far away", false, 1, { 0 }, { I(IF_EQ_I, .a = 0, TO(UINT32_MAX)), HOLD }, 2 },
    { "an exception that isn't there", false, 1, { 0 }, { I(RAISE, .a = GCI_EXCEPTION_COUNT, .imm = 0), HOLD }, 2 },
    { "no exception", false, 1, { 0 }, { I(RAISE, .a = 0, .imm = 0), HOLD }, 2 },
    { "a message that isn't there", false, 1, { 0 }, { I(RAISE, .a = 1, .imm = 1), HOLD }, 2 },
    { "a negative message", false, 1, { 0 }, { I(RAISE, .a = 1, .imm = -1), HOLD }, 2 },
    { "a constant that isn't there", false, 1, { 0 }, { I(POOL, .a = 2, .imm = 1), HOLD }, 2 },
    { "a negative constant", false, 1, { 0 }, { I(POOL, .a = 2, .imm = INT64_MIN), HOLD }, 2 },
    { "a name that isn't there is needed", false, 1, { 0 }, { I(NEED, .a = NAMES), HOLD }, 2 },
    { "a function that isn't there", false, 1, { 0 }, { I(CALL, .a = 2, .b = 0, .c = 1, .imm = 10000), HOLD }, 2 },
    { "a negative function", false, 1, { 0 }, { I(CALL, .a = 2, .b = 0, .c = 1, .imm = -1), HOLD }, 2 },
    { "an instruction's function called", false, 1, { 0 }, { I(CALL, .a = 2, .b = 0, .c = 1, .imm = 0), HOLD }, 2 },
    { "too many arguments", false, 1, { 0 }, { I(CALL, .a = 2, .b = 0, .c = 2, .imm = 3), HOLD }, 2 },
    { "arguments beyond the registers", false, 1, { 0 }, { I(CALL, .a = 2, .b = 4, .c = 2, .imm = 5), HOLD }, 2 },
    { "no arguments, far away", false, 1, { 0 }, { I(CALL, .a = 2, .b = 60000, .c = 0, .imm = 3), HOLD }, 2 },
    { "division by an immediate 0", false, 1, { 0 }, { I(FLOORDIV_I, .a = 2, .b = 0, .imm = 0), HOLD }, 2 },
    { "remainder by an immediate 0", false, 1, { 0 }, { I(MOD_I, .a = 2, .b = 0, .imm = 0), HOLD }, 2 },
    { "a fused remainder by 0", false, 1, { 0 }, { I(UNLESS_MOD_EQ, .a = 0, .x = 0), HOLD }, 2 },
    { "a fused remainder by 0, jumping", false, 1, { 0 }, { I(IF_MOD_NE, .a = 0, .x = 0), HOLD }, 2 },
    { "a shift by 63", false, 1, { 0 }, { I(FLOORDIV_2, .a = 2, .b = 0, .imm = 63), HOLD }, 2 },
    { "a shift by 0", false, 1, { 0 }, { I(MOD_2, .a = 2, .b = 0, .imm = 0), HOLD }, 2 },
    { "a negative shift", false, 1, { 0 }, { I(MOD_2, .a = 2, .b = 0, .imm = -1), HOLD }, 2 },
    { "unreachable code outside the registers", false, 1, { 0 }, { I(JUMP, TO(2)), I(MOVE, .a = 2, .b = 999), HOLD }, 3 },
    { "guards out of order", false, 2, { 1, 0 }, { I(UNLESS, .a = 0), I(UNLESS, .a = 1), HOLD }, 3 },
    { "a guard that begins late", false, 1, { 1 }, { I(UNLESS, .a = 0), HOLD }, 2 },
    { "a guard beyond the end", false, 2, { 0, 2 }, { I(UNLESS, .a = 0), HOLD }, 2 },
};

static bool
verify(program_case const *c, uint32_t names, uint32_t registers)
{
    gci_bound_name bound[NAMES] = { { .is_key = false } };
    gci_number constant = gci_number_float(0.5);
    gci_view message = gci_view_text("no");
    gci_instruction code[MAX_CODE];
    uint32_t starts[2];
    gci_arena arena;

    memcpy(code, c->code, sizeof code);
    memcpy(starts, c->starts, sizeof starts);
    gci_program program = { .code = code, .code_count = c->count, .names = bound, .name_count = names,
                            .constants = &constant, .constant_count = 1, .messages = &message, .message_count = 1,
                            .starts = starts, .guard_count = c->guards, .register_count = registers };
    gci_arena_init(&arena, SIZE_MAX / 2);
    bool good = gci_program_verify(&program, &arena);
    gci_arena_clear(&arena);
    return good;
}

static void
hostile_programs_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++)
        if (verify(&cases[i], NAMES, REGISTERS) != cases[i].good)
            fail_msg("%s: %s", cases[i].what, cases[i].good ? "refused" : "let through");
    assert_false(verify(&cases[0], NAMES, NAMES - 1));
    assert_false(verify(&cases[0], GCI_GUARD_MAX_NAMES + 1, GCI_GUARD_MAX_REGISTERS));
    assert_false(verify(&cases[0], NAMES, GCI_GUARD_MAX_REGISTERS + 1));
}

/* Every fused instruction, constants of every kind, calls, exceptions, several guards. */
static char const *const saved[] = {
    "2 <= s0 and s0 <= 1024 and s0 % 8 == 0 and s1 == 4*s0",
    "s0 == 1 or L['t1'] == 2 and (s1 if s0 else L['t1']) > 3",
    "max(s0, math.floor(0.5)) == round(s1, 2) or foo(s0)",
    "s0 != 1180591620717411303424 and (-8.0)**0.5 != 2j and s1 != None",
};

static gci_guards *
compile(void)
{
    gci_view texts[COUNT(saved)];
    gci_guards *guards = NULL;

    for (size_t i = 0; i < COUNT(saved); i++)
        texts[i] = gci_view_text(saved[i]);
    assert_int_equal(gci_guards_compile(texts, COUNT(saved), (gci_naming){ NULL, NULL }, &guards, NULL), GCACHE_OK);
    return guards;
}

static void
programs_are_read_back(void **state)
{
    gci_guards *guards = compile(), *loaded = NULL;
    gci_buf bytes, again, shown, shown_again;

    (void)state;
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    gci_buf_init(&again, GCI_BUF_NO_LIMIT);
    gci_buf_init(&shown, GCI_BUF_NO_LIMIT);
    gci_buf_init(&shown_again, GCI_BUF_NO_LIMIT);
    gci_guards_save(guards, &bytes);
    assert_int_equal(gci_guards_load(gci_buf_view(&bytes), &loaded, NULL), GCACHE_OK);
    gci_guards_save(loaded, &again);
    assert_int_equal(bytes.size, again.size);
    assert_memory_equal(bytes.data, again.data, bytes.size);
    gci_guards_show(guards, GCACHE_GUARDS_PROGRAM, &shown);
    gci_guards_show(loaded, GCACHE_GUARDS_PROGRAM, &shown_again);
    assert_true(gci_view_equal(gci_buf_view(&shown), gci_buf_view(&shown_again)));
    gci_guards_free(loaded);

    /* Cut short anywhere, or with a byte too many: refused. */
    for (size_t size = 0; size < bytes.size; size++) {
        gcache_status status = gci_guards_load(gci_view_of(bytes.data, size), &loaded, NULL);
        assert_true(status == GCACHE_ERROR_CORRUPT || (size < 4 && status == GCACHE_ERROR_FORMAT));
    }
    gci_buf_append_char(&bytes, '\0');
    assert_int_equal(gci_guards_load(gci_buf_view(&bytes), &loaded, NULL), GCACHE_ERROR_CORRUPT);
    gci_buf_clear(&bytes);
    gci_buf_clear(&again);
    gci_buf_clear(&shown);
    gci_buf_clear(&shown_again);
    gci_guards_free(guards);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(hostile_programs_are_refused),
        cmocka_unit_test(programs_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
