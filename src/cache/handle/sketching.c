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

static bool
make(gci_description const *description, uint8_t out_sketch[GCI_KEY_SKETCH_BYTES])
{
    gci_sketch sketch = { { 0 } };

    bool made = gci_description_features(description, gci_sketch_add, &sketch);
    memcpy(out_sketch, sketch.sums, sizeof sketch.sums);
    return made;
}

static unsigned
distance(uint8_t const *a, uint8_t const *b)
{
    return gci_sketch_distance((gci_sketch const *)a, (gci_sketch const *)b);
}

gci_sketching const gci_sketching_of_features = { make, distance };
