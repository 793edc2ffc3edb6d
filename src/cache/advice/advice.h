/*
 * What helps after a miss: rows of a kind's advice.json, chosen by facts about the miss, with the values that their texts may
 * name (kinds/kinds.h). Facts: advice_difference.c, advice_inputs.c, advice_sizes.c and advice_texts.c (a key that nobody stored),
 * advice_guard.c; choosing: advice.c.
 */
#ifndef GCI_CACHE_ADVICE_ADVICE_H
#define GCI_CACHE_ADVICE_ADVICE_H

#include "base/arena.h"
#include "cache/journal/journal_entry.h"
#include "kinds/kinds.h"

/* What can be done about a miss: a sentence or two in the words of the user's framework. Nothing where nothing is known to
   help. */
void gci_write_advice(gci_journal_entry const *entry, gci_buf *out);

/* ---- facts ---- */

/* What rows are compared with: one difference, a guard, a requirement. Values are views into the entry, or into the arena. */
typedef struct gci_advice_case {
    gci_arena *arena;
    gci_view path; /* data NULL: rows with a path don't fit */
    uint64_t facts;
    gci_view values[GCI_VALUE_COUNT];
} gci_advice_case;

/* How far the graphs of a nearest key and the one asked for differ; how far one difference within the graph goes. */
gci_advice_graph gci_advice_graph_of(gci_near_key const *near);
gci_advice_graph gci_advice_graph_of_item(gci_diff_item const *item);

/* Of a text's lines that differ (gci_diff_item). */
gci_advice_graph gci_advice_graph_of_hunks(gci_view hunks);
void gci_advice_on_hunks(gci_view hunks, gci_advice_case *out);
/* Whether operations that a module has in training alone are on one side only. */
bool gci_advice_is_training(gci_diff_item const *item);
/* Of `name = value` on both sides, where it is one name. */
void gci_advice_on_line(gci_view stored, gci_view asked, gci_advice_case *out);

/* Facts and values of near->items[index], with sizes that vary as far as the entry has names for them. */
void gci_advice_on_difference(gci_journal_entry const *entry, gci_near_key const *near, size_t index, gci_advice_case *out);

/* Of a difference in an input; then of all sizes that vary, if this one does. */
void gci_advice_on_input(gci_journal_entry const *entry, gci_near_key const *near, gci_diff_item const *item, gci_advice_case *out);
void gci_advice_on_sizes(gci_journal_entry const *entry, gci_near_key const *near, gci_advice_case *out);

/* Whether sizes of a tensor differ, "inputs[2].value.". */
bool gci_has_other_sizes(gci_near_key const *near, gci_view tensor);

/* {inputs}: all whose element type differs, or whose device, from what to what: "x from f64 to f32". */
void gci_advice_list_inputs(gci_journal_entry const *entry, gci_near_key const *near, gci_advice_case *out);

/* Whether a difference is in sizes, or follows from those that differ. */
bool gci_advice_follows_sizes(gci_near_key const *near, gci_diff_item const *item);

/* The same for the guard that decided. */
void gci_advice_on_guard(gci_journal_entry const *entry, gci_trial const *trial, gci_advice_case *out);

/* ---- a nearest key's advice as a whole ---- */

/* What is said of one difference. */
typedef struct gci_advised {
    gci_advice const *row; /* NULL: nothing */
    gci_advice_case what;
    gci_view text;         /* without {enough: }; empty: nothing */
} gci_advised;

/* What is left if a reader does as he is told. */
typedef enum gci_advice_rest {
    GCI_REST_NOTHING, /* what is stored is found, if it is said how */
    GCI_REST_UNKNOWN, /* what isn't the user's business may follow from the others, or keep the two apart */
    GCI_REST_GUARDS,  /* what is stored is found, but its guards don't hold */
    GCI_REST_SOME     /* it keeps the two apart */
} gci_advice_rest;

/* all: of each of near's items; told: those that are shown. */
gci_advice_rest gci_advice_find_rest(gci_journal_entry const *entry, gci_near_key const *near, gci_advised const *all,
                                     gci_advised const *const *told, size_t told_count);

/* Would what is stored serve the hints of the miss? */
typedef enum gci_served { GCI_SERVED, GCI_SERVED_NOT /* guards don't hold */, GCI_SERVED_PERHAPS } gci_served;

/* What there is under another key. */
gci_served gci_advice_served_by(gci_journal_entry const *entry, gcache_key const *key);

/* {source}, {tensor} and {dim} from what a symbol is in the user's program: "x.size(0)". NULL: not known. */
void gci_advice_name(gci_advice_case *what, char const *source);

#endif
