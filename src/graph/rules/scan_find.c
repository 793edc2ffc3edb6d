/*
 * Searching with a plain pattern: the text is looked through for bytes that may begin a match, and only there the program is
 * walked.
 *
 * A walk stands at a node and a place. Where a node's next ones are told apart by the byte at hand there is nothing to take
 * back; else each is walked in a call of its own, and what it did to the walk is undone if it fails.
 */
#include "base/check.h"
#include "graph/rules/scan_program.h"

/* Calls in calls of the group that calls itself. */
#define DEPTH_MAX 10000

/* Bytes that are run over for a step. */
#define BYTES_A_STEP 32

typedef enum result { NONE, FOUND, GAVE_UP, SKIPPED } result;

/* What a failed try leaves as it was. */
typedef struct marks {
    size_t open; /* where the first group began last */
    gci_span group;
    uint32_t depth;
} marks;

typedef struct walk {
    gci_scan const *scan;
    uint8_t const *text;
    size_t size;
    uint64_t steps;
    size_t end; /* where it ended that was found, or skipped */
    marks marks;
} walk;

static result walk_from(walk *w, uint16_t node, size_t at);

/* ---- places ---- */

static unsigned
byte_at(walk const *w, size_t at)
{
    return at < w->size ? w->text[at] : 256;
}

static bool
is_inner(walk const *w, size_t at)
{
    return at < w->size && (w->text[at] & 0xC0) == 0x80;
}

static size_t
behind_character(walk const *w, size_t at)
{
    for (at++; is_inner(w, at);)
        at++;
    return at;
}

static bool
is_word(unsigned c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool
is_edge(walk const *w, size_t at)
{
    return (at != 0 && is_word(w->text[at - 1])) != is_word(byte_at(w, at));
}

/* PCRE2's "^": no line starts at a text's end. */
static bool
is_line_start(walk const *w, size_t at)
{
    return at == 0 || (at < w->size && w->text[at - 1] == '\n');
}

static bool
spend(walk *w, size_t bytes)
{
    uint64_t steps = 1 + bytes / BYTES_A_STEP;
    bool enough = w->steps >= steps;

    w->steps -= enough ? steps : w->steps;
    return enough;
}

/* ---- runs ---- */

/* Where a run of a set ends at the latest. */
static size_t
run_end(walk const *w, gci_scan_node const *n, size_t at)
{
    gci_scan_set const *set = &w->scan->sets[n->set];
    size_t most = n->high == GCI_SCAN_MANY || w->size - at < n->high ? w->size : at + n->high;

    if (set->but >= 0) {
        uint8_t const *end = memchr(w->text + at, set->but, most - at);
        return end != NULL ? (size_t)(end - w->text) : most;
    }
    while (at < most && set->has[w->text[at]])
        at++;
    return at;
}

/* Walks on from a place; what fails leaves no marks. A step, for ways that take no byte may be many. */
static result
try(walk *w, uint16_t node, size_t at)
{
    marks before = w->marks;
    result found = spend(w, 0) ? walk_from(w, node, at) : GAVE_UP;

    if (found == NONE)
        w->marks = before;
    return found;
}

/* The last place from `at` down to `start` where the node that follows a run may go on, or `start`. */
static size_t
place_before(walk const *w, gci_scan_node const *n, size_t start, size_t at)
{
    gci_scan_node const *next = &w->scan->nodes[n->next];
    uint8_t const *wanted = w->scan->sets[next->set].has, *text = w->text;

    if (next->op != GCI_SCAN_SET || at == start)
        return at;
    for (at -= at == w->size; at > start && !wanted[text[at]];)
        at--;
    return at;
}

/* From the longest run to the shortest. */
static result
run_back(walk *w, gci_scan_node const *n, size_t start, size_t end)
{
    for (size_t at = end;; at--) {
        at = place_before(w, n, start, at);
        if (gci_scan_has(&n->here, byte_at(w, at)) && !is_inner(w, at)) {
            result found = try(w, n->next, at);
            if (found != NONE)
                return found;
        }
        if (at == start)
            return NONE;
    }
}

/* From the shortest run to the longest. */
static result
run_forth(walk *w, gci_scan_node const *n, size_t start, size_t end)
{
    for (size_t at = start; at <= end; at++) {
        if (gci_scan_has(&n->here, byte_at(w, at)) && !is_inner(w, at)) {
            result found = try(w, n->next, at);
            if (found != NONE)
                return found;
        }
    }
    return NONE;
}

/* The node that follows if there is but one way on, then from *at; else 0, and *out_result is what the ways led to. */
static uint16_t
run_over(walk *w, gci_scan_node const *n, size_t *at, result *out_result)
{
    size_t end = run_end(w, n, *at), start = *at + n->low;

    *out_result = NONE;
    if (!spend(w, end - *at))
        *out_result = GAVE_UP;
    else if (end < start)
        return 0;
    else if (n->apart || end == start) {
        *at = end;
        return n->next;
    } else
        *out_result = n->lazy ? run_forth(w, n, start, end) : run_back(w, n, start, end);
    return 0;
}

/* ---- walks ---- */

static result
look(walk *w, gci_scan_node const *n, size_t at)
{
    marks before = w->marks;
    bool negative = n->op == GCI_SCAN_LOOK_NOT;
    result found = walk_from(w, n->other, at);

    if (found == GAVE_UP)
        return found;
    if (found == NONE || negative)
        w->marks = before;
    return (found == FOUND) != negative ? FOUND : NONE;
}

/* The node where a split goes on; 0: nowhere, as *out_result says. */
static uint16_t
split(walk *w, gci_scan_node const *n, size_t at, result *out_result)
{
    unsigned byte = byte_at(w, at);

    *out_result = NONE;
    if (!gci_scan_has(&n->there, byte))
        return gci_scan_has(&n->here, byte) ? n->next : 0;
    if (!gci_scan_has(&n->here, byte))
        return n->other;
    *out_result = try(w, n->other, at);
    return *out_result == NONE ? n->next : 0;
}

/* What holds at a place, without a byte of it. */
static bool
holds(walk const *w, gci_scan_op op, size_t at)
{
    switch (op) {
    case GCI_SCAN_LINE_START:
        return is_line_start(w, at);
    case GCI_SCAN_LINE_END:
        return at == w->size || w->text[at] == '\n';
    case GCI_SCAN_TEXT_START:
        return at == 0;
    case GCI_SCAN_TEXT_END:
        return at == w->size;
    default:
        return is_edge(w, at);
    }
}

static result
walk_from(walk *w, uint16_t node, size_t at)
{
    for (;;) {
        gci_scan_node const *n = &w->scan->nodes[node];
        result found = FOUND;

        node = n->next;
        switch ((gci_scan_op)n->op) {
        case GCI_SCAN_SET:
            if (at == w->size || !w->scan->sets[n->set].has[w->text[at]])
                return NONE;
            if (!spend(w, 0))
                return GAVE_UP;
            at = w->text[at] < 0x80 ? at + 1 : behind_character(w, at);
            break;
        case GCI_SCAN_RUN:
            node = run_over(w, n, &at, &found);
            if (node == 0)
                return found;
            break;
        case GCI_SCAN_SPLIT:
            node = split(w, n, at, &found);
            if (node == 0)
                return found;
            break;
        case GCI_SCAN_OPEN:
            w->marks.open = at;
            break;
        case GCI_SCAN_CLOSE:
            w->marks.group = (gci_span){ w->marks.open, at };
            break;
        case GCI_SCAN_CALL:
            if (++w->marks.depth > DEPTH_MAX)
                return GAVE_UP;
            node = n->other;
            break;
        case GCI_SCAN_RETURN:
            if (w->marks.depth != 0) {
                w->marks.depth--;
                node = n->other;
            }
            break;
        case GCI_SCAN_LOOK:
        case GCI_SCAN_LOOK_NOT:
            found = look(w, n, at);
            if (found != FOUND)
                return found;
            break;
        case GCI_SCAN_BACK:
            if (at < n->low)
                return NONE;
            at -= n->low;
            break;
        case GCI_SCAN_SKIP:
            w->end = at;
            return SKIPPED;
        case GCI_SCAN_END:
            w->end = at;
            return FOUND;
        default:
            if (!holds(w, (gci_scan_op)n->op, at))
                return NONE;
            break;
        }
    }
}

/* ---- searching ---- */

/* Sixteen bytes at once. */
typedef uint8_t lanes __attribute__((vector_size(16)));

/* The first lane that isn't zero; 16: all are. */
static size_t
first_lane(lanes found)
{
    uint64_t halves[2];

    memcpy(halves, &found, sizeof halves);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    halves[0] = __builtin_bswap64(halves[0]);
    halves[1] = __builtin_bswap64(halves[1]);
#endif
    if (halves[0] != 0)
        return (size_t)__builtin_ctzll(halves[0]) / 8;
    return halves[1] != 0 ? 8 + (size_t)__builtin_ctzll(halves[1]) / 8 : 16;
}

/* The first place at or behind `at` whose byte is a stop, or the end. */
static size_t
next_stop(walk const *w, size_t at)
{
    gci_scan const *scan = w->scan;

    for (; scan->is_few && w->size - at >= sizeof(lanes); at += sizeof(lanes)) {
        lanes some;
        memcpy(&some, w->text + at, sizeof some);
        size_t lane = first_lane((lanes)((some == scan->few[0]) | (some == scan->few[1]) | (some == scan->few[2]) |
                                         (some == scan->few[3])));
        if (lane != sizeof(lanes))
            return at + lane;
    }
    while (at < w->size && !scan->stops[w->text[at]])
        at++;
    return at;
}

/* Where a match may begin by the bytes there and the one before. */
static bool
may_begin(walk const *w, size_t at)
{
    gci_scan const *scan = w->scan;
    gci_scan_place place = at == 0                     ? GCI_SCAN_AT_TEXT
                           : w->text[at - 1] == '\n' ? GCI_SCAN_AT_LINE
                                                      : GCI_SCAN_MIDDLE;
    unsigned ways = scan->places[place] & scan->leads[0][w->text[at]] & scan->leads[1][byte_at(w, at + 1)];

    return (ways & scan->leads[2][byte_at(w, at + 2)]) != 0 && !is_inner(w, at);
}

/* The first place at or behind `at` where a match may begin, or the end. */
static size_t
next_place(walk const *w, size_t at)
{
    gci_scan const *scan = w->scan;

    if (at == 0 && w->size != 0 && may_begin(w, 0))
        return 0;
    for (at += at == 0; at < w->size;) {
        size_t stop = next_stop(w, at - scan->stop_before);
        if (stop == w->size)
            break;
        if (stop > at + scan->stop_last)
            at = stop - scan->stop_last;
        for (; at <= stop + scan->stop_before && at < w->size; at++)
            if (may_begin(w, at))
                return at;
    }
    return w->size;
}

gci_scan_result
gci_scan_next(gci_scan const *scan, gci_view text, size_t at, uint64_t *steps, gci_span *out_match, gci_span *out_group)
{
    walk w = { .scan = scan, .text = (uint8_t const *)text.data, .size = text.size, .steps = *steps };
    result found = NONE;

    for (at = next_place(&w, at); at < text.size && found == NONE; at = next_place(&w, at)) {
        w.marks = (marks){ .group = { SIZE_MAX, 0 } };
        found = walk_from(&w, scan->root, at);
        if (found == FOUND || found == GAVE_UP)
            break;
        at = found == SKIPPED && w.end > at ? w.end : behind_character(&w, at);
        found = NONE;
    }
    *steps = w.steps;
    if (found != FOUND)
        return found == GAVE_UP ? GCI_SCAN_GAVE_UP : GCI_SCAN_NONE;
    *out_match = (gci_span){ at, w.end };
    *out_group = w.marks.group.start != SIZE_MAX ? w.marks.group : *out_match;
    return GCI_SCAN_FOUND;
}
