/*
 * A guard explained for people: the part of it that decides, and its arithmetic with the values put in.
 *
 * The tree is walked as it is written, since people know the text and not the program.
 */
#include "guards/prove/prove.h"

#include "base/check.h"
#include "guards/text/ast.h"
#include "guards/text/hints.h"
#include "guards/program/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct explaining {
    gci_guards const *guards;
    gci_hints const *hints;
    gci_view text;
    gci_calc calc;
} explaining;

/* ---- values and names put in ---- */

/* The number of hints if there is none of this name. */
static size_t
hint_of(explaining const *x, gci_ast *node)
{
    gci_view bound = gci_guards_bound_name(x->guards, node->name);
    size_t i = 0;

    while (i < x->hints->count && !gci_view_equal(x->hints->items[i].bound, bound))
        i++;
    return i;
}

static bool
is_name(gci_ast *node)
{
    return node->kind == GCI_AST_NAME || node->kind == GCI_AST_HINT;
}

static void
write_value(gci_number value, gci_buf *out)
{
    /* 3 - -2 reads better as 3 - (-2). */
    bool negative = (value.kind == GCI_KIND_INT && value.i < 0) || (value.kind == GCI_KIND_BIG && value.size < 0) ||
                    (value.kind == GCI_KIND_FLOAT && value.f < 0);

    gci_buf_append_text(out, negative ? "(" : "");
    gci_number_write(value, out);
    gci_buf_append_text(out, negative ? ")" : "");
}

static void
write_hint_value(explaining const *x, gci_ast *node, gci_buf *out)
{
    size_t i = hint_of(x, node);

    if (i < x->hints->count)
        write_value(x->hints->items[i].value, out);
    else
        gci_buf_append_view(out, gci_ast_text(node, x->text));
}

/* As people call it: `L['t0']` only where nothing better is known. */
static void
write_hint_name(explaining const *x, gci_ast *node, gci_buf *out)
{
    size_t i = hint_of(x, node);
    bool known = i < x->hints->count && x->hints->shown != NULL && x->hints->shown[i].size != 0;

    gci_buf_append_view(out, known ? x->hints->shown[i] : gci_ast_text(node, x->text));
}

typedef void (*write_fn)(explaining const *x, gci_ast *node, gci_buf *out);

/* Copies the text from *at up to the node's end, with names replaced by what `write` writes. */
static void
substitute(explaining const *x, gci_ast *node, write_fn write, uint32_t *at, gci_buf *out)
{
    if (is_name(node)) {
        if (*at < node->begin) /* behind it where the name is all, in parentheses that are left out */
            gci_buf_append(out, x->text.data + *at, node->begin - *at);
        write(x, node, out);
        *at = node->end;
        return;
    }
    if (node->kind == GCI_AST_NUMBER)
        return;
    if (node->kind == GCI_AST_IF) {
        /* `value if condition else other`: the condition is the first child. */
        substitute(x, node->first->next, write, at, out);
        substitute(x, node->first, write, at, out);
        substitute(x, node->first->next->next, write, at, out);
        return;
    }
    for (gci_ast *child = node->first; child != NULL; child = child->next)
        substitute(x, child, write, at, out);
}

/* The whole of a node with its values: `16 // 3`. */
static void
write_substituted(explaining const *x, gci_ast *node, gci_buf *out)
{
    uint32_t at = node->begin, end = node->end;

    if (node->parenthesised && end - at >= 2 && x->text.data[at] == '(') {
        at++;
        end--;
    }
    substitute(x, node, write_hint_value, &at, out);
    if (at < end)
        gci_buf_append(out, x->text.data + at, end - at);
}

/* ---- the part that decides ---- */

static bool
value_of(explaining *x, gci_ast *node, gci_number *out)
{
    x->calc.raised = GCI_RAISED_NONE;
    return gci_guards_value(x->guards, node, x->hints, &x->calc, out);
}

typedef enum truth_of { IS_FALSE, IS_TRUE, IS_RAISED } truth_of;

static truth_of
truth(explaining *x, gci_ast *node)
{
    gci_number value;

    if (!value_of(x, node, &value))
        return IS_RAISED;
    return gci_number_truth(value) ? IS_TRUE : IS_FALSE;
}

/* One comparison of a chain, or a node by itself. */
typedef struct part {
    gci_ast *left, *right; /* of a comparison; else left is the node and right NULL */
} part;

/* The first pair of a chain that is false or raises. */
static part
deciding_pair(explaining *x, gci_ast *node)
{
    gci_ast *left = node->first;

    for (gci_ast *right = left->next; right != NULL; left = right, right = right->next) {
        gci_number a, b;
        bool holds = false;
        bool known = value_of(x, left, &a) && value_of(x, right, &b)
                     && gci_calc_compare(&x->calc, (gci_operator)right->joint, a, b, &holds);
        if (!known || !holds || right->next == NULL)
            return (part){ left, right };
    }
    return (part){ node, NULL };
}

/* Goes down through conjunctions and the branch that a conditional takes, to the node that decides. */
static gci_ast *
deciding_node(explaining *x, gci_ast *node)
{
    for (;;) {
        gci_ast *next = NULL;
        if (node->kind == GCI_AST_AND) {
            for (gci_ast *child = node->first; child != NULL && next == NULL; child = child->next)
                if (truth(x, child) != IS_TRUE)
                    next = child;
        } else if (node->kind == GCI_AST_IF) {
            truth_of condition = truth(x, node->first);
            next = condition == IS_RAISED ? node->first
                                          : condition == IS_TRUE ? node->first->next : node->first->next->next;
        }
        if (next == NULL)
            return node;
        node = next;
    }
}

static part
part_of(explaining *x, gci_ast *node)
{
    return node->kind == GCI_AST_COMPARE ? deciding_pair(x, node) : (part){ node, NULL };
}

/* ---- the arithmetic ---- */

static bool
is_constant(gci_ast *node)
{
    if (node->kind == GCI_AST_UNARY)
        return is_constant(node->first);
    return node->kind == GCI_AST_NUMBER;
}

/* Digits of a float that people read at a glance; more where it takes more to tell it from what it is compared with, or for two
   behind the point: 4285.71 isn't to be taken for 4286. */
#define FLOAT_DIGITS 4
#define FLOAT_DECIMALS 2
#define FLOAT_DIGITS_MOST 17

static int
order(double a, double b)
{
    return (a > b) - (a < b);
}

static int
least_digits(double value)
{
    double whole = value != 0 ? floor(log10(fabs(value))) + 1 + FLOAT_DECIMALS : 0;

    return whole <= FLOAT_DIGITS ? FLOAT_DIGITS : whole < FLOAT_DIGITS_MOST ? (int)whole : FLOAT_DIGITS_MOST;
}

/* A float rounded as far as it keeps its order to `other`. */
static double
rounded_beside(double value, double other)
{
    char text[40];
    double rounded;
    int digits = least_digits(value);

    do {
        snprintf(text, sizeof text, "%.*g", digits, value);
        rounded = strtod(text, NULL);
    } while (order(rounded, other) != order(value, other) && digits++ < FLOAT_DIGITS_MOST);
    return rounded;
}

/* false: what isn't a real number, or is too large. */
static bool
as_double(explaining *x, gci_number value, double *out)
{
    return gci_number_is_real(value) && gci_number_to_double(&x->calc, value, out);
}

/* A value beside `other`, which it is compared with. */
static void
write_beside(explaining *x, gci_number value, gci_number other, gci_buf *out)
{
    double b;

    if (value.kind == GCI_KIND_FLOAT && isfinite(value.f) && as_double(x, other, &b))
        value = gci_number_float(rounded_beside(value.f, b));
    gci_number_write(value, out);
}

static bool
is_equality(gci_operator op)
{
    return op == GCI_OPERATOR_EQ || op == GCI_OPERATOR_NE;
}

static bool
is_leaf(gci_ast *node)
{
    return is_name(node) || is_constant(node);
}

/* A side with its value: `7 / 2 = 3.5`; of a leaf the value. A constant stays as it is written. */
static void
write_float_side(explaining *x, gci_ast *node, gci_number value, gci_number other, gci_buf *out)
{
    if (is_constant(node)) {
        gci_buf_append_view(out, gci_ast_text(node, x->text));
        return;
    }
    if (!is_leaf(node)) {
        write_substituted(x, node, out);
        gci_buf_append_text(out, " = ");
    }
    write_beside(x, value, other, out);
}

/* "12.5 % 8 = 4.5, not 0", with a name beside it ", s1 = 0.5": an equality read as a chain, "= 4.5 == 0", would be false. */
static void
write_unequal(explaining *x, part decisive, gci_number left, gci_number right, gci_buf *out)
{
    bool computed = !is_leaf(decisive.left);
    gci_ast *beside = computed ? decisive.right : decisive.left;

    write_float_side(x, computed ? decisive.left : decisive.right, computed ? left : right, computed ? right : left, out);
    if (is_constant(beside)) {
        if (decisive.right->joint == GCI_OPERATOR_EQ) {
            gci_buf_append_text(out, ", not ");
            gci_buf_append_view(out, gci_ast_text(beside, x->text));
        }
        return;
    }
    gci_buf_append_text(out, ", ");
    write_hint_name(x, beside, out);
    gci_buf_append_text(out, " = ");
    write_beside(x, computed ? right : left, computed ? left : right, out);
}

/* "100 / 831 = 0.1203 <= 0.1": a float isn't seen to be beyond a bound unless it stands beside it. */
static bool
write_floats(explaining *x, part decisive, gci_buf *out)
{
    char const *token = gci_operator_token((gci_operator)decisive.right->joint);
    gci_number left, right;

    if (!value_of(x, decisive.left, &left) || !value_of(x, decisive.right, &right))
        return false;
    if (left.kind != GCI_KIND_FLOAT && right.kind != GCI_KIND_FLOAT)
        return false;
    if (is_leaf(decisive.left) != is_leaf(decisive.right) && is_equality((gci_operator)decisive.right->joint)) {
        write_unequal(x, decisive, left, right, out);
        return true;
    }
    write_float_side(x, decisive.left, left, right, out);
    if (!is_leaf(decisive.left) && !is_leaf(decisive.right)) {
        gci_buf_append_text(out, ", ");
        write_float_side(x, decisive.right, right, left, out);
        gci_buf_append_text(out, ": ");
        write_beside(x, left, right, out);
        gci_buf_format(out, " %s ", token);
        write_beside(x, right, left, out);
        return true;
    }
    gci_buf_format(out, " %s ", token);
    write_float_side(x, decisive.right, right, left, out);
    return true;
}

/* "12 % 8 = 4" for what is computed, "L['t1'] = 5" for a name beside it, nothing for a constant. */
static void
write_side(explaining *x, gci_ast *node, gci_buf *out)
{
    gci_number value;

    if (is_constant(node))
        return;
    gci_buf_append_text(out, out->size != 0 ? ", " : "");
    if (is_name(node))
        write_hint_name(x, node, out);
    else
        write_substituted(x, node, out);
    if (value_of(x, node, &value)) {
        gci_buf_append_text(out, " = ");
        gci_number_write(value, out);
    }
}

static void
write_values(explaining *x, part decisive, gci_buf *out)
{
    if (decisive.right == NULL) {
        if (!is_leaf(decisive.left))
            write_substituted(x, decisive.left, out);
        else
            write_side(x, decisive.left, out);
        return;
    }
    if (write_floats(x, decisive, out))
        return;
    if (is_leaf(decisive.left) && is_leaf(decisive.right)) {
        write_substituted(x, decisive.left, out);
        gci_buf_format(out, " %s ", gci_operator_token((gci_operator)decisive.right->joint));
        write_substituted(x, decisive.right, out);
        return;
    }
    write_side(x, decisive.left, out);
    write_side(x, decisive.right, out);
}

/* As it is written, but for names that people know otherwise. */
static void
write_part(explaining const *x, part decisive, gci_buf *out)
{
    gci_ast *last = decisive.right != NULL ? decisive.right : decisive.left;
    uint32_t at = decisive.left->begin;

    substitute(x, decisive.left, write_hint_name, &at, out);
    if (decisive.right != NULL)
        substitute(x, decisive.right, write_hint_name, &at, out);
    if (at < last->end)
        gci_buf_append(out, x->text.data + at, last->end - at);
}

/* ---- one guard ---- */

/* NULL: it can't be read. */
static gci_ast *
begin(explaining *x, gci_guards const *guards, size_t index, gci_hints const *hints, gci_arena *trees)
{
    GCI_ASSERT(index < guards->count);
    *x = (explaining){ .guards = guards, .hints = hints, .text = guards->texts[index] };
    gci_arena_init(trees, SIZE_MAX / 2);
    gci_calc_init(&x->calc);
    return gci_ast_parse(x->text, trees, NULL);
}

void
gci_guards_explain(gci_guards const *guards, size_t index, gci_hints const *hints, gci_buf *out_part,
                   gci_buf *out_values)
{
    explaining x;
    gci_arena trees;
    gci_ast *tree = begin(&x, guards, index, hints, &trees);

    if (tree != NULL) {
        part decisive = part_of(&x, deciding_node(&x, tree));
        write_part(&x, decisive, out_part);
        if (out_values != NULL)
            write_values(&x, decisive, out_values);
    } else {
        gci_buf_append_view(out_part, x.text);
    }
    gci_calc_clear(&x.calc);
    gci_arena_clear(&trees);
}

/* ---- its parts ---- */

typedef struct parts {
    explaining x;
    gci_arena *arena;
    gci_buf writing;
    gci_guard_part *made;
    size_t most, count;
    bool raised; /* what stands behind isn't evaluated */
} parts;

static gci_view
take_text(parts *p)
{
    gci_view text = gci_arena_copy(p->arena, gci_buf_view(&p->writing));

    p->writing.size = 0;
    return text;
}

static gci_operator
turned(gci_operator op)
{
    return op == GCI_OPERATOR_LT   ? GCI_OPERATOR_GT
           : op == GCI_OPERATOR_LE ? GCI_OPERATOR_GE
           : op == GCI_OPERATOR_GT ? GCI_OPERATOR_LT
           : op == GCI_OPERATOR_GE ? GCI_OPERATOR_LE
                                   : op;
}

/* The sides of a comparison with a constant. */
static void
add_sides(parts *p, part decisive, gci_guard_part *out)
{
    bool constant_first = decisive.right != NULL && is_constant(decisive.left);
    gci_ast *subject = constant_first ? decisive.right : decisive.left, *bound = constant_first ? decisive.left : decisive.right;
    gci_number value, limit;
    double a, b;

    if (bound == NULL || !is_constant(bound) || is_constant(subject))
        return;
    if (!value_of(&p->x, subject, &value) || !as_double(&p->x, value, &a) || !value_of(&p->x, bound, &limit) ||
        !as_double(&p->x, limit, &b))
        return;
    gci_operator op = (gci_operator)decisive.right->joint;
    out->op = constant_first ? turned(op) : op;
    out->distance = fabs(a - b);
    write_part(&p->x, (part){ subject, NULL }, &p->writing);
    out->subject = take_text(p);
    out->bound = gci_arena_copy(p->arena, gci_ast_text(bound, p->x.text));
    write_beside(&p->x, value, limit, &p->writing);
    out->value = take_text(p);
}

static void
add_part(parts *p, gci_ast *node)
{
    p->raised = truth(&p->x, node) == IS_RAISED;
    if (p->count++ >= p->most)
        return;
    part decisive = part_of(&p->x, node);
    gci_guard_part *out = &p->made[p->count - 1];
    *out = (gci_guard_part){ .raises = p->raised };
    write_part(&p->x, decisive, &p->writing);
    out->part = take_text(p);
    write_values(&p->x, decisive, &p->writing);
    out->values = take_text(p);
    add_sides(p, decisive, out);
}

/* The depth is that of the tree, which the parser bounds. */
static void
add_parts(parts *p, gci_ast *node)
{
    node = deciding_node(&p->x, node);
    if (node->kind != GCI_AST_OR) {
        add_part(p, node);
        return;
    }
    for (gci_ast *child = node->first; child != NULL && !p->raised; child = child->next)
        add_parts(p, child);
}

size_t
gci_guards_parts(gci_guards const *guards, size_t index, gci_hints const *hints, gci_arena *arena, gci_guard_part *made,
                 size_t most)
{
    parts p = { .arena = arena, .made = made, .most = most };
    gci_arena trees;
    gci_ast *tree = begin(&p.x, guards, index, hints, &trees);

    gci_buf_init(&p.writing, GCI_BUF_NO_LIMIT);
    if (tree != NULL && truth(&p.x, tree) != IS_TRUE)
        add_parts(&p, tree);
    bool failed = p.writing.failed || arena->failed;
    gci_buf_clear(&p.writing);
    gci_calc_clear(&p.x.calc);
    gci_arena_clear(&trees);
    return failed ? 0 : p.count;
}
