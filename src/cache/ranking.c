#include "cache/ranking.h"

#include "base/check.h"
#include "cache/deltas.h"
#include "cache/ranking_index.h"

#include <stdlib.h>

/* A key's candidates are bounded by options.max_candidates, their texts by the record's limits; this is only a stop for
   what can't happen. */
#define RANKING_BYTES_MAX ((size_t)1 << 30)

static int
compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Best first. */
static int
compare_rank(void const *left, void const *right)
{
    gci_record const *a = &((gci_ranked const *)left)->candidate->record;
    gci_record const *b = &((gci_ranked const *)right)->candidate->record;

    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->equalities != b->equalities)
        return a->equalities > b->equalities ? -1 : 1;
    if (a->conjuncts != b->conjuncts)
        return a->conjuncts > b->conjuncts ? -1 : 1;
    return -compare_numbers(a->sequence, b->sequence);
}

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

/* *out_items is set, zeroed at first, so that a failure half-way can be undone. */
static bool
rank(gci_arena *arena, gci_candidate *candidates, size_t count, gci_ranked **out_items)
{
    gci_ranked *items = gci_arena_array(arena, count, sizeof *items);

    *out_items = items;
    if (items == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!fill_in(arena, &items[i], &candidates[i]))
            return false;
    if (count > 1)
        qsort(items, count, sizeof *items, compare_rank);
    return true;
}

static void
free_guards(gci_ranked *items, size_t count)
{
    for (size_t i = 0; items != NULL && i < count; i++)
        gci_guards_free(items[i].guards);
}

static void
destroy(void *value)
{
    gci_ranking *ranking = value;

    gci_ranking_index_free(gci_extra_get(&ranking->index));
    free_guards(ranking->items, ranking->count);
    free_guards(ranking->evicted, ranking->evicted_count);
    gci_arena_clear(&ranking->arena);
    free(ranking);
}

gci_ranking *
gci_ranking_of(gci_candidates *set)
{
    gci_ranking *ranking = gci_extra_get(&set->extra);

    if (ranking != NULL)
        return ranking;
    ranking = calloc(1, sizeof *ranking);
    if (ranking == NULL)
        return NULL;
    gci_arena_init(&ranking->arena, RANKING_BYTES_MAX);
    ranking->set = set;
    ranking->count = set->count;
    ranking->evicted_count = set->evicted_count;
    if (!rank(&ranking->arena, set->items, set->count, &ranking->items) ||
        !rank(&ranking->arena, set->evicted, set->evicted_count, &ranking->evicted)) {
        destroy(ranking);
        return NULL;
    }
    return gci_extra_set(set, &set->extra, ranking, ranking->arena.total, destroy);
}
