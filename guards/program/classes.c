/*
 * Value numbering by hashing, bottom up: a node's class follows from its operator and its children's classes.
 */
#include "guards/program/classes.h"

#include "base/digest.h"

#define FIRST_SLOTS 64

static uint64_t
mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static uint64_t
hash_number(uint64_t hash, gci_number number)
{
    hash = mix(hash, number.kind);
    if (number.kind == GCI_KIND_BIG)
        return mix(hash, number.limbs[0]);
    if (number.kind == GCI_KIND_COMPLEX || number.kind == GCI_KIND_NONE)
        return hash;
    return mix(hash, (uint64_t)number.i);
}

static bool
has_name(gci_ast const *node)
{
    return node->kind == GCI_AST_NAME || node->kind == GCI_AST_HINT || node->kind == GCI_AST_ATTRIBUTE;
}

static uint64_t
hash_node(gci_ast const *node)
{
    uint64_t hash = mix(node->kind, node->count);

    if (node->kind == GCI_AST_NUMBER)
        return hash_number(hash, node->number);
    if (has_name(node))
        hash = mix(hash, gci_hash_name(node->name));
    for (gci_ast const *child = node->first; child != NULL; child = child->next)
        hash = mix(hash, (uint64_t)child->joint << 32 | child->class);
    return hash;
}

/* The children have their classes already. */
static bool
is_equal(gci_ast const *a, gci_ast const *b)
{
    if (a->kind != b->kind || a->count != b->count)
        return false;
    if (a->kind == GCI_AST_NUMBER)
        return gci_number_identical(a->number, b->number);
    if (has_name(a) && !gci_name_equal(a->name, b->name))
        return false;
    gci_ast const *x = a->first, *y = b->first;
    for (; x != NULL; x = x->next, y = y->next)
        if (x->class != y->class || x->joint != y->joint)
            return false;
    return true;
}

static bool
resize(gci_classes *classes, uint32_t size)
{
    gci_ast **old = classes->slots;
    uint32_t old_size = old != NULL ? classes->mask + 1 : 0;
    gci_ast **slots = gci_arena_array(classes->arena, size, sizeof *slots);
    uint32_t *uses = gci_arena_array(classes->arena, size, sizeof *uses);

    if (slots == NULL || uses == NULL)
        return false;
    if (old != NULL)
        memcpy(uses, classes->uses, (classes->count + 1) * sizeof *uses);
    classes->slots = slots;
    classes->uses = uses;
    classes->mask = size - 1;
    for (uint32_t i = 0; i < old_size; i++) {
        if (old[i] == NULL)
            continue;
        uint64_t slot = hash_node(old[i]);
        while (slots[slot & classes->mask] != NULL)
            slot++;
        slots[slot & classes->mask] = old[i];
    }
    return true;
}

bool
gci_classes_init(gci_classes *classes, gci_arena *arena)
{
    *classes = (gci_classes){ .arena = arena };
    return resize(classes, FIRST_SLOTS);
}

bool
gci_classes_add(gci_classes *classes, gci_ast *node)
{
    /* At most half full: class numbers also index uses. */
    if (classes->count + 2 > (classes->mask + 1) / 2 && !resize(classes, 2 * (classes->mask + 1)))
        return false;
    uint64_t slot = hash_node(node);
    while (classes->slots[slot & classes->mask] != NULL && !is_equal(classes->slots[slot & classes->mask], node))
        slot++;
    gci_ast **found = &classes->slots[slot & classes->mask];
    if (*found == NULL) {
        *found = node;
        node->class = ++classes->count;
    } else {
        node->class = (*found)->class;
    }
    classes->uses[node->class]++;
    return true;
}
