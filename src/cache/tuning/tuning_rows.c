/* Names and values of tuning rows: written, and read. See tuning_rows.h. */
#include "cache/tuning/tuning_rows.h"

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
        gci_json_next(out);
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
    *out_kernel = (gcache_kernel){ sizeof(gcache_kernel), parts[0], parts[1], parts[2], NULL };
    return true;
}

/* ---- values ---- */

static gci_field const timing_fields[] = {
    { GCI_FIELD_NUMBER, "timing", "a double; infinity: it can't run", .size = 8, .width = sizeof(double), .most = UINT64_MAX },
};
gci_fields const gci_timing_fields = GCI_FIELDS("timing", double, timing_fields);

void
gci_write_timing(gci_buf *out, double timing)
{
    gci_fields_write(out, &gci_timing_fields, &timing);
}

bool
gci_read_timing(gci_view value, double *out_timing)
{
    return gci_fields_read_all(value, &gci_timing_fields, NULL, out_timing) && !isnan(*out_timing);
}

static gci_field const parameter_fields[] = {
    GCI_STRING(gcache_pair, name, "name", ""),
    GCI_STRING(gcache_pair, value, "value", ""),
};
static gci_fields const parameter_item = GCI_FIELDS("parameter", gcache_pair, parameter_fields);

static gci_field const best_fields[] = {
    GCI_LIST(gcache_best, config.parameters, config.count, &parameter_item, "config", ""),
    GCI_STRING(gcache_best, configs_hash, "configs_hash", "of the configurations it was chosen among"),
    GCI_FLAG(gcache_best, by_descent, "by_descent", "found by coordinate descent"),
    GCI_NUMBER(gcache_best, tuning_ns, 8, "tuning_ns", "what finding it took"),
    GCI_STRING(gcache_best, kernel_hash, "kernel_hash", "of the compiled kernel; empty if unknown"),
};
gci_fields const gci_best_fields = GCI_FIELDS("best", gcache_best, best_fields);

void
gci_write_best(gci_buf *out, gcache_best const *best)
{
    gci_fields_write(out, &gci_best_fields, best);
}

bool
gci_read_best(gci_view value, gci_arena *arena, gcache_best *out_best)
{
    gci_view copy = gci_arena_copy(arena, value);

    *out_best = (gcache_best){ .size = sizeof *out_best };
    return copy.data != NULL && gci_fields_read_all(copy, &gci_best_fields, arena, out_best);
}
