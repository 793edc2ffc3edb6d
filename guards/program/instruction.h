/*
 * What an instruction is; opcode.def says what each does.
 */
#ifndef GCI_GUARDS_INSTRUCTION_H
#define GCI_GUARDS_INSTRUCTION_H

#include <stdint.h>

typedef enum gci_opcode {
#define OPCODE(name, operands, op, effect) GCI_OP_##name,
#include "guards/program/opcode.def"
#undef OPCODE
    GCI_OPCODE_COUNT
} gci_opcode;

/* Which fields of an instruction mean what: D is a register that is written, S one that is read. */
typedef enum gci_operands {
    GCI_NONE_OPERANDS,
    GCI_T,       /* target y */
    GCI_R_I,     /* exception a, message imm */
    GCI_S,       /* a */
    GCI_D_I,     /* a, imm */
    GCI_D_S,     /* a, b */
    GCI_D_S_S,   /* a, b, c */
    GCI_D_S_I,   /* a, b, imm */
    GCI_D_S_S_I, /* a, b, c, imm */
    GCI_CALL,    /* a, c registers from b, function imm */
    GCI_S_T,     /* a, target y */
    GCI_S_S_T,   /* a, b, target y */
    GCI_S_X_T,   /* a, x, target y */
    GCI_S_X_Z_T, /* a, x, z in b and c, target y */
    GCI_S_S_X_T  /* a, b, x, target y */
} gci_operands;

typedef struct gci_instruction {
    uint16_t op, a, b, c;
    union {
        int64_t imm;
        struct {
            int32_t x;
            uint32_t y;
        };
    };
} gci_instruction;

static inline int32_t
gci_instruction_z(gci_instruction const *instruction)
{
    return (int32_t)((uint32_t)instruction->b | (uint32_t)instruction->c << 16);
}

#endif
