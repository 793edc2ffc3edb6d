/*
 * An explanation as a list of typed blocks, built once and printed by one of several printers: story_text.c for terminals,
 * story_html.c for browsers.
 *
 * Who builds says what is to be said, in order; who prints decides about columns, colours and empty lines. All texts become
 * visible characters (base/visible.h) on one line, but for HUNK's lines. Texts that a block doesn't have are empty.
 */
#ifndef GCI_CACHE_EXPLAIN_STORY_H
#define GCI_CACHE_EXPLAIN_STORY_H

#include "base/arena.h"
#include "base/buf.h"

/* kind, what its texts are */
#define GCI_BLOCK_MAP(X)                                                                             \
    X(HEAD, "gci_head: what happened, whose lookup, key, remark, when")                              \
    X(SENTENCE, "a sentence")                                                                        \
    X(CANDIDATE, "gci_candidate_text: #1, id, facts; what follows up to the next is about it")       \
    X(GUARD, "gci_guard_text: the part that decides, its arithmetic, the verdict, whose, a label")\
    X(REMARK, "a sentence about the candidate or the sentence before it")                            \
    X(DIFFERENCE, "gci_difference: path, what is stored, what was asked, remark")                    \
    X(HUNK, "lines of a difference of texts, each with its sign")                                    \
    X(CONSEQUENCE, "what follows from the differences before it")                                    \
    X(MORE, "gci_more: what isn't shown (\"and 3 more\"), and what a command shows it with")         \
    X(WOULD_HIT, "gci_would_hit: a change of hints, the candidate that then serves; one after another") \
    X(ADVICE, "what helps")                                                                          \
    X(NOTE, "gci_note: a word for what it is, the note")

typedef enum gci_block_kind {
#define X(id, texts) GCI_BLOCK_##id,
    GCI_BLOCK_MAP(X)
#undef X
    GCI_BLOCK_KINDS
} gci_block_kind;

/* Indices of a block's texts. A kind with one text has it at 0. */
enum gci_head { GCI_HEAD_OUTCOME, GCI_HEAD_LABEL, GCI_HEAD_KEY, GCI_HEAD_REMARK, GCI_HEAD_WHEN };
enum gci_candidate_text { GCI_CANDIDATE_NUMBER, GCI_CANDIDATE_ID, GCI_CANDIDATE_FACTS };
enum gci_guard_text { GCI_GUARD_PART, GCI_GUARD_VALUES, GCI_GUARD_VERDICT, GCI_GUARD_WHOSE, GCI_GUARD_LABEL };
enum gci_difference { GCI_DIFFERENCE_PATH, GCI_DIFFERENCE_STORED, GCI_DIFFERENCE_ASKED, GCI_DIFFERENCE_REMARK };
enum gci_would_hit { GCI_WOULD_HIT_CHANGE, GCI_WOULD_HIT_WHOSE };
enum gci_more { GCI_MORE_WHAT, GCI_MORE_HOW };
enum gci_note { GCI_NOTE_LABEL, GCI_NOTE_TEXT };
#define GCI_BLOCK_TEXTS 5

typedef struct gci_block {
    gci_block_kind kind;
    gci_view texts[GCI_BLOCK_TEXTS];
    struct gci_block *next;
} gci_block;

typedef struct gci_story {
    gci_arena arena;         /* of blocks and texts */
    gci_block *first, *last;
    gci_buf writing;         /* the text that is being written, of the last block */
    gci_buf visible;         /* what it becomes */
    size_t part;             /* which */
    bool failed;             /* without memory; then nothing is to be printed */
} gci_story;

void gci_story_init(gci_story *story);
void gci_story_clear(gci_story *story);

/* A new block at the end; its first text goes into the buffer, until another one is begun. Don't clear it. */
gci_buf *gci_story_begin(gci_story *story, gci_block_kind kind);
/* Another text of the same block. */
gci_buf *gci_story_part(gci_story *story, size_t part);
/* A block of one text. */
void gci_story_say(gci_story *story, gci_block_kind kind, char const *text);

/* The blocks, when everything is said, without those that have no first text; NULL: there are none, or it failed. */
gci_block const *gci_story_blocks(gci_story *story);

/* ---- printers ---- */

#define GCI_STORY_COLUMNS_DEFAULT 110

typedef struct gci_look {
    size_t columns; /* 0: GCI_STORY_COLUMNS_DEFAULT */
    bool color;
    bool brief;     /* a value that differs has a line at most */
} gci_look;

void gci_story_print(gci_story *story, gci_look look, gci_buf *out);

/* A piece of HTML with a heading of that level; with 0 whoever calls has written what the head says. */
void gci_story_html(gci_story *story, int level, gci_buf *out);

/* What helps, as HTML within a paragraph: the advice, else what would have hit. false: neither is known. */
bool gci_story_remedy(gci_story *story, gci_buf *out);

#endif
