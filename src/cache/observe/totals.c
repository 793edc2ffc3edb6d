/*
 * The journal's entries added up: by reason, label, guard and time.
 */
#include "cache/observe/totals.h"

#include "cache/handle/words.h"

#include <ctype.h>
#include <stdlib.h>

/* The texts of ten thousand entries' labels, hints and guards. */
#define TOTALS_BYTES_MAX ((size_t)256 << 20)

/* ---- groups ---- */

static gci_group *
find_group(gci_groups const *groups, gci_view name)
{
    for (size_t i = groups->count; i-- > 0;)
        if (gci_view_equal(groups->items[i].name, name))
            return &groups->items[i];
    return NULL;
}

/* The group of this name, which is made if need be; NULL without memory. */
static gci_group *
group_of(gci_totals *totals, gci_groups *groups, gci_view name, gci_past const *past)
{
    gci_group *found = find_group(groups, name);

    if (found != NULL)
        return found;
    if (groups->count == groups->room) {
        size_t room = groups->room != 0 ? 2 * groups->room : 32;
        gci_group *larger = realloc(groups->items, room * sizeof *larger);
        if (larger == NULL)
            return NULL;
        groups->items = larger;
        groups->room = room;
    }
    groups->items[groups->count] = (gci_group){
        .name = gci_arena_copy(&totals->arena, name),
        .kind = gci_arena_copy(&totals->arena, past->kind),
        .label = gci_arena_copy(&totals->arena, past->label),
        .reason = past->reason,
        .key = past->key,
        .newest_ns = past->at_ns,
    };
    return &groups->items[groups->count++];
}

static void
add_to(gci_totals *totals, gci_groups *groups, gci_view name, gci_past const *past)
{
    gci_group *group = group_of(totals, groups, name, past);

    if (group == NULL) {
        totals->failed = true;
        return;
    }
    group->hits += past->hits;
    group->saved_ns += past->saved_ns;
    if (past->act != GCACHE_JOURNAL_MISS)
        return;
    group->misses++;
    group->cost_ns += past->compile_ns;
    if (group->misses == 1) {
        group->reason = past->reason;
        if (past->label.size != 0)
            group->label = gci_arena_copy(&totals->arena, past->label);
    }
}

static int
compare_cost(void const *left, void const *right)
{
    gci_group const *a = left, *b = right;

    if (a->cost_ns != b->cost_ns)
        return a->cost_ns > b->cost_ns ? -1 : 1;
    if (a->misses != b->misses)
        return a->misses > b->misses ? -1 : 1;
    return gci_view_compare(a->name, b->name);
}

void
gci_groups_sort(gci_groups *groups)
{
    if (groups->count > 1)
        qsort(groups->items, groups->count, sizeof *groups->items, compare_cost);
}

/* ---- guards that fail ---- */

/* true if `name` stands in the expression as a whole word. */
static bool
reads(gci_view part, char const *name)
{
    size_t size = strlen(name);

    for (size_t i = 0; i + size <= part.size; i++) {
        bool starts = i == 0 || (!isalnum((unsigned char)part.data[i - 1]) && part.data[i - 1] != '_');
        bool ends = i + size == part.size ||
                    (!isalnum((unsigned char)part.data[i + size]) && part.data[i + size] != '_');
        if (starts && ends && memcmp(part.data + i, name, size) == 0)
            return true;
    }
    return false;
}

/* "t0=12 t1=128": the hints that the failing part reads. */
static void
write_values(gci_past const *past, gci_view part, gci_buf *out)
{
    for (size_t i = 0; i < past->hint_count; i++)
        if (reads(part, past->hints[i].name))
            gci_buf_format(out, "%s%s=%s", out->size != 0 ? " " : "", past->hints[i].name, past->hints[i].literal);
}

static void
remember_value(gci_totals *totals, gci_group *group, gci_view value)
{
    for (size_t i = 0; i < group->value_count; i++)
        if (gci_view_equal(group->values[i], value))
            return;
    if (group->value_count < GCI_GROUP_VALUES && value.size != 0)
        group->values[group->value_count++] = gci_arena_copy(&totals->arena, value);
}

static void
add_guard(gci_totals *totals, gci_past *past, gci_trial const *trial)
{
    gci_buf part, arithmetic, values;

    gci_buf_init(&part, GCI_BUF_NO_LIMIT);
    gci_buf_init(&arithmetic, GCI_BUF_NO_LIMIT);
    gci_buf_init(&values, GCI_BUF_NO_LIMIT);
    gci_guards_explain(trial->ranked->guards, trial->verdict.guard, past->question.hints, &part, &arithmetic);
    write_values(past, gci_buf_view(&part), &values);
    add_to(totals, &totals->guards, gci_buf_view(&part), past);
    gci_group *group = find_group(&totals->guards, gci_buf_view(&part));
    if (group != NULL)
        remember_value(totals, group, gci_buf_view(&values));
    totals->failed |= part.failed || values.failed;
    gci_buf_clear(&part);
    gci_buf_clear(&arithmetic);
    gci_buf_clear(&values);
}

/* The first candidate's failing guard stands for the miss, so that costs aren't counted twice. */
static void
add_failing_guard(gci_totals *totals, gci_past *past)
{
    bool by_guard = past->reason == GCACHE_REASON_GUARD_FALSE || past->reason == GCACHE_REASON_GUARD_ERROR;

    if (!by_guard || past->question.request.guard_test != NULL || gci_past_open(past, NULL) != GCACHE_OK)
        return;
    for (size_t i = 0; i < past->trace.trial_count; i++) {
        gci_trial const *trial = &past->trace.trials[i];
        if (gci_trial_is_evicted(&past->trace, trial) || trial->ranked->guards == NULL ||
            trial->verdict.guard >= trial->ranked->candidate->record.guard_count)
            continue;
        add_guard(totals, past, trial);
        return;
    }
}

/* ---- all of it ---- */

uint64_t
gci_time_bucket_end(size_t bucket)
{
    uint64_t end = 1000;

    if (bucket + 1 >= GCI_TIME_BUCKETS)
        return UINT64_MAX;
    for (size_t i = 0; i < bucket; i++)
        end *= 10;
    return end;
}

static void
add_time(gci_totals *totals, uint64_t elapsed_ns)
{
    size_t bucket = 0;

    if (elapsed_ns == 0)
        return;
    while (elapsed_ns >= gci_time_bucket_end(bucket))
        bucket++;
    totals->times[bucket]++;
    totals->timed++;
    totals->time_sum_ns += elapsed_ns;
}

/* Misses are the same to a reader if key and reason are. */
static void
add_miss(gci_totals *totals, gci_past *past)
{
    char name[GCACHE_KEY_HEX_SIZE + 2];

    totals->misses[past->reason]++;
    totals->cost_ns += past->compile_ns;
    gcache_key_to_hex(&past->key, name);
    name[GCACHE_KEY_HEX_SIZE - 1] = (char)('a' + past->reason);
    name[GCACHE_KEY_HEX_SIZE] = '\0';
    add_to(totals, &totals->misses_by_cost, gci_view_text(name), past);
    if (totals->with_guards)
        add_failing_guard(totals, past);
}

static int
add(void *state, gci_past *past)
{
    gci_totals *totals = state;

    totals->oldest_ns = past->at_ns;
    if (totals->newest_ns == 0)
        totals->newest_ns = past->at_ns;
    totals->hits += past->hits;
    totals->saved_ns += past->saved_ns;
    totals->inserts += past->act == GCACHE_JOURNAL_INSERT;
    totals->not_stored += past->act == GCACHE_JOURNAL_NOT_STORED;
    if (past->act == GCACHE_JOURNAL_HIT)
        add_time(totals, past->elapsed_ns);
    if (past->act == GCACHE_JOURNAL_MISS)
        add_miss(totals, past);
    if (past->act == GCACHE_JOURNAL_HIT || past->act == GCACHE_JOURNAL_MISS) {
        add_to(totals, &totals->labels, past->label, past);
        add_to(totals, &totals->spaces, past->space, past);
        add_to(totals, &totals->keys, gci_view_of(past->key.bytes, sizeof past->key.bytes), past);
    }
    return totals->failed || totals->arena.failed;
}

gcache_status
gci_totals_make(gcache *cache, gcache_journal_query const *query, bool with_guards, gci_totals *out_totals,
                gcache_error *error)
{
    *out_totals = (gci_totals){ .with_guards = with_guards };
    gci_arena_init(&out_totals->arena, TOTALS_BYTES_MAX);
    gcache_status status = gci_history_each(cache, query, add, out_totals, error);
    if (status == GCACHE_OK && (out_totals->failed || out_totals->arena.failed))
        status = gci_fail_memory(error);
    return status;
}

void
gci_totals_clear(gci_totals *totals)
{
    free(totals->labels.items);
    free(totals->spaces.items);
    free(totals->keys.items);
    free(totals->misses_by_cost.items);
    free(totals->guards.items);
    gci_arena_clear(&totals->arena);
}
