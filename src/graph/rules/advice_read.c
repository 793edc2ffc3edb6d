/* A kind's advice.json read at run time, beside its rules: what helps after a miss (kinds/kinds.h; docs/formats/rules.md). */
#include "base/text/json.h"
#include "graph/rules/rules_set.h"

/* More rows than an explanation could need; each is looked at for each difference. */
#define ROWS_MAX 256

typedef gci_rules_reader reader;

static gcache_status
read_text(reader const *r, gci_value const *value, char const **out)
{
    if (value->type != GCI_STRING)
        return gci_rules_fail(r, value, "path, where and text", "must be strings");
    *out = gci_arena_copy(&r->rules->arena, value->text).data;
    return *out != NULL ? GCACHE_OK : gci_fail_memory(r->error);
}

static gcache_status
read_where(reader const *r, gci_value const *value, gci_advice_where *out)
{
    static char const *const words[] = {
        [GCI_ADVICE_ALWAYS] = "always", [GCI_ADVICE_SIZES] = "sizes", [GCI_ADVICE_ADDRESSES] = "addresses",
        [GCI_ADVICE_SHAPES] = "shapes",
    };

    for (size_t i = 0; value->type == GCI_STRING && i < sizeof words / sizeof *words; i++) {
        if (gci_view_is(value->text, words[i])) {
            *out = (gci_advice_where)i;
            return GCACHE_OK;
        }
    }
    return gci_rules_fail(r, value, "where", "must be always, sizes, addresses or shapes");
}

/* row := { "path": string, "text": string, "where": string } */
static gcache_status
read_row(reader const *r, gci_value const *map, gci_advice *row)
{
    gcache_status status = GCACHE_OK;

    if (map->type != GCI_MAP)
        return gci_rules_fail(r, map, "a row of advice", "must be a map");
    for (uint32_t i = 0; status == GCACHE_OK && i < map->count; i++) {
        gci_member const *member = &map->members[i];
        if (gci_view_is(member->name, "path"))
            status = read_text(r, &member->value, &row->path);
        else if (gci_view_is(member->name, "text"))
            status = read_text(r, &member->value, &row->text);
        else if (gci_view_is(member->name, "where"))
            status = read_where(r, &member->value, &row->where);
        else
            status = gci_rules_fail(r, &member->value, "a row of advice", "has path, where and text");
    }
    if (status == GCACHE_OK && (row->path == NULL || row->text == NULL))
        status = gci_rules_fail(r, map, "a row of advice", "needs path and text");
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

    gci_arena_init(&arena, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_json_read(r.text, name, &arena, &root, error);
    if (status == GCACHE_OK)
        status = read_rows(&r, &root);
    gci_arena_clear(&arena);
    return status;
}
