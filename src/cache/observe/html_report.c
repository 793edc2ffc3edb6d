/*
 * The report: one HTML page without anything to load, with pictures in SVG.
 */
#include "cache/observe/html_report.h"

#include "base/check.h"
#include "base/system/clock.h"
#include "cache/explain/html_page.h"
#include "cache/handle/words.h"

#include <guardcache/version.h>

/* A page that a browser opens at once. */
#define REPORT_BYTES_MAX ((size_t)64 << 20)

/* ---- figures ---- */

static void
write_head(gci_statistics const *statistics, gci_buf *out)
{
    gci_buf_append_text(out, "<header><h1>guardcache report</h1>\n");
    if (statistics->oldest_ns != 0)
        gci_phrase(out, "<p class=\"dim\">{} to {}</p>", GCI_AS_DATE(statistics->oldest_ns), GCI_AS_DATE(statistics->newest_ns));
    gci_buf_append_text(out, "</header>\n");
}

static void
write_figures(gci_statistics const *statistics, gci_buf *out)
{
    uint64_t misses = gci_statistics_misses(statistics), lookups = statistics->hits + misses;

    gci_phrase(out, "<dl class=\"figures\"><div><dt>lookups</dt><dd>{}</dd></div>", GCI_AS_COUNT(lookups));
    gci_buf_format(out, "<div><dt>hit rate</dt><dd>%.1f %%</dd></div>", gci_percent(statistics->hits, lookups));
    if (statistics->saved_ns != 0)
        gci_phrase(out, "<div><dt>compile time saved</dt><dd class=\"good\">{}</dd></div>",
                   GCI_AS_DURATION(statistics->saved_ns));
    if (statistics->cost_ns != 0)
        gci_phrase(out, "<div><dt>lost on misses</dt><dd class=\"bad\">{}</dd></div>", GCI_AS_DURATION(statistics->cost_ns));
    gci_buf_append_text(out, "</dl>\n");
}

/* ---- reasons ---- */

static void
write_reason(gcache_reason reason, uint64_t count, uint64_t misses, gci_buf *out)
{
    gci_phrase(out, "<tr><th scope=\"row\"><span class=\"reason\">{}</span></th><td>{}</td><td class=\"n\">{}</td>",
               GCI_AS_TEXT(gcache_reason_name(reason)), GCI_AS_TEXT(gcache_reason_text(reason)), GCI_AS_COUNT(count));
    double share = gci_percent(count, misses);
    gci_buf_format(out, "<td class=\"share wide\"><span class=\"bar\" style=\"width:%.1f%%\" title=\"%.1f %% of all misses\">"
                        "</span></td></tr>\n", share, share);
}

static void
write_reasons(gci_statistics const *statistics, gci_buf *out)
{
    uint64_t misses = gci_statistics_misses(statistics);

    if (misses == 0)
        return;
    gci_buf_append_text(out, "<section><h2>Misses by reason</h2>\n<div class=\"card\"><table><thead><tr><th scope=\"col\">reason"
                             "</th><th scope=\"col\">what it means</th><th scope=\"col\" class=\"n\">misses</th><th "
                             "scope=\"col\" class=\"wide\">share</th></tr></thead>\n<tbody>");
    for (int i = 1; i < GCACHE_REASON_COUNT; i++)
        if (statistics->misses[i] != 0)
            write_reason((gcache_reason)i, statistics->misses[i], misses, out);
    gci_buf_append_text(out, "</tbody></table></div></section>\n");
}

/* ---- the page ---- */

static void
write_nothing(gcache_journal_query const *query, gci_buf *out)
{
    bool all = query == NULL || (query->label == NULL && query->key == NULL && query->namespace_ == NULL &&
                                 query->since_ns == 0 && query->reason == GCACHE_REASON_NONE);

    gci_buf_append_text(out, "<section class=\"card\"><h2>Nothing to show yet</h2>\n");
    gci_buf_append_text(out, all ? "<p>The journal is empty: nothing has been looked up in this cache. Once a program has used "
                                   "it, this page shows what hit, what missed and why, and what to do about it.</p>"
                                 : "<p>The journal has no entry of those that were asked for. Without that choice there may be "
                                   "more.</p>");
    gci_buf_append_text(out, "</section>\n");
}

static void
write_foot(gci_buf *out)
{
    gci_phrase(out, "<footer><p>Made by guardcache {} on {}. One file: nothing is loaded, nothing runs.</p></footer>\n",
               GCI_AS_TEXT(gcache_version()), GCI_AS_DATE(gci_clock_wall_ns()));
}

static gcache_status
write_sections(gcache *cache, gcache_journal_query const *query, gci_statistics *statistics, gci_buf *out, gcache_error *error)
{
    gci_costly costly;

    gcache_status status = gci_costly_find(cache, query, statistics, &costly, error);
    write_figures(statistics, out);
    gci_report_first(&costly, out);
    if (status == GCACHE_OK)
        status = gci_report_timeline(cache, query, statistics, out, error);
    write_reasons(statistics, out);
    gci_report_tiers(statistics, out);
    gci_report_costly(&costly, out);
    gci_costly_clear(&costly);
    if (status == GCACHE_OK && cache->store != NULL)
        status = gci_report_coverage(cache, query, statistics, out, error);
    return status;
}

static gcache_status
write_page(gcache *cache, gcache_journal_query const *query, gci_statistics *statistics, gci_buf *out, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    gci_groups_sort(&statistics->misses_by_cost);
    gci_groups_sort(&statistics->keys);
    gci_html_page_begin(out, "guardcache report");
    write_head(statistics, out);
    if (statistics->oldest_ns == 0)
        write_nothing(query, out);
    else
        status = write_sections(cache, query, statistics, out, error);
    write_foot(out);
    gci_html_page_end(out);
    return status;
}

gcache_status
gcache_report(gcache *cache, gcache_journal_query const *query, char **out_html, gcache_error *error)
{
    gci_statistics statistics;
    gci_buf out;

    GCI_REQUIRE(cache != NULL && out_html != NULL, error, "cache or out_html is NULL");
    *out_html = NULL;
    gci_buf_init(&out, REPORT_BYTES_MAX);
    gcache_status status = gci_statistics_collect(cache, query, false, &statistics, error);
    if (status == GCACHE_OK)
        status = write_page(cache, query, &statistics, &out, error);
    if (status == GCACHE_OK) {
        *out_html = gci_buf_take_text(&out);
        status = *out_html != NULL ? GCACHE_OK : gci_fail_memory(error);
    }
    gci_buf_clear(&out);
    gci_statistics_clear(&statistics);
    return status;
}
