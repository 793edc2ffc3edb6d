/*
 * Sizes and strides of a tensor that differ: shown as a whole, as what follows from the other, and with what is certain of how
 * the tensor lies in memory.
 */
#include "graph/diff/diff_run.h"
#include "guards/guards.h"

/* Tensors of more dimensions are left as they are. */
#define RANK_MOST 8

typedef enum order { OTHER, CONTIGUOUS, TRANSPOSED, CHANNELS_LAST } order;

/* ---- order in memory ---- */

static void
write_size(gci_value const *size, gci_buf *out)
{
    if (size->type == GCI_INT)
        gci_buf_format(out, "%lld", (long long)size->integer);
    else
        gci_buf_append_view(out, size->text);
}

/* "(4)*(s0)" in normal form; what isn't an expression stays as it is, and then equals nothing. */
static void
normalise(gci_buf *text)
{
    gci_arena arena;
    gcache_error error;

    gci_arena_init(&arena, (size_t)1 << 20);
    gci_expr *expr = gci_expr_read(gci_buf_view(text), &arena, &error);
    if (expr != NULL) {
        gci_buf written;
        gci_buf_init(&written, GCI_BUF_NO_LIMIT);
        gci_expr_write(expr, (gci_naming){ .rename = NULL }, &written);
        text->size = 0;
        gci_buf_append_view(text, gci_buf_view(&written));
        gci_buf_clear(&written);
    }
    gci_arena_clear(&arena);
}

static bool
is_one(gci_value const *size)
{
    return size->type == GCI_INT && size->integer == 1;
}

/* Dimensions from the innermost out: each stride is the product of the sizes within. That of a single element is never used. */
static bool
lies_in_order(gci_value const *shape, gci_value const *stride, uint32_t const *dimensions)
{
    gci_buf product, here;
    bool same = true;

    gci_buf_init(&product, GCI_BUF_NO_LIMIT);
    gci_buf_init(&here, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&product, "1");
    for (uint32_t i = 0; i < shape->count && same; i++) {
        if (is_one(&shape->items[dimensions[i]]))
            continue;
        here.size = 0;
        write_size(&stride->items[dimensions[i]], &here);
        normalise(&here);
        same = gci_view_equal(gci_buf_view(&here), gci_buf_view(&product)) && !product.failed && !here.failed;
        gci_buf_append_text(&product, "*(");
        write_size(&shape->items[dimensions[i]], &product);
        gci_buf_append_text(&product, ")");
        normalise(&product);
    }
    gci_buf_clear(&product);
    gci_buf_clear(&here);
    return same;
}

static bool
are_sizes(gci_value const *list)
{
    bool sizes = list != NULL && list->type == GCI_LIST && list->count <= RANK_MOST;

    for (uint32_t i = 0; sizes && i < list->count; i++)
        sizes = list->items[i].type == GCI_INT || list->items[i].type == GCI_SYM;
    return sizes;
}

static order
order_of(gci_value const *tensor)
{
    gci_value const *shape = gci_map_find(tensor, "shape"), *stride = gci_map_find(tensor, "stride");
    uint32_t dimensions[RANK_MOST];

    if (!are_sizes(shape) || !are_sizes(stride) || shape->count != stride->count || shape->count == 0)
        return OTHER;
    uint32_t rank = shape->count;
    for (uint32_t i = 0; i < rank; i++)
        if (shape->items[i].type == GCI_INT && shape->items[i].integer == 0)
            return CONTIGUOUS;
    for (uint32_t i = 0; i < rank; i++)
        dimensions[i] = rank - 1 - i;
    if (lies_in_order(shape, stride, dimensions))
        return CONTIGUOUS;
    if (rank < 2)
        return OTHER;
    dimensions[0] = rank - 2;
    dimensions[1] = rank - 1;
    if (lies_in_order(shape, stride, dimensions))
        return TRANSPOSED;
    dimensions[0] = 1;
    for (uint32_t i = 1; i + 1 < rank; i++)
        dimensions[i] = rank - i;
    return rank >= 4 && lies_in_order(shape, stride, dimensions) ? CHANNELS_LAST : OTHER;
}

static gci_diff_remark
remark_of(order stored, order asked)
{
    if (stored == CONTIGUOUS)
        return asked == TRANSPOSED ? GCI_DIFF_TRANSPOSED : asked == CHANNELS_LAST ? GCI_DIFF_CHANNELS_LAST : GCI_DIFF_NONE;
    if (asked != CONTIGUOUS || stored == OTHER)
        return GCI_DIFF_NONE;
    return stored == TRANSPOSED ? GCI_DIFF_WAS_TRANSPOSED : GCI_DIFF_WAS_CHANNELS_LAST;
}

/* ---- items ---- */

/* The items of a tensor's shape or strides: those from `first` on whose path goes on with name, or one of another rank. */
typedef struct sizes {
    size_t first, count;
    gci_value const *stored, *asked;
} sizes;

static bool
are_lists(sizes const *found)
{
    return found->stored != NULL && found->asked != NULL && found->stored->type == GCI_LIST && found->asked->type == GCI_LIST;
}

static sizes
find_sizes(gci_diff_run const *run, size_t first, gci_value const *stored, gci_value const *asked, char const *name)
{
    sizes found = { .stored = gci_map_find(stored, name), .asked = gci_map_find(asked, name) };
    gci_diff const *diff = run->diff;

    for (size_t i = first; i < diff->count; i++) {
        gci_view path = diff->items[i].path;
        gci_view rest = gci_view_of(path.data + run->path.size, path.size - run->path.size);
        bool begins = rest.size > strlen(name) && rest.data[0] == '.' && memcmp(rest.data + 1, name, strlen(name)) == 0;
        bool is_one = begins && rest.size > strlen(name) + 1 && rest.data[strlen(name) + 1] == '[';
        bool are_all = begins && rest.size == strlen(name) + 1 && are_lists(&found);
        if (!is_one && !are_all)
            continue;
        found.first = found.count++ == 0 ? i : found.first;
    }
    return found;
}

static gci_view
whole_of(gci_diff_run *run, gci_value const *list)
{
    gci_value tuple = *list;
    gci_buf text;

    tuple.type = GCI_TUPLE;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_diff_show(&tuple, &text);
    return gci_diff_keep(run, &text);
}

/* Several elements of one list are one row. */
static void
show_whole(gci_diff_run *run, sizes const *found, char const *name)
{
    gci_diff_item *items = run->diff->items;
    bool other_rank = found->count == 1 && found->stored->count != found->asked->count;

    if ((found->count < 2 && !other_rank) || found->stored->count > RANK_MOST || found->asked->count > RANK_MOST)
        return;
    gci_view before = whole_of(run, found->stored), now = whole_of(run, found->asked);
    if (gci_view_equal(before, now))
        return; /* the same letters, which mean others: each says so itself */
    items[found->first].whole = run->path.size + 1 + strlen(name);
    items[found->first].whole_stored = before;
    items[found->first].whole_asked = now;
    for (size_t i = 1; i < found->count; i++) {
        items[found->first + i].follows = GCI_DIFF_WHOLE;
        items[found->first + i].like = found->first;
    }
}

void
gci_diff_fold_sizes(gci_diff_run *run, size_t first, gci_value const *stored, gci_value const *asked)
{
    sizes shape = find_sizes(run, first, stored, asked, "shape"), stride = find_sizes(run, first, stored, asked, "stride");

    if (shape.count == 0 && stride.count == 0)
        return;
    order before = order_of(stored), now = order_of(asked);
    show_whole(run, &shape, "shape");
    if (shape.count != 0 && before == CONTIGUOUS && now == CONTIGUOUS) {
        for (size_t i = 0; i < stride.count; i++)
            run->diff->items[stride.first + i].follows = GCI_DIFF_STRIDE;
        run->diff->followed[GCI_DIFF_STRIDE] += stride.count;
        return;
    }
    show_whole(run, &stride, "stride");
    if (stride.count != 0)
        run->diff->items[stride.first].remark = remark_of(before, now);
    for (size_t i = stride.first; i < stride.first + stride.count; i++) {
        run->diff->items[i].was_contiguous = before == CONTIGUOUS;
        run->diff->items[i].is_contiguous = now == CONTIGUOUS;
    }
}
