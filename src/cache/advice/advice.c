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

static bool
has_all_values(char const *text, gci_advice_case const *what)
{
    gci_advice_value value;

    for (; *text != '\0'; text++)
        if (*text == '{' && read_word(text, &value) != 0 && what->values[value].data == NULL)
            return false;
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
            path_fits(what->path, row->path) && has_all_values(row->text, what))
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

/* Nobody can follow an advice that names half a value. {marks} and {inputs} are several values. */
static bool
is_shown_whole(char const *text, gci_advice_case const *what)
{
    gci_advice_value value;

    for (; *text != '\0'; text++) {
        gci_view of = *text == '{' && read_word(text, &value) != 0 ? what->values[value] : (gci_view){ 0 };
        bool cut = gci_view_contains(of, "...");
        bool several = of.data != NULL && (value == GCI_VALUE_MARKS || value == GCI_VALUE_INPUTS);
        if (of.data != NULL && (cut || (of.size > VALUE_MAX && !several)))
            return false;
    }
    return true;
}

/* What is shown only of an advice that is enough. */
#define ENOUGH "{enough:"

static void
write_template(char const *text, gci_advice_case const *what, bool is_enough, gci_buf *out)
{
    gci_advice_value value;
    bool optional = false;

    while (*text != '\0') {
        size_t size = *text == '{' ? read_word(text, &value) : 0;
        bool begins = strncmp(text, ENOUGH, sizeof ENOUGH - 1) == 0, ends = optional && *text == '}';
        bool shown = !optional || is_enough;
        if (size != 0 && shown)
            gci_visible_append(out, what->values[value]);
        else if (size == 0 && !begins && !ends && shown)
            gci_buf_append_char(out, *text);
        optional = begins || (optional && !ends);
        text += begins ? sizeof ENOUGH - 1 : size != 0 ? size : 1;
    }
}

static void
write_advice(gci_journal_entry const *entry, gci_advice_case const *what, gci_buf *out)
{
    gci_advice const *row = find_advice(entry, GCI_GRAPH_SAME, what);

    if (row != NULL && is_shown_whole(row->text, what))
        write_template(row->text, what, true, out);
}

/* ---- a key that nobody stored ---- */

typedef struct choice {
    gci_advised const *items[ADVICE_MAX];
    size_t count;
} choice;

static void
advise_on_item(gci_journal_entry const *entry, size_t index, gci_advice_graph graph, gci_advised *out)
{
    gci_near_key const *near = &entry->trace.nearest[0];
    gci_buf text;

    gci_advice_on_difference(entry, near, index, &out->what);
    out->row = find_advice(entry, graph, &out->what);
    if (out->row == NULL || !is_shown_whole(out->row->text, &out->what))
        return;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    write_template(out->row->text, &out->what, false, &text);
    out->text = gci_arena_copy(out->what.arena, gci_buf_view(&text));
    gci_buf_clear(&text);
}

static bool
is_chosen(choice const *chosen, gci_advised const *advised)
{
    for (size_t i = 0; i < chosen->count; i++)
        if (gci_view_equal(chosen->items[i]->text, advised->text))
            return true;
    return false;
}

/* An advice from which the whole graph follows stands alone. */
static void
choose(choice *chosen, gci_advised const *advised)
{
    bool says_all = chosen->count != 0 && chosen->items[0]->row->graph >= GCI_GRAPH_ANY;

    if (says_all || advised->text.size == 0 || is_chosen(chosen, advised))
        return;
    if (advised->row->graph >= GCI_GRAPH_ANY)
        chosen->count = 0;
    else if (chosen->count == ADVICE_MAX)
        return;
    chosen->items[chosen->count++] = advised;
}

/* Where several are told, each is a sentence; what begins with a name stays as it is. */
static void
write_sentence(gci_advised const *advised, bool is_enough, bool is_first, gci_buf *out)
{
    char const *text = advised->row->text;
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz'"), begin = out->size;

    write_template(text, &advised->what, is_enough, out);
    if (!is_first && text[word] == ' ' && word != 0 && !out->failed)
        out->data[begin] = (char)toupper((unsigned char)out->data[begin]);
}

static void
write_rest(gci_advice_rest rest, size_t told, gci_buf *out)
{
    if (told == 1 && rest == GCI_REST_GUARDS)
        gci_buf_append_text(out, " What is stored there doesn't hold for these hints.");
    else if (told > 1 && rest == GCI_REST_GUARDS)
        gci_buf_append_text(out, " Each of these alone keeps the two apart; what is stored there doesn't hold for these hints.");
    else if (told > 1 && rest != GCI_REST_SOME)
        gci_buf_append_text(out, " Each of these alone keeps the two apart.");
    else if (told > 1)
        gci_buf_append_text(out, " Each of these alone keeps the two apart, and so does what else differs.");
    else if (told == 1 && rest == GCI_REST_SOME)
        gci_buf_append_text(out, " What else differs keeps the two apart, too.");
}

static void
advise_on_key(gci_journal_entry const *entry, gci_arena *arena, gci_buf *out)
{
    gci_near_key const *near = &entry->trace.nearest[0];
    gci_advice_graph graph = gci_advice_graph_of(near);
    gci_advised *all = gci_arena_array(arena, near->count, sizeof *all);
    choice chosen = { .count = 0 };

    for (size_t i = 0; all != NULL && i < near->count; i++) {
        all[i] = (gci_advised){ .what.arena = arena };
        advise_on_item(entry, i, graph, &all[i]);
        choose(&chosen, &all[i]);
    }
    if (chosen.count == 0)
        return;
    gci_advice_rest rest = gci_advice_find_rest(entry, near, all, chosen.items, chosen.count);
    bool is_enough = rest == GCI_REST_NOTHING;
    for (size_t i = 0; i < chosen.count; i++)
        is_enough = is_enough && strstr(chosen.items[i]->row->text, ENOUGH) != NULL;
    for (size_t i = 0; i < chosen.count; i++) {
        gci_buf_append_text(out, i != 0 ? " " : "");
        write_sentence(chosen.items[i], is_enough, i == 0, out);
    }
    write_rest(rest, chosen.count, out);
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
    gcache_reason reason = gci_entry_local_reason(entry);
    gci_trial const *trial = gci_trace_first(&entry->trace, reason);
    gci_arena arena;

    gci_arena_init(&arena, GCI_BUF_NO_LIMIT);
    gci_advice_case what = { .arena = &arena };
    if (reason == GCACHE_REASON_NO_KEY) {
        if (entry->trace.nearest_count != 0)
            advise_on_key(entry, &arena, out);
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
