/*
 * Values that the processes of a job share: one tells, the others ask at growing intervals. That works on every file system and
 * every tier, and a few dozen processes that look ten times a second are no load.
 */
#include "cache/compile/meeting.h"

#include "base/check.h"
#include "base/system/clock.h"
#include "cache/handle/values.h"

#include <guardcache/share.h>
#include <stdlib.h>

#define FIRST_PAUSE_NS UINT64_C(1000000)
#define MOST_PAUSE_NS UINT64_C(100000000)
static gcache_status
check_share(gcache const *cache, gcache_share const *share, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL && gci_is_open(&cache->gate, GCI_BROWSE), error, "cache is NULL or switched off");
    GCI_REQUIRE(share != NULL, error, "share is NULL");
    GCI_REQUIRE_INIT(share, error);
    GCI_REQUIRE(share->job != NULL && share->name != NULL, error, "job or name is NULL");
    GCI_REQUIRE(share->value != NULL || share->value_size == 0, error, "the value is NULL");
    if (share->value_size > GCACHE_SHARE_BYTES_MAX)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "a value of %zu bytes is more than the %zu that can be shared",
                        share->value_size, GCACHE_SHARE_BYTES_MAX);
    return GCACHE_OK;
}

static gcache_status
hash_name(gcache_share const *share, gci_meeting_name out_name, gcache_error *error)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_put_u64(&text, strlen(share->job));
    gci_buf_append_text(&text, share->job);
    gci_buf_append_text(&text, share->name);
    return gci_digest_of_buf(&text, out_name) ? GCACHE_OK : gci_fail_memory(error);
}

/* ---- the two roles ---- */

/* What was said so far is remembered; *out_value NULL: nothing was, or it can't be had, and the status says why. */
static gcache_status
learn(gcache *cache, gci_meeting_name const name, gci_shared_value const **out_value, gcache_error *error)
{
    gci_buf value;

    *out_value = NULL;
    gci_buf_init(&value, GCACHE_SHARE_BYTES_MAX + 1);
    gcache_status status = gci_meeting_read(cache, name, GCACHE_SHARE_BYTES_MAX, &value, error);
    if (status == GCACHE_OK && (*out_value = gci_shared_values_add(&cache->values, name, gci_buf_view(&value))) == NULL)
        status = gci_fail_memory(error);
    gci_buf_clear(&value);
    return status;
}

/* A leader keeps the value that it published earlier, perhaps before it was started again. */
static gcache_status
lead(gcache *cache, gcache_share const *share, gci_meeting_name const name, gci_shared_value const **out_value,
     gcache_error *error)
{
    gci_buf value;

    if (learn(cache, name, out_value, NULL) == GCACHE_OK)
        return GCACHE_OK;
    gci_buf_init(&value, GCACHE_SHARE_BYTES_MAX + 1);
    gcache_status status = gci_meeting_say(cache, name, gci_view_of(share->value, share->value_size), &value, error);
    if (status == GCACHE_OK && (*out_value = gci_shared_values_add(&cache->values, name, gci_buf_view(&value))) == NULL)
        status = gci_fail_memory(error);
    gci_buf_clear(&value);
    return status;
}

static gcache_status
follow(gcache *cache, gcache_share const *share, gci_meeting_name const name, gci_shared_value const **out_value,
       gcache_error *error)
{
    uint64_t timeout = share->timeout_ns != 0 ? share->timeout_ns : GCACHE_SHARE_TIMEOUT_DEFAULT_NS;
    gci_pauses pauses = gci_pauses_of(FIRST_PAUSE_NS, MOST_PAUSE_NS, timeout);

    do {
        gcache_error trouble = { 0 };
        gcache_status status = learn(cache, name, out_value, &trouble);
        if (status != GCACHE_OK && status != GCACHE_ERROR_NOT_FOUND)
            status = gci_trouble(cache, &trouble, error);
        if (status == GCACHE_OK || (status < 0 && status != GCACHE_ERROR_NOT_FOUND))
            return status;
    } while (gci_clock_pause(&pauses));
    return gci_fail(error, GCACHE_ERROR_BUSY, "\"%s\": the leader told no value within %llu ms", share->name,
                    (unsigned long long)(timeout / 1000000));
}

static gcache_status
copy_out(gci_shared_value const *value, void **out_value, size_t *out_size, gcache_error *error)
{
    char *copy = malloc(value->size + 1);

    if (copy == NULL)
        return gci_fail_memory(error);
    memcpy(copy, value->bytes, value->size);
    *out_value = copy;
    *out_size = value->size;
    return GCACHE_OK;
}

gcache_status
gcache_share_value(gcache *cache, gcache_share const *share, void **out_value, size_t *out_size, gcache_error *error)
{
    gci_meeting_name name;

    GCI_REQUIRE(out_value != NULL && out_size != NULL, error, "out_value or out_size is NULL");
    gcache_status status = check_share(cache, share, error);
    if (status == GCACHE_OK)
        status = hash_name(share, name, error);
    if (status != GCACHE_OK)
        return status;
    gci_shared_value const *value = gci_shared_values_find(&cache->values, name);
    if (value == NULL)
        status = share->leader ? lead(cache, share, name, &value, error)
                               : follow(cache, share, name, &value, error);
    return status == GCACHE_OK ? copy_out(value, out_value, out_size, error) : status;
}
