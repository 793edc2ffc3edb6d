/*
 * Reading a rule set: JSON, then its members, then patterns and paths are compiled. The format is in
 * docs/formats/rules.md; unknown members are errors, so that a misspelt one can't be passed over.
 */
#include "base/check.h"
#include "base/codec.h"
#include "base/json.h"
#include "graph/rules/rules_set.h"
#include "graph/rules/shipped.h"

#include <stdlib.h>

#define FORMAT "guardcache-rules/1"

/* A rule set takes a few times its text, and states: this is far above any sensible one. */
#define MAX_BYTES ((size_t)64 << 20)

/* Patterns match in a few steps a byte; these stop one that backtracks without end. A string of a text takes a level for
   each of its characters. */
#define MATCH_LIMIT 10000000u
#define DEPTH_LIMIT 100000u
#define HEAP_LIMIT_KB 40000u
#define TEXT_LIMIT ((size_t)64 << 20)

typedef struct reader {
    gcache_rules *rules;
    char const *name;
    gci_view text;
    gcache_error *error;
} reader;

static gcache_status
fail(reader const *r, gci_value const *value, char const *what, char const *why)
{
    gci_place place = { .name = r->name };

    gci_json_locate(r->text, value->at, &place.line, &place.column);
    return gci_fail_at(r->error, GCACHE_ERROR_DESCRIPTION, &place, "%s %s", what, why);
}

static gcache_status
read_text(reader const *r, gci_value const *value, char const *what, gci_view *out_text)
{
    if (value->type != GCI_STRING)
        return fail(r, value, what, "must be a string");
    *out_text = gci_arena_copy(&r->rules->arena, value->text); /* zero-terminated, for gcache_rules_at */
    return out_text->data != NULL ? GCACHE_OK : gci_fail_memory(r->error);
}

static gcache_status
read_list(reader const *r, gci_value const *value, char const *what)
{
    return value->type == GCI_LIST ? GCACHE_OK : fail(r, value, what, "must be a list");
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

static gcache_status
compile_one(gci_view pattern, bool jit, pcre2_code **code, gcache_error *error)
{
    int number = 0;
    PCRE2_SIZE offset = 0;
    PCRE2_UCHAR reason[128];

    if (pattern.data == NULL)
        return GCACHE_OK;
    if (*code == NULL)
        *code = read_pattern(pattern, &number, &offset);
    if (*code == NULL && number == PCRE2_ERROR_NOMEMORY)
        return gci_fail_memory(error);
    if (*code == NULL) {
        pcre2_get_error_message(number, reason, sizeof reason);
        return gci_fail(error, GCACHE_ERROR_DESCRIPTION, "%.*s: %s at %zu", (int)pattern.size, pattern.data,
                        (char const *)reason, (size_t)offset);
    }
    if (jit) /* where there is no machine code for this processor the pattern is interpreted */
        pcre2_jit_compile(*code, PCRE2_JIT_COMPLETE);
    return GCACHE_OK;
}

gcache_status
gci_rule_compile(gci_rule *rule, bool jit, gcache_error *error)
{
    if (rule->kind == GCI_RULE_PATH || (rule->code != NULL && (rule->jitted || !jit)))
        return GCACHE_OK;
    gcache_status status = compile_one(rule->pattern, jit, &rule->code, error);
    if (status == GCACHE_OK)
        status = compile_one(rule->among, jit, &rule->among_code, error);
    if (status == GCACHE_OK)
        status = compile_one(rule->part, jit, &rule->part_code, error);
    if (status == GCACHE_OK)
        status = compile_one(rule->unless, jit, &rule->unless_code, error);
    rule->jitted = jit;
    return status;
}

static gcache_status
compile_rules(reader const *r, gci_value const *list)
{
    gcache_error reason;
    uint32_t first = r->rules->rule_count - (list != NULL ? list->count : 0);

    for (uint32_t i = first; i < r->rules->rule_count; i++)
        if (gci_rule_compile(&r->rules->rules[i], r->rules->shipped, &reason) != GCACHE_OK)
            return fail(r, &list->items[i - first], "the pattern", reason.message);
    return GCACHE_OK;
}

/* ---- rules ---- */

static char const *const kind_words[] = {
#define X(name, word, text) word,
    GCI_RULE_MAP(X)
#undef X
};

static gcache_status
read_kind(reader const *r, gci_value const *value, gci_rule *rule)
{
    for (size_t i = GCI_RULE_DROP; i < sizeof kind_words / sizeof kind_words[0]; i++) {
        if (value->type == GCI_STRING && gci_view_is(value->text, kind_words[i])) {
            rule->kind = (gci_rule_kind)i;
            return GCACHE_OK;
        }
    }
    return fail(r, value, "kind", "must be drop, const, ordinal, sort, bypass or private");
}

static gcache_status
read_scope(reader const *r, gci_value const *value, gci_rule *rule)
{
    bool whole = value->type == GCI_STRING && gci_view_is(value->text, "description");

    if (!whole && !(value->type == GCI_STRING && gci_view_is(value->text, "text")))
        return fail(r, value, "scope", "must be text or description");
    rule->whole = whole;
    return GCACHE_OK;
}

static gcache_status
read_path(reader const *r, gci_value const *value, gci_rule *rule)
{
    gcache_status status = read_text(r, value, "path", &rule->path);

    if (status != GCACHE_OK)
        return status;
    char const *problem = gci_rules_parse_path(rule->path, rule->steps, &rule->step_count);
    return problem == NULL ? GCACHE_OK : fail(r, value, "path:", problem);
}

static gcache_status
read_examples(reader const *r, gci_value const *value, gci_value const **out_examples)
{
    if (value->type != GCI_LIST)
        return fail(r, value, "examples", "must be a list of pairs");
    for (uint32_t i = 0; i < value->count; i++)
        if (value->items[i].type != GCI_LIST || value->items[i].count != 2)
            return fail(r, &value->items[i], "an example", "must be a pair");
    *out_examples = value;
    return GCACHE_OK;
}

/* rule := { "path", "why", "same", "different" }, and for texts also "kind", "needs", "unless", "pattern", "with", "among",
 * "part", "scope", "hand_back" */
static gcache_status
read_rule_member(reader const *r, gci_member const *member, bool is_text, gci_rule *rule)
{
    gci_view name = member->name;
    gci_value const *value = &member->value;

    if (gci_view_is(name, "path"))
        return read_path(r, value, rule);
    if (gci_view_is(name, "why"))
        return read_text(r, value, "why", &rule->why);
    if (gci_view_is(name, "same"))
        return read_examples(r, value, &rule->same);
    if (gci_view_is(name, "different"))
        return read_examples(r, value, &rule->different);
    if (is_text && gci_view_is(name, "kind"))
        return read_kind(r, value, rule);
    if (is_text && gci_view_is(name, "needs"))
        return read_text(r, value, "needs", &rule->needs);
    if (is_text && gci_view_is(name, "unless"))
        return read_text(r, value, "unless", &rule->unless);
    if (is_text && gci_view_is(name, "pattern"))
        return read_text(r, value, "pattern", &rule->pattern);
    if (is_text && gci_view_is(name, "with"))
        return read_text(r, value, "with", &rule->with);
    if (is_text && gci_view_is(name, "among"))
        return read_text(r, value, "among", &rule->among);
    if (is_text && gci_view_is(name, "part"))
        return read_text(r, value, "part", &rule->part);
    if (is_text && gci_view_is(name, "scope"))
        return read_scope(r, value, rule);
    if (is_text && gci_view_is(name, "hand_back")) {
        rule->hand_back = value->type == GCI_BOOL && value->boolean;
        return value->type == GCI_BOOL ? GCACHE_OK : fail(r, value, "hand_back", "must be true or false");
    }
    return fail(r, value, "this member", "isn't one of a rule");
}

static gcache_status
check_rule(reader const *r, gci_value const *value, gci_rule const *rule, bool is_text)
{
    if (rule->path.data == NULL)
        return fail(r, value, "a rule", "needs a path");
    if (is_text && (rule->kind == GCI_RULE_PATH || rule->pattern.data == NULL))
        return fail(r, value, "a text rule", "needs kind and pattern");
    bool renames = rule->kind == GCI_RULE_CONST || rule->kind == GCI_RULE_ORDINAL;
    if (renames != (rule->with.data != NULL))
        return fail(r, value, "with:", renames ? "is needed" : "belongs to const and ordinal");
    if (rule->kind != GCI_RULE_ORDINAL && (rule->among.data != NULL || rule->part.data != NULL || rule->whole))
        return fail(r, value, "among, part and scope", "belong to ordinal");
    if (!renames && rule->hand_back)
        return fail(r, value, "hand_back", "belongs to const and ordinal");
    if (rule->kind == GCI_RULE_BYPASS && rule->why.data == NULL)
        return fail(r, value, "a bypass", "needs its reason (why)");
    return GCACHE_OK;
}

static gcache_status
read_rules(reader const *r, gci_value const *list, bool is_text)
{
    gcache_rules *rules = r->rules;
    gcache_status status = read_list(r, list, is_text ? "text" : "drop");

    for (uint32_t i = 0; i < list->count && status == GCACHE_OK; i++) {
        gci_value const *value = &list->items[i];
        if (value->type != GCI_MAP)
            return fail(r, value, "a rule", "must be a map");
        if (rules->rule_count == GCI_RULES_MAX)
            return fail(r, value, "a rule set", "has at most 256 rules");
        gci_rule *rule = &rules->rules[rules->rule_count++];
        for (uint32_t k = 0; k < value->count && status == GCACHE_OK; k++)
            status = read_rule_member(r, &value->members[k], is_text, rule);
        if (status == GCACHE_OK)
            status = check_rule(r, value, rule, is_text);
    }
    return status;
}

/* ---- the set ---- */

static gcache_status
read_limit(reader const *r, gci_value const *value, uint64_t most, uint64_t *out_limit)
{
    if (value->type != GCI_INT || value->integer < 1 || (uint64_t)value->integer > most)
        return fail(r, value, "a limit", "must be an integer from 1 to the built-in limit");
    *out_limit = (uint64_t)value->integer;
    return GCACHE_OK;
}

/* limits := { "match": int, "depth": int, "heap_kb": int, "text_bytes": int } */
static gcache_status
read_limits(reader const *r, gci_value const *map)
{
    gci_rules_limits *limits = &r->rules->limits;
    gcache_status status = map->type == GCI_MAP ? GCACHE_OK : fail(r, map, "limits", "must be a map");

    for (uint32_t i = 0; i < map->count && status == GCACHE_OK; i++) {
        gci_member const *member = &map->members[i];
        uint64_t limit = 0;
        if (gci_view_is(member->name, "match")) {
            status = read_limit(r, &member->value, MATCH_LIMIT, &limit);
            limits->match = (uint32_t)limit;
        } else if (gci_view_is(member->name, "depth")) {
            status = read_limit(r, &member->value, DEPTH_LIMIT, &limit);
            limits->depth = (uint32_t)limit;
        } else if (gci_view_is(member->name, "heap_kb")) {
            status = read_limit(r, &member->value, HEAP_LIMIT_KB, &limit);
            limits->heap_kb = (uint32_t)limit;
        } else if (gci_view_is(member->name, "text_bytes")) {
            status = read_limit(r, &member->value, TEXT_LIMIT, &limit);
            limits->text_bytes = (size_t)limit;
        } else {
            status = fail(r, &member->value, "this member", "isn't one of limits");
        }
    }
    return status;
}

static gcache_status
read_member(reader const *r, gci_member const *member)
{
    gci_value const *value = &member->value;
    gci_view format;

    if (gci_view_is(member->name, "format")) {
        gcache_status status = read_text(r, value, "format", &format);
        bool known = status != GCACHE_OK || gci_view_is(format, FORMAT);
        return known ? status : fail(r, value, "format", "must be \"" FORMAT "\"");
    }
    if (gci_view_is(member->name, "name"))
        return read_text(r, value, "name", &r->rules->name);
    if (gci_view_is(member->name, "why"))
        return value->type == GCI_STRING ? GCACHE_OK : fail(r, value, "why", "must be a string");
    if (gci_view_is(member->name, "drop"))
        return read_rules(r, value, false);
    if (gci_view_is(member->name, "text")) {
        gcache_status status = read_rules(r, value, true);
        return status == GCACHE_OK && !r->rules->lazy ? compile_rules(r, value) : status;
    }
    if (gci_view_is(member->name, "limits"))
        return read_limits(r, value);
    return fail(r, value, "this member", "isn't one of a rule set");
}

/* rule set := { "format": string, "name": string, "why": string, "drop": [rule, ..], "text": [rule, ..], "limits" } */
static gcache_status
read_set(reader const *r, gci_value const *root)
{
    gcache_rules *rules = r->rules;
    gci_value const *drop = NULL, *text = NULL;
    gcache_status status = GCACHE_OK;

    if (root->type != GCI_MAP || gci_map_find(root, "format") == NULL || gci_map_find(root, "name") == NULL)
        return fail(r, root, "a rule set", "must be a map with format and name");
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
   back. */
static gcache_status
hash_set(gcache_rules *rules, gcache_error *error)
{
    gci_buf fields;
    gci_digest *digest = gci_digest_new();

    gci_buf_init(&fields, GCI_BUF_NO_LIMIT);
    gci_put_bytes(&fields, (gci_view)GCI_VIEW(FORMAT));
    gci_put_bytes(&fields, rules->name);
    for (uint32_t i = 0; i < rules->rule_count; i++) {
        gci_rule const *rule = &rules->rules[i];
        if (rule->kind == GCI_RULE_PRIVATE)
            continue;
        gci_put_u8(&fields, (uint8_t)rule->kind);
        gci_put_u8(&fields, (uint8_t)(rule->whole | (rule->unless.data != NULL ? HASHED_UNLESS : 0)));
        gci_put_bytes(&fields, rule->path);
        gci_put_bytes(&fields, rule->needs);
        gci_put_bytes(&fields, rule->pattern);
        gci_put_bytes(&fields, rule->with);
        gci_put_bytes(&fields, rule->among);
        gci_put_bytes(&fields, rule->part);
        if (rule->unless.data != NULL)
            gci_put_bytes(&fields, rule->unless);
    }
    bool hashed = digest != NULL && !fields.failed && gci_digest_of(digest, gci_buf_view(&fields), rules->hash);
    gci_buf_clear(&fields);
    gci_digest_free(digest);
    return hashed ? GCACHE_OK : gci_fail_memory(error);
}

/* ---- the faces ---- */

static gcache_status
read_rule_set(gci_view text, char const *name, bool shipped, bool lazy, gcache_rules **out_rules, gcache_error *error)
{
    gcache_rules *rules = calloc(1, sizeof *rules);
    gci_value *root;

    *out_rules = NULL;
    if (rules == NULL)
        return gci_fail_memory(error);
    rules->shipped = shipped;
    rules->lazy = lazy;
    gci_arena_init(&rules->arena, MAX_BYTES);
    rules->limits = (gci_rules_limits){ MATCH_LIMIT, DEPTH_LIMIT, HEAP_LIMIT_KB, TEXT_LIMIT };
    gci_view copy = gci_arena_copy(&rules->arena, text);
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
    return read_rule_set(gci_view_of(text, size), name, false, false, out_rules, error);
}

void
gcache_rules_free(gcache_rules *rules)
{
    if (rules == NULL)
        return;
    for (uint32_t i = 0; i < rules->rule_count; i++) {
        pcre2_code_free(rules->rules[i].code);
        pcre2_code_free(rules->rules[i].among_code);
        pcre2_code_free(rules->rules[i].part_code);
        pcre2_code_free(rules->rules[i].unless_code);
    }
    gci_arena_clear(&rules->arena);
    free(rules);
}

static gci_shipped_rules const *
find_shipped(gci_view kind)
{
    for (size_t i = 0; i < gci_shipped_count; i++)
        if (gci_view_is(kind, gci_shipped[i].kind))
            return &gci_shipped[i];
    return NULL;
}

static gcache_status
read_shipped(gci_view kind, bool lazy, gcache_rules **out_rules, gcache_error *error)
{
    gci_shipped_rules const *shipped = find_shipped(kind);

    if (shipped == NULL)
        shipped = find_shipped((gci_view)GCI_VIEW("generic"));
    GCI_ASSERT(shipped != NULL);
    return read_rule_set(gci_view_of(shipped->rules, shipped->rules_size), shipped->kind, true, lazy, out_rules,
                         error);
}

gcache_status
gci_rules_of_kind(gci_view kind, gcache_rules **out_rules, gcache_error *error)
{
    return read_shipped(kind, true, out_rules, error);
}

gcache_status
gcache_rules_of_kind(char const *kind, gcache_rules **out_rules, gcache_error *error)
{
    GCI_REQUIRE(kind != NULL && out_rules != NULL, error, "gcache_rules_of_kind needs a kind and a result");
    return read_shipped(gci_view_text(kind), false, out_rules, error);
}

char const *
gcache_rules_shipped(char const *kind, size_t *out_size)
{
    gci_shipped_rules const *shipped = find_shipped(gci_view_text(kind));

    if (shipped != NULL && out_size != NULL)
        *out_size = shipped->text_size;
    return shipped != NULL ? shipped->text : NULL;
}

char const *
gcache_rules_kind(size_t index)
{
    return index < gci_shipped_count ? gci_shipped[index].kind : NULL;
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

char const *
gci_rule_kind_word(gci_rule const *rule)
{
    return kind_words[rule->kind];
}

void
gci_rules_hash(gcache_rules const *rules, uint8_t out_hash[GCI_SHA256_BYTES])
{
    memcpy(out_hash, rules->hash, GCI_SHA256_BYTES);
}

gci_view
gci_rules_name(gcache_rules const *rules)
{
    return rules->name;
}
