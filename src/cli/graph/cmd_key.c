/*
 * guardcache key: the keys of descriptions.
 */
#include "cli/shared/cli.h"
#include "cli/shared/lines.h"
#include "cli/shared/object.h"

#include <guardcache/graph.h>
#include <string.h>
#include <unistd.h>

typedef struct options {
    bool components, json, batch;
    char const *rules_file;
} options;

static bool
print_json(cli_call *call, char const *file, gcache_graph *graph, gcache_key const *key)
{
    cli_object object = cli_object_new(&call->arena);

    cli_object_set_text(&object, "file", file);
    cli_object_set_key(&object, "key", key);
    return cli_object_set_components(&object, graph, &call->error) && cli_object_print(&object, &call->error);
}

static bool
print_key(cli_call *call, char const *file, gcache_graph *graph)
{
    options const *wanted = call->options;
    gcache_component const *components = NULL;
    size_t count = 0;
    gcache_key key;

    if (gcache_graph_key(graph, &key, &call->error) != GCACHE_OK)
        return false;
    if (wanted->json)
        return print_json(call, file, graph, &key);
    if (wanted->components && gcache_graph_components(graph, &components, &count, &call->error) != GCACHE_OK)
        return false;
    cli_print("%s  %s\n", cli_hex(&key).text, file);
    for (size_t i = 0; i < count; i++)
        cli_print("  %s  %s\n", cli_hex(&components[i].hash).text, components[i].name);
    return true;
}

/* One bad file doesn't keep the others from being keyed; the worst status is the command's. */
static void
key_file(cli_call *call, gcache_rules const *rules, char const *file)
{
    gcache_graph *graph;
    cli_exit result = CLI_OK;

    if (!cli_read_graph(file, rules, &graph, &call->error) || !print_key(call, file, graph))
        result = call->error.status == GCACHE_REFUSED ? cli_refuse(&call->error, file) : cli_fail(&call->error);
    gcache_graph_free(graph);
    call->answer = result > call->answer ? result : call->answer;
}

static bool
key_batch(cli_call *call, gcache_rules const *rules)
{
    cli_lines lines;
    gci_view line;

    cli_lines_init(&lines, STDIN_FILENO, "standard input");
    while (!cli_output_lost() && cli_lines_next(&lines, &line, &call->error)) {
        gci_arena_reset(&call->arena);
        char const *name = gci_arena_copy(&call->arena, line).data;
        if (line.size != 0 && memchr(line.data, '\0', line.size) != NULL) {
            cli_wrong(&call->error, "standard input:%zu: no file's name has a zero byte", lines.number);
            call->answer = cli_fail(&call->error);
        } else if (line.size != 0) {
            key_file(call, rules, name != NULL ? name : "");
        }
    }
    cli_lines_clear(&lines);
    return !lines.failed;
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    gcache_rules *rules;

    if (wanted->batch != (call->count == 0))
        return cli_wrong(&call->error, "key: give either file names or --batch");
    if (!cli_read_rules(wanted->rules_file, &rules, &call->error))
        return false;
    bool done = !wanted->batch || key_batch(call, rules);
    for (size_t i = 0; i < call->count && !cli_output_lost(); i++)
        key_file(call, rules, call->arguments[i]);
    gcache_rules_free(rules);
    return done;
}

static cli_option const table[] = {
    { "components", CLI_FLAG, offsetof(options, components), NULL, "also one line a component" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object a file: file, key, components" },
    { "batch", CLI_FLAG, offsetof(options, batch), NULL, "read file names, one a line, from standard input" },
    CLI_RULES_OPTION(options, rules_file),
    { 0 },
};

cli_command const cli_cmd_key = {
    .name = "key",
    .arguments = "FILE...",
    .summary = "print the keys of descriptions, as sha256sum does",
    .about = "The key is a hash over the canonical form: names, order and volatile parts don't count.\n"
             "FILE - is standard input. A description that would take more than 0.5 s and 2 ms a kilobyte is refused\n"
             "with a reason and exit status 2; one that a rule calls unsafe to key (a bypass) with exit status 1.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
