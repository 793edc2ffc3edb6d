/*
 * Hits and misses over time: bars of a length of time that people count in, and the clock below them.
 */
#include "base/check.h"
#include "cache/explain/html_page.h"
#include "cache/handle/words.h"
#include "cache/observe/html_report.h"

#include <time.h>

#define BARS_MAX 60
#define TICKS_MAX 8
#define NS_PER_SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)
#define MINUTE (60 * NS_PER_SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
/* In units of the picture: a bar's slot is one wide, the highest bar so high, and none lower than that. */
#define HEIGHT 100.0
#define LEAST_HEIGHT 2.5

/* Lengths of time between which a clock has round numbers. */
static uint64_t const steps[] = {
    MS,         2 * MS,      5 * MS,      10 * MS,    20 * MS,     50 * MS,     100 * MS,  200 * MS,
    500 * MS,   1000 * MS,   2000 * MS,   5000 * MS,  10000 * MS,  15000 * MS,  30000 * MS, MINUTE,
    2 * MINUTE, 5 * MINUTE,  10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR,       2 * HOUR,  3 * HOUR,
    6 * HOUR,   12 * HOUR,   DAY,         2 * DAY,    7 * DAY,     14 * DAY,    28 * DAY,  91 * DAY,
    182 * DAY,  364 * DAY,   1820 * DAY,
};

typedef struct timeline {
    uint64_t start_ns, width_ns; /* of the first bar */
    int64_t zone_ns;             /* local time is so far ahead */
    size_t count;
    uint64_t hits[BARS_MAX + 2], misses[BARS_MAX + 2];
} timeline;

/* ---- bars ---- */

/* The least step of which `most` cover the span. */
static uint64_t
choose_step(uint64_t span_ns, uint64_t most)
{
    size_t i = 0;

    while (i + 1 < sizeof steps / sizeof steps[0] && span_ns / steps[i] >= most)
        i++;
    return steps[i];
}

static int64_t
find_zone(uint64_t at_ns)
{
    time_t at = (time_t)(at_ns / NS_PER_SECOND);
    struct tm local, world;

    if (localtime_r(&at, &local) == NULL || gmtime_r(&at, &world) == NULL)
        return 0;
    int64_t minutes = (local.tm_hour - world.tm_hour) * 60 + local.tm_min - world.tm_min;
    int days = local.tm_year != world.tm_year ? local.tm_year - world.tm_year : local.tm_yday - world.tm_yday;
    return (minutes + days * 24 * 60) * (int64_t)MINUTE;
}

/* The local clock's last round number before a moment, in world time. */
static uint64_t
round_down(timeline const *line, uint64_t at_ns, uint64_t step)
{
    uint64_t local = at_ns + (uint64_t)line->zone_ns;

    return at_ns - local % step;
}

static void
lay_out(timeline *line, gci_statistics const *statistics)
{
    uint64_t span = statistics->newest_ns - statistics->oldest_ns;

    *line = (timeline){ .width_ns = choose_step(span, BARS_MAX), .zone_ns = find_zone(statistics->oldest_ns) };
    line->start_ns = round_down(line, statistics->oldest_ns, line->width_ns);
    uint64_t count = (statistics->newest_ns - line->start_ns) / line->width_ns + 1;
    line->count = count < BARS_MAX + 2 ? (size_t)count : BARS_MAX + 2;
}

static int
add_to_timeline(void *state, gci_journal_entry *entry)
{
    timeline *line = state;
    uint64_t bar = entry->at_ns > line->start_ns ? (entry->at_ns - line->start_ns) / line->width_ns : 0;

    if (bar >= line->count)
        bar = line->count - 1;
    line->hits[bar] += entry->hits;
    line->misses[bar] += entry->kind == GCACHE_JOURNAL_MISS;
    return 0;
}

/* ---- the clock ---- */

/* As exact as the step asks for: "25 Nov", "14:02", "14:02:07", "14:02:07.250"; at midnight, and if wanted, with the day. */
static void
format_clock(char *text, size_t size, uint64_t step, bool with_day, struct tm const *local)
{
    bool midnight = step >= MINUTE && local->tm_hour == 0 && local->tm_min == 0;

    if (step >= 364 * DAY)
        strftime(text, size, "%Y", local);
    else if (step >= DAY || midnight)
        strftime(text, size, "%e %b", local);
    else if (with_day)
        strftime(text, size, step >= MINUTE ? "%e %b %H:%M" : "%e %b %H:%M:%S", local);
    else
        strftime(text, size, step >= MINUTE ? "%H:%M" : "%H:%M:%S", local);
}

static void
write_clock(uint64_t at_ns, uint64_t step, bool with_day, gci_buf *out)
{
    time_t at = (time_t)(at_ns / NS_PER_SECOND);
    struct tm local;
    char text[32];

    if (localtime_r(&at, &local) == NULL)
        return;
    format_clock(text, sizeof text, step, with_day, &local);
    gci_buf_append_text(out, text + (text[0] == ' '));
    if (step < NS_PER_SECOND)
        gci_buf_format(out, ".%03u", (unsigned)(at_ns % NS_PER_SECOND / MS));
}

static bool
spans_days(timeline const *line)
{
    return line->count * line->width_ns > DAY;
}

static double
place_of(timeline const *line, uint64_t at_ns)
{
    return (double)(at_ns - line->start_ns) / (double)line->width_ns;
}

/* Lines in the picture, or the clock below it. */
static void
write_ticks(timeline const *line, gci_buf *out, bool clock)
{
    uint64_t step = choose_step(line->count * line->width_ns, TICKS_MAX), end = line->start_ns + line->count * line->width_ns;
    uint64_t at = round_down(line, line->start_ns + step - 1, step);

    for (size_t i = 0; at <= end; at += step, i++) {
        double place = place_of(line, at);
        if (!clock) {
            gci_buf_format(out, "<path class=\"tick\" d=\"M%.2f 0V%.0f\"/>", place, HEIGHT);
            continue;
        }
        gci_html_tick(out, place / (double)line->count, i % (step < NS_PER_SECOND ? 3 : 2) != 0);
        write_clock(at, step, false, out);
        gci_buf_append_text(out, "</span>");
    }
}

/* ---- written down ---- */

/* "14:02 to 14:03: 31 hits, 2 misses" */
static void
write_values(timeline const *line, size_t bar, gci_buf *out)
{
    uint64_t at = line->start_ns + bar * line->width_ns;

    write_clock(at, line->width_ns, spans_days(line), out);
    gci_buf_append_text(out, " to ");
    write_clock(at + line->width_ns, line->width_ns, false, out);
    gci_phrase(out, ": {} {}, {} {}", GCI_AS_COUNT(line->hits[bar]), GCI_AS_TEXT(line->hits[bar] == 1 ? "hit" : "hits"),
               GCI_AS_COUNT(line->misses[bar]), GCI_AS_TEXT(line->misses[bar] == 1 ? "miss" : "misses"));
}

static double
height_of(uint64_t count, uint64_t most)
{
    double height = (double)count / (double)most * HEIGHT;

    return count != 0 && height < LEAST_HEIGHT ? LEAST_HEIGHT : height;
}

static void
write_bar(gci_buf *out, char const *class, size_t bar, double top, double height)
{
    if (height > 0)
        gci_buf_format(out, "<rect class=\"%s\" x=\"%.2f\" y=\"%.1f\" width=\".84\" height=\"%.1f\"/>", class,
                       (double)bar + 0.08, top, height);
}

static void
write_slot(timeline const *line, size_t bar, uint64_t most, gci_buf *out)
{
    double hits = height_of(line->hits[bar], most), misses = height_of(line->misses[bar], most);

    if (hits + misses <= 0)
        return;
    gci_buf_append_text(out, "<g><title>");
    write_values(line, bar, out);
    gci_buf_format(out, "</title><rect class=\"slot\" x=\"%zu\" y=\"0\" width=\"1\" height=\"%.0f\"/>", bar, HEIGHT);
    write_bar(out, "hit", bar, HEIGHT - hits, hits);
    write_bar(out, "miss", bar, HEIGHT - hits - misses, misses);
    gci_buf_append_text(out, "</g>");
}

/* What the bars say, for whoever has no pointer to hold above them. */
static void
write_table(timeline const *line, gci_buf *out)
{
    gci_buf_append_text(out, "<details><summary>the same in numbers</summary><table><thead><tr><th scope=\"col\">from</th><th "
                             "scope=\"col\" class=\"n\">hits</th><th scope=\"col\" class=\"n\">misses</th></tr></thead><tbody>");
    for (size_t i = 0; i < line->count; i++) {
        if (line->hits[i] + line->misses[i] == 0)
            continue;
        gci_buf_append_text(out, "<tr><th scope=\"row\">");
        write_clock(line->start_ns + i * line->width_ns, line->width_ns, spans_days(line), out);
        gci_phrase(out, "</th><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>", GCI_AS_COUNT(line->hits[i]),
                   GCI_AS_COUNT(line->misses[i]));
    }
    gci_buf_append_text(out, "</tbody></table></details>\n");
}

static void
write_timeline(timeline const *line, gci_buf *out)
{
    uint64_t most = 1;

    for (size_t i = 0; i < line->count; i++)
        if (line->hits[i] + line->misses[i] > most)
            most = line->hits[i] + line->misses[i];
    gci_buf_format(out, "<section><h2>When</h2>\n<figure class=\"card time\"><div class=\"plot\"><svg class=\"slots\" "
                        "viewBox=\"0 0 %zu %.0f\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Hits and misses over "
                        "time; the highest bar is %llu lookups\">", line->count, HEIGHT, (unsigned long long)most);
    write_ticks(line, out, false);
    for (size_t i = 0; i < line->count; i++)
        write_slot(line, i, most, out);
    gci_buf_format(out, "<path class=\"tick\" d=\"M0 %.0fH%zu\"/></svg>", HEIGHT, line->count);
    gci_phrase(out, "<span class=\"most\">{} lookups in {}</span>", GCI_AS_COUNT(most), GCI_AS_DURATION(line->width_ns));
    write_ticks(line, out, true);
    gci_buf_append_text(out, "</div>\n<figcaption class=\"key\"><i class=\"hit\"></i>hits <i class=\"miss\"></i>misses, on top of "
                             "them</figcaption>\n");
    write_table(line, out);
    gci_buf_append_text(out, "</figure></section>\n");
}

gcache_status
gci_report_timeline(gcache *cache, gcache_journal_query const *query, gci_statistics const *statistics, gci_buf *out,
                    gcache_error *error)
{
    timeline line;

    GCI_ASSERT(statistics->oldest_ns != 0 && statistics->oldest_ns <= statistics->newest_ns);
    lay_out(&line, statistics);
    gcache_status status = gci_history_each(cache, query, add_to_timeline, &line, error);
    if (status == GCACHE_OK)
        write_timeline(&line, out);
    return status;
}
