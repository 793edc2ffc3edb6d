#include "base/error.h"
#include "cli/commands.h"
#include "cli/question.h"

#include <guardcache/guard.h>

typedef struct options {
    cli_question_options question;
    bool all, json;
} options;

static gcache_explain_form
form_of(options const *wanted)
{
    if (wanted->json)
        return GCACHE_EXPLAIN_JSON;
    return wanted->all ? GCACHE_EXPLAIN_ALL : GCACHE_EXPLAIN_TEXT;
}

static void
print_lines(char const *text)
{
    size_t size = strlen(text);

    cli_write(gci_view_of(text, size));
    if (size == 0 || text[size - 1] != '\n')
        cli_write((gci_view)GCI_VIEW("\n"));
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    cli_question question;
    gcache_error error = { 0 };
    char *text = NULL;

    gcache_status status = cli_question_open(&wanted->question, true, &question, &error);
    if (status == GCACHE_OK) {
        gcache_request request = cli_question_request(&question, &wanted->question);
        status = gcache_explain(question.cache, question.graph, cli_question_hints(&question), &request,
                                form_of(wanted), &text, &error);
    }
    cli_exit result = CLI_OK;
    if (status == GCACHE_HIT || status == GCACHE_MISS)
        print_lines(text);
    else
        result = cli_fail(&error);
    gcache_free(text);
    cli_question_clear(&question);
    return result;
}

static cli_option const table[] = {
    CLI_SUBJECT_OPTIONS(options, question),
    CLI_REQUEST_OPTIONS(options, question),
    { "all", CLI_FLAG, offsetof(options, all), NULL, "everything, not only what decides" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object on one line" },
    { 0 },
};

cli_command const cli_cmd_explain = {
    .name = "explain",
    .arguments = "",
    .summary = "say why a lookup hits or misses",
    .about = "Does the lookup with every step recorded: each candidate's first failing guard with the values, and what\n"
             "would have hit; or the nearest stored keys and the paths that differ. Exit status 0, hit or miss.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
