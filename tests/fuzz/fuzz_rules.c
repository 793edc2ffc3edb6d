/* Rule sets and advice beside them: whatever is read can be tested and used. */
#include <guardcache/graph.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

static char const description[] =
    "{\"format\": \"guardcache-graph/1\", \"kind\": \"fx\", \"module\": \"a1 b22 0x7f\\n!0 = x\\n\", \"t\": [\"a1\", \"b\"],"
    "\"graph\": {\"nodes\": [{\"name\": \"x\", \"op\": \"c\", \"args\": [\"a1\"], \"kwargs\": {\"k\": \"v1\"}}]}, "
    "\"options\": {\"graph_id\": 1, \"a\": {\"b\": [{\"c\": 1}]}}}";

static char const empty_set[] = "{\"format\": \"guardcache-rules/1\", \"name\": \"empty\"}";

static int
read_advice(char const *text, size_t size)
{
    gcache_rules *rules;
    gcache_error error;

    if (gcache_rules_read(empty_set, sizeof empty_set - 1, "empty", &rules, &error) != GCACHE_OK)
        abort();
    gcache_rules_read_advice(rules, text, size, "fuzz", &error);
    gcache_rules_free(rules);
    return 0;
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    gcache_rules *rules;
    gcache_graph *graph;
    gcache_key key;
    gcache_error error;

    if (gcache_rules_read((char const *)data, size, "fuzz", &rules, &error) != GCACHE_OK)
        return read_advice((char const *)data, size);
    gcache_rules_test(rules, NULL, NULL, NULL, NULL, &error);
    if (gcache_graph_read(description, sizeof description - 1, "d", &graph, &error) != GCACHE_OK)
        abort();
    gcache_graph_use_rules(graph, rules);
    gcache_graph_key(graph, &key, &error);
    gcache_graph_free(graph);
    gcache_rules_free(rules);
    return 0;
}
