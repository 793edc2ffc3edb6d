/*
 * guardcache cat: the payload of an entry on standard output.
 */
#include "base/system/file.h"
#include "cli/entries/entries.h"
#include "cli/shared/cli.h"

typedef struct options {
    char const *out;
    bool metadata;
} options;

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    gcache_result content = GCACHE_RESULT_INIT;
    gcache_error *error = &call->error;
    cli_entry_name entry;

    if (!cli_open(call, CLI_LOOK) || !cli_entry_find(call->cache, call->arguments[0], &entry, error))
        return false;
    bool done = gcache_read_entry(call->cache, &entry.key, entry.id, &content, error) == GCACHE_HIT;
    gci_view bytes = wanted->metadata ? gci_view_of(content.metadata, content.metadata_size)
                                      : gci_view_of(content.payload, content.payload_size);
    if (done && wanted->out != NULL)
        done = gci_file_write_user(wanted->out, bytes, error) == GCACHE_OK;
    else if (done)
        cli_write(bytes);
    gcache_result_clear(&content);
    return done;
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    { "metadata", CLI_FLAG, offsetof(options, metadata), NULL, "the metadata in place of the payload" },
    { "out", CLI_TEXT, offsetof(options, out), "FILE", "write to a file" },
    { 0 },
};

cli_command const cli_cmd_cat = {
    .name = "cat",
    .arguments = "ENTRY",
    .summary = "write an entry's payload to standard output",
    .about = "ENTRY is an entry's id or the beginning of one. The bytes are verified first; the guards aren't asked.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
