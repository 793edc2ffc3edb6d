/*
 * A folder in memory that a fuzz target's files live in, removed when the process ends. It is made anew after some hundred
 * inputs, so that what they leave behind stays small; an input that fails only behind others is kept with them by the fuzzer.
 */
#ifndef GUARDCACHE_TESTS_FUZZ_PLACE_H
#define GUARDCACHE_TESTS_FUZZ_PLACE_H

#include "base/view.h"

#include <stdbool.h>

/* To be called for each input. true: the folder was made just now and is empty. */
bool place_next(void);

/* "FOLDER/NAME", valid until the next call but three. */
char const *place_path(char const *name);

/* Writes a file of the folder. */
void place_write(char const *name, gci_view bytes);

#endif
