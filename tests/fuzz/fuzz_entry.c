/*
 * Candidate indexes and entries from a hostile disk: decoded without harm, whatever they are. The checksums are put right
 * first, for somebody who can write can do that too; what is decoded lies within what was given.
 */
#include "frames.h"
#include "store/memory/candidates.h"
#include "store/format/compress.h"
#include "store/database/event_log.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

static void
require_within(gci_view view, gci_view whole)
{
    if (view.size > 0 && (view.data < whole.data || view.data + view.size > whole.data + whole.size))
        abort();
}

static void
check_candidate(gci_candidate *candidate, gci_view whole)
{
    gci_record const *record = &candidate->record;
    char raw[4096];

    require_within(record->kind, whole);
    require_within(record->program, whole);
    require_within(record->metadata, whole);
    for (size_t i = 0; i < record->guard_count; i++) {
        require_within(record->guards[i], whole);
        if (record->guards[i].data[record->guards[i].size] != '\0')
            abort();
    }
    for (size_t i = 0; i < record->name_count; i++)
        require_within(record->names[i].value, whole);
    for (size_t i = 0; i < record->requirement_count; i++)
        require_within(record->requirements[i].name, whole);
    require_within(candidate->place->inlined, whole);
    if (record->compression == GCI_ZSTD && record->payload_size <= sizeof raw &&
        gci_compressed_size_is(candidate->place->inlined, record->payload_size))
        gci_decompress(candidate->place->inlined, raw, (size_t)record->payload_size, NULL);
}

/* Where the last good frame begins; 0: there is none. */
static size_t
find_last(gci_view bytes, gcache_key const *key)
{
    gci_pack_walk walk;
    gci_frame frame;
    size_t last = 0;

    gci_pack_begin(bytes, key, &walk);
    while (gci_pack_next(&walk, &frame))
        last = walk.at;
    return last;
}

/* Read in two goes it is what it is in one. */
static void
decode_grown(gci_candidates const *whole, gci_view bytes)
{
    size_t last = find_last(bytes, &whole->key);
    gci_view begin = gci_view_of(bytes.data, last);
    gci_trust trust = { 0 };
    gci_pack_walk walk;

    if (last == 0)
        return;
    gci_pack_begin(begin, &whole->key, &walk);
    gci_candidates *former = gci_candidates_new(&whole->key, begin, NULL, &trust, &walk);
    if (former == NULL)
        abort();
    uint64_t end = gci_inside(former)->end;
    gci_view rest = gci_view_of(bytes.data + end, bytes.size - end);
    gci_candidates *grown = former->damaged == 0 ? gci_candidates_grown(former, rest, NULL, &trust) : NULL;
    gci_candidates_release(former);
    if (grown == NULL)
        return;
    if (grown->count != whole->count || grown->evicted_count != whole->evicted_count ||
        gci_inside(grown)->size != bytes.size)
        abort();
    for (size_t i = 0; i < grown->count; i++) {
        if (strcmp(grown->items[i]->record.id, whole->items[i]->record.id) != 0)
            abort();
    }
    gci_candidates_release(grown);
}

static void
decode(gci_view bytes)
{
    gci_trust trust = { 0 };
    gci_pack_walk walk;
    gcache_key key;

    if (bytes.size < GCI_PACK_HEADER)
        return;
    memcpy(key.bytes, bytes.data + 16, sizeof key.bytes);
    if (gci_pack_begin(bytes, &key, &walk) != GCI_PACK_GOOD)
        return;
    gci_candidates *set = gci_candidates_new(&key, bytes, NULL, &trust, &walk);
    if (set == NULL)
        abort();
    gci_view whole = gci_run_inside(set->runs[0])->bytes;
    if (walk.end > bytes.size)
        abort();
    for (size_t i = 0; i < set->count; i++)
        check_candidate(set->items[i], whole);
    for (size_t i = 0; i < set->evicted_count; i++)
        require_within(set->evicted[i]->record.label, whole);
    decode_grown(set, bytes);
    gci_candidates_release(set);
}

/* Events of a segment: the walk ends, and stays within. */
static void
read_events(gci_view bytes)
{
    gci_event event;
    size_t at = 0, before = 0;

    while (gci_event_next(bytes, &at, &event)) {
        require_within(event.body, bytes);
        if (at <= before || at > bytes.size)
            abort();
        before = at;
    }
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    char *copy = malloc(size + 1);

    if (copy == NULL)
        return 0;
    memcpy(copy, data, size);
    decode(gci_view_of(copy, size));
    read_events(gci_view_of(copy, size));
    frames_right_pack(copy, size);
    decode(gci_view_of(copy, size));
    free(copy);
    return 0;
}
