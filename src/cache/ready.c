#include "cache/ready.h"

#include "cache/deltas.h"

#include <stdlib.h>

/* A key's candidates are bounded by options.max_candidates, their texts by the record's limits; this is only a stop for
   what can't happen. */
#define READY_BYTES_MAX ((size_t)1 << 30)

/* The stored program, or, if it is of another version, the texts compiled anew with the producer's names. */
static gci_view
producer_name(void const *state, gci_view name)
{
    gci_record const *record = state;

    for (size_t i = 0; i < record->name_count; i++)
        if (gci_view_equal(record->names[i].name, name))
            return record->names[i].value;
    return name;
}

static gci_guards *
load_guards(gci_record const *record)
{
    gci_guards *guards = NULL;
    gci_naming naming = { .rename = producer_name, .state = record };

    if (gci_guards_load(record->program, &guards, NULL) == GCACHE_OK)
        return guards;
    if (gci_guards_compile(record->guards, record->guard_count, naming, &guards, NULL) == GCACHE_OK)
        return guards;
    return NULL;
}

/* ---- what a hit looks like ---- */

static char const *const *
copy_guard_texts(gci_arena *arena, gci_record const *record)
{
    char const **texts = gci_arena_array(arena, record->guard_count, sizeof *texts);

    for (size_t i = 0; texts != NULL && i < record->guard_count; i++)
        texts[i] = gci_arena_copy(arena, record->guards[i]).data;
    return texts;
}

static gcache_rename const *
copy_names(gci_arena *arena, gci_record const *record)
{
    gcache_rename *renames = gci_arena_array(arena, record->name_count, sizeof *renames);

    for (size_t i = 0; renames != NULL && i < record->name_count; i++)
        renames[i].stored = renames[i].current = gci_arena_copy(arena, record->names[i].name).data;
    return renames;
}

static gcache_attachment const *
copy_attachments(gci_arena *arena, gci_record const *record)
{
    gcache_attachment *attachments = gci_arena_array(arena, record->attachment_count, sizeof *attachments);

    for (size_t i = 0; attachments != NULL && i < record->attachment_count; i++) {
        gci_attachment const *stored = &record->attachments[i];
        attachments[i] = (gcache_attachment){
            .name = gci_arena_copy(arena, stored->name).data,
            .size = stored->size,
            .executable = (stored->mode & 0100) != 0,
        };
    }
    return attachments;
}

static bool
fill_in(gci_arena *arena, gci_ranked *ranked, gci_candidate *candidate)
{
    gci_record const *record = &candidate->record;

    *ranked = (gci_ranked){
        .candidate = candidate,
        .guards = load_guards(record),
        .answer = {
            .outcome = GCACHE_HIT,
            .key = record->key,
            .guards = copy_guard_texts(arena, record),
            .guard_count = record->guard_count,
            .renames = copy_names(arena, record),
            .rename_count = record->name_count,
            .variant = gci_arena_copy(arena, record->variant).data,
            .priority = record->priority,
            .compile_ns = record->compile_ns,
            .note = "",
            .attachments = copy_attachments(arena, record),
            .attachment_count = record->attachment_count,
        },
    };
    memcpy(ranked->answer.entry, record->id, sizeof ranked->answer.entry);
    gci_view metadata;
    gci_read_metadata(record->metadata, arena, &metadata, &ranked->answer.deltas, &ranked->answer.delta_count);
    ranked->answer.metadata = metadata.data;
    ranked->answer.metadata_size = metadata.size;
    return !arena->failed;
}

/* ---- a run of them ---- */

/* Of a run's candidates, in its order. */
typedef struct ready_run {
    gci_arena arena;
    size_t count;
    gci_ranked *items;
} ready_run;

static void
destroy_ready(void *value)
{
    ready_run *ready = value;

    for (size_t i = 0; i < ready->count; i++)
        gci_guards_free(ready->items[i].guards);
    gci_arena_clear(&ready->arena);
    free(ready);
}

static bool
make_ready(ready_run *ready, gci_run *run)
{
    ready->items = gci_arena_array(&ready->arena, run->count, sizeof *ready->items);
    for (; ready->items != NULL && ready->count < run->count; ready->count++) {
        if (!fill_in(&ready->arena, &ready->items[ready->count], &run->items[ready->count])) {
            ready->count++;
            return false;
        }
    }
    return ready->items != NULL;
}

static ready_run *
ready_of(gci_run *run)
{
    ready_run *ready = gci_extra_get(&run->extra);

    if (ready != NULL)
        return ready;
    ready = calloc(1, sizeof *ready);
    if (ready == NULL)
        return NULL;
    gci_arena_init(&ready->arena, READY_BYTES_MAX);
    if (!make_ready(ready, run)) {
        destroy_ready(ready);
        return NULL;
    }
    return gci_extra_set(&run->extra, run->account, ready, ready->arena.total, destroy_ready);
}

gci_ranked const *
gci_ready_of(gci_candidate *candidate)
{
    ready_run *ready = ready_of(candidate->run);

    return ready != NULL ? &ready->items[candidate - candidate->run->items] : NULL;
}
