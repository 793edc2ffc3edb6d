/*
 * Rule sets, those compiled in and the user's own: what is in them, and whether their examples hold.
 */
#include "base/error.h"
#include "base/text/similar.h"
#include "cli/shared/cli.h"
#include "cli/shared/object.h"

#include <guardcache/graph.h>
#include <stdio.h>

typedef struct options {
    bool json;
} options;

/* argument is a kind with rules of its own, or a file or folder. */
static bool
read_set(char const *argument, gcache_rules **out_rules, gcache_error *error)
{
    size_t size;
    char const *shipped = gcache_rules_shipped(argument, &size), *kind;
    gci_similar similar = gci_similar_to(gci_view_text(argument));

    if (shipped != NULL)
        return gcache_rules_read(shipped, size, argument, out_rules, error) == GCACHE_OK;
    for (size_t i = 0; (kind = gcache_rules_kind(i)) != NULL; i++)
        gci_similar_offer(&similar, kind);
    if (cli_read_rules(argument, out_rules, error))
        return true;
    if (error->status != GCACHE_ERROR_NOT_FOUND)
        return false;
    return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "there is neither a kind nor a file %s%s", argument,
                    gci_similar_question(&similar, "").text) == GCACHE_OK;
}

/* Does something with each set that is named, else with each kind's. The worst status is the command's. */
static bool
each_set(cli_call *call, cli_exit (*fn)(cli_call *call, char const *argument, gcache_rules const *rules))
{
    char const *argument;

    for (size_t i = 0; (argument = call->count != 0 ? (i < call->count ? call->arguments[i] : NULL)
                                                    : gcache_rules_kind(i)) != NULL; i++) {
        gcache_rules *rules;
        cli_exit result = read_set(argument, &rules, &call->error) ? fn(call, argument, rules) : cli_fail(&call->error);
        gcache_rules_free(rules);
        call->answer = result > call->answer ? result : call->answer;
    }
    return true;
}

/* ---- rules test ---- */

typedef struct tester {
    cli_call *call;
    gcache_rules const *rules;
    char const *argument;
    bool failed; /* an object couldn't be printed */
} tester;

static bool
print_problem_object(tester *t, size_t index, gcache_rule const *rule, char const *problem)
{
    gci_arena_reset(&t->call->arena);
    cli_object object = cli_object_new(&t->call->arena);
    cli_object_set_text(&object, "set", t->argument);
    cli_object_set_count(&object, "rule", index + 1);
    cli_object_set_text(&object, "kind", rule->kind);
    cli_object_set_text(&object, "path", rule->path);
    cli_object_set_text(&object, "problem", problem);
    return cli_object_print(&object, &t->call->error);
}

static void
print_problem(void *state, size_t index, char const *problem)
{
    tester *t = state;
    options const *wanted = t->call->options;
    gcache_rule rule = GCACHE_RULE_INIT;

    gcache_rules_at(t->rules, index, &rule);
    if (wanted->json)
        t->failed = t->failed || !print_problem_object(t, index, &rule, problem);
    else
        cli_print("FAIL  %s: rule %zu, %s %s: %s\n", t->argument, index + 1, rule.kind, rule.path, problem);
}

static bool
print_tested_object(cli_call *call, char const *argument, size_t rules, size_t examples, size_t problems)
{
    gci_arena_reset(&call->arena);
    cli_object object = cli_object_new(&call->arena);
    cli_object_set_text(&object, "set", argument);
    cli_object_set_count(&object, "rules", rules);
    cli_object_set_count(&object, "examples", examples);
    cli_object_set_count(&object, "problems", problems);
    return cli_object_print(&object, &call->error);
}

static void
print_tested(char const *argument, size_t rules, size_t examples, size_t problems)
{
    cli_print("%s  %s: %zu rules, %zu examples", problems == 0 ? "ok  " : "FAIL", argument, rules, examples);
    if (problems != 0)
        cli_print(", %zu don't hold", problems);
    putchar('\n');
}

static cli_exit
test_set(cli_call *call, char const *argument, gcache_rules const *rules)
{
    tester t = { .call = call, .rules = rules, .argument = argument };
    options const *wanted = call->options;
    size_t examples, problems, count = 0;
    gcache_rule rule = GCACHE_RULE_INIT;

    if (gcache_rules_test(rules, print_problem, &t, &examples, &problems, &call->error) != GCACHE_OK || t.failed)
        return cli_fail(&call->error);
    while (gcache_rules_at(rules, count, &rule))
        count++;
    if (!wanted->json)
        print_tested(argument, count, examples, problems);
    else if (!print_tested_object(call, argument, count, examples, problems))
        return cli_fail(&call->error);
    return problems == 0 ? CLI_OK : CLI_NO;
}

static bool
run_test(cli_call *call)
{
    return each_set(call, test_set);
}

/* ---- rules list ---- */

static void
print_rule(gcache_rule const *rule)
{
    cli_print("  %-7s  %s", rule->kind, rule->path);
    if (rule->pattern != NULL)
        cli_print("  %s", rule->pattern);
    if (rule->with != NULL)
        cli_print(" -> %s", rule->with);
    putchar('\n');
    if (rule->why != NULL)
        cli_print("           %s\n", rule->why);
}

static bool
print_rule_object(cli_call *call, gcache_rules const *rules, char const *argument, size_t index, gcache_rule const *rule)
{
    gci_arena_reset(&call->arena);
    cli_object object = cli_object_new(&call->arena);
    cli_object_set_text(&object, "set", argument);
    cli_object_set_text(&object, "name", gcache_rules_name(rules));
    cli_object_set_count(&object, "rule", index + 1);
    cli_object_set_text(&object, "kind", rule->kind);
    cli_object_set_text(&object, "path", rule->path);
    cli_object_set_text(&object, "pattern", rule->pattern);
    cli_object_set_text(&object, "with", rule->with);
    cli_object_set_text(&object, "why", rule->why);
    cli_object_set_count(&object, "examples", rule->examples);
    return cli_object_print(&object, &call->error);
}

/* Of a kind that was loaded, where from. */
static void
print_head(gcache_key const *hash, char const *argument)
{
    char const *folder = gcache_kinds_folder(argument);

    cli_print("%s  %s", cli_hex(hash).text, argument);
    if (folder != NULL)
        cli_print("  %s", folder);
    putchar('\n');
}

static cli_exit
list_set(cli_call *call, char const *argument, gcache_rules const *rules)
{
    options const *wanted = call->options;
    gcache_key hash;
    gcache_rule rule = GCACHE_RULE_INIT;

    gcache_rules_hash(rules, &hash);
    if (!wanted->json)
        print_head(&hash, argument);
    for (size_t i = 0; gcache_rules_at(rules, i, &rule); i++) {
        if (!wanted->json)
            print_rule(&rule);
        else if (!print_rule_object(call, rules, argument, i, &rule))
            return cli_fail(&call->error);
    }
    return CLI_OK;
}

static bool
run_list(cli_call *call)
{
    return each_set(call, list_set);
}

static cli_option const test_table[] = {
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object a problem, then one a set" },
    { 0 },
};

cli_command const cli_cmd_rules_test = {
    .name = "rules test",
    .arguments = "[KIND | FILE]...",
    .summary = "run the examples of rule sets: what must become equal, what must stay different",
    .about = "KIND is one of the sets that are compiled in (fx, aot, stablehlo, llvm-ir, triton, generic) or of your own kinds\n"
             "(GUARDCACHE_KINDS), FILE a rule set or a kind's folder; without either all of both. An example that doesn't\n"
             "hold is a line, and the status is 1.\n",
    .options = test_table,
    .options_size = sizeof(options),
    .run = run_test,
};

static cli_option const list_table[] = {
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object a rule" },
    { 0 },
};

cli_command const cli_cmd_rules_list = {
    .name = "rules list",
    .arguments = "[KIND | FILE]...",
    .summary = "list rule sets: what is left out or rewritten where, and why",
    .about = "For each set a line with its hash, which is part of every key computed under it, then its rules in the order in\n"
             "which they are applied. KIND and FILE are as for rules test.\n",
    .options = list_table,
    .options_size = sizeof(options),
    .run = run_list,
};
