/*
 * guardcache key: the keys of descriptions.
 */
#include "cli/shared/cli.h"
#include "cli/shared/lines.h"
#include "cli/shared/object.h"
#include "cli/shared/open.h"

#include <guardcache/graph.h>
#include <stdio.h>
#include <unistd.h>

typedef struct options {
    bool components, json, batch;
    char const *rules_file;
} options;

/* Names and hashes of one description's components; descriptions have a dozen. */
#define OBJECT_MAX_BYTES ((size_t)64 << 20)

static void
print_text(options const *wanted, char const *file, char const *hex, gcache_component const *components, size_t count)
{
    char component_hex[GCACHE_KEY_HEX_SIZE];

    cli_print("%s  %s\n", hex, file);
    for (size_t i = 0; wanted->components && i < count; i++) {
        gcache_key_to_hex(&components[i].hash, component_hex);
        cli_print("  %s  %s\n", component_hex, components[i].name);
    }
}

static gcache_status
print_json(char const *file, char const *hex, gcache_component const *components, size_t count, gcache_error *error)
{
    gci_arena arena;
    char component_hex[GCACHE_KEY_HEX_SIZE];

    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    cli_object object = cli_object_new(&arena), hashes = cli_object_new(&arena);
    for (size_t i = 0; i < count; i++) {
        gcache_key_to_hex(&components[i].hash, component_hex);
        cli_object_set_text(&hashes, components[i].name, component_hex);
    }
    cli_object_set_text(&object, "file", file);
    cli_object_set_text(&object, "key", hex);
    cli_object_set(&object, "components", hashes.map);
    gcache_status status = cli_object_print(&object, error);
    gci_arena_clear(&arena);
    return status;
}

static gcache_status
print_key(options const *wanted, char const *file, gcache_graph *graph, gcache_error *error)
{
    gcache_key key;
    gcache_component const *components = NULL;
    size_t count = 0;
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_status status = gcache_graph_key(graph, &key, error);
    if (status == GCACHE_OK && (wanted->components || wanted->json))
        status = gcache_graph_components(graph, &components, &count, error);
    if (status != GCACHE_OK)
        return status;
    gcache_key_to_hex(&key, hex);
    if (wanted->json)
        return print_json(file, hex, components, count, error);
    print_text(wanted, file, hex, components, count);
    return GCACHE_OK;
}

static cli_exit
key_file(options const *wanted, gcache_rules const *rules, char const *file)
{
    gcache_graph *graph;
    gcache_error error = { 0 };
    gcache_status status = cli_read_graph_under(file, rules, &graph, &error);

    if (status == GCACHE_OK)
        status = print_key(wanted, file, graph, &error);
    gcache_graph_free(graph);
    if (status == GCACHE_OK)
        return CLI_OK;
    if (status != GCACHE_REFUSED)
        return cli_fail(&error);
    cli_complain("%s: bypass: %s", file, error.message);
    return CLI_NO;
}

/* One bad file doesn't keep the others from being keyed; the worst status is the command's. */
static cli_exit
worse(cli_exit a, cli_exit b)
{
    return a > b ? a : b;
}

static cli_exit
key_batch(options const *wanted, gcache_rules const *rules)
{
    cli_lines lines;
    gci_view line;
    gcache_error error = { 0 };
    cli_exit result = CLI_OK;
    gcache_status status;

    cli_lines_init(&lines, STDIN_FILENO, "standard input");
    gci_buf name;
    gci_buf_init(&name, GCI_BUF_NO_LIMIT);
    while ((status = cli_lines_next(&lines, &line, &error)) == GCACHE_OK && line.data != NULL && !cli_output_lost()) {
        if (line.size == 0)
            continue;
        name.size = 0;
        gci_buf_append_view(&name, line);
        gci_buf_append_char(&name, '\0');
        result = worse(result, key_file(wanted, rules, name.failed ? "" : name.data));
    }
    gci_buf_clear(&name);
    cli_lines_clear(&lines);
    return status == GCACHE_OK ? result : cli_fail(&error);
}

static cli_exit
key_all(options const *wanted, gcache_rules const *rules, cli_call const *call)
{
    cli_exit result = CLI_OK;

    if (wanted->batch)
        return key_batch(wanted, rules);
    for (size_t i = 0; i < call->count && !cli_output_lost(); i++)
        result = worse(result, key_file(wanted, rules, call->arguments[i]));
    return result;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_rules *rules;
    gcache_error error = { 0 };

    if (wanted->batch != (call->count == 0)) {
        cli_complain("key: give either file names or --batch");
        return CLI_ERROR;
    }
    if (cli_read_rules(wanted->rules_file, &rules, &error) != GCACHE_OK)
        return cli_fail(&error);
    cli_exit result = key_all(wanted, rules, call);
    gcache_rules_free(rules);
    return result;
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
    .most = CLI_ANY_NUMBER,
    .run = run,
};
