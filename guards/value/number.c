/*
 * Values: kinds, conversions, repr(), and how a guard raises.
 */
#include "guards/value/number.h"

#include "base/check.h"
#include "guards/value/limits.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

char const *
gci_exception_name(gci_exception exception)
{
    static char const *const names[] = {
#define X(name, text) text,
        GCI_EXCEPTION_MAP(X)
#undef X
    };
    GCI_ASSERT(exception < GCI_EXCEPTION_COUNT);
    return names[exception];
}

char const *
gci_operator_token(gci_operator op)
{
    static char const *const tokens[] = {
#define X(name, token, text) token,
        GCI_OPERATOR_MAP(X)
#undef X
    };
    GCI_ASSERT(op < GCI_OPERATOR_COUNT);
    return tokens[op];
}

gci_operator
gci_operator_mirrored(gci_operator op)
{
    switch (op) {
    case GCI_OPERATOR_LT: return GCI_OPERATOR_GT;
    case GCI_OPERATOR_LE: return GCI_OPERATOR_GE;
    case GCI_OPERATOR_GT: return GCI_OPERATOR_LT;
    case GCI_OPERATOR_GE: return GCI_OPERATOR_LE;
    default: return op;
    }
}

void
gci_calc_init(gci_calc *calc)
{
    gci_arena_init(&calc->arena, GCI_EVAL_MEMORY);
    calc->raised = GCI_RAISED_NONE;
    calc->message[0] = '\0';
}

void
gci_calc_clear(gci_calc *calc)
{
    gci_arena_clear(&calc->arena);
}

bool
gci_raise(gci_calc *calc, gci_exception exception, char const *format, ...)
{
    va_list arguments;

    calc->raised = exception;
    va_start(arguments, format);
    vsnprintf(calc->message, sizeof calc->message, format, arguments);
    va_end(arguments);
    return false;
}

bool
gci_raise_memory(gci_calc *calc)
{
    return gci_raise(calc, GCI_RAISED_MEMORY, "a number is larger than %d bits, or there is no memory",
                     GCI_INT_MAX_BITS);
}

char const *
gci_number_type(gci_number a)
{
    switch ((gci_kind)a.kind) {
    case GCI_KIND_NONE: return "NoneType";
    case GCI_KIND_BOOL: return "bool";
    case GCI_KIND_INT:
    case GCI_KIND_BIG: return "int";
    case GCI_KIND_FLOAT: return "float";
    case GCI_KIND_COMPLEX: return "complex";
    case GCI_KIND_TUPLE: return "tuple";
    case GCI_KIND_OBJECT: return a.type;
    }
    return "?";
}

gci_int
gci_number_to_int(gci_number a, uint64_t *out_cell)
{
    GCI_ASSERT(gci_number_is_integral(a));
    if (a.kind == GCI_KIND_BIG)
        return (gci_int){ a.limbs, a.size };
    return gci_int_small(a.i, out_cell);
}

gci_number
gci_number_of_int(gci_int value)
{
    int64_t small;

    if (gci_int_fits(value, &small))
        return gci_number_int(small);
    return (gci_number){ .kind = GCI_KIND_BIG, .size = value.size, .limbs = value.limbs };
}

bool
gci_number_complex(gci_calc *calc, double real, double imaginary, gci_number *out)
{
    double *parts = gci_arena_alloc(&calc->arena, 2 * sizeof *parts);

    if (parts == NULL)
        return gci_raise_memory(calc);
    parts[0] = real;
    parts[1] = imaginary;
    *out = (gci_number){ .kind = GCI_KIND_COMPLEX, .parts = parts };
    return true;
}

bool
gci_number_to_double(gci_calc *calc, gci_number a, double *out)
{
    GCI_ASSERT(gci_number_is_real(a));
    if (a.kind == GCI_KIND_FLOAT)
        *out = a.f;
    else if (a.kind != GCI_KIND_BIG)
        *out = (double)a.i;
    else
        *out = gci_int_to_double((gci_int){ a.limbs, a.size });
    if (a.kind == GCI_KIND_BIG && isinf(*out))
        return gci_raise(calc, GCI_RAISED_OVERFLOW, "int too large to convert to float");
    return true;
}

bool
gci_number_truth(gci_number a)
{
    switch ((gci_kind)a.kind) {
    case GCI_KIND_NONE: return false;
    case GCI_KIND_BOOL:
    case GCI_KIND_INT: return a.i != 0;
    case GCI_KIND_FLOAT: return a.f != 0.0;
    case GCI_KIND_COMPLEX: return a.parts[0] != 0.0 || a.parts[1] != 0.0;
    case GCI_KIND_TUPLE: return a.size != 0;
    case GCI_KIND_BIG:
    case GCI_KIND_OBJECT: return true;
    }
    return false;
}

bool
gci_number_copy(gci_arena *arena, gci_number a, gci_number *out)
{
    gci_view bytes = { NULL, 0 };

    *out = a;
    if (a.kind == GCI_KIND_BIG)
        bytes = gci_view_of(a.limbs, (size_t)(a.size < 0 ? -a.size : a.size) * sizeof *a.limbs);
    else if (a.kind == GCI_KIND_COMPLEX)
        bytes = gci_view_of(a.parts, 2 * sizeof *a.parts);
    else
        return true;
    void *copy = gci_arena_alloc(arena, bytes.size);
    if (copy == NULL)
        return false;
    memcpy(copy, bytes.data, bytes.size);
    if (a.kind == GCI_KIND_BIG)
        out->limbs = copy;
    else
        out->parts = copy;
    return true;
}

bool
gci_number_identical(gci_number a, gci_number b)
{
    if (a.kind != b.kind)
        return false;
    switch ((gci_kind)a.kind) {
    case GCI_KIND_NONE: return true;
    case GCI_KIND_BOOL:
    case GCI_KIND_INT: return a.i == b.i;
    case GCI_KIND_FLOAT: return memcmp(&a.f, &b.f, sizeof a.f) == 0;
    case GCI_KIND_COMPLEX: return memcmp(a.parts, b.parts, 2 * sizeof *a.parts) == 0;
    case GCI_KIND_BIG:
        return gci_int_compare((gci_int){ a.limbs, a.size }, (gci_int){ b.limbs, b.size }) == 0;
    case GCI_KIND_TUPLE: return a.size == b.size && a.items == b.items;
    case GCI_KIND_OBJECT: return a.size == b.size;
    }
    return false;
}

/* repr() of a complex number leaves out a real part of +0.0 and the zeros after the point. */
static void
write_part(double part, bool sign, gci_buf *out)
{
    size_t start = out->size;

    if (sign && (isnan(part) || !signbit(part)))
        gci_buf_append_char(out, '+');
    gci_write_double(part, out);
    if (!out->failed && out->size >= start + 2 && memcmp(out->data + out->size - 2, ".0", 2) == 0)
        out->size -= 2;
}

static void
write_complex(double real, double imaginary, gci_buf *out)
{
    bool both = real != 0.0 || signbit(real) || isnan(real);

    if (both) {
        gci_buf_append_char(out, '(');
        write_part(real, false, out);
    }
    write_part(imaginary, both, out);
    gci_buf_append_text(out, both ? "j)" : "j");
}

static void
write_tuple(gci_number a, gci_buf *out)
{
    gci_buf_append_char(out, '(');
    for (int32_t i = 0; i < a.size; i++) {
        if (i != 0)
            gci_buf_append_text(out, ", ");
        gci_number_write(a.items[i], out);
    }
    gci_buf_append_text(out, a.size == 1 ? ",)" : ")");
}

void
gci_number_write(gci_number a, gci_buf *out)
{
    gci_arena scratch;

    switch ((gci_kind)a.kind) {
    case GCI_KIND_NONE: gci_buf_append_text(out, "None"); break;
    case GCI_KIND_BOOL: gci_buf_append_text(out, a.i != 0 ? "True" : "False"); break;
    case GCI_KIND_INT: gci_buf_append_int(out, a.i); break;
    case GCI_KIND_FLOAT: gci_write_double(a.f, out); break;
    case GCI_KIND_COMPLEX: write_complex(a.parts[0], a.parts[1], out); break;
    case GCI_KIND_TUPLE: write_tuple(a, out); break;
    case GCI_KIND_OBJECT: gci_buf_format(out, "<%s>", a.type); break;
    case GCI_KIND_BIG:
        gci_arena_init(&scratch, GCI_EVAL_MEMORY);
        if (!gci_int_write(&scratch, (gci_int){ a.limbs, a.size }, out))
            out->failed = true;
        gci_arena_clear(&scratch);
        break;
    }
}
