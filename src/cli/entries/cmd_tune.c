/*
 * guardcache tune: what tuning found out. `ls` lists it; `get`, `put` and `explain` are about one site's timings, or, with
 * --kernel, about one kernel's best configuration.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/object.h"
#include "cli/shared/open.h"

#include <errno.h>
#include <guardcache/tuning.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct options {
    char const *cache;
    char const *system, *op, *inputs, *precision, *hint;
    char const *kernel, *tag, *toolchain, *configs_hash, *kernel_hash;
    cli_list configs;
    int64_t tuning_ns;
    bool by_descent, json;
} options;

/* A command's arguments and one record. */
#define OBJECT_MAX_BYTES ((size_t)64 << 20)

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
    return (gcache_kernel){ sizeof(gcache_kernel), wanted->kernel, wanted->tag, wanted->toolchain };
}

/* ---- configurations ---- */

/* config = NAME=VALUE { "," NAME=VALUE } */
static gcache_status
read_config(char const *text, gci_arena *arena, gcache_config *out_config, gcache_error *error)
{
    size_t count = 1;

    for (char const *p = text; *p != '\0'; p++)
        count += *p == ',';
    gcache_pair *pairs = gci_arena_array(arena, count, sizeof *pairs);
    if (pairs == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < count; i++, text += text[0] == ',') {
        size_t size = strcspn(text, ","), name = strcspn(text, "=");
        if (name == 0 || name >= size)
            return gci_fail(error, GCACHE_ERROR_ARGUMENT, "--config: '%.*s' is not NAME=VALUE", (int)size, text);
        pairs[i].name = gci_arena_copy(arena, gci_view_of(text, name)).data;
        pairs[i].value = gci_arena_copy(arena, gci_view_of(text + name + 1, size - name - 1)).data;
        text += size;
    }
    *out_config = (gcache_config){ pairs, count };
    return arena->failed ? gci_fail_memory(error) : GCACHE_OK;
}

static gcache_status
read_configs(options const *wanted, gci_arena *arena, gcache_config **out_configs, gcache_error *error)
{
    gcache_config *configs = gci_arena_array(arena, wanted->configs.count, sizeof *configs);
    gcache_status status = configs != NULL ? GCACHE_OK : gci_fail_memory(error);

    for (size_t i = 0; status == GCACHE_OK && i < wanted->configs.count; i++)
        status = read_config(wanted->configs.items[i], arena, &configs[i], error);
    *out_configs = configs;
    return status;
}

/* ---- output ---- */

static gci_value
config_value(gci_arena *arena, gcache_config const *config)
{
    cli_object object = cli_object_new(arena);

    for (size_t i = 0; i < config->count; i++)
        cli_object_set_text(&object, config->parameters[i].name, config->parameters[i].value);
    return object.map;
}

static void
print_config(gcache_config const *config)
{
    for (size_t i = 0; i < config->count; i++)
        cli_print("%s%s=%s", i > 0 ? "," : "", config->parameters[i].name, config->parameters[i].value);
}

static gcache_status
print_timing(bool json, gcache_site const *site, char const *choice, double timing, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    gci_arena arena;

    if (!json) {
        cli_print("%g\t%s\t%s\t%s\t%s\t%s\n", timing, choice, site->op, site->inputs, site->precision, site->system);
        return GCACHE_OK;
    }
    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    cli_object object = cli_object_new(&arena);
    cli_object_set_text(&object, "table", "timing");
    cli_object_set_text(&object, "system", site->system);
    cli_object_set_text(&object, "op", site->op);
    cli_object_set_text(&object, "inputs", site->inputs);
    cli_object_set_text(&object, "hint", site->hint);
    cli_object_set_text(&object, "precision", site->precision);
    cli_object_set_text(&object, "choice", choice);
    cli_object_set(&object, "timing", (gci_value){ .type = GCI_FLOAT, .real = timing });
    status = cli_object_print(&object, error);
    gci_arena_clear(&arena);
    return status;
}

static gcache_status
print_best(bool json, gcache_kernel const *kernel, gcache_best const *best, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    gci_arena arena;

    if (!json) {
        print_config(&best->config);
        cli_print("\t%s%s\t%s\t%s\n", kernel->source_hash, best->by_descent ? " (by descent)" : "", kernel->tag,
                  kernel->toolchain);
        return GCACHE_OK;
    }
    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    cli_object object = cli_object_new(&arena);
    cli_object_set_text(&object, "table", "best");
    cli_object_set_text(&object, "kernel", kernel->source_hash);
    cli_object_set_text(&object, "tag", kernel->tag);
    cli_object_set_text(&object, "toolchain", kernel->toolchain);
    cli_object_set(&object, "config", config_value(&arena, &best->config));
    cli_object_set_text(&object, "configs_hash", best->configs_hash);
    cli_object_set_bool(&object, "by_descent", best->by_descent);
    cli_object_set_count(&object, "tuning_ns", best->tuning_ns);
    cli_object_set_text(&object, "kernel_hash", best->kernel_hash);
    status = cli_object_print(&object, error);
    gci_arena_clear(&arena);
    return status;
}

/* ---- ls ---- */

typedef struct lister {
    bool json;
    gcache_status status;
    gcache_error *error;
} lister;

static int
list_timing(void *state, gcache_site const *site, char const *choice, double timing, uint64_t at_ns)
{
    lister *list = state;

    (void)at_ns;
    list->status = print_timing(list->json, site, choice, timing, list->error);
    return list->status != GCACHE_OK || cli_output_lost();
}

static int
list_best(void *state, gcache_kernel const *kernel, gcache_best const *best, uint64_t at_ns)
{
    lister *list = state;

    (void)at_ns;
    list->status = print_best(list->json, kernel, best, list->error);
    return list->status != GCACHE_OK || cli_output_lost();
}

static cli_exit
run_ls(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_error error = { 0 };
    lister list = { wanted->json, GCACHE_OK, &error };
    gcache *cache;

    gcache_status status = cli_open_directory(wanted->cache, true, &cache, &error);
    if (status == GCACHE_OK)
        status = gcache_timings_each(cache, list_timing, &list, &error);
    if (status == GCACHE_OK && list.status == GCACHE_OK)
        status = gcache_best_each(cache, list_best, &list, &error);
    gcache_close(cache);
    return status == GCACHE_OK && list.status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

/* ---- get ---- */

/* One kernel's record, picked out of all of them. */
typedef struct picker {
    gcache_kernel kernel;
    lister list;
    bool found;
} picker;

static bool
same(char const *a, char const *b)
{
    return strcmp(or_empty(a), or_empty(b)) == 0;
}

static int
pick_best(void *state, gcache_kernel const *kernel, gcache_best const *best, uint64_t at_ns)
{
    picker *p = state;

    if (!same(kernel->source_hash, p->kernel.source_hash) || !same(kernel->tag, p->kernel.tag) ||
        !same(kernel->toolchain, p->kernel.toolchain))
        return 0;
    p->found = true;
    list_best(&p->list, kernel, best, at_ns);
    return 1;
}

static cli_exit
get_best(options const *wanted, gcache *cache, gcache_error *error)
{
    picker p = { kernel_of(wanted), { wanted->json, GCACHE_OK, error }, false };

    if (gcache_best_each(cache, pick_best, &p, error) != GCACHE_OK || p.list.status != GCACHE_OK)
        return cli_fail(error);
    if (!p.found)
        cli_complain("%s", gcache_best_verdict_text(GCACHE_BEST_NO_RECORD));
    return p.found ? CLI_OK : CLI_NO;
}

static cli_exit
get_timings(options const *wanted, gcache *cache, char **choices, size_t count, gcache_error *error)
{
    gcache_timings timings = { .size = sizeof timings, .timings = calloc(count + 1, sizeof(double)) };
    gcache_site site = site_of(wanted);

    gcache_status status = timings.timings == NULL
                               ? gci_fail_memory(error)
                               : gcache_timings_get(cache, &site, (char const *const *)choices, count, NULL, NULL,
                                                    &timings, error);
    for (size_t i = 0; status >= 0 && i < count; i++) {
        if (!isnan(timings.timings[i]) && print_timing(wanted->json, &site, choices[i], timings.timings[i], error) < 0)
            status = error->status;
    }
    free(timings.timings);
    if (status == GCACHE_MISS)
        cli_complain("%s", timings.why);
    return status == GCACHE_HIT ? CLI_OK : status == GCACHE_MISS ? CLI_NO : cli_fail(error);
}

static gcache_status
check_site(options const *wanted, char const *command, gcache_error *error)
{
    if (wanted->op == NULL && wanted->kernel == NULL)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "tune %s: --op or --kernel is missing", command);
    if (wanted->op != NULL && wanted->kernel != NULL)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "tune %s: --op and --kernel exclude each other", command);
    return GCACHE_OK;
}

static cli_exit
run_get(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_error error = { 0 };
    gcache *cache = NULL;

    gcache_status status = check_site(wanted, "get", &error);
    if (status == GCACHE_OK)
        status = cli_open_cache(wanted->cache, true, &cache, &error);
    cli_exit result = status != GCACHE_OK      ? cli_fail(&error)
                      : wanted->kernel != NULL ? get_best(wanted, cache, &error)
                                               : get_timings(wanted, cache, call->arguments, call->count, &error);
    gcache_close(cache);
    return result;
}

/* ---- put ---- */

/* choice = CHOICE=TIMING; the timing stands behind the last "=" */
static gcache_status
read_timing(char const *text, gci_arena *arena, char const **out_choice, double *out_timing, gcache_error *error)
{
    char const *equals = strrchr(text, '=');
    char *end = NULL;

    if (equals != NULL)
        *out_timing = strtod(equals + 1, &end);
    if (equals == NULL || equals == text || end == equals + 1 || *end != '\0' || isnan(*out_timing))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "tune put: '%s' is not CHOICE=TIMING", text);
    *out_choice = gci_arena_copy(arena, gci_view_of(text, (size_t)(equals - text))).data;
    return *out_choice != NULL ? GCACHE_OK : gci_fail_memory(error);
}

static gcache_status
put_timings(options const *wanted, gcache *cache, cli_call const *call, gci_arena *arena, gcache_error *error)
{
    char const **choices = gci_arena_array(arena, call->count, sizeof *choices);
    double *timings = gci_arena_array(arena, call->count, sizeof *timings);
    gcache_site site = site_of(wanted);
    gcache_status status = choices != NULL && timings != NULL ? GCACHE_OK : gci_fail_memory(error);

    for (size_t i = 0; status == GCACHE_OK && i < call->count; i++)
        status = read_timing(call->arguments[i], arena, &choices[i], &timings[i], error);
    return status == GCACHE_OK ? gcache_timings_put(cache, &site, choices, timings, call->count, error) : status;
}

static gcache_status
put_best(options const *wanted, gcache *cache, gci_arena *arena, gcache_error *error)
{
    gcache_kernel kernel = kernel_of(wanted);
    gcache_config *configs;

    if (wanted->configs.count != 1 || wanted->configs_hash == NULL || wanted->tuning_ns < 0)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "tune put: a kernel needs one --config and --configs-hash");
    gcache_status status = read_configs(wanted, arena, &configs, error);
    if (status != GCACHE_OK)
        return status;
    gcache_best best = { .size = sizeof best, .config = configs[0], .configs_hash = wanted->configs_hash,
                         .by_descent = wanted->by_descent,
                         .tuning_ns = (uint64_t)wanted->tuning_ns, .kernel_hash = wanted->kernel_hash };
    return gcache_best_put(cache, &kernel, &best, error);
}

static cli_exit
run_put(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_error error = { 0 };
    gcache *cache = NULL;
    gci_arena arena;

    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    gcache_status status = check_site(wanted, "put", &error);
    if (status == GCACHE_OK)
        status = cli_open_cache(wanted->cache, false, &cache, &error);
    if (status == GCACHE_OK)
        status = wanted->kernel != NULL ? put_best(wanted, cache, &arena, &error)
                                        : put_timings(wanted, cache, call, &arena, &error);
    gcache_close(cache);
    gci_arena_clear(&arena);
    if (status != GCACHE_REFUSED)
        return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
    cli_complain("refused: %s", error.message);
    return CLI_NO;
}

/* ---- explain ---- */

static gcache_status
print_found(options const *wanted, gcache_best_found const *found, gcache_config const *offered, gcache_error *error)
{
    bool used = found->verdict == GCACHE_BEST_USED, exists = found->record.configs_hash != NULL;
    gci_arena arena;

    if (!wanted->json) {
        cli_print("%s: %s\n", gcache_best_verdict_name(found->verdict),
                  found->why[0] != '\0' ? found->why : gcache_best_verdict_text(found->verdict));
        if (exists) {
            fputs("record    ", stdout);
            print_config(&found->record.config);
            cli_print("%s\n", found->record.by_descent ? "  (by descent)" : "");
        }
        if (used) {
            fputs("answer    ", stdout);
            print_config(&offered[found->index]);
            puts("");
        }
        return GCACHE_OK;
    }
    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    cli_object object = cli_object_new(&arena);
    cli_object_set_text(&object, "verdict", gcache_best_verdict_name(found->verdict));
    cli_object_set_text(&object, "why", found->why);
    cli_object_set(&object, "record", exists ? config_value(&arena, &found->record.config) : (gci_value){ .type = GCI_NULL });
    cli_object_set_count(&object, "matches", found->matches);
    cli_object_set(&object, "index", used ? (gci_value){ .type = GCI_INT, .integer = (int64_t)found->index }
                                          : (gci_value){ .type = GCI_NULL });
    gcache_status status = cli_object_print(&object, error);
    gci_arena_clear(&arena);
    return status;
}

static gcache_status
explain(options const *wanted, gcache *cache, gci_arena *arena, gcache_error *error)
{
    gcache_kernel kernel = kernel_of(wanted);
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;
    gcache_config *offered;

    gcache_status status = read_configs(wanted, arena, &offered, error);
    if (status == GCACHE_OK)
        status = gcache_best_find(cache, &kernel, offered, wanted->configs.count,
                                  wanted->configs_hash != NULL ? wanted->configs_hash : "", wanted->by_descent, &found,
                                  error);
    if (status >= 0 && print_found(wanted, &found, offered, error) != GCACHE_OK)
        status = error->status;
    gcache_best_found_clear(&found);
    return status;
}

static cli_exit
run_explain(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_error error = { 0 };
    gcache *cache = NULL;
    gci_arena arena;

    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    gcache_status status = GCACHE_OK;
    if (wanted->kernel == NULL)
        status = gci_fail(&error, GCACHE_ERROR_ARGUMENT, "tune explain: --kernel is missing");
    if (status == GCACHE_OK)
        status = cli_open_cache(wanted->cache, true, &cache, &error);
    if (status == GCACHE_OK)
        status = explain(wanted, cache, &arena, &error);
    gcache_close(cache);
    gci_arena_clear(&arena);
    return status >= 0 ? CLI_OK : cli_fail(&error);
}

/* ---- the commands ---- */

#define CACHE_OPTIONS                                                                                 \
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" }
#define SITE_OPTIONS                                                                                  \
    { "op", CLI_TEXT, offsetof(options, op), "OP", "the operation whose choices are timed" },         \
    { "inputs", CLI_TEXT, offsetof(options, inputs), "TEXT", "its inputs" },                          \
    { "size-hint", CLI_TEXT, offsetof(options, hint), "TEXT", "a size assumed for the inputs" },      \
    { "precision", CLI_TEXT, offsetof(options, precision), "TEXT", "the precision of the arithmetic" }, \
    { "system", CLI_TEXT, offsetof(options, system), "TEXT", "whose timings: device and versions" }
#define KERNEL_OPTIONS                                                                                \
    { "kernel", CLI_TEXT, offsetof(options, kernel), "HASH", "a kernel, by the hash of its source" }, \
    { "tag", CLI_TEXT, offsetof(options, tag), "TEXT", "its cache tag" },                             \
    { "toolchain", CLI_TEXT, offsetof(options, toolchain), "TEXT", "the fingerprint of what compiles it" }
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
    .arguments = "",
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
    .most = CLI_ANY_NUMBER,
    .run = run_get,
};

cli_command const cli_cmd_tune_put = {
    .name = "tune put",
    .arguments = "[CHOICE=TIMING...]",
    .summary = "store timings, or a kernel's best configuration",
    .about = "A timing of inf says that the choice can't run.\n",
    .options = put_table,
    .options_size = sizeof(options),
    .most = CLI_ANY_NUMBER,
    .run = run_put,
};

cli_command const cli_cmd_tune_explain = {
    .name = "tune explain",
    .arguments = "",
    .summary = "say why a kernel's best configuration is used or isn't",
    .about = "A record is used if it was chosen among the configurations that --configs-hash names and exactly one of those\n"
             "offered matches it.\n",
    .options = explain_table,
    .options_size = sizeof(options),
    .run = run_explain,
};
