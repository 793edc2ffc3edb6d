/*
 * One pass over the bytes of a canonical form (docs/formats/canonical.md), without a tree in between: every insert of a fresh
 * key makes one.
 */
#include "graph/diff/features.h"

#include "base/array.h"
#include "base/digest.h"
#include "graph/cbor/cbor_read.h"

#include <stdlib.h>

/* References of a node that its context is made of; those of a longer list are enough to know it by. */
#define REFERENCES 32

/* What stands for a thing that isn't hashed itself. */
enum {
    MARK_NUMBER = 1, MARK_REFERENCE, MARK_END, MARK_ITEM
};

typedef struct walk {
    uint8_t const *next, *end;
    int depth;
    bool failed;
    gci_feature_fn fn;
    void *state;
} walk;

/* A value on its way through the hashes: its bytes, but for what is left out, which parts them. */
typedef struct value_hash {
    uint64_t exact, rough;
    uint8_t const *exact_from, *rough_from; /* what isn't hashed yet */
    size_t reference_count;
    uint64_t references[REFERENCES]; /* positions among the nodes of the same graph */
} value_hash;

/* What is known of the nodes of a graph that later ones refer to: each with what it refers to itself. */
typedef struct node_list {
    uint64_t *items;
    size_t count, capacity;
} node_list;

char const *
gci_feature_sort_name(gci_feature_sort sort)
{
    static char const *const names[] = {
#define X(name, text) text,
        GCI_FEATURE_SORT_MAP(X)
#undef X
    };
    return names[sort];
}

static bool
fail(walk *w)
{
    w->failed = true;
    return false;
}

static bool
read_head(walk *w, gci_cbor_start *out)
{
    return !w->failed && (gci_cbor_read_start(&w->next, w->end, out) || fail(w));
}

static bool
take(walk *w, uint64_t size, gci_view *out)
{
    if (w->failed || size > (uint64_t)(w->end - w->next))
        return fail(w);
    *out = gci_view_of(w->next, (size_t)size);
    w->next += size;
    return true;
}

/* The head of an item that must be of a major type. */
static bool
expect(walk *w, unsigned major, uint64_t *out_n)
{
    gci_cbor_start h;

    if (!read_head(w, &h) || h.major != major)
        return fail(w);
    *out_n = h.n;
    return true;
}

static bool
read_name(walk *w, gci_view *out_name)
{
    uint64_t size;

    return expect(w, GCI_CBOR_TEXT, &size) && take(w, size, out_name);
}

static bool
is_next(walk const *w, unsigned major)
{
    return !w->failed && w->next != w->end && *w->next >> 5 == major;
}

static uint64_t
hash_of(gci_view text)
{
    return gci_hash64(text.data, text.size, 0);
}

static void
emit_at(walk *w, gci_feature_sort sort, uint64_t exact, uint64_t rough, uint64_t place)
{
    w->fn(w->state, &(gci_feature){ .sort = sort, .exact = exact, .place = gci_mix(exact, place), .rough = rough,
                                    .context = rough, .name = rough });
}

/* One that stands nowhere in particular. */
static void
emit(walk *w, gci_feature_sort sort, uint64_t exact, uint64_t rough)
{
    emit_at(w, sort, exact, rough, 0);
}

/* ---- texts ---- */

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_word(char c)
{
    return is_digit(c) || c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* A text hashed piece by piece. */
typedef struct pieces {
    char part[256];
    size_t size;
    uint64_t hash;
} pieces;

static void
put(pieces *p, char const *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        p->part[p->size++] = text[i];
        if (p->size < sizeof p->part)
            continue;
        p->hash = gci_hash64(p->part, p->size, p->hash);
        p->size = 0;
    }
}

/* Of a text without its numbers: a word with a digit in it, as %12, i64 or 8xf32, counts as one. */
static uint64_t
hash_without_numbers(gci_view text)
{
    pieces p = { .size = 0 };
    size_t next;

    for (size_t at = 0; at < text.size; at = next) {
        bool number = false;
        for (next = at; next < text.size && is_word(text.data[next]); next++)
            number |= is_digit(text.data[next]);
        next += next == at;
        put(&p, number ? "#" : text.data + at, number ? 1 : next - at);
    }
    return gci_hash64(p.part, p.size, p.hash);
}

/* Of an expression with symbols known by their letter: s0 and s12 are the same, 0 and 12 aren't. */
static uint64_t
hash_without_symbols(gci_view text)
{
    pieces p = { .size = 0 };
    bool in_name = false;

    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        in_name = is_word(c) && (in_name || !is_digit(c));
        if (!in_name || !is_digit(c))
            put(&p, &c, 1);
    }
    return gci_hash64(p.part, p.size, p.hash);
}

static bool
has_lines(gci_view text)
{
    return text.size != 0 && memchr(text.data, '\n', text.size) != NULL;
}

static void
emit_lines(walk *w, uint64_t path, gci_view text)
{
    uint64_t number = 0;

    for (gci_view line; gci_view_next_line(&text, &line);)
        emit_at(w, GCI_FEATURE_LINE, gci_mix(path, hash_of(line)), gci_mix(path, hash_without_numbers(line)), number++);
}

/* ---- values ---- */

static value_hash
begin_value(walk const *w)
{
    return (value_hash){ .exact_from = w->next, .rough_from = w->next };
}

static void
leave_out(uint64_t *hash, uint8_t const **from, uint8_t const *start, uint8_t const *end, uint64_t instead)
{
    *hash = gci_hash64(*from, (size_t)(start - *from), *hash + instead);
    *from = end;
}

static void
end_value(walk const *w, value_hash *h)
{
    leave_out(&h->exact, &h->exact_from, w->next, w->next, MARK_END);
    leave_out(&h->rough, &h->rough_from, w->next, w->next, MARK_END);
}

static void pass_value(walk *w, value_hash *h);

/* [up, position], or [position] of an input. */
static void
pass_reference(walk *w, value_hash *h, uint8_t const *start)
{
    uint64_t count = 0, number = 0, up = 0;

    expect(w, GCI_CBOR_ARRAY, &count);
    for (uint64_t i = 0; i < count && expect(w, GCI_CBOR_UINT, &number); i++)
        up = i == 0 ? number : up;
    leave_out(&h->exact, &h->exact_from, start, w->next, MARK_REFERENCE);
    leave_out(&h->rough, &h->rough_from, start, w->next, MARK_REFERENCE);
    if (count == 2 && up == 0 && h->reference_count < REFERENCES)
        h->references[h->reference_count++] = number;
}

static void
pass_expression(walk *w, value_hash *h, uint8_t const *start)
{
    gci_view text;

    if (!is_next(w, GCI_CBOR_TEXT)) {
        pass_value(w, h);
    } else if (read_name(w, &text)) {
        leave_out(&h->exact, &h->exact_from, start, w->next, hash_without_symbols(text));
        leave_out(&h->rough, &h->rough_from, start, w->next, MARK_NUMBER);
    }
}

static void
pass_items(walk *w, uint64_t count, value_hash *h)
{
    for (uint64_t i = 0; i < count && !w->failed; i++)
        pass_value(w, h);
}

static void
pass_value(walk *w, value_hash *h)
{
    uint8_t const *start = w->next;
    gci_view bytes;
    gci_cbor_start v;

    if (w->depth++ >= GCI_CBOR_DEPTH_MOST || !read_head(w, &v)) {
        fail(w);
        return;
    }
    if (v.major == GCI_CBOR_BYTES || v.major == GCI_CBOR_TEXT)
        take(w, v.n, &bytes);
    else if (v.major == GCI_CBOR_ARRAY)
        pass_items(w, v.n, h);
    else if (v.major == GCI_CBOR_MAP)
        pass_items(w, v.n * 2, h);
    else if (v.major == GCI_CBOR_TAG && v.n == GCI_TAG_NODE)
        pass_reference(w, h, start);
    else if (v.major == GCI_CBOR_TAG && v.n == GCI_TAG_EXPR)
        pass_expression(w, h, start);
    else if (v.major == GCI_CBOR_TAG)
        pass_value(w, h);
    else if (v.major != GCI_CBOR_SIMPLE || v.low > 24)
        leave_out(&h->rough, &h->rough_from, start, w->next, MARK_NUMBER);
    w->depth--;
}

/* ---- leaves ---- */

static void walk_leaves(walk *w, uint64_t path);

static void
walk_members(walk *w, uint64_t path, uint64_t count, bool map)
{
    gci_view name;

    if (count == 0)
        emit(w, GCI_FEATURE_LEAF, gci_mix(path, MARK_END), gci_mix(path, MARK_END));
    for (uint64_t i = 0; i < count && !w->failed; i++) {
        if (!map)
            walk_leaves(w, gci_mix(path, MARK_ITEM));
        else if (read_name(w, &name))
            walk_leaves(w, gci_mix(path, hash_of(name)));
    }
}

static void
walk_leaf(walk *w, uint64_t path)
{
    value_hash h = begin_value(w);

    pass_value(w, &h);
    end_value(w, &h);
    if (w->failed)
        return;
    uint64_t exact = gci_mix(path, h.exact), rough = gci_mix(path, h.rough);
    w->fn(w->state, &(gci_feature){ .sort = GCI_FEATURE_LEAF, .exact = exact, .place = gci_mix(exact, 0), .rough = rough,
                                    .context = rough, .name = path });
}

/* A list whatever its type: a tuple and a set are tagged arrays. */
static bool
is_list(gci_cbor_start const *v, walk const *w)
{
    return v->major == GCI_CBOR_ARRAY ||
           (v->major == GCI_CBOR_TAG && (v->n == GCI_TAG_TUPLE || v->n == GCI_TAG_SET) && is_next(w, GCI_CBOR_ARRAY));
}

static void
walk_leaves(walk *w, uint64_t path)
{
    uint8_t const *start = w->next;
    gci_view text;
    uint64_t count;
    gci_cbor_start v;

    if (w->depth++ >= GCI_CBOR_DEPTH_MOST || !read_head(w, &v)) {
        fail(w);
        return;
    }
    if (v.major == GCI_CBOR_MAP) {
        walk_members(w, path, v.n, true);
    } else if (is_list(&v, w)) {
        count = v.n;
        if (v.major == GCI_CBOR_ARRAY || expect(w, GCI_CBOR_ARRAY, &count))
            walk_members(w, path, count, false);
    } else if (v.major == GCI_CBOR_TEXT && take(w, v.n, &text) && has_lines(text)) {
        emit_lines(w, path, text);
    } else {
        w->next = start;
        walk_leaf(w, path);
    }
    w->depth--;
}

/* ---- nodes ---- */

static void
emit_node(walk *w, node_list *nodes, value_hash const *h, uint64_t name, bool is_port)
{
    gci_feature node = { .exact = h->exact, .place = gci_mix(h->exact, nodes->count), .rough = h->rough, .context = h->rough,
                         .name = name, .sort = is_port ? GCI_FEATURE_PORT : GCI_FEATURE_NODE };

    for (size_t i = 0; i < h->reference_count; i++) {
        uint64_t position = h->references[i];
        node.context = gci_mix(node.context, position < nodes->count ? nodes->items[position] : MARK_REFERENCE);
    }
    if (!GCI_ARRAY_HAS_ROOM(nodes, items)) {
        fail(w);
        return;
    }
    /* Placeholders are alike: known apart by their place, they come first. */
    nodes->items[nodes->count] = is_port ? gci_mix(h->rough, nodes->count) : h->rough;
    nodes->count++;
    w->fn(w->state, &node);
}

static void
walk_node(walk *w, node_list *nodes)
{
    value_hash h = begin_value(w);
    uint64_t count = 0, name = 0;
    bool is_port = false;
    gci_view member;

    expect(w, GCI_CBOR_MAP, &count);
    for (uint64_t i = 0; i < count && read_name(w, &member); i++) {
        uint8_t const *start = w->next;
        pass_value(w, &h);
        bool is_op = gci_view_is(member, "op");
        if (w->failed || !(is_op || gci_view_is(member, "target")))
            continue;
        gci_view value = gci_view_of(start, (size_t)(w->next - start));
        name = gci_mix(name, hash_of(value));
        is_port |= is_op && value.size == 12 && memcmp(value.data + 1, "placeholder", 11) == 0;
    }
    end_value(w, &h);
    if (!w->failed)
        emit_node(w, nodes, &h, name, is_port);
}

static void
walk_nodes(walk *w)
{
    node_list nodes = { 0 };
    uint64_t count = 0;

    expect(w, GCI_CBOR_ARRAY, &count);
    for (uint64_t i = 0; i < count && !w->failed; i++)
        walk_node(w, &nodes);
    free(nodes.items);
}

static void walk_graph(walk *w);

static void
walk_subgraphs(walk *w)
{
    uint64_t count = 0;
    gci_view name;

    expect(w, GCI_CBOR_MAP, &count);
    for (uint64_t i = 0; i < count && read_name(w, &name); i++) {
        emit(w, GCI_FEATURE_PORT, hash_of(name), hash_of(name));
        walk_graph(w);
    }
}

static void
walk_graph(walk *w)
{
    uint64_t count = 0;
    gci_view name;

    if (w->depth++ >= GCI_CBOR_DEPTH_MOST)
        fail(w);
    expect(w, GCI_CBOR_MAP, &count);
    for (uint64_t i = 0; i < count && read_name(w, &name); i++) {
        if (gci_view_is(name, "nodes"))
            walk_nodes(w);
        else if (gci_view_is(name, "subgraphs"))
            walk_subgraphs(w);
        else
            walk_leaves(w, hash_of(name));
    }
    w->depth--;
}

static void
walk_inputs(walk *w)
{
    uint64_t count = 0;

    expect(w, GCI_CBOR_ARRAY, &count);
    for (uint64_t i = 0; i < count && !w->failed; i++) {
        value_hash h = begin_value(w);
        pass_value(w, &h);
        end_value(w, &h);
        if (!w->failed)
            emit_at(w, GCI_FEATURE_INPUT, h.exact, h.rough, i);
    }
}

static void
walk_components(walk *w)
{
    uint64_t count = 0;
    gci_view name;

    expect(w, GCI_CBOR_MAP, &count);
    for (uint64_t i = 0; i < count && read_name(w, &name); i++) {
        if (gci_view_is(name, "graph") && is_next(w, GCI_CBOR_MAP))
            walk_graph(w);
        else if (gci_view_is(name, "inputs") && is_next(w, GCI_CBOR_ARRAY))
            walk_inputs(w);
        else
            walk_leaves(w, hash_of(name));
    }
}

/* Kind, format and rules: the same of all that are compared, but for rules of one's own. */
static void
walk_frame(walk *w, uint64_t path)
{
    value_hash h = begin_value(w);

    pass_value(w, &h);
    end_value(w, &h);
    if (!w->failed)
        emit(w, GCI_FEATURE_PORT, gci_mix(path, h.exact), gci_mix(path, h.rough));
}

bool
gci_features_each(gci_view canonical, gci_feature_fn fn, void *state)
{
    uint8_t const *start = (uint8_t const *)canonical.data;
    walk w = { .next = start, .end = start + canonical.size, .fn = fn, .state = state };
    uint64_t count = 0;
    gci_view name;

    if (canonical.size == 0)
        return false;
    expect(&w, GCI_CBOR_MAP, &count);
    for (uint64_t i = 0; i < count && read_name(&w, &name); i++) {
        if (gci_view_is(name, "components"))
            walk_components(&w);
        else
            walk_frame(&w, hash_of(name));
    }
    return !w.failed;
}

void
gci_features_of_line(gci_view name, gci_view text, gci_view hash, gci_feature_fn fn, void *state)
{
    walk w = { .fn = fn, .state = state };
    uint64_t path = hash_of(name);

    if (has_lines(text))
        emit_lines(&w, path, text);
    else
        emit(&w, GCI_FEATURE_LEAF, gci_mix(path, hash_of(hash)),
             gci_mix(path, text.size != 0 ? hash_without_numbers(text) : 0));
}
