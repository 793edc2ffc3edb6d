#include "cache/journal/journal_entry.h"

#include "base/check.h"
#include "base/codec.h"
#include "cache/handle/words.h"

/* What an entry of 64 KiB unfolds to. */
#define PAST_BYTES_MAX ((size_t)16 << 20)

typedef struct reader {
    gci_reader from;
    gci_past *past;
} reader;

/* ---- pieces ---- */

static gci_view
get_copy(reader *r)
{
    return gci_arena_copy(&r->past->arena, gci_get_bytes(&r->from));
}

/* "" is NULL: a wish that wasn't there. */
static char const *
get_wish(reader *r)
{
    gci_view text = get_copy(r);

    return text.size != 0 ? text.data : NULL;
}

static gcache_pair *
get_pairs(reader *r, size_t *out_count)
{
    size_t count = gci_get_count(&r->from, 8);
    gcache_pair *pairs = gci_arena_array(&r->past->arena, count, sizeof *pairs);

    for (size_t i = 0; pairs != NULL && i < count; i++) {
        pairs[i].name = get_copy(r).data;
        pairs[i].value = get_copy(r).data;
    }
    *out_count = pairs != NULL ? count : 0;
    return pairs;
}

static gci_pair *
get_names(reader *r, size_t *out_count)
{
    size_t count = gci_get_count(&r->from, 8);
    gci_pair *pairs = gci_arena_array(&r->past->arena, count, sizeof *pairs);

    for (size_t i = 0; pairs != NULL && i < count; i++) {
        pairs[i].name = gci_get_bytes(&r->from);
        pairs[i].value = gci_get_bytes(&r->from);
    }
    *out_count = pairs != NULL ? count : 0;
    return pairs;
}

static void
get_short_text(reader *r, char *out_text, size_t size)
{
    gci_view text = gci_get_bytes(&r->from);
    size_t length = text.size < size ? text.size : size - 1;

    if (length != 0)
        memcpy(out_text, text.data, length);
    out_text[length] = '\0';
}

/* ---- the head ---- */

static void
get_hints(reader *r)
{
    gci_past *past = r->past;
    size_t count = gci_get_count(&r->from, 12);

    past->hints = gci_arena_array(&past->arena, count, sizeof *past->hints);
    past->bound_names = gci_arena_array(&past->arena, count, sizeof *past->bound_names);
    if (past->arena.failed)
        return;
    for (size_t i = 0; i < count; i++) {
        past->hints[i].name = get_copy(r).data;
        past->bound_names[i] = get_copy(r);
        past->hints[i].literal = get_copy(r).data;
    }
    past->hint_count = count;
}

/* head = version u8, act u8, reason u8, cut u8, process u32, key 32 bytes, space, kind, label, hints */
static bool
get_head(reader *r)
{
    gci_past *past = r->past;
    uint8_t version = gci_get_u8(&r->from), act = gci_get_u8(&r->from), reason = gci_get_u8(&r->from);

    if (version != GCI_JOURNAL_VERSION || act < GCACHE_JOURNAL_MISS || act > GCACHE_JOURNAL_TAKEOVER ||
        reason >= GCACHE_REASON_COUNT)
        return false;
    past->cut = gci_get_u8(&r->from) != 0;
    past->act = (gcache_journal_kind)act;
    past->reason = (gcache_reason)reason;
    past->process = gci_get_u32(&r->from);
    gci_view key = gci_get_raw(&r->from, sizeof past->key.bytes);
    if (!r->from.failed)
        memcpy(past->key.bytes, key.data, sizeof past->key.bytes);
    past->space = get_copy(r);
    past->kind = get_copy(r);
    past->label = get_copy(r);
    get_hints(r);
    return true;
}

/* ---- a miss ---- */

/* Stands for a caller's own test of guards; nothing asks it again. */
static bool
past_test(void *state, char const *const *guards, size_t count)
{
    (void)state, (void)guards, (void)count;
    return false;
}

static void
get_wishes(reader *r)
{
    gcache_request *request = &r->past->question.request;

    request->variant = get_wish(r);
    request->expect_variant = get_wish(r);
    request->accept_renames = gci_get_u8(&r->from) != 0;
    request->provides = get_pairs(r, &request->provides_count);
    request->sources = get_pairs(r, &request->sources_count);
    request->guard_test = gci_get_u8(&r->from) != 0 ? past_test : NULL;
}

static void
get_symbols(reader *r)
{
    size_t count = gci_get_count(&r->from, 8);
    gcache_symbol *symbols = gci_arena_array(&r->past->arena, count, sizeof *symbols);

    for (size_t i = 0; symbols != NULL && i < count; i++) {
        symbols[i].name = get_copy(r).data;
        symbols[i].canonical = get_copy(r).data;
    }
    r->past->question.symbols = symbols;
    r->past->question.symbol_count = symbols != NULL ? count : 0;
}

static void
get_tombstone(reader *r)
{
    gci_trace *trace = &r->past->trace;
    uint8_t cause = gci_get_u8(&r->from);

    trace->has_tombstone = cause >= GCI_EVICTED_SIZE && cause <= GCI_EVICTED_OVER_CAP;
    if (cause == 0)
        return;
    trace->tombstone.cause = cause;
    trace->tombstone.evicted_ns = gci_get_u64(&r->from);
    trace->tombstone.entries = gci_get_u32(&r->from);
    trace->tombstone.hits = gci_get_u32(&r->from);
}

/* guards = count u32, texts, failing u32, cut u8 */
static void
get_guards(reader *r, gci_record *record, gci_trial *trial)
{
    size_t count = gci_get_count(&r->from, 4);
    gci_view *texts = gci_arena_array(&r->past->arena, count, sizeof *texts);

    for (size_t i = 0; texts != NULL && i < count; i++)
        texts[i] = get_copy(r);
    record->guards = texts;
    record->guard_count = texts != NULL ? count : 0;
    trial->verdict.guard = gci_get_u32(&r->from);
    trial->cut = gci_get_u8(&r->from);
}

static void
get_trial(reader *r, gci_trial *trial, gci_ranked *ranked, gci_candidate *candidate)
{
    gci_record *record = &candidate->record;
    size_t requirements;

    uint8_t reason = gci_get_u8(&r->from);
    trial->reason = reason < GCACHE_REASON_COUNT ? (gcache_reason)reason : GCACHE_REASON_UNREADABLE;
    gci_view id = gci_get_raw(&r->from, GCACHE_ENTRY_ID_SIZE - 1);
    if (id.size == GCACHE_ENTRY_ID_SIZE - 1)
        memcpy(record->id, id.data, id.size);
    record->key = r->past->key;
    record->created_ns = gci_get_u64(&r->from);
    record->compile_ns = gci_get_u64(&r->from);
    candidate->evicted_ns = gci_get_u64(&r->from);
    record->priority = (int64_t)gci_get_u64(&r->from);
    record->variant = get_copy(r);
    record->names = get_names(r, &record->name_count);
    get_guards(r, record, trial);
    get_short_text(r, trial->verdict.exception, sizeof trial->verdict.exception);
    get_short_text(r, trial->verdict.message, sizeof trial->verdict.message);
    gci_pair const *requirement = get_names(r, &requirements);
    trial->requirement = requirements != 0 ? requirement : NULL;
    bool provided = gci_get_u8(&r->from) != 0;
    gci_view value = get_copy(r);
    trial->provided = provided ? value : (gci_view){ NULL, 0 };
    *ranked = (gci_ranked){ .candidate = candidate, .answer = { .variant = record->variant.data } };
    trial->ranked = ranked;
}

/* trials = live u32, evicted u32, count u32, { place u32, trial }; places ascend */
static void
get_trials(reader *r)
{
    gci_trace *trace = &r->past->trace;
    gci_arena *arena = &r->past->arena;

    trace->count = gci_get_u32(&r->from);
    trace->evicted_count = gci_get_u32(&r->from);
    size_t places = trace->count + trace->evicted_count, next = 0, count = gci_get_count(&r->from, 100);
    trace->trials = gci_arena_array(arena, count, sizeof *trace->trials);
    gci_ranked *ranked = gci_arena_array(arena, count, sizeof *ranked);
    gci_candidate *candidates = gci_arena_array(arena, count, sizeof *candidates);
    for (size_t i = 0; !arena->failed && !r->from.failed && i < count; i++) {
        trace->trials[i].place = gci_get_u32(&r->from);
        r->from.failed |= trace->trials[i].place < next || trace->trials[i].place >= places;
        next = trace->trials[i].place + 1;
        get_trial(r, &trace->trials[i], &ranked[i], &candidates[i]);
    }
    trace->trial_count = arena->failed || r->from.failed ? 0 : count;
    r->past->ranked = ranked;
}

static void
get_description(reader *r)
{
    gci_description *asked = &r->past->asked;
    size_t count = gci_get_count(&r->from, 40);
    gci_component *components = gci_arena_array(&r->past->arena, count, sizeof *components);

    for (size_t i = 0; components != NULL && i < count; i++) {
        components[i].name = gci_get_bytes(&r->from);
        gci_view hash = gci_get_raw(&r->from, sizeof components[i].hash);
        if (hash.size == sizeof components[i].hash)
            memcpy(components[i].hash, hash.data, hash.size);
        components[i].text = gci_get_bytes(&r->from);
    }
    *asked = (gci_description){ .kind = r->past->kind,
                                .components = components,
                                .component_count = components != NULL ? count : 0,
                                .canonical = gci_get_bytes(&r->from) };
}

/* Entries of earlier builds end before them. */
static void
get_text_names(reader *r)
{
    size_t count = gci_reader_left(&r->from) != 0 ? gci_get_count(&r->from, 8) : 0;
    gcache_text_name *names = gci_arena_array(&r->past->arena, count, sizeof *names);

    for (size_t i = 0; names != NULL && i < count; i++) {
        names[i].original = get_copy(r).data;
        names[i].canonical = get_copy(r).data;
    }
    r->past->question.text_names = names;
    r->past->question.text_name_count = names != NULL ? count : 0;
}

/* Entries of earlier builds end before it, or before its last two counts. */
static void
get_eviction(reader *r)
{
    gci_trace *trace = &r->past->trace;

    if (!trace->has_tombstone || gci_reader_left(&r->from) == 0)
        return;
    trace->tombstone.left = gci_get_u32(&r->from);
    trace->tombstone.stored_ns = gci_get_u64(&r->from);
    trace->tombstone.used_ns = gci_get_u64(&r->from);
    trace->tombstone.evicted_bytes = gci_get_u64(&r->from);
    trace->fullness.bytes = gci_get_u64(&r->from);
    trace->fullness.max_bytes = gci_get_u64(&r->from);
    trace->fullness.evicted_bytes = gci_get_u64(&r->from);
    trace->fullness.least_recent_ns = gci_get_u64(&r->from);
    if (gci_reader_left(&r->from) == 0)
        return;
    trace->fullness.evictions = gci_get_u64(&r->from);
    trace->fullness.asked_again = gci_get_u64(&r->from);
}

static void
get_miss(reader *r)
{
    get_wishes(r);
    get_symbols(r);
    r->past->bypass = get_copy(r).data;
    get_tombstone(r);
    get_trials(r);
    get_description(r);
    get_eviction(r);
    get_text_names(r);
}

static void
get_takeover(reader *r)
{
    gci_buf text;

    r->past->former = gci_get_u64(&r->from);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_write_takeover(&text, r->past->former);
    r->past->why = gci_arena_copy(&r->past->arena, gci_buf_view(&text)).data;
    r->past->arena.failed |= text.failed;
    gci_buf_clear(&text);
}

/* ---- the whole ---- */

static void
get_rest(reader *r)
{
    gci_past *past = r->past;

    switch (past->act) {
    case GCACHE_JOURNAL_MISS:
        get_miss(r);
        break;
    case GCACHE_JOURNAL_HIT:
        past->entry = get_copy(r).data;
        past->hits = gci_get_u64(&r->from);
        past->saved_ns = gci_get_u64(&r->from);
        past->elapsed_ns = gci_get_u64(&r->from);
        break;
    case GCACHE_JOURNAL_INSERT:
        past->entry = get_copy(r).data;
        past->compile_ns = gci_get_u64(&r->from);
        past->payload_size = gci_get_u64(&r->from);
        break;
    case GCACHE_JOURNAL_NOT_STORED:
        past->why = get_copy(r).data;
        past->compile_ns = gci_get_u64(&r->from);
        break;
    case GCACHE_JOURNAL_TAKEOVER:
        get_takeover(r);
        break;
    }
}

gcache_status
gci_past_read(gcache *cache, uint64_t at_ns, gci_view bytes, gci_past *out_past, gcache_error *error)
{
    reader r = { .from = gci_reader_of(bytes), .past = out_past };

    *out_past = (gci_past){ .at_ns = at_ns, .question = { .request = GCACHE_REQUEST_INIT } };
    gci_arena_init(&out_past->arena, PAST_BYTES_MAX);
    gci_trace_init(&out_past->trace);
    if (!get_head(&r))
        return gci_fail(error, GCACHE_ERROR_FORMAT, "a journal entry of another version");
    get_rest(&r);
    if (out_past->arena.failed)
        return gci_fail_memory(error);
    if (r.from.failed)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "a damaged journal entry");
    out_past->question.cache = cache;
    out_past->question.key = out_past->key;
    if (out_past->label.size != 0)
        out_past->question.request.label = out_past->label.data;
    return GCACHE_OK;
}

bool
gci_past_peek(gci_view bytes, gcache_journal_kind *out_act, gcache_key *out_key)
{
    gci_reader from = gci_reader_of(bytes);
    uint8_t version = gci_get_u8(&from), act = gci_get_u8(&from);

    gci_get_raw(&from, 6); /* reason, cut, process */
    gci_view key = gci_get_raw(&from, sizeof out_key->bytes);
    if (from.failed || version != GCI_JOURNAL_VERSION)
        return false;
    *out_act = (gcache_journal_kind)act;
    memcpy(out_key->bytes, key.data, sizeof out_key->bytes);
    return true;
}

void
gci_past_clear(gci_past *past)
{
    for (size_t i = 0; i < past->trace.trial_count; i++)
        gci_guards_free(past->ranked[i].guards);
    past->trace.trial_count = 0;
    gci_trace_clear(&past->trace);
    gci_question_clear(&past->question);
    gcache_graph_free(past->question.graph);
    past->question.graph = NULL;
    gci_arena_clear(&past->arena);
}

/* ---- ready to explain ---- */

/* The bound name of a hint, or of a symbol as the caller calls it. */
static gci_view
bound_name(void const *state, gci_view name)
{
    gci_past const *past = state;

    for (size_t i = 0; i < past->hint_count; i++)
        if (gci_view_is(name, past->hints[i].name))
            return past->bound_names[i];
    return name;
}

/* Those whose texts were left out hold as far as anybody knows, so that the others keep their places. */
static void
compile_guards(gci_past *past, gci_ranked *ranked)
{
    gci_record const *record = &ranked->candidate->record;
    gci_view *texts = gci_arena_array(&past->arena, record->guard_count, sizeof *texts);

    if (record->guard_count == 0 || texts == NULL)
        return;
    for (size_t i = 0; i < record->guard_count; i++)
        texts[i] = record->guards[i].size != 0 ? record->guards[i] : gci_view_text("True");
    gci_guards_compile(texts, record->guard_count, gci_producer_naming(record), &ranked->guards, NULL);
}

gcache_status
gci_past_open(gci_past *past, gcache_error *error)
{
    gcache_hints hints = { .literals = past->hints, .literal_count = past->hint_count };

    past->question.naming = (gci_naming){ .rename = bound_name, .state = past };
    past->question.graph = gcache_graph_new_keyed(past->kind.data, &past->key);
    if (past->question.graph == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < past->trace.trial_count; i++)
        compile_guards(past, &past->ranked[i]);
    return gci_hints_new(&hints, past->question.naming, &past->question.hints, error);
}
