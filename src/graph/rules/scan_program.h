/*
 * What a plain pattern becomes: between its reader (scan_read.c), its builder (scan_build.c) and its use (scan_find.c).
 *
 * subset    := [ "(?m)" ] choice                     a match has at least one byte
 * choice    := sequence { "|" sequence }             "(*SKIP)(*F)" may end a sequence of the outermost choice
 * sequence  := { item [ "*" | "+" | "?" | "{" n [ "," [ n ] ] "}" ] [ "?" ] }
 * item      := character | "." | class | "^" | "$" | "\A" | "\z" | "\b" | group | "(?&" name ")"
 * group     := "(" | "(?:" | "(?|" | "(?<" name ">" | "(?=" | "(?!" | "(?<=" | "(?<!"  choice ")"
 *
 * Characters are of ASCII, but that a negated class and "." have all others. Of groups only the first is kept.
 *
 * Invariants:
 *  1. A group is repeated only where each byte says whether it is repeated once more, and how: nothing is tried within it
 *     that is taken back. So a walk calls itself at most as often as the pattern has choices.
 *  2. A group's body has at least a byte, so that a walk ends.
 *  3. There is at most one "(?&name)": where a group returns to is known, and how often is a number.
 */
#ifndef GCI_GRAPH_SCAN_PROGRAM_H
#define GCI_GRAPH_SCAN_PROGRAM_H

#include "graph/rules/scan.h"

#define GCI_SCAN_MAX 256 /* nodes of a tree and of a program */
#define GCI_SCAN_MAX_SETS 48
#define GCI_SCAN_MANY UINT16_MAX

typedef enum gci_scan_op {
    GCI_SCAN_SET,        /* a character of `set` */
    GCI_SCAN_RUN,        /* low to high of them */
    GCI_SCAN_SPLIT,      /* `other`, or else next */
    GCI_SCAN_OPEN,       /* the first group begins */
    GCI_SCAN_CLOSE,      /* and ends */
    GCI_SCAN_CALL,       /* the group at `other`, then next */
    GCI_SCAN_RETURN,     /* to behind the call, `other`; next if there was none */
    GCI_SCAN_LINE_START, /* "^" with "(?m)" */
    GCI_SCAN_LINE_END,
    GCI_SCAN_TEXT_START,
    GCI_SCAN_TEXT_END,
    GCI_SCAN_WORD_EDGE,
    GCI_SCAN_LOOK,     /* `other` matches here */
    GCI_SCAN_LOOK_NOT,
    GCI_SCAN_BACK,     /* `low` bytes back */
    GCI_SCAN_SKIP,     /* no match before here */
    GCI_SCAN_END,
    /* of trees only */
    GCI_SCAN_SEQUENCE,
    GCI_SCAN_CHOICE,
    GCI_SCAN_GROUP,    /* the first one, or one that is called */
    GCI_SCAN_REPEAT    /* low to high times, its one child */
} gci_scan_op;

/* A node of a tree. Children are a list. */
typedef struct gci_scan_tree {
    gci_scan_op op;
    bool lazy, behind, first, whole;
    uint16_t set, low, high;
    uint16_t child, last, sibling; /* 0: none */
    gci_view name;
} gci_scan_tree;

/* 256 is the end of the text. */
typedef struct gci_scan_bytes {
    uint64_t bits[5];
} gci_scan_bytes;

typedef struct gci_scan_node {
    uint8_t op;
    bool lazy;
    bool repeats; /* a split that is come back to, or what is within what is repeated */
    bool apart;   /* a run: what follows begins with no byte of it, or is a run of it again */
    uint16_t next, other, set, low, high;
    gci_scan_bytes here, there; /* what next and `other` may begin with */
} gci_scan_node;

typedef struct gci_scan_set {
    uint8_t has[256];
    gci_scan_bytes bytes; /* the same */
    uint8_t low[16]; /* of ASCII: bit h of low[l] is that of the byte whose halves are h and l */
    int16_t but; /* the one byte that it hasn't; -1 if it isn't so */
    bool wide;   /* has what is beyond ASCII */
} gci_scan_set;

/* A pattern as it was read. */
typedef struct gci_scan_source {
    gci_view text;
    size_t at;
    bool lines, failed;
    uint16_t count, set_count, groups, calls, depth;
    gci_scan_tree trees[GCI_SCAN_MAX];
    gci_scan_set sets[GCI_SCAN_MAX_SETS];
} gci_scan_source;

/* The bytes that a match begins with are looked at before a walk: so many. */
#define GCI_SCAN_LEAD 4

/* The nodes that a match may begin with are a bit each, the last ones share theirs. */
#define GCI_SCAN_WAYS 8

/* Where a match may begin. */
typedef enum gci_scan_place { GCI_SCAN_MIDDLE, GCI_SCAN_AT_LINE, GCI_SCAN_AT_TEXT, GCI_SCAN_PLACES } gci_scan_place;

/* Places looked at at once. */
#define GCI_SCAN_LANES 32

/* A byte that each match has, by its ways. A byte's ways are those that both of its halves have, of four bits each: some more
   than it has itself. */
typedef struct gci_scan_mark {
    uint8_t place; /* 0: it is the byte before, 1: the first one */
    uint8_t low[16], high[16];
    bool is_few;
    uint8_t few[4]; /* those that have any, if they are so few; repeated */
} gci_scan_mark;

struct gci_scan {
    uint16_t root;
    gci_scan_node *nodes;
    gci_scan_set *sets;
    /* leads[i]: the ways with which byte i of a match may be this one; places: those a match may begin with there. */
    uint8_t leads[GCI_SCAN_LEAD][257];
    uint8_t places[GCI_SCAN_PLACES];
    /* Each match behind the text's start has both marks with a way in common. It begins there; or, if it `reaches`, at most as
       far before as there are no `breaks`. */
    gci_scan_mark marks[2];
    bool reaches;
    gci_scan_set breaks;
    bool has_lanes; /* this processor can look at many places at once */
};

/* The first of these bytes from c on; 256: there is none. */
static inline unsigned
gci_scan_next_byte(gci_scan_bytes const *bytes, unsigned c)
{
    for (; c < 256; c = (c | 63) + 1) {
        uint64_t left = bytes->bits[c >> 6] >> (c & 63);
        if (left != 0)
            return c + (unsigned)__builtin_ctzll(left);
    }
    return 256;
}

/* for (each byte c of these) */
#define GCI_SCAN_EACH(c, bytes) (unsigned c = gci_scan_next_byte(bytes, 0); c < 256; c = gci_scan_next_byte(bytes, c + 1))

static inline unsigned
gci_scan_ways(gci_scan_mark const *mark, unsigned byte)
{
    return mark->low[byte & 15] & mark->high[byte >> 4];
}

static inline bool
gci_scan_has(gci_scan_bytes const *bytes, unsigned byte)
{
    return bytes->bits[byte >> 6] >> (byte & 63) & 1;
}

/* Fills in what follows from `has`. */
void gci_scan_finish_set(gci_scan_set *set);

/* The outermost choice; 0: it isn't of the subset. */
uint16_t gci_scan_read(gci_scan_source *source);

#endif
