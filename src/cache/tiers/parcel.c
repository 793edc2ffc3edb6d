/* Entries packed and published. */
#include "cache/tiers/parcel.h"

#include "base/system/clock.h"
#include "store/format/describe.h"
#include "store/read/portable.h"
#include "tier/object/head.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- packing ---- */

static void
add(gci_parcel *parcel, gcache_object_kind kind, char const *name, gci_view bytes)
{
    gcache_object *object = &parcel->objects[parcel->count++];

    *object = (gcache_object){ .kind = kind, .bytes = bytes.data, .size = bytes.size };
    if (kind != GCACHE_OBJECT_ATTACHMENT)
        object->key = parcel->key;
    snprintf(object->name, sizeof object->name, "%s", name);
    parcel->bytes += bytes.size;
}

static gci_found
pack_attachments(gci_parcel *parcel, gci_store *store, gci_record const *record, gcache_error *error)
{
    char name[GCACHE_OBJECT_NAME_SIZE];

    for (size_t i = 0; i < record->attachment_count; i++) {
        gci_buf *bytes = &parcel->attachments[parcel->attachment_count++];
        gci_buf_init(bytes, GCI_BUF_NO_LIMIT);
        gci_found found = gci_store_attachment(store, &record->attachments[i], bytes, error);
        if (found != GCI_FOUND)
            return found;
        gci_hex(record->attachments[i].sha256, sizeof record->attachments[i].sha256, name);
        add(parcel, GCACHE_OBJECT_ATTACHMENT, name, gci_buf_view(bytes));
    }
    return GCI_FOUND;
}

/* A key without one explains less, and serves all the same. */
static void
pack_description(gci_parcel *parcel, gci_store *store)
{
    gci_stored_description *description;

    if (gci_store_description(store, &parcel->key, &description, NULL) != GCI_FOUND)
        return;
    if (gci_description_write(&parcel->key, gci_stored_description_get(description), &parcel->description, NULL) == GCACHE_OK)
        add(parcel, GCACHE_OBJECT_DESCRIPTION, "", gci_buf_view(&parcel->description));
    gci_stored_description_free(description);
}

static gci_found
pack_candidate(gci_parcel *parcel, gci_store *store, gci_candidate *candidate, gcache_error *error)
{
    size_t files = candidate->record.attachment_count;

    /* Besides them a description, a payload and a head. */
    parcel->objects = calloc(files + 3, sizeof *parcel->objects);
    parcel->attachments = calloc(files + 1, sizeof *parcel->attachments);
    if (parcel->objects == NULL || parcel->attachments == NULL) {
        gci_fail_memory(error);
        return GCI_UNREADABLE;
    }
    gci_found found = pack_attachments(parcel, store, &candidate->record, error);
    if (found != GCI_FOUND)
        return found;
    pack_description(parcel, store);
    return gci_portable_write_entry(store, candidate, &parcel->frame, error);
}

gci_found
gci_parcel_pack(gci_parcel *parcel, gci_store *store, gcache_key const *key, char const *id, gcache_error *error)
{
    gci_candidates *set;

    *parcel = (gci_parcel){ .key = *key };
    snprintf(parcel->id, sizeof parcel->id, "%s", id);
    gci_buf_init(&parcel->frame, GCI_BUF_NO_LIMIT);
    gci_buf_init(&parcel->description, GCI_BUF_NO_LIMIT);
    gci_buf_init(&parcel->head, GCI_BUF_NO_LIMIT);
    gci_found found = gci_store_candidates(store, key, &set, error);
    if (found != GCI_FOUND)
        return found;
    gci_candidate *candidate = gci_candidates_find(set, id);
    found = candidate != NULL ? pack_candidate(parcel, store, candidate, error) : GCI_ABSENT;
    if (found == GCI_FOUND && parcel->frame.failed) {
        gci_fail_memory(error);
        found = GCI_UNREADABLE;
    }
    gci_candidates_release(set);
    return found;
}

void
gci_parcel_clear(gci_parcel *parcel)
{
    for (size_t i = 0; i < parcel->attachment_count; i++)
        gci_buf_clear(&parcel->attachments[i]);
    free(parcel->attachments);
    free(parcel->objects);
    gci_buf_clear(&parcel->frame);
    gci_buf_clear(&parcel->description);
    gci_buf_clear(&parcel->head);
}

/* ---- publishing ---- */

/* Adds payload and head, which depend on the tier. The head comes last: who sees it can get the rest. */
static bool
complete(gci_parcel *parcel, gci_tier const *tier)
{
    uint64_t expires_ns = tier->ttl_ns != 0 ? gci_clock_wall_ns() + tier->ttl_ns : 0;
    char name[GCACHE_OBJECT_NAME_SIZE];
    gci_remote_head head;
    gci_view payload;

    parcel->head.size = 0;
    if (!gci_remote_head_write(&parcel->head, gci_buf_view(&parcel->frame), expires_ns, &payload))
        return false;
    gcache_object object = { .kind = GCACHE_OBJECT_HEAD, .key = parcel->key, .bytes = parcel->head.data,
                             .size = parcel->head.size };
    snprintf(object.name, sizeof object.name, "%s", parcel->id);
    if (gci_remote_head_read(&object, &head) != GCI_HEAD_GOOD)
        return false;
    gci_remote_payload_name(&head, name);
    if (payload.size != 0)
        add(parcel, GCACHE_OBJECT_PAYLOAD, name, payload);
    add(parcel, GCACHE_OBJECT_HEAD, parcel->id, gci_buf_view(&parcel->head));
    return true;
}

static bool
fits(gci_parcel const *parcel, gci_tier const *tier)
{
    uint64_t most = tier->max_bytes != 0 ? tier->max_bytes : GCACHE_TIER_BYTES_MAX;

    for (size_t i = 0; i < parcel->count; i++) {
        if (parcel->objects[i].size > most)
            return false;
    }
    return true;
}

gcache_tier_answer
gci_parcel_publish(gci_parcel *parcel, gci_tier *tier, gcache_tier_lease const *fence, gci_asking *asking)
{
    size_t shared = parcel->count;
    uint64_t bytes = parcel->bytes;
    gcache_tier_answer answer = GCACHE_TIER_MISS;

    if (!gci_asking_begin(asking, tier, GCI_ASK_TO_WRITE, bytes + parcel->frame.size)) {
        answer = GCACHE_TIER_TROUBLE;
    } else if (!complete(parcel, tier)) {
        snprintf(asking->call.message, sizeof asking->call.message, "entry %s can't be packed", parcel->id);
    } else if (!fits(parcel, tier)) {
        snprintf(asking->call.message, sizeof asking->call.message, "entry %s is larger than it takes", parcel->id);
    } else {
        asking->call.fence = fence;
        answer = GCI_ASK(asking, publish, parcel->objects, parcel->count);
    }
    parcel->count = shared;
    parcel->bytes = bytes;
    gci_asking_end(asking);
    if (answer == GCACHE_TIER_HIT)
        gci_tier_add(tier, GCACHE_TIER_COUNT_PUBLISHED, 1);
    return answer;
}
