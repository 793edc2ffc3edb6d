/*
 * Journal entries: their field tables, and reading them back. An entry is a front, what every entry has, and what its kind
 * has.
 */
#include "cache/journal/journal_entry.h"

#include "base/check.h"
#include "cache/handle/words.h"

#define VERSION 2
/* What an entry of 64 KiB unfolds to. */
#define ENTRY_BYTES_MAX ((size_t)16 << 20)
/* More candidates than this a key can't have had; a larger number is damage. */
#define CANDIDATES_MAX ((uint64_t)1 << 20)

/* ---- what an entry consists of ---- */

/* What it is about, at the beginning, so that it is known without reading the rest. */
typedef struct front {
    uint8_t version, kind, reason;
    bool cut;
    uint32_t process;
    gcache_key key;
} front;

static gci_field const front_fields[] = {
    GCI_NUMBER(front, version, 1, "version", "2; readers skip entries of other versions"),
    GCI_NUMBER(front, kind, 1, "kind",
               "1 miss, 2 hit, 3 insert, 4 compiled and not stored, 5 lease taken over, 6 what a process had of a tier"),
    GCI_NUMBER(front, reason, 1, "reason", "of a miss: its number in `GCACHE_REASON_MAP`"),
    GCI_FLAG(front, cut, "cut", "1: the entry would have been longer than 64 KiB, and only what decided was kept"),
    GCI_NUMBER(front, process, 4, "process", "its id"),
    GCI_BYTES(front, key, "key", "zeros where there is none (a bypass, a rest of hits)"),
};
static gci_fields const front_table = GCI_FIELDS("journal entry", front, front_fields);

static gci_field const hint_fields[] = {
    GCI_TEXT(gci_kept_hint, name, "name", ""),
    GCI_TEXT(gci_kept_hint, bound_name, "bound name", ""),
    GCI_TEXT(gci_kept_hint, literal, "value", "as Python prints it"),
};
static gci_fields const hint_item = GCI_FIELDS("hint", gci_kept_hint, hint_fields);

static gci_field const head_fields[] = {
    GCI_TEXT(gci_journal_entry, namespace_, "namespace", ""),
    GCI_TEXT(gci_journal_entry, graph_kind, "kind", "of the description"),
    GCI_TEXT(gci_journal_entry, label, "label", "whose lookup: of the caller, else what the description says"),
    GCI_LIST(gci_journal_entry, kept_hints, hint_count, &hint_item, "hints", ""),
};
static gci_fields const head_table = GCI_FIELDS("journal entry: all", gci_journal_entry, head_fields);

static gci_field const pair_fields[] = {
    GCI_STRING(gcache_pair, name, "name", ""),
    GCI_STRING(gcache_pair, value, "value", ""),
};
static gci_fields const pair_item = GCI_FIELDS("pair", gcache_pair, pair_fields);

static gci_field const symbol_fields[] = {
    GCI_STRING(gcache_symbol, name, "name", ""),
    GCI_STRING(gcache_symbol, canonical, "canonical", ""),
};
static gci_fields const symbol_item = GCI_FIELDS("symbol", gcache_symbol, symbol_fields);

static gci_field const text_name_fields[] = {
    GCI_STRING(gcache_text_name, original, "name", ""),
    GCI_STRING(gcache_text_name, canonical, "canonical", "what counts in its place"),
};
static gci_fields const text_name_item = GCI_FIELDS("text name", gcache_text_name, text_name_fields);

static gci_field const trial_fields[] = {
    GCI_NUMBER_UP_TO(gci_kept_trial, trial.rank, 4, 2 * CANDIDATES_MAX, "place",
                     "in rank order, evicted ones behind the live; ascending"),
    GCI_NUMBER_UP_TO(gci_kept_trial, trial.reason, 1, GCACHE_REASON_COUNT - 1, "reason", ""),
    GCI_HEX(gci_kept_trial, candidate.record.id, "id", ""),
    GCI_NUMBER(gci_kept_trial, candidate.record.created_ns, 8, "created", ""),
    GCI_NUMBER(gci_kept_trial, candidate.record.compile_ns, 8, "compile time", ""),
    GCI_NUMBER(gci_kept_trial, candidate.evicted_ns, 8, "evicted", ""),
    GCI_NUMBER(gci_kept_trial, candidate.record.priority, 8, "priority", ""),
    GCI_TEXT(gci_kept_trial, candidate.record.variant, "variant", ""),
    GCI_LIST(gci_kept_trial, candidate.record.names, candidate.record.name_count, &gci_pair_item, "names",
             "the producer's, as in [entry.md](entry.md); of those in texts only the first 8 that the caller has otherwise, and "
             "only of a miss for `names`"),
    GCI_LIST(gci_kept_trial, candidate.record.guards, candidate.record.guard_count, &gci_text_item, "guards", ""),
    GCI_NUMBER(gci_kept_trial, trial.verdict.guard, 4, "failing guard", "the count if none failed"),
    GCI_NUMBER(gci_kept_trial, trial.cut, 1, "cut", "see below"),
    GCI_CHARS(gci_kept_trial, trial.verdict.exception, "exception", ""),
    GCI_CHARS(gci_kept_trial, trial.verdict.message, "message", ""),
    GCI_OPTION(gci_kept_trial, trial.requirement, &gci_pair_item, "unmet requirement", ""),
    GCI_OPTION(gci_kept_trial, provided, &gci_text_item, "value instead", ""),
};
static gci_fields const trial_item = GCI_FIELDS("journal entry: trial", gci_kept_trial, trial_fields);

static gci_field const eviction_fields[] = {
    GCI_NUMBER_UP_TO(gci_key_eviction, tombstone.cause, 1, GCI_EVICTED_CAUSES - 1, "cause", ""),
    GCI_NUMBER(gci_key_eviction, tombstone.evicted_ns, 8, "when", ""),
    GCI_NUMBER(gci_key_eviction, tombstone.entries, 4, "entries", ""),
    GCI_NUMBER(gci_key_eviction, tombstone.hits, 4, "hits", ""),
    GCI_NUMBER(gci_key_eviction, tombstone.left, 4, "left", ""),
    GCI_NUMBER(gci_key_eviction, tombstone.stored_ns, 8, "stored", ""),
    GCI_NUMBER(gci_key_eviction, tombstone.used_ns, 8, "used", ""),
    GCI_NUMBER(gci_key_eviction, tombstone.evicted_bytes, 8, "evicted bytes", ""),
    GCI_NUMBER(gci_key_eviction, fullness.bytes, 8, "bytes", "on disk at the time of the miss"),
    GCI_NUMBER(gci_key_eviction, fullness.max_size, 8, "cap", ""),
    GCI_NUMBER(gci_key_eviction, fullness.evicted_bytes, 8, "evicted bytes", "ever"),
    GCI_NUMBER(gci_key_eviction, fullness.least_recent_ns, 8, "least recent", "when that entry was last used"),
    GCI_NUMBER(gci_key_eviction, fullness.evictions, 8, "evictions", "entries evicted ever"),
    GCI_NUMBER(gci_key_eviction, fullness.asked_again, 8, "asked again", "of those"),
};
static gci_fields const eviction_item = GCI_FIELDS("eviction", gci_key_eviction, eviction_fields);

static gci_field const miss_fields[] = {
    GCI_STRING(gci_journal_entry, context.request.variant, "variant", "asked for"),
    GCI_STRING(gci_journal_entry, context.request.expect_variant, "expected variant", ""),
    GCI_FLAG(gci_journal_entry, context.request.accept_renames, "accept renames", ""),
    GCI_LIST(gci_journal_entry, context.request.provides, context.request.provides_count, &pair_item, "provides", ""),
    GCI_LIST(gci_journal_entry, context.request.sources, context.request.sources_count, &pair_item, "sources",
             "of hints, of inputs by their place (\"inputs[2]\")"),
    GCI_FLAG(gci_journal_entry, own_test, "own test", "the caller tested guards itself"),
    GCI_LIST(gci_journal_entry, context.names.symbols, context.names.symbol_count, &symbol_item, "symbols", ""),
    GCI_STRING(gci_journal_entry, bypass, "remark", "why it is a bypass"),
    GCI_NUMBER_UP_TO(gci_journal_entry, trace.live_count, 4, CANDIDATES_MAX, "live candidates", ""),
    GCI_NUMBER_UP_TO(gci_journal_entry, trace.evicted_count, 4, CANDIDATES_MAX, "evicted ones", ""),
    GCI_LIST(gci_journal_entry, trials, trace.trial_count, &trial_item, "trials", "those that decided, see below"),
    GCI_LIST(gci_journal_entry, asked.components, asked.component_count, &gci_component_item, "components", "only of `no_key`"),
    GCI_TEXT(gci_journal_entry, asked.canonical, "canonical form",
             "only of `no_key`; empty if it is longer than 48 KiB"),
    GCI_OPTION(gci_journal_entry, trace.eviction, &eviction_item, "eviction",
               "as in `evicted`, [directory.md](directory.md), and of the whole cache"),
    GCI_LIST(gci_journal_entry, context.names.texts, context.names.text_count, &text_name_item, "names in texts", ""),
};
static gci_fields const miss_table = GCI_FIELDS("journal entry: miss", gci_journal_entry, miss_fields);

/* What former versions didn't have. */
static gci_field const more_fields[] = {
    GCI_NUMBER(gci_journal_entry, looked_ns, 8, "looked",
               "when the lookup found nothing, which may be long before this was written"),
    GCI_NUMBER(gci_journal_entry, form_size, 8, "size", "of the canonical form, also if it isn't kept"),
    GCI_TEXT(gci_journal_entry, packed, "packed form", "the canonical form by zstd, if it is longer than 48 KiB and this isn't"),
    GCI_TEXT(gci_journal_entry, sketch, "sketch", "of `no_key`, where no form is kept ([canonical.md](canonical.md))"),
};
static gci_fields const more_table = GCI_FIELDS("journal entry: miss, more", gci_journal_entry, more_fields);

/* Where the caller said it. */
static gci_field const asked_fields[] = {
    GCI_STRING(gci_journal_entry, context.request.why_asked, "why asked", "as the caller said, a reason a line"),
};
static gci_fields const asked_table = GCI_FIELDS("journal entry: miss, asked", gci_journal_entry, asked_fields);

static gci_field const reply_fields[] = {
    GCI_STRING(gci_tier_reply, tier, "tier", "its URL without credentials"),
    GCI_NUMBER_UP_TO(gci_tier_reply, answer, 1, GCACHE_TIER_ANSWER_COUNT - 1, "answer", "0 hit, 1 miss, 2 trouble"),
    GCI_NUMBER_UP_TO(gci_tier_reply, reason, 1, GCACHE_REASON_COUNT - 1, "reason", ""),
    GCI_NUMBER(gci_tier_reply, elapsed_ns, 8, "elapsed", "ns"),
    GCI_NUMBER(gci_tier_reply, candidates, 4, "candidates", "it had under the key"),
    GCI_NUMBER(gci_tier_reply, refused, 4, "refused", "objects that were damaged, or that nobody trusted signed"),
    GCI_NUMBER(gci_tier_reply, evicted, 4, "evicted", "heads that ran out, or whose payload was gone"),
    GCI_STRING(gci_tier_reply, message, "message", ""),
};
static gci_fields const reply_item = GCI_FIELDS("journal entry: reply", gci_tier_reply, reply_fields);

/* Where tiers were asked. */
static gci_field const tiers_fields[] = {
    GCI_LIST(gci_journal_entry, trace.replies, trace.reply_count, &reply_item, "replies", "of tiers, in the order they were asked"),
    GCI_NUMBER_UP_TO(gci_journal_entry, trace.local_reason, 1, GCACHE_REASON_COUNT - 1, "local reason",
                     "of a miss for a tier's trouble: what would be the reason without"),
    GCI_STRING(gci_journal_entry, trace.candidates_of, "candidates of",
               "the tier that got further than the directory, whose candidates the trials are of; empty: the directory's"),
};
static gci_fields const tiers_table = GCI_FIELDS("journal entry: miss, tiers", gci_journal_entry, tiers_fields);

static gci_field const hit_fields[] = {
    GCI_STRING(gci_journal_entry, entry, "entry", "its id"),
    GCI_NUMBER(gci_journal_entry, hits, 8, "hits", "it stands for"),
    GCI_NUMBER(gci_journal_entry, saved_ns, 8, "saved", "compile time"),
    GCI_NUMBER(gci_journal_entry, elapsed_ns, 8, "elapsed", "how long it took itself; 0: not known"),
};
static gci_fields const hit_table = GCI_FIELDS("journal entry: hit", gci_journal_entry, hit_fields);

/* Where the caller said what hints are; former versions never had it. */
static gci_field const hit_more_fields[] = {
    GCI_LIST(gci_journal_entry, context.request.sources, context.request.sources_count, &pair_item, "sources",
             "of hints, as the caller said"),
};
static gci_fields const hit_more_table = GCI_FIELDS("journal entry: hit, more", gci_journal_entry, hit_more_fields);

/* Where it is known. */
static gci_field const hit_tier_fields[] = {
    GCI_STRING(gci_journal_entry, tier, "tier",
               "that served it: `memory`, `local` (the directory), or its URL without credentials"),
    GCI_NUMBER(gci_journal_entry, waited_ns, 8, "waited", "for tiers, ns"),
};
static gci_fields const hit_tier_table = GCI_FIELDS("journal entry: hit, tier", gci_journal_entry, hit_tier_fields);

static gci_field const insert_fields[] = {
    GCI_STRING(gci_journal_entry, entry, "entry", "its id"),
    GCI_NUMBER(gci_journal_entry, compile_ns, 8, "compile time", ""),
    GCI_NUMBER(gci_journal_entry, payload_size, 8, "payload size", ""),
};
static gci_fields const insert_table = GCI_FIELDS("journal entry: insert", gci_journal_entry, insert_fields);

static gci_field const not_stored_fields[] = {
    GCI_STRING(gci_journal_entry, why, "why", ""),
    GCI_NUMBER(gci_journal_entry, compile_ns, 8, "compile time", ""),
};
static gci_fields const not_stored_table = GCI_FIELDS("journal entry: not stored", gci_journal_entry, not_stored_fields);

static gci_field const takeover_fields[] = {
    GCI_NUMBER(gci_journal_entry, former, 8, "process", "that died with the lease"),
};
static gci_fields const takeover_table = GCI_FIELDS("journal entry: takeover", gci_journal_entry, takeover_fields);

static gci_field const counted_fields[] = {
    GCI_STRING(gci_tier_counted, name, "name", "as in `GCACHE_TIER_COUNT_MAP`; readers skip others"),
    GCI_NUMBER(gci_tier_counted, value, 8, "count", ""),
};
static gci_fields const counted_item = GCI_FIELDS("tier count", gci_tier_counted, counted_fields);

static gci_field const tier_fields[] = {
    GCI_STRING(gci_journal_entry, tier, "tier", "its URL without credentials"),
    GCI_LIST(gci_journal_entry, counted, counted_count, &counted_item, "counts",
             "since the process wrote its last such entry of it; without those that are 0"),
};
static gci_fields const tier_table = GCI_FIELDS("journal entry: tier", gci_journal_entry, tier_fields);

static gci_fields const *const tables_of_kinds[] = {
    [GCACHE_JOURNAL_MISS] = &miss_table,
    [GCACHE_JOURNAL_HIT] = &hit_table,
    [GCACHE_JOURNAL_INSERT] = &insert_table,
    [GCACHE_JOURNAL_NOT_STORED] = &not_stored_table,
    [GCACHE_JOURNAL_TAKEOVER] = &takeover_table,
    [GCACHE_JOURNAL_TIER] = &tier_table,
};

gci_fields const *const gci_journal_tables[GCI_JOURNAL_TABLES] = {
    &front_table, &head_table, &miss_table, &more_table, &asked_table, &tiers_table, &reply_item, &trial_item, &hit_table,
    &hit_more_table, &hit_tier_table, &insert_table, &not_stored_table, &takeover_table, &tier_table,
};

/* ---- writing ---- */

void
gci_journal_entry_write(gci_buf *out, gci_journal_entry const *entry)
{
    gci_fields_write(out, &front_table,
                     &(front){ VERSION, (uint8_t)entry->kind, (uint8_t)entry->reason, entry->cut, entry->process, entry->key });
    gci_fields_write(out, &head_table, entry);
    gci_fields_write(out, tables_of_kinds[entry->kind], entry);
    if (entry->kind == GCACHE_JOURNAL_MISS)
        gci_fields_write(out, &more_table, entry);
    bool tiers = entry->kind == GCACHE_JOURNAL_MISS && entry->trace.reply_count != 0;
    if (tiers || (entry->kind == GCACHE_JOURNAL_MISS && entry->context.request.why_asked != NULL))
        gci_fields_write(out, &asked_table, entry);
    if (tiers)
        gci_fields_write(out, &tiers_table, entry);
    bool served = entry->kind == GCACHE_JOURNAL_HIT && entry->tier != NULL;
    if (served || (entry->kind == GCACHE_JOURNAL_HIT && entry->context.request.sources_count != 0))
        gci_fields_write(out, &hit_more_table, entry);
    if (served)
        gci_fields_write(out, &hit_tier_table, entry);
}

/* ---- reading ---- */

/* Stands for a caller's own test of guards; nothing asks it again. */
static bool
past_test(void *state, char const *const *guards, size_t count)
{
    (void)state, (void)guards, (void)count;
    return false;
}

static bool
get_front(gci_reader *reader, front *out)
{
    gci_fields_read(reader, &front_table, NULL, out);
    return !reader->failed && out->version == VERSION && out->kind >= GCACHE_JOURNAL_MISS &&
           out->kind <= GCACHE_JOURNAL_TIER && out->reason < GCACHE_REASON_COUNT;
}

static void
take_hints(gci_journal_entry *entry)
{
    entry->hints = gci_arena_array(&entry->arena, entry->hint_count, sizeof *entry->hints);
    for (size_t i = 0; entry->hints != NULL && i < entry->hint_count; i++)
        entry->hints[i] = (gcache_hint_literal){ entry->kept_hints[i].name.data, entry->kept_hints[i].literal.data };
}

/* Texts that the entry has empty were absent. */
static void
take_request(gci_journal_entry *entry)
{
    gcache_request *request = &entry->context.request;

    if (request->variant != NULL && request->variant[0] == '\0')
        request->variant = NULL;
    if (request->expect_variant != NULL && request->expect_variant[0] == '\0')
        request->expect_variant = NULL;
    if (entry->label.size != 0)
        request->label = entry->label.data;
    request->guard_test = entry->own_test ? past_test : NULL;
}

/* Puts the trials together again. false: their places can't be. */
static bool
take_trials(gci_journal_entry *entry)
{
    gci_trace *trace = &entry->trace;
    size_t next = 0;

    trace->trials = gci_arena_array(&entry->arena, trace->trial_count, sizeof *trace->trials);
    for (size_t i = 0; trace->trials != NULL && i < trace->trial_count; i++) {
        gci_kept_trial *kept = &entry->trials[i];
        if (kept->trial.rank < next || kept->trial.rank >= trace->live_count + trace->evicted_count)
            return false;
        next = kept->trial.rank + 1;
        kept->candidate.record.key = entry->key;
        kept->ranked = (gci_ranked){ .candidate = &kept->candidate,
                                     .answer = { .variant = kept->candidate.record.variant.data } };
        trace->trials[i] = kept->trial;
        trace->trials[i].ranked = &kept->ranked;
        trace->trials[i].provided = kept->provided != NULL ? *kept->provided : (gci_view){ NULL, 0 };
    }
    return true;
}

static bool
take_miss(gci_journal_entry *entry)
{
    take_request(entry);
    if (entry->context.request.why_asked != NULL && entry->context.request.why_asked[0] == '\0')
        entry->context.request.why_asked = NULL;
    if (entry->looked_ns != 0)
        entry->at_ns = entry->looked_ns;
    entry->asked.kind = entry->graph_kind;
    if (entry->trace.eviction != NULL && entry->trace.eviction->tombstone.cause == 0)
        entry->trace.eviction = NULL;
    return take_trials(entry);
}

static void
explain_takeover(gci_journal_entry *entry)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_phrase(&text, GCI_TAKEOVER, GCI_AS_NUMBER(entry->former));
    entry->why = gci_arena_copy(&entry->arena, gci_buf_view(&text)).data;
    entry->arena.failed |= text.failed;
    gci_buf_clear(&text);
}

/* By their numbers, those that this version knows. */
static void
take_counts(gci_journal_entry *entry)
{
    entry->tier_counts = gci_arena_array(&entry->arena, GCACHE_TIER_COUNT_COUNT, sizeof *entry->tier_counts);
    for (size_t i = 0; entry->tier_counts != NULL && i < GCACHE_TIER_COUNT_COUNT; i++) {
        entry->tier_counts[i] = 0;
        for (size_t k = 0; k < entry->counted_count; k++) {
            if (strcmp(entry->counted[k].name, gcache_tier_count_name((gcache_tier_count)i)) == 0)
                entry->tier_counts[i] = entry->counted[k].value;
        }
    }
}

static bool
get_rest(gci_reader *reader, gci_journal_entry *entry)
{
    gci_fields_read(reader, &head_table, &entry->arena, entry);
    gci_fields_read(reader, tables_of_kinds[entry->kind], &entry->arena, entry);
    if (entry->kind == GCACHE_JOURNAL_MISS && !reader->failed && gci_reader_left(reader) != 0)
        gci_fields_read(reader, &more_table, &entry->arena, entry);
    if (entry->kind == GCACHE_JOURNAL_MISS && !reader->failed && gci_reader_left(reader) != 0)
        gci_fields_read(reader, &asked_table, &entry->arena, entry);
    if (entry->kind == GCACHE_JOURNAL_MISS && !reader->failed && gci_reader_left(reader) != 0)
        gci_fields_read(reader, &tiers_table, &entry->arena, entry);
    if (entry->kind == GCACHE_JOURNAL_HIT && !reader->failed && gci_reader_left(reader) != 0)
        gci_fields_read(reader, &hit_more_table, &entry->arena, entry);
    if (entry->kind == GCACHE_JOURNAL_HIT && !reader->failed && gci_reader_left(reader) != 0)
        gci_fields_read(reader, &hit_tier_table, &entry->arena, entry);
    if (reader->failed)
        entry->trace.trial_count = 0;
    if (reader->failed || gci_reader_left(reader) != 0)
        return false;
    take_hints(entry);
    if (entry->kind == GCACHE_JOURNAL_TAKEOVER)
        explain_takeover(entry);
    if (entry->kind == GCACHE_JOURNAL_TIER)
        take_counts(entry);
    return entry->kind != GCACHE_JOURNAL_MISS || take_miss(entry);
}

gcache_status
gci_journal_entry_read(gcache *cache, uint64_t at_ns, gci_view bytes, gci_journal_entry *out_entry, gcache_error *error)
{
    gci_reader reader = gci_reader_of(bytes);
    front start;

    *out_entry = (gci_journal_entry){ .at_ns = at_ns, .context = { .request = GCACHE_REQUEST_INIT } };
    gci_arena_init(&out_entry->arena, ENTRY_BYTES_MAX);
    gci_trace_init(&out_entry->trace);
    if (!get_front(&reader, &start))
        return gci_fail(error, GCACHE_ERROR_FORMAT, "a journal entry of another version");
    out_entry->kind = (gcache_journal_kind)start.kind;
    out_entry->reason = (gcache_reason)start.reason;
    out_entry->cut = start.cut;
    out_entry->process = start.process;
    out_entry->key = out_entry->context.key = start.key;
    out_entry->context.cache = cache;
    bool read = get_rest(&reader, out_entry);
    if (out_entry->arena.failed)
        return gci_fail_memory(error);
    return read ? GCACHE_OK : gci_fail(error, GCACHE_ERROR_CORRUPT, "a damaged journal entry");
}

bool
gci_journal_entry_peek(gci_view bytes, gcache_journal_kind *out_kind, gcache_key *out_key)
{
    gci_reader reader = gci_reader_of(bytes);
    front start;

    if (!get_front(&reader, &start))
        return false;
    *out_kind = (gcache_journal_kind)start.kind;
    *out_key = start.key;
    return true;
}

void
gci_journal_entry_clear(gci_journal_entry *entry)
{
    for (size_t i = 0; i < entry->trace.trial_count; i++)
        gci_guards_free(entry->trials[i].ranked.guards);
    entry->trace.trial_count = 0;
    gci_trace_clear(&entry->trace);
    gci_context_clear(&entry->context);
    gcache_graph_free(entry->context.graph);
    entry->context.graph = NULL;
    gci_arena_clear(&entry->arena);
}

/* ---- ready to explain ---- */

/* The bound name of a hint, or of a symbol as the caller calls it. */
static gci_view
bound_name(void const *state, gci_view name)
{
    gci_journal_entry const *entry = state;

    for (size_t i = 0; i < entry->hint_count; i++)
        if (gci_view_is(name, entry->hints[i].name))
            return entry->kept_hints[i].bound_name;
    return name;
}

/* Those whose texts were left out hold as far as anybody knows, so that the others keep their places. */
static void
compile_guards(gci_journal_entry *entry, gci_ranked *ranked)
{
    gci_record const *record = &ranked->candidate->record;
    gci_view *texts = gci_arena_array(&entry->arena, record->guard_count, sizeof *texts);

    if (record->guard_count == 0 || texts == NULL)
        return;
    for (size_t i = 0; i < record->guard_count; i++)
        texts[i] = record->guards[i].size != 0 ? record->guards[i] : gci_view_text("True");
    gci_guards_compile(texts, record->guard_count, gci_producer_naming(record), &ranked->guards, NULL);
}

gcache_status
gci_journal_entry_open(gci_journal_entry *entry, gcache_error *error)
{
    gcache_hints hints = { .literals = entry->hints, .literal_count = entry->hint_count };

    entry->context.naming = (gci_naming){ .rename = bound_name, .state = entry };
    entry->context.graph = gcache_graph_new_keyed(entry->graph_kind.data, &entry->key);
    if (entry->context.graph == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < entry->trace.trial_count; i++)
        compile_guards(entry, &entry->trials[i].ranked);
    gci_hints_init(&entry->context.hints);
    return gci_hints_read(&entry->context.hints, &hints, entry->context.naming, error);
}
