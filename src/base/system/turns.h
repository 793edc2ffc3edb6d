/*
 * A mutex that keeps nobody waiting for good: who comes while it is held may still be faster than those who wait, as with any
 * mutex, but not once the first of these has waited for a millisecond. Then it is handed over.
 *
 * (The same compromise as in Go's sync.Mutex: handing over each time would cost a change of threads each time.)
 */
#ifndef GCI_BASE_TURNS_H
#define GCI_BASE_TURNS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct gci_turns {
    pthread_mutex_t mutex; /* of what follows */
    bool held;
    struct gci_turns_waiter *first; /* in the order in which they came */
} gci_turns;

void gci_turns_init(gci_turns *turns);
/* Nobody waits for it or has it. */
void gci_turns_clear(gci_turns *turns);

/* false: others have had it for wait_ns. */
bool gci_turns_lock(gci_turns *turns, uint64_t wait_ns);
void gci_turns_unlock(gci_turns *turns);

#endif
