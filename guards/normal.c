/*
 * The conjuncts of a list, one a line: conjunctions taken apart (never across an `or`, which binds weaker), chains of
 * comparisons split into their pairs.
 */
#include "guards/ast.h"
#include "guards/list.h"

static void
write_line(gci_view text, gci_buf *out)
{
    gci_buf_append_view(out, text);
    gci_buf_append_char(out, '\n');
}

static void
write_conjuncts(gci_ast const *node, gci_view text, gci_buf *out)
{
    if (node->kind == GCI_AST_AND) {
        for (gci_ast const *child = node->first; child != NULL; child = child->next)
            write_conjuncts(child, text, out);
        return;
    }
    if (node->kind != GCI_AST_COMPARE) {
        write_line(gci_ast_text(node, text), out);
        return;
    }
    for (gci_ast const *left = node->first, *right = left->next; right != NULL; left = right, right = right->next)
        write_line(gci_view_of(text.data + left->begin, right->end - left->begin), out);
}

void
gci_guards_normal(gci_guards const *guards, gci_buf *out)
{
    for (size_t i = 0; i < guards->count; i++) {
        gci_arena arena;
        gci_arena_init(&arena, SIZE_MAX / 2);
        gci_ast const *tree = gci_ast_parse(guards->texts[i], &arena, NULL);
        if (tree != NULL)
            write_conjuncts(tree, guards->texts[i], out);
        else
            out->failed = true;
        gci_arena_clear(&arena);
    }
}
