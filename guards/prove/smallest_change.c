/*
 * The smallest change of hints with which a list holds: of as few hints as possible, then by the sum of the changes.
 *
 * The conditions of the normal form say which values a hint may take while the others stay (solve.c). The search walks those
 * from the present value outwards and evaluates the whole list for each: a reported change does hit, and the first one found
 * is the nearest. If several hints change, all but the last are walked in the same way; conditions on hints that have no
 * value yet are left for later ones.
 *
 * Each alternative of an `or` is a search of its own. A walk that doesn't end is cut; a change found further away than the
 * cut may not be the nearest, and isn't reported.
 */
#include "guards/prove/prove.h"

#include "base/check.h"
#include "guards/text/hints.h"
#include "guards/value/limits.h"
#include "guards/program/program.h"
#include "guards/prove/solve.h"

#include <stdlib.h>

/* Hints that are changed at once. */
#define MAX_CHANGED GCI_MAX_UNKNOWNS

/* Times that ranges are narrowed by all conditions; each time a bound gets on by one equality. */
#define MAX_NARROWINGS 4

/* Conditions looked at for one set of hints, and in all: some tens of milliseconds. If all can be solved for one hint, its
   first few values decide. */
#define MAX_WORK_OF_SET ((size_t)1 << 17)
#define MAX_WORK ((size_t)1 << 20)

/* Conditions looked at to see how far the hints of a set must go at least, in all: there are many sets of many hints. */
#define MAX_LOOKS ((size_t)1 << 21)

/* Instructions that are run in the time of a look at a condition. */
#define INSTRUCTIONS_A_LOOK 4

/* Bytes of large numbers that are computed in the time of a look at a condition. */
#define BYTES_A_LOOK 8

/* Alternatives of all `or` multiplied; beyond it they aren't taken apart. */
#define MAX_BRANCHES 32
#define MAX_SPLITS 5

/* A conjunct that is one of several alternatives. */
typedef struct split {
    gci_normal alternatives[MAX_BRANCHES];
    size_t count;
} split;

typedef struct search {
    gci_guards const *guards;
    gci_hints trial; /* a copy whose values are changed; slots are indices of it */
    int64_t *present, *values;
    bool *known, *changeable;
    gci_arena arena;
    gci_normal *making; /* whose symbols are being made */
    gci_normal whole;
    split *splits;
    size_t split_count;
    uint64_t *stuck; /* bits of slots: what each conjunct reads that can't be solved and doesn't hold; one of them must change */
    size_t stuck_count;
    gci_normal const *parts[MAX_SPLITS + 1]; /* of the present branch */
    size_t part_count, part_size;            /* conjuncts in them */
    uint16_t set[MAX_CHANGED], order[MAX_CHANGED]; /* order: the set as it is walked */
    size_t set_size;
    uint64_t least[MAX_CHANGED]; /* that the hints of the order change by, whatever the others do */
    size_t work, work_of_set, looks; /* left */
    size_t list_size;                /* what evaluating the whole list costs, in looks */
    uint64_t best;            /* the smallest sum of changes; UINT64_MAX: none */
    int64_t best_values[MAX_CHANGED];
    uint16_t best_set[MAX_CHANGED];
    uint64_t cut; /* nothing is known of changes of this sum and more */
} search;

/* ---- names ---- */

/* GCI_NO_SLOT if nothing is bound to it. */
static uint16_t
slot_of(search const *s, gci_view text)
{
    gci_view bound = gci_guards_bound_name(s->guards, text);

    for (size_t i = 0; i < s->trial.count; i++)
        if (gci_view_equal(s->trial.items[i].bound, bound))
            return (uint16_t)i;
    return GCI_NO_SLOT;
}

static gci_expr *
symbol_of(void *state, gci_ast const *node)
{
    search *s = state;
    uint16_t slot = slot_of(s, node->name);
    bool small = slot != GCI_NO_SLOT && gci_number_is_small(s->trial.items[slot].value);

    return gci_expr_slot(&s->making->arena, small ? slot : GCI_NO_SLOT);
}

static uint64_t
slots_read(search const *s, gci_ast const *node)
{
    uint64_t slots = 0;

    if (node->kind == GCI_AST_NAME || node->kind == GCI_AST_HINT) {
        uint16_t slot = slot_of(s, node->name);
        return slot == GCI_NO_SLOT ? 0 : slot < 64 ? (uint64_t)1 << slot : UINT64_MAX;
    }
    if (node->kind == GCI_AST_NUMBER)
        return 0;
    for (gci_ast const *child = node->first; child != NULL; child = child->next)
        slots |= slots_read(s, child);
    return slots;
}

/* ---- what can't be solved ---- */

static bool
make_normal(search *s, gci_view text, gci_normal *out)
{
    s->making = out;
    return gci_normal_make(&text, 1, symbol_of, s, out);
}

/* The alternatives of an `or`, if there is room for so many branches. */
static bool
add_split(search *s, gci_view text, gci_ast const *node, size_t *branches)
{
    if (node->kind != GCI_AST_OR || s->split_count == MAX_SPLITS || *branches * node->count > MAX_BRANCHES)
        return true;
    split *new = &s->splits[s->split_count++];
    *branches *= node->count;
    for (gci_ast const *child = node->first; child != NULL; child = child->next)
        if (!make_normal(s, gci_ast_text(child, text), &new->alternatives[new->count++]))
            return false;
    return true;
}

static void
add_stuck(search *s, gci_ast *node)
{
    gci_calc calc;
    gci_number value;

    gci_calc_init(&calc);
    if (!gci_guards_value(s->guards, node, &s->trial, &calc, &value) || !gci_number_truth(value))
        s->stuck[s->stuck_count++] = slots_read(s, node);
    gci_calc_clear(&calc);
}

static bool
examine_others(search *s)
{
    size_t branches = 1;

    for (size_t i = 0; i < s->whole.count; i++) {
        gci_conjunct const *c = &s->whole.conjuncts[i];
        if (c->kind != GCI_CONJUNCT_OTHER)
            continue;
        gci_ast *node = gci_ast_parse(c->text, &s->arena, NULL);
        if (node == NULL)
            continue;
        add_stuck(s, node);
        if (!add_split(s, c->text, node, &branches))
            return false;
    }
    return true;
}

/* ---- searching ---- */

static void
find_solutions(search *s, uint16_t slot, gci_solutions *out)
{
    gci_slots slots = { .values = s->values, .known = s->known, .unknown = slot };

    gci_solutions_all(out);
    if (s->trial.sizes != NULL && s->trial.sizes[slot])
        out->low = 0;
    for (size_t p = 0; p < s->part_count; p++)
        for (size_t i = 0; i < s->parts[p]->count && out->low <= out->high; i++)
            gci_solutions_restrict(out, &s->parts[p]->conjuncts[i], &slots);
}

/* Pays for a look at so many conditions. false: nothing is left. */
static bool
spend(search *s, size_t conditions)
{
    size_t cost = conditions + 1;

    if (s->work < cost || s->work_of_set < cost)
        return false;
    s->work -= cost;
    s->work_of_set -= cost;
    return true;
}

/* What was spent already, whether or not there was so much. */
static void
charge(search *s, size_t cost)
{
    s->work -= cost < s->work ? cost : s->work;
    s->work_of_set -= cost < s->work_of_set ? cost : s->work_of_set;
}

static uint64_t
sum_of(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void
set_value(search *s, uint16_t slot, int64_t value, bool known)
{
    s->values[slot] = value;
    s->known[slot] = known;
    s->trial.items[slot].value = gci_number_int(value);
}

static void
keep_best(search *s, uint64_t by)
{
    s->best = by;
    for (size_t i = 0; i < s->set_size; i++) {
        s->best_set[i] = s->set[i];
        s->best_values[i] = s->values[s->set[i]];
    }
}

/* The next hint to be walked is the one that is bound to go furthest: others then follow from it. */
static void
choose_next(search *s, size_t level, gci_walk *out_walk, gci_solutions *out_solutions)
{
    uint64_t furthest = 0;
    size_t picked = level;

    for (size_t i = level; i < s->set_size && level + 1 < s->set_size; i++) {
        uint64_t distance = UINT64_MAX;
        int64_t value;
        find_solutions(s, s->order[i], out_solutions);
        gci_walk_begin(out_walk, out_solutions, s->present[s->order[i]]);
        if (gci_walk_next(out_walk, &value))
            distance = gci_distance(s->present[s->order[i]], value);
        if (distance > furthest) {
            furthest = distance;
            picked = i;
        }
    }
    uint16_t slot = s->order[picked];
    s->order[picked] = s->order[level];
    s->order[level] = slot;
    find_solutions(s, slot, out_solutions);
    gci_walk_begin(out_walk, out_solutions, s->present[slot]);
}

static void walk_level(search *s, size_t level, uint64_t by);

/* A value of the hint at `level`. true: it is the nearest of this walk. */
static bool
try_value(search *s, size_t level, int64_t value, uint64_t sum)
{
    gcache_verdict verdict;
    size_t memory;

    set_value(s, s->order[level], value, true);
    if (level + 1 < s->set_size) {
        walk_level(s, level + 1, sum);
        return false;
    }
    gcache_truth truth = gci_guards_eval_plain(s->guards, &s->trial, &verdict, &memory);
    charge(s, memory / BYTES_A_LOOK);
    if (truth != GCACHE_TRUE)
        return false;
    keep_best(s, sum);
    return true;
}

/* How far the hints that aren't walked yet must go at least. */
static uint64_t
least_of_others(search const *s, size_t level)
{
    uint64_t sum = 0;

    for (size_t i = level + 1; i < s->set_size; i++)
        for (size_t k = 0; k < s->set_size; k++)
            if (s->set[k] == s->order[i])
                sum = sum_of(sum, s->least[k]);
    return sum;
}

/* Walks one more hint; those that were walked before have values, which are `by` away from the present ones. */
static void
walk_level(search *s, size_t level, uint64_t by)
{
    gci_solutions solutions;
    gci_walk walk;
    int64_t value;
    bool found = false;

    choose_next(s, level, &walk, &solutions);
    uint16_t slot = s->order[level];
    while (!found && gci_walk_next(&walk, &value)) {
        uint64_t sum = sum_of(by, gci_distance(s->present[slot], value));
        if (sum_of(sum, least_of_others(s, level)) >= s->best)
            break;
        bool passes = gci_solutions_pass(&solutions, value);
        if (!spend(s, passes ? s->part_size + s->list_size : solutions.sieve_count)) {
            sum = sum_of(sum, least_of_others(s, level));
            s->cut = sum < s->cut ? sum : s->cut;
            break;
        }
        found = passes && try_value(s, level, value, sum);
    }
    set_value(s, slot, s->present[slot], false);
}

/* Whether the set has a hint of every conjunct that can't be solved and doesn't hold. */
static bool
may_loosen(search const *s)
{
    uint64_t changed = 0;

    for (size_t i = 0; i < s->set_size; i++)
        changed |= s->set[i] < 64 ? (uint64_t)1 << s->set[i] : UINT64_MAX;
    for (size_t i = 0; i < s->stuck_count; i++)
        if ((s->stuck[i] & changed) == 0)
            return false;
    return true;
}

/* Ranges that the hints of the set can be in, from conditions of each and of several. */
static void
find_least(search *s)
{
    gci_slots slots = { .values = s->values, .known = s->known, .unknown = GCI_NO_SLOT };
    gci_range ranges[MAX_CHANGED];
    gci_solutions solutions;

    for (size_t i = 0; i < s->set_size; i++) {
        find_solutions(s, s->set[i], &solutions);
        ranges[i] = (gci_range){ solutions.low, solutions.high };
    }
    for (size_t round = 0; round < MAX_NARROWINGS && s->set_size > 1; round++)
        for (size_t p = 0; p < s->part_count; p++)
            for (size_t i = 0; i < s->parts[p]->count; i++)
                gci_ranges_narrow(ranges, s->set, s->set_size, &s->parts[p]->conjuncts[i], &slots);
    for (size_t i = 0; i < s->set_size; i++) {
        int64_t present = s->present[s->set[i]];
        s->least[i] = present < ranges[i].low    ? gci_distance(present, ranges[i].low)
                      : present > ranges[i].high ? gci_distance(present, ranges[i].high)
                                                 : 1;
    }
}

/* Pays for find_least and the first walk of a set. false: nothing is known of what wasn't searched yet. */
static bool
afford_set(search *s)
{
    size_t rounds = s->set_size > 1 ? MAX_NARROWINGS + 3 * s->set_size : 2, cost = (s->part_size + 1) * rounds;

    if (s->looks < cost)
        s->cut = s->looks = 0;
    else
        s->looks -= cost;
    return s->looks != 0;
}

/* Every choice of alternatives from split `at` on. */
static void
search_branches(search *s, size_t at)
{
    if (at == s->split_count) {
        if (afford_set(s)) {
            find_least(s);
            walk_level(s, 0, 0);
        }
        return;
    }
    for (size_t i = 0; i < s->splits[at].count; i++) {
        gci_normal const *alternative = &s->splits[at].alternatives[i];
        s->parts[s->part_count++] = alternative;
        s->part_size += alternative->count;
        search_branches(s, at + 1);
        s->part_size -= alternative->count;
        s->part_count--;
    }
}

static void
search_set(search *s)
{
    if (!may_loosen(s))
        return;
    for (size_t i = 0; i < s->set_size; i++) {
        s->known[s->set[i]] = false;
        s->order[i] = s->set[i];
    }
    s->parts[0] = &s->whole;
    s->part_count = 1;
    s->part_size = s->whole.count;
    s->work_of_set = MAX_WORK_OF_SET;
    search_branches(s, 0);
    for (size_t i = 0; i < s->set_size; i++)
        s->known[s->set[i]] = true;
}

static bool
is_changeable(search const *s, size_t slot)
{
    gci_hint const *hint = &s->trial.items[slot];
    gci_program const *program = &s->guards->program;

    for (uint32_t i = 0; i < program->name_count && hint->value.kind == GCI_KIND_INT; i++)
        if (gci_view_equal(program->names[i].name, hint->bound))
            return true;
    return false;
}

/* All sets of `size` hints, the first `picked` of which are there. */
static void
search_sets(search *s, size_t picked, size_t size)
{
    size_t first = picked == 0 ? 0 : s->set[picked - 1] + (size_t)1;

    if (picked == size) {
        s->set_size = size;
        search_set(s);
        return;
    }
    for (size_t slot = first; slot < s->trial.count && s->looks != 0; slot++) {
        if (s->changeable[slot]) {
            s->set[picked] = (uint16_t)slot;
            search_sets(s, picked + 1, size);
        }
    }
}

/* ---- the whole ---- */

static bool
prepare(search *s, gci_hints const *hints)
{
    size_t count = hints->count;

    gci_arena_init(&s->arena, GCI_GUARD_PARSE_MEMORY);
    s->trial = *hints;
    s->trial.items = gci_arena_array(&s->arena, count, sizeof *s->trial.items);
    s->present = gci_arena_array(&s->arena, count, sizeof *s->present);
    s->values = gci_arena_array(&s->arena, count, sizeof *s->values);
    s->known = gci_arena_array(&s->arena, count, sizeof *s->known);
    s->changeable = gci_arena_array(&s->arena, count, sizeof *s->changeable);
    s->splits = gci_arena_array(&s->arena, MAX_SPLITS, sizeof *s->splits);
    if (s->arena.failed)
        return false;
    for (size_t i = 0; i < count; i++) {
        gci_number value = hints->items[i].value;
        s->trial.items[i] = hints->items[i];
        s->known[i] = gci_number_is_small(value);
        s->present[i] = s->values[i] = s->known[i] ? value.i : 0;
        s->changeable[i] = is_changeable(s, i);
    }
    s->making = &s->whole;
    if (!gci_normal_make(s->guards->texts, s->guards->count, symbol_of, s, &s->whole))
        return false;
    s->stuck = gci_arena_array(&s->arena, s->whole.count, sizeof *s->stuck);
    return s->stuck != NULL && examine_others(s);
}

static void
clear(search *s)
{
    for (size_t i = 0; i < s->split_count; i++)
        for (size_t k = 0; k < s->splits[i].count; k++)
            gci_normal_clear(&s->splits[i].alternatives[k]);
    gci_normal_clear(&s->whole);
    gci_arena_clear(&s->arena);
}

static void
write_best(search const *s, gci_hints const *hints, gci_buf *out)
{
    for (size_t i = 0; i < s->set_size; i++) {
        gci_buf_append_text(out, i != 0 ? " " : "");
        gci_buf_append_view(out, gci_hint_shown(hints, s->best_set[i]));
        gci_buf_format(out, "=%lld", (long long)s->best_values[i]);
    }
}

bool
gci_guards_nearest(gci_guards const *guards, gci_hints const *hints, bool several, size_t *work, gci_buf *out,
                   uint64_t *out_by)
{
    size_t given = work != NULL && *work < MAX_WORK ? *work : MAX_WORK;
    search s = { .guards = guards, .work = given, .looks = MAX_LOOKS, .best = UINT64_MAX, .cut = UINT64_MAX };
    bool found = false;

    /* The normal form isn't what the text means if a hint hides a function. */
    if (given == 0 || hints->count == 0 || hints->count >= GCI_NO_SLOT || gci_program_is_shadowed(&guards->program, hints))
        return false;
    bool ready = prepare(&s, hints);
    s.list_size = guards->program.code_count / INSTRUCTIONS_A_LOOK;
    for (size_t size = 1; ready && s.best == UINT64_MAX && s.looks != 0 && size <= (several ? MAX_CHANGED : 1); size++) {
        s.cut = UINT64_MAX;
        search_sets(&s, 0, size);
    }
    if (ready && s.best <= s.cut && s.best != UINT64_MAX) {
        write_best(&s, hints, out);
        if (out_by != NULL)
            *out_by = s.best;
        found = true;
    }
    clear(&s);
    if (work != NULL)
        *work -= given - s.work;
    return found;
}
