/*
 * Floats to text and back as Python does it, in whatever locale the host program has set.
 */
#include "guards/value/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* 17 digits always read back as the same double. */
#define MAX_DIGITS 17

/* repr() writes an exponent from 1e16 on and below 1e-4. */
#define LARGEST_PLAIN_EXPONENT 15
#define SMALLEST_PLAIN_EXPONENT (-4)

/* The "C" locale's object is static in the C library: making it costs and allocates nothing. */
static locale_t
enter_c_locale(locale_t *out_mine)
{
    *out_mine = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return *out_mine != (locale_t)0 ? uselocale(*out_mine) : (locale_t)0;
}

static void
leave_c_locale(locale_t before, locale_t mine)
{
    if (mine == (locale_t)0)
        return;
    uselocale(before);
    freelocale(mine);
}

double
gci_read_double(char const *text)
{
    locale_t mine, before = enter_c_locale(&mine);
    double value = strtod(text, NULL);

    leave_c_locale(before, mine);
    return value;
}

/* "-1.2345e-07" with the fewest digits that read back the same. */
static void
shortest_scientific(double value, char *out_text, size_t room)
{
    locale_t mine, before = enter_c_locale(&mine);

    for (int digits = 1; digits <= MAX_DIGITS; digits++) {
        snprintf(out_text, room, "%.*e", digits - 1, value);
        if (strtod(out_text, NULL) == value)
            break;
    }
    leave_c_locale(before, mine);
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
    char text[MAX_DIGITS + 16], digits[MAX_DIGITS + 1];
    int count = 0;

    if (isnan(value) || isinf(value)) {
        gci_buf_append_text(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    if (signbit(value))
        gci_buf_append_char(out, '-');
    shortest_scientific(fabs(value), text, sizeof text);
    char const *mark = strchr(text, 'e');
    for (char const *c = text; c < mark; c++)
        if (*c != '.')
            digits[count++] = *c;
    int exponent = (int)strtol(mark + 1, NULL, 10);
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
