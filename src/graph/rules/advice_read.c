/* A kind's advice.json read at run time, beside its rules: what helps after a miss (kinds/kinds.h; docs/formats/rules.md). */
#include "base/check.h"
#include "base/text/json.h"
#include "graph/rules/rules_set.h"

/* More rows than an explanation could need; each is looked at for each difference. */
#define ROWS_MAX 256

typedef gci_rules_reader reader;

static gcache_status
read_text(reader const *r, gci_value const *value, char const **out)
{
    if (value->type != GCI_STRING)
        return gci_rules_fail(r, value, "path and text", "must be strings");
    *out = gci_arena_copy(&r->rules->arena, value->text).data;
    return *out != NULL ? GCACHE_OK : gci_fail_memory(r->error);
}

static char const *const fact_words[] = {
#define X(name, word, text) word,
    GCI_ADVICE_FACT_MAP(X)
#undef X
};

static char const *const graph_words[] = {
#define X(name, word, text) word,
    GCI_ADVICE_GRAPH_MAP(X)
#undef X
};

static char const *const reason_words[] = {
#define X(name, word, text) word,
    GCACHE_REASON_MAP(X)
#undef X
};

/* Which of the words it is. */
static gcache_status
read_word(reader const *r, gci_value const *value, char const *const *words, size_t count, char const *what, size_t *out)
{
    for (*out = 0; value->type == GCI_STRING && *out < count; (*out)++)
        if (gci_view_is(value->text, words[*out]))
            return GCACHE_OK;
    return gci_rules_fail(r, value, what, "isn't one of the words for it");
}

/* where := word | [word, ..] */
static gcache_status
read_where(reader const *r, gci_value const *value, uint64_t *out)
{
    gci_value const *words = value->type == GCI_LIST ? value->items : value;
    uint32_t count = value->type == GCI_LIST ? value->count : 1;
    gcache_status status = GCACHE_OK;
    size_t fact;

    for (uint32_t i = 0; status == GCACHE_OK && i < count; i++) {
        status = read_word(r, &words[i], fact_words, GCI_FACT_COUNT, "where", &fact);
        if (status == GCACHE_OK)
            *out |= UINT64_C(1) << fact;
    }
    return status;
}

static gcache_status
read_member(reader const *r, gci_member const *member, gci_advice *row)
{
    gcache_status status;
    size_t word = 0;

    if (gci_view_is(member->name, "path"))
        return read_text(r, &member->value, &row->path);
    if (gci_view_is(member->name, "text"))
        return read_text(r, &member->value, &row->text);
    if (gci_view_is(member->name, "where"))
        return read_where(r, &member->value, &row->where);
    if (gci_view_is(member->name, "example"))
        return GCACHE_OK; /* for whoever tries it */
    if (gci_view_is(member->name, "reason")) {
        status = read_word(r, &member->value, reason_words, GCACHE_REASON_COUNT, "reason", &word);
        row->reason = (gcache_reason)word;
        return status;
    }
    if (gci_view_is(member->name, "graph")) {
        status = read_word(r, &member->value, graph_words, GCI_GRAPH_STATES, "graph", &word);
        row->graph = (gci_advice_graph)word;
        return status;
    }
    return gci_rules_fail(r, &member->value, "a row of advice", "has path, reason, where, graph, text and example");
}

/* row := { "path": string, "text": string, "reason": word, "where": where, "graph": word, "example": any } */
static gcache_status
read_row(reader const *r, gci_value const *map, gci_advice *row)
{
    gcache_status status = GCACHE_OK;

    if (map->type != GCI_MAP)
        return gci_rules_fail(r, map, "a row of advice", "must be a map");
    row->reason = GCACHE_REASON_NO_KEY;
    for (uint32_t i = 0; status == GCACHE_OK && i < map->count; i++)
        status = read_member(r, &map->members[i], row);
    if (status == GCACHE_OK && (row->text == NULL || (row->path == NULL && row->where == 0)))
        status = gci_rules_fail(r, map, "a row of advice", "needs text, and path or where");
    return status;
}

/* file := { "advice": [row, ..] } */
static gcache_status
read_rows(reader const *r, gci_value const *root)
{
    gcache_status status = GCACHE_OK;

    if (root->type != GCI_MAP || root->count != 1 || !gci_view_is(root->members[0].name, "advice"))
        return gci_rules_fail(r, root, "an advice.json", "must be a map with the member advice alone");
    gci_value const *list = &root->members[0].value;
    if (list->type != GCI_LIST || list->count > ROWS_MAX)
        return gci_rules_fail(r, list, "advice", "must be a list of at most 256 rows");
    gci_advice *rows = gci_arena_array(&r->rules->arena, (size_t)list->count + 1, sizeof *rows);
    if (rows == NULL)
        return gci_fail_memory(r->error);
    for (uint32_t i = 0; status == GCACHE_OK && i < list->count; i++)
        status = read_row(r, &list->items[i], &rows[i]);
    if (status == GCACHE_OK) {
        r->rules->advice = rows;
        r->rules->advice_count = list->count;
    }
    return status;
}

gci_advice const *
gci_rules_advice(gcache_rules const *rules, size_t *out_count)
{
    *out_count = rules != NULL ? rules->advice_count : 0;
    return rules != NULL ? rules->advice : NULL;
}

gcache_status
gcache_rules_read_advice(gcache_rules *rules, char const *text, size_t size, char const *name, gcache_error *error)
{
    reader r = { .rules = rules, .name = name, .text = gci_view_of(text, size), .error = error };
    gci_arena arena;
    gci_value root;

    GCI_REQUIRE(rules != NULL && !rules->loaded, error, "gcache_rules_read_advice needs a set that isn't a loaded kind's");
    gci_arena_init(&arena, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_json_read(r.text, name, &arena, &root, error);
    if (status == GCACHE_OK)
        status = read_rows(&r, &root);
    gci_arena_clear(&arena);
    return status;
}
