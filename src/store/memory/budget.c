/* Bytes of what is held in memory, for all holders and for each. */
#include "store/memory/budget.h"

#include <stdlib.h>

gci_budget *
gci_budget_new(void)
{
    gci_budget *budget = calloc(1, sizeof *budget);

    if (budget != NULL)
        atomic_store(&budget->references, 1);
    return budget;
}

void
gci_budget_release(gci_budget *budget)
{
    if (budget != NULL && atomic_fetch_sub(&budget->references, 1) == 1)
        free(budget);
}

/* ---- accounts ---- */

void
gci_account_open(gci_account *account, gci_budget *budget, size_t bytes)
{
    account->budget = budget;
    if (budget != NULL)
        atomic_fetch_add(&budget->references, 1);
    gci_account_add(account, bytes);
}

void
gci_account_add(gci_account *account, size_t bytes)
{
    atomic_fetch_add(&account->bytes, bytes);
    if (account->budget != NULL)
        atomic_fetch_add(&account->budget->bytes, bytes);
}

void
gci_account_close(gci_account *account)
{
    if (account->budget != NULL)
        atomic_fetch_sub(&account->budget->bytes, atomic_load(&account->bytes));
    gci_budget_release(account->budget);
}

/* ---- what hangs on something ---- */

void *
gci_extra_set(gci_extra *extra, gci_account *account, void *value, size_t cost, void (*destroy)(void *value))
{
    void *expected = NULL;

    /* The same function for everybody who sets this extra, so that writing it twice is harmless. */
    atomic_store(&extra->destroy, destroy);
    if (!atomic_compare_exchange_strong(&extra->value, &expected, value)) {
        destroy(value);
        return expected;
    }
    gci_account_add(account, cost);
    return value;
}

void
gci_extra_destroy(gci_extra *extra)
{
    void *value = atomic_load(&extra->value);

    if (value != NULL)
        atomic_load(&extra->destroy)(value);
}
