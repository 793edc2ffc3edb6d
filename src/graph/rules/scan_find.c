/*
 * Searching with a plain pattern: the text is looked through for two bytes that each match has, and only where such a match may
 * begin the program is walked.
 *
 * A walk stands at a node and a place. Where a node's next ones are told apart by the byte at hand there is nothing to take
 * back; else each is walked in a call of its own, and what it did to the walk is undone if it fails.
 */
#include "base/check.h"
#include "graph/rules/scan_lanes.h"
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
    at = gci_scan_run_end(w->scan, set, gci_view_of((char const *)w->text, w->size), at);
    while (at < most && set->has[w->text[at]])
        at++;
    return at < most ? at : most;
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
    gci_scan_set const *wanted = &w->scan->sets[next->set];

    if (next->op != GCI_SCAN_SET || at == start)
        return at;
    at -= at == w->size;
    at = gci_scan_behind_last(w->scan, wanted, w->text, start + 1, at + 1) - 1;
    while (at > start && !wanted->has[w->text[at]])
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

/* Where a match may begin by the bytes there and the one before. */
static bool
may_begin(walk const *w, size_t at)
{
    gci_scan const *scan = w->scan;
    gci_scan_place place = at == 0                     ? GCI_SCAN_AT_TEXT
                           : w->text[at - 1] == '\n' ? GCI_SCAN_AT_LINE
                                                      : GCI_SCAN_MIDDLE;
    unsigned ways = scan->places[place];

    for (size_t i = 0; i < GCI_SCAN_LEAD && ways != 0; i++)
        ways &= scan->leads[i][byte_at(w, at + i)];
    return ways != 0 && !is_inner(w, at);
}

/* Where a match at `first` or behind may begin that has a pair at `at`. */
static size_t
reach(walk const *w, size_t first, size_t at)
{
    gci_scan_set const *breaks = &w->scan->breaks;

    if (!w->scan->reaches)
        return at;
    at = gci_scan_behind_last(w->scan, breaks, w->text, first, at);
    while (at > first && !breaks->has[w->text[at - 1]])
        at--;
    return at;
}

/* Finds the next pair of marks at or behind *at. false: there is none up to *at, where lanes end. */
static bool
next_pair(gci_scan_search *search, walk const *w, size_t *at)
{
    size_t around = GCI_SCAN_LANES + GCI_SCAN_LEAD;

    if (search->found != 0 && *at < search->seen)
        search->found &= UINT32_MAX << (*at - (search->seen - GCI_SCAN_LANES));
    else
        search->found = 0;
    if (search->found == 0 && *at < search->seen)
        *at = search->seen;
    if (search->found == 0 && w->size - *at >= around) {
        search->found = gci_scan_pairs(w->scan, w->text, at, w->size - around);
        search->seen = search->found != 0 ? *at + GCI_SCAN_LANES : *at;
    }
    if (search->found != 0)
        *at = search->seen - GCI_SCAN_LANES + (size_t)__builtin_ctz(search->found);
    return search->found != 0;
}

/* The first place at or behind `at` where a match may begin, or the end. Behind the last lanes there needn't be a pair. */
static size_t
next_place(gci_scan_search *search, walk const *w, size_t at)
{
    if (at == 0 && w->size != 0 && may_begin(w, 0))
        return 0;
    for (at += at == 0; at < w->size; at++) {
        if (at > search->until) {
            size_t pair = at;
            search->until = next_pair(search, w, &pair) ? pair : w->size;
            at = reach(w, at, pair);
        }
        if (at < w->size && may_begin(w, at))
            return at;
    }
    return w->size;
}

gci_scan_search
gci_scan_begin(gci_scan const *scan, gci_view text)
{
    return (gci_scan_search){ .scan = scan, .text = text };
}

gci_scan_result
gci_scan_next(gci_scan_search *search, size_t at, uint64_t *steps, gci_span *out_match, gci_span *out_group)
{
    gci_view text = search->text;
    walk w = { .scan = search->scan, .text = (uint8_t const *)text.data, .size = text.size, .steps = *steps };
    result found = NONE;

    for (at = next_place(search, &w, at); at < text.size && found == NONE; at = next_place(search, &w, at)) {
        w.marks = (marks){ .group = { SIZE_MAX, 0 } };
        found = walk_from(&w, w.scan->root, at);
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
