/*
 * A dimension's program: the expression as instructions of the fast evaluator.
 */
#include "guards/select/dimension.h"

#include "base/check.h"

/* Longer ones cost more to compute than they save. */
#define MAX_INSTRUCTIONS 64

typedef struct writer {
    gci_instruction code[MAX_INSTRUCTIONS + 1];
    uint32_t count;
    uint16_t next; /* register */
    bool unfit;
    uint16_t slots[MAX_INSTRUCTIONS];
    size_t slot_count;
} writer;

static uint16_t write_value(writer *w, gci_expr const *expr);

static uint16_t
append(writer *w, gci_instruction instruction)
{
    if (w->count == MAX_INSTRUCTIONS) {
        w->unfit = true;
        return 0;
    }
    instruction.a = w->next++;
    w->code[w->count++] = instruction;
    return instruction.a;
}

static uint16_t
write_symbol(writer *w, gci_expr const *expr)
{
    uint16_t slot = (uint16_t)expr->at;

    for (size_t i = 0; i < w->slot_count; i++)
        if (w->slots[i] == slot)
            return (uint16_t)(GCI_FRAME_SLOTS + slot);
    if (w->slot_count == MAX_INSTRUCTIONS)
        w->unfit = true;
    else
        w->slots[w->slot_count++] = slot;
    return (uint16_t)(GCI_FRAME_SLOTS + slot);
}

/* The factors of a term multiplied, without the coefficient. */
static uint16_t
write_product(writer *w, gci_term const *term)
{
    uint16_t product = 0;
    bool first = true;

    for (uint32_t i = 0; i < term->count; i++) {
        uint16_t factor = write_value(w, term->factors[i].atom);
        for (uint32_t k = 0; k < term->factors[i].exponent && !w->unfit; k++) {
            product = first ? factor : append(w, (gci_instruction){ .op = GCI_OP_MUL, .b = product, .c = factor });
            first = false;
        }
    }
    return product;
}

static uint16_t
write_scaled(writer *w, uint16_t r, int64_t scale)
{
    return scale == 1 ? r : append(w, (gci_instruction){ .op = GCI_OP_MUL_I, .b = r, .imm = scale });
}

static uint16_t
write_polynomial(writer *w, gci_expr const *expr)
{
    uint16_t sum = 0;
    int64_t constant = 0, scale;
    bool first = true;

    for (uint32_t i = 0; i < expr->count && !w->unfit; i++) {
        gci_term const *term = &expr->terms[i];
        if (!gci_int_fits(term->coefficient, &scale)) {
            w->unfit = true;
        } else if (term->count == 0) {
            constant = scale;
        } else {
            uint16_t r = write_product(w, term);
            sum = first ? write_scaled(w, r, scale)
                        : append(w, (gci_instruction){ .op = GCI_OP_ADD_MUL, .b = sum, .c = r, .imm = scale });
            first = false;
        }
    }
    if (first)
        return append(w, (gci_instruction){ .op = GCI_OP_CONST, .imm = constant });
    return constant != 0 ? append(w, (gci_instruction){ .op = GCI_OP_ADD_I, .b = sum, .imm = constant }) : sum;
}

static uint16_t
write_division(writer *w, gci_expr const *expr)
{
    bool modulo = expr->name.data[0] == '%';
    gci_instruction i = { .op = GCI_OP_HOLD };
    uint16_t dividend = write_value(w, expr->args[0]);
    int64_t divisor;

    if (gci_expr_constant(expr->args[1], &divisor))
        i = gci_immediate_form(modulo ? GCI_OPERATOR_MOD : GCI_OPERATOR_FLOORDIV, dividend, divisor);
    if (i.op == GCI_OP_HOLD)
        i = (gci_instruction){ .op = modulo ? GCI_OP_MOD : GCI_OP_FLOORDIV, .b = dividend, .c = write_value(w, expr->args[1]) };
    return append(w, i);
}

static uint16_t
write_extreme(writer *w, gci_expr const *expr)
{
    uint16_t best = write_value(w, expr->args[0]);

    for (uint32_t i = 1; i < expr->count && !w->unfit; i++) {
        uint16_t item = write_value(w, expr->args[i]);
        gci_opcode op = expr->name.data[1] == 'a' ? GCI_OP_MAX : GCI_OP_MIN;
        best = append(w, (gci_instruction){ .op = (uint16_t)op, .b = best, .c = item });
    }
    return best;
}

static uint16_t
write_apply(writer *w, gci_expr const *expr)
{
    if (!expr->is_integer || expr->count == 0) {
        w->unfit = true;
        return 0;
    }
    if (expr->count == 2 && (gci_view_is(expr->name, "%") || gci_view_is(expr->name, "//")))
        return write_division(w, expr);
    if (gci_view_is(expr->name, "max") || gci_view_is(expr->name, "min"))
        return write_extreme(w, expr);
    if (expr->count == 1 && gci_view_is(expr->name, "abs"))
        return append(w, (gci_instruction){ .op = GCI_OP_ABS, .b = write_value(w, expr->args[0]) });
    if (expr->count == 1 && gci_view_is(expr->name, "+"))
        return write_value(w, expr->args[0]);
    w->unfit = true;
    return 0;
}

static uint16_t
write_value(writer *w, gci_expr const *expr)
{
    if (w->unfit)
        return 0;
    switch (expr->type) {
    case GCI_EXPR_SYMBOL: return write_symbol(w, expr);
    case GCI_EXPR_POLYNOMIAL: return write_polynomial(w, expr);
    case GCI_EXPR_APPLY: return write_apply(w, expr);
    case GCI_EXPR_TEXT: break;
    }
    w->unfit = true;
    return 0;
}

bool
gci_dimension_make(gci_expr const *expr, gci_arena *arena, gci_dimension *out, bool *out_unfit)
{
    writer w = { .count = 0 };

    *out = (gci_dimension){ .result = write_value(&w, expr) };
    *out_unfit = w.unfit;
    if (w.unfit)
        return false;
    w.code[w.count] = (gci_instruction){ .op = GCI_OP_HOLD };
    gci_view code = gci_arena_copy(arena, gci_view_of(w.code, (w.count + 1) * sizeof w.code[0]));
    gci_view slots = gci_arena_copy(arena, gci_view_of(w.slots, w.slot_count * sizeof w.slots[0]));
    out->expr = expr;
    out->code = w.count != 0 ? (gci_instruction *)(void *)code.data : NULL;
    out->slots = (uint16_t *)(void *)slots.data;
    out->slot_count = w.slot_count;
    return code.data != NULL && slots.data != NULL;
}
