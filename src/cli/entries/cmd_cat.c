/*
 * guardcache cat: the payload of an entry on standard output.
 */
#include "base/error.h"
#include "base/system/file.h"
#include "cli/shared/cli.h"
#include "cli/shared/entries.h"
#include "cli/shared/open.h"

typedef struct options {
    char const *cache, *out;
    bool metadata;
} options;

static gcache_status
write_out(options const *wanted, gcache_result const *entry, gcache_error *error)
{
    gci_view bytes = wanted->metadata ? gci_view_of(entry->metadata, entry->metadata_size)
                                      : gci_view_of(entry->payload, entry->payload_size);

    if (wanted->out != NULL)
        return gci_file_write_user(wanted->out, bytes, error);
    cli_write(bytes);
    return GCACHE_OK;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    cli_entry_name entry;
    gcache_result content = GCACHE_RESULT_INIT;
    gcache_error error = { 0 };
    gcache *cache;

    gcache_status status = cli_open_directory(wanted->cache, true, &cache, &error);
    if (status == GCACHE_OK)
        status = cli_entry_find(cache, call->arguments[0], &entry, &error);
    if (status == GCACHE_OK)
        status = gcache_read_entry(cache, &entry.key, entry.id, &content, &error);
    if (status == GCACHE_HIT)
        status = write_out(wanted, &content, &error);
    gcache_result_clear(&content);
    gcache_close(cache);
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
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
    .least = 1,
    .most = 1,
    .run = run,
};
