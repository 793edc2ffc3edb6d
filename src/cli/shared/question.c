/*
 * A lookup as a command line describes it: description, hints, request.
 */
#include "cli/shared/question.h"

#include "base/error.h"
#include "cli/shared/hints.h"

/* Hints and requirements of one question; far more than any graph has symbols. */
#define QUESTION_MAX_BYTES ((size_t)256 << 20)

/* A description that is only a key has no kind of its own. */
#define KEYED_KIND "generic"

static gcache_status
read_subject(cli_question_options const *options, cli_question *question, gcache_error *error)
{
    gcache_key key;

    if ((options->graph == NULL) == (options->key == NULL))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "give either --graph FILE or --key HEX");
    gcache_status status = cli_read_rules(options->rules, &question->rules, error);
    if (status == GCACHE_OK && options->graph != NULL)
        return cli_read_graph_under(options->graph, question->rules, &question->graph, error);
    if (status == GCACHE_OK)
        status = gcache_key_from_hex(options->key, &key, error);
    if (status != GCACHE_OK)
        return status;
    question->graph = gcache_graph_new_keyed(KEYED_KIND, &key);
    return question->graph != NULL ? GCACHE_OK : gci_fail_memory(error);
}

gcache_status
cli_question_open(cli_question_options const *options, bool read_only, cli_question *out_question, gcache_error *error)
{
    *out_question = (cli_question){ .hinted = options->hints_file != NULL || options->hints.count != 0 };
    gci_arena_init(&out_question->arena, QUESTION_MAX_BYTES);

    gcache_status status = read_subject(options, out_question, error);
    if (status == GCACHE_OK)
        status = cli_hints_gather(options->hints_file, options->hints, &out_question->arena, &out_question->hints, error);
    if (status == GCACHE_OK)
        status = cli_pairs_read(options->pairs, &out_question->arena, &out_question->pairs, error);
    if (status == GCACHE_OK)
        status = cli_pairs_read(options->sources, &out_question->arena, &out_question->sources, error);
    if (status == GCACHE_OK)
        status = cli_open_cache(options->cache, read_only, &out_question->cache, error);
    return status;
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
    gcache_close(question->cache);
    gci_arena_clear(&question->arena);
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
