/*
 * A compiled list as bytes, and back. Everything that was saved is checked when it is loaded: docs/formats/program.md.
 *
 *   version u32, guards u32, { text }, names u32, { bound name, text, is_key u8 }, callees u32, { text },
 *   constants u32, { kind u8, value }, messages u32, { text }, registers u32, equalities u32, conjuncts u32,
 *   exact_only u8, { start u32 }, code u32, { op u16, a u16, b u16, c u16, imm u64 }
 */
#include "base/check.h"
#include "base/codec.h"
#include "guards/value/limits.h"
#include "guards/program/program.h"

#include <string.h>

/* Changes whenever opcode.def, functions.def or the layout do; another version's programs are compiled anew from texts. */
#define PROGRAM_VERSION 1

/* ---- constants ---- */

static void
put_limbs(gci_buf *out, gci_number number)
{
    size_t count = (size_t)(number.size < 0 ? -number.size : number.size);

    gci_put_u32(out, (uint32_t)number.size);
    for (size_t i = 0; i < count; i++)
        gci_put_u64(out, number.limbs[i]);
}

static void
put_double(gci_buf *out, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    gci_put_u64(out, bits);
}

static void
put_constant(gci_buf *out, gci_number number)
{
    gci_put_u8(out, number.kind);
    switch ((gci_kind)number.kind) {
    case GCI_KIND_BOOL:
    case GCI_KIND_INT:
        gci_put_u64(out, (uint64_t)number.i);
        break;
    case GCI_KIND_BIG:
        put_limbs(out, number);
        break;
    case GCI_KIND_FLOAT:
        put_double(out, number.f);
        break;
    case GCI_KIND_COMPLEX:
        put_double(out, number.parts[0]);
        put_double(out, number.parts[1]);
        break;
    case GCI_KIND_NONE:
        break;
    case GCI_KIND_TUPLE:
    case GCI_KIND_OBJECT:
        /* Functions as values only ever raise: such lists are compiled anew. */
        out->failed = true;
        break;
    }
}

static double
get_double(gci_reader *r)
{
    uint64_t bits = gci_get_u64(r);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool
get_limbs(gci_reader *r, gci_arena *arena, gci_number *out)
{
    int32_t size = (int32_t)gci_get_u32(r);
    uint32_t count = size < 0 ? 0u - (uint32_t)size : (uint32_t)size;

    if (r->failed || count == 0 || count > GCI_INT_MAX_BITS / 64 + 1 || count > gci_reader_left(r) / 8)
        return false;
    uint64_t *limbs = gci_arena_array(arena, count, sizeof *limbs);
    for (uint32_t i = 0; limbs != NULL && i < count; i++)
        limbs[i] = gci_get_u64(r);
    if (limbs == NULL || limbs[count - 1] == 0)
        return false;
    *out = gci_number_of_int((gci_int){ limbs, size });
    return out->kind == GCI_KIND_BIG;
}

static bool
get_complex(gci_reader *r, gci_arena *arena, gci_number *out)
{
    double *parts = gci_arena_array(arena, 2, sizeof *parts);

    if (parts == NULL)
        return false;
    parts[0] = get_double(r);
    parts[1] = get_double(r);
    *out = (gci_number){ .kind = GCI_KIND_COMPLEX, .parts = parts };
    return true;
}

static bool
get_constant(gci_reader *r, gci_arena *arena, gci_number *out)
{
    uint8_t kind = gci_get_u8(r);

    *out = (gci_number){ .kind = kind };
    switch (kind) {
    case GCI_KIND_NONE:
        return true;
    case GCI_KIND_BOOL:
    case GCI_KIND_INT:
        out->i = (int64_t)gci_get_u64(r);
        return kind == GCI_KIND_INT || out->i == 0 || out->i == 1;
    case GCI_KIND_BIG:
        return get_limbs(r, arena, out);
    case GCI_KIND_FLOAT:
        *out = gci_number_float_object(get_double(r), GCI_OBJECT_NAN); /* no other nan is in a program */
        return true;
    case GCI_KIND_COMPLEX:
        return get_complex(r, arena, out);
    default:
        return false;
    }
}

/* ---- saving ---- */

static void
put_code(gci_buf *out, gci_program const *p)
{
    gci_put_u32(out, p->code_count);
    for (uint32_t i = 0; i < p->code_count; i++) {
        gci_put_u16(out, p->code[i].op);
        gci_put_u16(out, p->code[i].a);
        gci_put_u16(out, p->code[i].b);
        gci_put_u16(out, p->code[i].c);
        gci_put_u64(out, (uint64_t)p->code[i].imm);
    }
}

void
gci_guards_save(gci_guards const *guards, gci_buf *out)
{
    gci_program const *p = &guards->program;
    size_t start = out->size;

    gci_put_u32(out, PROGRAM_VERSION);
    gci_put_u32(out, (uint32_t)guards->count);
    for (size_t i = 0; i < guards->count; i++)
        gci_put_bytes(out, guards->texts[i]);
    gci_put_u32(out, p->name_count);
    for (uint32_t i = 0; i < p->name_count; i++) {
        gci_put_bytes(out, p->names[i].name);
        gci_put_bytes(out, p->names[i].text);
        gci_put_u8(out, p->names[i].is_key);
    }
    gci_put_u32(out, p->callee_count);
    for (uint32_t i = 0; i < p->callee_count; i++)
        gci_put_bytes(out, p->callees[i]);
    gci_buf constants;
    gci_buf_init(&constants, GCI_BUF_NO_LIMIT);
    for (uint32_t i = 0; i < p->constant_count; i++)
        put_constant(&constants, p->constants[i]);
    if (constants.failed) {
        gci_buf_clear(&constants);
        out->size = start;
        gci_put_u32(out, 0);
        return;
    }
    gci_put_u32(out, p->constant_count);
    gci_buf_append_view(out, gci_buf_view(&constants));
    gci_buf_clear(&constants);
    gci_put_u32(out, p->message_count);
    for (uint32_t i = 0; i < p->message_count; i++)
        gci_put_bytes(out, p->messages[i]);
    gci_put_u32(out, p->register_count);
    gci_put_u32(out, p->equalities);
    gci_put_u32(out, p->conjuncts);
    gci_put_u8(out, p->exact_only);
    for (size_t i = 0; i < guards->count; i++)
        gci_put_u32(out, p->starts[i]);
    put_code(out, p);
}

/* ---- loading ---- */

static bool
get_texts(gci_reader *r, gci_arena *arena, gci_view **out_texts, uint32_t *out_count)
{
    *out_count = gci_get_count(r, sizeof(uint32_t));
    *out_texts = gci_arena_array(arena, *out_count, sizeof **out_texts);
    for (uint32_t i = 0; *out_texts != NULL && i < *out_count; i++)
        (*out_texts)[i] = gci_arena_copy(arena, gci_get_bytes(r));
    return *out_texts != NULL && !r->failed && !arena->failed;
}

static bool
get_names(gci_reader *r, gci_arena *arena, gci_program *p)
{
    p->name_count = gci_get_count(r, 9);
    p->names = gci_arena_array(arena, p->name_count, sizeof *p->names);
    for (uint32_t i = 0; p->names != NULL && i < p->name_count; i++) {
        p->names[i].name = gci_arena_copy(arena, gci_get_bytes(r));
        p->names[i].text = gci_arena_copy(arena, gci_get_bytes(r));
        p->names[i].is_key = gci_get_u8(r) != 0;
    }
    return p->names != NULL && !r->failed && !arena->failed;
}

static bool
get_constants(gci_reader *r, gci_arena *arena, gci_program *p)
{
    p->constant_count = gci_get_count(r, 1);
    p->constants = gci_arena_array(arena, p->constant_count, sizeof *p->constants);
    for (uint32_t i = 0; p->constants != NULL && i < p->constant_count; i++)
        if (!get_constant(r, arena, &p->constants[i]))
            return false;
    return p->constants != NULL && !r->failed;
}

static bool
get_code(gci_reader *r, gci_arena *arena, gci_program *p)
{
    p->starts = gci_arena_array(arena, p->guard_count, sizeof *p->starts);
    for (uint32_t i = 0; p->starts != NULL && i < p->guard_count; i++)
        p->starts[i] = gci_get_u32(r);
    p->code_count = gci_get_count(r, 16);
    p->code = gci_arena_array(arena, p->code_count, sizeof *p->code);
    for (uint32_t i = 0; p->code != NULL && i < p->code_count; i++) {
        p->code[i].op = gci_get_u16(r);
        p->code[i].a = gci_get_u16(r);
        p->code[i].b = gci_get_u16(r);
        p->code[i].c = gci_get_u16(r);
        p->code[i].imm = (int64_t)gci_get_u64(r);
    }
    return p->starts != NULL && p->code != NULL && !r->failed;
}

static bool
get_program(gci_reader *r, gci_arena *arena, gci_program *p)
{
    if (!get_names(r, arena, p) || !get_texts(r, arena, &p->callees, &p->callee_count) || !get_constants(r, arena, p) ||
        !get_texts(r, arena, &p->messages, &p->message_count))
        return false;
    p->register_count = gci_get_u32(r);
    p->equalities = gci_get_u32(r);
    p->conjuncts = gci_get_u32(r);
    p->exact_only = gci_get_u8(r) != 0;
    return get_code(r, arena, p) && gci_reader_left(r) == 0 && gci_program_verify(p, arena);
}

gcache_status
gci_guards_load(gci_view bytes, gci_guards **out_guards, gcache_error *error)
{
    gci_reader r = gci_reader_of(bytes);
    gci_arena scratch;
    gci_view *texts;
    uint32_t count;

    if (gci_get_u32(&r) != PROGRAM_VERSION)
        return gci_fail(error, GCACHE_ERROR_FORMAT, "a guard program of another version");
    gci_arena_init(&scratch, GCI_GUARD_PARSE_MEMORY);
    gci_guards *guards = get_texts(&r, &scratch, &texts, &count) ? gci_guards_new(texts, count) : NULL;
    bool read = guards != NULL;
    if (read) {
        guards->program.guard_count = count;
        read = get_program(&r, &guards->arena, &guards->program);
    }
    bool no_memory = scratch.failed || (guards != NULL && guards->arena.failed);
    gci_arena_clear(&scratch);
    if (!read) {
        gci_guards_free(guards);
        return no_memory ? gci_fail_memory(error) : gci_fail(error, GCACHE_ERROR_CORRUPT, "a damaged guard program");
    }
    *out_guards = guards;
    return GCACHE_OK;
}
