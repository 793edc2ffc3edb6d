/*
 * guardcache canon: the canonical form of a description, and what each step of normalisation changed.
 */
#include "base/error.h"
#include "base/text/json.h"
#include "cli/shared/cli.h"
#include "cli/shared/object.h"
#include "cli/shared/open.h"

#include <guardcache/graph.h>
#include <stdio.h>

typedef struct options {
    char const *rules;
    bool hex, trace, json;
} options;

/* Bytes that are shown of a value. */
#define EXCERPT 100

/* One step of a trace. */
#define OBJECT_MAX_BYTES ((size_t)64 << 20)

static void
write_hex(unsigned char const *bytes, size_t size)
{
    for (size_t i = 0; i < size && !cli_output_lost(); i++)
        cli_print("%02x", bytes[i]);
    putchar('\n');
}

static gcache_status
print_form(options const *wanted, gcache_graph *graph, gcache_error *error)
{
    void const *bytes;
    size_t size;
    gcache_status status = gcache_graph_canonical(graph, &bytes, &size, error);

    if (status == GCACHE_OK && wanted->hex)
        write_hex(bytes, size);
    else if (status == GCACHE_OK)
        cli_write(gci_view_of(bytes, size));
    return status;
}

/* ---- traces ---- */

typedef struct tracer {
    bool json;
    gcache_status status;
    gcache_error *error;
} tracer;

/* A step as an object, members whose value is NULL left out but for `to`. */
static void
print_object(tracer *t, char const *step, char const *path, char const *rule, char const *why, char const *from,
             char const *to)
{
    gci_arena arena;
    char const *const optional[][2] = { { "path", path }, { "rule", rule }, { "why", why }, { "from", from } };

    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    cli_object object = cli_object_new(&arena);
    cli_object_set_text(&object, "step", step);
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++)
        if (optional[i][1] != NULL)
            cli_object_set_text(&object, optional[i][0], optional[i][1]);
    cli_object_set_text(&object, "to", to);
    if (t->status == GCACHE_OK)
        t->status = cli_object_print(&object, t->error);
    gci_arena_clear(&arena);
}

/* The beginning of a text on a line of its own. */
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

    if (t->json) {
        print_object(t, change->to == NULL ? "drop" : "rewrite", change->path, change->rule, change->why, change->from,
                     change->to);
        return;
    }
    cli_print("%s: ", change->path);
    print_excerpt(change->from);
    if (change->to == NULL) {
        fputs(" is left out", stdout);
    } else {
        fputs(" -> ", stdout);
        print_excerpt(change->to);
    }
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
    if (t->json)
        print_object(t, step, NULL, NULL, NULL, from, to);
    else
        cli_print("%s %s -> %s\n", step, from, to);
}

static gcache_status
print_renames(tracer *t, gcache_graph *graph, gcache_error *error)
{
    gcache_symbol const *symbols;
    gcache_text_name const *names;
    size_t count, name_count;

    gcache_status status = gcache_graph_symbols(graph, &symbols, &count, error);
    if (status == GCACHE_OK)
        status = gcache_graph_text_names(graph, &names, &name_count, error);
    if (status != GCACHE_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        print_rename(t, "symbol", symbols[i].name, symbols[i].canonical);
    for (size_t i = 0; i < name_count; i++)
        print_rename(t, "name", names[i].original, names[i].canonical);
    return t->status;
}

static gcache_status
print_trace(options const *wanted, gcache_graph *graph, gcache_error *error)
{
    tracer t = { .json = wanted->json, .error = error };
    gcache_status status = gcache_graph_trace(graph, print_change, &t, error);

    if (status == GCACHE_OK)
        status = t.status;
    return status == GCACHE_OK ? print_renames(&t, graph, error) : status;
}

/* The sets compiled in don't carry their reasons; their texts do. */
static gcache_status
read_rules(options const *wanted, gcache_graph *graph, gcache_rules **out_rules, gcache_error *error)
{
    size_t size;
    char const *shipped = gcache_rules_shipped(gcache_graph_kind(graph), &size);

    if (wanted->rules != NULL || !wanted->trace)
        return cli_read_rules(wanted->rules, out_rules, error);
    if (shipped == NULL)
        shipped = gcache_rules_shipped("generic", &size);
    return gcache_rules_read(shipped, size, gcache_graph_kind(graph), out_rules, error);
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_graph *graph;
    gcache_rules *rules = NULL;
    gcache_error error = { 0 };

    if (wanted->trace && wanted->hex) {
        cli_complain("canon: --trace and --hex exclude each other");
        return CLI_ERROR;
    }
    gcache_status status = cli_read_graph(call->arguments[0], &graph, &error);
    if (status == GCACHE_OK)
        status = read_rules(wanted, graph, &rules, &error);
    if (status == GCACHE_OK && rules != NULL)
        gcache_graph_use_rules(graph, rules);
    if (status == GCACHE_OK)
        status = wanted->trace ? print_trace(wanted, graph, &error) : print_form(wanted, graph, &error);
    gcache_graph_free(graph);
    gcache_rules_free(rules);
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_option const table[] = {
    { "hex", CLI_FLAG, offsetof(options, hex), NULL, "in hex digits, on one line" },
    { "trace", CLI_FLAG, offsetof(options, trace), NULL, "what was left out, rewritten and renamed on the way instead" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "with --trace: an object a step: step, path, rule, why, from, to" },
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
    .least = 1,
    .most = 1,
    .run = run,
};
