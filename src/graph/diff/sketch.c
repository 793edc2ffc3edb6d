/* Making and comparing sketches; sketch.h says what they are. */
#include "graph/diff/sketch.h"

#define EXACT_BUCKETS 96
#define ROUGH_BUCKETS 16
#define PLACE_BUCKETS (GCI_SKETCH_BYTES - EXACT_BUCKETS - ROUGH_BUCKETS)
/* A feature is one difference; what differs in more than numbers comes second. */
#define EXACT_WEIGHT 4
/* Places are the lower bits of a distance: their sum is less than this. */
#define PLACES 4096
_Static_assert(PLACE_BUCKETS * 128 < PLACES, "a bucket differs by 128 at most");

static void
tug(uint8_t *buckets, unsigned count, uint64_t hash)
{
    unsigned at = (unsigned)((hash >> 32) * count >> 32);

    buckets[at] = (uint8_t)(buckets[at] + ((hash & 1) != 0 ? 1 : UINT8_MAX));
}

void
gci_sketch_add(void *state, gci_feature const *feature)
{
    gci_sketch *sketch = state;

    if (feature->sort != GCI_FEATURE_PORT) {
        tug(sketch->sums, EXACT_BUCKETS, feature->exact);
        tug(sketch->sums + EXACT_BUCKETS + ROUGH_BUCKETS, PLACE_BUCKETS, feature->place);
    }
    tug(sketch->sums + EXACT_BUCKETS, ROUGH_BUCKETS, feature->rough);
}

static unsigned
sum_of_differences(uint8_t const *a, uint8_t const *b, unsigned count)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < count; i++) {
        uint8_t difference = (uint8_t)(a[i] - b[i]), opposite = (uint8_t)(b[i] - a[i]);
        sum += difference < opposite ? difference : opposite;
    }
    return sum;
}

unsigned
gci_sketch_distance(gci_sketch const *a, gci_sketch const *b)
{
    uint8_t const *rough[2] = { a->sums + EXACT_BUCKETS, b->sums + EXACT_BUCKETS };
    unsigned differ = EXACT_WEIGHT * sum_of_differences(a->sums, b->sums, EXACT_BUCKETS) +
                      sum_of_differences(rough[0], rough[1], ROUGH_BUCKETS);

    return differ * PLACES + sum_of_differences(rough[0] + ROUGH_BUCKETS, rough[1] + ROUGH_BUCKETS, PLACE_BUCKETS);
}

/* As long as few share a bucket their number is the sum; of many a bucket is left with what a random walk is left with, the square
   root of 2 n / pi. A feature that changed is two. */
unsigned
gci_sketch_estimate(unsigned distance)
{
    double sum = (double)(distance / PLACES) / (EXACT_WEIGHT + 1), many = sum * sum * 3.14159265 / (2 * EXACT_BUCKETS);

    return (unsigned)((sum > many ? sum : many) / 2);
}

/* A feature that changed takes two hashes away or adds them, exact and rough ones alike. Placeholders have rough ones only, which
   leaves the bound a little too high where inputs come and go: so does what differs then. */
unsigned
gci_sketch_least(unsigned distance)
{
    unsigned most = 2 * EXACT_WEIGHT + 2;

    return (distance / PLACES + most - 1) / most;
}
