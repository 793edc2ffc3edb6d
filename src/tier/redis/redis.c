/* The face of the tier on a Redis server: opened, closed, and its functions. */
#include "tier/redis/redis.h"

#include "base/check.h"
#include "tier/redis/ask.h"
#include "tier/redis/redis_calls.h"
#include "tier/redis/redis_keys.h"

#include <openssl/crypto.h>
#include <stdlib.h>

static void
free_secret(char const *text)
{
    if (text != NULL)
        OPENSSL_cleanse((char *)text, strlen(text));
    free((char *)text);
}

static void
redis_free(gci_redis *redis)
{
    free((char *)redis->options.host);
    free((char *)redis->options.socket_path);
    free((char *)redis->options.ca_file);
    free((char *)redis->options.prefix);
    free((char *)redis->options.shown);
    free_secret(redis->options.user);
    free_secret(redis->options.password);
    free(redis);
}

static void
redis_close(void *tier)
{
    gci_redis *redis = tier;

    if (redis == NULL)
        return;
    gci_redis_close_connections(redis);
    redis_free(redis);
}

static gcache_tier_functions const functions = {
    .size = sizeof functions,
    .version = GCACHE_TIER_VERSION,
    .list = gci_redis_list,
    .fetch = gci_redis_fetch,
    .publish = gci_redis_publish,
    .touch = gci_redis_touch,
    .remove = gci_redis_remove,
    .share = gci_redis_share,
    .lease = gci_redis_lease,
    .keep = gci_redis_keep,
    .release = gci_redis_release,
    .walk = gci_redis_walk,
    .statistics = gci_redis_statistics,
    .close = redis_close,
};

static gcache_status
check_options(gci_redis_options const *options, gcache_error *error)
{
    char const *prefix = options->prefix, *path = options->socket_path;

    GCI_REQUIRE(options->shown != NULL, error, "a Redis server needs something to be called in messages");
    GCI_REQUIRE(options->host != NULL || path != NULL, error, "%s: a host or a path of a socket is needed", options->shown);
    GCI_REQUIRE(options->host == NULL || (options->host[0] != '\0' && options->port != 0), error,
                "%s: the host or its port is missing", options->shown);
    GCI_REQUIRE(options->host != NULL || strlen(path) <= GCI_SOCKET_PATH_MAX, error,
                "%s: the path of the socket is too long", options->shown);
    GCI_REQUIRE(options->user == NULL || options->password != NULL, error, "%s: a user needs a password", options->shown);
    GCI_REQUIRE(prefix != NULL && prefix[0] != '\0' && strlen(prefix) <= GCI_REDIS_PREFIX_MAX, error,
                "%s: the prefix has to have 1 to %d bytes", options->shown, GCI_REDIS_PREFIX_MAX);
    GCI_REQUIRE(strpbrk(prefix, "{}") == NULL, error, "%s: the prefix mustn't have braces: %s", options->shown, prefix);
    return GCACHE_OK;
}

static char const *
copy(char const *text, bool *failed)
{
    char *own = text != NULL ? strdup(text) : NULL;

    *failed |= text != NULL && own == NULL;
    return own;
}

static bool
copy_options(gci_redis *redis, gci_redis_options const *options)
{
    bool failed = false;

    redis->options = *options;
    redis->options.host = copy(options->host, &failed);
    redis->options.socket_path = copy(options->socket_path, &failed);
    redis->options.ca_file = copy(options->ca_file, &failed);
    redis->options.user = copy(options->user, &failed);
    redis->options.password = copy(options->password, &failed);
    redis->options.prefix = copy(options->prefix, &failed);
    redis->options.shown = copy(options->shown, &failed);
    return !failed;
}

gcache_status
gci_redis_open(gci_redis_options const *options, gcache_tier_functions const **out_functions, void **out_tier,
               gcache_error *error)
{
    GCI_REQUIRE(options != NULL && out_functions != NULL && out_tier != NULL, error, "NULL");
    gcache_status status = check_options(options, error);
    if (status != GCACHE_OK)
        return status;
    gci_redis *redis = calloc(1, sizeof *redis);
    if (redis == NULL)
        return gci_fail_memory(error);
    gci_idle_init(&redis->idle);
    if (!copy_options(redis, options)) {
        redis_free(redis);
        return gci_fail_memory(error);
    }
    *out_functions = &functions;
    *out_tier = redis;
    return GCACHE_OK;
}
