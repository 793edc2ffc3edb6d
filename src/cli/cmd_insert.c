#include "base/error.h"
#include "base/file.h"
#include "cli/commands.h"
#include "cli/question.h"

#include <stdio.h>

typedef struct options {
    cli_question_options question;
    cli_list guards;
    char const *payload, *meta;
    int64_t priority, compile_ns;
} options;

/* A payload is read into memory whole. */
#define PAYLOAD_MAX_BYTES ((size_t)4 << 30)
#define METADATA_MAX_BYTES ((size_t)16 << 20)

static gcache_status
check_options(options const *wanted, gcache_error *error)
{
    if (wanted->payload == NULL)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "insert: --payload FILE is missing");
    if (wanted->compile_ns < 0)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "insert: --compile-ns must not be negative");
    return GCACHE_OK;
}

static gcache_status
read_files(options const *wanted, gci_buf *payload, gci_buf *metadata, gcache_error *error)
{
    gcache_status status = gci_file_read_user(wanted->payload, PAYLOAD_MAX_BYTES, payload, error);

    if (status == GCACHE_OK && wanted->meta != NULL)
        status = gci_file_read_user(wanted->meta, METADATA_MAX_BYTES, metadata, error);
    return status;
}

static gcache_entry
entry_of(options const *wanted, cli_question const *question, gci_buf const *payload, gci_buf const *metadata)
{
    return (gcache_entry){ .guards = wanted->guards.items,
                           .guard_count = wanted->guards.count,
                           .payload = payload->data,
                           .payload_size = payload->size,
                           .metadata = metadata->data,
                           .metadata_size = metadata->size,
                           .variant = wanted->question.variant,
                           .priority = wanted->priority,
                           .requires_ = question->pairs,
                           .requires_count = wanted->question.pairs.count,
                           .compile_ns = (uint64_t)wanted->compile_ns,
                           .label = wanted->question.label };
}

static cli_exit
refused(gcache_inserted const *inserted, options const *wanted)
{
    gcache_verdict const *verdict = &inserted->verdict;
    char const *guard = verdict->guard < wanted->guards.count ? wanted->guards.items[verdict->guard] : "";

    if (verdict->truth == GCACHE_RAISES)
        cli_complain("refused: %s: %s: %s: %s", gcache_reason_name(inserted->reason), guard, verdict->exception,
                     verdict->message);
    else
        cli_complain("refused: %s: %s", gcache_reason_name(inserted->reason),
                     guard[0] != '\0' ? guard : gcache_reason_text(inserted->reason));
    return CLI_NO;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    cli_question question = { 0 };
    gcache_inserted inserted = { 0 };
    gcache_error error = { 0 };
    gci_buf payload, metadata;
    cli_exit result = CLI_OK;

    gci_buf_init(&payload, GCI_BUF_NO_LIMIT);
    gci_buf_init(&metadata, GCI_BUF_NO_LIMIT);
    gcache_status status = check_options(wanted, &error);
    if (status == GCACHE_OK)
        status = read_files(wanted, &payload, &metadata, &error);
    if (status == GCACHE_OK)
        status = cli_question_open(&wanted->question, false, &question, &error);
    if (status == GCACHE_OK) {
        gcache_entry entry = entry_of(wanted, &question, &payload, &metadata);
        status = gcache_insert(question.cache, question.graph, cli_question_hints(&question), &entry, &inserted, &error);
    }
    if (status == GCACHE_OK)
        printf("%s\n", inserted.entry);
    else if (status == GCACHE_REFUSED)
        result = refused(&inserted, wanted);
    else
        result = cli_fail(&error);
    cli_question_clear(&question);
    gci_buf_clear(&payload);
    gci_buf_clear(&metadata);
    return result;
}

static cli_option const table[] = {
    CLI_SUBJECT_OPTIONS(options, question),
    { "guard", CLI_LIST, offsetof(options, guards), "EXPRESSION", "a guard; repeat for more, all must hold" },
    { "payload", CLI_TEXT, offsetof(options, payload), "FILE", "the compiler's bytes" },
    { "variant", CLI_TEXT, offsetof(options, question.variant), "V", "a label for the variant" },
    { "priority", CLI_INT, offsetof(options, priority), "N", "rank among candidates that hold; higher is preferred" },
    { "require", CLI_LIST, offsetof(options, question.pairs), "NAME=VALUE", "must equal what a lookup provides" },
    { "meta", CLI_TEXT, offsetof(options, meta), "FILE", "metadata, handed back with a hit" },
    { "compile-ns", CLI_INT, offsetof(options, compile_ns), "N", "what compiling took, in nanoseconds" },
    { 0 },
};

cli_command const cli_cmd_insert = {
    .name = "insert",
    .arguments = "",
    .summary = "store a compiled variant with its guards",
    .about = "Prints the entry's id. With hints, the guards must hold for them: otherwise the insert is refused, exit\n"
             "status 1. Without hints it is stored unevaluated. An equal entry is stored once.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
