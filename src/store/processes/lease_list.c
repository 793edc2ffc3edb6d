/*
 * The list of leases that this process holds.
 */
#include "store/processes/lease_list.h"

#include "base/check.h"

#include <string.h>

void
gci_leases_init(gci_leases *leases)
{
    *leases = (gci_leases){ 0 };
    pthread_mutex_init(&leases->mutex, NULL);
}

void
gci_leases_close(gci_leases *leases)
{
    GCI_ASSERT(leases->held == NULL);
    pthread_mutex_destroy(&leases->mutex);
}

void
gci_leases_after_fork(gci_leases *leases)
{
    for (gci_lease *lease = leases->held; lease != NULL; lease = lease->next)
        gci_file_close(&lease->file);
    leases->held = NULL;
    pthread_mutex_init(&leases->mutex, NULL);
}

void
gci_leases_join(gci_leases *leases, gci_lease *lease)
{
    pthread_mutex_lock(&leases->mutex);
    lease->next = leases->held;
    leases->held = lease;
    pthread_mutex_unlock(&leases->mutex);
}

void
gci_leases_leave(gci_leases *leases, gci_lease *lease)
{
    pthread_mutex_lock(&leases->mutex);
    for (gci_lease **link = &leases->held; *link != NULL; link = &(*link)->next) {
        if (*link == lease) {
            *link = lease->next;
            break;
        }
    }
    pthread_mutex_unlock(&leases->mutex);
}

bool
gci_leases_have(gci_leases *leases, gci_path const *path)
{
    bool held = false;

    pthread_mutex_lock(&leases->mutex);
    for (gci_lease *lease = leases->held; lease != NULL; lease = lease->next)
        held |= strcmp(lease->path.text, path->text) == 0 &&
                pthread_equal(lease->thread, pthread_self()) && !lease->handed_over;
    pthread_mutex_unlock(&leases->mutex);
    return held;
}

gci_lease *
gci_leases_next(gci_leases const *leases, gci_lease const *lease, gcache_key const *key)
{
    gci_lease *next = lease != NULL ? lease->next : leases->held;

    while (next != NULL && (next->handed_over || !pthread_equal(next->thread, pthread_self()) ||
                            memcmp(next->about, key->bytes, sizeof next->about) != 0))
        next = next->next;
    return next;
}
