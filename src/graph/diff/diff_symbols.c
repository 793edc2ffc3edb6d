/*
 * Symbols of one form and of the other, matched up by where they stand.
 */
#include "base/array.h"
#include "graph/diff/diff_run.h"
#include "guards/guards.h"

static uint32_t
map_symbol(gci_diff_run *run, gci_symbol_map *map, gci_view name)
{
    bool is_new = false;
    uint32_t number = gci_intern_add(&map->names, name, &is_new);

    if (number == GCI_INTERN_NONE || !gci_array_has_room(&map->to, number, &map->room, sizeof *map->to)) {
        run->failed = true;
        return GCI_INTERN_NONE;
    }
    if (is_new)
        map->to[number] = GCI_INTERN_NONE;
    return number;
}

/* Canonical symbols are a letter and digits. */
static size_t
symbol_at(gci_view text, size_t at)
{
    size_t end = at;
    bool behind_word = at > 0 && (text.data[at - 1] == '_' || (text.data[at - 1] >= '0' && text.data[at - 1] <= '9') ||
                                  (text.data[at - 1] >= 'A' && text.data[at - 1] <= 'z'));

    if (behind_word || text.data[at] < 'A' || text.data[at] > 'z')
        return 0;
    for (end = at + 1; end < text.size && text.data[end] >= '0' && text.data[end] <= '9';)
        end++;
    bool more = end < text.size && ((text.data[end] >= 'A' && text.data[end] <= 'z') || text.data[end] == '(');
    return end > at + 1 && !more ? end - at : 0;
}

/* Matches up the symbols of two expressions of one shape; with `set`, new pairs are kept. */
static bool
match_symbols(gci_diff_run *run, gci_view stored, gci_view asked, bool set)
{
    size_t i = 0, k = 0;

    while (i < stored.size && k < asked.size) {
        size_t a = symbol_at(stored, i), b = symbol_at(asked, k);
        if ((a == 0) != (b == 0) || (a == 0 && stored.data[i] != asked.data[k]))
            return false;
        if (a == 0) {
            i++;
            k++;
            continue;
        }
        uint32_t x = map_symbol(run, &run->stored_symbols, gci_view_of(stored.data + i, a));
        uint32_t y = map_symbol(run, &run->asked_symbols, gci_view_of(asked.data + k, b));
        if (run->failed || stored.data[i] != asked.data[k])
            return false;
        uint32_t *to = &run->stored_symbols.to[x], *back = &run->asked_symbols.to[y];
        if ((*to != GCI_INTERN_NONE && *to != y) || (*back != GCI_INTERN_NONE && *back != x))
            return false;
        if (set) {
            *to = y;
            *back = x;
        }
        i += a;
        k += b;
    }
    return i == stored.size && k == asked.size;
}

static gci_view
other_name(gci_symbol_map const *map, gci_symbol_map const *others, gci_view name)
{
    uint32_t number = gci_intern_find(&map->names, name);

    return number == GCI_INTERN_NONE || map->to[number] == GCI_INTERN_NONE ? name : others->names.texts[map->to[number]];
}

static gci_view
asked_name(void const *state, gci_view name)
{
    gci_diff_run const *run = state;

    return other_name(&run->stored_symbols, &run->asked_symbols, name);
}

static gci_view
stored_name(void const *state, gci_view name)
{
    gci_diff_run const *run = state;

    return other_name(&run->asked_symbols, &run->stored_symbols, name);
}

static bool
write_renamed(gci_diff_run const *run, gci_view expression, bool of_asked, gci_buf *out)
{
    gci_arena arena;
    gcache_error error;

    gci_arena_init(&arena, (size_t)1 << 24);
    gci_expr *expr = gci_expr_read(expression, &arena, &error);
    if (expr != NULL)
        gci_expr_write(expr, (gci_naming){ .rename = of_asked ? stored_name : asked_name, .state = run }, out);
    gci_arena_clear(&arena);
    return expr != NULL && !out->failed;
}

bool
gci_diff_rename(gci_diff_run const *run, gci_view expression, bool of_asked, gci_buf *out)
{
    return write_renamed(run, expression, of_asked, out) && !gci_view_equal(gci_buf_view(out), expression);
}

/* Operands are ordered by name, so a renamed expression must be brought to normal form again before it is compared. */
static bool
same_renamed(gci_diff_run const *run, gci_view stored, gci_view asked)
{
    gci_buf written;

    gci_buf_init(&written, GCI_BUF_NO_LIMIT);
    bool same = write_renamed(run, stored, false, &written) && gci_view_equal(gci_buf_view(&written), asked);
    gci_buf_clear(&written);
    return same;
}

bool
gci_diff_same_expression(gci_diff_run *run, gci_view stored, gci_view asked)
{
    if (run->literal)
        return gci_view_equal(stored, asked);
    if (match_symbols(run, stored, asked, false))
        return match_symbols(run, stored, asked, true);
    return same_renamed(run, stored, asked);
}
