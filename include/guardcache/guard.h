/*
 * guardcache/guard.h - guard expressions: compile, evaluate, show.
 *
 * The language is a subset of Python expressions with Python's exact meaning; guards/README.md is its reference. A guard
 * list is what a candidate carries: all of its guards must hold, and they are tried in order.
 *
 * Threads: a compiled guard list is immutable; any number of threads may use it.
 */
#ifndef GUARDCACHE_GUARD_H
#define GUARDCACHE_GUARD_H

#include <guardcache/hints.h>
#include <guardcache/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcache_guards gcache_guards;

typedef enum gcache_truth {
    GCACHE_FALSE = 0,
    GCACHE_TRUE = 1,
    GCACHE_RAISES = 2 /* Python would raise an exception */
} gcache_truth;

typedef struct gcache_verdict {
    gcache_truth truth;
    size_t guard;           /* index of the first guard that is false or raises; count if all hold */
    char exception[32];     /* "ZeroDivisionError"; "" unless truth is GCACHE_RAISES */
    char message[224];      /* what Python would say, or near to it */
} gcache_verdict;

/*
 * Compiles a list of guard texts. A list of none is unconditional: it always holds.
 * GCACHE_OK, ERROR_SYNTAX (error->column is the place in the guard, error->line its number in the list, from 1),
 * ERROR_LIMIT (a text or program too large, nesting too deep), ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_guards_compile(char const *const *texts, size_t count, gcache_guards **out_guards,
                                               gcache_error *error);
GCACHE_API void gcache_guards_free(gcache_guards *guards);

/* Evaluates. GCACHE_OK with *out_verdict set, ERROR_ARGUMENT (a hint given twice or malformed), ERROR_MEMORY. */
GCACHE_API gcache_status gcache_guards_eval(gcache_guards const *guards, gcache_hints const *hints,
                                            gcache_verdict *out_verdict, gcache_error *error);

typedef enum gcache_guards_form {
    GCACHE_GUARDS_PROGRAM, /* the register program, an instruction a line */
    GCACHE_GUARDS_NORMAL   /* the normal form, a conjunct a line */
} gcache_guards_form;

/* Writes a listing. *out_text is zero-terminated and freed with gcache_free. GCACHE_OK or ERROR_MEMORY. */
GCACHE_API gcache_status gcache_guards_show(gcache_guards const *guards, gcache_guards_form form, char **out_text,
                                            gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
