/*
 * For a key under which nothing is stored: the stored keys like it, and where they differ.
 */
#include "cache/candidates/sources.h"
#include "cache/explain/explanation.h"
#include "cache/handle/words.h"

#include <stdlib.h>

/* Lines of a hunk in a brief text: 10 of the 16 that it begins with. */
#define HUNK_LINES(room) ((room) / 2 + 2)
/* Of nodes one after another in a brief text. */
#define BRIEF_NODES 5

/* Whose key it is; only where nobody said, its digits. */
static void
write_whose(gci_journal_entry const *entry, gci_near_key const *near, gci_buf *out)
{
    gci_view label = gci_view_text(entry->context.request.label);

    if (near->label.size == 0)
        gci_phrase(out, "{}", GCI_AS_KEY(&near->key));
    else if (gci_view_equal(near->label, label))
        gci_buf_append_text(out, "the same function");
    else
        gci_visible_append(out, near->label);
}

static void
tell_near_key(gci_journal_entry const *entry, gci_near_key const *near, gci_story *story)
{
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_SENTENCE);
    uint64_t keys = entry->trace.kind_keys;

    gci_phrase(out, keys == 1 ? "nearest of {} key: " : "nearest of {} keys: ", GCI_AS_COUNT(keys));
    write_whose(entry, near, out);
    if (near->created_ns != 0)
        gci_phrase(out, ", stored {}", GCI_AS_TIME(near->created_ns));
    gci_buf_format(out, ", %u of %u components equal", near->equal, near->components);
}

static bool
is_changed(gci_view line)
{
    return gci_view_begins(line, "-") || gci_view_begins(line, "+");
}

/* Of the first `most` lines of hunks those up to the last one that changed, with what stands around it. A line that is gone
   has the one after it beside it. */
static size_t
count_hunk_lines(gci_view hunks, size_t most)
{
    size_t count = 0, kept = 0;
    bool changed = false, gone = false;

    for (gci_view line; gci_view_next_line(&hunks, &line);) {
        if (count >= most && !(gone && gci_view_begins(line, "+")))
            break;
        changed = is_changed(line) || (changed && !gci_view_begins(line, "@@"));
        gone = gci_view_begins(line, "-");
        count++;
        kept = changed ? count : kept;
    }
    return kept;
}

/* Changed lines, and those that the hunks' last line says are left out. */
static size_t
count_changed(gci_view hunks)
{
    size_t count = 0;

    for (gci_view line; gci_view_next_line(&hunks, &line);) {
        count += is_changed(line);
        if (gci_view_begins(line, GCI_DIFF_MORE_LINES))
            count += strtoul(line.data + strlen(GCI_DIFF_MORE_LINES), NULL, 10);
    }
    return count;
}

/* At most `most` lines of a text's hunks, and one that says how many more there are. Returns how many. */
static size_t
tell_hunks(gci_view hunks, size_t most, gci_story *story)
{
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_HUNK), shown;
    size_t lines = most != SIZE_MAX ? count_hunk_lines(hunks, most) : most, written = 0;
    gci_diff_hunk_lines at = { .rest = hunks };

    gci_buf_init(&shown, GCI_BUF_NO_LIMIT);
    for (gci_view line, other; written < lines && gci_diff_next_hunk_line(&at, &line, &other); written++) {
        shown.size = 0;
        gci_diff_write_hunk_line(line, other, &shown);
        gci_visible_append_lines(out, gci_buf_view(&shown));
    }
    out->failed |= shown.failed;
    gci_buf_clear(&shown);
    size_t more = count_changed(at.rest);
    if (more != 0)
        gci_buf_format(out, GCI_DIFF_MORE_LINES "%zu more changed line%s (--all shows them)\n", more, more == 1 ? "" : "s");
    return written + (more != 0);
}

static void
write_value(void (*write)(gci_diff_item const *item, gci_buf *out), gci_diff_item const *item, gci_view value, gci_buf *out)
{
    if (value.data != NULL)
        write(item, out);
    else
        gci_buf_append_text(out, "nothing");
}

static void
write_path(gcache_request const *request, gci_diff_item const *item, gci_buf *out)
{
    gci_view whole = gci_view_of(item->path.data, item->whole);

    /* What isn't there any more has the place that it had: names of what was asked are of others. An input by its name is the
       same wherever it was. */
    bool named = gci_input_source(request, item->path) != NULL;
    if (item->asked.data == NULL || item->target.size != 0 || (item->is_moved && !named))
        gci_diff_write_path(item, out);
    else
        gci_write_input_path(request, item->whole != 0 ? whole : item->path, out);
}

/* "x is transposed" */
static void
write_remark(gcache_request const *request, gci_diff_item const *item, gci_buf *out)
{
    char const *name = gci_pairs_value(request->sources, request->sources_count, gci_view_of(item->path.data, item->place));

    if (item->remark != GCI_DIFF_NONE)
        gci_visible_format(out, "%s %s", name != NULL ? name : "it", gci_diff_remark_text(item->remark));
}

/* "graph: 2 nodes inserted after nodes[57] aten.relu.default", and a line a node. Returns how many lines. */
static size_t
tell_nodes(gci_diff_item const *items, bool brief, gci_story *story)
{
    size_t shown = brief && items->run > BRIEF_NODES ? BRIEF_NODES : items->run;

    gci_diff_write_run(items, gci_story_begin(story, GCI_BLOCK_DIFFERENCE));
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_HUNK);
    for (size_t i = 0; i < shown; i++) {
        gci_buf_append_text(out, items->stored.data == NULL ? "+ " : "- ");
        gci_visible_append(out, items->stored.data == NULL ? items[i].asked : items[i].stored);
        gci_buf_append_char(out, '\n');
    }
    if (shown < items->run)
        gci_buf_format(out, "  ... and %zu more\n", items->run - shown);
    return 1 + shown + (shown < items->run);
}

/* What one difference says, and others like it; returns the lines it takes. */
static size_t
tell_row(gci_journal_entry const *entry, gci_diff_item const *item, size_t room, gci_story *story)
{
    gcache_request const *request = &entry->context.request;

    if (item->run != 0)
        return tell_nodes(item, room != GCI_ROOM_ALL, story);
    write_path(request, item, gci_story_begin(story, GCI_BLOCK_DIFFERENCE));
    if (item->hunks.data != NULL)
        return 1 + tell_hunks(item->hunks, room != GCI_ROOM_ALL ? HUNK_LINES(room) : SIZE_MAX, story);
    write_value(gci_diff_write_stored, item, item->stored, gci_story_part(story, GCI_DIFFERENCE_STORED));
    write_value(gci_diff_write_asked, item, item->asked, gci_story_part(story, GCI_DIFFERENCE_ASKED));
    if (item->remark != GCI_DIFF_NONE)
        write_remark(request, item, gci_story_part(story, GCI_DIFFERENCE_REMARK));
    return 1;
}

static size_t
tell_sentence(bool (*write)(void const *what, gci_buf *out), void const *what, gci_story *story)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    bool said = write(what, &text);
    if (said)
        gci_buf_append_view(gci_story_begin(story, GCI_BLOCK_CONSEQUENCE), gci_buf_view(&text));
    gci_buf_clear(&text);
    return said;
}

static bool
write_again(void const *item, gci_buf *out)
{
    gci_buf_append_text(out, "  ");
    return gci_diff_write_again(item, out);
}

static bool
write_followed(void const *diff, gci_buf *out)
{
    gci_buf_append_text(out, "and so: ");
    return gci_diff_write_followed(diff, out);
}

/* Whether it has a row: a brief text has none for what others say or what follows from them. */
static bool
has_row(gci_diff_item const *item, bool brief)
{
    return item->follows == GCI_DIFF_NOTHING || (!brief && item->follows != GCI_DIFF_WHOLE);
}

/* Differences that a brief text says nothing of: without those that others stand for, and those that are summed up. */
static size_t
count_unsaid(gci_near_key const *near, size_t shown, bool brief)
{
    size_t unsaid = brief ? gci_diff_unsaid(near->diff) : near->left_out;

    for (size_t i = shown; i < near->count; i++)
        unsaid += has_row(&near->items[i], brief);
    return unsaid;
}

static void
tell_rows(gci_journal_entry const *entry, gci_near_key const *near, size_t room, gci_story *story)
{
    size_t lines = 0, shown = 0;
    bool brief = room != GCI_ROOM_ALL;

    for (; shown < near->count && (!brief || lines < room); shown++) {
        gci_diff_item const *item = &near->items[shown];
        if (!has_row(item, brief))
            continue;
        lines += tell_row(entry, item, room, story);
        if (brief)
            lines += tell_sentence(write_again, item, story);
    }
    size_t more = near->diff != NULL ? count_unsaid(near, shown, brief) : 0;
    if (more != 0)
        gci_buf_format(gci_story_begin(story, GCI_BLOCK_MORE), "and %zu more", more);
    if (more != 0 && brief)
        gci_buf_append_text(gci_story_part(story, GCI_MORE_HOW), "--all shows them");
    if (near->diff != NULL && brief)
        tell_sentence(write_followed, near->diff, story);
}

static void
begin_first_compile(gci_trace const *trace, gci_buf *out)
{
    if (trace->not_stored == NULL && trace->missed_ns == 0 && trace->stored_ns == 0)
        gci_buf_append_text(out, "first compile of this graph; ");
}

/* Whether it is the first compile of the graph isn't known: any of those keys may be of it. */
static void
tell_bare_keys(gci_trace const *trace, gci_story *story)
{
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_SENTENCE);

    gci_buf_append_text(out, trace->past ? "nothing of its kind that has a description is stored that was there then"
                                         : "nothing of its kind that has a description is stored");
    gci_phrase(out, trace->bare_keys == 1 ? "; {} key without one can't be compared" : "; {} keys without one can't be compared",
               GCI_AS_COUNT(trace->bare_keys));
}

/* "first compile of this graph; nothing like it is stored (the nearest differs in 212 of 230 nodes)" */
static void
tell_first_compile(gci_trace const *trace, gci_story *story)
{
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_SENTENCE);
    size_t of;

    begin_first_compile(trace, out);
    gci_buf_append_text(out, trace->past ? "nothing like it is stored that was there then" : "nothing like it is stored");
    if (trace->nearest_count == 0) {
        gci_buf_append_text(out, " (nothing of its kind)");
        return;
    }
    if (trace->nearest[0].by_sketch) {
        gci_buf_append_text(out, " (what was asked for was too large to keep: by a sketch of it)");
        return;
    }
    gci_likeness const *likeness = &trace->nearest[0].likeness;
    size_t differ = gci_likeness_units(likeness, &of);
    gci_buf_format(out, " (the nearest differs in %zu of %zu %s)", differ, of,
                   gci_feature_sort_name(gci_likeness_unit(likeness)));
}

static void
tell_lost(gci_trace const *trace, gci_story *story)
{
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_SENTENCE);

    gci_buf_append_text(out, "what was asked for was too large to keep");
    if (trace->lost_bytes != 0)
        gci_phrase(out, " ({})", GCI_AS_SIZE(trace->lost_bytes));
    gci_buf_append_text(out, trace->nearest_count != 0 ? ": only its components are known, and about how near others are; "
                                                       : ": how near others are isn't known; ");
    gci_buf_append_text(out, "guardcache explain --graph FILE says all of it");
}

void
gci_explain_nearest(gci_journal_entry const *entry, size_t room, gci_story *story)
{
    gci_trace const *trace = &entry->trace;

    if (trace->empty && !trace->past) {
        gci_story_say(story, GCI_BLOCK_SENTENCE, "the cache is empty");
    } else if (trace->bare) {
        gci_story_say(story, GCI_BLOCK_SENTENCE, "the key came without a description: it can't be compared with what is stored");
    } else if (trace->bare_keys != 0) {
        tell_bare_keys(trace, story);
    } else if (trace->kind_keys == 0 && trace->past) {
        gci_buf *out = gci_story_begin(story, GCI_BLOCK_SENTENCE);
        begin_first_compile(trace, out);
        gci_buf_append_text(out, "nothing of its kind is stored that was there then");
    } else if (trace->empty) {
        gci_story_say(story, GCI_BLOCK_SENTENCE, "the cache is empty");
    } else if (trace->nearest_count != 0 ? !trace->nearest[0].is_kin : !trace->lost) {
        tell_first_compile(trace, story);
    } else if (trace->lost) {
        tell_lost(trace, story);
    }
    for (size_t i = 0; i < trace->nearest_count && trace->nearest[i].is_kin && (room == GCI_ROOM_ALL || i == 0); i++) {
        tell_near_key(entry, &trace->nearest[i], story);
        tell_rows(entry, &trace->nearest[i], room, story);
    }
}
