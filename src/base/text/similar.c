/*
 * The nearest of a few words, by the distance between neighbours: "optimal string alignment", which is Damerau's where no part
 * is changed twice. Three rows of the table are kept: two swapped letters look two rows back.
 */
#include "base/text/similar.h"

#include <stdio.h>
#include <string.h>

/* Longer texts are no words: nobody means one of ours by them. */
#define LETTERS_MAX 40
/* Fewer letters begin too many words. */
#define BEGINNING_MIN 3

typedef struct row {
    size_t at[LETTERS_MAX + 1];
} row;

static size_t
least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The row for letter i of a (from 1), from the one and the two before it. */
static row
next_row(gci_view a, gci_view b, size_t i, row const *before, row const *earlier)
{
    row now = { .at = { i } };

    for (size_t j = 1; j <= b.size; j++) {
        bool other = a.data[i - 1] != b.data[j - 1];
        now.at[j] = least(least(before->at[j], now.at[j - 1]) + 1, before->at[j - 1] + other);
        if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
            now.at[j] = least(now.at[j], earlier->at[j - 2] + 1);
    }
    return now;
}

/* Both have at most LETTERS_MAX bytes. */
static size_t
distance_of(gci_view a, gci_view b)
{
    row earlier = { 0 }, before = { 0 };

    for (size_t j = 0; j <= b.size; j++)
        before.at[j] = j;
    for (size_t i = 1; i <= a.size; i++) {
        row now = next_row(a, b, i, &before, &earlier);
        earlier = before;
        before = now;
    }
    return before.at[b.size];
}

gci_similar
gci_similar_to(gci_view written)
{
    size_t most = written.size < 6 ? 1 : written.size / 3;

    return (gci_similar){ .written = written, .distance = most + 1 };
}

void
gci_similar_offer(gci_similar *similar, char const *word)
{
    gci_view written = similar->written, whole = gci_view_text(word);

    if (written.size == 0 || written.size > LETTERS_MAX || whole.size > LETTERS_MAX)
        return;
    size_t distance = distance_of(written, whole);
    if (written.size >= BEGINNING_MIN && whole.size > written.size && memcmp(written.data, whole.data, written.size) == 0)
        distance = 1;
    if (distance >= similar->distance)
        return;
    similar->word = word;
    similar->distance = distance;
}

gci_similar_text
gci_similar_question(gci_similar const *similar, char const *before)
{
    gci_similar_text question = { "" };

    if (similar->word != NULL)
        snprintf(question.text, sizeof question.text, "; did you mean %s%s?", before, similar->word);
    return question;
}
