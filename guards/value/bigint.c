/*
 * GMP's low-level functions on limbs in our arenas: its own mpz_t objects would allocate through process-wide hooks
 * and abort when memory ends. The scratch space GMP takes inside a multiplication or division is bounded by
 * GCI_INT_MAX_BITS, a few hundred KiB.
 */
#include "guards/value/bigint.h"

#include "base/check.h"
#include "base/digest.h"
#include "guards/value/limits.h"

#include <gmp.h>
#include <math.h>

_Static_assert(sizeof(mp_limb_t) == 8 && GMP_NUMB_BITS == 64, "limbs are 64 bits without nails");

/* One more than a result of the largest size needs: carries. */
#define MAX_LIMBS (GCI_INT_MAX_BITS / 64 + 2)
#define DOUBLE_BITS 53

static mp_size_t
magnitude(gci_int a)
{
    return a.size < 0 ? -(mp_size_t)a.size : (mp_size_t)a.size;
}

static mp_limb_t const *
limbs_of(gci_int a)
{
    return (mp_limb_t const *)a.limbs;
}

static mp_limb_t *
new_limbs(gci_arena *arena, mp_size_t count)
{
    if (count > 2 * MAX_LIMBS) {
        arena->failed = true;
        return NULL;
    }
    return gci_arena_alloc(arena, (size_t)count * sizeof(mp_limb_t));
}

/* Drops leading zeros and checks the size. */
static bool
finish(gci_arena *arena, mp_limb_t const *limbs, mp_size_t count, bool negative, gci_int *out)
{
    while (count > 0 && limbs[count - 1] == 0)
        count--;
    *out = (gci_int){ (uint64_t const *)limbs, negative ? -(int32_t)count : (int32_t)count };
    if (count < MAX_LIMBS - 2 || gci_int_bits(*out) <= GCI_INT_MAX_BITS)
        return true;
    arena->failed = true;
    return false;
}

gci_int
gci_int_small(int64_t value, uint64_t *out_cell)
{
    *out_cell = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    return (gci_int){ out_cell, value < 0 ? -1 : value > 0 };
}

bool
gci_int_fits(gci_int a, int64_t *out_value)
{
    if (magnitude(a) > 1)
        return false;
    uint64_t size = a.size == 0 ? 0 : a.limbs[0];
    if (size > (uint64_t)INT64_MAX + (a.size < 0))
        return false;
    *out_value = a.size < 0 ? (int64_t)(0 - size) : (int64_t)size;
    return true;
}

gci_int
gci_int_negate(gci_int a)
{
    return (gci_int){ a.limbs, -a.size };
}

static int
compare_magnitudes(gci_int a, gci_int b)
{
    mp_size_t m = magnitude(a), n = magnitude(b);

    if (m != n)
        return m < n ? -1 : 1;
    return m == 0 ? 0 : mpn_cmp(limbs_of(a), limbs_of(b), m);
}

int
gci_int_compare(gci_int a, gci_int b)
{
    if ((a.size < 0) != (b.size < 0))
        return a.size < 0 ? -1 : 1;
    int order = compare_magnitudes(a, b);
    return a.size < 0 ? -order : order;
}

uint64_t
gci_int_hash(gci_int a)
{
    return gci_hash64(a.limbs, (size_t)magnitude(a) * sizeof *a.limbs, (uint64_t)(int64_t)a.size);
}

uint64_t
gci_int_bits(gci_int a)
{
    mp_size_t n = magnitude(a);

    return n == 0 ? 0 : (uint64_t)n * 64 - (uint64_t)__builtin_clzll(a.limbs[n - 1]);
}

/* |a| + |b|, with the sign. */
static bool
add_magnitudes(gci_arena *arena, gci_int a, gci_int b, bool negative, gci_int *out)
{
    if (magnitude(a) < magnitude(b))
        return add_magnitudes(arena, b, a, negative, out);
    mp_size_t m = magnitude(a), n = magnitude(b);
    mp_limb_t *sum = new_limbs(arena, m + 1);
    if (sum == NULL)
        return false;
    if (n == 0) {
        if (m != 0)
            mpn_copyi(sum, limbs_of(a), m);
        sum[m] = 0;
    } else {
        sum[m] = mpn_add(sum, limbs_of(a), m, limbs_of(b), n);
    }
    return finish(arena, sum, m + 1, negative, out);
}

/* |a| - |b| where |a| >= |b|, with the sign. */
static bool
subtract_magnitudes(gci_arena *arena, gci_int a, gci_int b, bool negative, gci_int *out)
{
    mp_size_t m = magnitude(a), n = magnitude(b);
    mp_limb_t *difference = new_limbs(arena, m + 1);

    if (difference == NULL)
        return false;
    if (n != 0)
        mpn_sub(difference, limbs_of(a), m, limbs_of(b), n);
    else if (m != 0)
        mpn_copyi(difference, limbs_of(a), m);
    return finish(arena, difference, m, negative, out);
}

bool
gci_int_add(gci_arena *arena, gci_int a, gci_int b, gci_int *out)
{
    if ((a.size < 0) == (b.size < 0))
        return add_magnitudes(arena, a, b, a.size < 0, out);
    if (compare_magnitudes(a, b) >= 0)
        return subtract_magnitudes(arena, a, b, a.size < 0, out);
    return subtract_magnitudes(arena, b, a, b.size < 0, out);
}

bool
gci_int_multiply(gci_arena *arena, gci_int a, gci_int b, gci_int *out)
{
    mp_size_t m = magnitude(a), n = magnitude(b);

    if (m == 0 || n == 0) {
        *out = (gci_int){ NULL, 0 };
        return true;
    }
    mp_limb_t *product = m + n <= MAX_LIMBS ? new_limbs(arena, m + n) : NULL;
    if (product == NULL) {
        arena->failed = true;
        return false;
    }
    if (m >= n)
        mpn_mul(product, limbs_of(a), m, limbs_of(b), n);
    else
        mpn_mul(product, limbs_of(b), n, limbs_of(a), m);
    return finish(arena, product, m + n, (a.size < 0) != (b.size < 0), out);
}

/* Truncating division of magnitudes. */
static bool
divide_magnitudes(gci_arena *arena, gci_int a, gci_int b, gci_int *out_quotient, gci_int *out_remainder)
{
    mp_size_t m = magnitude(a), n = magnitude(b);

    if (m < n) {
        *out_quotient = (gci_int){ NULL, 0 };
        *out_remainder = (gci_int){ a.limbs, (int32_t)m };
        return true;
    }
    mp_limb_t *quotient = new_limbs(arena, m - n + 1), *remainder = new_limbs(arena, n);
    if (quotient == NULL || remainder == NULL)
        return false;
    mpn_tdiv_qr(quotient, remainder, 0, limbs_of(a), m, limbs_of(b), n);
    return finish(arena, quotient, m - n + 1, false, out_quotient) && finish(arena, remainder, n, false, out_remainder);
}

bool
gci_int_divide(gci_arena *arena, gci_int a, gci_int b, gci_int *out_quotient, gci_int *out_remainder)
{
    GCI_ASSERT(b.size != 0);
    gci_int quotient, remainder, one;
    uint64_t cell;

    if (!divide_magnitudes(arena, a, b, &quotient, &remainder))
        return false;
    bool opposite = (a.size < 0) != (b.size < 0);
    if (opposite && remainder.size != 0) {
        one = gci_int_small(1, &cell);
        gci_int divisor = { b.limbs, (int32_t)magnitude(b) };
        if (!add_magnitudes(arena, quotient, one, false, &quotient)
            || !subtract_magnitudes(arena, divisor, remainder, false, &remainder))
            return false;
    }
    *out_quotient = opposite ? gci_int_negate(quotient) : quotient;
    *out_remainder = b.size < 0 ? gci_int_negate(remainder) : remainder;
    return true;
}

bool
gci_int_power(gci_arena *arena, gci_int base, uint64_t exponent, gci_int *out)
{
    uint64_t cell = 1, bits = gci_int_bits(base);
    gci_int result = { &cell, 1 };

    /* 0, 1 and -1 stay small whatever the exponent is; anything else has at least (bits-1)*exponent bits. */
    if (bits <= 1)
        exponent = exponent == 0 ? 0 : 2 - exponent % 2;
    else if (exponent > GCI_INT_MAX_BITS || (bits - 1) * exponent > GCI_INT_MAX_BITS) {
        arena->failed = true;
        return false;
    }
    for (uint64_t bit = (uint64_t)1 << 63; bit != 0; bit >>= 1) {
        if (exponent < bit)
            continue;
        if (result.limbs != &cell && !gci_int_multiply(arena, result, result, &result))
            return false;
        if ((exponent & bit) != 0 && !gci_int_multiply(arena, result, base, &result))
            return false;
    }
    return add_magnitudes(arena, result, (gci_int){ NULL, 0 }, result.size < 0, out);
}

/* 2**bits */
static bool
power_of_two(gci_arena *arena, uint64_t bits, gci_int *out)
{
    mp_size_t whole = bits <= GCI_INT_MAX_BITS ? (mp_size_t)(bits / 64) : MAX_LIMBS * 2;
    mp_limb_t *limbs = new_limbs(arena, whole + 1);

    if (limbs == NULL)
        return false;
    memset(limbs, 0, (size_t)whole * sizeof *limbs);
    limbs[whole] = (mp_limb_t)1 << bits % 64;
    *out = (gci_int){ (uint64_t const *)limbs, (int32_t)whole + 1 };
    return true;
}

bool
gci_int_shift_left(gci_arena *arena, gci_int a, uint64_t bits, gci_int *out)
{
    gci_int factor;

    *out = a;
    return a.size == 0 || (power_of_two(arena, bits, &factor) && gci_int_multiply(arena, a, factor, out));
}

/* Bits beyond those of a give 0 or -1, however many they are. */
bool
gci_int_shift_right(gci_arena *arena, gci_int a, uint64_t bits, gci_int *out)
{
    uint64_t most = gci_int_bits(a) + 1;
    gci_int divisor, rest;

    return power_of_two(arena, bits < most ? bits : most, &divisor) && gci_int_divide(arena, a, divisor, out, &rest);
}

/* Whether any of the lowest `bits` bits of the magnitude is set. */
static bool
has_low_bits(gci_int a, uint64_t bits)
{
    mp_size_t whole = (mp_size_t)(bits / 64);

    for (mp_size_t i = 0; i < whole; i++)
        if (a.limbs[i] != 0)
            return true;
    return bits % 64 != 0 && (a.limbs[whole] << (64 - bits % 64)) != 0;
}

/* The lowest `count` limbs of a's two's complement, into limbs. */
static void
to_twos_complement(gci_int a, mp_limb_t *limbs, mp_size_t count)
{
    mp_size_t n = magnitude(a);

    memset(limbs, 0, (size_t)count * sizeof *limbs);
    if (n != 0)
        mpn_copyi(limbs, limbs_of(a), n);
    if (a.size < 0)
        mpn_neg(limbs, limbs, count);
}

bool
gci_int_bitwise(gci_arena *arena, gci_bit_op op, gci_int a, gci_int b, gci_int *out)
{
    /* One limb more than the larger operand, so that the top bit is the sign. */
    mp_size_t count = (magnitude(a) > magnitude(b) ? magnitude(a) : magnitude(b)) + 1;
    mp_limb_t *left = new_limbs(arena, count), *right = new_limbs(arena, count);

    if (left == NULL || right == NULL)
        return false;
    to_twos_complement(a, left, count);
    to_twos_complement(b, right, count);
    switch (op) {
    case GCI_BIT_AND: mpn_and_n(left, left, right, count); break;
    case GCI_BIT_OR: mpn_ior_n(left, left, right, count); break;
    case GCI_BIT_XOR: mpn_xor_n(left, left, right, count); break;
    }
    bool negative = (left[count - 1] >> 63) != 0;
    if (negative)
        mpn_neg(left, left, count);
    return finish(arena, left, count, negative, out);
}

double
gci_int_fraction(gci_int a, int64_t *out_exponent, int *out_rounded)
{
    GCI_ASSERT(a.size != 0);
    uint64_t bits = gci_int_bits(a);
    mp_size_t n = magnitude(a);

    /* The top 64 bits, left-aligned, then 54 of them with everything below as the sticky bit. */
    unsigned shift = (unsigned)__builtin_clzll(a.limbs[n - 1]);
    uint64_t top = a.limbs[n - 1] << shift;
    if (shift != 0 && n > 1)
        top |= a.limbs[n - 2] >> (64 - shift);
    bool sticky = bits > 64 && has_low_bits(a, bits - 64);
    uint64_t half = (uint64_t)1 << (63 - DOUBLE_BITS), rest = top & (2 * half - 1);
    uint64_t kept = top >> (64 - DOUBLE_BITS);
    bool up = rest > half || (rest == half && (sticky || (kept & 1) != 0));
    kept += up;
    *out_rounded = up ? 1 : rest != 0 || sticky ? -1 : 0;
    *out_exponent = (int64_t)bits;
    double fraction = ldexp((double)kept, -DOUBLE_BITS);
    return a.size < 0 ? -fraction : fraction;
}

double
gci_int_to_double(gci_int a)
{
    int64_t exponent;
    int rounded;

    if (a.size == 0)
        return 0.0;
    double fraction = gci_int_fraction(a, &exponent, &rounded);
    return ldexp(fraction, exponent > 5000 ? 5000 : (int)exponent);
}

bool
gci_int_from_double(gci_arena *arena, double value, gci_int *out)
{
    GCI_ASSERT(isfinite(value));
    int exponent;
    uint64_t cell;

    value = trunc(value);
    double fraction = frexp(value, &exponent);
    int64_t digits = (int64_t)ldexp(fraction, DOUBLE_BITS);
    gci_int small = gci_int_small(digits, &cell);
    if (exponent > DOUBLE_BITS)
        return gci_int_shift_left(arena, small, (uint64_t)(exponent - DOUBLE_BITS), out);
    digits = exponent > 0 ? digits / ((int64_t)1 << (DOUBLE_BITS - exponent)) : 0;
    small = gci_int_small(digits, &cell);
    return add_magnitudes(arena, small, (gci_int){ NULL, 0 }, small.size < 0, out);
}

bool
gci_int_read(gci_arena *arena, gci_view digits, int base, gci_int *out)
{
    unsigned char *values = gci_arena_alloc(arena, digits.size);
    size_t count = 0;

    if (values == NULL)
        return false;
    for (size_t i = 0; i < digits.size; i++)
        if (digits.data[i] != '_' && (count > 0 || digits.data[i] != '0'))
            values[count++] = (unsigned char)gci_hex_digit(digits.data[i]);
    if (count > GCI_INT_MAX_BITS) {
        arena->failed = true;
        return false;
    }
    /* Four bits a digit are enough for every base up to 16; mpn_set_str writes one limb more at most. */
    mp_limb_t *limbs = new_limbs(arena, (mp_size_t)(count / 16 + 2));
    if (limbs == NULL)
        return false;
    mp_size_t size = count != 0 ? (mp_size_t)mpn_set_str(limbs, values, count, base) : 0;
    return finish(arena, limbs, size, false, out);
}

bool
gci_int_write(gci_arena *arena, gci_int a, gci_buf *out)
{
    mp_size_t n = magnitude(a);

    if (n == 0) {
        gci_buf_append_char(out, '0');
        return true;
    }
    /* mpn_get_str destroys its operand; 20 digits a limb are enough. */
    mp_limb_t *scratch = new_limbs(arena, n + 1);
    unsigned char *text = gci_arena_alloc(arena, (size_t)n * 20 + 2);
    if (scratch == NULL || text == NULL)
        return false;
    mpn_copyi(scratch, limbs_of(a), n);
    size_t size = mpn_get_str(text, 10, scratch, n), start = 0;
    while (start + 1 < size && text[start] == 0)
        start++;
    if (a.size < 0)
        gci_buf_append_char(out, '-');
    for (size_t i = start; i < size; i++)
        gci_buf_append_char(out, (char)('0' + text[i]));
    return true;
}
