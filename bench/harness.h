/*
 * The measuring loop all benchmarks share: a body is run in batches, each batch is timed, the median batch counts.
 * Absolute times move with the machine; what is quoted is the ratio of two rows of one run.
 */
#ifndef GUARDCACHE_BENCH_HARNESS_H
#define GUARDCACHE_BENCH_HARNESS_H

#include <stddef.h>
#include <stdint.h>

typedef struct bench_figure {
    double median_ns, lowest_ns, highest_ns; /* of one call of the body */
} bench_figure;

/* Calls body(state) batches * calls times after one batch of warm-up. */
bench_figure bench_run(void (*body)(void *state), void *state, size_t batches, size_t calls);

/* The same in processor time of this thread: for bodies that only compute, on a machine where others compute too. */
bench_figure bench_run_computing(void (*body)(void *state), void *state, size_t batches, size_t calls);

/* Writes a row for bench/report.py to the file that $BENCH_ROWS names, if it does. Names hold no quotes. */
void bench_record(char const *name, bench_figure figure);

/* The same, and prints "name   median ns   [lowest .. highest]   note". */
void bench_print(char const *name, bench_figure figure, char const *note);

/* Nanoseconds of a steady clock, and of the processor by this thread. */
uint64_t bench_now_ns(void);
uint64_t bench_computing_ns(void);

/* Of times that were taken one by one; sorts them. */
bench_figure bench_figure_of(double *samples, size_t count);

/* Ends the program with a message: a benchmark of something that failed measures nothing. */
void bench_die(char const *what, char const *why);

/* What a directory takes on disk, itself and the other folders included. */
typedef struct bench_disk_use {
    double bytes, inodes;
} bench_disk_use;
bench_disk_use bench_disk_use_of(char const *directory);

/* A fresh directory for the run, removed by bench_remove_directory. */
char *bench_make_directory(void);
void bench_remove_directory(char *directory);

#endif
