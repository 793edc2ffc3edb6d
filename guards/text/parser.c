/*
 * Tokens to a tree, by precedence climbing. Lowest to highest:
 *
 *     conditional -> or ('if' or 'else' conditional)?
 *     or          -> and ('or' and)*
 *     and         -> not ('and' not)*
 *     not         -> 'not' not | comparison
 *     comparison  -> bits (('==' | '!=' | '<' | '<=' | '>' | '>=') bits)*
 *     bits        -> xor ('|' xor)*      xor -> mask ('^' mask)*      mask -> shift ('&' shift)*
 *     shift       -> sum (('<<' | '>>') sum)*
 *     sum         -> term (('+' | '-') term)*
 *     term        -> unary (('*' | '/' | '//' | '%') unary)*
 *     unary       -> ('-' | '+' | '~') unary | power
 *     power       -> primary ('**' unary)?
 *     primary     -> atom ('.' NAME | '(' items ')')*
 *     atom        -> NUMBER | NAME | 'True' | 'False' | 'None' | 'L' '[' STRING ']' | '(' items ')'
 */
#include "guards/text/ast.h"

#include "base/check.h"
#include "guards/value/limits.h"
#include "guards/text/lex.h"

#include <stdarg.h>
#include <stdio.h>

typedef enum power {
    POWER_NONE, /* of what doesn't continue an expression */
    POWER_CONDITIONAL,
    POWER_OR,
    POWER_AND,
    POWER_NOT,
    POWER_COMPARE,
    POWER_BITOR,
    POWER_BITXOR,
    POWER_BITAND,
    POWER_SHIFT,
    POWER_SUM,
    POWER_TERM,
    POWER_UNARY,
    POWER_POWER
} power;

typedef struct parser {
    gci_lexer lexer;
    gci_arena *arena;
    gcache_error *error;
    gcache_status status;
    uint32_t end; /* of the token before the present one */
    unsigned depth;
} parser;

static gci_ast *parse(parser *p, power least);

/* ---- errors ---- */

static void fail_at(parser *p, gcache_status status, size_t at, char const *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Records an error at a byte of the text; the first one counts. */
static void
fail_at(parser *p, gcache_status status, size_t at, char const *format, ...)
{
    char message[160];
    va_list arguments;

    if (p->status != GCACHE_OK)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    gci_place place = { .name = NULL, .path = NULL, .line = 0, .column = (int)at + 1 };
    p->status = gci_fail_at(p->error, status, &place, "column %d: %s", place.column, message);
}

static gci_ast *
fail_expected(parser *p, char const *expected)
{
    gci_token const *token = &p->lexer.token;

    if (token->type == GCI_TOKEN_INVALID)
        fail_at(p, GCACHE_ERROR_SYNTAX, token->at, "%s", token->problem);
    else if (token->type == GCI_TOKEN_END)
        fail_at(p, GCACHE_ERROR_SYNTAX, token->at, "%s is missing", expected);
    else
        fail_at(p, GCACHE_ERROR_SYNTAX, token->at, "%s is expected, not '%.*s'", expected, (int)token->text.size,
                token->text.data);
    return NULL;
}

static bool
enter(parser *p)
{
    if (++p->depth <= GCI_GUARD_MAX_DEPTH)
        return true;
    fail_at(p, GCACHE_ERROR_LIMIT, p->lexer.token.at, "nested more than %d deep", GCI_GUARD_MAX_DEPTH);
    return false;
}

/* ---- tools ---- */

static gci_token_type
type_of(parser const *p)
{
    return p->lexer.token.type;
}

static void
advance(parser *p)
{
    p->end = (uint32_t)p->lexer.next;
    gci_lexer_next(&p->lexer);
}

static bool
expect(parser *p, gci_token_type type)
{
    if (type_of(p) != type) {
        fail_expected(p, gci_token_text(type));
        return false;
    }
    advance(p);
    return true;
}

static gci_ast *
new_node(parser *p, gci_ast_kind kind, size_t begin)
{
    gci_ast *node = gci_arena_alloc(p->arena, sizeof *node);

    if (node == NULL) {
        if (p->status == GCACHE_OK)
            p->status = gci_fail_memory(p->error);
        return NULL;
    }
    *node = (gci_ast){ .kind = (uint8_t)kind, .begin = (uint32_t)begin, .end = p->end };
    return node;
}

/* Appends a child behind *tail. false if child is NULL: its parse failed. */
static bool
append(gci_ast *node, gci_ast **tail, gci_ast *child)
{
    if (child == NULL)
        return false;
    if (*tail == NULL)
        node->first = child;
    else
        (*tail)->next = child;
    *tail = child;
    node->count++;
    return true;
}

/* ---- atoms ---- */

static gci_ast *
parse_constant(parser *p, gci_number number)
{
    size_t begin = p->lexer.token.at;

    advance(p);
    gci_ast *node = new_node(p, GCI_AST_NUMBER, begin);
    if (node != NULL)
        node->number = number;
    return node;
}

static gci_ast *
parse_number(parser *p)
{
    gci_number number;
    char const *problem;
    gcache_status status = gci_literal_read(&p->lexer.token, p->arena, &number, &problem);

    if (status == GCACHE_OK)
        return parse_constant(p, number);
    fail_at(p, status, p->lexer.token.at, "%s", problem);
    return NULL;
}

/* 'L' '[' STRING ']', after the L. */
static gci_ast *
parse_hint(parser *p, size_t begin)
{
    advance(p);
    gci_view name = p->lexer.token.text;
    if (!expect(p, GCI_TOKEN_STRING) || !expect(p, GCI_TOKEN_CLOSE_INDEX))
        return NULL;
    gci_ast *node = new_node(p, GCI_AST_HINT, begin);
    if (node != NULL)
        node->name = name;
    return node;
}

static gci_ast *
parse_name(parser *p)
{
    gci_token name = p->lexer.token;

    switch (name.text.data[0]) {
    case 'T':
    case 'F':
    case 'N':
        if (gci_view_is(name.text, "True") || gci_view_is(name.text, "False"))
            return parse_constant(p, gci_number_bool(name.text.data[0] == 'T'));
        if (gci_view_is(name.text, "None"))
            return parse_constant(p, (gci_number){ .kind = GCI_KIND_NONE });
        break;
    default:
        if (gci_word_is_reserved(name.text))
            return fail_expected(p, "a name, a number or '('");
    }
    advance(p);
    if (type_of(p) == GCI_TOKEN_OPEN_INDEX && gci_view_is(name.text, "L"))
        return parse_hint(p, name.at);
    gci_ast *node = new_node(p, GCI_AST_NAME, name.at);
    if (node != NULL)
        node->name = name.text;
    return node;
}

/* items -> (conditional (',' conditional)* ','?)?    up to and with ')'. *out_comma: whether there was a comma. */
static bool
parse_items(parser *p, gci_ast *node, gci_ast **tail, bool *out_comma)
{
    *out_comma = false;
    while (type_of(p) != GCI_TOKEN_CLOSE) {
        if (!append(node, tail, parse(p, POWER_CONDITIONAL)))
            return false;
        if (type_of(p) != GCI_TOKEN_COMMA)
            break;
        *out_comma = true;
        advance(p);
    }
    return expect(p, GCI_TOKEN_CLOSE);
}

/* '(' items ')': a tuple if there is a comma or nothing inside. */
static gci_ast *
parse_group(parser *p)
{
    size_t begin = p->lexer.token.at;
    gci_ast *tuple = new_node(p, GCI_AST_TUPLE, begin), *tail = NULL;
    bool comma;

    advance(p);
    if (tuple == NULL || !parse_items(p, tuple, &tail, &comma))
        return NULL;
    gci_ast *node = comma || tuple->count == 0 ? tuple : tuple->first;
    node->begin = (uint32_t)begin;
    node->end = p->end;
    node->parenthesised = node != tuple;
    return node;
}

static gci_ast *
parse_atom(parser *p)
{
    switch (type_of(p)) {
    case GCI_TOKEN_INT:
    case GCI_TOKEN_FLOAT:
    case GCI_TOKEN_IMAGINARY: return parse_number(p);
    case GCI_TOKEN_NAME: return parse_name(p);
    case GCI_TOKEN_OPEN: return parse_group(p);
    default: return fail_expected(p, "a name, a number or '('");
    }
}

static bool
is_no_name(gci_view word)
{
    return gci_view_is(word, "True") || gci_view_is(word, "False") || gci_view_is(word, "None") || gci_word_is_reserved(word);
}

/* primary -> atom ('.' NAME | '(' items ')')*    Each postfix is a level of the tree. */
static gci_ast *
parse_primary(parser *p)
{
    gci_ast *node = parse_atom(p), *tail;
    bool comma;

    while (node != NULL && (type_of(p) == GCI_TOKEN_DOT || type_of(p) == GCI_TOKEN_OPEN)) {
        bool call = type_of(p) == GCI_TOKEN_OPEN;
        gci_ast *outer = new_node(p, call ? GCI_AST_CALL : GCI_AST_ATTRIBUTE, node->begin);
        tail = NULL;
        if (!enter(p) || outer == NULL || !append(outer, &tail, node))
            return NULL;
        advance(p);
        gci_view name = p->lexer.token.text;
        if (!call && is_no_name(name))
            return fail_expected(p, "a name");
        if (!(call ? parse_items(p, outer, &tail, &comma) : expect(p, GCI_TOKEN_NAME)))
            return NULL;
        if (!call)
            outer->name = name;
        outer->end = p->end;
        node = outer;
    }
    return node;
}

/* ---- operators ---- */

/* A prefix operator and its operand. */
static gci_ast *
parse_prefixed(parser *p, gci_ast_kind kind, gci_operator op, power operand)
{
    gci_ast *node = new_node(p, kind, p->lexer.token.at), *tail = NULL;

    advance(p);
    if (node == NULL || !append(node, &tail, parse(p, operand)))
        return NULL;
    node->first->joint = (uint8_t)op;
    node->end = p->end;
    return node;
}

static gci_ast *
parse_operand(parser *p, power least)
{
    switch (type_of(p)) {
    case GCI_TOKEN_MINUS: return parse_prefixed(p, GCI_AST_UNARY, GCI_OPERATOR_NEG, POWER_UNARY);
    case GCI_TOKEN_PLUS: return parse_prefixed(p, GCI_AST_UNARY, GCI_OPERATOR_POS, POWER_UNARY);
    case GCI_TOKEN_TILDE: return parse_prefixed(p, GCI_AST_UNARY, GCI_OPERATOR_INVERT, POWER_UNARY);
    case GCI_TOKEN_NAME:
        if (least <= POWER_NOT && gci_lexer_is_word(&p->lexer, "not"))
            return parse_prefixed(p, GCI_AST_NOT, 0, POWER_NOT);
        break;
    default: break;
    }
    return parse_primary(p);
}

typedef struct infix {
    uint8_t power, kind, op;
} infix;

/* What the present token is between two operands. */
static infix
infix_of(parser const *p)
{
#define CHAIN(power, op) { POWER_##power, GCI_AST_CHAIN, GCI_OPERATOR_##op }
#define COMPARE(op) { POWER_COMPARE, GCI_AST_COMPARE, GCI_OPERATOR_##op }
    static infix const none = { POWER_NONE, 0, 0 }, table[GCI_TOKEN_COUNT] = {
        [GCI_TOKEN_PLUS] = CHAIN(SUM, ADD), [GCI_TOKEN_MINUS] = CHAIN(SUM, SUB), [GCI_TOKEN_STAR] = CHAIN(TERM, MUL),
        [GCI_TOKEN_SLASH] = CHAIN(TERM, TRUEDIV), [GCI_TOKEN_SLASH_SLASH] = CHAIN(TERM, FLOORDIV),
        [GCI_TOKEN_PERCENT] = CHAIN(TERM, MOD), [GCI_TOKEN_SHIFT_LEFT] = CHAIN(SHIFT, LSHIFT),
        [GCI_TOKEN_SHIFT_RIGHT] = CHAIN(SHIFT, RSHIFT), [GCI_TOKEN_AMPERSAND] = CHAIN(BITAND, BITAND),
        [GCI_TOKEN_BAR] = CHAIN(BITOR, BITOR), [GCI_TOKEN_CARET] = CHAIN(BITXOR, BITXOR),
        [GCI_TOKEN_STAR_STAR] = { POWER_POWER, GCI_AST_POWER, GCI_OPERATOR_POW },
        [GCI_TOKEN_EQUAL] = COMPARE(EQ), [GCI_TOKEN_NOT_EQUAL] = COMPARE(NE), [GCI_TOKEN_LESS] = COMPARE(LT),
        [GCI_TOKEN_LESS_EQUAL] = COMPARE(LE), [GCI_TOKEN_GREATER] = COMPARE(GT),
        [GCI_TOKEN_GREATER_EQUAL] = COMPARE(GE),
    };

    if (type_of(p) != GCI_TOKEN_NAME)
        return table[type_of(p)];
    if (gci_lexer_is_word(&p->lexer, "and"))
        return (infix){ POWER_AND, GCI_AST_AND, 0 };
    if (gci_lexer_is_word(&p->lexer, "or"))
        return (infix){ POWER_OR, GCI_AST_OR, 0 };
    if (gci_lexer_is_word(&p->lexer, "if"))
        return (infix){ POWER_CONDITIONAL, GCI_AST_IF, 0 };
    return none;
}

/* 'if' or 'else' conditional, behind the value. */
static bool
parse_conditional(parser *p, gci_ast *node, gci_ast *value)
{
    gci_ast *tail = NULL;

    advance(p);
    if (!append(node, &tail, parse(p, POWER_OR)) || !append(node, &tail, value))
        return false;
    if (!gci_lexer_is_word(&p->lexer, "else")) {
        fail_expected(p, "'else'");
        return false;
    }
    advance(p);
    return append(node, &tail, parse(p, POWER_CONDITIONAL));
}

/* (operator operand)*, operators of one precedence, behind the first operand. ** groups to the right, all others left. */
static bool
parse_chain(parser *p, gci_ast *node, gci_ast *first)
{
    gci_ast *tail = NULL;
    infix next = infix_of(p);
    power level = next.power, operand = level == POWER_POWER ? POWER_UNARY : level + 1;

    append(node, &tail, first);
    do {
        advance(p);
        if (!append(node, &tail, parse(p, operand)))
            return false;
        tail->joint = next.op;
        next = infix_of(p);
    } while (next.power == level && level != POWER_POWER);
    return true;
}

/* An expression whose operators bind at least as strongly as `least`. */
static gci_ast *
parse(parser *p, power least)
{
    unsigned depth = p->depth;

    if (!enter(p))
        return NULL;
    gci_ast *left = parse_operand(p, least);
    for (infix next; left != NULL && (next = infix_of(p)).power >= least;) {
        gci_ast *node = new_node(p, next.kind, left->begin);
        if (node == NULL || !(next.kind == GCI_AST_IF ? parse_conditional(p, node, left) : parse_chain(p, node, left)))
            return NULL;
        node->end = p->end;
        left = node;
    }
    p->depth = depth;
    return left;
}

gci_ast *
gci_ast_parse(gci_view text, gci_arena *arena, gcache_error *error)
{
    parser p = { .arena = arena, .error = error, .status = GCACHE_OK };

    if (text.size > GCI_GUARD_MAX_TEXT) {
        gci_fail(error, GCACHE_ERROR_LIMIT, "a guard of more than %zu characters", GCI_GUARD_MAX_TEXT);
        return NULL;
    }
    gci_lexer_init(&p.lexer, text);
    gci_ast *node = parse(&p, POWER_CONDITIONAL);
    if (node != NULL && type_of(&p) != GCI_TOKEN_END)
        node = fail_expected(&p, "an operator or the end");
    if (arena->failed && p.status == GCACHE_OK)
        p.status = gci_fail_memory(error);
    return p.status == GCACHE_OK ? node : NULL;
}
