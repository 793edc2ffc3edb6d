/*
 * Writing down what a lookup's trace shows: of a journal's entry, or of a lookup made for the purpose, whose entry has no time.
 * A story for people: explain_text.c, explain_hints.c, explain_trial.c, explain_nearest.c, advice.c, printed by story_text.c and
 * story_html.c; JSON: explain_json.c; what to write: explanation.c, explain_past.c.
 */
#ifndef GCI_CACHE_EXPLAIN_EXPLANATION_H
#define GCI_CACHE_EXPLAIN_EXPLANATION_H

#include "base/buf.h"
#include "cache/advice/advice.h"
#include "cache/explain/story.h"
#include "cache/journal/journal_entry.h"

/* Candidates for which a change of two hints is searched where one isn't enough: some milliseconds each. */
#define GCI_PAIRS_CANDIDATES 8

/* What the search for nearest hints may cost for all candidates of an explanation: some tenths of a second. */
#define GCI_NEAREST_WORK ((size_t)1 << 22)

/* Lines of details in a text: everything, and what a text for a terminal begins with. */
#define GCI_ROOM_ALL 0
#define GCI_ROOM_BRIEF 16

/* Tells it for people, with about so many lines of details. */
void gci_explain_tell(gci_journal_entry const *entry, size_t room, gci_story *story);

/* explain_hints.c: what the hints are, behind a verb: " for  s0=12". A brief text has those that decide first, which guards of
   `below` read, then others, and how many more there are. */
void gci_explain_hints(gci_journal_entry const *entry, size_t room, gci_block const *below, gci_buf *out);
/* Whether there are too many for a text with so much room: only then `below` is asked. */
bool gci_explain_cuts_hints(gci_journal_entry const *entry, size_t room);

/* explain_trial.c: one candidate, and why it doesn't serve. */
void gci_explain_trial(gci_journal_entry const *entry, gci_trial const *trial, bool brief, gci_story *story);
/* Candidates that all lack the same requirement, or are of other variants than the wanted one: returns how many, 0 if few. */
size_t gci_explain_lacking(gci_journal_entry const *entry, gci_story *story);
/* A key of which nothing is left: "1 entry was stored at 13:58 and evicted at 14:29, ..." Nothing where something is left. */
void gci_explain_key_eviction(gci_journal_entry const *entry, gci_story *story);
/* A part of a guard, its arithmetic, or what else machines write: whole, unless it alone would fill a brief text. */
void gci_explain_deciding(gci_buf *out, gci_view text, bool brief);

/* The middle part of it where nothing is stored under the key: the nearest keys and how they differ. */
void gci_explain_nearest(gci_journal_entry const *entry, size_t room, gci_story *story);

/* explain_tiers.c: what each tier said that was asked; nothing if none was. */
void gci_explain_tiers(gci_journal_entry const *entry, gci_story *story);

/* Writes what `tell` tells as the handle's caller looks at it: GCACHE_EXPLAIN_TEXT with so many details that it has no more
   than 25 lines; GCACHE_EXPLAIN_ALL. */
typedef void gci_tell_fn(gci_journal_entry *entry, size_t room, gci_story *story);
void gci_explain_write(gci_journal_entry *entry, gcache_explain_form form, gci_tell_fn *tell, gci_buf *out);

/* Writes that another variant serves than the expected one, and why; nothing if it doesn't. No line end. */
void gci_explain_variant(gci_journal_entry const *entry, gci_buf *out);

/* Tells an entry of the journal that has been opened, and what has changed since. */
void gci_explain_tell_past(gci_journal_entry *entry, size_t room, gci_story *story);

/* The head of a page of stories, which gci_html_page_end ends; a page with one alone. */
void gci_explain_page_begin(gci_buf *out);
void gci_explain_page(gci_story *story, gci_buf *out);

/* One JSON object on one line, without a line end. */
void gci_explain_json(gci_journal_entry const *entry, gci_buf *out);
/* A reason's word; null for none. */
void gci_explain_reason_json(gcache_reason reason, gci_buf *out);

#endif
