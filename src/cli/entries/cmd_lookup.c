/*
 * guardcache lookup: a lookup as a program makes it, its payload into a file.
 */
#include "base/error.h"
#include "base/system/file.h"
#include "cli/shared/cli.h"
#include "cli/shared/object.h"
#include "cli/shared/question.h"

#include <stdio.h>

typedef struct options {
    cli_question_options question;
    char const *out, *place;
    bool json;
} options;

/* Guards and names of one entry. */
#define OBJECT_MAX_BYTES ((size_t)256 << 20)

static gci_value
guard_list(gci_arena *arena, gcache_result const *found)
{
    gci_value list = cli_list_of(arena, found->guard_count);

    for (uint32_t i = 0; i < list.count; i++)
        list.items[i] = cli_text(arena, found->guards[i]);
    return list;
}

static void
set_hit(cli_object *object, gcache_result const *found)
{
    cli_object renames = cli_object_new(object->arena);

    for (size_t i = 0; i < found->rename_count; i++)
        cli_object_set_text(&renames, found->renames[i].stored, found->renames[i].current);
    cli_object_set_text(object, "variant", found->variant[0] != '\0' ? found->variant : NULL);
    cli_object_set_int(object, "priority", found->priority);
    cli_object_set_count(object, "compile_ns", found->compile_ns);
    cli_object_set_count(object, "payload_size", found->payload_size);
    cli_object_set(object, "guards", guard_list(object->arena, found));
    cli_object_set(object, "renames", renames.map);
    if (found->note[0] != '\0')
        cli_object_set_text(object, "note", found->note);
}

static gcache_status
print_json(gcache_result const *found, gcache_error *error)
{
    gci_arena arena;
    char hex[GCACHE_KEY_HEX_SIZE];
    bool hit = found->outcome == GCACHE_HIT;

    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    cli_object object = cli_object_new(&arena);
    gcache_key_to_hex(&found->key, hex);
    cli_object_set_text(&object, "outcome", hit ? "hit" : "miss");
    cli_object_set_text(&object, "reason", hit ? NULL : gcache_reason_name(found->reason));
    cli_object_set_text(&object, "entry", hit ? found->entry : NULL);
    cli_object_set_text(&object, "key", hex);
    if (hit)
        set_hit(&object, found);
    gcache_status status = cli_object_print(&object, error);
    gci_arena_clear(&arena);
    return status;
}

/* The payload goes to standard output only if asked for by name, so that a look at a hit doesn't fill the screen. */
static gcache_status
write_payload(char const *path, gcache_result const *found, gcache_error *error)
{
    gci_view payload = gci_view_of(found->payload, found->payload_size);

    if (strcmp(path, "-") != 0)
        return gci_file_write_user(path, payload, error);
    cli_write(payload);
    return GCACHE_OK;
}

static gcache_status
report(options const *wanted, gcache_result const *found, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    if (wanted->json)
        status = print_json(found, error);
    else if (found->outcome == GCACHE_HIT && wanted->out == NULL)
        cli_print("%s\n", found->entry);
    if (found->outcome == GCACHE_HIT && found->note[0] != '\0')
        cli_complain("%s", found->note);
    if (found->outcome == GCACHE_HIT && found->renamed && !wanted->json)
        cli_complain("its producer used other names, which may be in the payload: --json says what to rename");
    if (found->outcome == GCACHE_MISS)
        cli_complain("miss: %s: %s", gcache_reason_name(found->reason),
                     found->note[0] != '\0' ? found->note : gcache_reason_text(found->reason));
    return status;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    cli_question question;
    gcache_result found = GCACHE_RESULT_INIT;
    gcache_error error = { 0 };
    cli_exit result = CLI_ERROR;

    gcache_status status = cli_question_open(&wanted->question, false, &question, &error);
    if (status == GCACHE_OK) {
        gcache_request request = cli_question_request(&question, &wanted->question);
        request.place = wanted->place;
        cli_question_warn(&wanted->question);
        status = gcache_lookup_with(question.cache, question.graph, cli_question_hints(&question), &request, &found, &error);
    }
    if (status == GCACHE_HIT || status == GCACHE_MISS) {
        result = status == GCACHE_HIT ? CLI_OK : CLI_NO;
        status = report(wanted, &found, &error);
    }
    if (status == GCACHE_OK && result == CLI_OK && wanted->out != NULL)
        status = write_payload(wanted->out, &found, &error);
    if (status != GCACHE_OK)
        result = cli_fail(&error);
    gcache_result_clear(&found);
    cli_question_clear(&question);
    return result;
}

static cli_option const table[] = {
    CLI_SUBJECT_OPTIONS(options, question),
    CLI_REQUEST_OPTIONS(options, question),
    { "out", CLI_TEXT, offsetof(options, out), "FILE", "where the payload goes; - is standard output" },
    { "place", CLI_TEXT, offsetof(options, place), "DIR", "where the entry's attachments go" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "print an object: outcome, reason, entry, key, ..." },
    { 0 },
};

cli_command const cli_cmd_lookup = {
    .name = "lookup",
    .arguments = "",
    .summary = "find the stored variant whose guards hold",
    .about = "Prints the entry's id, or writes its payload to --out; exit status 0. A miss says its reason on standard\n"
             "error, exit status 1; guardcache explain tells more.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
