/*
 * Names replaced in a text, word by word.
 */
#include "cache/lookup/rename.h"

#include <ctype.h>

/* Bytes of other alphabets may stand in identifiers, as in Python. */
static bool
in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* word -> letter-or-digit* ; one that begins with a digit is a number, one behind a dot an attribute: neither is a name */
void
gci_guard_rename(gci_view text, gci_naming naming, gci_buf *out)
{
    size_t at = 0;

    while (at < text.size) {
        size_t end = at;
        while (end < text.size && in_word(text.data[end]))
            end++;
        gci_view word = gci_view_of(text.data + at, end - at);
        if (word.size == 0) {
            gci_buf_append_char(out, text.data[at++]);
            continue;
        }
        bool name = !isdigit((unsigned char)word.data[0]) && (at == 0 || text.data[at - 1] != '.');
        gci_buf_append_view(out, name ? naming.rename(naming.state, word) : word);
        at = end;
    }
}
