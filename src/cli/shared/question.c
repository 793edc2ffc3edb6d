/*
 * A lookup as a command line describes it: description, hints, request.
 */
#include "cli/shared/question.h"

#include "cli/shared/hints.h"

/* A description that is only a key has no kind of its own. */
#define KEYED_KIND "generic"

static bool
read_subject(cli_question_options const *options, cli_question *question, gcache_error *error)
{
    gcache_key key;

    if ((options->graph == NULL) == (options->key == NULL))
        return cli_wrong(error, "give either --graph FILE or --key HEX");
    if (!cli_read_rules(options->rules, &question->rules, error))
        return false;
    if (options->graph != NULL)
        return cli_read_graph(options->graph, question->rules, &question->graph, error);
    if (gcache_key_from_hex(options->key, &key, error) != GCACHE_OK)
        return false;
    question->graph = gcache_graph_new_keyed(KEYED_KIND, &key);
    return question->graph != NULL || cli_no_memory(error);
}

bool
cli_question_open(cli_call *call, cli_question_options const *options, cli_question *out_question)
{
    gci_arena *arena = &call->arena;
    gcache_error *error = &call->error;

    *out_question = (cli_question){ .hinted = options->hints_file != NULL || options->hints.count != 0 };
    return read_subject(options, out_question, error) &&
           cli_hints_gather(options->hints_file, options->hints, arena, &out_question->hints, error) &&
           cli_pairs_read(options->pairs, arena, &out_question->pairs, error) &&
           cli_pairs_read(options->sources, arena, &out_question->sources, error) && cli_open(call, CLI_USE);
}

void
cli_question_warn(cli_question_options const *options)
{
    if (options->rules != NULL && options->graph != NULL && cli_recording() != NULL)
        cli_complain("%s: a recording doesn't keep rules: play it with guardcache replay --rules %s", cli_recording(),
                     options->rules);
}

void
cli_question_clear(cli_question *question)
{
    gcache_graph_free(question->graph);
    gcache_rules_free(question->rules);
}

gcache_hints const *
cli_question_hints(cli_question const *question)
{
    return question->hinted ? &question->hints : NULL;
}

gcache_request
cli_question_request(cli_question const *question, cli_question_options const *options)
{
    gcache_request request = GCACHE_REQUEST_INIT;

    request.variant = options->variant;
    request.expect_variant = options->expect_variant;
    request.provides = question->pairs;
    request.provides_count = options->pairs.count;
    request.accept_renames = !options->same_names;
    request.label = options->label;
    request.sources = question->sources;
    request.sources_count = options->sources.count;
    return request;
}
