/*
 * Times, sizes, counts, columns and excerpts as people read them.
 */
#include "cache/handle/words.h"

#include "base/check.h"
#include "base/digest.h"
#include "base/system/clock.h"
#include "base/text/columns.h"
#include "store/store.h"

#include <stdio.h>
#include <time.h>

#define NS_PER_SECOND UINT64_C(1000000000)

/* Fills what was written since `start` up with spaces. All of it is ASCII. */
static void
fill_up(gci_buf *out, size_t start, gci_piece const *piece)
{
    size_t size = out->size - start, more = size < piece->room ? piece->room - size : 0;
    char *end = more != 0 ? gci_buf_reserve(out, more) : NULL;

    if (end == NULL)
        return;
    if (piece->right)
        memmove(end - size + more, end - size, size);
    memset(piece->right ? end - size : end, ' ', more);
    out->size += more;
}

void
gci_write_phrase(gci_buf *out, char const *template, gci_piece const *pieces)
{
    for (char const *hole; (hole = strstr(template, "{}")) != NULL; template = hole + 2, pieces++) {
        gci_buf_append(out, template, (size_t)(hole - template));
        size_t start = out->size;
        if (pieces->number != NULL)
            pieces->number(out, pieces->value);
        else if (pieces->text != NULL)
            pieces->text(out, pieces->view);
        else
            pieces->excerpt(out, pieces->view, pieces->width);
        fill_up(out, start, pieces);
    }
    gci_buf_append_text(out, template);
}

void
gci_write_short_key(gci_buf *out, gci_view key)
{
    char hex[GCI_SHORT_KEY_DIGITS + 1];

    GCI_ASSERT(key.size >= GCI_SHORT_KEY_DIGITS / 2);
    gci_hex((uint8_t const *)key.data, GCI_SHORT_KEY_DIGITS / 2, hex);
    gci_buf_append_text(out, hex);
}

void
gci_write_number(gci_buf *out, uint64_t number)
{
    gci_buf_format(out, "%llu", (unsigned long long)number);
}

void
gci_write_duration(gci_buf *out, uint64_t ns)
{
    uint64_t seconds = ns / NS_PER_SECOND;

    if (ns < 1000)
        gci_buf_format(out, "%llu ns", (unsigned long long)ns);
    else if (ns < 1000000)
        gci_buf_format(out, "%llu us", (unsigned long long)(ns / 1000));
    else if (seconds == 0)
        gci_buf_format(out, "%llu ms", (unsigned long long)(ns / 1000000));
    else if (seconds < 100)
        gci_buf_format(out, "%.1f s", (double)ns / 1e9);
    else if (seconds < 3600)
        gci_buf_format(out, "%llu min %llu s", (unsigned long long)(seconds / 60), (unsigned long long)(seconds % 60));
    else
        gci_buf_format(out, "%llu h %llu min", (unsigned long long)(seconds / 3600),
                       (unsigned long long)(seconds / 60 % 60));
}

static void
write_clock(gci_buf *out, uint64_t at_ns, uint64_t now_ns, bool seconds)
{
    time_t at = (time_t)(at_ns / NS_PER_SECOND), now = (time_t)(now_ns / NS_PER_SECOND);
    struct tm then, today;

    if (localtime_r(&at, &then) == NULL || localtime_r(&now, &today) == NULL) {
        gci_buf_append_text(out, "?");
        return;
    }
    if (then.tm_year != today.tm_year || then.tm_yday != today.tm_yday)
        gci_buf_format(out, "%04d-%02d-%02d ", then.tm_year + 1900, then.tm_mon + 1, then.tm_mday);
    gci_buf_format(out, "%02d:%02d", then.tm_hour, then.tm_min);
    if (seconds)
        gci_buf_format(out, ":%02d", then.tm_sec);
}

void
gci_write_time(gci_buf *out, uint64_t at_ns)
{
    write_clock(out, at_ns, gci_clock_wall_ns(), false);
}

void
gci_write_moment(gci_buf *out, uint64_t at_ns)
{
    write_clock(out, at_ns, gci_clock_wall_ns(), true);
}

void
gci_write_date(gci_buf *out, uint64_t at_ns)
{
    write_clock(out, at_ns, 0, true);
}

void
gci_write_count(gci_buf *out, uint64_t count)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);

    for (int i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            gci_buf_append_char(out, ',');
        gci_buf_append_char(out, digits[i]);
    }
}

void
gci_write_size(gci_buf *out, uint64_t bytes)
{
    static char const *const units[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    double scaled = (double)bytes / 1024;
    size_t unit = 0;

    if (bytes < 1024) {
        gci_buf_format(out, "%llu bytes", (unsigned long long)bytes);
        return;
    }
    for (; scaled >= 1024 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        scaled /= 1024;
    gci_buf_format(out, "%.1f %s", scaled, units[unit]);
}

/* A cut at `at` would go through a number: "2147 ... 647" says something else. */
static bool
is_within_number(gci_view text, size_t at)
{
    static char const digits[] = "0123456789.";

    return at > 0 && at < text.size && text.data[at - 1] != '\0' && strchr(digits, text.data[at - 1]) != NULL &&
           text.data[at] != '\0' && strchr(digits, text.data[at]) != NULL;
}

/* The bytes that the first `room` columns take: whole characters, and no part of a number. */
static size_t
head_within(gci_view text, size_t room)
{
    size_t at = 0, size;

    for (size_t used = 0; at < text.size; at += size) {
        used += gci_columns_of_first(gci_view_of(text.data + at, text.size - at), &size);
        if (used > room)
            break;
    }
    while (is_within_number(text, at))
        at--;
    return at;
}

static bool
continues_character(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

/* Where the last `room` columns begin: at a character, and not within a number. */
static size_t
tail_within(gci_view text, size_t room)
{
    size_t at = text.size;

    for (size_t used = 0; at > 0;) {
        size_t before = at - 1, size;
        while (before > 0 && continues_character(text.data[before]))
            before--;
        used += gci_columns_of_first(gci_view_of(text.data + before, text.size - before), &size);
        if (used > room)
            break;
        at = before;
    }
    while (is_within_number(text, at))
        at++;
    return at;
}

/* White space is folded; what else a terminal would act on is escaped. */
static void
append_folded(gci_buf *out, gci_view text)
{
    size_t from = 0;

    for (size_t i = 0; i <= text.size; i++) {
        bool space = i < text.size && text.data[i] >= '\t' && text.data[i] <= '\r';
        if (i < text.size && !space)
            continue;
        gci_visible_append(out, gci_view_of(text.data + from, i - from));
        if (space)
            gci_buf_append_char(out, ' ');
        from = i + 1;
    }
}

void
gci_write_excerpt(gci_buf *out, gci_view text, size_t width)
{
    static char const gap[] = " ... ";
    GCI_ASSERT(width > 2 * sizeof gap);

    if (gci_columns(text) <= width) {
        append_folded(out, text);
        return;
    }
    size_t room = width - (sizeof gap - 1);
    size_t head = head_within(text, room * 2 / 3), tail = tail_within(text, room - room * 2 / 3);
    append_folded(out, gci_view_of(text.data, head));
    gci_buf_append_text(out, gap);
    append_folded(out, gci_view_of(text.data + tail, text.size - tail));
}

size_t
gci_first_difference(gci_view a, gci_view b)
{
    size_t i = 0;

    while (i < a.size && i < b.size && a.data[i] == b.data[i])
        i++;
    return i;
}

void
gci_write_excerpt_around(gci_buf *out, gci_view text, size_t at, size_t width)
{
    at = at < text.size ? at : text.size;
    size_t start = gci_columns(text) <= width ? 0 : tail_within(gci_view_of(text.data, at), width / 2);
    gci_view rest = gci_view_of(text.data + start, text.size - start);
    size_t size = head_within(rest, width);
    /* At the end there may be room for more in front. */
    if (size == rest.size && start != 0) {
        start = tail_within(text, width);
        rest = gci_view_of(text.data + start, text.size - start);
        size = rest.size;
    }
    gci_buf_append_text(out, start > 0 ? "... " : "");
    append_folded(out, gci_view_of(rest.data, size));
    gci_buf_append_text(out, size < rest.size ? " ..." : "");
}

void
gci_write_cell(gci_buf *out, gci_view text, size_t width, size_t widest)
{
    size_t before = out->size;

    gci_write_excerpt(out, text, widest > 12 ? widest : 12);
    if (out->failed)
        return;
    size_t used = gci_columns(gci_view_of(out->data + before, out->size - before));
    for (; used < width; used++)
        gci_buf_append_char(out, ' ');
}

void
gci_write_column(gci_buf *out, gci_view text, size_t width)
{
    gci_write_cell(out, text, width, width);
}

void
gci_copy_line(gci_buf const *line, char *out_text, size_t size)
{
    if (size == 0)
        return;
    size_t length = line->size < size ? line->size : size - 1;
    if (length != 0)
        memcpy(out_text, line->data, length);
    out_text[length] = '\0';
}

/* How many bytes of text fit into a line of `room` columns: up to the last space, a whole word in any case. */
static size_t
fitting(gci_view text, size_t room)
{
    size_t best = 0;

    for (size_t i = 0; i <= text.size; i++) {
        if (i < text.size && text.data[i] != ' ')
            continue;
        if (best != 0 && gci_columns(gci_view_of(text.data, i)) > room)
            break;
        best = i;
    }
    return best;
}

void
gci_write_paragraph(gci_buf *out, char const *first, gci_view text, size_t width)
{
    size_t indent = strlen(first);
    GCI_ASSERT(width > indent);

    gci_buf_append_text(out, first);
    while (text.size != 0) {
        size_t size = fitting(text, width - indent);
        append_folded(out, gci_view_of(text.data, size));
        gci_buf_append_char(out, '\n');
        size += size < text.size;
        text = gci_view_of(text.data + size, text.size - size);
        if (text.size != 0)
            gci_buf_format(out, "%*s", (int)indent, "");
    }
}

/* Another process may not have reported yet the evictions that were asked for: no more than all of them. */
void
gci_write_asked_again(gci_buf *out, uint64_t asked, uint64_t evicted)
{
    if (asked == 0 || evicted == 0)
        return;
    double share = asked < evicted ? 100.0 * (double)asked / (double)evicted : 100;
    if (share < 1)
        gci_buf_append_text(out, "; under 1 %");
    else
        gci_buf_format(out, "; %.0f %%", share);
    gci_buf_append_text(out, " of evicted entries were asked for again");
}

char const *
gci_eviction_text(int cause)
{
    static char const *const texts[] = {
#define X(name, text) [GCI_EVICTED_##name] = text,
        GCI_EVICTION_CAUSE_MAP(X)
#undef X
    };
    bool known = cause > 0 && (size_t)cause < sizeof texts / sizeof texts[0];

    return known ? texts[cause] : "the cause isn't known";
}

void
gci_write_json_literal(gci_buf *out, gci_view literal)
{
    static char const *const words[][2] = { { "True", "true" }, { "False", "false" }, { "None", "null" } };
    char last = literal.size != 0 ? literal.data[literal.size - 1] : '0';

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (gci_view_is(literal, words[i][0])) {
            gci_buf_append_text(out, words[i][1]);
            return;
        }
    }
    if (last >= '0' && last <= '9')
        gci_buf_append_view(out, literal);
    else
        gci_buf_format(out, "{\"$float\": \"%.*s\"}", (int)literal.size, literal.data);
}

static void
write_html(gci_buf *out, gci_view text, void (*append)(gci_buf *out, gci_view text))
{
    static char const *const entities[256] = { ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;",
                                               ['\''] = "&#39;" };
    size_t from = 0;

    for (size_t i = 0; i <= text.size; i++) {
        char const *entity = i < text.size ? entities[(unsigned char)text.data[i]] : "";
        if (entity == NULL)
            continue;
        append(out, gci_view_of(text.data + from, i - from));
        gci_buf_append_text(out, entity);
        from = i + 1;
    }
}

void
gci_write_html(gci_buf *out, gci_view text)
{
    write_html(out, text, gci_visible_append);
}

void
gci_write_html_lines(gci_buf *out, gci_view text)
{
    write_html(out, text, gci_visible_append_lines);
}
