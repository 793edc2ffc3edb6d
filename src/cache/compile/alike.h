/*
 * Members of a group decide alike: what the first of them decided about a question is said once and for all (meeting.h), and
 * every other one takes it.
 */
#ifndef GCI_CACHE_COMPILE_ALIKE_H
#define GCI_CACHE_COMPILE_ALIKE_H

#include "cache/compile/single_flight.h"

typedef enum gci_decided {
    GCI_UNDECIDED,
    GCI_DECIDED_ENTRY, /* *out_result is a hit on it */
    GCI_DECIDED_OWN,   /* it can't be shared: each compiles himself */
    GCI_DECIDED_LOST   /* it can't be had: damaged, or nobody trusted signed it; the error says which */
} gci_decided;

/* What a question is called: group, key, hints, variant. */
gcache_status gci_question_name(gci_context const *context, gcache_group const *group, gci_meeting_name out_name,
                                gcache_error *error);

/* What was decided; ENTRY: *out_result is filled, with the reference to its candidates. */
gci_decided gci_decision_read(gci_context const *context, gci_meeting_name const name, gcache_result *out_result,
                              gcache_error *error);

/* Decides for an entry that is stored here, or, entry NULL, that each compiles himself, unless it has been decided: then
   *out_result is that. */
gci_decided gci_decision_say(gci_context const *context, gci_meeting_name const name, char const *entry, gcache_result *out_result,
                             gcache_error *error);

#endif
