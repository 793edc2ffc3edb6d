/* Runs: frames decoded in one go, and payloads kept with their candidates. */
#include "store/memory/run.h"

#include "base/check.h"
#include "base/system/file.h"

#include <stdlib.h>

/* ---- the frames ---- */

/* Of a pack, verified; most keys have few enough for the stack. */
#define FRAMES_ON_STACK 16

struct frames {
    gci_frame *items;
    size_t count, capacity;
    gci_frame local[FRAMES_ON_STACK];
};

static bool
add_frame(struct frames *frames, gci_frame const *frame)
{
    if (frames->count == frames->capacity) {
        size_t capacity = frames->capacity * 4;
        gci_frame *items = malloc(capacity * sizeof *items);
        if (items == NULL)
            return false;
        memcpy(items, frames->items, frames->count * sizeof *items);
        if (frames->items != frames->local)
            free(frames->items);
        frames->items = items;
        frames->capacity = capacity;
    }
    frames->items[frames->count++] = *frame;
    return true;
}

/* Walks the pack, verifying everything, and keeps the candidates' frames. false: no memory. */
static bool
collect_frames(struct gci_run_inside *inside, gci_pack_walk *walk, struct frames *frames)
{
    gci_frame frame;

    while (gci_pack_next(walk, &frame)) {
        if (frame.type == GCI_FRAME_DESCRIPTION)
            inside->description = gci_view_of(walk->bytes.data + walk->at, walk->bytes.size - walk->at);
        else if (!add_frame(frames, &frame))
            return false;
    }
    inside->damaged = walk->damaged;
    return true;
}

/* ---- decoding ---- */

bool
gci_candidate_verify(gci_candidate const *candidate, gci_signing_key const *keys, size_t count)
{
    struct gci_candidate_place const *place = candidate->place;

    return gci_signature_verify(place->head, &place->signature, keys, count) &&
           (!place->in_pack || gci_signature_covers(&place->signature, place->inlined));
}

bool
gci_candidate_is_trusted(gci_candidate const *candidate, gci_trust const *trust)
{
    uint8_t standing = atomic_load_explicit(&candidate->place->standing, memory_order_relaxed);

    if (standing == GCI_STANDING_OPEN) {
        standing = gci_candidate_verify(candidate, trust->keys, trust->count) ? GCI_STANDING_GOOD : GCI_STANDING_REFUTED;
        atomic_store_explicit(&candidate->place->standing, standing, memory_order_relaxed);
    }
    return standing == GCI_STANDING_GOOD;
}

/* Whether a key of ours has that name, and makes signatures of that kind: only then a look at the signature is worth it. */
static bool
is_by_key_of_ours(gci_signature const *signature, gci_trust const *trust)
{
    for (size_t i = 0; i < trust->count; i++) {
        if (gci_view_is(signature->key_id, trust->keys[i].id))
            return trust->keys[i].algorithm == signature->algorithm;
    }
    return false;
}

static gci_standing
first_standing(gci_candidate const *candidate, gci_trust const *trust)
{
    gci_signature const *signature = &candidate->place->signature;

    if (!trust->required)
        return GCI_STANDING_GOOD;
    if (!is_by_key_of_ours(signature, trust))
        return GCI_STANDING_REFUTED;
    if (signature->algorithm == GCACHE_SIGNING_ED25519)
        return GCI_STANDING_OPEN;
    return gci_candidate_verify(candidate, trust->keys, trust->count) ? GCI_STANDING_GOOD : GCI_STANDING_REFUTED;
}

/* Fills in a candidate from a frame. false: the frame doesn't hold one, or of another key. */
static bool
decode(struct gci_run_inside *inside, gci_frame const *frame, gci_candidate *out, struct gci_candidate_place *place)
{
    *place = (struct gci_candidate_place){ 0 };
    *out = (gci_candidate){ .run = &inside->run, .evicted_ns = frame->evicted_ns, .place = place };
    if (!gci_record_read(frame->head, &inside->arena, &out->record, &place->signature) ||
        frame->version < gci_record_version(&place->signature) ||
        memcmp(out->record.key.bytes, inside->key.bytes, sizeof inside->key.bytes) != 0)
        return false;
    out->is_evicted = frame->type == GCI_FRAME_EVICTED;
    out->record.stored_size = frame->payload_size;
    place->head = frame->head;
    place->checksum = frame->payload_checksum;
    place->in_pack = frame->type == GCI_FRAME_ENTRY;
    place->inlined = frame->payload;
    return !place->in_pack || out->record.compression != GCI_RAW || out->record.payload_size == frame->payload.size;
}

static void
take_candidate(struct gci_run_inside *inside, gci_frame const *frame, struct gci_candidate_place *place,
               gci_trust const *trust)
{
    gci_candidate *candidate = &inside->run.items[inside->run.count];

    if (!decode(inside, frame, candidate, place)) {
        inside->damaged++;
        return;
    }
    gci_standing standing = first_standing(candidate, trust);
    atomic_init(&place->standing, (uint8_t)standing);
    if (standing == GCI_STANDING_REFUTED) {
        inside->untrusted++;
        return;
    }
    if (candidate->record.sequence > inside->last_sequence)
        inside->last_sequence = candidate->record.sequence;
    inside->run.count++;
}

static bool
decode_frames(struct gci_run_inside *inside, struct frames const *frames, gci_trust const *trust)
{
    gci_run *run = &inside->run;

    run->items = gci_arena_array(&inside->arena, frames->count, sizeof *run->items);
    struct gci_candidate_place *places = gci_arena_array(&inside->arena, frames->count, sizeof *places);
    if (run->items == NULL || places == NULL)
        return false;
    for (size_t i = 0; i < frames->count; i++)
        take_candidate(inside, &frames->items[i], &places[i], trust);
    return !inside->arena.failed;
}

static bool
read_all(struct gci_run_inside *inside, gci_pack_walk *walk, gci_trust const *trust)
{
    struct frames frames = { .capacity = FRAMES_ON_STACK };

    frames.items = frames.local;
    inside->bytes = gci_arena_copy(&inside->arena, walk->bytes);
    if (inside->bytes.data == NULL)
        return false;
    walk->bytes = inside->bytes;
    bool decoded = collect_frames(inside, walk, &frames) && decode_frames(inside, &frames, trust);
    if (frames.items != frames.local)
        free(frames.items);
    return decoded;
}

gci_run *
gci_run_new(gcache_key const *key, gci_pack_walk *walk, gci_budget *budget, gci_trust const *trust)
{
    struct gci_run_inside *inside = calloc(1, sizeof *inside);

    if (inside == NULL)
        return NULL;
    inside->run.inside = inside;
    inside->run.account = &inside->account;
    inside->key = *key;
    atomic_store(&inside->references, 1);
    gci_arena_init(&inside->arena, SIZE_MAX);
    bool whole = read_all(inside, walk, trust);
    gci_account_open(&inside->account, budget, inside->arena.total + sizeof *inside);
    if (whole)
        return &inside->run;
    gci_run_release(&inside->run);
    return NULL;
}

/* ---- payloads ---- */

static void
free_base(gci_payload_hold hold, void *base, size_t base_size)
{
    if (hold == GCI_HOLD_MALLOC)
        free(base);
    else
        gci_file_unmap(base, base_size);
}

bool
gci_payload_hold_on(gci_payload_hold hold, void *base, size_t base_size, gci_view bytes, gci_payload *out)
{
    struct gci_held_payload *held = calloc(1, sizeof *held);

    if (held == NULL) {
        free_base(hold, base, base_size);
        return false;
    }
    *held = (struct gci_held_payload){ .bytes = bytes, .hold = hold, .base = base, .base_size = base_size };
    *out = (gci_payload){ bytes.data, bytes.size, held };
    return true;
}

static void
free_held(struct gci_held_payload *held)
{
    if (held == NULL)
        return;
    free_base(held->hold, held->base, held->base_size);
    gci_account_close(&held->account);
    free(held);
}

void
gci_payload_release(gci_payload *payload)
{
    free_held(payload->held);
    payload->held = NULL;
}

void
gci_payload_keep(gci_candidate *candidate, gci_payload *payload)
{
    struct gci_held_payload *held = payload->held, *expected = NULL;

    GCI_ASSERT(held != NULL && held->account.budget == NULL);
    gci_account_open(&held->account, gci_run_inside(candidate->run)->account.budget, held->base_size);
    /* If another thread was faster, this one stays with its reader and counts until then. */
    if (atomic_compare_exchange_strong(&candidate->place->payload, &expected, held))
        payload->held = NULL;
}

bool
gci_payload_kept(gci_candidate const *candidate, gci_payload *out)
{
    struct gci_candidate_place *place = candidate->place;
    struct gci_held_payload const *held = atomic_load_explicit(&place->payload, memory_order_acquire);
    gci_view none = { NULL, 0 }, raw = candidate->record.compression == GCI_RAW ? place->inlined : none;
    gci_view bytes = held != NULL ? held->bytes : raw;

    *out = (gci_payload){ bytes.data, bytes.size, NULL };
    return held != NULL || (place->in_pack && candidate->record.compression == GCI_RAW);
}

/* ---- life ---- */

gci_run *
gci_run_retain(gci_run *run)
{
    atomic_fetch_add_explicit(&run->inside->references, 1, memory_order_relaxed);
    return run;
}

void
gci_run_release(gci_run *run)
{
    if (run == NULL || atomic_fetch_sub_explicit(&run->inside->references, 1, memory_order_acq_rel) != 1)
        return;
    struct gci_run_inside *inside = run->inside;
    gci_extra_destroy(&run->extra);
    for (size_t i = 0; i < run->count; i++)
        free_held(atomic_load(&run->items[i].place->payload));
    gci_account_close(&inside->account);
    gci_arena_clear(&inside->arena);
    free(inside);
}
