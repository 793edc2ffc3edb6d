/*
 * A shared value is a side file, shared/<SHA-256 of job and name>: a header, then the value (docs/formats/directory.md).
 *
 * Followers look for it at growing intervals: that works on every file system, and a few dozen processes that look ten
 * times a second are no load.
 */
#include "cache/compile/share.h"

#include "base/check.h"
#include "base/system/clock.h"
#include "cache/handle/cache.h"
#include "cache/handle/values.h"
#include "store/publish/side.h"

#include <guardcache/share.h>
#include <stdio.h>
#include <stdlib.h>

#define HEADER_BYTES 32
#define FIRST_PAUSE_NS UINT64_C(1000000)
#define MOST_PAUSE_NS UINT64_C(100000000)
/* A job that takes longer has long published its values; those of former jobs are litter. */
#define KEPT_NS (UINT64_C(7) * 86400 * 1000000000)

typedef char side_path[GCI_SIDE_PATH_MAX + 1];

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
hash_name(gcache_share const *share, uint8_t out_name[GCI_SHA256_BYTES], gcache_error *error)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_put_u64(&text, strlen(share->job));
    gci_buf_append_text(&text, share->job);
    gci_buf_append_text(&text, share->name);
    return gci_digest_of_buf(&text, out_name) ? GCACHE_OK : gci_fail_memory(error);
}

static void
place_of(uint8_t const name[GCI_SHA256_BYTES], side_path out_path)
{
    char hex[2 * GCI_SHA256_BYTES + 1];

    gci_hex(name, GCI_SHA256_BYTES, hex);
    snprintf(out_path, sizeof(side_path), "shared/%s", hex);
}

/* ---- the file ---- */

typedef struct header {
    uint64_t size;
    gci_checksum sum;
} header;

static gci_field const header_fields[] = {
    GCI_CONSTANT("GCVALUE1", "magic", "`GCVALUE1`"),
    GCI_NUMBER(header, size, 8, "size", "of the value"),
    GCI_STRUCT(header, sum, &gci_checksum_item, "XXH3-128", "of the value"),
};
gci_fields const gci_share_fields = GCI_FIELDS("shared value", header, header_fields);

/* *out_existed: another one was faster. */
static gcache_status
publish(gcache *cache, char const *place, gci_view value, bool *out_existed, gcache_error *error)
{
    uint64_t removed;
    gci_buf file;

    gci_side_expire(cache->store, "shared", KEPT_NS, &removed, NULL);
    gci_buf_init(&file, GCACHE_SHARE_BYTES_MAX + HEADER_BYTES);
    gci_fields_write(&file, &gci_share_fields, &(header){ value.size, gci_checksum_of(value.data, value.size) });
    gci_buf_append_view(&file, value);
    gcache_status status = file.failed ? gci_fail_memory(error)
                                       : gci_side_write(cache->store, place, gci_buf_view(&file), out_existed, error);
    gci_buf_clear(&file);
    return status;
}

/* file = header value */
static bool
parse(gci_view file, gci_view *out_value)
{
    gci_reader reader = gci_reader_of(file);
    header read;

    gci_fields_read(&reader, &gci_share_fields, NULL, &read);
    if (reader.failed || read.size != gci_reader_left(&reader))
        return false;
    *out_value = gci_get_raw(&reader, (size_t)read.size);
    gci_checksum sum = gci_checksum_of(out_value->data, out_value->size);
    return sum.low == read.sum.low && sum.high == read.sum.high;
}

/* Reads the value and remembers it. NULL with *error set: it isn't there (yet), or it is damaged. */
static gci_shared_value const *
learn(gcache *cache, uint8_t const name[GCI_SHA256_BYTES], char const *place, gcache_error *error)
{
    gci_shared_value const *value = NULL;
    gci_view bytes;
    gci_buf file;

    gci_buf_init(&file, GCACHE_SHARE_BYTES_MAX + HEADER_BYTES + 1);
    if (gci_side_read(cache->store, place, GCACHE_SHARE_BYTES_MAX + HEADER_BYTES, &file, error) == GCACHE_OK) {
        if (!parse(gci_buf_view(&file), &bytes)) {
            gci_side_quarantine(cache->store, place, "damaged shared value");
            gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: damaged shared value", place);
        } else if ((value = gci_shared_values_add(&cache->values, name, bytes)) == NULL)
            gci_fail_memory(error);
    }
    gci_buf_clear(&file);
    return value;
}

/* ---- the two roles ---- */

/* What is there; *out_value NULL: nothing is, or it can't be had, and the status says why. */
static gcache_status
learn_now(gcache *cache, uint8_t const name[GCI_SHA256_BYTES], char const *place, gci_shared_value const **out_value,
          gcache_error *error)
{
    gcache_error trouble = { 0 };

    *out_value = learn(cache, name, place, &trouble);
    if (*out_value != NULL)
        return GCACHE_OK;
    if (error != NULL)
        *error = trouble;
    return trouble.status;
}

/* A leader keeps the value that it published earlier, perhaps before it was started again. */
static gcache_status
lead(gcache *cache, gcache_share const *share, uint8_t const name[GCI_SHA256_BYTES], char const *place,
     gci_shared_value const **out_value, gcache_error *error)
{
    gci_view value = gci_view_of(share->value, share->value_size);
    bool existed;

    *out_value = learn(cache, name, place, NULL);
    if (*out_value != NULL)
        return GCACHE_OK;
    gcache_status status = publish(cache, place, value, &existed, error);
    if (status != GCACHE_OK)
        return status;
    if (existed)
        return learn_now(cache, name, place, out_value, error);
    *out_value = gci_shared_values_add(&cache->values, name, value);
    return *out_value != NULL ? GCACHE_OK : gci_fail_memory(error);
}

static gcache_status
follow(gcache *cache, gcache_share const *share, uint8_t const name[GCI_SHA256_BYTES], char const *place,
       gci_shared_value const **out_value, gcache_error *error)
{
    uint64_t timeout = share->timeout_ns != 0 ? share->timeout_ns : GCACHE_SHARE_TIMEOUT_DEFAULT_NS;
    gci_pauses pauses = gci_pauses_of(FIRST_PAUSE_NS, MOST_PAUSE_NS, timeout);

    do {
        gcache_error trouble = { 0 };
        gcache_status status = learn_now(cache, name, place, out_value, &trouble);
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
    uint8_t name[GCI_SHA256_BYTES];
    side_path place;

    GCI_REQUIRE(out_value != NULL && out_size != NULL, error, "out_value or out_size is NULL");
    gcache_status status = check_share(cache, share, error);
    if (status == GCACHE_OK)
        status = hash_name(share, name, error);
    if (status != GCACHE_OK)
        return status;
    place_of(name, place);
    gci_shared_value const *value = gci_shared_values_find(&cache->values, name);
    if (value == NULL)
        status = share->leader ? lead(cache, share, name, place, &value, error)
                               : follow(cache, share, name, place, &value, error);
    return status == GCACHE_OK ? copy_out(value, out_value, out_size, error) : status;
}
