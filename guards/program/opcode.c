/*
 * The instruction table and the listing of a program.
 */
#include "guards/program/program.h"

#include "base/check.h"
#include "guards/value/functions.h"

/* The word opcode.def has for instructions without operands, or without an operator. */
#define GCI_NONE GCI_NONE_OPERANDS
#define GCI_OPERATOR_NONE GCI_OPERATOR_COUNT

static gci_opcode_facts const facts[] = {
#define OPCODE(name, operands, op, effect) { #name, GCI_##operands, GCI_OPERATOR_##op, effect },
#include "guards/program/opcode.def"
#undef OPCODE
};

gci_opcode_facts const *
gci_opcode_at(unsigned op)
{
    return op < GCI_OPCODE_COUNT ? &facts[op] : NULL;
}

gci_operand_shape
gci_opcode_shape(unsigned op)
{
    static gci_operand_shape const shapes[] = {
        [GCI_NONE_OPERANDS] = { 0, false, false },
        [GCI_T] = { 0, false, true },
        [GCI_R_I] = { 0, false, false },
        [GCI_S] = { 1, false, false },
        [GCI_D_I] = { 1, true, false },
        [GCI_D_S] = { 2, true, false },
        [GCI_D_S_S] = { 3, true, false },
        [GCI_D_S_I] = { 2, true, false },
        [GCI_D_S_S_I] = { 3, true, false },
        [GCI_CALL] = { 2, true, false },
        [GCI_S_T] = { 1, false, true },
        [GCI_S_S_T] = { 2, false, true },
        [GCI_S_X_T] = { 1, false, true },
        [GCI_S_X_Z_T] = { 1, false, true },
        [GCI_S_S_X_T] = { 2, false, true },
    };

    return shapes[facts[op].operands];
}

static bool
is_power_of_two(int64_t value)
{
    return value > 1 && (value & (value - 1)) == 0;
}

gci_instruction
gci_immediate_form(gci_operator op, uint16_t b, int64_t imm)
{
    gci_instruction i = { .op = GCI_OP_HOLD, .b = b, .imm = imm };

    switch (op) {
    case GCI_OPERATOR_ADD: i.op = GCI_OP_ADD_I; break;
    case GCI_OPERATOR_SUB:
        if (imm != INT64_MIN && imm != 0) /* -0.0 - 0 is -0.0, -0.0 + 0 isn't */
            i.op = GCI_OP_ADD_I, i.imm = -imm;
        break;
    case GCI_OPERATOR_MUL: i.op = GCI_OP_MUL_I; break;
    case GCI_OPERATOR_FLOORDIV:
        if (is_power_of_two(imm))
            i.op = GCI_OP_FLOORDIV_2, i.imm = __builtin_ctzll((uint64_t)imm);
        else if (imm != 0)
            i.op = GCI_OP_FLOORDIV_I;
        break;
    case GCI_OPERATOR_MOD:
        if (is_power_of_two(imm))
            i.op = GCI_OP_MOD_2, i.imm = __builtin_ctzll((uint64_t)imm);
        else if (imm != 0)
            i.op = GCI_OP_MOD_I;
        break;
    default: break;
    }
    return i;
}

/* ---- listing ---- */

static void
show_register(gci_program const *program, uint32_t index, gci_buf *out)
{
    if (index >= program->name_count) {
        gci_buf_format(out, " r%u", index);
        return;
    }
    gci_bound_name const *name = &program->names[index];
    gci_buf_format(out, name->is_key ? " L['%.*s']" : " %.*s", (int)name->text.size, name->text.data);
}

static void
show_target(gci_instruction const *instruction, gci_buf *out)
{
    if (instruction->y == 0)
        gci_buf_append_text(out, " -> false");
    else
        gci_buf_format(out, " -> %u", instruction->y);
}

static void
show_immediate(gci_program const *program, gci_instruction const *instruction, gci_buf *out)
{
    if (instruction->op == GCI_OP_POOL) {
        gci_buf_append_char(out, ' ');
        gci_number_write(program->constants[instruction->imm], out);
    } else {
        gci_buf_format(out, " %lld", (long long)instruction->imm);
    }
}

static void
show_operands(gci_program const *program, gci_instruction const *i, gci_buf *out)
{
    gci_operands operands = facts[i->op].operands;

    if (operands == GCI_R_I) {
        gci_buf_format(out, " %s %.*s", gci_exception_name((gci_exception)i->a), (int)program->messages[i->imm].size,
                       program->messages[i->imm].data);
        return;
    }
    if (operands == GCI_CALL) {
        show_register(program, i->a, out);
        gci_buf_format(out, " = %s(%u from r%u)", gci_function_at((size_t)i->imm)->name, i->c, i->b);
        return;
    }
    gci_operand_shape shape = gci_opcode_shape(i->op);
    uint16_t const fields[] = { i->a, i->b, i->c };
    for (unsigned k = 0; k < shape.registers; k++)
        show_register(program, fields[k], out);
    if (operands == GCI_D_I || operands == GCI_D_S_I || operands == GCI_D_S_S_I)
        show_immediate(program, i, out);
    if (operands == GCI_S_X_T || operands == GCI_S_X_Z_T || operands == GCI_S_S_X_T)
        gci_buf_format(out, " %d", i->x);
    if (operands == GCI_S_X_Z_T)
        gci_buf_format(out, " %d", gci_instruction_z(i));
    if (shape.jumps)
        show_target(i, out);
}

void
gci_program_show(gci_program const *program, gci_buf *out)
{
    uint32_t guard = 0;

    for (uint32_t at = 0; at < program->code_count; at++) {
        gci_instruction const *instruction = &program->code[at];
        for (; guard < program->guard_count && program->starts[guard] == at; guard++)
            gci_buf_format(out, "guard %u\n", guard + 1);
        gci_buf_format(out, "  %4u  %-13s", at, facts[instruction->op].name);
        show_operands(program, instruction, out);
        while (out->size > 0 && !out->failed && out->data[out->size - 1] == ' ')
            out->size--;
        gci_buf_append_char(out, '\n');
    }
}

uint32_t
gci_program_guard_at(gci_program const *program, uint32_t at)
{
    uint32_t guard = 0;

    GCI_ASSERT(at < program->code_count);
    while (guard + 1 < program->guard_count && program->starts[guard + 1] <= at)
        guard++;
    return guard;
}
