/*
 * Walking back through the journal: each miss with what its process compiled next for the same key.
 */
#include "cache/journal/history.h"

#include "base/array.h"
#include "base/check.h"

#include <stdlib.h>

/* A compile that no miss has been found for yet: the walk goes back in time, so the miss comes later. */
typedef struct compile {
    gcache_key key;
    uint32_t process;
    uint64_t ns;
    uint64_t former; /* process from which its lease was taken over; 0: none */
} compile;

typedef struct walk {
    gcache *cache;
    gcache_journal_query query;
    gci_history_fn fn;
    void *state;
    size_t count;
    compile *compiles;
    size_t compile_count, compile_room;
    gcache_status status;
    gcache_error *error;
} walk;

/* ---- what a miss cost ---- */

static bool
note_compile(walk *w, gci_journal_entry const *entry)
{
    if (!gci_array_has_room(&w->compiles, w->compile_count, &w->compile_room, sizeof *w->compiles))
        return false;
    w->compiles[w->compile_count++] = (compile){ entry->key, entry->process, entry->compile_ns, entry->former };
    return true;
}

/* What its process compiled next for its key, which is the one noted last; NULL if nothing. */
static compile *
find_compile(walk *w, gci_journal_entry const *entry)
{
    for (size_t i = w->compile_count; i-- > 0;)
        if (w->compiles[i].process == entry->process && memcmp(&w->compiles[i].key, &entry->key, sizeof entry->key) == 0)
            return &w->compiles[i];
    return NULL;
}

/* A lease is taken between the miss and the compile. Whoever holds it may not be done yet, or never have been. */
static bool
note_takeover(walk *w, gci_journal_entry const *entry)
{
    compile *of = find_compile(w, entry);

    if (of == NULL)
        return note_compile(w, entry);
    of->former = entry->former;
    return true;
}

static void
take_compile(walk *w, gci_journal_entry *entry)
{
    compile *found = find_compile(w, entry);

    if (found == NULL)
        return;
    entry->compile_ns = found->ns;
    entry->former = found->former;
    memmove(found, found + 1, (size_t)(w->compiles + w->compile_count - (found + 1)) * sizeof *found);
    w->compile_count--;
}

static bool
note(walk *w, gci_journal_entry const *entry)
{
    switch (entry->kind) {
    case GCACHE_JOURNAL_INSERT:
    case GCACHE_JOURNAL_NOT_STORED:
        return note_compile(w, entry);
    case GCACHE_JOURNAL_TAKEOVER:
        return note_takeover(w, entry);
    default:
        return true;
    }
}

/* ---- which entries are meant ---- */

static bool
begins(gcache_key const *key, char const *hex)
{
    char digits[GCACHE_KEY_HEX_SIZE];

    if (hex == NULL)
        return true;
    gcache_key_to_hex(key, digits);
    return strncmp(digits, hex, strlen(hex)) == 0;
}

static bool
is_meant(gcache_journal_query const *query, gci_journal_entry const *entry)
{
    if ((query->misses_only || query->reason != GCACHE_REASON_NONE) && entry->kind != GCACHE_JOURNAL_MISS)
        return false;
    if (query->reason != GCACHE_REASON_NONE && entry->reason != query->reason)
        return false;
    if (query->namespace_ != NULL && !gci_view_is(entry->namespace_, query->namespace_))
        return false;
    return gci_view_contains(entry->label, query->label) && begins(&entry->key, query->key);
}

/* ---- the walk ---- */

static int
visit(walk *w, gci_journal_entry *entry)
{
    if (!note(w, entry)) {
        w->status = gci_fail_memory(w->error);
        return 1;
    }
    if (entry->kind == GCACHE_JOURNAL_MISS)
        take_compile(w, entry);
    if (!is_meant(&w->query, entry))
        return 0;
    w->count++;
    return w->fn(w->state, entry) != 0 || w->count == w->query.last;
}

static int
read_and_visit(void *state, uint64_t at_ns, gci_view bytes)
{
    walk *w = state;
    gci_journal_entry entry;
    int ends = 0;

    if (at_ns < w->query.since_ns)
        return 1;
    gcache_status status = gci_journal_entry_read(w->cache, at_ns, bytes, &entry, NULL);
    if (status == GCACHE_OK)
        ends = visit(w, &entry);
    else if (status == GCACHE_ERROR_MEMORY)
        w->status = gci_fail_memory(w->error);
    gci_journal_entry_clear(&entry);
    return ends != 0 || w->status != GCACHE_OK;
}

static gcache_status
check_query(gcache_journal_query const *query, gcache_error *error)
{
    GCI_REQUIRE_INIT(query, error);
    GCI_REQUIRE(query->reason < GCACHE_REASON_COUNT, error, "unknown reason %d", (int)query->reason);
    return GCACHE_OK;
}

gcache_status
gci_history_each(gcache *cache, gcache_journal_query const *query, gci_history_fn fn, void *state, gcache_error *error)
{
    static gcache_journal_query const everything = GCACHE_JOURNAL_QUERY_INIT;
    walk w = { .cache = cache, .query = query != NULL ? *query : everything, .fn = fn, .state = state, .error = error };

    gcache_status status = check_query(&w.query, error);
    if (status != GCACHE_OK || cache->store == NULL)
        return status;
    status = gci_store_journal_each(cache->store, read_and_visit, &w, error);
    free(w.compiles);
    return status == GCACHE_OK ? w.status : status;
}

/* ---- what became of a key ---- */

/* How far back is looked: further would take longer than an explanation may. */
#define FATE_ENTRIES 1000

typedef struct search {
    gcache *cache;
    gcache_key const *key;
    uint64_t before_ns;
    uint32_t process;
    gci_trace *trace;
    size_t seen;
} search;

/* Whether it says what became of the key. One process looks up twice for one compile. */
static bool
tells_of_key(search const *s, gci_journal_entry const *entry)
{
    return entry->kind == GCACHE_JOURNAL_NOT_STORED || entry->kind == GCACHE_JOURNAL_INSERT || entry->kind == GCACHE_JOURNAL_HIT ||
           (entry->kind == GCACHE_JOURNAL_MISS && entry->reason == GCACHE_REASON_NO_KEY && entry->process != s->process);
}

static int
find_fate(void *state, uint64_t at_ns, gci_view bytes)
{
    search *s = state;
    gcache_journal_kind kind;
    gcache_key key;
    gci_journal_entry entry;

    if (++s->seen > FATE_ENTRIES)
        return 1;
    if (at_ns >= s->before_ns || !gci_journal_entry_peek(bytes, &kind, &key) || memcmp(&key, s->key, sizeof key) != 0 ||
        (kind == GCACHE_JOURNAL_MISS && s->before_ns == UINT64_MAX))
        return 0;
    bool told = gci_journal_entry_read(s->cache, at_ns, bytes, &entry, NULL) == GCACHE_OK && tells_of_key(s, &entry);
    if (told && kind == GCACHE_JOURNAL_NOT_STORED) {
        s->trace->not_stored = gci_arena_copy(&s->trace->arena, gci_view_text(entry.why)).data;
        s->trace->not_stored_ns = at_ns;
    }
    if (told && kind == GCACHE_JOURNAL_MISS)
        s->trace->missed_ns = at_ns;
    if (told && (kind == GCACHE_JOURNAL_INSERT || kind == GCACHE_JOURNAL_HIT))
        s->trace->stored_ns = at_ns;
    gci_journal_entry_clear(&entry);
    return told;
}

void
gci_history_find_fate(gcache *cache, gcache_key const *key, uint64_t before_ns, uint32_t process, gci_trace *trace)
{
    search s = { .cache = cache, .key = key, .before_ns = before_ns, .process = process, .trace = trace };

    gci_store_journal_each(cache->store, find_fate, &s, NULL);
}
