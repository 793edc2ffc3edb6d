/*
 * What is covered: of the keys that missed again after their first compile, costliest first, where their lookups fell, over the
 * two hints that vary most. Both axes are logarithmic; other hints stay as the newest lookup of the key had them.
 */
#include "cache/observe/html_coverage.h"

#include "base/check.h"
#include "cache/observe/html_report.h"

#include <math.h>
#include <stdlib.h>

#define PICTURES 6
/* So many keys are looked at for pictures that have something to show. */
#define KEYS_MAX 24
/* More points than cells show nothing more. */
#define POINTS_MAX 1000
/* More different values don't make a hint more worth an axis. */
#define DISTINCT_MAX 64
/* The picture goes on beyond what was seen: what lies there is a reader's next question. */
#define BEYOND 4.0

/* ---- points ---- */

static int64_t
read_value(char const *literal)
{
    char *end;
    long long value = strtoll(literal, &end, 10);

    return end != literal && *end == '\0' && value > 0 ? value : 0;
}

static gci_view
source_of(gci_journal_entry const *entry, char const *name)
{
    gcache_request const *request = &entry->context.request;

    for (size_t i = 0; i < request->sources_count; i++)
        if (strcmp(request->sources[i].name, name) == 0)
            return gci_view_text(request->sources[i].value);
    return gci_view_text("");
}

static void
take_hints(gci_cover *cover, gci_journal_entry const *entry)
{
    for (size_t i = 0; i < entry->hint_count && cover->hint_count < GCI_COVER_HINTS; i++)
        cover->hints[cover->hint_count++] = (gci_cover_hint){
            .name = gci_arena_copy(cover->arena, gci_view_text(entry->hints[i].name)).data,
            .literal = gci_arena_copy(cover->arena, gci_view_text(entry->hints[i].literal)).data,
            .bound = gci_arena_copy(cover->arena, entry->kept_hints[i].bound_name),
            .source = gci_arena_copy(cover->arena, source_of(entry, entry->hints[i].name)),
        };
}

static gci_cover_point *
find_point(gci_cover *cover, int64_t const *values)
{
    size_t size = cover->hint_count * sizeof *values;

    for (size_t i = 0; i < cover->count; i++)
        if (memcmp(cover->points[i].values, values, size) == 0)
            return &cover->points[i];
    if (cover->count == POINTS_MAX)
        return NULL;
    gci_cover_point *point = &cover->points[cover->count++];
    *point = (gci_cover_point){ .hits = 0 };
    memcpy(point->values, values, size);
    return point;
}

/* Only lookups with the same names have a place. */
static void
add_point(gci_cover *cover, gci_journal_entry const *entry)
{
    int64_t values[GCI_COVER_HINTS];

    if (cover->hint_count == 0)
        take_hints(cover, entry);
    if (entry->hint_count == 0 || entry->hint_count != cover->hint_count || cover->arena->failed)
        return;
    for (size_t i = 0; i < cover->hint_count; i++) {
        if (strcmp(entry->hints[i].name, cover->hints[i].name) != 0)
            return;
        values[i] = read_value(entry->hints[i].literal);
    }
    gci_cover_point *point = find_point(cover, values);
    if (point != NULL && entry->kind == GCACHE_JOURNAL_HIT)
        point->hits += entry->hits;
    else if (point != NULL)
        point->misses++;
}

typedef struct gatherer {
    gcache *cache;
    gci_cover_grid *grid;
    gci_cover *covers;
    size_t count;
} gatherer;

static int
gather(void *state, gci_journal_entry *entry)
{
    gatherer *all = state;

    if (entry->kind != GCACHE_JOURNAL_MISS && entry->kind != GCACHE_JOURNAL_HIT)
        return 0;
    for (size_t i = 0; i < all->count; i++)
        if (memcmp(&all->covers[i].group->key, &entry->key, sizeof entry->key) == 0)
            add_point(&all->covers[i], entry);
    return 0;
}

/* ---- axes ---- */

/* Different positive values of a hint; 0 if half of the lookups had none there. */
static size_t
count_distinct(gci_cover const *cover, size_t hint)
{
    int64_t seen[DISTINCT_MAX];
    size_t count = 0, without = 0;

    for (size_t i = 0; i < cover->count && count < DISTINCT_MAX; i++) {
        int64_t value = cover->points[i].values[hint];
        bool known = value == 0;
        without += value == 0;
        for (size_t j = 0; j < count && !known; j++)
            known = seen[j] == value;
        if (!known)
            seen[count++] = value;
    }
    return 2 * without > cover->count ? 0 : count;
}

static gci_cover_axis
make_axis(gci_cover const *cover, size_t hint)
{
    gci_cover_axis axis = { .hint = hint, .low = INFINITY, .high = 1 };

    for (size_t i = 0; i < cover->count; i++) {
        double value = (double)cover->points[i].values[hint];
        if (value <= 0)
            continue;
        axis.low = fmin(axis.low, value);
        axis.high = fmax(axis.high, value);
    }
    axis.low = fmax(1, axis.low / BEYOND);
    axis.high *= BEYOND;
    return axis;
}

/* false: no hint has a place on an axis. */
static bool
choose_axes(gci_cover *cover)
{
    size_t best = SIZE_MAX, second = SIZE_MAX, most = 0, next = 0;

    for (size_t i = 0; i < cover->hint_count; i++) {
        size_t distinct = count_distinct(cover, i);
        if (distinct > most) {
            second = best;
            next = most;
            best = i;
            most = distinct;
        } else if (distinct > next) {
            second = i;
            next = distinct;
        }
    }
    if (most == 0)
        return false;
    cover->x = make_axis(cover, best);
    cover->y = next > 1 ? make_axis(cover, second) : (gci_cover_axis){ .hint = SIZE_MAX };
    return true;
}

/* ---- pictures ---- */

/* Keys of several candidates are drawn first; of one, if its lookups are more than a miss and a hit. */
static bool
is_due(gci_cover const *cover, gci_ranking const *ranking, bool several)
{
    if (ranking == NULL || ranking->count == 0)
        return false;
    return several ? ranking->count > 1 : ranking->count == 1 && cover->count > 2;
}

/*
 * One call of a program is often looked up under two keys, one for each stage of its compiler: one picture is enough. It is told
 * by the same lookups with the same label, or with the same guards where there is none.
 */
static bool
is_same_picture(gci_cover const *a, gci_cover const *b)
{
    bool same_call = a->group->label.size != 0 && gci_view_equal(a->group->label, b->group->label);

    return a->drawn && (same_call || a->guards == b->guards) && a->count == b->count && a->hint_count == b->hint_count &&
           memcmp(a->points, b->points, a->count * sizeof *a->points) == 0;
}

static bool
is_drawn(gatherer const *all, gci_cover const *cover)
{
    for (size_t i = 0; i < all->count; i++)
        if (is_same_picture(&all->covers[i], cover))
            return true;
    return false;
}

static uint64_t
hash_guards(gci_ranking const *ranking)
{
    uint64_t hash = ranking->count;

    for (size_t i = 0; i < ranking->count; i++) {
        gci_record const *record = &ranking->items[i]->candidate->record;
        for (size_t g = 0; g < record->guard_count; g++)
            hash = hash * 31 + gci_hash_name(record->guards[g]);
    }
    return hash;
}

/* Returns whether there is a picture now. */
static bool
draw(gatherer const *all, gci_cover *cover, bool several, gci_buf *out)
{
    gci_candidates *set = NULL;

    if (cover->count < 2 || !choose_axes(cover) ||
        gci_store_candidates(all->cache->store, &cover->group->key, &set, NULL) != GCI_FOUND)
        return false;
    gci_ranking const *ranking = gci_ranking_of(set);
    bool drawn = is_due(cover, ranking, several);
    if (drawn)
        cover->guards = hash_guards(ranking);
    drawn = drawn && !is_drawn(all, cover);
    if (drawn) {
        gci_cover_decide(cover, ranking, all->grid);
        gci_cover_draw(cover, ranking, all->grid, out);
        cover->drawn = true;
    }
    gci_candidates_release(set);
    return drawn;
}

static void
draw_all(gatherer *all, gci_arena *arena, gci_buf *out)
{
    size_t drawn = 0, start = out->size;

    gci_buf_append_text(out, "<section><h2>What is covered</h2>\n<p class=\"dim\">Coloured: sizes that a stored candidate serves, "
                             "paler where it serves only some of those in a cell; a small square is a single size. Dots are "
                             "hits, crosses misses as they were then, a ring around a cross is a hit later on. The axes are "
                             "logarithmic.</p>\n");
    all->grid = gci_arena_array(arena, 1, sizeof *all->grid);
    for (int turn = 0; all->grid != NULL && turn < 2; turn++)
        for (size_t i = 0; i < all->count && drawn < PICTURES; i++)
            drawn += draw(all, &all->covers[i], turn == 0, out);
    gci_buf_append_text(out, "</section>\n");
    if (drawn == 0)
        out->size = start;
}

/* Keys, costliest first: those that missed again after their first compile, or the others. */
static void
choose_keys(gci_groups const *keys, bool again, gatherer *all, gci_arena *arena)
{
    for (size_t i = 0; i < keys->count && all->count < KEYS_MAX; i++) {
        gci_group const *group = &keys->items[i];
        if (again ? group->misses < 2 : group->misses != 1)
            continue;
        gci_cover *cover = &all->covers[all->count++];
        *cover = (gci_cover){ .group = group, .arena = arena };
        cover->points = gci_arena_array(arena, POINTS_MAX, sizeof *cover->points);
    }
}

gcache_status
gci_report_coverage(gcache *cache, gcache_journal_query const *query, gci_statistics const *statistics, gci_buf *out,
                    gcache_error *error)
{
    gci_cover covers[KEYS_MAX];
    gatherer all = { .cache = cache, .covers = covers };
    gci_arena arena;

    gci_arena_init(&arena, SIZE_MAX / 2);
    choose_keys(&statistics->keys, true, &all, &arena);
    choose_keys(&statistics->keys, false, &all, &arena);
    gcache_status status = arena.failed ? gci_fail_memory(error) : gci_history_each(cache, query, gather, &all, error);
    if (status == GCACHE_OK && !arena.failed && all.count != 0)
        draw_all(&all, &arena, out);
    gci_arena_clear(&arena);
    return status;
}
