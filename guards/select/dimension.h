/*
 * Dimensions of a selection index: integer expressions that the candidates of a key compare with constants. Each distinct
 * one is computed once a lookup, by a little program on the lookup's frame.
 * Its symbols are slots.
 */
#ifndef GCI_GUARDS_DIMENSION_H
#define GCI_GUARDS_DIMENSION_H

#include "guards/normal/expr.h"
#include "guards/value/limits.h"
#include "guards/program/program.h"

/* In a frame the slots stand behind the registers that are computed in. */
#define GCI_FRAME_SLOTS ((uint32_t)GCI_GUARD_MAX_REGISTERS)

typedef struct gci_dimension {
    gci_expr const *expr;  /* while filters are made */
    gci_instruction *code; /* NULL: a slot by itself */
    uint16_t result;       /* the register of the value */
    uint16_t *slots;       /* that it reads */
    size_t slot_count;
} gci_dimension;

/* Compiles the expression, which is borrowed. false: no memory, or *out_unfit: it has parts that aren't of 64-bit integers. */
bool gci_dimension_make(gci_expr const *expr, gci_arena *arena, gci_dimension *out, bool *out_unfit);

/* The value for a frame. false: it overflows or divides by zero. */
static inline bool
gci_dimension_value(gci_dimension const *dimension, int64_t *frame, int64_t *out)
{
    uint32_t at;

    if (dimension->code != NULL && gci_fast_run(dimension->code, frame, &at) != GCI_FAST_TRUE)
        return false;
    *out = frame[dimension->result];
    return true;
}

#endif
