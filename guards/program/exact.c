/*
 * Runs a program with Python's exact meaning, on values of any type. Slower than fast.c by an order of magnitude, and the
 * reference for it.
 */
#include "guards/program/program.h"

#include "base/check.h"
#include "base/utf8.h"
#include "guards/value/functions.h"
#include "guards/value/limits.h"

/* Of a name in a message. */
#define NAME_SHOWN_BYTES 100

typedef struct run {
    gci_program const *program;
    gci_number const *const *values;
    gci_calc *calc;
    gci_number registers[GCI_GUARD_MAX_REGISTERS];
} run;

/* ---- names ---- */

/* A name that nothing is bound to: a builtin of Python's, or an exception. */
static bool
read_unbound(run *r, uint16_t name, gci_number *out)
{
    gci_bound_name const *unbound = &r->program->names[name];
    int size = (int)gci_utf8_cut(unbound->text, NAME_SHOWN_BYTES).size;

    if (unbound->is_key)
        return gci_raise(r->calc, GCI_RAISED_KEY, "'%.*s'", size, unbound->text.data);
    if (gci_function_object(unbound->text, out))
        return true;
    return gci_raise(r->calc, GCI_RAISED_NAME, "name '%.*s' is not defined", size, unbound->text.data);
}

static bool
read_register(run *r, uint16_t index, gci_number *out)
{
    GCI_ASSERT(index < r->program->register_count);
    if (index < r->program->name_count && r->values[index] == NULL)
        return read_unbound(r, index, out);
    *out = r->registers[index];
    return true;
}

/* ---- instructions that compute ---- */

/* a op b; of a comparison its truth. */
static bool
apply(run *r, gci_instruction const *i, gci_number a, gci_number b, gci_number *out)
{
    gci_operator op = gci_opcode_at(i->op)->op;
    bool truth;

    if (!gci_operator_is_comparison(op))
        return gci_calc_binary(r->calc, op, a, b, out);
    if (i->op == GCI_OP_MAX || i->op == GCI_OP_MIN) {
        if (!gci_calc_compare(r->calc, op, b, a, &truth))
            return false;
        *out = truth ? b : a;
        return true;
    }
    if (!gci_calc_compare(r->calc, op, a, b, &truth))
        return false;
    *out = gci_number_bool(truth);
    return true;
}

static bool
compute_unary(run *r, gci_instruction const *i, gci_number a, gci_number *out)
{
    switch (i->op) {
    case GCI_OP_MOVE: *out = a; return true;
    case GCI_OP_NOT: *out = gci_number_bool(!gci_number_truth(a)); return true;
    case GCI_OP_ABS: return gci_function_abs(r->calc, a, out);
    default: return gci_calc_unary(r->calc, gci_opcode_at(i->op)->op, a, out);
    }
}

/* The result goes to a place of its own at first: its register may be one of the arguments'. */
static bool
compute_call(run *r, gci_instruction const *i, gci_number *out)
{
    gci_number first, result;

    if (i->c == 1 && !read_register(r, i->b, &first))
        return false;
    gci_function const *function = gci_function_at((size_t)i->imm);
    gci_function_call call = { r->calc, function, i->c == 1 ? &first : &r->registers[i->b], i->c };
    if (!function->call(&call, &result))
        return false;
    *out = result;
    return true;
}

static bool
multiply(run *r, gci_number a, int64_t scale, gci_number *out)
{
    return gci_calc_binary(r->calc, GCI_OPERATOR_MUL, a, gci_number_int(scale), out);
}

/* The operand behind the operator: a register, one that is scaled, or the immediate. */
static bool
read_right(run *r, gci_instruction const *i, gci_number *out)
{
    switch (i->op) {
    case GCI_OP_ADD_I:
    case GCI_OP_MUL_I:
    case GCI_OP_FLOORDIV_I:
    case GCI_OP_MOD_I: *out = gci_number_int(i->imm); return true;
    case GCI_OP_FLOORDIV_2:
    case GCI_OP_MOD_2: *out = gci_number_int((int64_t)1 << i->imm); return true;
    case GCI_OP_ADD_MUL: return read_register(r, i->c, out) && multiply(r, *out, i->imm, out);
    default: return read_register(r, i->c, out);
    }
}

static bool
compute(run *r, gci_instruction const *i)
{
    gci_number a, b, *out = &r->registers[i->a];

    switch (gci_opcode_at(i->op)->operands) {
    case GCI_D_I: *out = i->op == GCI_OP_CONST ? gci_number_int(i->imm) : r->program->constants[i->imm]; return true;
    case GCI_CALL: return compute_call(r, i, out);
    case GCI_D_S: return read_register(r, i->b, &a) && compute_unary(r, i, a, out);
    default: return read_register(r, i->b, &a) && read_right(r, i, &b) && apply(r, i, a, b, out);
    }
}

/* ---- instructions that decide ---- */

static bool
decide_range(run *r, gci_number a, int32_t low, int32_t high, bool *out)
{
    if (!gci_calc_compare(r->calc, GCI_OPERATOR_LE, gci_number_int(low), a, out))
        return false;
    return !*out || gci_calc_compare(r->calc, GCI_OPERATOR_LE, a, gci_number_int(high), out);
}

/* The condition of an instruction that jumps. */
static bool
decide(run *r, gci_instruction const *i, bool *out)
{
    gci_opcode_facts const *facts = gci_opcode_at(i->op);
    gci_number a, b = gci_number_int(i->x);

    if (!read_register(r, i->a, &a))
        return false;
    if (facts->operands == GCI_S_T) {
        *out = gci_number_truth(a);
        return true;
    }
    if (i->op == GCI_OP_UNLESS_RANGE)
        return decide_range(r, a, i->x, gci_instruction_z(i), out);
    if (facts->operands == GCI_S_X_Z_T) {
        if (!gci_calc_binary(r->calc, GCI_OPERATOR_MOD, a, b, &a))
            return false;
        b = gci_number_int(gci_instruction_z(i));
    }
    if (facts->operands == GCI_S_S_T || facts->operands == GCI_S_S_X_T)
        if (!read_register(r, i->b, &b))
            return false;
    if (facts->operands == GCI_S_S_X_T && !multiply(r, b, i->x, &b))
        return false;
    return gci_calc_compare(r->calc, facts->op, a, b, out);
}

/* Whether the instruction jumps when its condition is true. */
static bool
jumps_if(unsigned op)
{
    return op == GCI_OP_IF || (op >= GCI_OP_IF_EQ && op <= GCI_OP_IF_GE) || (op >= GCI_OP_IF_EQ_I && op <= GCI_OP_IF_GE_I)
           || op == GCI_OP_IF_MOD_EQ || op == GCI_OP_IF_MOD_NE;
}

/* ---- the loop ---- */

static bool
raise_stated(run *r, gci_instruction const *i)
{
    gci_view message = r->program->messages[i->imm];

    return gci_raise(r->calc, (gci_exception)i->a, "%.*s", (int)message.size, message.data);
}

/* One instruction. false: it raised. *at is the next one, 0 for failure of the list. */
static bool
step(run *r, uint32_t *at)
{
    gci_instruction const *i = &r->program->code[*at];
    gci_number unused;
    bool truth;

    switch (i->op) {
    case GCI_OP_JUMP: *at = i->y; return true;
    case GCI_OP_RAISE: return raise_stated(r, i);
    case GCI_OP_NEED: ++*at; return read_register(r, i->a, &unused);
    default: break;
    }
    if (!gci_opcode_shape(i->op).jumps) {
        ++*at;
        return compute(r, i);
    }
    if (!decide(r, i, &truth))
        return false;
    *at = truth == jumps_if(i->op) ? i->y : *at + 1;
    return true;
}

static void
begin(run *r, gci_program const *program, gci_number const *const *values, gci_calc *calc)
{
    r->program = program;
    r->values = values;
    r->calc = calc;
    for (uint32_t i = 0; i < program->name_count; i++)
        if (values[i] != NULL)
            r->registers[i] = *values[i];
}

static gcache_truth
run_to_end(run *r, uint32_t *out_at)
{
    uint32_t at = 0;

    while (r->program->code[at].op != GCI_OP_HOLD) {
        *out_at = at;
        if (!step(r, &at))
            return GCACHE_RAISES;
        if (at == 0)
            return GCACHE_FALSE;
    }
    *out_at = at;
    return GCACHE_TRUE;
}

gcache_truth
gci_exact_run(gci_program const *program, gci_number const *const *values, gci_calc *calc, uint32_t *out_at)
{
    run r;

    begin(&r, program, values, calc);
    return run_to_end(&r, out_at);
}

bool
gci_exact_value(gci_program const *program, gci_number const *const *values, gci_calc *calc, uint16_t result,
                gci_number *out)
{
    uint32_t at;
    run r;

    begin(&r, program, values, calc);
    if (run_to_end(&r, &at) != GCACHE_TRUE)
        return false;
    *out = r.registers[result];
    return true;
}
