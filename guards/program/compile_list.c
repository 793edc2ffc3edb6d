/*
 * A list of guards to one program: each guard is a condition whose failure fails the list. And one tree to a program that
 * ends with its value in a register.
 */
#include "guards/program/compiler.h"

#include "base/check.h"
#include "guards/value/functions.h"

/* The name by which the node calls a function or a module; NULL if it doesn't. */
static gci_ast *
callee_of(gci_ast const *node)
{
    gci_ast *first = node->first;
    bool called = node->kind == GCI_AST_CALL && first->kind == GCI_AST_NAME;
    bool module = node->kind == GCI_AST_ATTRIBUTE && first->kind == GCI_AST_NAME && gci_function_is_module(first->name);

    return called || module ? first : NULL;
}

static void
add_class(gci_emitter *e, gci_ast *node)
{
    if (!gci_classes_add(&e->classes, node))
        gci_emit_fail(e, GCACHE_ERROR_MEMORY, "out of memory");
}

/* Classes and names, before any code is written: names take the first registers, in the order of the text. */
static void
add_tree(gci_emitter *e, gci_ast *node)
{
    gci_ast *child = node->first, *callee = callee_of(node);

    if (node->kind == GCI_AST_NAME || node->kind == GCI_AST_HINT)
        node->slot = gci_emit_name(e, node->name, node->kind == GCI_AST_HINT);
    if (callee != NULL && !gci_emit_callee(e, callee->name)) {
        add_class(e, callee);
        child = callee->next;
    }
    for (; child != NULL; child = child->next)
        add_tree(e, child);
    add_class(e, node);
}

static gci_ast *
add_guard(gci_emitter *e, size_t index)
{
    gcache_error error;
    gci_ast *tree = gci_ast_parse(e->what->texts[index], &e->scratch, &error);

    if (tree == NULL) {
        e->status = error.status;
        error.line = error.column > 0 ? (int)index + 1 : 0;
        if (e->error != NULL)
            *e->error = error;
        return NULL;
    }
    add_tree(e, tree);
    return tree;
}

/* ---- specificity ---- */

static void
count_conjuncts(gci_ast const *node, gci_program *program)
{
    if (node->kind == GCI_AST_AND) {
        for (gci_ast const *child = node->first; child != NULL; child = child->next)
            count_conjuncts(child, program);
        return;
    }
    if (node->kind != GCI_AST_COMPARE) {
        program->conjuncts++;
        program->equalities += node->kind == GCI_AST_CALL && node->count == 3 && node->first->kind == GCI_AST_NAME
                               && gci_view_is(node->first->name, "Eq");
        return;
    }
    /* a < b < c is two conjuncts. */
    program->conjuncts += node->count - 1;
    for (gci_ast const *child = node->first->next; child != NULL; child = child->next)
        program->equalities += child->joint == GCI_OPERATOR_EQ;
}

/* ---- the program ---- */

static void *
keep(gci_emitter *e, gci_table const *table)
{
    gci_view copy = gci_arena_copy(e->arena, gci_view_of(table->data, table->size));

    if (copy.data == NULL)
        gci_emit_fail(e, GCACHE_ERROR_MEMORY, "out of memory");
    return (void *)copy.data;
}

static bool
needs_exact(gci_instruction const *instruction)
{
    return instruction->op == GCI_OP_CALL || instruction->op == GCI_OP_TRUEDIV || instruction->op == GCI_OP_POOL;
}

static void
finish(gci_emitter *e, gci_program *out)
{
    out->code = keep(e, &e->code);
    out->names = keep(e, &e->names);
    out->constants = keep(e, &e->constants);
    out->messages = keep(e, &e->messages);
    out->starts = keep(e, &e->starts);
    out->callees = keep(e, &e->callees);
    out->code_count = gci_emit_next(e);
    out->name_count = e->name_count;
    out->constant_count = (uint32_t)(e->constants.size / sizeof(gci_number));
    out->message_count = (uint32_t)(e->messages.size / sizeof(gci_view));
    out->callee_count = (uint32_t)(e->callees.size / sizeof(gci_view));
    out->guard_count = (uint32_t)e->what->count;
    out->register_count = e->highest;
    for (uint32_t i = 0; e->status == GCACHE_OK && i < out->code_count; i++)
        out->exact_only = out->exact_only || needs_exact(&out->code[i]);
}

static void
compile_list(gci_emitter *e, gci_ast **trees, gci_program *out)
{
    for (size_t i = 0; i < e->what->count && e->status == GCACHE_OK; i++) {
        trees[i] = add_guard(e, i);
        if (trees[i] != NULL)
            count_conjuncts(trees[i], out);
    }
    if (e->status == GCACHE_OK)
        gci_emit_begin_code(e, e->classes.count);
    for (size_t i = 0; i < e->what->count && e->status == GCACHE_OK; i++) {
        uint32_t start = gci_emit_next(e);
        gci_emit_append(e, &e->starts, &start, sizeof start);
        e->fence = start;
        gci_compile_condition(e, trees[i], false, NULL);
    }
    gci_emit(e, (gci_instruction){ .op = GCI_OP_HOLD });
}

/* Moved, so that a name is looked up even where nothing else reads it. */
static uint16_t
compile_tree(gci_emitter *e, gci_ast *tree)
{
    add_tree(e, tree);
    if (e->status == GCACHE_OK)
        gci_emit_begin_code(e, e->classes.count);
    if (e->status != GCACHE_OK)
        return 0;
    uint16_t value = gci_compile_value(e, tree), result = gci_emit_new(e);
    gci_emit(e, (gci_instruction){ .op = GCI_OP_MOVE, .a = result, .b = value });
    gci_emit(e, (gci_instruction){ .op = GCI_OP_HOLD });
    return result;
}

/* Takes the program out of the emitter, if there is one. */
static gcache_status
end(gci_emitter *e, gci_program *out)
{
    if (e->status == GCACHE_OK)
        finish(e, out);
    GCI_ASSERT(e->status != GCACHE_OK || gci_program_verify(out, &e->scratch));
    gcache_status status = e->status;
    gci_emitter_clear(e);
    return status;
}

gcache_status
gci_program_compile_tree(gci_compilation const *what, gci_ast *tree, gci_arena *arena, gci_program *out,
                         uint16_t *out_result)
{
    gci_emitter e;

    *out = (gci_program){ .code = NULL };
    gci_emitter_init(&e, what, arena, NULL);
    *out_result = compile_tree(&e, tree);
    return end(&e, out);
}

gcache_status
gci_program_compile(gci_compilation const *what, gci_arena *arena, gci_program *out, gcache_error *error)
{
    gci_emitter e;

    *out = (gci_program){ .code = NULL };
    gci_emitter_init(&e, what, arena, error);
    gci_ast **trees = gci_arena_array(&e.scratch, what->count, sizeof *trees);
    if (trees == NULL)
        gci_emit_fail(&e, GCACHE_ERROR_MEMORY, "out of memory");
    compile_list(&e, trees, out);
    return end(&e, out);
}
