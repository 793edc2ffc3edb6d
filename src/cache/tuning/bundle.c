/*
 * Bundles: the records of one compile, stored together under the hash of what was compiled, so that the next process that
 * compiles the same has all of them at once. In a bundle as outside, a record has the time at which it was made: of a
 * kernel's two the newer one counts.
 */
#include "cache/tuning/bundle.h"

#include "base/check.h"
#include "base/digest.h"
#include "cache/handle/cache.h"
#include "cache/tuning/best.h"
#include "cache/tuning/tier_rows.h"
#include "store/index/tables.h"

#include <stdlib.h>

#define BUNDLE_PARTS 3
/* The records of one compile. */
#define BUNDLE_BYTES_MAX ((size_t)256 << 20)

/* ---- what is open ---- */

gcache_status
gci_bundle_new(gci_bundle **out_bundle, gcache_error *error)
{
    gci_bundle *bundle = *out_bundle = calloc(1, sizeof *bundle);

    if (bundle == NULL || !gci_fork_mutex_init(&bundle->mutex))
        return gci_fail_memory(error);
    gci_buf_init(&bundle->name, GCI_RECORD_BYTES_MAX);
    gci_arena_init(&bundle->arena, BUNDLE_BYTES_MAX);
    return GCACHE_OK;
}

static void
empty(gci_bundle *bundle)
{
    gci_buf_clear(&bundle->name);
    gci_arena_clear(&bundle->arena);
    bundle->first = NULL;
    bundle->count = 0;
}

void
gci_bundle_free(gci_bundle *bundle)
{
    if (bundle == NULL)
        return;
    empty(bundle);
    gci_fork_mutex_destroy(&bundle->mutex);
    free(bundle);
}

static void
lock(gci_bundle *bundle)
{
    if (gci_fork_mutex_lock(&bundle->mutex))
        empty(bundle);
}

static void
unlock(gci_bundle *bundle)
{
    gci_fork_mutex_unlock(&bundle->mutex);
}

static gci_bundled *
find_kernel(gci_bundle const *bundle, gci_view kernel)
{
    gci_bundled *b = bundle->first;

    while (b != NULL && !gci_view_equal(b->kernel, kernel))
        b = b->next;
    return b;
}

void
gci_bundle_collect(gci_bundle *bundle, gci_view kernel, gci_view record, uint64_t at_ns)
{
    lock(bundle);
    if (bundle->name.size != 0) {
        gci_bundled *b = find_kernel(bundle, kernel);
        if (b == NULL && (b = GCI_ARENA_NEW(&bundle->arena, gci_bundled)) != NULL) {
            b->kernel = gci_arena_copy(&bundle->arena, kernel);
            b->next = bundle->first;
            bundle->first = b;
            bundle->count++;
        }
        if (b != NULL) {
            b->record = gci_arena_copy(&bundle->arena, record);
            b->at_ns = at_ns;
        }
    }
    unlock(bundle);
}

/* ---- beginning ---- */

static gcache_status
check_options(gcache const *cache, gcache_bundle_options const *options, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE(options != NULL, error, "there are no options");
    GCI_REQUIRE_INIT(options, error);
    GCI_REQUIRE((options->source != NULL) != (options->source_hash != NULL), error,
                "either the source or its hash is needed, not both");
    gcache_pair const texts[] = { { "the source hash", options->source_hash },
                                  { "the back end", options->backend },
                                  { "extra", options->extra } };
    return gci_check_utf8(texts, sizeof texts / sizeof *texts, error);
}

static gcache_status
name_bundle(gcache_bundle_options const *options, gci_buf *out, gcache_error *error)
{
    char hex[GCACHE_KEY_HEX_SIZE];
    gcache_key hash;

    if (options->source != NULL) {
        gcache_status status = gcache_source_hash(options->source, options->comment, &hash, error);
        if (status != GCACHE_OK)
            return status;
        gcache_key_to_hex(&hash, hex);
    }
    gci_write_name(out, (char const *[]){ options->source != NULL ? hex : options->source_hash, options->backend, options->extra },
                   BUNDLE_PARTS);
    return out->failed ? gci_fail_memory(error) : GCACHE_OK;
}

/* A bundle's rows, kept beyond the walk. */
typedef struct loading {
    gci_arena arena;
    gci_bundled *first;
    gcache_bundle_loaded loaded;
} loading;

static int
load_row(void *state, gci_row const *row)
{
    loading *l = state;
    gcache_best best;
    gci_bundled *b = GCI_ARENA_NEW(&l->arena, gci_bundled);

    if (b == NULL)
        return 1;
    *b = (gci_bundled){ l->first, gci_arena_copy(&l->arena, row->item), gci_arena_copy(&l->arena, row->value), row->at_ns };
    if (!gci_read_best(row->value, &l->arena, &best))
        return 0;
    l->first = b;
    l->loaded.records++;
    l->loaded.saved_ns += best.tuning_ns;
    return 0;
}

/* For other hosts. The back end is a part of the bundle's name. */
static void
share_rows(gcache *cache, gci_view bundle, gci_row const *rows, size_t count)
{
    char const *parts[BUNDLE_PARTS];
    gci_arena arena;

    gci_arena_init(&arena, GCI_RECORD_BYTES_MAX);
    if (gci_read_name(bundle, &arena, parts, BUNDLE_PARTS))
        gci_tier_rows_put(cache, &(gci_tier_rows){ GCI_TABLE_BUNDLE, bundle, parts[1], NULL }, rows, count);
    gci_arena_clear(&arena);
}

/* Stores records as rows of a bundle; without a bundle's name as ones that can be found, in place of older ones. */
static gcache_status
put_records(gcache *cache, gci_view bundle, gci_bundled const *first, size_t count, gcache_error *error)
{
    gci_row *rows = calloc(count + 1, sizeof *rows), *row = rows;
    bool bundled = bundle.size != 0;

    if (rows == NULL)
        return gci_fail_memory(error);
    for (gci_bundled const *b = first; b != NULL; b = b->next)
        *row++ = (gci_row){ .table = gci_view_text(bundled ? GCI_TABLE_BUNDLE : GCI_TABLE_BEST), .namespace_ = cache->namespace_,
                            .name = bundled ? bundle : b->kernel, .item = bundled ? b->kernel : gci_view_of(NULL, 0),
                            .value = b->record, .at_ns = b->at_ns };
    gcache_status status = gci_tables_put(cache->store, rows, count, error);
    if (status == GCACHE_OK && bundled)
        share_rows(cache, bundle, rows, count);
    free(rows);
    return status;
}

/* Whether a tier has the bundle: then it is here from now on, as far as it can be. */
static bool
load_from_tier(gcache *cache, gci_view name, char const *backend, loading *l)
{
    gci_row *rows;
    size_t count;

    if (!gci_tier_rows_get(cache, &(gci_tier_rows){ GCI_TABLE_BUNDLE, name, backend, NULL }, &l->arena, &rows, &count))
        return false;
    if (gci_is_open(&cache->gate, GCI_STORE))
        gci_tables_put(cache->store, rows, count, NULL);
    for (size_t i = 0; i < count; i++)
        load_row(l, &rows[i]);
    return l->loaded.records != 0;
}

/* GCACHE_HIT: loaded; GCACHE_MISS: there is no such bundle, or it can't be used. */
static gcache_status
load(gcache *cache, gci_view name, char const *backend, gcache_bundle_loaded *out_loaded, gcache_error *error)
{
    gci_row_filter filter = { gci_view_text(GCI_TABLE_BUNDLE), cache->namespace_, name, { NULL, 0 } };
    gcache_error trouble = { 0 };
    loading l = { .loaded = GCACHE_BUNDLE_LOADED_INIT };

    if (!gci_is_open(&cache->gate, GCI_LOOK_UP))
        return GCACHE_MISS;
    gci_arena_init(&l.arena, BUNDLE_BYTES_MAX);
    gcache_status status = gci_tables_each(cache->store, &filter, load_row, &l, &trouble);
    if (status == GCACHE_OK && l.loaded.records == 0 && !load_from_tier(cache, name, backend, &l))
        status = GCACHE_MISS;
    if (status == GCACHE_OK)
        status = put_records(cache, gci_view_of(NULL, 0), l.first, l.loaded.records, &trouble);
    gci_arena_clear(&l.arena);
    if (status == GCACHE_OK) {
        gci_recorder_note(&cache->recorder, GCI_USED_ROW, filter.table, name, false);
        *out_loaded = l.loaded;
        return GCACHE_HIT;
    }
    /* Who may not write can't have its records, and that is no trouble. */
    return status < 0 && status != GCACHE_ERROR_READ_ONLY ? gci_trouble(cache, &trouble, error) : GCACHE_MISS;
}

static bool
is_open(gci_bundle *bundle)
{
    lock(bundle);
    bool open = bundle->name.size != 0;
    unlock(bundle);
    return open;
}

/* false: somebody else opened one meanwhile. */
static bool
open_bundle(gci_bundle *bundle, gci_buf *name)
{
    lock(bundle);
    bool is_free = bundle->name.size == 0;
    if (is_free) {
        bundle->name = *name;
        gci_buf_init(name, GCI_RECORD_BYTES_MAX);
    }
    unlock(bundle);
    return is_free;
}

gcache_status
gcache_bundle_begin(gcache *cache, gcache_bundle_options const *options, gcache_bundle_loaded *out_loaded,
                    gcache_error *error)
{
    gcache_bundle_loaded loaded = GCACHE_BUNDLE_LOADED_INIT;
    gci_buf name;

    GCI_REQUIRE_INIT(out_loaded, error);
    gcache_status status = check_options(cache, options, error);
    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(!is_open(cache->bundle), error, "a bundle is open already");
    gci_buf_init(&name, GCI_RECORD_BYTES_MAX);
    status = name_bundle(options, &name, error);
    if (status == GCACHE_OK)
        status = load(cache, gci_buf_view(&name), options->backend, &loaded, error);
    if (status == GCACHE_MISS && !open_bundle(cache->bundle, &name))
        status = gci_fail(error, GCACHE_ERROR_ARGUMENT, "a bundle is open already");
    gci_buf_clear(&name);
    if (out_loaded != NULL)
        *out_loaded = loaded;
    return status;
}

/* ---- ending ---- */

gcache_status
gcache_bundle_end(gcache *cache, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    gci_bundle *bundle = cache->bundle;
    lock(bundle);
    gci_bundle collected = { .name = bundle->name, .arena = bundle->arena, .first = bundle->first, .count = bundle->count };
    gci_buf_init(&bundle->name, GCI_RECORD_BYTES_MAX);
    gci_arena_init(&bundle->arena, BUNDLE_BYTES_MAX);
    bundle->first = NULL;
    bundle->count = 0;
    unlock(bundle);
    if (collected.count != 0 && gci_is_open(&cache->gate, GCI_STORE)) {
        gci_view name = gci_buf_view(&collected.name);
        status = collected.arena.failed ? gci_fail_memory(error)
                                        : put_records(cache, name, collected.first, collected.count, error);
        if (status == GCACHE_OK)
            gci_recorder_note(&cache->recorder, GCI_USED_ROW, gci_view_text(GCI_TABLE_BUNDLE), name, true);
    }
    empty(&collected);
    return status;
}

/* ---- sources without comments ---- */

/* The end of the quoted text that begins at p: behind the same quotes, or where the text ends. */
static char const *
skip_quoted(char const *p)
{
    char quote = *p;
    size_t width = p[1] == quote && p[2] == quote ? 3 : 1;

    for (p += width; *p != '\0'; p++) {
        if (*p == '\\' && p[1] != '\0')
            p++;
        else if (*p == quote && (width == 1 || (p[1] == quote && p[2] == quote)))
            return p + width;
        else if (*p == '\n' && width == 1)
            return p;
    }
    return p;
}

static void
append_without_comments(gci_buf *out, char const *source, char const *comment)
{
    size_t size = strlen(comment);

    for (char const *p = source; *p != '\0';) {
        char const *end = p + 1;
        if (size != 0 && strncmp(p, comment, size) == 0) {
            p += strcspn(p, "\n");
            continue;
        }
        if (*p == '"' || *p == '\'')
            end = skip_quoted(p);
        gci_buf_append(out, p, (size_t)(end - p));
        p = end;
    }
}

gcache_status
gcache_source_hash(char const *source, char const *comment, gcache_key *out_hash, gcache_error *error)
{
    gci_buf bare;

    GCI_REQUIRE(source != NULL && out_hash != NULL, error, "source or out_hash is NULL");
    gci_buf_init(&bare, GCI_BUF_NO_LIMIT);
    append_without_comments(&bare, source, comment != NULL ? comment : "#");
    return gci_digest_of_buf(&bare, out_hash->bytes) ? GCACHE_OK : gci_fail_memory(error);
}
