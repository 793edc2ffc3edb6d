/*
 * Runs a program on 64-bit integers. It does what exact.c does, or says that it can't tell: where a result leaves int64,
 * a value would be a float, or Python would raise.
 *
 * Dispatch is by computed goto where the compiler has it: each instruction ends in an indirect jump of its own, which
 * the processor predicts better than one shared jump. Elsewhere a switch in a loop does the same.
 */
#include "guards/program/program.h"

#include "base/check.h"
#include "guards/value/small.h"

#if defined(__GNUC__) && !defined(GCI_PORTABLE_DISPATCH)
#define GCI_COMPUTED_GOTO 1
#else
#define GCI_COMPUTED_GOTO 0
#endif

#define R registers
#define NEXT() (ip++)
#define JUMP() (ip = code + ip->y)
/* A jump of which the target may be failure. */
#define BRANCH(taken)                                                                                 \
    do {                                                                                              \
        if (__builtin_expect(!(taken), 1)) {                                                          \
            NEXT();                                                                                   \
        } else {                                                                                      \
            if (ip->y == 0)                                                                           \
                goto fail;                                                                            \
            JUMP();                                                                                   \
        }                                                                                             \
        DISPATCH();                                                                                   \
    } while (0)
#define CHECKED(done)                                                                                 \
    do {                                                                                              \
        if (__builtin_expect(!(done), 0))                                                             \
            goto unknown;                                                                             \
        NEXT();                                                                                       \
        DISPATCH();                                                                                   \
    } while (0)
#define PLAIN(statement)                                                                              \
    do {                                                                                              \
        statement;                                                                                    \
        NEXT();                                                                                       \
        DISPATCH();                                                                                   \
    } while (0)

#if GCI_COMPUTED_GOTO
#define CASE(name) at_##name
#define DISPATCH() goto *labels[ip->op]
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#else
#define CASE(name) case GCI_OP_##name
#define DISPATCH() goto dispatch /* `continue` would only leave the macros' own loops */
#endif

/* The six comparisons of one kind of instruction. */
#define COMPARISONS(prefix, suffix, taken, right)                                                     \
    CASE(prefix##_EQ##suffix) : BRANCH((R[ip->a] == (right)) == (taken));                             \
    CASE(prefix##_NE##suffix) : BRANCH((R[ip->a] != (right)) == (taken));                             \
    CASE(prefix##_LT##suffix) : BRANCH((R[ip->a] < (right)) == (taken));                              \
    CASE(prefix##_LE##suffix) : BRANCH((R[ip->a] <= (right)) == (taken));                             \
    CASE(prefix##_GT##suffix) : BRANCH((R[ip->a] > (right)) == (taken));                              \
    CASE(prefix##_GE##suffix) : BRANCH((R[ip->a] >= (right)) == (taken));

gci_fast_truth
gci_fast_run(gci_instruction const *code, int64_t *registers, uint32_t *out_at)
{
    gci_instruction const *ip = code;
    int64_t scaled;

#if GCI_COMPUTED_GOTO
    static void const *const labels[] = {
#define OPCODE(name, operands, op, effect) &&at_##name,
#include "guards/program/opcode.def"
#undef OPCODE
    };
    DISPATCH();
#else
dispatch:
    switch ((gci_opcode)ip->op) {
#endif

    CASE(HOLD) : return GCI_FAST_TRUE;
    CASE(JUMP) : if (ip->y == 0) goto fail;
    JUMP();
    DISPATCH();
    CASE(NEED) : PLAIN((void)0);
    CASE(RAISE) : goto unknown;
    CASE(POOL) : goto unknown;
    CASE(CALL) : goto unknown;
    CASE(TRUEDIV) : goto unknown;
    CASE(CONST) : PLAIN(R[ip->a] = ip->imm);
    CASE(MOVE) : PLAIN(R[ip->a] = R[ip->b]);
    CASE(NEG) : CHECKED(!__builtin_sub_overflow((int64_t)0, R[ip->b], &R[ip->a]));
    CASE(POS) : PLAIN(R[ip->a] = R[ip->b]);
    CASE(INVERT) : PLAIN(R[ip->a] = ~R[ip->b]);
    CASE(NOT) : PLAIN(R[ip->a] = R[ip->b] == 0);
    CASE(ABS) : CHECKED(R[ip->b] >= 0 ? (R[ip->a] = R[ip->b], true)
                                      : !__builtin_sub_overflow((int64_t)0, R[ip->b], &R[ip->a]));
    CASE(MAX) : PLAIN(R[ip->a] = R[ip->c] > R[ip->b] ? R[ip->c] : R[ip->b]);
    CASE(MIN) : PLAIN(R[ip->a] = R[ip->c] < R[ip->b] ? R[ip->c] : R[ip->b]);
    CASE(ADD) : CHECKED(!__builtin_add_overflow(R[ip->b], R[ip->c], &R[ip->a]));
    CASE(SUB) : CHECKED(!__builtin_sub_overflow(R[ip->b], R[ip->c], &R[ip->a]));
    CASE(MUL) : CHECKED(!__builtin_mul_overflow(R[ip->b], R[ip->c], &R[ip->a]));
    CASE(FLOORDIV) : CHECKED(R[ip->c] != 0 && gci_small_divide(R[ip->b], R[ip->c], &R[ip->a]));
    CASE(MOD) : CHECKED(R[ip->c] != 0 && (R[ip->a] = gci_small_modulo(R[ip->b], R[ip->c]), true));
    CASE(POW) : CHECKED(gci_small_power(R[ip->b], R[ip->c], &R[ip->a]));
    CASE(LSHIFT) : CHECKED(gci_small_shift_left(R[ip->b], R[ip->c], &R[ip->a]));
    CASE(RSHIFT) : CHECKED(R[ip->c] >= 0 && (R[ip->a] = R[ip->b] >> (R[ip->c] > 63 ? 63 : R[ip->c]), true));
    CASE(BITAND) : PLAIN(R[ip->a] = R[ip->b] & R[ip->c]);
    CASE(BITOR) : PLAIN(R[ip->a] = R[ip->b] | R[ip->c]);
    CASE(BITXOR) : PLAIN(R[ip->a] = R[ip->b] ^ R[ip->c]);
    CASE(EQ) : PLAIN(R[ip->a] = R[ip->b] == R[ip->c]);
    CASE(NE) : PLAIN(R[ip->a] = R[ip->b] != R[ip->c]);
    CASE(LT) : PLAIN(R[ip->a] = R[ip->b] < R[ip->c]);
    CASE(LE) : PLAIN(R[ip->a] = R[ip->b] <= R[ip->c]);
    CASE(GT) : PLAIN(R[ip->a] = R[ip->b] > R[ip->c]);
    CASE(GE) : PLAIN(R[ip->a] = R[ip->b] >= R[ip->c]);
    CASE(ADD_I) : CHECKED(!__builtin_add_overflow(R[ip->b], ip->imm, &R[ip->a]));
    CASE(MUL_I) : CHECKED(!__builtin_mul_overflow(R[ip->b], ip->imm, &R[ip->a]));
    CASE(FLOORDIV_I) : CHECKED(gci_small_divide(R[ip->b], ip->imm, &R[ip->a]));
    CASE(MOD_I) : PLAIN(R[ip->a] = gci_small_modulo(R[ip->b], ip->imm));
    CASE(FLOORDIV_2) : PLAIN(R[ip->a] = R[ip->b] >> ip->imm);
    CASE(MOD_2) : PLAIN(R[ip->a] = R[ip->b] & (((int64_t)1 << ip->imm) - 1));
    CASE(ADD_MUL) : CHECKED(!__builtin_mul_overflow(R[ip->c], ip->imm, &scaled)
                            && !__builtin_add_overflow(R[ip->b], scaled, &R[ip->a]));
    CASE(UNLESS) : BRANCH(R[ip->a] == 0);
    CASE(IF) : BRANCH(R[ip->a] != 0);
    COMPARISONS(UNLESS, , false, R[ip->b])
    COMPARISONS(IF, , true, R[ip->b])
    COMPARISONS(UNLESS, _I, false, ip->x)
    COMPARISONS(IF, _I, true, ip->x)
    CASE(UNLESS_RANGE) : BRANCH(R[ip->a] < ip->x || R[ip->a] > gci_instruction_z(ip));
    CASE(UNLESS_MOD_EQ) : BRANCH(gci_small_modulo(R[ip->a], ip->x) != gci_instruction_z(ip));
    CASE(UNLESS_MOD_NE) : BRANCH(gci_small_modulo(R[ip->a], ip->x) == gci_instruction_z(ip));
    CASE(IF_MOD_EQ) : BRANCH(gci_small_modulo(R[ip->a], ip->x) == gci_instruction_z(ip));
    CASE(IF_MOD_NE) : BRANCH(gci_small_modulo(R[ip->a], ip->x) != gci_instruction_z(ip));
    CASE(UNLESS_EQ_MUL) : if (__builtin_mul_overflow(R[ip->b], (int64_t)ip->x, &scaled)) goto unknown;
    BRANCH(R[ip->a] != scaled);

#if !GCI_COMPUTED_GOTO
    case GCI_OPCODE_COUNT: goto unknown;
    }
#endif
fail:
    *out_at = (uint32_t)(ip - code);
    return GCI_FAST_FALSE;
unknown:
    *out_at = (uint32_t)(ip - code);
    return GCI_FAST_UNKNOWN;
}

#if GCI_COMPUTED_GOTO
#pragma GCC diagnostic pop
#endif
