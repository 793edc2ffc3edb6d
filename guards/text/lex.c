/*
 * Python's tokens, as far as guards use them.
 */
#include "guards/text/lex.h"

#include <string.h>

static char const *const token_texts[] = {
#define X(name, text) text,
    GCI_TOKEN_MAP(X)
#undef X
};

char const *
gci_token_text(gci_token_type type)
{
    return token_texts[type];
}

/* What a character may be part of. Bytes beyond ASCII are letters of some alphabet; Python's finer rules make no difference
   to a name that must be known. */
enum { LETTER = 1, DIGIT = 2, BLANK = 4, LINE_END = 8, NO_STRING = 16 };

static uint8_t const classes[256] = {
    ['a' ... 'z'] = LETTER, ['A' ... 'Z'] = LETTER, ['_'] = LETTER, [0x80 ... 0xff] = LETTER,
    ['0' ... '9'] = DIGIT,
    [' '] = BLANK, ['\t'] = BLANK, ['\f'] = BLANK,
    ['\n'] = LINE_END | NO_STRING, ['\r'] = LINE_END | NO_STRING, ['\\'] = NO_STRING, ['\0'] = NO_STRING,
};

static bool
is_in(char c, unsigned wanted)
{
    return (classes[(unsigned char)c] & wanted) != 0;
}

static bool
is_digit(char c)
{
    return is_in(c, DIGIT);
}

static bool
begins_name(char c)
{
    return is_in(c, LETTER);
}

static char
char_at(gci_lexer const *lexer, size_t at)
{
    return at < lexer->source.size ? lexer->source.data[at] : '\0';
}

/* Where the characters of some classes end. */
static inline size_t
skip(gci_lexer const *lexer, size_t at, unsigned wanted)
{
    while (at < lexer->source.size && is_in(lexer->source.data[at], wanted))
        at++;
    return at;
}

static void
skip_space(gci_lexer *lexer)
{
    lexer->next = skip(lexer, lexer->next, lexer->nesting > 0 ? BLANK | LINE_END : BLANK);
    if (!is_in(char_at(lexer, lexer->next), LINE_END))
        return;
    /* What eval() strips: line ends behind the expression. */
    size_t end = skip(lexer, lexer->next, BLANK | LINE_END);
    if (end == lexer->source.size)
        lexer->next = end;
}

static void
set_token(gci_lexer *lexer, gci_token_type type, size_t end)
{
    size_t at = lexer->next;

    lexer->token = (gci_token){ .type = type, .text = gci_view_of(lexer->source.data + at, end - at), .at = at };
    lexer->next = end;
}

static void
set_invalid(gci_lexer *lexer, size_t end, char const *problem)
{
    set_token(lexer, GCI_TOKEN_INVALID, end);
    lexer->token.problem = problem;
    lexer->next = lexer->source.size;
}

/* ---- numbers ---- */

static bool
is_digit_of(char c, int base)
{
    return gci_hex_digit(c) >= 0 && gci_hex_digit(c) < base;
}

/* digits -> digit ('_'? digit)*    Returns the end; `at` itself if there is no digit. */
static size_t
skip_digits(gci_lexer const *lexer, size_t at, int base)
{
    size_t start = at;

    while (is_digit_of(char_at(lexer, at), base) ||
           (char_at(lexer, at) == '_' && at > start && is_digit_of(char_at(lexer, at + 1), base)))
        at++;
    return at;
}

/* `1if x else 2` and `0or 1` are numbers with a word right behind in Python. */
static bool
word_may_follow(gci_lexer const *lexer, size_t at)
{
    static char const *const words[] = { "and", "else", "if", "in", "is", "not", "or" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t size = strlen(words[i]);
        if (lexer->source.size - at >= size && memcmp(lexer->source.data + at, words[i], size) == 0)
            return true;
    }
    return false;
}

static void
finish_number(gci_lexer *lexer, gci_token_type type, size_t end, char const *problem)
{
    if ((char_at(lexer, end) | 0x20) == 'j' && type != GCI_TOKEN_INVALID) {
        set_token(lexer, GCI_TOKEN_IMAGINARY, end + 1);
        return;
    }
    bool runs_on = is_digit(char_at(lexer, end)) || begins_name(char_at(lexer, end));
    if (problem != NULL || (runs_on && !word_may_follow(lexer, end)))
        set_invalid(lexer, end, problem != NULL ? problem : "a number that runs into a name");
    else
        set_token(lexer, type, end);
}

/* prefixed -> '0' ('x' hex | 'o' octal | 'b' binary) digits, with underscores between digits and behind the prefix */
static bool
lex_prefixed(gci_lexer *lexer)
{
    static struct {
        char letter;
        int base;
    } const prefixes[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };
    size_t at = lexer->next;
    char letter = (char)(char_at(lexer, at + 1) | 0x20);

    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0] && char_at(lexer, at) == '0'; i++) {
        if (letter != prefixes[i].letter)
            continue;
        size_t start = at + 2 + (char_at(lexer, at + 2) == '_');
        size_t end = skip_digits(lexer, start, prefixes[i].base);
        if (end == start || is_digit(char_at(lexer, end)))
            set_invalid(lexer, end, "a digit that isn't of the number's base");
        else if (begins_name(char_at(lexer, end)) && !word_may_follow(lexer, end))
            set_invalid(lexer, end, "a number that runs into a name");
        else
            set_token(lexer, GCI_TOKEN_INT, end);
        return true;
    }
    return false;
}

/*
 * number -> prefixed | digits | [digits] '.' [digits] [exponent] | digits exponent ; each may end in 'j'
 *
 * Not inlined: most tokens are names and operators, which need fewer registers.
 */
__attribute__((noinline)) static void
lex_number(gci_lexer *lexer)
{
    size_t start = lexer->next, end;
    bool is_float = false;

    if (lex_prefixed(lexer))
        return;
    end = skip_digits(lexer, start, 10);
    size_t whole = end;
    if (char_at(lexer, end) == '.') {
        is_float = true;
        end = skip_digits(lexer, end + 1, 10);
    }
    if ((char_at(lexer, end) | 0x20) == 'e') {
        size_t digits = end + 1 + (char_at(lexer, end + 1) == '+' || char_at(lexer, end + 1) == '-');
        size_t past = skip_digits(lexer, digits, 10);
        if (past > digits) {
            is_float = true;
            end = past;
        }
    }
    char const *problem = NULL;
    bool imaginary = (char_at(lexer, end) | 0x20) == 'j';
    if (!is_float && !imaginary && char_at(lexer, start) == '0')
        for (size_t i = start; i < whole; i++)
            if (char_at(lexer, i) != '0' && char_at(lexer, i) != '_')
                problem = "leading zeros in an integer";
    finish_number(lexer, is_float ? GCI_TOKEN_FLOAT : GCI_TOKEN_INT, end, problem);
}

/* ---- names, strings, operators ---- */

static void
lex_name(gci_lexer *lexer)
{
    set_token(lexer, GCI_TOKEN_NAME, skip(lexer, lexer->next, LETTER | DIGIT));
}

/* string -> quote character* quote, on one line and without escapes: names of hints have none */
static void
lex_string(gci_lexer *lexer)
{
    size_t start = lexer->next, end = start + 1;
    char quote = lexer->source.data[start];

    while (end < lexer->source.size && lexer->source.data[end] != quote && !is_in(lexer->source.data[end], NO_STRING))
        end++;
    if (char_at(lexer, end) != quote) {
        set_invalid(lexer, end, char_at(lexer, end) == '\\' ? "an escape in a string" : "a string that doesn't end");
        return;
    }
    set_token(lexer, GCI_TOKEN_STRING, end + 1);
    lexer->token.text = gci_view_of(lexer->source.data + start + 1, end - start - 1);
}

/* By the first character: alone, with itself behind it, with `=` behind it. 0, which is END, is none. */
static struct operators {
    gci_token_type alone, doubled, equal;
} const operators[128] = {
    ['*'] = { GCI_TOKEN_STAR, GCI_TOKEN_STAR_STAR, 0 },
    ['/'] = { GCI_TOKEN_SLASH, GCI_TOKEN_SLASH_SLASH, 0 },
    ['<'] = { GCI_TOKEN_LESS, GCI_TOKEN_SHIFT_LEFT, GCI_TOKEN_LESS_EQUAL },
    ['>'] = { GCI_TOKEN_GREATER, GCI_TOKEN_SHIFT_RIGHT, GCI_TOKEN_GREATER_EQUAL },
    ['='] = { 0, GCI_TOKEN_EQUAL, 0 },
    ['!'] = { 0, 0, GCI_TOKEN_NOT_EQUAL },
    ['+'] = { GCI_TOKEN_PLUS, 0, 0 },
    ['-'] = { GCI_TOKEN_MINUS, 0, 0 },
    ['%'] = { GCI_TOKEN_PERCENT, 0, 0 },
    ['&'] = { GCI_TOKEN_AMPERSAND, 0, 0 },
    ['|'] = { GCI_TOKEN_BAR, 0, 0 },
    ['^'] = { GCI_TOKEN_CARET, 0, 0 },
    ['~'] = { GCI_TOKEN_TILDE, 0, 0 },
    ['('] = { GCI_TOKEN_OPEN, 0, 0 },
    [')'] = { GCI_TOKEN_CLOSE, 0, 0 },
    ['['] = { GCI_TOKEN_OPEN_INDEX, 0, 0 },
    [']'] = { GCI_TOKEN_CLOSE_INDEX, 0, 0 },
    [','] = { GCI_TOKEN_COMMA, 0, 0 },
    ['.'] = { GCI_TOKEN_DOT, 0, 0 },
};

static void
count_brackets(gci_lexer *lexer, gci_token_type type)
{
    if (type == GCI_TOKEN_OPEN || type == GCI_TOKEN_OPEN_INDEX)
        lexer->nesting++;
    else if (lexer->nesting > 0)
        lexer->nesting--;
}

static void
lex_operator(gci_lexer *lexer)
{
    char first = lexer->source.data[lexer->next], second = char_at(lexer, lexer->next + 1);
    struct operators const *known = &operators[(unsigned char)first % 128];
    gci_token_type pair = second == first ? known->doubled : second == '=' ? known->equal : 0;
    gci_token_type type = pair != 0 ? pair : known->alone;

    if (type == 0) {
        set_invalid(lexer, lexer->next + 1, "a character that no expression has");
        return;
    }
    if (type >= GCI_TOKEN_OPEN && type <= GCI_TOKEN_CLOSE_INDEX)
        count_brackets(lexer, type);
    set_token(lexer, type, lexer->next + (pair != 0 ? 2 : 1));
}

void
gci_lexer_next(gci_lexer *lexer)
{
    skip_space(lexer);
    if (lexer->next >= lexer->source.size) {
        set_token(lexer, GCI_TOKEN_END, lexer->source.size);
        return;
    }
    char c = lexer->source.data[lexer->next];
    if (is_digit(c) || (c == '.' && is_digit(char_at(lexer, lexer->next + 1))))
        lex_number(lexer);
    else if (begins_name(c))
        lex_name(lexer);
    else if (c == '\'' || c == '"')
        lex_string(lexer);
    else
        lex_operator(lexer);
}

void
gci_lexer_init(gci_lexer *lexer, gci_view source)
{
    *lexer = (gci_lexer){ .source = source };
    gci_lexer_next(lexer);
}

bool
gci_word_is_reserved(gci_view word)
{
    /* By their first letter. */
    static char const words['z' + 1][6][sizeof "nonlocal"] = {
        ['a'] = { "and", "as", "assert", "async", "await" }, ['b'] = { "break" }, ['c'] = { "class", "continue" },
        ['d'] = { "def", "del" }, ['e'] = { "elif", "else", "except" }, ['f'] = { "finally", "for", "from" },
        ['g'] = { "global" }, ['i'] = { "if", "import", "in", "is" }, ['l'] = { "lambda" }, ['n'] = { "nonlocal", "not" },
        ['o'] = { "or" }, ['p'] = { "pass" }, ['r'] = { "raise", "return" }, ['t'] = { "try" }, ['w'] = { "while", "with" },
        ['y'] = { "yield" },
    };

    if (word.size == 0 || (unsigned char)word.data[0] > 'z')
        return false;
    char const (*known)[sizeof words[0][0]] = words[(unsigned char)word.data[0]];
    while ((*known)[0] != '\0' && !gci_view_is(word, *known))
        known++;
    return (*known)[0] != '\0';
}
