/*
 * The description that a JSON text holds, built by calls alone: what the reader and the builder make must be the same.
 */
#ifndef TESTS_UNIT_GRAPH_BY_CALLS_H
#define TESTS_UNIT_GRAPH_BY_CALLS_H

#include <guardcache/graph.h>

/*
 * NULL where calls can't say it: members that only JSON has, or no memory. Its errors are sticky, as for any graph.
 * late: keyword arguments come when all nodes of their graph are there, not right behind their node.
 */
gcache_graph *build_by_calls(char const *text, size_t size, bool late);

#endif
