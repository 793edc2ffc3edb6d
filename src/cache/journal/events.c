/*
 * Calls of the caller's listener, and an event as one line.
 */
#include "cache/journal/events.h"

#include "cache/candidates/sources.h"
#include "cache/handle/words.h"

/* Whose graph a description says it is: a place in a program. */
#define PLACE_BYTES_MAX ((size_t)64 << 10)

void
gci_report_event(gcache *cache, gcache_event const *event)
{
    gcache_event complete = *event;

    if (cache->event == NULL)
        return;
    complete.graph_kind = complete.graph_kind != NULL ? complete.graph_kind : "";
    complete.label = complete.label != NULL ? complete.label : "";
    complete.variant = complete.variant != NULL ? complete.variant : "";
    complete.text = complete.text != NULL ? complete.text : "";
    cache->event(cache->event_state, &complete);
}

static gcache_event
event_about(gcache_event_kind kind, gcache_graph *graph, gcache_request const *request)
{
    return (gcache_event){ .kind = kind,
                           .graph_kind = graph != NULL ? gcache_graph_kind(graph) : NULL,
                           .label = request != NULL ? request->label : NULL };
}

void
gci_report_request(gcache *cache, gcache_graph *graph, gcache_request const *request)
{
    if (cache->event == NULL)
        return;
    gcache_event event = event_about(GCACHE_EVENT_IN_USE, graph, request);
    if (!atomic_exchange(&cache->reported_in_use, true))
        gci_report_event(cache, &event);
    event.kind = GCACHE_EVENT_REQUEST;
    gci_report_event(cache, &event);
}

void
gci_report_outcome(gcache *cache, gcache_graph *graph, gcache_request const *request, gcache_result const *result,
                 uint64_t elapsed_ns)
{
    char const *expected = request != NULL ? request->expect_variant : NULL;
    gci_arena place;

    if (cache->event == NULL)
        return;
    gcache_event event = event_about(GCACHE_EVENT_MISS, graph, request);
    gci_arena_init(&place, PLACE_BYTES_MAX);
    if (result->outcome == GCACHE_MISS && event.label == NULL)
        event.label = gci_context_label(&(gci_context){ .graph = graph }, &place);
    event.key = result->key;
    event.reason = result->reason;
    event.elapsed_ns = elapsed_ns;
    event.text = result->note;
    if (result->outcome == GCACHE_HIT) {
        event.compile_ns = result->compile_ns;
        if (expected != NULL && strcmp(expected, result->variant) != 0) {
            event.kind = GCACHE_EVENT_VARIANT_MISSING;
            event.variant = expected;
            gci_report_event(cache, &event);
        }
        event.kind = GCACHE_EVENT_HIT;
        event.variant = result->variant;
    }
    gci_report_event(cache, &event);
    gci_arena_clear(&place);
}

static void
write_lease(gcache_status status, gci_lease const *lease, bool waited, gci_buf *out)
{
    uint64_t former = status == GCACHE_OK ? gci_lease_former_holder(lease) : 0;

    if (status == GCACHE_HIT)
        gci_buf_append_text(out, "not needed, after somebody else had it");
    else if (status == GCACHE_ERROR_BUSY)
        gci_buf_append_text(out, "not given: somebody else is still compiling the same");
    else if (status != GCACHE_OK)
        gci_buf_append_text(out, "not given: compiling goes on without it");
    else if (former != 0)
        gci_phrase(out, GCI_TAKEOVER, GCI_AS_NUMBER(former));
    else
        gci_buf_append_text(out, waited ? "taken, after somebody else had it" : "taken");
}

void
gci_report_lease(gci_context const *context, gcache_status status, gci_lease const *lease, bool waited,
               uint64_t elapsed_ns)
{
    gcache *cache = context->cache;
    gci_buf text;

    if (status == GCACHE_OK)
        gci_count(&cache->counters, GCACHE_COUNTER_LEASES, 1);
    if (waited)
        gci_count(&cache->counters, GCACHE_COUNTER_LEASE_WAITS, 1);
    gcache_event event = event_about(GCACHE_EVENT_LEASE, context->graph, &context->request);
    event.key = context->key;
    event.elapsed_ns = elapsed_ns;
    if (cache->event == NULL)
        return;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    write_lease(status, lease, waited, &text);
    gci_buf_append_char(&text, '\0');
    event.text = text.failed ? NULL : text.data;
    gci_report_event(cache, &event);
    gci_buf_clear(&text);
}

void
gci_report_store_event(void *state, gci_store_event const *seen)
{
    gcache *cache = state;
    gcache_event event = { .entries = seen->entries, .bytes = seen->bytes };

    switch (seen->kind) {
    case GCI_STORE_EVICTED:
        gci_count(&cache->counters, GCACHE_COUNTER_EVICTIONS, seen->entries);
        gci_count(&cache->counters, GCACHE_COUNTER_EVICTED_BYTES, seen->bytes);
        event.kind = GCACHE_EVENT_EVICTED;
        event.key = *seen->key;
        event.text = gci_eviction_text(seen->cause);
        break;
    case GCI_STORE_CORRUPT:
        gci_count(&cache->counters, GCACHE_COUNTER_CORRUPT, 1);
        event.kind = GCACHE_EVENT_CORRUPT;
        event.text = seen->text;
        break;
    }
    gci_report_event(cache, &event);
}

/* ---- in words ---- */

char const *
gcache_event_name(gcache_event_kind kind)
{
    static char const *const words[GCACHE_EVENT_COUNT] = {
#define X(name, word, meaning) [GCACHE_EVENT_##name] = word,
        GCACHE_EVENT_MAP(X)
#undef X
    };
    return kind < GCACHE_EVENT_COUNT ? words[kind] : "?";
}

/* What only events of this kind have to tell. */
static void
write_details(gci_buf *line, gcache_event const *event)
{
    if (event->kind == GCACHE_EVENT_HIT)
        gci_phrase(line, ": saved {}, took {}", GCI_AS_DURATION(event->compile_ns), GCI_AS_DURATION(event->elapsed_ns));
    else if (event->kind == GCACHE_EVENT_COMPILED)
        gci_phrase(line, " in {}", GCI_AS_DURATION(event->compile_ns));
    else if (event->kind == GCACHE_EVENT_MISS)
        gci_phrase(line, ": {}", GCI_AS_TEXT(gcache_reason_name(event->reason)));
    else if (event->kind == GCACHE_EVENT_EVICTED)
        gci_phrase(line, event->entries == 1 ? ": {} entry, {}" : ": {} entries, {}", GCI_AS_NUMBER(event->entries),
                   GCI_AS_SIZE(event->bytes));
    else if (event->variant[0] != '\0')
        gci_phrase(line, ": {}", GCI_AS_TEXT(event->variant));
    if (event->text[0] != '\0')
        gci_phrase(line, ": {}", GCI_AS_TEXT(event->text));
}

void
gcache_event_line(gcache_event const *event, char *out_line, size_t size)
{
    static gcache_key const no_key;
    gci_buf line;

    gci_buf_init(&line, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&line, gcache_event_name(event->kind));
    if (event->label[0] != '\0')
        gci_visible_format(&line, " %s", event->label);
    bool has_key = memcmp(&event->key, &no_key, sizeof no_key) != 0;
    if (event->graph_kind[0] != '\0' || has_key) {
        gci_visible_format(&line, " (%s%s", event->graph_kind, event->graph_kind[0] != '\0' && has_key ? " " : "");
        if (has_key)
            gci_phrase(&line, "{}", GCI_AS_KEY(&event->key));
        gci_buf_append_char(&line, ')');
    }
    write_details(&line, event);
    gci_copy_line(&line, out_line, size);
    gci_buf_clear(&line);
}
