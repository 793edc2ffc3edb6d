/*
 * Names of side files that come from elsewhere: no path may lead out of the directory.
 */
#include "cache/transfer/side_name.h"

#include <string.h>

bool
gci_side_name_valid(char const *name, size_t size)
{
    static char const letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t plain = strspn(name, letters), length = strlen(name);

    if (plain == 0 || length >= size)
        return false;
    for (size_t i = plain; i < length; i++) {
        if (name[i] != '.' && strchr(letters, name[i]) == NULL)
            return false;
    }
    return true;
}
