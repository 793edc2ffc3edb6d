/*
 * Selection: the index's answer is that of trying every candidate in rank order, whatever the guards, hints and history.
 *
 * The sets are random, drawn from a fixed seed, which a failure prints; GUARDCACHE_SEED gives another one.
 */
#include "guards/select.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_CANDIDATES 700
#define SYMBOLS 6

typedef struct stored {
    gci_guards *guards;
    gci_rank rank;
    bool is_there, is_eligible;
} stored;

typedef struct set {
    uint64_t random;
    gci_selector *selector;
    gci_binding binding;
    gci_memo *memo;
    stored items[MAX_CANDIDATES];
    uint32_t count;
} set;

static uint64_t
next(set *s)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

static int
below(set *s, int limit)
{
    return (int)(next(s) % (uint64_t)limit);
}

/* ---- guards ---- */

/* A conjunct; some have divisors that may be 0, some raise for other reasons, some are beyond the index. */
static void
write_conjunct(set *s, gci_buf *out)
{
    int a = below(s, SYMBOLS), b = below(s, SYMBOLS), n = below(s, 40), m = 1 + below(s, 8);

    switch (below(s, 20)) {
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

static gci_guards *
make_guards(set *s)
{
    gci_buf texts[3];
    gci_view views[3] = { 0 };
    gci_guards *guards = NULL;
    size_t count = (size_t)below(s, 4);

    for (size_t i = 0; i < count; i++) {
        gci_buf_init(&texts[i], GCI_BUF_NO_LIMIT);
        for (int k = below(s, 3); k >= 0; k--) {
            write_conjunct(s, &texts[i]);
            gci_buf_append_text(&texts[i], k != 0 ? " and " : "");
        }
        views[i] = gci_buf_view(&texts[i]);
    }
    assert_int_equal(gci_guards_compile(views, count, (gci_naming){ NULL, NULL }, &guards, NULL), GCACHE_OK);
    for (size_t i = 0; i < count; i++)
        gci_buf_clear(&texts[i]);
    return guards;
}

/* ---- candidates ---- */

static void
insert(set *s)
{
    uint32_t id = s->count++;
    stored *item = &s->items[id];
    gcache_error error;

    item->guards = make_guards(s);
    item->rank = (gci_rank){ below(s, 3) - 1, gci_guards_specificity(item->guards), id };
    item->is_there = true;
    item->is_eligible = below(s, 10) != 0;
    assert_int_equal(gci_selector_insert(s->selector, id, item->guards, item->rank, &error), GCACHE_OK);
    assert_int_equal(gci_selector_insert(s->selector, id, item->guards, item->rank, &error), GCACHE_ERROR_ARGUMENT);
}

static void
remove_one(set *s)
{
    uint32_t id = (uint32_t)below(s, (int)s->count);

    assert_int_equal(gci_selector_remove(s->selector, id), s->items[id].is_there);
    s->items[id].is_there = false;
}

static bool
is_eligible(void *state, uint32_t id)
{
    set const *s = state;

    assert_true(id < s->count && s->items[id].is_there);
    return s->items[id].is_eligible;
}

/* ---- the answer without an index ---- */

static gci_selection
select_plainly(set const *s, gci_hints const *hints, bool all)
{
    gci_selection best = { .id = GCI_NO_CANDIDATE };
    gcache_verdict verdict;

    for (uint32_t id = 0; id < s->count; id++) {
        stored const *item = &s->items[id];
        if (!item->is_there || (!all && !item->is_eligible))
            continue;
        gcache_truth truth = gci_guards_eval(item->guards, hints, &verdict);
        best.some_false = best.some_false || truth == GCACHE_FALSE;
        best.some_raise = best.some_raise || truth == GCACHE_RAISES;
        bool better = best.id == GCI_NO_CANDIDATE || gci_rank_compare(&item->rank, &s->items[best.id].rank) < 0;
        if (truth == GCACHE_TRUE && better)
            best.id = id;
    }
    return best;
}

/* ---- hints ---- */

static char const *const odd_values[] = { "0.5", "None", "True", "9223372036854775808", "-1e30", "12.0", "nan" };

static gci_hints *
make_hints(set *s)
{
    char names[SYMBOLS + 1][8];
    gcache_hint items[SYMBOLS];
    gcache_hint_literal literals[SYMBOLS + 1];
    gcache_hints hints = { .items = items, .literals = literals };
    gci_hints *read = NULL;
    int oddness = below(s, 4);

    for (int i = 0; i < SYMBOLS; i++) {
        snprintf(names[i], sizeof names[i], "s%d", i);
        int pick = oddness == 0 ? below(s, 12) : 2 + below(s, 1000);
        if (pick == 0)
            continue;
        if (pick == 1)
            literals[hints.literal_count++] = (gcache_hint_literal){ names[i], odd_values[below(s, 7)] };
        else
            items[hints.count++] = (gcache_hint){ names[i], pick % 50 == 0 ? INT64_MAX - below(s, 3) : below(s, 45) - 3 };
    }
    if (oddness == 0 && below(s, 30) == 0)
        literals[hints.literal_count++] = (gcache_hint_literal){ "max", "3" };
    assert_int_equal(gci_hints_new(&hints, (gci_naming){ NULL, NULL }, &read, NULL), GCACHE_OK);
    return read;
}

/* ---- comparing ---- */

typedef struct told {
    uint32_t count;
    gci_rank last;
    set const *set;
} told;

static void
tell(void *state, uint32_t id, gcache_verdict const *verdict)
{
    told *t = state;

    assert_true(verdict->truth <= GCACHE_RAISES);
    if (t->count++ != 0)
        assert_true(gci_rank_compare(&t->last, &t->set->items[id].rank) < 0);
    t->last = t->set->items[id].rank;
}

static void
assert_same(gci_selection a, gci_selection b)
{
    assert_int_equal(a.id, b.id);
    if (a.id != GCI_NO_CANDIDATE)
        return;
    assert_int_equal(a.some_false, b.some_false);
    if (!a.some_false)
        assert_int_equal(a.some_raise, b.some_raise);
}

static void
ask(set *s)
{
    gci_hints *hints = make_hints(s);
    bool all = below(s, 2) == 0;
    gci_selecting asked = { .binding = &s->binding, .eligible = all ? NULL : is_eligible, .state = s, .eligibility = all };
    gci_selection plain = select_plainly(s, hints, all), traced;
    told t = { .set = s };

    assert_true(gci_binding_set(&s->binding, s->selector, hints));
    assert_same(gci_select(s->selector, &asked), plain);
    asked.memo = s->memo;
    assert_same(gci_select(s->selector, &asked), plain);
    assert_same(gci_select(s->selector, &asked), plain);
    assert_int_equal(gci_select_traced(s->selector, &asked, tell, &t, &traced, NULL), GCACHE_OK);
    assert_same(traced, plain);
    gci_hints_free(hints);
}

static void
play(uint64_t seed)
{
    set *s = calloc(1, sizeof *s);

    assert_non_null(s);
    s->random = seed;
    s->selector = gci_selector_new();
    s->memo = gci_memo_new();
    assert_true(s->selector != NULL && s->memo != NULL);
    int limit = 1 + below(s, MAX_CANDIDATES), turns = 3 * limit;
    for (int turn = 0; turn < turns; turn++) {
        int pick = below(s, 10);
        if (pick < 5 && s->count < (uint32_t)limit)
            insert(s);
        else if (pick < 6 && s->count > 0)
            remove_one(s);
        else if (pick < 7 && below(s, 40) == 0)
            assert_int_equal(gci_selector_compact(s->selector, NULL), GCACHE_OK);
        else
            ask(s);
    }
    for (uint32_t i = 0; i < s->count; i++)
        gci_guards_free(s->items[i].guards);
    gci_selector_free(s->selector);
    gci_binding_clear(&s->binding);
    gci_memo_free(s->memo);
    free(s);
}

static void
index_is_linear(void **state)
{
    char const *given = getenv("GUARDCACHE_SEED"), *rounds = getenv("GUARDCACHE_ROUNDS");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 1;

    (void)state;
    for (int round = rounds != NULL ? atoi(rounds) : 12; round > 0; round--) {
        print_message("seed %llu\n", (unsigned long long)seed);
        play(seed++ * UINT64_C(0x9e3779b97f4a7c15));
    }
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(index_is_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
