/*
 * From a plain pattern's tree to its program: nodes are made from the end to the start, so that each knows what follows it.
 * Then it is found out what each choice may begin with, and whether the program keeps scan_program.h's invariants.
 */
#include "graph/rules/find.h"
#include "graph/rules/scan_lanes.h"
#include "graph/rules/scan_program.h"

#include <limits.h>
#include <stdlib.h>

/* Nodes looked at for what choices begin with. Patterns that need more are none that people write. */
#define VISITS_MAX 200000

typedef struct builder {
    gci_scan_source const *source;
    uint16_t count;
    uint16_t call, back, body; /* the call; the return and the start of the group that is called */
    unsigned repeats;          /* how many repeated groups we are in */
    unsigned visits;
    bool failed;
    gci_scan_bytes sets[GCI_SCAN_MAX_SETS]; /* from here on only what is counted is initialised */
    gci_scan_node nodes[GCI_SCAN_MAX];
} builder;

static uint16_t emit(builder *b, uint16_t tree, uint16_t next);

static uint16_t
fail(builder *b)
{
    b->failed = true;
    return 0;
}

static uint16_t
add(builder *b, gci_scan_op op, uint16_t next, uint16_t other)
{
    if (b->failed || b->count == GCI_SCAN_MAX)
        return fail(b);
    b->nodes[b->count] = (gci_scan_node){ .op = (uint8_t)op, .next = next, .other = other, .repeats = b->repeats != 0 };
    return b->count++;
}

static gci_scan_tree const *
tree_at(builder const *b, uint16_t tree)
{
    return &b->source->trees[tree];
}

/* ---- lengths ---- */

/* The bytes that a match of it has at least. */
static size_t
least(builder const *b, uint16_t tree)
{
    gci_scan_tree const *t = tree_at(b, tree);
    size_t sum = 0, lowest = SIZE_MAX;

    switch (t->op) {
    case GCI_SCAN_SET:
    case GCI_SCAN_CALL: /* emit_group sees to it */
        return 1;
    case GCI_SCAN_RUN:
        return t->low;
    case GCI_SCAN_LOOK:
    case GCI_SCAN_LOOK_NOT:
        return 0;
    case GCI_SCAN_REPEAT:
        return t->low * least(b, t->child);
    case GCI_SCAN_SKIP: /* it never matches */
        return SIZE_MAX / 2;
    default:
        break;
    }
    for (uint16_t child = t->child; child != 0; child = tree_at(b, child)->sibling) {
        size_t size = least(b, child);
        lowest = size < lowest ? size : lowest;
        sum += size > SIZE_MAX / 4 ? SIZE_MAX / 4 : size;
    }
    return t->op == GCI_SCAN_CHOICE ? lowest : sum;
}

/* The length of a sequence of single characters of ASCII. */
static uint16_t
fixed_length(builder *b, uint16_t sequence)
{
    uint16_t length = 0;

    for (uint16_t child = tree_at(b, sequence)->child; child != 0; child = tree_at(b, child)->sibling) {
        gci_scan_tree const *t = tree_at(b, child);
        if (t->op != GCI_SCAN_SET || b->source->sets[t->set].wide)
            return fail(b);
        length++;
    }
    return length;
}

/* ---- nodes ---- */

static uint16_t
emit_sequence(builder *b, uint16_t sequence, uint16_t next)
{
    uint16_t children[GCI_SCAN_MAX];
    size_t count = 0;

    for (uint16_t child = tree_at(b, sequence)->child; child != 0; child = tree_at(b, child)->sibling)
        children[count++] = child;
    while (count != 0)
        next = emit(b, children[--count], next);
    return next;
}

/* The sequences from this one on. behind: each begins as far back as it is long. */
static uint16_t
emit_choice(builder *b, uint16_t sequence, uint16_t next, bool behind)
{
    uint16_t sibling = tree_at(b, sequence)->sibling;
    uint16_t rest = sibling != 0 ? emit_choice(b, sibling, next, behind) : 0;
    uint16_t entry = emit_sequence(b, sequence, next);

    if (behind) {
        uint16_t length = fixed_length(b, sequence);
        entry = add(b, GCI_SCAN_BACK, entry, 0);
        b->nodes[entry].low = length;
    }
    return sibling != 0 ? add(b, GCI_SCAN_SPLIT, rest, entry) : entry;
}

static uint16_t
emit_look(builder *b, gci_scan_tree const *t, uint16_t next)
{
    uint16_t end = add(b, GCI_SCAN_END, 0, 0);

    return add(b, t->op, next, emit_choice(b, tree_at(b, t->child)->child, end, t->behind));
}

static uint16_t
emit_run(builder *b, gci_scan_tree const *t, uint16_t next)
{
    bool any = t->low <= 1 && t->high == GCI_SCAN_MANY;
    uint16_t node = add(b, t->op, next, 0);

    if (t->op == GCI_SCAN_RUN && b->source->sets[t->set].wide && !any)
        return fail(b); /* characters would have to be counted */
    b->nodes[node].set = t->set;
    b->nodes[node].low = t->low;
    b->nodes[node].high = t->high;
    b->nodes[node].lazy = t->lazy;
    b->nodes[node].apart = t->whole;
    return node;
}

static uint16_t
emit_loop(builder *b, uint16_t child, uint16_t next)
{
    b->repeats++;
    uint16_t loop = add(b, GCI_SCAN_SPLIT, next, 0);
    b->nodes[loop].other = emit(b, child, loop);
    b->repeats--;
    return loop;
}

static uint16_t
emit_repeat(builder *b, gci_scan_tree const *t, uint16_t next)
{
    if (t->low == 0 && t->high == 1) {
        uint16_t once = emit(b, t->child, next);
        return t->lazy ? add(b, GCI_SCAN_SPLIT, once, next) : add(b, GCI_SCAN_SPLIT, next, once);
    }
    if (t->lazy || t->low > 1 || t->high != GCI_SCAN_MANY || least(b, t->child) == 0)
        return fail(b);
    uint16_t loop = emit_loop(b, t->child, next);
    return t->low == 1 ? emit(b, t->child, loop) : loop;
}

static bool
is_called(builder const *b, gci_scan_tree const *group)
{
    for (uint16_t i = 1; i < b->source->count && group->name.size != 0; i++)
        if (b->source->trees[i].op == GCI_SCAN_CALL && gci_view_equal(b->source->trees[i].name, group->name))
            return true;
    return false;
}

/* What is called is repeated, too. */
static uint16_t
emit_group(builder *b, gci_scan_tree const *t, uint16_t next)
{
    bool called = is_called(b, t);

    if (called && (b->body != 0 || least(b, t->child) == 0))
        return fail(b);
    next = t->first ? add(b, GCI_SCAN_CLOSE, next, 0) : next;
    b->repeats += called;
    b->back = called ? next = add(b, GCI_SCAN_RETURN, next, 0) : b->back;
    next = emit(b, t->child, next);
    b->body = called ? next : b->body;
    b->repeats -= called;
    return t->first ? add(b, GCI_SCAN_OPEN, next, 0) : next;
}

/* Makes a tree's nodes; the first of them. */
static uint16_t
emit(builder *b, uint16_t tree, uint16_t next)
{
    gci_scan_tree const *t = tree_at(b, tree);

    switch (t->op) {
    case GCI_SCAN_SEQUENCE:
        return emit_sequence(b, tree, next);
    case GCI_SCAN_CHOICE:
        return emit_choice(b, t->child, next, false);
    case GCI_SCAN_GROUP:
        return emit_group(b, t, next);
    case GCI_SCAN_REPEAT:
        return emit_repeat(b, t, next);
    case GCI_SCAN_LOOK:
    case GCI_SCAN_LOOK_NOT:
        return emit_look(b, t, next);
    case GCI_SCAN_SET:
    case GCI_SCAN_RUN:
        return emit_run(b, t, next);
    case GCI_SCAN_CALL:
        b->call = add(b, t->op, next, 0);
        return b->call;
    default:
        return add(b, t->op, next, 0);
    }
}

static void
link_call(builder *b)
{
    if (b->failed || b->source->calls == 0)
        return;
    if (b->call == 0 || b->body == 0) {
        b->failed = true;
        return;
    }
    b->nodes[b->call].other = b->body;
    b->nodes[b->back].other = b->nodes[b->call].next;
}

/* ---- what is next ---- */

static gci_scan_bytes const all_bytes = { { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX } };

static void
add_byte(gci_scan_bytes *bytes, unsigned byte)
{
    bytes->bits[byte >> 6] |= (uint64_t)1 << (byte & 63);
}

static void
add_bytes(gci_scan_bytes *bytes, gci_scan_bytes const *more)
{
    for (size_t i = 0; i < sizeof bytes->bits / sizeof *bytes->bits; i++)
        bytes->bits[i] |= more->bits[i];
}

static void
keep_bytes(gci_scan_bytes *bytes, gci_scan_bytes const *those)
{
    for (size_t i = 0; i < sizeof bytes->bits / sizeof *bytes->bits; i++)
        bytes->bits[i] &= those->bits[i];
}

static bool
have_common(gci_scan_bytes const *a, gci_scan_bytes const *b)
{
    gci_scan_bytes both = *a;
    uint64_t any = 0;

    keep_bytes(&both, b);
    for (size_t i = 0; i < sizeof both.bits / sizeof *both.bits; i++)
        any |= both.bits[i];
    return any != 0;
}

/* Nodes that were met. */
typedef struct met {
    uint64_t bits[GCI_SCAN_MAX / 64];
} met;

/* false: it was met before. */
static bool
meet(met *seen, uint16_t node)
{
    uint64_t bit = (uint64_t)1 << (node & 63);
    bool is_new = (seen->bits[node >> 6] & bit) == 0;

    seen->bits[node >> 6] |= bit;
    return is_new;
}

static gci_scan_bytes firsts(builder *b, uint16_t node, gci_scan_place where);

/* Adds what a match from a node on may begin with, or more. seen: nodes whose bytes are in already. */
static void
add_firsts(builder *b, uint16_t node, gci_scan_place where, met *seen, gci_scan_bytes *out)
{
    gci_scan_node const *n = &b->nodes[node];
    gci_scan_bytes some = { { 0 } }, more;

    if (!meet(seen, node))
        return;
    if (++b->visits > VISITS_MAX) {
        b->failed = true;
        return;
    }
    switch ((gci_scan_op)n->op) {
    case GCI_SCAN_RUN:
        if (n->low == 0)
            add_firsts(b, n->next, where, seen, out);
        /* fall through */
    case GCI_SCAN_SET:
        some = b->sets[n->set];
        break;
    case GCI_SCAN_SPLIT:
    case GCI_SCAN_RETURN:
        add_firsts(b, n->other, where, seen, out);
        add_firsts(b, n->next, where, seen, out);
        break;
    case GCI_SCAN_CALL:
        add_firsts(b, n->other, where, seen, out);
        break;
    case GCI_SCAN_LINE_END:
        add_byte(&some, '\n');
        add_byte(&some, 256);
        break;
    case GCI_SCAN_TEXT_END:
        add_byte(&some, 256);
        break;
    case GCI_SCAN_LOOK:
        some = firsts(b, n->other, where);
        more = firsts(b, n->next, where);
        keep_bytes(&some, &more);
        break;
    case GCI_SCAN_LINE_START:
    case GCI_SCAN_TEXT_START:
        if (where == GCI_SCAN_AT_TEXT || (where == GCI_SCAN_AT_LINE && n->op == GCI_SCAN_LINE_START))
            add_firsts(b, n->next, where, seen, out);
        break;
    case GCI_SCAN_OPEN:
    case GCI_SCAN_CLOSE:
    case GCI_SCAN_WORD_EDGE:
    case GCI_SCAN_LOOK_NOT:
        add_firsts(b, n->next, where, seen, out);
        break;
    default:
        some = all_bytes;
        break;
    }
    add_bytes(out, &some);
}

static gci_scan_bytes
firsts(builder *b, uint16_t node, gci_scan_place where)
{
    gci_scan_bytes bytes = { { 0 } };
    met seen = { { 0 } };

    if (!b->failed)
        add_firsts(b, node, where, &seen, &bytes);
    return bytes;
}

/* Fills in what nodes may be followed by. It doesn't matter there where a line starts. */
static void
look_ahead(builder *b)
{
    for (uint16_t i = 0; i < b->count && !b->failed; i++) {
        gci_scan_node *n = &b->nodes[i];
        if (n->op != GCI_SCAN_RUN && n->op != GCI_SCAN_SPLIT)
            continue;
        n->here = firsts(b, n->next, GCI_SCAN_AT_TEXT);
        n->there = n->op == GCI_SCAN_SPLIT ? firsts(b, n->other, GCI_SCAN_AT_TEXT) : b->sets[n->set];
        n->apart = n->apart || !have_common(&n->here, &n->there);
        if (n->repeats && !n->apart)
            b->failed = true;
    }
}

/* ---- where matches begin ---- */

/* Nodes that take a byte each, and maybe a place behind which anything may follow. */
typedef struct ways {
    uint16_t nodes[GCI_SCAN_MAX];
    size_t count;
    bool open;
} ways;

/* Adds the nodes that take a walk's next byte. */
static void
add_ways(builder *b, uint16_t node, gci_scan_place where, met *seen, ways *out)
{
    gci_scan_node const *n = &b->nodes[node];

    if (!meet(seen, node))
        return;
    switch ((gci_scan_op)n->op) {
    case GCI_SCAN_RUN:
        out->nodes[out->count++] = node;
        if (n->low == 0)
            add_ways(b, n->next, where, seen, out);
        break;
    case GCI_SCAN_SET:
        out->nodes[out->count++] = node;
        break;
    case GCI_SCAN_SPLIT:
    case GCI_SCAN_RETURN:
        add_ways(b, n->other, where, seen, out);
        add_ways(b, n->next, where, seen, out);
        break;
    case GCI_SCAN_CALL:
        add_ways(b, n->other, where, seen, out);
        break;
    case GCI_SCAN_LINE_START:
    case GCI_SCAN_TEXT_START:
        if (where == GCI_SCAN_AT_TEXT || (where == GCI_SCAN_AT_LINE && n->op == GCI_SCAN_LINE_START))
            add_ways(b, n->next, where, seen, out);
        break;
    case GCI_SCAN_END:
    case GCI_SCAN_SKIP:
    case GCI_SCAN_BACK:
        out->open = true;
        break;
    default:
        add_ways(b, n->next, where, seen, out);
        break;
    }
}

/* The ways on behind a byte that one of these took, maybe a character's first. */
static void
next_ways(builder *b, ways const *from, ways *out)
{
    met seen = { { 0 } };

    out->count = 0;
    out->open = from->open;
    for (size_t i = 0; i < from->count; i++) {
        gci_scan_node const *n = &b->nodes[from->nodes[i]];
        bool stays = n->op == GCI_SCAN_RUN || b->source->sets[n->set].wide;
        if (stays && meet(&seen, from->nodes[i]))
            out->nodes[out->count++] = from->nodes[i];
    }
    for (size_t i = 0; i < from->count; i++)
        add_ways(b, b->nodes[from->nodes[i]].next, GCI_SCAN_AT_TEXT, &seen, out);
}

/* Of all of these; counted no further than `most`. */
static unsigned
frequency_of(gci_scan_bytes const *bytes, unsigned most)
{
    unsigned sum = 0;

    for GCI_SCAN_EACH(c, bytes)
        sum += sum < most ? gci_byte_frequency(c) : 0;
    return sum;
}

static uint8_t
bit_of(size_t way)
{
    return (uint8_t)(1U << (way < GCI_SCAN_WAYS ? way : GCI_SCAN_WAYS - 1));
}

/* A mark, and how many of a thousand bytes are one by each way, more or less. */
typedef struct counted_mark {
    gci_scan_mark mark;
    unsigned frequencies[GCI_SCAN_WAYS];
} counted_mark;

static void
add_to_mark(counted_mark *m, unsigned c, uint8_t bits)
{
    m->mark.low[c & 15] |= bits;
    m->mark.high[c >> 4] |= bits;
}

static void
add_bytes_to_mark(counted_mark *m, gci_scan_bytes const *bytes, uint8_t bit)
{
    unsigned lows = 0;

    for (unsigned high = 0; high < 16; high++) {
        unsigned row = (unsigned)(bytes->bits[high / 4] >> (high % 4 * 16)) & 0xFFFF;
        m->mark.high[high] |= row != 0 ? bit : 0;
        lows |= row;
    }
    for (unsigned low = 0; low < 16; low++)
        m->mark.low[low] |= lows >> low & 1 ? bit : 0;
}

/* Counts a mark's bytes; those that aren't ASCII are rare. */
static void
count_bytes(counted_mark *m)
{
    for (unsigned high = 0; high < 8; high++)
        for (unsigned low = 0; low < 16 && m->mark.high[high] != 0; low++)
            for (unsigned left = m->mark.high[high] & m->mark.low[low]; left != 0; left &= left - 1)
                m->frequencies[__builtin_ctz(left)] += gci_byte_frequency(high * 16 + low);
}

/* Notes what the bytes of a match may be that begins with this node. */
static void
add_lead(builder *b, gci_scan *scan, uint16_t node, uint8_t bit, counted_mark *leads)
{
    ways some[2];

    some[0].nodes[0] = node;
    some[0].count = 1;
    some[0].open = false;
    for (size_t i = 0; i < GCI_SCAN_LEAD; i++) {
        ways const *at = &some[i % 2];
        gci_scan_bytes bytes = at->open ? all_bytes : (gci_scan_bytes){ { 0 } };
        for (size_t k = 0; k < at->count; k++)
            add_bytes(&bytes, &b->sets[b->nodes[at->nodes[k]].set]);
        for GCI_SCAN_EACH(c, &bytes)
            scan->leads[i][c] |= bit;
        scan->leads[i][256] |= gci_scan_has(&bytes, 256) ? bit : 0;
        add_bytes_to_mark(&leads[i], &bytes, bit);
        next_ways(b, at, &some[(i + 1) % 2]);
    }
}

static bool
is_among(ways const *some, uint16_t node)
{
    size_t i = 0;

    while (i < some->count && some->nodes[i] != node)
        i++;
    return i != some->count;
}

/* leads: marks at a match's first places. */
static void
find_leads(builder *b, gci_scan *scan, counted_mark *leads)
{
    ways some[GCI_SCAN_PLACES];

    for (unsigned where = 0; where < GCI_SCAN_PLACES; where++) {
        met seen = { { 0 } };
        some[where].count = 0;
        add_ways(b, scan->root, (gci_scan_place)where, &seen, &some[where]);
    }
    ways const *all = &some[GCI_SCAN_AT_TEXT];
    for (size_t i = 0; i < all->count; i++) {
        for (unsigned where = 0; where < GCI_SCAN_PLACES; where++)
            scan->places[where] |= is_among(&some[where], all->nodes[i]) ? bit_of(i) : 0;
        add_lead(b, scan, all->nodes[i], bit_of(i), leads);
    }
}

/* ---- marks ---- */

/* Lists a mark's bytes if they are few. */
static void
list_few(gci_scan_mark *mark)
{
    size_t count = 0;

    for (unsigned high = 0; high < 16; high++)
        for (unsigned c = high * 16; c < high * 16 + 16 && mark->high[high] != 0; c++)
            if (gci_scan_ways(mark, c) != 0 && count++ < sizeof mark->few)
                mark->few[count - 1] = (uint8_t)c;
    mark->is_few = count <= sizeof mark->few;
    for (size_t i = count; i < sizeof mark->few; i++)
        mark->few[i] = mark->few[0];
}

/* The byte before each match. */
static counted_mark
mark_before(gci_scan const *scan)
{
    counted_mark m = { .mark.place = 0 };

    memset(m.mark.low, scan->places[GCI_SCAN_MIDDLE], sizeof m.mark.low);
    memset(m.mark.high, scan->places[GCI_SCAN_MIDDLE], sizeof m.mark.high);
    add_to_mark(&m, '\n', scan->places[GCI_SCAN_AT_LINE]);
    for (unsigned way = 0; way < GCI_SCAN_WAYS; way++)
        m.frequencies[way] = scan->places[GCI_SCAN_MIDDLE] >> way & 1 ? 1000 : gci_byte_frequency('\n');
    return m;
}

/* Makes these the scan's marks if they are together more seldom than *least of a million. */
static bool
take_if_rarer(gci_scan *scan, counted_mark const *a, counted_mark const *b, unsigned *least)
{
    unsigned sum = 0;

    for (size_t way = 0; way < GCI_SCAN_WAYS; way++)
        sum += a->frequencies[way] * b->frequencies[way];
    if (sum >= *least)
        return false;
    *least = sum;
    scan->marks[0] = a->mark;
    scan->marks[1] = b->mark;
    return true;
}

/* The nodes behind the start of a match that take a rare byte first, and all that may come before. */
typedef struct rare_nodes {
    unsigned most; /* of a thousand */
    met seen;
    ways nodes;
    gci_scan_bytes before;
} rare_nodes;

static void add_rare(builder *b, uint16_t node, rare_nodes *out);

/* What a look ahead finds is there, too. false: it has a way without a rare byte. */
static bool
add_rare_of_look(builder *b, uint16_t node, rare_nodes *out)
{
    rare_nodes inner = { .most = out->most };

    add_rare(b, node, &inner);
    if (inner.nodes.open || out->nodes.count + inner.nodes.count > GCI_SCAN_WAYS)
        return false;
    add_bytes(&out->before, &inner.before);
    for (size_t i = 0; i < inner.nodes.count; i++)
        out->nodes.nodes[out->nodes.count++] = inner.nodes.nodes[i];
    return true;
}

/* Adds a node that takes a byte if it is rare. */
static bool
add_if_rare(builder *b, uint16_t node, rare_nodes *out)
{
    gci_scan_node const *n = &b->nodes[node];
    bool may_take_none = n->op == GCI_SCAN_RUN && n->low == 0;

    if (may_take_none || frequency_of(&b->sets[n->set], out->most + 1) > out->most)
        return false;
    out->nodes.open = out->nodes.count == GCI_SCAN_WAYS;
    if (!out->nodes.open)
        out->nodes.nodes[out->nodes.count++] = node;
    return true;
}

static void
add_rare(builder *b, uint16_t node, rare_nodes *out)
{
    gci_scan_node const *n = &b->nodes[node];

    if (out->nodes.open || !meet(&out->seen, node))
        return;
    switch ((gci_scan_op)n->op) {
    case GCI_SCAN_RUN:
    case GCI_SCAN_SET:
        if (add_if_rare(b, node, out))
            return;
        add_bytes(&out->before, &b->sets[n->set]);
        break;
    case GCI_SCAN_SPLIT:
    case GCI_SCAN_RETURN:
        add_rare(b, n->other, out);
        break;
    case GCI_SCAN_CALL:
        add_rare(b, n->other, out);
        return;
    case GCI_SCAN_LOOK:
        if (add_rare_of_look(b, n->other, out))
            return;
        break;
    case GCI_SCAN_END:
    case GCI_SCAN_SKIP:
    case GCI_SCAN_BACK:
        out->nodes.open = true;
        return;
    default:
        break;
    }
    add_rare(b, n->next, out);
}

/* Marks a rare byte and the one behind, by the nodes that take them. */
static void
mark_rare(builder *b, ways const *nodes, counted_mark *first, counted_mark *second)
{
    size_t way = 0;

    for (size_t i = 0; i < nodes->count; i++) {
        ways here = { .nodes = { nodes->nodes[i] }, .count = 1 }, behind;
        gci_scan_bytes const *bytes = &b->sets[b->nodes[nodes->nodes[i]].set];
        next_ways(b, &here, &behind);
        if (behind.open) {
            add_bytes_to_mark(first, bytes, bit_of(way));
            add_bytes_to_mark(second, &all_bytes, bit_of(way++));
        }
        for (size_t k = 0; k < behind.count && !behind.open; k++, way++) {
            add_bytes_to_mark(first, bytes, bit_of(way));
            add_bytes_to_mark(second, &b->sets[b->nodes[behind.nodes[k]].set], bit_of(way));
        }
    }
    count_bytes(first);
    count_bytes(second);
}

/* Matches that begin before a rare byte and the one behind. */
static void
try_rare(builder *b, gci_scan *scan, unsigned most, unsigned *least)
{
    counted_mark first = { .mark.place = 1 }, second = { .mark.place = 2 };
    rare_nodes some = { .most = most };

    add_rare(b, scan->root, &some);
    if (some.nodes.open)
        return;
    mark_rare(b, &some.nodes, &first, &second);
    if (!take_if_rarer(scan, &first, &second, least))
        return;
    scan->reaches = true;
    memset(scan->breaks.has, 1, sizeof scan->breaks.has);
    for GCI_SCAN_EACH(c, &some.before)
        scan->breaks.has[c] = 0;
}

/* Decides what searches look for, and where matches begin. To reach for the start of a match costs. */
static void
find_marks(builder *b, gci_scan *scan)
{
    counted_mark marks[GCI_SCAN_LEAD + 1] = { { .mark.place = 0 } };
    unsigned least = UINT_MAX;

    find_leads(b, scan, marks + 1);
    marks[0] = mark_before(scan);
    for (uint8_t second = 1; second <= GCI_SCAN_LEAD; second++) {
        marks[second].mark.place = second;
        count_bytes(&marks[second]);
        for (uint8_t first = 0; first < second; first++)
            take_if_rarer(scan, &marks[first], &marks[second], &least);
    }
    least /= 2;
    try_rare(b, scan, 10, &least);
    try_rare(b, scan, 30, &least);
    if (scan->reaches)
        gci_scan_finish_set(&scan->breaks);
    list_few(&scan->marks[0]);
    list_few(&scan->marks[1]);
}

/* ---- the program ---- */

static gci_scan *
make(builder *b, uint16_t root)
{
    gci_scan_source const *source = b->source;
    size_t nodes_size = b->count * sizeof *b->nodes, sets_size = source->set_count * sizeof *source->sets;
    gci_scan *scan = malloc(sizeof *scan + nodes_size + sets_size);

    if (scan == NULL)
        return NULL;
    *scan = (gci_scan){ .root = root };
    scan->nodes = (gci_scan_node *)(void *)(scan + 1);
    scan->sets = (gci_scan_set *)(void *)(scan->nodes + b->count);
    memcpy(scan->nodes, b->nodes, nodes_size);
    memcpy(scan->sets, source->sets, sets_size);
    find_marks(b, scan);
    scan->has_lanes = gci_scan_lanes_work();
    return scan;
}

static gci_scan *
build(gci_scan_source const *source, uint16_t tree)
{
    builder *b = malloc(sizeof *b);
    gci_scan *scan = NULL;

    if (b == NULL)
        return NULL;
    memset(b, 0, offsetof(builder, sets));
    for (size_t i = 0; i < source->set_count; i++)
        b->sets[i] = source->sets[i].bytes;
    b->source = source;
    b->nodes[0] = (gci_scan_node){ .op = GCI_SCAN_END };
    b->count = 1; /* 0 is none */
    uint16_t root = emit(b, tree, add(b, GCI_SCAN_END, 0, 0));
    link_call(b);
    look_ahead(b);
    if (!b->failed && least(b, tree) != 0)
        scan = make(b, root);
    free(b);
    return scan;
}

gci_scan *
gci_scan_new(gci_view pattern)
{
    gci_scan_source *source = malloc(sizeof *source);
    gci_scan *scan = NULL;

    if (source == NULL)
        return NULL;
    memset(source, 0, offsetof(gci_scan_source, trees) + sizeof source->trees[0]);
    source->text = pattern;
    uint16_t tree = gci_scan_read(source);
    if (tree != 0)
        scan = build(source, tree);
    free(source);
    return scan;
}

void
gci_scan_free(gci_scan *scan)
{
    free(scan);
}
