/*
 * The kinds that are compiled in: a folder each, which embed.py makes the tables of.
 *
 *   rules.json    what of a description is volatile, with examples that are tests (docs/formats/rules.md)
 *   advice.json   what helps after a miss, in the words of the user's own framework; {"as": kind} has another kind's
 *   examples/     programs that run into a miss, follow the advice, and see that it helps (docs/advice.md)
 */
#ifndef GCI_KINDS_H
#define GCI_KINDS_H

#include <guardcache/status.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gci_shipped_rules {
    char const *kind;
    char const *text; /* the file as it stands */
    size_t text_size;
    char const *rules; /* the same without reasons and examples: what a key needs, in a tenth of the time */
    size_t rules_size;
} gci_shipped_rules;

/* By kind. */
extern gci_shipped_rules const gci_shipped[];
extern size_t const gci_shipped_count;

/*
 * What an advice may ask for: name, word in advice.json, meaning. An input is one of `inputs`, or a line of PyTorch's key
 * about one (example_inputs[0]: f32[4, 16][16, 1]cpu).
 */
#define GCI_ADVICE_FACT_MAP(X)                                                                              \
    X(SIZES, "sizes", "both values are integers; of an input's line: only sizes that are integers differ") \
    X(ADDRESSES, "addresses", "both values hold an address")                                                \
    X(SHAPES, "shapes", "a text that differs only in the sizes of tensors")                                 \
    X(LINE, "line", "a text of which one line, name = value, differs")                                      \
    X(SEVERAL, "several", "more differs in the same component")                                             \
    X(ALONE, "alone", "nothing else differs")                                                               \
    X(NOT_STORED, "not-stored", "the stored side has nothing there")                                        \
    X(ZERO_ONE, "zero-one", "a size is 0 or 1 on one side, and another on the other")                        \
    X(TO_SYMBOL, "static-to-dynamic", "a size of an input that was a number is a symbol")                   \
    X(FROM_SYMBOL, "dynamic-to-static", "a size of an input that was a symbol is a number")                 \
    X(MERGED, "merged", "sizes of inputs that had one symbol have several, or the reverse")                 \
    X(SCALAR, "number", "a number by itself became an input")                                               \
    X(PARAMETER, "parameter", "sizes of a module's parameters or buffers differ, too")                      \
    X(MARKS, "marks", "all sizes that vary are known: {marks} are calls of mark_dynamic for each")          \
    X(ONLY_SIZE, "only-size", "nothing differs but sizes, and what follows from them")                      \
    X(DTYPE, "dtype", "the element type of an input differs, its sizes don't")                              \
    X(DEVICE, "device", "an input lies on another device")                                                  \
    X(REQUIRES_GRAD, "requires-grad", "an input requires gradients on one side only")                       \
    X(STRIDES, "strides", "an input of the same sizes lies in memory in another order")                     \
    X(CONTIGUOUS, "contiguous", "the stored strides that differ are those of a contiguous tensor")          \
    X(IMAGES, "images", "that input has four dimensions, as images have")                                   \
    X(CASTS, "casts", "conversions to an element type of 16 bits were added to the graph, or taken out")    \
    X(TRAINING, "training", "the same function; what a module does only in training is in one graph only")  \
    X(SIZED, "size", "what varies is known as a size of a tensor: {tensor}, {dim}")                         \
    X(NAMED, "named", "what varies has a name in the user's program: {source}")                             \
    X(EQUALITY, "equality", "a guard for one value of a symbol: {low}")                                     \
    X(MODULUS, "modulus", "a guard for multiples of {modulus}; the next multiple, {multiple}, would hit")   \
    X(EVERY, "every-candidate", "each candidate has that guard, and fails by it")                           \
    X(BOUND, "bound", "a guard for what is above or below a number: {bound}")                               \
    X(INT32, "int32", "a guard for what an index of 32 bits can count")                                     \
    X(LOOKUP_ERROR, "missing-name", "a guard reads a name that has no value")                               \
    X(BY_SIZE, "by-size", "evicted because the cache was full")                                             \
    X(BY_AGE, "by-age", "evicted by the cache's age limit")                                                 \
    X(BY_GC, "by-gc", "evicted by gc to a size")                                                            \
    X(BY_GC_AGE, "by-gc-age", "evicted by gc for what was unused")                                          \
    X(BY_SPACE, "by-space", "evicted because the disk was full")                                            \
    X(BY_KEY_FULL, "by-key-full", "evicted because the key had too many candidates")                        \
    X(CAP_KNOWN, "cap-known", "the size cap that would have kept it is known: {cap}, {room}")               \
    X(UNPROVIDED, "unprovided", "the lookup says nothing about what a candidate requires")                   \
    X(VARIANT, "variant", "the candidate has a variant: {stored}")

typedef enum gci_advice_fact {
#define X(name, word, text) GCI_FACT_##name,
    GCI_ADVICE_FACT_MAP(X)
#undef X
    GCI_FACT_COUNT
} gci_advice_fact;

#define GCI_FACT_BIT(name) (UINT64_C(1) << GCI_FACT_##name)

/* How far the graphs of both sides may differ where an advice is still right. */
#define GCI_ADVICE_GRAPH_MAP(X)                                                                 \
    X(SAME, "same", "their nodes are equal")                                                    \
    X(OPERATIONS, "operations", "names and numbers may differ, the operations are the same")    \
    X(CASTS, "casts", "conversions of element types may be on one side only, too")              \
    X(ANY, "any", "they may differ in any way, and inputs too: it follows")                     \
    X(ALL, "all", "whatever else differs, the advice says all there is to say")

typedef enum gci_advice_graph {
#define X(name, word, text) GCI_GRAPH_##name,
    GCI_ADVICE_GRAPH_MAP(X)
#undef X
    GCI_GRAPH_STATES
} gci_advice_graph;

/* What a text may name in braces: name and word. */
#define GCI_ADVICE_VALUE_MAP(X)                                                                                       \
    X(NAME, "name") X(STORED, "stored") X(ASKED, "asked") X(SOURCE, "source") X(TENSOR, "tensor") X(DIM, "dim")       \
    X(MARKS, "marks") X(INPUTS, "inputs")                                                                             \
    X(MODULUS, "modulus") X(MULTIPLE, "multiple") X(LOW, "low") X(BOUND, "bound") X(CAP, "cap") X(ROOM, "room") X(THEM, "them")

typedef enum gci_advice_value {
#define X(name, word) GCI_VALUE_##name,
    GCI_ADVICE_VALUE_MAP(X)
#undef X
    GCI_VALUE_COUNT
} gci_advice_value;

/*
 * What helps after a miss. A row is here only because doing what it says is known to turn the miss into a hit, or because
 * nothing can and the reader should stop searching. The first row that fits wins: those before all kinds', the kind's own,
 * those after all kinds' (generic). A row without text fits what isn't the user's business: nothing is said of it.
 *
 * A text may have {enough: words}: they are shown if the advice, followed, makes a hit: by all that differs, and by
 * the guards of what is stored. Values may stand among them.
 * A row doesn't fit where its text names a value that isn't there.
 */
typedef struct gci_advice {
    char const *kind;      /* NULL: all */
    gcache_reason reason;
    char const *path;      /* beginnings of the path that differs, of a requirement's name or of what a bypass says, with |
                              between them; * stands for an index. "" or NULL: any */
    uint64_t where;        /* bits of gci_advice_fact: all must be so */
    gci_advice_graph graph;
    char const *text;
} gci_advice;

extern gci_advice const gci_advice_rows[];
extern size_t const gci_advice_count;

#endif
