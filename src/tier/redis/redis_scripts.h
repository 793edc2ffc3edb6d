/*
 * What has to happen at once on the server, in Lua. Each script's keys have the same key of ours in braces, so that a cluster has
 * them on one node. They are sent as they are: no server has to remember them, and some hundred bytes cost less than a round trip.
 */
#ifndef GCI_TIER_REDIS_REDIS_SCRIPTS_H
#define GCI_TIER_REDIS_REDIS_SCRIPTS_H

/* What scripts answer, beside tokens. */
enum {
    GCI_SCRIPT_DONE = 1,
    GCI_SCRIPT_NOT = 0,      /* it is somebody else's */
    GCI_SCRIPT_FENCED = -1,
    GCI_SCRIPT_INCOMPLETE = -2 /* something that belongs to a head has gone already */
};

/* Keys: the heads, the tokens, whatever has to be there. Arguments: id, head, time to live, token or "". */
extern char const gci_script_store_head[];
/* Keys: one. Arguments: bytes, time to live, not 0. */
extern char const gci_script_store[];
/* Keys: tokens. Arguments: token. */
extern char const gci_script_check[];
/* Keys: where it is, tokens. Arguments: token, id or "" for all of it. */
extern char const gci_script_remove[];
/* Keys: one. Takes it away if it isn't a string. */
extern char const gci_script_clear[];
/* Keys: one. Arguments: time to live. */
extern char const gci_script_touch[];
/* Keys: the lease, its tokens. Arguments: holder, time to live, that of the tokens. Answers the token as a text, or NOT. */
extern char const gci_script_lease[];
/* Keys: the lease. Arguments: holder, time to live. */
extern char const gci_script_keep[];
/* Keys: the lease. Arguments: holder. */
extern char const gci_script_release[];

#endif
