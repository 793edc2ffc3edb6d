/*
 * The gate as a table: a row for what closes ways, a bit a way.
 */
#include "cache/handle/gate.h"

#include "base/error.h"

/* The table of gate.h, a bit a way. */
#define L (1u << GCI_LOOK_UP)
#define S (1u << GCI_STORE)
#define W (1u << GCI_LEASE)
#define J (1u << GCI_JOURNAL)
#define B (1u << GCI_BROWSE)

static struct {
    unsigned closes;
    gcache_reason reason;
    char const *why;
} const rows[GCI_CLOSER_COUNT] = {
    [GCI_BY_NOBODY] = { 0, GCACHE_REASON_NONE, "" },
    [GCI_BY_DISABLED] = { L | S | W | J | B, GCACHE_REASON_DISABLED, "the cache is switched off" },
    [GCI_BY_BYPASS] = { L | S | W, GCACHE_REASON_BYPASS, NULL }, /* the bypass says it itself */
    [GCI_BY_READ_ONLY] = { S | W | J, GCACHE_REASON_NONE, "the cache is read-only" },
    [GCI_BY_READER] = { S | W, GCACHE_REASON_NONE, "another process is the one that writes" },
    [GCI_BY_REFRESH] = { L, GCACHE_REASON_REFRESH, "what is stored is ignored (refresh)" },
    [GCI_BY_NO_JOURNAL] = { J, GCACHE_REASON_NONE, "there is no journal" },
};

static char const *
bypass_of(gci_gate const *gate, gci_call const *call)
{
    if (gate->bypass != NULL)
        return gate->bypass;
    return call != NULL && call->request != NULL ? call->request->bypass : NULL;
}

static bool
holds(gci_gate const *gate, gci_call const *call, gci_closer row)
{
    switch (row) {
    case GCI_BY_DISABLED:
        return gate->disabled;
    case GCI_BY_BYPASS:
        return bypass_of(gate, call) != NULL;
    case GCI_BY_READ_ONLY:
        return gate->read_only;
    case GCI_BY_READER:
        return call != NULL && call->reader;
    case GCI_BY_REFRESH:
        return gate->refresh || (call != NULL && call->refresh);
    case GCI_BY_NO_JOURNAL:
        return gate->no_journal;
    case GCI_BY_NOBODY:
    case GCI_CLOSER_COUNT:
        break;
    }
    return false;
}

gci_admission
gci_admit(gci_gate const *gate, gci_call const *call, gci_way way)
{
    unsigned row = GCI_BY_DISABLED;

    while (row < GCI_CLOSER_COUNT && !((rows[row].closes >> way & 1) != 0 && holds(gate, call, (gci_closer)row)))
        row++;
    if (row == GCI_CLOSER_COUNT)
        row = GCI_BY_NOBODY;
    return (gci_admission){ .by = (gci_closer)row,
                            .reason = rows[row].reason,
                            .why = rows[row].why != NULL ? rows[row].why : bypass_of(gate, call) };
}

bool
gci_is_open(gci_gate const *gate, gci_way way)
{
    return gci_admit(gate, NULL, way).by == GCI_BY_NOBODY;
}

gcache_status
gci_pass(gci_gate const *gate, gci_call const *call, gci_way way, gcache_error *error)
{
    gci_admission admission = gci_admit(gate, call, way);
    bool unwritable = admission.by == GCI_BY_READ_ONLY || admission.by == GCI_BY_READER;

    if (admission.by == GCI_BY_NOBODY)
        return GCACHE_OK;
    return gci_fail(error, unwritable ? GCACHE_ERROR_READ_ONLY : GCACHE_REFUSED, "%s", admission.why);
}
