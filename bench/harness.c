#include "harness.h"

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* More batches than this don't move a median any more. */
#define MAX_BATCHES 1000

static uint64_t
read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
bench_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t
bench_computing_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void
bench_die(char const *what, char const *why)
{
    fprintf(stderr, "bench: %s: %s\n", what, why);
    exit(2);
}

static int
compare(void const *a, void const *b)
{
    double x = *(double const *)a, y = *(double const *)b;

    return (x > y) - (x < y);
}

bench_figure
bench_figure_of(double *samples, size_t count)
{
    qsort(samples, count, sizeof samples[0], compare);
    return (bench_figure){ samples[count / 2], samples[0], samples[count - 1] };
}

static bench_figure
run_by(clockid_t clock, void (*body)(void *state), void *state, size_t batches, size_t calls)
{
    static double samples[MAX_BATCHES];

    if (batches > MAX_BATCHES)
        batches = MAX_BATCHES;
    for (size_t call = 0; call < calls; call++)
        body(state);
    for (size_t batch = 0; batch < batches; batch++) {
        uint64_t start = read_clock(clock);
        for (size_t call = 0; call < calls; call++)
            body(state);
        samples[batch] = (double)(read_clock(clock) - start) / (double)calls;
    }
    return bench_figure_of(samples, batches);
}

bench_figure
bench_run(void (*body)(void *state), void *state, size_t batches, size_t calls)
{
    return run_by(CLOCK_MONOTONIC, body, state, batches, calls);
}

bench_figure
bench_run_computing(void (*body)(void *state), void *state, size_t batches, size_t calls)
{
    return run_by(CLOCK_THREAD_CPUTIME_ID, body, state, batches, calls);
}

static void
print_time(double ns)
{
    if (ns < 10000)
        printf("%10.1f ns", ns);
    else if (ns < 1e7)
        printf("%10.1f us", ns / 1e3);
    else
        printf("%10.1f ms", ns / 1e6);
}

/* A row of JSON behind those in $BENCH_ROWS, for bench/report.py. An indented row belongs to the one before it. */
void
bench_record(char const *name, bench_figure figure)
{
    static char head[128];
    char const *path = getenv("BENCH_ROWS");
    bool inner = name[0] == ' ';

    if (!inner)
        snprintf(head, sizeof head, "%s", name);
    FILE *rows = path != NULL ? fopen(path, "a") : NULL;
    if (rows == NULL)
        return;
    fprintf(rows, "{\"name\": \"%s%s%s\", \"median\": %.4f, \"low\": %.4f, \"high\": %.4f}\n", head, inner ? " | " : "",
            inner ? name + strspn(name, " ") : "", figure.median_ns, figure.lowest_ns, figure.highest_ns);
    fclose(rows);
}

void
bench_print(char const *name, bench_figure figure, char const *note)
{
    bench_record(name, figure);
    printf("%-52s", name);
    print_time(figure.median_ns);
    printf("   [");
    print_time(figure.lowest_ns);
    printf(" ..");
    print_time(figure.highest_ns);
    printf(" ]  %s\n", note);
    fflush(stdout);
}

char *
bench_make_directory(void)
{
    char const *base = getenv("TMPDIR");
    char *path = NULL;

    if (asprintf(&path, "%s/guardcache-bench-XXXXXX", base != NULL ? base : "/var/tmp") < 0 || mkdtemp(path) == NULL)
        bench_die("temporary directory", "can't be made");
    return path;
}

static bench_disk_use disk_use;

static int
add_use(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)path, (void)type, (void)place;
    disk_use.bytes += (double)facts->st_blocks * 512;
    disk_use.inodes++;
    return 0;
}

bench_disk_use
bench_disk_use_of(char const *directory)
{
    disk_use = (bench_disk_use){ 0, 0 };
    nftw(directory, add_use, 16, FTW_PHYS);
    return disk_use;
}

static int
remove_one(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)facts, (void)type, (void)place;
    return remove(path);
}

void
bench_remove_directory(char *directory)
{
    nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(directory);
}
