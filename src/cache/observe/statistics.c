/*
 * The journal's entries added up: by reason, label, guard and time.
 */
#include "cache/observe/statistics.h"

#include "base/array.h"
#include "cache/candidates/sources.h"
#include "cache/handle/words.h"

#include <ctype.h>
#include <stdlib.h>

/* The texts of ten thousand entries' labels, hints and guards. */
#define STATISTICS_BYTES_MAX ((size_t)256 << 20)

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
group_of(gci_statistics *statistics, gci_groups *groups, gci_view name, gci_journal_entry const *entry)
{
    gci_group *found = find_group(groups, name);

    if (found != NULL)
        return found;
    if (!gci_array_has_room(&groups->items, groups->count, &groups->room, sizeof *groups->items))
        return NULL;
    groups->items[groups->count] = (gci_group){
        .name = gci_arena_copy(&statistics->arena, name),
        .kind = gci_arena_copy(&statistics->arena, entry->graph_kind),
        .reason = entry->reason,
        .key = entry->key,
        .newest_ns = entry->at_ns,
    };
    return &groups->items[groups->count++];
}

/* NULL without memory. */
static gci_group *
add_to(gci_statistics *statistics, gci_groups *groups, gci_view name, gci_journal_entry const *entry)
{
    gci_group *group = group_of(statistics, groups, name, entry);

    if (group == NULL) {
        statistics->failed = true;
        return NULL;
    }
    group->hits += entry->hits;
    group->saved_ns += entry->saved_ns;
    if (entry->kind != GCACHE_JOURNAL_MISS)
        return group;
    group->misses++;
    group->cost_ns += entry->compile_ns;
    if (group->misses == 1)
        group->reason = entry->reason;
    return group;
}

/* ---- whose they are ---- */

static gci_labelled *
labelled_of(gci_statistics *statistics, gci_group *group)
{
    gci_labelled *of = group->labelled;

    while (of != NULL && of->label.data != statistics->label.data)
        of = of->next;
    if (of != NULL || (of = gci_arena_alloc(&statistics->arena, sizeof *of)) == NULL)
        return of;
    *of = (gci_labelled){ .label = statistics->label, .next = group->labelled };
    group->labelled = of;
    group->label_count++;
    return of;
}

static bool
leads(gci_labelled const *of, gci_labelled const *former)
{
    return former == NULL || of->misses > former->misses || (of->misses == former->misses && of->hits > former->hits);
}

/* Lookups of many places in a program may have one key, and most of its misses be those of one of them. */
static void
add_label(gci_statistics *statistics, gci_group *group, gci_journal_entry const *entry)
{
    bool missed = entry->kind == GCACHE_JOURNAL_MISS;

    if (statistics->label.size == 0) {
        group->unlabelled += missed;
        return;
    }
    gci_labelled *of = labelled_of(statistics, group);
    if (of == NULL)
        return;
    of->misses += missed;
    of->hits += entry->hits;
    if (leads(of, group->leading)) {
        group->leading = of;
        group->label = of->label;
    }
}

/* Likewise NULL without memory. */
static gci_group *
add_with_label(gci_statistics *statistics, gci_groups *groups, gci_view name, gci_journal_entry const *entry)
{
    gci_group *group = add_to(statistics, groups, name, entry);

    if (group != NULL)
        add_label(statistics, group, entry);
    return group;
}

gci_view
gci_group_name(gci_group const *group)
{
    if (group->label.size != 0)
        return group->label;
    return group->kind.size != 0 ? group->kind : gci_view_text("without a label");
}

void
gci_group_write_others(gci_group const *group, gci_buf *out)
{
    if (group->label_count > 1)
        gci_phrase(out, group->label_count == 2 ? " and {} more label" : " and {} more labels",
                   GCI_AS_COUNT(group->label_count - 1));
    if (group->label_count != 0 && group->unlabelled != 0)
        gci_phrase(out, ", {} unlabelled", GCI_AS_COUNT(group->unlabelled));
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
reads(gci_view part, gci_view name)
{
    size_t size = name.size;

    for (size_t i = 0; i + size <= part.size; i++) {
        bool starts = i == 0 || (!isalnum((unsigned char)part.data[i - 1]) && part.data[i - 1] != '_');
        bool ends = i + size == part.size ||
                    (!isalnum((unsigned char)part.data[i + size]) && part.data[i + size] != '_');
        if (starts && ends && memcmp(part.data + i, name.data, size) == 0)
            return true;
    }
    return false;
}

/* "t0=12 t1=128": the hints that the failing part reads. */
static void
write_values(gci_journal_entry const *entry, gci_view part, gci_buf *out)
{
    for (size_t i = 0; i < entry->hint_count; i++) {
        gci_view name = gci_hint_shown(&entry->context.hints, i);
        if (reads(part, name))
            gci_buf_format(out, "%s%.*s=%s", out->size != 0 ? " " : "", (int)name.size, name.data, entry->hints[i].literal);
    }
}

static void
remember_value(gci_statistics *statistics, gci_group *group, gci_view value)
{
    for (size_t i = 0; i < group->value_count; i++)
        if (gci_view_equal(group->values[i], value))
            return;
    if (group->value_count < GCI_GROUP_VALUES && value.size != 0)
        group->values[group->value_count++] = gci_arena_copy(&statistics->arena, value);
}

static void
add_guard(gci_statistics *statistics, gci_journal_entry *entry, gci_trial const *trial)
{
    gci_buf part, values;

    gci_buf_init(&part, GCI_BUF_NO_LIMIT);
    gci_buf_init(&values, GCI_BUF_NO_LIMIT);
    gci_guards_explain(trial->ranked->guards, trial->verdict.guard, &entry->context.hints, &part, NULL);
    write_values(entry, gci_buf_view(&part), &values);
    gci_group *group = add_with_label(statistics, &statistics->guards, gci_buf_view(&part), entry);
    if (group != NULL)
        remember_value(statistics, group, gci_buf_view(&values));
    statistics->failed |= part.failed || values.failed;
    gci_buf_clear(&part);
    gci_buf_clear(&values);
}

/* The first candidate's failing guard stands for the miss, so that costs aren't counted twice. */
static void
add_failing_guard(gci_statistics *statistics, gci_journal_entry *entry)
{
    bool by_guard = entry->reason == GCACHE_REASON_GUARD_FALSE || entry->reason == GCACHE_REASON_GUARD_ERROR;

    if (!by_guard || entry->context.request.guard_test != NULL || gci_journal_entry_open(entry, NULL) != GCACHE_OK)
        return;
    gci_context_show_sources(&entry->context, &entry->arena);
    for (size_t i = 0; i < entry->trace.trial_count; i++) {
        gci_trial const *trial = &entry->trace.trials[i];
        if (gci_trial_is_evicted(&entry->trace, trial) || trial->ranked->guards == NULL ||
            trial->verdict.guard >= trial->ranked->candidate->record.guard_count)
            continue;
        add_guard(statistics, entry, trial);
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
add_time(gci_statistics *statistics, uint64_t elapsed_ns)
{
    size_t bucket = 0;

    if (elapsed_ns == 0)
        return;
    while (bucket + 1 < GCI_TIME_BUCKETS && elapsed_ns >= gci_time_bucket_end(bucket))
        bucket++;
    statistics->times[bucket]++;
    statistics->timed++;
    statistics->time_sum_ns += elapsed_ns;
}

/* Misses are the same to a reader if key and reason are. */
static void
add_miss(gci_statistics *statistics, gci_journal_entry *entry)
{
    char name[GCACHE_KEY_HEX_SIZE + 2];

    statistics->misses[entry->reason]++;
    statistics->cost_ns += entry->compile_ns;
    gcache_key_to_hex(&entry->key, name);
    name[GCACHE_KEY_HEX_SIZE - 1] = (char)('a' + entry->reason);
    name[GCACHE_KEY_HEX_SIZE] = '\0';
    add_with_label(statistics, &statistics->misses_by_cost, gci_view_text(name), entry);
    if (statistics->with_guards)
        add_failing_guard(statistics, entry);
}

static void
add_lookup(gci_statistics *statistics, gci_journal_entry *entry)
{
    gci_group const *of_label = add_to(statistics, &statistics->labels, entry->label, entry);

    statistics->label = of_label != NULL ? of_label->name : gci_view_text("");
    add_to(statistics, &statistics->spaces, entry->namespace_, entry);
    add_with_label(statistics, &statistics->keys, gci_view_of(entry->key.bytes, sizeof entry->key.bytes), entry);
    if (entry->kind == GCACHE_JOURNAL_MISS)
        add_miss(statistics, entry);
}

static int
add(void *state, gci_journal_entry *entry)
{
    gci_statistics *statistics = state;

    statistics->oldest_ns = entry->at_ns;
    if (statistics->newest_ns == 0)
        statistics->newest_ns = entry->at_ns;
    statistics->hits += entry->hits;
    statistics->saved_ns += entry->saved_ns;
    statistics->inserts += entry->kind == GCACHE_JOURNAL_INSERT;
    statistics->not_stored += entry->kind == GCACHE_JOURNAL_NOT_STORED;
    if (entry->kind == GCACHE_JOURNAL_HIT)
        add_time(statistics, entry->elapsed_ns);
    if (entry->kind == GCACHE_JOURNAL_HIT || entry->kind == GCACHE_JOURNAL_MISS)
        add_lookup(statistics, entry);
    gci_statistics_add_tier(statistics, entry);
    return statistics->failed || statistics->arena.failed;
}

gcache_status
gci_statistics_collect(gcache *cache, gcache_journal_query const *query, bool with_guards,
                       gci_statistics *out_statistics, gcache_error *error)
{
    *out_statistics = (gci_statistics){ .with_guards = with_guards };
    gci_arena_init(&out_statistics->arena, STATISTICS_BYTES_MAX);
    gcache_status status = gci_history_each(cache, query, add, out_statistics, error);
    if (status == GCACHE_OK && (out_statistics->failed || out_statistics->arena.failed))
        status = gci_fail_memory(error);
    gci_statistics_sort_tiers(out_statistics);
    return status;
}

void
gci_statistics_clear(gci_statistics *statistics)
{
    free(statistics->labels.items);
    free(statistics->spaces.items);
    free(statistics->keys.items);
    free(statistics->misses_by_cost.items);
    free(statistics->guards.items);
    free(statistics->tiers.items);
    gci_arena_clear(&statistics->arena);
}

uint64_t
gci_statistics_misses(gci_statistics const *statistics)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < GCACHE_REASON_COUNT; i++)
        sum += statistics->misses[i];
    return sum;
}

double
gci_percent(uint64_t part, uint64_t whole)
{
    return whole != 0 ? 100.0 * (double)part / (double)whole : 0;
}
