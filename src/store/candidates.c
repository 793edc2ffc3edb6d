#include "store/candidates.h"

#include "base/check.h"
#include "base/file.h"
#include "store/record.h"

#include <stdlib.h>

/* Beside its arena: the struct itself and a node of the memory tier. */
#define SET_OVERHEAD (sizeof(struct gci_candidates_inside) + 128)

/* ---- budget ---- */

gci_budget *
gci_budget_new(void)
{
    gci_budget *budget = calloc(1, sizeof *budget);

    if (budget != NULL)
        atomic_store(&budget->references, 1);
    return budget;
}

void
gci_budget_release(gci_budget *budget)
{
    if (budget != NULL && atomic_fetch_sub(&budget->references, 1) == 1)
        free(budget);
}

static gci_budget *
charge(gci_budget *budget, size_t cost)
{
    if (budget == NULL)
        return NULL;
    atomic_fetch_add(&budget->references, 1);
    atomic_fetch_add(&budget->bytes, cost);
    return budget;
}

static void
discharge(gci_budget *budget, size_t cost)
{
    if (budget == NULL)
        return;
    atomic_fetch_sub(&budget->bytes, cost);
    gci_budget_release(budget);
}

/* ---- decoding ---- */

/* The frames of a pack, verified; most keys have few enough for the stack. */
#define FRAMES_ON_STACK 16

struct frames {
    gci_frame *items;
    size_t count, capacity;
    size_t live;
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
collect_frames(struct gci_candidates_inside *inside, struct frames *frames, gci_pack_walk *walk)
{
    gci_frame frame;

    frames->items = frames->local;
    frames->capacity = FRAMES_ON_STACK;
    gci_pack_begin(inside->bytes, &inside->set.key, walk);
    while (gci_pack_next(walk, &frame)) {
        if (frame.type == GCI_FRAME_DESCRIPTION) {
            inside->has_description = true;
            inside->description_at = walk->at;
            continue;
        }
        if (!add_frame(frames, &frame))
            return false;
        frames->live += frame.type != GCI_FRAME_EVICTED;
    }
    return true;
}

bool
gci_candidate_is_signed_payload(gci_candidate const *candidate, gci_view stored)
{
    uint8_t hash[GCI_SHA256_BYTES];
    gci_digest *digest = gci_digest_new();

    bool same = digest != NULL && gci_digest_of(digest, stored, hash) &&
                memcmp(hash, candidate->place->signature.payload_sha256, sizeof hash) == 0;
    gci_digest_free(digest);
    return same;
}

static bool
is_trusted(gci_frame const *frame, gci_candidate const *candidate, gci_trust const *trust)
{
    if (!trust->required)
        return true;
    return gci_signature_verify(frame->head, &candidate->place->signature, trust->keys, trust->count) &&
           (frame->type != GCI_FRAME_ENTRY || gci_candidate_is_signed_payload(candidate, frame->payload));
}

/* Fills in the next candidate from a frame. false: the frame doesn't hold one, or of another key. */
static bool
decode(struct gci_candidates_inside *inside, gci_frame const *frame, gci_candidate *out, struct gci_candidate_place *place)
{
    *place = (struct gci_candidate_place){ 0 };
    *out = (gci_candidate){ .set = &inside->set, .evicted_ns = frame->evicted_ns, .place = place };
    if (!gci_record_read(frame->head, &inside->arena, &out->record, &place->signature) ||
        memcmp(out->record.key.bytes, inside->set.key.bytes, sizeof inside->set.key.bytes) != 0)
        return false;
    out->record.stored_size = frame->payload_size;
    place->head = frame->head;
    place->checksum = frame->payload_checksum;
    place->in_pack = frame->type == GCI_FRAME_ENTRY;
    place->inlined = frame->payload;
    place->own.payload = (gci_payload){ frame->payload.data, frame->payload.size };
    place->own.hold = GCI_HOLD_SET;
    place->own.set = &inside->set;
    return !place->in_pack || out->record.compression != GCI_RAW || out->record.payload_size == frame->payload.size;
}

static void
take_candidate(struct gci_candidates_inside *inside, gci_frame const *frame, struct gci_candidate_place *place,
               gci_trust const *trust)
{
    gci_candidates *set = &inside->set;
    bool live = frame->type != GCI_FRAME_EVICTED;
    gci_candidate *candidate = live ? &set->items[set->count] : &set->evicted[set->evicted_count];

    if (!decode(inside, frame, candidate, place)) {
        set->damaged++;
        return;
    }
    if (!is_trusted(frame, candidate, trust)) {
        set->untrusted++;
        return;
    }
    if (candidate->record.sequence > inside->last_sequence)
        inside->last_sequence = candidate->record.sequence;
    set->count += live;
    set->evicted_count += !live;
}

/* An entry that came back after its eviction isn't evicted any more. */
static void
forget_returned(gci_candidates *set)
{
    size_t kept = 0;

    for (size_t i = 0; i < set->evicted_count; i++) {
        if (gci_candidates_find(set, set->evicted[i].record.id) == NULL)
            set->evicted[kept++] = set->evicted[i];
    }
    set->evicted_count = kept;
}

static bool
decode_frames(struct gci_candidates_inside *inside, struct frames const *frames, gci_trust const *trust)
{
    gci_candidates *set = &inside->set;

    set->items = gci_arena_array(&inside->arena, frames->count, sizeof *set->items);
    struct gci_candidate_place *place = gci_arena_array(&inside->arena, frames->count, sizeof *place);
    if (set->items == NULL || place == NULL)
        return false;
    set->evicted = set->items + frames->live;
    for (size_t i = 0; i < frames->count; i++)
        take_candidate(inside, &frames->items[i], place++, trust);
    forget_returned(set);
    return !inside->arena.failed;
}

static bool
decode_all(struct gci_candidates_inside *inside, gci_trust const *trust, gci_pack_walk *out_walk)
{
    struct frames frames;

    frames.count = frames.live = 0;
    bool decoded = collect_frames(inside, &frames, out_walk) && decode_frames(inside, &frames, trust);
    inside->set.damaged += out_walk->damaged;
    inside->end = out_walk->end;
    if (frames.items != frames.local)
        free(frames.items);
    return decoded;
}

gci_candidates *
gci_candidates_new(gcache_key const *key, gci_view bytes, gci_budget *budget, gci_trust const *trust,
                   gci_pack_walk *out_walk)
{
    struct gci_candidates_inside *inside = calloc(1, sizeof *inside);

    if (inside == NULL)
        return NULL;
    inside->set.key = *key;
    inside->set.inside = inside;
    atomic_store(&inside->references, 1);
    gci_arena_init(&inside->arena, SIZE_MAX);
    inside->bytes = gci_arena_copy(&inside->arena, bytes);
    if (inside->bytes.data == NULL || !decode_all(inside, trust, out_walk)) {
        gci_candidates_release(&inside->set);
        return NULL;
    }
    size_t cost = inside->arena.total + SET_OVERHEAD;
    inside->budget = charge(budget, cost);
    atomic_store(&inside->cost, cost);
    return &inside->set;
}

gci_candidate *
gci_candidates_find(gci_candidates *set, char const *id)
{
    for (size_t i = 0; i < set->count; i++) {
        if (memcmp(set->items[i].record.id, id, GCACHE_ENTRY_ID_SIZE) == 0)
            return &set->items[i];
    }
    return NULL;
}

/* ---- life ---- */

gci_candidates *
gci_candidates_retain(gci_candidates *set)
{
    atomic_fetch_add_explicit(&set->inside->references, 1, memory_order_relaxed);
    return set;
}

static void
destroy_extra(gci_extra *extra)
{
    void *value = atomic_load(&extra->value);

    if (value != NULL)
        atomic_load(&extra->destroy)(value);
}

static void
destroy_candidates(gci_candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        destroy_extra(&candidates[i].extra);
        struct gci_held_payload *kept = atomic_load(&candidates[i].place->payload);
        if (kept != NULL)
            gci_payload_release(&kept->payload);
    }
}

void
gci_candidates_release(gci_candidates *set)
{
    if (set == NULL || atomic_fetch_sub_explicit(&set->inside->references, 1, memory_order_acq_rel) != 1)
        return;
    struct gci_candidates_inside *inside = set->inside;
    destroy_candidates(set->items, set->count);
    destroy_candidates(set->evicted, set->evicted_count);
    destroy_extra(&set->extra);
    discharge(inside->budget, atomic_load(&inside->cost));
    gci_arena_clear(&inside->arena);
    free(inside);
}

void *
gci_extra_set(gci_candidates *set, gci_extra *extra, void *value, size_t cost, void (*destroy)(void *value))
{
    void *expected = NULL;

    /* The same function for everybody who sets this extra, so that writing it twice is harmless. */
    atomic_store(&extra->destroy, destroy);
    if (!atomic_compare_exchange_strong(&extra->value, &expected, value)) {
        destroy(value);
        return expected;
    }
    atomic_fetch_add(&set->inside->cost, cost);
    if (set->inside->budget != NULL)
        atomic_fetch_add(&set->inside->budget->bytes, cost);
    return value;
}

/* ---- payloads ---- */

static struct gci_held_payload *
held_of(gci_payload *payload)
{
    return (struct gci_held_payload *)payload;
}

static void
free_base(gci_payload_hold hold, void *base, size_t base_size)
{
    if (hold == GCI_HOLD_MALLOC)
        free(base);
    else if (hold == GCI_HOLD_MAP)
        gci_file_unmap(base, base_size);
}

gci_payload *
gci_payload_new(gci_payload_hold hold, void *base, size_t base_size, gci_view bytes)
{
    struct gci_held_payload *held = calloc(1, sizeof *held);

    GCI_ASSERT(hold != GCI_HOLD_SET);
    if (held == NULL) {
        free_base(hold, base, base_size);
        return NULL;
    }
    held->payload = (gci_payload){ bytes.data, bytes.size };
    held->hold = hold;
    held->base = base;
    held->base_size = base_size;
    atomic_store(&held->references, 1);
    return &held->payload;
}

gci_payload *
gci_payload_retain(gci_payload *payload)
{
    struct gci_held_payload *held = held_of(payload);

    if (held->hold == GCI_HOLD_SET)
        gci_candidates_retain(held->set);
    else
        atomic_fetch_add_explicit(&held->references, 1, memory_order_relaxed);
    return payload;
}

void
gci_payload_release(gci_payload *payload)
{
    struct gci_held_payload *held = held_of(payload);

    if (held == NULL)
        return;
    if (held->hold == GCI_HOLD_SET) {
        gci_candidates_release(held->set);
    } else if (atomic_fetch_sub_explicit(&held->references, 1, memory_order_acq_rel) == 1) {
        free_base(held->hold, held->base, held->base_size);
        discharge(held->budget, held->base_size);
        free(held);
    }
}

void
gci_payload_keep(gci_candidate *candidate, gci_payload *payload)
{
    struct gci_held_payload *held = held_of(payload), *expected = NULL;

    GCI_ASSERT(held->hold != GCI_HOLD_SET && held->budget == NULL);
    gci_payload_retain(payload);
    held->budget = charge(candidate->set->inside->budget, held->base_size);
    /* If another thread was faster, this one stays with its reader and counts until then. */
    if (!atomic_compare_exchange_strong(&candidate->place->payload, &expected, held))
        gci_payload_release(payload);
}

gci_payload *
gci_payload_kept(gci_candidate *candidate)
{
    struct gci_candidate_place *place = candidate->place;
    struct gci_held_payload *held = atomic_load_explicit(&place->payload, memory_order_acquire);

    if (held == NULL && place->in_pack && candidate->record.compression == GCI_RAW)
        held = &place->own;
    return held != NULL ? gci_payload_retain(&held->payload) : NULL;
}
