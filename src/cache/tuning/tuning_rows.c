/*
 * Names and values of tuning rows as JSON (docs/formats/tables.md).
 */
#include "cache/tuning/tuning_rows.h"

#include "base/codec.h"
#include "base/error.h"
#include "base/text/json.h"
#include "base/utf8.h"

#include <math.h>

/* ---- names ---- */

gcache_status
gci_check_utf8(gcache_pair const *texts, size_t count, gcache_error *error)
{
    for (size_t i = 0; i < count; i++) {
        if (texts[i].value != NULL && !gci_utf8_valid(gci_view_text(texts[i].value)))
            return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s isn't UTF-8", texts[i].name);
    }
    return GCACHE_OK;
}

gcache_status
gci_check_site(gcache_site const *site, gcache_error *error)
{
    gcache_pair const texts[] = {
        { "the system", site->system }, { "the op", site->op },           { "the inputs", site->inputs },
        { "the hint", site->hint },     { "the precision", site->precision },
    };

    return gci_check_utf8(texts, sizeof texts / sizeof *texts, error);
}

void
gci_write_name(gci_buf *out, char const *const *parts, size_t count)
{
    gci_buf_append_char(out, '[');
    for (size_t i = 0; i < count; i++) {
        gci_buf_append_text(out, i > 0 ? ", " : "");
        gci_json_write_text(out, gci_view_text(parts[i] != NULL ? parts[i] : ""));
    }
    gci_buf_append_char(out, ']');
}

/* Reads JSON from bytes that go away. */
static bool
read_json(gci_view text, gci_arena *arena, gci_value_type type, gci_value *out_value)
{
    gci_view copy = gci_arena_copy(arena, text);

    return copy.data != NULL && gci_json_read(copy, "row", arena, out_value, NULL) == GCACHE_OK &&
           out_value->type == type;
}

/* name = array of count strings */
bool
gci_read_name(gci_view name, gci_arena *arena, char const **out_parts, size_t count)
{
    gci_value list;

    if (!read_json(name, arena, GCI_LIST, &list) || list.count != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (list.items[i].type != GCI_STRING)
            return false;
        out_parts[i] = gci_arena_copy(arena, list.items[i].text).data;
    }
    return !arena->failed;
}

void
gci_write_site(gci_buf *out, gcache_site const *site)
{
    gci_write_name(out, (char const *[]){ site->system, site->op, site->inputs, site->hint, site->precision },
                   GCI_SITE_PARTS);
}

bool
gci_read_site(gci_view name, gci_arena *arena, gcache_site *out_site)
{
    char const *parts[GCI_SITE_PARTS];

    if (!gci_read_name(name, arena, parts, GCI_SITE_PARTS))
        return false;
    *out_site = (gcache_site){ sizeof(gcache_site), parts[0], parts[1], parts[2], parts[3], parts[4] };
    return true;
}

void
gci_write_kernel(gci_buf *out, gcache_kernel const *kernel)
{
    gci_write_name(out, (char const *[]){ kernel->source_hash, kernel->tag, kernel->toolchain }, GCI_KERNEL_PARTS);
}

bool
gci_read_kernel(gci_view name, gci_arena *arena, gcache_kernel *out_kernel)
{
    char const *parts[GCI_KERNEL_PARTS];

    if (!gci_read_name(name, arena, parts, GCI_KERNEL_PARTS))
        return false;
    *out_kernel = (gcache_kernel){ sizeof(gcache_kernel), parts[0], parts[1], parts[2] };
    return true;
}

/* ---- timings ---- */

void
gci_write_timing(gci_buf *out, double timing)
{
    uint64_t bits;

    memcpy(&bits, &timing, sizeof bits);
    gci_put_u64(out, bits);
}

/* timing = 8 bytes, not NaN */
bool
gci_read_timing(gci_view value, double *out_timing)
{
    gci_reader reader = gci_reader_of(value);
    uint64_t bits = gci_get_u64(&reader);

    memcpy(out_timing, &bits, sizeof bits);
    return !reader.failed && gci_reader_left(&reader) == 0 && !isnan(*out_timing);
}

/* ---- records ---- */

void
gci_write_best(gci_buf *out, gcache_best const *best)
{
    gci_buf_append_text(out, "{\"config\": {");
    for (size_t i = 0; i < best->config.count; i++) {
        gci_buf_append_text(out, i > 0 ? ", " : "");
        gci_json_write_text(out, gci_view_text(best->config.parameters[i].name));
        gci_buf_append_text(out, ": ");
        gci_json_write_text(out, gci_view_text(best->config.parameters[i].value));
    }
    gci_buf_append_text(out, "}, \"configs_hash\": ");
    gci_json_write_text(out, gci_view_text(best->configs_hash));
    gci_buf_format(out, ", \"by_descent\": %s, \"tuning_ns\": %llu, \"kernel_hash\": ", best->by_descent ? "true" : "false",
                   (unsigned long long)best->tuning_ns);
    gci_json_write_text(out, gci_view_text(best->kernel_hash));
    gci_buf_append_char(out, '}');
}

static char const *
member_text(gci_value const *map, char const *name, gci_arena *arena)
{
    gci_value const *value = gci_map_find(map, name);

    return value != NULL && value->type == GCI_STRING ? gci_arena_copy(arena, value->text).data : NULL;
}

/* config = object of strings */
static bool
read_config(gci_value const *map, gci_arena *arena, gcache_config *out_config)
{
    gcache_pair *pairs;

    if (map == NULL || map->type != GCI_MAP || (pairs = gci_arena_array(arena, map->count, sizeof *pairs)) == NULL)
        return false;
    for (uint32_t i = 0; i < map->count; i++) {
        if (map->members[i].value.type != GCI_STRING)
            return false;
        pairs[i].name = gci_arena_copy(arena, map->members[i].name).data;
        pairs[i].value = gci_arena_copy(arena, map->members[i].value.text).data;
    }
    *out_config = (gcache_config){ pairs, map->count };
    return true;
}

/* record = object with config, configs_hash, by_descent, tuning_ns, kernel_hash */
bool
gci_read_best(gci_view value, gci_arena *arena, gcache_best *out_best)
{
    gci_value map;

    *out_best = (gcache_best){ .size = sizeof(gcache_best), .configs_hash = NULL };
    if (!read_json(value, arena, GCI_MAP, &map) || !read_config(gci_map_find(&map, "config"), arena, &out_best->config))
        return false;
    gci_value const *by_descent = gci_map_find(&map, "by_descent"), *tuning_ns = gci_map_find(&map, "tuning_ns");
    out_best->configs_hash = member_text(&map, "configs_hash", arena);
    out_best->kernel_hash = member_text(&map, "kernel_hash", arena);
    out_best->by_descent = by_descent != NULL && by_descent->type == GCI_BOOL && by_descent->boolean;
    if (tuning_ns != NULL && tuning_ns->type == GCI_INT && tuning_ns->integer > 0)
        out_best->tuning_ns = (uint64_t)tuning_ns->integer;
    return !arena->failed && out_best->configs_hash != NULL && out_best->kernel_hash != NULL;
}
