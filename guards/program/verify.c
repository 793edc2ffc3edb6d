/*
 * Proves the invariants of program.h, so that a program from a damaged or hostile file can't read or write outside its
 * registers, and ends.
 *
 * Which registers are written on every path is found in one pass, since jumps only go forward: what holds at a place is
 * what holds on all paths that arrive there.
 */
#include "guards/program/program.h"

#include "base/check.h"
#include "guards/value/functions.h"
#include "guards/value/limits.h"

typedef struct written {
    uint64_t bits[GCI_GUARD_MAX_REGISTERS / 64];
} written;

typedef struct check {
    gci_program const *program;
    gci_arena *arena;
    written now;
    written **arriving; /* by instruction; NULL: no jump lands there */
    bool reachable;     /* from the instruction before */
} check;

static bool
is_written(check const *c, uint32_t r)
{
    return r < c->program->register_count && (c->now.bits[r / 64] >> r % 64 & 1) != 0;
}

/* ---- operands ---- */

static bool
check_destination(check *c, uint32_t r)
{
    if (r < c->program->name_count || r >= c->program->register_count)
        return false;
    c->now.bits[r / 64] |= (uint64_t)1 << r % 64;
    return true;
}

static bool
check_call(check *c, gci_instruction const *i)
{
    if (i->imm < 0 || (uint64_t)i->imm >= gci_function_count())
        return false;
    gci_function const *function = gci_function_at((size_t)i->imm);
    if (function->kind != GCI_FUNCTION_CALLED || i->c < function->least || i->c > function->most || (i->c == 0 && i->b != 0))
        return false;
    for (uint32_t k = 0; k < i->c; k++)
        if (!is_written(c, (uint32_t)i->b + k) || (i->c > 1 && (uint32_t)i->b + k < c->program->name_count))
            return false;
    return check_destination(c, i->a);
}

/* Immediates that an instruction divides or shifts by. */
static bool
check_immediate(gci_instruction const *i)
{
    switch (i->op) {
    case GCI_OP_FLOORDIV_I:
    case GCI_OP_MOD_I: return i->imm != 0;
    case GCI_OP_FLOORDIV_2:
    case GCI_OP_MOD_2: return i->imm >= 1 && i->imm <= 62;
    case GCI_OP_UNLESS_MOD_EQ:
    case GCI_OP_UNLESS_MOD_NE:
    case GCI_OP_IF_MOD_EQ:
    case GCI_OP_IF_MOD_NE: return i->x != 0;
    default: return true;
    }
}

static bool
check_load(check *c, gci_instruction const *i)
{
    bool exists = i->op == GCI_OP_CONST || (i->imm >= 0 && i->imm < (int64_t)c->program->constant_count);

    return exists && check_destination(c, i->a);
}

static bool
check_raise(check const *c, gci_instruction const *i)
{
    return i->a > GCI_RAISED_NONE && i->a < GCI_EXCEPTION_COUNT && i->imm >= 0
           && i->imm < (int64_t)c->program->message_count;
}

static bool
check_operands(check *c, gci_instruction const *i)
{
    gci_operand_shape shape = gci_opcode_shape(i->op);
    uint16_t const fields[] = { i->a, i->b, i->c };

    switch (gci_opcode_at(i->op)->operands) {
    case GCI_R_I: return check_raise(c, i);
    case GCI_S: return i->a < c->program->name_count;
    case GCI_D_I: return check_load(c, i);
    case GCI_CALL: return check_call(c, i);
    default: break;
    }
    for (unsigned k = shape.writes; k < shape.registers; k++)
        if (!is_written(c, fields[k]))
            return false;
    return !shape.writes || check_destination(c, i->a);
}

/* ---- paths ---- */

/* The registers written here are written at the target as well. */
static bool
arrive(check *c, uint32_t target)
{
    written **there = &c->arriving[target];

    if (*there == NULL) {
        *there = gci_arena_alloc(c->arena, sizeof **there);
        if (*there == NULL)
            return false;
        **there = c->now;
        return true;
    }
    for (size_t i = 0; i < GCI_GUARD_MAX_REGISTERS / 64; i++)
        (*there)->bits[i] &= c->now.bits[i];
    return true;
}

static void
join(check *c, written const *arriving)
{
    if (arriving == NULL)
        return;
    for (size_t i = 0; i < GCI_GUARD_MAX_REGISTERS / 64; i++)
        c->now.bits[i] = c->reachable ? c->now.bits[i] & arriving->bits[i] : arriving->bits[i];
    c->reachable = true;
}

static bool
check_instruction(check *c, uint32_t at)
{
    gci_instruction const *i = &c->program->code[at];

    if (i->op >= GCI_OPCODE_COUNT || !check_immediate(i))
        return false;
    join(c, c->arriving[at]);
    /* Unreachable code is never run: anything goes, within the registers. */
    if (!c->reachable)
        memset(&c->now, 0xff, sizeof c->now);
    if (!check_operands(c, i))
        return false;
    if (gci_opcode_shape(i->op).jumps && i->y != 0) {
        if (i->y <= at || i->y >= c->program->code_count || (c->reachable && !arrive(c, i->y)))
            return false;
    }
    if (i->op == GCI_OP_JUMP || i->op == GCI_OP_RAISE)
        c->reachable = false;
    return true;
}

static bool
check_shape(gci_program const *p)
{
    if (p->code_count == 0 || p->code[p->code_count - 1].op != GCI_OP_HOLD || p->name_count > GCI_GUARD_MAX_NAMES
        || p->register_count > GCI_GUARD_MAX_REGISTERS || p->register_count < p->name_count)
        return false;
    for (uint32_t i = 0; i < p->guard_count; i++)
        if (p->starts[i] >= p->code_count || (i != 0 && p->starts[i] < p->starts[i - 1]))
            return false;
    return p->guard_count == 0 || p->starts[0] == 0;
}

bool
gci_program_verify(gci_program const *program, gci_arena *arena)
{
    check c = { .program = program, .arena = arena, .reachable = true };

    if (!check_shape(program))
        return false;
    c.arriving = gci_arena_array(arena, program->code_count, sizeof *c.arriving);
    if (c.arriving == NULL)
        return false;
    for (uint32_t i = 0; i < program->name_count; i++)
        c.now.bits[i / 64] |= (uint64_t)1 << i % 64;
    for (uint32_t at = 0; at < program->code_count; at++)
        if (!check_instruction(&c, at))
            return false;
    return true;
}
