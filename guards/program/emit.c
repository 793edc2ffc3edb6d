/*
 * Instructions, registers and labels; the invariants are in emit.h.
 */
#include "guards/program/emit.h"

#include "base/check.h"
#include "guards/text/hints.h"

#include <stdarg.h>
#include <stdio.h>

/* Registers that facts may hold: a third, so that expressions always find room to be computed in. */
#define MAX_HELD (GCI_GUARD_MAX_REGISTERS / 3)

void
gci_emitter_init(gci_emitter *e, gci_compilation const *what, gci_arena *arena, gcache_error *error)
{
    memset(e, 0, offsetof(gci_emitter, used));
    memset(e->used, 0, sizeof e->used);
    memset(e->held, 0, sizeof e->held);
    e->pending_count = e->name_count = e->held_count = e->highest = e->fence = 0;
    e->labels = NULL;
    e->what = what;
    e->arena = arena;
    e->error = error;
    e->status = GCACHE_OK;
    gci_arena_init_with(&e->scratch, GCI_GUARD_PARSE_MEMORY, e->room, sizeof e->room);
    gci_calc_init(&e->calc);
    if (!gci_classes_init(&e->classes, &e->scratch))
        e->status = gci_fail_memory(error);
}

void
gci_emitter_clear(gci_emitter *e)
{
    gci_calc_clear(&e->calc);
    gci_arena_clear(&e->scratch);
}

void
gci_emit_fail(gci_emitter *e, gcache_status status, char const *message)
{
    if (e->status == GCACHE_OK)
        e->status = gci_fail(e->error, status, "%s", message);
}

/* ---- names ---- */

static gci_view
renamed(gci_emitter const *e, gci_view text)
{
    gci_naming const *naming = &e->what->naming;
    return naming->rename != NULL ? naming->rename(naming->state, text) : text;
}

uint16_t
gci_emit_name(gci_emitter *e, gci_view text, bool is_key)
{
    gci_bound_name *names = (gci_bound_name *)(void *)e->names.data;

    for (uint32_t i = 0; i < e->name_count; i++)
        if (names[i].is_key == is_key && gci_name_equal(names[i].text, text))
            return (uint16_t)i;
    if (e->name_count == GCI_GUARD_MAX_NAMES) {
        gci_emit_fail(e, GCACHE_ERROR_LIMIT, "guards with too many names");
        return 0;
    }
    gci_bound_name name = { .name = gci_arena_copy(e->arena, renamed(e, text)), .text = text, .is_key = is_key };
    name.hash = gci_hash_name(name.name);
    return gci_emit_append(e, &e->names, &name, sizeof name) ? (uint16_t)e->name_count++ : 0;
}

bool
gci_emit_is_shadowed(gci_emitter const *e, gci_view text)
{
    return e->what->shadows != NULL && gci_hints_find(e->what->shadows, renamed(e, text)) != NULL;
}

bool
gci_emit_callee(gci_emitter *e, gci_view text)
{
    gci_view name = renamed(e, text);
    gci_view const *callees = (gci_view *)(void *)e->callees.data;
    size_t count = e->callees.size / sizeof *callees;
    bool known = false;

    for (size_t i = 0; i < count && !known; i++)
        known = gci_name_equal(callees[i], name);
    if (!known) {
        gci_view copy = gci_arena_copy(e->arena, name);
        gci_emit_append(e, &e->callees, &copy, sizeof copy);
    }
    return gci_emit_is_shadowed(e, text);
}

void
gci_emit_begin_code(gci_emitter *e, uint32_t class_count)
{
    e->value_of = gci_arena_alloc(&e->scratch, (class_count + 1) * sizeof *e->value_of);
    e->is_bound = gci_arena_array(&e->scratch, e->name_count + 1, sizeof *e->is_bound);
    if (e->value_of == NULL || e->is_bound == NULL) {
        gci_emit_fail(e, GCACHE_ERROR_MEMORY, "out of memory");
        return;
    }
    memset(e->value_of, 0xff, (class_count + 1) * sizeof *e->value_of);
    for (uint32_t i = 0; i < e->name_count; i++)
        e->used[i / 64] |= (uint64_t)1 << i % 64;
    e->highest = e->name_count;
}

/* ---- registers ---- */

static bool
has_bit(uint64_t const *bits, uint32_t i)
{
    return (bits[i / 64] >> i % 64 & 1) != 0;
}

static void
take(gci_emitter *e, uint32_t r)
{
    e->used[r / 64] |= (uint64_t)1 << r % 64;
    if (r >= e->highest)
        e->highest = r + 1;
}

uint16_t
gci_emit_new(gci_emitter *e)
{
    for (uint32_t word = 0; word < GCI_GUARD_MAX_REGISTERS / 64; word++) {
        if (e->used[word] == UINT64_MAX)
            continue;
        uint32_t r = word * 64 + (uint32_t)__builtin_ctzll(~e->used[word]);
        take(e, r);
        return (uint16_t)r;
    }
    gci_emit_fail(e, GCACHE_ERROR_LIMIT, "a guard that needs too many registers");
    return GCI_GUARD_MAX_REGISTERS - 1;
}

uint16_t
gci_emit_new_run(gci_emitter *e, uint32_t count)
{
    uint32_t start = e->name_count, end = start;

    while (end < start + count && end < GCI_GUARD_MAX_REGISTERS) {
        if (has_bit(e->used, end))
            start = end + 1;
        end++;
    }
    if (end < start + count) {
        gci_emit_fail(e, GCACHE_ERROR_LIMIT, "a guard that needs too many registers");
        return 0;
    }
    for (uint32_t r = start; r < end; r++)
        take(e, r);
    return (uint16_t)start;
}

void
gci_emit_release(gci_emitter *e, uint16_t r)
{
    if (r >= e->name_count && !has_bit(e->held, r))
        e->used[r / 64] &= ~((uint64_t)1 << r % 64);
}

/* ---- facts ---- */

static void
add_fact(gci_emitter *e, gci_fact fact)
{
    gci_emit_append(e, &e->facts, &fact, sizeof fact);
}

static uint32_t
fact_count(gci_emitter const *e)
{
    return (uint32_t)(e->facts.size / sizeof(gci_fact));
}

static void
forget(gci_emitter *e, gci_fact fact)
{
    if (fact.class == 0) {
        e->is_bound[fact.register_name] = false;
        return;
    }
    e->value_of[fact.class] = GCI_NO_REGISTER;
    e->held[fact.register_name / 64] &= ~((uint64_t)1 << fact.register_name % 64);
    e->held_count--;
    gci_emit_release(e, fact.register_name);
}

static void
forget_down_to(gci_emitter *e, uint32_t mark)
{
    gci_fact const *facts = (gci_fact *)(void *)e->facts.data;

    for (uint32_t i = fact_count(e); i > mark; i--)
        forget(e, facts[i - 1]);
    if (fact_count(e) > mark)
        e->facts.size = mark * sizeof(gci_fact);
    for (gci_label *label = e->labels; label != NULL; label = label->outer)
        if (label->mark > mark)
            label->mark = mark;
}

uint16_t
gci_emit_find(gci_emitter const *e, uint32_t class)
{
    return e->value_of[class];
}

void
gci_emit_keep(gci_emitter *e, uint32_t class, uint16_t r)
{
    if (e->classes.uses[class] < 2 || r < e->name_count || e->held_count >= MAX_HELD || has_bit(e->held, r)
        || e->status != GCACHE_OK)
        return;
    e->value_of[class] = r;
    e->held[r / 64] |= (uint64_t)1 << r % 64;
    e->held_count++;
    add_fact(e, (gci_fact){ .class = class, .register_name = r });
}

static void
set_bound(gci_emitter *e, uint16_t name)
{
    if (e->is_bound[name])
        return;
    e->is_bound[name] = true;
    add_fact(e, (gci_fact){ .class = 0, .register_name = name });
}

void
gci_emit_look_up(gci_emitter *e, uint16_t name)
{
    if (e->is_bound[name] || e->pending_count == GCI_EMIT_MAX_PENDING)
        return;
    for (uint32_t i = 0; i < e->pending_count; i++)
        if (e->pending[i] == name)
            return;
    e->pending[e->pending_count++] = name;
}

/* ---- instructions ---- */

static uint32_t
append(gci_emitter *e, gci_instruction instruction)
{
    uint32_t place = gci_emit_next(e);

    if (place == GCI_GUARD_MAX_CODE)
        gci_emit_fail(e, GCACHE_ERROR_LIMIT, "guards that compile to too many instructions");
    else
        gci_emit_append(e, &e->code, &instruction, sizeof instruction);
    return place;
}

/* The registers an instruction reads, in the order it reads them. */
static uint32_t
sources_of(gci_instruction const *i, uint16_t out_sources[2])
{
    gci_operand_shape shape = gci_opcode_shape(i->op);
    uint16_t const fields[] = { i->a, i->b, i->c };
    uint32_t count = 0;

    if (i->op == GCI_OP_CALL && i->c != 1) /* several arguments are never names: see compile_run */
        return 0;
    for (uint32_t k = shape.writes; k < shape.registers; k++)
        out_sources[count++] = fields[k];
    return count;
}

/* How many of the last pending names the instruction reads itself, in the same order. */
static uint32_t
read_in_order(gci_emitter const *e, gci_instruction const *instruction)
{
    uint16_t sources[2], unread[2];
    uint32_t count = sources_of(instruction, sources), n = 0;

    for (uint32_t i = 0; i < count; i++)
        if (sources[i] < e->name_count && !e->is_bound[sources[i]] && (n == 0 || unread[0] != sources[i]))
            unread[n++] = sources[i];
    if (n > e->pending_count)
        return 0;
    bool same = n == 0 || memcmp(unread, e->pending + e->pending_count - n, n * sizeof unread[0]) == 0;
    return same ? n : 0;
}

uint32_t
gci_emit(gci_emitter *e, gci_instruction instruction)
{
    uint32_t own = e->pending_count != 0 ? read_in_order(e, &instruction) : 0;

    if (e->status != GCACHE_OK)
        return 0;
    for (uint32_t i = 0; i + own < e->pending_count; i++)
        append(e, (gci_instruction){ .op = GCI_OP_NEED, .a = e->pending[i] });
    uint32_t place = append(e, instruction);
    for (uint32_t i = 0; i < e->pending_count; i++)
        set_bound(e, e->pending[i]);
    e->pending_count = 0;
    return place;
}

gci_instruction *
gci_emit_last(gci_emitter *e)
{
    uint32_t count = gci_emit_next(e);

    if (count == 0 || count <= e->fence || e->pending_count != 0)
        return NULL;
    return (gci_instruction *)(void *)e->code.data + count - 1;
}

void
gci_emit_jump(gci_emitter *e, gci_instruction instruction, gci_label *label)
{
    GCI_ASSERT(gci_opcode_shape(instruction.op).jumps);
    instruction.y = label != NULL ? label->last_jump : 0;
    uint32_t place = gci_emit(e, instruction);
    if (label == NULL)
        return;
    e->fence = place + 1; /* where it goes isn't known yet */
    if (label->last_jump == 0 || fact_count(e) < label->mark)
        label->mark = fact_count(e);
    label->last_jump = place + 1;
}

void
gci_label_open(gci_emitter *e, gci_label *label)
{
    *label = (gci_label){ .outer = e->labels };
    e->labels = label;
}

void
gci_label_bind(gci_emitter *e, gci_label *label)
{
    GCI_ASSERT(e->labels == label);
    gci_instruction *code = (gci_instruction *)(void *)e->code.data;
    uint32_t here = gci_emit_next(e);

    e->labels = label->outer;
    if (label->last_jump == 0 || e->status != GCACHE_OK)
        return;
    for (uint32_t place = label->last_jump; place != 0;) {
        gci_instruction *jump = &code[place - 1];
        place = jump->y;
        jump->y = here;
    }
    e->fence = here;
    forget_down_to(e, label->mark);
}

/* ---- tables ---- */

#define FIRST_CAPACITY ((size_t)256)

bool
gci_emit_grow(gci_emitter *e, gci_table *table)
{
    size_t capacity = table->capacity == 0 ? FIRST_CAPACITY : 2 * table->capacity;
    char *data = gci_arena_alloc(&e->scratch, capacity);

    if (data == NULL) {
        gci_emit_fail(e, GCACHE_ERROR_MEMORY, "out of memory");
        return false;
    }
    if (table->size != 0)
        memcpy(data, table->data, table->size);
    table->data = data;
    table->capacity = capacity;
    return true;
}

int64_t
gci_emit_constant(gci_emitter *e, gci_number number)
{
    gci_number const *constants = (gci_number *)(void *)e->constants.data;
    size_t count = e->constants.size / sizeof *constants;
    gci_number copy;

    for (size_t i = 0; i < count; i++)
        if (gci_number_identical(constants[i], number))
            return (int64_t)i;
    if (!gci_number_copy(e->arena, number, &copy))
        gci_emit_fail(e, GCACHE_ERROR_MEMORY, "out of memory");
    else
        gci_emit_append(e, &e->constants, &copy, sizeof copy);
    return (int64_t)count;
}

uint16_t
gci_emit_raise(gci_emitter *e, gci_exception exception, char const *format, ...)
{
    char text[sizeof e->calc.message];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    gci_view message = gci_arena_copy(e->arena, gci_view_text(text));
    int64_t index = (int64_t)(e->messages.size / sizeof message);
    gci_emit_append(e, &e->messages, &message, sizeof message);
    gci_emit(e, (gci_instruction){ .op = GCI_OP_RAISE, .a = (uint16_t)exception, .imm = index });
    return gci_emit_new(e);
}
