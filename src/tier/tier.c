/* Tiers ready to be asked: opened by URL, called within deadlines, counted. */
#include "tier/tier.h"

#include "base/check.h"
#include "base/system/clock.h"
#include "tier/directory/directory_tier.h"
#include "tier/redis/redis.h"
#include "tier/url.h"

#include <stdio.h>
#include <stdlib.h>

/* The pieces of one URL. */
#define URL_BYTES_MAX ((size_t)64 << 10)
#define REDIS_PORT 6379

/* ---- opening ---- */

/* Packets to this host itself don't leave it. */
static bool
is_loopback(char const *host)
{
    return strcmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0;
}

static gcache_status
open_redis(gci_tier_url const *url, gci_tier *tier, gcache_error *error)
{
    gci_redis_options options = {
        .host = url->host,
        .port = (uint16_t)(url->port != 0 ? url->port : REDIS_PORT),
        .socket_path = url->scheme == GCI_SCHEME_REDIS_UNIX ? url->path : NULL,
        .tls = url->scheme == GCI_SCHEME_REDISS,
        .ca_file = url->ca_file,
        .insecure = url->insecure,
        .user = url->user,
        .password = url->password,
        .database = url->database,
        .prefix = url->prefix,
        .shown = url->shown,
    };
    tier->in_clear = url->scheme == GCI_SCHEME_REDIS && !is_loopback(url->host);
    return gci_redis_open(&options, &tier->functions, &tier->object, error);
}

static gcache_status
open_directory(gci_tier_url const *url, gcache_trust trust, gci_tier *tier, gcache_error *error)
{
    gci_directory_tier_options options = { .path = url->path, .prefix = url->prefix, .read_only = url->read_only,
                                           .trust = trust };

    return gci_directory_tier_open(&options, &tier->functions, &tier->object, error);
}

static gcache_status
open_url(gci_tier_url const *url, gcache_trust trust, gci_tier *tier, gcache_error *error)
{
    tier->owned = true;
    tier->read_only = url->read_only;
    tier->ttl_ns = url->ttl_ns;
    tier->timeout_ns = url->timeout_ns;
    tier->connect_timeout_ns = url->connect_timeout_ns;
    tier->lease_ns = url->lease_ns;
    tier->max_bytes = url->max_bytes;
    tier->shown = strdup(url->shown);
    if (tier->shown == NULL)
        return gci_fail_memory(error);
    return url->scheme == GCI_SCHEME_FILE ? open_directory(url, trust, tier, error) : open_redis(url, tier, error);
}

static gci_tier *
new_tier(gcache_error *error)
{
    gci_tier *tier = calloc(1, sizeof *tier);

    if (tier == NULL)
        gci_fail_memory(error);
    return tier;
}

gcache_status
gci_tier_open(gci_view url, gcache_trust trust, gci_tier **out_tier, gcache_error *error)
{
    gci_tier_url parts;
    gci_arena arena;

    *out_tier = NULL;
    gci_arena_init(&arena, URL_BYTES_MAX);
    gcache_status status = gci_tier_url_read(url, &arena, &parts, error);
    gci_tier *tier = status == GCACHE_OK ? new_tier(error) : NULL;
    if (status == GCACHE_OK)
        status = tier != NULL ? open_url(&parts, trust, tier, error) : GCACHE_ERROR_MEMORY;
    gci_arena_clear(&arena);
    if (status == GCACHE_OK) {
        tier->has_credentials = !gci_view_is(url, tier->shown);
        *out_tier = tier;
    } else {
        gci_tier_free(tier);
    }
    return status;
}

gcache_status
gci_tier_adopt(gcache_tier_user const *user, gci_tier **out_tier, gcache_error *error)
{
    gci_tier *tier = new_tier(error);

    *out_tier = NULL;
    if (tier == NULL)
        return GCACHE_ERROR_MEMORY;
    tier->functions = user->functions;
    tier->object = user->tier;
    tier->read_only = user->read_only;
    tier->ttl_ns = user->ttl_ns;
    tier->timeout_ns = user->timeout_ns != 0 ? user->timeout_ns : GCACHE_TIER_TIMEOUT_DEFAULT_NS;
    tier->connect_timeout_ns = GCI_TIER_CONNECT_TIMEOUT_NS;
    tier->lease_ns = GCI_TIER_LEASE_NS;
    tier->shown = strdup(user->name);
    if (tier->shown == NULL) {
        gci_tier_free(tier);
        return gci_fail_memory(error);
    }
    *out_tier = tier;
    return GCACHE_OK;
}

void
gci_tier_free(gci_tier *tier)
{
    if (tier == NULL)
        return;
    if (tier->owned && tier->object != NULL)
        tier->functions->close(tier->object);
    free(tier->shown);
    free(tier);
}

/* ---- asking ---- */

bool
gci_asking_begin(gci_asking *asking, gci_tier *tier, gci_asking_for purpose, uint64_t bytes)
{
    uint64_t left_ns, writing_ns = (uint64_t)((double)bytes / GCI_WRITE_RATE * 1e9);

    /* Not all of it is set: the message has 256 bytes. */
    asking->tier = tier;
    asking->purpose = purpose;
    asking->breaker = purpose == GCI_ASK_TO_WRITE ? &tier->writing : &tier->reading;
    asking->answer = GCACHE_TIER_MISS;
    asking->started_ns = gci_clock_steady_ns();
    asking->call.size = sizeof asking->call;
    asking->call.deadline_ns = asking->started_ns + tier->timeout_ns + writing_ns;
    asking->call.connect_deadline_ns = asking->started_ns + tier->connect_timeout_ns;
    asking->call.max_bytes = tier->max_bytes;
    asking->call.ttl_ns = tier->ttl_ns;
    asking->call.fence = NULL;
    asking->call.reason = GCACHE_REASON_NONE;
    asking->call.message[0] = '\0';
    asking->call.fenced = false;
    asking->call.round_trips = asking->call.bytes_sent = asking->call.bytes_received = 0;
    bool whatever = purpose == GCI_ASK_TO_KNOW || purpose == GCI_ASK_TO_AGREE;
    asking->left_alone = !whatever && !gci_breaker_admit(asking->breaker, asking->started_ns, &left_ns);
    if (asking->left_alone) {
        asking->answer = GCACHE_TIER_TROUBLE;
        asking->call.reason = GCACHE_REASON_REMOTE_UNAVAILABLE;
        snprintf(asking->call.message, sizeof asking->call.message,
                 "it was in trouble a moment ago, and is left alone for another %llu ms", (unsigned long long)(left_ns / 1000000));
        gci_tier_add(tier, GCACHE_TIER_COUNT_LEFT_ALONE, 1);
    }
    return !asking->left_alone;
}

void
gci_asking_renew(gci_asking *asking)
{
    uint64_t now_ns = gci_clock_steady_ns();

    asking->call.deadline_ns = now_ns + asking->tier->timeout_ns;
    asking->call.connect_deadline_ns = now_ns + asking->tier->connect_timeout_ns;
}

bool
gci_asking_may_go_on(gci_asking const *asking)
{
    return !asking->left_alone && asking->answer != GCACHE_TIER_TROUBLE;
}

/* Whoever prints a message names the tier; some tiers do so themselves. */
static void
drop_name(gci_asking *asking)
{
    char *message = asking->call.message;
    size_t size = strlen(asking->tier->shown);

    if (strncmp(message, asking->tier->shown, size) == 0 && message[size] == ':' && message[size + 1] == ' ')
        memmove(message, message + size + 2, strlen(message + size + 2) + 1);
}

gcache_tier_answer
gci_asking_note(gci_asking *asking, gcache_tier_answer answer)
{
    if (answer == GCACHE_TIER_TROUBLE && asking->call.reason == GCACHE_REASON_NONE)
        asking->call.reason = GCACHE_REASON_REMOTE_UNAVAILABLE;
    drop_name(asking);
    if (asking->purpose != GCI_ASK_TO_KNOW)
        gci_tier_add(asking->tier, GCACHE_TIER_COUNT_CALLS, 1);
    return asking->answer = answer;
}

/* No trouble of the tier's: nothing opens for it. */
gcache_tier_answer
gci_asking_lacks(gci_asking *asking, char const *function)
{
    snprintf(asking->call.message, sizeof asking->call.message, "it can't %s", function);
    return GCACHE_TIER_TROUBLE;
}

static void
report_change(gci_asking const *asking, gci_breaker_change change)
{
    gci_tier *tier = asking->tier;
    char const *what = asking->breaker == &tier->writing ? "written to" : "asked";
    char line[GCACHE_TIER_MESSAGE_SIZE * 2];

    if (change == GCI_BREAKER_SAME || asking->purpose == GCI_ASK_TO_KNOW || tier->changed == NULL)
        return;
    if (change == GCI_BREAKER_OPENED)
        snprintf(line, sizeof line, "%.200s isn't %s for now: %s", tier->shown, what, asking->call.message);
    else
        snprintf(line, sizeof line, "%.200s is %s again", tier->shown, what);
    tier->changed(tier->changed_state, line);
}

static void
count_calls(gci_asking const *asking)
{
    gcache_tier_call const *call = &asking->call;
    gcache_tier_count trouble =
        call->reason == GCACHE_REASON_REMOTE_TIMEOUT ? GCACHE_TIER_COUNT_TIMEOUTS : GCACHE_TIER_COUNT_UNAVAILABLE;

    if (!asking->left_alone && asking->answer == GCACHE_TIER_TROUBLE)
        gci_tier_add(asking->tier, trouble, 1);
    gci_tier_add(asking->tier, GCACHE_TIER_COUNT_ROUND_TRIPS, call->round_trips);
    gci_tier_add(asking->tier, GCACHE_TIER_COUNT_BYTES_SENT, call->bytes_sent);
    gci_tier_add(asking->tier, GCACHE_TIER_COUNT_BYTES_RECEIVED, call->bytes_received);
}

uint64_t
gci_asking_end(gci_asking *asking)
{
    uint64_t now_ns = gci_clock_steady_ns();

    if (!asking->left_alone)
        report_change(asking, gci_breaker_report(asking->breaker, now_ns, asking->answer == GCACHE_TIER_TROUBLE));
    if (asking->purpose != GCI_ASK_TO_KNOW)
        count_calls(asking);
    return now_ns - asking->started_ns;
}
