/*
 * guardcache lookup: a lookup as a program makes it, its payload into a file.
 */
#include "base/system/file.h"
#include "cli/shared/cli.h"
#include "cli/shared/object.h"
#include "cli/shared/subject.h"

typedef struct options {
    cli_subject_options subject;
    char const *out, *place;
    bool json;
} options;

static void
set_hit(cli_object *object, gcache_result const *found)
{
    cli_object renames = cli_object_new(object->arena);

    for (size_t i = 0; i < found->rename_count; i++)
        cli_object_set_text(&renames, found->renames[i].stored, found->renames[i].current);
    cli_object_set_text(object, "tier", found->tier);
    cli_object_set_nonempty(object, "variant", found->variant);
    cli_object_set_int(object, "priority", found->priority);
    cli_object_set_count(object, "compile_ns", found->compile_ns);
    cli_object_set_count(object, "payload_size", found->payload_size);
    cli_object_set_texts(object, "guards", found->guards, found->guard_count);
    cli_object_set(object, "renames", renames.map);
    if (found->note[0] != '\0')
        cli_object_set_text(object, "note", found->note);
}

static bool
print_json(cli_call *call, gcache_result const *found)
{
    bool hit = found->outcome == GCACHE_HIT;
    cli_object object = cli_object_new(&call->arena);

    cli_object_set_text(&object, "outcome", hit ? "hit" : "miss");
    cli_object_set_text(&object, "reason", hit ? NULL : gcache_reason_name(found->reason));
    cli_object_set_text(&object, "entry", hit ? found->entry : NULL);
    cli_object_set_key(&object, "key", &found->key);
    if (found->local_reason != GCACHE_REASON_NONE)
        cli_object_set_text(&object, "local_reason", gcache_reason_name(found->local_reason));
    if (!hit && found->note[0] != '\0')
        cli_object_set_text(&object, "note", found->note);
    if (hit)
        set_hit(&object, found);
    return cli_object_print(&object, &call->error);
}

/* The payload goes to standard output only if asked for by name, so that a look at a hit doesn't fill the screen. */
static bool
write_payload(char const *path, gcache_result const *found, gcache_error *error)
{
    gci_view payload = gci_view_of(found->payload, found->payload_size);

    if (strcmp(path, "-") != 0)
        return gci_file_write_user(path, payload, error) == GCACHE_OK;
    cli_write(payload);
    return true;
}

static void
complain_missed(gcache_result const *found)
{
    char const *reason = gcache_reason_name(found->reason);
    char const *why = found->note[0] != '\0' ? found->note : gcache_reason_text(found->reason);

    if (found->local_reason != GCACHE_REASON_NONE)
        cli_complain("miss: %s: %s; here: %s: %s", reason, why, gcache_reason_name(found->local_reason),
                     gcache_reason_text(found->local_reason));
    else
        cli_complain("miss: %s: %s", reason, why);
}

static bool
report(cli_call *call, gcache_result const *found)
{
    options const *wanted = call->options;
    bool hit = found->outcome == GCACHE_HIT, done = true;

    call->answer = hit ? CLI_OK : CLI_NO;
    if (wanted->json)
        done = print_json(call, found);
    else if (hit && wanted->out == NULL)
        cli_print("%s\n", found->entry);
    if (hit && found->note[0] != '\0')
        cli_complain("%s", found->note);
    if (hit && found->renamed && !wanted->json)
        cli_complain("its producer used other names, which may be in the payload: --json says what to rename");
    if (!hit)
        complain_missed(found);
    return done && (!hit || wanted->out == NULL || write_payload(wanted->out, found, &call->error));
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    cli_subject subject;
    gcache_result found = GCACHE_RESULT_INIT;

    bool done = cli_subject_open(call, &wanted->subject, &subject);
    if (done) {
        gcache_request request = cli_subject_request(&subject, &wanted->subject);
        request.place = wanted->place;
        cli_subject_warn(&wanted->subject);
        gcache_status status = gcache_lookup_with(call->cache, subject.graph, cli_subject_hints(&subject), &request, &found,
                                                  &call->error);
        done = (status == GCACHE_HIT || status == GCACHE_MISS) && report(call, &found);
    }
    gcache_result_clear(&found);
    cli_subject_clear(&subject);
    return done;
}

static cli_option const table[] = {
    CLI_SUBJECT_OPTIONS(options, subject),
    CLI_REQUEST_OPTIONS(options, subject),
    { "out", CLI_TEXT, offsetof(options, out), "FILE", "where the payload goes; - is standard output" },
    { "place", CLI_TEXT, offsetof(options, place), "DIR", "where the entry's attachments go" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "print an object: outcome, reason, entry, key, ..." },
    { 0 },
};

cli_command const cli_cmd_lookup = {
    .name = "lookup",
    .summary = "find the stored variant whose guards hold",
    .about = "Prints the entry's id, or writes its payload to --out; exit status 0. A miss says its reason on standard\n"
             "error, exit status 1; guardcache explain tells more.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
