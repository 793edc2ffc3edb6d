/*
 * Floats to text and back as Python does it, in whatever locale the host program has set.
 */
#include "guards/value/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* 17 digits always read back as the same double. */
#define MAX_DIGITS 17

/* repr() writes an exponent from 1e16 on and below 1e-4. */
#define LARGEST_PLAIN_EXPONENT 15
#define SMALLEST_PLAIN_EXPONENT (-4)

/* As many decimal digits are a double exactly, whatever they are, and so are these powers of ten. */
#define EXACT_DIGITS 15
static double const powers_of_ten[EXACT_DIGITS + 1] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                        1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };

/*
 * digits ['.' digits] of few digits: the one rounding is that of the quotient (Clinger, How to read floating point numbers
 * accurately, 1990). false: it takes more than that.
 */
static bool
read_short(char const *text, double *out)
{
    uint64_t digits = 0;
    size_t count = 0, whole = SIZE_MAX;

    for (; (*text >= '0' && *text <= '9') || (*text == '.' && whole == SIZE_MAX); text++) {
        if (*text == '.')
            whole = count;
        else if (count++ < EXACT_DIGITS)
            digits = digits * 10 + (uint64_t)(*text - '0');
    }
    if (*text != '\0' || count == 0 || count > EXACT_DIGITS || FLT_EVAL_METHOD != 0)
        return false;
    *out = (double)digits / powers_of_ten[whole != SIZE_MAX ? count - whole : 0];
    return true;
}

double
gci_read_double(char const *text)
{
    double short_value;

    if (read_short(text, &short_value))
        return short_value;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double value = c != (locale_t)0 ? strtod_l(text, NULL, c) : strtod(text, NULL);

    if (c != (locale_t)0)
        freelocale(c);
    return value;
}

/*
 * The fewest digits that read back as the value, which is positive and finite: it is d.ddd * 10**exponent. Digits and an
 * exponent without a point are read alike in all locales.
 */
static int
shortest_digits(double value, char out_digits[MAX_DIGITS + 1], int *out_exponent)
{
    char text[MAX_DIGITS + 16], again[MAX_DIGITS + 16];
    int count = 0;

    for (int wanted = 1; wanted <= MAX_DIGITS; wanted++) {
        snprintf(text, sizeof text, "%.*e", wanted - 1, value);
        char const *mark = strchr(text, 'e');
        count = 0;
        for (char const *c = text; c < mark; c++)
            if (*c >= '0' && *c <= '9')
                out_digits[count++] = *c;
        *out_exponent = (int)strtol(mark + 1, NULL, 10);
        snprintf(again, sizeof again, "%.*se%d", count, out_digits, *out_exponent - (count - 1));
        if (strtod(again, NULL) == value)
            break;
    }
    return count;
}

static void
write_plain(char const *digits, int count, int exponent, gci_buf *out)
{
    if (exponent < 0) {
        gci_buf_append_text(out, "0.");
        for (int i = -1; i > exponent; i--)
            gci_buf_append_char(out, '0');
        gci_buf_append(out, digits, (size_t)count);
        return;
    }
    for (int i = 0; i <= exponent; i++)
        gci_buf_append_char(out, i < count ? digits[i] : '0');
    gci_buf_append_char(out, '.');
    if (count > exponent + 1)
        gci_buf_append(out, digits + exponent + 1, (size_t)(count - exponent - 1));
    else
        gci_buf_append_char(out, '0');
}

void
gci_write_double(double value, gci_buf *out)
{
    char digits[MAX_DIGITS + 1];
    int exponent;

    if (isnan(value) || isinf(value)) {
        gci_buf_append_text(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    if (signbit(value))
        gci_buf_append_char(out, '-');
    int count = shortest_digits(fabs(value), digits, &exponent);
    if (exponent >= SMALLEST_PLAIN_EXPONENT && exponent <= LARGEST_PLAIN_EXPONENT) {
        write_plain(digits, count, exponent, out);
        return;
    }
    gci_buf_append(out, digits, 1);
    if (count > 1) {
        gci_buf_append_char(out, '.');
        gci_buf_append(out, digits + 1, (size_t)count - 1);
    }
    gci_buf_format(out, "e%c%02d", exponent < 0 ? '-' : '+', exponent < 0 ? -exponent : exponent);
}
