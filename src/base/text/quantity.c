/*
 * Sizes and durations as people write them.
 */
#include "base/text/quantity.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_SECOND UINT64_C(1000000000)

/* Digits, and nothing that strtoull would step over before them. */
static bool
read_digits(char const *text, unsigned long long *out_number, char const **out_rest)
{
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return false;
    errno = 0;
    *out_number = strtoull(text, &end, 10);
    *out_rest = end;
    return errno == 0;
}

bool
gci_size_read(char const *text, uint64_t *out_bytes)
{
    static char const letters[] = "KMGT";
    unsigned long long size;
    char const *rest;

    if (!read_digits(text, &size, &rest))
        return false;
    rest += *rest == ' ';
    char const *letter = *rest != '\0' ? strchr(letters, *rest) : NULL;
    unsigned shift = letter != NULL ? 10 * (unsigned)(letter - letters + 1) : 0;
    if (letter != NULL)
        rest += rest[1] == 'i' ? 2 : 1;
    rest += *rest == 'B';
    if (*rest != '\0' || size > (unsigned long long)INT64_MAX >> shift)
        return false;
    *out_bytes = (uint64_t)size << shift;
    return true;
}

static uint64_t
unit_seconds(char const *unit)
{
    static struct {
        char const *name;
        uint64_t seconds;
    } const units[] = { { "s", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 } };

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(unit, units[i].name) == 0)
            return units[i].seconds;
    }
    return 0;
}

bool
gci_age_read(char const *text, uint64_t *out_ns)
{
    unsigned long long count;
    char const *unit;

    if (!read_digits(text, &count, &unit))
        return false;
    uint64_t unit_ns = unit_seconds(unit) * NS_PER_SECOND;
    if (unit_ns == 0)
        return false;
    *out_ns = count > UINT64_MAX / unit_ns ? UINT64_MAX : (uint64_t)count * unit_ns;
    return true;
}
