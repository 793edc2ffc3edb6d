/*
 * What tiers have been doing, by the journal: hits from hit entries, which know who served them, everything else from what
 * processes wrote of their tiers. For people, as JSON, for Prometheus, as HTML.
 */
#include "base/array.h"
#include "base/text/json.h"
#include "cache/handle/words.h"
#include "cache/observe/html_report.h"
#include "cache/observe/statistics.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME_WIDTH 12
#define COUNT_WIDTH 10

/* ---- adding up ---- */

/* NULL without memory. */
static gci_tier_sum *
sum_of(gci_statistics *statistics, gci_view name)
{
    gci_tier_sums *tiers = &statistics->tiers;

    for (size_t i = 0; i < tiers->count; i++) {
        if (gci_view_equal(tiers->items[i].name, name))
            return &tiers->items[i];
    }
    if (!gci_array_has_room(&tiers->items, tiers->count, &tiers->room, sizeof *tiers->items)) {
        statistics->failed = true;
        return NULL;
    }
    tiers->items[tiers->count] = (gci_tier_sum){ .name = gci_arena_copy(&statistics->arena, name) };
    return &tiers->items[tiers->count++];
}

static void
add_hits(gci_statistics *statistics, gci_journal_entry const *entry)
{
    gci_tier_sum *sum = sum_of(statistics, gci_view_text(entry->tier));

    if (sum == NULL)
        return;
    sum->served += entry->hits;
    sum->saved_ns += entry->saved_ns;
}

static void
add_counts(gci_statistics *statistics, gci_journal_entry const *entry)
{
    gci_tier_sum *sum = sum_of(statistics, gci_view_text(entry->tier));

    if (sum == NULL || entry->tier_counts == NULL)
        return;
    sum->is_counted = true;
    for (size_t i = 0; i < GCACHE_TIER_COUNT_COUNT; i++)
        sum->counts[i] += entry->tier_counts[i];
}

void
gci_statistics_add_tier(gci_statistics *statistics, gci_journal_entry const *entry)
{
    if (entry->kind == GCACHE_JOURNAL_HIT && entry->tier != NULL)
        add_hits(statistics, entry);
    else if (entry->kind == GCACHE_JOURNAL_TIER)
        add_counts(statistics, entry);
}

/* The directory and what is kept of it in memory are no tiers that somebody set up. */
static bool
is_here(gci_tier_sum const *sum)
{
    return gci_view_is(sum->name, "memory") || gci_view_is(sum->name, "local");
}

static bool
knows_tiers(gci_statistics const *statistics)
{
    for (size_t i = 0; i < statistics->tiers.count; i++) {
        if (!is_here(&statistics->tiers.items[i]))
            return true;
    }
    return false;
}

/* memory, local, then the tiers by name: the journal has them in any order. */
static int
compare(void const *left, void const *right)
{
    gci_tier_sum const *a = left, *b = right;

    if (is_here(a) != is_here(b))
        return is_here(a) ? -1 : 1;
    return is_here(a) ? gci_view_compare(b->name, a->name) : gci_view_compare(a->name, b->name);
}

void
gci_statistics_sort_tiers(gci_statistics *statistics)
{
    if (statistics->tiers.count > 1)
        qsort(statistics->tiers.items, statistics->tiers.count, sizeof *statistics->tiers.items, compare);
}

/* Hits whose entries don't say it: a tier's always do. */
static uint64_t
served_here(gci_statistics const *statistics)
{
    uint64_t known = 0;

    for (size_t i = 0; i < statistics->tiers.count; i++)
        known += statistics->tiers.items[i].served;
    return statistics->hits > known ? statistics->hits - known : 0;
}

/* Of lookups that asked it. */
static uint64_t
mean_ns(gci_tier_sum const *sum)
{
    uint64_t asked = sum->counts[GCACHE_TIER_COUNT_ASKED];

    return asked != 0 ? sum->counts[GCACHE_TIER_COUNT_ASKING_NS] / asked : 0;
}

/* ---- for people ---- */

static void
write_count(char const *word, uint64_t count, gci_buf *out)
{
    if (count != 0)
        gci_phrase(out, "   {} {}", GCI_AS_TEXT(word), GCI_AS_COUNT(count));
}

static void
write_bytes(char const *word, uint64_t bytes, gci_buf *out)
{
    if (bytes != 0)
        gci_phrase(out, "   {} {}", GCI_AS_SIZE(bytes), GCI_AS_TEXT(word));
}

/* "redis://cache:6379    asked 412   hits 371   timeouts 2   38.1 MiB received   2.1 ms each" */
static void
write_tier(gci_tier_sum const *sum, gci_buf *out)
{
    static struct {
        gcache_tier_count count;
        char const *word;
    } const shown[] = {
        { GCACHE_TIER_COUNT_MISSES, "misses" },           { GCACHE_TIER_COUNT_TIMEOUTS, "timeouts" },
        { GCACHE_TIER_COUNT_UNAVAILABLE, "unavailable" }, { GCACHE_TIER_COUNT_LEFT_ALONE, "left alone" },
        { GCACHE_TIER_COUNT_REFUSED, "refused" },         { GCACHE_TIER_COUNT_PUBLISHED, "published" },
        { GCACHE_TIER_COUNT_NOT_PUBLISHED, "not published" },
    };

    gci_phrase(out, "{}    asked {}   hits {}", GCI_AS_VIEW(sum->name), GCI_AS_COUNT(sum->counts[GCACHE_TIER_COUNT_ASKED]),
               GCI_AS_COUNT(sum->counts[GCACHE_TIER_COUNT_HITS]));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        write_count(shown[i].word, sum->counts[shown[i].count], out);
    write_bytes("received", sum->counts[GCACHE_TIER_COUNT_BYTES_RECEIVED], out);
    write_bytes("sent", sum->counts[GCACHE_TIER_COUNT_BYTES_SENT], out);
    if (mean_ns(sum) != 0)
        gci_phrase(out, "   {} each", GCI_AS_DURATION(mean_ns(sum)));
    gci_buf_append_char(out, '\n');
}

void
gci_statistics_write_tiers(gci_statistics const *statistics, gci_buf *out)
{
    gci_tier_sums const *tiers = &statistics->tiers;

    if (!knows_tiers(statistics))
        return;
    gci_phrase(out, "{}{}   ", GCI_LEFT(NAME_WIDTH, GCI_AS_TEXT("served")), GCI_RIGHT(COUNT_WIDTH, GCI_AS_COUNT(statistics->hits)));
    for (size_t i = 0; i < tiers->count; i++) {
        if (tiers->items[i].served != 0)
            gci_phrase(out, "   {} {}", GCI_AS_VIEW(tiers->items[i].name), GCI_AS_COUNT(tiers->items[i].served));
    }
    write_count("memory or local", served_here(statistics), out);
    gci_buf_append_char(out, '\n');
    for (size_t i = 0; i < tiers->count; i++) {
        if (tiers->items[i].is_counted)
            write_tier(&tiers->items[i], out);
    }
}

/* ---- JSON ---- */

void
gci_statistics_write_tiers_json(gci_statistics const *statistics, gci_buf *out)
{
    gci_buf_append_text(out, ", \"tiers\": [");
    for (size_t i = 0; i < statistics->tiers.count; i++) {
        gci_tier_sum const *sum = &statistics->tiers.items[i];
        gci_json_next(out);
        gci_buf_append_char(out, '{');
        gci_json_member_text(out, "tier", sum->name);
        gci_json_member_number(out, "served", sum->served);
        gci_json_member_number(out, "saved_ns", sum->saved_ns);
        for (size_t k = 0; sum->is_counted && k < GCACHE_TIER_COUNT_COUNT; k++)
            gci_json_member_number(out, gcache_tier_count_name((gcache_tier_count)k), sum->counts[k]);
        gci_buf_append_char(out, '}');
    }
    gci_buf_append_char(out, ']');
}

/* ---- Prometheus ---- */

/* Of a label's value: backslash, quote and line end are escaped. */
static void
write_label(gci_view text, gci_buf *out)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '\\' || c == '"')
            gci_buf_append_char(out, '\\');
        if (c == '\n')
            gci_buf_append_text(out, "\\n");
        else
            gci_buf_append_char(out, c);
    }
}

static void
write_sample(char const *metric, gci_view tier, double value, gci_buf *out)
{
    gci_buf_format(out, "guardcache_%s{tier=\"", metric);
    write_label(tier, out);
    gci_buf_format(out, "\"} %.15g\n", value);
}

static void
write_metric(gci_statistics const *statistics, gcache_tier_count count, char const *metric, char const *help, gci_buf *out)
{
    double unit = count == GCACHE_TIER_COUNT_ASKING_NS ? 1e9 : 1;

    gci_buf_format(out, "# HELP guardcache_%s %s\n# TYPE guardcache_%s gauge\n", metric, help, metric);
    for (size_t i = 0; i < statistics->tiers.count; i++) {
        gci_tier_sum const *sum = &statistics->tiers.items[i];
        if (sum->is_counted)
            write_sample(metric, sum->name, (double)sum->counts[count] / unit, out);
    }
}

void
gci_statistics_write_tiers_prometheus(gci_statistics const *statistics, gci_buf *out)
{
    char metric[64];

    if (!knows_tiers(statistics))
        return;
    gci_buf_append_text(out, "# HELP guardcache_served_hits Hits that the journal knows of, by who served them\n"
                             "# TYPE guardcache_served_hits gauge\n");
    for (size_t i = 0; i < statistics->tiers.count; i++)
        write_sample("served_hits", statistics->tiers.items[i].name, (double)statistics->tiers.items[i].served, out);
    for (int i = 0; i < GCACHE_TIER_COUNT_COUNT; i++) {
        static char const *const meanings[] = {
#define X(id, word, meaning) meaning,
            GCACHE_TIER_COUNT_MAP(X)
#undef X
        };
        char const *word = i == GCACHE_TIER_COUNT_ASKING_NS ? "asking_seconds" : gcache_tier_count_name((gcache_tier_count)i);
        snprintf(metric, sizeof metric, "tier_%s", word);
        write_metric(statistics, (gcache_tier_count)i, metric, meanings[i], out);
    }
}

/* ---- HTML ---- */

static void
write_cell(gci_piece piece, gci_buf *out)
{
    gci_buf_append_text(out, "<td class=\"n\">");
    gci_phrase(out, "{}</td>", piece);
}

static void
write_row(gci_tier_sum const *sum, gci_buf *out)
{
    uint64_t const *counts = sum->counts;
    uint64_t trouble = counts[GCACHE_TIER_COUNT_TIMEOUTS] + counts[GCACHE_TIER_COUNT_UNAVAILABLE];

    gci_phrase(out, "<tr><th scope=\"row\">{}</th>", GCI_AS_HTML(sum->name));
    write_cell(GCI_AS_COUNT(counts[GCACHE_TIER_COUNT_ASKED]), out);
    write_cell(GCI_AS_COUNT(sum->served), out);
    write_cell(GCI_AS_DURATION(sum->saved_ns), out);
    write_cell(GCI_AS_COUNT(trouble), out);
    write_cell(GCI_AS_COUNT(counts[GCACHE_TIER_COUNT_LEFT_ALONE]), out);
    write_cell(GCI_AS_COUNT(counts[GCACHE_TIER_COUNT_REFUSED]), out);
    write_cell(GCI_AS_COUNT(counts[GCACHE_TIER_COUNT_PUBLISHED]), out);
    write_cell(GCI_AS_SIZE(counts[GCACHE_TIER_COUNT_BYTES_RECEIVED]), out);
    write_cell(GCI_AS_DURATION(mean_ns(sum)), out);
    gci_buf_append_text(out, "</tr>\n");
}

void
gci_report_tiers(gci_statistics const *statistics, gci_buf *out)
{
    static char const *const columns[] = { "asked", "hits", "compile time saved", "in trouble", "left alone", "refused",
                                           "published", "received", "a lookup waited" };

    if (!knows_tiers(statistics))
        return;
    gci_buf_append_text(out, "<section><h2>Tiers</h2>\n<div class=\"card\"><table><thead><tr><th scope=\"col\">tier</th>");
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        gci_buf_format(out, "<th scope=\"col\" class=\"n\">%s</th>", columns[i]);
    gci_buf_append_text(out, "</tr></thead>\n<tbody>");
    for (size_t i = 0; i < statistics->tiers.count; i++) {
        if (!is_here(&statistics->tiers.items[i]))
            write_row(&statistics->tiers.items[i], out);
    }
    gci_buf_append_text(out, "</tbody></table></div></section>\n");
}
