/* A candidate index as a list of frames that can be changed, and its bytes. */
#include "store/publish/draft.h"

#include "base/arena.h"
#include "base/array.h"
#include "store/format/candidate_index.h"
#include "store/format/record.h"
#include "store/pool/pool.h"

#include <stdlib.h>

void
gci_pack_draft_init(gci_pack_draft *draft, gcache_key const *key)
{
    *draft = (gci_pack_draft){ .key = *key };
    gci_buf_init(&draft->pack, GCI_BUF_NO_LIMIT);
}

void
gci_pack_draft_clear(gci_pack_draft *draft)
{
    free(draft->frames);
    gci_buf_clear(&draft->pack);
    *draft = (gci_pack_draft){ 0 };
}

gci_pack_draft_frame *
gci_pack_draft_find(gci_pack_draft *draft, char const *id)
{
    for (size_t i = 0; i < draft->count; i++) {
        if (!draft->frames[i].dropped && memcmp(draft->frames[i].id, id, GCACHE_ENTRY_ID_SIZE) == 0)
            return &draft->frames[i];
    }
    return NULL;
}

static gci_pack_draft_frame *
add_frame(gci_pack_draft *draft)
{
    if (!GCI_ARRAY_HAS_ROOM(draft, frames))
        return NULL;
    return &draft->frames[draft->count++];
}

static bool
take_description(gci_pack_draft *draft, gci_frame const *frame, gci_view bytes)
{
    if (frame->head.size > GCACHE_KEY_BYTES && memcmp(frame->head.data, draft->key.bytes, GCACHE_KEY_BYTES) == 0)
        draft->description = bytes;
    else
        draft->strange++;
    return true;
}

/* What a reader would accept (candidates.c). */
static bool
is_candidate_of(gci_pack_draft const *draft, gci_frame const *frame, gci_record const *record, gci_signature const *signature)
{
    return frame->version >= gci_record_version(signature) &&
           memcmp(record->key.bytes, draft->key.bytes, sizeof record->key.bytes) == 0 &&
           (frame->type != GCI_FRAME_ENTRY || record->compression != GCI_RAW ||
            record->payload_size == frame->payload_size);
}

bool
gci_pack_draft_take(gci_pack_draft *draft, gci_frame const *frame, gci_view bytes)
{
    gci_signature signature;
    gci_record record;
    gci_arena arena;

    if (frame->type == GCI_FRAME_DESCRIPTION)
        return take_description(draft, frame, bytes);
    gci_arena_init(&arena, GCI_BUF_NO_LIMIT);
    bool read = gci_record_read(frame->head, &arena, &record, &signature), memory = !arena.failed;
    gci_arena_clear(&arena);
    if (!read || !is_candidate_of(draft, frame, &record, &signature)) {
        draft->strange += memory;
        return memory;
    }
    gci_pack_draft_frame *former = gci_pack_draft_find(draft, record.id);
    if (former != NULL && former->type != GCI_FRAME_EVICTED)
        return true;
    if (former != NULL)
        former->dropped = true;
    gci_pack_draft_frame *taken = add_frame(draft);
    if (taken == NULL)
        return false;
    *taken = (gci_pack_draft_frame){ .type = frame->type, .sequence = record.sequence,
                                .created_ns = record.created_ns, .evicted_ns = frame->evicted_ns, .namespace_ = record.namespace_,
                                .bytes = bytes };
    memcpy(taken->id, record.id, sizeof taken->id);
    return true;
}

gcache_status
gci_pack_draft_take_pack(gci_pack_draft *draft, gci_view bytes, gcache_error *error)
{
    gci_pack_walk walk;
    gci_frame frame;
    size_t at = 0;
    bool newer = gci_pack_begin(bytes, &draft->key, &walk) == GCI_PACK_NEWER;

    while ((at = gci_frame_find(bytes, at, &newer)) < bytes.size) {
        gci_view rest = gci_view_of(bytes.data + at, bytes.size - at);
        if (gci_frame_read(rest, &frame) != GCI_FRAME_GOOD)
            break;
        if (!gci_pack_draft_take(draft, &frame, gci_view_of(rest.data, frame.size)))
            return gci_fail_memory(error);
        at += frame.size;
    }
    if (newer)
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s: of a newer version", gci_path_pack(&draft->key).text);
    return GCACHE_OK;
}

gcache_status
gci_pack_draft_load(gci_pack_draft *draft, gci_store *store, gcache_error *error)
{
    gcache_status status = gci_pack_load(store, &draft->key, &draft->pack, &draft->level, error);

    return status == GCACHE_OK ? gci_pack_draft_take_pack(draft, gci_buf_view(&draft->pack), error) : status;
}

size_t
gci_pack_draft_live(gci_pack_draft const *draft)
{
    size_t live = 0;

    for (size_t i = 0; i < draft->count; i++)
        live += !draft->frames[i].dropped && draft->frames[i].type != GCI_FRAME_EVICTED;
    return live;
}

/* Dropped ones last, evicted ones first (invariant 3 of candidate_index.h), then by sequence. */
static int
compare_frames(void const *left, void const *right)
{
    gci_pack_draft_frame const *a = left, *b = right;

    if (a->dropped != b->dropped)
        return a->dropped - b->dropped;
    bool a_live = a->type != GCI_FRAME_EVICTED, b_live = b->type != GCI_FRAME_EVICTED;
    if (a_live != b_live)
        return a_live - b_live;
    if (!a_live && a->evicted_ns != b->evicted_ns)
        return a->evicted_ns < b->evicted_ns ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

/* The head as it was, in a frame that says when its payload went. */
static void
write_evicted(gci_pack_draft_frame const *evicted, gci_buf *out)
{
    gci_frame frame;

    if (gci_frame_read_head(evicted->bytes, &frame) != GCI_FRAME_GOOD)
        return;
    gci_frame_start start = { GCI_FRAME_EVICTED, frame.payload_size, frame.payload_checksum, evicted->evicted_ns, frame.version };
    size_t begin = gci_frame_begin(out, &start);
    gci_buf_append_view(out, frame.head);
    gci_frame_end(out, begin);
}

void
gci_pack_draft_write(gci_pack_draft *draft, gci_buf *out)
{
    size_t evicted = 0, skipped = 0;

    qsort(draft->frames, draft->count, sizeof *draft->frames, compare_frames);
    for (size_t i = 0; i < draft->count; i++)
        evicted += !draft->frames[i].dropped && draft->frames[i].type == GCI_FRAME_EVICTED;
    gci_pack_put_header(out, &draft->key);
    gci_buf_append_view(out, draft->description);
    for (size_t i = 0; i < draft->count && !draft->frames[i].dropped; i++) {
        gci_pack_draft_frame const *frame = &draft->frames[i];
        if (frame->type != GCI_FRAME_EVICTED)
            gci_buf_append_view(out, frame->bytes);
        else if (evicted - skipped > GCI_EVICTED_KEPT)
            skipped++;
        else
            write_evicted(frame, out);
    }
}
