/*
 * What can be done about a miss. Facts about it (advice.h) choose among the rows that kinds bring along (kinds/kinds.h).
 */
#include "cache/advice/advice.h"

#include "cache/handle/words.h"
#include "graph/graph.h"

#include <ctype.h>

/* What differs may have two causes, each with an advice; a reader follows no more at once. */
#define ADVICE_MAX 2

/* ---- rows ---- */

/* pattern = the beginning of a path, in which * stands for an index, up to its end or a | */
static bool
path_begins(gci_view path, char const *pattern)
{
    for (; *pattern != '\0' && *pattern != '|'; pattern++) {
        if (*pattern == '*') {
            while (path.size != 0 && isdigit((unsigned char)path.data[0]))
                path = gci_view_of(path.data + 1, path.size - 1);
        } else if (path.size == 0 || path.data[0] != *pattern) {
            return false;
        } else {
            path = gci_view_of(path.data + 1, path.size - 1);
        }
    }
    return true;
}

static bool
path_fits(gci_view path, char const *patterns)
{
    if (patterns == NULL || *patterns == '\0')
        return true;
    while (!path_begins(path, patterns)) {
        patterns += strcspn(patterns, "|");
        if (*patterns++ == '\0')
            return false;
    }
    return true;
}

/* The first of the rows of a kind (NULL: for all) that fits. */
static gci_advice const *
find_row(gci_advice const *rows, size_t count, char const *kind, gcache_reason reason, gci_advice_graph graph,
         gci_advice_case const *what)
{
    for (size_t i = 0; i < count; i++) {
        gci_advice const *row = &rows[i];
        bool of_kind = row->kind == NULL || strcmp(row->kind, kind) == 0;
        if (of_kind && row->reason == reason && graph <= row->graph && (row->where & ~what->facts) == 0 &&
            path_fits(what->path, row->path))
            return row;
    }
    return NULL;
}

/* A kind of the user's own has its say before those that are compiled in. */
static gci_advice const *
find_advice(gci_journal_entry const *entry, gci_advice_graph graph, gci_advice_case const *what)
{
    char const *kind = gcache_graph_kind(entry->context.graph);
    size_t count;
    gci_advice const *own = gci_graph_advice(entry->context.graph, &count);
    gci_advice const *found = find_row(own, count, kind, entry->reason, graph, what);

    return found != NULL ? found : find_row(gci_advice_rows, gci_advice_count, kind, entry->reason, graph, what);
}

/* ---- texts ---- */

/* A value that is longer can't be read, or typed, from an advice. */
#define VALUE_MAX 60

static void
write_value(gci_buf *out, gci_view value)
{
    if (value.data == NULL)
        gci_buf_append_text(out, "not there");
    else
        gci_visible_append(out, value);
}

/* text = "{" word "}" ..: the value it stands for, and how long it is; 0: it isn't one */
static size_t
read_word(char const *text, gci_advice_value *out)
{
    static char const *const words[] = {
#define X(name, word) "{" word "}",
        GCI_ADVICE_VALUE_MAP(X)
#undef X
    };

    for (size_t i = 0; i < GCI_VALUE_COUNT; i++) {
        if (strncmp(text, words[i], strlen(words[i])) == 0) {
            *out = (gci_advice_value)i;
            return strlen(words[i]);
        }
    }
    return 0;
}

/* Nobody can follow an advice that names half a value. {marks} are several values. */
static bool
is_shown_whole(char const *text, gci_advice_case const *what)
{
    gci_advice_value value;

    for (; *text != '\0'; text++) {
        gci_view of = *text == '{' && read_word(text, &value) != 0 ? what->values[value] : (gci_view){ 0 };
        bool cut = gci_view_contains(of, "...");
        if (of.data != NULL && (cut || (of.size > VALUE_MAX && value != GCI_VALUE_MARKS)))
            return false;
    }
    return true;
}

static void
write_template(char const *text, gci_advice_case const *what, gci_buf *out)
{
    gci_advice_value value;

    while (*text != '\0') {
        size_t size = *text == '{' ? read_word(text, &value) : 0;
        if (size != 0)
            write_value(out, what->values[value]);
        else
            gci_buf_append_char(out, *text);
        text += size != 0 ? size : 1;
    }
}

static void
write_advice(gci_journal_entry const *entry, gci_advice_case const *what, gci_buf *out)
{
    gci_advice const *row = find_advice(entry, GCI_GRAPH_SAME, what);

    if (row != NULL && is_shown_whole(row->text, what))
        write_template(row->text, what, out);
}

/* ---- a key that nobody stored ---- */

typedef struct choice {
    gci_advice const *rows[ADVICE_MAX];
    gci_advice_case cases[ADVICE_MAX];
    size_t count;
} choice;

static bool
is_chosen(choice const *chosen, gci_advice const *row)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (chosen->rows[i] == row)
            return true;
    return false;
}

/* An advice that says all there is to say stands alone. */
static void
choose(choice *chosen, gci_advice const *row, gci_advice_case const *what)
{
    bool says_all = chosen->count != 0 && chosen->rows[0]->graph == GCI_GRAPH_ANY;

    if (says_all || is_chosen(chosen, row))
        return;
    if (row->graph == GCI_GRAPH_ANY)
        chosen->count = 0;
    else if (chosen->count == ADVICE_MAX)
        return;
    chosen->rows[chosen->count] = row;
    chosen->cases[chosen->count++] = *what;
}

static void
advise_on_key(gci_journal_entry const *entry, gci_advice_case *what, gci_buf *out)
{
    gci_near_key const *near = &entry->trace.nearest[0];
    gci_advice_graph graph = gci_advice_graph_of(near);
    choice chosen = { .count = 0 };

    for (size_t i = 0; i < near->count; i++) {
        gci_advice_case item = { .arena = what->arena };
        gci_advice_on_difference(entry, near, i, &item);
        gci_advice const *row = find_advice(entry, graph, &item);
        if (row != NULL && *row->text != '\0' && is_shown_whole(row->text, &item))
            choose(&chosen, row, &item);
    }
    for (size_t i = 0; i < chosen.count; i++) {
        if (i != 0)
            gci_buf_append_char(out, ' ');
        write_template(chosen.rows[i]->text, &chosen.cases[i], out);
    }
    if (chosen.count > 1)
        gci_buf_append_text(out, " Each of these alone keeps the two apart.");
}

/* ---- evictions ---- */

/* Numbers to be typed: two digits or three, rounded up. */
static void
write_typed_size(uint64_t bytes, char const *space, gci_buf *out)
{
    static char const units[] = "KMGT";
    uint64_t unit = 1024;
    size_t at = 0;

    while (units[at + 1] != '\0' && bytes / unit >= 10 * 1024) {
        unit *= 1024;
        at++;
    }
    gci_buf_format(out, "%llu%s%ciB", (unsigned long long)((bytes + unit - 1) / unit), space, units[at]);
}

/*
 * The cap with which the least recent entries would have gone without this one: room for all that is there and all that
 * went since, this one included, where an eviction leaves nine tenths of the cap. 0: not known.
 */
static uint64_t
sufficient_cap(gci_key_eviction const *eviction)
{
    gci_fullness const *fullness = &eviction->fullness;

    if (fullness->max_size == 0 || fullness->evicted_bytes <= eviction->tombstone.evicted_bytes)
        return 0;
    uint64_t room = fullness->bytes + (fullness->evicted_bytes - eviction->tombstone.evicted_bytes);
    return room + room / 9;
}

static gci_view
typed_size(gci_arena *arena, uint64_t bytes, char const *space)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    write_typed_size(bytes, space, &text);
    gci_view copy = gci_arena_copy(arena, gci_buf_view(&text));
    gci_buf_clear(&text);
    return copy;
}

static void
note_eviction(gci_journal_entry const *entry, gci_advice_case *out)
{
    static uint64_t const facts[GCI_EVICTED_CAUSES] = {
        [GCI_EVICTED_SIZE] = GCI_FACT_BIT(BY_SIZE),     [GCI_EVICTED_AGE] = GCI_FACT_BIT(BY_AGE),
        [GCI_EVICTED_GC] = GCI_FACT_BIT(BY_GC),         [GCI_EVICTED_GC_AGE] = GCI_FACT_BIT(BY_GC_AGE),
        [GCI_EVICTED_SPACE] = GCI_FACT_BIT(BY_SPACE),   [GCI_EVICTED_KEY_FULL] = GCI_FACT_BIT(BY_KEY_FULL),
    };
    gci_key_eviction const *eviction = gci_trace_eviction(&entry->trace);

    if (eviction == NULL || (size_t)eviction->tombstone.cause >= GCI_EVICTED_CAUSES)
        return;
    uint64_t cap = sufficient_cap(eviction);
    out->facts |= facts[eviction->tombstone.cause];
    out->values[GCI_VALUE_THEM] = gci_view_text(eviction->tombstone.entries == 1 ? "it" : "them");
    if (cap <= eviction->fullness.max_size)
        return;
    out->facts |= GCI_FACT_BIT(CAP_KNOWN);
    out->values[GCI_VALUE_ROOM] = typed_size(out->arena, cap, " ");
    out->values[GCI_VALUE_CAP] = typed_size(out->arena, cap, "");
}

/* ---- the others ---- */

static void
note_error(gci_trial const *trial, gci_advice_case *out)
{
    char const *exception = trial->verdict.exception;

    if (strcmp(exception, "KeyError") == 0 || strcmp(exception, "NameError") == 0)
        out->facts |= GCI_FACT_BIT(LOOKUP_ERROR);
}

static void
note_requirement(gci_trial const *trial, gci_advice_case *out)
{
    if (trial->requirement == NULL)
        return;
    out->facts |= trial->provided.data == NULL ? GCI_FACT_BIT(UNPROVIDED) : 0;
    out->path = out->values[GCI_VALUE_NAME] = trial->requirement->name;
    out->values[GCI_VALUE_STORED] = trial->requirement->value;
    out->values[GCI_VALUE_ASKED] = trial->provided;
}

/* Another variant than the wanted one. */
static void
note_variant(gci_journal_entry const *entry, gci_trial const *trial, gci_advice_case *out)
{
    gci_view variant = trial->ranked->candidate->record.variant;
    char const *wanted = entry->context.request.variant;

    out->facts |= variant.size != 0 ? GCI_FACT_BIT(VARIANT) : 0;
    out->values[GCI_VALUE_STORED] = variant;
    out->values[GCI_VALUE_ASKED] = gci_view_text(wanted != NULL ? wanted : "");
}

/* Facts of the trial that decided. */
static void
note_trial(gci_journal_entry const *entry, gci_trial const *trial, gci_advice_case *out)
{
    if (entry->reason == GCACHE_REASON_GUARD_FALSE)
        gci_advice_on_guard(entry, trial, out);
    else if (entry->reason == GCACHE_REASON_GUARD_ERROR)
        note_error(trial, out);
    else if (entry->reason == GCACHE_REASON_REQUIREMENT)
        note_requirement(trial, out);
    else if (entry->reason == GCACHE_REASON_VARIANT)
        note_variant(entry, trial, out);
}

void
gci_write_advice(gci_journal_entry const *entry, gci_buf *out)
{
    gci_trial const *trial = gci_trace_first(&entry->trace, entry->reason);
    gci_arena arena;

    gci_arena_init(&arena, GCI_BUF_NO_LIMIT);
    gci_advice_case what = { .arena = &arena };
    if (entry->reason == GCACHE_REASON_NO_KEY) {
        if (entry->trace.nearest_count != 0)
            advise_on_key(entry, &what, out);
    } else {
        if (entry->reason == GCACHE_REASON_EVICTED)
            note_eviction(entry, &what);
        else if (entry->reason == GCACHE_REASON_BYPASS && entry->bypass != NULL)
            what.path = gci_view_text(entry->bypass);
        else if (trial != NULL)
            note_trial(entry, trial, &what);
        write_advice(entry, &what, out);
    }
    gci_arena_clear(&arena);
}
