/*
 * Text rules at work: matches found, by a scan or by PCRE2, counted, and replaced.
 */
#include "graph/rules/text_rules.h"

#include "base/check.h"
#include "base/text/intern.h"
#include "graph/rules/find.h"
#include "graph/rules/rules_set.h"
#include "graph/rules/text_names.h"

#include <stdlib.h>

/*
 * What matching may cost: so many steps for each byte of the texts that rules are applied to. A step is an item of a pattern
 * that is tried at a place, as PCRE2 calls out before each, from machine code before most. The shipped sets take one to ten a
 * byte.
 */
#define STEPS_FLOOR ((uint64_t)2 << 20)
#define STEPS_PER_BYTE 32

/* The same for scans, whose steps are cheaper: what they leave is PCRE2's, which has the last word. Texts of the
   shipped kinds take less than one a byte. */
#define SCAN_STEPS_FLOOR ((uint64_t)1 << 16)
#define SCAN_STEPS_PER_BYTE 64

/* In a set made for one description, patterns are compiled to machine code for texts from this size on: compiling takes
   as long as matching some 30 kB without it. Sets that are read for many descriptions are compiled at once. */
#define JIT_TEXT_BYTES 32768

/* The machine code's own stack; patterns that need more reach a limit. */
#define JIT_STACK_FIRST ((size_t)32 << 10)
#define JIT_STACK_LAST ((size_t)1 << 20)

/* Bytes that are looked through for a pattern's first character in the time of a step. */
#define BYTES_A_STEP 32

/* What rewriting may make of a text: replacements are short, so that a text hardly grows. */
#define OUTPUT_FACTOR 4

struct gci_rewriter {
    gcache_rules const *rules;
    gci_rewrite_fn on_change;
    gci_rewrite_name_fn on_name;
    void *state;
    pcre2_match_context *context;
    pcre2_match_data *match;
    pcre2_jit_stack *jit_stack;
    bool counts_module_name;
    gci_buf module_names;  /* that rules took out of the text at hand and that count, as lines */
    uint64_t steps_left;   /* for the texts so far */
    uint64_t scan_steps_left;
    gci_arena names;       /* the texts of `ordinals` of scope "description" */
    gci_intern *ordinals;  /* by rule: the texts numbered so far */
    gci_intern among;      /* the texts a rule may number */
    gci_text_names handed; /* names of the text at hand that are handed back */
    gci_buf from, to;      /* the text before and after the rule at work */
};

static bool
take_steps(gci_rewriter *r, uint64_t steps)
{
    bool enough = steps <= r->steps_left;

    r->steps_left -= enough ? steps : r->steps_left;
    return enough;
}

static int
count_step(pcre2_callout_block *block, void *state)
{
    (void)block;
    return take_steps(state, 1) ? 0 : PCRE2_ERROR_MATCHLIMIT;
}

gci_rewriter *
gci_rewriter_new(gcache_rules const *rules, gci_rewrite_fn on_change, gci_rewrite_name_fn on_name, void *state)
{
    gci_rewriter *r = calloc(1, sizeof *r);

    if (r == NULL)
        return NULL;
    r->rules = rules;
    r->on_change = on_change;
    r->on_name = on_name;
    r->state = state;
    gci_arena_init(&r->names, rules->limits.text_bytes);
    gci_text_names_init(&r->handed);
    gci_buf_init(&r->module_names, rules->limits.text_bytes);
    gci_buf_init(&r->from, rules->limits.text_bytes * OUTPUT_FACTOR);
    gci_buf_init(&r->to, rules->limits.text_bytes * OUTPUT_FACTOR);
    r->context = pcre2_match_context_create(NULL);
    r->match = pcre2_match_data_create(4, NULL);
    r->jit_stack = pcre2_jit_stack_create(JIT_STACK_FIRST, JIT_STACK_LAST, NULL);
    r->steps_left = STEPS_FLOOR;
    r->scan_steps_left = SCAN_STEPS_FLOOR;
    r->ordinals = calloc((size_t)rules->rule_count + 1, sizeof *r->ordinals);
    if (r->context == NULL || r->match == NULL || r->jit_stack == NULL || r->ordinals == NULL) {
        gci_rewriter_free(r);
        return NULL;
    }
    pcre2_set_callout(r->context, count_step, r);
    pcre2_set_match_limit(r->context, (uint32_t)rules->limits.match);
    pcre2_set_depth_limit(r->context, (uint32_t)rules->limits.depth);
    pcre2_set_heap_limit(r->context, (uint32_t)rules->limits.heap_kb);
    pcre2_jit_stack_assign(r->context, NULL, r->jit_stack);
    return r;
}

void
gci_rewriter_free(gci_rewriter *r)
{
    if (r == NULL)
        return;
    for (uint32_t i = 0; i < r->rules->rule_count && r->ordinals != NULL; i++)
        gci_intern_clear(&r->ordinals[i]);
    free(r->ordinals);
    gci_intern_clear(&r->among);
    gci_arena_clear(&r->names);
    gci_text_names_clear(&r->handed);
    gci_buf_clear(&r->module_names);
    gci_buf_clear(&r->from);
    gci_buf_clear(&r->to);
    pcre2_jit_stack_free(r->jit_stack);
    pcre2_match_data_free(r->match);
    pcre2_match_context_free(r->context);
    free(r);
}

void
gci_rewriter_count_module_name(gci_rewriter *r)
{
    r->counts_module_name = true;
}

/* ---- matching ---- */

static gcache_status
refuse(gci_rule const *rule, int number, gcache_error *error)
{
    PCRE2_UCHAR reason[128];

    if (number == PCRE2_ERROR_NOMEMORY)
        return gci_fail_memory(error);
    pcre2_get_error_message(number, reason, sizeof reason);
    return gci_fail(error, GCACHE_ERROR_LIMIT, "the rule for %.*s gave up: %s", (int)rule->path.size, rule->path.data,
                    (char const *)reason);
}

/* A walk over the matches of one of a rule's patterns in a text. */
typedef struct search {
    gci_rewriter *rewriter;
    gci_rule const *rule;
    gci_pattern *pattern; /* NULL: there is no such pattern, and no match */
    bool scans; /* else PCRE2 matches */
    gci_scan_search scan;
    gci_view text;
    size_t at;             /* where to look from */
    gci_span match, group; /* group: the first one's span if there is one, else the match's */
    gcache_status status;
} search;

/* Patterns of a lazy set, which is this rewriter's alone, are made ready when they are needed. */
static search
begin_search(gci_rewriter *r, gci_rule const *rule, gci_pattern_use use, gci_view text)
{
    gci_pattern *pattern = (gci_pattern *)&rule->patterns[use];
    search s = { .rewriter = r, .rule = rule, .text = text };

    if (pattern->text.data == NULL)
        return s;
    if (r->rules->lazy)
        gci_pattern_try_scan(pattern);
    s.pattern = pattern;
    s.scans = !r->rules->own_limits && pattern->scan != NULL;
    s.scan = gci_scan_begin(pattern->scan, text);
    return s;
}

static gci_view
found_text(search const *s)
{
    return gci_view_of(s->text.data + s->group.start, s->group.end - s->group.start);
}

/* The next match as the scan finds it. false: there is none, or the scan gave up and is none any more. */
static bool
scan_match(search *s)
{
    gci_rewriter *r = s->rewriter;
    gci_scan_result found = gci_scan_next(&s->scan, s->at, &r->scan_steps_left, &s->match, &s->group);

    if (found == GCI_SCAN_FOUND)
        s->at = s->match.end;
    if (found == GCI_SCAN_GAVE_UP)
        s->scans = false;
    return found == GCI_SCAN_FOUND;
}

/* The next match as PCRE2 finds it, which may be empty. false: there is none, or status isn't OK. */
static bool
match_once(search *s, gcache_error *error)
{
    gci_rewriter *r = s->rewriter;
    gci_view text = s->text;
    pcre2_code *code = s->pattern->code;
    int count = pcre2_match(code, (PCRE2_SPTR)text.data, text.size, s->at, PCRE2_NO_UTF_CHECK, r->match, r->context);

    if (!take_steps(r, 1 + ((count >= 0 ? pcre2_get_startchar(r->match) : text.size) - s->at) / BYTES_A_STEP))
        count = PCRE2_ERROR_MATCHLIMIT;
    if (count < 0 && count != PCRE2_ERROR_NOMATCH)
        s->status = refuse(s->rule, count, error);
    if (count < 0)
        return false;
    PCRE2_SIZE const *ends = pcre2_get_ovector_pointer(r->match);
    s->match = s->group = (gci_span){ ends[0], ends[1] };
    /* 1: no group took part; 0: more did than there is room for, of which the first one is there. */
    if (count != 1 && ends[2] != PCRE2_UNSET)
        s->group = (gci_span){ ends[2], ends[3] };
    return true;
}

static gcache_status
compile(search const *s, gcache_error *error)
{
    gcache_rules const *rules = s->rewriter->rules;
    bool jit = rules->shipped && s->text.size >= JIT_TEXT_BYTES;

    return rules->lazy ? gci_pattern_compile(s->pattern, jit, error) : GCACHE_OK;
}

/* The next match. false: there is none, or status isn't OK. */
static bool
next_match(search *s, gcache_error *error)
{
    gci_view text = s->text;

    if (s->pattern == NULL || s->status != GCACHE_OK)
        return false;
    if (s->scans && scan_match(s))
        return true;
    if (s->scans)
        return false;
    s->status = compile(s, error);
    while (s->at <= text.size && s->status == GCACHE_OK && match_once(s, error)) {
        if (s->match.end > s->at || s->match.end > s->match.start)
            s->at = s->match.end;
        if (s->match.end > s->match.start)
            return true;
        /* An empty match changes nothing: look behind the next character. */
        for (++s->at; s->at < text.size && ((uint8_t)text.data[s->at] & 0xC0) == 0x80;)
            ++s->at;
    }
    return false;
}

/* ---- the kinds ---- */

/* The texts that `among` finds, which alone are numbered. */
static gcache_status
collect_among(gci_rewriter *r, gci_rule const *rule, gci_view text, gcache_error *error)
{
    search s = begin_search(r, rule, GCI_PATTERN_AMONG, text);
    bool is_new;

    gci_intern_reset(&r->among);
    while (next_match(&s, error))
        if (gci_intern_add(&r->among, found_text(&s), &is_new) == GCI_INTERN_NONE)
            s.status = gci_fail_memory(error);
    return s.status;
}

/* Where the part that begins at or behind `at` ends: at the next match of `part`. */
static gcache_status
next_part(gci_rewriter *r, gci_rule const *rule, gci_view text, size_t at, size_t *out_end, gcache_error *error)
{
    search s = begin_search(r, rule, GCI_PATTERN_PART, text);

    s.at = at;
    *out_end = next_match(&s, error) ? s.match.start : text.size + 1;
    return s.status;
}

static void
append_number(gci_buf *out, uint32_t number)
{
    char digits[10];
    size_t size = sizeof digits;

    do
        digits[--size] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    gci_buf_append(out, digits + size, sizeof digits - size);
}

/* Writes `with` and the number of a text, or the text as it is if it isn't to be numbered. */
static gcache_status
put_ordinal(gci_rewriter *r, gci_rule const *rule, gci_view found, gcache_error *error)
{
    gci_intern *ordinals = &r->ordinals[rule - r->rules->rules];
    bool is_new;

    if (rule->patterns[GCI_PATTERN_AMONG].text.data != NULL && gci_intern_find(&r->among, found) == GCI_INTERN_NONE) {
        gci_buf_append_view(&r->to, found);
        return GCACHE_OK;
    }
    if (rule->whole && gci_intern_find(ordinals, found) == GCI_INTERN_NONE)
        found = gci_arena_copy(&r->names, found); /* it must outlive this text */
    uint32_t number = found.data != NULL ? gci_intern_add(ordinals, found, &is_new) : GCI_INTERN_NONE;
    if (number == GCI_INTERN_NONE)
        return gci_fail_memory(error);
    gci_buf_append_view(&r->to, rule->with);
    append_number(&r->to, number);
    return GCACHE_OK;
}

static gcache_status
put_replacement(gci_rewriter *r, gci_rule const *rule, gci_view found, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    size_t mark = r->to.size;

    switch (rule->kind) {
    case GCI_RULE_CONST:
        gci_buf_append_view(&r->to, rule->with);
        break;
    case GCI_RULE_ORDINAL:
        status = put_ordinal(r, rule, found, error);
        break;
    case GCI_RULE_BYPASS:
        return gci_fail(error, GCACHE_REFUSED, "%.*s", (int)rule->why.size, rule->why.data);
    default:
        break;
    }
    if (status == GCACHE_OK && !r->to.failed && r->on_change != NULL) {
        gci_view to = gci_view_of(r->to.data + mark, r->to.size - mark);
        if (!gci_view_equal(found, to))
            r->on_change(r->state, rule, found, to);
    }
    return status;
}

/* A name in which a rule replaces something: where it is in the text, and begins in what is written. */
typedef struct open_name {
    gci_text_name_search search;
    gci_view name; /* data NULL: none is open */
    size_t written;
} open_name;

static size_t
name_end(gci_view text, open_name const *open)
{
    return (size_t)(open->name.data - text.data) + open->name.size;
}

/* A name that was matched together with its mark may have its quotes. */
static gci_view
without_quotes(gci_view name)
{
    bool quoted = name.size >= 2 && name.data[0] == '"' && name.data[name.size - 1] == '"';

    return quoted ? gci_view_of(name.data + 1, name.size - 2) : name;
}

/* The text is written up to `at`, which is at or behind the name's end: it is whole. */
static gcache_status
close_name(gci_rewriter *r, gci_view text, open_name *open, size_t at, gcache_error *error)
{
    if (open->name.data == NULL || r->to.failed)
        return GCACHE_OK;
    size_t end = r->to.size - (at - name_end(text, open));
    gci_view after = gci_view_of(r->to.data + open->written, end - open->written);
    bool added = gci_text_names_add(&r->handed, without_quotes(open->name), after);
    open->name.data = NULL;
    return added ? GCACHE_OK : gci_fail_memory(error);
}

/* The text is written up to a match, whose name begins here or is the open one. */
static gcache_status
meet_name(gci_rewriter *r, gci_view text, gci_span match, open_name *open, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    if (open->name.data != NULL && match.start < name_end(text, open))
        return GCACHE_OK;
    status = close_name(r, text, open, match.start, error);
    open->name = gci_text_name_around(&open->search, match.start, match.end);
    open->written = r->to.size + (size_t)(open->name.data - text.data) - match.start;
    return status;
}

static void
keep_module_name(gci_rewriter *r, gci_view name)
{
    gci_buf_append_text(&r->module_names, "\n// module name: ");
    gci_buf_append_view(&r->module_names, name);
}

/* Replaces every match. A group in the pattern narrows what is replaced down to it. *out_found: there is one; else nothing is
   written. */
static gcache_status
replace_matches(gci_rewriter *r, gci_rule const *rule, gci_view text, bool *out_found, gcache_error *error)
{
    size_t copied = 0, part_end = 0;
    search s = begin_search(r, rule, GCI_PATTERN, text);
    open_name open = { .search = { .text = text } };

    s.status = collect_among(r, rule, text, error);
    if (rule->kind == GCI_RULE_ORDINAL && !rule->whole)
        gci_intern_reset(&r->ordinals[rule - r->rules->rules]);
    if (s.status == GCACHE_OK)
        s.status = next_part(r, rule, text, 0, &part_end, error);
    for (*out_found = false; next_match(&s, error); *out_found = true) {
        if (!*out_found)
            gci_buf_reserve(&r->to, text.size); /* it hardly grows */
        while (s.group.start >= part_end && s.status == GCACHE_OK) {
            gci_intern_reset(&r->ordinals[rule - r->rules->rules]);
            s.status = next_part(r, rule, text, part_end + 1, &part_end, error);
        }
        gci_buf_append(&r->to, text.data + copied, s.group.start - copied);
        copied = s.group.end;
        if (s.status == GCACHE_OK && rule->hand_back)
            s.status = meet_name(r, text, s.group, &open, error);
        if (s.status == GCACHE_OK)
            s.status = put_replacement(r, rule, found_text(&s), error);
        if (rule->module_name && r->counts_module_name)
            keep_module_name(r, found_text(&s));
    }
    if (*out_found)
        gci_buf_append(&r->to, text.data + copied, text.size - copied);
    return s.status == GCACHE_OK ? close_name(r, text, &open, text.size, error) : s.status;
}

static int
compare_lines(void const *a, void const *b)
{
    return gci_view_compare(*(gci_view const *)a, *(gci_view const *)b);
}

/* The line around a match, without its end. */
static gci_view
line_around(gci_view text, gci_span match)
{
    char const *before = memrchr(text.data, '\n', match.start);
    char const *start = before != NULL ? before + 1 : text.data;
    char const *end = memchr(text.data + match.end, '\n', text.size - match.end);

    return gci_view_of(start, (size_t)((end != NULL ? end : text.data + text.size) - start));
}

/* The lines in which the pattern matches, in order, as views in `out`. */
static gcache_status
find_lines(gci_rewriter *r, gci_rule const *rule, gci_view text, gci_buf *out, gcache_error *error)
{
    search s = begin_search(r, rule, GCI_PATTERN, text);

    while (next_match(&s, error)) {
        gci_view line = line_around(text, s.match);
        s.at = (size_t)(line.data - text.data) + line.size;
        gci_buf_append(out, &line, sizeof line);
    }
    return s.status == GCACHE_OK && out->failed ? gci_fail_memory(error) : s.status;
}

/* Sorts the lines in which the pattern matches: they take each other's places. *out_found: there are some; else nothing is
   written. */
static gcache_status
sort_lines(gci_rewriter *r, gci_rule const *rule, gci_view text, bool *out_found, gcache_error *error)
{
    gci_buf lines, sorted;
    size_t copied = 0;

    gci_buf_init(&lines, GCI_BUF_NO_LIMIT);
    gci_buf_init(&sorted, GCI_BUF_NO_LIMIT);
    gcache_status status = find_lines(r, rule, text, &lines, error);
    gci_buf_append_view(&sorted, gci_buf_view(&lines));
    *out_found = lines.size != 0;
    if (status == GCACHE_OK && !sorted.failed && *out_found) {
        size_t count = lines.size / sizeof(gci_view);
        gci_view const *places = (gci_view const *)(void *)lines.data;
        gci_view *order = (gci_view *)(void *)sorted.data;
        qsort(order, count, sizeof *order, compare_lines);
        for (size_t i = 0; i < count; i++) {
            size_t start = (size_t)(places[i].data - text.data);
            gci_buf_append(&r->to, text.data + copied, start - copied);
            gci_buf_append_view(&r->to, order[i]);
            copied = start + places[i].size;
        }
        gci_buf_append(&r->to, text.data + copied, text.size - copied);
    }
    if (sorted.failed && status == GCACHE_OK)
        status = gci_fail_memory(error);
    gci_buf_clear(&sorted);
    gci_buf_clear(&lines);
    return status;
}

/* Makes r->to of a text if a match is found in it. */
static gcache_status
rewrite(gci_rewriter *r, gci_rule const *rule, gci_view text, bool *out_found, gcache_error *error)
{
    r->to.size = 0;
    gcache_status status = rule->kind == GCI_RULE_SORT ? sort_lines(r, rule, text, out_found, error)
                                                       : replace_matches(r, rule, text, out_found, error);
    if (status == GCACHE_OK && r->to.failed && !r->to.over_limit)
        status = gci_fail_memory(error);
    else if (status == GCACHE_OK && r->to.failed)
        status = gci_fail(error, GCACHE_ERROR_LIMIT, "the rule for %.*s makes too large a text of it",
                          (int)rule->path.size, rule->path.data);
    return status;
}

/* Does the rule's `unless` match anywhere? */
static gcache_status
is_passed_over(gci_rewriter *r, gci_rule const *rule, gci_view text, bool *out_passed, gcache_error *error)
{
    search s = begin_search(r, rule, GCI_PATTERN_UNLESS, text);

    *out_passed = next_match(&s, error);
    return s.status;
}

/* *text is what it becomes, valid until the next call. */
static gcache_status
apply_rule(gci_rewriter *r, gci_rule const *rule, gci_view *text, gcache_error *error)
{
    bool passed = false, found = false;
    gcache_status status = is_passed_over(r, rule, *text, &passed, error);

    if (status == GCACHE_OK && !passed)
        status = rewrite(r, rule, *text, &found, error);
    if (!found)
        return status;
    gci_buf swap = r->from;
    r->from = r->to;
    r->to = swap;
    *text = gci_buf_view(&r->from);
    return status;
}

/* A rule that needs a literal text can be passed over where that isn't found: a search a hundred times as fast. */
static bool
may_match(gci_rule const *rule, gci_view text)
{
    return rule->needs.data == NULL || gci_find(text, rule->needs);
}

/* Notes the names that a rule's pattern or its first group finds: they aren't handed back. */
static gcache_status
hide_names(gci_rewriter *r, gci_rule const *rule, gci_view text, gcache_error *error)
{
    bool passed = false;
    gcache_status status = is_passed_over(r, rule, text, &passed, error);
    search s = begin_search(r, rule, GCI_PATTERN, text);
    s.status = status;
    while (!passed && next_match(&s, error))
        if (!gci_text_names_hide(&r->handed, found_text(&s)))
            s.status = gci_fail_memory(error);
    return s.status;
}

/* Names are private in the text as it was. */
static gcache_status
hide_private(gci_rewriter *r, gci_rules_node const *node, gci_view text, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    for (uint32_t i = 0; i < node->text_count && status == GCACHE_OK; i++)
        if (node->text[i]->kind == GCI_RULE_PRIVATE && may_match(node->text[i], text))
            status = hide_names(r, node->text[i], text, error);
    return status;
}

/* Module names that count stand behind the text, where no other rule takes them for something else. */
static gcache_status
append_module_names(gci_rewriter *r, gci_view *text, gcache_error *error)
{
    if (r->module_names.size == 0 && !r->module_names.failed)
        return GCACHE_OK;
    r->to.size = 0;
    gci_buf_append_view(&r->to, *text);
    gci_buf_append_view(&r->to, gci_buf_view(&r->module_names));
    *text = gci_buf_view(&r->to);
    return r->to.failed || r->module_names.failed ? gci_fail_memory(error) : GCACHE_OK;
}

gcache_status
gci_rewriter_apply(gci_rewriter *r, gci_rules_state place, gci_view text, gci_view *out_text, gcache_error *error)
{
    gci_rules_node const *node = &r->rules->states[place];
    gcache_status status = GCACHE_OK;

    if (text.size > r->rules->limits.text_bytes)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "a text of %zu bytes, more than rules are applied to", text.size);
    *out_text = text;
    r->steps_left += STEPS_PER_BYTE * (uint64_t)text.size;
    r->scan_steps_left += SCAN_STEPS_PER_BYTE * (uint64_t)text.size;
    gci_text_names_reset(&r->handed);
    r->module_names.size = 0;
    for (uint32_t i = 0; i < node->text_count && status == GCACHE_OK; i++) {
        if (out_text->data == NULL) /* what an earlier rule left is nothing: still a place to count from */
            *out_text = gci_view_text("");
        if (node->text[i]->kind == GCI_RULE_PRIVATE || !may_match(node->text[i], *out_text))
            continue;
        status = apply_rule(r, node->text[i], out_text, error);
    }
    if (status == GCACHE_OK)
        status = append_module_names(r, out_text, error);
    if (status == GCACHE_OK && r->handed.count != 0)
        status = hide_private(r, node, text, error);
    for (size_t i = 0; i < r->handed.count && status == GCACHE_OK; i++)
        if (!gci_text_names_is_hidden(&r->handed, i))
            r->on_name(r->state, r->handed.items[i].original, r->handed.items[i].canonical);
    return status;
}
