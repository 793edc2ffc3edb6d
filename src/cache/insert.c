/*
 * Insert: the guards are compiled and must hold for the hints they were made for; then record, payload and, once per
 * key, the description go to the store, which publishes them atomically.
 */
#include "base/arena.h"
#include "base/check.h"
#include "cache/deltas.h"
#include "cache/description.h"
#include "cache/journal.h"
#include "cache/question.h"
#include "cache/tape.h"
#include "graph/graph.h"

/* Views and pairs that describe one entry; the texts themselves stay the caller's. */
#define DRAFT_BYTES_MAX ((size_t)64 << 20)

/* What an insert puts together before the store sees it. */
typedef struct draft {
    gci_arena arena;
    gci_buf program, metadata;
    gci_guards *guards;
    gci_record record;
    gci_description description;
} draft;

static void
draft_init(draft *d)
{
    *d = (draft){ 0 };
    gci_arena_init(&d->arena, DRAFT_BYTES_MAX);
    gci_buf_init(&d->program, GCI_BUF_NO_LIMIT);
    gci_buf_init(&d->metadata, GCI_BUF_NO_LIMIT);
}

static void
draft_clear(draft *d)
{
    gci_guards_free(d->guards);
    gci_buf_clear(&d->program);
    gci_buf_clear(&d->metadata);
    gci_arena_clear(&d->arena);
}

static gcache_status
check_entry(gcache_entry const *entry, gcache_error *error)
{
    GCI_REQUIRE(entry != NULL, error, "entry is NULL");
    GCI_REQUIRE(entry->payload != NULL || entry->payload_size == 0, error, "the payload is NULL");
    GCI_REQUIRE(entry->metadata != NULL || entry->metadata_size == 0, error, "the metadata is NULL");
    GCI_REQUIRE(entry->guards != NULL || entry->guard_count == 0, error, "the guards are NULL");
    GCI_REQUIRE(entry->requires_ != NULL || entry->requires_count == 0, error, "the requirements are NULL");
    for (size_t i = 0; i < entry->guard_count; i++)
        GCI_REQUIRE(entry->guards[i] != NULL, error, "guard %zu is NULL", i);
    for (size_t i = 0; i < entry->requires_count; i++)
        GCI_REQUIRE(entry->requires_[i].name != NULL && entry->requires_[i].value != NULL, error,
                    "requirement %zu has no name or no value", i);
    GCI_REQUIRE(entry->attachments != NULL || entry->attachment_count == 0, error, "the attachments are NULL");
    for (size_t i = 0; i < entry->attachment_count; i++)
        GCI_REQUIRE(entry->attachments[i].name != NULL && entry->attachments[i].bytes != NULL, error,
                    "attachment %zu has no name or no bytes", i);
    GCI_REQUIRE(entry->deltas != NULL || entry->delta_count == 0, error, "the deltas are NULL");
    for (size_t i = 0; i < entry->delta_count; i++)
        GCI_REQUIRE(entry->deltas[i].name != NULL, error, "delta %zu has no name", i);
    GCI_REQUIRE(entry->identity != NULL || entry->identity_size == 0, error, "the identity is NULL");
    return GCACHE_OK;
}

/* ---- putting the record together ---- */

static gcache_status
draft_guards(draft *d, gci_question const *question, gcache_entry const *entry, gcache_error *error)
{
    gci_view *texts = gci_arena_array(&d->arena, entry->guard_count, sizeof *texts);

    if (texts == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < entry->guard_count; i++)
        texts[i] = gci_view_text(entry->guards[i]);
    d->record.guards = texts;
    d->record.guard_count = entry->guard_count;
    gcache_status status = gci_guards_compile(texts, entry->guard_count, question->naming, &d->guards, error);
    if (status != GCACHE_OK)
        return status;
    gci_guards_save(d->guards, &d->program);
    if (d->program.failed)
        return gci_fail_memory(error);
    gci_specificity specificity = gci_guards_specificity(d->guards);
    d->record.program = gci_buf_view(&d->program);
    d->record.equalities = specificity.equalities;
    d->record.conjuncts = specificity.conjuncts;
    return GCACHE_OK;
}

static gcache_status
draft_names(draft *d, gci_question const *question, gcache_error *error)
{
    gci_pair *names = gci_arena_array(&d->arena, question->symbol_count, sizeof *names);

    if (names == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < question->symbol_count; i++) {
        gci_view name = gci_view_text(question->symbols[i].name);
        names[i] = (gci_pair){ name, gci_question_bound_name(question, name) };
    }
    d->record.names = names;
    d->record.name_count = question->symbol_count;
    return GCACHE_OK;
}

static gcache_status
draft_requirements(draft *d, gcache_entry const *entry, gcache_error *error)
{
    gci_pair *pairs = gci_arena_array(&d->arena, entry->requires_count, sizeof *pairs);

    if (pairs == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < entry->requires_count; i++)
        pairs[i] = (gci_pair){ gci_view_text(entry->requires_[i].name), gci_view_text(entry->requires_[i].value) };
    d->record.requirements = pairs;
    d->record.requirement_count = entry->requires_count;
    return GCACHE_OK;
}

static gcache_status
draft_record(draft *d, gci_question const *question, gcache_entry const *entry, gcache_error *error)
{
    d->record.key = question->key;
    d->record.kind = gci_view_text(gcache_graph_kind(question->graph));
    d->record.variant = gci_view_text(entry->variant);
    d->record.priority = entry->priority;
    d->record.compile_ns = entry->compile_ns;
    d->record.label = gci_view_text(entry->label);
    gci_write_metadata(&d->metadata, entry);
    if (d->metadata.failed)
        return gci_fail_memory(error);
    d->record.metadata = gci_buf_view(&d->metadata);
    d->record.identity = gci_view_of(entry->identity, entry->identity_size);
    gcache_status status = draft_guards(d, question, entry, error);
    if (status == GCACHE_OK)
        status = draft_names(d, question, error);
    if (status == GCACHE_OK)
        status = draft_requirements(d, entry, error);
    return status;
}

/* ---- the insert ---- */

static gcache_reason
check_hints(draft const *d, gci_question const *question, gcache_verdict *out_verdict)
{
    switch (gci_guards_eval(d->guards, question->hints, out_verdict)) {
    case GCACHE_TRUE:
        return GCACHE_REASON_NONE;
    case GCACHE_FALSE:
        return GCACHE_REASON_GUARD_FALSE;
    default:
        return GCACHE_REASON_GUARD_ERROR;
    }
}

static gcache_status
refuse(gcache_inserted *inserted, gcache_reason reason)
{
    inserted->outcome = GCACHE_REFUSED;
    inserted->reason = reason;
    return GCACHE_REFUSED;
}

/* Attachments are stored before the entry that names them, so that nobody sees it without them. */
static gcache_status
store_attachments(draft *d, gci_store *store, gcache_entry const *entry, gcache_error *error)
{
    gci_attachment *attachments = gci_arena_array(&d->arena, entry->attachment_count, sizeof *attachments);

    if (attachments == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < entry->attachment_count; i++) {
        gcache_attachment const *given = &entry->attachments[i];
        attachments[i].name = gci_view_text(given->name);
        attachments[i].mode = given->executable ? 0755 : 0644;
        gcache_status status =
            gci_store_attach(store, gci_view_of(given->bytes, (size_t)given->size), &attachments[i], error);
        if (status != GCACHE_OK)
            return status;
    }
    d->record.attachments = attachments;
    d->record.attachment_count = entry->attachment_count;
    return GCACHE_OK;
}

static gcache_status
store_draft(draft *d, gci_question const *question, gcache_entry const *entry, gcache_inserted *inserted,
            gcache_error *error)
{
    gci_inserted stored;
    gcache_status status = gci_description_of(question->graph, true, &d->arena, &d->description, error);

    if (status == GCACHE_OK)
        status = store_attachments(d, question->cache->store, entry, error);
    if (status == GCACHE_OK)
        status = gci_store_insert(question->cache->store, &d->record, gci_view_of(entry->payload, entry->payload_size),
                                  &d->description, &stored, error);
    if (status == GCACHE_OK) {
        memcpy(inserted->entry, stored.id, sizeof inserted->entry);
        memcpy(inserted->shadows, stored.shadows, sizeof inserted->shadows);
        inserted->existed = stored.existed;
    }
    return status;
}

static void
leave_note(gci_question *question, gcache_inserted const *inserted, gcache_entry const *entry)
{
    question->request.label = entry->label;
    atomic_fetch_add_explicit(&question->cache->counters.inserts, 1, memory_order_relaxed);
    gci_journal_insert(question, inserted, entry);
}

gcache_status
gcache_insert(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_entry const *entry,
              gcache_inserted *out_inserted, gcache_error *error)
{
    gcache_inserted unused, *inserted = out_inserted != NULL ? out_inserted : &unused;
    gci_question question = { 0 };
    draft d;

    *inserted = (gcache_inserted){ .outcome = GCACHE_OK };
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    gcache_status status = check_entry(entry, error);
    if (status != GCACHE_OK)
        return status;
    if (cache->disabled)
        return refuse(inserted, GCACHE_REASON_DISABLED);

    draft_init(&d);
    status = gci_question_init(&question, cache, graph, hints, NULL, error);
    if (status == GCACHE_REFUSED) {
        refuse(inserted, GCACHE_REASON_BYPASS);
        goto done;
    }
    if (status != GCACHE_OK)
        goto done;
    inserted->key = question.key;
    status = draft_record(&d, &question, entry, error);
    if (status != GCACHE_OK)
        goto done;
    if (hints != NULL) {
        gcache_reason reason = check_hints(&d, &question, &inserted->verdict);
        if (reason != GCACHE_REASON_NONE) {
            status = refuse(inserted, reason);
            goto done;
        }
    }
    status = store_draft(&d, &question, entry, inserted, error);
    if (status == GCACHE_OK) {
        leave_note(&question, inserted, entry);
        gci_recorder_note(&cache->recorder, GCI_USED_ENTRY, gci_view_of(inserted->key.bytes, sizeof inserted->key.bytes),
                          gci_view_text(inserted->entry), !inserted->existed);
    }
done:
    if (status == GCACHE_REFUSED)
        atomic_fetch_add_explicit(&cache->counters.refusals, 1, memory_order_relaxed);
    if (cache->tape != NULL && status >= 0)
        gci_tape_insert(cache->tape, graph, hints, entry, inserted);
    if (status < 0)
        inserted->outcome = status;
    draft_clear(&d);
    gci_question_clear(&question);
    return status;
}
