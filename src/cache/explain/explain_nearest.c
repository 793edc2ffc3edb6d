/*
 * For a key under which nothing is stored: the stored keys like it, and where they differ.
 */
#include "cache/candidates/sources.h"
#include "cache/explain/explanation.h"
#include "cache/handle/words.h"

/* Lines of a hunk in a brief text: 10 of the 16 that it begins with. */
#define HUNK_LINES(room) ((room) / 2 + 2)

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
    uint64_t stored_keys = entry->trace.stored_keys;

    gci_phrase(out, stored_keys == 1 ? "nearest of {} key: " : "nearest of {} keys: ", GCI_AS_COUNT(stored_keys));
    write_whose(entry, near, out);
    if (near->created_ns != 0)
        gci_phrase(out, ", stored {}", GCI_AS_TIME(near->created_ns));
    gci_buf_format(out, ", %u of %u components equal", near->equal, near->components);
}

/* At most `lines` lines of a text's hunks. Returns how many. */
static size_t
tell_hunks(gci_view hunks, size_t lines, gci_story *story)
{
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_HUNK);
    size_t written = 0;

    for (gci_view line; written < lines && gci_view_next_line(&hunks, &line); written++) {
        gci_visible_append(out, line);
        gci_buf_append_char(out, '\n');
    }
    return written;
}

static void
write_value(gci_buf *out, gci_view value)
{
    gci_visible_append(out, value.data != NULL ? value : gci_view_text("nothing"));
}

/* One difference; returns the lines it takes. */
static size_t
tell_row(gci_journal_entry const *entry, gci_diff_item const *item, size_t room, gci_story *story)
{
    gci_buf *path = gci_story_begin(story, GCI_BLOCK_DIFFERENCE);

    /* What isn't there any more has the place that it had: names of what was asked are of others. */
    if (item->asked.data != NULL)
        gci_write_input_path(&entry->context.request, item->path, path);
    else
        gci_visible_append(path, item->path);
    if (item->hunks.data != NULL)
        return 1 + tell_hunks(item->hunks, room != GCI_ROOM_ALL ? HUNK_LINES(room) : SIZE_MAX, story);
    write_value(gci_story_part(story, GCI_DIFFERENCE_STORED), item->stored);
    write_value(gci_story_part(story, GCI_DIFFERENCE_ASKED), item->asked);
    return 1;
}

static void
tell_rows(gci_journal_entry const *entry, gci_near_key const *near, size_t room, gci_story *story)
{
    size_t lines = 0, shown = 0;

    while (shown < near->count && (room == GCI_ROOM_ALL || lines < room))
        lines += tell_row(entry, &near->items[shown++], room, story);
    size_t more = near->count - shown + near->left_out;
    if (more == 0)
        return;
    gci_buf_format(gci_story_begin(story, GCI_BLOCK_MORE), "and %zu more", more);
    if (room != GCI_ROOM_ALL)
        gci_buf_append_text(gci_story_part(story, GCI_MORE_HOW), "--all shows them");
}

/* "first compile of this graph; nothing like it is stored (the nearest differs in 212 of 230 nodes)" */
static void
tell_first_compile(gci_trace const *trace, gci_story *story)
{
    gci_buf *out = gci_story_begin(story, GCI_BLOCK_SENTENCE);
    size_t of;

    gci_buf_append_text(out, trace->past ? "first compile of this graph; of what was stored then, nothing is like it"
                                         : "first compile of this graph; nothing like it is stored");
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

    if (trace->stored_keys == 0)
        gci_story_say(story, GCI_BLOCK_SENTENCE, trace->past ? "the cache was empty" : "the cache is empty");
    else if (trace->nearest_count != 0 ? !trace->nearest[0].is_kin : !trace->lost)
        tell_first_compile(trace, story);
    else if (trace->lost)
        tell_lost(trace, story);
    for (size_t i = 0; i < trace->nearest_count && trace->nearest[i].is_kin && (room == GCI_ROOM_ALL || i == 0); i++) {
        tell_near_key(entry, &trace->nearest[i], story);
        tell_rows(entry, &trace->nearest[i], room, story);
    }
}
