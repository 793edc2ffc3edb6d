/* Prints the byte table of every binary format, as docs/formats/ has them: for check_formats.py. */
#include "base/fields.h"
#include "cache/compile/meeting.h"
#include "cache/journal/journal_entry.h"
#include "cache/transfer/transfer_file.h"
#include "cache/tuning/tier_rows.h"
#include "cache/tuning/tuning_rows.h"
#include "graph/fingerprint/fingerprint_run.h"
#include "guards/program/program.h"
#include "store/database/event_log.h"
#include "store/format/candidate_index.h"
#include "store/format/describe.h"
#include "store/format/record.h"
#include "store/index/drain.h"
#include "store/index/tables.h"
#include "store/index/tombstones.h"
#include "store/lease.h"
#include "tier/object/head.h"

#include <stdio.h>

static gci_fields const *const tables[] = {
    &gci_prologue_fields,
    &gci_record_fields,
    &gci_signature_fields,
    &gci_ed25519_fields,
    &gci_description_fields,
    &gci_pack_header_fields,
    &gci_tombstone_fields,
    &gci_segment_fields,
    &gci_event_fields,
    &gci_inserted_fields, &gci_sketched_fields,
    &gci_touched_fields,
    &gci_removed_fields,
    &gci_kept_fields,
    &gci_counted_fields,
    &gci_lease_fields,
    &gci_program_fields,
    &gci_share_fields,
    &gci_timing_fields,
    &gci_best_fields,
    &gci_index_header_fields,
    &gci_index_file_fields,
    &gci_transfer_header_fields,
    &gci_transfer_trailer_fields,
    &gci_blob_fields,
    &gci_artifact_fields,
    &gci_row_fields,
    &gci_remote_head_fields,
    &gci_tier_rows_fields,
};

/* What a size is called where it depends on the value; NULL: it is field->size. */
static char const *
size_of(gci_field const *field)
{
    switch (field->type) {
    case GCI_FIELD_TEXT:
    case GCI_FIELD_STRING:
    case GCI_FIELD_CHARS:
        return "text";
    case GCI_FIELD_OPTION:
        return "option";
    case GCI_FIELD_LIST:
        return "list";
    case GCI_FIELD_SUM64:
        return "8";
    case GCI_FIELD_SUM128:
        return "16";
    default:
        return NULL;
    }
}

static void
print_size(gci_field const *field)
{
    char const *size = size_of(field);

    if (size != NULL)
        printf("%s", size);
    else
        printf("%zu", field->type == GCI_FIELD_STRUCT ? gci_fields_least(field->item) : field->size);
}

/* "name (text), value (8)": what an item of a list consists of. */
static void
print_item(gci_fields const *item)
{
    for (size_t i = 0; i < item->count; i++) {
        gci_field const *field = &item->fields[i];
        printf("%s%s (", i > 0 ? ", " : "", field->name);
        print_size(field);
        if (field->item != NULL) {
            printf(" of ");
            print_item(field->item);
        }
        printf("%s%s)", field->what[0] != '\0' ? ": " : "", field->what);
    }
}

/* Whether it has a table of its own. */
static bool
is_listed(gci_fields const *item)
{
    for (size_t i = 0; i < GCI_JOURNAL_TABLES; i++)
        if (gci_journal_tables[i] == item)
            return true;
    return false;
}

static char const *
implied(gci_field const *field)
{
    return field->type == GCI_FIELD_SUM64 ? "XXH3-64 of the bytes before" : "XXH3-128 (low, high) of the bytes before";
}

static void
print_what(gci_field const *field)
{
    bool is_sum = field->type == GCI_FIELD_SUM64 || field->type == GCI_FIELD_SUM128;

    printf("%s", field->what[0] == '\0' && is_sum ? implied(field) : field->what);
    if (field->item == NULL || field->item == &gci_text_item || is_listed(field->item))
        return;
    printf("%s", field->what[0] != '\0' ? ": " : "");
    print_item(field->item);
}

static bool
is_fixed(gci_fields const *table)
{
    for (size_t i = 0; i < table->count; i++) {
        char const *size = size_of(&table->fields[i]);
        if (size != NULL && size[0] >= 'a')
            return false;
    }
    return true;
}

static void
print_table(gci_fields const *table)
{
    bool fixed = is_fixed(table);
    size_t at = 0;

    printf("%s\n%s| size | %s | what |\n%s| --- | --- | --- |\n", table->name, fixed ? "| at " : "", "field",
           fixed ? "| --- " : "");
    for (size_t i = 0; i < table->count; i++) {
        gci_field const *field = &table->fields[i];
        gci_fields one = { .fields = field, .count = 1 };
        if (fixed)
            printf("| %zu ", at);
        printf("| ");
        print_size(field);
        printf(" | %s | ", field->name);
        print_what(field);
        printf(" |\n");
        at += gci_fields_least(&one);
    }
    printf("\n");
}

int
main(void)
{
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        print_table(tables[i]);
    for (size_t i = 0; i < GCI_JOURNAL_TABLES; i++)
        print_table(gci_journal_tables[i]);
    return 0;
}
