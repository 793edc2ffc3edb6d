/*
 * Reading JSON (RFC 8259): recursive descent over the text, bounded by GCI_JSON_MAX_DEPTH. Items of an open list and members
 * of an open map lie on one scratch stack, those of the innermost container on top; closing a container moves them to the
 * arena in one piece. So a parse makes one allocation a container, and none a value.
 *
 * Invariants:
 *  1. next <= end; every byte before next has been checked.
 *  2. frame is the chain of open containers, innermost first: an error's path is read off it.
 *  3. After a failure `status` is set and nothing is parsed any more.
 */
#include "base/text/json.h"

#include "base/check.h"
#include "base/digest.h"
#include "base/utf8.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

typedef struct frame {
    struct frame const *outer;
    gci_view const *name; /* of the member being read; NULL in a list */
    size_t index;         /* of the item being read */
} frame;

typedef struct parser {
    char const *text, *next, *end;
    char const *name;
    gci_arena *arena;
    gci_buf scratch;
    frame const *frame;
    int depth;
    locale_t c_locale; /* made when the first hard float is met; strtod would read "1,5" in some locales */
    gcache_status status;
    gcache_error *error;
} parser;

/* Between the members of a map. */
static gci_view const no_name = { NULL, 0 };

/* A longer path is shown by its beginning and its end. */
#define PATH_SHOWN 120

/* A map of more members than this is checked for duplicates with a hash table instead of pairwise. */
#define PAIRWISE_MEMBERS 16

/* What is left of the widest number text after the fast paths; longer ones are out of all double's range and digits. */
#define FLOAT_TEXT_MAX 1100

/* ---- errors ---- */

void
gci_json_locate(gci_view text, uint32_t at, int *out_line, int *out_column)
{
    *out_line = *out_column = 0;
    if (at == 0 || at - 1 > text.size)
        return;
    int line = 1, column = 1;
    for (char const *p = text.data; p < text.data + (at - 1); p++) {
        column = *p == '\n' ? 1 : column + 1;
        line += *p == '\n';
    }
    *out_line = line;
    *out_column = column;
}

static void
write_path(gci_buf *out, frame const *f)
{
    if (f == NULL)
        return;
    write_path(out, f->outer);
    if (f->name == NULL) {
        gci_buf_format(out, "[%zu]", f->index);
    } else if (f->name->data != NULL) {
        if (out->size != 0)
            gci_buf_append_char(out, '.');
        gci_buf_append_view(out, *f->name);
    }
}

static bool fail_at(parser *p, char const *where, gcache_status status, char const *message)
    __attribute__((cold, noinline));

static bool
fail_at(parser *p, char const *where, gcache_status status, char const *message)
{
    if (p->status != GCACHE_OK)
        return false;
    p->status = status;
    if (p->error == NULL)
        return false;
    gci_buf path;
    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    write_path(&path, p->frame);
    if (path.size > PATH_SHOWN) {
        memmove(path.data + PATH_SHOWN / 2 + 3, path.data + path.size - PATH_SHOWN / 2 + 3, PATH_SHOWN / 2 - 3);
        memcpy(path.data + PATH_SHOWN / 2, "...", 3);
        path.size = PATH_SHOWN;
    }
    gci_buf_append_char(&path, '\0');
    gci_place place = { .name = p->name, .path = path.failed ? NULL : path.data };
    gci_json_locate(gci_view_of(p->text, (size_t)(p->end - p->text)), (uint32_t)(where - p->text) + 1, &place.line,
                    &place.column);
    gci_fail_at(p->error, status, &place, "%s", message);
    gci_buf_clear(&path);
    return false;
}

static bool
fail_syntax(parser *p, char const *where, char const *message)
{
    return fail_at(p, where, GCACHE_ERROR_SYNTAX, where >= p->end ? "the text ends too early" : message);
}

static bool
fail_memory(parser *p)
{
    if (p->status == GCACHE_OK)
        p->status = gci_fail_memory(p->error);
    return false;
}

/* ---- white space ---- */

static inline void
skip_space(parser *p)
{
    while (p->next < p->end && (*p->next == ' ' || *p->next == '\n' || *p->next == '\t' || *p->next == '\r'))
        p->next++;
}

/* ---- strings ---- */

#define BYTES_OF(c) (UINT64_C(0x0101010101010101) * (uint8_t)(c))
#define HIGH_BITS BYTES_OF(0x80)

/* Nonzero if one of eight bytes is a quote, a backslash, a control character or not ASCII. The classic "has a byte less
   than n" test may mark bytes above a true one too, which is harmless: the caller looks at each byte of such a word. */
static inline uint64_t
special_bytes(uint64_t word)
{
    uint64_t quote = word ^ BYTES_OF('"'), backslash = word ^ BYTES_OF('\\');

    return ((quote - BYTES_OF(1)) | (backslash - BYTES_OF(1)) | (word - BYTES_OF(0x20)) | word) & HIGH_BITS;
}

static inline char const *
skip_plain(char const *p, char const *end)
{
    uint64_t word;

    while ((size_t)(end - p) >= sizeof word) {
        memcpy(&word, p, sizeof word);
        if (special_bytes(word) != 0)
            break;
        p += sizeof word;
    }
    while (p < end && *p != '"' && *p != '\\' && (uint8_t)*p >= 0x20 && (uint8_t)*p < 0x80)
        p++;
    return p;
}

/* XXXX, four hex digits at p; -1 if they aren't. */
static int32_t
read_hex4(char const *p, char const *end)
{
    int32_t unit = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = gci_hex_digit(p[i]);
        if (digit < 0)
            return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static char *
put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xC0 | c >> 6);
        *out++ = (char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *out++ = (char)(0xE0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    } else {
        *out++ = (char)(0xF0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 63));
        *out++ = (char)(0x80 | (c >> 6 & 63));
        *out++ = (char)(0x80 | (c & 63));
    }
    return out;
}

/* unicode := 'u' hex4 [ '\u' hex4 ]    two of them where the first is a high surrogate */
static char *
read_unicode_escape(parser *p, char *out)
{
    char const *start = p->next - 1;
    int32_t unit = read_hex4(p->next + 1, p->end);

    if (unit < 0) {
        fail_syntax(p, start, "\\u needs four hex digits");
        return NULL;
    }
    p->next += 5;
    if (unit < 0xD800 || unit > 0xDFFF)
        return put_utf8(out, (uint32_t)unit);
    int32_t low = -1;
    if (unit <= 0xDBFF && p->end - p->next >= 2 && p->next[0] == '\\' && p->next[1] == 'u')
        low = read_hex4(p->next + 2, p->end);
    if (low < 0xDC00 || low > 0xDFFF) {
        fail_syntax(p, start, "a surrogate without its other half");
        return NULL;
    }
    p->next += 6;
    return put_utf8(out, 0x10000 + ((uint32_t)(unit & 0x3FF) << 10) + (uint32_t)(low & 0x3FF));
}

/* escape := '\' ( ["\/bfnrt] | unicode )    next is behind the backslash */
static char *
read_escape(parser *p, char *out)
{
    static char const codes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";

    if (p->next < p->end && *p->next == 'u')
        return read_unicode_escape(p, out);
    char const *code = p->next < p->end && *p->next != '\0' ? strchr(codes, *p->next) : NULL;
    if (code == NULL) {
        fail_syntax(p, p->next, "not an escape sequence");
        return NULL;
    }
    p->next++;
    *out++ = meanings[code - codes];
    return out;
}

/* Advances over one byte or sequence that isn't plain ASCII nor a quote nor a backslash. */
static bool
check_unplain(parser *p)
{
    if (p->next == p->end)
        return fail_syntax(p, p->next, "");
    if ((uint8_t)*p->next < 0x20)
        return fail_syntax(p, p->next, "a control character in a string must be escaped");
    size_t size = gci_utf8_sequence(p->next, (size_t)(p->end - p->next));
    if (size == 0)
        return fail_at(p, p->next, GCACHE_ERROR_SYNTAX, "not valid UTF-8");
    p->next += size;
    return true;
}

/* The rest of a string with escapes, which must be copied: it never grows by being decoded. start is its first byte. */
static bool
read_escaped(parser *p, char const *start, gci_view *out_text)
{
    char const *close = p->next;
    while (close < p->end && *close != '"')
        close += *close == '\\' && close + 1 < p->end ? 2 : 1;
    char *copy = gci_arena_alloc(p->arena, (size_t)(close - start) + 1), *out = copy;
    if (copy == NULL)
        return fail_memory(p);
    char const *run = start;
    for (;;) {
        memcpy(out, run, (size_t)(p->next - run));
        out += p->next - run;
        if (p->next < p->end && *p->next == '"')
            break;
        if (p->next < p->end && *p->next == '\\') {
            p->next++;
            out = read_escape(p, out);
            if (out == NULL)
                return false;
            run = p->next;
        } else {
            run = p->next;
            if (!check_unplain(p))
                return false;
        }
        p->next = skip_plain(p->next, p->end);
    }
    p->next++;
    *out = '\0';
    *out_text = gci_view_of(copy, (size_t)(out - copy));
    return true;
}

/* string := '"' ( plain | escape )* '"'    next is behind the opening quote */
static bool
read_string(parser *p, gci_view *out_text)
{
    char const *start = p->next;

    for (;;) {
        p->next = skip_plain(p->next, p->end);
        if (p->next < p->end && *p->next == '"') {
            *out_text = gci_view_of(start, (size_t)(p->next - start));
            p->next++;
            return true;
        }
        if (p->next < p->end && *p->next == '\\')
            return read_escaped(p, start, out_text);
        if (!check_unplain(p))
            return false;
    }
}

/* ---- numbers ---- */

static inline bool
is_digit(char const *p, char const *end)
{
    return p < end && *p >= '0' && *p <= '9';
}

static char const *
skip_digits(char const *p, char const *end)
{
    while (is_digit(p, end))
        p++;
    return p;
}

/* The general way, for what the exact fast path below can't do. */
static bool
convert_float(parser *p, gci_view text, double *out_value)
{
    char copy[FLOAT_TEXT_MAX + 1];

    if (text.size > FLOAT_TEXT_MAX)
        return fail_at(p, text.data, GCACHE_ERROR_LIMIT, "a float of more than 1100 characters");
    memcpy(copy, text.data, text.size);
    copy[text.size] = '\0';
    if (p->c_locale == (locale_t)0)
        p->c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (p->c_locale == (locale_t)0)
        return fail_memory(p);
    *out_value = strtod_l(copy, NULL, p->c_locale);
    if (isinf(*out_value))
        return fail_at(p, text.data, GCACHE_ERROR_SYNTAX, "a float too large for a double");
    return true;
}

/*
 * text is a valid number with a fraction or exponent. A decimal of at most 15 digits times or over a power of ten up to
 * 10^22 is exact in one IEEE operation, as both are doubles without rounding (Clinger 1990).
 */
static bool
read_float(parser *p, gci_view text, double *out_value)
{
    static double const powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    char const *c = text.data, *end = text.data + text.size;
    bool negative = *c == '-', fraction = false, exponent_negative = false;
    uint64_t mantissa = 0;
    int digits = 0, scale = 0, exponent = 0; /* scale: minus the number of digits behind the point */

    for (c += negative; c < end && (*c | 0x20) != 'e'; c++) {
        if (*c == '.') {
            fraction = true;
            continue;
        }
        mantissa = mantissa * 10 + (uint64_t)(*c - '0');
        digits += mantissa != 0;
        scale -= fraction;
        if (digits > 15)
            return convert_float(p, text, out_value);
    }
    if (c < end) {
        exponent_negative = c[1] == '-';
        for (c += 1 + (c[1] == '-' || c[1] == '+'); c < end && exponent < 1000; c++)
            exponent = exponent * 10 + (*c - '0');
    }
    int power = scale + (exponent_negative ? -exponent : exponent);
    if (power < -22 || power > 22)
        return convert_float(p, text, out_value);
    double value = power < 0 ? (double)mantissa / powers[-power] : (double)mantissa * powers[power];
    *out_value = negative ? -value : value;
    return true;
}

/* digits has no leading zero. Up to 18 always fit an int64, 19 may. */
static bool
read_integer(parser *p, gci_view text, gci_value *out_value)
{
    bool negative = text.data[0] == '-';
    size_t digits = text.size - negative;
    uint64_t magnitude = 0;

    if (digits > GCI_JSON_MAX_DIGITS)
        return fail_at(p, text.data, GCACHE_ERROR_LIMIT, "an integer of more than 4300 digits");
    if (digits <= 19)
        for (size_t i = negative; i < text.size; i++)
            magnitude = magnitude * 10 + (uint64_t)(text.data[i] - '0');
    if (digits <= 19 && magnitude <= (uint64_t)INT64_MAX + negative) {
        out_value->type = GCI_INT;
        out_value->integer = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    } else {
        out_value->type = GCI_BIGINT;
        out_value->text = text;
    }
    return true;
}

/* number := [ '-' ] ( '0' | [1-9] digit* ) [ '.' digit+ ] [ ( 'e' | 'E' ) [ '+' | '-' ] digit+ ] */
static bool
read_number(parser *p, gci_value *out_value)
{
    char const *start = p->next, *c = start + (*start == '-');
    bool whole = true;

    if (!is_digit(c, p->end))
        return fail_syntax(p, c, "a digit is missing");
    if (*c == '0' && is_digit(c + 1, p->end))
        return fail_syntax(p, c, "a number must not begin with a zero");
    c = skip_digits(c, p->end);
    if (c < p->end && *c == '.') {
        whole = false;
        if (!is_digit(++c, p->end))
            return fail_syntax(p, c, "a digit is missing behind the point");
        c = skip_digits(c, p->end);
    }
    if (c < p->end && (*c == 'e' || *c == 'E')) {
        whole = false;
        c++;
        c += c < p->end && (*c == '+' || *c == '-');
        if (!is_digit(c, p->end))
            return fail_syntax(p, c, "a digit is missing in the exponent");
        c = skip_digits(c, p->end);
    }
    p->next = c;
    gci_view text = gci_view_of(start, (size_t)(c - start));
    if (whole)
        return read_integer(p, text, out_value);
    out_value->type = GCI_FLOAT;
    return read_float(p, text, &out_value->real);
}

/* ---- containers ---- */

static bool read_value(parser *p, gci_value *out_value);

/* Once a value, so it is worth that sizes are known here and no call is made. */
static inline bool
push(parser *p, void const *item, size_t size)
{
    gci_buf *stack = &p->scratch;

    if (stack->capacity - stack->size < size && gci_buf_reserve(stack, size) == NULL)
        return fail_memory(p);
    memcpy(stack->data + stack->size, item, size);
    stack->size += size;
    return true;
}

/* Moves what lies on the scratch stack from mark on to the arena. */
static bool
pop(parser *p, size_t mark, size_t item_size, uint32_t *out_count, void **out_items)
{
    size_t size = p->scratch.size - mark;
    void *items = gci_arena_alloc(p->arena, size);

    GCI_ASSERT(size % item_size == 0);
    if (items == NULL)
        return fail_memory(p);
    if (size != 0)
        memcpy(items, p->scratch.data + mark, size);
    p->scratch.size = mark;
    *out_count = (uint32_t)(size / item_size);
    *out_items = items;
    return true;
}

static bool
enter(parser *p, frame const *f)
{
    p->depth++;
    p->frame = f;
    if (p->depth > GCI_JSON_MAX_DEPTH)
        return fail_at(p, p->next, GCACHE_ERROR_LIMIT, "nested deeper than 512 levels");
    return true;
}

static void
leave(parser *p, frame const *f)
{
    p->depth--;
    p->frame = f->outer;
}

/* items := [ value ( ',' value )* ] ']' */
static bool
read_items(parser *p, frame *f)
{
    skip_space(p);
    bool empty = p->next < p->end && *p->next == ']';
    for (bool more = !empty; more; f->index++) {
        gci_value item;
        if (!read_value(p, &item) || !push(p, &item, sizeof item))
            return false;
        skip_space(p);
        more = p->next < p->end && *p->next == ',';
        p->next += more;
    }
    if (p->next == p->end || *p->next != ']')
        return fail_syntax(p, p->next, "expected a comma or a closing bracket");
    p->next++;
    return true;
}

/* list := '[' items    next is behind the bracket */
static bool
read_list(parser *p, gci_value *out_value)
{
    frame f = { .outer = p->frame };
    size_t mark = p->scratch.size;
    void *items = NULL;

    bool read = enter(p, &f) && read_items(p, &f) && pop(p, mark, sizeof(gci_value), &out_value->count, &items);
    leave(p, &f);
    out_value->type = GCI_LIST;
    out_value->items = items;
    return read;
}

static bool
fail_duplicate(parser *p, frame *f, gci_member const *member)
{
    f->name = &member->name;
    return fail_at(p, p->text + member->at - 1, GCACHE_ERROR_SYNTAX, "a second member of this name");
}

/* Open addressing over member numbers, at most half full. */
static bool
check_distinct_hashed(parser *p, frame *f, gci_member const *members, uint32_t count)
{
    size_t room = 64;
    while (room < (size_t)count * 2)
        room *= 2;
    uint32_t *slots = calloc(room, sizeof *slots);
    bool distinct = true;

    if (slots == NULL)
        return fail_memory(p);
    for (uint32_t i = 0; i < count && distinct; i++) {
        uint64_t hash = gci_hash64(members[i].name.data, members[i].name.size, 0);
        size_t slot = (size_t)hash & (room - 1);
        for (; slots[slot] != 0 && distinct; slot = (slot + 1) & (room - 1))
            if (gci_view_equal(members[slots[slot] - 1].name, members[i].name))
                distinct = fail_duplicate(p, f, &members[i]);
        slots[slot] = i + 1;
    }
    free(slots);
    return distinct;
}

static bool
check_distinct(parser *p, frame *f, gci_member const *members, uint32_t count)
{
    if (count > PAIRWISE_MEMBERS)
        return check_distinct_hashed(p, f, members, count);
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (members[i].name.size == members[k].name.size && gci_view_equal(members[i].name, members[k].name))
                return fail_duplicate(p, f, &members[i]);
    return true;
}

/* member := string ':' value */
static bool
read_member(parser *p, gci_member *out_member)
{
    skip_space(p);
    if (p->next == p->end || *p->next != '"')
        return fail_syntax(p, p->next, "expected a member name in quotes");
    out_member->at = (uint32_t)(p->next - p->text) + 1;
    p->next++;
    if (!read_string(p, &out_member->name))
        return false;
    skip_space(p);
    if (p->next == p->end || *p->next != ':')
        return fail_syntax(p, p->next, "expected a colon");
    p->next++;
    return read_value(p, &out_member->value);
}

/* members := [ member ( ',' member )* ] '}' */
static bool
read_members(parser *p, frame *f)
{
    gci_member member;

    skip_space(p);
    bool empty = p->next < p->end && *p->next == '}';
    for (bool more = !empty; more;) {
        member.name = (gci_view){ NULL, 0 };
        f->name = &member.name;
        bool read = read_member(p, &member) && push(p, &member, sizeof member);
        f->name = &no_name;
        if (!read)
            return false;
        skip_space(p);
        more = p->next < p->end && *p->next == ',';
        p->next += more;
    }
    if (p->next == p->end || *p->next != '}')
        return fail_syntax(p, p->next, "expected a comma or a closing brace");
    p->next++;
    return true;
}

/* map := '{' members    next is behind the brace */
static bool
read_map(parser *p, gci_value *out_value)
{
    frame f = { .outer = p->frame, .name = &no_name };
    size_t mark = p->scratch.size;
    void *members = NULL;

    bool read = enter(p, &f) && read_members(p, &f) &&
                pop(p, mark, sizeof(gci_member), &out_value->count, &members) &&
                check_distinct(p, &f, members, out_value->count);
    leave(p, &f);
    out_value->type = GCI_MAP;
    out_value->members = members;
    return read;
}

static bool
read_word(parser *p, char const *word, uint8_t type, bool boolean, gci_value *out_value)
{
    size_t size = strlen(word);

    if ((size_t)(p->end - p->next) < size || memcmp(p->next, word, size) != 0)
        return fail_at(p, p->next, GCACHE_ERROR_SYNTAX, "expected a value");
    p->next += size;
    out_value->type = type;
    out_value->boolean = boolean;
    return true;
}

/* value := map | list | string | number | 'true' | 'false' | 'null' */
static bool
read_value(parser *p, gci_value *out_value)
{
    skip_space(p);
    if (p->next == p->end)
        return fail_syntax(p, p->next, "");
    *out_value = (gci_value){ .at = (uint32_t)(p->next - p->text) + 1 };
    switch (*p->next) {
    case '"':
        p->next++;
        out_value->type = GCI_STRING;
        return read_string(p, &out_value->text);
    case '{':
        p->next++;
        return read_map(p, out_value);
    case '[':
        p->next++;
        return read_list(p, out_value);
    case 't':
        return read_word(p, "true", GCI_BOOL, true, out_value);
    case 'f':
        return read_word(p, "false", GCI_BOOL, false, out_value);
    case 'n':
        return read_word(p, "null", GCI_NULL, false, out_value);
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        return read_number(p, out_value);
    default:
        return fail_syntax(p, p->next, "expected a value");
    }
}

gcache_status
gci_json_read(gci_view text, char const *name, gci_arena *arena, gci_value *out_value, gcache_error *error)
{
    static char const empty[1] = "";
    char const *start = text.data != NULL ? text.data : empty;
    parser p = { .text = start, .next = start, .end = start + text.size, .name = name, .arena = arena, .error = error };

    if (text.size > GCI_JSON_MAX_BYTES) {
        gci_place place = { .name = name };
        return gci_fail_at(error, GCACHE_ERROR_LIMIT, &place, "a text of %zu bytes; the limit is %zu", text.size,
                           GCI_JSON_MAX_BYTES);
    }
    gci_buf_init(&p.scratch, GCI_BUF_NO_LIMIT);
    if (text.size >= 3 && memcmp(start, "\xEF\xBB\xBF", 3) == 0)
        fail_at(&p, start, GCACHE_ERROR_SYNTAX, "a byte order mark is not allowed");
    else if (read_value(&p, out_value)) {
        skip_space(&p);
        if (p.next != p.end)
            fail_at(&p, p.next, GCACHE_ERROR_SYNTAX, "text behind the value");
    }
    if (p.c_locale != (locale_t)0)
        freelocale(p.c_locale);
    gci_buf_clear(&p.scratch);
    return p.status;
}
