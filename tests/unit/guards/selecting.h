/*
 * Selectors of more and more candidates that are asked, at random, each answer compared with trying every candidate one by
 * one. Chance is a seed or a fuzzer's bytes. A difference ends the program.
 */
#ifndef TESTS_UNIT_GUARDS_SELECTING_H
#define TESTS_UNIT_GUARDS_SELECTING_H

#include "guards/guards.h"

#include <stdio.h>

/* Where choices come from: a generator's state or, if there are bytes, those, and nothing but 0 behind them. */
typedef struct chance {
    uint64_t random;
    uint8_t const *bytes;
    size_t left;
} chance;

int chance_below(chance *c, int limit);

typedef struct selecting selecting;

/* Hints by themselves, or NULL; the names must outlive them. selecting_free_hints takes NULL. */
gci_hints *selecting_bind(gcache_hints const *source);
void selecting_free_hints(gci_hints *hints);

/* What guards and hints are made of. hints may be NULL: made up. The list is freed by the game, or, if there is keep, given to
   it. */
typedef struct selecting_source {
    gci_guards *(*guards)(void *state, chance *c);
    gci_hints *(*hints)(void *state, chance *c);
    void *state;
    void (*keep)(void *state, gci_guards *guards);
} selecting_source;

/* Conjuncts over s0..s5, some of which raise, in `or` and conditionals too; and hints of every kind for them. */
extern selecting_source const selecting_made_up;

/* The texts of such a list, at most SELECTING_TEXTS, for whoever compiles them; the buffers are initialised and to be cleared. */
#define SELECTING_TEXTS 3
size_t selecting_make_texts(chance *c, gci_buf *out_texts);
gci_guards *selecting_compile(gci_buf const *texts, size_t count);

/*
 * Starts a game of at most `limit` candidates. tell may be NULL; else some answers are written there, a JSON object a line
 * (selections.py reads them).
 */
selecting *selecting_new(chance c, selecting_source const *source, uint32_t limit, FILE *tell);
void selecting_free(selecting *game);

/* Adds candidates, or asks. */
void selecting_turn(selecting *game);

/* true: the bytes are used up. */
bool selecting_is_out_of_chance(selecting const *game);

/* Answers compared so far. */
uint64_t selecting_asked(selecting const *game);

#endif
