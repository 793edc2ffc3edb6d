/*
 * Conditions to jumps, and the instructions that compare and jump at once.
 */
#include "guards/program/compiler.h"

#include "base/check.h"

static gci_opcode
jump_opcode(gci_operator op, bool sense, bool immediate)
{
    gci_opcode base = immediate ? sense ? GCI_OP_IF_EQ_I : GCI_OP_UNLESS_EQ_I : sense ? GCI_OP_IF_EQ : GCI_OP_UNLESS_EQ;

    GCI_ASSERT(gci_operator_is_comparison(op));
    return (gci_opcode)(base + (op - GCI_OPERATOR_EQ));
}

static bool
fits_32(int64_t value)
{
    return value >= INT32_MIN && value <= INT32_MAX;
}

/* true and the value of a constant that fits the immediate of a jump. */
static bool
small_constant(gci_emitter *e, gci_ast const *node, int32_t *out)
{
    gci_number number;

    if (!gci_compile_fold(e, node, &number) || number.kind != GCI_KIND_INT || !fits_32(number.i))
        return false;
    *out = (int32_t)number.i;
    return true;
}

/* ---- fused forms ---- */

static void
set_z(gci_instruction *instruction, int32_t z)
{
    instruction->b = (uint16_t)((uint32_t)z & 0xffff);
    instruction->c = (uint16_t)((uint32_t)z >> 16);
}

/* `low <= r` and `r <= high` that follow each other fail at once. */
static bool
fuse_range(gci_emitter *e, uint16_t r, gci_operator op, int32_t bound)
{
    gci_instruction *last = gci_emit_last(e);

    if (last == NULL || last->a != r || last->y != 0)
        return false;
    bool low_first = last->op == GCI_OP_UNLESS_GE_I && op == GCI_OPERATOR_LE;
    bool high_first = last->op == GCI_OP_UNLESS_LE_I && op == GCI_OPERATOR_GE;
    if (!low_first && !high_first)
        return false;
    int32_t other = last->x;
    last->op = GCI_OP_UNLESS_RANGE;
    last->x = low_first ? other : bound;
    set_z(last, low_first ? bound : other);
    return true;
}

/* The constant divisor of a chain that ends in `% divisor`; 0 if it isn't one, or if the remainder is known already. */
static int32_t
last_divisor(gci_emitter *e, gci_ast const *node)
{
    gci_ast const *last = node->first;
    int32_t divisor;

    if (node->kind != GCI_AST_CHAIN || gci_emit_find(e, node->class) != GCI_NO_REGISTER)
        return 0;
    while (last->next != NULL)
        last = last->next;
    return last->joint == GCI_OPERATOR_MOD && small_constant(e, last, &divisor) ? divisor : 0;
}

/* x % divisor == constant */
static bool
fuse_remainder(gci_emitter *e, gci_ast const *left, gci_operator op, int32_t constant, bool sense, gci_label *label)
{
    int32_t divisor = op == GCI_OPERATOR_EQ || op == GCI_OPERATOR_NE ? last_divisor(e, left) : 0;

    if (divisor == 0)
        return false;
    uint16_t r = gci_compile_prefix(e, left, left->count - 1);
    gci_opcode code = op == GCI_OPERATOR_EQ ? sense ? GCI_OP_IF_MOD_EQ : GCI_OP_UNLESS_MOD_EQ
                                            : sense ? GCI_OP_IF_MOD_NE : GCI_OP_UNLESS_MOD_NE;
    gci_instruction jump = { .op = (uint16_t)code, .a = r, .x = divisor };
    set_z(&jump, constant);
    gci_emit_release(e, r);
    gci_emit_jump(e, jump, label);
    return true;
}

/* The other operand of a product of two with one small constant; NULL if it isn't one. */
static gci_ast const *
scaled_operand(gci_emitter *e, gci_ast const *node, int32_t *out_scale)
{
    if (node->kind != GCI_AST_CHAIN || node->count != 2 || node->first->next->joint != GCI_OPERATOR_MUL
        || gci_emit_find(e, node->class) != GCI_NO_REGISTER)
        return NULL;
    if (small_constant(e, node->first, out_scale))
        return node->first->next;
    return small_constant(e, node->first->next, out_scale) ? node->first : NULL;
}

/* x == y*constant, or the list fails */
static bool
fuse_multiple(gci_emitter *e, gci_ast const *left, gci_ast const *right)
{
    int32_t scale;
    gci_ast const *factor = scaled_operand(e, right, &scale);

    if (factor == NULL)
        return false;
    uint16_t a = gci_compile_value(e, left), b = gci_compile_value(e, factor);
    gci_emit_release(e, a);
    gci_emit_release(e, b);
    gci_emit_jump(e, (gci_instruction){ .op = GCI_OP_UNLESS_EQ_MUL, .a = a, .b = b, .x = scale }, NULL);
    return true;
}

/* ---- comparisons ---- */

static void
compare_constant(gci_emitter *e, gci_ast const *node, gci_operator op, int32_t constant, bool sense, gci_label *label)
{
    if (fuse_remainder(e, node, op, constant, sense, label))
        return;
    uint16_t r = gci_compile_value(e, node);
    gci_emit_release(e, r);
    if (label == NULL && !sense && fuse_range(e, r, op, constant))
        return;
    gci_emit_jump(e, (gci_instruction){ .op = (uint16_t)jump_opcode(op, sense, true), .a = r, .x = constant }, label);
}

static void
compare_registers(gci_emitter *e, uint16_t left, gci_operator op, uint16_t right, bool sense, gci_label *label)
{
    gci_emit_jump(e, (gci_instruction){ .op = (uint16_t)jump_opcode(op, sense, false), .a = left, .b = right }, label);
}

static void
compare_two(gci_emitter *e, gci_ast const *left, gci_operator op, gci_ast const *right, bool sense, gci_label *label)
{
    int32_t constant;

    if (small_constant(e, right, &constant)) {
        compare_constant(e, left, op, constant, sense, label);
        return;
    }
    if (small_constant(e, left, &constant)) {
        compare_constant(e, right, gci_operator_mirrored(op), constant, sense, label);
        return;
    }
    if (op == GCI_OPERATOR_EQ && label == NULL && !sense && fuse_multiple(e, left, right))
        return;
    uint16_t a = gci_compile_value(e, left), b = gci_compile_value(e, right);
    gci_emit_release(e, a);
    if (b != a)
        gci_emit_release(e, b);
    compare_registers(e, a, op, b, sense, label);
}

/* a < b < c: every pair must hold; an operand in the middle is computed once. */
static void
compile_long_comparison(gci_emitter *e, gci_ast const *node, bool sense, gci_label *label)
{
    gci_ast const *child = node->first;
    uint16_t left = gci_compile_value(e, child);
    gci_label fails;

    if (sense)
        gci_label_open(e, &fails);
    for (child = child->next; child != NULL; child = child->next) {
        uint16_t right = gci_compile_value(e, child);
        bool last = child->next == NULL;
        if (right != left)
            gci_emit_release(e, left);
        compare_registers(e, left, child->joint, right, sense && last, sense && !last ? &fails : label);
        left = right;
    }
    gci_emit_release(e, left);
    if (sense)
        gci_label_bind(e, &fails);
}

static void
compile_comparison(gci_emitter *e, gci_ast const *node, bool sense, gci_label *label)
{
    gci_ast const *first = node->first;

    if (node->count == 2)
        compare_two(e, first, first->next->joint, first->next, sense, label);
    else
        compile_long_comparison(e, node, sense, label);
}

/* ---- logic ---- */

/*
 * `and` is decided by the first false operand, `or` by the first true one. Where that is what is jumped on, every
 * operand jumps; else the deciding ones jump past the last.
 */
static void
compile_logic(gci_emitter *e, gci_ast const *node, bool sense, gci_label *label)
{
    bool decides = node->kind == GCI_AST_OR;
    gci_label past;

    if (sense == decides) {
        for (gci_ast const *child = node->first; child != NULL; child = child->next)
            gci_compile_condition(e, child, sense, label);
        return;
    }
    gci_label_open(e, &past);
    for (gci_ast const *child = node->first; child != NULL; child = child->next) {
        if (child->next != NULL)
            gci_compile_condition(e, child, decides, &past);
        else
            gci_compile_condition(e, child, sense, label);
    }
    gci_label_bind(e, &past);
}

static void
compile_conditional(gci_emitter *e, gci_ast const *node, bool sense, gci_label *label)
{
    gci_ast const *condition = node->first, *value = condition->next;
    gci_label end, otherwise;

    gci_label_open(e, &end);
    gci_label_open(e, &otherwise);
    gci_compile_condition(e, condition, false, &otherwise);
    gci_compile_condition(e, value, sense, label);
    gci_emit_jump(e, (gci_instruction){ .op = GCI_OP_JUMP }, &end);
    gci_label_bind(e, &otherwise);
    gci_compile_condition(e, value->next, sense, label);
    gci_label_bind(e, &end);
}

/* Eq(a, b) is a comparison under another name. */
static bool
compile_called_comparison(gci_emitter *e, gci_ast const *node, bool sense, gci_label *label)
{
    gci_ast const *callee = node->first;
    gci_operator op;

    if (!gci_ast_is_called_comparison(node, &op) || gci_emit_callee(e, callee->name))
        return false;
    compare_two(e, callee->next, op, callee->next->next, sense, label);
    return true;
}

static void
compile_truth(gci_emitter *e, gci_ast const *node, bool sense, gci_label *label)
{
    gci_number number;

    if (gci_compile_fold(e, node, &number)) {
        if (gci_number_truth(number) == sense)
            gci_emit_jump(e, (gci_instruction){ .op = GCI_OP_JUMP }, label);
        return;
    }
    uint16_t r = gci_compile_value(e, node);
    gci_emit_release(e, r);
    gci_emit_jump(e, (gci_instruction){ .op = sense ? GCI_OP_IF : GCI_OP_UNLESS, .a = r }, label);
}

void
gci_compile_condition(gci_emitter *e, gci_ast const *node, bool sense, gci_label *label)
{
    if (e->status != GCACHE_OK)
        return;
    switch ((gci_ast_kind)node->kind) {
    case GCI_AST_NOT: gci_compile_condition(e, node->first, !sense, label); return;
    case GCI_AST_AND:
    case GCI_AST_OR: compile_logic(e, node, sense, label); return;
    case GCI_AST_COMPARE: compile_comparison(e, node, sense, label); return;
    case GCI_AST_IF: compile_conditional(e, node, sense, label); return;
    case GCI_AST_CALL:
        if (compile_called_comparison(e, node, sense, label))
            return;
        break;
    default: break;
    }
    compile_truth(e, node, sense, label);
}
