/*
 * Trees to instructions.
 *
 * An expression is compiled either for its value, into a register, or as a condition, into jumps. Python's order of
 * evaluation is kept; what is written twice is computed once, since nothing has side effects and a second exception
 * can't come before the first.
 */
#include "guards/program/compiler.h"

#include "base/check.h"
#include "guards/value/functions.h"

#include <math.h>

/* Folded integers stay below this; `2 ** 100000` is left to run time. */
#define MAX_FOLDED_LIMBS 8

/* ---- constants ---- */

/* A nan that is computed is another object each time. */
static bool
is_modest(gci_number number)
{
    return number.kind <= GCI_KIND_FLOAT && !(number.kind == GCI_KIND_FLOAT && isnan(number.f))
           && (number.kind != GCI_KIND_BIG || (number.size <= MAX_FOLDED_LIMBS && number.size >= -MAX_FOLDED_LIMBS));
}

static bool
fold_binary(gci_emitter *e, gci_operator op, gci_number a, gci_number b, gci_number *out)
{
    bool explodes = (op == GCI_OPERATOR_POW || op == GCI_OPERATOR_LSHIFT) && (b.kind == GCI_KIND_BIG || b.i > 512);

    if (explodes || !is_modest(a) || !is_modest(b))
        return false;
    return gci_calc_binary(&e->calc, op, a, b, out) && is_modest(*out);
}

/* true and the value if the tree is a constant that computing never raises for. */
static bool
fold(gci_emitter *e, gci_ast const *node, gci_number *out)
{
    gci_number operand;

    switch (node->kind) {
    case GCI_AST_NUMBER: *out = node->number; return true;
    case GCI_AST_UNARY:
        return fold(e, node->first, &operand)
               && gci_calc_unary(&e->calc, node->first->joint, operand, out) && is_modest(*out);
    case GCI_AST_CHAIN:
    case GCI_AST_POWER:
        if (!fold(e, node->first, out))
            return false;
        for (gci_ast const *child = node->first->next; child != NULL; child = child->next)
            if (!fold(e, child, &operand) || !fold_binary(e, child->joint, *out, operand, out))
                return false;
        return true;
    default: return false;
    }
}

static uint16_t
load(gci_emitter *e, gci_number number)
{
    uint16_t r = gci_emit_new(e);

    if (number.kind == GCI_KIND_INT)
        gci_emit(e, (gci_instruction){ .op = GCI_OP_CONST, .a = r, .imm = number.i });
    else
        gci_emit(e, (gci_instruction){ .op = GCI_OP_POOL, .a = r, .imm = gci_emit_constant(e, number) });
    return r;
}

/* ---- arithmetic ---- */

/* A left operand on its way: a constant until it meets something that isn't. */
typedef struct partial {
    bool is_constant;
    uint16_t r;
    gci_number number;
} partial;

static uint16_t
materialise(gci_emitter *e, partial const *value)
{
    return value->is_constant ? load(e, value->number) : value->r;
}

static uint16_t
emit_result(gci_emitter *e, gci_instruction instruction, uint16_t left, uint16_t right)
{
    gci_emit_release(e, left);
    if (right != left)
        gci_emit_release(e, right);
    instruction.a = gci_emit_new(e);
    gci_emit(e, instruction);
    return instruction.a;
}

static gci_opcode
binary_opcode(gci_operator op)
{
    _Static_assert(GCI_OP_BITXOR - GCI_OP_ADD == GCI_OPERATOR_BITXOR, "operators and instructions in one order");
    _Static_assert(GCI_OP_GE - GCI_OP_ADD == GCI_OPERATOR_GE, "comparisons follow");
    return (gci_opcode)(GCI_OP_ADD + (unsigned)op);
}

static uint16_t
emit_binary(gci_emitter *e, gci_operator op, uint16_t left, uint16_t right)
{
    return emit_result(e, (gci_instruction){ .op = (uint16_t)binary_opcode(op), .b = left, .c = right }, left, right);
}

/* A summand `factor*constant` that nothing else needs: the factor, and the constant in *out. */
static gci_ast const *
scaled_summand(gci_emitter *e, gci_ast const *node, int64_t *out_scale)
{
    gci_number scale;

    if (node->kind != GCI_AST_CHAIN || node->count != 2 || node->first->next->joint != GCI_OPERATOR_MUL
        || e->classes.uses[node->class] > 1)
        return NULL;
    for (gci_ast const *child = node->first; child != NULL; child = child->next) {
        gci_ast const *other = child == node->first ? child->next : node->first;
        if (fold(e, child, &scale) && scale.kind == GCI_KIND_INT && scale.i != INT64_MIN) {
            *out_scale = scale.i;
            return other;
        }
    }
    return NULL;
}

static uint16_t
add_scaled(gci_emitter *e, uint16_t left, gci_operator op, gci_ast const *factor, int64_t scale)
{
    uint16_t right = gci_compile_value(e, factor);
    int64_t imm = op == GCI_OPERATOR_SUB ? -scale : scale;

    return emit_result(e, (gci_instruction){ .op = GCI_OP_ADD_MUL, .b = left, .c = right, .imm = imm }, left, right);
}

/* left op right, where right is a tree that isn't constant. */
static uint16_t
join_tree(gci_emitter *e, partial const *left, gci_operator op, gci_ast const *right)
{
    int64_t scale;
    bool commutes = op == GCI_OPERATOR_ADD || op == GCI_OPERATOR_MUL;

    if (left->is_constant && left->number.kind == GCI_KIND_INT && commutes) {
        uint16_t r = gci_compile_value(e, right);
        return emit_result(e, gci_immediate_form(op, r, left->number.i), r, r);
    }
    uint16_t a = materialise(e, left);
    gci_ast const *factor = NULL;
    if (op == GCI_OPERATOR_ADD || op == GCI_OPERATOR_SUB)
        factor = scaled_summand(e, right, &scale);
    if (factor != NULL)
        return add_scaled(e, a, op, factor, scale);
    return emit_binary(e, op, a, gci_compile_value(e, right));
}

static uint16_t
join_constant(gci_emitter *e, uint16_t left, gci_operator op, gci_number right)
{
    gci_instruction i = { .op = GCI_OP_HOLD };

    if (right.kind == GCI_KIND_INT)
        i = gci_immediate_form(op, left, right.i);
    if (i.op != GCI_OP_HOLD)
        return emit_result(e, i, left, left);
    return emit_binary(e, op, left, load(e, right));
}

/* The first `count` operands of a chain, from left to right. */
static uint16_t
compile_chain(gci_emitter *e, gci_ast const *node, uint32_t count)
{
    gci_ast const *child = node->first;
    partial left = { .is_constant = fold(e, child, &left.number) };
    gci_number right, folded;

    if (!left.is_constant)
        left.r = gci_compile_value(e, child);
    for (uint32_t i = 1; i < count; i++) {
        child = child->next;
        bool constant = fold(e, child, &right);
        if (constant && left.is_constant && fold_binary(e, child->joint, left.number, right, &folded)) {
            left.number = folded;
            continue;
        }
        if (constant && left.is_constant)
            left.r = emit_binary(e, child->joint, load(e, left.number), load(e, right));
        else if (constant)
            left.r = join_constant(e, left.r, child->joint, right);
        else
            left.r = join_tree(e, &left, child->joint, child);
        left.is_constant = false;
    }
    return materialise(e, &left);
}

static uint16_t
compile_unary(gci_emitter *e, gci_opcode op, gci_ast const *operand)
{
    uint16_t r = gci_compile_value(e, operand);

    return emit_result(e, (gci_instruction){ .op = (uint16_t)op, .b = r }, r, r);
}

static uint16_t
compile_sign(gci_emitter *e, gci_ast const *node)
{
    gci_operator op = node->first->joint;
    gci_opcode code = op == GCI_OPERATOR_NEG ? GCI_OP_NEG : op == GCI_OPERATOR_POS ? GCI_OP_POS : GCI_OP_INVERT;

    return compile_unary(e, code, node->first);
}

/* ---- values of conditions ---- */

static void
move(gci_emitter *e, uint16_t target, uint16_t source)
{
    gci_emit(e, (gci_instruction){ .op = GCI_OP_MOVE, .a = target, .b = source });
    gci_emit_release(e, source);
}

/* and, or: the first operand that decides, else the last. */
static uint16_t
compile_choice(gci_emitter *e, gci_ast const *node)
{
    uint16_t result = gci_emit_new(e);
    gci_opcode leave = node->kind == GCI_AST_AND ? GCI_OP_UNLESS : GCI_OP_IF;
    gci_label end;

    gci_label_open(e, &end);
    for (gci_ast const *child = node->first; child != NULL; child = child->next) {
        move(e, result, gci_compile_value(e, child));
        if (child->next != NULL)
            gci_emit_jump(e, (gci_instruction){ .op = (uint16_t)leave, .a = result }, &end);
    }
    gci_label_bind(e, &end);
    return result;
}

/* a < b < c: operands are computed as they are needed, each once. */
static uint16_t
compile_comparison_value(gci_emitter *e, gci_ast const *node)
{
    gci_ast const *child = node->first;
    uint16_t left = gci_compile_value(e, child), result = GCI_NO_REGISTER;
    gci_label end;

    if (node->count == 2)
        return emit_binary(e, child->next->joint, left, gci_compile_value(e, child->next));
    result = gci_emit_new(e);
    gci_label_open(e, &end);
    for (child = child->next; child != NULL; child = child->next) {
        uint16_t right = gci_compile_value(e, child);
        gci_emit(e, (gci_instruction){ .op = (uint16_t)binary_opcode(child->joint), .a = result, .b = left, .c = right });
        if (right != left)
            gci_emit_release(e, left);
        left = right;
        if (child->next != NULL)
            gci_emit_jump(e, (gci_instruction){ .op = GCI_OP_UNLESS, .a = result }, &end);
    }
    gci_emit_release(e, left);
    gci_label_bind(e, &end);
    return result;
}

static uint16_t
compile_conditional_value(gci_emitter *e, gci_ast const *node)
{
    gci_ast const *condition = node->first, *value = condition->next;
    uint16_t result = gci_emit_new(e);
    gci_label end, otherwise;

    gci_label_open(e, &end);
    gci_label_open(e, &otherwise);
    gci_compile_condition(e, condition, false, &otherwise);
    move(e, result, gci_compile_value(e, value));
    gci_emit_jump(e, (gci_instruction){ .op = GCI_OP_JUMP }, &end);
    gci_label_bind(e, &otherwise);
    move(e, result, gci_compile_value(e, value->next));
    gci_label_bind(e, &end);
    return result;
}

/* ---- calls ---- */

/* The registers of the children's values, from `first` on. NULL without memory. */
static uint16_t *
compile_values(gci_emitter *e, gci_ast const *first, uint32_t count)
{
    uint16_t *values = gci_arena_array(&e->scratch, count, sizeof *values), *next = values;

    if (values == NULL)
        gci_emit_fail(e, GCACHE_ERROR_MEMORY, "out of memory");
    for (gci_ast const *child = first; child != NULL && values != NULL; child = child->next)
        *next++ = gci_compile_value(e, child);
    return values;
}

/* The same in registers in a row. */
static uint16_t
compile_run(gci_emitter *e, gci_ast const *first, uint32_t count)
{
    if (count > GCI_FUNCTION_MAX_ARGUMENTS)
        gci_emit_fail(e, GCACHE_ERROR_LIMIT, "a call with too many arguments");
    uint16_t const *values = compile_values(e, first, count);
    if (e->status != GCACHE_OK)
        return 0;
    if (count == 1)
        return values[0];
    uint16_t run = gci_emit_new_run(e, count);
    for (uint32_t i = 0; i < count; i++)
        move(e, (uint16_t)(run + i), values[i]);
    return run;
}

/* Arguments are evaluated, then the call raises: Python finds out as late. */
static void
compile_arguments_only(gci_emitter *e, gci_ast const *first)
{
    for (gci_ast const *child = first; child != NULL; child = child->next) {
        uint16_t r = gci_compile_value(e, child);
        gci_emit(e, (gci_instruction){ .op = GCI_OP_MOVE, .a = gci_emit_new(e), .b = r });
        gci_emit_release(e, r);
    }
}

static uint16_t
call_function(gci_emitter *e, gci_function const *function, gci_ast const *first, uint32_t count)
{
    uint16_t run = compile_run(e, first, count);

    for (uint32_t i = 0; i < count; i++)
        gci_emit_release(e, (uint16_t)(run + i));
    uint16_t result = gci_emit_new(e);
    gci_emit(e, (gci_instruction){ .op = GCI_OP_CALL, .a = result, .b = count != 0 ? run : 0, .c = (uint16_t)count,
                                   .imm = (int64_t)gci_function_index(function) });
    return result;
}

/* max, min of two or more: all operands first, then one comparison each. */
static uint16_t
call_extreme(gci_emitter *e, gci_opcode op, gci_ast const *first, uint32_t count)
{
    uint16_t const *values = compile_values(e, first, count);
    uint16_t best = values != NULL ? values[0] : 0;

    for (uint32_t i = 1; i < count && values != NULL; i++)
        best = emit_result(e, (gci_instruction){ .op = (uint16_t)op, .b = best, .c = values[i] }, best, values[i]);
    return best;
}

static uint16_t
raise_arity(gci_emitter *e, gci_function const *function, uint32_t count)
{
    size_t wanted = count < function->least ? function->least : function->most;
    char const *how = function->least == function->most ? "exactly" : count < function->least ? "at least" : "at most";

    return gci_emit_raise(e, GCI_RAISED_TYPE, "%s() takes %s %zu argument%s (%u given)", function->name, how, wanted,
                   wanted == 1 ? "" : "s", count);
}

/* max(x): of a tuple its largest item; anything else can't be iterated. */
static uint16_t
call_extreme_of_one(gci_emitter *e, gci_function const *function, gci_opcode op, gci_ast const *argument)
{
    if (argument->kind == GCI_AST_TUPLE && argument->count > 0)
        return call_extreme(e, op, argument->first, argument->count);
    compile_arguments_only(e, argument);
    if (argument->kind == GCI_AST_TUPLE)
        return gci_emit_raise(e, GCI_RAISED_VALUE, "%s() arg is an empty sequence", function->name);
    return gci_emit_raise(e, GCI_RAISED_TYPE, "the only argument of %s() is not iterable", function->name);
}

static uint16_t
call_known(gci_emitter *e, gci_function const *function, gci_ast const *first, uint32_t count)
{
    gci_opcode extreme = function->kind == GCI_FUNCTION_MAX ? GCI_OP_MAX : GCI_OP_MIN;

    if (function->kind == GCI_FUNCTION_CONSTANT) {
        compile_arguments_only(e, first);
        return gci_emit_raise(e, GCI_RAISED_TYPE, "'float' object is not callable");
    }
    if (count < function->least || count > function->most) {
        compile_arguments_only(e, first);
        return raise_arity(e, function, count);
    }
    switch (function->kind) {
    case GCI_FUNCTION_OPERATOR: {
        uint16_t left = gci_compile_value(e, first);
        return emit_binary(e, function->op, left, gci_compile_value(e, first->next));
    }
    case GCI_FUNCTION_ABS: return compile_unary(e, GCI_OP_ABS, first);
    case GCI_FUNCTION_MAX:
    case GCI_FUNCTION_MIN:
        return count == 1 ? call_extreme_of_one(e, function, extreme, first) : call_extreme(e, extreme, first, count);
    default: return call_function(e, function, first, count);
    }
}

/* Only attributes of `math` and `torch` are known; any other is looked up in vain, after its owner is evaluated. */
static uint16_t
compile_attribute(gci_emitter *e, gci_ast const *node, gci_function const **out_function)
{
    gci_ast const *owner = node->first;
    bool module = owner->kind == GCI_AST_NAME && gci_function_is_module(owner->name);

    *out_function = NULL;
    if (module && !gci_emit_is_shadowed(e, owner->name)) {
        *out_function = gci_function_find(owner->name, node->name);
        if (*out_function != NULL)
            return GCI_NO_REGISTER;
        return gci_emit_raise(e, GCI_RAISED_ATTRIBUTE, "module '%.*s' has no attribute '%.*s'", (int)owner->name.size,
                       owner->name.data, (int)node->name.size, node->name.data);
    }
    compile_arguments_only(e, owner);
    return gci_emit_raise(e, GCI_RAISED_ATTRIBUTE, "the object has no attribute '%.*s'", (int)node->name.size, node->name.data);
}

static uint16_t
call_value(gci_emitter *e, gci_ast const *callee, gci_ast const *first)
{
    uint16_t r = gci_compile_value(e, callee);

    gci_emit(e, (gci_instruction){ .op = GCI_OP_MOVE, .a = gci_emit_new(e), .b = r });
    compile_arguments_only(e, first);
    return gci_emit_raise(e, GCI_RAISED_TYPE, "the object is not callable");
}

static uint16_t
compile_call(gci_emitter *e, gci_ast const *node)
{
    gci_ast const *callee = node->first, *first = callee->next;
    gci_function const *function = NULL;
    uint32_t count = node->count - 1;

    if (callee->kind == GCI_AST_ATTRIBUTE) {
        uint16_t r = compile_attribute(e, callee, &function);
        return function != NULL ? call_known(e, function, first, count) : r;
    }
    if (callee->kind != GCI_AST_NAME || gci_emit_is_shadowed(e, callee->name))
        return call_value(e, callee, first);
    function = gci_function_find((gci_view){ NULL, 0 }, callee->name);
    if (function != NULL)
        return call_known(e, function, first, count);
    if (!gci_function_is_module(callee->name))
        return gci_emit_raise(e, GCI_RAISED_NAME, "name '%.*s' is not defined", (int)callee->name.size, callee->name.data);
    compile_arguments_only(e, first);
    return gci_emit_raise(e, GCI_RAISED_TYPE, "'module' object is not callable");
}

/* ---- values ---- */

static uint16_t
compile_name(gci_emitter *e, gci_ast const *node)
{
    gci_emit_look_up(e, node->slot);
    return node->slot;
}

static uint16_t
compile_new_value(gci_emitter *e, gci_ast const *node)
{
    gci_function const *function;
    gci_number number;
    uint16_t r;

    if (fold(e, node, &number))
        return load(e, number);
    switch ((gci_ast_kind)node->kind) {
    case GCI_AST_NUMBER: return load(e, node->number);
    case GCI_AST_NAME:
    case GCI_AST_HINT: return compile_name(e, node);
    case GCI_AST_CHAIN:
    case GCI_AST_POWER: return compile_chain(e, node, node->count);
    case GCI_AST_UNARY: return compile_sign(e, node);
    case GCI_AST_NOT: return compile_unary(e, GCI_OP_NOT, node->first);
    case GCI_AST_COMPARE: return compile_comparison_value(e, node);
    case GCI_AST_AND:
    case GCI_AST_OR: return compile_choice(e, node);
    case GCI_AST_IF: return compile_conditional_value(e, node);
    case GCI_AST_CALL: return compile_call(e, node);
    case GCI_AST_TUPLE: return call_function(e, gci_function_tuple(), node->first, node->count);
    case GCI_AST_ATTRIBUTE:
        r = compile_attribute(e, node, &function);
        return function != NULL ? load(e, gci_function_as_object(function)) : r;
    }
    return 0;
}

/* The register with the node's value. It may be a name's or a kept one: the caller releases it and never writes it. */
uint16_t
gci_compile_value(gci_emitter *e, gci_ast const *node)
{
    if (e->status != GCACHE_OK)
        return 0;
    uint16_t r = gci_emit_find(e, node->class);
    if (r != GCI_NO_REGISTER)
        return r;
    r = compile_new_value(e, node);
    gci_emit_keep(e, node->class, r);
    return r;
}

static uint16_t
compile_prefix(gci_emitter *e, gci_ast const *node, uint32_t count)
{
    GCI_ASSERT(node->kind == GCI_AST_CHAIN && count >= 1 && count < node->count);
    return count == 1 ? gci_compile_value(e, node->first) : compile_chain(e, node, count);
}

/* ---- conditions: jumps, and the instructions that compare and jump at once ---- */

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

    if (!fold(e, node, &number) || number.kind != GCI_KIND_INT || !fits_32(number.i))
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

    if (last == NULL || last->a != r)
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
    uint16_t r = compile_prefix(e, left, left->count - 1);
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
 * The first false operand decides `and`, the first true one `or`. If the jump is for that case, every operand jumps to
 * the label; else a deciding operand jumps past the last.
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

    if (!gci_ast_is_called_comparison(node, &op) || gci_emit_is_shadowed(e, callee->name))
        return false;
    compare_two(e, callee->next, op, callee->next->next, sense, label);
    return true;
}

static void
compile_truth(gci_emitter *e, gci_ast const *node, bool sense, gci_label *label)
{
    gci_number number;

    if (fold(e, node, &number)) {
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
