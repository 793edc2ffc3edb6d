/*
 * The functions and constants a guard can name: functions.def, looked up.
 */
#ifndef GCI_GUARDS_FUNCTIONS_H
#define GCI_GUARDS_FUNCTIONS_H

#include "guards/value/calc.h"

typedef enum gci_function_kind {
    GCI_FUNCTION_OPERATOR, /* op */
    GCI_FUNCTION_ABS,
    GCI_FUNCTION_MAX,
    GCI_FUNCTION_MIN,
    GCI_FUNCTION_CALLED,  /* call */
    GCI_FUNCTION_CONSTANT /* value */
} gci_function_kind;

/* What a call with one finite number gives. */
typedef enum gci_function_result {
    GCI_RESULT_ANY, /* it may raise */
    GCI_RESULT_WHOLE,
    GCI_RESULT_REAL
} gci_function_result;

typedef struct gci_function gci_function;

/* A call of a function, whose table entry may have a choice for it. */
typedef struct gci_function_call {
    gci_calc *calc;
    gci_function const *function;
    gci_number const *args;
    size_t count;
} gci_function_call;

struct gci_function {
    char const *name; /* with its module: "math.floor" */
    size_t size;      /* of the name */
    gci_function_kind kind;
    gci_operator op;
    size_t least, most; /* arguments; a call with another number is a TypeError */
    bool (*call)(gci_function_call const *call, gci_number *out);
    union {
        double value;
        double (*unary)(double);
        double (*pair)(double, double);
    };
    int option; /* call's */
    gci_function_result result;
    char const *canonical; /* in normal form; NULL: as it is written */
};

/* Arguments of a call, at most; more are ERROR_LIMIT. Indicators of tensors need two for each dimension. */
#define GCI_FUNCTION_MAX_ARGUMENTS 254

size_t gci_function_count(void);
gci_function const *gci_function_at(size_t index);

/* The entry for a name as it is in the table (module is empty) or an attribute of `math` or `torch`. NULL if there is none. */
gci_function const *gci_function_find(gci_view module, gci_view name);
size_t gci_function_index(gci_function const *function);

/* The function "()", which makes a tuple of its arguments. */
gci_function const *gci_function_tuple(void);

/* true for "math" and "torch". */
bool gci_function_is_module(gci_view name);

/* What a plain name is when nothing is bound to it: a function or a module as a value. false: NameError. */
bool gci_function_object(gci_view name, gci_number *out);
gci_number gci_function_as_object(gci_function const *function);

bool gci_function_abs(gci_calc *calc, gci_number a, gci_number *out);

#endif
