/*
 * gcache_statistics_top: what costs most.
 */
#include "base/check.h"
#include "base/text/json.h"
#include "cache/handle/words.h"
#include "cache/observe/statistics.h"

#define REASON_WIDTH 12
#define KIND_WIDTH 14
#define LABEL_WIDTH 48
#define GUARD_WIDTH 44
/* What is at least left of a label beside what is said of others. */
#define LABEL_WIDTH_MIN 16

typedef struct listing {
    gci_groups *groups;
    size_t shown;
    gcache_top_kind kind;
} listing;

/* ---- for people ---- */

/* The label that most have, and how many others there are, within the width. */
static void
write_labels(gci_group const *group, gci_buf *out)
{
    gci_buf others;

    gci_buf_init(&others, GCI_BUF_NO_LIMIT);
    gci_group_write_others(group, &others);
    size_t room = others.size < LABEL_WIDTH - LABEL_WIDTH_MIN ? LABEL_WIDTH - others.size : LABEL_WIDTH_MIN;
    gci_phrase(out, "{}", GCI_AS_EXCERPT(group->label, room));
    gci_buf_append_view(out, gci_buf_view(&others));
    out->failed |= others.failed;
    gci_buf_clear(&others);
}

/* Whose it is: a place in a program, or the key where none is known. */
static void
write_whose(gci_group const *group, gci_buf *out)
{
    gci_buf whose;

    gci_buf_init(&whose, GCI_BUF_NO_LIMIT);
    if (group->label.size != 0)
        write_labels(group, &whose);
    else
        gci_phrase(&whose, "key {}", GCI_AS_KEY(&group->key));
    gci_phrase(out, "{}", GCI_AS_COLUMN(gci_buf_view(&whose), LABEL_WIDTH));
    out->failed |= whose.failed;
    gci_buf_clear(&whose);
}

static void
write_miss(gci_group const *group, gci_buf *out)
{
    gci_phrase(out, "{} {}", GCI_LEFT(REASON_WIDTH, GCI_AS_TEXT(gcache_reason_name(group->reason))),
               GCI_AS_COLUMN(group->kind, KIND_WIDTH));
    write_whose(group, out);
    gci_phrase(out, "  {}", GCI_AS_TIME(group->newest_ns));
}

static void
write_key(gci_group const *group, gci_buf *out)
{
    gci_phrase(out, "{}  {}", GCI_RIGHT(8, GCI_AS_NUMBER(group->hits)), GCI_AS_COLUMN(group->kind, KIND_WIDTH));
    write_whose(group, out);
}

static void
write_guard(gci_group const *group, gci_buf *out)
{
    gci_phrase(out, "{}", GCI_AS_COLUMN(group->name, GUARD_WIDTH));
    for (size_t i = 0; i < group->value_count; i++)
        gci_phrase(out, i > 0 ? ", {}" : "  {}", GCI_AS_EXCERPT(group->values[i], 40));
    if (group->label.size == 0)
        return;
    gci_buf_append_text(out, "   ");
    write_labels(group, out);
}

static void
write_text(listing const *list, gci_buf *out)
{
    static void (*const writers[])(gci_group const *, gci_buf *) = { write_miss, write_key, write_guard };
    static char const *const titles[] = { "reason       kind          of", "    hits  kind          of",
                                          "guard that fails                              for" };

    gci_buf_format(out, "%12s %8s  %s\n", "compiled for", "misses", titles[list->kind]);
    for (size_t i = 0; i < list->shown; i++) {
        gci_group const *group = &list->groups->items[i];
        /* Nothing is known to have been compiled, or for how long. */
        gci_phrase(out, "{} {}  ", GCI_RIGHT(12, group->cost_ns != 0 ? GCI_AS_DURATION(group->cost_ns) : GCI_AS_TEXT("-")),
                   GCI_RIGHT(8, GCI_AS_NUMBER(group->misses)));
        writers[list->kind](group, out);
        while (out->size > 0 && !out->failed && out->data[out->size - 1] == ' ')
            out->size--;
        gci_buf_append_char(out, '\n');
    }
    if (list->groups->count > list->shown)
        gci_buf_format(out, "and %zu more\n", list->groups->count - list->shown);
}

/* ---- JSON ---- */

static void
write_texts(gci_view const *texts, size_t count, gci_buf *out)
{
    gci_buf_append_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        gci_json_next(out);
        gci_json_write_text(out, texts[i]);
    }
    gci_buf_append_char(out, ']');
}

static void
write_group_json(gci_group const *group, gcache_top_kind kind, gci_buf *out)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gci_buf_format(out, "{\"misses\": %llu, \"compile_ns\": %llu", (unsigned long long)group->misses,
                   (unsigned long long)group->cost_ns);
    if (kind == GCACHE_TOP_GUARDS) {
        gci_json_member_text(out, "guard", group->name);
        gci_json_member(out, "values");
        write_texts(group->values, group->value_count, out);
    } else {
        gcache_key_to_hex(&group->key, hex);
        gci_json_member_text(out, "key", gci_view_text(hex));
        gci_json_member_text(out, "kind", group->kind);
    }
    if (kind == GCACHE_TOP_MISSES)
        gci_buf_format(out, ", \"reason\": \"%s\"", gcache_reason_name(group->reason));
    if (kind == GCACHE_TOP_KEYS)
        gci_buf_format(out, ", \"hits\": %llu, \"saved_ns\": %llu", (unsigned long long)group->hits,
                       (unsigned long long)group->saved_ns);
    gci_json_member_text(out, "label", group->label);
    gci_json_member_number(out, "labels", group->label_count);
    gci_json_member_number(out, "unlabelled", group->unlabelled);
    gci_buf_append_char(out, '}');
}

static void
write_json(listing const *list, gci_buf *out)
{
    gci_buf_append_text(out, "{\"top\": [");
    for (size_t i = 0; i < list->shown; i++) {
        gci_json_next(out);
        write_group_json(&list->groups->items[i], list->kind, out);
    }
    gci_buf_append_text(out, "]}\n");
}

/* ---- the call ---- */

/* Keys that only hit cost nothing and aren't worth a place. */
static size_t
count_with_misses(gci_groups const *groups)
{
    size_t count = 0;

    while (count < groups->count && groups->items[count].misses != 0)
        count++;
    return count;
}

gcache_status
gcache_statistics_top(gcache *cache, gcache_journal_query const *query, gcache_top_kind kind, size_t count,
                      gcache_statistics_form form, char **out_text, gcache_error *error)
{
    gci_statistics statistics = { 0 };
    gci_buf out;

    GCI_REQUIRE(cache != NULL && out_text != NULL, error, "cache or out_text is NULL");
    GCI_REQUIRE(kind <= GCACHE_TOP_GUARDS && form <= GCACHE_STATISTICS_JSON, error, "unknown kind %d or form %d", (int)kind,
                (int)form);
    *out_text = NULL;
    gcache_status status = gci_statistics_collect(cache, query, kind == GCACHE_TOP_GUARDS, &statistics, error);
    if (status == GCACHE_OK) {
        gci_groups *all[] = { &statistics.misses_by_cost, &statistics.keys, &statistics.guards };
        listing list = { .groups = all[kind], .kind = kind };
        gci_groups_sort(list.groups);
        list.groups->count = count_with_misses(list.groups);
        list.shown = list.groups->count < count ? list.groups->count : count;
        gci_buf_init(&out, GCI_BUF_NO_LIMIT);
        if (form == GCACHE_STATISTICS_JSON)
            write_json(&list, &out);
        else
            write_text(&list, &out);
        *out_text = gci_buf_take_text(&out);
        status = *out_text != NULL ? GCACHE_OK : gci_fail_memory(error);
    }
    gci_statistics_clear(&statistics);
    return status;
}
