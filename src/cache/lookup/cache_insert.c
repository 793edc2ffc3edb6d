/*
 * Insert: the guards are compiled and must hold for the hints they were made for; then record, payload and, once per
 * key, the description go to the store, which publishes them atomically.
 */
#include "cache/lookup/cache_insert.h"

#include "base/check.h"
#include "cache/handle/graph_description.h"
#include "cache/candidates/sources.h"
#include "cache/candidates/names.h"
#include "cache/candidates/trial.h"
#include "cache/journal/events.h"
#include "cache/journal/journal_writer.h"
#include "cache/journal/trace_writer.h"
#include "cache/tiers/upload.h"
#include "graph/graph.h"

/* So much of a guard that can't be compiled is shown: its error has to find room behind it. */
#define GUARD_SHOWN_MAX 200

/* Views and pairs that describe one entry; the texts themselves stay the caller's. */
#define DRAFT_BYTES_MAX ((size_t)64 << 20)

static void
draft_init(gci_insert_draft *d)
{
    *d = (gci_insert_draft){ 0 };
    gci_arena_init(&d->arena, DRAFT_BYTES_MAX);
    gci_buf_init(&d->program, GCI_BUF_NO_LIMIT);
}

static void
draft_clear(gci_insert_draft *d)
{
    gci_guards_free(d->guards);
    gci_buf_clear(&d->program);
    gci_arena_clear(&d->arena);
}

static gcache_status
check_entry(gcache_entry const *entry, gcache_error *error)
{
    GCI_REQUIRE(entry != NULL, error, "entry is NULL");
    GCI_REQUIRE_INIT(entry, error);
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

/* Says which guard it is that can't be compiled: of several the column alone doesn't tell. */
static void
name_guard(gci_view const *texts, size_t count, gci_naming naming, gcache_error *error)
{
    for (size_t i = 0; error != NULL && i < count; i++) {
        gci_guards *guards = NULL;
        gcache_error why;
        gcache_status status = gci_guards_compile(&texts[i], 1, naming, &guards, &why);
        gci_guards_free(guards);
        if (status == GCACHE_OK)
            continue;
        gci_fail(error, status, "guard %.*s: %s", GUARD_SHOWN_MAX, texts[i].data, why.message);
        error->column = why.column;
        return;
    }
}

static gcache_status
draft_guards(gci_insert_draft *d, gci_context const *context, gcache_entry const *entry, gcache_error *error)
{
    gci_view *texts = gci_arena_array(&d->arena, entry->guard_count, sizeof *texts);

    if (texts == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < entry->guard_count; i++)
        texts[i] = gci_view_text(entry->guards[i]);
    d->record.guards = texts;
    d->record.guard_count = entry->guard_count;
    gcache_status status = gci_guards_compile(texts, entry->guard_count, context->naming, &d->guards, error);
    if (status != GCACHE_OK) {
        name_guard(texts, entry->guard_count, context->naming, error);
        return status;
    }
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
draft_requirements(gci_insert_draft *d, gcache_entry const *entry, gcache_error *error)
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
draft_record(gci_insert_draft *d, gci_context const *context, gcache_entry const *entry, gcache_error *error)
{
    d->record.key = context->key;
    d->record.kind = gci_view_text(gcache_graph_kind(context->graph));
    d->record.variant = gci_view_text(entry->variant);
    d->record.priority = entry->priority;
    d->record.compile_ns = entry->compile_ns;
    d->record.label = gci_view_text(entry->label != NULL ? entry->label : gci_context_label(context, &d->arena));
    d->record.metadata = gci_view_of(entry->metadata, entry->metadata_size);
    d->record.deltas = entry->deltas;
    d->record.delta_count = entry->delta_count;
    d->record.identity = gci_view_of(entry->identity, entry->identity_size);
    gcache_status status = draft_guards(d, context, entry, error);
    d->record.names = gci_names_of(context, &d->arena, &d->record.name_count);
    if (status == GCACHE_OK && d->record.names == NULL)
        status = gci_fail_memory(error);
    return status == GCACHE_OK ? draft_requirements(d, entry, error) : status;
}

/* ---- the insert ---- */

static void
refuse(gci_insert *insert, gcache_reason reason)
{
    insert->inserted.reason = reason;
    insert->status = GCACHE_REFUSED;
}

/* A guard that doesn't hold for the very hints it was compiled for. */
static void
refuse_by_guard(gci_insert *insert, gcache_reason reason)
{
    gcache_verdict const *verdict = &insert->inserted.verdict;
    char const *guard = insert->entry->guards[verdict->guard];

    refuse(insert, reason);
    if (verdict->truth == GCACHE_FALSE)
        gci_fail(&insert->error, GCACHE_REFUSED, "its guard is false for the hints it was compiled for: %s", guard);
    else
        gci_fail(&insert->error, GCACHE_REFUSED, "its guard raises %s for the hints it was compiled for: %s",
                 verdict->exception, guard);
}

/* Attachments are stored before the entry that names them, so that nobody sees it without them. */
static gcache_status
store_attachments(gci_insert_draft *d, gci_store *store, gcache_entry const *entry, gcache_error *error)
{
    gci_attachment *attachments = gci_arena_array(&d->arena, entry->attachment_count, sizeof *attachments);

    if (attachments == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < entry->attachment_count; i++) {
        attachments[i].name = gci_view_text(entry->attachments[i].name);
        attachments[i].mode = entry->attachments[i].executable ? 0755 : 0644;
    }
    gcache_status status = gci_attachments_check_names(attachments, entry->attachment_count, error);
    for (size_t i = 0; status == GCACHE_OK && i < entry->attachment_count; i++) {
        gcache_attachment const *given = &entry->attachments[i];
        status = gci_store_attach(store, gci_view_of(given->bytes, (size_t)given->size), &attachments[i], error);
    }
    if (status != GCACHE_OK)
        return status;
    d->record.attachments = attachments;
    d->record.attachment_count = entry->attachment_count;
    return GCACHE_OK;
}

static gcache_status
prepare(gci_insert *insert)
{
    gci_store *store = insert->cache->store;
    gcache_entry const *entry = insert->entry;
    gci_insert_draft *d = &insert->draft;
    gcache_status status = gci_description_of(insert->graph, true, &d->arena, &d->description, &insert->error);

    if (status == GCACHE_OK)
        status = store_attachments(d, store, entry, &insert->error);
    if (status == GCACHE_OK)
        status = gci_store_prepare(store, &d->record, gci_view_of(entry->payload, entry->payload_size), &d->description,
                                   &insert->pending, &insert->error);
    return status;
}

static void
leave_note(gci_insert *insert)
{
    gcache_inserted const *inserted = &insert->inserted;

    insert->context.request.label = insert->entry->label;
    gci_count(&insert->cache->counters, GCACHE_COUNTER_INSERTS, 1);
    gci_journal_insert(&insert->context, inserted, insert->entry);
    gci_recorder_note(&insert->cache->recorder, GCI_USED_ENTRY,
                      gci_view_of(inserted->key.bytes, sizeof inserted->key.bytes), gci_view_text(inserted->entry),
                      !inserted->existed);
}

static void
begin(gci_insert *insert)
{
    gci_context *context = &insert->context;
    gcache_error *error = &insert->error;
    gci_insert_draft *d = &insert->draft;

    insert->status = gci_context_init(context, insert->cache, insert->graph, insert->hints, NULL, error);
    if (insert->status == GCACHE_REFUSED)
        refuse(insert, GCACHE_REASON_BYPASS);
    if (insert->status != GCACHE_OK)
        return;
    insert->inserted.key = context->key;
    insert->status = draft_record(d, context, insert->entry, error);
    if (insert->status != GCACHE_OK)
        return;
    gcache_reason reason = GCACHE_REASON_NONE;
    if (insert->hints != NULL)
        reason = gci_try_guards(d->guards, &context->hints, &insert->inserted.verdict);
    if (reason != GCACHE_REASON_NONE)
        refuse_by_guard(insert, reason);
    else
        insert->status = prepare(insert);
}

void
gci_insert_begin(gci_insert *insert, gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                 gcache_entry const *entry)
{
    *insert = (gci_insert){ .cache = cache, .graph = graph, .hints = hints, .entry = entry,
                            .inserted = GCACHE_INSERTED_INIT };
    draft_init(&insert->draft);
    insert->status = check_entry(entry, &insert->error);
    if (insert->status != GCACHE_OK)
        return;
    insert->status = gci_pass(&cache->gate, NULL, GCI_STORE, &insert->error);
    insert->turned_away = insert->status != GCACHE_OK;
    if (insert->turned_away)
        insert->inserted.reason = gci_admit(&cache->gate, NULL, GCI_STORE).reason;
    else
        begin(insert);
}

/* What one commit takes at most: each holds a file open until all are synced. */
#define COMMIT_MAX 128

void
gci_insert_commit(gci_insert *const *inserts, size_t count)
{
    gci_pending *pending[COMMIT_MAX];
    size_t gathered = 0;

    for (size_t i = 0; i < count; i++) {
        if (inserts[i]->pending != NULL)
            pending[gathered++] = inserts[i]->pending;
        if (gathered == COMMIT_MAX || (gathered > 0 && i + 1 == count)) {
            gci_store_commit(inserts[i]->cache->store, pending, gathered);
            gathered = 0;
        }
    }
}

static void
take_outcome(gci_insert *insert)
{
    gci_inserted stored;

    insert->status = gci_pending_outcome(insert->pending, &stored, &insert->error);
    if (insert->status != GCACHE_OK)
        return;
    memcpy(insert->inserted.entry, stored.id, sizeof insert->inserted.entry);
    memcpy(insert->inserted.shadows, stored.shadows, sizeof insert->inserted.shadows);
    insert->inserted.existed = stored.existed;
    gci_leases_note_stored(insert->cache->store, &insert->inserted.key);
    if (insert->cache->tiers != NULL && insert->cache->tiers->uploads != NULL) {
        gci_uploads_add(insert->cache->tiers->uploads, &insert->inserted.key, stored.id,
                        gci_tiers_writable(insert->cache->tiers), insert->fleet_lease);
        insert->fleet_lease = NULL;
    }
    leave_note(insert);
}

void
gci_insert_end(gci_insert *insert)
{
    if (insert->pending != NULL)
        take_outcome(insert);
    insert->inserted.outcome = insert->status;
    if (insert->status == GCACHE_REFUSED && !insert->turned_away)
        gci_count(&insert->cache->counters, GCACHE_COUNTER_REFUSALS, 1);
    if (insert->cache->trace_writer != NULL && insert->status >= 0 && !insert->turned_away)
        gci_trace_writer_insert(insert->cache->trace_writer, insert->graph, insert->hints, insert->entry, &insert->inserted);
    gci_pending_free(insert->pending);
    insert->pending = NULL;
    draft_clear(&insert->draft);
    gci_context_clear(&insert->context);
}

gcache_status
gcache_insert(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gcache_entry const *entry,
              gcache_inserted *out_inserted, gcache_error *error)
{
    gci_insert insert, *one = &insert;

    GCI_REQUIRE_INIT(out_inserted, error);
    if (out_inserted != NULL)
        *out_inserted = (gcache_inserted){ .size = sizeof(gcache_inserted), .outcome = GCACHE_OK };
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    gci_insert_begin(one, cache, graph, hints, entry);
    gci_insert_commit(&one, 1);
    gci_insert_end(one);
    if (out_inserted != NULL)
        *out_inserted = insert.inserted;
    if (insert.error.status != GCACHE_OK && error != NULL)
        *error = insert.error;
    if (insert.status == GCACHE_OK)
        gci_report_event(cache, &(gcache_event){ .kind = GCACHE_EVENT_STORED, .key = insert.inserted.key,
                                         .graph_kind = gcache_graph_kind(graph), .label = entry->label,
                                         .variant = entry->variant, .compile_ns = entry->compile_ns,
                                         .bytes = entry->payload_size });
    return insert.status;
}
