/*
 * Opening and closing a cache: options are checked, then the parts are made, each after those it needs.
 */
#include "base/check.h"
#include "base/signing/ed25519.h"
#include "cache/handle/sketching.h"
#include "cache/journal/events.h"
#include "cache/journal/lookup_report.h"
#include "cache/journal/trace_writer.h"
#include "cache/tiers/tiers.h"
#include "cache/tuning/bundle.h"

#include <guardcache/settings.h>

#include <stdlib.h>
#include <unistd.h>

/* One in use and those before it that entries are still signed with. */
#define SIGNING_KEYS_MAX 8
#define SIGNING_ID_MAX 63

static gcache_status
check_key(gcache_signing_key const *key, gcache_error *error)
{
    GCI_REQUIRE(key->id != NULL && key->id[0] != '\0' && strlen(key->id) <= SIGNING_ID_MAX, error,
                "a signing key's id has 1 to %d bytes", SIGNING_ID_MAX);
    GCI_REQUIRE((unsigned)key->algorithm < GCACHE_SIGNING_COUNT, error, "signing key %s is of an unknown algorithm", key->id);
    bool has_secret = key->secret != NULL && key->secret_size > 0;
    if (key->algorithm == GCACHE_SIGNING_HMAC) {
        GCI_REQUIRE(has_secret, error, "signing key %s has no secret", key->id);
        return GCACHE_OK;
    }
    GCI_REQUIRE(has_secret || key->public_key != NULL, error, "signing key %s has neither a seed nor a public key", key->id);
    GCI_REQUIRE(!has_secret || key->secret_size == GCI_ED25519_SEED, error, "signing key %s: the seed of Ed25519 has %d bytes",
                key->id, GCI_ED25519_SEED);
    return GCACHE_OK;
}

static gcache_status
check_keys(gcache_options const *options, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    for (size_t i = 0; status == GCACHE_OK && i < options->signing_count; i++)
        status = check_key(&options->signing[i], error);
    return status;
}

static gcache_status
check_options(gcache_options const *options, gcache_error *error)
{
    GCI_REQUIRE_INIT(options, error);
    GCI_REQUIRE(options->durability <= GCACHE_DURABILITY_NONE, error, "unknown durability %d", (int)options->durability);
    GCI_REQUIRE(options->compression_level >= -1 && options->compression_level <= 22, error,
                "compression level %d is not between -1 and 22", options->compression_level);
    GCI_REQUIRE(options->signing_count <= SIGNING_KEYS_MAX, error, "%zu signing keys, at most %d are taken",
                options->signing_count, SIGNING_KEYS_MAX);
    GCI_REQUIRE(options->signing_count > 0 || !options->require_signature, error,
                "signatures are required, but no key is given");
    GCI_REQUIRE(options->user_tiers != NULL || options->user_tier_count == 0, error, "the tiers are NULL");
    for (size_t i = 0; i < options->user_tier_count; i++) {
        gcache_tier_user const *tier = &options->user_tiers[i];
        GCI_REQUIRE(tier->name != NULL && tier->functions != NULL, error, "tier %zu has no name or no functions", i);
        GCI_REQUIRE(tier->functions->version == GCACHE_TIER_VERSION && tier->functions->size == sizeof *tier->functions, error,
                    "tier %s is of version %u, this library knows %d", tier->name, tier->functions->version, GCACHE_TIER_VERSION);
    }
    GCI_REQUIRE(options->trust < GCACHE_TRUST_COUNT, error, "unknown trust %d", (int)options->trust);
    if (options->trust == GCACHE_TRUST_ANY && !options->require_signature)
        return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "trust is any, so signatures must be required: without them anybody "
                        "who may write to the directory decides what is executed");
    return check_keys(options, error);
}

/* What config.json says for all namespaces. One that is damaged says nothing: a cache isn't shrunk for that. */
static uint64_t
own_cap(char const *directory)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_settings *settings;

    if (gcache_settings_load(directory, NULL, NULL, NULL, &settings, NULL) != GCACHE_OK)
        return UINT64_MAX;
    bool said = gcache_settings_get(settings, GCACHE_SETTING_MAX_SIZE)->origin == GCACHE_ORIGIN_FILE;
    /* Of its keys nobody asks here. */
    gcache_status status = gcache_settings_set(settings, "signing-keys", "", NULL);
    if (status == GCACHE_OK)
        status = gcache_settings_apply(settings, &options, NULL);
    gcache_settings_free(settings);
    said = said && status == GCACHE_OK;
    return said ? options.max_size : UINT64_MAX;
}

/* The same key, perhaps once without its private part, may be named twice; two keys of one name may not. */
static gcache_status
check_names(gci_signing_key const *keys, size_t count, gcache_error *error)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            bool same = keys[i].algorithm == keys[j].algorithm &&
                        memcmp(keys[i].public_key, keys[j].public_key, sizeof keys[i].public_key) == 0 &&
                        (keys[i].algorithm == GCACHE_SIGNING_ED25519 || gci_view_equal(keys[i].secret, keys[j].secret));
            GCI_REQUIRE(same || strcmp(keys[i].id, keys[j].id) != 0, error, "two signing keys have the id %s", keys[i].id);
        }
    }
    return GCACHE_OK;
}

/* Public keys that aren't given follow from the seeds. out has room for SIGNING_KEYS_MAX. */
static gcache_status
take_keys(gcache_options const *options, gci_signing_key *out, gcache_error *error)
{
    for (size_t i = 0; i < options->signing_count; i++) {
        gcache_signing_key const *key = &options->signing[i];
        uint8_t derived[GCI_ED25519_PUBLIC];
        out[i] = (gci_signing_key){ .id = key->id, .algorithm = key->algorithm,
                                    .secret = gci_view_of(key->secret, key->secret != NULL ? key->secret_size : 0) };
        if (key->algorithm != GCACHE_SIGNING_ED25519)
            continue;
        if (out[i].secret.size != 0 && !gci_ed25519_public(key->secret, derived))
            return gci_fail_memory(error);
        memcpy(out[i].public_key, key->public_key != NULL ? key->public_key : derived, sizeof derived);
        GCI_REQUIRE(out[i].secret.size == 0 || memcmp(out[i].public_key, derived, sizeof derived) == 0, error,
                    "signing key %s: the public key isn't that of the seed", key->id);
    }
    return check_names(out, options->signing_count, error);
}

/* signing: options' keys, taken. */
static gci_store_options
store_options(gcache *cache, gcache_options const *options, gci_signing_key const *signing)
{
    return (gci_store_options){
        .read_only = options->read_only,
        .durability = options->durability,
        .renew = options->refresh,
        .max_size = options->max_size,
        .own_cap = own_cap,
        .memory_bytes = options->memory_bytes,
        .compression_level = options->compression_level,
        .max_candidates = options->max_candidates,
        .max_age_ns = options->max_age_ns,
        .namespace_ = options->namespace_,
        .signing = signing,
        .signing_count = options->signing_count,
        .require_signature = options->require_signature,
        .trust = options->trust,
        .sketching = &gci_sketching_of_features,
        .log = options->log,
        .log_state = options->log_state,
        .event = gci_report_store_event,
        .event_state = cache,
    };
}

static gcache_status
open_store(gcache *cache, char const *directory, gcache_options const *options, gcache_error *error)
{
    gci_signing_key signing[SIGNING_KEYS_MAX];

    gcache_status status = take_keys(options, signing, error);
    if (status != GCACHE_OK)
        return status;
    gci_store_options inside = store_options(cache, options, signing);
    return gci_store_open(directory, &inside, &cache->store, error);
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

    gci_view namespace_ = gci_view_text(options->namespace_), bypass = gci_view_text(options->bypass);
    gcache *cache = calloc(1, sizeof *cache + namespace_.size + 1 + bypass.size + 1);
    if (cache == NULL)
        return gci_fail_memory(error);
    char *texts = (char *)(cache + 1);
    cache->namespace_ = gci_view_of(texts, namespace_.size);
    if (namespace_.size != 0)
        memcpy(texts, namespace_.data, namespace_.size);
    if (options->bypass != NULL)
        cache->gate.bypass = memcpy(texts + namespace_.size + 1, bypass.data, bypass.size);
    cache->gate.disabled = options->disabled;
    cache->gate.refresh = options->refresh;
    cache->gate.no_journal = options->no_journal;
    cache->strict = options->strict;
    cache->unsafe_skip_guards = options->unsafe_skip_guards;
    cache->event = options->event;
    cache->event_state = options->event_state;
    cache->counters.process = getpid();
    cache->options = *options;

    status = gci_bundle_new(&cache->bundle, error);
    if (status == GCACHE_OK && !gci_recorder_init(&cache->recorder))
        status = gci_fail_memory(error);
    if (status == GCACHE_OK && gci_is_open(&cache->gate, GCI_BROWSE)) {
        status = open_store(cache, directory, options, error);
    } else if (status == GCACHE_OK) {
        cache->directory = gci_store_absolute_path(directory);
    }
    if (status == GCACHE_OK) {
        cache->gate.read_only = options->read_only || (cache->store != NULL && gci_store_is_read_only(cache->store));
        cache->journal = gci_is_open(&cache->gate, GCI_JOURNAL);
    }
    if (status == GCACHE_OK)
        status = gci_tiers_open(cache, options, error);
    if (status == GCACHE_OK && options->record != NULL)
        status = gci_trace_writer_open(options->record, options->log, options->log_state, &cache->trace_writer, error);
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
    gci_tiers_close(cache);
    gci_lookups_close(cache);
    gci_store_close(cache->store);
    gci_trace_writer_close(cache->trace_writer);
    gci_shared_values_clear(&cache->values);
    gci_bundle_free(cache->bundle);
    gci_recorder_clear(&cache->recorder);
    free(cache->directory);
    free(cache);
}
