/*
 * The place where a job's processes meet. In the directory a value is a side file, shared/<name>; in a tier an object. Both have
 * the same bytes: a header, then the value (docs/formats/directory.md).
 */
#include "cache/compile/meeting.h"

#include "base/check.h"
#include "cache/tiers/tiers.h"
#include "store/publish/side.h"

#include <guardcache/share.h>
#include <stdio.h>

#define HEADER_BYTES 32
/* A job that takes longer has long published its values; those of former jobs are litter. */
#define KEPT_NS (UINT64_C(7) * 86400 * 1000000000)

typedef char side_path[GCI_SIDE_PATH_MAX + 1];

/* ---- the bytes ---- */

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

static void
put(gci_buf *bytes, gci_view value)
{
    gci_fields_write(bytes, &gci_share_fields, &(header){ value.size, gci_checksum_of(value.data, value.size) });
    gci_buf_append_view(bytes, value);
}

/* bytes = header value */
static bool
parse(gci_view bytes, gci_buf *out_value)
{
    gci_reader reader = gci_reader_of(bytes);
    header read;

    gci_fields_read(&reader, &gci_share_fields, NULL, &read);
    if (reader.failed || read.size != gci_reader_left(&reader))
        return false;
    gci_view value = gci_get_raw(&reader, (size_t)read.size);
    gci_checksum sum = gci_checksum_of(value.data, value.size);
    out_value->size = 0;
    gci_buf_append_view(out_value, value);
    return sum.low == read.sum.low && sum.high == read.sum.high;
}

/* ---- the directory ---- */

static void
place_of(gci_meeting_name const name, side_path out_path)
{
    char hex[2 * GCI_SHA256_BYTES + 1];

    gci_hex(name, GCI_SHA256_BYTES, hex);
    snprintf(out_path, sizeof(side_path), "shared/%s", hex);
}

static gcache_status
read_file(gcache *cache, char const *place, size_t most, gci_buf *out_value, gcache_error *error)
{
    gci_buf file;

    gci_buf_init(&file, most + HEADER_BYTES + 1);
    gcache_status status = gci_side_read(cache->store, place, most + HEADER_BYTES, &file, error);
    if (status == GCACHE_OK && !parse(gci_buf_view(&file), out_value)) {
        gci_side_quarantine(cache->store, place, "damaged shared value");
        status = gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: damaged shared value", place);
    }
    if (status == GCACHE_OK && out_value->failed)
        status = gci_fail_memory(error);
    gci_buf_clear(&file);
    return status;
}

static gcache_status
say_in_directory(gcache *cache, gci_meeting_name const name, gci_view value, gci_buf *out_value, gcache_error *error)
{
    bool existed = false;
    uint64_t removed;
    side_path place;
    gci_buf file;

    place_of(name, place);
    gci_side_expire(cache->store, "shared", KEPT_NS, &removed, NULL);
    gci_buf_init(&file, GCI_BUF_NO_LIMIT);
    put(&file, value);
    gcache_status status = file.failed ? gci_fail_memory(error)
                                       : gci_side_write(cache->store, place, gci_buf_view(&file), &existed, error);
    gci_buf_clear(&file);
    if (status == GCACHE_OK && existed)
        return read_file(cache, place, GCACHE_SHARE_BYTES_MAX, out_value, error);
    out_value->size = 0;
    gci_buf_append_view(out_value, value);
    return status == GCACHE_OK && out_value->failed ? gci_fail_memory(error) : status;
}

/* ---- a tier ---- */

static gci_tier *
tier_of(gcache const *cache)
{
    for (size_t i = 0; cache->tiers != NULL && i < cache->tiers->count; i++) {
        gci_tier *tier = cache->tiers->items[i];
        if (!tier->read_only && tier->functions->share != NULL)
            return tier;
    }
    return NULL;
}

typedef struct heard {
    gci_buf *value;
    bool good, any;
} heard;

static int
hear(void *state, gcache_object const *object)
{
    heard *h = state;

    h->any = true;
    h->good = parse(gci_view_of(object->bytes, object->size), h->value);
    return 0;
}

static gcache_object
object_of(gci_meeting_name const name, gci_view bytes)
{
    gcache_object object = { .kind = GCACHE_OBJECT_VALUE, .bytes = bytes.data, .size = bytes.size };

    gci_hex(name, GCI_SHA256_BYTES, object.name);
    return object;
}

/* HIT: out_value has what was said before; MISS: it is ours; TROUBLE. */
static gcache_tier_answer
say_in_tier(gci_tier *tier, gci_meeting_name const name, gci_view value, gci_buf *out_value)
{
    heard h = { .value = out_value };
    gcache_tier_answer answer = GCACHE_TIER_TROUBLE;
    gci_asking asking;
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    put(&bytes, value);
    if (gci_asking_begin(&asking, tier, GCI_ASK_TO_AGREE, bytes.size) && !bytes.failed) {
        gcache_object object = object_of(name, gci_buf_view(&bytes));
        asking.call.ttl_ns = KEPT_NS;
        asking.call.max_bytes = 0;
        answer = GCI_ASK(&asking, share, &object, hear, &h);
    }
    gci_asking_end(&asking);
    gci_buf_clear(&bytes);
    return answer == GCACHE_TIER_HIT && (!h.good || out_value->failed) ? GCACHE_TIER_TROUBLE : answer;
}

static bool
hear_in_tier(gci_tier *tier, gci_meeting_name const name, gci_buf *out_value)
{
    gcache_object object = object_of(name, gci_view_of(NULL, 0));
    heard h = { .value = out_value };
    gci_asking asking;

    if (gci_asking_begin(&asking, tier, GCI_ASK_TO_AGREE, 0)) {
        asking.call.max_bytes = 0;
        GCI_ASK(&asking, fetch, &object, 1, hear, &h);
    }
    gci_asking_end(&asking);
    return h.any && h.good && !out_value->failed;
}

/* ---- both ---- */

/*
 * Keeps what the tier has for the other processes of this host. What they have there already is theirs, from when the tier was in
 * trouble, and counts: members of one host decide alike.
 */
static void
agree_with_host(gcache *cache, gci_meeting_name const name, gci_buf *value)
{
    gci_buf kept;

    gci_buf_init(&kept, GCI_BUF_NO_LIMIT);
    if (say_in_directory(cache, name, gci_buf_view(value), &kept, NULL) == GCACHE_OK) {
        value->size = 0;
        gci_buf_append_view(value, gci_buf_view(&kept));
    }
    gci_buf_clear(&kept);
}

gcache_status
gci_meeting_read(gcache *cache, gci_meeting_name const name, size_t most, gci_buf *out_value, gcache_error *error)
{
    gci_tier *tier = tier_of(cache);
    side_path place;
    gcache_error local;

    place_of(name, place);
    gci_error_clear(&local);
    gcache_status status = read_file(cache, place, most, out_value, &local);
    if (status == GCACHE_OK || tier == NULL || !hear_in_tier(tier, name, out_value)) {
        if (status != GCACHE_OK && error != NULL)
            *error = local;
        return status;
    }
    agree_with_host(cache, name, out_value);
    if (out_value->failed)
        return gci_fail_memory(error);
    return GCACHE_OK;
}

gcache_status
gci_meeting_say(gcache *cache, gci_meeting_name const name, gci_view value, gci_buf *out_value, gcache_error *error)
{
    gci_tier *tier = tier_of(cache);
    gcache_tier_answer answer = tier != NULL ? say_in_tier(tier, name, value, out_value) : GCACHE_TIER_TROUBLE;

    if (answer == GCACHE_TIER_TROUBLE)
        return say_in_directory(cache, name, value, out_value, error);
    if (answer == GCACHE_TIER_MISS) {
        out_value->size = 0;
        gci_buf_append_view(out_value, value);
    }
    agree_with_host(cache, name, out_value);
    return out_value->failed ? gci_fail_memory(error) : GCACHE_OK;
}
