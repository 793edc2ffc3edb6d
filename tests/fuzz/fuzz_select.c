/*
 * Candidates are added and asked for as the bytes say: the index must answer as trying each does, for whatever guards.
 *
 * Compiling would take most of the time. Lists that were compiled for inputs before are kept and used again: they never
 * change, and most of an input's are those of the one it was made from.
 */
#include "../unit/guards/selecting.h"

#include "base/digest.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

/* Enough for an index; each answer tries all of them. */
#define MOST_CANDIDATES 40
#define MOST_BYTES 224

/* A power of 2; half of them are used, a few hundred bytes each. */
#define KEPT_LISTS ((size_t)1 << 16)

typedef struct kept {
    gci_guards *guards;
    uint64_t hash; /* of its texts */
} kept;

static kept lists[KEPT_LISTS];
static size_t kept_count;

static uint64_t
hash_texts(gci_buf const *texts, size_t count)
{
    uint64_t hash = count;

    for (size_t i = 0; i < count; i++)
        hash = gci_hash64(texts[i].data, texts[i].size, hash);
    return hash;
}

static kept *
find_list(uint64_t hash)
{
    size_t at = hash & (KEPT_LISTS - 1);

    while (lists[at].guards != NULL && lists[at].hash != hash)
        at = (at + 1) & (KEPT_LISTS - 1);
    return &lists[at];
}

/* Between games: what is kept may be in use during one. */
static void
forget_lists(void)
{
    for (size_t i = 0; i < KEPT_LISTS; i++)
        gci_guards_free(lists[i].guards);
    memset(lists, 0, sizeof lists);
    kept_count = 0;
}

static gci_guards *
make_guards(void *state, chance *c)
{
    gci_buf texts[SELECTING_TEXTS];
    size_t count = selecting_make_texts(c, texts);
    uint64_t hash = hash_texts(texts, count);
    kept *list = find_list(hash);

    (void)state;
    if (list->guards == NULL) {
        *list = (kept){ selecting_compile(texts, count), hash };
        kept_count++;
    }
    for (size_t i = 0; i < count; i++)
        gci_buf_clear(&texts[i]);
    return list->guards;
}

static void
keep(void *state, gci_guards *guards)
{
    (void)state;
    (void)guards;
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    chance c = { .bytes = data, .left = size < MOST_BYTES ? size : MOST_BYTES };
    selecting_source source = { make_guards, selecting_made_up.hints, NULL, keep };

    if (size == 0)
        return 0;
    if (kept_count > KEPT_LISTS / 2)
        forget_lists();
    selecting *game = selecting_new(c, &source, MOST_CANDIDATES, NULL);
    while (!selecting_is_out_of_chance(game))
        selecting_turn(game);
    selecting_free(game);
    return 0;
}
