/*
 * The longest common subsequence: E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986.
 */
#include "graph/sequence/lcs.h"

#include <stdlib.h>
#include <string.h>

/* How far ahead the greedy way looks for an equal: further would skip too much that could match. */
#define GREEDY_WINDOW 256

/* What is left of two sequences without their common ends. */
typedef struct middle {
    uint64_t const *a, *b;
    int32_t n, m;
    uint32_t offset;     /* of both in the whole */
    uint32_t *match;     /* out_match from offset on */
} middle;

static bool
match_greedily(middle const *s)
{
    int32_t from = 0;

    for (int32_t i = 0; i < s->n; i++) {
        int32_t end = s->m - from < GREEDY_WINDOW ? s->m : from + GREEDY_WINDOW;
        int32_t k = from;
        while (k < end && s->b[k] != s->a[i])
            k++;
        if (k < end) {
            s->match[i] = s->offset + (uint32_t)k;
            from = k + 1;
        }
    }
    return true;
}

/* The rows of furthest points for 0 to d changes lie behind one another: row d has 2d + 1 of them. */
static size_t
row_start(int32_t d)
{
    return (size_t)d * (size_t)d;
}

static void
trace_back(middle const *s, int32_t const *rows, int32_t d)
{
    int32_t x = s->n, y = s->m;

    for (; d >= 0; d--) {
        int32_t k = x - y, before_k = 0, before_x = 0;
        if (d > 0) {
            int32_t const *row = rows + row_start(d - 1) + (d - 1);
            bool down = k == -d || (k != d && row[k - 1] < row[k + 1]);
            before_k = down ? k + 1 : k - 1;
            before_x = row[before_k];
        }
        int32_t before_y = before_x - before_k;
        int32_t run_x = d == 0 ? 0 : before_k == k + 1 ? before_x : before_x + 1;
        while (x > run_x) {
            x--;
            y--;
            s->match[x] = s->offset + (uint32_t)y;
        }
        x = before_x;
        y = before_y;
    }
}

static bool
match_middle(middle const *s)
{
    int32_t limit = s->n + s->m < GCI_LCS_MAX_CHANGES ? s->n + s->m : GCI_LCS_MAX_CHANGES;
    size_t room = 64;
    int32_t *rows = malloc(room * sizeof *rows);

    for (int32_t d = 0; d <= limit; d++) {
        while (room < row_start(d + 1) && rows != NULL) {
            int32_t *more = realloc(rows, (room *= 2) * sizeof *rows);
            if (more == NULL)
                free(rows);
            rows = more;
        }
        if (rows == NULL)
            return false;
        int32_t *row = rows + row_start(d) + d, *before = d > 0 ? rows + row_start(d - 1) + (d - 1) : NULL;
        for (int32_t k = -d; k <= d; k += 2) {
            int32_t x = d == 0 ? 0 : k == -d || (k != d && before[k - 1] < before[k + 1]) ? before[k + 1] : before[k - 1] + 1;
            while (x < s->n && x - k < s->m && x >= k && s->a[x] == s->b[x - k])
                x++;
            row[k] = x;
            if (x >= s->n && x - k >= s->m) {
                trace_back(s, rows, d);
                free(rows);
                return true;
            }
        }
    }
    free(rows);
    return match_greedily(s);
}

bool
gci_lcs(uint64_t const *a, uint32_t a_count, uint64_t const *b, uint32_t b_count, uint32_t *out_match)
{
    uint32_t start = 0, shorter = a_count < b_count ? a_count : b_count, end = 0;

    for (uint32_t i = 0; i < a_count; i++)
        out_match[i] = GCI_LCS_NONE;
    while (start < shorter && a[start] == b[start]) {
        out_match[start] = start;
        start++;
    }
    while (end < shorter - start && a[a_count - 1 - end] == b[b_count - 1 - end]) {
        out_match[a_count - 1 - end] = b_count - 1 - end;
        end++;
    }
    middle s = { .a = a + start, .b = b + start, .n = (int32_t)(a_count - start - end),
                 .m = (int32_t)(b_count - start - end), .offset = start, .match = out_match + start };
    return s.n == 0 || s.m == 0 || match_middle(&s);
}
