/*
 * guardcache canon: the canonical form of a description, and what each step of normalisation changed.
 */
#include "cli/shared/cli.h"
#include "cli/shared/object.h"

#include <guardcache/graph.h>
#include <stdio.h>

typedef struct options {
    char const *rules;
    bool hex, trace, json;
} options;

/* Bytes that are shown of a value. */
#define EXCERPT 100

static bool
print_form_object(cli_call *call, gci_view form)
{
    cli_object object = cli_object_new(&call->arena);

    cli_object_set_text(&object, "file", call->arguments[0]);
    cli_object_set(&object, "canonical", (gci_value){ .type = GCI_BYTES, .text = form });
    return cli_object_print(&object, &call->error);
}

static bool
print_form(cli_call *call, gcache_graph *graph)
{
    options const *wanted = call->options;
    void const *form;
    size_t size;

    if (gcache_graph_canonical(graph, &form, &size, &call->error) != GCACHE_OK)
        return false;
    if (wanted->json)
        return print_form_object(call, gci_view_of(form, size));
    if (!wanted->hex)
        cli_write(gci_view_of(form, size));
    for (size_t i = 0; wanted->hex && i < size && !cli_output_lost(); i++)
        cli_print("%02x", ((unsigned char const *)form)[i]);
    if (wanted->hex)
        putchar('\n');
    return true;
}

/* ---- traces ---- */

typedef struct tracer {
    cli_call *call;
    bool failed;
} tracer;

/* A step as an object, members whose value is NULL left out but for `to`. */
static void
print_object(tracer *t, char const *step, gcache_change const *change)
{
    char const *const optional[][2] = {
        { "path", change->path }, { "rule", change->rule }, { "why", change->why }, { "from", change->from }
    };

    gci_arena_reset(&t->call->arena);
    cli_object object = cli_object_new(&t->call->arena);
    cli_object_set_text(&object, "step", step);
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++)
        if (optional[i][1] != NULL)
            cli_object_set_text(&object, optional[i][0], optional[i][1]);
    cli_object_set_text(&object, "to", change->to);
    t->failed = t->failed || !cli_object_print(&object, &t->call->error);
}

/* The beginning of a text. */
static void
print_excerpt(char const *text)
{
    size_t size = 0;

    while (text[size] != '\0' && (size < EXCERPT || ((unsigned char)text[size] & 0xC0) == 0x80))
        size++;
    cli_print("%.*s%s", (int)size, text, text[size] != '\0' ? "..." : "");
}

static void
print_change(void *state, gcache_change const *change)
{
    tracer *t = state;
    options const *wanted = t->call->options;

    if (wanted->json) {
        print_object(t, change->to == NULL ? "drop" : "rewrite", change);
        return;
    }
    cli_print("%s: ", change->path);
    print_excerpt(change->from);
    fputs(change->to == NULL ? " is left out" : " -> ", stdout);
    if (change->to != NULL)
        print_excerpt(change->to);
    if (change->rule != NULL)
        cli_print("   (rule %s)\n", change->rule);
    else
        puts("   (the format's own)");
    if (change->why[0] != '\0')
        cli_print("    %s\n", change->why);
}

static void
print_rename(tracer *t, char const *step, char const *from, char const *to)
{
    options const *wanted = t->call->options;

    if (wanted->json)
        print_object(t, step, &(gcache_change){ .from = from, .to = to });
    else
        cli_print("%s %s -> %s\n", step, from, to);
}

static bool
print_trace(cli_call *call, gcache_graph *graph)
{
    tracer t = { .call = call };
    gcache_symbol const *symbols;
    gcache_text_name const *names;
    size_t count, name_count;

    if (gcache_graph_trace(graph, print_change, &t, &call->error) != GCACHE_OK || t.failed ||
        gcache_graph_symbols(graph, &symbols, &count, &call->error) != GCACHE_OK ||
        gcache_graph_text_names(graph, &names, &name_count, &call->error) != GCACHE_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        print_rename(&t, "symbol", symbols[i].name, symbols[i].canonical);
    for (size_t i = 0; i < name_count; i++)
        print_rename(&t, "name", names[i].original, names[i].canonical);
    return !t.failed;
}

/* The sets compiled in don't carry their reasons; their texts do. */
static bool
read_rules(options const *wanted, gcache_graph *graph, gcache_rules **out_rules, gcache_error *error)
{
    size_t size;
    char const *shipped = gcache_rules_shipped(gcache_graph_kind(graph), &size);

    if (wanted->rules != NULL || !wanted->trace)
        return cli_read_rules(wanted->rules, out_rules, error);
    if (shipped == NULL)
        shipped = gcache_rules_shipped("generic", &size);
    return gcache_rules_read(shipped, size, gcache_graph_kind(graph), out_rules, error) == GCACHE_OK;
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    gcache_graph *graph;
    gcache_rules *rules = NULL;

    if (wanted->trace && wanted->hex)
        return cli_wrong(&call->error, "canon: --trace and --hex exclude each other");
    bool done = cli_read_graph(call->arguments[0], NULL, &graph, &call->error) &&
                read_rules(wanted, graph, &rules, &call->error);
    if (done && rules != NULL)
        gcache_graph_use_rules(graph, rules);
    done = done && (wanted->trace ? print_trace(call, graph) : print_form(call, graph));
    gcache_graph_free(graph);
    gcache_rules_free(rules);
    return done;
}

static cli_option const table[] = {
    { "hex", CLI_FLAG, offsetof(options, hex), NULL, "in hex digits, on one line" },
    { "trace", CLI_FLAG, offsetof(options, trace), NULL, "what was left out, rewritten and renamed on the way instead" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object; with --trace one a step: step, path, rule, why, from, to" },
    CLI_RULES_OPTION(options, rules),
    { 0 },
};

cli_command const cli_cmd_canon = {
    .name = "canon",
    .arguments = "FILE",
    .summary = "write a description's canonical form, the bytes that are hashed",
    .about = "Deterministic CBOR (RFC 8949 section 4.2.1). Two descriptions have one key if and only if these bytes\n"
             "are equal; compare them with guardcache diff, or look at them with any CBOR tool.\n"
             "\n"
             "With --trace a line a step instead: what was left out or rewritten, and by which rule and why; then the symbols\n"
             "and what they are called in the form, and the names of a module's text that a link step must rename back.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
