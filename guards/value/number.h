/*
 * The values a guard computes with, and Python's operations on them.
 *
 * Invariants of a gci_number:
 *  1. A BIG is outside the range of int64; every integer inside it is an INT (or a BOOL).
 *  2. What it points to (limbs, parts of a complex number, items of a tuple) lives in an arena and is never changed, so
 *     numbers are copied freely.
 *
 * Operations return false where Python would raise; the gci_calc then has the exception. Memory comes from its arena.
 */
#ifndef GCI_GUARDS_NUMBER_H
#define GCI_GUARDS_NUMBER_H

#include "base/arena.h"
#include "base/buf.h"
#include "guards/value/bigint.h"

#include <math.h>
#include <stdint.h>

/* ---- exceptions ---- */

#define GCI_EXCEPTION_MAP(X)                                                                          \
    X(NONE, "")                                                                                       \
    X(NAME, "NameError")                                                                              \
    X(KEY, "KeyError")                                                                                \
    X(ATTRIBUTE, "AttributeError")                                                                    \
    X(TYPE, "TypeError")                                                                              \
    X(ZERO_DIVISION, "ZeroDivisionError")                                                             \
    X(OVERFLOW, "OverflowError")                                                                      \
    X(VALUE, "ValueError")                                                                            \
    X(MEMORY, "MemoryError")                                                                          \
    X(ASSERTION, "AssertionError")

typedef enum gci_exception {
#define X(name, text) GCI_RAISED_##name,
    GCI_EXCEPTION_MAP(X)
#undef X
    GCI_EXCEPTION_COUNT
} gci_exception;

char const *gci_exception_name(gci_exception exception);

/* Where numbers are computed: memory for results, and the exception that ended it. */
typedef struct gci_calc {
    gci_arena arena;
    gci_exception raised;
    char message[224];
} gci_calc;

void gci_calc_init(gci_calc *calc);
void gci_calc_clear(gci_calc *calc);

/* Records an exception, cutting the message to fit. Returns false, so that callers can return it. */
bool gci_raise(gci_calc *calc, gci_exception exception, char const *format, ...) __attribute__((format(printf, 3, 4)));
bool gci_raise_memory(gci_calc *calc);

/* ---- values ---- */

typedef enum gci_kind {
    GCI_KIND_NONE,
    GCI_KIND_BOOL,    /* i is 0 or 1 */
    GCI_KIND_INT,     /* i */
    GCI_KIND_BIG,     /* limbs, size */
    GCI_KIND_FLOAT,   /* f; of a nan, size: which object (gci_number_float_object) */
    GCI_KIND_COMPLEX, /* parts: real, imaginary */
    GCI_KIND_TUPLE,   /* items, size */
    GCI_KIND_OBJECT   /* type: a function, class or module; size: which one. Equal to nothing but itself */
} gci_kind;

typedef struct gci_number gci_number;

/* The object that math.nan and torch.nan both are; hints count from 1. */
#define GCI_OBJECT_NAN (-1)

struct gci_number {
    uint8_t kind;
    int32_t size;
    union {
        int64_t i;
        double f;
        uint64_t const *limbs;
        double const *parts;
        gci_number const *items;
        char const *type;
    };
};

static inline gci_number
gci_number_int(int64_t value)
{
    return (gci_number){ .kind = GCI_KIND_INT, .i = value };
}

static inline gci_number
gci_number_bool(bool value)
{
    return (gci_number){ .kind = GCI_KIND_BOOL, .i = value };
}

static inline gci_number
gci_number_float(double value)
{
    return (gci_number){ .kind = GCI_KIND_FLOAT, .f = value };
}

/*
 * A float that isn't computed, but a hint's or a constant's: an object of Python's, and as such the same as itself, which
 * shows for nan in tuples only. object: not 0.
 */
static inline gci_number
gci_number_float_object(double value, int32_t object)
{
    return (gci_number){ .kind = GCI_KIND_FLOAT, .size = isnan(value) ? object : 0, .f = value };
}

/* INT, or BOOL which counts as one. */
static inline bool
gci_number_is_small(gci_number a)
{
    return a.kind == GCI_KIND_INT || a.kind == GCI_KIND_BOOL;
}

static inline bool
gci_number_is_integral(gci_number a)
{
    return gci_number_is_small(a) || a.kind == GCI_KIND_BIG;
}

static inline bool
gci_number_is_real(gci_number a)
{
    return gci_number_is_integral(a) || a.kind == GCI_KIND_FLOAT;
}

/* Python's name of the type: "int", "NoneType". */
char const *gci_number_type(gci_number a);

/* The integral number as a gci_int; *out_cell must live as long. */
gci_int gci_number_to_int(gci_number a, uint64_t *out_cell);
gci_number gci_number_of_int(gci_int value);
bool gci_number_complex(gci_calc *calc, double real, double imaginary, gci_number *out);

/* float(a) of a real number: OverflowError where it is too large. */
bool gci_number_to_double(gci_calc *calc, gci_number a, double *out);

/* Python's bool(). */
bool gci_number_truth(gci_number a);

/* Copies what a points to into the arena. */
bool gci_number_copy(gci_arena *arena, gci_number a, gci_number *out);

/* The same type and value to the bit; not Python's ==. */
bool gci_number_identical(gci_number a, gci_number b);

/* Python's repr(). Integers too long for Python to print are written all the same. */
void gci_number_write(gci_number a, gci_buf *out);

/* ---- operators ---- */

/* name, token, its text in a message. The order is part of the saved form: append only. */
#define GCI_OPERATOR_MAP(X)                                                                           \
    X(ADD, "+", "+")                                                                                  \
    X(SUB, "-", "-")                                                                                  \
    X(MUL, "*", "*")                                                                                  \
    X(TRUEDIV, "/", "/")                                                                              \
    X(FLOORDIV, "//", "//")                                                                           \
    X(MOD, "%", "%")                                                                                  \
    X(POW, "**", "** or pow()")                                                                       \
    X(LSHIFT, "<<", "<<")                                                                             \
    X(RSHIFT, ">>", ">>")                                                                             \
    X(BITAND, "&", "&")                                                                               \
    X(BITOR, "|", "|")                                                                                \
    X(BITXOR, "^", "^")                                                                               \
    X(EQ, "==", "==")                                                                                 \
    X(NE, "!=", "!=")                                                                                 \
    X(LT, "<", "<")                                                                                   \
    X(LE, "<=", "<=")                                                                                 \
    X(GT, ">", ">")                                                                                   \
    X(GE, ">=", ">=")                                                                                 \
    X(NEG, "-", "-")                                                                                  \
    X(POS, "+", "+")                                                                                  \
    X(INVERT, "~", "~")

typedef enum gci_operator {
#define X(name, token, text) GCI_OPERATOR_##name,
    GCI_OPERATOR_MAP(X)
#undef X
    GCI_OPERATOR_COUNT
} gci_operator;

char const *gci_operator_token(gci_operator op);

static inline bool
gci_operator_is_comparison(gci_operator op)
{
    return op >= GCI_OPERATOR_EQ && op <= GCI_OPERATOR_GE;
}

/* The comparison with its sides changed. */
gci_operator gci_operator_mirrored(gci_operator op);

/* ---- text ---- */

/* strtod whatever the locale is; text is a float literal without underscores, zero-terminated. */
double gci_read_double(char const *text);
/* repr() of a double: the shortest text that reads back the same. */
void gci_write_double(double value, gci_buf *out);

#endif
