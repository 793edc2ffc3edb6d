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

/* The name between the members of a map, and what a string is that can't be read. */
static gci_view const no_text = { NULL, 0 };

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

/* What is rare isn't made part of read_string and read_value, which every value goes through: they stay small so. */
#define RARE __attribute__((noinline))

/* ---- white space ---- */

static inline void
skip_space(parser *p)
{
    char const *c = p->next;

    while (c < p->end && (uint8_t)*c <= ' ' && (*c == ' ' || *c == '\n' || *c == '\t' || *c == '\r'))
        c++;
    p->next = c;
}

/* ---- strings ---- */

#define BYTES_OF(c) (UINT64_C(0x0101010101010101) * (uint8_t)(c))
#define HIGH_BITS BYTES_OF(0x80)

/*
 * Marks, by its highest bit, the first of eight bytes that is a quote, a backslash, a control character or not ASCII. Later ones
 * may be marked that are none of these: "n less than it" borrows from the next byte where it is so, and only there.
 */
static inline uint64_t
special_bytes(uint64_t word)
{
    uint64_t quote = word ^ BYTES_OF('"'), backslash = word ^ BYTES_OF('\\');

    return ((quote - BYTES_OF(1)) | (backslash - BYTES_OF(1)) | (word - BYTES_OF(0x20)) | word) & HIGH_BITS;
}

/* Eight bytes, the first one lowest. */
static inline uint64_t
load_word(char const *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline char const *
skip_plain(char const *p, char const *end)
{
    for (; (size_t)(end - p) >= sizeof(uint64_t); p += sizeof(uint64_t)) {
        uint64_t special = special_bytes(load_word(p));
        if (special != 0)
            return p + (unsigned)__builtin_ctzll(special) / 8;
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

/* The first quote from p on that isn't escaped, or the end; no backslash is before p. */
static char const *
find_close(char const *p, char const *end)
{
    for (char const *at = p;; at++) {
        char const *quote = memchr(at, '"', (size_t)(end - at)), *slash = quote;
        while (slash != NULL && slash > p && slash[-1] == '\\')
            slash--;
        if (quote == NULL || (quote - slash) % 2 == 0)
            return quote != NULL ? quote : end;
        at = quote;
    }
}

/* The rest of a string with escapes, which must be copied: it never grows by being decoded. start is its first byte. */
static gci_view
read_escaped(parser *p, char const *start)
{
    char const *close = find_close(p->next, p->end);
    char *copy = gci_arena_alloc(p->arena, (size_t)(close - start) + 1), *out = copy;
    if (copy == NULL) {
        fail_memory(p);
        return no_text;
    }
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
                return no_text;
            run = p->next;
        } else {
            run = p->next;
            if (!check_unplain(p))
                return no_text;
        }
        p->next = skip_plain(p->next, p->end);
    }
    p->next++;
    *out = '\0';
    return gci_view_of(copy, (size_t)(out - copy));
}

/* The rest of a string whose next byte is neither plain nor a quote. start is its first byte. */
static RARE gci_view
read_unplain(parser *p, char const *start)
{
    do {
        if (p->next < p->end && *p->next == '\\')
            return read_escaped(p, start);
        if (!check_unplain(p))
            return no_text;
        p->next = skip_plain(p->next, p->end);
    } while (p->next == p->end || *p->next != '"');
    return gci_view_of(start, (size_t)(p->next++ - start));
}

/* string := '"' ( plain | escape )* '"'    next is behind the opening quote */
static inline gci_view
read_string(parser *p)
{
    char const *start = p->next, *end = skip_plain(start, p->end);

    if (end == p->end || *end != '"') {
        p->next = end;
        return read_unplain(p, start);
    }
    p->next = end + 1;
    return gci_view_of(start, (size_t)(end - start));
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
static RARE bool
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

static bool read_value(parser *p, size_t at);

/* The value at an offset of the scratch stack, which moves when it grows. */
static inline gci_value *
value_at(parser const *p, size_t at)
{
    return (gci_value *)(void *)(p->scratch.data + at);
}

/* Makes room for an item on the scratch stack. Its parts are written where they stay: what is copied right after it was
   written makes the processor wait. */
static inline bool
push(parser *p, size_t size)
{
    gci_buf *stack = &p->scratch;

    if (stack->capacity - stack->size < size && gci_buf_reserve(stack, size) == NULL)
        return fail_memory(p);
    stack->size += size;
    return true;
}

/* Moves what lies on the scratch stack from mark on to the arena. NULL: there is nothing, or no memory. */
static void *
pop(parser *p, size_t mark)
{
    size_t size = p->scratch.size - mark;
    void *items = size != 0 ? gci_arena_alloc(p->arena, size) : NULL;

    if (items != NULL)
        memcpy(items, p->scratch.data + mark, size);
    else if (size != 0)
        fail_memory(p);
    p->scratch.size = mark;
    return items;
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
        if (!push(p, sizeof(gci_value)) || !read_value(p, p->scratch.size - sizeof(gci_value)))
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
read_list(parser *p, size_t at)
{
    frame f = { .outer = p->frame };
    size_t mark = p->scratch.size;
    bool read = enter(p, &f) && read_items(p, &f);
    uint32_t count = (uint32_t)((p->scratch.size - mark) / sizeof(gci_value));
    void *items = read ? pop(p, mark) : NULL;

    leave(p, &f);
    value_at(p, at)->type = GCI_LIST;
    value_at(p, at)->count = count;
    value_at(p, at)->items = items;
    return p->status == GCACHE_OK;
}

/* Where a member's name begins: its closing quote is the last one before the value, its opening one the last before that
   that isn't escaped. */
static char const *
find_name(parser const *p, gci_member const *member)
{
    char const *c = p->text + member->value.at - 1;
    size_t backslashes;

    while (*--c != '"')
        continue;
    do {
        while (*--c != '"')
            continue;
        for (backslashes = 0; c - backslashes > p->text && c[-(ptrdiff_t)backslashes - 1] == '\\';)
            backslashes++;
    } while (backslashes % 2 != 0);
    return c;
}

static bool
fail_duplicate(parser *p, frame *f, gci_member const *member)
{
    f->name = &member->name;
    return fail_at(p, find_name(p, member), GCACHE_ERROR_SYNTAX, "a second member of this name");
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

static RARE bool
check_distinct(parser *p, frame *f, gci_member const *members, uint32_t count)
{
    if (count > PAIRWISE_MEMBERS)
        return check_distinct_hashed(p, f, members, count);
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (gci_view_equal(members[i].name, members[k].name))
                return fail_duplicate(p, f, &members[i]);
    return true;
}

/* One of 64 bits for what a name looks like. Names that look different are; those of a node or a tensor do. */
static inline uint64_t
look_of(gci_view name)
{
    unsigned look = name.size != 0 ? (uint8_t)name.data[0] + (unsigned)(uint8_t)name.data[name.size - 1] : 0;

    return UINT64_C(1) << ((look + 3 * name.size) & 63);
}

/* member := string ':' value    at: of the member on the scratch stack */
static bool
read_member(parser *p, gci_view *name, size_t at)
{
    skip_space(p);
    if (p->next == p->end || *p->next != '"')
        return fail_syntax(p, p->next, "expected a member name in quotes");
    p->next++;
    gci_view text = read_string(p);
    if (text.data == NULL)
        return false;
    ((gci_member *)(void *)(p->scratch.data + at))->name = text;
    *name = text;
    skip_space(p);
    if (p->next == p->end || *p->next != ':')
        return fail_syntax(p, p->next, "expected a colon");
    p->next++;
    return read_value(p, at + offsetof(gci_member, value));
}

/* members := [ member ( ',' member )* ] '}'    *out_alike: two of the names may be equal */
static bool
read_members(parser *p, frame *f, bool *out_alike)
{
    uint64_t looks = 0;

    *out_alike = false;
    skip_space(p);
    bool empty = p->next < p->end && *p->next == '}';
    for (bool more = !empty; more;) {
        gci_view name = no_text;
        f->name = &name;
        bool read = push(p, sizeof(gci_member)) && read_member(p, &name, p->scratch.size - sizeof(gci_member));
        f->name = &no_text;
        if (!read)
            return false;
        uint64_t look = look_of(name);
        *out_alike = *out_alike || (looks & look) != 0;
        looks |= look;
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
read_map(parser *p, size_t at)
{
    frame f = { .outer = p->frame, .name = &no_text };
    size_t mark = p->scratch.size;
    bool alike, read = enter(p, &f) && read_members(p, &f, &alike);
    uint32_t count = (uint32_t)((p->scratch.size - mark) / sizeof(gci_member));
    gci_member *members = read ? pop(p, mark) : NULL;

    if (members != NULL && alike)
        check_distinct(p, &f, members, count);
    leave(p, &f);
    value_at(p, at)->type = GCI_MAP;
    value_at(p, at)->count = count;
    value_at(p, at)->members = members;
    return p->status == GCACHE_OK;
}

static bool
read_word(parser *p, char const *word, gci_value value, gci_value *out_value)
{
    size_t size = strlen(word);

    if ((size_t)(p->end - p->next) < size || memcmp(p->next, word, size) != 0)
        return fail_at(p, p->next, GCACHE_ERROR_SYNTAX, "expected a value");
    p->next += size;
    value.at = out_value->at;
    *out_value = value;
    return true;
}

/* value := map | list | string | number | 'true' | 'false' | 'null'    at: of the value on the scratch stack */
static bool
read_value(parser *p, size_t at)
{
    gci_value *value = value_at(p, at);

    skip_space(p);
    if (p->next == p->end)
        return fail_syntax(p, p->next, "");
    value->at = (uint32_t)(p->next - p->text) + 1;
    value->count = 0;
    switch (*p->next) {
    case '"':
        p->next++;
        value->type = GCI_STRING;
        value->text = read_string(p);
        return value->text.data != NULL;
    case '{':
        p->next++;
        return read_map(p, at);
    case '[':
        p->next++;
        return read_list(p, at);
    case 't':
        return read_word(p, "true", (gci_value){ .type = GCI_BOOL, .boolean = true }, value);
    case 'f':
        return read_word(p, "false", (gci_value){ .type = GCI_BOOL, .boolean = false }, value);
    case 'n':
        return read_word(p, "null", (gci_value){ .type = GCI_NULL }, value);
    case '-': case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        return read_number(p, value);
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
    else if (push(&p, sizeof *out_value) && read_value(&p, 0)) {
        *out_value = *value_at(&p, 0);
        skip_space(&p);
        if (p.next != p.end)
            fail_at(&p, p.next, GCACHE_ERROR_SYNTAX, "text behind the value");
    }
    if (p.c_locale != (locale_t)0)
        freelocale(p.c_locale);
    gci_buf_clear(&p.scratch);
    return p.status;
}
