/*
 * What tiers replied to a lookup, for people: a sentence each.
 */
#include "cache/explain/explanation.h"
#include "cache/handle/words.h"

/* "has 2 candidates, one of them only there, none serves: guard_false" */
static void
write_candidates(gci_tier_reply const *reply, gci_buf *out)
{
    gci_phrase(out, reply->candidates == 1 ? "has {} candidate" : "has {} candidates", GCI_AS_COUNT(reply->candidates));
    if (reply->only_there == reply->candidates)
        gci_buf_append_text(out, " that this directory hasn't");
    else if (reply->only_there != 0)
        gci_phrase(out, ", {} of them not in this directory", GCI_AS_COUNT(reply->only_there));
    gci_phrase(out, reply->candidates == 1 ? ", which doesn't serve: {}" : ", none serves: {}",
               GCI_AS_TEXT(gcache_reason_name(reply->reason)));
}

static void
write_miss(gci_tier_reply const *reply, gci_buf *out)
{
    if (reply->candidates == 0 && reply->evicted == 0 && reply->refused == 0)
        gci_buf_append_text(out, "has nothing under this key");
    else if (reply->candidates != 0)
        write_candidates(reply, out);
    else
        gci_buf_append_text(out, "has nothing under this key any more");
}

/* What couldn't be used, if there was any. */
static void
write_rest(gci_tier_reply const *reply, gci_buf *out)
{
    if (reply->evicted != 0)
        gci_phrase(out, reply->evicted == 1 ? "; {} was evicted there" : "; {} were evicted there", GCI_AS_COUNT(reply->evicted));
    if (reply->refused != 0)
        gci_phrase(out, reply->refused == 1 ? "; {} was refused: {}" : "; {} were refused, the first one: {}",
                   GCI_AS_COUNT(reply->refused), GCI_AS_TEXT(reply->message));
}

static void
write_reply(gci_tier_reply const *reply, bool past, gci_buf *out)
{
    gci_phrase(out, "{} ", GCI_AS_TEXT(reply->tier));
    if (reply->answer == GCACHE_TIER_TROUBLE) {
        gci_phrase(out, "couldn't be asked, {}: {}", GCI_AS_TEXT(gcache_reason_name(reply->reason)), GCI_AS_TEXT(reply->message));
    } else {
        if (reply->answer == GCACHE_TIER_HIT)
            gci_buf_append_text(out, past ? "served it" : "has it");
        else
            write_miss(reply, out);
        write_rest(reply, out);
    }
    gci_phrase(out, " ({})", GCI_AS_DURATION(reply->elapsed_ns));
}

void
gci_explain_tiers(gci_journal_entry const *entry, gci_story *story)
{
    gci_trace const *trace = &entry->trace;

    for (size_t i = 0; i < trace->reply_count; i++)
        write_reply(&trace->replies[i], entry->at_ns != 0, gci_story_begin(story, GCI_BLOCK_SENTENCE));
}
