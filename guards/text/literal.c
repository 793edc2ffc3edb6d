/*
 * Number tokens to values.
 */
#include "guards/text/lex.h"

#include "base/check.h"
#include "guards/value/limits.h"

static bool
read_small(gci_view digits, int base, int64_t *out)
{
    int64_t value = 0;

    for (size_t i = 0; i < digits.size; i++) {
        char c = digits.data[i];
        if (c != '_' && (__builtin_mul_overflow(value, base, &value) || __builtin_add_overflow(value, gci_hex_digit(c), &value)))
            return false;
    }
    *out = value;
    return true;
}

static size_t
count_digits(gci_view digits)
{
    size_t count = 0;

    for (size_t i = 0; i < digits.size; i++)
        count += digits.data[i] != '_';
    return count;
}

static gcache_status
read_integer(gci_view digits, gci_arena *arena, gci_number *out, char const **out_problem)
{
    char letter = (char)(digits.size > 2 ? digits.data[1] | 0x20 : '0');
    int base = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 10;
    int64_t small;
    gci_int large;

    if (base != 10)
        digits = gci_view_of(digits.data + 2, digits.size - 2);
    if (read_small(digits, base, &small)) {
        *out = gci_number_int(small);
        return GCACHE_OK;
    }
    if (base == 10 && count_digits(digits) > GCI_INT_MAX_DIGITS) {
        *out_problem = "an integer literal with too many digits";
        return GCACHE_ERROR_SYNTAX;
    }
    if (!gci_int_read(arena, digits, base, &large)) {
        *out_problem = "an integer literal that is too large";
        return GCACHE_ERROR_LIMIT;
    }
    *out = gci_number_of_int(large);
    return GCACHE_OK;
}

static bool
read_float(gci_view text, gci_arena *arena, double *out)
{
    char *plain = gci_arena_alloc(arena, text.size + 1);
    size_t size = 0;

    if (plain == NULL)
        return false;
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] != '_')
            plain[size++] = text.data[i];
    plain[size] = '\0';
    *out = gci_read_double(plain);
    return true;
}

static bool
read_imaginary(gci_view text, gci_arena *arena, gci_number *out)
{
    double *parts = gci_arena_array(arena, 2, sizeof *parts);

    if (parts == NULL || !read_float(gci_view_of(text.data, text.size - 1), arena, &parts[1]))
        return false;
    *out = (gci_number){ .kind = GCI_KIND_COMPLEX, .parts = parts };
    return true;
}

gcache_status
gci_literal_read(gci_token const *token, gci_arena *arena, gci_number *out, char const **out_problem)
{
    double real;

    *out_problem = "out of memory";
    if (token->type == GCI_TOKEN_INT)
        return read_integer(token->text, arena, out, out_problem);
    if (token->type == GCI_TOKEN_IMAGINARY)
        return read_imaginary(token->text, arena, out) ? GCACHE_OK : GCACHE_ERROR_MEMORY;
    GCI_ASSERT(token->type == GCI_TOKEN_FLOAT);
    if (!read_float(token->text, arena, &real))
        return GCACHE_ERROR_MEMORY;
    *out = gci_number_float(real);
    return GCACHE_OK;
}
