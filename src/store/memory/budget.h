/*
 * How much memory what was read takes. The budget counts the bytes of all living runs, sets and payloads, whoever holds
 * them; an account is one of those holders' share.
 */
#ifndef GCI_STORE_MEMORY_BUDGET_H
#define GCI_STORE_MEMORY_BUDGET_H

#include "store/memory/candidate_set.h"
#include <stdatomic.h>

/* Lives as long as the last that is charged to it. */
typedef struct gci_budget {
    _Atomic uint32_t references;
    _Atomic size_t bytes;
} gci_budget;

struct gci_account {
    gci_budget *budget; /* NULL: not counted */
    _Atomic size_t bytes;
};

gci_budget *gci_budget_new(void);
void gci_budget_release(gci_budget *budget);

/* budget may be NULL. */
void gci_account_open(gci_account *account, gci_budget *budget, size_t bytes);
void gci_account_add(gci_account *account, size_t bytes);
void gci_account_close(gci_account *account);

void gci_extra_destroy(gci_extra *extra);

#endif
