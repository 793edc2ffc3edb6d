/*
 * Did you mean: which of a few words is near enough.
 */
#include "base/text/similar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static char const *const words[] = { "graph", "guards", "hint", "hints", "max-size", "max-candidates", "rm", "fx", NULL };

/* The word that is meant; NULL: none of them. */
static char const *
meant_by(char const *written)
{
    gci_similar similar = gci_similar_to(gci_view_text(written));

    for (size_t i = 0; words[i] != NULL; i++)
        gci_similar_offer(&similar, words[i]);
    return similar.word;
}

static void
test_near(void **state)
{
    static char const *const pairs[][2] = { { "grpah", "graph" }, { "garph", "graph" },       { "grap", "graph" },
                                            { "graphh", "graph" }, { "gaph", "graph" },       { "guard", "guards" },
                                            { "hnt", "hint" },     { "max_size", "max-size" }, { "maxsize", "max-size" },
                                            { "max-candidtaes", "max-candidates" },
                                            { "max-c", "max-candidates" }, { "fxx", "fx" },    { "rn", "rm" } };

    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_string_equal(meant_by(pairs[i][0]), pairs[i][1]);
}

static void
test_far(void **state)
{
    static char const *const far[] = { "", "nix", "paragraph", "zzzzzzzz", "gr",
                                       "graphgraphgraphgraphgraphgraphgraphgraphgraph", NULL };

    (void)state;
    /* `max` begins two; the first that was offered is meant. */
    assert_string_equal(meant_by("max"), "max-size");
    for (size_t i = 0; far[i] != NULL; i++)
        assert_null(meant_by(far[i]));
}

static void
test_question(void **state)
{
    gci_similar similar = gci_similar_to(gci_view_text("grpah"));

    (void)state;
    assert_string_equal(gci_similar_question(&similar, "--").text, "");
    gci_similar_offer(&similar, "graph");
    assert_string_equal(gci_similar_question(&similar, "--").text, "; did you mean --graph?");
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_far),
        cmocka_unit_test(test_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
