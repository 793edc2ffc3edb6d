/*
 * Values in canonical form.
 */
#include "graph/canon/canon_value.h"

#include <stdlib.h>

/* ---- members ---- */

/* A member on the scratch stack, which may have moved. */
static inline gci_canon_member
member_at(gci_canon_run const *run, size_t mark, uint32_t index)
{
    gci_canon_member member;

    memcpy(&member, run->members.data + mark + index * sizeof member, sizeof member);
    return member;
}

static int
compare_members(void const *a, void const *b)
{
    gci_canon_member const *x = a, *y = b;

    return gci_cbor_key_compare(x->name, y->name);
}

/* Few members, or members in order already, are the rule: insertion takes one comparison a member for the latter. */
#define INSERTION_MEMBERS 24

static void
insert_members(gci_canon_member *members, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        gci_canon_member moved = members[i];
        uint32_t k = i;
        for (; k > 0 && gci_cbor_key_compare(members[k - 1].name, moved.name) > 0; k--)
            members[k] = members[k - 1];
        members[k] = moved;
    }
}

static void
sort_run(gci_canon_member *members, uint32_t count)
{
    uint32_t sorted = count != 0;

    while (sorted < count && gci_cbor_key_compare(members[sorted - 1].name, members[sorted].name) < 0)
        sorted++;
    if (sorted < count && count > INSERTION_MEMBERS)
        qsort(members, count, sizeof *members, compare_members);
    else if (sorted < count)
        insert_members(members, count);
}

/* Names of this size and longer ones are told apart by comparing them only. */
#define LONG_NAME 63

static size_t
class_of(gci_canon_member const *member)
{
    return member->name.size < LONG_NAME ? member->name.size : LONG_NAME;
}

/* Names are in order of their sizes first. Many members, such as a compiler's options, mostly come in the order of their names:
   those of one size are sorted then. */
static void
sort_by_size(gci_canon_run *run, size_t mark, uint32_t count)
{
    uint32_t ends[LONG_NAME + 2] = { 0 };
    size_t bytes = count * sizeof(gci_canon_member);
    char *room = gci_buf_reserve(&run->members, bytes);
    gci_canon_member *members = (gci_canon_member *)(void *)(run->members.data + mark);

    if (room == NULL)
        return;
    gci_canon_member const *given = memcpy(room, members, bytes);
    for (uint32_t i = 0; i < count; i++)
        ends[class_of(&given[i]) + 1]++;
    for (size_t class = 1; class <= LONG_NAME; class++)
        ends[class] += ends[class - 1];
    for (uint32_t i = 0; i < count; i++)
        members[ends[class_of(&given[i])]++] = given[i];
    for (size_t class = 0; class <= LONG_NAME; class++) {
        uint32_t start = class != 0 ? ends[class - 1] : 0;
        sort_run(members + start, ends[class] - start);
    }
}

static void
sort_members(gci_canon_run *run, size_t mark, uint32_t count)
{
    if (count > INSERTION_MEMBERS)
        sort_by_size(run, mark, count);
    else if (count != 0) /* without any there may be no bytes to point into */
        insert_members((gci_canon_member *)(void *)(run->members.data + mark), count);
}

void
gci_canon_push_member(gci_canon_run *run, gci_view name, gci_value const *value, gci_rules_state place, uint32_t *count)
{
    if (place != GCI_RULES_INERT) {
        gci_canon_step step = { .outer = run->step, .name = name };
        place = gci_rules_member(run->rules, place, name);
        run->step = &step;
        bool dropped = gci_canon_dropped(run, place, value);
        run->step = step.outer;
        if (dropped)
            return;
    }
    gci_canon_member *member = (gci_canon_member *)(void *)gci_buf_reserve(&run->members, sizeof *member);
    if (member == NULL)
        return;
    *member = (gci_canon_member){ .name = name, .value = value, .place = place };
    run->members.size += sizeof *member;
    ++*count;
}

void
gci_canon_put_members(gci_canon_run *run, size_t mark, uint32_t count, gci_put_member_fn *put)
{
    if (!run->members.failed)
        sort_members(run, mark, count);
    if (run->members.failed) {
        gci_canon_fail_memory(run);
        return;
    }
    gci_cbor_head(&run->out, GCI_CBOR_MAP, count);
    for (uint32_t i = 0; i < count && run->status == GCACHE_OK; i++) {
        gci_canon_member member = member_at(run, mark, i);
        gci_canon_step step = { .outer = run->step, .name = member.name };
        run->step = &step;
        gci_cbor_text(&run->out, member.name);
        put(run, &member);
        run->step = step.outer;
    }
    run->members.size = mark;
}

void
gci_canon_put_member(gci_canon_run *run, gci_canon_member const *member)
{
    gci_canon_value(run, member->value, member->place);
}

void
gci_canon_push_members(gci_canon_run *run, gci_value const *map, gci_rules_state place, uint32_t *count)
{
    for (uint32_t i = 0; i < map->count; i++)
        gci_canon_push_member(run, map->members[i].name, &map->members[i].value, place, count);
}

static void put_map(gci_canon_run *run, gci_value const *map, gci_rules_state place) __attribute__((noinline));

static void
put_map(gci_canon_run *run, gci_value const *map, gci_rules_state place)
{
    size_t mark = run->members.size;
    uint32_t count = 0;

    gci_canon_push_members(run, map, place, &count);
    gci_canon_put_members(run, mark, count, gci_canon_put_member);
}

/* ---- lists ---- */

static void
put_item(gci_canon_run *run, gci_value const *item, uint32_t index, gci_rules_state place)
{
    gci_canon_step step = { .outer = run->step, .index = index };

    run->step = &step;
    gci_canon_value(run, item, place == GCI_RULES_INERT ? place : gci_rules_item(run->rules, place, index));
    run->step = step.outer;
}

static bool
item_dropped(gci_canon_run *run, gci_value const *item, uint32_t index, gci_rules_state place)
{
    gci_canon_step step = { .outer = run->step, .index = index };

    run->step = &step;
    bool dropped = gci_canon_dropped(run, gci_rules_item(run->rules, place, index), item);
    run->step = step.outer;
    return dropped;
}

static void
put_list(gci_canon_run *run, gci_value const *list, gci_rules_state place)
{
    if (place == GCI_RULES_INERT) {
        gci_cbor_head(&run->out, GCI_CBOR_ARRAY, list->count);
        for (uint32_t i = 0; i < list->count && run->status == GCACHE_OK; i++)
            put_item(run, &list->items[i], i, place);
        return;
    }
    gci_trace_fn trace = run->trace;
    uint32_t count = 0;
    run->trace = NULL; /* dropped items are reported once, below */
    for (uint32_t i = 0; i < list->count; i++)
        count += !item_dropped(run, &list->items[i], i, place);
    run->trace = trace;
    gci_cbor_head(&run->out, GCI_CBOR_ARRAY, count);
    for (uint32_t i = 0; i < list->count && run->status == GCACHE_OK; i++)
        if (!item_dropped(run, &list->items[i], i, place))
            put_item(run, &list->items[i], i, place);
}

/* ---- sets ---- */

/* An item of a set, encoded. */
typedef struct encoded {
    size_t start, size;   /* in out */
    uint32_t index;       /* in the set as given */
    size_t first, last;   /* its occurrences, in bytes of run->occurrences */
    char const *bytes;    /* while sorting */
} encoded;

static int
compare_encoded(void const *a, void const *b)
{
    encoded const *x = a, *y = b;

    return gci_view_compare(gci_view_of(x->bytes, x->size), gci_view_of(y->bytes, y->size));
}

/* Encodes items behind one another, in the order of `items` by index, and sorts `items` by what came out. */
static void
encode_items(gci_canon_run *run, gci_value const *set, gci_rules_state place, encoded *items)
{
    for (uint32_t i = 0; i < set->count && run->status == GCACHE_OK; i++) {
        items[i].start = run->out.size;
        items[i].first = run->occurrences.size;
        put_item(run, &set->items[items[i].index], items[i].index, place);
        items[i].size = run->out.size - items[i].start;
        items[i].last = run->occurrences.size;
    }
    if (run->out.failed)
        gci_canon_fail_memory(run);
    if (run->status != GCACHE_OK)
        return;
    for (uint32_t i = 0; i < set->count; i++)
        items[i].bytes = run->out.data + items[i].start;
    qsort(items, set->count, sizeof *items, compare_encoded);
}

/* An expression's place in a set is that of the set and the item's content, not the order the items were given in. */
static void
place_occurrences(gci_canon_run *run, encoded const *items, uint32_t count, uint64_t set_place)
{
    gci_occurrence *all = (gci_occurrence *)(void *)run->occurrences.data;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t item_place = gci_mix(set_place, gci_hash64(items[i].bytes, items[i].size, 0)), number = 0;
        for (size_t at = items[i].first; at < items[i].last; at += sizeof *all)
            all[at / sizeof *all].place = gci_mix(item_place, number++);
    }
}

/* Replaces what encode_items wrote from mark on by an array without duplicates. */
static void
put_sorted(gci_canon_run *run, encoded const *items, uint32_t count, size_t mark)
{
    gci_buf sorted;
    uint32_t distinct = 0;

    gci_buf_init(&sorted, GCI_BUF_NO_LIMIT);
    for (uint32_t i = 0; i < count; i++)
        distinct += i == 0 || compare_encoded(&items[i - 1], &items[i]) != 0;
    gci_cbor_head(&sorted, GCI_CBOR_ARRAY, distinct);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || compare_encoded(&items[i - 1], &items[i]) != 0)
            gci_buf_append(&sorted, items[i].bytes, items[i].size);
    run->out.size = mark;
    gci_buf_append_view(&run->out, gci_buf_view(&sorted));
    if (sorted.failed)
        gci_canon_fail_memory(run);
    gci_buf_clear(&sorted);
}

/*
 * Items are sorted by their bytes. As those depend on symbols' names, and names on the order items are met in, the items
 * are first sorted blindly, symbols counting as their colors; if there are unnamed ones, they are named in that order.
 */
static void
put_items(gci_canon_run *run, gci_value const *set, gci_rules_state place, encoded *items)
{
    gci_canon_mode mode = run->mode;
    size_t mark = run->out.size;
    uint64_t set_place = run->place++;
    bool outer_blinded = run->blinded;

    if (mode == CANON_WRITE)
        run->mode = CANON_BLIND;
    run->blinded = false;
    encode_items(run, set, place, items);
    if (mode == CANON_COLLECT && run->status == GCACHE_OK && !run->occurrences.failed)
        place_occurrences(run, items, set->count, set_place);
    run->place = set_place + 1;
    run->mode = mode;
    bool again = mode == CANON_WRITE && (run->blinded || run->rewrites);
    if (again && run->blinded) {
        gci_exprs_refine(run->exprs);
        run->out.size = mark;
        run->mode = CANON_BLIND;
        encode_items(run, set, place, items);
        run->mode = mode;
    }
    if (again) {
        run->out.size = mark;
        encode_items(run, set, place, items);
    }
    run->blinded = run->blinded || outer_blinded;
    if (run->status == GCACHE_OK)
        put_sorted(run, items, set->count, mark);
}

/* Like all that is rare, it isn't made part of gci_canon_value, which is called for every value and stays small so. */
static void put_set(gci_canon_run *run, gci_value const *set, gci_rules_state place) __attribute__((noinline));

static void
put_set(gci_canon_run *run, gci_value const *set, gci_rules_state place)
{
    encoded *items = calloc((size_t)set->count + 1, sizeof *items);

    if (run->hold == GCI_CANON_MAX_SETS)
        gci_canon_fail(run, GCACHE_ERROR_LIMIT, "sets nested deeper than %d levels", GCI_CANON_MAX_SETS);
    if (items == NULL) {
        gci_canon_fail_memory(run);
        return;
    }
    for (uint32_t i = 0; i < set->count; i++)
        items[i].index = i;
    gci_cbor_tag(&run->out, GCI_TAG_SET);
    run->hold++;
    put_items(run, set, place, items);
    run->hold--;
    free(items);
}

/* ---- expressions ---- */

/* The longest integer that arithmetic on expressions makes, and its sign; a longer literal isn't in the language either. */
#define MAX_DECIMAL 5000

static bool
is_decimal(gci_view text)
{
    size_t sign = text.size != 0 && text.data[0] == '-';

    if (text.size == sign || text.size > MAX_DECIMAL)
        return false;
    for (size_t i = sign; i < text.size; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.data[sign] != '0' || (text.size == 1 && sign == 0);
}

/* What an expression counts as where symbols have no names yet. */
static void
put_blind(gci_canon_run *run, uint32_t form)
{
    uint64_t hash = gci_exprs_hash(run->exprs, form);

    run->blinded = true;
    gci_cbor_bytes(&run->out, gci_view_of(&hash, sizeof hash));
}

static void
record_occurrence(gci_canon_run *run, uint32_t form)
{
    gci_occurrence occurrence = { .form = form, .place = run->place++ };

    gci_buf_append(&run->occurrences, &occurrence, sizeof occurrence);
    if (run->occurrences.failed)
        gci_canon_fail_memory(run);
}

static void
fail_expressions(gci_canon_run *run)
{
    if (run->exprs->too_large)
        gci_canon_fail(run, GCACHE_ERROR_LIMIT, "the normal forms of the expressions are too large for their texts");
    else
        gci_canon_fail_memory(run);
}

static void put_expression(gci_canon_run *run, gci_view text, bool tagged) __attribute__((noinline));

/* An expression: an integer if it is constant, else its normal form as text, tagged unless it is tagged already. */
static void
put_expression(gci_canon_run *run, gci_view text, bool tagged)
{
    gci_view written = text;

    if (!is_decimal(text)) {
        uint32_t form = gci_exprs_form(run->exprs, text);
        if (form == GCI_INTERN_NONE) {
            fail_expressions(run);
            return;
        }
        if (run->mode == CANON_COLLECT)
            record_occurrence(run, form);
        if (run->mode == CANON_COLLECT || (run->mode == CANON_BLIND && !gci_exprs_named(run->exprs, form))) {
            put_blind(run, form);
            return;
        }
        written = gci_exprs_write(run->exprs, form);
        if (written.data == NULL) {
            fail_expressions(run);
            return;
        }
    }
    if (is_decimal(written)) {
        gci_cbor_decimal(&run->out, written);
    } else {
        if (!tagged)
            gci_cbor_tag(&run->out, GCI_TAG_EXPR);
        gci_cbor_text(&run->out, written);
    }
}

/* ---- tensors ---- */

static void
put_dimension(gci_canon_run *run, gci_value const *item)
{
    if (item->type == GCI_INT)
        gci_cbor_int(&run->out, item->integer);
    else if (item->type == GCI_BIGINT)
        gci_cbor_decimal(&run->out, item->text);
    else
        put_expression(run, item->text, false);
}

static void
put_dimensions(gci_canon_run *run, gci_value const *list)
{
    gci_cbor_head(&run->out, GCI_CBOR_ARRAY, list->count);
    for (uint32_t i = 0; i < list->count && run->status == GCACHE_OK; i++)
        put_dimension(run, &list->items[i]);
}

/* A size's canonical bytes, once its symbols are named, are the same wherever it stands. */
static void
put_numbered_size(gci_canon_run *run, uint32_t number)
{
    size_t mark = run->out.size;

    if (run->mode == CANON_WRITE && run->sizes[number].data != NULL) {
        gci_cbor_append(&run->out, run->sizes[number].data, run->sizes[number].size);
        return;
    }
    put_expression(run, run->graph->texts.texts[number], false);
    if (run->mode == CANON_WRITE && !run->out.failed)
        run->sizes[number] = gci_arena_copy(&run->size_bytes, gci_view_of(run->out.data + mark, run->out.size - mark));
}

void
gci_canon_sizes(gci_canon_run *run, uint32_t const *numbers, uint32_t rank)
{
    gci_cbor_head(&run->out, GCI_CBOR_ARRAY, rank);
    for (uint32_t i = 0; i < rank && run->status == GCACHE_OK; i++)
        put_numbered_size(run, numbers[i]);
}

typedef enum tensor_member { MEMBER_SIZES, MEMBER_STORAGE, MEMBER_STATIC, MEMBER_OTHER } tensor_member;

static tensor_member
classify(gci_view name)
{
    if (gci_view_is(name, "shape") || gci_view_is(name, "stride"))
        return MEMBER_SIZES;
    if (gci_view_is(name, "storage_bytes") || gci_view_is(name, "storage_offset"))
        return MEMBER_STORAGE;
    return gci_view_is(name, "static") ? MEMBER_STATIC : MEMBER_OTHER;
}

static void
put_tensor_member(gci_canon_run *run, gci_canon_member const *member)
{
    gci_value const *value = member->value;
    tensor_member class = classify(member->name);

    if (class == MEMBER_SIZES && value->type == GCI_LIST)
        put_dimensions(run, value);
    else if (class == MEMBER_STORAGE && (value->type == GCI_STRING || value->type == GCI_INT))
        put_dimension(run, value);
    else
        gci_canon_value(run, value, member->place);
}

/* Pushes the members that count: where the storage lies doesn't, unless the tensor is static. */
static uint32_t
push_tensor_members(gci_canon_run *run, gci_value const *tensor, gci_rules_state place)
{
    bool is_static = false;
    uint32_t count = 0;

    for (uint32_t i = 0; i < tensor->count; i++)
        if (classify(tensor->members[i].name) == MEMBER_STATIC)
            is_static = tensor->members[i].value.type == GCI_BOOL && tensor->members[i].value.boolean;
    for (uint32_t i = 0; i < tensor->count; i++) {
        gci_member const *member = &tensor->members[i];
        tensor_member class = classify(member->name);
        if ((class == MEMBER_STORAGE || class == MEMBER_STATIC) && !is_static)
            gci_canon_left_out(run, member->name, &member->value);
        else
            gci_canon_push_member(run, member->name, &member->value, place, &count);
    }
    return count;
}

/* Symbols are named by shape first, then stride; another member with expressions may sort before them. */
static void
name_sizes(gci_canon_run *run, gci_value const *tensor)
{
    static char const *const lists[] = { "shape", "stride" };

    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++) {
        gci_value const *list = gci_map_find(tensor, lists[k]);
        for (uint32_t i = 0; list != NULL && list->type == GCI_LIST && i < list->count; i++) {
            size_t mark = run->out.size;
            put_dimension(run, &list->items[i]);
            run->out.size = mark;
        }
    }
}

static bool
has_trees(gci_canon_run const *run, size_t mark, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        gci_canon_member member = member_at(run, mark, i);
        uint8_t type = member.value->type;
        if (classify(member.name) == MEMBER_OTHER && (type == GCI_SYM || type == GCI_LIST || type == GCI_MAP ||
                                                      type == GCI_TUPLE || type == GCI_SET || type == GCI_TENSOR))
            return true;
    }
    return false;
}

static void put_tensor(gci_canon_run *run, gci_value const *tensor, gci_rules_state place) __attribute__((noinline));

static void
put_tensor(gci_canon_run *run, gci_value const *tensor, gci_rules_state place)
{
    size_t mark = run->members.size;
    uint32_t count = push_tensor_members(run, tensor, place);

    if (run->mode == CANON_WRITE && !run->members.failed && has_trees(run, mark, count))
        name_sizes(run, tensor);
    gci_cbor_tag(&run->out, GCI_TAG_TENSOR);
    gci_canon_put_members(run, mark, count, put_tensor_member);
}

/* ---- the rest ---- */

static void
put_node(gci_canon_run *run, int64_t ref)
{
    uint32_t serial = gci_node_ref_serial(ref), up;

    if (serial == GCI_NODE_INPUTS) {
        gci_cbor_tag(&run->out, GCI_TAG_NODE);
        gci_cbor_head(&run->out, GCI_CBOR_ARRAY, 1);
        gci_cbor_head(&run->out, GCI_CBOR_UINT, gci_node_ref_position(ref));
    } else if (gci_subgraph_levels(run->open, serial, &up)) {
        gci_cbor_reference(&run->out, up, gci_node_ref_position(ref));
    } else {
        gci_canon_fail(run, GCACHE_ERROR_DESCRIPTION, "a reference to a node of a graph that doesn't enclose it");
    }
}

/* Texts that rules are bound to may be whole modules: they are hashed where they are. */
static void
put_rewritten(gci_canon_run *run, gci_view text, gci_rules_state place)
{
    run->rewrites = true;
    if (run->mode != CANON_WRITE) {
        gci_cbor_text(&run->out, text);
        return;
    }
    text = gci_canon_rewrite(run, text, place);
    gci_cbor_head(&run->out, GCI_CBOR_TEXT, text.size);
    gci_canon_append(run, text);
}

static void
put_text(gci_canon_run *run, gci_view text, gci_rules_state place)
{
    if (place != GCI_RULES_INERT && gci_rules_has_text(run->rules, place))
        put_rewritten(run, text, place);
    else
        gci_cbor_text(&run->out, text);
}

void
gci_canon_value(gci_canon_run *run, gci_value const *value, gci_rules_state place)
{
    gci_buf *out = &run->out;

    if (++run->depth > GCI_CANON_MAX_DEPTH)
        gci_canon_fail(run, GCACHE_ERROR_LIMIT, "nested deeper than %d levels", GCI_CANON_MAX_DEPTH);
    if (run->status != GCACHE_OK) {
        run->depth--;
        return;
    }
    switch ((gci_value_type)value->type) {
    case GCI_NULL:
    case GCI_BOOL:
    case GCI_INT:
    case GCI_BIGINT:
    case GCI_FLOAT:
    case GCI_BYTES:
        gci_cbor_scalar(out, value);
        break;
    case GCI_STRING:
        put_text(run, value->text, place);
        break;
    case GCI_LIST:
        put_list(run, value, place);
        break;
    case GCI_MAP:
        if (value->count == 0)
            gci_cbor_head(out, GCI_CBOR_MAP, 0);
        else
            put_map(run, value, place);
        break;
    case GCI_TUPLE:
        gci_cbor_tag(out, GCI_TAG_TUPLE);
        put_list(run, value, place);
        break;
    case GCI_SET:
        put_set(run, value, place);
        break;
    case GCI_NODE:
        put_node(run, value->integer);
        break;
    case GCI_SYM:
        gci_cbor_tag(out, GCI_TAG_EXPR);
        put_expression(run, value->text, true);
        break;
    case GCI_TENSOR:
        put_tensor(run, value, place);
        break;
    case GCI_ENUM:
        gci_cbor_tag(out, GCI_TAG_ENUM);
        put_text(run, value->text, place);
        break;
    }
    run->depth--;
}
