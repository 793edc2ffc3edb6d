/*
 * SQLite and fork. SQLite keeps one list of open files a process, with the locks that it believes to hold, behind mutexes of
 * its own. A child that is forked while another thread is in SQLite inherits all that: its own connections wait for ever for
 * locks that nobody gives back. So a fork waits until nobody is in SQLite, and closes the connections that stay open between
 * calls, which their owners open again when they next need them. A child inherits none.
 *
 * Invariants:
 *  1. All work with a connection, opening and closing it included, is done between enter and leave.
 *  2. Whoever is inside waits for no thread that isn't, but for bounded times: enter is the last lock that is taken.
 *  3. A fork waits for a bounded time. A child of one that waited in vain, or that was made from inside, is refused SQLite:
 *     it would hang there.
 *
 * State of the process, since that is what SQLite's list belongs to.
 */
#ifndef GCI_STORE_PROCESSES_FORK_GATE_H
#define GCI_STORE_PROCESSES_FORK_GATE_H

#include <stdbool.h>

/* Why somebody is refused. */
#define GCI_FORK_GATE_SHUT "the process was forked while a thread was writing to or reading from it"

/* Who keeps a connection open between calls. */
typedef struct gci_fork_guest {
    void (*disconnect)(void *state);
    void *state;
    bool listed;
    struct gci_fork_guest *previous, *next;
} gci_fork_guest;

/* A thread may enter again while it is inside. false: refused (invariant 3), and there is nothing to leave. */
bool gci_fork_gate_enter(void);
void gci_fork_gate_leave(void);

/* Between enter and leave: from now on, until it is taken off the list or was called, a fork calls disconnect. */
void gci_fork_guest_add(gci_fork_guest *guest);
void gci_fork_guest_remove(gci_fork_guest *guest);

#endif
