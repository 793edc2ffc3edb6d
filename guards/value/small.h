/*
 * Python's operators on integers that stay inside int64.
 */
#ifndef GCI_GUARDS_SMALL_H
#define GCI_GUARDS_SMALL_H

#include <stdbool.h>
#include <stdint.h>

/* A 32-bit division takes half the time of a 64-bit one, and sizes are small. */
static inline bool
gci_fit_32(int64_t a, int64_t b)
{
    return (((uint64_t)a | (uint64_t)b) >> 32) == 0;
}

/* Rounded down. b is neither 0 nor -1. */
static inline int64_t
gci_floor_divide(int64_t a, int64_t b)
{
    if (gci_fit_32(a, b))
        return (int64_t)((uint32_t)a / (uint32_t)b);
    int64_t quotient = a / b;
    return quotient - (quotient * b != a && (a ^ b) < 0);
}

static inline int64_t
gci_floor_remainder(int64_t a, int64_t b)
{
    if (gci_fit_32(a, b))
        return (int64_t)((uint32_t)a % (uint32_t)b);
    int64_t remainder = a % b;
    return remainder != 0 && (remainder ^ b) < 0 ? remainder + b : remainder;
}

/* b may be anything but 0; false for the one quotient that overflows. */
static inline bool
gci_small_divide(int64_t a, int64_t b, int64_t *out)
{
    if (b == -1)
        return !__builtin_sub_overflow((int64_t)0, a, out);
    *out = gci_floor_divide(a, b);
    return true;
}

static inline int64_t
gci_small_modulo(int64_t a, int64_t b)
{
    return b == -1 ? 0 : gci_floor_remainder(a, b);
}

/* false: the result or the exponent is not for int64. */
static inline bool
gci_small_power(int64_t base, int64_t exponent, int64_t *out)
{
    int64_t result = 1;

    if (exponent < 0)
        return false;
    if (base == 0 || base == 1 || base == -1) {
        *out = exponent == 0 ? 1 : base == -1 && exponent % 2 == 0 ? 1 : base;
        return true;
    }
    for (; exponent > 0; exponent--)
        if (__builtin_mul_overflow(result, base, &result))
            return false;
    *out = result;
    return true;
}

static inline bool
gci_small_shift_left(int64_t a, int64_t bits, int64_t *out)
{
    if (bits < 0 || bits > 62)
        return a == 0 && bits >= 0 ? (*out = 0, true) : false;
    return !__builtin_mul_overflow(a, (int64_t)1 << bits, out);
}

/* The numbers aren't negative. gcd(0, 0) is 0. */
static inline int64_t
gci_common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
