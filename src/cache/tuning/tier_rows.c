/* Rows of tuning results in tiers: see tier_rows.h. */
#include "cache/tuning/tier_rows.h"

#include "base/digest.h"
#include "base/system/clock.h"
#include "cache/tiers/upload.h"

#include <stdlib.h>

/* The rows of a bundle, as tables.db takes them. */
#define ROWS_BYTES_MAX ((size_t)256 << 20)
/* A domain tag: what is named by a hash of it is nothing else's. */
static char const tag[] = "guardcache-rows-1";

typedef struct value {
    gci_row *rows;
    size_t count;
} value;

static gci_field const value_fields[] = {
    GCI_CONSTANT("GCROWS01", "magic", "`GCROWS01`"),
    GCI_LIST(value, rows, count, &gci_row_fields, "rows", "as in exports"),
    GCI_SUM128("XXH3-128", "of the bytes before"),
};
gci_fields const gci_tier_rows_fields = GCI_FIELDS("rows in a tier", value, value_fields);

/* ---- whether, and under which name ---- */

static bool
may_leave(gcache *cache, gci_tier_rows const *which)
{
    gci_tiers *tiers = cache->tiers;

    if (tiers == NULL || gci_store_requires_signature(cache->store))
        return false;
    if (which->backend != NULL && which->backend[0] != '\0')
        return true;
    if (!atomic_exchange(&tiers->said_no_backend, true) && cache->options.log != NULL)
        cache->options.log(cache->options.log_state,
                           "tuning results stay in the directory: nobody says for which back end they are");
    return false;
}

static void
put_text(gci_buf *text, char const *piece)
{
    gci_buf_append_text(text, piece != NULL ? piece : "");
    gci_buf_append_char(text, '\0');
}

static bool
name_rows(gcache const *cache, gci_tier_rows const *which, gcache_object *out)
{
    uint8_t hash[GCI_SHA256_BYTES];
    gci_buf text;

    *out = (gcache_object){ .kind = GCACHE_OBJECT_VALUE };
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append(&text, tag, sizeof tag);
    put_text(&text, which->table);
    gci_buf_append_view(&text, cache->namespace_);
    gci_buf_append_char(&text, '\0');
    gci_buf_append_view(&text, which->name);
    gci_buf_append_char(&text, '\0');
    put_text(&text, which->backend);
    put_text(&text, which->configs_hash);
    bool named = gci_digest_of_buf(&text, hash);
    if (named)
        gci_hex(hash, sizeof hash, out->name);
    return named;
}

/* ---- to tiers ---- */

void
gci_tier_rows_put(gcache *cache, gci_tier_rows const *which, gci_row const *rows, size_t count)
{
    gcache_object object;
    gci_buf bytes;

    if (!may_leave(cache, which) || cache->tiers->uploads == NULL || !name_rows(cache, which, &object))
        return;
    gci_buf_init(&bytes, ROWS_BYTES_MAX);
    gci_row *copy = calloc(count != 0 ? count : 1, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = rows[i];
        if (copy[i].at_ns == 0)
            copy[i].at_ns = gci_clock_wall_ns();
    }
    if (copy != NULL)
        gci_fields_write(&bytes, &gci_tier_rows_fields, &(value){ copy, count });
    free(copy);
    if (copy != NULL && !bytes.failed)
        gci_uploads_publish(cache->tiers->uploads, &object, &bytes, gci_tiers_writable(cache->tiers));
    gci_buf_clear(&bytes);
}

/* ---- from tiers ---- */

typedef struct reading {
    gci_arena *arena;
    value value;
    bool good;
} reading;

static int
take(void *state, gcache_object const *object)
{
    reading *r = state;
    gci_view bytes = gci_arena_copy(r->arena, gci_view_of(object->bytes, object->size));

    r->good = bytes.data != NULL && gci_fields_read_all(bytes, &gci_tier_rows_fields, r->arena, &r->value);
    return 0;
}

/* A row is believed only for what was asked: a tier must not put others into tables.db. */
static bool
are_of(gcache const *cache, gci_tier_rows const *which, value const *found)
{
    for (size_t i = 0; i < found->count; i++) {
        gci_row *row = &found->rows[i];
        uint64_t now = gci_clock_wall_ns();
        if (!gci_view_is(row->table, which->table) || !gci_view_equal(row->namespace_, cache->namespace_) ||
            !gci_view_equal(row->name, which->name))
            return false;
        row->at_ns = row->at_ns == 0 ? 1 : row->at_ns < now ? row->at_ns : now;
    }
    return found->count != 0;
}

static bool
ask(gci_tier *tier, gcache_object const *object, reading *r)
{
    gci_asking asking;

    if (gci_asking_begin(&asking, tier, GCI_ASK_TO_READ, 0))
        GCI_ASK(&asking, fetch, object, 1, take, r);
    gci_asking_end(&asking);
    return r->good;
}

bool
gci_tier_rows_get(gcache *cache, gci_tier_rows const *which, gci_arena *arena, gci_row **out_rows, size_t *out_count)
{
    gcache_object object;

    if (!may_leave(cache, which) || !name_rows(cache, which, &object))
        return false;
    for (size_t i = 0; i < cache->tiers->count; i++) {
        reading r = { .arena = arena };
        if (!ask(cache->tiers->items[i], &object, &r) || !are_of(cache, which, &r.value))
            continue;
        *out_rows = r.value.rows;
        *out_count = r.value.count;
        return true;
    }
    return false;
}
