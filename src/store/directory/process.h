/*
 * Processes, distinguished from all others that ever had their number: so what a dead one has left is recognised at once.
 */
#ifndef GCI_STORE_DIRECTORY_PROCESS_H
#define GCI_STORE_DIRECTORY_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct gci_process {
    uint64_t number; /* the process id */
    uint64_t start;  /* in ticks since boot */
    uint64_t boot;   /* hash of the kernel's boot id */
    uint64_t names;  /* inode of the process namespace */
} gci_process;

/* Parts that can't be found out are 0. */
gci_process gci_process_ourselves(void);

typedef enum gci_process_state {
    GCI_PROCESS_ALIVE,
    GCI_PROCESS_DEAD,
    GCI_PROCESS_OTHER_BOOT, /* of this machine before it was started anew, or of another machine now */
    GCI_PROCESS_UNKNOWN     /* in a process namespace that this one can't see into, or /proc isn't there */
} gci_process_state;

gci_process_state gci_process_judge(gci_process const *they);

#endif
