/* Entries on their way from one cache to another: see portable.h. */
#include "store/read/portable.h"

#include "base/check.h"
#include "store/format/compress.h"
#include "store/memory/run.h"
#include "store/read/payload.h"

#include <stdlib.h>

gci_found
gci_portable_write_entry(gci_store *store, gci_candidate *candidate, gci_buf *out, gcache_error *error)
{
    gci_payload stored;

    gci_found found = gci_store_stored_payload(store, candidate, &stored, error);
    if (found != GCI_FOUND)
        return found;
    gci_frame_start start = { GCI_FRAME_ENTRY, stored.size, gci_checksum_of(stored.data, stored.size), 0,
                              gci_record_version(&candidate->place->signature) };
    size_t begin = gci_frame_begin(out, &start);
    gci_buf_append_view(out, candidate->place->head);
    gci_frame_end(out, begin);
    gci_buf_append(out, stored.data, stored.size);
    gci_buf_append_view(out, gci_frame_padding(stored.size));
    gci_payload_release(&stored);
    return GCI_FOUND;
}

gcache_status
gci_portable_check_id(gci_record const *record, gci_view payload, gcache_error *error)
{
    gci_record computed = *record;

    if (!gci_record_identify(&computed, payload))
        return gci_fail_memory(error);
    return memcmp(computed.id, record->id, sizeof computed.id) == 0
               ? GCACHE_OK
               : gci_fail(error, GCACHE_ERROR_CORRUPT, "entry %s: its content has another id", record->id);
}

static gcache_status
check_payload(gci_portable const *entry, gcache_error *error)
{
    gci_record const *record = &entry->record;
    uint64_t size = record->payload_size;

    if (record->compression == GCI_RAW && entry->payload.size == size)
        return gci_portable_check_id(record, entry->payload, error);
    if (record->compression != GCI_ZSTD || size > GCI_PAYLOAD_MAX || !gci_compressed_size_is(entry->payload, size))
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "entry %s: not as large as it says", record->id);
    char *raw = malloc(size != 0 ? (size_t)size : 1);
    gcache_status status = raw != NULL ? gci_decompress(entry->payload, raw, (size_t)size, error) : gci_fail_memory(error);
    if (status == GCACHE_OK)
        status = gci_portable_check_id(record, gci_view_of(raw, (size_t)size), error);
    free(raw);
    return status;
}

gcache_status
gci_portable_read_entry(gci_frame const *frame, gci_arena *arena, gci_portable *out_entry, gcache_error *error)
{
    bool read = gci_record_read(frame->head, arena, &out_entry->record, &out_entry->signature);
    if (!read || frame->version < gci_record_version(&out_entry->signature))
        return arena->failed ? gci_fail_memory(error) : gci_fail(error, GCACHE_ERROR_CORRUPT, "an entry is damaged");
    out_entry->payload = frame->payload;
    return check_payload(out_entry, error);
}
