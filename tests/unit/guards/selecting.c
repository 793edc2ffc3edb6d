#include "selecting.h"

#include "base/text/json.h"
#include "guards/program/program.h"

#include <stdlib.h>
#include <string.h>

#define SYMBOLS 6

/* One answer in so many is written for Python. */
#define WRITTEN 4

typedef struct stored {
    gci_guards *guards;
    gci_specificity specificity;
    int priority;
    uint32_t id; /* newer is larger */
    bool is_eligible;
} stored;

struct selecting {
    chance chance;
    selecting_source source;
    gci_selector *selector;
    gci_binding *binding;
    stored *items; /* in rank order */
    uint32_t count, limit;
    uint64_t asked;
    FILE *tell;
};

/* A test's, a benchmark's or a fuzzer's: none of them goes on. */
#define MUST(condition)                                                                     \
    do {                                                                                    \
        if (!(condition)) {                                                                 \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);       \
            abort();                                                                        \
        }                                                                                   \
    } while (0)

int
chance_below(chance *c, int limit)
{
    if (c->bytes != NULL) {
        unsigned low = c->left > 0 ? c->bytes[0] : 0, high = limit > 256 && c->left > 1 ? c->bytes[1] : 0;
        size_t used = limit > 256 ? 2 : 1;
        used = used < c->left ? used : c->left;
        c->bytes += used;
        c->left -= used;
        return (int)((low | high << 8) % (unsigned)limit);
    }
    c->random ^= c->random << 13;
    c->random ^= c->random >> 7;
    c->random ^= c->random << 17;
    return (int)((c->random * UINT64_C(0x2545f4914f6cdd1d) >> 16) % (uint64_t)limit);
}

/* ---- made-up guards ---- */

/* A conjunct; some have divisors that may be 0, some raise for other reasons, some are beyond the index. */
static void
write_conjunct(chance *s, gci_buf *out)
{
    int a = chance_below(s, SYMBOLS), b = chance_below(s, SYMBOLS), n = chance_below(s, 40), m = 1 + chance_below(s, 8);

    switch (chance_below(s, 20)) {
    case 0: gci_buf_format(out, "s%d == %d", a, n); break;
    case 1: gci_buf_format(out, "%d <= s%d and s%d <= %d", n / 2, a, a, n); break;
    case 2: gci_buf_format(out, "s%d %% %d == %d", a, m, n % m); break;
    case 3: gci_buf_format(out, "s%d == %d*s%d", a, m, b); break;
    case 4: gci_buf_format(out, "s%d + %d*s%d <= %d", a, m - 4, b, 3 * n); break;
    case 5: gci_buf_format(out, "s%d != %d", a, n); break;
    case 6: gci_buf_format(out, "%d %% s%d != 0", 8 * n, a); break;
    case 7: gci_buf_format(out, "(s%d // (s%d - %d)) %% 3 == %d", a, b, n, n % 3); break;
    case 8: gci_buf_format(out, "(s%d == %d or 8 %% s%d == 0)", a, n, b); break;
    case 9: gci_buf_format(out, "(8 %% s%d == 0 or s%d == %d)", b, a, n); break;
    case 10: gci_buf_format(out, "(s%d if s%d > %d else %d // s%d) >= %d", a, b, n, n, a, m); break;
    case 11: gci_buf_format(out, "s%d*s%d*s%d <= 9223372036854775807", a, b, a); break;
    case 12: gci_buf_format(out, "max(s%d, s%d, %d) <= %d", a, b, m, n); break;
    case 13: gci_buf_format(out, "math.sqrt(s%d - %d) < %d", a, n / 8, m); break;
    case 14: gci_buf_format(out, "math.floor(s%d / %d) == %d", a, m, n / m); break;
    case 15: gci_buf_format(out, "not (s%d == %d or s%d < %d)", a, n, b, m); break;
    case 16: gci_buf_format(out, "Eq(Mod(s%d, %d), 0) == False", a, m + 1); break;
    case 17: gci_buf_format(out, "%d < s%d < %d", m, a, m + n); break;
    case 18: gci_buf_format(out, "s%d <= s%d", a, b); break;
    default: gci_buf_format(out, "2*s%d - 6*s%d >= %d", a, b, m - n); break;
    }
}

size_t
selecting_make_texts(chance *c, gci_buf *out_texts)
{
    /* One that always holds would answer nearly everything: rare. */
    size_t count = chance_below(c, 200) == 0 ? 0 : 1 + (size_t)chance_below(c, SELECTING_TEXTS);

    for (size_t i = 0; i < count; i++) {
        gci_buf_init(&out_texts[i], GCI_BUF_NO_LIMIT);
        for (int k = chance_below(c, 3); k >= 0; k--) {
            write_conjunct(c, &out_texts[i]);
            gci_buf_append_text(&out_texts[i], k != 0 ? " and " : "");
        }
    }
    return count;
}

gci_guards *
selecting_compile(gci_buf const *texts, size_t count)
{
    gci_view views[SELECTING_TEXTS] = { 0 };
    gci_guards *guards = NULL;

    for (size_t i = 0; i < count; i++)
        views[i] = gci_buf_view(&texts[i]);
    MUST(gci_guards_compile(views, count, (gci_naming){ NULL, NULL }, &guards, NULL) == GCACHE_OK);
    return guards;
}

static gci_guards *
make_guards(void *state, chance *c)
{
    gci_buf texts[SELECTING_TEXTS];
    size_t count = selecting_make_texts(c, texts);
    gci_guards *guards = selecting_compile(texts, count);

    (void)state;
    for (size_t i = 0; i < count; i++)
        gci_buf_clear(&texts[i]);
    return guards;
}

static char const *const odd_values[] = { "0.5", "None", "True", "9223372036854775808", "-1e30", "12.0", "nan" };

gci_hints *
selecting_bind(gcache_hints const *source)
{
    gci_hints *hints = malloc(sizeof *hints);

    if (hints == NULL)
        return NULL;
    gci_hints_init(hints);
    if (gci_hints_read(hints, source, (gci_naming){ NULL, NULL }, NULL) == GCACHE_OK)
        return hints;
    selecting_free_hints(hints);
    return NULL;
}

void
selecting_free_hints(gci_hints *hints)
{
    if (hints != NULL)
        gci_hints_clear(hints);
    free(hints);
}

static gci_hints *
make_hints(void *state, chance *c)
{
    static char const *const names[] = { "s0", "s1", "s2", "s3", "s4", "s5" };
    gcache_hint items[SYMBOLS];
    gcache_hint_literal literals[SYMBOLS + 1];
    gcache_hints hints = { .items = items, .literals = literals };
    int oddness = chance_below(c, 4);

    (void)state;
    for (int i = 0; i < SYMBOLS; i++) {
        int pick = oddness == 0 ? chance_below(c, 12) : 2 + chance_below(c, 1000);
        int64_t value = pick % 50 == 0 ? INT64_MAX - chance_below(c, 3) : chance_below(c, 45) - 3;
        if (pick == 1)
            literals[hints.literal_count++] = (gcache_hint_literal){ names[i], odd_values[chance_below(c, 7)] };
        else if (pick != 0)
            items[hints.count++] = (gcache_hint){ names[i], value };
    }
    if (oddness == 0 && chance_below(c, 30) == 0)
        literals[hints.literal_count++] = (gcache_hint_literal){ "max", "3" };
    gci_hints *read = selecting_bind(&hints);
    MUST(read != NULL);
    return read;
}

selecting_source const selecting_made_up = { make_guards, make_hints, NULL, NULL };

/* ---- candidates ---- */
static stored
make_item(selecting *s, uint32_t id)
{
    gci_guards *guards = s->source.guards(s->source.state, &s->chance);
    int priority = chance_below(&s->chance, 3) - 1;

    return (stored){ guards, gci_guards_specificity(guards), priority, id, chance_below(&s->chance, 10) != 0 };
}

static int
compare_rank(void const *left, void const *right)
{
    stored const *a = left, *b = right;
    int64_t const one[] = { a->priority, a->specificity.equalities, a->specificity.conjuncts, a->id };
    int64_t const other[] = { b->priority, b->specificity.equalities, b->specificity.conjuncts, b->id };
    size_t i = 0;

    while (i < 3 && one[i] == other[i])
        i++;
    return one[i] > other[i] ? -1 : one[i] < other[i];
}

/* Some more candidates, and a selector of all. */
static void
grow(selecting *s)
{
    uint32_t more = 1 + (uint32_t)chance_below(&s->chance, (int)(s->limit - s->count));
    gci_guards const **lists = calloc(s->limit, sizeof(gci_guards const *));

    MUST(lists != NULL);
    for (; more > 0; more--, s->count++)
        s->items[s->count] = make_item(s, s->count);
    qsort(s->items, s->count, sizeof *s->items, compare_rank);
    for (uint32_t i = 0; i < s->count; i++)
        lists[i] = s->items[i].guards;
    gci_binding_free(s->binding);
    gci_selector_free(s->selector);
    s->selector = gci_selector_new(lists, s->count);
    s->binding = s->selector != NULL ? gci_binding_new(s->selector) : NULL;
    MUST(s->binding != NULL);
    free((void *)lists);
}

static bool
is_eligible(void const *state, uint32_t place)
{
    selecting const *s = state;

    MUST(place < s->count);
    return s->items[place].is_eligible;
}

/* ---- the answer without an index ---- */

static gci_selection
select_plainly(selecting const *s, gci_hints const *hints, bool all)
{
    gci_selection best = { .place = GCI_NO_CANDIDATE };
    gcache_verdict verdict;

    for (uint32_t i = 0; i < s->count; i++) {
        if (!all && !s->items[i].is_eligible)
            continue;
        gcache_truth truth = gci_guards_eval(s->items[i].guards, hints, &verdict);
        best.some_false = best.some_false || truth == GCACHE_FALSE;
        best.some_raise = best.some_raise || truth == GCACHE_RAISES;
        if (truth == GCACHE_TRUE && best.place == GCI_NO_CANDIDATE)
            best.place = i;
    }
    return best;
}

/* ---- telling ---- */

/* {"number", "priority", "guards": [text..]}: what rank depends on, and nothing that was computed from it. */
static void
tell_candidate(stored const *item, gci_buf *line)
{
    gci_buf_format(line, "{\"number\": %u, \"priority\": %d, \"guards\": [", item->id, item->priority);
    for (size_t k = 0; k < item->guards->count; k++) {
        gci_buf_append_text(line, k != 0 ? ", " : "");
        gci_json_write_text(line, item->guards->texts[k]);
    }
    gci_buf_append_text(line, "]}");
}

/* {"candidates": [candidate..], "hints": {name: Python literal}, "chosen": number, or null} */
static void
tell_answer(selecting *s, gci_hints const *hints, uint32_t place)
{
    char const *separator = "";
    gci_buf line, value;

    gci_buf_init(&line, GCI_BUF_NO_LIMIT);
    gci_buf_init(&value, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&line, "{\"candidates\": [");
    for (uint32_t i = 0; i < s->count; i++) {
        gci_buf_append_text(&line, separator);
        tell_candidate(&s->items[i], &line);
        separator = ", ";
    }
    gci_buf_append_text(&line, "], \"hints\": {");
    for (size_t i = 0; i < hints->count; i++) {
        gci_buf_append_text(&line, i != 0 ? ", " : "");
        gci_json_write_text(&line, hints->items[i].name);
        gci_buf_append_text(&line, ": ");
        value.size = 0;
        gci_number_write(hints->items[i].value, &value);
        gci_json_write_text(&line, gci_buf_view(&value));
    }
    if (place == GCI_NO_CANDIDATE)
        gci_buf_append_text(&line, "}, \"chosen\": null}\n");
    else
        gci_buf_format(&line, "}, \"chosen\": %u}\n", s->items[place].id);
    fwrite(line.data, 1, line.size, s->tell);
    gci_buf_clear(&value);
    gci_buf_clear(&line);
}

/* ---- comparing ---- */

static void
must_be_same(gci_selection a, gci_selection b)
{
    MUST(a.place == b.place);
    if (a.place != GCI_NO_CANDIDATE)
        return;
    MUST(a.some_false == b.some_false);
    MUST(a.some_false || a.some_raise == b.some_raise);
}

static void
ask(selecting *s)
{
    gci_hints *hints = s->source.hints(s->source.state, &s->chance);
    bool all = chance_below(&s->chance, 2) == 0;
    gci_select_request request = { .eligible = all ? NULL : is_eligible, .state = s, .eligibility = all };
    gci_selection plain = select_plainly(s, hints, all);

    gci_binding_set(s->binding, hints);
    must_be_same(gci_select(s->binding, &request), plain);
    request.remember = true;
    must_be_same(gci_select(s->binding, &request), plain);
    must_be_same(gci_select(s->binding, &request), plain);
    if (s->tell != NULL && all && s->asked % WRITTEN == 0)
        tell_answer(s, hints, plain.place);
    s->asked++;
    selecting_free_hints(hints);
}

/* ---- a game ---- */

selecting *
selecting_new(chance c, selecting_source const *source, uint32_t limit, FILE *tell_to)
{
    selecting *s = calloc(1, sizeof *s);

    MUST(s != NULL);
    s->chance = c;
    s->source = *source;
    s->limit = limit;
    s->tell = tell_to;
    s->items = calloc(limit, sizeof *s->items);
    MUST(s->items != NULL);
    return s;
}

void
selecting_free(selecting *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->source.keep != NULL)
            s->source.keep(s->source.state, s->items[i].guards);
        else
            gci_guards_free(s->items[i].guards);
    }
    gci_binding_free(s->binding);
    gci_selector_free(s->selector);
    free(s->items);
    free(s);
}

void
selecting_turn(selecting *s)
{
    if (s->count == 0 || (s->count < s->limit && chance_below(&s->chance, 40) == 0))
        grow(s);
    else
        ask(s);
}

bool
selecting_is_out_of_chance(selecting const *s)
{
    return s->chance.bytes != NULL && s->chance.left == 0;
}

uint64_t
selecting_asked(selecting const *s)
{
    return s->asked;
}
