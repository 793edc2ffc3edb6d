/*
 * A fingerprint: its parts, their hash, and what differs from one that was written down.
 */
#include "base/array.h"
#include "base/check.h"
#include "base/codec.h"
#include "base/text/json.h"
#include "base/utf8.h"
#include "graph/fingerprint/fingerprint_run.h"

#include <stdlib.h>

/* A million files of long paths. */
#define ARENA_LIMIT ((size_t)4 << 30)

/* The first field of what a fingerprint and a tree are hashes of. */
#define DOMAIN "guardcache-fingerprint/1"
#define TREE_DOMAIN "guardcache-tree/1"

gcache_fingerprint *
gcache_fingerprint_new(void)
{
    gcache_fingerprint *print = calloc(1, sizeof *print);

    if (print == NULL)
        return NULL;
    gci_arena_init(&print->arena, ARENA_LIMIT);
    gci_arena_init(&print->index_arena, ARENA_LIMIT);
    return print;
}

void
gcache_fingerprint_free(gcache_fingerprint *print)
{
    if (print == NULL)
        return;
    gci_arena_clear(&print->arena);
    gci_arena_clear(&print->index_arena);
    gci_intern_clear(&print->paths);
    free(print->remembered);
    free(print->parts);
    free(print);
}

void
gcache_fingerprint_clear(gcache_fingerprint *print)
{
    if (print == NULL)
        return;
    print->part_count = 0;
    gci_arena_clear(&print->arena);
}

/* ---- parts ---- */

static gcache_status
check_name(gcache_fingerprint const *print, char const *name, gcache_error *error)
{
    GCI_REQUIRE(print != NULL && name != NULL, error, "a part needs a fingerprint and a name");
    GCI_REQUIRE(gci_utf8_valid(gci_view_text(name)), error, "a part's name must be UTF-8");
    for (size_t i = 0; i < print->part_count; i++)
        GCI_REQUIRE(!gci_view_is(print->parts[i].name, name), error, "part \"%s\" is given twice", name);
    return GCACHE_OK;
}

/* Adds a part whose name has been checked. */
static gcache_status
add_part(gcache_fingerprint *print, gci_print_part part, char const *name, gci_view value, gcache_error *error)
{
    if (!gci_array_has_room(&print->parts, print->part_count, &print->part_room, sizeof *print->parts))
        return gci_fail_memory(error);
    part.name = gci_arena_copy(&print->arena, gci_view_text(name));
    part.value = gci_arena_copy(&print->arena, value);
    if (part.name.data == NULL || part.value.data == NULL)
        return gci_fail_memory(error);
    print->parts[print->part_count++] = part;
    return GCACHE_OK;
}

gcache_status
gcache_fingerprint_fact(gcache_fingerprint *print, char const *name, char const *value, gcache_error *error)
{
    gcache_status status = check_name(print, name, error);

    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(value != NULL && gci_utf8_valid(gci_view_text(value)), error, "a fact's value must be UTF-8");
    return add_part(print, (gci_print_part){ .type = GCI_PART_FACT }, name, gci_view_text(value), error);
}

gcache_status
gcache_fingerprint_preset(gcache_fingerprint *print, char const *name, char const *hash, gcache_error *error)
{
    gcache_key key;
    gcache_status status = check_name(print, name, error);

    if (status != GCACHE_OK)
        return status;
    status = gcache_key_from_hex(hash, &key, error);
    if (status != GCACHE_OK)
        return status;
    char hex[GCACHE_KEY_HEX_SIZE];
    gcache_key_to_hex(&key, hex); /* in lower case, so that both spellings are one */
    return add_part(print, (gci_print_part){ .type = GCI_PART_PRESET }, name, gci_view_text(hex), error);
}

static gcache_status
add_files(gcache_fingerprint *print, gci_print_part *part, char const *name, unsigned threads, gcache_error *error)
{
    uint8_t hash[GCI_SHA256_BYTES];
    char hex[2 * GCI_SHA256_BYTES + 1];
    gci_buf fields;
    gcache_status status = gci_print_read(print, part, threads, error);

    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&fields, GCI_BUF_NO_LIMIT);
    gci_put_bytes(&fields, (gci_view)GCI_VIEW(TREE_DOMAIN));
    for (size_t i = 0; i < part->file_count; i++) {
        gci_put_bytes(&fields, part->files[i].path);
        gci_put_bytes(&fields, gci_view_of(part->files[i].hash, sizeof part->files[i].hash));
    }
    if (!gci_digest_of_buf(&fields, hash))
        return gci_fail_memory(error);
    gci_hex(part->type == GCI_PART_FILE ? part->files[0].hash : hash, sizeof hash, hex);
    return add_part(print, *part, name, gci_view_text(hex), error);
}

gcache_status
gcache_fingerprint_file(gcache_fingerprint *print, char const *name, char const *path, gcache_error *error)
{
    gci_print_part part = { .type = GCI_PART_FILE };
    gcache_status status = check_name(print, name, error);

    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(path != NULL, error, "a file needs a path");
    status = gci_print_find(print, path, NULL, &part, error);
    return status == GCACHE_OK ? add_files(print, &part, name, 0, error) : status;
}

gcache_status
gcache_fingerprint_tree(gcache_fingerprint *print, char const *name, char const *path, gcache_tree_options const *options,
                        gcache_error *error)
{
    gcache_tree_options const none = GCACHE_TREE_OPTIONS_INIT;
    gci_print_part part = { .type = GCI_PART_TREE };
    gcache_status status = check_name(print, name, error);

    if (status != GCACHE_OK)
        return status;
    GCI_REQUIRE(path != NULL, error, "a tree needs a path");
    GCI_REQUIRE_INIT(options, error);
    if (options == NULL)
        options = &none;
    status = gci_print_find(print, path, options, &part, error);
    return status == GCACHE_OK ? add_files(print, &part, name, options->threads, error) : status;
}

/* ---- what comes out ---- */

static int
compare_parts(void const *a, void const *b)
{
    return gci_view_compare((*(gci_print_part const *const *)a)->name, (*(gci_print_part const *const *)b)->name);
}

static gci_print_part const **
sort_parts(gcache_fingerprint const *print)
{
    gci_print_part const **parts = malloc((print->part_count + 1) * sizeof *parts);

    for (size_t i = 0; i < print->part_count && parts != NULL; i++)
        parts[i] = &print->parts[i];
    if (parts != NULL)
        qsort(parts, print->part_count, sizeof *parts, compare_parts);
    return parts;
}

gcache_status
gcache_fingerprint_hash(gcache_fingerprint const *print, gcache_key *out_hash, gcache_error *error)
{
    gci_buf fields;

    GCI_REQUIRE(print != NULL && out_hash != NULL, error, "gcache_fingerprint_hash needs a fingerprint and a result");
    gci_print_part const **parts = sort_parts(print);
    if (parts == NULL)
        return gci_fail_memory(error);
    gci_buf_init(&fields, GCI_BUF_NO_LIMIT);
    gci_put_bytes(&fields, (gci_view)GCI_VIEW(DOMAIN));
    for (size_t i = 0; i < print->part_count; i++) {
        gci_put_bytes(&fields, parts[i]->name);
        gci_put_u8(&fields, parts[i]->type == GCI_PART_FACT);
        gci_put_bytes(&fields, parts[i]->value);
    }
    free(parts);
    return gci_digest_of_buf(&fields, out_hash->bytes) ? GCACHE_OK : gci_fail_memory(error);
}

gcache_value *
gcache_fingerprint_value(gcache_fingerprint const *print, gcache_graph *graph)
{
    char const **names = malloc((print->part_count + 1) * sizeof *names);
    gcache_value **values = malloc((print->part_count + 1) * sizeof *values);
    gcache_value *map = NULL;

    for (size_t i = 0; i < print->part_count && names != NULL && values != NULL; i++) {
        names[i] = print->parts[i].name.data;
        values[i] = gcache_value_text(graph, print->parts[i].value.data, print->parts[i].value.size);
    }
    if (names != NULL && values != NULL)
        map = gcache_value_map(graph, names, values, print->part_count);
    free(names);
    free(values);
    return map;
}

void
gcache_fingerprint_each(gcache_fingerprint const *print, gcache_fingerprint_fn fn, void *state)
{
    char hex[2 * GCI_SHA256_BYTES + 1];

    for (size_t i = 0; i < print->part_count; i++) {
        gci_print_part const *part = &print->parts[i];
        fn(state, &(gcache_fingerprint_line){ .part = part->name.data, .path = "", .value = part->value.data });
        for (size_t k = 0; k < part->file_count && part->type == GCI_PART_TREE; k++) {
            gci_hex(part->files[k].hash, sizeof part->files[k].hash, hex);
            fn(state, &(gcache_fingerprint_line){ .part = part->name.data, .path = part->files[k].path.data, .value = hex,
                                                  .read = part->files[k].read });
        }
    }
}

/* ---- comparing ---- */

static void
write_json_line(void *state, gcache_fingerprint_line const *line)
{
    gci_buf *out = state;

    gci_buf_append_text(out, "{\"part\": ");
    gci_json_write_text(out, gci_view_text(line->part));
    gci_buf_append_text(out, ", ");
    gci_json_write_path(out, gci_view_text(line->path));
    gci_buf_append_text(out, ", \"value\": ");
    gci_json_write_text(out, gci_view_text(line->value));
    gci_buf_append_text(out, "}\n");
}

gcache_status
gcache_fingerprint_write(gcache_fingerprint const *print, char **out_text, gcache_error *error)
{
    gci_buf text;

    GCI_REQUIRE(print != NULL && out_text != NULL, error, "gcache_fingerprint_write needs a fingerprint and a result");
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gcache_fingerprint_each(print, write_json_line, &text);
    *out_text = gci_buf_take_text(&text);
    return *out_text != NULL ? GCACHE_OK : gci_fail_memory(error);
}

/* A line of one side of a comparison, by part and path. */
typedef struct entry {
    gci_view part, path, value;
    bool has_files; /* the part's own line, which its files' lines tell more exactly */
} entry;

typedef struct entries {
    gci_arena arena;
    gci_buf list; /* of entry */
    bool failed;
} entries;

static void
init_entries(entries *e)
{
    e->failed = false;
    gci_arena_init(&e->arena, ARENA_LIMIT);
    gci_buf_init(&e->list, GCI_BUF_NO_LIMIT);
}

static void
clear_entries(entries *e)
{
    gci_arena_clear(&e->arena);
    gci_buf_clear(&e->list);
}

static void
add_entry(entries *e, gci_view part, gci_view path, gci_view value)
{
    entry line = { .part = gci_arena_copy(&e->arena, part),
                   .path = gci_arena_copy(&e->arena, path),
                   .value = gci_arena_copy(&e->arena, value) };

    gci_buf_append(&e->list, &line, sizeof line);
    e->failed = e->failed || e->arena.failed || e->list.failed;
}

static void
add_present(void *state, gcache_fingerprint_line const *line)
{
    add_entry(state, gci_view_text(line->part), gci_view_text(line->path), gci_view_text(line->value));
}

/* The path of a line, or its exact bytes if it has them. No data: neither is there. */
static gci_view
read_path(gci_value const *line, gci_arena *arena)
{
    gci_value const *path = gci_map_find(line, "path"), *hex = gci_map_find(line, "path_hex");

    if (hex == NULL)
        return path != NULL && path->type == GCI_STRING ? path->text : (gci_view){ NULL, 0 };
    size_t size = hex->type == GCI_STRING ? hex->text.size / 2 : 0;
    uint8_t *bytes = gci_arena_alloc(arena, size + 1);
    bool read = bytes != NULL && size != 0 && gci_unhex(hex->text, bytes, size);
    return read ? gci_view_of(bytes, size) : (gci_view){ NULL, 0 };
}

static gcache_status
read_written(entries *e, gci_view text, gcache_error *error)
{
    for (gci_view written; !e->failed && gci_view_next_line(&text, &written);) {
        gci_value line;
        gcache_status status = gci_json_read(written, "fingerprint", &e->arena, &line, error);
        if (status != GCACHE_OK)
            return status;
        gci_value const *part = line.type == GCI_MAP ? gci_map_find(&line, "part") : NULL;
        gci_view path = line.type == GCI_MAP ? read_path(&line, &e->arena) : (gci_view){ NULL, 0 };
        gci_value const *value = line.type == GCI_MAP ? gci_map_find(&line, "value") : NULL;
        if (part == NULL || path.data == NULL || value == NULL || part->type != GCI_STRING || value->type != GCI_STRING)
            return gci_fail(error, GCACHE_ERROR_DESCRIPTION, "not what gcache_fingerprint_write wrote");
        add_entry(e, part->text, path, value->text);
    }
    return GCACHE_OK;
}

static int
compare_entries(void const *a, void const *b)
{
    entry const *x = a, *y = b;
    int order = gci_view_compare(x->part, y->part);

    return order != 0 ? order : gci_view_compare(x->path, y->path);
}

static entry *
sort_entries(entries *e, size_t *out_count)
{
    entry *list = (entry *)(void *)e->list.data;

    *out_count = e->list.size / sizeof *list;
    if (*out_count != 0)
        qsort(list, *out_count, sizeof *list, compare_entries);
    for (size_t i = 0; i + 1 < *out_count; i++)
        list[i].has_files = list[i].path.size == 0 && gci_view_equal(list[i].part, list[i + 1].part);
    return list;
}

static void
report_changes(entries *before, entries *after, gcache_fingerprint_change_fn fn, void *state)
{
    size_t before_count, after_count, i = 0, k = 0;
    entry const *a = sort_entries(before, &before_count), *b = sort_entries(after, &after_count);

    while (i < before_count || k < after_count) {
        int order = i == before_count ? 1 : k == after_count ? -1 : compare_entries(&a[i], &b[k]);
        entry const *old = order <= 0 ? &a[i] : NULL, *new = order >= 0 ? &b[k] : NULL;
        bool same = old != NULL && new != NULL && gci_view_equal(old->value, new->value);
        bool in_files = (old == NULL || old->has_files) && (new == NULL || new->has_files);
        if (!same && !in_files)
            fn(state, &(gcache_fingerprint_change){ .part = (old != NULL ? old : new)->part.data,
                                                    .path = (old != NULL ? old : new)->path.data,
                                                    .before = old != NULL ? old->value.data : NULL,
                                                    .after = new != NULL ? new->value.data : NULL });
        i += order <= 0;
        k += order >= 0;
    }
}

gcache_status
gcache_fingerprint_compare(gcache_fingerprint const *print, char const *written, size_t size,
                           gcache_fingerprint_change_fn fn, void *state, gcache_error *error)
{
    entries before, after;

    GCI_REQUIRE(print != NULL && (written != NULL || size == 0) && fn != NULL, error,
                "gcache_fingerprint_compare needs a fingerprint, a text and a function");
    init_entries(&before);
    init_entries(&after);
    gcache_status status = read_written(&before, gci_view_of(written, size), error);
    gcache_fingerprint_each(print, add_present, &after);
    if (status == GCACHE_OK && (before.failed || after.failed))
        status = gci_fail_memory(error);
    if (status == GCACHE_OK)
        report_changes(&before, &after, fn, state);
    clear_entries(&before);
    clear_entries(&after);
    return status;
}
