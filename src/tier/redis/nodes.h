/*
 * What is known of a cluster: its nodes, and which of them has which slot, as redirections told.
 *
 * All of it is a guess: a node that is asked wrongly says who to ask. Nothing is locked: nodes are only added, each at a place of
 * its own, and a slot's node is one number.
 */
#ifndef GCI_TIER_REDIS_NODES_H
#define GCI_TIER_REDIS_NODES_H

#include "base/view.h"

#include <stdatomic.h>
#include <stdint.h>

#define GCI_SLOTS 16384 /* of every Redis cluster */
#define GCI_SLOT_NONE GCI_SLOTS /* of a command without a key: whoever is asked */
/* Redis advises against clusters of more. */
#define GCI_NODES_MAX 1000
#define GCI_NODE_HOST_SIZE 256 /* a name of the DNS, and a zero */

typedef struct gci_redis_node {
    char host[GCI_NODE_HOST_SIZE];
    uint16_t port;
} gci_redis_node;

/* Node 0 is the server of the options; node n > 0 is nodes[n - 1]. */
typedef struct gci_redis_nodes {
    _Atomic(gci_redis_node *) nodes[GCI_NODES_MAX];
    _Atomic uint16_t by_slot[GCI_SLOTS];
} gci_redis_nodes;

/* Of a key's bytes, or of what is within its first braces if there is something: CRC-16/XMODEM, modulo GCI_SLOTS. */
unsigned gci_redis_slot(gci_view key);

void gci_redis_nodes_clear(gci_redis_nodes *nodes);

/* The number of a node, which is added if it is new. 0: no memory, too many, or no host. */
unsigned gci_redis_node_number(gci_redis_nodes *nodes, gci_view host, uint16_t port);
/* NULL: none of that number. */
gci_redis_node const *gci_redis_node_of(gci_redis_nodes *nodes, unsigned number);

/* Where a slot is, as far as known: 0 if not. */
unsigned gci_redis_slot_node(gci_redis_nodes *nodes, unsigned slot);
void gci_redis_slots_learn(gci_redis_nodes *nodes, unsigned first, unsigned last, unsigned node);
/* A node has gone: what it had is asked for anew. */
void gci_redis_slots_forget(gci_redis_nodes *nodes, unsigned node);

typedef struct gci_redis_redirection {
    bool ask; /* this time only, after ASKING */
    unsigned slot;
    gci_view host; /* empty: the host that said it */
    uint16_t port;
} gci_redis_redirection;

/* "MOVED 3999 127.0.0.1:6381", "ASK 3999 ::1:6381". false: it is another error. */
bool gci_redis_redirection_read(gci_view error, gci_redis_redirection *out);

#endif
