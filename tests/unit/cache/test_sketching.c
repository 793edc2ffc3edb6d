/* Sketches of descriptions that somebody else's key came with: a long component is added up once, and counts as any other. */
#include "fixture.h"

#include "cache/handle/sketching.h"
#include "graph/diff/sketch.h"

#define LINES 400

static char *
long_text(char const *value)
{
    size_t room = LINES * 64;
    char *text = malloc(room), *at = text;

    assert_non_null(text);
    for (int i = 0; i < LINES; i++)
        at += sprintf(at, "option_%d = %s\n", i, i == LINES / 2 ? value : "usual");
    return text;
}

static gci_component
component(char const *name, char const *text, uint8_t hash)
{
    gci_component made = { .name = gci_view_text(name), .text = gci_view_text(text) };

    memset(made.hash, hash, sizeof made.hash);
    return made;
}

/* Feature by feature, without anything remembered. */
static void
assert_is_sum(gci_description const *description, uint8_t const sketch[GCI_KEY_SKETCH_BYTES])
{
    gci_sketch sum = { { 0 } };

    assert_true(gci_description_features(description, gci_sketch_add, &sum));
    assert_memory_equal(sum.sums, sketch, sizeof sum.sums);
}

static void
test_a_long_text_counts_as_any_other(void **state)
{
    char *texts[] = { long_text("usual"), long_text("other") };
    uint8_t sketches[2][GCI_KEY_SKETCH_BYTES];

    (void)state;
    for (int round = 0; round < 6; round++) {
        int which = round % 3 == 2; /* twice the same, then the other */
        char const *name = round < 3 ? "inductor_config" : "another";
        gci_component components[] = { component("gm", "short", 1), component(name, texts[which], (uint8_t)(2 + which)) };
        gci_description description = { .components = components, .component_count = 2 };
        assert_true(gci_sketching_of_features.make(&description, sketches[which]));
        assert_is_sum(&description, sketches[which]);
    }
    assert_memory_not_equal(sketches[0], sketches[1], sizeof sketches[0]);
    free(texts[0]);
    free(texts[1]);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_a_long_text_counts_as_any_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
