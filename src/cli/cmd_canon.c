#include "cli/commands.h"
#include "cli/open.h"

#include <guardcache/graph.h>
#include <stdio.h>

typedef struct options {
    bool hex;
} options;

static void
write_hex(unsigned char const *bytes, size_t size)
{
    for (size_t i = 0; i < size && !cli_output_lost(); i++)
        printf("%02x", bytes[i]);
    putchar('\n');
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_graph *graph;
    gcache_error error = { 0 };
    void const *bytes;
    size_t size;

    gcache_status status = cli_read_graph(call->arguments[0], &graph, &error);
    if (status == GCACHE_OK)
        status = gcache_graph_canonical(graph, &bytes, &size, &error);
    if (status == GCACHE_OK && wanted->hex)
        write_hex(bytes, size);
    else if (status == GCACHE_OK)
        cli_write(gci_view_of(bytes, size));
    gcache_graph_free(graph);
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_option const table[] = {
    { "hex", CLI_FLAG, offsetof(options, hex), NULL, "in hex digits, on one line" },
    { 0 },
};

cli_command const cli_cmd_canon = {
    .name = "canon",
    .arguments = "FILE",
    .summary = "write a description's canonical form, the bytes that are hashed",
    .about = "Deterministic CBOR (RFC 8949 section 4.2.1). Two descriptions have one key if and only if these bytes\n"
             "and their rules are equal; compare them with cmp, or look at them with any CBOR tool.\n",
    .options = table,
    .options_size = sizeof(options),
    .least = 1,
    .most = 1,
    .run = run,
};
