#include "store/portable.h"

#include "base/check.h"
#include "store/compress.h"
#include "store/describe.h"
#include "store/record.h"

/* An export is written once and carried about: half the speed of the usual level for a tenth less. */
#define LEVEL 6

gcache_status
gci_portable_write_entry(gci_record const *record, gci_view payload, gci_buf *out, gcache_error *error)
{
    gci_record written = *record;
    gci_buf small;

    gci_buf_init(&small, GCI_BUF_NO_LIMIT);
    written.payload_size = payload.size;
    written.compression = GCI_RAW;
    gcache_status status = payload.size != 0 ? gci_compress(payload, LEVEL, &small, error) : GCACHE_OK;
    if (status == GCACHE_OK && small.size < payload.size) {
        written.compression = GCI_ZSTD;
        payload = gci_buf_view(&small);
    }
    if (status == GCACHE_OK) {
        gci_frame_start start = { GCI_FRAME_ENTRY, payload.size, gci_checksum_of(payload.data, payload.size), 0 };
        size_t begin = gci_frame_begin(out, &start);
        gci_record_write(out, &written, NULL, NULL);
        gci_frame_end(out, begin);
        gci_buf_append_view(out, payload);
        gci_buf_append_view(out, gci_frame_padding(payload.size));
        status = out->failed ? gci_fail_memory(error) : GCACHE_OK;
    }
    gci_buf_clear(&small);
    return status;
}

static gcache_status
read_payload(gci_record const *record, gci_view stored, gci_buf *out, gcache_error *error)
{
    gci_buf_clear(out);
    if (record->compression == GCI_RAW && stored.size == record->payload_size) {
        gci_buf_append_view(out, stored);
        return out->failed ? gci_fail_memory(error) : GCACHE_OK;
    }
    if (record->compression != GCI_ZSTD || record->payload_size > GCI_PAYLOAD_MAX ||
        !gci_compressed_size_is(stored, record->payload_size))
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "entry %s: not as large as it says", record->id);
    char *room = gci_buf_reserve(out, (size_t)record->payload_size);
    if (room == NULL)
        return gci_fail_memory(error);
    out->size = (size_t)record->payload_size;
    return gci_decompress(stored, room, out->size, error);
}

gcache_status
gci_portable_read_entry(gci_view frame, gci_arena *arena, gci_record *out_record, gci_buf *out_payload,
                        gcache_error *error)
{
    gci_signature signature;
    gci_frame parts;

    if (gci_frame_read(frame, &parts) != GCI_FRAME_GOOD || parts.type != GCI_FRAME_ENTRY || parts.size != frame.size)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "an entry is damaged");
    if (!gci_record_read(parts.head, arena, out_record, &signature))
        return arena->failed ? gci_fail_memory(error) : gci_fail(error, GCACHE_ERROR_CORRUPT, "an entry is damaged");
    return read_payload(out_record, parts.payload, out_payload, error);
}

gcache_status
gci_portable_write_description(gcache_key const *key, gci_description const *description, gci_buf *out,
                               gcache_error *error)
{
    return gci_description_write(key, description, out, error);
}

gcache_status
gci_portable_read_description(gci_view frame, gcache_key *out_key, gci_stored_description **out_description,
                              gcache_error *error)
{
    gci_frame parts;

    if (gci_frame_read(frame, &parts) != GCI_FRAME_GOOD || parts.head.size < sizeof out_key->bytes)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "a description is damaged");
    memcpy(out_key->bytes, parts.head.data, sizeof out_key->bytes);
    return gci_description_read(out_key, frame, out_description, error);
}
