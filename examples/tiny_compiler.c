/*
 * A graph compiler in one file: expression graphs over vectors of symbolic length become C, the system's C compiler makes
 * machine code of it, dlopen runs it, and guardcache sees to it that nothing is compiled twice.
 *
 *      tiny_compiler CACHE LENGTH...
 *
 * computes relu(x * y + x) for vectors of each length. Run it twice: the second time nothing is compiled.
 *
 * The compiler unrolls its loop by a factor that it finds by measuring once (a timing table), and assumes that the length is
 * a multiple of it: that is its guard. Another length is a guard miss, which is explained, and gets a variant of its own.
 */
#include <dlfcn.h>
#include <guardcache/guardcache.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

typedef void (*kernel_fn)(float *out, float const *x, float const *y, long n);

/* ---- expressions ---- */

typedef enum op { INPUT_X, INPUT_Y, ADD, MUL, RELU } op;

/* Nodes in order; operands come before their users. */
typedef struct expression {
    struct node {
        op op;
        int left, right;
    } nodes[16];
    int count;
} expression;

static char const *const op_names[] = { "x", "y", "add", "mul", "relu" };

static expression
make_expression(void)
{
    return (expression){ { { INPUT_X, 0, 0 }, { INPUT_Y, 0, 0 }, { MUL, 0, 1 }, { ADD, 2, 0 }, { RELU, 3, 3 } }, 5 };
}

/* The description: what the code depends on, and nothing else. */
static gcache_graph *
describe(expression const *e)
{
    gcache_graph *graph = gcache_graph_new("generic");
    gcache_tensor vector = { .size = sizeof vector, .dtype = "float32", .shape = { "n" }, .rank = 1, .device = "cpu" };
    gcache_node nodes[16] = { 0 };
    char const *compiler = "tiny 1.0, cc -O2";
    gcache_value *version = gcache_value_text(graph, compiler, strlen(compiler));

    for (int i = 0; i < e->count; i++) {
        struct node const *n = &e->nodes[i];
        gcache_node operands[2] = { nodes[n->left], nodes[n->right] };
        nodes[i] = n->op <= INPUT_Y ? gcache_graph_input(graph, op_names[n->op], &vector)
                                    : gcache_graph_call(graph, op_names[n->op], operands, n->op == RELU ? 1 : 2);
    }
    gcache_graph_output(graph, nodes[e->count - 1]);
    gcache_graph_component(graph, "environment", gcache_value_map(graph, (char const *[]){ "compiler" }, &version, 1));
    return graph;
}

/* ---- code ---- */

static void
emit_step(FILE *out, expression const *e, int lane)
{
    for (int i = 0; i < e->count; i++) {
        struct node const *n = &e->nodes[i];
        fprintf(out, "        float v%d_%d = ", lane, i);
        switch (n->op) {
        case INPUT_X:
        case INPUT_Y:
            fprintf(out, "%s[i + %d];\n", op_names[n->op], lane);
            break;
        case ADD:
        case MUL:
            fprintf(out, "v%d_%d %c v%d_%d;\n", lane, n->left, n->op == ADD ? '+' : '*', lane, n->right);
            break;
        case RELU:
            fprintf(out, "v%d_%d > 0 ? v%d_%d : 0;\n", lane, n->left, lane, n->left);
            break;
        }
    }
    fprintf(out, "        out[i + %d] = v%d_%d;\n", lane, lane, e->count - 1);
}

static bool
emit(char const *path, expression const *e, int unroll)
{
    FILE *out = fopen(path, "w");

    if (out == NULL)
        return false;
    fprintf(out, "void kernel(float *out, float const *x, float const *y, long n)\n{\n");
    fprintf(out, "    for (long i = 0; i < n; i += %d) {\n", unroll);
    for (int lane = 0; lane < unroll; lane++)
        emit_step(out, e, lane);
    fprintf(out, "    }\n}\n");
    return fclose(out) == 0;
}

static bool
run_cc(char const *source, char const *object)
{
    char const *const arguments[] = { "cc", "-O2", "-shared", "-fPIC", "-w", "-o", object,
                                      source, NULL };
    pid_t child;
    int status;

    return posix_spawnp(&child, "cc", NULL, NULL, (char *const *)(uintptr_t)arguments, environ) == 0 &&
           waitpid(child, &status, 0) == child && status == 0;
}

static char *
read_whole(char const *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(1 << 20);

    *out_size = file != NULL && bytes != NULL ? fread(bytes, 1, 1 << 20, file) : 0;
    if (file != NULL)
        fclose(file);
    return bytes;
}

/* The expression as a shared object's bytes, freed by the caller; NULL: it can't be compiled. */
static char *
make_object(expression const *e, int unroll, size_t *out_size)
{
    char folder[] = "/tmp/tiny-XXXXXX", source[64], object[64];

    if (mkdtemp(folder) == NULL)
        return NULL;
    snprintf(source, sizeof source, "%s/kernel.c", folder);
    snprintf(object, sizeof object, "%s/kernel.so", folder);
    char *bytes = emit(source, e, unroll) && run_cc(source, object) ? read_whole(object, out_size) : NULL;
    unlink(source);
    unlink(object);
    rmdir(folder);
    return bytes;
}

/* ---- running ---- */

enum { LONGEST = 4096 };

/* Loads a kernel from a path. The library stays open: this program ends soon. */
static kernel_fn
load_kernel(char const *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "kernel") : NULL;
    kernel_fn kernel = NULL;

    memcpy(&kernel, &symbol, sizeof symbol);
    return kernel;
}

/* Whether the kernel computes what it should. */
static bool
check(kernel_fn kernel, long n)
{
    static float out[LONGEST], x[LONGEST], y[LONGEST];

    for (long i = 0; i < n; i++)
        x[i] = (float)(i % 7 - 3), y[i] = (float)(i % 5);
    kernel(out, x, y, n);
    for (long i = 0; i < n; i++) {
        float v = x[i] * y[i] + x[i];
        if (out[i] != (v > 0 ? v : 0))
            return false;
    }
    return true;
}

/* ---- tuning ---- */

static char const *const unrolls[] = { "1", "4", "8" };
enum { UNROLLS = sizeof unrolls / sizeof *unrolls };

typedef struct tuner {
    gcache *cache;
    expression const *e;
} tuner;

static double
time_kernel(kernel_fn kernel)
{
    struct timespec begin, end;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 100; i++)
        check(kernel, LONGEST);
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec);
}

/* Measures every unroll factor. Each object becomes a blob: dlopen wants a path. */
static gcache_status
measure(void *state, char const *const *choices, size_t count, double *out_timings, gcache_error *error)
{
    tuner *t = state;

    for (size_t i = 0; i < count; i++) {
        size_t size = 0;
        char *object = make_object(t->e, atoi(choices[i]), &size);
        gcache_blob blob = GCACHE_BLOB_INIT;
        gcache_status status = gcache_blob_put(t->cache, object, size, "so", NULL, &blob, error);
        free(object);
        kernel_fn kernel = status == GCACHE_OK ? load_kernel(blob.path) : NULL;
        if (kernel == NULL)
            return status != GCACHE_OK ? status : GCACHE_ERROR_INTERNAL;
        out_timings[i] = time_kernel(kernel);
    }
    return GCACHE_OK;
}

/* The fastest unroll factor: from the table, or measured now. */
static int
find_unroll(gcache *cache, expression const *e)
{
    gcache_site site = { .size = sizeof site, .system = "this machine", .op = "relu(x * y + x)", .inputs = "float32 vector" };
    tuner t = { cache, e };
    double timings[UNROLLS];
    gcache_timings found = { .size = sizeof found, .timings = timings };
    gcache_error error;
    int best = 0;

    gcache_status status = gcache_timings_get(cache, &site, unrolls, UNROLLS, measure, &t, &found, &error);
    if (status < 0) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("tuning: %s\n", found.measured ? "measured" : "known");
    for (int i = 1; i < UNROLLS; i++)
        best = timings[i] < timings[best] ? i : best;
    /* One would serve all lengths; this program is here to show guards. */
    return best == 0 ? 4 : atoi(unrolls[best]);
}

/* ---- compiling through the cache ---- */

typedef struct job {
    expression e;
    int unroll;
    char guard[64];
    char const *guards[1];
    gcache_attachment library;
    char *object;
} job;

static void
release(void *state, gcache_compiled *compiled)
{
    job *j = state;

    (void)compiled;
    free(j->object);
    j->object = NULL;
}

/* Unrolled where the length allows it, plain where it doesn't; the guard says which. */
static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    job *j = state;
    bool whole = hints->items[0].value % j->unroll == 0;
    size_t size = 0;

    (void)graph;
    j->object = make_object(&j->e, whole ? j->unroll : 1, &size);
    if (j->object == NULL) {
        snprintf(error->message, sizeof error->message, "the C compiler failed");
        return error->status = GCACHE_ERROR_INTERNAL;
    }
    snprintf(j->guard, sizeof j->guard, "n %% %d %s 0", j->unroll, whole ? "==" : "!=");
    j->guards[0] = j->guard;
    j->library = (gcache_attachment){ .name = "kernel.so", .bytes = j->object, .size = size, .executable = true };
    *out_compiled->entry = (gcache_entry){ .size = sizeof(gcache_entry), .guards = j->guards, .guard_count = 1,
                                           .payload = "kernel", .payload_size = 6, .attachments = &j->library, .attachment_count = 1 };
    out_compiled->release = release;
    return GCACHE_OK;
}

/* What is worth a line besides the outcome itself. */
static void
say(void *state, gcache_event const *event)
{
    char line[GCACHE_EVENT_LINE_SIZE];

    (void)state;
    if (event->kind != GCACHE_EVENT_COMPILED && event->kind != GCACHE_EVENT_NOT_STORED)
        return;
    gcache_event_line(event, line, sizeof line);
    printf("  %s\n", line);
}

static void
explain(gcache *cache, gcache_graph *graph, gcache_hints const *hints)
{
    char *text;

    if (gcache_explain(cache, graph, hints, NULL, GCACHE_EXPLAIN_TEXT, &text, NULL) == GCACHE_MISS)
        fputs(text, stdout);
    gcache_free(text);
}

/* Puts the kernel's file in place and runs it. After a compile the cache has it too; a look-up finds it there. */
static bool
run_kernel(gcache *cache, gcache_graph *graph, gcache_hints const *hints, char const *folder)
{
    char path[4096];
    gcache_result r = GCACHE_RESULT_INIT;
    bool right = false;

    if (gcache_lookup(cache, graph, hints, &r, NULL) == GCACHE_HIT) {
        snprintf(path, sizeof path, "%s/%.16s", folder, r.entry);
        if (gcache_place(cache, &r, path, NULL) == GCACHE_OK) {
            strcat(path, "/kernel.so");
            kernel_fn kernel = load_kernel(path);
            right = kernel != NULL && check(kernel, (long)hints->items[0].value);
        }
    }
    gcache_result_clear(&r);
    return right;
}

static bool
run_length(gcache *cache, gcache_graph *graph, job *j, char const *folder, long n)
{
    gcache_hint const items[] = { { "n", n } };
    gcache_hints hints = { items, 1, NULL, 0 };
    gcache_request probe = GCACHE_REQUEST_INIT;
    gcache_error error;
    gcache_result r = GCACHE_RESULT_INIT;

    printf("n = %ld\n", n);
    probe.probe = true;
    if (gcache_lookup_with(cache, graph, &hints, &probe, &r, NULL) == GCACHE_MISS && r.reason == GCACHE_REASON_GUARD_FALSE)
        explain(cache, graph, &hints);
    gcache_result_clear(&r);
    gcache_status status = gcache_get_or_compile(cache, graph, &hints, compile, j, &r, &error);
    gcache_result_clear(&r);
    if (status < 0)
        return fprintf(stderr, "%s\n", error.message), false;
    bool right = run_kernel(cache, graph, &hints, folder);
    printf("  %s, %s\n", status == GCACHE_HIT ? "from the cache" : "compiled", right ? "right" : "WRONG");
    return right;
}

int
main(int argc, char **argv)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    job j = { .e = make_expression() };
    gcache_access access;
    gcache_error error;
    gcache *cache;
    char *folder;
    bool right = true;

    if (argc < 3)
        return fprintf(stderr, "usage: tiny_compiler CACHE LENGTH...\n"), 2;
    options.event = say;
    if (gcache_open(argv[1], &options, &cache, &error) != GCACHE_OK ||
        gcache_subdirectory(cache, "kernels", GCACHE_ACCESS_UPDATE, &access, &folder, &error) != GCACHE_OK)
        return fprintf(stderr, "%s\n", error.message), 2;
    j.unroll = find_unroll(cache, &j.e);
    gcache_graph *graph = describe(&j.e);
    for (int i = 2; i < argc; i++) {
        long n = strtol(argv[i], NULL, 10);
        right &= n > 0 && n <= LONGEST && run_length(cache, graph, &j, folder, n);
    }
    gcache_graph_free(graph);
    gcache_free(folder);
    gcache_close(cache);
    return right ? 0 : 1;
}
