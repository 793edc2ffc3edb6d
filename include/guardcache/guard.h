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

/*
 * For callers that ask a list about the same names again and again: names are resolved once, an evaluation takes what the
 * program takes. Only integers, and only the truth; gcache_guards_eval says which guard it was, and why.
 */
typedef struct gcache_prepared gcache_prepared;

/*
 * Prepares a list for values of these names, in this order. The list must outlive *out_prepared, the names needn't. A name that the
 * list doesn't read is fine; one that it reads and isn't given raises, as it does in gcache_guards_eval.
 * GCACHE_OK, ERROR_ARGUMENT (a name given twice, empty or NULL; more than 65,535), ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_guards_prepare(gcache_guards const *guards, char const *const *names, size_t count,
                                               gcache_prepared **out_prepared, gcache_error *error);
GCACHE_API void gcache_prepared_free(gcache_prepared *prepared);

/* Evaluates; values has as many as there were names. Without memory it is GCACHE_RAISES. Any number of threads may use it. */
GCACHE_API gcache_truth gcache_prepared_eval(gcache_prepared const *prepared, int64_t const *values);

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
