/* A cluster's nodes and slots. See nodes.h. */
#include "tier/redis/nodes.h"

#include "tier/redis/wire/resp.h"

#include <stdlib.h>

/* x^16 + x^12 + x^5 + 1, from the highest bit on, beginning with 0: CRC-16/XMODEM, as the cluster specification says. */
#define CRC_POLYNOMIAL 0x1021u

static unsigned
crc16(gci_view bytes)
{
    unsigned crc = 0;

    for (size_t i = 0; i < bytes.size; i++) {
        crc ^= (unsigned)(uint8_t)bytes.data[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 0x8000u) != 0 ? (crc << 1 ^ CRC_POLYNOMIAL) & 0xFFFFu : crc << 1 & 0xFFFFu;
    }
    return crc;
}

unsigned
gci_redis_slot(gci_view key)
{
    char const *open = key.size != 0 ? memchr(key.data, '{', key.size) : NULL;

    if (open != NULL) {
        size_t rest = key.size - (size_t)(open + 1 - key.data);
        char const *close = memchr(open + 1, '}', rest);
        if (close != NULL && close != open + 1)
            key = gci_view_of(open + 1, (size_t)(close - open) - 1);
    }
    return crc16(key) % GCI_SLOTS;
}

/* ---- nodes ---- */

void
gci_redis_nodes_clear(gci_redis_nodes *nodes)
{
    for (unsigned i = 0; i < GCI_NODES_MAX; i++)
        free(atomic_exchange(&nodes->nodes[i], NULL));
}

gci_redis_node const *
gci_redis_node_of(gci_redis_nodes *nodes, unsigned number)
{
    return number >= 1 && number <= GCI_NODES_MAX ? atomic_load(&nodes->nodes[number - 1]) : NULL;
}

static bool
is_node(gci_redis_node const *node, gci_view host, uint16_t port)
{
    return node->port == port && gci_view_is(host, node->host);
}

/* Puts a node into the first place that is free, unless somebody has just put the same there. false: taken by another. */
static bool
put_node(_Atomic(gci_redis_node *) *place, gci_redis_node *fresh, bool *out_used)
{
    gci_redis_node *there = NULL;

    *out_used = atomic_compare_exchange_strong(place, &there, fresh);
    return *out_used || is_node(there, gci_view_text(fresh->host), fresh->port);
}

unsigned
gci_redis_node_number(gci_redis_nodes *nodes, gci_view host, uint16_t port)
{
    if (host.size == 0 || host.size >= GCI_NODE_HOST_SIZE || memchr(host.data, 0, host.size) != NULL)
        return 0;
    unsigned number = 1;
    gci_redis_node const *node;
    while ((node = gci_redis_node_of(nodes, number)) != NULL) {
        if (is_node(node, host, port))
            return number;
        number++;
    }
    gci_redis_node *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return 0;
    memcpy(fresh->host, host.data, host.size);
    fresh->port = port;
    bool used = false;
    while (number <= GCI_NODES_MAX && !put_node(&nodes->nodes[number - 1], fresh, &used))
        number++;
    if (!used)
        free(fresh);
    return number <= GCI_NODES_MAX ? number : 0;
}

/* ---- slots ---- */

unsigned
gci_redis_slot_node(gci_redis_nodes *nodes, unsigned slot)
{
    return slot < GCI_SLOTS ? atomic_load_explicit(&nodes->by_slot[slot], memory_order_relaxed) : 0;
}

void
gci_redis_slots_learn(gci_redis_nodes *nodes, unsigned first, unsigned last, unsigned node)
{
    for (unsigned slot = first; slot <= last && slot < GCI_SLOTS; slot++)
        atomic_store_explicit(&nodes->by_slot[slot], (uint16_t)node, memory_order_relaxed);
}

void
gci_redis_slots_forget(gci_redis_nodes *nodes, unsigned node)
{
    for (unsigned slot = 0; slot < GCI_SLOTS; slot++) {
        uint16_t there = (uint16_t)node;
        atomic_compare_exchange_strong(&nodes->by_slot[slot], &there, 0);
    }
}

/* ---- redirections ---- */

/* The digits at the beginning of rest, up to `most`; they are taken off. */
static bool
take_number(gci_view *rest, int64_t most, int64_t *out_number)
{
    char const *space = rest->size != 0 ? memchr(rest->data, ' ', rest->size) : NULL;
    size_t size = space != NULL ? (size_t)(space - rest->data) : rest->size;

    if (!gci_resp_integer(gci_view_of(rest->data, size), out_number) || *out_number < 0 || *out_number > most)
        return false;
    size += space != NULL;
    *rest = gci_view_of(rest->data + size, rest->size - size);
    return true;
}

bool
gci_redis_redirection_read(gci_view error, gci_redis_redirection *out)
{
    bool ask = gci_view_begins(error, "ASK ");
    size_t word = ask ? strlen("ASK ") : strlen("MOVED ");
    int64_t slot, port;

    if (!ask && !gci_view_begins(error, "MOVED "))
        return false;
    gci_view rest = gci_view_of(error.data + word, error.size - word);
    if (!take_number(&rest, GCI_SLOTS - 1, &slot))
        return false;
    /* The last colon: addresses of IPv6 have more. */
    char const *colon = rest.size != 0 ? memrchr(rest.data, ':', rest.size) : NULL;
    if (colon == NULL)
        return false;
    gci_view host = gci_view_of(rest.data, (size_t)(colon - rest.data));
    rest = gci_view_of(colon + 1, rest.size - host.size - 1);
    if (!take_number(&rest, UINT16_MAX, &port) || rest.size != 0 || port == 0)
        return false;
    *out = (gci_redis_redirection){ ask, (unsigned)slot, host, (uint16_t)port };
    return true;
}
