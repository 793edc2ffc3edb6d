/*
 * Selection: the index's answer is that of trying every candidate in rank order, whatever the guards, hints and history;
 * over made-up guards and over those that PyTorch and JAX wrote (fixtures/guards).
 *
 *   test_select [--count N] [--seed N] [--tell FILE]    default 3000 answers and seed 1
 *
 * With --tell a part of the answers is written for selections.py, which asks Python. The seed of each game is printed.
 */
#include "selecting.h"

#include "base/arena.h"
#include "base/text/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE ((size_t)64 << 20)
#define MAX_RECORDED 1000

/* Candidates of a game: so that selectors stay linear, get an index, and rows of several words. */
static uint32_t const limits[] = { 60, 20, 150, 400 };

static void
die(char const *what, char const *why)
{
    fprintf(stderr, "test_select: %s: %s\n", what, why);
    exit(2);
}

/* ---- recorded guards ---- */

typedef struct recorded {
    gci_arena arena;
    struct line {
        gci_view guard;
        gci_value const *cases;
    } lines[MAX_RECORDED];
    int count;
} recorded;

static void
read_line(recorded *r, gci_view text)
{
    gci_value *map = GCI_ARENA_NEW(&r->arena, gci_value);
    gcache_error error;

    if (map == NULL || gci_json_read(text, "line", &r->arena, map, &error) != GCACHE_OK)
        die("a recorded guard", error.message);
    if (r->count < MAX_RECORDED)
        r->lines[r->count++] = (struct line){ gci_map_find(map, "guard")->text, gci_map_find(map, "cases") };
}

static void
read_file(recorded *r, char const *source, char const *name)
{
    static char text[MAX_FILE];
    char path[4096];

    snprintf(path, sizeof path, "%s/fixtures/guards/%s", source, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        die(path, "can't be read");
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    for (size_t at = 0; at < size;) {
        char const *end = memchr(text + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - text) - at : size - at;
        read_line(r, gci_arena_copy(&r->arena, gci_view_of(text + at, length)));
        at += length + 1;
    }
}

/* One or two recorded guards: a candidate of PyTorch's has one, of ours it may have more. */
static gci_guards *
recorded_guards(void *state, chance *c)
{
    recorded const *r = state;
    gci_view texts[2];
    gci_guards *guards = NULL;
    size_t count = chance_below(c, 4) == 0 ? 2 : 1;

    for (size_t i = 0; i < count; i++)
        texts[i] = r->lines[chance_below(c, r->count)].guard;
    if (gci_guards_compile(texts, count, (gci_naming){ NULL, NULL }, &guards, NULL) != GCACHE_OK)
        die("a recorded guard", "doesn't compile");
    return guards;
}

/* Puts a hint in, in place of an earlier one of its name. */
static void
bind(gcache_hint *items, size_t *count, size_t room, gcache_hint hint)
{
    size_t at = 0;

    while (at < *count && strcmp(items[at].name, hint.name) != 0)
        at++;
    if (at == room)
        return;
    items[at] = hint;
    *count += at == *count;
}

/* What some recorded evaluations were made with, the later ones in place of the earlier, here and there changed. */
static gci_hints *
recorded_hints(void *state, chance *c)
{
    recorded const *r = state;
    gcache_hint items[64];
    gcache_hint_literal odd = { "t0", chance_below(c, 2) == 0 ? "1.5" : "None" };
    gcache_hints hints = { .items = items };

    for (int sources = 1 + chance_below(c, 3); sources > 0; sources--) {
        gci_value const *cases = r->lines[chance_below(c, r->count)].cases;
        gci_value const *map = gci_map_find(&cases->items[chance_below(c, (int)cases->count)], "hints");
        for (uint32_t i = 0; i < map->count; i++) {
            int64_t value = map->members[i].value.type == GCI_INT ? map->members[i].value.integer : 0;
            int change = chance_below(c, 40);
            value = change == 0 ? 0 : change == 1 ? -1 : change == 2 ? INT64_MAX : value;
            bind(items, &hints.count, 64, (gcache_hint){ map->members[i].name.data, value });
        }
    }
    if (chance_below(c, 50) == 0 && (hints.count == 0 || strcmp(items[0].name, "t0") != 0)) {
        bind(items, &hints.count, 64, (gcache_hint){ "t0", 0 });
        for (size_t i = 0; i < hints.count; i++)
            if (strcmp(items[i].name, "t0") == 0)
                items[i] = items[--hints.count];
        hints.literals = &odd;
        hints.literal_count = 1;
    }
    gci_hints *read = selecting_bind(&hints);
    if (read == NULL)
        die("recorded hints", "can't be bound");
    return read;
}

/* ---- games ---- */

typedef struct options {
    uint64_t count, seed;
    FILE *tell;
} options;

static uint64_t
play(uint64_t seed, selecting_source const *source, uint32_t limit, options const *o)
{
    selecting *game = selecting_new((chance){ .random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1 }, source, limit, o->tell);

    for (uint64_t turns = 4 * limit + 40; turns > 0; turns--)
        selecting_turn(game);
    uint64_t asked = selecting_asked(game);
    selecting_free(game);
    return asked;
}

static options
read_options(int argc, char **argv)
{
    options o = { .count = 3000, .seed = 1 };

    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--count") == 0)
            o.count = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            o.seed = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--tell") == 0 && (o.tell = fopen(argv[i + 1], "w")) != NULL)
            continue;
        else
            die(argv[i], "not an option, or its file can't be written");
    }
    return o;
}

int
main(int argc, char **argv)
{
    static recorded real;
    char const *source = getenv("GUARDCACHE_SOURCE");
    options o = read_options(argc, argv);
    selecting_source const sources[] = { selecting_made_up, { recorded_guards, recorded_hints, &real, NULL } };
    uint64_t asked = 0, games = 0;

    gci_arena_init(&real.arena, SIZE_MAX / 2);
    read_file(&real, source != NULL ? source : ".", "torch.jsonl");
    read_file(&real, source != NULL ? source : ".", "jax.jsonl");
    for (; asked < o.count; games++) {
        uint64_t seed = o.seed + games;
        printf("seed %" PRIu64 "\n", seed);
        fflush(stdout);
        asked += play(seed, &sources[games % 2], limits[games / 2 % 4], &o);
    }
    printf("%" PRIu64 " answers of %" PRIu64 " games are those of trying one by one\n", asked, games);
    gci_arena_clear(&real.arena);
    return o.tell != NULL && fclose(o.tell) != 0 ? 2 : 0;
}
