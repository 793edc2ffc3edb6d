/* Candidates in a tier: see remote.h. What a tier hands out is believed only as far as it verifies. */
#include "cache/tiers/remote.h"

#include "base/check.h"
#include "base/system/clock.h"
#include "cache/candidates/ready.h"
#include "store/read/foreign.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- listing ---- */

/* A line for people about what isn't used, kept of the first. */
static void
refuse(gci_remote *remote, char const *what)
{
    if (remote->reply.refused++ == 0)
        snprintf(remote->message, sizeof remote->message, "%.255s", what);
    gci_tier_add(remote->asking.tier, GCACHE_TIER_COUNT_REFUSED, 1);
}

static bool
make_room(gci_remote *remote)
{
    size_t room = remote->room != 0 ? remote->room * 2 : 16;

    if (remote->count < remote->room)
        return true;
    gci_view *frames = gci_arena_array(&remote->arena, room, sizeof *frames);
    gci_remote_place *places = gci_arena_array(&remote->arena, room, sizeof *places);
    if (frames == NULL || places == NULL)
        return false;
    if (remote->count != 0) {
        memcpy(frames, remote->frames, remote->count * sizeof *frames);
        memcpy(places, remote->places, remote->count * sizeof *places);
    }
    remote->frames = frames;
    remote->places = places;
    remote->room = room;
    return true;
}

/* The frame of a head; of one that has run out, what is remembered of an evicted candidate. */
static gci_view
frame_of(gci_remote *remote, gci_remote_head const *head)
{
    uint64_t now = gci_clock_wall_ns();

    if (head->frame.type == GCI_FRAME_EVICTED)
        remote->reply.evicted++;
    if (head->expires_ns == 0 || head->expires_ns > now || head->frame.type == GCI_FRAME_EVICTED)
        return gci_arena_copy(&remote->arena, head->bytes);
    gci_buf tombstone;
    gci_buf_init(&tombstone, GCI_BUF_NO_LIMIT);
    size_t header = gci_remote_head_bury(&tombstone, head, head->expires_ns, 0);
    gci_view frame = gci_view_of(NULL, 0);
    if (!tombstone.failed)
        frame = gci_arena_copy(&remote->arena, gci_view_of(tombstone.data + header, tombstone.size - header));
    gci_buf_clear(&tombstone);
    remote->reply.evicted++;
    return frame;
}

/* Anything but 0: no memory for more. */
static int
take_head(void *state, gcache_object const *object)
{
    gci_remote *remote = state;
    gci_remote_head head;

    if (memcmp(object->key.bytes, remote->key.bytes, sizeof remote->key.bytes) != 0 || object->kind != GCACHE_OBJECT_HEAD)
        return 0;
    gci_head_state state_of_head = gci_remote_head_read(object, &head);
    if (state_of_head == GCI_HEAD_BAD)
        refuse(remote, "a candidate's head is damaged, or another candidate's");
    if (state_of_head != GCI_HEAD_GOOD)
        return 0;
    if (!make_room(remote))
        return 1;
    if (head.expires_ns != 0 && head.expires_ns + GCI_STALE_AFTER_NS < gci_clock_wall_ns()) {
        if (remote->stale_count < GCI_STALE_MOST)
            remote->stale[remote->stale_count++] = *object;
        return 0;
    }
    gci_view frame = frame_of(remote, &head);
    if (frame.data == NULL)
        return 1;
    gci_remote_place *place = &remote->places[remote->count];
    snprintf(place->id, sizeof place->id, "%.32s", object->name);
    gci_remote_payload_name(&head, place->payload);
    remote->frames[remote->count++] = frame;
    return 0;
}

gcache_tier_answer
gci_remote_list(gci_remote *remote, gcache *cache, gci_tier *tier, gcache_key const *key)
{
    remote->cache = cache;
    remote->key = *key;
    remote->reply = (gci_tier_reply){ .tier = tier->shown, .message = "" };
    remote->is_lookup = remote->key_is_known = false;
    remote->set = NULL;
    remote->frames = NULL;
    remote->places = NULL;
    remote->count = remote->room = remote->stale_count = 0;
    remote->message[0] = '\0';
    remote->arrival.set = NULL;
    gci_arena_init(&remote->arena, GCACHE_TIER_LIST_BYTES_MAX * 2);
    if (!gci_asking_begin(&remote->asking, tier, GCI_ASK_TO_READ, 0))
        return GCACHE_TIER_TROUBLE;
    gcache_tier_answer answer = GCI_ASK(&remote->asking, list, key, take_head, remote);
    if (answer != GCACHE_TIER_HIT)
        return answer;
    gci_found found = gci_foreign_candidates(cache->store, key, remote->frames, remote->count, &remote->set, NULL);
    if (found != GCI_FOUND)
        return GCACHE_TIER_MISS;
    remote->reply.candidates = (uint32_t)remote->set->count;
    return GCACHE_TIER_HIT;
}

/* ---- fetching the chosen one ---- */

/* What is wanted of one candidate, and what has come of it. */
typedef struct fetching {
    gci_remote *remote;
    gci_record const *record;
    gcache_object *wanted;
    bool *got;
    size_t count;
    gci_buf payload;
    bool has_payload;
    gci_stored_description *description;
    gcache_error *error;
    gcache_status trouble; /* here, not the tier's */
} fetching;

static gci_remote_place const *
place_of(gci_remote const *remote, char const *id)
{
    for (size_t i = 0; i < remote->count; i++) {
        if (strcmp(remote->places[i].id, id) == 0)
            return &remote->places[i];
    }
    return NULL;
}

static void
want(fetching *f, gcache_object_kind kind, gcache_key const *key, char const *name)
{
    gcache_object *object = &f->wanted[f->count++];

    *object = (gcache_object){ .kind = kind };
    if (key != NULL)
        object->key = *key;
    snprintf(object->name, sizeof object->name, "%s", name);
}

static bool
list_wanted(fetching *f, gci_candidate *candidate, bool inlined)
{
    gci_remote *remote = f->remote;
    gci_record const *record = f->record;
    gci_remote_place const *place = place_of(remote, record->id);
    char name[GCACHE_OBJECT_NAME_SIZE];

    f->wanted = gci_arena_array(&remote->arena, record->attachment_count + 2, sizeof *f->wanted);
    f->got = gci_arena_array(&remote->arena, record->attachment_count + 2, sizeof *f->got);
    if (f->wanted == NULL || f->got == NULL || place == NULL)
        return false;
    if (!inlined)
        want(f, GCACHE_OBJECT_PAYLOAD, &candidate->record.key, place->payload);
    /* It costs no round trip beside a payload; otherwise it isn't waited for. */
    if (!inlined && !remote->key_is_known)
        want(f, GCACHE_OBJECT_DESCRIPTION, &candidate->record.key, "");
    for (size_t i = 0; i < record->attachment_count; i++) {
        if (gci_store_has_attachment(remote->cache->store, &record->attachments[i]))
            continue;
        gci_hex(record->attachments[i].sha256, sizeof record->attachments[i].sha256, name);
        want(f, GCACHE_OBJECT_ATTACHMENT, NULL, name);
    }
    memset(f->got, 0, f->count * sizeof *f->got);
    return true;
}

/* What a file's name promises is checked by storing it: the store names it by its content. */
static void
take_attachment(fetching *f, gcache_object const *object)
{
    gci_attachment attachment = { .name = GCI_VIEW("attachment"), .mode = 0644 };
    char name[GCACHE_OBJECT_NAME_SIZE];
    gci_view bytes = gci_view_of(object->bytes, object->size);
    uint8_t hash[GCI_SHA256_BYTES];

    if (!gci_sha256(bytes, hash))
        return;
    gci_hex(hash, sizeof hash, name);
    if (strcmp(name, object->name) != 0) {
        refuse(f->remote, "an attachment isn't what it is called by");
        return;
    }
    f->trouble = gci_store_attach(f->remote->cache->store, bytes, &attachment, f->error);
}

static int
take_object(void *state, gcache_object const *object)
{
    fetching *f = state;

    for (size_t i = 0; i < f->count; i++) {
        if (f->wanted[i].kind != object->kind || strcmp(f->wanted[i].name, object->name) != 0 || f->got[i])
            continue;
        f->got[i] = true;
        if (object->kind == GCACHE_OBJECT_PAYLOAD) {
            gci_buf_append(&f->payload, object->bytes, object->size);
            f->has_payload = true;
        } else if (object->kind == GCACHE_OBJECT_DESCRIPTION) {
            f->description = gci_description_from(object, &f->remote->key);
        } else {
            take_attachment(f, object);
        }
        break;
    }
    return f->trouble != GCACHE_OK;
}

/* Whether all that serving needs has come. A description needn't. */
static bool
has_all(fetching const *f)
{
    for (size_t i = 0; i < f->count; i++) {
        if (!f->got[i] && f->wanted[i].kind != GCACHE_OBJECT_DESCRIPTION)
            return false;
    }
    return true;
}

static gci_found
ask_for_objects(fetching *f)
{
    gci_asking *asking = &f->remote->asking;
    gcache_tier_answer answer =
        f->count != 0 ? GCI_ASK(asking, fetch, f->wanted, f->count, take_object, f) : GCACHE_TIER_HIT;

    if (answer == GCACHE_TIER_TROUBLE) {
        gci_fail(f->error, asking->call.reason == GCACHE_REASON_REMOTE_TIMEOUT ? GCACHE_ERROR_BUSY : GCACHE_ERROR_IO, "%s: %s",
                 asking->tier->shown, asking->call.message);
        return GCI_UNREADABLE;
    }
    if (f->trouble != GCACHE_OK)
        return GCI_UNREADABLE;
    if (has_all(f) && !f->payload.failed)
        return GCI_FOUND;
    f->remote->reply.evicted++;
    gci_fail(f->error, GCACHE_ERROR_NOT_FOUND, "entry %s: %s has its head, and no longer all of the rest", f->record->id,
             asking->tier->shown);
    return GCI_EVICTED;
}

static gci_found
fetch_and_verify(fetching *f, gci_candidate *candidate, gci_payload *out_payload)
{
    gci_store *store = f->remote->cache->store;
    bool inlined;
    gci_view stored = gci_foreign_inlined(candidate, &inlined);

    /* Names that lead out of a folder, or a program that isn't its guards': nobody honest writes such. */
    if (gci_attachments_check_names(f->record->attachments, f->record->attachment_count, f->error) != GCACHE_OK ||
        !gci_program_is_of_guards(f->record, f->error)) {
        refuse(f->remote, f->error->message);
        return GCI_CORRUPT;
    }
    if (!list_wanted(f, candidate, inlined)) {
        gci_fail_memory(f->error);
        return GCI_UNREADABLE;
    }
    gci_found found = ask_for_objects(f);
    if (found != GCI_FOUND)
        return found;
    if (!inlined)
        stored = gci_buf_view(&f->payload);
    /* What is done here isn't the tier's time. */
    uint64_t begin = gci_clock_steady_ns(), most = f->remote->asking.call.max_bytes;
    found = gci_foreign_payload(store, candidate, stored, most != 0 ? most : GCACHE_TIER_BYTES_MAX, out_payload, f->error);
    f->remote->asking.call.deadline_ns += gci_clock_steady_ns() - begin;
    if (found != GCI_FOUND)
        refuse(f->remote, f->error->message);
    return found;
}

gci_found
gci_remote_fetch(gci_remote *remote, gci_candidate *candidate, gci_payload *out_payload, gcache_error *error)
{
    gcache_error local = { 0 };
    fetching f = { .remote = remote, .record = &candidate->record, .error = error != NULL ? error : &local };

    gci_error_clear(f.error);
    *out_payload = (gci_payload){ 0 };
    gci_buf_init(&f.payload, GCI_BUF_NO_LIMIT);
    gci_found found = fetch_and_verify(&f, candidate, out_payload);
    gci_arrival_clear(&remote->arrival);
    if (found == GCI_FOUND) {
        bool later = !remote->key_is_known && f.description == NULL && !f.has_payload;
        remote->arrival = (gci_arrival){ gci_candidates_retain(remote->set), candidate, f.payload, f.description,
                                         later ? remote->asking.tier : NULL };
    } else {
        gci_stored_description_free(f.description);
        gci_buf_clear(&f.payload);
    }
    return found;
}

/* ---- the end ---- */

static void
count_lookup(gci_tier *tier, gci_tier_reply const *reply)
{
    gci_tier_add(tier, GCACHE_TIER_COUNT_ASKED, 1);
    gci_tier_add(tier, GCACHE_TIER_COUNT_ASKING_NS, reply->elapsed_ns);
    if (reply->answer != GCACHE_TIER_TROUBLE)
        gci_tier_add(tier, reply->answer == GCACHE_TIER_HIT ? GCACHE_TIER_COUNT_HITS : GCACHE_TIER_COUNT_MISSES, 1);
}

void
gci_remote_end(gci_remote *remote, gcache_tier_answer answer)
{
    gci_asking *asking = &remote->asking;
    gci_tier *tier = asking->tier;

    if (asking->answer == GCACHE_TIER_TROUBLE) {
        answer = GCACHE_TIER_TROUBLE;
        remote->reply.reason = asking->call.reason;
        snprintf(remote->message, sizeof remote->message, "%s", asking->call.message);
    }
    remote->reply.answer = answer;
    if (answer == GCACHE_TIER_HIT)
        remote->reply.reason = GCACHE_REASON_NONE;
    remote->reply.message = remote->message;
    remote->reply.elapsed_ns = gci_asking_end(asking);
    if (remote->is_lookup && !asking->left_alone)
        count_lookup(tier, &remote->reply);
}

void
gci_remote_clear(gci_remote *remote)
{
    gci_arrival_clear(&remote->arrival);
    gci_candidates_release(remote->set);
    gci_arena_clear(&remote->arena);
}
