/*
 * Names in a text that its rules replaced, from what they were to what they became: whole names, however many rules had a
 * hand in them and however small the part was that each replaced. Names that one rule made equal are all there.
 */
#ifndef GCI_GRAPH_TEXT_NAMES_H
#define GCI_GRAPH_TEXT_NAMES_H

#include "base/arena.h"
#include "base/text/intern.h"

typedef struct gci_text_name {
    gci_view original, canonical;
} gci_text_name;

typedef struct gci_text_names {
    gci_arena arena;     /* of the texts */
    gci_intern known;    /* what names became, also on the way */
    uint32_t *item_of;   /* by number in `known`: the first that became so */
    gci_intern folded;   /* the others: what they were and became, between them a line end */
    gci_intern hidden;   /* names that nobody outside sees */
    gci_text_name *items;
    size_t count, known_room, room;
} gci_text_names;

void gci_text_names_init(gci_text_names *names);
void gci_text_names_clear(gci_text_names *names);
/* Forgets all; memory is kept. */
void gci_text_names_reset(gci_text_names *names);

/* Looks for names from a text's start to its end, each byte once; begins as { .text = text }. */
typedef struct gci_text_name_search {
    gci_view text;
    size_t seen;  /* the quotes of text[0..seen) are known */
    size_t left;  /* behind the last quote or line end of these */
    size_t right; /* the first quote behind the last match it was asked for, or the text's end */
} gci_text_name_search;

/* The name that text[start..end) is in or begins: what stands between quotes behind '@', else a word of [-\w$.#!]. No
   earlier one than before, and none within the last name. */
gci_view gci_text_name_around(gci_text_name_search *search, size_t start, size_t end);

/* One rule made `after` of `before`, which may be what an earlier rule made. false without memory. */
bool gci_text_names_add(gci_text_names *names, gci_view before, gci_view after);

/* A name that nobody outside sees, as it stood in the text. false without memory. */
bool gci_text_names_hide(gci_text_names *names, gci_view name);
bool gci_text_names_is_hidden(gci_text_names const *names, size_t item);

#endif
