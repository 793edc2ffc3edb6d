#include "base/check.h"
#include "cache/events.h"
#include "cache/tape.h"
#include "cache/watch.h"

#include <stdlib.h>
#include <unistd.h>

/* One in use and those before it that entries are still signed with. */
#define SIGNING_KEYS_MAX 8
#define SIGNING_ID_MAX 63

static gcache_status
check_options(gcache_options const *options, gcache_error *error)
{
    GCI_REQUIRE(options->version == GCACHE_OPTIONS_VERSION, error, "options have version %d, this library knows %d",
                options->version, GCACHE_OPTIONS_VERSION);
    GCI_REQUIRE(options->durability <= GCACHE_DURABILITY_NONE, error, "unknown durability %d", (int)options->durability);
    GCI_REQUIRE(options->compression_level >= -1 && options->compression_level <= 22, error,
                "compression level %d is not between -1 and 22", options->compression_level);
    GCI_REQUIRE(options->signing_count <= SIGNING_KEYS_MAX, error, "%zu signing keys, at most %d are taken",
                options->signing_count, SIGNING_KEYS_MAX);
    GCI_REQUIRE(options->signing_count > 0 || !options->require_signature, error,
                "signatures are required, but no key is given");
    for (size_t i = 0; i < options->signing_count; i++) {
        gcache_signing_key const *key = &options->signing[i];
        GCI_REQUIRE(key->id != NULL && key->id[0] != '\0' && strlen(key->id) <= SIGNING_ID_MAX, error,
                    "a signing key's id has 1 to %d bytes", SIGNING_ID_MAX);
        GCI_REQUIRE(key->secret != NULL && key->secret_size > 0, error, "signing key %s has no secret", key->id);
    }
    return GCACHE_OK;
}

/* signing has room for SIGNING_KEYS_MAX. */
static gci_store_options
store_options(gcache *cache, gcache_options const *options, gci_signing_key *signing)
{
    for (size_t i = 0; i < options->signing_count; i++) {
        gcache_signing_key const *key = &options->signing[i];
        signing[i] = (gci_signing_key){ key->id, gci_view_of(key->secret, key->secret_size) };
    }
    return (gci_store_options){
        .read_only = options->read_only,
        .durability = options->durability,
        .max_bytes = options->max_bytes,
        .memory_bytes = options->memory_bytes,
        .compression_level = options->compression_level,
        .max_candidates = options->max_candidates,
        .max_age_ns = options->max_age_ns,
        .space = options->space,
        .signing = signing,
        .signing_count = options->signing_count,
        .require_signature = options->require_signature,
        .log = options->log,
        .log_state = options->log_state,
        .news = gci_hear,
        .news_state = cache,
    };
}

gcache_status
gcache_open(char const *directory, gcache_options const *options, gcache **out_cache, gcache_error *error)
{
    gcache_options const defaults = GCACHE_OPTIONS_INIT;
    gcache_status status;

    GCI_REQUIRE(directory != NULL && directory[0] != '\0', error, "a cache needs a directory");
    GCI_REQUIRE(out_cache != NULL, error, "out_cache is NULL");
    if (options == NULL)
        options = &defaults;
    status = check_options(options, error);
    if (status != GCACHE_OK)
        return status;

    gci_view salt = gci_view_text(options->space), bypass = gci_view_text(options->bypass);
    gcache *cache = calloc(1, sizeof *cache + salt.size + 1 + bypass.size + 1);
    if (cache == NULL)
        return gci_fail_memory(error);
    char *texts = (char *)(cache + 1);
    cache->salt = gci_view_of(texts, salt.size);
    if (salt.size != 0)
        memcpy(texts, salt.data, salt.size);
    if (options->bypass != NULL)
        cache->bypass = memcpy(texts + salt.size + 1, bypass.data, bypass.size);
    cache->disabled = options->disabled;
    cache->strict = options->strict;
    cache->journal = !options->no_journal && !options->disabled && !options->read_only;
    cache->unsafe_skip_guards = options->unsafe_skip_guards;
    cache->event = options->event;
    cache->event_state = options->event_state;
    cache->counters.process = getpid();
    cache->options = *options;

    status = gci_bundle_init(&cache->bundle, error);
    if (status == GCACHE_OK && !gci_recorder_init(&cache->recorder))
        status = gci_fail_memory(error);
    if (status == GCACHE_OK && !cache->disabled) {
        gci_signing_key signing[SIGNING_KEYS_MAX];
        gci_store_options inside = store_options(cache, options, signing);
        status = gci_store_open(directory, &inside, &cache->store, error);
    }
    if (status == GCACHE_OK && options->record != NULL)
        status = gci_tape_open(options->record, options->log, options->log_state, &cache->tape, error);
    if (status != GCACHE_OK) {
        gcache_close(cache);
        return status;
    }
    *out_cache = cache;
    return GCACHE_OK;
}

void
gcache_close(gcache *cache)
{
    if (cache == NULL)
        return;
    gci_watch_close(cache);
    gci_store_close(cache->store);
    gci_tape_close(cache->tape);
    gci_shared_values_clear(&cache->values);
    gci_bundle_clear(&cache->bundle);
    gci_recorder_clear(&cache->recorder);
    free(cache);
}
