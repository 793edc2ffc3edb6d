/*
 * guardcache gc: evicts down to a size or an age.
 */
#include "base/error.h"
#include "base/text/quantity.h"
#include "cli/shared/cli.h"
#include "cli/shared/entries.h"
#include "cli/maintenance/findings.h"
#include "cli/shared/open.h"

#include <stdio.h>

typedef struct options {
    char const *cache, *target, *age, *namespace;
    bool dry, json;
} options;

static void
report_victim(void *state, gcache_key const *key, char const *entry, uint64_t bytes)
{
    char hex[GCACHE_KEY_HEX_SIZE], size[CLI_SIZE_TEXT];
    cli_findings *found = state;

    cli_findings_count(found);
    gcache_key_to_hex(key, hex);
    if (!found->json) {
        cli_size_text(bytes, size);
        cli_print("%.12s  %.12s  %10s\n", entry, hex, size);
        return;
    }
    cli_object object = cli_object_new(&found->arena);
    cli_object_set_text(&object, "entry", entry);
    cli_object_set_text(&object, "key", hex);
    cli_object_set_count(&object, "bytes", bytes);
    cli_findings_add(found, &object);
}

static gcache_status
read_limits(options const *wanted, gcache_gc_options *out, gcache_error *error)
{
    out->dry_run = wanted->dry;
    out->namespace_ = wanted->namespace;
    if (wanted->target != NULL && !gci_size_read(wanted->target, &out->target_bytes))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "--target: '%s' is not a size such as 500M or 2GiB", wanted->target);
    /* To the library 0 is "not said". */
    if (wanted->target != NULL && out->target_bytes == 0)
        out->target_bytes = 1;
    if (wanted->age != NULL && !gci_age_read(wanted->age, &out->max_age_ns))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "--unused: '%s' is not an age such as 90s, 10m, 2h or 3d", wanted->age);
    if (wanted->age != NULL && out->max_age_ns == 0)
        out->max_age_ns = 1;
    return GCACHE_OK;
}

static gcache_status
print_json(options const *wanted, cli_findings *found, gcache_collected const *collected, gcache_error *error)
{
    cli_object object = cli_object_new(&found->arena);

    cli_object_set_bool(&object, "dry_run", wanted->dry);
    cli_object_set_count(&object, "entries", collected->entries);
    cli_object_set_count(&object, "bytes", collected->bytes);
    cli_object_set_count(&object, "attachments", collected->attachments);
    cli_object_set_count(&object, "stray", collected->stray);
    cli_object_set_count(&object, "left_bytes", collected->left_bytes);
    cli_object_set(&object, "evicted", found->list);
    return cli_object_print(&object, error);
}

static void
print_text(options const *wanted, gcache_collected const *collected)
{
    char entries[CLI_COUNT_TEXT], attachments[CLI_COUNT_TEXT], stray[CLI_COUNT_TEXT];
    char bytes[CLI_SIZE_TEXT], left[CLI_SIZE_TEXT];

    cli_size_text(collected->bytes, bytes);
    cli_size_text(collected->left_bytes, left);
    /* What becomes free with an entry is known when its candidate index has been written anew. */
    cli_print("%s%s (%s%s), %s, %s; %s %s\n", wanted->dry ? "would remove " : "removed ",
              cli_count_text(collected->entries, "entry", "entries", entries), wanted->dry ? "about " : "", bytes,
              cli_count_text(collected->attachments, "attachment", "attachments", attachments),
              cli_count_text(collected->stray, "left-over file", "left-over files", stray), left,
              wanted->dry ? "are there now" : "are left");
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_gc_options gc = GCACHE_GC_OPTIONS_INIT;
    gcache_collected collected = GCACHE_COLLECTED_INIT;
    gcache_error error = { 0 };
    gcache *cache = NULL;
    cli_findings found;

    cli_findings_init(&found, wanted->json);
    gc.state = &found;
    /* What really goes isn't named one by one to people: it may be thousands. */
    gc.victim = wanted->dry || wanted->json ? report_victim : NULL;
    gcache_status status = read_limits(wanted, &gc, &error);
    if (status == GCACHE_OK)
        status = cli_open_existing(wanted->cache, &cache, &error);
    if (status == GCACHE_OK)
        status = gcache_gc(cache, &gc, &collected, &error);
    if (status == GCACHE_OK && wanted->json)
        status = print_json(wanted, &found, &collected, &error);
    else if (status == GCACHE_OK)
        print_text(wanted, &collected);
    gcache_close(cache);
    cli_findings_clear(&found);
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { "dry-run", CLI_FLAG, offsetof(options, dry), NULL, "name what would go, change nothing" },
    { "target", CLI_TEXT, offsetof(options, target), "SIZE", "evict the longest unused down to this: 500M, 2GiB" },
    { "unused", CLI_TEXT, offsetof(options, age), "AGE", "evict what has been unused for longer: 12h, 30d" },
    { "namespace", CLI_TEXT, offsetof(options, namespace), "NAME", "evict this namespace whole" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object: what goes, entry by entry, and sums" },
    { 0 },
};

cli_command const cli_cmd_gc = {
    .name = "gc",
    .arguments = "",
    .summary = "evict what is too much or too old, clear away what is left over",
    .about = "A cache keeps itself below its cap without this. Evicts by namespace, by age and by size, in this order; without\n"
             "--target down to nine tenths of max-size (see guardcache config). Then removes attachments that no entry has\n"
             "named for six hours and temporary files of processes that died. What is evicted stays known to guardcache\n"
             "explain.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
