/* A Redis server as a whole: walking over its keys, what it says of itself. In a cluster, one node after the other. */
#include "tier/redis/ask.h"
#include "tier/redis/redis_calls.h"
#include "tier/redis/redis_keys.h"
#include "tier/redis/wire/trouble.h"

#include <stdio.h>

/* Of SCAN: so many names are looked at a step, which takes a server less than a millisecond. */
#define SCAN_COUNT 1000
/* Names of a step, INFO's texts, the slots of a cluster of GCI_NODES_MAX nodes. */
#define REPLIES_BYTES_MAX (UINT64_C(16) << 20)
/* Digits of a 64-bit number. */
#define SCAN_CURSOR_MAX 20

static gci_resp_limits const limits = { REPLIES_BYTES_MAX, REPLIES_BYTES_MAX };

/* ---- which nodes there are ---- */

static void
begin_at(gci_batch *batch, unsigned node, size_t arguments)
{
    gci_batch_begin(batch, GCI_SLOT_NONE, arguments);
    if (batch->failed)
        return;
    batch->commands[batch->count - 1].node = node;
    batch->commands[batch->count - 1].directed = true;
}

/* [first slot, last slot, [host, port, ...], ...]; false: it isn't. */
static bool
learn_range(gci_redis *redis, gci_resp_reader const *reader, size_t at)
{
    gci_resp_value const *range = &reader->values[at], *first = range + 1, *last = range + 2, *master = range + 3;

    if (range->type != GCI_RESP_ARRAY || range->size < 3 || first->type != GCI_RESP_INTEGER || last->type != GCI_RESP_INTEGER ||
        master->type != GCI_RESP_ARRAY || master->size < 2 || master[2].type != GCI_RESP_INTEGER)
        return false;
    if (first->integer < 0 || last->integer >= GCI_SLOTS || master[2].integer <= 0 || master[2].integer > UINT16_MAX)
        return false;
    gci_view host = gci_resp_bytes(reader, &master[1]);
    if (host.size == 0)
        host = gci_view_text(redis->options.host); /* a node that doesn't know its own address */
    unsigned node = gci_redis_node_number(&redis->nodes, host, (uint16_t)master[2].integer);
    if (node != 0)
        gci_redis_slots_learn(&redis->nodes, (unsigned)first->integer, (unsigned)last->integer, node);
    return node != 0;
}

static bool
learn_slots(gci_redis *redis, gcache_tier_call *call)
{
    gci_batch batch;

    gci_batch_init(&batch);
    begin_at(&batch, 0, 2);
    gci_batch_add_text(&batch, "CLUSTER");
    gci_batch_add_text(&batch, "SLOTS");
    bool good = gci_redis_ask_well(redis, call, &batch, limits);
    if (good) {
        gci_resp_reader const *reader = batch.commands[0].reader;
        size_t at = batch.commands[0].value;
        uint64_t ranges = reader->values[at].size;
        good = reader->values[at++].type == GCI_RESP_ARRAY;
        for (; good && ranges > 0; ranges--, at = gci_resp_next(reader, at))
            good = learn_range(redis, reader, at);
        if (!good)
            gci_redis_tell_strange(redis, call);
    }
    gci_batch_clear(&batch);
    return good;
}

/* Whether it is a cluster is said by its first connection. */
static bool
find_nodes(gci_redis *redis, gcache_tier_call *call)
{
    gci_batch batch;
    bool good = true;

    if (!atomic_load(&redis->single) && !atomic_load(&redis->cluster)) {
        gci_batch_init(&batch);
        begin_at(&batch, 0, 1);
        gci_batch_add_text(&batch, "PING");
        good = gci_redis_ask(redis, call, &batch, limits);
        gci_batch_clear(&batch);
    }
    return good && (!atomic_load(&redis->cluster) || learn_slots(redis, call));
}

static bool
has_slots(gci_redis *redis, unsigned node)
{
    for (unsigned slot = 0; slot < GCI_SLOTS; slot++) {
        if (gci_redis_slot_node(&redis->nodes, slot) == node)
            return true;
    }
    return false;
}

/* The next node behind one (0: the first) that has slots of a cluster; 0: none. */
static unsigned
next_node(gci_redis *redis, unsigned node)
{
    while (gci_redis_node_of(&redis->nodes, ++node) != NULL) {
        if (has_slots(redis, node))
            return node;
    }
    return 0;
}

/* ---- walk ---- */

/* Where a walk is: "3 1792", a node and SCAN's own cursor there. */
typedef struct position {
    unsigned node;
    char scan[SCAN_CURSOR_MAX + 1];
} position;

static bool
is_scan_cursor(gci_view text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    }
    return text.size >= 1 && text.size <= SCAN_CURSOR_MAX;
}

static void
set_scan(position *at, gci_view scan)
{
    snprintf(at->scan, sizeof at->scan, "%.*s", (int)scan.size, scan.data);
}

static bool
read_position(char const *cursor, position *out)
{
    char const *space = strchr(cursor, ' ');
    int64_t node;

    if (space == NULL || !gci_resp_integer(gci_view_of(cursor, (size_t)(space - cursor)), &node) || node < 0 ||
        node > GCI_NODES_MAX || !is_scan_cursor(gci_view_text(space + 1)))
        return false;
    out->node = (unsigned)node;
    set_scan(out, gci_view_text(space + 1));
    return true;
}

static bool
begin_walk(gci_redis *redis, gcache_tier_call *call, position *out)
{
    if (!find_nodes(redis, call))
        return false;
    out->node = atomic_load(&redis->cluster) ? next_node(redis, 0) : 0;
    set_scan(out, gci_view_text("0"));
    return true;
}

static void
compose_scan(gci_batch *batch, char const *prefix, position const *at)
{
    char pattern[GCI_REDIS_PATTERN_SIZE];

    gci_redis_pattern(prefix, pattern);
    gci_batch_init(batch);
    begin_at(batch, at->node, 6);
    gci_batch_add_text(batch, "SCAN");
    gci_batch_add_text(batch, at->scan);
    gci_batch_add_text(batch, "MATCH");
    gci_batch_add_text(batch, pattern);
    gci_batch_add_text(batch, "COUNT");
    gci_batch_add_number(batch, SCAN_COUNT);
}

/* [cursor, [name, ...]] */
static bool
is_scan_reply(gci_batch const *batch, gci_resp_value const *reply)
{
    if (reply->type != GCI_RESP_ARRAY || reply->size != 2 || !is_scan_cursor(gci_batch_bytes(batch, 0, reply + 1)) ||
        reply[2].type != GCI_RESP_ARRAY)
        return false;
    for (uint64_t i = 0; i < reply[2].size; i++) {
        if (reply[3 + i].type == GCI_RESP_ARRAY)
            return false;
    }
    return true;
}

/* Hands out the keys of a step and goes on to the next one, unless the caller wants no more. MISS: that was the end. */
static gcache_tier_answer
take_step(gci_redis *redis, gci_batch const *batch, position *at, gcache_tier_key_fn each, void *state)
{
    gci_resp_value const *reply = gci_batch_reply(batch, 0);
    gcache_key key;

    for (uint64_t i = 0; i < reply[2].size; i++) {
        if (gci_redis_key_read(redis->options.prefix, gci_batch_bytes(batch, 0, &reply[3 + i]), &key) && each(state, &key) != 0)
            return GCACHE_TIER_HIT;
    }
    set_scan(at, gci_batch_bytes(batch, 0, reply + 1));
    if (strcmp(at->scan, "0") != 0)
        return GCACHE_TIER_HIT;
    at->node = at->node != 0 ? next_node(redis, at->node) : 0;
    return at->node != 0 ? GCACHE_TIER_HIT : GCACHE_TIER_MISS;
}

gcache_tier_answer
gci_redis_walk(void *tier, gcache_tier_call *call, char cursor[GCACHE_TIER_CURSOR_SIZE], gcache_tier_key_fn each, void *state)
{
    gci_redis *redis = tier;
    gcache_tier_answer answer = GCACHE_TIER_TROUBLE;
    position at;
    gci_batch batch;

    if (cursor[0] == '\0' ? !begin_walk(redis, call, &at) : !read_position(cursor, &at)) {
        if (cursor[0] != '\0')
            gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, redis->options.shown, "the cursor isn't one of its walks'");
        return GCACHE_TIER_TROUBLE;
    }
    compose_scan(&batch, redis->options.prefix, &at);
    if (gci_redis_ask_well(redis, call, &batch, limits)) {
        if (is_scan_reply(&batch, gci_batch_reply(&batch, 0)))
            answer = take_step(redis, &batch, &at, each, state);
        else
            gci_redis_tell_strange(redis, call);
    }
    if (answer != GCACHE_TIER_TROUBLE)
        snprintf(cursor, GCACHE_TIER_CURSOR_SIZE, "%u %s", at.node, at.scan);
    gci_batch_clear(&batch);
    return answer;
}

/* ---- statistics ---- */

/* What INFO calls it, and what we do. */
static struct number {
    char const *theirs, *ours;
} const numbers[] = {
    { "used_memory", "used_memory_bytes" },
    { "maxmemory", "maxmemory_bytes" },
    { "evicted_keys", "evicted_keys" },
    { "expired_keys", "expired_keys" },
    { "keyspace_hits", "keyspace_hits" },
    { "keyspace_misses", "keyspace_misses" },
    { "connected_clients", "connected_clients" },
};
#define NUMBERS (sizeof numbers / sizeof *numbers)

typedef struct sums {
    uint64_t values[NUMBERS], keys;
    bool known[NUMBERS], keys_known;
} sums;

/* PING first; each of INFO's sections may be forbidden for itself, and Redis before 7 takes one at a time. */
static char const *const sections[] = { NULL, "memory", "stats", "clients", "keyspace" };
#define SECTIONS (sizeof sections / sizeof *sections)

static void
add_questions(gci_batch *batch, unsigned node)
{
    for (size_t i = 0; i < SECTIONS; i++) {
        begin_at(batch, node, sections[i] != NULL ? 2 : 1);
        gci_batch_add_text(batch, sections[i] != NULL ? "INFO" : "PING");
        if (sections[i] != NULL)
            gci_batch_add_text(batch, sections[i]);
    }
}

/* "db0:keys=12,expires=3,avg_ttl=0" */
static void
take_keys(gci_redis const *redis, gci_view line, sums *all)
{
    char beginning[32];
    int64_t keys;

    snprintf(beginning, sizeof beginning, "db%u:keys=", redis->options.database);
    if (!gci_view_begins(line, beginning))
        return;
    line = gci_view_of(line.data + strlen(beginning), line.size - strlen(beginning));
    char const *comma = memchr(line.data, ',', line.size);
    if (comma == NULL || !gci_resp_integer(gci_view_of(line.data, (size_t)(comma - line.data)), &keys) || keys < 0)
        return;
    all->keys += (uint64_t)keys;
}

/* "used_memory:1048576" */
static void
take_number(gci_view line, sums *all)
{
    char const *colon = line.size != 0 ? memchr(line.data, ':', line.size) : NULL;
    int64_t value;

    if (colon == NULL)
        return;
    gci_view name = gci_view_of(line.data, (size_t)(colon - line.data));
    if (!gci_resp_integer(gci_view_of(colon + 1, line.size - name.size - 1), &value) || value < 0)
        return;
    for (size_t i = 0; i < NUMBERS; i++) {
        if (!gci_view_is(name, numbers[i].theirs))
            continue;
        all->values[i] += (uint64_t)value;
        all->known[i] = true;
    }
}

static void
take_info(gci_redis const *redis, gci_view text, sums *all)
{
    gci_view line;

    all->keys_known |= gci_view_begins(text, "# Keyspace");
    while (gci_view_next_line(&text, &line)) {
        if (line.size != 0 && line.data[line.size - 1] == '\r')
            line.size--;
        take_keys(redis, line, all);
        take_number(line, all);
    }
}

/* What a user isn't permitted to ask is left out; that it is refused shows that the server answers. */
static bool
take_answers(gci_redis *redis, gcache_tier_call *call, gci_batch const *batch, sums *all)
{
    for (size_t i = 0; i < batch->count; i++) {
        gci_resp_value const *reply = gci_batch_reply(batch, i);
        gci_view bytes = gci_batch_bytes(batch, i, reply);
        if (reply->type == GCI_RESP_BULK)
            take_info(redis, bytes, all);
        else if (reply->type == GCI_RESP_ERROR && !gci_view_begins(bytes, "NOPERM") &&
                 !gci_view_begins(bytes, "ERR unknown command"))
            return gci_redis_trouble_reply(call, redis->options.shown, bytes, redis->options.password);
    }
    return true;
}

static void
hand_out(sums const *all, gcache_tier_number_fn each, void *state)
{
    for (size_t i = 0; i < NUMBERS; i++) {
        if (all->known[i])
            each(state, numbers[i].ours, all->values[i]);
    }
    if (all->keys_known)
        each(state, "keys", all->keys);
}

gcache_tier_answer
gci_redis_statistics(void *tier, gcache_tier_call *call, gcache_tier_number_fn each, void *state)
{
    gci_redis *redis = tier;
    sums all = { 0 };
    gci_batch batch;

    if (atomic_load(&redis->cluster) && !find_nodes(redis, call))
        return GCACHE_TIER_TROUBLE;
    gci_batch_init(&batch);
    unsigned node = atomic_load(&redis->cluster) ? next_node(redis, 0) : 0;
    do
        add_questions(&batch, node);
    while (node != 0 && (node = next_node(redis, node)) != 0);
    bool good = gci_redis_ask(redis, call, &batch, limits) && take_answers(redis, call, &batch, &all);
    gci_batch_clear(&batch);
    if (good)
        hand_out(&all, each, state);
    return good ? GCACHE_TIER_HIT : GCACHE_TIER_TROUBLE;
}
