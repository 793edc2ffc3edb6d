/* Candidates that lie elsewhere: see foreign.h. */
#include "store/read/foreign.h"

#include "store/format/compress.h"
#include "store/format/record.h"
#include "store/memory/candidates.h"
#include "store/state/state.h"

#include <stdlib.h>

typedef struct item {
    gci_frame frame;
    uint64_t created_ns;
} item;

static int
by_creation(void const *left, void const *right)
{
    item const *a = left, *b = right;

    return (a->created_ns > b->created_ns) - (a->created_ns < b->created_ns);
}

/* What can't be read is left out: whoever collected the frames has counted it. */
static size_t
read_frames(gci_view const *frames, size_t count, item *out_items)
{
    size_t good = 0;

    for (size_t i = 0; i < count; i++) {
        item *next = &out_items[good];
        if (gci_frame_read(frames[i], &next->frame) == GCI_FRAME_GOOD &&
            gci_record_created(next->frame.head, &next->created_ns))
            good++;
    }
    qsort(out_items, good, sizeof *out_items, by_creation);
    return good;
}

static void
put_frame(gci_buf *pack, gci_frame const *frame, uint64_t sequence)
{
    gci_frame_start start = { frame->type, frame->payload_size, frame->payload_checksum, frame->evicted_ns, frame->version };

    size_t begin = gci_frame_begin(pack, &start);
    size_t head = pack->size;
    gci_buf_append_view(pack, frame->head);
    if (!pack->failed)
        gci_record_set_sequence(pack->data + head, sequence);
    gci_frame_end(pack, begin);
    if (gci_frame_has_payload(frame->type)) {
        gci_buf_append_view(pack, frame->payload);
        gci_buf_append_view(pack, gci_frame_padding(frame->payload.size));
    }
}

/* A candidate index in memory. */
static gci_found
make_set(gci_store *store, gcache_key const *key, item const *items, size_t count, gci_candidates **out_set)
{
    gci_trust const anybody = { 0 };
    gci_pack_walk walk;
    gci_buf pack;

    gci_buf_init(&pack, GCI_PACK_MAX);
    gci_pack_put_header(&pack, key);
    for (size_t i = 0; i < count; i++)
        put_frame(&pack, &items[i].frame, i + 1);
    if (!pack.failed && gci_pack_begin(gci_buf_view(&pack), key, &walk) == GCI_PACK_GOOD)
        *out_set = gci_candidates_new(key, gci_buf_view(&pack), store->memory.budget, &anybody, &walk);
    gci_buf_clear(&pack);
    return *out_set != NULL ? GCI_FOUND : GCI_UNREADABLE;
}

gci_found
gci_foreign_candidates(gci_store *store, gcache_key const *key, gci_view const *frames, size_t count, gci_candidates **out_set,
                       gcache_error *error)
{
    item *items = malloc((count != 0 ? count : 1) * sizeof *items);
    gci_found found = GCI_ABSENT;

    *out_set = NULL;
    if (items != NULL && (count = read_frames(frames, count, items)) != 0)
        found = make_set(store, key, items, count, out_set);
    if (items == NULL || found == GCI_UNREADABLE) {
        gci_fail_memory(error);
        found = GCI_UNREADABLE;
    }
    free(items);
    return found;
}

gci_view
gci_foreign_inlined(gci_candidate const *candidate, bool *out_has)
{
    *out_has = candidate->place->in_pack;
    return candidate->place->inlined;
}

static bool
is_what_was_stored(gci_candidate const *candidate, gci_view stored)
{
    gci_checksum sum = gci_checksum_of(stored.data, stored.size), expected = candidate->place->checksum;

    return stored.size == candidate->record.stored_size && sum.low == expected.low && sum.high == expected.high;
}

static bool
names_a_key_of_ours(gci_store_options const *options, gci_view id)
{
    for (size_t i = 0; i < options->signing_count; i++) {
        if (gci_view_is(id, options->signing[i].id))
            return true;
    }
    return false;
}

/* ERROR_UNTRUSTED: no key of ours made it, and that is required, or one that is named as ours didn't. Else OK. stored: the payload,
   or NULL. */
static gcache_status
check_signature(gci_store *store, gci_candidate const *candidate, gci_view const *stored, gcache_error *error)
{
    gci_store_options const *options = &store->options;
    gci_signature const *signature = &candidate->place->signature;
    char const *id = candidate->record.id;
    bool known = names_a_key_of_ours(options, signature->key_id);

    if (known && gci_signature_verify(candidate->place->head, signature, options->signing, options->signing_count) &&
        (stored == NULL || gci_signature_covers(signature, *stored)))
        return GCACHE_OK;
    if (known)
        return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "entry %s: not what our key of that name signed", id);
    if (!options->require_signature)
        return GCACHE_OK;
    return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "entry %s: %s", id,
                    signature->key_id.size != 0 ? "signed with a key that isn't one of ours" : "not signed");
}

static gcache_status
unfold(gci_record const *record, gci_view stored, gci_payload *out, gcache_error *error)
{
    bool fits = record->payload_size <= GCI_PAYLOAD_MAX && (record->compression == GCI_ZSTD
                                                                ? gci_compressed_size_is(stored, record->payload_size)
                                                                : stored.size == record->payload_size);
    size_t size = (size_t)record->payload_size;

    if (!fits)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "entry %s: not as large as it says", record->id);
    char *raw = malloc(size != 0 ? size : 1);
    if (raw == NULL)
        return gci_fail_memory(error);
    if (record->compression == GCI_RAW && size != 0)
        memcpy(raw, stored.data, size);
    gcache_status status = record->compression == GCI_ZSTD ? gci_decompress(stored, raw, size, error) : GCACHE_OK;
    if (status != GCACHE_OK) {
        free(raw);
        return status;
    }
    return gci_payload_hold_on(GCI_HOLD_MALLOC, raw, size, gci_view_of(raw, size), out) ? GCACHE_OK : gci_fail_memory(error);
}

static gcache_status
verify(gci_store *store, gci_candidate *candidate, gci_view stored, uint64_t most, gci_payload *out_payload, gcache_error *error)
{
    if (!is_what_was_stored(candidate, stored))
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "entry %s: its payload is another one or damaged", candidate->record.id);
    gcache_status status = check_signature(store, candidate, &stored, error);
    if (status == GCACHE_OK && candidate->record.payload_size > most)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "entry %s: its payload has %llu bytes, and no more than %llu are taken",
                        candidate->record.id, (unsigned long long)candidate->record.payload_size, (unsigned long long)most);
    if (status == GCACHE_OK)
        status = unfold(&candidate->record, stored, out_payload, error);
    if (status == GCACHE_OK)
        status = gci_portable_check_id(&candidate->record, gci_view_of(out_payload->data, out_payload->size), error);
    return status;
}

gci_found
gci_foreign_payload(gci_store *store, gci_candidate *candidate, gci_view stored, uint64_t most, gci_payload *out_payload,
                    gcache_error *error)
{
    *out_payload = (gci_payload){ 0 };
    gcache_status status = verify(store, candidate, stored, most, out_payload, error);
    if (status == GCACHE_OK)
        return GCI_FOUND;
    gci_payload_release(out_payload);
    return status == GCACHE_ERROR_CORRUPT ? GCI_CORRUPT : GCI_UNREADABLE;
}

gci_found
gci_foreign_vouch(gci_store *store, gci_candidate const *candidate, gcache_error *error)
{
    return check_signature(store, candidate, NULL, error) == GCACHE_OK ? GCI_FOUND : GCI_UNREADABLE;
}

bool
gci_foreign_same_signature(gci_candidate const *a, gci_candidate const *b)
{
    return gci_view_equal(a->place->signature.key_id, b->place->signature.key_id);
}

gci_portable
gci_foreign_portable(gci_candidate const *candidate, gci_view stored)
{
    return (gci_portable){ candidate->record, stored, candidate->place->signature };
}
