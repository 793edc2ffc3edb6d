/*
 * Reading a plain pattern into a tree. Whatever isn't plainly of the subset is no error: the pattern is PCRE2's then.
 */
#include "graph/rules/scan_program.h"

/* Groups in groups. */
#define DEPTH_MAX 32

static uint16_t read_choice(gci_scan_source *s, bool reset);

static uint16_t
fail(gci_scan_source *s)
{
    s->failed = true;
    return 0;
}

static bool
is_at(gci_scan_source const *s, char const *word)
{
    size_t size = strlen(word);

    return s->text.size - s->at >= size && memcmp(s->text.data + s->at, word, size) == 0;
}

static bool
take(gci_scan_source *s, char const *word)
{
    bool there = is_at(s, word);

    s->at += there ? strlen(word) : 0;
    return there;
}

/* The byte at hand; 0, which no pattern has, at the end. */
static char
peek(gci_scan_source const *s)
{
    return s->at < s->text.size ? s->text.data[s->at] : '\0';
}

static uint16_t
new_tree(gci_scan_source *s, gci_scan_op op)
{
    if (s->failed || s->count == GCI_SCAN_MAX)
        return fail(s);
    s->trees[s->count] = (gci_scan_tree){ .op = op };
    return s->count++;
}

static void
add_child(gci_scan_source *s, uint16_t parent, uint16_t child)
{
    gci_scan_tree *p = &s->trees[parent];

    if (s->failed)
        return;
    *(p->child == 0 ? &p->child : &s->trees[p->last].sibling) = child;
    p->last = child;
}

/* ---- characters ---- */

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* \d, \w, \s as PCRE2 has them without UCP: ASCII alone. */
static bool
add_class(gci_scan_set *set, char letter)
{
    static char const spaces[] = " \t\n\v\f\r";

    if (letter != 'd' && letter != 'w' && letter != 's')
        return false;
    for (unsigned c = 1; c < 128; c++)
        set->has[c] |= letter == 's' ? strchr(spaces, (char)c) != NULL
                                     : is_digit((char)c) || (letter == 'w' && (is_letter((char)c) || c == '_'));
    return true;
}

/* The character behind a backslash, if it means itself or a control character; '\0': it means something else. */
static char
escaped(char c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case 'r':
        return '\r';
    default:
        return c > ' ' && c < 127 && !is_letter(c) && !is_digit(c) ? c : '\0';
    }
}

static void
negate(gci_scan_set *set)
{
    for (unsigned c = 0; c < 256; c++)
        set->has[c] = !set->has[c];
}

static uint16_t
new_set(gci_scan_source *s, gci_scan_set const *set)
{
    uint16_t tree = new_tree(s, GCI_SCAN_SET), number = 0;

    while (number < s->set_count && memcmp(s->sets[number].has, set->has, sizeof set->has) != 0)
        number++;
    if (number == GCI_SCAN_MAX_SETS)
        return fail(s);
    if (number == s->set_count)
        s->sets[s->set_count++] = *set;
    s->trees[tree].set = number;
    return tree;
}

static uint16_t
new_character(gci_scan_source *s, char c)
{
    gci_scan_set set = { .has = { 0 } };

    if (c <= 0 || c >= 127)
        return fail(s);
    set.has[(unsigned char)c] = 1;
    return new_set(s, &set);
}

/* item := "\" letter | c [ "-" c ]    of a class */
static bool
read_class_item(gci_scan_source *s, gci_scan_set *set)
{
    char first = peek(s), last;

    s->at++;
    if (first == '\\') {
        char c = peek(s);
        s->at++;
        if (add_class(set, c))
            return peek(s) != '-' || is_at(s, "-]");
        first = escaped(c);
    } else if (first == '[') { /* it may begin a POSIX class */
        return false;
    }
    last = first;
    if (peek(s) == '-' && !is_at(s, "-]")) {
        s->at++;
        last = peek(s);
        if (!is_letter(last) && !is_digit(last))
            return false;
        s->at++;
    }
    if (first <= 0 || first >= 127 || last < first)
        return false;
    for (char c = first; c <= last; c++)
        set->has[(unsigned char)c] = 1;
    return true;
}

static uint16_t
read_set(gci_scan_source *s)
{
    gci_scan_set set = { .has = { 0 } };
    bool negated = take(s, "^");

    if (peek(s) == ']')
        return fail(s);
    while (peek(s) != ']')
        if (peek(s) == '\0' || !read_class_item(s, &set))
            return fail(s);
    s->at++;
    if (negated)
        negate(&set);
    return new_set(s, &set);
}

static uint16_t
read_escape(gci_scan_source *s)
{
    gci_scan_set set = { .has = { 0 } };
    char c = peek(s);

    s->at++;
    if (add_class(&set, c))
        return new_set(s, &set);
    switch (c) {
    case 'b':
        return new_tree(s, GCI_SCAN_WORD_EDGE);
    case 'A':
        return new_tree(s, GCI_SCAN_TEXT_START);
    case 'z':
        return new_tree(s, GCI_SCAN_TEXT_END);
    default:
        return new_character(s, escaped(c));
    }
}

/* ---- groups ---- */

static gci_view
read_name(gci_scan_source *s)
{
    size_t start = s->at;

    while (is_letter(peek(s)))
        s->at++;
    return gci_view_of(s->text.data + start, s->at - start);
}

static uint16_t
read_look(gci_scan_source *s, bool behind, bool negative)
{
    uint16_t tree = new_tree(s, negative ? GCI_SCAN_LOOK_NOT : GCI_SCAN_LOOK);

    s->trees[tree].behind = behind;
    add_child(s, tree, read_choice(s, false));
    return tree;
}

static uint16_t
read_capture(gci_scan_source *s, gci_view name)
{
    bool first = ++s->groups == 1;
    uint16_t tree = new_tree(s, GCI_SCAN_GROUP);

    s->trees[tree].first = first;
    s->trees[tree].name = name;
    add_child(s, tree, read_choice(s, false));
    return tree;
}

static uint16_t
read_inner(gci_scan_source *s)
{
    if (take(s, "?:"))
        return read_choice(s, false);
    if (take(s, "?|"))
        return read_choice(s, true);
    if (take(s, "?="))
        return read_look(s, false, false);
    if (take(s, "?!"))
        return read_look(s, false, true);
    if (take(s, "?<="))
        return read_look(s, true, false);
    if (take(s, "?<!"))
        return read_look(s, true, true);
    if (take(s, "?&")) {
        gci_view name = read_name(s);
        uint16_t tree = new_tree(s, GCI_SCAN_CALL);
        s->trees[tree].name = name;
        return name.size != 0 && ++s->calls == 1 ? tree : fail(s);
    }
    if (take(s, "?<")) {
        gci_view name = read_name(s);
        return name.size != 0 && take(s, ">") ? read_capture(s, name) : fail(s);
    }
    return peek(s) != '?' && peek(s) != '*' ? read_capture(s, (gci_view){ NULL, 0 }) : fail(s);
}

static uint16_t
read_group(gci_scan_source *s)
{
    uint16_t tree;

    if (++s->depth > DEPTH_MAX)
        return fail(s);
    tree = read_inner(s);
    s->depth--;
    return !s->failed && take(s, ")") ? tree : fail(s);
}

/* ---- sequences ---- */

static uint16_t
read_item(gci_scan_source *s)
{
    gci_scan_set dot = { .has = { ['\n'] = 1 } };
    char c = peek(s);

    s->at++;
    switch (c) {
    case '\\':
        return read_escape(s);
    case '[':
        return read_set(s);
    case '(':
        return read_group(s);
    case '^':
        return new_tree(s, s->lines ? GCI_SCAN_LINE_START : GCI_SCAN_TEXT_START);
    case '$': /* without "(?m)" a line end may follow that ends the text */
        return s->lines ? new_tree(s, GCI_SCAN_LINE_END) : fail(s);
    case '.':
        negate(&dot);
        return new_set(s, &dot);
    case '*':
    case '+':
    case '?':
    case '{':
        return fail(s);
    default:
        return new_character(s, c);
    }
}

static uint16_t
read_number(gci_scan_source *s)
{
    unsigned number = 0;

    if (!is_digit(peek(s)))
        return fail(s);
    for (; is_digit(peek(s)) && number < 1000; s->at++)
        number = number * 10 + (unsigned)(peek(s) - '0');
    return (uint16_t)(number < 1000 ? number : fail(s));
}

/* How often an item is repeated. false: it isn't. */
static bool
read_times(gci_scan_source *s, uint16_t *out_low, uint16_t *out_high)
{
    *out_low = peek(s) == '+';
    *out_high = peek(s) == '?' ? 1 : GCI_SCAN_MANY;
    if (take(s, "*") || take(s, "+") || take(s, "?"))
        return true;
    if (!take(s, "{"))
        return false;
    *out_low = *out_high = read_number(s);
    if (take(s, ","))
        *out_high = peek(s) == '}' ? GCI_SCAN_MANY : read_number(s);
    if (!take(s, "}") || *out_high < *out_low || *out_high == 0)
        fail(s);
    return true;
}

/* Of what is repeated, a character alone in its sequence may as well be all that come next to each other: told apart from what
   else there is by each byte, they are never taken back. */
static void
join_characters(gci_scan_source *s, uint16_t choice)
{
    for (uint16_t sequence = s->trees[choice].child; sequence != 0; sequence = s->trees[sequence].sibling) {
        gci_scan_tree *only = &s->trees[s->trees[sequence].child];
        if (only->op == GCI_SCAN_SET && only->sibling == 0) {
            only->op = GCI_SCAN_RUN;
            only->low = 1;
            only->high = GCI_SCAN_MANY;
            only->whole = true;
        }
    }
}

static uint16_t
read_repeated(gci_scan_source *s)
{
    uint16_t item = read_item(s), low, high;

    if (s->failed || !read_times(s, &low, &high))
        return item;
    bool lazy = take(s, "?");
    if (peek(s) == '+' || s->trees[item].op == GCI_SCAN_GROUP)
        return fail(s);
    if (s->trees[item].op == GCI_SCAN_SET) {
        s->trees[item].op = GCI_SCAN_RUN;
        s->trees[item].lazy = lazy;
        s->trees[item].low = low;
        s->trees[item].high = high;
        return item;
    }
    if (s->trees[item].op != GCI_SCAN_CHOICE)
        return fail(s);
    if (high == GCI_SCAN_MANY)
        join_characters(s, item);
    uint16_t tree = new_tree(s, GCI_SCAN_REPEAT);
    s->trees[tree].lazy = lazy;
    s->trees[tree].low = low;
    s->trees[tree].high = high;
    add_child(s, tree, item);
    return tree;
}

static uint16_t
read_sequence(gci_scan_source *s)
{
    uint16_t tree = new_tree(s, GCI_SCAN_SEQUENCE);

    while (!s->failed && s->at < s->text.size && peek(s) != '|' && peek(s) != ')') {
        bool skip = s->depth == 0 && take(s, "(*SKIP)(*F)");
        add_child(s, tree, skip ? new_tree(s, GCI_SCAN_SKIP) : read_repeated(s));
        if (skip && s->at < s->text.size && peek(s) != '|')
            fail(s);
    }
    return tree;
}

/* reset: groups of each sequence have the same numbers. */
static uint16_t
read_choice(gci_scan_source *s, bool reset)
{
    uint16_t tree = new_tree(s, GCI_SCAN_CHOICE), before = s->groups, most = before;

    do {
        s->groups = reset ? before : most;
        add_child(s, tree, read_sequence(s));
        most = s->groups > most ? s->groups : most;
    } while (!s->failed && take(s, "|"));
    s->groups = most;
    return tree;
}

static void
list_bytes(gci_scan_set *set)
{
    uint64_t eight;

    for (unsigned c = 0; c < 256; c += 8) {
        memcpy(&eight, set->has + c, sizeof eight);
        for (unsigned i = c; i < c + 8 && eight != 0; i++)
            set->bytes.bits[i >> 6] |= (uint64_t)set->has[i] << (i & 63);
    }
}

void
gci_scan_finish_set(gci_scan_set *set)
{
    unsigned missing = 256;

    list_bytes(set);
    set->but = -1;
    set->wide = set->has[0xFF];
    for (unsigned word = 0; word < 4; word++)
        missing -= (unsigned)__builtin_popcountll(set->bytes.bits[word]);
    for (unsigned c = 0; c < 256 && missing == 1; c++)
        set->but = set->has[c] ? set->but : (int16_t)c;
    for GCI_SCAN_EACH(c, &set->bytes)
        if (c < 128)
            set->low[c & 15] |= (uint8_t)(1 << (c >> 4));
}

uint16_t
gci_scan_read(gci_scan_source *s)
{
    s->count = 1; /* 0 is none */
    s->lines = take(s, "(?m)");
    uint16_t root = read_choice(s, false);
    if (s->failed || s->at != s->text.size)
        return 0;
    for (uint16_t i = 0; i < s->set_count; i++)
        gci_scan_finish_set(&s->sets[i]);
    return root;
}
