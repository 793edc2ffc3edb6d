/*
 * A compiled list as bytes, and back (docs/formats/program.md). Everything is checked when it is loaded: verify.c.
 */
#include "base/check.h"
#include "guards/program/program.h"
#include "guards/value/limits.h"

#include <stdlib.h>

/* The layout and what the compiler makes of a text, and what opcodes and functions are numbered by. Programs of another version
   are compiled anew from texts: a compiler that was wrong is followed by one with another number. */
#define LAYOUT 4

static uint32_t
program_version(void)
{
    return (uint32_t)LAYOUT << 24 | (uint32_t)GCI_OPCODE_COUNT << 12 | (uint32_t)gci_function_count();
}

/* ---- what a program consists of ---- */

typedef struct saved_constant {
    uint8_t kind; /* gci_kind */
    bool is_negative;
    uint64_t const *words;
    uint32_t count;
} saved_constant;

static gci_field const constant_fields[] = {
    GCI_NUMBER(saved_constant, kind, 1, "kind", "`gci_kind`"),
    GCI_FLAG(saved_constant, is_negative, "negative", "of a large integer"),
    GCI_LIST(saved_constant, words, count, &gci_u64_item, "words",
             "of an integer or float one, of a complex number two, of a large integer its limbs, of None none"),
};
static gci_fields const constant_item = GCI_FIELDS("constant", saved_constant, constant_fields);

static gci_field const name_fields[] = {
    GCI_TEXT(gci_bound_name, name, "bound name", ""),
    GCI_TEXT(gci_bound_name, text, "text", ""),
    GCI_FLAG(gci_bound_name, is_key, "is key", ""),
};
static gci_fields const name_item = GCI_FIELDS("name", gci_bound_name, name_fields);

static gci_field const instruction_fields[] = {
    GCI_NUMBER(gci_instruction, op, 2, "op", ""),
    GCI_NUMBER(gci_instruction, a, 2, "a", ""),
    GCI_NUMBER(gci_instruction, b, 2, "b", ""),
    GCI_NUMBER(gci_instruction, c, 2, "c", ""),
    GCI_NUMBER(gci_instruction, imm, 8, "immediate", ""),
};
static gci_fields const instruction_item = GCI_FIELDS("instruction", gci_instruction, instruction_fields);

typedef struct saved_program {
    uint32_t version;
    gci_guards guards; /* but for its constants and its arena */
    saved_constant *constants;
    uint32_t constant_count;
} saved_program;

#define PROGRAM(member) guards.program.member
static gci_field const program_fields[] = {
    GCI_NUMBER(saved_program, version, 4, "version",
               "4, how many opcodes, how many functions: 8, 12 and 12 bits; 0: it isn't saved, and nothing follows"),
    GCI_LIST(saved_program, guards.texts, guards.count, &gci_text_item, "guards", "their texts"),
    GCI_LIST(saved_program, PROGRAM(names), PROGRAM(name_count), &name_item, "names", ""),
    GCI_LIST(saved_program, PROGRAM(callees), PROGRAM(callee_count), &gci_text_item, "callees",
             "names that stand for functions"),
    GCI_LIST(saved_program, constants, constant_count, &constant_item, "constants", ""),
    GCI_LIST(saved_program, PROGRAM(messages), PROGRAM(message_count), &gci_text_item, "messages", "of exceptions"),
    GCI_NUMBER(saved_program, PROGRAM(register_count), 4, "registers", "names included"),
    GCI_NUMBER(saved_program, PROGRAM(equalities), 4, "equalities", ""),
    GCI_NUMBER(saved_program, PROGRAM(conjuncts), 4, "conjuncts", ""),
    GCI_FLAG(saved_program, PROGRAM(exact_only), "exact only", "some instruction has no fast form"),
    GCI_LIST(saved_program, PROGRAM(starts), PROGRAM(guard_count), &gci_u32_item, "starts", "where each guard begins"),
    GCI_LIST(saved_program, PROGRAM(code), PROGRAM(code_count), &instruction_item, "code", ""),
};
gci_fields const gci_program_fields = GCI_FIELDS("program", saved_program, program_fields);

/* ---- constants ---- */

/* false: functions as values only ever raise, such lists are compiled anew; or no memory. */
static bool
constant_save(gci_number number, gci_arena *arena, saved_constant *out)
{
    uint64_t *words = gci_arena_array(arena, 2, sizeof *words);

    *out = (saved_constant){ .kind = number.kind, .words = words };
    if (words == NULL)
        return false;
    switch ((gci_kind)number.kind) {
    case GCI_KIND_NONE:
        return true;
    case GCI_KIND_BOOL:
    case GCI_KIND_INT:
    case GCI_KIND_FLOAT:
        words[0] = (uint64_t)number.i; /* of a float its bits */
        out->count = 1;
        return true;
    case GCI_KIND_BIG:
        out->is_negative = number.size < 0;
        out->words = number.limbs;
        out->count = (uint32_t)(out->is_negative ? -number.size : number.size);
        return true;
    case GCI_KIND_COMPLEX:
        memcpy(words, number.parts, 2 * sizeof *number.parts);
        out->count = 2;
        return true;
    case GCI_KIND_TUPLE:
    case GCI_KIND_OBJECT:
        break;
    }
    return false;
}

static bool
big_load(saved_constant const *saved, gci_number *out)
{
    if (saved->count == 0 || saved->count > GCI_INT_MAX_BITS / 64 + 1 || saved->words[saved->count - 1] == 0)
        return false;
    int32_t size = saved->is_negative ? -(int32_t)saved->count : (int32_t)saved->count;
    *out = gci_number_of_int((gci_int){ (uint64_t *)(uintptr_t)saved->words, size });
    return out->kind == GCI_KIND_BIG;
}

static bool
constant_load(saved_constant const *saved, gci_arena *arena, gci_number *out)
{
    double parts[2] = { 0, 0 }, *kept;

    *out = (gci_number){ .kind = saved->kind };
    memcpy(parts, saved->words, (saved->count < 2 ? saved->count : 2) * sizeof *parts);
    switch (saved->kind) {
    case GCI_KIND_NONE:
        return saved->count == 0;
    case GCI_KIND_BOOL:
    case GCI_KIND_INT:
        out->i = saved->count == 1 ? (int64_t)saved->words[0] : 0;
        return saved->count == 1 && (saved->kind == GCI_KIND_INT || out->i == 0 || out->i == 1);
    case GCI_KIND_BIG:
        return big_load(saved, out);
    case GCI_KIND_FLOAT:
        *out = gci_number_float_object(parts[0], GCI_OBJECT_NAN); /* no other nan is in a program */
        return saved->count == 1;
    case GCI_KIND_COMPLEX:
        out->parts = kept = gci_arena_array(arena, 2, sizeof *kept);
        if (kept != NULL)
            memcpy(kept, parts, sizeof parts);
        return saved->count == 2 && kept != NULL;
    default:
        return false;
    }
}

/* ---- saving ---- */

void
gci_guards_save(gci_guards const *guards, gci_buf *out)
{
    saved_program saved = { .version = program_version(), .guards = *guards, .constant_count = guards->program.constant_count };
    gci_arena arena;

    gci_arena_init(&arena, SIZE_MAX / 2);
    saved.constants = gci_arena_array(&arena, saved.constant_count, sizeof *saved.constants);
    bool savable = saved.constants != NULL;
    for (uint32_t i = 0; savable && i < saved.constant_count; i++)
        savable = constant_save(guards->program.constants[i], &arena, &saved.constants[i]);
    if (savable)
        gci_fields_write(out, &gci_program_fields, &saved);
    else
        gci_put_u32(out, 0);
    gci_arena_clear(&arena);
}

/* ---- loading ---- */

static bool
load_constants(saved_program const *saved, gci_arena *arena, gci_program *program)
{
    program->constant_count = saved->constant_count;
    program->constants = gci_arena_array(arena, saved->constant_count, sizeof *program->constants);
    for (uint32_t i = 0; program->constants != NULL && i < saved->constant_count; i++)
        if (!constant_load(&saved->constants[i], arena, &program->constants[i]))
            return false;
    return program->constants != NULL;
}

static bool
load(gci_view bytes, gci_guards *guards)
{
    saved_program saved = { 0 };

    if (!gci_fields_read_all(bytes, &gci_program_fields, &guards->arena, &saved))
        return false;
    guards->count = saved.guards.count;
    guards->texts = saved.guards.texts;
    guards->program = saved.guards.program;
    for (uint32_t i = 0; i < guards->program.name_count; i++)
        guards->program.names[i].hash = gci_hash_name(guards->program.names[i].name);
    return guards->program.guard_count == guards->count && load_constants(&saved, &guards->arena, &guards->program) &&
           gci_program_verify(&guards->program, &guards->arena);
}

gcache_status
gci_guards_load(gci_view bytes, gci_guards **out_guards, gcache_error *error)
{
    gci_reader start = gci_reader_of(bytes);

    if (gci_get_u32(&start) != program_version())
        return gci_fail(error, GCACHE_ERROR_FORMAT, "a guard program of another version");
    gci_guards *guards = calloc(1, sizeof *guards);
    if (guards == NULL)
        return gci_fail_memory(error);
    gci_arena_init(&guards->arena, GCI_GUARD_PARSE_MEMORY);
    bool loaded = load(bytes, guards), no_memory = guards->arena.failed;
    if (loaded && !no_memory) {
        *out_guards = guards;
        return GCACHE_OK;
    }
    gci_guards_free(guards);
    return no_memory ? gci_fail_memory(error) : gci_fail(error, GCACHE_ERROR_CORRUPT, "a damaged guard program");
}
