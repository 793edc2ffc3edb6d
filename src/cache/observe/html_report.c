/*
 * The report: one HTML page without anything to load, with pictures in SVG.
 */
#include "cache/observe/html_report.h"

#include "base/check.h"
#include "base/system/clock.h"
#include "cache/handle/words.h"

/* A page that a browser opens at once. */
#define REPORT_BYTES_MAX ((size_t)64 << 20)
#define COSTLY_SHOWN 10
#define TIMELINE_BARS 60
#define TIMELINE_HEIGHT 120
#define BAR_WIDTH 12

static char const page_start[] =
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>guardcache report</title>\n"
    "<link rel=\"icon\" href=\"data:,\">\n<style>\n"
    ":root{color-scheme:light dark;--ink:#1c2128;--dim:#57606a;--page:#fff;--line:#d0d7de;--hit:#1a7f37;--miss:#b42318}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa4ae;--page:#0d1117;--line:#30363d;--hit:#4ac26b;"
    "--miss:#ff7b72}}\n"
    "body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--page);max-width:62rem;margin:2rem auto;"
    "padding:0 1rem}\n"
    "h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.2rem}p{color:var(--dim)}\n"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid "
    "var(--line)}td.n,th.n{text-align:right}\n"
    "dl{display:flex;flex-wrap:wrap;gap:1rem 2.5rem}dt{color:var(--dim)}dd{margin:0;font-size:1.5rem}\n"
    "svg{max-width:100%;height:auto}svg text{fill:var(--dim);font-size:11px}\n"
    ".hit{fill:var(--hit)}.miss{fill:var(--miss)}.cross{stroke:var(--miss);stroke-width:2}.frame{fill:none;"
    "stroke:var(--line)}\n"
    ".c0{fill:#4f8edc}.c1{fill:#c98a1b}.c2{fill:#8e6fd1}.c3{fill:#2f9e93}.c4{fill:#c2578f}.c5{fill:#7d8b3a}"
    ".region{fill-opacity:.35}\n"
    "pre{overflow-x:auto;border:1px solid var(--line);padding:.8rem;font-size:13px}\n"
    "summary{cursor:pointer}summary:focus-visible{outline:2px solid var(--hit)}meter{width:10rem}\n"
    "</style>\n</head>\n<body>\n<main>\n";

static char const page_end[] = "</main>\n</body>\n</html>\n";

/* ---- figures ---- */

static void
write_figures(gci_statistics const *statistics, gci_buf *out)
{
    uint64_t misses = gci_statistics_misses(statistics), lookups = statistics->hits + misses;

    gci_buf_append_text(out, "<h1>guardcache report</h1>\n<p>");
    if (statistics->oldest_ns != 0)
        gci_phrase(out, "{} to {}", GCI_AS_DATE(statistics->oldest_ns), GCI_AS_DATE(statistics->newest_ns));
    else
        gci_buf_append_text(out, "the journal is empty");
    gci_phrase(out, "</p>\n<dl><div><dt>lookups</dt><dd>{}</dd></div>", GCI_AS_COUNT(lookups));
    gci_buf_format(out, "<div><dt>hit rate</dt><dd>%.1f %%</dd></div>", gci_percent(statistics->hits, lookups));
    gci_phrase(out, "<div><dt>compile time saved</dt><dd>{}</dd></div><div><dt>spent on misses</dt><dd>{}</dd></div></dl>\n",
               GCI_AS_DURATION(statistics->saved_ns), GCI_AS_DURATION(statistics->cost_ns));
}

static void
write_reasons(gci_statistics const *statistics, gci_buf *out)
{
    uint64_t misses = gci_statistics_misses(statistics);

    gci_buf_append_text(out, "<h2>Misses by reason</h2>\n<table><tr><th scope=\"col\">reason</th><th scope=\"col\">what it "
                             "means</th><th scope=\"col\" class=\"n\">misses</th><th scope=\"col\">share</th></tr>\n");
    for (int i = 1; i < GCACHE_REASON_COUNT; i++) {
        if (statistics->misses[i] == 0)
            continue;
        gci_piece name = GCI_AS_TEXT(gcache_reason_name((gcache_reason)i)), count = GCI_AS_NUMBER(statistics->misses[i]);
        gci_phrase(out,
                   "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"n\">{}</td><td><meter max=\"{}\" "
                   "value=\"{}\" aria-label=\"share of {}\"></meter></td></tr>\n",
                   name, GCI_AS_TEXT(gcache_reason_text((gcache_reason)i)), count, GCI_AS_NUMBER(misses), count, name);
    }
    gci_buf_append_text(out, "</table>\n");
}

/* ---- the timeline ---- */

typedef struct timeline {
    uint64_t start_ns, span_ns;
    uint64_t hits[TIMELINE_BARS], misses[TIMELINE_BARS];
} timeline;

static int
add_to_timeline(void *state, gci_journal_entry *entry)
{
    timeline *line = state;
    size_t bar = (size_t)((double)(entry->at_ns - line->start_ns) / (double)line->span_ns * TIMELINE_BARS);

    if (bar >= TIMELINE_BARS)
        bar = TIMELINE_BARS - 1;
    line->hits[bar] += entry->hits;
    line->misses[bar] += entry->kind == GCACHE_JOURNAL_MISS;
    return 0;
}

static void
write_bar(gci_buf *out, char const *class, size_t bar, double top, double height)
{
    if (height > 0)
        gci_buf_format(out, "<rect class=\"%s\" x=\"%zu\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>", class, bar * BAR_WIDTH,
                       top, BAR_WIDTH - 2, height);
}

static void
write_timeline(timeline const *line, gci_buf *out)
{
    uint64_t most = 1;

    for (size_t i = 0; i < TIMELINE_BARS; i++)
        if (line->hits[i] + line->misses[i] > most)
            most = line->hits[i] + line->misses[i];
    gci_buf_format(out, "<h2>When</h2>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Hits and misses over time; the "
                        "highest bar is %llu lookups\">", TIMELINE_BARS * BAR_WIDTH, TIMELINE_HEIGHT + 2,
                   (unsigned long long)most);
    for (size_t i = 0; i < TIMELINE_BARS; i++) {
        double hits = (double)line->hits[i] / (double)most * TIMELINE_HEIGHT;
        double misses = (double)line->misses[i] / (double)most * TIMELINE_HEIGHT;
        write_bar(out, "hit", i, TIMELINE_HEIGHT - hits, hits);
        write_bar(out, "miss", i, TIMELINE_HEIGHT - hits - misses, misses);
    }
    gci_buf_append_text(out, "</svg>\n<p>Green: hits. Red, on top of them: misses.</p>\n");
}

static gcache_status
add_timeline(gcache *cache, gcache_journal_query const *query, gci_statistics const *statistics, gci_buf *out, gcache_error *error)
{
    timeline line = { .start_ns = statistics->oldest_ns, .span_ns = statistics->newest_ns - statistics->oldest_ns + 1 };

    if (statistics->oldest_ns == 0)
        return GCACHE_OK;
    gcache_status status = gci_history_each(cache, query, add_to_timeline, &line, error);
    if (status == GCACHE_OK)
        write_timeline(&line, out);
    return status;
}

/* ---- the costliest misses ---- */

typedef struct costly {
    gci_groups const *groups;
    size_t shown;
    gci_buf texts[COSTLY_SHOWN]; /* the newest explanation of each */
} costly;

static int
explain_costly(void *state, gci_journal_entry *entry)
{
    costly *c = state;

    for (size_t i = 0; entry->kind == GCACHE_JOURNAL_MISS && i < c->shown; i++) {
        gci_group const *group = &c->groups->items[i];
        if (c->texts[i].size != 0 || entry->reason != group->reason ||
            memcmp(&entry->key, &group->key, sizeof entry->key) != 0 || gci_journal_entry_open(entry, NULL) != GCACHE_OK)
            continue;
        gci_explain_entry(entry, GCACHE_EXPLAIN_TEXT, &c->texts[i]);
        break;
    }
    return 0;
}

static void
write_costly(costly *c, gci_buf *out)
{
    gci_buf_append_text(out, "<h2>What costs most</h2>\n");
    for (size_t i = 0; i < c->shown; i++) {
        gci_group const *group = &c->groups->items[i];
        gci_phrase(out, "<details><summary>{} in {} {}: {}, key {} {}</summary><pre>", GCI_AS_DURATION(group->cost_ns),
                   GCI_AS_NUMBER(group->misses), GCI_AS_TEXT(group->misses == 1 ? "miss" : "misses"),
                   GCI_AS_TEXT(gcache_reason_name(group->reason)), GCI_AS_KEY(&group->key), GCI_AS_HTML(group->label));
        gci_write_html_lines(out, gci_buf_view(&c->texts[i]));
        gci_buf_append_text(out, "</pre></details>\n");
    }
}

static gcache_status
add_costly(gcache *cache, gcache_journal_query const *query, gci_statistics const *statistics, gci_buf *out, gcache_error *error)
{
    costly c = { .groups = &statistics->misses_by_cost };

    c.shown = c.groups->count < COSTLY_SHOWN ? c.groups->count : COSTLY_SHOWN;
    for (size_t i = 0; i < COSTLY_SHOWN; i++)
        gci_buf_init(&c.texts[i], GCI_BUF_NO_LIMIT);
    gcache_status status = c.shown != 0 ? gci_history_each(cache, query, explain_costly, &c, error) : GCACHE_OK;
    if (status == GCACHE_OK && c.shown != 0)
        write_costly(&c, out);
    for (size_t i = 0; i < COSTLY_SHOWN; i++)
        gci_buf_clear(&c.texts[i]);
    return status;
}

/* ---- the page ---- */

static gcache_status
write_page(gcache *cache, gcache_journal_query const *query, gci_statistics *statistics, gci_buf *out, gcache_error *error)
{
    gci_groups_sort(&statistics->misses_by_cost);
    gci_groups_sort(&statistics->keys);
    gci_buf_append_text(out, page_start);
    write_figures(statistics, out);
    gcache_status status = add_timeline(cache, query, statistics, out, error);
    write_reasons(statistics, out);
    if (status == GCACHE_OK)
        status = add_costly(cache, query, statistics, out, error);
    if (status == GCACHE_OK && cache->store != NULL)
        status = gci_report_coverage(cache, query, statistics, out, error);
    gci_buf_append_text(out, page_end);
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
