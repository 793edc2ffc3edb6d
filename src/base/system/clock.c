/*
 * The clocks: one for durations, one for dates.
 */
#include "base/system/clock.h"

/* A person who wants it to end doesn't notice. */
#define ASK_NS UINT64_C(50000000)

static uint64_t
read_clock(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return gci_timespec_ns(now);
}

uint64_t
gci_clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

uint64_t
gci_clock_steady_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t
gci_clock_coarse_ns(void)
{
    return read_clock(CLOCK_REALTIME_COARSE);
}

gci_pauses
gci_pauses_of(uint64_t first_ns, uint64_t most_ns, uint64_t wait_ns)
{
    uint64_t now = gci_clock_steady_ns(), end_ns = wait_ns < UINT64_MAX - now ? now + wait_ns : UINT64_MAX;

    return (gci_pauses){ .next_ns = first_ns, .most_ns = most_ns, .end_ns = end_ns };
}

gci_pauses
gci_pauses_with(uint64_t first_ns, uint64_t most_ns, gci_patience const *patience)
{
    gci_pauses pauses = gci_pauses_of(first_ns, most_ns, patience->wait_ns);

    pauses.patience = *patience;
    return pauses;
}

static bool
has_patience(gci_pauses *pauses, uint64_t now)
{
    gci_patience const *patience = &pauses->patience;

    if (patience->keep_waiting == NULL || now - pauses->asked_ns < ASK_NS)
        return true;
    pauses->asked_ns = now;
    return patience->keep_waiting(patience->state);
}

bool
gci_clock_pause(gci_pauses *pauses)
{
    uint64_t now = gci_clock_steady_ns();

    if (now >= pauses->end_ns || !has_patience(pauses, now))
        return false;
    uint64_t left = pauses->end_ns - now, nap = left < pauses->next_ns ? left : pauses->next_ns;
    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = (long)nap }, NULL);
    pauses->next_ns = 2 * pauses->next_ns < pauses->most_ns ? 2 * pauses->next_ns : pauses->most_ns;
    return true;
}

struct timespec
gci_clock_deadline(uint64_t wait_ns)
{
    uint64_t end = gci_clock_wall_ns() + wait_ns;

    return (struct timespec){ .tv_sec = (time_t)(end / GCI_SECOND_NS), .tv_nsec = (long)(end % GCI_SECOND_NS) };
}
