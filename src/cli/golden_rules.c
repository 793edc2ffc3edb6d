/*
 * For fixtures that were played under a rule set of the user's: what that set makes of a description whose key isn't the
 * golden one, beside what the shipped set makes of it.
 */
#include "base/json.h"
#include "cli/golden.h"
#include "cli/open.h"

#include <guardcache/graph.h>
#include <stdio.h>

/* Descriptions and differences shown; all differ for the same reason. */
#define GRAPHS_SHOWN 3
#define DIFFERENCES_SHOWN 8
/* The golden file's trees. */
#define GOLDEN_TREES_BYTES_MAX ((size_t)4 << 30)

/* As long as Linux takes. */
enum { PATH_BYTES = 4096 };

static void
write_indented(gci_buf *out, char const *text)
{
    for (char const *line = text; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        gci_buf_append_text(out, "        ");
        gci_buf_append(out, line, size);
        gci_buf_append_char(out, '\n');
        line += size + (line[size] == '\n');
    }
}

static bool
has_key(gcache_graph *graph, gci_view wanted)
{
    char hex[GCACHE_KEY_HEX_SIZE];
    gcache_key key;

    if (gcache_graph_key(graph, &key, NULL) != GCACHE_OK)
        return false;
    gcache_key_to_hex(&key, hex);
    return gci_view_is(wanted, hex);
}

/* true: the shipped rules give the golden key, these another one, and what differs is written. */
static bool
write_graph(char const *path, gci_view name, gci_view golden_key, gcache_rules const *rules, gci_buf *out)
{
    gcache_graph *shipped = NULL, *changed = NULL;
    void const *forms[2];
    size_t sizes[2];
    char *text = NULL;
    bool written = false;

    if (cli_read_graph_under(path, NULL, &shipped, NULL) == GCACHE_OK &&
        cli_read_graph_under(path, rules, &changed, NULL) == GCACHE_OK && has_key(shipped, golden_key) &&
        !has_key(changed, golden_key) && gcache_graph_canonical(shipped, &forms[0], &sizes[0], NULL) == GCACHE_OK &&
        gcache_graph_canonical(changed, &forms[1], &sizes[1], NULL) == GCACHE_OK &&
        gcache_diff(forms[0], sizes[0], forms[1], sizes[1], DIFFERENCES_SHOWN, GCACHE_DIFF_TEXT, &text, NULL, NULL) ==
            GCACHE_OK) {
        gci_buf_append_text(out, "    ");
        gci_buf_append_view(out, name);
        gci_buf_append_text(out, text[0] != '\0' ? ": what these rules make of it, after what the shipped ones do\n"
                                                 : ": equal under both rule sets, whose hash is part of the key\n");
        write_indented(out, text);
        written = true;
    }
    gcache_free(text);
    gcache_graph_free(shipped);
    gcache_graph_free(changed);
    return written;
}

/* A line of the golden file, which may be about a description. */
static bool
write_line(char const *folder, gci_view line, gcache_rules const *rules, gci_arena *arena, gci_buf *out)
{
    char path[PATH_BYTES];
    gci_value tree;

    if (gci_json_read(line, CLI_GOLDEN_NAME, arena, &tree, NULL) != GCACHE_OK || tree.type != GCI_MAP)
        return false;
    gci_value const *graph = gci_map_find(&tree, "graph"), *key = gci_map_find(&tree, "key");
    if (graph == NULL || key == NULL || graph->type != GCI_STRING || key->type != GCI_STRING)
        return false;
    int size = snprintf(path, sizeof path, "%s/%.*s", folder, (int)graph->text.size, graph->text.data);
    return size > 0 && size < PATH_BYTES && write_graph(path, graph->text, key->text, rules, out);
}

void
cli_golden_write_rules(char const *folder, gcache_rules const *rules, gci_view expected, gci_buf *out)
{
    size_t shown = 0;
    gci_arena arena;

    gci_arena_init(&arena, GOLDEN_TREES_BYTES_MAX);
    while (expected.size != 0 && shown < GRAPHS_SHOWN) {
        char const *end = memchr(expected.data, '\n', expected.size);
        size_t size = end != NULL ? (size_t)(end - expected.data) : expected.size;
        shown += write_line(folder, gci_view_of(expected.data, size), rules, &arena, out);
        size += end != NULL;
        expected = gci_view_of(expected.data + size, expected.size - size);
    }
    gci_arena_clear(&arena);
}
