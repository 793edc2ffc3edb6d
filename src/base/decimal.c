/*
 * Floats in text, whatever the locale.
 */
#include "base/decimal.h"

#include "base/check.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* Whatever isn't part of a number is the point. */
void
gci_restore_point(char *text)
{
    size_t out = 0;
    bool in_point = false;

    for (char const *p = text; *p != '\0'; p++) {
        bool number = (*p >= '0' && *p <= '9') || *p == '-' || *p == '+' || *p == 'e';
        if (number)
            text[out++] = *p;
        else if (!in_point)
            text[out++] = '.';
        in_point = !number;
    }
    text[out] = '\0';
}

void
gci_write_decimal(char *text, size_t room, char letter, int precision, double value)
{
    GCI_ASSERT(letter == 'f' || letter == 'g');
    snprintf(text, room, letter == 'f' ? "%.*f" : "%.*g", precision, value);
    if (isfinite(value))
        gci_restore_point(text);
}
