/* Asking. See ask.h. */
#include "tier/redis/ask.h"

#include "base/system/clock.h"
#include "tier/redis/wire/trouble.h"

#include <stdlib.h>

static char asking_command[] = "*1\r\n$6\r\nASKING\r\n";

/* One call's way through the servers. */
typedef struct journey {
    gci_redis *redis;
    gcache_tier_call *call;
    gci_batch *batch;
    gci_resp_limits limits;
    unsigned hops;
    bool replaced; /* a dead connection was, so the next dead one is trouble */
} journey;

static bool
tell_memory(journey *j)
{
    return gci_redis_trouble(j->call, GCACHE_REASON_REMOTE_UNAVAILABLE, j->redis->options.shown, "out of memory");
}

bool
gci_redis_tell_strange(gci_redis *redis, gcache_tier_call *call)
{
    return gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, redis->options.shown,
                             "its reply isn't what a Redis server answers");
}

/* ---- connections ---- */

static void
forget_parent(void *state)
{
    gci_redis *redis = state;

    atomic_store(&redis->tls, NULL);
}

/* NULL with *out_good: without TLS. */
static gci_tls *
tls_of(gci_redis *redis, gcache_tier_call *call, bool *out_good)
{
    gci_redis_options const *options = &redis->options;
    gci_tls *tls = atomic_load(&redis->tls), *mine;

    *out_good = tls != NULL || !options->tls;
    if (*out_good)
        return tls;
    mine = gci_tls_new(call, options->shown, options->ca_file, options->insecure);
    *out_good = mine != NULL;
    if (mine == NULL || atomic_compare_exchange_strong(&redis->tls, &tls, mine))
        return mine;
    gci_tls_free(mine); /* another thread was faster */
    return tls;
}

static void
note_cluster(gci_redis *redis, bool cluster)
{
    if (cluster)
        atomic_store(&redis->cluster, true);
    atomic_store(&redis->single, !atomic_load(&redis->cluster));
}

static gci_redis_connection *
connect_to_node(gci_redis *redis, gcache_tier_call *call, unsigned number)
{
    gci_redis_node const *node = gci_redis_node_of(&redis->nodes, number);
    gci_redis_place place = { .node = number };
    bool good;

    if (node != NULL) {
        place.host = node->host;
        place.port = node->port;
    }
    gci_tls *tls = tls_of(redis, call, &good);
    gci_redis_connection *connection = good ? gci_redis_connect(&redis->options, tls, place, call) : NULL;
    if (connection != NULL) {
        gci_idle_add(&redis->idle, connection);
        note_cluster(redis, connection->cluster);
    }
    return connection;
}

void
gci_redis_close_connections(gci_redis *redis)
{
    gci_idle_enter(&redis->idle, forget_parent, redis);
    gci_idle_clear(&redis->idle);
    gci_redis_nodes_clear(&redis->nodes);
    gci_tls_free(atomic_exchange(&redis->tls, NULL));
}

/* ---- one exchange ---- */

static unsigned
node_for(journey const *j, gci_command const *command)
{
    return command->directed ? command->node : gci_redis_slot_node(&j->redis->nodes, command->slot);
}

/* The pieces of all commands that go to a node now, and how many replies they have. NULL: no memory. */
static struct iovec *
gather(journey const *j, unsigned node, size_t *out_count, size_t *out_replies)
{
    size_t count = 0, replies = 0;
    struct iovec *pieces = calloc(j->batch->piece_count + j->batch->count, sizeof *pieces);

    for (size_t i = 0; pieces != NULL && i < j->batch->count; i++) {
        gci_command *command = &j->batch->commands[i];
        /* Remembered, since what is known of slots may change any moment. */
        command->sent = !command->answered && node_for(j, command) == node;
        if (!command->sent)
            continue;
        if (command->asking)
            pieces[count++] = (struct iovec){ asking_command, sizeof asking_command - 1 };
        gci_batch_fill(j->batch, command, pieces + count);
        count += command->pieces;
        replies += 1 + command->asking;
    }
    *out_count = count;
    *out_replies = replies;
    return pieces;
}

static gci_resp_reader *
add_reader(journey *j, size_t replies)
{
    gci_replies *fresh = calloc(1, sizeof *fresh);

    if (fresh == NULL)
        return NULL;
    fresh->next = j->batch->replies;
    j->batch->replies = fresh;
    return gci_resp_reader_init(&fresh->reader, replies, j->limits) ? &fresh->reader : NULL;
}

/* ---- redirections ---- */

/* false: nowhere to go. */
static bool
follow(journey *j, gci_command *command, gci_redis_redirection const *redirection, unsigned from)
{
    gci_redis_nodes *nodes = &j->redis->nodes;
    gci_redis_node const *teller = gci_redis_node_of(nodes, from);
    gci_view host = redirection->host;

    if (host.size == 0 || gci_view_is(host, "?"))
        host = gci_view_text(teller != NULL ? teller->host : j->redis->options.host);
    unsigned node = gci_redis_node_number(nodes, host, redirection->port);
    if (node == 0)
        return false;
    note_cluster(j->redis, true);
    command->directed = true;
    command->node = node;
    command->asking = redirection->ask;
    if (!redirection->ask)
        gci_redis_slots_learn(nodes, redirection->slot, redirection->slot, node);
    return true;
}

static bool
count_hop(journey *j)
{
    if (++j->hops <= GCI_HOPS_MAX)
        return true;
    return gci_redis_trouble(j->call, GCACHE_REASON_REMOTE_UNAVAILABLE, j->redis->options.shown,
                             "its cluster redirected more than %d times", GCI_HOPS_MAX);
}

/* Gives the commands that went along their replies, as far as they arrived. */
static bool
settle(journey *j, unsigned node, gci_resp_reader const *reader)
{
    gci_redis_redirection redirection;
    bool redirected = false;
    size_t reply = 0;

    for (size_t i = 0; i < j->batch->count && reply < reader->replies; i++) {
        gci_command *command = &j->batch->commands[i];
        if (!command->sent || (reply += command->asking) >= reader->replies)
            continue;
        size_t at = reader->starts[reply++];
        gci_resp_value const *value = &reader->values[at];
        if (value->type == GCI_RESP_ERROR && gci_redis_redirection_read(gci_resp_bytes(reader, value), &redirection)) {
            if (!follow(j, command, &redirection, node))
                return gci_redis_tell_strange(j->redis, j->call);
            redirected = true;
        } else {
            command->answered = true;
            command->reader = reader;
            command->value = at;
        }
    }
    return !redirected || count_hop(j);
}

/* A cluster's node can't be reached: it may have been replaced, which the server of the options knows. */
static bool
go_home(journey *j, unsigned node)
{
    if (node == 0 || j->call->reason == GCACHE_REASON_REMOTE_TIMEOUT)
        return false;
    gci_redis_slots_forget(&j->redis->nodes, node);
    for (size_t i = 0; i < j->batch->count; i++) {
        gci_command *command = &j->batch->commands[i];
        if (command->answered || !command->directed || command->node != node)
            continue;
        if (command->slot == GCI_SLOT_NONE)
            return false; /* it was about this very node */
        command->directed = command->asking = false;
    }
    return count_hop(j);
}

static bool
exchange_with(journey *j, gci_redis_connection *connection, unsigned node)
{
    size_t count, replies;
    bool reused = connection->reused;
    struct iovec *pieces = gather(j, node, &count, &replies);
    gci_resp_reader *reader = pieces != NULL ? add_reader(j, replies) : NULL;

    if (reader == NULL) {
        free(pieces);
        gci_idle_give(&j->redis->idle, connection);
        return tell_memory(j);
    }
    gci_exchange result = gci_redis_exchange(connection, j->call, j->call->deadline_ns, pieces, count, reader);
    gci_idle_give(&j->redis->idle, connection);
    free(pieces);
    if (result == GCI_EXCHANGE_TROUBLE || !settle(j, node, reader))
        return false;
    if (result == GCI_EXCHANGE_DONE)
        return true;
    if (!reused || j->replaced)
        return false;
    j->replaced = true;
    return true;
}

/* Once to one node. */
static bool
step(journey *j, unsigned node)
{
    gci_redis_connection *connection = j->replaced ? NULL : gci_idle_take(&j->redis->idle, node);

    if (connection == NULL)
        connection = connect_to_node(j->redis, j->call, node);
    return connection != NULL ? exchange_with(j, connection, node) : go_home(j, node);
}

static gci_command const *
next_command(gci_batch const *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (!batch->commands[i].answered)
            return &batch->commands[i];
    }
    return NULL;
}

bool
gci_redis_ask(gci_redis *redis, gcache_tier_call *call, gci_batch *batch, gci_resp_limits limits)
{
    journey j = { .redis = redis, .call = call, .batch = batch, .limits = limits };
    gci_command const *command;

    gci_idle_enter(&redis->idle, forget_parent, redis);
    if (batch->failed)
        return tell_memory(&j);
    while ((command = next_command(batch)) != NULL) {
        if (call->deadline_ns != 0 && gci_clock_steady_ns() >= call->deadline_ns)
            return gci_redis_trouble(call, GCACHE_REASON_REMOTE_TIMEOUT, redis->options.shown, "it doesn't answer in time");
        if (!step(&j, node_for(&j, command)))
            return false;
    }
    /* Of what went wrong on the way. */
    call->reason = GCACHE_REASON_NONE;
    call->message[0] = '\0';
    return true;
}

bool
gci_redis_ask_well(gci_redis *redis, gcache_tier_call *call, gci_batch *batch, gci_resp_limits limits)
{
    if (!gci_redis_ask(redis, call, batch, limits))
        return false;
    for (size_t i = 0; i < batch->count; i++) {
        gci_resp_value const *reply = gci_batch_reply(batch, i);
        gci_view text = gci_batch_bytes(batch, i, reply);
        /* Damage of one object isn't trouble of the server, which would be left alone for it. */
        if (reply->type == GCI_RESP_ERROR && !gci_view_begins(text, "WRONGTYPE "))
            return gci_redis_trouble_reply(call, redis->options.shown, text, redis->options.password);
    }
    return true;
}
