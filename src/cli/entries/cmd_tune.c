/*
 * guardcache tune: what tuning found out. `ls` lists it; `get`, `put` and `explain` are about one site's timings, or, with
 * --kernel, about one kernel's best configuration.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/object.h"

#include <guardcache/tuning.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct options {
    char const *system, *op, *inputs, *precision, *hint;
    char const *kernel, *tag, *toolchain, *backend, *configs_hash, *kernel_hash;
    cli_list configs;
    int64_t tuning_ns;
    bool by_descent, json;
} options;

static char const *
or_empty(char const *text)
{
    return text != NULL ? text : "";
}

static gcache_site
site_of(options const *wanted)
{
    return (gcache_site){ sizeof(gcache_site), or_empty(wanted->system), or_empty(wanted->op), or_empty(wanted->inputs),
                          or_empty(wanted->hint), or_empty(wanted->precision) };
}

static gcache_kernel
kernel_of(options const *wanted)
{
    return (gcache_kernel){ sizeof(gcache_kernel), wanted->kernel, wanted->tag, wanted->toolchain, wanted->backend };
}

/* ---- configurations ---- */

/* config = NAME=VALUE { "," NAME=VALUE } */
static bool
read_config(char const *text, gci_arena *arena, gcache_config *out_config, gcache_error *error)
{
    size_t count = 1;

    for (char const *p = text; *p != '\0'; p++)
        count += *p == ',';
    gcache_pair *pairs = gci_arena_array(arena, count, sizeof *pairs);
    for (size_t i = 0; pairs != NULL && i < count; i++, text += text[0] == ',') {
        size_t size = strcspn(text, ","), name = strcspn(text, "=");
        if (name == 0 || name >= size)
            return cli_wrong(error, "--config: '%.*s' is not NAME=VALUE", (int)size, text);
        pairs[i].name = gci_arena_copy(arena, gci_view_of(text, name)).data;
        pairs[i].value = gci_arena_copy(arena, gci_view_of(text + name + 1, size - name - 1)).data;
        text += size;
    }
    *out_config = (gcache_config){ pairs, count };
    return !arena->failed || cli_no_memory(error);
}

static bool
read_configs(cli_call *call, gcache_config **out_configs)
{
    options const *wanted = call->options;

    *out_configs = gci_arena_array(&call->arena, wanted->configs.count, sizeof **out_configs);
    if (*out_configs == NULL)
        return cli_no_memory(&call->error);
    for (size_t i = 0; i < wanted->configs.count; i++)
        if (!read_config(wanted->configs.items[i], &call->arena, &(*out_configs)[i], &call->error))
            return false;
    return true;
}

/* ---- output ---- */

static void
print_config(gcache_config const *config)
{
    for (size_t i = 0; i < config->count; i++)
        cli_print("%s%s=%s", i > 0 ? "," : "", config->parameters[i].name, config->parameters[i].value);
}

static bool
print_timing(cli_call *call, gcache_site const *site, char const *choice, double timing)
{
    options const *wanted = call->options;

    if (!wanted->json) {
        cli_print("%g\t%s\t%s\t%s\t%s\t%s\n", timing, choice, site->op, site->inputs, site->precision, site->system);
        return true;
    }
    gci_arena_reset(&call->arena);
    cli_object object = cli_object_new(&call->arena);
    cli_object_set_text(&object, "table", "timing");
    cli_object_set_text(&object, "system", site->system);
    cli_object_set_text(&object, "op", site->op);
    cli_object_set_text(&object, "inputs", site->inputs);
    cli_object_set_text(&object, "hint", site->hint);
    cli_object_set_text(&object, "precision", site->precision);
    cli_object_set_text(&object, "choice", choice);
    cli_object_set(&object, "timing", (gci_value){ .type = GCI_FLOAT, .real = timing });
    return cli_object_print(&object, &call->error);
}

static bool
print_best(cli_call *call, gcache_kernel const *kernel, gcache_best const *best)
{
    options const *wanted = call->options;

    if (!wanted->json) {
        print_config(&best->config);
        cli_print("\t%s%s\t%s\t%s\n", kernel->source_hash, best->by_descent ? " (by descent)" : "", kernel->tag,
                  kernel->toolchain);
        return true;
    }
    gci_arena_reset(&call->arena);
    cli_object object = cli_object_new(&call->arena);
    cli_object_set_text(&object, "table", "best");
    cli_object_set_text(&object, "kernel", kernel->source_hash);
    cli_object_set_text(&object, "tag", kernel->tag);
    cli_object_set_text(&object, "toolchain", kernel->toolchain);
    cli_object_set_pairs(&object, "config", best->config.parameters, best->config.count);
    cli_object_set_text(&object, "configs_hash", best->configs_hash);
    cli_object_set_bool(&object, "by_descent", best->by_descent);
    cli_object_set_count(&object, "tuning_ns", best->tuning_ns);
    cli_object_set_text(&object, "kernel_hash", best->kernel_hash);
    return cli_object_print(&object, &call->error);
}

/* ---- ls, and get for a kernel ---- */

typedef struct lister {
    cli_call *call;
    gcache_kernel const *only; /* NULL: all of them */
    bool found, failed;
} lister;

static int
list_timing(void *state, gcache_site const *site, char const *choice, double timing, uint64_t at_ns)
{
    lister *list = state;

    (void)at_ns;
    list->failed = !print_timing(list->call, site, choice, timing);
    return list->failed || cli_output_lost();
}

static bool
same(char const *a, char const *b)
{
    return strcmp(or_empty(a), or_empty(b)) == 0;
}

static int
list_best(void *state, gcache_kernel const *kernel, gcache_best const *best, uint64_t at_ns)
{
    lister *list = state;
    gcache_kernel const *only = list->only;

    (void)at_ns;
    if (only != NULL && (!same(kernel->source_hash, only->source_hash) || !same(kernel->tag, only->tag) ||
                         !same(kernel->toolchain, only->toolchain)))
        return 0;
    list->found = true;
    list->failed = !print_best(list->call, kernel, best);
    return list->failed || only != NULL || cli_output_lost();
}

static bool
run_ls(cli_call *call)
{
    lister list = { .call = call };

    return cli_open(call, CLI_LOOK) && gcache_timings_each(call->cache, list_timing, &list, &call->error) == GCACHE_OK &&
           !list.failed && gcache_best_each(call->cache, list_best, &list, &call->error) == GCACHE_OK && !list.failed;
}

static bool
get_best(cli_call *call)
{
    gcache_kernel kernel = kernel_of(call->options);
    lister list = { .call = call, .only = &kernel };

    if (gcache_best_each(call->cache, list_best, &list, &call->error) != GCACHE_OK || list.failed)
        return false;
    if (!list.found)
        cli_complain("%s", gcache_best_verdict_text(GCACHE_BEST_NO_RECORD));
    call->answer = list.found ? CLI_OK : CLI_NO;
    return true;
}

/* ---- get ---- */

static bool
get_timings(cli_call *call)
{
    gcache_timings timings = { .size = sizeof timings, .timings = calloc(call->count + 1, sizeof(double)) };
    gcache_site site = site_of(call->options);

    if (timings.timings == NULL)
        return cli_no_memory(&call->error);
    gcache_status status = gcache_timings_get(call->cache, &site, (char const *const *)call->arguments, call->count, NULL, NULL,
                                              &timings, &call->error);
    bool done = status == GCACHE_HIT || status == GCACHE_MISS;
    for (size_t i = 0; done && i < call->count; i++)
        done = isnan(timings.timings[i]) || print_timing(call, &site, call->arguments[i], timings.timings[i]);
    free(timings.timings);
    if (done && status == GCACHE_MISS)
        cli_complain("%s", timings.why);
    call->answer = status == GCACHE_HIT ? CLI_OK : CLI_NO;
    return done;
}

static bool
check_site(cli_call *call, char const *command)
{
    options const *wanted = call->options;

    if (wanted->op == NULL && wanted->kernel == NULL)
        return cli_wrong(&call->error, "tune %s: --op or --kernel is missing", command);
    if (wanted->op != NULL && wanted->kernel != NULL)
        return cli_wrong(&call->error, "tune %s: --op and --kernel exclude each other", command);
    return true;
}

static bool
run_get(cli_call *call)
{
    options const *wanted = call->options;

    return check_site(call, "get") && cli_open(call, CLI_READ) && (wanted->kernel != NULL ? get_best(call) : get_timings(call));
}

/* ---- put ---- */

/* choice = CHOICE=TIMING; the timing stands behind the last "=" */
static bool
read_timing(char const *text, gci_arena *arena, char const **out_choice, double *out_timing, gcache_error *error)
{
    char const *equals = strrchr(text, '=');
    char *end = NULL;

    if (equals != NULL)
        *out_timing = strtod(equals + 1, &end);
    if (equals == NULL || equals == text || end == equals + 1 || *end != '\0' || isnan(*out_timing))
        return cli_wrong(error, "tune put: '%s' is not CHOICE=TIMING", text);
    *out_choice = gci_arena_copy(arena, gci_view_of(text, (size_t)(equals - text))).data;
    return *out_choice != NULL || cli_no_memory(error);
}

static gcache_status
put_timings(cli_call *call)
{
    char const **choices = gci_arena_array(&call->arena, call->count, sizeof *choices);
    double *timings = gci_arena_array(&call->arena, call->count, sizeof *timings);
    gcache_site site = site_of(call->options);

    if (choices == NULL || timings == NULL)
        return gci_fail_memory(&call->error);
    for (size_t i = 0; i < call->count; i++)
        if (!read_timing(call->arguments[i], &call->arena, &choices[i], &timings[i], &call->error))
            return call->error.status;
    return gcache_timings_put(call->cache, &site, choices, timings, call->count, &call->error);
}

static gcache_status
put_best(cli_call *call)
{
    options const *wanted = call->options;
    gcache_kernel kernel = kernel_of(wanted);
    gcache_config *configs;

    if (wanted->configs.count != 1 || wanted->configs_hash == NULL || wanted->tuning_ns < 0)
        return gci_fail(&call->error, GCACHE_ERROR_ARGUMENT, "tune put: a kernel needs one --config and --configs-hash");
    if (!read_configs(call, &configs))
        return call->error.status;
    gcache_best best = { .size = sizeof best, .config = configs[0], .configs_hash = wanted->configs_hash,
                         .by_descent = wanted->by_descent,
                         .tuning_ns = (uint64_t)wanted->tuning_ns, .kernel_hash = wanted->kernel_hash };
    return gcache_best_put(call->cache, &kernel, &best, &call->error);
}

static bool
run_put(cli_call *call)
{
    options const *wanted = call->options;

    if (!check_site(call, "put") || !cli_open(call, CLI_USE))
        return false;
    gcache_status status = wanted->kernel != NULL ? put_best(call) : put_timings(call);
    return status == GCACHE_REFUSED ? cli_refused(call) : status == GCACHE_OK;
}

/* ---- explain ---- */

static void
print_found(gcache_best_found const *found, gcache_config const *offered)
{
    cli_print("%s: %s\n", gcache_best_verdict_name(found->verdict),
              found->why[0] != '\0' ? found->why : gcache_best_verdict_text(found->verdict));
    if (found->record.configs_hash != NULL) {
        fputs("record    ", stdout);
        print_config(&found->record.config);
        cli_print("%s\n", found->record.by_descent ? "  (by descent)" : "");
    }
    if (found->verdict == GCACHE_BEST_USED) {
        fputs("answer    ", stdout);
        print_config(&offered[found->index]);
        puts("");
    }
}

static bool
print_found_object(cli_call *call, gcache_best_found const *found)
{
    cli_object object = cli_object_new(&call->arena);
    gci_value const null = { .type = GCI_NULL };

    cli_object_set_text(&object, "verdict", gcache_best_verdict_name(found->verdict));
    cli_object_set_text(&object, "why", found->why);
    if (found->record.configs_hash != NULL)
        cli_object_set_pairs(&object, "record", found->record.config.parameters, found->record.config.count);
    else
        cli_object_set(&object, "record", null);
    cli_object_set_count(&object, "matches", found->matches);
    if (found->verdict == GCACHE_BEST_USED)
        cli_object_set_count(&object, "index", found->index);
    else
        cli_object_set(&object, "index", null);
    return cli_object_print(&object, &call->error);
}

static bool
run_explain(cli_call *call)
{
    options const *wanted = call->options;
    gcache_kernel kernel = kernel_of(wanted);
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;
    gcache_config *offered;

    if (wanted->kernel == NULL)
        return cli_wrong(&call->error, "tune explain: --kernel is missing");
    if (!cli_open(call, CLI_READ) || !read_configs(call, &offered))
        return false;
    bool done = gcache_best_find(call->cache, &kernel, offered, wanted->configs.count, or_empty(wanted->configs_hash),
                                 wanted->by_descent, &found, &call->error) >= 0;
    if (done && wanted->json)
        done = print_found_object(call, &found);
    else if (done)
        print_found(&found, offered);
    gcache_best_found_clear(&found);
    return done;
}

/* ---- the commands ---- */

#define CACHE_OPTIONS                                                                                 \
    { "cache", CLI_COMMON, 0, "DIR", "the cache directory" }
#define SITE_OPTIONS                                                                                  \
    { "op", CLI_TEXT, offsetof(options, op), "OP", "the operation whose choices are timed" },         \
    { "inputs", CLI_TEXT, offsetof(options, inputs), "TEXT", "its inputs" },                          \
    { "size-hint", CLI_TEXT, offsetof(options, hint), "TEXT", "a size assumed for the inputs" },      \
    { "precision", CLI_TEXT, offsetof(options, precision), "TEXT", "the precision of the arithmetic" }, \
    { "system", CLI_TEXT, offsetof(options, system), "TEXT", "whose timings: device and versions" }
#define KERNEL_OPTIONS                                                                                \
    { "kernel", CLI_TEXT, offsetof(options, kernel), "HASH", "a kernel, by the hash of its source" }, \
    { "tag", CLI_TEXT, offsetof(options, tag), "TEXT", "its cache tag" },                             \
    { "toolchain", CLI_TEXT, offsetof(options, toolchain), "TEXT", "the fingerprint of what compiles it" }, \
    { "backend", CLI_TEXT, offsetof(options, backend), "HASH", "of its back end: with it records go through tiers" }
#define JSON_OPTION { "json", CLI_FLAG, offsetof(options, json), NULL, "an object a line" }

static cli_option const ls_table[] = { CACHE_OPTIONS, JSON_OPTION, { 0 } };
static cli_option const get_table[] = { CACHE_OPTIONS, SITE_OPTIONS, KERNEL_OPTIONS, JSON_OPTION, { 0 } };
static cli_option const put_table[] = {
    CACHE_OPTIONS,
    SITE_OPTIONS,
    KERNEL_OPTIONS,
    { "config", CLI_LIST, offsetof(options, configs), "NAME=VALUE,...", "the best configuration" },
    { "configs-hash", CLI_TEXT, offsetof(options, configs_hash), "HASH", "of the configurations it was chosen among" },
    { "kernel-hash", CLI_TEXT, offsetof(options, kernel_hash), "HASH", "of the compiled kernel" },
    { "tuning-ns", CLI_INT, offsetof(options, tuning_ns), "N", "what finding it took, in nanoseconds" },
    { "by-descent", CLI_FLAG, offsetof(options, by_descent), NULL, "coordinate descent found it" },
    { 0 },
};
static cli_option const explain_table[] = {
    CACHE_OPTIONS,
    KERNEL_OPTIONS,
    { "config", CLI_LIST, offsetof(options, configs), "NAME=VALUE,...", "an offered configuration; repeat for more" },
    { "configs-hash", CLI_TEXT, offsetof(options, configs_hash), "HASH", "of the offered configurations" },
    { "by-descent", CLI_FLAG, offsetof(options, by_descent), NULL, "a record of coordinate descent is welcome" },
    JSON_OPTION,
    { 0 },
};

cli_command const cli_cmd_tune_ls = {
    .name = "tune ls",
    .summary = "list timings and best configurations",
    .about = "A line a timing: timing, choice, operation, inputs, precision, system. A line a kernel: configuration, hash of\n"
             "the source, tag, toolchain.\n",
    .options = ls_table,
    .options_size = sizeof(options),
    .run = run_ls,
};

cli_command const cli_cmd_tune_get = {
    .name = "tune get",
    .arguments = "[CHOICE...]",
    .summary = "show the timings of choices, or a kernel's best configuration",
    .about = "Exit status 1 unless all choices are known: timings are only comparable if they come from one run.\n",
    .options = get_table,
    .options_size = sizeof(options),
    .run = run_get,
};

cli_command const cli_cmd_tune_put = {
    .name = "tune put",
    .arguments = "[CHOICE=TIMING...]",
    .summary = "store timings, or a kernel's best configuration",
    .about = "A timing of inf says that the choice can't run.\n",
    .options = put_table,
    .options_size = sizeof(options),
    .run = run_put,
};

cli_command const cli_cmd_tune_explain = {
    .name = "tune explain",
    .summary = "say why a kernel's best configuration is used or isn't",
    .about = "A record is used if it was chosen among the configurations that --configs-hash names and exactly one of those\n"
             "offered matches it.\n",
    .options = explain_table,
    .options_size = sizeof(options),
    .run = run_explain,
};
