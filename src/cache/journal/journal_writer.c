/* Puts journal entries together and appends them. What doesn't fit is reported in less detail. */
#include "cache/journal/journal_writer.h"

#include "base/utf8.h"
#include "cache/handle/graph_description.h"
#include "cache/candidates/names.h"
#include "cache/candidates/sources.h"
#include "cache/candidates/trial.h"
#include "cache/handle/sketching.h"
#include "cache/handle/words.h"
#include "cache/journal/journal_entry.h"
#include "graph/graph.h"

/* Guards of a candidate that would leave no room for the others are left out but for the failing one, and of that all but
   the part that decided. */
#define GUARDS_BYTES ((size_t)8 << 10)
/* A label beyond this isn't kept in an entry that is too long with all it has. */
#define LABEL_BYTES ((size_t)1 << 10)
/* Texts longer than this are shortened in the middle if even what decided is too long. */
#define TEXT_BYTES ((size_t)1 << 10)
/* So many names in texts are kept of the caller's and of each candidate's: the first ones that differ are enough to explain. */
#define NAMES 8
/* A canonical form beyond this isn't kept with a miss as it is, nor one that is longer compressed: it would leave no room in
   the entry for the rest. */
#define CANONICAL_BYTES ((size_t)48 << 10)
/* A longer one than this wouldn't become short enough, and a miss shouldn't wait for it. */
#define PACKED_FROM_MAX ((size_t)8 << 20)

/* So much is kept of why the caller asked: dozens of lines. */
#define WHY_BYTES ((size_t)4 << 10)

/* Most entries are shorter: room that needn't grow. */
#define ENTRY_USUAL ((size_t)4 << 10)
/* What the parts of an entry may take in memory: more than fit into one. */
#define PARTS_BYTES_MAX (16 * GCI_JOURNAL_BYTES_MAX)
/* More hints don't fit: each takes its three lengths and zeros. */
#define HINTS_MAX (GCI_JOURNAL_BYTES_MAX / 15)

/* How much of an entry is written down. */
typedef enum extent {
    DETAIL_ALL,
    DETAIL_DECISION, /* what decided, and its hints */
    DETAIL_SHORT     /* what decided, shortened so that it fits whatever it is */
} extent;

/* A copy of the text, with " ... " in its middle if it is long. */
static gci_view
short_text(gci_arena *arena, gci_view text)
{
    gci_buf shortened;

    if (text.size <= TEXT_BYTES)
        return text;
    size_t tail = text.size - TEXT_BYTES / 4;
    while (tail < text.size && ((unsigned char)text.data[tail] & 0xC0) == 0x80)
        tail++;
    gci_buf_init(&shortened, GCI_BUF_NO_LIMIT);
    gci_buf_append_view(&shortened, gci_utf8_cut(text, TEXT_BYTES / 4 * 3 - strlen(" ... ")));
    gci_buf_append_text(&shortened, " ... ");
    gci_buf_append_view(&shortened, gci_view_of(text.data + tail, text.size - tail));
    gci_view copy = gci_arena_copy(arena, gci_buf_view(&shortened));
    arena->failed |= shortened.failed;
    gci_buf_clear(&shortened);
    return copy;
}

/* ---- what every entry has ---- */

static void
fill_head(gci_journal_entry *entry, gci_context const *context, extent detail)
{
    gci_arena_init(&entry->arena, PARTS_BYTES_MAX);
    /* Hits are written while their callers wait. */
    gci_view label = gci_view_text(entry->kind == GCACHE_JOURNAL_HIT ? context->request.label
                                                                     : gci_context_label(context, &entry->arena));

    entry->cut = detail != DETAIL_ALL;
    entry->process = (uint32_t)gci_store_process(context->cache->store);
    entry->key = context->key;
    entry->namespace_ = context->cache->namespace_;
    entry->graph_kind = gci_view_text(context->graph != NULL ? gcache_graph_kind(context->graph) : "");
    if (entry->cut) {
        entry->namespace_ = short_text(&entry->arena, entry->namespace_);
        entry->graph_kind = short_text(&entry->arena, entry->graph_kind);
    }
    if (!entry->cut || label.size <= LABEL_BYTES)
        entry->label = label;
}

/* With a decision, of the hints those that it reads. */
static void
fill_hints(gci_journal_entry *entry, gci_context const *context, gci_guards const *decision)
{
    size_t count = context->hints.count;
    gci_buf literal;

    gci_buf_init(&literal, GCI_JOURNAL_BYTES_MAX);
    entry->kept_hints = gci_arena_array(&entry->arena, count < HINTS_MAX ? count : HINTS_MAX, sizeof *entry->kept_hints);
    for (size_t i = 0; entry->kept_hints != NULL && i < count; i++) {
        gci_view name = context->hints.items[i].name, bound = gci_context_bound_name(context, name);
        if (decision != NULL && !gci_guards_reads(decision, bound))
            continue;
        if (entry->hint_count == HINTS_MAX) {
            entry->arena.failed = true;
            break;
        }
        literal.size = 0;
        gci_number_write(context->hints.items[i].value, &literal);
        entry->kept_hints[entry->hint_count++] =
            (gci_kept_hint){ name, bound, gci_arena_copy(&entry->arena, gci_buf_view(&literal)) };
    }
    entry->arena.failed |= literal.failed;
    gci_buf_clear(&literal);
}

/* Frees what the entry was made of. false: it is too long, or there is no memory. */
static bool
write_entry(gci_buf *out, gci_journal_entry *entry)
{
    gci_buf_clear(out);
    gci_buf_reserve(out, ENTRY_USUAL);
    gci_journal_entry_write(out, entry);
    out->failed |= entry->arena.failed;
    gci_arena_clear(&entry->arena);
    return !out->failed;
}

static bool
append(gcache *cache, gcache_journal_kind kind, gci_buf const *bytes)
{
    if (bytes->failed)
        return false;
    return kind == GCACHE_JOURNAL_HIT ? gci_store_journal_hit(cache->store, gci_buf_view(bytes))
                                      : gci_store_journal_append(cache->store, gci_buf_view(bytes));
}

/* ---- a miss ---- */

/* The first names in texts that the caller has otherwise than the producer, and what the caller calls them. */
static size_t
pick_names(gci_context const *context, gci_record const *record, gci_pair *out_stored, gci_view *out_current)
{
    gci_names_walk walk = { .context = context, .record = record };
    size_t count = 0;

    while (count < NAMES && gci_names_next(&walk)) {
        gci_pair const *stored = &record->names[walk.next - 1];
        if (!gci_name_is_text(stored) || gci_view_equal(walk.stored, walk.current))
            continue;
        out_stored[count] = *stored;
        out_current[count++] = walk.current;
    }
    return count;
}

/* Symbols, since guards have them, and those names in texts that explain a miss. */
static void
keep_names(gci_arena *arena, gci_context const *context, gcache_reason reason, gci_record *record)
{
    gci_pair stored[NAMES];
    gci_view current[NAMES];
    size_t symbols = 0;

    while (symbols < record->name_count && !gci_name_is_text(&record->names[symbols]))
        symbols++;
    size_t texts = reason == GCACHE_REASON_NAMES ? pick_names(context, record, stored, current) : 0;
    gci_pair *names = gci_arena_array(arena, symbols + texts, sizeof *names);
    record->name_count = names != NULL ? symbols + texts : 0;
    for (size_t i = 0; i < record->name_count; i++)
        names[i] = i < symbols ? record->names[i] : stored[i - symbols];
    record->names = names;
}

static size_t
guards_size(gci_record const *record)
{
    size_t size = 0;

    for (size_t i = 0; i < record->guard_count; i++)
        size += record->guards[i].size;
    return size;
}

/* The failing guard, or of one that is too long the part that decided. Empty without memory. */
static gci_view
decision_text(gci_arena *arena, gci_context const *context, gci_trial const *trial)
{
    gci_view text = trial->ranked->candidate->record.guards[trial->verdict.guard];
    gci_buf decision;

    if (text.size <= GUARDS_BYTES || trial->ranked->guards == NULL)
        return text;
    gci_buf_init(&decision, GCI_BUF_NO_LIMIT);
    gci_guards_explain(trial->ranked->guards, trial->verdict.guard, &context->hints, &decision, NULL);
    gci_view copy = gci_arena_copy(arena, gci_buf_view(&decision));
    arena->failed |= decision.failed;
    gci_buf_clear(&decision);
    return copy;
}

/* What decided is kept whatever it takes; trial->cut says what isn't (gci_cut). */
static void
keep_guards(gci_arena *arena, gci_context const *context, gci_trial *trial, gci_record *record)
{
    size_t failing = trial->verdict.guard;

    trial->cut = GCI_CUT_NOTHING;
    if (guards_size(record) <= GUARDS_BYTES)
        return;
    gci_view *guards = gci_arena_array(arena, record->guard_count, sizeof *guards);
    if (guards != NULL && failing < record->guard_count) {
        guards[failing] = decision_text(arena, context, trial);
        if (guards[failing].size != 0 && guards[failing].size < record->guards[failing].size)
            trial->cut |= GCI_CUT_PART;
    }
    trial->cut |= GCI_CUT_OTHERS;
    record->guard_count = guards != NULL ? record->guard_count : 0;
    record->guards = guards;
}

/* A trial of a size that fits whatever the candidate is like. The failing guard ends with " ..." even if it is all there: it
   can't be evaluated without hints. */
static void
shorten_trial(gci_arena *arena, gci_context const *context, gci_trial *trial, gci_record *record)
{
    bool has_guard = trial->verdict.guard < record->guard_count;
    gci_view *guard = gci_arena_array(arena, 1, sizeof *guard);
    gci_pair *requirement = gci_arena_array(arena, 1, sizeof *requirement);
    gci_buf text;

    if (guard == NULL || requirement == NULL)
        return;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (has_guard)
        gci_buf_append_view(&text, short_text(arena, decision_text(arena, context, trial)));
    gci_buf_append_text(&text, " ...");
    *guard = gci_arena_copy(arena, gci_buf_view(&text));
    gci_buf_clear(&text);
    record->guards = guard;
    record->guard_count = has_guard;
    record->name_count = 0;
    record->variant = short_text(arena, record->variant);
    if (trial->requirement != NULL) {
        *requirement = (gci_pair){ short_text(arena, trial->requirement->name), short_text(arena, trial->requirement->value) };
        trial->requirement = requirement;
    }
    trial->provided = short_text(arena, trial->provided);
    trial->verdict.guard = 0;
    trial->cut = GCI_CUT_SHORT;
}

static void
fill_trial(gci_kept_trial *kept, gci_arena *arena, gci_context const *context, gci_trial const *trial, extent detail)
{
    kept->trial = *trial;
    kept->candidate = *trial->ranked->candidate;
    if (detail == DETAIL_SHORT) {
        shorten_trial(arena, context, &kept->trial, &kept->candidate.record);
    } else {
        keep_names(arena, context, trial->reason, &kept->candidate.record);
        keep_guards(arena, context, &kept->trial, &kept->candidate.record);
    }
    if (trial->reason != GCACHE_REASON_GUARD_ERROR)
        kept->trial.verdict.message[0] = '\0';
    kept->provided = kept->trial.provided.data != NULL ? &kept->trial.provided : NULL;
}

/* From the first that decided on. Who has waited for a lease in vain may miss for another reason than any of them. */
static void
fill_trials(gci_journal_entry *entry, gci_context const *context, gci_trace const *trace, extent detail)
{
    gci_trial const *first = gci_trace_first(trace, entry->reason);
    size_t count = first == NULL ? 0 : detail == DETAIL_ALL ? trace->trial_count : 1;

    entry->trace.live_count = trace->live_count;
    entry->trace.evicted_count = trace->evicted_count;
    entry->trials = gci_arena_alloc(&entry->arena, count * sizeof *entry->trials); /* filled below */
    entry->trace.trial_count = entry->trials != NULL ? count : 0;
    for (size_t i = 0; i < entry->trace.trial_count; i++)
        fill_trial(&entry->trials[i], &entry->arena, context, &first[i], detail);
}

/* As far as the first candidate that is skipped for its names differs. */
static void
fill_text_names(gci_journal_entry *entry, gci_context const *context, gci_trace const *trace)
{
    gci_trial const *first = entry->reason == GCACHE_REASON_NAMES ? gci_trace_first(trace, entry->reason) : NULL;
    gcache_text_name *names = gci_arena_array(&entry->arena, NAMES, sizeof *names);
    gci_pair stored[NAMES];
    gci_view current[NAMES];

    if (first == NULL || names == NULL)
        return;
    entry->context.names.texts = names;
    entry->context.names.text_count = pick_names(context, &first->ranked->candidate->record, stored, current);
    for (size_t i = 0; i < entry->context.names.text_count; i++)
        names[i] = (gcache_text_name){ gci_arena_copy(&entry->arena, current[i]).data, stored[i].value.data + 1 };
}

/* Component texts are for people: without them an entry is short, and hashes say which differ. */
static void
drop_texts(gci_description *asked, gci_arena *arena)
{
    gci_component *components = gci_arena_array(arena, asked->component_count, sizeof *components);

    for (size_t i = 0; components != NULL && i < asked->component_count; i++) {
        components[i] = asked->components[i];
        components[i].text = (gci_view){ NULL, 0 };
    }
    asked->components = components;
    asked->component_count = components != NULL ? asked->component_count : 0;
}

/* The form as it is, or packed; false: it is too long either way. */
static bool
keep_form(gci_journal_entry *entry)
{
    gci_view form = entry->asked.canonical;
    gci_buf packed;

    if (form.size <= CANONICAL_BYTES)
        return true;
    entry->asked.canonical = (gci_view){ NULL, 0 };
    if (form.size > PACKED_FROM_MAX)
        return false;
    gci_buf_init(&packed, GCI_BUF_NO_LIMIT);
    if (gci_store_pack(form, &packed) && packed.size <= CANONICAL_BYTES)
        entry->packed = gci_arena_copy(&entry->arena, gci_buf_view(&packed));
    gci_buf_clear(&packed);
    return entry->packed.size != 0;
}

static void
keep_sketch(gci_journal_entry *entry, gci_description const *asked)
{
    uint8_t sketch[GCI_KEY_SKETCH_BYTES];

    if (gci_sketching_of_features.make(asked, sketch))
        entry->sketch = gci_arena_copy(&entry->arena, gci_view_of(sketch, sizeof sketch));
}

/* For a key that nobody knows. What the whole entry has no room for is kept as hashes and a sketch. */
static void
fill_description(gci_journal_entry *entry, gci_context const *context, extent detail, gci_arena *arena)
{
    if (gci_entry_local_reason(entry) != GCACHE_REASON_NO_KEY)
        return;
    if (gci_description_of(context->graph, true, arena, &entry->asked, NULL) != GCACHE_OK) {
        entry->asked = (gci_description){ 0 };
        return;
    }
    gci_description const whole = entry->asked;
    entry->form_size = whole.canonical.size;
    if (detail == DETAIL_ALL && keep_form(entry))
        return;
    entry->asked.canonical = (gci_view){ NULL, 0 };
    drop_texts(&entry->asked, arena);
    keep_sketch(entry, &whole);
}

/* What decided, as guards by themselves; NULL: no guard did. */
static gci_guards *
decision_of(gci_context const *context, gci_trial const *trial)
{
    gci_guards *guards = NULL;
    gci_arena arena;

    if (trial == NULL)
        return NULL;
    gci_record const *record = &trial->ranked->candidate->record;
    gci_arena_init(&arena, SIZE_MAX / 2);
    if (trial->verdict.guard < record->guard_count) {
        gci_view text = decision_text(&arena, context, trial);
        if (text.size != 0)
            gci_guards_compile(&text, 1, gci_producer_naming(record), &guards, NULL);
    }
    gci_arena_clear(&arena);
    return guards;
}

/* Of the hints that were kept. */
static void
fill_sources(gci_journal_entry *entry, gci_context const *context)
{
    gcache_request *request = &entry->context.request;
    gcache_pair *sources = gci_arena_array(&entry->arena, entry->hint_count, sizeof *sources);

    request->sources_count = 0;
    for (size_t i = 0; sources != NULL && i < entry->hint_count; i++)
        request->sources_count +=
            gci_context_source(context, entry->kept_hints[i].name, &entry->arena, &sources[request->sources_count]);
    request->sources = sources;
}

/* The variant that was asked for, which may have decided. */
static char const *
short_variant(gci_journal_entry *entry, char const *variant)
{
    return variant != NULL ? short_text(&entry->arena, gci_view_text(variant)).data : NULL;
}

static char const *
kept_why(gci_journal_entry *entry, char const *why)
{
    return why != NULL ? gci_arena_copy(&entry->arena, gci_utf8_cut(gci_view_text(why), WHY_BYTES)).data : NULL;
}

/* With all that was asked, or with the hints that what decided reads. */
static void
fill_request(gci_journal_entry *entry, gci_context const *context, gcache_result const *result, gci_trace const *trace,
             extent detail)
{
    if (detail == DETAIL_ALL) {
        fill_hints(entry, context, NULL);
        entry->context.request = context->request;
        bool unknown = gci_entry_local_reason(entry) == GCACHE_REASON_NO_KEY;
        gci_context_complete_request(context, unknown, &entry->context.request, &entry->arena);
        entry->context.names.symbols = context->names.symbols;
        entry->context.names.symbol_count = context->names.symbol_count;
        entry->own_test = context->request.guard_test != NULL;
        entry->context.request.why_asked = kept_why(entry, context->request.why_asked);
        entry->bypass = result->note;
        return;
    }
    entry->context.request.variant = short_variant(entry, context->request.variant);
    if (detail == DETAIL_DECISION && context->hints.items != NULL) {
        gci_guards *decision = decision_of(context, gci_trace_first(trace, gci_entry_local_reason(entry)));
        if (decision != NULL)
            fill_hints(entry, context, decision);
        fill_sources(entry, context);
        gci_guards_free(decision);
    }
}

static bool
write_miss(gci_buf *out, gci_context const *context, gcache_result const *result, gci_trace const *trace, uint64_t looked_ns,
           extent detail)
{
    gci_journal_entry entry = { .kind = GCACHE_JOURNAL_MISS, .reason = result->reason };
    gci_arena description;

    gci_arena_init(&description, GCI_JOURNAL_BYTES_MAX);
    entry.trace.replies = trace->replies;
    entry.trace.reply_count = trace->reply_count;
    entry.trace.local_reason = trace->local_reason;
    entry.trace.candidates_of = trace->candidates_of;
    fill_head(&entry, context, detail);
    fill_request(&entry, context, result, trace, detail);
    fill_trials(&entry, context, trace, detail);
    entry.trace.eviction = trace->eviction;
    entry.looked_ns = looked_ns;
    if (detail != DETAIL_SHORT)
        fill_description(&entry, context, detail, &description);
    if (detail != DETAIL_SHORT)
        fill_text_names(&entry, context, trace);
    bool written = write_entry(out, &entry);
    gci_arena_clear(&description);
    return written;
}

/* All that is known of a graph without a key. */
static gci_context
keyless(gci_ended const *ended)
{
    static gcache_request const defaults = GCACHE_REQUEST_INIT;

    return (gci_context){ .cache = ended->cache,
                           .graph = ended->graph,
                           .request = ended->request != NULL ? *ended->request : defaults };
}

/*
 * A miss that is too long with everything is the rare lookup with megabytes of hints, names, requirements or guards; one whose
 * decision alone is too long, a guard, a requirement, names or values of hints beyond 64 KiB, is rarer. The entry says so.
 */
void
gci_journal_miss(gci_ended const *ended, gci_missed const *missed)
{
    static gci_trace const nothing;
    gci_context unasked = keyless(ended);
    gci_context const *context = missed->kept ? &missed->context : &unasked;
    gci_trace const *trace = missed->kept ? &missed->trace : &nothing;
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_JOURNAL_BYTES_MAX);
    for (extent detail = DETAIL_ALL; detail <= DETAIL_SHORT; detail++) {
        if (write_miss(&bytes, context, ended->result, trace, missed->looked_ns, detail))
            break;
    }
    append(ended->cache, GCACHE_JOURNAL_MISS, &bytes);
    gci_buf_clear(&bytes);
}

/* ---- the others ---- */

/* Of the hints that were kept, as far as the caller said it: a hit doesn't wait for more to be found out. */
static void
fill_given_sources(gci_journal_entry *entry, gci_context const *context)
{
    gcache_request const *given = &context->request;
    gcache_request *kept = &entry->context.request;
    gcache_pair *sources = given->sources_count != 0 ? gci_arena_array(&entry->arena, entry->hint_count, sizeof *sources) : NULL;

    for (size_t i = 0; sources != NULL && i < entry->hint_count; i++) {
        gci_view name = gci_arena_copy(&entry->arena, entry->kept_hints[i].name);
        char const *source = gci_pairs_value(given->sources, given->sources_count, name);
        if (source != NULL)
            sources[kept->sources_count++] = (gcache_pair){ name.data, source };
    }
    kept->sources = sources;
}

/* An entry with these facts: without the hints if they are too many. */
static bool
append_entry(gci_context const *context, gci_journal_entry const *facts)
{
    gci_buf bytes;
    bool written = false;

    gci_buf_init(&bytes, GCI_JOURNAL_BYTES_MAX);
    for (extent detail = DETAIL_ALL; !written && detail <= DETAIL_DECISION; detail++) {
        gci_journal_entry entry = *facts;
        fill_head(&entry, context, detail);
        if (detail == DETAIL_ALL)
            fill_hints(&entry, context, NULL);
        if (detail == DETAIL_ALL && entry.kind == GCACHE_JOURNAL_HIT)
            fill_given_sources(&entry, context);
        written = write_entry(&bytes, &entry);
    }
    written = append(context->cache, facts->kind, &bytes);
    gci_buf_clear(&bytes);
    return written;
}

/* The key and the hints that an entry besides a miss names. */
static bool
init_question(gci_ended const *ended, gci_context *out_question)
{
    if (ended->graph != NULL && ended->result->reason != GCACHE_REASON_BYPASS)
        return gci_context_init(out_question, ended->cache, ended->graph, ended->hints, ended->request, NULL) ==
               GCACHE_OK;
    *out_question = keyless(ended);
    return true;
}

static bool
append_ended(gci_ended const *ended, gci_journal_entry const *facts)
{
    gci_context context = { 0 };

    bool written = ended->cache->journal && init_question(ended, &context) && append_entry(&context, facts);
    gci_context_clear(&context);
    return written;
}

bool
gci_journal_hit(gci_ended const *ended, gci_unreported unreported)
{
    return append_ended(ended, &(gci_journal_entry){ .kind = GCACHE_JOURNAL_HIT, .entry = ended->result->entry,
                                                     .hits = unreported.hits, .saved_ns = unreported.saved_ns,
                                                     .elapsed_ns = ended->elapsed_ns, .tier = ended->result->tier,
                                                     .waited_ns = ended->waited_ns });
}

void
gci_journal_not_stored(gci_ended const *ended, char const *why, uint64_t compile_ns)
{
    gci_arena arena;

    gci_arena_init(&arena, PARTS_BYTES_MAX);
    gci_view text = short_text(&arena, gci_view_text(why));
    append_ended(ended, &(gci_journal_entry){ .kind = GCACHE_JOURNAL_NOT_STORED, .why = text.data, .compile_ns = compile_ns });
    gci_arena_clear(&arena);
}

void
gci_journal_takeover(gci_ended const *ended, uint64_t former)
{
    append_ended(ended, &(gci_journal_entry){ .kind = GCACHE_JOURNAL_TAKEOVER, .former = former });
}

void
gci_journal_tier(gcache *cache, char const *tier, uint64_t const *counts)
{
    gci_context context = keyless(&(gci_ended){ .cache = cache });
    gci_tier_counted counted[GCACHE_TIER_COUNT_COUNT];
    size_t count = 0;

    for (size_t i = 0; i < GCACHE_TIER_COUNT_COUNT; i++) {
        if (counts[i] != 0)
            counted[count++] = (gci_tier_counted){ gcache_tier_count_name((gcache_tier_count)i), counts[i] };
    }
    append_entry(&context, &(gci_journal_entry){ .kind = GCACHE_JOURNAL_TIER, .tier = tier, .counted = counted,
                                                 .counted_count = count });
}

void
gci_journal_insert(gci_context const *context, gcache_inserted const *inserted, gcache_entry const *entry)
{
    if (inserted->existed || !context->cache->journal)
        return;
    append_entry(context, &(gci_journal_entry){ .kind = GCACHE_JOURNAL_INSERT, .entry = inserted->entry,
                                        .compile_ns = entry->compile_ns, .payload_size = entry->payload_size });
}
