/*
 * Guards: evaluating a list and choosing among many, beside Python's eval, gcc's code and a linear scan.
 *
 *   bench_guards [FILE]         FILE: recorded guards, default fixtures/guards/torch.jsonl
 *   bench_guards --choose N     only the choice among N
 *
 * What is evaluated elsewhere goes through bench/guards_peers.py, which this starts; gcc compiles what it writes.
 */
#include "guards_sets.h"
#include "harness.h"

#include "base/text/json.h"
#include "guards/text/hints.h"
#include "guards/select/selector.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DISTINCT = 1000, QUERIES = 512, MANY = 1000, HOT = 16, BATCHES = 201, MAX_SLOTS = 64 };

typedef int (*compiled_fn)(int64_t const *values);

/* A case ready to run. */
typedef struct subject {
    bench_case const *given;
    gci_guards *guards;
    gci_selector *selector; /* of this one */
    gci_binding *binding;
    gci_hints *hints;
    gcache_prepared *prepared;
    gci_instruction const *code; /* NULL: no fast program */
    size_t slot_count;
    int64_t slots[MAX_SLOTS];    /* what the hints bind the selector's names to */
    compiled_fn compiled; /* NULL: gcc has none */
    double eval_ns, code_ns;
} subject;

static volatile int sink;

static void
require(bool condition, char const *what)
{
    if (!condition)
        bench_die(what, "failed");
}

static bench_figure
divide(bench_figure figure, double by)
{
    return (bench_figure){ figure.median_ns / by, figure.lowest_ns / by, figure.highest_ns / by };
}

/* ---- subjects ---- */

/* As a lookup reads them. Names that are asked with again are resolved once: *known, made here if it is NULL; a NULL known: they
   aren't. */
static gci_hints *
hints_of(char const *const *names, int64_t const *values, size_t count, gci_hint_names **known)
{
    gcache_hint items[64];
    gcache_hints hints = { .items = items, .count = count };
    gci_hints *read = malloc(sizeof *read);

    require(read != NULL, "memory");
    gci_hints_init(read);
    for (size_t i = 0; i < count; i++)
        items[i] = (gcache_hint){ names[i], values[i] };
    if (known != NULL && *known != NULL && gci_hints_read_known(read, &hints, *known))
        return read;
    require(gci_hints_read(read, &hints, (gci_naming){ NULL, NULL }, NULL) == GCACHE_OK, "hints");
    if (known != NULL && *known == NULL)
        require((*known = gci_hint_names_of(read)) != NULL, "memory");
    return read;
}

static void
free_hints(gci_hints *hints)
{
    if (hints != NULL)
        gci_hints_clear(hints);
    free(hints);
}

static gci_guards *
compile(gci_view text)
{
    gci_guards *guards = NULL;

    require(gci_guards_compile(&text, 1, (gci_naming){ NULL, NULL }, &guards, NULL) == GCACHE_OK, "compiling a guard");
    return guards;
}

static void
bind(subject *s)
{
    free_hints(s->hints);
    s->hints = hints_of(s->given->names, s->given->values, s->given->name_count, NULL);
    gci_binding_set(s->binding, s->hints);
    memcpy(s->slots, s->binding->frame.registers + GCI_FRAME_SLOTS, s->slot_count * sizeof *s->slots);
}

static void
prepare(subject *s, bench_case const *given)
{
    gcache_verdict verdict;

    *s = (subject){ .given = given, .guards = compile(gci_view_text(given->guard)) };
    gci_guards const *only = s->guards;
    s->selector = gci_selector_new(&only, 1);
    require(s->selector != NULL && (s->binding = gci_binding_new(s->selector)) != NULL, "memory");
    s->slot_count = s->selector->slot_count;
    s->code = s->selector->lists[0].code;
    require(s->slot_count <= sizeof s->slots / sizeof s->slots[0], "few names");
    bind(s);
    require(gcache_guards_prepare(s->guards, given->names, given->name_count, &s->prepared, NULL) == GCACHE_OK, "preparing");
    require(gci_guards_eval(s->guards, s->hints, &verdict) == GCACHE_TRUE, "a guard that holds");
}

static void
release(subject *s)
{
    gci_binding_free(s->binding);
    gci_selector_free(s->selector);
    free_hints(s->hints);
    gcache_prepared_free(s->prepared);
    gci_guards_free(s->guards);
}

/* ---- Python and gcc ---- */

static void
write_cases(bench_cases const *cases, subject const *subjects, char const *path)
{
    FILE *file = fopen(path, "w");
    gci_buf line;

    require(file != NULL, path);
    gci_buf_init(&line, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < cases->count; i++) {
        bench_case const *c = &cases->items[i];
        gci_buf_append_text(&line, "{\"guard\": ");
        gci_json_write_text(&line, gci_view_text(c->guard));
        gci_buf_format(&line, ", \"timed\": %s, \"names\": [", c->timed ? "true" : "false");
        for (size_t k = 0; k < subjects[i].slot_count; k++) {
            gci_buf_append_text(&line, k != 0 ? ", " : "");
            gci_json_write_text(&line, subjects[i].selector->slots[k].name);
        }
        gci_buf_append_text(&line, "], \"hints\": {");
        for (size_t k = 0; k < c->name_count; k++)
            gci_buf_format(&line, "%s\"%s\": %lld", k != 0 ? ", " : "", c->names[k], (long long)c->values[k]);
        gci_buf_append_text(&line, "}}\n");
    }
    fwrite(line.data, 1, line.size, file);
    require(fclose(file) == 0, path);
    gci_buf_clear(&line);
}

static void
run_command(char const *command)
{
    require(system(command) == 0, command);
}

static void
ask_peers(bench_cases const *cases, subject *subjects)
{
    char *directory = bench_make_directory();
    char path[4096];

    snprintf(path, sizeof path, "%s/cases", directory);
    write_cases(cases, subjects, path);
    snprintf(path, sizeof path, "python3 %s/guards_peers.py %s/cases %s/guards.c %s/times", BENCH_SOURCE, directory,
             directory, directory);
    run_command(path);
    snprintf(path, sizeof path, "gcc -O2 -w -shared -fPIC -o %s/guards.so %s/guards.c", directory, directory);
    run_command(path);
    snprintf(path, sizeof path, "%s/guards.so", directory);
    void *library = dlopen(path, RTLD_NOW);
    require(library != NULL, path);
    compiled_fn const *table = dlsym(library, "guards");
    require(table != NULL, "guards.so");
    snprintf(path, sizeof path, "%s/times", directory);
    FILE *times = fopen(path, "r");
    require(times != NULL, path);
    for (size_t i = 0; i < cases->count; i++) {
        subjects[i].compiled = table[i];
        if (cases->items[i].timed)
            require(fscanf(times, "%lf %lf", &subjects[i].eval_ns, &subjects[i].code_ns) == 2, path);
        require(table[i] == NULL || table[i](subjects[i].slots), "gcc's code holds");
    }
    fclose(times);
    bench_remove_directory(directory);
}

/* ---- evaluating ---- */

/* Subjects that are evaluated one after the other, all in one frame, as the candidates of a key are. */
typedef struct stream {
    subject *items;
    size_t count;
    int times; /* each, before the next one's turn */
} stream;

static void
run_programs(void *state)
{
    stream *s = state;
    static int64_t frame[GCI_FRAME_SLOTS + MAX_SLOTS];
    uint32_t at;
    int held = 0;

    for (size_t i = 0; i < s->count; i++) {
        subject const *one = &s->items[i];
        for (size_t k = 0; k < one->slot_count; k++)
            frame[GCI_FRAME_SLOTS + k] = one->slots[k];
        for (int k = 0; k < s->times; k++)
            held += gci_fast_run(one->code, frame, &at) == GCI_FAST_TRUE;
    }
    sink = held;
}

static void
run_lists(void *state)
{
    stream *s = state;
    gcache_verdict verdict;
    int held = 0;

    for (size_t i = 0; i < s->count; i++)
        for (int k = 0; k < s->times; k++)
            held += gci_guards_eval(s->items[i].guards, s->items[i].hints, &verdict) == GCACHE_TRUE;
    sink = held;
}

static void
run_compiled(void *state)
{
    stream *s = state;
    int held = 0;

    for (size_t i = 0; i < s->count; i++)
        for (int k = 0; k < s->times; k++)
            held += s->items[i].compiled(s->items[i].slots);
    sink = held;
}

/* The same one again and again: a hot guard. */
static void
run_hot(void *state)
{
    subject *s = state;
    uint32_t at;
    int held = 0;

    for (int i = 0; i < MANY; i++)
        held += gci_fast_run(s->code, s->binding->frame.registers, &at) == GCI_FAST_TRUE;
    sink = held;
}

static void
run_hot_list(void *state)
{
    subject *s = state;
    gcache_verdict verdict;
    int held = 0;

    for (int i = 0; i < MANY; i++)
        held += gci_guards_eval(s->guards, s->hints, &verdict) == GCACHE_TRUE;
    sink = held;
}

static void
run_hot_prepared(void *state)
{
    subject *s = state;
    int held = 0;

    for (int i = 0; i < MANY; i++)
        held += gcache_prepared_eval(s->prepared, s->given->values) == GCACHE_TRUE;
    sink = held;
}

static void
run_hot_compiled(void *state)
{
    subject *s = state;
    int held = 0;

    for (int i = 0; i < MANY; i++)
        held += s->compiled(s->slots);
    sink = held;
}

/* The figure beside the one it is compared with. */
static void
print_beside(char const *name, bench_figure figure, bench_figure peer, char const *peer_name)
{
    char note[80];

    double ratio = figure.median_ns / peer.median_ns;
    if (ratio < 0.1)
        snprintf(note, sizeof note, "1/%.0f of %s", 1 / ratio, peer_name);
    else
        snprintf(note, sizeof note, "%.1f x %s", ratio, peer_name);
    bench_print(name, figure, note);
}

static bench_figure
alone(double ns)
{
    return (bench_figure){ ns, ns, ns };
}

/* gcc's figure. */
static bench_figure
measure_stream(char const *what, stream *s)
{
    char name[80];
    double count = (double)s->count * s->times;
    bench_figure ours = divide(bench_run(run_programs, s, BATCHES, 4), count);
    bench_figure gcc = divide(bench_run(run_compiled, s, BATCHES, 4), count);
    bench_figure bound = divide(bench_run(run_lists, s, BATCHES, 4), count);

    snprintf(name, sizeof name, "%s: program", what);
    print_beside(name, ours, gcc, "gcc");
    snprintf(name, sizeof name, "%s: names bound and program", what);
    print_beside(name, bound, gcc, "gcc");
    snprintf(name, sizeof name, "%s: gcc -O2", what);
    bench_print(name, gcc, "");
    return gcc;
}

static void
measure_hot(subject *s)
{
    bench_figure gcc = divide(bench_run(run_hot_compiled, s, BATCHES, 10), MANY);

    print_beside("one guard of 6 conjuncts holds: program", divide(bench_run(run_hot, s, BATCHES, 10), MANY), gcc, "gcc");
    print_beside("  gcache_prepared_eval", divide(bench_run(run_hot_prepared, s, BATCHES, 10), MANY), gcc, "gcc");
    print_beside("  names bound and program", divide(bench_run(run_hot_list, s, BATCHES, 10), MANY), gcc, "gcc");
    bench_print("  gcc -O2", gcc, "");
    print_beside("  Python, code object", alone(s->code_ns), gcc, "gcc");
    print_beside("  Python, eval of the text", alone(s->eval_ns), gcc, "gcc");
    s->binding->frame.registers[GCI_FRAME_SLOTS] = s->slots[0] / 8;
    print_beside("  it fails at the first conjunct: program", divide(bench_run(run_hot, s, BATCHES, 10), MANY), gcc, "gcc");
    s->binding->frame.registers[GCI_FRAME_SLOTS] = s->slots[0];
}

/* The first name is s0, that the first two conjuncts bound. */
static void
fail_early(subject *subjects, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        subjects[i].given->values[0] *= 8;
        bind(&subjects[i]);
    }
}

static subject *
prepare_all(bench_cases const *cases)
{
    subject *subjects = calloc(cases->count, sizeof *subjects);

    require(subjects != NULL, "memory");
    for (size_t i = 0; i < cases->count; i++)
        prepare(&subjects[i], &cases->items[i]);
    ask_peers(cases, subjects);
    return subjects;
}

static void
release_all(bench_cases *cases, subject *subjects)
{
    for (size_t i = 0; i < cases->count; i++)
        release(&subjects[i]);
    free(subjects);
    free(cases->items);
    gci_arena_clear(&cases->arena);
}

static void
measure_made_up(void)
{
    bench_cases made = { .count = 0 };

    gci_arena_init(&made.arena, SIZE_MAX / 2);
    for (unsigned i = 0; i < DISTINCT; i++)
        bench_add_six(&made, i);
    subject *subjects = prepare_all(&made);
    stream all = { subjects, made.count, 1 };
    measure_hot(&subjects[0]);
    measure_stream("1,000 distinct guards hold", &all);
    fail_early(subjects, made.count);
    measure_stream("1,000 distinct fail early", &all);
    release_all(&made, subjects);
}

/* ---- recorded guards ---- */

static void
run_making(void *state)
{
    subject const *s = state;

    gci_guards_free(compile(gci_view_text(s->given->guard)));
}

static int
compare_length(void const *left, void const *right)
{
    subject const *a = left, *b = right;
    size_t one = strlen(a->given->guard), other = strlen(b->given->guard);

    return (one > other) - (one < other);
}

static void
measure_making(subject const *s, char const *which)
{
    char name[80];

    snprintf(name, sizeof name, "parse and compile, %s: %zu characters", which, strlen(s->given->guard));
    bench_print(name, bench_run(run_making, (void *)(uintptr_t)s, BATCHES, 20), "");
}

static void
measure_recorded(char const *path)
{
    bench_cases recorded = { .count = 0 };
    size_t translated = 0;
    double eval_ns = 0, code_ns = 0;

    gci_arena_init(&recorded.arena, SIZE_MAX / 2);
    bench_read_recorded(&recorded, path);
    subject *subjects = prepare_all(&recorded);
    qsort(subjects, recorded.count, sizeof *subjects, compare_length);
    measure_making(&subjects[recorded.count / 2], "median");
    measure_making(&subjects[recorded.count * 9 / 10], "nine of ten");
    measure_making(&subjects[recorded.count - 1], "longest");
    for (size_t i = 0; i < recorded.count; i++) {
        if (subjects[i].compiled == NULL || subjects[i].code == NULL)
            continue;
        subject keep = subjects[translated];
        subjects[translated] = subjects[i];
        subjects[i] = keep;
        eval_ns += subjects[translated].eval_ns;
        code_ns += subjects[translated++].code_ns;
    }
    printf("%zu recorded guards, of which gcc has %zu; a mean one, which holds:\n", recorded.count, translated);
    stream all = { subjects, translated, 1 }, hot = { subjects, translated, HOT };
    measure_stream("one after the other", &all);
    bench_figure gcc = measure_stream("each 16 times in a row", &hot);
    print_beside("  Python, code object", alone(code_ns / (double)translated), gcc, "gcc");
    print_beside("  Python, eval of the text", alone(eval_ns / (double)translated), gcc, "gcc");
    release_all(&recorded, subjects);
}

/* ---- choosing ---- */

/* A key's candidates and questions; those of the first half hit, of the second half nothing does. */
typedef struct workload {
    size_t count, slots;
    gci_guards **guards;
    gci_selector *selector;
    gci_binding *binding;
    gci_hint_names *names;
    gci_hints *hints[2 * QUERIES];
    int64_t values[2 * QUERIES][BENCH_SYMBOLS];
    uint32_t chosen[2 * QUERIES];
    size_t first, asked; /* which questions a batch asks */
    bool remembered;
} workload;

static char const *const symbol_names[BENCH_SYMBOLS] = { "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7",
                                                         "s8", "s9", "s10", "s11", "s12", "s13", "s14", "s15" };

static int64_t *
frame_values(workload *c)
{
    return c->binding->frame.registers + GCI_FRAME_SLOTS;
}

static uint32_t
scan(workload *c)
{
    uint32_t at;

    for (uint32_t i = 0; i < c->selector->count; i++)
        if (gci_fast_run(c->selector->lists[i].code, c->binding->frame.registers, &at) == GCI_FAST_TRUE)
            return i;
    return GCI_NO_CANDIDATE;
}

static void
run_selections(void *state)
{
    workload *c = state;
    gci_select_request request = { .remember = c->remembered };
    uint32_t sum = 0;

    for (size_t i = c->first; i < c->first + c->asked; i++) {
        memcpy(frame_values(c), c->values[i], c->slots * sizeof(int64_t));
        sum += gci_select(c->binding, &request).place;
    }
    sink = (int)sum;
}

static void
run_bound_selections(void *state)
{
    workload *c = state;
    gci_select_request request = { .eligible = NULL };
    uint32_t sum = 0;

    for (size_t i = c->first; i < c->first + c->asked; i++) {
        gci_binding_set(c->binding, c->hints[i]);
        sum += gci_select(c->binding, &request).place;
    }
    sink = (int)sum;
}

static void
run_scans(void *state)
{
    workload *c = state;
    uint32_t sum = 0;

    for (size_t i = c->first; i < c->first + c->asked; i++) {
        memcpy(frame_values(c), c->values[i], c->slots * sizeof(int64_t));
        sum += scan(c);
    }
    sink = (int)sum;
}

/* The values of hints in the selector's order. */
static void
set_question(workload *c, size_t i, int64_t const values[BENCH_SYMBOLS])
{
    c->hints[i] = hints_of(symbol_names, values, BENCH_SYMBOLS, &c->names);
    gci_binding_set(c->binding, c->hints[i]);
    memcpy(c->values[i], frame_values(c), c->slots * sizeof(int64_t));
    c->chosen[i] = scan(c);
}

/* One symbol after the other is put out of every bound, until nothing holds. */
static void
set_miss(workload *c, size_t i, int64_t values[BENCH_SYMBOLS])
{
    for (int k = 0; k < BENCH_SYMBOLS; k++) {
        values[(i + (size_t)k) % BENCH_SYMBOLS] = 4099 + 2 * (int64_t)i;
        set_question(c, i, values);
        if (c->chosen[i] == GCI_NO_CANDIDATE)
            return;
        free_hints(c->hints[i]);
    }
    bench_die("a miss", "everything holds");
}

/* As the candidates of a key are ranked: more equalities first, then more conjuncts. */
static int
compare_specificity(void const *left, void const *right)
{
    gci_specificity a = gci_guards_specificity(*(gci_guards *const *)left);
    gci_specificity b = gci_guards_specificity(*(gci_guards *const *)right);

    if (a.equalities != b.equalities)
        return a.equalities > b.equalities ? -1 : 1;
    return (a.conjuncts < b.conjuncts) - (a.conjuncts > b.conjuncts);
}

static void
build(workload *c)
{
    qsort(c->guards, c->count, sizeof(gci_guards *), compare_specificity);
    c->selector = gci_selector_new((gci_guards const *const *)c->guards, c->count);
    require(c->selector != NULL && (c->binding = gci_binding_new(c->selector)) != NULL, "memory");
    c->slots = c->selector->slot_count;
}

static workload *
gather(size_t count)
{
    workload *c = calloc(1, sizeof *c);
    int64_t(*values)[BENCH_SYMBOLS] = calloc(count, sizeof *values);
    uint64_t random = 88172645463325252u;
    gci_buf guard;

    require(c != NULL && values != NULL, "memory");
    gci_buf_init(&guard, GCI_BUF_NO_LIMIT);
    c->count = count;
    c->guards = calloc(count, sizeof(gci_guards *));
    require(c->guards != NULL, "memory");
    for (uint32_t i = 0; i < count; i++) {
        bench_make_candidate(&random, &guard, values[i]);
        c->guards[i] = compile(gci_buf_view(&guard));
    }
    build(c);
    for (size_t i = 0; i < QUERIES; i++) {
        set_question(c, i, values[(i * 7919) % count]);
        set_miss(c, QUERIES + i, values[(i * 104729) % count]);
    }
    gci_buf_clear(&guard);
    free(values);
    return c;
}

static void
check(workload *c)
{
    gci_select_request request = { .eligible = NULL };

    for (size_t i = 0; i < (size_t)2 * QUERIES; i++) {
        gci_binding_set(c->binding, c->hints[i]);
        require(gci_select(c->binding, &request).place == c->chosen[i], "index and scan agree");
    }
}

static void
disperse(workload *c)
{
    for (size_t i = 0; i < (size_t)2 * QUERIES; i++)
        free_hints(c->hints[i]);
    free(c->names);
    gci_binding_free(c->binding);
    gci_selector_free(c->selector);
    for (size_t i = 0; i < c->count; i++)
        gci_guards_free(c->guards[i]);
    free(c->guards);
    free(c);
}

/* Fewer questions where a batch would take long; the same for all rows. */
static bench_figure
measure_questions(workload *c, void (*body)(void *state), size_t first, size_t asked)
{
    c->first = first;
    c->asked = asked;
    return divide(bench_run(body, c, body == run_scans && c->count > 1000 ? 15 : BATCHES, 1), (double)asked);
}

static void
measure_crowd(size_t count, char const *label)
{
    workload *c = gather(count);
    char name[80];

    check(c);
    for (int miss = 0; miss < 2; miss++) {
        size_t first = miss ? QUERIES : 0, scanned = count > 1000 ? 16 : QUERIES;
        bench_figure scans = measure_questions(c, run_scans, first, scanned);
        snprintf(name, sizeof name, "choose among %s, 16 symbols, %s", label, miss ? "misses" : "hits");
        print_beside(name, measure_questions(c, run_selections, first, QUERIES), scans, "linear scan");
        print_beside("  names bound too", measure_questions(c, run_bound_selections, first, QUERIES), scans, "linear scan");
        bench_print("  linear scan", scans, "");
    }
    disperse(c);
}

/* The same few questions again: four symbols, as the first candidates of a key have. */
static void
measure_memo(void)
{
    static char const *const texts[] = { "s0 == 8 and s1 <= 64", "s2 % 8 == 0 and s3 <= s1", "s0 < 100 and s3 == 2*s2" };
    enum { COUNT = 3, ASKED = 8 };
    workload *c = calloc(1, sizeof *c);

    c->remembered = true;
    c->count = COUNT;
    c->guards = calloc(COUNT, sizeof(gci_guards *));
    for (uint32_t i = 0; i < COUNT; i++)
        c->guards[i] = compile(gci_view_text(texts[i]));
    build(c);
    for (size_t i = 0; i < ASKED; i++) {
        int64_t values[] = { (int64_t)(8 * i), 64, 16, (int64_t)(2 * i) };
        c->hints[i] = hints_of(symbol_names, values, 4, &c->names);
        gci_binding_set(c->binding, c->hints[i]);
        memcpy(c->values[i], frame_values(c), 4 * sizeof(int64_t));
    }
    bench_print("remembered, 4 symbols", measure_questions(c, run_selections, 0, ASKED), "");
    gci_selection found;
    require(gci_memo_find(&c->binding->memo, frame_values(c), 0, &found), "it is remembered");
    disperse(c);
}

int
main(int argc, char **argv)
{
    static struct {
        size_t count;
        char const *label;
    } const sizes[] = { { 10, "10" }, { 100, "100" }, { 1000, "1,000" }, { 10000, "10,000" }, { 100000, "100,000" } };
    char const *path = argc == 2 ? argv[1] : BENCH_SOURCE "/../fixtures/guards/torch.jsonl";

    if (argc == 3 && strcmp(argv[1], "--choose") == 0) {
        measure_crowd(strtoul(argv[2], NULL, 10), argv[2]);
        return 0;
    }
    measure_made_up();
    measure_recorded(path);
    measure_memo();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        measure_crowd(sizes[i].count, sizes[i].label);
    return 0;
}
