/*
 * guardcache export and import: what is stored, as one file for another machine.
 */
#include "cli/shared/cli.h"
#include "cli/shared/hints.h"
#include "cli/shared/object.h"
#include "cli/shared/progress.h"

#include <guardcache/artifacts.h>
#include <stdio.h>

typedef struct options {
    char const *key, *label, *namespace;
    cli_list provides;
    int64_t since_ns, until_ns;
    bool entries_only, check, json;
} options;

/* ---- what was done ---- */

static bool
print_object(cli_call *call, gcache_transfer const *transfer)
{
    cli_object object = cli_object_new(&call->arena);

    cli_object_set_count(&object, "entries", transfer->entries);
    cli_object_set_count(&object, "keys", transfer->keys);
    cli_object_set_count(&object, "attachments", transfer->attachments);
    cli_object_set_count(&object, "blobs", transfer->blobs);
    cli_object_set_count(&object, "rows", transfer->rows);
    cli_object_set_count(&object, "artifacts", transfer->artifacts);
    cli_object_set_count(&object, "existed", transfer->existed);
    cli_object_set_count(&object, "unmet", transfer->unmet);
    cli_object_set_count(&object, "left_out", transfer->left_out);
    cli_object_set_count(&object, "bytes", transfer->bytes);
    return cli_object_print(&object, &call->error);
}

/* What is left out, or can't serve here, is the answer no. */
static bool
print_transfer(cli_call *call, char const *verb, gcache_transfer const *transfer)
{
    options const *wanted = call->options;

    call->answer = transfer->unmet == 0 && transfer->left_out == 0 ? CLI_OK : CLI_NO;
    if (wanted->json)
        return print_object(call, transfer);
    cli_print("%s %s of %s, %llu attachments, %llu blobs, %llu rows", verb, cli_count(transfer->entries, "entry", "entries").text,
              cli_count(transfer->keys, "key", "keys").text, (unsigned long long)transfer->attachments,
              (unsigned long long)transfer->blobs, (unsigned long long)transfer->rows);
    if (transfer->existed != 0)
        cli_print("; %llu were there already", (unsigned long long)transfer->existed);
    if (transfer->unmet != 0)
        cli_print("; %llu can't serve here", (unsigned long long)transfer->unmet);
    if (transfer->left_out != 0)
        cli_print("; %llu left out", (unsigned long long)transfer->left_out);
    puts("");
    return true;
}

/* ---- on the way: `state` is the bar, which makes room for lines ---- */

static void
show_export(void *state, uint64_t done, uint64_t total)
{
    cli_progress_of(state, "export", done, total);
}

static void
show_import(void *state, uint64_t done, uint64_t total)
{
    cli_progress_of(state, "import", done, total);
}

static void
complain_left_out(void *state, gcache_error const *why)
{
    cli_progress_end(state);
    cli_complain("left out: %s", why->message);
}

/* ---- export ---- */

static bool
run_export(cli_call *call)
{
    options const *wanted = call->options;
    gcache_export_options selection = GCACHE_EXPORT_OPTIONS_INIT;
    gcache_transfer transfer = GCACHE_TRANSFER_INIT;
    cli_progress progress = { 0 };
    gcache_key key;

    if (wanted->since_ns < 0 || wanted->until_ns < 0)
        return cli_wrong(&call->error, "export: times are not negative");
    selection.label = wanted->label;
    selection.namespace_ = wanted->namespace;
    selection.since_ns = (uint64_t)wanted->since_ns;
    selection.until_ns = (uint64_t)wanted->until_ns;
    selection.entries_only = wanted->entries_only;
    selection.left_out = complain_left_out;
    selection.progress = show_export;
    selection.state = &progress;
    selection.key = wanted->key != NULL ? &key : NULL;
    bool done = (wanted->key == NULL || gcache_key_from_hex(wanted->key, &key, &call->error) == GCACHE_OK) &&
                cli_open(call, CLI_LOOK) &&
                gcache_export(call->cache, call->arguments[0], &selection, &transfer, &call->error) == GCACHE_OK;
    cli_progress_end(&progress);
    return done && print_transfer(call, "wrote", &transfer);
}

/* ---- import ---- */

static void
complain_unmet(void *state, gcache_key const *key, char const *entry, char const *name, char const *required,
               char const *provided)
{
    (void)key;
    cli_progress_end(state);
    if (provided != NULL)
        cli_complain("entry %.12s requires %s=%s, here it is %s", entry, name, required, provided);
    else
        cli_complain("entry %.12s requires %s=%s, which isn't given", entry, name, required);
}

static bool
run_import(cli_call *call)
{
    options const *wanted = call->options;
    gcache_import_options how = GCACHE_IMPORT_OPTIONS_INIT;
    gcache_transfer transfer = GCACHE_TRANSFER_INIT;
    cli_progress progress = { 0 };
    gcache_pair *pairs;

    if (!cli_pairs_read(wanted->provides, &call->arena, &pairs, &call->error) || !cli_open(call, CLI_USE))
        return false;
    how.provides = pairs;
    how.provides_count = wanted->provides.count;
    how.check_requirements = wanted->check || wanted->provides.count != 0;
    how.unmet = complain_unmet;
    how.left_out = complain_left_out;
    how.watch = show_import;
    how.state = &progress;
    gcache_status status = gcache_import(call->cache, call->arguments[0], &how, &transfer, &call->error);
    cli_progress_end(&progress);
    if (status == GCACHE_REFUSED && transfer.left_out == 0)
        return cli_refused(call);
    return status >= 0 && print_transfer(call, "read", &transfer);
}

/* ---- the commands ---- */

static cli_option const export_table[] = {
    CLI_CACHE_OPTION,
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
             "status 1. FILE appears whole or not at all, by a rename: a link, a device or a pipe in its place is refused,\n"
             "and so is a place in the cache directory.\n",
    .options = export_table,
    .options_size = sizeof(options),
    .run = run_export,
};

static cli_option const import_table[] = {
    CLI_CACHE_OPTION,
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
    .run = run_import,
};
