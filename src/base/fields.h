/*
 * Field tables: a binary format is written down once, as a table of its fields, and written and read by two functions.
 *
 * The byte tables in docs/formats/ are printed from the same tables (tests/lint/print_fields.c), so page and code agree.
 *
 * Everything is little-endian. Reading is bounded by the input: a count of items is believed only if so many can be there,
 * a number only up to its `most`. Damage sets reader->failed and leaves zeros and empty texts; want of memory sets
 * arena->failed too. Texts and lists of texts point into the input, which must outlive them; arrays live in the arena.
 */
#ifndef GCI_BASE_FIELDS_H
#define GCI_BASE_FIELDS_H

#include "base/arena.h"
#include "base/codec.h"
#include "base/digest.h"

typedef enum gci_field_type {
    GCI_FIELD_NUMBER,   /* `size` bytes; in memory an integer, enumeration, bool or double of `width` bytes */
    GCI_FIELD_BYTES,    /* exactly `size` bytes */
    GCI_FIELD_CONSTANT, /* the same `size` bytes always; others are damage */
    GCI_FIELD_HEX,      /* `size` bytes; in memory twice as many hex digits and a zero */
    GCI_FIELD_TEXT,     /* a 32-bit length, the bytes, and a zero that isn't counted; in memory a gci_view */
    GCI_FIELD_STRING,   /* the same; in memory a C string, and NULL is written as "" */
    GCI_FIELD_CHARS,    /* the same; in memory an array of `width` chars, which a longer text is cut to */
    GCI_FIELD_STRUCT,   /* the fields of a struct inside */
    GCI_FIELD_OPTION,   /* a byte, 0 or 1, then so many items; in memory a pointer, NULL for none */
    GCI_FIELD_LIST,     /* a 32-bit count, then the items; in memory a pointer, and a count of `width` bytes at `count_at` */
    GCI_FIELD_SUM64,    /* XXH3-64 of the item's bytes before */
    GCI_FIELD_SUM128    /* XXH3-128 of them, low half first */
} gci_field_type;

typedef struct gci_fields gci_fields;

typedef struct gci_field {
    gci_field_type type;
    char const *name, *what; /* for the byte tables */
    size_t at, count_at;     /* offsets in the struct */
    size_t size, width;
    uint64_t most;           /* of a number */
    char const *bytes;       /* of a constant */
    gci_fields const *item;
} gci_field;

struct gci_fields {
    char const *name; /* what docs/formats/ calls the table */
    gci_field const *fields;
    size_t count;
    size_t size; /* of the struct */
};

/* Appends a value. Failures show in buf->failed. */
void gci_fields_write(gci_buf *buf, gci_fields const *fields, void const *value);

/* Reads a value that the reader stands at. See reader->failed and arena->failed. Without lists and options the arena may be
   NULL. */
void gci_fields_read(gci_reader *reader, gci_fields const *fields, gci_arena *arena, void *out_value);

/* The same for a value that takes all of bytes. false: damage, or no memory (arena->failed). */
bool gci_fields_read_all(gci_view bytes, gci_fields const *fields, gci_arena *arena, void *out_value);

/* The fewest bytes that a value takes: all of them for a table without texts, options and lists. */
size_t gci_fields_least(gci_fields const *fields);

/* ---- tables ---- */

#define GCI_FIELDS(title, struct_type, array)                                                         \
    { .name = (title), .fields = (array), .count = sizeof(array) / sizeof *(array), .size = sizeof(struct_type) }

#define GCI_SIZE_OF(type, member) sizeof(((type *)0)->member)
/* The member's offset; no other type than `is` compiles. */
#define GCI_AT(type, member, is) (_Generic(((type *)0)->member, is: offsetof(type, member)))

/* type, member, bytes, largest value, name, what it is */
#define GCI_NUMBER_UP_TO(struct_type, member, bytes, largest, ...)                                    \
    { GCI_FIELD_NUMBER, __VA_ARGS__, .at = offsetof(struct_type, member), .size = (bytes),            \
      .width = GCI_SIZE_OF(struct_type, member), .most = (largest) }
/* type, member, bytes, name, what it is */
#define GCI_NUMBER(struct_type, member, bytes, ...)                                                   \
    GCI_NUMBER_UP_TO(struct_type, member, bytes, UINT64_MAX, __VA_ARGS__)
/* type, member, name, what it is: and so the others */
#define GCI_FLAG(struct_type, member, ...)                                                            \
    GCI_NUMBER_UP_TO(struct_type, member, 1, GCI_AT(struct_type, member, bool) * 0 + 1, __VA_ARGS__)
#define GCI_BYTES(struct_type, member, ...)                                                           \
    { GCI_FIELD_BYTES, __VA_ARGS__, .at = offsetof(struct_type, member), .size = GCI_SIZE_OF(struct_type, member) }
#define GCI_HEX(struct_type, member, ...)                                                             \
    { GCI_FIELD_HEX, __VA_ARGS__, .at = offsetof(struct_type, member), .size = GCI_SIZE_OF(struct_type, member) / 2 }
#define GCI_TEXT(struct_type, member, ...)                                                            \
    { GCI_FIELD_TEXT, __VA_ARGS__, .at = GCI_AT(struct_type, member, gci_view) }
#define GCI_STRING(struct_type, member, ...)                                                          \
    { GCI_FIELD_STRING, __VA_ARGS__, .at = GCI_AT(struct_type, member, char const *) }
#define GCI_CHARS(struct_type, member, ...)                                                           \
    { GCI_FIELD_CHARS, __VA_ARGS__, .at = offsetof(struct_type, member), .width = GCI_SIZE_OF(struct_type, member) }
/* type, member, table of the struct's fields, name, what it is: and so the others */
#define GCI_STRUCT(struct_type, member, table, ...)                                                   \
    { GCI_FIELD_STRUCT, __VA_ARGS__, .at = offsetof(struct_type, member), .item = (table) }
#define GCI_OPTION(struct_type, member, table, ...)                                                   \
    { GCI_FIELD_OPTION, __VA_ARGS__, .at = offsetof(struct_type, member), .item = (table) }
#define GCI_LIST(struct_type, member, count_member, table, ...)                                       \
    { GCI_FIELD_LIST, __VA_ARGS__, .at = offsetof(struct_type, member),                               \
      .count_at = offsetof(struct_type, count_member), .width = GCI_SIZE_OF(struct_type, count_member), .item = (table) }
/* A literal's bytes, without its zero. */
#define GCI_CONSTANT(literal, ...)                                                                    \
    { GCI_FIELD_CONSTANT, __VA_ARGS__, .bytes = (literal), .size = sizeof(literal) - 1 }
#define GCI_SUM64(...) { GCI_FIELD_SUM64, __VA_ARGS__, .at = 0 }
#define GCI_SUM128(...) { GCI_FIELD_SUM128, __VA_ARGS__, .at = 0 }

/* Items that are one text, number or gci_checksum. */
extern gci_fields const gci_text_item, gci_u32_item, gci_u64_item, gci_checksum_item;

#endif
