/*
 * The costliest misses: the three to fix first, and all of them explained.
 */
#include "cache/explain/explanation.h"
#include "cache/handle/words.h"
#include "cache/observe/html_report.h"

/* ---- what is known about them ---- */

/* Of those with the label that the group is named by. */
static bool
is_of(gci_group const *group, gci_journal_entry const *entry)
{
    return entry->reason == group->reason && memcmp(&entry->key, &group->key, sizeof entry->key) == 0 &&
           gci_view_equal(entry->label, group->label);
}

static void
write_gist(gci_story *story, gci_buf *out)
{
    gci_block const *block = gci_story_blocks(story);

    while (block != NULL && block->kind != GCI_BLOCK_SENTENCE)
        block = block->next;
    if (block != NULL)
        gci_phrase(out, "<span class=\"gist dim\">{}</span>", GCI_AS_HTML(block->texts[0]));
}

static void
explain(gci_journal_entry *entry, gci_costly_miss *miss)
{
    gci_story story;

    gci_story_init(&story);
    gci_explain_tell_past(entry, GCI_ROOM_BRIEF, &story);
    gci_story_html(&story, 0, &miss->explanation);
    gci_story_remedy(&story, &miss->remedy);
    write_gist(&story, &miss->gist);
    gci_story_clear(&story);
}

/* Entries come newest first, so the first one of a group is the one explained. */
static int
explain_costly(void *state, gci_journal_entry *entry)
{
    gci_costly *costly = state;

    for (size_t i = 0; entry->kind == GCACHE_JOURNAL_MISS && i < costly->count; i++) {
        gci_costly_miss *miss = &costly->misses[i];
        if (miss->explanation.size != 0 || !is_of(miss->group, entry) || gci_journal_entry_open(entry, NULL) != GCACHE_OK)
            continue;
        explain(entry, miss);
        break;
    }
    return 0;
}

/* One call of a program that is looked up under two keys, one for each stage of its compiler, is one thing to fix. */
static bool
is_same_call(gci_group const *a, gci_group const *b)
{
    return a->label.size != 0 && gci_view_equal(a->label, b->label) && a->reason == b->reason;
}

/* The costliest for which something is known to help, each call once. */
static void
choose_first(gci_costly *costly)
{
    for (size_t i = 0; i < costly->count && costly->first_count < GCI_REPORT_FIRST; i++) {
        bool known = costly->misses[i].remedy.size == 0;
        for (size_t j = 0; j < costly->first_count && !known; j++)
            known = is_same_call(costly->misses[costly->first[j]].group, costly->misses[i].group);
        if (!known)
            costly->first[costly->first_count++] = i;
    }
}

gcache_status
gci_costly_find(gcache *cache, gcache_journal_query const *query, gci_statistics const *statistics, gci_costly *out_costly,
                gcache_error *error)
{
    gci_groups const *groups = &statistics->misses_by_cost;

    *out_costly = (gci_costly){ .count = groups->count < GCI_REPORT_EXAMINED ? groups->count : GCI_REPORT_EXAMINED };
    for (size_t i = 0; i < out_costly->count; i++) {
        gci_costly_miss *miss = &out_costly->misses[i];
        miss->group = &groups->items[i];
        gci_buf_init(&miss->explanation, GCI_BUF_NO_LIMIT);
        gci_buf_init(&miss->remedy, GCI_BUF_NO_LIMIT);
        gci_buf_init(&miss->gist, GCI_BUF_NO_LIMIT);
    }
    gcache_status status = GCACHE_OK;
    if (out_costly->count != 0)
        status = gci_history_each(cache, query, explain_costly, out_costly, error);
    choose_first(out_costly);
    return status;
}

void
gci_costly_clear(gci_costly *costly)
{
    for (size_t i = 0; i < costly->count; i++) {
        gci_buf_clear(&costly->misses[i].explanation);
        gci_buf_clear(&costly->misses[i].remedy);
        gci_buf_clear(&costly->misses[i].gist);
    }
}

/* ---- written down ---- */

/* "4.1 s", or of compiles that weren't measured nothing that looks like a time. */
static void
write_lost(gci_group const *group, gci_buf *out)
{
    if (group->cost_ns != 0)
        gci_phrase(out, "<strong class=\"lost bad\">{}</strong> ", GCI_AS_DURATION(group->cost_ns));
    gci_phrase(out, "<span class=\"dim\">{} {}</span>", GCI_AS_COUNT(group->misses),
               GCI_AS_TEXT(group->misses == 1 ? "miss" : "misses"));
}

static void
write_name(gci_group const *group, gci_buf *out)
{
    gci_phrase(out, "{}", GCI_AS_HTML(gci_group_name(group)));
    gci_group_write_others(group, out);
    gci_phrase(out, " <code class=\"id\">{}</code>", GCI_AS_KEY(&group->key));
}

static void
write_first(gci_costly_miss const *miss, size_t place, gci_buf *out)
{
    gci_buf_append_text(out, "<li class=\"card\"><div>");
    write_lost(miss->group, out);
    gci_buf_append_text(out, "</div>\n<h3>");
    write_name(miss->group, out);
    gci_phrase(out, "</h3>\n<div><span class=\"reason\">{}</span></div>\n<p>",
               GCI_AS_TEXT(gcache_reason_name(miss->group->reason)));
    gci_buf_append_view(out, gci_buf_view(&miss->remedy));
    gci_buf_format(out, "</p>\n<div><a href=\"#miss-%zu\">why it missed</a></div></li>\n", place + 1);
}

void
gci_report_first(gci_costly const *costly, gci_buf *out)
{
    static char const *const headings[] = { "", "Fix this first", "Fix these two first", "Fix these three first" };
    size_t count = costly->first_count;

    if (count == 0)
        return;
    gci_buf_format(out, "<section><h2>%s</h2>\n<ol class=\"first\">\n", headings[count]);
    for (size_t i = 0; i < count; i++)
        write_first(&costly->misses[costly->first[i]], costly->first[i], out);
    gci_buf_append_text(out, "</ol></section>\n");
}

static bool
is_first(gci_costly const *costly, size_t place)
{
    for (size_t i = 0; i < costly->first_count; i++)
        if (costly->first[i] == place)
            return true;
    return false;
}

void
gci_report_costly(gci_costly const *costly, gci_buf *out)
{
    if (costly->count == 0)
        return;
    gci_buf_append_text(out, "<section><h2>What costs most</h2>\n");
    for (size_t i = 0; i < costly->count; i++) {
        gci_costly_miss const *miss = &costly->misses[i];
        bool first = is_first(costly, i);
        if (i >= GCI_REPORT_COSTLY && !first)
            continue;
        gci_buf_format(out, "<details class=\"card\"%s><summary><span>", first ? " open" : "");
        write_lost(miss->group, out);
        gci_buf_append_text(out, "</span> <span>");
        write_name(miss->group, out);
        gci_phrase(out, "</span> <span class=\"reason\">{}</span> ", GCI_AS_TEXT(gcache_reason_name(miss->group->reason)));
        gci_buf_append_view(out, gci_buf_view(&miss->gist));
        gci_buf_format(out, "</summary>\n<div id=\"miss-%zu\">", i + 1);
        gci_buf_append_view(out, gci_buf_view(&miss->explanation));
        gci_buf_append_text(out, "</div></details>\n");
    }
    gci_buf_append_text(out, "</section>\n");
}
