/*
 * A story as lines for a terminal, none longer than its width, unless a number is.
 *
 * Columns stand side by side where they fit; where not, each has a line of its own. Texts are broken at spaces, and words
 * that are longer than a line at signs, never within a number.
 */
#include "cache/explain/story.h"

#include "base/text/columns.h"
#include "cache/handle/words.h"
#include "graph/diff/diff.h"

#define COLUMNS_LEAST 40
/* Below it a label has a line of its own, and indents are small. */
#define COLUMNS_ROOMY 60

/* The line of a guard: "L['t0'] % 8 == 0      12 % 8 = 4     false". */
#define PART_COLUMNS 38
#define PART_END 46
#define VALUES_COLUMNS 35
/* The line of a difference: "options.max_autotune      stored false      asked true". */
#define PATH_COLUMNS 44
#define STORED_COLUMNS 20
/* What is shown of a value of many lines, or of the names of a payload: the rest is in the JSON. */
#define VALUE_COLUMNS_MOST 400
/* Where what follows a label begins. */
#define LABEL_COLUMNS 14
/* A word that is broken leaves no fewer columns than this on the line it begins on. */
#define BREAK_LEAST 12

typedef enum tone { PLAIN, STRONG, BAD, GOOD, DIM } tone;

static char const *const escapes[] = { [PLAIN] = "", [STRONG] = "\x1b[1m", [BAD] = "\x1b[1;31m", [GOOD] = "\x1b[1;32m",
                                       [DIM] = "\x1b[2m" };

typedef struct pen {
    gci_buf *out;
    size_t width, at; /* columns of a line, and of what stands on this one */
    bool color, brief;
    bool in_candidate;
    size_t guard_indent; /* of the last guard */
} pen;

static void
put(pen *p, tone as, gci_view text)
{
    bool colored = p->color && as != PLAIN && text.size != 0;

    gci_buf_append_text(p->out, colored ? escapes[as] : "");
    gci_buf_append_view(p->out, text);
    gci_buf_append_text(p->out, colored ? "\x1b[0m" : "");
    p->at += gci_columns(text);
}

static void
end_line(pen *p)
{
    gci_buf *out = p->out;

    while (out->size > 0 && !out->failed && out->data[out->size - 1] == ' ')
        out->size--;
    gci_buf_append_char(out, '\n');
    p->at = 0;
}

/* Moves on to a column; by `least` if that is behind. */
static void
move_to(pen *p, size_t column, size_t least)
{
    size_t target = p->at < column ? column : p->at + least;

    while (p->at < target)
        put(p, PLAIN, gci_view_text(" "));
}

static void
new_line(pen *p, size_t indent)
{
    end_line(p);
    move_to(p, indent, 0);
}

/* ---- texts broken into lines ---- */

static bool
in_number(gci_view text, size_t at)
{
    bool before = at > 0 && (text.data[at - 1] == '.' || (text.data[at - 1] >= '0' && text.data[at - 1] <= '9'));

    return before && at < text.size && (text.data[at] == '.' || (text.data[at] >= '0' && text.data[at] <= '9'));
}

static bool
ends_piece(char c)
{
    return strchr("_.,:;/()[]{}<>=+-*%|", c) != NULL;
}

/* How many bytes of a word go on a line with room for so many columns: up to a sign if there is one; a number in any case. */
static size_t
break_word(gci_view word, size_t room)
{
    size_t best = 0, best_sign = 0, used = 0, at = 0;

    for (size_t size; at < word.size; at += size) {
        if (at > 0 && !in_number(word, at)) {
            best = at;
            best_sign = ends_piece(word.data[at - 1]) ? at : best_sign;
        }
        used += gci_columns_of_first(gci_view_of(word.data + at, word.size - at), &size);
        if (used > room && best != 0)
            return best_sign * 2 >= best ? best_sign : best;
    }
    return word.size;
}

static void
put_long_word(pen *p, tone as, gci_view word, size_t indent)
{
    if (p->at > indent && p->at + BREAK_LEAST > p->width)
        new_line(p, indent);
    while (word.size != 0) {
        size_t size = gci_columns(word) <= p->width - p->at ? word.size : break_word(word, p->width - p->at);
        put(p, as, gci_view_of(word.data, size));
        word = gci_view_of(word.data + size, word.size - size);
        if (word.size != 0)
            new_line(p, indent);
    }
}

/* From where the pen is, on further lines from `indent` on. */
static void
flow(pen *p, tone as, gci_view text, size_t indent)
{
    while (text.size != 0) {
        size_t spaces = 0, end;
        while (spaces < text.size && text.data[spaces] == ' ')
            spaces++;
        for (end = spaces; end < text.size && text.data[end] != ' ';)
            end++;
        gci_view word = gci_view_of(text.data + spaces, end - spaces);
        size_t columns = gci_columns(word);
        if (p->at + spaces + columns > p->width && indent + columns <= p->width && p->at > indent)
            new_line(p, indent);
        else
            put(p, PLAIN, gci_view_of(text.data, p->at + spaces < p->width ? spaces : 0));
        if (p->at + columns <= p->width)
            put(p, as, word);
        else
            put_long_word(p, as, word, indent);
        text = gci_view_of(text.data + end, text.size - end);
    }
}

static bool
fits(pen const *p, size_t columns)
{
    return p->at + columns <= p->width;
}

/* ---- blocks ---- */

static void
print_head(pen *p, gci_block const *block)
{
    bool hit = gci_view_is(block->texts[GCI_HEAD_OUTCOME], "hit");

    for (size_t i = 0; i < GCI_BLOCK_TEXTS; i++) {
        gci_view text = block->texts[i];
        if (text.size == 0)
            continue;
        if (i > 0 && fits(p, 4 + gci_columns(text)))
            move_to(p, 0, 4);
        else if (i > 0)
            new_line(p, 4);
        flow(p, i != GCI_HEAD_OUTCOME ? PLAIN : hit ? GOOD : BAD, text, 4);
    }
}

static void
print_sentence(pen *p, gci_block const *block)
{
    flow(p, PLAIN, block->texts[0], 2);
}

static size_t
detail_indent(pen const *p)
{
    return !p->in_candidate ? 2 : p->width < COLUMNS_ROOMY ? 4 : 8;
}

static void
print_remark(pen *p, gci_block const *block)
{
    size_t indent = detail_indent(p);

    move_to(p, indent, 0);
    flow(p, PLAIN, block->texts[0], indent + 2);
}

static void
print_more(pen *p, gci_block const *block)
{
    gci_view how = block->texts[GCI_MORE_HOW];

    move_to(p, 2, 0);
    flow(p, PLAIN, block->texts[GCI_MORE_WHAT], 4);
    if (how.size == 0)
        return;
    if (!fits(p, strlen(" ()") + gci_columns(how)))
        new_line(p, 4);
    else
        put(p, PLAIN, gci_view_text(" "));
    put(p, PLAIN, gci_view_text("("));
    put(p, PLAIN, how);
    put(p, PLAIN, gci_view_text(")"));
}

static void
print_candidate(pen *p, gci_block const *block)
{
    move_to(p, 2, 0);
    put(p, STRONG, block->texts[GCI_CANDIDATE_NUMBER]);
    move_to(p, 0, 2);
    put(p, DIM, block->texts[GCI_CANDIDATE_ID]);
    move_to(p, 0, 2);
    flow(p, PLAIN, block->texts[GCI_CANDIDATE_FACTS], p->at < p->width / 2 ? p->at : 4);
}

/* "nearest     " in front of what a block says. Returns the indent of its lines. */
static size_t
put_label(pen *p, gci_view label)
{
    move_to(p, 2, 0);
    put(p, STRONG, label);
    if (p->width < COLUMNS_ROOMY)
        new_line(p, 4);
    else
        move_to(p, LABEL_COLUMNS, 1);
    return p->at;
}

/* An alternative stands below the one before it, the word in front of it. */
static size_t
put_guard_label(pen *p, gci_view label)
{
    size_t indent = p->guard_indent;

    if (gci_view_is(label, "or") && indent >= strlen("or ")) {
        move_to(p, indent - strlen("or "), 0);
        put(p, STRONG, label);
    } else {
        indent = label.size != 0 ? put_label(p, label) : detail_indent(p);
    }
    p->guard_indent = indent;
    return indent;
}

static void
print_guard(pen *p, gci_block const *block)
{
    gci_view const *texts = block->texts;
    gci_view part = texts[GCI_GUARD_PART], values = texts[GCI_GUARD_VALUES], verdict = texts[GCI_GUARD_VERDICT];
    gci_view whose = texts[GCI_GUARD_WHOSE];
    size_t tail = gci_columns(verdict) + (whose.size != 0 ? 3 + gci_columns(whose) : 0);
    size_t indent = put_guard_label(p, texts[GCI_GUARD_LABEL]);
    size_t room = p->width - indent > tail + 2 ? p->width - indent - tail - 2 : 0;
    size_t part_room = PART_END - indent, values_room = VALUES_COLUMNS;

    if (room < part_room + values_room) {
        part_room = room * 12 / 23;
        values_room = room - part_room;
    }
    move_to(p, indent, 0);
    size_t beside = gci_columns(part) < part_room ? part_room : gci_columns(part);
    bool one_line = beside + 2 + gci_columns(values) + 2 + tail <= p->width - indent;
    flow(p, PLAIN, part, indent + 4);
    if (one_line) {
        move_to(p, indent + part_room + 1, 2);
        put(p, PLAIN, values);
        size_t verdict_at = indent + part_room + 1 + values_room + 1;
        move_to(p, verdict_at + tail <= p->width ? verdict_at : 0, 2);
    } else {
        new_line(p, indent + 4);
        flow(p, PLAIN, values, indent + 4);
        if (values.size != 0 && fits(p, 3 + tail))
            move_to(p, 0, 3);
        else if (values.size != 0)
            new_line(p, indent + 4);
    }
    put(p, BAD, verdict);
    if (whose.size != 0) {
        move_to(p, 0, 3);
        put(p, PLAIN, whose);
    }
}

/* What is too long is shown around where it differs from the other. */
static void
put_value(pen *p, gci_view value, gci_view other, size_t indent)
{
    size_t room = p->brief ? p->width - p->at - strlen("...  ...") : VALUE_COLUMNS_MOST;
    gci_buf excerpt;

    gci_buf_init(&excerpt, GCI_BUF_NO_LIMIT);
    gci_write_excerpt_around(&excerpt, value, gci_first_difference(value, other), room);
    flow(p, PLAIN, gci_buf_view(&excerpt), indent);
    p->out->failed |= excerpt.failed;
    gci_buf_clear(&excerpt);
}

/* "path    stored 1    asked 2", if it fits on a line with the path's and the stored value's columns this wide. */
static bool
put_beside(pen *p, gci_view const *texts, size_t path_end, size_t stored_room)
{
    gci_view stored = texts[GCI_DIFFERENCE_STORED], asked = texts[GCI_DIFFERENCE_ASKED];
    gci_view remark = texts[GCI_DIFFERENCE_REMARK], word = gci_view_text(p->in_candidate ? "   asked " : " asked ");
    size_t from = (p->at < path_end ? path_end : p->at) + strlen(" stored "), width = gci_columns(stored);
    size_t columns = (width < stored_room ? stored_room : width) + word.size + gci_columns(asked);

    if (from + columns + (remark.size != 0 ? 3 + gci_columns(remark) : 0) > p->width)
        return false;
    move_to(p, path_end, 0);
    put(p, DIM, gci_view_text(" stored "));
    put(p, PLAIN, stored);
    move_to(p, from + stored_room, 0);
    put(p, DIM, word);
    put(p, PLAIN, asked);
    move_to(p, 0, remark.size != 0 ? 3 : 0);
    put(p, STRONG, remark);
    return true;
}

static void
print_difference(pen *p, gci_block const *block)
{
    gci_view const *texts = block->texts;
    gci_view stored = texts[GCI_DIFFERENCE_STORED], asked = texts[GCI_DIFFERENCE_ASKED];
    gci_view remark = texts[GCI_DIFFERENCE_REMARK];
    size_t indent = detail_indent(p), path_end = indent + (p->in_candidate ? PART_COLUMNS : PATH_COLUMNS);

    move_to(p, indent, 0);
    if (p->width < GCI_STORY_COLUMNS_DEFAULT)
        path_end = path_end * p->width / GCI_STORY_COLUMNS_DEFAULT;
    flow(p, PLAIN, texts[GCI_DIFFERENCE_PATH], indent + 4);
    if (stored.size == 0 && asked.size == 0)
        return;
    size_t stored_room = p->in_candidate ? 0 : STORED_COLUMNS, stored_least = p->in_candidate ? 0 : gci_columns(stored) + 2;
    if (put_beside(p, texts, path_end, stored_room) || put_beside(p, texts, path_end, stored_least))
        return;
    new_line(p, indent + 4);
    put(p, DIM, gci_view_text("stored  "));
    put_value(p, stored, asked, indent + 6);
    new_line(p, indent + 4);
    put(p, DIM, gci_view_text("asked   "));
    put_value(p, asked, stored, indent + 6);
    if (remark.size != 0) {
        new_line(p, indent + 4);
        flow(p, STRONG, remark, indent + 6);
    }
}

/* What is too long is cut in the middle, or shown around where it differs from the line it stands beside. */
static void
write_hunk_line(gci_buf *out, gci_view line, gci_view other, size_t room)
{
    static char const gaps[] = "...  ...";
    gci_view text = gci_view_of(line.data + 1, line.size - 1);

    if (gci_columns(line) <= room || other.data == NULL) {
        gci_write_excerpt(out, line, room);
        return;
    }
    size_t at = gci_first_difference(text, gci_view_of(other.data + 1, other.size - 1));
    gci_buf_append_char(out, line.data[0]);
    gci_write_excerpt_around(out, text, at, room - 1 - (sizeof gaps - 1));
}

static void
print_hunk(pen *p, gci_block const *block)
{
    gci_diff_hunk_lines lines = { .rest = block->texts[0] };
    size_t indent = p->width < COLUMNS_ROOMY ? 2 : 6;
    gci_buf excerpt;

    gci_buf_init(&excerpt, GCI_BUF_NO_LIMIT);
    for (gci_view line, other; gci_diff_next_hunk_line(&lines, &line, &other);) {
        char sign = line.size != 0 ? line.data[0] : ' ';
        if (p->at != 0)
            end_line(p);
        move_to(p, indent, 0);
        excerpt.size = 0;
        write_hunk_line(&excerpt, line, other, p->width - indent);
        put(p, sign == '-' ? BAD : sign == '+' ? GOOD : PLAIN, gci_buf_view(&excerpt));
    }
    p->out->failed |= excerpt.failed;
    gci_buf_clear(&excerpt);
}

static void
print_would_hit(pen *p, gci_block const *block)
{
    gci_view change = block->texts[GCI_WOULD_HIT_CHANGE], whose = block->texts[GCI_WOULD_HIT_WHOSE];
    size_t columns = gci_columns(change) + 3 + gci_columns(whose), indent = p->width < COLUMNS_ROOMY ? 4 : LABEL_COLUMNS;

    if (p->at == 0)
        put_label(p, gci_view_text("would hit:"));
    else if (fits(p, 3 + columns))
        move_to(p, 0, 3);
    else
        new_line(p, indent);
    flow(p, GOOD, change, indent);
    put(p, PLAIN, gci_view_text(" ("));
    put(p, PLAIN, whose);
    put(p, PLAIN, gci_view_text(")"));
}

static void
print_advice(pen *p, gci_block const *block)
{
    size_t indent = put_label(p, gci_view_text("advice:"));

    flow(p, PLAIN, block->texts[0], indent);
}

static void
print_note(pen *p, gci_block const *block)
{
    gci_buf label;

    gci_buf_init(&label, GCI_BUF_NO_LIMIT);
    gci_phrase(&label, "{}:", GCI_AS_VIEW(block->texts[GCI_NOTE_LABEL]));
    size_t indent = put_label(p, gci_buf_view(&label));
    flow(p, PLAIN, block->texts[GCI_NOTE_TEXT], indent);
    p->out->failed |= label.failed;
    gci_buf_clear(&label);
}

/* ---- the whole ---- */

/* How a kind is printed, and where an empty line goes before it. */
typedef struct manner {
    void (*print)(pen *p, gci_block const *block);
    enum paragraph { SAYS, DETAILS, CONTINUES, APART } paragraph;
} manner;

static manner const manners[GCI_BLOCK_KINDS] = {
    [GCI_BLOCK_HEAD] = { print_head, SAYS },
    [GCI_BLOCK_SENTENCE] = { print_sentence, SAYS },
    [GCI_BLOCK_CANDIDATE] = { print_candidate, DETAILS },
    [GCI_BLOCK_GUARD] = { print_guard, DETAILS },
    [GCI_BLOCK_REMARK] = { print_remark, CONTINUES },
    [GCI_BLOCK_DIFFERENCE] = { print_difference, DETAILS },
    [GCI_BLOCK_HUNK] = { print_hunk, CONTINUES },
    [GCI_BLOCK_CONSEQUENCE] = { print_remark, CONTINUES },
    [GCI_BLOCK_MORE] = { print_more, CONTINUES },
    [GCI_BLOCK_WOULD_HIT] = { print_would_hit, APART },
    [GCI_BLOCK_ADVICE] = { print_advice, APART },
    [GCI_BLOCK_NOTE] = { print_note, APART },
};

/* An empty line parts sentences from what they are about, candidates from what is said of many, and what helps from all else. */
static bool
begins_paragraph(pen const *p, gci_block const *block, enum paragraph present)
{
    enum paragraph wanted = manners[block->kind].paragraph;
    bool first_candidate = block->kind == GCI_BLOCK_CANDIDATE && !p->in_candidate;

    return wanted == APART || (wanted != CONTINUES && wanted != present) || first_candidate;
}

void
gci_story_print(gci_story *story, gci_look look, gci_buf *out)
{
    size_t wanted = look.columns != 0 ? look.columns : GCI_STORY_COLUMNS_DEFAULT;
    pen p = { .out = out, .width = wanted < COLUMNS_LEAST ? COLUMNS_LEAST : wanted, .color = look.color, .brief = look.brief };
    enum paragraph present = SAYS;
    gci_block const *before = NULL;

    for (gci_block const *block = gci_story_blocks(story); block != NULL; before = block, block = block->next) {
        bool goes_on = block->kind == GCI_BLOCK_WOULD_HIT && before != NULL && before->kind == GCI_BLOCK_WOULD_HIT;
        if (before != NULL && !goes_on) {
            end_line(&p);
            if (begins_paragraph(&p, block, present))
                end_line(&p);
        }
        if (manners[block->kind].paragraph != CONTINUES)
            present = manners[block->kind].paragraph;
        p.in_candidate = block->kind == GCI_BLOCK_CANDIDATE || (p.in_candidate && present == DETAILS);
        manners[block->kind].print(&p, block);
    }
    if (before != NULL)
        end_line(&p);
    out->failed |= story->failed;
}
