/*
 * Reading a rule set: JSON, then its members, then patterns and paths are compiled. The format is in
 * docs/formats/rules.md; unknown members are errors, so that a misspelt one can't be passed over.
 */
#include "base/check.h"
#include "base/codec.h"
#include "base/text/json.h"
#include "graph/rules/rules_set.h"

#include <stdlib.h>

#define FORMAT "guardcache-rules/1"

/* A rule set takes a few times its text, and states: this is far above any sensible one. */
#define MAX_BYTES ((size_t)64 << 20)

typedef gci_rules_reader reader;

gcache_status
gci_rules_fail(reader const *r, gci_value const *value, char const *what, char const *why)
{
    gci_place place = { .name = r->name };

    gci_json_locate(r->text, value->at, &place.line, &place.column);
    return gci_fail_at(r->error, GCACHE_ERROR_DESCRIPTION, &place, "%s %s", what, why);
}

static gcache_status
read_text(reader const *r, gci_value const *value, char const *what, void *out)
{
    gci_view *out_text = out;

    if (value->type != GCI_STRING)
        return gci_rules_fail(r, value, what, "must be a string");
    *out_text = gci_arena_copy(&r->rules->arena, value->text); /* zero-terminated, for gcache_rules_at */
    return out_text->data != NULL ? GCACHE_OK : gci_fail_memory(r->error);
}

/* ---- patterns ---- */

/* PCRE2 calls out before each item, so that the rewriter can count; and a repeated character gives back what it took piece by
   piece, so that its length is counted too. */
#define COMPILE_OPTIONS (PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_NO_AUTO_POSSESS | PCRE2_AUTO_CALLOUT)

/* NULL: the pattern is wrong at *out_offset, or PCRE2_ERROR_NOMEMORY. */
static pcre2_code *
read_pattern(gci_view pattern, int *out_number, PCRE2_SIZE *out_offset)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);

    *out_number = PCRE2_ERROR_NOMEMORY;
    if (context == NULL)
        return NULL;
    /* The newline convention is fixed here, so that one build of PCRE2 reads a rule as another does. */
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    pcre2_set_bsr(context, PCRE2_BSR_ANYCRLF);
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern.data, pattern.size, COMPILE_OPTIONS, out_number, out_offset, context);
    pcre2_compile_context_free(context);
    return code;
}

gcache_status
gci_pattern_compile(gci_pattern *pattern, bool jit, gcache_error *error)
{
    int number = 0;
    PCRE2_SIZE offset = 0;
    PCRE2_UCHAR reason[128];

    if (pattern->code == NULL)
        pattern->code = read_pattern(pattern->text, &number, &offset);
    if (pattern->code == NULL && number == PCRE2_ERROR_NOMEMORY)
        return gci_fail_memory(error);
    if (pattern->code == NULL) {
        pcre2_get_error_message(number, reason, sizeof reason);
        return gci_fail(error, GCACHE_ERROR_DESCRIPTION, "%.*s: %s at %zu", (int)pattern->text.size, pattern->text.data,
                        (char const *)reason, (size_t)offset);
    }
    if (jit && !pattern->jitted) /* where there is no machine code for this processor the pattern is interpreted */
        pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE);
    pattern->jitted = pattern->jitted || jit;
    return GCACHE_OK;
}

void
gci_pattern_try_scan(gci_pattern *pattern)
{
    if (!pattern->tried)
        pattern->scan = gci_scan_new(pattern->text);
    pattern->tried = true;
}

/* Both ways of matching: once it is read a set doesn't change, and what a scan gives up is PCRE2's. */
static gcache_status
compile_rule(gci_rule *rule, bool jit, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    for (size_t i = 0; i < GCI_PATTERN_COUNT && status == GCACHE_OK; i++) {
        if (rule->patterns[i].text.data == NULL)
            continue;
        gci_pattern_try_scan(&rule->patterns[i]);
        status = gci_pattern_compile(&rule->patterns[i], jit, error);
    }
    return status;
}

static gcache_status
compile_rules(reader const *r, gci_value const *list)
{
    gcache_error reason;
    uint32_t first = r->rules->rule_count - (list != NULL ? list->count : 0);

    for (uint32_t i = first; i < r->rules->rule_count; i++)
        if (compile_rule(&r->rules->rules[i], r->rules->shipped, &reason) != GCACHE_OK)
            return gci_rules_fail(r, &list->items[i - first], "the pattern", reason.message);
    return GCACHE_OK;
}

/* ---- rules ---- */

static char const *const kind_words[] = {
#define X(name, word, text) word,
    GCI_RULE_MAP(X)
#undef X
};

/* Readers of a rule's members: out points to what is in the struct. */
typedef gcache_status read_fn(reader const *r, gci_value const *value, char const *what, void *out);

static gcache_status
read_kind(reader const *r, gci_value const *value, char const *what, void *out)
{
    for (size_t i = GCI_RULE_DROP; i < sizeof kind_words / sizeof kind_words[0]; i++) {
        if (value->type == GCI_STRING && gci_view_is(value->text, kind_words[i])) {
            *(gci_rule_kind *)out = (gci_rule_kind)i;
            return GCACHE_OK;
        }
    }
    return gci_rules_fail(r, value, what, "must be drop, const, ordinal, sort, bypass or private");
}

static gcache_status
read_scope(reader const *r, gci_value const *value, char const *what, void *out)
{
    bool whole = value->type == GCI_STRING && gci_view_is(value->text, "description");

    if (!whole && !(value->type == GCI_STRING && gci_view_is(value->text, "text")))
        return gci_rules_fail(r, value, what, "must be text or description");
    *(bool *)out = whole;
    return GCACHE_OK;
}

static gcache_status
read_bool(reader const *r, gci_value const *value, char const *what, void *out)
{
    *(bool *)out = value->type == GCI_BOOL && value->boolean;
    return value->type == GCI_BOOL ? GCACHE_OK : gci_rules_fail(r, value, what, "must be true or false");
}

static gcache_status
read_path(reader const *r, gci_value const *value, char const *what, void *out)
{
    gci_rule *rule = out;
    gcache_status status = read_text(r, value, what, &rule->path);

    if (status != GCACHE_OK)
        return status;
    char const *problem = gci_rules_parse_path(rule->path, rule->steps, &rule->step_count);
    return problem == NULL ? GCACHE_OK : gci_rules_fail(r, value, "path:", problem);
}

static gcache_status
read_examples(reader const *r, gci_value const *value, char const *what, void *out)
{
    (void)what;
    if (value->type != GCI_LIST)
        return gci_rules_fail(r, value, "examples", "must be a list of pairs");
    for (uint32_t i = 0; i < value->count; i++)
        if (value->items[i].type != GCI_LIST || value->items[i].count != 2)
            return gci_rules_fail(r, &value->items[i], "an example", "must be a pair");
    *(gci_value const **)out = value;
    return GCACHE_OK;
}

/* rule := a map of these; the first four in every rule, the others in rules for texts */
static struct {
    char const *name;
    bool text_only;
    read_fn *read;
    size_t at;
} const rule_members[] = {
    { "path", false, read_path, 0 },
    { "why", false, read_text, offsetof(gci_rule, why) },
    { "same", false, read_examples, offsetof(gci_rule, same) },
    { "different", false, read_examples, offsetof(gci_rule, different) },
    { "kind", true, read_kind, offsetof(gci_rule, kind) },
    { "needs", true, read_text, offsetof(gci_rule, needs) },
    { "unless", true, read_text, offsetof(gci_rule, patterns[GCI_PATTERN_UNLESS].text) },
    { "pattern", true, read_text, offsetof(gci_rule, patterns[GCI_PATTERN].text) },
    { "with", true, read_text, offsetof(gci_rule, with) },
    { "among", true, read_text, offsetof(gci_rule, patterns[GCI_PATTERN_AMONG].text) },
    { "part", true, read_text, offsetof(gci_rule, patterns[GCI_PATTERN_PART].text) },
    { "scope", true, read_scope, offsetof(gci_rule, whole) },
    { "hand_back", true, read_bool, offsetof(gci_rule, hand_back) },
    { "module_name", true, read_bool, offsetof(gci_rule, module_name) },
};

static gcache_status
read_rule_member(reader const *r, gci_member const *member, bool is_text, gci_rule *rule)
{
    for (size_t i = 0; i < sizeof rule_members / sizeof rule_members[0]; i++)
        if (gci_view_is(member->name, rule_members[i].name) && (is_text || !rule_members[i].text_only))
            return rule_members[i].read(r, &member->value, rule_members[i].name, (char *)rule + rule_members[i].at);
    return gci_rules_fail(r, &member->value, "this member", "isn't one of a rule");
}

static gcache_status
check_rule(reader const *r, gci_value const *value, gci_rule const *rule, bool is_text)
{
    if (rule->path.data == NULL)
        return gci_rules_fail(r, value, "a rule", "needs a path");
    if (is_text && (rule->kind == GCI_RULE_PATH || rule->patterns[GCI_PATTERN].text.data == NULL))
        return gci_rules_fail(r, value, "a text rule", "needs kind and pattern");
    bool renames = rule->kind == GCI_RULE_CONST || rule->kind == GCI_RULE_ORDINAL;
    if (renames != (rule->with.data != NULL))
        return gci_rules_fail(r, value, "with:", renames ? "is needed" : "belongs to const and ordinal");
    bool numbers = rule->patterns[GCI_PATTERN_AMONG].text.data != NULL ||
                   rule->patterns[GCI_PATTERN_PART].text.data != NULL || rule->whole;
    if (rule->kind != GCI_RULE_ORDINAL && numbers)
        return gci_rules_fail(r, value, "among, part and scope", "belong to ordinal");
    if (!renames && rule->hand_back)
        return gci_rules_fail(r, value, "hand_back", "belongs to const and ordinal");
    if (!renames && rule->kind != GCI_RULE_DROP && rule->module_name)
        return gci_rules_fail(r, value, "module_name", "belongs to drop, const and ordinal");
    if (rule->kind == GCI_RULE_BYPASS && rule->why.data == NULL)
        return gci_rules_fail(r, value, "a bypass", "needs its reason (why)");
    return GCACHE_OK;
}

static gcache_status
read_rules(reader const *r, gci_value const *list, bool is_text)
{
    gcache_rules *rules = r->rules;
    gcache_status status = GCACHE_OK;

    if (list->type != GCI_LIST)
        return gci_rules_fail(r, list, is_text ? "text" : "drop", "must be a list");
    for (uint32_t i = 0; i < list->count && status == GCACHE_OK; i++) {
        gci_value const *value = &list->items[i];
        if (value->type != GCI_MAP)
            return gci_rules_fail(r, value, "a rule", "must be a map");
        if (rules->rule_count == GCI_RULES_MAX)
            return gci_rules_fail(r, value, "a rule set", "has at most 256 rules");
        gci_rule *rule = &rules->rules[rules->rule_count++];
        for (uint32_t k = 0; k < value->count && status == GCACHE_OK; k++)
            status = read_rule_member(r, &value->members[k], is_text, rule);
        if (status == GCACHE_OK)
            status = check_rule(r, value, rule, is_text);
    }
    return status;
}

/* ---- the set ---- */

/* limits := a map of these. Patterns match in a few steps a byte; these stop one that backtracks without end. A string of a
   text takes a level for each of its characters. */
static struct {
    char const *name;
    size_t most, at;
} const limits[] = {
    { "match", 10000000, offsetof(gci_rules_limits, match) },
    { "depth", 100000, offsetof(gci_rules_limits, depth) },
    { "heap_kb", 40000, offsetof(gci_rules_limits, heap_kb) },
    { "text_bytes", (size_t)64 << 20, offsetof(gci_rules_limits, text_bytes) },
};

#define LIMIT_COUNT (sizeof limits / sizeof limits[0])

static void
set_limit(gcache_rules *rules, size_t which, size_t value)
{
    memcpy((char *)&rules->limits + limits[which].at, &value, sizeof value);
}

static gcache_status
read_limits(reader const *r, gci_value const *map)
{
    if (map->type != GCI_MAP)
        return gci_rules_fail(r, map, "limits", "must be a map");
    for (uint32_t i = 0; i < map->count; i++) {
        gci_value const *value = &map->members[i].value;
        size_t which = 0;
        while (which < LIMIT_COUNT && !gci_view_is(map->members[i].name, limits[which].name))
            which++;
        if (which == LIMIT_COUNT)
            return gci_rules_fail(r, value, "this member", "isn't one of limits");
        if (value->type != GCI_INT || value->integer < 1 || (uint64_t)value->integer > limits[which].most)
            return gci_rules_fail(r, value, "a limit", "must be an integer from 1 to the built-in limit");
        set_limit(r->rules, which, (size_t)value->integer);
        r->rules->own_limits = true;
    }
    return GCACHE_OK;
}

static gcache_status
read_member(reader const *r, gci_member const *member)
{
    gci_value const *value = &member->value;
    gci_view format;

    if (gci_view_is(member->name, "format")) {
        gcache_status status = read_text(r, value, "format", &format);
        bool known = status != GCACHE_OK || gci_view_is(format, FORMAT);
        return known ? status : gci_rules_fail(r, value, "format", "must be \"" FORMAT "\"");
    }
    if (gci_view_is(member->name, "name"))
        return read_text(r, value, "name", &r->rules->name);
    if (gci_view_is(member->name, "why"))
        return value->type == GCI_STRING ? GCACHE_OK : gci_rules_fail(r, value, "why", "must be a string");
    if (gci_view_is(member->name, "drop"))
        return read_rules(r, value, false);
    if (gci_view_is(member->name, "text")) {
        gcache_status status = read_rules(r, value, true);
        return status == GCACHE_OK && !r->rules->lazy ? compile_rules(r, value) : status;
    }
    if (gci_view_is(member->name, "limits"))
        return read_limits(r, value);
    return gci_rules_fail(r, value, "this member", "isn't one of a rule set");
}

/* rule set := { "format": string, "name": string, "why": string, "drop": [rule, ..], "text": [rule, ..], "limits" } */
static gcache_status
read_set(reader const *r, gci_value const *root)
{
    gcache_rules *rules = r->rules;
    gci_value const *drop = NULL, *text = NULL;
    gcache_status status = GCACHE_OK;

    if (root->type != GCI_MAP || gci_map_find(root, "format") == NULL || gci_map_find(root, "name") == NULL)
        return gci_rules_fail(r, root, "a rule set", "must be a map with format and name");
    drop = gci_map_find(root, "drop");
    text = gci_map_find(root, "text");
    size_t room = (size_t)(drop != NULL ? drop->count : 0) + (text != NULL ? text->count : 0);
    rules->rules = gci_arena_array(&rules->arena, room, sizeof *rules->rules);
    if (rules->rules == NULL)
        return gci_fail_memory(r->error);
    for (uint32_t i = 0; i < root->count && status == GCACHE_OK; i++)
        status = read_member(r, &root->members[i]);
    return status;
}

/* ---- the hash ---- */

/* In a rule's scope byte: `unless` follows. Rules without it have the hash they had before there was one. */
#define HASHED_UNLESS 2

/* Over everything that has an effect on a canonical form, so not over reasons, examples, limits and which names are handed
   back; nor over whose matches are module names: where that matters they stand in the form themselves. */
static gcache_status
hash_set(gcache_rules *rules, gcache_error *error)
{
    gci_buf fields;

    gci_buf_init(&fields, GCI_BUF_NO_LIMIT);
    gci_put_bytes(&fields, (gci_view)GCI_VIEW(FORMAT));
    gci_put_bytes(&fields, rules->name);
    for (uint32_t i = 0; i < rules->rule_count; i++) {
        gci_rule const *rule = &rules->rules[i];
        if (rule->kind == GCI_RULE_PRIVATE)
            continue;
        gci_put_u8(&fields, (uint8_t)rule->kind);
        gci_put_u8(&fields, (uint8_t)(rule->whole | (rule->patterns[GCI_PATTERN_UNLESS].text.data != NULL ? HASHED_UNLESS : 0)));
        gci_put_bytes(&fields, rule->path);
        gci_put_bytes(&fields, rule->needs);
        gci_put_bytes(&fields, rule->patterns[GCI_PATTERN].text);
        gci_put_bytes(&fields, rule->with);
        gci_put_bytes(&fields, rule->patterns[GCI_PATTERN_AMONG].text);
        gci_put_bytes(&fields, rule->patterns[GCI_PATTERN_PART].text);
        if (rule->patterns[GCI_PATTERN_UNLESS].text.data != NULL)
            gci_put_bytes(&fields, rule->patterns[GCI_PATTERN_UNLESS].text);
    }
    return gci_digest_of_buf(&fields, rules->hash) ? GCACHE_OK : gci_fail_memory(error);
}

/* ---- the faces ---- */

gcache_status
gci_rules_read_set(gci_view text, char const *name, bool shipped, bool lazy, gcache_rules **out_rules, gcache_error *error)
{
    gcache_rules *rules = calloc(1, sizeof *rules);
    gci_value *root;

    *out_rules = NULL;
    if (rules == NULL)
        return gci_fail_memory(error);
    rules->shipped = shipped;
    rules->lazy = lazy;
    gci_arena_init(&rules->arena, MAX_BYTES);
    for (size_t i = 0; i < LIMIT_COUNT; i++)
        set_limit(rules, i, limits[i].most);
    gci_view copy = rules->text = gci_arena_copy(&rules->arena, text);
    root = GCI_ARENA_NEW(&rules->arena, gci_value);
    gcache_status status = copy.data != NULL && root != NULL ? gci_json_read(copy, name, &rules->arena, root, error)
                                                             : gci_fail_memory(error);
    reader r = { .rules = rules, .name = name, .text = copy, .error = error };
    if (status == GCACHE_OK)
        status = read_set(&r, root);
    if (status == GCACHE_OK)
        status = gci_rules_build_states(rules, error);
    if (status == GCACHE_OK)
        status = hash_set(rules, error);
    if (status != GCACHE_OK) {
        gcache_rules_free(rules);
        return status;
    }
    *out_rules = rules;
    return GCACHE_OK;
}

gcache_status
gcache_rules_read(char const *text, size_t size, char const *name, gcache_rules **out_rules, gcache_error *error)
{
    GCI_REQUIRE(out_rules != NULL && (text != NULL || size == 0), error, "gcache_rules_read needs a text and a result");
    return gci_rules_read_set(gci_view_of(text, size), name, false, false, out_rules, error);
}

void
gcache_rules_free(gcache_rules *rules)
{
    if (rules == NULL || rules->loaded)
        return;
    for (uint32_t i = 0; i < rules->rule_count; i++) {
        for (size_t k = 0; k < GCI_PATTERN_COUNT; k++) {
            pcre2_code_free(rules->rules[i].patterns[k].code);
            gci_scan_free(rules->rules[i].patterns[k].scan);
        }
    }
    gci_arena_clear(&rules->arena);
    free(rules);
}

gci_view
gci_rule_name(gci_rule const *rule)
{
    return rule->path;
}

gci_view
gci_rule_why(gci_rule const *rule)
{
    return rule->why.data != NULL ? rule->why : (gci_view)GCI_VIEW("");
}

bool
gcache_rules_at(gcache_rules const *rules, size_t index, gcache_rule *out_rule)
{
    if (rules == NULL || out_rule == NULL || out_rule->size != sizeof *out_rule || index >= rules->rule_count)
        return false;
    gci_rule const *rule = &rules->rules[index];
    *out_rule = (gcache_rule){ .size = sizeof *out_rule, .kind = kind_words[rule->kind],
                               .path = rule->path.data,
                               .pattern = rule->patterns[GCI_PATTERN].text.data,
                               .with = rule->with.data,
                               .why = rule->why.data,
                               .examples = (rule->same != NULL ? rule->same->count : 0) +
                                           (rule->different != NULL ? rule->different->count : 0) };
    return true;
}

char const *
gcache_rules_name(gcache_rules const *rules)
{
    return rules->name.data;
}

void
gcache_rules_hash(gcache_rules const *rules, gcache_key *out_hash)
{
    memcpy(out_hash->bytes, rules->hash, sizeof rules->hash);
}
