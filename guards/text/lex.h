/*
 * Splits a text into tokens, as Python 3.11's tokenizer does it for one expression.
 *
 * A lexer reads on demand and keeps one token of look-ahead in `token`. It allocates nothing. Positions are byte offsets.
 */
#ifndef GCI_GUARDS_LEX_H
#define GCI_GUARDS_LEX_H

#include "base/error.h"
#include "guards/value/number.h"

#include <stdint.h>

/* name, what it is called in a message. Words come as NAME; gci_lexer_is_word asks for one. */
#define GCI_TOKEN_MAP(X)                                                                              \
    X(END, "the end")                                                                                 \
    X(INT, "an integer")                                                                              \
    X(FLOAT, "a float")                                                                               \
    X(IMAGINARY, "an imaginary number")                                                               \
    X(NAME, "a name")                                                                                 \
    X(STRING, "a string")                                                                             \
    X(PLUS, "'+'")                                                                                    \
    X(MINUS, "'-'")                                                                                   \
    X(STAR, "'*'")                                                                                    \
    X(STAR_STAR, "'**'")                                                                              \
    X(SLASH, "'/'")                                                                                   \
    X(SLASH_SLASH, "'//'")                                                                            \
    X(PERCENT, "'%'")                                                                                 \
    X(SHIFT_LEFT, "'<<'")                                                                             \
    X(SHIFT_RIGHT, "'>>'")                                                                            \
    X(AMPERSAND, "'&'")                                                                               \
    X(BAR, "'|'")                                                                                     \
    X(CARET, "'^'")                                                                                   \
    X(TILDE, "'~'")                                                                                   \
    X(EQUAL, "'=='")                                                                                  \
    X(NOT_EQUAL, "'!='")                                                                              \
    X(LESS, "'<'")                                                                                    \
    X(LESS_EQUAL, "'<='")                                                                             \
    X(GREATER, "'>'")                                                                                 \
    X(GREATER_EQUAL, "'>='")                                                                          \
    X(OPEN, "'('")                                                                                    \
    X(CLOSE, "')'")                                                                                   \
    X(OPEN_INDEX, "'['")                                                                              \
    X(CLOSE_INDEX, "']'")                                                                             \
    X(COMMA, "','")                                                                                   \
    X(DOT, "'.'")                                                                                     \
    X(INVALID, "something that is no token")

typedef enum gci_token_type {
#define X(name, text) GCI_TOKEN_##name,
    GCI_TOKEN_MAP(X)
#undef X
    GCI_TOKEN_COUNT
} gci_token_type;

char const *gci_token_text(gci_token_type type);

typedef struct gci_token {
    gci_token_type type;
    gci_view text;       /* as written; of a STRING what stands between the quotes */
    size_t at;           /* where it begins */
    char const *problem; /* of INVALID: what is wrong with it */
} gci_token;

typedef struct gci_lexer {
    gci_view source;
    size_t next;
    uint32_t nesting; /* open brackets: line ends are white space inside */
    gci_token token;
} gci_lexer;

/* Begins with the first token. */
void gci_lexer_init(gci_lexer *lexer, gci_view source);

/* Goes on to the next token. At the end it stays there. */
void gci_lexer_next(gci_lexer *lexer);

/* true if the token is the word ("and", "not"). */
static inline bool
gci_lexer_is_word(gci_lexer const *lexer, char const *word)
{
    return lexer->token.type == GCI_TOKEN_NAME && gci_view_is(lexer->token.text, word);
}

/* true for words that can't be names in Python. */
bool gci_word_is_reserved(gci_view word);

/* ---- numbers ---- */

/*
 * The value of an INT, FLOAT or IMAGINARY token; large ones live in the arena. ERROR_SYNTAX for a decimal of more than
 * GCI_INT_MAX_DIGITS digits, ERROR_LIMIT beyond GCI_INT_MAX_BITS, ERROR_MEMORY; *out_problem says it in words.
 */
gcache_status gci_literal_read(gci_token const *token, gci_arena *arena, gci_number *out, char const **out_problem);

#endif
