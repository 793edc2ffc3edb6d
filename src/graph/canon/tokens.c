/*
 * Tokens: names and single bytes.
 */
#include "graph/canon/tokens.h"

static bool
is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
is_name_byte(char c)
{
    return is_name_start(c) || (c >= '0' && c <= '9');
}

bool
gci_is_symbol(gci_view text)
{
    static char const *const words[] = { "True", "False", "None", "and", "or", "not", "if", "else" };

    if (text.size == 0 || !is_name_start(text.data[0]))
        return false;
    for (size_t i = 1; i < text.size; i++)
        if (!is_name_byte(text.data[i]))
            return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (gci_view_is(text, words[i]))
            return false;
    return true;
}

static size_t
skip_spaces(gci_view text, size_t at)
{
    while (at < text.size && text.data[at] == ' ')
        at++;
    return at;
}

/* Bytes of other scripts stay together with names: a text must not be cut inside a character. */
static bool
is_word_byte(char c)
{
    return is_name_byte(c) || (uint8_t)c >= 0x80;
}

gci_view
gci_next_token(gci_view text, size_t *at, bool *out_symbol)
{
    size_t start = skip_spaces(text, *at), end = start;

    while (end < text.size && is_word_byte(text.data[end]))
        end++;
    end += end == start && end < text.size;
    gci_view token = gci_view_of(text.data + start, end - start);
    *at = end = skip_spaces(text, end);
    *out_symbol = gci_is_symbol(token) && !(end < text.size && text.data[end] == '(');
    return token;
}
