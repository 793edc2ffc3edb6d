/*
 * A result filled from the winner, and what it owns.
 */
#include "cache/lookup/result.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/visible.h"
#include "cache/candidates/names.h"
#include "cache/candidates/trial.h"

#include <ctype.h>
#include <stdlib.h>

/* A winner's guards and names, which the record's own limits bound already. */
#define OWNER_BYTES_MAX ((size_t)256 << 20)

/* What a result's pointers point into besides the candidates. */
typedef struct owner {
    gci_payload payload;
    gci_arena arena; /* renames, and guards in the caller's names */
    void *other;     /* gci_result_own */
    void (*destroy_other)(void *value);
} owner;

void
gci_result_init(gcache_result *result, gcache_key const *key)
{
    *result = (gcache_result){ .size = sizeof(gcache_result), .outcome = GCACHE_MISS, .variant = "", .note = "", .tier = "" };
    if (key != NULL)
        result->key = *key;
}

static void
free_owner(owner *o)
{
    if (o == NULL)
        return;
    gci_payload_release(&o->payload);
    gci_arena_clear(&o->arena);
    if (o->other != NULL)
        o->destroy_other(o->other);
    free(o);
}

bool
gci_result_own(gcache_result *result, void *value, void (*destroy)(void *value))
{
    GCI_ASSERT(result->owner == NULL);
    owner *o = calloc(1, sizeof *o);

    if (o == NULL)
        return false;
    o->other = value;
    o->destroy_other = destroy;
    result->owner = o;
    return true;
}

void
gcache_result_clear(gcache_result *result)
{
    if (result == NULL || result->size != sizeof *result)
        return;
    free_owner(result->owner);
    gci_candidates_release(result->candidates);
    gci_result_init(result, NULL);
}

/* ---- names ---- */

typedef struct renaming {
    gci_context const *context;
    gci_record const *record;
} renaming;

static gci_view
current_name(void const *state, gci_view name)
{
    renaming const *r = state;
    gci_view current = gci_names_symbol(r->context, r->record, name);

    return current.data != NULL ? current : name;
}

static bool
fill_renames(gcache_result *result, gci_context const *context, gci_record const *record, gci_arena *arena)
{
    gcache_rename *renames = gci_arena_array(arena, record->name_count, sizeof *renames);

    gci_names_walk walk = { .context = context, .record = record };

    if (renames == NULL)
        return false;
    for (size_t i = 0; gci_names_next(&walk); i++) {
        renames[i] = (gcache_rename){ result->renames[i].stored, gci_arena_copy(arena, walk.current).data };
        result->renamed |= !gci_view_equal(walk.stored, walk.current);
    }
    result->renames = renames;
    return !arena->failed;
}

/* Bytes of other alphabets may stand in identifiers, as in Python. */
static bool
in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/*
 * A guard's text with other names: what the producer wrote as `s77 % 8 == 0` is `s0 % 8 == 0` to a caller whose s0 it is;
 * `L['s77']` and s77 alike.
 *
 * word -> letter-or-digit* ; one that begins with a digit is a number, one behind a dot an attribute: neither is a name
 */
static void
rename_words(gci_view text, gci_naming naming, gci_buf *out)
{
    size_t at = 0;

    while (at < text.size) {
        size_t end = at;
        while (end < text.size && in_word(text.data[end]))
            end++;
        gci_view word = gci_view_of(text.data + at, end - at);
        if (word.size == 0) {
            gci_buf_append_char(out, text.data[at++]);
            continue;
        }
        bool name = !isdigit((unsigned char)word.data[0]) && (at == 0 || text.data[at - 1] != '.');
        gci_buf_append_view(out, name ? naming.rename(naming.state, word) : word);
        at = end;
    }
}

/* The guards as the caller would write them. */
static bool
fill_guards(gcache_result *result, gci_context const *context, gci_record const *record, gci_arena *arena)
{
    renaming names = { context, record };
    gci_naming naming = { .rename = current_name, .state = &names };
    char const **texts = gci_arena_array(arena, record->guard_count, sizeof *texts);
    gci_buf text;

    gci_buf_init(&text, OWNER_BYTES_MAX);
    for (size_t i = 0; texts != NULL && i < record->guard_count; i++) {
        text.size = 0;
        rename_words(record->guards[i], naming, &text);
        texts[i] = gci_arena_copy(arena, gci_buf_view(&text)).data;
    }
    bool done = texts != NULL && !text.failed && !arena->failed;
    gci_buf_clear(&text);
    result->guards = texts;
    return done;
}

static bool
fill_note(gcache_result *result, gci_context const *context, gci_arena *arena)
{
    char const *expected = context->request.expect_variant, *variant = result->variant;

    if (expected == NULL || strcmp(expected, variant) == 0)
        return true;
    gci_buf note;
    gci_buf_init(&note, GCI_BUF_NO_LIMIT);
    gci_visible_format(&note, "expected variant \"%s\" is missing; served ", expected);
    gci_visible_format(&note, variant[0] != '\0' ? "\"%s\"" : "the plain one%s", variant);
    result->note = note.failed ? NULL : gci_arena_copy(arena, gci_buf_view(&note)).data;
    gci_buf_clear(&note);
    return result->note != NULL;
}

/* What depends on who asks: nothing, for a caller who uses the producer's names. */
static bool
fill_answer(gcache_result *result, gci_context const *context, gci_ranked const *winner, gci_arena *arena)
{
    gci_record const *record = &winner->candidate->record;

    if (context == NULL)
        return true;
    if (!gci_has_names_of(winner, context) &&
        (!fill_renames(result, context, record, arena) || !fill_guards(result, context, record, arena)))
        return false;
    return fill_note(result, context, arena);
}

/* Whether nothing but the candidates is needed to keep a hit alive. */
static bool
is_plain(gci_context const *context, gci_ranked const *winner, gci_payload const *payload)
{
    return payload->held == NULL && (context == NULL || (context->request.expect_variant == NULL &&
                                                         gci_has_names_of(winner, context)));
}

/* Takes over the payload. */
static bool
fill_rest(gcache_result *result, gci_context const *context, gci_ranked const *winner, gci_payload *payload)
{
    owner *o = calloc(1, sizeof *o);

    if (o == NULL) {
        gci_payload_release(payload);
        return false;
    }
    gci_arena_init(&o->arena, OWNER_BYTES_MAX);
    o->payload = *payload;
    result->owner = o;
    return fill_answer(result, context, winner, &o->arena);
}

gcache_status
gci_result_fill(gcache_result *result, gci_context const *context, gci_ranked const *winner, gci_payload *payload,
                gcache_error *error)
{
    *result = winner->answer;
    result->payload = payload->data;
    result->payload_size = payload->size;
    if (is_plain(context, winner, payload) || fill_rest(result, context, winner, payload))
        return GCACHE_HIT;
    gcache_result_clear(result);
    result->key = winner->answer.key;
    return gci_fail_memory(error);
}
