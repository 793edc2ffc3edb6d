/*
 * Whether two trees of values are the same.
 */
#include "base/text/value.h"

static bool
same_items(gci_value const *a, gci_value const *b)
{
    bool same = a->count == b->count;

    for (uint32_t i = 0; i < a->count && same; i++)
        same = gci_value_equal(&a->items[i], &b->items[i]);
    return same;
}

static bool
same_members(gci_value const *a, gci_value const *b)
{
    bool same = a->count == b->count;

    for (uint32_t i = 0; i < a->count && same; i++)
        same = gci_view_equal(a->members[i].name, b->members[i].name) &&
               gci_value_equal(&a->members[i].value, &b->members[i].value);
    return same;
}

bool
gci_value_equal(gci_value const *a, gci_value const *b)
{
    if (a->type != b->type)
        return false;
    switch ((gci_value_type)a->type) {
    case GCI_NULL:
        return true;
    case GCI_BOOL:
        return a->boolean == b->boolean;
    case GCI_INT:
    case GCI_NODE:
        return a->integer == b->integer;
    case GCI_FLOAT:
        return memcmp(&a->real, &b->real, sizeof a->real) == 0;
    case GCI_LIST:
    case GCI_TUPLE:
    case GCI_SET:
        return same_items(a, b);
    case GCI_MAP:
    case GCI_TENSOR:
        return same_members(a, b);
    case GCI_BIGINT:
    case GCI_STRING:
    case GCI_BYTES:
    case GCI_SYM:
    case GCI_ENUM:
        return gci_view_equal(a->text, b->text);
    }
    return false;
}
