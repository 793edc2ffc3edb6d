/*
 * Candidates made ready: what an answer says of each, and its guards as a program.
 */
#include "cache/candidates/ready.h"

#include "cache/candidates/names.h"

#include <stdlib.h>

/* A key's candidates are bounded by options.max_candidates, their texts by the record's limits; this is only a stop for
   what can't happen. */
#define READY_BYTES_MAX ((size_t)1 << 30)

static gci_view
producer_name(void const *state, gci_view name)
{
    gci_record const *record = state;

    for (size_t i = 0; i < record->name_count && !gci_name_is_text(&record->names[i]); i++)
        if (gci_view_equal(record->names[i].name, name))
            return record->names[i].value;
    return name;
}

gci_naming
gci_producer_naming(gci_record const *record)
{
    return (gci_naming){ .rename = producer_name, .state = record };
}

/* The stored program, or, if it is of another version, the texts compiled anew with the producer's names. */
static gci_guards *
load_guards(gci_record const *record)
{
    gci_guards *guards = NULL;

    if (gci_guards_load(record->program, &guards, NULL) == GCACHE_OK)
        return guards;
    if (gci_guards_compile(record->guards, record->guard_count, gci_producer_naming(record), &guards, NULL) == GCACHE_OK)
        return guards;
    return NULL;
}

bool
gci_program_is_of_guards(gci_record const *record, gcache_error *error)
{
    gci_guards *guards = NULL;
    gci_buf program;

    /* One of another version counts for nothing: the texts are compiled anew. */
    if (gci_guards_load(record->program, &guards, NULL) != GCACHE_OK)
        return true;
    gci_guards_free(guards);
    guards = NULL;
    gci_buf_init(&program, GCI_BUF_NO_LIMIT);
    if (gci_guards_compile(record->guards, record->guard_count, gci_producer_naming(record), &guards, NULL) == GCACHE_OK)
        gci_guards_save(guards, &program);
    bool same = !program.failed && gci_view_equal(gci_buf_view(&program), record->program);
    gci_guards_free(guards);
    gci_buf_clear(&program);
    if (!same)
        gci_fail(error, GCACHE_ERROR_CORRUPT, "entry %s: its guards say something else than their program", record->id);
    return same;
}

/* ---- what a hit looks like ---- */

/* Records keep a zero behind every text, so the answer points to theirs. */
static bool
fill_in(gci_arena *arena, gci_ranked *ranked, gci_candidate *candidate)
{
    gci_record const *record = &candidate->record;
    char const **guards = gci_arena_array(arena, record->guard_count, sizeof *guards);
    gcache_rename *renames = gci_arena_array(arena, record->name_count, sizeof *renames);
    gcache_attachment *attachments = gci_arena_array(arena, record->attachment_count, sizeof *attachments);

    *ranked = (gci_ranked){
        .candidate = candidate,
        .guards = load_guards(record),
        .answer = {
            .size = sizeof(gcache_result),
            .outcome = GCACHE_HIT,
            .key = record->key,
            .guards = guards,
            .guard_count = record->guard_count,
            .renames = renames,
            .rename_count = record->name_count,
            .variant = record->variant.data,
            .priority = record->priority,
            .compile_ns = record->compile_ns,
            .note = "",
            .attachments = attachments,
            .attachment_count = record->attachment_count,
            .metadata = record->metadata.data,
            .metadata_size = record->metadata.size,
            .deltas = record->deltas,
            .delta_count = record->delta_count,
        },
    };
    memcpy(ranked->answer.entry, record->id, sizeof ranked->answer.entry);
    if (arena->failed)
        return false;
    for (size_t i = 0; i < record->guard_count; i++)
        guards[i] = record->guards[i].data;
    for (size_t i = 0; i < record->name_count; i++)
        renames[i].stored = renames[i].current = record->names[i].name.data;
    for (size_t i = 0; i < record->attachment_count; i++) {
        gci_attachment const *stored = &record->attachments[i];
        attachments[i] =
            (gcache_attachment){ .name = stored->name.data, .size = stored->size, .executable = (stored->mode & 0100) != 0 };
    }
    return true;
}

/* ---- rank ---- */

/* Best first. */
static int
compare_rank(gci_record const *a, gci_record const *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->equalities != b->equalities)
        return a->equalities > b->equalities ? -1 : 1;
    if (a->conjuncts != b->conjuncts)
        return a->conjuncts > b->conjuncts ? -1 : 1;
    return (a->sequence < b->sequence) - (a->sequence > b->sequence);
}

bool
gci_ranks_before(gci_ranked const *a, gci_ranked const *b)
{
    return compare_rank(&a->candidate->record, &b->candidate->record) < 0;
}

static int
compare_places(void const *left, void const *right)
{
    gci_ranked const *a = *(gci_ranked const *const *)left, *b = *(gci_ranked const *const *)right;

    return compare_rank(&a->candidate->record, &b->candidate->record);
}

/* ---- a run of them ---- */

static void
destroy(void *value)
{
    gci_ready *ready = value;

    for (size_t i = 0; i < ready->count; i++)
        gci_guards_free(ready->items[i].guards);
    gci_arena_clear(&ready->arena);
    free(ready);
}

/* What is counted is freed, also after a failure half-way. */
static bool
fill_in_all(gci_ready *ready, gci_run *run)
{
    bool filled = ready->items != NULL && ready->order != NULL;

    while (filled && ready->count < run->count) {
        gci_candidate *candidate = &run->items[ready->count];
        gci_ranked *ranked = &ready->items[ready->count++];
        filled = fill_in(&ready->arena, ranked, candidate);
        if (!candidate->is_evicted)
            ready->order[ready->live++] = ranked;
    }
    if (ready->live > 1)
        qsort(ready->order, ready->live, sizeof *ready->order, compare_places);
    return filled;
}

gci_ready const *
gci_ready_of(gci_run *run)
{
    gci_ready *ready = gci_extra_get(&run->extra);

    if (ready != NULL)
        return ready;
    ready = calloc(1, sizeof *ready);
    if (ready == NULL)
        return NULL;
    gci_arena_init(&ready->arena, READY_BYTES_MAX);
    ready->items = gci_arena_array(&ready->arena, run->count, sizeof *ready->items);
    ready->order = gci_arena_array(&ready->arena, run->count, sizeof *ready->order);
    if (!fill_in_all(ready, run)) {
        destroy(ready);
        return NULL;
    }
    return gci_extra_set(&run->extra, run->account, ready, ready->arena.total + sizeof *ready, destroy);
}
