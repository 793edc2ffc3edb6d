/*
 * A story as HTML. What belongs together is one element: a candidate with its guards, a run of differences, what would hit.
 * What a wide screen shows side by side stands one below the other on a narrow one.
 */
#include "cache/explain/html_page.h"
#include "cache/explain/story.h"
#include "cache/handle/words.h"

/* Of a kind: more fold away. */
#define CANDIDATES_SHOWN 6
#define DIFFERENCES_SHOWN 16
/* Of a value that differs, around where it does. */
#define VALUE_MOST 400

typedef struct printer {
    gci_buf *out;
    int level;               /* of the heading; 0: none, whoever calls has one */
    gci_block_kind run;      /* of the blocks before, which have one element around them; GCI_BLOCK_KINDS: none */
    size_t in_run;           /* so many of them */
    size_t candidates;       /* in a row */
    bool in_candidate, folded_candidates, folded_run;
    bool differs, folded_nearest; /* the nearest key's differences are there; another one's fold away */
} printer;

/* One text in an element, if there is one. */
static void
write_part(printer *p, char const *before, gci_view text, char const *after)
{
    if (text.size == 0)
        return;
    gci_buf_append_text(p->out, before);
    gci_write_html(p->out, text);
    gci_buf_append_text(p->out, after);
}

/* ---- blocks ---- */

static void
write_head(printer *p, gci_block const *block)
{
    gci_view label = block->texts[GCI_HEAD_LABEL];

    gci_buf_append_text(p->out, "<header>");
    if (p->level != 0) {
        gci_buf_format(p->out, "<h%d>", p->level);
        write_part(p, "", label.size != 0 ? label : gci_view_text("without a label"), "");
        gci_buf_format(p->out, "</h%d>", p->level);
        write_part(p, "<span class=\"reason\">", block->texts[GCI_HEAD_OUTCOME], "</span> ");
        write_part(p, "<code class=\"id\">", block->texts[GCI_HEAD_KEY], "</code> ");
    }
    write_part(p, "<span class=\"dim\">", block->texts[GCI_HEAD_REMARK], "</span> ");
    write_part(p, "<span class=\"dim\">", block->texts[GCI_HEAD_WHEN], "</span>");
    gci_buf_append_text(p->out, "</header>\n");
}

static void
write_candidate(printer *p, gci_block const *block)
{
    gci_buf_append_text(p->out, "<p>");
    write_part(p, "<strong>", block->texts[GCI_CANDIDATE_NUMBER], "</strong> ");
    write_part(p, "<span class=\"dim\">", block->texts[GCI_CANDIDATE_FACTS], "</span> ");
    write_part(p, "<code class=\"id\">", block->texts[GCI_CANDIDATE_ID], "</code>");
    gci_buf_append_text(p->out, "</p>\n");
}

static void
write_guard(printer *p, gci_block const *block)
{
    gci_buf_append_text(p->out, "<div class=\"guard\"><span>");
    write_part(p, "<strong>", block->texts[GCI_GUARD_LABEL], "</strong> ");
    write_part(p, "<code>", block->texts[GCI_GUARD_PART], "</code>");
    write_part(p, " <span class=\"dim\">", block->texts[GCI_GUARD_WHOSE], "</span>");
    gci_buf_append_text(p->out, "</span><span>");
    write_part(p, "<code>", block->texts[GCI_GUARD_VALUES], "</code>");
    gci_buf_append_text(p->out, "</span>");
    write_part(p, "<span class=\"verdict bad\">", block->texts[GCI_GUARD_VERDICT], "</span>");
    gci_buf_append_text(p->out, "</div>\n");
}

static void
write_value(printer *p, char const *before, gci_view value, gci_view other)
{
    gci_buf excerpt;

    if (value.size == 0)
        return;
    gci_buf_init(&excerpt, GCI_BUF_NO_LIMIT);
    gci_write_excerpt_around(&excerpt, value, gci_first_difference(value, other), VALUE_MOST);
    write_part(p, before, gci_buf_view(&excerpt), "</code></span>");
    p->out->failed |= excerpt.failed;
    gci_buf_clear(&excerpt);
}

static void
write_difference(printer *p, gci_block const *block)
{
    gci_view stored = block->texts[GCI_DIFFERENCE_STORED], asked = block->texts[GCI_DIFFERENCE_ASKED];

    gci_buf_append_text(p->out, "<div class=\"diff\">");
    write_part(p, "<code class=\"path\">", block->texts[GCI_DIFFERENCE_PATH], "</code>");
    write_value(p, "<span><small class=\"dim\">stored</small> <code class=\"del\">", stored, asked);
    write_value(p, "<span><small class=\"dim\">asked</small> <code class=\"add\">", asked, stored);
    write_part(p, "<span class=\"remark\">", block->texts[GCI_DIFFERENCE_REMARK], "</span>");
    gci_buf_append_text(p->out, "</div>\n");
}

/* Its lines keep their signs, so that colour isn't all that tells them apart. */
static void
write_hunk(printer *p, gci_block const *block)
{
    gci_view rest = block->texts[0];

    gci_buf_append_text(p->out, "<pre class=\"hunk\" tabindex=\"0\">");
    for (gci_view line; gci_view_next_line(&rest, &line);) {
        char sign = line.size != 0 ? line.data[0] : ' ';
        gci_phrase(p->out, "<span class=\"{}\">{}</span>", GCI_AS_TEXT(sign == '+' ? "add" : sign == '-' ? "del" : "same"),
                   GCI_AS_HTML(line));
    }
    gci_buf_append_text(p->out, "</pre>\n");
}

static void
write_would_hit(printer *p, gci_block const *block)
{
    gci_buf_append_text(p->out, "<li>");
    write_part(p, "<code>", block->texts[GCI_WOULD_HIT_CHANGE], "</code>");
    write_part(p, " <span class=\"dim\">", block->texts[GCI_WOULD_HIT_WHOSE], "</span>");
    gci_buf_append_text(p->out, "</li>");
}

static void
write_note(printer *p, gci_block const *block)
{
    gci_buf_append_text(p->out, "<p>");
    write_part(p, "<strong>", block->texts[GCI_NOTE_LABEL], "</strong> ");
    write_part(p, "", block->texts[GCI_NOTE_TEXT], "");
    gci_buf_append_text(p->out, "</p>\n");
}

/* ---- all of them ---- */

typedef struct block_writer {
    void (*write)(printer *p, gci_block const *block);
    char const *open, *close;   /* without write: around its only text */
    char const *before, *after; /* of a run of such blocks */
    bool of_candidate;          /* belongs to the candidate before it */
} block_writer;

static block_writer const writers[GCI_BLOCK_KINDS] = {
    [GCI_BLOCK_HEAD] = { .write = write_head },
    [GCI_BLOCK_SENTENCE] = { .open = "<p>", .close = "</p>\n" },
    [GCI_BLOCK_CANDIDATE] = { .write = write_candidate },
    [GCI_BLOCK_GUARD] = { .write = write_guard, .before = "<div class=\"guards\">", .after = "</div>\n", .of_candidate = true },
    [GCI_BLOCK_REMARK] = { .open = "<p class=\"remark\">", .close = "</p>\n", .of_candidate = true },
    [GCI_BLOCK_DIFFERENCE] = { .write = write_difference, .before = "<div class=\"diffs\">", .after = "</div>\n",
                               .of_candidate = true },
    [GCI_BLOCK_HUNK] = { .write = write_hunk, .of_candidate = true },
    [GCI_BLOCK_CONSEQUENCE] = { .open = "<p class=\"dim\">", .close = "</p>\n" },
    [GCI_BLOCK_MORE] = { .open = "<p class=\"dim\">", .close = "</p>\n" },
    [GCI_BLOCK_WOULD_HIT] = { .write = write_would_hit, .before = "<div class=\"would\"><strong>Would hit</strong> <ul>",
                              .after = "</ul></div>\n" },
    [GCI_BLOCK_ADVICE] = { .open = "<p class=\"advice\"><strong>Advice</strong> ", .close = "</p>\n" },
    [GCI_BLOCK_NOTE] = { .write = write_note },
};

static size_t
count_from(gci_block const *block, gci_block_kind kind, bool in_run)
{
    size_t count = 0;

    for (; block != NULL && (!in_run || block->kind == kind); block = block->next)
        count += block->kind == kind;
    return count;
}

static void
fold(printer *p, size_t count, char const *what)
{
    gci_phrase(p->out, "<details><summary>{} more {}</summary>\n", GCI_AS_COUNT(count), GCI_AS_TEXT(what));
}

static void
end_run(printer *p)
{
    if (p->folded_run)
        gci_buf_append_text(p->out, "</details>\n");
    if (p->run != GCI_BLOCK_KINDS && writers[p->run].after != NULL)
        gci_buf_append_text(p->out, writers[p->run].after);
    p->run = GCI_BLOCK_KINDS;
    p->in_run = 0;
    p->folded_run = false;
}

static void
end_candidate(printer *p, bool last)
{
    if (p->in_candidate)
        gci_buf_append_text(p->out, "</div>\n");
    p->in_candidate = false;
    if (last && p->folded_candidates)
        gci_buf_append_text(p->out, "</details>\n");
    if (last) {
        p->folded_candidates = false;
        p->candidates = 0;
    }
}

static void
begin_candidate(printer *p, gci_block const *block)
{
    if (p->candidates++ == CANDIDATES_SHOWN) {
        fold(p, count_from(block, GCI_BLOCK_CANDIDATE, false), "candidates");
        p->folded_candidates = true;
    }
    gci_buf_append_text(p->out, "<div class=\"candidate\">");
    p->in_candidate = true;
}

/* The other near keys: what a sentence begins after the differences of the nearest. */
static void
begin_nearest(printer *p, gci_block const *block)
{
    if (p->folded_nearest)
        gci_buf_append_text(p->out, "</details>\n");
    write_part(p, "<details><summary>", block->texts[0], "</summary>\n");
    p->folded_nearest = true;
}

static void
end_nearest(printer *p)
{
    if (p->folded_nearest)
        gci_buf_append_text(p->out, "</details>\n");
    p->folded_nearest = p->differs = false;
}

static bool
is_about_all(gci_block_kind kind)
{
    return kind == GCI_BLOCK_WOULD_HIT || kind == GCI_BLOCK_ADVICE || kind == GCI_BLOCK_NOTE;
}

static void
write_block(printer *p, gci_block const *block)
{
    block_writer const *writer = &writers[block->kind];

    p->differs |= !p->in_candidate && (block->kind == GCI_BLOCK_DIFFERENCE || block->kind == GCI_BLOCK_HUNK);
    if (p->run != block->kind) {
        end_run(p);
        if (!writer->of_candidate)
            end_candidate(p, block->kind != GCI_BLOCK_CANDIDATE);
        if (is_about_all(block->kind))
            end_nearest(p);
        if (writer->before != NULL)
            gci_buf_append_text(p->out, writer->before);
        p->run = block->kind;
    }
    if (block->kind == GCI_BLOCK_CANDIDATE) {
        end_candidate(p, false);
        begin_candidate(p, block);
    }
    if (p->in_run++ == DIFFERENCES_SHOWN && block->kind == GCI_BLOCK_DIFFERENCE) {
        fold(p, count_from(block, block->kind, true), "differences");
        p->folded_run = true;
    }
    if (block->kind == GCI_BLOCK_SENTENCE && p->differs)
        begin_nearest(p, block);
    else if (writer->write != NULL)
        writer->write(p, block);
    else
        write_part(p, writer->open, block->texts[0], writer->close);
}

void
gci_story_html(gci_story *story, int level, gci_buf *out)
{
    printer p = { .out = out, .level = level, .run = GCI_BLOCK_KINDS };

    gci_buf_append_text(out, level != 0 ? "<article class=\"card why\">\n" : "<article class=\"why\">\n");
    for (gci_block const *block = gci_story_blocks(story); block != NULL; block = block->next)
        write_block(&p, block);
    end_run(&p);
    end_candidate(&p, true);
    end_nearest(&p);
    gci_buf_append_text(out, "</article>\n");
}

bool
gci_story_remedy(gci_story *story, gci_buf *out)
{
    gci_block const *would_hit = NULL;

    for (gci_block const *block = gci_story_blocks(story); block != NULL; block = block->next) {
        if (block->kind == GCI_BLOCK_ADVICE) {
            gci_phrase(out, "{}", GCI_AS_HTML(block->texts[0]));
            return true;
        }
        if (block->kind == GCI_BLOCK_WOULD_HIT && would_hit == NULL)
            would_hit = block;
    }
    if (would_hit != NULL)
        gci_phrase(out, "it would hit with <code>{}</code>.", GCI_AS_HTML(would_hit->texts[GCI_WOULD_HIT_CHANGE]));
    return would_hit != NULL;
}
