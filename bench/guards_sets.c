#include "guards_sets.h"

#include "base/text/json.h"
#include "harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE ((size_t)16 << 20)

static int
compare_hints(void const *left, void const *right)
{
    gcache_hint const *a = left, *b = right;

    return strcmp(a->name, b->name);
}

bench_case *
bench_add_case(bench_cases *cases, gci_view guard, gcache_hint const *hints, size_t hint_count)
{
    gcache_hint sorted[64];

    if (hint_count > 64)
        bench_die("a case", "more than 64 hints");
    if (cases->count == cases->room) {
        cases->room = cases->room != 0 ? 2 * cases->room : 64;
        cases->items = realloc(cases->items, cases->room * sizeof *cases->items);
    }
    memcpy(sorted, hints, hint_count * sizeof *hints);
    qsort(sorted, hint_count, sizeof *sorted, compare_hints);
    bench_case *c = &cases->items[cases->count++];
    *c = (bench_case){ .guard = gci_arena_copy(&cases->arena, guard).data, .name_count = hint_count };
    c->names = gci_arena_array(&cases->arena, hint_count, sizeof *c->names);
    c->values = gci_arena_array(&cases->arena, hint_count, sizeof *c->values);
    for (size_t i = 0; i < hint_count; i++) {
        c->names[i] = gci_arena_copy(&cases->arena, gci_view_text(sorted[i].name)).data;
        c->values[i] = sorted[i].value;
    }
    return c;
}

/* ---- recorded ---- */

static bool
read_hints(bench_cases *cases, gci_value const *evaluation, gcache_hint *out, size_t *out_count)
{
    gci_value const *map = gci_map_find(evaluation, "hints"), *result = gci_map_find(evaluation, "result");

    if (result->type != GCI_BOOL || !result->boolean || map->count > 64)
        return false;
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->members[i].value.type != GCI_INT)
            return false;
        out[i] = (gcache_hint){ gci_arena_copy(&cases->arena, map->members[i].name).data, map->members[i].value.integer };
    }
    *out_count = map->count;
    return true;
}

static void
read_line(bench_cases *cases, gci_view line)
{
    gcache_hint hints[64];
    size_t count;
    gci_value map;
    gcache_error error;

    if (gci_json_read(line, "line", &cases->arena, &map, &error) != GCACHE_OK)
        bench_die("a recorded guard", error.message);
    gci_value const *evaluations = gci_map_find(&map, "cases");
    for (uint32_t i = 0; i < evaluations->count; i++) {
        if (!read_hints(cases, &evaluations->items[i], hints, &count))
            continue;
        bench_add_case(cases, gci_map_find(&map, "guard")->text, hints, count)->timed = true;
        return;
    }
}

void
bench_read_recorded(bench_cases *cases, char const *path)
{
    char *text = malloc(MAX_FILE);
    FILE *file = fopen(path, "rb");

    if (text == NULL || file == NULL)
        bench_die(path, "can't be read; start it in the source tree, or name the file");
    size_t size = fread(text, 1, MAX_FILE, file);
    fclose(file);
    for (size_t at = 0; at < size;) {
        char const *end = memchr(text + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - text) - at : size - at;
        read_line(cases, gci_arena_copy(&cases->arena, gci_view_of(text + at, length)));
        at += length + 1;
    }
    free(text);
}

/* ---- made up ---- */

void
bench_add_six(bench_cases *cases, unsigned number)
{
    char guard[256];
    int64_t m = 2 + number % 15, s0 = m * (40 + number % 50), k = 3 + number % 1000;
    gcache_hint hints[] = { { "s0", s0 }, { "s1", 4 * s0 }, { "s2", k + 1 }, { "s3", k }, { "s4", 20 } };

    snprintf(guard, sizeof guard,
             "%lld <= s0 and s0 <= %lld and s0 %% %lld == 0 and s1 == s0*4 and s2 != %lld and s3*s4 < %lld",
             (long long)(s0 / 2), (long long)(2 * s0), (long long)m, (long long)k, (long long)(30 * k));
    bench_add_case(cases, gci_view_text(guard), hints, 5)->timed = number == 0;
}

static uint64_t
next(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random * UINT64_C(0x2545f4914f6cdd1d) >> 20;
}

static void
add_conjunct(gci_buf *out, uint64_t *random, int symbol, unsigned kind, int64_t *value)
{
    if (kind >= 7)
        return;
    gci_buf_append_text(out, out->size != 0 ? " and " : "");
    if (kind < 3) {
        *value = (int64_t)(8 * (1 + next(random) % 64));
        gci_buf_format(out, "s%d == %lld", symbol, (long long)*value);
    } else {
        int64_t low = (int64_t)1 << next(random) % 8, high = low << (1 + next(random) % 5);
        *value = low + (int64_t)(next(random) % (uint64_t)(high - low + 1));
        gci_buf_format(out, "%lld <= s%d and s%d <= %lld", (long long)low, symbol, symbol, (long long)high);
    }
}

void
bench_make_candidate(uint64_t *random, gci_buf *out_guard, int64_t out_values[BENCH_SYMBOLS])
{
    uint64_t pattern = 0x9e3779b97f4a7c15u * (1 + next(random) % 8);

    out_guard->size = 0;
    for (int i = 0; i < BENCH_SYMBOLS; i++) {
        out_values[i] = (int64_t)(1 + next(random) % 1024);
        pattern = pattern * 6364136223846793005u + 1442695040888963407u;
        add_conjunct(out_guard, random, i, (unsigned)(pattern >> 33) % 10, &out_values[i]);
    }
    if (out_guard->size == 0 || next(random) % 4 == 0) {
        int64_t m = (int64_t)1 << (1 + next(random) % 3);
        gci_buf_format(out_guard, "%ss3 %% %lld == %lld", out_guard->size != 0 ? " and " : "", (long long)m,
                       (long long)(out_values[3] % m));
    }
    if (next(random) % 4 == 0)
        gci_buf_format(out_guard, "%ss5*s6 <= %lld", out_guard->size != 0 ? " and " : "",
                       (long long)(2 * out_values[5] * out_values[6]));
}
