/*
 * Building a story: blocks in a list, each text written into one buffer and kept when the next one begins.
 */
#include "cache/explain/story.h"

#include "base/check.h"
#include "base/visible.h"

/* A thousand candidates with guards of 30,000 characters. */
#define STORY_BYTES_MAX ((size_t)256 << 20)

void
gci_story_init(gci_story *story)
{
    *story = (gci_story){ 0 };
    gci_arena_init(&story->arena, STORY_BYTES_MAX);
    gci_buf_init(&story->writing, STORY_BYTES_MAX);
    gci_buf_init(&story->visible, STORY_BYTES_MAX);
}

void
gci_story_clear(gci_story *story)
{
    gci_buf_clear(&story->writing);
    gci_buf_clear(&story->visible);
    gci_arena_clear(&story->arena);
}

/* Whatever it was composed from, it drives no terminal and forges no line. */
static void
keep_text(gci_story *story)
{
    gci_block *block = story->last;
    gci_view text = gci_buf_view(&story->writing);

    story->visible.size = 0;
    if (block != NULL && block->kind == GCI_BLOCK_HUNK)
        gci_visible_append_lines(&story->visible, text);
    else
        gci_visible_append(&story->visible, text);
    story->failed |= story->writing.failed || story->visible.failed;
    if (block != NULL && text.size != 0 && !story->failed)
        block->texts[story->part] = gci_arena_copy(&story->arena, gci_buf_view(&story->visible));
    story->failed |= story->arena.failed;
    story->writing.size = 0;
}

gci_buf *
gci_story_begin(gci_story *story, gci_block_kind kind)
{
    keep_text(story);
    gci_block *block = GCI_ARENA_NEW(&story->arena, gci_block);
    story->part = 0;
    if (block == NULL) {
        story->failed = true;
        return &story->writing;
    }
    block->kind = kind;
    if (story->last != NULL)
        story->last->next = block;
    else
        story->first = block;
    story->last = block;
    return &story->writing;
}

gci_buf *
gci_story_part(gci_story *story, size_t part)
{
    GCI_ASSERT(part < GCI_BLOCK_TEXTS);
    keep_text(story);
    story->part = part;
    return &story->writing;
}

void
gci_story_say(gci_story *story, gci_block_kind kind, char const *text)
{
    gci_buf_append_text(gci_story_begin(story, kind), text);
}

gci_block const *
gci_story_blocks(gci_story *story)
{
    keep_text(story);
    story->last = NULL;
    for (gci_block **at = &story->first; *at != NULL;) {
        if ((*at)->texts[0].size != 0) {
            story->last = *at;
            at = &(*at)->next;
        } else {
            *at = (*at)->next;
        }
    }
    return story->failed ? NULL : story->first;
}
