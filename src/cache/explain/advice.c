/*
 * What can be done about a miss: by the path that differs from the nearest key, or by the guard that failed.
 */
#include "cache/explain/explanation.h"

#include "cache/handle/words.h"
#include "graph/graph.h"
#include "kinds/kinds.h"

#include <ctype.h>

/* Where a kernel's indices stop fitting 32 bits. */
#define INT32_LIMIT "2147483647"

static bool
is_torch(gci_journal_entry const *entry)
{
    char const *kind = gcache_graph_kind(entry->context.graph);

    return strcmp(kind, "fx") == 0 || strcmp(kind, "aot") == 0;
}

/* ---- a key that nobody stored: kinds/kinds.h ---- */

static bool
is_number(gci_view text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!isdigit((unsigned char)text.data[i]))
            return false;
    return text.size != 0;
}

/* The lines that begin with sign: their text with the sizes of tensors taken out, and those sizes. */
static void
part_sizes(gci_view hunks, char sign, gci_buf *text, gci_buf *sizes)
{
    static char const type[] = "tensor<";
    bool wanted = false;

    for (size_t i = 0; i < hunks.size; i++) {
        if (i == 0 || hunks.data[i - 1] == '\n') {
            wanted = hunks.data[i] == sign;
            continue;
        }
        if (!wanted)
            continue;
        gci_buf_append_char(text, hunks.data[i]);
        if (i + 1 < sizeof type || memcmp(hunks.data + i - (sizeof type - 2), type, sizeof type - 1) != 0)
            continue;
        while (i + 1 < hunks.size && (isdigit((unsigned char)hunks.data[i + 1]) || hunks.data[i + 1] == 'x'))
            gci_buf_append_char(sizes, hunks.data[++i]);
        gci_buf_append_char(sizes, ' ');
    }
}

/* Two texts that are equal but for the sizes of tensors. */
static bool
only_sizes_differ(gci_view hunks)
{
    gci_buf texts[2], sizes[2];

    for (size_t i = 0; i < 2; i++) {
        gci_buf_init(&texts[i], GCI_BUF_NO_LIMIT);
        gci_buf_init(&sizes[i], GCI_BUF_NO_LIMIT);
        part_sizes(hunks, i == 0 ? '-' : '+', &texts[i], &sizes[i]);
    }
    bool only = gci_view_equal(gci_buf_view(&texts[0]), gci_buf_view(&texts[1])) &&
                !gci_view_equal(gci_buf_view(&sizes[0]), gci_buf_view(&sizes[1]));
    for (size_t i = 0; i < 2; i++) {
        gci_buf_clear(&texts[i]);
        gci_buf_clear(&sizes[i]);
    }
    return only;
}

static bool
holds(gci_advice_where what, gci_diff_item const *item)
{
    switch (what) {
    case GCI_ADVICE_SIZES:
        return is_number(item->stored) && is_number(item->asked);
    case GCI_ADVICE_ADDRESSES:
        return item->hunks.data == NULL && gci_view_contains(item->stored, "0x") && gci_view_contains(item->asked, "0x");
    case GCI_ADVICE_SHAPES:
        return item->hunks.data != NULL && only_sizes_differ(item->hunks);
    case GCI_ADVICE_ALWAYS:
        break;
    }
    return true;
}

/* pattern = the beginning of a path, in which * stands for an index */
static bool
path_begins(gci_view path, char const *pattern)
{
    for (; *pattern != '\0'; pattern++) {
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

/* The path behind its first part: max_autotune of options.max_autotune. */
static gci_view
name_of(gci_view path)
{
    char const *dot = memchr(path.data, '.', path.size);

    return dot == NULL ? path : gci_view_of(dot + 1, path.size - (size_t)(dot + 1 - path.data));
}

static void
write_value(gci_buf *out, gci_view value)
{
    if (value.data == NULL)
        gci_buf_append_text(out, "not there");
    else
        gci_write_excerpt(out, value, 60);
}

static void
write_template(char const *text, gci_diff_item const *item, gci_buf *out)
{
    for (char const *at = text; *at != '\0';) {
        if (strncmp(at, "{name}", 6) == 0) {
            gci_buf_append_view(out, name_of(item->path));
            at += 6;
        } else if (strncmp(at, "{stored}", 8) == 0) {
            write_value(out, item->stored);
            at += 8;
        } else if (strncmp(at, "{asked}", 7) == 0) {
            write_value(out, item->asked);
            at += 7;
        } else {
            gci_buf_append_char(out, *at++);
        }
    }
}

/* The first of the rows of a kind (NULL: for all) that fits. */
static gci_advice const *
find_row(gci_advice const *rows, size_t count, char const *kind, gci_diff_item const *item)
{
    for (size_t i = 0; i < count; i++) {
        bool of_kind = rows[i].kind == NULL || strcmp(rows[i].kind, kind) == 0;
        if (of_kind && path_begins(item->path, rows[i].path) && holds(rows[i].where, item))
            return &rows[i];
    }
    return NULL;
}

/* A kind of the user's own has its say before those that are compiled in. */
static gci_advice const *
find_advice(gci_journal_entry const *entry, gci_diff_item const *item)
{
    char const *kind = gcache_graph_kind(entry->context.graph);
    size_t count;
    gci_advice const *own = gci_graph_advice(entry->context.graph, &count), *found = find_row(own, count, kind, item);

    return found != NULL ? found : find_row(gci_advice_rows, gci_advice_count, kind, item);
}

/* The nodes of the graph (gm in PyTorch's own lines) differ: whatever else does, nothing stored would have served. */
static bool
is_other_graph(gci_near_key const *near)
{
    for (size_t i = 0; i < near->count; i++)
        if (path_begins(near->items[i].path, "graph") || gci_view_is(near->items[i].path, "gm"))
            return true;
    return false;
}

static void
advise_on_key(gci_journal_entry const *entry, gci_buf *out)
{
    gci_trace const *trace = &entry->trace;

    if (trace->nearest_count == 0 || is_other_graph(&trace->nearest[0]))
        return;
    for (size_t i = 0; i < trace->nearest[0].count; i++) {
        gci_advice const *found = find_advice(entry, &trace->nearest[0].items[i]);
        if (found == NULL)
            continue;
        write_template(found->text, &trace->nearest[0].items[i], out);
        return;
    }
}

/* ---- guards ---- */

static char const *
source_of(gci_journal_entry const *entry, gci_view name)
{
    gcache_request const *request = &entry->context.request;

    return gci_pairs_value(request->sources, request->sources_count, name);
}

/* With a tensor and one of its dimensions. */
#define MARK_DYNAMIC "torch._dynamo.mark_dynamic({}, {}) before the first call"

/* source = tensor ".size(" dimension ")" */
static bool
is_size(gci_journal_entry const *entry, char const *source, gci_view *out_tensor, gci_view *out_dimension)
{
    char const *call = source != NULL ? strstr(source, ".size(") : NULL;

    if (!is_torch(entry) || call == NULL || strchr(call, ')') == NULL)
        return false;
    *out_tensor = gci_view_of(source, (size_t)(call - source));
    call += strlen(".size(");
    *out_dimension = gci_view_of(call, strcspn(call, ")"));
    return true;
}

/* Each of the values it is equal to compiles by itself. */
static void
advise_on_equality(gci_journal_entry const *entry, gci_view name, gci_buf *out)
{
    char const *source = source_of(entry, name);
    gci_view tensor, dimension;

    if (!is_size(entry, source, &tensor, &dimension))
        return;
    gci_phrase(out, "each {} compiles by itself: call " MARK_DYNAMIC ".", GCI_AS_TEXT(source), GCI_AS_VIEW(tensor),
               GCI_AS_VIEW(dimension));
}

static void
advise_on_multiple(gci_journal_entry const *entry, gci_symbol_bounds const *bounds, gci_buf *out)
{
    char const *source = source_of(entry, bounds->name);
    gci_view tensor, dimension;

    gci_buf_format(out, "what is stored serves multiples of %lld only", (long long)bounds->modulus);
    gci_phrase(out, ": pad {} to one of them", GCI_AS_VIEW(source != NULL ? gci_view_text(source) : bounds->name));
    if (is_size(entry, source, &tensor, &dimension))
        gci_phrase(out, ", or call " MARK_DYNAMIC, GCI_AS_VIEW(tensor), GCI_AS_VIEW(dimension));
    gci_buf_append_char(out, '.');
}

/* Each side of a bound compiles once and is kept: worth saying only where a side isn't meant to come at all. */
static void
advise_on_bound(gci_journal_entry const *entry, gci_symbol_bounds const *bounds, gci_buf *out)
{
    char const *source = source_of(entry, bounds->name);

    if (!is_torch(entry) || source == NULL)
        return;
    gci_buf_append_text(out, "a size beyond this bound compiles once, and its entry is kept beside the others. If none "
                             "is meant to come, torch._check(");
    if (bounds->low != INT64_MIN)
        gci_buf_format(out, "%lld <= %s", (long long)bounds->low, source);
    else
        gci_buf_format(out, "%s <= %lld", source, (long long)bounds->high);
    gci_buf_append_text(out, ") in the compiled function makes it an error.");
}

/* From the normal form of what decides the guard. */
static void
advise_on_bounds(gci_journal_entry const *entry, gci_symbol_bounds const *bounds, gci_buf *out)
{
    bool one_side = (bounds->low == INT64_MIN) != (bounds->high == INT64_MAX);

    if (bounds->modulus != 0 && bounds->low == 0 && bounds->high == 0)
        advise_on_multiple(entry, bounds, out);
    else if (bounds->modulus == 0 && bounds->low == bounds->high)
        advise_on_equality(entry, bounds->name, out);
    else if (bounds->modulus == 0 && one_side)
        advise_on_bound(entry, bounds, out);
}

static void
advise_on_guard(gci_journal_entry const *entry, gci_trial const *trial, gci_buf *out)
{
    gci_symbol_bounds bounds;
    gci_buf part;

    if (trial->ranked->guards == NULL || trial->verdict.guard >= trial->ranked->candidate->record.guard_count)
        return;
    gci_buf_init(&part, GCI_BUF_NO_LIMIT);
    gci_hints named = entry->context.hints;
    named.shown = NULL; /* as the guard is written, to be read again */
    gci_guards_explain(trial->ranked->guards, trial->verdict.guard, &named, &part, NULL);
    if (gci_view_contains(gci_buf_view(&part), INT32_LIMIT))
        gci_buf_append_text(out, "beyond 2,147,483,647 elements an index needs 64 bits: the first such size compiles once, "
                                 "and later ones use what it stores.");
    /* Calls and what is put in parentheses are a compiler's own arithmetic: nothing is said of them. */
    else if (!gci_view_contains(gci_buf_view(&part), "(") && gci_bounds_of_symbol(gci_buf_view(&part), &bounds))
        advise_on_bounds(entry, &bounds, out);
    gci_buf_clear(&part);
}

static void
advise_on_error(gci_trial const *trial, gci_buf *out)
{
    char const *exception = trial->verdict.exception;

    if (strcmp(exception, "KeyError") == 0 || strcmp(exception, "NameError") == 0)
        gci_buf_append_text(out, "the lookup gives no value for a name that the guard reads: pass a hint for it.");
}

/* ---- the others ---- */

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

static void
advise_on_size(gci_key_eviction const *eviction, gci_buf *out)
{
    uint64_t cap = sufficient_cap(eviction);

    if (cap <= eviction->fullness.max_size) {
        gci_buf_append_text(out, "raise the size cap: guardcache config max-size SIZE.");
        return;
    }
    gci_buf_append_text(out, "about ");
    write_typed_size(cap, " ", out);
    gci_buf_append_text(out, eviction->tombstone.entries == 1 ? " would have kept it" : " would have kept them");
    gci_buf_append_text(out, ": guardcache config max-size ");
    write_typed_size(cap, "", out);
    gci_buf_append_char(out, '.');
}

static void
advise_on_eviction(gci_journal_entry const *entry, gci_buf *out)
{
    static char const *const texts[] = {
        [GCI_EVICTED_AGE] = "raise the age limit that the cache is opened with (max_age_ns).",
        [GCI_EVICTED_GC_AGE] = "raise the age that guardcache gc --unused is called with.",
        [GCI_EVICTED_GC] = "a larger guardcache gc --target keeps it; without gc the cache keeps itself below its cap.",
        [GCI_EVICTED_SPACE] = "free space on the cache's disk, or move the cache to a larger one (GUARDCACHE_DIR).",
        [GCI_EVICTED_KEY_FULL] = "guardcache config max-candidates N allows a key more of them; better are wider guards: "
                                 "mark what varies as dynamic.",
    };
    gci_key_eviction const *eviction = gci_trace_eviction(&entry->trace);
    size_t cause = eviction != NULL ? (size_t)eviction->tombstone.cause : 0;

    if (cause == GCI_EVICTED_SIZE)
        advise_on_size(eviction, out);
    else if (cause < sizeof texts / sizeof *texts && texts[cause] != NULL)
        gci_buf_append_text(out, texts[cause]);
}

static void
advise_on_requirement(gci_trial const *trial, gci_buf *out)
{
    gci_phrase(out, "each value of {} compiles once for itself; both entries are then kept side by side.",
               GCI_AS_VIEW(trial->requirement->name));
}

/* Another variant than the wanted one. */
static void
advise_on_variant(gci_journal_entry const *entry, gci_trial const *trial, gci_buf *out)
{
    gci_view variant = trial->ranked->candidate->record.variant;

    if (variant.size == 0)
        gci_buf_append_text(out, "ask without a variant to be offered the one that has none");
    else
        gci_phrase(out, "ask without a variant to be offered \"{}\"", GCI_AS_VIEW(variant));
    gci_phrase(out, " as well, or compile \"{}\" once: both are then kept side by side.",
               GCI_AS_TEXT(entry->context.request.variant));
}

/* Where the advice is always the same. */
static char const *const advice_by_reason[GCACHE_REASON_COUNT] = {
    [GCACHE_REASON_NAMES] = "set accept_renames in the request if the caller can rename what it loads: a hit says what is called "
                            "how. Else what is compiled now is stored beside it, under its own names.",
    [GCACHE_REASON_DISABLED] = "guardcache config shows what has switched it off.",
    [GCACHE_REASON_REFRESH] = "nothing to do: what is compiled now is stored as the newest. guardcache config shows what has "
                              "set refresh.",
    [GCACHE_REASON_CORRUPT] = "nothing to do: the damaged file is put aside, and the next compile replaces it. If it happens "
                              "again, check the disk; guardcache verify reads everything.",
};

void
gci_write_advice(gci_journal_entry const *entry, gci_buf *out)
{
    gci_trial const *trial = gci_trace_first(&entry->trace, entry->reason);

    if (entry->reason == GCACHE_REASON_NO_KEY)
        advise_on_key(entry, out);
    else if (entry->reason == GCACHE_REASON_EVICTED)
        advise_on_eviction(entry, out);
    else if (advice_by_reason[entry->reason] != NULL)
        gci_buf_append_text(out, advice_by_reason[entry->reason]);
    else if (entry->reason == GCACHE_REASON_GUARD_FALSE && trial != NULL)
        advise_on_guard(entry, trial, out);
    else if (entry->reason == GCACHE_REASON_GUARD_ERROR && trial != NULL)
        advise_on_error(trial, out);
    else if (entry->reason == GCACHE_REASON_REQUIREMENT && trial != NULL && trial->requirement != NULL)
        advise_on_requirement(trial, out);
    else if (entry->reason == GCACHE_REASON_VARIANT && trial != NULL && entry->context.request.variant != NULL)
        advise_on_variant(entry, trial, out);
}
