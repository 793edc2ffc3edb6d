/*
 * Where two records of golden files differ, as rows of text. Hashes that differ are counted only.
 */
#ifndef GCI_CLI_GOLDEN_GOLDEN_ROWS_H
#define GCI_CLI_GOLDEN_GOLDEN_ROWS_H

#include "cli/golden/golden_change.h"

typedef struct cli_rows {
    gci_buf text, path; /* the caller clears both; one that failed had no memory */
    size_t count;       /* also of those that aren't shown */
    cli_hashes hashes;
} cli_rows;

void cli_rows_init(cli_rows *out);
/* Adds rows for the places where two values differ, as deep as they are alike in kind. NULL: it isn't there. */
void cli_rows_compare(cli_rows *out, gci_view name, gci_value const *was, gci_value const *is);
void cli_rows_compare_members(cli_rows *out, gci_value const *was, gci_value const *is);
/* Says how many weren't shown. */
void cli_rows_end(cli_rows *rows);

#endif
