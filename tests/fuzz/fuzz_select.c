/* Candidates come, go and are asked for as the bytes say: the index must answer as trying each does, for whatever guards. */
#include "../unit/guards/selecting.h"

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

/* Enough for a selector of several segments; each answer tries all of them four times. */
#define MOST_CANDIDATES 100
#define MOST_BYTES 4096

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    chance c = { .bytes = data, .left = size < MOST_BYTES ? size : MOST_BYTES };

    if (size == 0)
        return 0;
    selecting *game = selecting_new(c, &selecting_made_up, MOST_CANDIDATES, NULL);
    while (!selecting_is_out_of_chance(game))
        selecting_turn(game);
    selecting_free(game);
    return 0;
}
