/*
 * The examples of a rule set, run as its tests.
 *
 * An example is a pair. Each of the two is a text, which is put where the rule's path says (so the path must not have
 * wildcards), or a map of components. What is compared is the key under the whole set, as users get it.
 */
#include "base/check.h"
#include "base/text/json.h"
#include "graph/describe/description.h"
#include "graph/rules/text_rules.h"
#include "graph/rules/rules_set.h"
#include "graph/describe/typed.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct tester {
    gcache_rules const *rules;
    gcache_rules_problem_fn fn;
    void *state;
    size_t rule, examples, problems;
} tester;

static void
problem(tester *t, char const *text)
{
    t->problems++;
    if (t->fn != NULL)
        t->fn(t->state, t->rule, text);
}

/* ---- an example as a description ---- */

/* {"options": {"x": [..]}} for the path options.x[0]: maps and lists around a value, innermost last. */
static bool
write_at_path(gci_rule const *rule, gci_value const *value, gci_buf *out)
{
    for (uint32_t i = 0; i < rule->step_count; i++) {
        gci_path_step const *step = &rule->steps[i];
        if (step->type == GCI_STEP_NAME) {
            gci_buf_append_char(out, '{');
            gci_json_write_text(out, step->name);
            gci_buf_append_text(out, ": ");
        } else if (step->type == GCI_STEP_ITEM && step->index == 0) {
            gci_buf_append_char(out, '[');
        } else {
            return false;
        }
    }
    gci_json_write(out, value);
    for (uint32_t i = rule->step_count; i-- > 0;)
        gci_buf_append_char(out, rule->steps[i].type == GCI_STEP_NAME ? '}' : ']');
    return true;
}

static void
write_members(gci_value const *map, gci_buf *out)
{
    for (uint32_t i = 0; i < map->count; i++) {
        gci_buf_append_text(out, ", ");
        gci_json_write_text(out, map->members[i].name);
        gci_buf_append_text(out, ": ");
        gci_json_write(out, &map->members[i].value);
    }
}

/* A description file of kind "generic" with the example's components. */
static bool
write_description(gci_rule const *rule, gci_value const *example, gci_buf *out)
{
    gci_buf inner;
    bool written = true;

    gci_buf_append_text(out, "{\"format\": \"" GCI_GRAPH_FORMAT "\", \"kind\": \"generic\"");
    if (example->type == GCI_MAP) {
        write_members(example, out);
    } else {
        gci_buf_init(&inner, GCI_BUF_NO_LIMIT);
        written = write_at_path(rule, example, &inner) && !inner.failed && inner.size > 2 && inner.data[0] == '{';
        gci_buf_append_text(out, ", ");
        if (written)
            gci_buf_append(out, inner.data + 1, inner.size - 2);
        gci_buf_clear(&inner);
    }
    gci_buf_append_char(out, '}');
    return written && !out->failed;
}

static gcache_status
key_of(tester *t, gci_rule const *rule, gci_value const *example, gcache_key *out_key, gcache_error *error)
{
    gci_buf text;
    gcache_graph *graph = NULL;
    gcache_status status;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (write_description(rule, example, &text))
        status = gcache_graph_read(text.data, text.size, "example", &graph, error);
    else
        status = gci_fail(error, GCACHE_ERROR_DESCRIPTION, "a text needs a path without wildcards; give a map of components");
    if (status == GCACHE_OK) {
        gcache_graph_use_rules(graph, t->rules);
        status = gcache_graph_key(graph, out_key, error);
    }
    gcache_graph_free(graph);
    gci_buf_clear(&text);
    return status;
}

/* ---- the tests ---- */

/* A pair of a bypass's `same` is two texts that are both refused. */
static void
test_pair(tester *t, gci_rule const *rule, gci_value const *pair, bool want_same)
{
    gcache_key keys[2];
    gcache_error errors[2];
    gcache_status status[2];
    char text[sizeof errors[0].message + 64];

    t->examples++;
    for (size_t i = 0; i < 2; i++)
        status[i] = key_of(t, rule, &pair->items[i], &keys[i], &errors[i]);
    bool refused = status[0] == GCACHE_REFUSED && status[1] == GCACHE_REFUSED;
    if (rule->kind == GCI_RULE_BYPASS && want_same && refused)
        return;
    for (size_t i = 0; i < 2; i++) {
        if (status[i] != GCACHE_OK) {
            snprintf(text, sizeof text, "an example has no key: %s", errors[i].message);
            problem(t, text);
            return;
        }
    }
    bool same = memcmp(keys[0].bytes, keys[1].bytes, sizeof keys[0].bytes) == 0;
    if (same != want_same)
        problem(t, want_same ? "a pair that must be the same has two keys" : "a pair that must be different has one key");
}

static void
ignore_name(void *state, gci_view original, gci_view canonical)
{
    (void)state;
    (void)original;
    (void)canonical;
}

/* The set must change nothing in what it has changed already. */
static gcache_status
test_idempotent(tester *t, gci_rule const *rule, gci_value const *example, gcache_error *error)
{
    gci_rules_state place = gci_rules_start(t->rules);
    gcache_status status = GCACHE_OK;
    gci_view once, twice;

    if (example->type != GCI_STRING || rule->kind == GCI_RULE_BYPASS)
        return GCACHE_OK;
    for (uint32_t i = 0; i < rule->step_count; i++)
        place = rule->steps[i].type == GCI_STEP_NAME ? gci_rules_member(t->rules, place, rule->steps[i].name)
                                                     : gci_rules_item(t->rules, place, rule->steps[i].index);
    gci_rewriter *first = gci_rewriter_new(t->rules, NULL, ignore_name, NULL);
    gci_rewriter *second = gci_rewriter_new(t->rules, NULL, ignore_name, NULL);
    if (first == NULL || second == NULL)
        status = gci_fail_memory(error);
    if (status == GCACHE_OK)
        status = gci_rewriter_apply(first, place, example->text, &once, error);
    if (status == GCACHE_OK)
        status = gci_rewriter_apply(second, place, once, &twice, error);
    if (status == GCACHE_OK && !gci_view_equal(once, twice))
        problem(t, "applied twice the rules change a text further");
    gci_rewriter_free(first);
    gci_rewriter_free(second);
    return status == GCACHE_REFUSED ? GCACHE_OK : status;
}

static gcache_status
test_pairs(tester *t, gci_rule const *rule, gci_value const *pairs, bool want_same, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    for (uint32_t i = 0; pairs != NULL && i < pairs->count && status == GCACHE_OK; i++) {
        test_pair(t, rule, &pairs->items[i], want_same);
        for (uint32_t k = 0; k < 2 && status == GCACHE_OK; k++)
            status = test_idempotent(t, rule, &pairs->items[i].items[k], error);
    }
    return status;
}

gcache_status
gcache_rules_test(gcache_rules const *rules, gcache_rules_problem_fn fn, void *state, size_t *out_examples,
                  size_t *out_problems, gcache_error *error)
{
    tester t = { .rules = rules, .fn = fn, .state = state };
    gcache_status status = GCACHE_OK;

    GCI_REQUIRE(rules != NULL, error, "gcache_rules_test needs rules");
    for (; t.rule < rules->rule_count && status == GCACHE_OK; t.rule++) {
        gci_rule const *rule = &rules->rules[t.rule];
        status = test_pairs(&t, rule, rule->same, true, error);
        if (status == GCACHE_OK)
            status = test_pairs(&t, rule, rule->different, false, error);
    }
    if (out_examples != NULL)
        *out_examples = t.examples;
    if (out_problems != NULL)
        *out_problems = t.problems;
    return status;
}
