/* The circuit breaker's three states: see breaker.h. */
#include "tier/breaker.h"

#include <unistd.h>

bool
gci_breaker_admit(gci_breaker *breaker, uint64_t now_ns, uint64_t *out_left_ns)
{
    uint64_t until = atomic_load(&breaker->until_ns);
    int here = (int)getpid(), prober = atomic_load(&breaker->probing);

    *out_left_ns = 0;
    if (until == 0)
        return true;
    if (now_ns < until) {
        *out_left_ns = until - now_ns;
        return false;
    }
    return prober != here && atomic_compare_exchange_strong(&breaker->probing, &prober, here);
}

gci_breaker_change
gci_breaker_report(gci_breaker *breaker, uint64_t now_ns, bool trouble)
{
    if (!trouble) {
        if (atomic_load(&breaker->until_ns) == 0 || atomic_exchange(&breaker->until_ns, 0) == 0)
            return GCI_BREAKER_SAME;
        atomic_store(&breaker->pause_ns, 0);
        atomic_store(&breaker->probing, 0);
        return GCI_BREAKER_CLOSED;
    }
    uint64_t until = atomic_load(&breaker->until_ns);
    bool was_closed = until == 0;
    /* Calls that were under way when another one opened it say nothing new. */
    if (until > now_ns)
        return GCI_BREAKER_SAME;
    uint64_t pause = atomic_load(&breaker->pause_ns);
    pause = pause != 0 ? pause : GCI_BREAKER_FIRST_NS;
    if (!atomic_compare_exchange_strong(&breaker->until_ns, &until, now_ns + pause))
        return GCI_BREAKER_SAME;
    atomic_store(&breaker->pause_ns, pause * 2 < GCI_BREAKER_MOST_NS ? pause * 2 : GCI_BREAKER_MOST_NS);
    atomic_fetch_add(&breaker->openings, 1);
    atomic_store(&breaker->probing, 0);
    return was_closed ? GCI_BREAKER_OPENED : GCI_BREAKER_SAME;
}
