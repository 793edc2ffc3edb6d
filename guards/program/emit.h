/*
 * Writing a program instruction by instruction: registers, what is known at a place, labels.
 *
 * Facts are things that are true at the place where the next instruction goes: the value of a class is in a register, a
 * name is bound. They are logged in order; a label forgets those that don't hold on every path to it.
 *
 * Invariants:
 *  1. facts[0..fact_count) hold at the next instruction.
 *  2. A label's `mark` is such that facts[0..mark) hold on every jump to it so far. Labels that are open are linked, so
 *     that forgetting facts lowers all their marks.
 *  3. A register is used if it is a name, holds the value of a fact, or was handed out and not released.
 *  4. pending[] are names that Python would have looked up by now while no instruction has read them yet.
 *
 * The first failure is kept in status; later calls do nothing harmful.
 */
#ifndef GCI_GUARDS_EMIT_H
#define GCI_GUARDS_EMIT_H

#include "guards/program/classes.h"
#include "guards/value/limits.h"
#include "guards/program/program.h"

#define GCI_NO_REGISTER UINT16_MAX

/* Operands of one instruction are at most this many names that were not read before. */
#define GCI_EMIT_MAX_PENDING (GCI_GUARD_MAX_REGISTERS)

typedef struct gci_label gci_label;

struct gci_label {
    gci_label *outer;
    uint32_t last_jump; /* 1 + the last instruction that jumps here; they are chained through their targets */
    uint32_t mark;
};

typedef struct gci_fact {
    uint32_t class;         /* 0: name is bound */
    uint16_t register_name; /* the value's register, or the name */
} gci_fact;

/* What grows while a program is written; it lives in the scratch arena. */
typedef struct gci_table {
    char *data;
    size_t size, capacity; /* bytes */
} gci_table;

/* Trees and tables of most lists fit. */
#define GCI_EMIT_ROOM 8192

typedef struct gci_emitter {
    gci_compilation const *what;
    gci_arena *arena;   /* the program's */
    gci_arena scratch;
    gci_classes classes;
    gci_table code, constants, messages, starts, names, callees, facts;
    uint16_t *value_of; /* by class: register, or GCI_NO_REGISTER */
    bool *is_bound;     /* by name */
    uint64_t used[GCI_GUARD_MAX_REGISTERS / 64];
    uint64_t held[GCI_GUARD_MAX_REGISTERS / 64]; /* by facts */
    uint16_t pending[GCI_EMIT_MAX_PENDING];
    uint32_t pending_count, name_count, held_count, highest;
    uint32_t fence;     /* instructions before it must not be fused with later ones */
    gci_label *labels;
    gci_calc calc;      /* for folding */
    gcache_status status;
    gcache_error *error;
    alignas(max_align_t) char room[GCI_EMIT_ROOM]; /* what the scratch arena begins with */
} gci_emitter;

/* Parses nothing yet. */
void gci_emitter_init(gci_emitter *e, gci_compilation const *what, gci_arena *arena, gcache_error *error);
void gci_emitter_clear(gci_emitter *e);

void gci_emit_fail(gci_emitter *e, gcache_status status, char const *message);

/* ---- names ---- */

/* The register of a name, which is interned. */
uint16_t gci_emit_name(gci_emitter *e, gci_view text, bool is_key);
/* A function or module the program relies on. Returns whether a hint takes its place. */
bool gci_emit_callee(gci_emitter *e, gci_view text);
/* Whether one does, of a callee that is known. */
bool gci_emit_is_shadowed(gci_emitter const *e, gci_view text);
/* After all names are known: registers can be handed out. */
void gci_emit_begin_code(gci_emitter *e, uint32_t class_count);

/* ---- registers ---- */

uint16_t gci_emit_new(gci_emitter *e);
/* count registers in a row. */
uint16_t gci_emit_new_run(gci_emitter *e, uint32_t count);
/* Gives a register back unless it is a name's or a fact's. */
void gci_emit_release(gci_emitter *e, uint16_t r);

/* The register that has the value of a class, or GCI_NO_REGISTER. */
uint16_t gci_emit_find(gci_emitter const *e, uint32_t class);
/* From here on r has the value of the class, if the class is used again. */
void gci_emit_keep(gci_emitter *e, uint32_t class, uint16_t r);

/* Python looks a name up here. */
void gci_emit_look_up(gci_emitter *e, uint16_t name);

/* ---- instructions ---- */

/* Appends; checks first, in Python's order, names that would otherwise be read too late. Returns its place. */
uint32_t gci_emit(gci_emitter *e, gci_instruction instruction);

static inline uint32_t
gci_emit_next(gci_emitter const *e)
{
    return (uint32_t)(e->code.size / sizeof(gci_instruction));
}

/* The newest instruction if it may still be changed, else NULL. */
gci_instruction *gci_emit_last(gci_emitter *e);

/* Appends a jump to a label; NULL stands for failure of the list. */
void gci_emit_jump(gci_emitter *e, gci_instruction instruction, gci_label *label);

void gci_label_open(gci_emitter *e, gci_label *label);
/* The label is here. Labels are bound in the reverse order of opening. */
void gci_label_bind(gci_emitter *e, gci_label *label);

/* ---- tables ---- */

/* Twice the room. false: no memory, which is recorded. */
bool gci_emit_grow(gci_emitter *e, gci_table *table);

/* Appends an item, of less than 256 bytes. false: no memory, which is recorded. */
static inline bool
gci_emit_append(gci_emitter *e, gci_table *table, void const *item, size_t size)
{
    if (size > table->capacity - table->size && !gci_emit_grow(e, table))
        return false;
    memcpy(table->data + table->size, item, size);
    table->size += size;
    return true;
}

int64_t gci_emit_constant(gci_emitter *e, gci_number number);
/* Returns a register for the value that there never is. */
uint16_t gci_emit_raise(gci_emitter *e, gci_exception exception, char const *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
