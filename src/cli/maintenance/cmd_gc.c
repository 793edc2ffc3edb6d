/*
 * guardcache gc: evicts down to a size or an age.
 */
#include "base/text/quantity.h"
#include "cli/maintenance/findings.h"
#include "cli/shared/cli.h"

typedef struct options {
    char const *target, *age, *namespace;
    bool dry, json;
} options;

static void
report_victim(void *state, gcache_key const *key, char const *entry, uint64_t bytes)
{
    cli_findings *found = state;

    cli_findings_count(found);
    if (!found->json) {
        cli_print("%.12s  %.12s  %10s\n", entry, cli_hex(key).text, cli_size(bytes).text);
        return;
    }
    cli_object object = cli_object_new(found->arena);
    cli_object_set_text(&object, "entry", entry);
    cli_object_set_key(&object, "key", key);
    cli_object_set_count(&object, "bytes", bytes);
    cli_findings_add(found, &object);
}

static bool
read_limits(options const *wanted, gcache_gc_options *out, gcache_error *error)
{
    out->dry_run = wanted->dry;
    out->namespace_ = wanted->namespace;
    if (wanted->target != NULL && !gci_size_read(wanted->target, &out->target_bytes))
        return cli_wrong(error, "--target: '%s' is not a size such as 500M or 2GiB", wanted->target);
    /* To the library 0 is "not said". */
    if (wanted->target != NULL && out->target_bytes == 0)
        out->target_bytes = 1;
    if (wanted->age != NULL && !gci_age_read(wanted->age, &out->max_age_ns))
        return cli_wrong(error, "--unused: '%s' is not an age such as 90s, 10m, 2h or 3d", wanted->age);
    if (wanted->age != NULL && out->max_age_ns == 0)
        out->max_age_ns = 1;
    return true;
}

static bool
print_json(cli_call *call, cli_findings const *found, gcache_collected const *collected)
{
    options const *wanted = call->options;
    cli_object object = cli_object_new(&call->arena);

    cli_object_set_bool(&object, "dry_run", wanted->dry);
    cli_object_set_count(&object, "entries", collected->entries);
    cli_object_set_count(&object, "bytes", collected->bytes);
    cli_object_set_count(&object, "attachments", collected->attachments);
    cli_object_set_count(&object, "stray", collected->stray);
    cli_object_set_count(&object, "left_bytes", collected->left_bytes);
    cli_object_set(&object, "evicted", found->list);
    return cli_object_print(&object, &call->error);
}

static void
print_text(options const *wanted, gcache_collected const *collected)
{
    /* What becomes free with an entry is known when its candidate index has been written anew. */
    cli_print("%s%s (%s%s), %s, %s; %s %s\n", wanted->dry ? "would remove " : "removed ",
              cli_count(collected->entries, "entry", "entries").text, wanted->dry ? "about " : "",
              cli_size(collected->bytes).text, cli_count(collected->attachments, "attachment", "attachments").text,
              cli_count(collected->stray, "left-over file", "left-over files").text, cli_size(collected->left_bytes).text,
              wanted->dry ? "are there now" : "are left");
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    gcache_gc_options gc = GCACHE_GC_OPTIONS_INIT;
    gcache_collected collected = GCACHE_COLLECTED_INIT;
    cli_findings found = cli_findings_of(call, wanted->json);

    gc.progress = cli_findings_options(&found, "gc", 1).progress;
    gc.state = &found;
    /* What really goes isn't named one by one to people: it may be thousands. */
    gc.victim = wanted->dry || wanted->json ? report_victim : NULL;
    bool done = read_limits(wanted, &gc, &call->error) && cli_open(call, CLI_EXISTING) &&
                gcache_gc(call->cache, &gc, &collected, &call->error) == GCACHE_OK;
    cli_progress_end(&found.progress);
    if (done && wanted->json)
        return print_json(call, &found, &collected);
    if (done)
        print_text(wanted, &collected);
    return done;
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    { "dry-run", CLI_FLAG, offsetof(options, dry), NULL, "name what would go, change nothing" },
    { "target", CLI_TEXT, offsetof(options, target), "SIZE", "evict the longest unused down to this: 500M, 2GiB" },
    { "unused", CLI_TEXT, offsetof(options, age), "AGE", "evict what has been unused for longer: 12h, 30d" },
    { "namespace", CLI_TEXT, offsetof(options, namespace), "NAME", "evict this namespace whole" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object: what goes, entry by entry, and sums" },
    { 0 },
};

cli_command const cli_cmd_gc = {
    .name = "gc",
    .summary = "evict what is too much or too old, clear away what is left over",
    .about = "A cache keeps itself below its cap without this. Evicts by namespace, by age and by size, in this order; without\n"
             "--target down to nine tenths of max-size (see guardcache config). Then removes attachments that no entry has\n"
             "named for six hours and temporary files of processes that died. What is evicted stays known to guardcache\n"
             "explain.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
