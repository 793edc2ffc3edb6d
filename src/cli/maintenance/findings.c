/*
 * Problems that verify, repair and gc report, as lines or as JSON, with progress on a terminal.
 */
#include "cli/maintenance/findings.h"

#define FIRST_ROOM 16

cli_findings
cli_findings_of(cli_call *call, bool json)
{
    return (cli_findings){ .json = json, .arena = &call->arena, .list = { .type = GCI_LIST } };
}

void
cli_findings_count(cli_findings *findings)
{
    cli_progress_end(&findings->progress);
    findings->count++;
}

/* Without memory the arena remembers, and the printing of the object fails. */
void
cli_findings_add(cli_findings *findings, cli_object const *object)
{
    gci_value *list = &findings->list;

    if (list->count == findings->room) {
        size_t room = findings->room == 0 ? FIRST_ROOM : findings->room * 2;
        gci_value larger = cli_list_of(findings->arena, room);
        if (larger.items == NULL)
            return;
        if (list->count != 0)
            memcpy(larger.items, list->items, list->count * sizeof *list->items);
        list->items = larger.items;
        findings->room = room;
    }
    list->items[list->count++] = object->map;
}

static void
report_problem(void *state, char const *path, char const *problem)
{
    cli_findings *findings = state;

    cli_findings_count(findings);
    if (!findings->json) {
        cli_print("%s: %s\n", path, problem);
        return;
    }
    cli_object object = cli_object_new(findings->arena);
    cli_object_set_text(&object, "path", path);
    cli_object_set_text(&object, "problem", problem);
    cli_findings_add(findings, &object);
}

static void
show_progress(void *state, uint64_t done, uint64_t total)
{
    cli_findings *findings = state;

    cli_progress_of(&findings->progress, findings->label, done, total);
}

gcache_maintenance_options
cli_findings_options(cli_findings *findings, char const *label, int threads)
{
    findings->label = label;
    return (gcache_maintenance_options){ .size = sizeof(gcache_maintenance_options), .problem = report_problem,
                                   .progress = show_progress, .state = findings, .threads = threads };
}
