/*
 * The limits of the guard language, each with its reason. Beyond them compiling fails with ERROR_LIMIT; evaluating
 * raises MemoryError.
 */
#ifndef GCI_GUARDS_LIMITS_H
#define GCI_GUARDS_LIMITS_H

#include <stddef.h>

/* Characters in all guards of a list. The longest real string has 30,000. */
#define GCI_GUARD_MAX_TEXT ((size_t)4 << 20)

/* Parentheses, unary operators, powers and conditionals within each other. Python's own tokenizer stops at 200
   parentheses; each level takes less than 1 KiB of stack here, so that a thread of 256 KiB is enough. */
#define GCI_GUARD_MAX_DEPTH 200

/* Registers of a program, hints and temporaries together. They lie on the stack: 8 KiB as 64-bit integers, 16 KiB as
   exact numbers. Real programs use up to 100. */
#define GCI_GUARD_MAX_REGISTERS 1024

/* Distinct names in a list, so that half of the registers are left to compute with. */
#define GCI_GUARD_MAX_NAMES 512

/* Instructions of a list: 16 MiB of them. Four a conjunct is typical. */
#define GCI_GUARD_MAX_CODE ((size_t)1 << 20)

/* Memory of a parse; a node a character is the worst case. */
#define GCI_GUARD_PARSE_MEMORY ((size_t)1 << 30)

/* Bits of an integer that evaluating may make. `2 ** s0` reaches it with s0 beyond a million; Python would go on until
   memory ends. */
#define GCI_INT_MAX_BITS 1000000

/* Memory of one evaluation on the exact path: 500 integers of the largest size. */
#define GCI_EVAL_MEMORY ((size_t)64 << 20)

/* Digits of a decimal literal; more are a syntax error in Python 3.11 too. */
#define GCI_INT_MAX_DIGITS 4300

#endif
