/* Recency: hits are gathered with the candidates in memory and written out in batches. */
#include "store/index/touch.h"

#include "base/system/clock.h"
#include "store/index/drain.h"
#include "store/memory/run.h"
#include "store/state/state.h"

/* Written out when this much has gathered. */
#define BATCH ((size_t)60 << 10)

static void
put_use(gci_buf *out, gci_record const *record, uint64_t used_ns, uint32_t hits)
{
    gci_entry_row row = { .key = record->key, .used_ns = used_ns, .hits = hits };

    if (gci_unhex(gci_view_text(record->id), row.id, sizeof row.id))
        gci_fields_write(out, &gci_touched_fields, &row);
}

static void
put_touch(gci_buf *out, gci_candidate *candidate)
{
    _Atomic uint32_t *gathered = &candidate->place->hits;
    uint32_t hits = atomic_load_explicit(gathered, memory_order_relaxed) != 0 ? atomic_exchange(gathered, 0) : 0;

    if (hits != 0)
        put_use(out, &candidate->record, atomic_load(&candidate->place->used_ns), hits);
}

#define COUNTED_BYTES_MAX ((size_t)4 << 10)

/* A handle that was closed before it needed what processes share adds to their counts by an event. */
static void
put_counts(gci_buf *out, gci_store *store)
{
    for (size_t i = 0; i < GCI_COUNT_COUNT; i++) {
        uint64_t number = atomic_exchange(&store->counts[i], 0);
        if (number != 0)
            gci_fields_write(out, &gci_counted_fields, &(gci_counted){ (uint8_t)i, number });
    }
}

static void
append_touches(gci_store *store)
{
    uint64_t now = gci_clock_wall_ns();
    gci_buf counted;

    gci_buf_init(&counted, COUNTED_BYTES_MAX);
    if (!atomic_load(&store->warm))
        put_counts(&counted, store);
    gci_event const events[] = { { GCI_EVENT_TOUCHED, now, gci_buf_view(&store->touches) },
                                 { GCI_EVENT_COUNTED, now, gci_buf_view(&counted) } };
    gci_segment_append_all(&store->segment, events, counted.size > 0 && !counted.failed ? 2 : 1, NULL);
    gci_buf_clear(&counted);
}

/* Under touch_mutex. What can't be written is lost: recency is a hint. Counts alone aren't worth a write. */
static void
write_out(gci_store *store)
{
    if (store->touches.size > 0 && !store->touches.failed)
        append_touches(store);
    store->touches.size = 0;
    store->touches.failed = false;
}

/* The first hit by the exact clock, or it would seem to come before a store of a few milliseconds ago; those that follow by the
   coarse one, which costs less. */
static void
note_use(struct gci_candidate_place *place)
{
    bool first = atomic_fetch_add_explicit(&place->hits, 1, memory_order_relaxed) == 0;
    uint64_t now = first ? gci_clock_wall_ns() : gci_clock_coarse_ns();

    if (first || atomic_load_explicit(&place->used_ns, memory_order_relaxed) < now)
        atomic_store_explicit(&place->used_ns, now, memory_order_relaxed);
}

void
gci_store_touch(gci_store *store, gci_candidate *candidate)
{
    struct gci_candidate_place *place = candidate->place;

    if (store->read_only)
        return;
    note_use(place);
    if (atomic_load_explicit(&gci_run_inside(candidate->run)->in_memory, memory_order_relaxed) != 0)
        return;
    /* Nobody will come to gather it. */
    pthread_mutex_lock(&store->touch_mutex);
    put_touch(&store->touches, candidate);
    if (store->touches.size >= BATCH)
        write_out(store);
    pthread_mutex_unlock(&store->touch_mutex);
}

void
gci_note_stored(gci_store *store, gci_record const *record)
{
    uint64_t now = gci_clock_wall_ns();

    pthread_mutex_lock(&store->touch_mutex);
    put_use(&store->touches, record, now > record->created_ns ? now : record->created_ns + 1, 0);
    if (store->touches.size >= BATCH)
        write_out(store);
    pthread_mutex_unlock(&store->touch_mutex);
}

void
gci_save_touches(void *state, gci_run *run)
{
    gci_store *store = state;

    if (store->read_only)
        return;
    pthread_mutex_lock(&store->touch_mutex);
    for (size_t i = 0; i < run->count; i++) {
        put_touch(&store->touches, &run->items[i]);
        if (store->touches.size >= BATCH)
            write_out(store);
    }
    pthread_mutex_unlock(&store->touch_mutex);
}

void
gci_flush_touches(gci_store *store)
{
    if (store->read_only)
        return;
    gci_memory_each(&store->memory, gci_save_touches, store);
    pthread_mutex_lock(&store->touch_mutex);
    write_out(store);
    pthread_mutex_unlock(&store->touch_mutex);
}
