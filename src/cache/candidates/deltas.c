#include "cache/candidates/deltas.h"

#include "base/codec.h"

#define MARK "\x89GCDELT\n"
#define MARK_BYTES (sizeof MARK - 1)
/* The least a delta takes: its name's length and its value. */
#define DELTA_BYTES_MIN 12

static bool
is_marked(gci_view bytes)
{
    return bytes.size >= MARK_BYTES && memcmp(bytes.data, MARK, MARK_BYTES) == 0;
}

void
gci_write_metadata(gci_buf *out, gcache_entry const *entry)
{
    gci_view metadata = gci_view_of(entry->metadata, entry->metadata_size);

    if (entry->delta_count != 0 || is_marked(metadata)) {
        gci_buf_append_text(out, MARK);
        gci_put_u32(out, (uint32_t)entry->delta_count);
        for (size_t i = 0; i < entry->delta_count; i++) {
            gci_put_bytes(out, gci_view_text(entry->deltas[i].name));
            gci_put_u64(out, (uint64_t)entry->deltas[i].value);
        }
    }
    gci_buf_append_view(out, metadata);
}

/* stored = mark count (name value)* metadata | metadata */
void
gci_read_metadata(gci_view stored, gci_arena *arena, gci_view *out_metadata, gcache_delta const **out_deltas,
                  size_t *out_count)
{
    gci_reader reader = gci_reader_of(stored);

    *out_metadata = stored;
    *out_deltas = NULL;
    *out_count = 0;
    if (!is_marked(stored))
        return;
    gci_get_raw(&reader, MARK_BYTES);
    size_t count = gci_get_count(&reader, DELTA_BYTES_MIN);
    gcache_delta *deltas = gci_arena_array(arena, count, sizeof *deltas);
    for (size_t i = 0; deltas != NULL && i < count; i++) {
        deltas[i].name = gci_arena_copy(arena, gci_get_bytes(&reader)).data;
        deltas[i].value = (int64_t)gci_get_u64(&reader);
    }
    if (reader.failed || deltas == NULL)
        return;
    *out_metadata = gci_view_of(reader.next, gci_reader_left(&reader));
    *out_deltas = deltas;
    *out_count = count;
}
