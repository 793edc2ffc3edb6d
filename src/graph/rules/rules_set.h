/*
 * A rule set in memory: between its reader (rules_read.c), its path automaton (rules_path.c) and its use.
 *
 * Invariants:
 *  1. Everything but compiled patterns lives in the set's arena, and nothing changes once the set is read.
 *  2. In a lazy set, which belongs to one rewriter, patterns are compiled when a text first needs them, and for PCRE2 only if a
 *     scan can't do.
 *  3. Only shipped patterns become machine code. It passes over some of the steps that are counted, as in x(?=.*y), which takes
 *     time by a text's square; tests/complexity shows of the shipped ones that they don't.
 *  4. states[GCI_RULES_INERT] has no rule and leads to itself only.
 */
#ifndef GCI_GRAPH_RULES_SET_H
#define GCI_GRAPH_RULES_SET_H

#include "base/arena.h"
#include "base/text/value.h"
#include "graph/rules/rules.h"
#include "graph/rules/scan.h"
#include "kinds/kinds.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* Bounds of a rule set. Shipped sets have at most 30 rules; the automaton of these bounds takes less than 1 MB. */
#define GCI_RULES_MAX 256
#define GCI_RULES_MAX_STEPS 32
#define GCI_RULES_MAX_STATES 4096

/* What a rule does. */
#define GCI_RULE_MAP(X)                                                                               \
    X(PATH, "path", "leaves the value out of the key")                                                \
    X(DROP, "drop", "deletes every match of the pattern")                                             \
    X(CONST, "const", "replaces every match by one text")                                             \
    X(ORDINAL, "ordinal", "replaces every match by its number in order of first use")                 \
    X(SORT, "sort", "sorts the lines that match")                                                     \
    X(BYPASS, "bypass", "refuses to make a key of a text that matches")                               \
    X(PRIVATE, "private", "finds names that nobody outside sees: they aren't handed back")

typedef enum gci_rule_kind {
#define X(name, word, text) GCI_RULE_##name,
    GCI_RULE_MAP(X)
#undef X
} gci_rule_kind;

typedef enum gci_path_step_type {
    GCI_STEP_NAME,     /* .name */
    GCI_STEP_ANY_NAME, /* .* */
    GCI_STEP_ITEM,     /* [3] */
    GCI_STEP_ANY_ITEM, /* [*] */
    GCI_STEP_DEEP      /* .** : any number of steps, none too */
} gci_path_step_type;

typedef struct gci_path_step {
    gci_path_step_type type;
    gci_view name;
    uint32_t index;
} gci_path_step;

typedef enum gci_pattern_use {
    GCI_PATTERN,        /* what is rewritten */
    GCI_PATTERN_AMONG,  /* ordinals: only texts this finds are renumbered */
    GCI_PATTERN_PART,   /* ordinals: a new numbering begins where this matches */
    GCI_PATTERN_UNLESS, /* where this matches anywhere, the rule is passed over */
    GCI_PATTERN_COUNT
} gci_pattern_use;

typedef struct gci_pattern {
    gci_view text; /* data NULL: there is none */
    gci_scan *scan; /* NULL: it isn't a plain one */
    pcre2_code *code;
    bool tried, jitted; /* to be a plain one; to be machine code */
} gci_pattern;

struct gci_rule {
    gci_rule_kind kind;
    gci_view path, needs, with, why; /* as written; data NULL where absent */
    gci_pattern patterns[GCI_PATTERN_COUNT];
    gci_path_step steps[GCI_RULES_MAX_STEPS];
    uint32_t step_count;
    bool hand_back;           /* const, ordinal: names with a match in them are compared and handed back */
    bool module_name;         /* drop, const, ordinal: what it takes out is the module's name */
    bool whole;               /* ordinals: one numbering for the description, not one for each text */
    gci_value const *same, *different; /* examples; NULL where absent */
};

typedef struct gci_rules_edge {
    gci_view name; /* of an edge by name */
    uint32_t index;
    gci_rules_state next;
} gci_rules_edge;

typedef struct gci_rules_node {
    gci_rules_edge *names, *items;
    uint32_t name_count, item_count;
    gci_rules_state other_name, other_item; /* where names and indexes without an edge lead */
    gci_rule const *drop;
    gci_rule const **text;
    uint32_t text_count;
} gci_rules_node;

/* How far a pattern may go on one text, a rule set's own choice up to these. */
typedef struct gci_rules_limits {
    size_t match, depth, heap_kb, text_bytes;
} gci_rules_limits;

struct gcache_rules {
    gci_arena arena;
    gci_view name, text; /* as it was read */
    gci_rule *rules;
    uint32_t rule_count;
    gci_rules_node *states;
    uint32_t state_count;
    gci_rules_state start;
    gci_rules_limits limits;
    bool shipped, lazy;
    bool loaded;     /* with a kind at run time: it stays as long as the process */
    bool own_limits; /* which are PCRE2's: it alone matches */
    gci_advice const *advice; /* of a kind of the user's own */
    size_t advice_count;
    uint8_t hash[GCI_SHA256_BYTES];
};

/* Reads a set; shipped and lazy as above. */
gcache_status gci_rules_read_set(gci_view text, char const *name, bool shipped, bool lazy, gcache_rules **out_rules,
                                 gcache_error *error);

/* A text that a set is made of, while it is read. */
typedef struct gci_rules_reader {
    gcache_rules *rules;
    char const *name;
    gci_view text;
    gcache_error *error;
} gci_rules_reader;

/* ERROR_DESCRIPTION at the value's line and column. */
gcache_status gci_rules_fail(gci_rules_reader const *r, gci_value const *value, char const *what, char const *why);

/* path := word { "." word | "[" index "]" }. NULL, or what is wrong with it. */
char const *gci_rules_parse_path(gci_view path, gci_path_step *out_steps, uint32_t *out_count);

/* Makes a pattern ready for PCRE2 as far as it isn't, as machine code too if wanted. */
gcache_status gci_pattern_compile(gci_pattern *pattern, bool jit, gcache_error *error);

/* Makes a scan of a pattern if it is a plain one; once. */
void gci_pattern_try_scan(gci_pattern *pattern);

/* Builds the automaton of all rules' paths. ERROR_LIMIT or ERROR_MEMORY. */
gcache_status gci_rules_build_states(gcache_rules *rules, gcache_error *error);

#endif
