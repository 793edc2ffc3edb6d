/* What doctor says of tiers: whether they answer, and who can read and change what they have. */
#include "base/system/clock.h"
#include "cache/handle/words.h"
#include "cache/tiers/tiers.h"

/* warning NULL: it is fine. */
static void
report(gcache_fact_fn fn, void *state, gci_buf *value, char const *warning)
{
    gci_buf_append_char(value, '\0');
    if (!value->failed)
        fn(state, "tier", value->data, warning);
    value->size = 0;
}

/* Returns whether it answers. */
static bool
ask(gci_tier *tier, gci_buf *value)
{
    gci_asking asking;

    gci_asking_begin(&asking, tier, GCI_ASK_TO_KNOW, 0);
    gcache_tier_answer answer = GCI_ASK(&asking, statistics, gci_tier_ignore_number, NULL);
    uint64_t elapsed_ns = gci_asking_end(&asking);
    if (answer == GCACHE_TIER_TROUBLE)
        gci_phrase(value, ": {}, {}", GCI_AS_TEXT(gcache_reason_name(asking.call.reason)), GCI_AS_TEXT(asking.call.message));
    else
        gci_phrase(value, ": answers within {}", GCI_AS_DURATION(elapsed_ns));
    return answer != GCACHE_TIER_TROUBLE;
}

static void
report_tier(gci_tier *tier, gcache_fact_fn fn, void *state, gci_buf *value)
{
    gci_visible_append(value, gci_view_text(tier->shown));
    if (tier->read_only)
        gci_buf_append_text(value, ", read-only");
    bool answers = tier->functions->statistics == NULL || ask(tier, value);
    report(fn, state, value, answers ? NULL : "lookups go on without it, and what is stored here waits to be taken there");
    if (!tier->in_clear)
        return;
    gci_visible_format(value, "%s: not encrypted", tier->shown);
    report(fn, state, value,
           "whoever is on the way can read and change what it says, the password too: use rediss:// (docs/fleet.md)");
}

void
gci_tiers_report_facts(gcache *cache, gcache_fact_fn fn, void *state)
{
    gci_buf value;

    if (cache->tiers == NULL)
        return;
    gci_buf_init(&value, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < cache->tiers->count; i++)
        report_tier(cache->tiers->items[i], fn, state, &value);
    if (!cache->options.require_signature) {
        gci_buf_append_text(&value, "entries needn't be signed");
        report(fn, state, &value,
               "whoever can write to a tier decides what is executed here: set require-signature (docs/fleet.md)");
    }
    gci_buf_clear(&value);
}
