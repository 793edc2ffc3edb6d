/*
 * Single flight: lookup, lease, lookup again, compile, insert. gcache_compile_begin and _end are the two halves around the
 * compile; gcache_get_or_compile puts a callback between them, and gcache_compile_many does so for a queue.
 *
 * Invariants:
 *  1. The callback runs at most once a call, and exactly once if the outcome is a miss without an error.
 *  2. The lease is held from before the second lookup until the end, so that of all who wait for it one compiles and the
 *     others find what it stored.
 *  3. What was compiled is handed out whether or not it could be stored; result.note says why not, and with strict it is
 *     the call's error as well.
 *  4. A thread that has a lease waits for nobody, whatever it asks for meanwhile: it takes what is free, or goes on without.
 *  5. The listener hears of one request and one hit or miss a call, however often was looked.
 */
#include "cache/compile/single_flight.h"
#include "cache/compile/alike.h"

#include "base/check.h"
#include "base/system/clock.h"
#include "cache/journal/events.h"
#include "cache/handle/words.h"
#include "cache/journal/journal_writer.h"
#include "cache/journal/lookup_report.h"
#include "cache/lookup/cache_lookup.h"
#include "cache/lookup/result.h"

#include <stdio.h>
#include <stdlib.h>

/* A key and a few dozen hints. */
#define LEASE_NAME_BYTES_MAX ((size_t)1 << 20)
#define NOTE_BYTES 320
/* How often a follower looks: soon enough for a short compile, seldom enough for a network file system. */
#define FOLLOW_FIRST_NS UINT64_C(1000000)
#define FOLLOW_MOST_NS UINT64_C(100000000)
/* The same over a network, where thousands of hosts may wait for one. */
#define FLEET_FIRST_NS UINT64_C(2000000)
#define FLEET_MOST_NS UINT64_C(500000000)

/* What a result points into that was compiled and not loaded. */
struct gci_product {
    gcache_compiled compiled;
    gcache_entry entry;    /* of compiled */
    void *state;
    char note[NOTE_BYTES]; /* why it isn't stored; "": it is to be */
    gcache_status stored;  /* what came of trying */
};

static gci_product *
make_product(void)
{
    gci_product *p = calloc(1, sizeof *p);

    if (p != NULL) {
        p->entry = (gcache_entry)GCACHE_ENTRY_INIT;
        p->compiled = (gcache_compiled){ .size = sizeof p->compiled, .entry = &p->entry };
    }
    return p;
}

static void
free_product(void *value)
{
    gci_product *p = value;

    if (p->compiled.release != NULL)
        p->compiled.release(p->state, &p->compiled);
    free(p);
}

/* ---- waiting ---- */

static gci_patience
patience_of(gcache_compile const *c)
{
    return (gci_patience){ c->waits_for_nobody ? 0 : c->options.lease_timeout_ns, c->options.keep_waiting, c->state };
}

static gci_pauses
pauses_of(gcache_compile const *c, uint64_t first_ns, uint64_t most_ns)
{
    gci_patience patience = patience_of(c);

    return gci_pauses_with(first_ns, most_ns, &patience);
}

/* ---- looking up ---- */

/* Forgets the result but for the key and the reason. */
static void
forget(gcache_compile *c, gcache_reason reason)
{
    gcache_key key = c->result->key;

    gcache_result_clear(c->result);
    c->result->key = key;
    c->result->reason = reason;
}

/* It doesn't wait any longer. Who mustn't wait keeps the reason that he had. */
static void
give_up(gcache_compile *c)
{
    c->goes_alone = true;
    if (!c->waits_for_nobody)
        forget(c, GCACHE_REASON_LEASE_TIMEOUT);
}

/* Callbacks, and what the thread compiles, may ask for something else, while others wait for this. */
static void
note_lease(gcache_compile *c)
{
    if (c->lease != NULL || c->fleet_lease != NULL)
        gci_awaited_begin(&c->awaited);
}

/* A description that can't be keyed costs the caching, not the compile: a bypass that says why. */
static gcache_status
pass_by(gcache_compile *c, gcache_status trouble)
{
    gcache_error why;
    gcache_key key;

    if (c->cache->strict || trouble == GCACHE_ERROR_MEMORY || gcache_graph_key(c->graph, &key, &why) != trouble)
        return trouble;
    return gci_bypass(c->result, why.message, c->error);
}

static gcache_status
look_up(gcache_compile *c)
{
    gcache_status status = gci_answer(c->cache, c->graph, c->hints, &c->call, c->missed, c->result, c->error);

    if (status < 0)
        return pass_by(c, status);
    note_lease(c);
    if (status != GCACHE_HIT || c->options.post_load == NULL || c->options.post_load(c->state, c->result))
        return status;
    forget(c, GCACHE_REASON_UNREADABLE);
    if (c->missed != NULL)
        gci_missed_decide(c->missed, GCACHE_REASON_UNREADABLE);
    return GCACHE_MISS;
}

/* Looks until the writer has stored what is wanted. GCACHE_HIT, GCACHE_MISS with lease_timeout, or an error. */
static gcache_status
follow(gcache_compile *c)
{
    gci_pauses pauses = pauses_of(c, FOLLOW_FIRST_NS, FOLLOW_MOST_NS);
    gcache_status status = GCACHE_MISS;

    while (status == GCACHE_MISS && gci_clock_pause(&pauses)) {
        gcache_result_clear(c->result);
        status = look_up(c);
    }
    if (status == GCACHE_MISS)
        give_up(c);
    return status;
}

/* ---- the lease ---- */

/*
 * With a flight: who names the same one waits. Else, nothing stored: everybody who wants the key waits; something stored for
 * other shapes: only who has the same hints.
 */
static void
name_lease(gci_context const *context, char const *flight, gcache_reason reason, gci_buf *name)
{
    gci_buf_append(name, context->key.bytes, sizeof context->key.bytes);
    if (flight != NULL) {
        gci_buf_append_char(name, '\n');
        gci_buf_append_text(name, flight);
        return;
    }
    if (reason == GCACHE_REASON_NO_KEY)
        return;
    for (size_t i = 0; i < context->hints.count; i++) {
        gci_buf_append_char(name, ' ');
        gci_buf_append_view(name, context->hints.items[i].name);
        gci_buf_append_char(name, '=');
        gci_number_write(context->hints.items[i].value, name);
    }
}

/* Nobody knows whom the compiles that are under way will serve: it may be this caller. */
static bool
takes_turns(gcache_compile const *c)
{
    gcache_reason reason = gci_result_local_reason(c->result);

    return c->options.flight == NULL && (reason == GCACHE_REASON_GUARD_FALSE || reason == GCACHE_REASON_GUARD_ERROR);
}

/* Something is stored under the key now, for other hints: who has the same hints no longer waits for the lease of the key. What
   can't be used is as good as not stored. */
static bool
has_outgrown(gcache_compile const *c, gcache_reason asked)
{
    gcache_reason reason = gci_result_local_reason(c->result);

    return c->options.flight == NULL && asked == GCACHE_REASON_NO_KEY && reason != GCACHE_REASON_NO_KEY &&
           reason != GCACHE_REASON_UNREADABLE;
}

/* Who waits for a lease looks again. */
typedef struct looked {
    gcache_compile *compile;
    gcache_status found;
} looked;

/* false: it still misses, and needs the same lease. */
static bool
is_served(void *state)
{
    looked *l = state;
    gcache_reason before = gci_result_local_reason(l->compile->result);

    gcache_result_clear(l->compile->result);
    l->found = look_up(l->compile);
    return l->found != GCACHE_MISS || has_outgrown(l->compile, before);
}

/* The lease that the present miss needs. As gci_turn_take. */
static gcache_status
take_lease_for(gcache_compile *c, gci_context const *context, bool *out_waited, looked *looks, gcache_error *error)
{
    gcache_reason reason = gci_result_local_reason(c->result);
    gci_store *store = c->cache->store;
    gci_patience patience = patience_of(c);
    gcache_status status;
    gci_buf name;

    gci_buf_init(&name, LEASE_NAME_BYTES_MAX);
    name_lease(context, c->options.flight, reason, &name);
    gci_turn turn = { .key = &context->key, .name = gci_buf_view(&name), .patience = patience,
                      .at_once = c->waits_for_nobody || !takes_turns(c), .is_served = is_served, .state = looks };
    if (name.failed)
        status = gci_fail_memory(error);
    else if (reason == GCACHE_REASON_REFRESH) /* which only takes what those have stored whom it has waited for */
        status = gci_lease_await(store, turn.name, &patience, &c->lease, out_waited, error);
    else
        status = gci_turn_take(store, &turn, &c->lease, out_waited, error);
    gci_buf_clear(&name);
    return status;
}

/* ---- the fleet's lease ---- */

/*
 * Waits until the lease is ours, or somebody who had it has stored what is wanted. GCACHE_HIT; GCACHE_MISS: compile, with the
 * lease, or without one if no tier gives one; or an error. With the lease in hand it looks once more, also if nobody was waited
 * for: somebody may have been done between the lookup and the lease.
 */
static gcache_status
wait_for_fleet(gcache_compile *c, gci_view name)
{
    gci_pauses pauses = pauses_of(c, FLEET_FIRST_NS, FLEET_MOST_NS);
    gcache_key key = c->result->key;

    for (;;) {
        gcache_tier_answer answer = gci_fleet_lease_take(c->cache, &key, name, &c->fleet_lease);
        if (answer == GCACHE_TIER_TROUBLE)
            return GCACHE_MISS;
        if (answer == GCACHE_TIER_MISS && !gci_clock_pause(&pauses)) {
            give_up(c);
            return GCACHE_MISS;
        }
        gcache_result_clear(c->result);
        gcache_status status = look_up(c);
        if (status != GCACHE_MISS || answer == GCACHE_TIER_HIT)
            return status;
    }
}

/* One of all hosts compiles. As wait_for_fleet. */
static gcache_status
take_fleet_lease(gcache_compile *c)
{
    gcache_reason asked = gci_result_local_reason(c->result);
    gcache_error trouble = { 0 };
    gci_context context;
    gci_buf name;

    if (c->cache->tiers == NULL || c->cache->tiers->keeper == NULL)
        return GCACHE_MISS;
    gci_buf_init(&name, LEASE_NAME_BYTES_MAX);
    gcache_status status = gci_context_init(&context, c->cache, c->graph, c->hints, c->options.request, &trouble);
    if (status == GCACHE_OK)
        name_lease(&context, c->options.flight, asked, &name);
    status = status == GCACHE_OK && !name.failed ? wait_for_fleet(c, gci_buf_view(&name)) : GCACHE_MISS;
    gci_context_clear(&context);
    gci_buf_clear(&name);
    if (status != GCACHE_MISS || c->fleet_lease == NULL || !has_outgrown(c, asked))
        return status;
    gci_fleet_lease_release(c->fleet_lease);
    c->fleet_lease = NULL;
    return take_fleet_lease(c);
}

/* A description that can't be keyed has nothing that others could wait for. */
static bool
is_open(gcache_compile const *c, gci_way way)
{
    return c->result->reason != GCACHE_REASON_BYPASS && gci_admit(&c->cache->gate, &c->call, way).by == GCI_BY_NOBODY;
}

/* Takes the lease that the present reason asks for. GCACHE_OK; GCACHE_MISS: go on without; GCACHE_HIT; or an error. */
static gcache_status
take_one_lease(gcache_compile *c, bool *out_waited)
{
    uint64_t start = gci_clock_steady_ns();
    looked looks = { c, GCACHE_MISS };
    gcache_error trouble = { 0 };
    gci_context context;

    *out_waited = false;
    gcache_status status = gci_context_init(&context, c->cache, c->graph, c->hints, c->options.request, &trouble);
    if (status == GCACHE_OK) {
        status = take_lease_for(c, &context, out_waited, &looks, &trouble);
        gci_report_lease(&context, status, c->lease, *out_waited, gci_clock_steady_ns() - start);
    }
    gci_context_clear(&context);
    if (status == GCACHE_HIT)
        return looks.found;
    c->goes_alone = status == GCACHE_ERROR_BUSY || status == GCACHE_MISS;
    if (status == GCACHE_ERROR_BUSY && !c->waits_for_nobody)
        c->result->reason = GCACHE_REASON_LEASE_TIMEOUT;
    if (status == GCACHE_ERROR_ARGUMENT && c->error != NULL)
        *c->error = trouble;
    if (status >= 0 || status == GCACHE_ERROR_ARGUMENT)
        return status == GCACHE_REFUSED ? GCACHE_MISS : status;
    return status == GCACHE_ERROR_BUSY || status == GCACHE_ERROR_READ_ONLY ? GCACHE_MISS
                                                                           : gci_trouble(c->cache, &trouble, c->error);
}

/*
 * Takes the lease, or goes on without one. GCACHE_HIT: while waiting, somebody stored what is wanted; GCACHE_MISS:
 * compile; ERROR_ARGUMENT: this thread is compiling the same already; with strict, what kept the lease from being taken.
 */
static gcache_status
take_lease(gcache_compile *c)
{
    gcache_reason asked = gci_result_local_reason(c->result), told = c->result->reason;
    bool waited = false;

    gcache_status status = take_one_lease(c, &waited);
    if (status == GCACHE_MISS && !c->goes_alone && has_outgrown(c, asked))
        return take_lease(c);
    if (status != GCACHE_OK)
        return status;
    /* Also if nobody was waited for: somebody may have been done between the lookup and the lease. */
    gcache_result_clear(c->result);
    status = look_up(c);
    if (status != GCACHE_MISS)
        return status;
    if (asked != GCACHE_REASON_NO_KEY && !waited) {
        c->result->reason = told;
    } else if (has_outgrown(c, asked)) {
        gci_lease_release(c->lease);
        c->lease = NULL;
        return take_lease(c);
    }
    return status;
}

/* ---- compiling ---- */

/* Writes why what was compiled isn't to be stored; nothing: store it. */
static void
write_objection(gcache_compile const *c, gcache_compiled const *compiled, gci_buf *note)
{
    gci_admission admission = gci_admit(&c->cache->gate, &c->call, GCI_STORE);

    if (compiled->do_not_store != NULL) {
        gci_buf_append_text(note, compiled->do_not_store);
    } else if (c->result->reason == GCACHE_REASON_BYPASS) {
        gci_buf_format(note, "bypass: %s", c->result->note);
    } else if (admission.by != GCI_BY_NOBODY) {
        gci_buf_append_text(note, admission.why);
    } else if (compiled->entry->compile_ns < c->options.min_compile_ns) {
        gci_phrase(note, "compiled in {}, less than {}", GCI_AS_DURATION(compiled->entry->compile_ns),
                   GCI_AS_DURATION(c->options.min_compile_ns));
    }
}

static void
report(gcache_compile const *c, gcache_event_kind kind, gcache_entry const *entry, char const *text)
{
    gcache_event event = { .kind = kind, .key = c->result->key, .graph_kind = gcache_graph_kind(c->graph),
                           .label = c->options.request != NULL ? c->options.request->label : NULL,
                           .variant = entry->variant, .compile_ns = entry->compile_ns, .text = text };

    gci_report_event(c->cache, &event);
}

/* The next miss of the same graph can say that it was compiled before, and why that didn't help. */
static void
leave_note(gcache_compile const *c, gci_product const *p)
{
    gci_ended ended = { c->cache, c->graph, c->hints, c->options.request, c->result, 0, 0 };

    gci_count(&c->cache->counters, GCACHE_COUNTER_NOT_STORED, 1);
    gci_journal_not_stored(&ended, p->note, p->entry.compile_ns);
}

static void
set_note(gci_product *p, gci_buf const *note)
{
    if (note->size != 0)
        snprintf(p->note, sizeof p->note, "not stored: %.*s", (int)note->size, note->data);
}

/* Begins to store what was compiled, unless something speaks against it. */
static void
begin_keeping(gcache_compile *c)
{
    gci_product *p = c->product;
    gci_buf note;

    gci_buf_init(&note, GCI_BUF_NO_LIMIT);
    write_objection(c, &p->compiled, &note);
    set_note(p, &note);
    if (note.size == 0)
        gci_insert_begin(&c->insert, c->cache, c->graph, c->hints, &p->entry);
    gci_buf_clear(&note);
}

/* Finds out whether it was stored, and reports it. GCACHE_MISS, or with strict why it couldn't be. */
static gcache_status
end_keeping(gcache_compile *c)
{
    gci_insert *insert = &c->insert;
    gci_product *p = c->product;
    gcache_status status = GCACHE_MISS;
    gci_buf note;

    gci_buf_init(&note, GCI_BUF_NO_LIMIT);
    if (p->note[0] == '\0') {
        insert->fleet_lease = c->fleet_lease;
        gci_insert_end(insert);
        c->fleet_lease = insert->fleet_lease;
        p->stored = insert->status;
        if (insert->status == GCACHE_OK)
            gci_lease_note_stored(c->lease);
        if (insert->status != GCACHE_OK)
            gci_buf_append_text(&note, insert->error.message);
        if (insert->status < 0)
            status = gci_trouble(c->cache, &insert->error, c->error);
        set_note(p, &note);
    }
    gci_buf_clear(&note);
    if (p->note[0] != '\0')
        leave_note(c, p);
    report(c, p->note[0] == '\0' ? GCACHE_EVENT_STORED : GCACHE_EVENT_NOT_STORED, &p->entry, p->note);
    return status;
}

static void
fill_result(gcache_compile const *c, gci_product const *p)
{
    gcache_entry const *entry = &p->entry;
    gcache_result *result = c->result;

    result->outcome = GCACHE_MISS;
    result->payload = entry->payload;
    result->payload_size = entry->payload_size;
    result->metadata = entry->metadata;
    result->metadata_size = entry->metadata_size;
    result->guards = entry->guards;
    result->guard_count = entry->guard_count;
    result->variant = entry->variant != NULL ? entry->variant : "";
    result->priority = entry->priority;
    result->compile_ns = entry->compile_ns;
    result->deltas = entry->deltas;
    result->delta_count = entry->delta_count;
    result->note = p->note;
    result->stored = p->stored;
}

static void
release(gcache_compile *c)
{
    gci_fleet_lease_release(c->fleet_lease);
    c->fleet_lease = NULL;
    gci_lease_release(c->lease);
    c->lease = NULL;
    gci_awaited_end(&c->awaited);
}

/* The compile has ended with this status. GCACHE_OK: it is kept, or known why not; else the compile's own error. */
static gcache_status
take_product(gcache_compile *c, gcache_status status, char const *failure)
{
    gci_product *p = c->product;

    p->state = c->state;
    if (p->entry.compile_ns == 0)
        p->entry.compile_ns = gci_clock_steady_ns() - c->start_ns;
    report(c, status == GCACHE_OK ? GCACHE_EVENT_COMPILED : GCACHE_EVENT_COMPILE_FAILED, &p->entry,
         status == GCACHE_OK ? NULL : failure);
    if (status == GCACHE_OK) {
        begin_keeping(c);
        return GCACHE_OK;
    }
    free_product(p);
    c->product = NULL;
    release(c);
    return status;
}

/* GCACHE_OK, or the callback's error. */
static gcache_status
call_back(gcache_compile *c, gcache_compile_fn compile)
{
    gcache_variant const *variant = c->options.variant;
    gcache_error unused = { 0 }, *error = c->error != NULL ? c->error : &unused;
    gcache_compiled *compiled = &c->product->compiled;

    if (variant != NULL) {
        compiled->entry->variant = variant->label;
        compiled->entry->priority = variant->priority;
        compiled->options = variant->options;
        compiled->option_count = variant->option_count;
    }
    gcache_status status = compile(c->state, c->graph, c->hints, compiled, error);
    if (status > 0)
        status = gci_fail(error, GCACHE_ERROR_ARGUMENT, "the compile callback returned %d", status);
    return take_product(c, status, error->message);
}

static gcache_status
hand_out(gcache_compile *c)
{
    gci_product *p = c->product;

    c->product = NULL;
    forget(c, c->result->reason);
    if (!gci_result_own(c->result, p, free_product)) {
        free_product(p);
        return gci_fail_memory(c->error);
    }
    fill_result(c, p);
    return GCACHE_MISS;
}

/* ---- the call ---- */

static gcache_status
check_arguments(gcache const *cache, gcache_graph const *graph, gcache_compile_options const *options, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE(graph != NULL, error, "graph is NULL");
    GCI_REQUIRE_INIT(options, error);
    GCI_REQUIRE_INIT(options->variant, error);
    GCI_REQUIRE_INIT(options->group, error);
    GCI_REQUIRE(options->group == NULL || options->group->name != NULL, error, "the group has no name");
    return GCACHE_OK;
}

/* ---- groups ---- */

/* Takes the question's lease, on this host and then among all, looking for a decision meanwhile. GCACHE_HIT: it is decided, and
   served; GCACHE_MISS: nobody has decided, or each compiles himself; or an error. */
static gcache_status
wait_for_decision(gcache_compile *c, gci_context const *context)
{
    gci_pauses pauses = pauses_of(c, FOLLOW_FIRST_NS, FOLLOW_MOST_NS);
    gci_patience patience = patience_of(c);
    gci_view name = gci_view_of(c->question, sizeof c->question);
    gcache_error trouble = { 0 };
    bool waited, late = false;

    gci_decided decided = gci_decision_read(context, c->question, c->result, &trouble);
    if (decided == GCI_UNDECIDED && is_open(c, GCI_LEASE)) {
        gcache_status status = gci_lease_await(c->cache->store, name, &patience, &c->lease, &waited, &trouble);
        late = status == GCACHE_ERROR_BUSY || status == GCACHE_MISS;
        decided = gci_decision_read(context, c->question, c->result, &trouble);
    }
    while (decided == GCI_UNDECIDED && !late &&
           gci_fleet_lease_take(c->cache, &context->key, name, &c->fleet_lease) == GCACHE_TIER_MISS) {
        late = !gci_clock_pause(&pauses);
        decided = gci_decision_read(context, c->question, c->result, &trouble);
    }
    if (decided == GCI_UNDECIDED && c->fleet_lease != NULL)
        decided = gci_decision_read(context, c->question, c->result, &trouble);
    c->is_decided = decided != GCI_UNDECIDED;
    if (decided != GCI_UNDECIDED)
        release(c);
    return decided == GCI_DECIDED_ENTRY ? GCACHE_HIT : GCACHE_MISS;
}

/* What the first member finds stored it decides for. */
static gcache_status
decide_for_hit(gcache_compile *c, gci_context const *context)
{
    gcache_error trouble = { 0 };
    char entry[GCACHE_ENTRY_ID_SIZE];

    memcpy(entry, c->result->entry, sizeof entry);
    gci_decided decided = gci_decision_say(context, c->question, entry, c->result, &trouble);
    c->is_decided = true;
    if (decided == GCI_DECIDED_ENTRY)
        return GCACHE_HIT;
    if (decided == GCI_DECIDED_OWN || c->result->outcome != GCACHE_HIT) {
        forget(c, GCACHE_REASON_REFRESH);
        return GCACHE_MISS;
    }
    return GCACHE_HIT;
}

static gcache_status
find_alike(gcache_compile *c)
{
    gcache_error trouble = { 0 };
    gci_context context;

    gcache_status status = gci_context_init(&context, c->cache, c->graph, c->hints, c->options.request, &trouble);
    if (status == GCACHE_OK)
        status = gci_question_name(&context, c->options.group, c->question, &trouble);
    if (status == GCACHE_OK) {
        c->is_question = true;
        c->result->key = context.key;
        status = wait_for_decision(c, &context);
    } else {
        status = GCACHE_MISS;
    }
    if (c->is_decided && status == GCACHE_MISS)
        forget(c, GCACHE_REASON_REFRESH);
    else if (status == GCACHE_MISS)
        status = look_up(c);
    if (c->is_question && !c->is_decided && status == GCACHE_HIT)
        status = decide_for_hit(c, &context);
    gci_context_clear(&context);
    return status;
}

/* After storing: what was compiled is the decision, or somebody else's is taken for it. GCACHE_HIT: that one. */
static gcache_status
decide_for_product(gcache_compile *c)
{
    gcache_error trouble = { 0 };
    gcache_result theirs = GCACHE_RESULT_INIT;
    gci_context context;
    gcache_status status = gci_context_init(&context, c->cache, c->graph, c->hints, c->options.request, &trouble);
    char const *entry = c->product->note[0] == '\0' ? c->insert.inserted.entry : NULL;

    gci_result_init(&theirs, &c->result->key);
    if (status == GCACHE_OK)
        gci_decision_say(&context, c->question, entry, &theirs, &trouble);
    gci_context_clear(&context);
    if (theirs.outcome != GCACHE_HIT || (entry != NULL && strcmp(theirs.entry, entry) == 0)) {
        gcache_result_clear(&theirs);
        return GCACHE_MISS;
    }
    free_product(c->product);
    c->product = NULL;
    gcache_result_clear(c->result);
    *c->result = theirs;
    return GCACHE_HIT;
}

/* Looks, and sees to it that at most one compiles. GCACHE_HIT; GCACHE_MISS: compile now; or an error. */
static gcache_status
find(gcache_compile *c)
{
    gcache_group const *group = c->options.group;

    if (group != NULL && group->members > 1 && is_open(c, GCI_LOOK_UP) && !c->options.follow)
        return find_alike(c);
    gcache_status status = look_up(c);

    if (status != GCACHE_MISS)
        return status;
    if (c->options.follow && is_open(c, GCI_LOOK_UP))
        return follow(c);
    if (!is_open(c, GCI_LEASE))
        return status;
    status = take_lease(c);
    return status == GCACHE_MISS && !c->goes_alone ? take_fleet_lease(c) : status;
}

gcache_status
gci_compile_begin(gcache_compile *c)
{
    gci_lookup_report lookup;

    gci_result_init(c->result, NULL);
    gcache_status status = check_arguments(c->cache, c->graph, &c->options, c->error);
    if (status != GCACHE_OK)
        return status;
    c->call = (gci_call){ .request = c->options.request,
                          .reader = c->options.reader || c->options.follow,
                          .refresh = c->options.refresh,
                          .at_once = c->options.group != NULL };
    if (c->options.lease_timeout_ns == 0)
        c->options.lease_timeout_ns = GCACHE_LEASE_TIMEOUT_DEFAULT_NS;

    c->waits_for_nobody = gci_awaited_here();
    c->missed = gci_lookup_begin(&lookup, c->cache, c->graph, c->hints, c->options.request);
    lookup.missed.may_refuse = c->options.post_load != NULL;
    status = find(c);
    gci_lookup_end(&lookup, status, c->result);
    c->missed = NULL;
    if (status == GCACHE_MISS && (c->product = make_product()) == NULL)
        status = gci_fail_memory(c->error);
    /* After the miss, which it belongs to. */
    uint64_t former = status == GCACHE_MISS && c->lease != NULL ? gci_lease_former_holder(c->lease) : 0;
    if (former != 0)
        gci_journal_takeover(&(gci_ended){ c->cache, c->graph, c->hints, c->options.request, c->result, 0, 0 }, former);
    if (status == GCACHE_MISS)
        note_lease(c);
    else
        release(c);
    c->start_ns = gci_clock_steady_ns();
    return status;
}

gcache_status
gci_compile_call(gcache_compile *c, gcache_compile_fn compile)
{
    gci_result_init(c->result, NULL);
    GCI_REQUIRE(compile != NULL, c->error, "there is no compile callback");
    gcache_status status = gci_compile_begin(c);
    return status == GCACHE_MISS ? call_back(c, compile) : status;
}

bool
gci_compile_is_to_commit(gcache_compile const *c)
{
    return c->product->note[0] == '\0';
}

void
gci_compile_hand_over(gcache_compile *c)
{
    gci_lease_hand_over(c->lease);
    gci_awaited_end(&c->awaited);
}

gcache_status
gci_compile_end(gcache_compile *c)
{
    gcache_status kept = end_keeping(c);
    gcache_status status = c->is_question && !c->is_decided ? decide_for_product(c) : GCACHE_MISS;

    if (status == GCACHE_MISS)
        status = hand_out(c);

    release(c);
    return status == GCACHE_MISS ? kept : status;
}

/* The product is there: stores it, if it is to be stored, and hands it out. */
static gcache_status
store(gcache_compile *c)
{
    gci_insert *insert = &c->insert;

    if (gci_compile_is_to_commit(c))
        gci_insert_commit(&insert, 1);
    return gci_compile_end(c);
}

gcache_status
gcache_get_or_compile_with(gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                           gcache_compile_options const *options, gcache_compile_fn compile, void *state,
                           gcache_result *out_result, gcache_error *error)
{
    static gcache_compile_options const defaults = GCACHE_COMPILE_OPTIONS_INIT;

    GCI_REQUIRE(out_result != NULL, error, "out_result is NULL");
    GCI_REQUIRE_INIT(out_result, error);
    gcache_compile c = { .cache = cache, .graph = graph, .hints = hints, .options = options != NULL ? *options : defaults,
                      .state = state, .result = out_result, .error = error };
    gcache_status status = gci_compile_call(&c, compile);
    return status == GCACHE_OK ? store(&c) : status;
}

gcache_status
gcache_get_or_compile(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_compile_fn compile,
                      void *state, gcache_result *out_result, gcache_error *error)
{
    return gcache_get_or_compile_with(cache, graph, hints, NULL, compile, state, out_result, error);
}

/* ---- the two halves by themselves ---- */

gcache_status
gcache_compile_begin(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_compile_options const *options,
                     void *state, gcache_compile **out_compile, gcache_result *out_result, gcache_error *error)
{
    static gcache_compile_options const defaults = GCACHE_COMPILE_OPTIONS_INIT;

    GCI_REQUIRE(out_compile != NULL && out_result != NULL, error, "out_compile or out_result is NULL");
    GCI_REQUIRE_INIT(out_result, error);
    *out_compile = NULL;
    gcache_compile *c = malloc(sizeof *c);
    if (c == NULL)
        return gci_fail_memory(error);
    *c = (gcache_compile){ .cache = cache, .graph = graph, .hints = hints, .options = options != NULL ? *options : defaults,
                           .state = state, .result = out_result, .error = error };
    gcache_status status = gci_compile_begin(c);
    if (status == GCACHE_MISS)
        *out_compile = c;
    else
        free(c);
    return status;
}

gcache_status
gcache_compile_end(gcache_compile *c, gcache_compiled const *compiled, gcache_error *error)
{
    gcache_status status = GCACHE_MISS;

    if (c == NULL)
        return GCACHE_MISS;
    c->error = error;
    bool given = compiled != NULL && compiled->size == sizeof *compiled && compiled->entry != NULL;
    if (given) {
        c->product->entry = *compiled->entry;
        c->product->compiled = *compiled;
        c->product->compiled.entry = &c->product->entry;
        take_product(c, GCACHE_OK, NULL);
        status = store(c);
    } else {
        free(c->product);
        release(c);
        if (compiled != NULL)
            status = gci_fail(error, GCACHE_ERROR_ARGUMENT, "what was compiled isn't initialised, or has no entry");
    }
    free(c);
    return status;
}
