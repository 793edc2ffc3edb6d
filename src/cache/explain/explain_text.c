/*
 * A lookup's trace as a text for people: outcome, reason, whose lookup, key; then only what decides.
 */
#include "base/system/clock.h"
#include "base/visible.h"
#include "cache/candidates/names.h"
#include "cache/explain/explanation.h"
#include "cache/handle/words.h"

/* What a brief text has room for within 25 lines. */
#define BRIEF_CANDIDATES 6
#define BRIEF_NEAREST_HINTS 4

/* Columns of the line of a guard: "L['t0'] % 8 == 0      12 % 8 = 4     false". */
#define GUARD_COLUMN 38
/* Names that differ, of a candidate, and how much is shown of one: mangled names are long. */
#define BRIEF_NAMES 3
#define NAME_WIDTH 64
#define VALUES_COLUMN 35
#define FULL_COLUMN 400

/* Sentences are broken here: what a terminal of ordinary width shows. */
#define TEXT_WIDTH 110

static gci_record const *
record_of(gci_trial const *trial)
{
    return &trial->ranked->candidate->record;
}

static void
write_when(gci_journal_entry const *entry, gci_buf *out)
{
    gci_phrase(out, "    {}", GCI_AS_MOMENT(entry->at_ns));
    if (entry->compile_ns != 0)
        gci_phrase(out, entry->reason == GCACHE_REASON_NO_KEY ? ", compiled in {}" : ", compiled again in {}",
                   GCI_AS_DURATION(entry->compile_ns));
}

static void
write_header(gci_journal_entry const *entry, gci_buf *out)
{
    gci_context const *context = &entry->context;
    bool keyed = entry->reason != GCACHE_REASON_DISABLED && entry->reason != GCACHE_REASON_BYPASS;

    gci_buf_append_text(out, entry->kind == GCACHE_JOURNAL_HIT ? "hit" : "miss: ");
    gci_buf_append_text(out, gcache_reason_name(entry->reason));
    if (context->request.label != NULL)
        gci_visible_format(out, "    %s", context->request.label);
    if (keyed)
        gci_phrase(out, "    key {} ({})", GCI_AS_KEY(&context->key), GCI_AS_TEXT(gcache_graph_kind(context->graph)));
    if (entry->reason == GCACHE_REASON_NO_KEY)
        gci_buf_append_text(out, entry->at_ns == 0 ? "    nothing is stored under it" : "    nothing was stored under it");
    if (entry->at_ns != 0)
        write_when(entry, out);
    gci_buf_append_char(out, '\n');
}

static void
write_hints(gci_context const *context, gci_buf *out)
{
    size_t count = context->hints.count;

    if (count == 0)
        gci_buf_append_text(out, " no hints");
    for (size_t i = 0; i < count; i++) {
        gci_buf_append_text(out, "  ");
        gci_visible_append(out, gci_hint_shown(&context->hints, i));
        gci_buf_append_char(out, '=');
        gci_number_write(context->hints.items[i].value, out);
    }
}

/* ---- evictions ---- */

/* "the cache holds 5.0 GiB of at most 5.0 GiB; its least recent entry is unused for 40 min 3 s; 61 % of evicted ..." */
static void
write_fullness(gci_journal_entry const *entry, char const *indent, gci_buf *out)
{
    gci_fullness const *fullness = &entry->trace.eviction->fullness;
    bool now = entry->at_ns == 0;
    uint64_t then_ns = now ? gci_clock_wall_ns() : entry->at_ns;

    if (fullness->max_size == 0 || fullness->max_size == UINT64_MAX)
        return;
    gci_phrase(out, "{}the cache {} {} of at most {}", GCI_AS_TEXT(indent), GCI_AS_TEXT(now ? "holds" : "held"),
               GCI_AS_SIZE(fullness->bytes), GCI_AS_SIZE(fullness->max_size));
    if (fullness->least_recent_ns != 0 && fullness->least_recent_ns < then_ns)
        gci_phrase(out, "; its least recent entry {} unused for {}", GCI_AS_TEXT(now ? "is" : "was"),
                   GCI_AS_DURATION(then_ns - fullness->least_recent_ns));
    gci_write_asked_again(out, fullness->asked_again, fullness->evictions);
    gci_buf_append_char(out, '\n');
}

/* "evicted at 14:29, 12 s after the last hit: the cache was over its size limit" */
static void
write_evicted(gci_tombstone const *tombstone, gci_buf *out)
{
    gci_phrase(out, "evicted at {}", GCI_AS_TIME(tombstone->evicted_ns));
    if (tombstone->used_ns != 0 && tombstone->used_ns < tombstone->evicted_ns)
        gci_phrase(out, tombstone->hits != 0 ? ", {} after the last hit" : ", {} later and never hit",
                   GCI_AS_DURATION(tombstone->evicted_ns - tombstone->used_ns));
    gci_phrase(out, ": {}\n", GCI_AS_TEXT(gci_eviction_text((int)tombstone->cause)));
}

/* A key of which nothing is left. "1 entry was stored at 13:58 and evicted at 14:29, ..." */
static void
write_key_eviction(gci_journal_entry const *entry, gci_buf *out)
{
    gci_key_eviction const *eviction = gci_trace_eviction(&entry->trace);

    if (eviction == NULL || eviction->tombstone.left != 0)
        return;
    gci_tombstone const *tombstone = &eviction->tombstone;
    gci_buf_format(out, "%u %s ", tombstone->entries, tombstone->entries == 1 ? "entry was" : "entries were");
    if (tombstone->stored_ns != 0)
        gci_phrase(out, "stored at {} and ", GCI_AS_TIME(tombstone->stored_ns));
    write_evicted(tombstone, out);
    if (tombstone->cause == GCI_EVICTED_SIZE)
        write_fullness(entry, "  ", out);
}

/* One candidate of several. */
static void
write_candidate_eviction(gci_journal_entry const *entry, gci_candidate const *candidate, gci_buf *out)
{
    gci_key_eviction const *eviction = gci_trace_eviction(&entry->trace);

    gci_buf_append_text(out, "        would have hit, but was ");
    if (eviction == NULL || eviction->tombstone.evicted_ns != candidate->evicted_ns) {
        gci_phrase(out, "evicted at {}\n", GCI_AS_TIME(candidate->evicted_ns));
        return;
    }
    write_evicted(&eviction->tombstone, out);
    if (eviction->tombstone.cause == GCI_EVICTED_SIZE)
        write_fullness(entry, "        ", out);
}

/* ---- one candidate ---- */

static void
write_candidate_line(gci_trial const *trial, gci_buf *out)
{
    gci_record const *record = record_of(trial);

    gci_buf_format(out, "  #%zu  %.*s", trial->rank + 1, GCI_SHORT_ENTRY_DIGITS, record->id);
    gci_phrase(out, "  since {}", GCI_AS_TIME(record->created_ns));
    if (record->variant.size != 0)
        gci_phrase(out, ", variant {}", GCI_AS_VIEW(record->variant));
    if (record->priority != 0)
        gci_buf_format(out, ", priority %lld", (long long)record->priority);
    if (record->compile_ns != 0)
        gci_phrase(out, ", {} to compile", GCI_AS_DURATION(record->compile_ns));
    gci_buf_append_char(out, '\n');
}

static void
write_row(gci_buf *out, gci_view part, gci_view values, char const *verdict, bool brief)
{
    gci_buf_append_text(out, "        ");
    gci_write_cell(out, part, GUARD_COLUMN, brief ? GUARD_COLUMN : FULL_COLUMN);
    gci_buf_append_char(out, ' ');
    gci_write_cell(out, values, VALUES_COLUMN, brief ? VALUES_COLUMN : FULL_COLUMN);
    gci_buf_append_char(out, ' ');
    gci_buf_append_text(out, verdict);
    while (out->size > 0 && !out->failed && out->data[out->size - 1] == ' ')
        out->size--;
    gci_buf_append_char(out, '\n');
}

/* The decisive part of a guard that is false or raises, and its arithmetic. */
static void
write_failing_guard(gci_context const *context, gci_trial const *trial, bool brief, gci_buf *out)
{
    gci_buf part, values;

    if (context->request.guard_test != NULL) {
        gci_buf_append_text(out, "        the caller's own test of guards doesn't want it\n");
        return;
    }
    bool raises = trial->reason == GCACHE_REASON_GUARD_ERROR;
    if (trial->ranked->guards == NULL || trial->verdict.guard >= record_of(trial)->guard_count) {
        if ((trial->cut & GCI_CUT_SHORT) != 0 && trial->verdict.guard < record_of(trial)->guard_count)
            write_row(out, record_of(trial)->guards[trial->verdict.guard],
                      gci_view_text(raises ? trial->verdict.message : ""), raises ? trial->verdict.exception : "false", brief);
        gci_buf_append_text(out, "        its guards are too long for the journal\n");
        return;
    }
    gci_buf_init(&part, GCI_BUF_NO_LIMIT);
    gci_buf_init(&values, GCI_BUF_NO_LIMIT);
    gci_guards_explain(trial->ranked->guards, trial->verdict.guard, &context->hints, &part, &values);
    if (raises && values.size == 0)
        gci_buf_append_text(&values, trial->verdict.message);
    write_row(out, gci_buf_view(&part), gci_buf_view(&values), raises ? trial->verdict.exception : "false", brief);
    if (trial->cut != GCI_CUT_NOTHING)
        gci_buf_append_text(out, "        its other guards are too long for the journal\n");
    out->failed |= part.failed || values.failed;
    gci_buf_clear(&part);
    gci_buf_clear(&values);
}

static void
write_quoted(gci_buf *out, char const *word, gci_view value)
{
    if (value.data == NULL)
        gci_phrase(out, "{} nothing", GCI_AS_TEXT(word));
    else
        gci_phrase(out, "{} \"{}\"", GCI_AS_TEXT(word), GCI_AS_EXCERPT(value, 60));
}

static void
write_difference(gci_buf *out, gci_view name, gci_view stored, gci_view asked)
{
    gci_phrase(out, "        {}", GCI_AS_COLUMN(name, GUARD_COLUMN));
    write_quoted(out, " stored", stored);
    write_quoted(out, "   asked", asked);
    gci_buf_append_char(out, '\n');
}

static size_t
first_difference(gci_view a, gci_view b)
{
    size_t i = 0;

    while (i < a.size && i < b.size && a.data[i] == b.data[i])
        i++;
    return i;
}

static void
write_name(gci_names_walk const *walk, gci_buf *out)
{
    size_t at = first_difference(walk->stored, walk->current);

    gci_buf_append_text(out, "        compiled as \"");
    gci_write_excerpt_around(out, walk->stored, at, NAME_WIDTH);
    gci_buf_append_text(out, "\", yours is \"");
    gci_write_excerpt_around(out, walk->current, at, NAME_WIDTH);
    gci_buf_append_text(out, "\"\n");
}

/* What the payload would say otherwise than its caller. */
static void
write_names(gci_context const *context, gci_record const *record, bool brief, gci_buf *out)
{
    gci_names_walk walk = { .context = context, .record = record };
    size_t differing = 0, shown = 0;

    while (gci_names_next(&walk)) {
        if (gci_view_equal(walk.stored, walk.current))
            continue;
        differing++;
        if (brief && shown == BRIEF_NAMES)
            continue;
        write_name(&walk, out);
        shown++;
    }
    if (differing > shown)
        gci_buf_format(out, "        and %zu more names\n", differing - shown);
    if (differing == 0)
        gci_buf_append_text(out, "        compiled with other names than the caller's\n");
}

static void
write_holds(gci_journal_entry const *entry, gci_trial const *trial, bool brief, gci_buf *out)
{
    gci_record const *record = record_of(trial);
    bool renamed = entry->context.request.accept_renames && !gci_names_same(&entry->context, record);

    gci_buf_append_text(out, renamed ? "        holds, under other names:\n" : "        holds\n");
    if (renamed)
        write_names(&entry->context, record, brief, out);
}

static void
write_trial(gci_journal_entry const *entry, gci_trial const *trial, bool brief, gci_buf *out)
{
    gci_context const *context = &entry->context;
    gci_record const *record = record_of(trial);

    write_candidate_line(trial, out);
    switch (trial->reason) {
    case GCACHE_REASON_GUARD_FALSE:
    case GCACHE_REASON_GUARD_ERROR:
        write_failing_guard(context, trial, brief, out);
        break;
    case GCACHE_REASON_VARIANT:
        write_difference(out, gci_view_text("variant"), record->variant, gci_view_text(context->request.variant));
        break;
    case GCACHE_REASON_REQUIREMENT:
        write_difference(out, trial->requirement->name, trial->requirement->value, trial->provided);
        break;
    case GCACHE_REASON_NAMES:
        write_names(context, record, brief, out);
        break;
    case GCACHE_REASON_EVICTED:
        write_candidate_eviction(entry, trial->ranked->candidate, out);
        break;
    case GCACHE_REASON_UNREADABLE:
        gci_buf_append_text(out, "        its guards can't be read by this version\n");
        break;
    default:
        write_holds(entry, trial, brief, out);
        break;
    }
}

/* ---- all candidates ---- */

static void
write_summary(gci_journal_entry const *entry, gci_buf *out)
{
    gci_trace const *trace = &entry->trace;

    gci_phrase(out, trace->live_count == 1 ? "{} candidate" : "{} candidates", GCI_AS_COUNT(trace->live_count));
    if (entry->kind == GCACHE_JOURNAL_HIT)
        gci_buf_format(out, ", #%zu is the best that holds for", trace->winner->rank + 1);
    else
        gci_buf_append_text(out, trace->live_count == 1 ? ", it doesn't hold for" : ", none holds for");
    write_hints(&entry->context, out);
    gci_buf_append_char(out, '\n');
}

void
gci_explain_variant(gci_journal_entry const *entry, gci_buf *out)
{
    gci_trace const *trace = &entry->trace;
    char const *expected = entry->context.request.expect_variant;

    if (entry->kind != GCACHE_JOURNAL_HIT || expected == NULL ||
        strcmp(trace->winner->ranked->answer.variant, expected) == 0)
        return;
    for (size_t i = 0; i < trace->trial_count; i++) {
        gci_trial const *trial = &trace->trials[i];
        if (gci_trial_is_evicted(trace, trial) || strcmp(trial->ranked->answer.variant, expected) != 0)
            continue;
        gci_visible_format(out, "the expected variant \"%s\" is there (#%zu) but can't serve: %s", expected,
                           trial->rank + 1, gcache_reason_name(trial->reason));
        return;
    }
    gci_visible_format(out, "the expected variant \"%s\" isn't there: perhaps it was never compiled", expected);
}

/* The changes of hints that would have made a candidate hold, each once. */
static void
write_would_hit(gci_journal_entry const *entry, gci_buf *out)
{
    gci_trace const *trace = &entry->trace;
    gci_buf change;
    size_t written = 0, work = GCI_NEAREST_WORK;

    gci_buf_init(&change, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < trace->trial_count && written < BRIEF_NEAREST_HINTS; i++) {
        gci_trial const *trial = &trace->trials[i];
        if (trial->reason != GCACHE_REASON_GUARD_FALSE && trial->reason != GCACHE_REASON_GUARD_ERROR)
            continue;
        if (gci_trial_is_evicted(trace, trial) || trial->ranked->guards == NULL || trial->cut != GCI_CUT_NOTHING)
            continue;
        change.size = 0;
        if (!gci_guards_nearest(trial->ranked->guards, &entry->context.hints, trial->rank < GCI_PAIRS_CANDIDATES,
                                &work, &change))
            continue;
        gci_phrase(out, written++ == 0 ? "\n  would hit:  {} (#{})" : "   {} (#{})", GCI_AS_VIEW(gci_buf_view(&change)),
                   GCI_AS_NUMBER(trial->rank + 1));
    }
    if (written > 0)
        gci_buf_append_char(out, '\n');
    gci_buf_clear(&change);
}

/* Those that got as far as the reason says come first in interest; in a brief text the others give way. */
static bool
worth_showing(gci_journal_entry const *entry, gci_trial const *trial, size_t shown)
{
    if (entry->kind == GCACHE_JOURNAL_HIT)
        return trial == entry->trace.winner || shown < 2;
    return trial->reason == entry->reason;
}

static void
write_candidates(gci_journal_entry const *entry, bool brief, gci_buf *out)
{
    gci_trace const *trace = &entry->trace;
    size_t shown = 0, live = 0;

    write_summary(entry, out);
    size_t before = out->size;
    gci_explain_variant(entry, out);
    gci_buf_append_text(out, out->size != before ? "\n\n" : "\n");
    for (size_t i = 0; i < trace->trial_count; i++) {
        gci_trial const *trial = &trace->trials[i];
        bool evicted = gci_trial_is_evicted(trace, trial);
        if (evicted && trial->reason != GCACHE_REASON_EVICTED)
            continue;
        if (brief && (shown == BRIEF_CANDIDATES || !worth_showing(entry, trial, shown)))
            continue;
        write_trial(entry, trial, brief, out);
        shown++;
        live += !evicted;
    }
    if (live < trace->live_count)
        gci_buf_format(out, "  and %zu more%s\n", trace->live_count - live, entry->at_ns == 0 ? " (--all shows them)" : "");
    if (entry->kind == GCACHE_JOURNAL_MISS)
        write_would_hit(entry, out);
}

static void
write_advice(gci_journal_entry const *entry, gci_buf *out)
{
    gci_buf advice;

    gci_buf_init(&advice, GCI_BUF_NO_LIMIT);
    gci_write_advice(entry, &advice);
    if (advice.size != 0) {
        gci_buf_append_char(out, '\n');
        gci_write_paragraph(out, "  advice:     ", gci_buf_view(&advice), TEXT_WIDTH);
    }
    out->failed |= advice.failed;
    gci_buf_clear(&advice);
}

/* The miss will come again, whatever is compiled. */
static void
write_read_only(gci_journal_entry const *entry, gci_buf *out)
{
    gci_store const *store = entry->context.cache->store;

    if (store != NULL && gci_store_is_read_only(store))
        gci_buf_append_text(out, "\n  note:       the cache is read-only: what is compiled now isn't stored, and will miss "
                                 "again\n");
}

/* Without a candidate to show, there is nothing to say but the reason in words. */
static bool
reason_says_all(gci_journal_entry const *entry)
{
    gci_trace const *trace = &entry->trace;

    if (trace->live_count + trace->evicted_count != 0 || trace->eviction != NULL)
        return false;
    return entry->reason != GCACHE_REASON_NO_KEY && entry->reason != GCACHE_REASON_BYPASS &&
           entry->kind == GCACHE_JOURNAL_MISS;
}

void
gci_explain_text(gci_journal_entry const *entry, bool brief, gci_buf *out)
{
    write_header(entry, out);
    if (entry->cut)
        gci_buf_append_text(out, "too long for the journal, which kept only what decided\n");
    if (entry->reason == GCACHE_REASON_BYPASS && entry->bypass != NULL)
        gci_visible_format(out, "%s\n", entry->bypass);
    if (reason_says_all(entry))
        gci_buf_format(out, "%s\n", gcache_reason_text(entry->reason));
    if (entry->trace.live_count + entry->trace.evicted_count > 0)
        write_candidates(entry, brief, out);
    if (entry->reason == GCACHE_REASON_EVICTED)
        write_key_eviction(entry, out);
    if (entry->trace.trouble.status != GCACHE_OK)
        gci_visible_format(out, "%s\n", entry->trace.trouble.message);
    if (entry->reason == GCACHE_REASON_NO_KEY) {
        /* It was compiled before, and that didn't help. */
        if (entry->trace.not_stored != NULL)
            gci_phrase(out, "it was compiled at {} and {}\n", GCI_AS_MOMENT(entry->trace.not_stored_ns),
                       GCI_AS_TEXT(entry->trace.not_stored));
        gci_explain_nearest(&entry->trace, brief, out);
    }
    if (entry->former != 0)
        gci_phrase(out, "the compile was " GCI_TAKEOVER "\n", GCI_AS_NUMBER(entry->former));
    if (entry->kind == GCACHE_JOURNAL_MISS && entry->at_ns == 0)
        write_read_only(entry, out);
    if (entry->kind == GCACHE_JOURNAL_MISS)
        write_advice(entry, out);
}
