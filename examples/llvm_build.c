/*
 * A build driver: compiles LLVM IR modules to objects with clang, through the cache, many at once.
 *
 *      llvm_build CACHE OUTPUT [-j WORKERS] MODULE.ll...
 *
 * The key of a module is its text after the rules for llvm-ir, the compiler's version and its flags. Unstable names don't
 * count, so an object may come from a module that called things otherwise: renames are accepted. OUTPUT/<module>.names
 * tells the link step what to rename in an object that was a hit: a line "stored current" each, as
 * `objcopy --redefine-syms` reads it.
 */
#include <errno.h>
#include <guardcache/guardcache.h>
#include <libgen.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The environment's CLANG, else clang. */
static char const *
clang(void)
{
    char const *given = getenv("CLANG");

    return given != NULL && given[0] != '\0' ? given : "clang";
}

/* What every module is compiled with; part of the key. */
static char const flags[] = "-O2 -fPIC";

typedef struct unit {
    char const *path;   /* of the module */
    char name[256];     /* what its object is called */
    char const *output; /* the folder */
    char *object;       /* bytes, while they are the result's */
} unit;

/* ---- files ---- */

static char *
read_whole(char const *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    struct stat facts;

    if (file != NULL && fstat(fileno(file), &facts) == 0 && (bytes = malloc((size_t)facts.st_size + 1)) != NULL) {
        *out_size = fread(bytes, 1, (size_t)facts.st_size, file);
        bytes[*out_size] = '\0';
    }
    if (file != NULL)
        fclose(file);
    return bytes;
}

static bool
write_whole(char const *path, void const *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");
    bool written = file != NULL && fwrite(bytes, 1, size, file) == size;

    return file != NULL && fclose(file) == 0 && written;
}

/* ---- the compiler ---- */

static gcache_status
fail(gcache_error *error, char const *what, char const *about)
{
    error->status = GCACHE_ERROR_IO;
    snprintf(error->message, sizeof error->message, "%s: %s", about, what);
    return GCACHE_ERROR_IO;
}

static bool
run_clang(char const *source, char const *object)
{
    char const *const arguments[] = { clang(), "-O2", "-fPIC", "-w", "-c", "-x", "ir", source, "-o",
                                      object, NULL };
    pid_t child;
    int status;

    return posix_spawnp(&child, arguments[0], NULL, NULL, (char *const *)(uintptr_t)arguments, environ) == 0 &&
           waitpid(child, &status, 0) == child && status == 0;
}

static void
release(void *state, gcache_compiled *compiled)
{
    unit *u = state;

    (void)compiled;
    free(u->object);
    u->object = NULL;
}

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    unit *u = state;
    char object[4096];
    size_t size = 0;

    (void)graph;
    (void)hints;
    snprintf(object, sizeof object, "%s/%s.%d.tmp", u->output, u->name, (int)getpid());
    out_compiled->release = release;
    if (!run_clang(u->path, object) || (u->object = read_whole(object, &size)) == NULL)
        return fail(error, "can't be compiled", u->path);
    unlink(object);
    out_compiled->entry->payload = u->object;
    out_compiled->entry->payload_size = size;
    out_compiled->entry->label = u->name;
    return GCACHE_OK;
}

/* ---- modules ---- */

/* What the compiler says its version is: another one, another key. */
static void
read_version(char *out, size_t size)
{
    char command[4096];

    snprintf(command, sizeof command, "'%s' --version", clang());
    FILE *pipe = popen(command, "r");

    if (pipe == NULL || fgets(out, (int)size, pipe) == NULL)
        snprintf(out, size, "unknown");
    if (pipe != NULL)
        pclose(pipe);
}

static gcache_graph *
describe(char const *path, char const *version, gcache_rules const *rules)
{
    size_t size;
    char *text = read_whole(path, &size);

    if (text == NULL)
        return NULL;
    gcache_graph *graph = gcache_graph_new("llvm-ir");
    gcache_graph_use_rules(graph, rules);
    gcache_value *flag_text = gcache_value_text(graph, flags, strlen(flags));
    gcache_value *version_text = gcache_value_text(graph, version, strlen(version));
    gcache_graph_component(graph, "module", gcache_value_text(graph, text, size));
    gcache_graph_component(graph, "options", gcache_value_map(graph, (char const *[]){ "flags" }, &flag_text, 1));
    gcache_graph_component(graph, "environment", gcache_value_map(graph, (char const *[]){ "llvm" }, &version_text, 1));
    free(text);
    return graph;
}

static void
name_unit(unit *u, char const *path, char const *output)
{
    char copy[4096];

    snprintf(copy, sizeof copy, "%s", path);
    *u = (unit){ .path = path, .output = output };
    snprintf(u->name, sizeof u->name, "%.250s", basename(copy));
    size_t length = strlen(u->name);
    if (length > 3 && strcmp(u->name + length - 3, ".ll") == 0)
        u->name[length - 3] = '\0';
}

/* The object, and what the link step must rename in it. */
static bool
write_out(gcache_module const *module, unit const *u)
{
    gcache_result const *result = &module->result;
    char path[4096];

    snprintf(path, sizeof path, "%s/%s.o", u->output, u->name);
    if (!write_whole(path, result->payload, result->payload_size))
        return false;
    if (result->rename_count == 0 || module->status != GCACHE_HIT)
        return true;
    snprintf(path, sizeof path, "%s/%s.names", u->output, u->name);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        return false;
    for (size_t i = 0; i < result->rename_count; i++)
        if (strcmp(result->renames[i].stored, result->renames[i].current) != 0)
            fprintf(file, "%s %s\n", result->renames[i].stored, result->renames[i].current);
    return fclose(file) == 0;
}

static bool
show_progress(void *state, gcache_many_summary const *so_far)
{
    (void)state;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%zu of %zu", so_far->hits + so_far->compiled + so_far->failed, so_far->modules);
    return true;
}

/* Compiles and writes out; the number of modules without an object. */
static size_t
build(gcache *cache, gcache_module *modules, unit *units, size_t count, unsigned workers)
{
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_compile_options each = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_many_options options = GCACHE_MANY_OPTIONS_INIT;
    gcache_many_summary summary = GCACHE_MANY_SUMMARY_INIT;
    char line[GCACHE_MANY_LINE_SIZE];
    size_t failed = 0;

    request.accept_renames = true;
    each.request = &request;
    options.each = &each;
    options.workers = workers;
    options.progress = show_progress;
    gcache_compile_many(cache, modules, count, &options, compile, &summary, NULL);
    for (size_t i = 0; i < count; i++) {
        bool good = modules[i].done && modules[i].status >= 0 && write_out(&modules[i], &units[i]);
        if (!good)
            fprintf(stderr, "%s\n", modules[i].error.message);
        failed += !good;
        gcache_result_clear(&modules[i].result);
    }
    gcache_many_line(&summary, line, sizeof line);
    puts(line);
    return failed;
}

int
main(int argc, char **argv)
{
    int first = argc > 4 && strcmp(argv[3], "-j") == 0 ? 5 : 3;
    gcache_rules *rules;
    gcache_error error;
    gcache *cache;
    char version[256];

    if (argc <= first) {
        fprintf(stderr, "usage: llvm_build CACHE OUTPUT [-j WORKERS] MODULE.ll...\n");
        return 2;
    }
    if (mkdir(argv[2], 0777) != 0 && errno != EEXIST)
        return perror(argv[2]), 2;
    if (gcache_open(argv[1], NULL, &cache, &error) != GCACHE_OK)
        return fprintf(stderr, "%s\n", error.message), 2;
    size_t count = (size_t)(argc - first), failed = 0;
    gcache_module *modules = calloc(count, sizeof *modules);
    unit *units = calloc(count, sizeof *units);
    if (modules == NULL || units == NULL)
        return fprintf(stderr, "out of memory\n"), 2;
    read_version(version, sizeof version);
    /* Read once for all modules: their patterns are worth compiling. */
    if (gcache_rules_of_kind("llvm-ir", &rules, &error) != GCACHE_OK)
        return fprintf(stderr, "%s\n", error.message), 2;
    for (size_t i = 0; i < count; i++) {
        name_unit(&units[i], argv[first + (int)i], argv[2]);
        modules[i] = (gcache_module){ .size = sizeof(gcache_module), .graph = describe(units[i].path, version, rules), .state = &units[i] };
        if (modules[i].graph == NULL)
            return fprintf(stderr, "%s: can't be read\n", units[i].path), 2;
    }
    failed = build(cache, modules, units, count, first == 5 ? (unsigned)atoi(argv[4]) : 0);
    for (size_t i = 0; i < count; i++)
        gcache_graph_free(modules[i].graph);
    gcache_rules_free(rules);
    free(modules);
    free(units);
    gcache_close(cache);
    return failed == 0 ? 0 : 1;
}
