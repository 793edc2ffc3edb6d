/*
 * guardcache export and import: what is stored, as one file for another machine.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/hints.h"
#include "cli/shared/object.h"
#include "cli/shared/open.h"

#include <guardcache/artifacts.h>
#include <stdio.h>

typedef struct options {
    char const *cache, *key, *label, *namespace;
    cli_list provides;
    int64_t since_ns, until_ns;
    bool entries_only, check, json;
} options;

/* A summary, and the pairs of a command line. */
#define OBJECT_MAX_BYTES ((size_t)16 << 20)

/* ---- what was done ---- */

static gcache_status
print_object(gcache_transfer const *sums, gcache_error *error)
{
    gci_arena arena;

    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    cli_object object = cli_object_new(&arena);
    cli_object_set_count(&object, "entries", sums->entries);
    cli_object_set_count(&object, "keys", sums->keys);
    cli_object_set_count(&object, "attachments", sums->attachments);
    cli_object_set_count(&object, "blobs", sums->blobs);
    cli_object_set_count(&object, "rows", sums->rows);
    cli_object_set_count(&object, "artifacts", sums->artifacts);
    cli_object_set_count(&object, "existed", sums->existed);
    cli_object_set_count(&object, "unmet", sums->unmet);
    cli_object_set_count(&object, "left_out", sums->left_out);
    cli_object_set_count(&object, "bytes", sums->bytes);
    gcache_status status = cli_object_print(&object, error);
    gci_arena_clear(&arena);
    return status;
}

static gcache_status
print_sums(bool json, char const *verb, gcache_transfer const *sums, gcache_error *error)
{
    if (json)
        return print_object(sums, error);
    cli_print("%s %llu %s of %llu %s, %llu attachments, %llu blobs, %llu rows", verb, (unsigned long long)sums->entries,
              sums->entries == 1 ? "entry" : "entries", (unsigned long long)sums->keys, sums->keys == 1 ? "key" : "keys",
              (unsigned long long)sums->attachments, (unsigned long long)sums->blobs, (unsigned long long)sums->rows);
    if (sums->existed != 0)
        cli_print("; %llu were there already", (unsigned long long)sums->existed);
    if (sums->unmet != 0)
        cli_print("; %llu can't serve here", (unsigned long long)sums->unmet);
    if (sums->left_out != 0)
        cli_print("; %llu left out", (unsigned long long)sums->left_out);
    puts("");
    return GCACHE_OK;
}

static void
complain_left_out(void *state, gcache_error const *why)
{
    (void)state;
    cli_complain("left out: %s", why->message);
}

/* ---- export ---- */

static gcache_status
read_selection(options const *wanted, gcache_key *key, gcache_export_options *out_selection, gcache_error *error)
{
    *out_selection = (gcache_export_options)GCACHE_EXPORT_OPTIONS_INIT;
    if (wanted->since_ns < 0 || wanted->until_ns < 0)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "export: times are not negative");
    out_selection->label = wanted->label;
    out_selection->namespace_ = wanted->namespace;
    out_selection->since_ns = (uint64_t)wanted->since_ns;
    out_selection->until_ns = (uint64_t)wanted->until_ns;
    out_selection->entries_only = wanted->entries_only;
    out_selection->left_out = complain_left_out;
    if (wanted->key == NULL)
        return GCACHE_OK;
    out_selection->key = key;
    return gcache_key_from_hex(wanted->key, key, error);
}

static cli_exit
run_export(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_export_options selection;
    gcache_transfer sums = GCACHE_TRANSFER_INIT;
    gcache_error error = { 0 };
    gcache *cache = NULL;
    gcache_key key;

    gcache_status status = read_selection(wanted, &key, &selection, &error);
    if (status == GCACHE_OK)
        status = cli_open_directory(wanted->cache, true, &cache, &error);
    if (status == GCACHE_OK)
        status = gcache_export(cache, call->arguments[0], &selection, &sums, &error);
    if (status == GCACHE_OK)
        status = print_sums(wanted->json, "wrote", &sums, &error);
    gcache_close(cache);
    if (status != GCACHE_OK)
        return cli_fail(&error);
    return sums.left_out == 0 ? CLI_OK : CLI_NO;
}

/* ---- import ---- */

static void
complain_unmet(void *state, gcache_key const *key, char const *entry, char const *name, char const *required,
               char const *provided)
{
    (void)state, (void)key;
    if (provided != NULL)
        cli_complain("entry %.12s requires %s=%s, here it is %s", entry, name, required, provided);
    else
        cli_complain("entry %.12s requires %s=%s, which isn't given", entry, name, required);
}

static gcache_status
import_file(options const *wanted, char const *file, gcache_transfer *out_sums, gci_arena *arena, gcache_error *error)
{
    gcache_import_options how = GCACHE_IMPORT_OPTIONS_INIT;
    gcache_pair *pairs = NULL;
    gcache *cache = NULL;

    gcache_status status = cli_pairs_read(wanted->provides, arena, &pairs, error);
    if (status == GCACHE_OK)
        status = cli_open_cache(wanted->cache, false, &cache, error);
    if (status != GCACHE_OK)
        return status;
    how.provides = pairs;
    how.provides_count = wanted->provides.count;
    how.check_requirements = wanted->check || wanted->provides.count != 0;
    how.unmet = complain_unmet;
    how.left_out = complain_left_out;
    status = gcache_import(cache, file, &how, out_sums, error);
    gcache_close(cache);
    return status;
}

static cli_exit
run_import(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_transfer sums = GCACHE_TRANSFER_INIT;
    gcache_error error = { 0 };
    gci_arena arena;

    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    gcache_status status = import_file(wanted, call->arguments[0], &sums, &arena, &error);
    if (status >= 0)
        status = print_sums(wanted->json, "read", &sums, &error);
    gci_arena_clear(&arena);
    if (status != GCACHE_OK)
        return cli_fail(&error);
    return sums.unmet == 0 && sums.left_out == 0 ? CLI_OK : CLI_NO;
}

/* ---- the commands ---- */

static cli_option const export_table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { "key", CLI_TEXT, offsetof(options, key), "HEX", "only entries under this key" },
    { "label", CLI_TEXT, offsetof(options, label), "TEXT", "only entries in whose label this occurs" },
    { "namespace", CLI_TEXT, offsetof(options, namespace), "NAME", "only entries of this namespace" },
    { "since-ns", CLI_INT, offsetof(options, since_ns), "N", "only entries stored at or after, in ns since 1970" },
    { "until-ns", CLI_INT, offsetof(options, until_ns), "N", "only entries stored before" },
    { "entries-only", CLI_FLAG, offsetof(options, entries_only), NULL, "no blobs and no tuning results" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object" },
    { 0 },
};

cli_command const cli_cmd_export = {
    .name = "export",
    .arguments = "FILE",
    .summary = "write what is stored into one file",
    .about = "The file holds entries, their attachments and descriptions, blobs and tuning results; each thing once, all of it\n"
             "under one checksum. A selection of entries leaves blobs and tuning results out. guardcache show FILE tells\n"
             "what a file holds. Entries keep the signatures they have. What can't be read is named and left out: exit\n"
             "status 1.\n",
    .options = export_table,
    .options_size = sizeof(options),
    .least = 1,
    .most = 1,
    .run = run_export,
};

static cli_option const import_table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { "provide", CLI_LIST, offsetof(options, provides), "NAME=VALUE", "what this machine has, for entries' requirements" },
    { "check", CLI_FLAG, offsetof(options, check), NULL, "compare requirements even if nothing is provided" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object" },
    { 0 },
};

cli_command const cli_cmd_import = {
    .name = "import",
    .arguments = "FILE",
    .summary = "add what an export holds",
    .about = "The whole file is verified first: from one that is damaged, or doesn't hold what it says, nothing is imported.\n"
             "Then each thing is checked by itself: what is no good, or where signatures are required not signed with a key of\n"
             "this cache's, is named and left out: exit status 1. Entries keep the signatures they have, or have none.\n"
             "What is there already stays, nothing newer is overwritten, and an interrupted import can be done again. With\n"
             "--provide or --check, entries whose requirements aren't met are named and left out too. Payloads are executed:\n"
             "import only what you trust.\n",
    .options = import_table,
    .options_size = sizeof(options),
    .least = 1,
    .most = 1,
    .run = run_import,
};
