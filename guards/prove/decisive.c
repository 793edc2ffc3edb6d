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

/* Goes down through conjunctions and the branch that a conditional takes, to the part that decides. */
static part
deciding_part(explaining *x, gci_ast *node)
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
            break;
        node = next;
    }
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

static bool
is_leaf(gci_ast *node)
{
    return is_name(node) || is_constant(node);
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

void
gci_guards_explain(gci_guards const *guards, size_t index, gci_hints const *hints, gci_buf *out_part,
                   gci_buf *out_values)
{
    explaining x = { .guards = guards, .hints = hints, .text = guards->texts[index] };
    gci_arena arena;

    GCI_ASSERT(index < guards->count);
    gci_arena_init(&arena, SIZE_MAX / 2);
    gci_calc_init(&x.calc);
    gci_ast *tree = gci_ast_parse(x.text, &arena, NULL);
    if (tree != NULL) {
        part decisive = deciding_part(&x, tree);
        write_part(&x, decisive, out_part);
        if (out_values != NULL)
            write_values(&x, decisive, out_values);
    } else {
        gci_buf_append_view(out_part, x.text);
    }
    gci_calc_clear(&x.calc);
    gci_arena_clear(&arena);
}
