/*
 * What verify, repair, gc and doctor share: findings that come one by one are printed as they come, or gathered for the one
 * object that --json prints; a bar shows how far the work has come.
 */
#ifndef GCI_CLI_MAINTENANCE_FINDINGS_H
#define GCI_CLI_MAINTENANCE_FINDINGS_H

#include "cli/shared/cli.h"
#include "cli/shared/object.h"
#include "cli/shared/progress.h"

#include <guardcache/maintenance.h>

typedef struct cli_findings {
    bool json;
    gci_arena *arena; /* the call's */
    gci_value list; /* with --json: an object a finding */
    size_t room;    /* of list.items */
    cli_progress progress;
    char const *label; /* of it */
    uint64_t count;
} cli_findings;

cli_findings cli_findings_of(cli_call *call, bool json);

/* Counts a finding and takes the bar away: the caller prints a line. */
void cli_findings_count(cli_findings *findings);
/* Puts an object behind the others. */
void cli_findings_add(cli_findings *findings, cli_object const *object);

/* Callbacks that add to `findings`: problems, and progress under a label. */
gcache_maintenance_options cli_findings_options(cli_findings *findings, char const *label, int threads);

#endif
