/* Descriptions as features and sketches, for the store, which knows no graphs. */
#include "cache/handle/sketching.h"

#include "graph/diff/sketch.h"

_Static_assert(GCI_SKETCH_BYTES == GCI_KEY_SKETCH_BYTES, "the store keeps sketches as they are");

bool
gci_description_features(gci_description const *description, gci_feature_fn fn, void *state)
{
    if (description->canonical.size != 0)
        return gci_features_each(description->canonical, fn, state);
    for (size_t i = 0; i < description->component_count; i++) {
        gci_component const *line = &description->components[i];
        gci_features_of_line(line->name, line->text, gci_view_of(line->hash, sizeof line->hash), fn, state);
    }
    return description->component_count != 0;
}

/* A component with so long a text, such as all options of a compiler, is the same for many descriptions one after another. */
#define LONG_TEXT ((size_t)4 << 10)

/* What the last such component adds to a sketch, of each thread. */
typedef struct gci_long_line {
    gci_sketch sketch;
    uint64_t hash; /* of its name and text; 0: none yet */
} gci_long_line;

static _Thread_local gci_long_line last_long;

static void
add_line(gci_component const *line, gci_sketch *sketch)
{
    gci_features_of_line(line->name, line->text, gci_view_of(line->hash, sizeof line->hash), gci_sketch_add, sketch);
}

static void
add_long_line(gci_component const *line, gci_sketch *sketch)
{
    uint64_t hash = gci_hash64(line->text.data, line->text.size, gci_hash64(line->name.data, line->name.size, 0));

    hash = gci_hash64(line->hash, sizeof line->hash, hash) | 1;
    if (last_long.hash != hash) {
        last_long = (gci_long_line){ .hash = hash };
        add_line(line, &last_long.sketch);
    }
    for (size_t i = 0; i < sizeof sketch->sums; i++)
        sketch->sums[i] = (uint8_t)(sketch->sums[i] + last_long.sketch.sums[i]);
}

static bool
make(gci_description const *description, uint8_t out_sketch[GCI_KEY_SKETCH_BYTES])
{
    gci_sketch sketch = { { 0 } };
    bool made = description->component_count != 0;

    if (description->canonical.size != 0)
        made = gci_description_features(description, gci_sketch_add, &sketch);
    for (size_t i = 0; description->canonical.size == 0 && i < description->component_count; i++) {
        gci_component const *line = &description->components[i];
        (line->text.size < LONG_TEXT ? add_line : add_long_line)(line, &sketch);
    }
    memcpy(out_sketch, sketch.sums, sizeof sketch.sums);
    return made;
}

static unsigned
distance(uint8_t const *a, uint8_t const *b)
{
    return gci_sketch_distance((gci_sketch const *)a, (gci_sketch const *)b);
}

gci_sketching const gci_sketching_of_features = { make, distance };
