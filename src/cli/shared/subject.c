/*
 * A lookup as a command line describes it: description, hints, request.
 */
#include "cli/shared/subject.h"

#include "cli/shared/hints.h"

/* A description that is only a key has no kind of its own. */
#define KEYED_KIND "generic"

static bool
read_subject(cli_subject_options const *options, cli_subject *subject, gcache_error *error)
{
    gcache_key key;

    if ((options->graph == NULL) == (options->key == NULL))
        return cli_wrong(error, "give either --graph FILE or --key HEX");
    if (!cli_read_rules(options->rules, &subject->rules, error))
        return false;
    if (options->graph != NULL)
        return cli_read_graph(options->graph, subject->rules, &subject->graph, error);
    if (gcache_key_from_hex(options->key, &key, error) != GCACHE_OK)
        return false;
    subject->graph = gcache_graph_new_keyed(KEYED_KIND, &key);
    return subject->graph != NULL || cli_no_memory(error);
}

bool
cli_subject_open(cli_call *call, cli_subject_options const *options, cli_subject *out_subject)
{
    gci_arena *arena = &call->arena;
    gcache_error *error = &call->error;

    *out_subject = (cli_subject){ .hinted = options->hints_file != NULL || options->hints.count != 0 };
    return read_subject(options, out_subject, error) &&
           cli_hints_gather(options->hints_file, options->hints, arena, &out_subject->hints, error) &&
           cli_pairs_read(options->pairs, arena, &out_subject->pairs, error) &&
           cli_pairs_read(options->sources, arena, &out_subject->sources, error) && cli_open(call, CLI_USE);
}

bool
cli_subject_is_specific(cli_subject_options const *options)
{
    return options->rules != NULL || options->hints_file != NULL || options->hints.count != 0 ||
           options->variant != NULL || options->expect_variant != NULL || options->pairs.count != 0 ||
           options->sources.count != 0 || options->same_names || options->why_asked != NULL;
}

void
cli_subject_warn(cli_subject_options const *options)
{
    if (options->rules != NULL && options->graph != NULL && cli_recording() != NULL)
        cli_complain("%s: a recording doesn't keep rules: play it with guardcache replay --rules %s", cli_recording(),
                     options->rules);
}

void
cli_subject_clear(cli_subject *subject)
{
    gcache_graph_free(subject->graph);
    gcache_rules_free(subject->rules);
}

gcache_hints const *
cli_subject_hints(cli_subject const *subject)
{
    return subject->hinted ? &subject->hints : NULL;
}

gcache_request
cli_subject_request(cli_subject const *subject, cli_subject_options const *options)
{
    gcache_request request = GCACHE_REQUEST_INIT;

    request.variant = options->variant;
    request.expect_variant = options->expect_variant;
    request.provides = subject->pairs;
    request.provides_count = options->pairs.count;
    request.accept_renames = !options->same_names;
    request.label = options->label;
    request.why_asked = options->why_asked;
    request.sources = subject->sources;
    request.sources_count = options->sources.count;
    return request;
}
