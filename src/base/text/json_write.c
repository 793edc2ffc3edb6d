/*
 * Writing JSON (RFC 8259): texts, floats, trees of values.
 */
#include "base/text/json.h"

#include "base/decimal.h"
#include "base/digest.h"
#include "base/utf8.h"
#include "base/visible.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- texts ---- */

static void
write_escape(gci_buf *buf, uint8_t c)
{
    static char const bytes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    char const *byte = c != 0 ? strchr(bytes, c) : NULL;

    if (byte != NULL) {
        gci_buf_append_char(buf, '\\');
        gci_buf_append_char(buf, letters[byte - bytes]);
    } else {
        gci_buf_format(buf, "\\u%04x", c);
    }
}

void
gci_json_write_text(gci_buf *buf, gci_view text)
{
    uint8_t const *data = (uint8_t const *)text.data;
    size_t run = 0, i = 0;

    gci_buf_append_char(buf, '"');
    while (i < text.size) {
        size_t size = gci_utf8_sequence(text.data + i, text.size - i);
        bool plain = size != 0 && data[i] != '"' && data[i] != '\\' &&
                     (size == 1 ? data[i] >= 0x20 && data[i] != 0x7F
                                : gci_visible_sequence(gci_view_of(text.data + i, text.size - i)) != 0);
        if (plain) {
            i += size;
            continue;
        }
        gci_buf_append(buf, text.data + run, i - run);
        if (size == 0)
            gci_buf_append_text(buf, "\xEF\xBF\xBD");
        else if (size == 1)
            write_escape(buf, data[i]);
        else
            gci_visible_append(buf, gci_view_of(text.data + i, size)); /* \uXXXX: none of these is beyond U+FFFF */
        i += size != 0 ? size : 1;
        run = i;
    }
    gci_buf_append(buf, text.data + run, i - run);
    gci_buf_append_char(buf, '"');
}

void
gci_json_next(gci_buf *buf)
{
    char last = buf->size != 0 ? buf->data[buf->size - 1] : ' ';

    if (last != '{' && last != '[')
        gci_buf_append_text(buf, ", ");
}

void
gci_json_member(gci_buf *buf, char const *name)
{
    gci_json_next(buf);
    gci_buf_format(buf, "\"%s\": ", name);
}

void
gci_json_member_text(gci_buf *buf, char const *name, gci_view text)
{
    gci_json_member(buf, name);
    gci_json_write_text(buf, text);
}

void
gci_json_member_number(gci_buf *buf, char const *name, uint64_t number)
{
    gci_json_member(buf, name);
    gci_buf_format(buf, "%llu", (unsigned long long)number);
}

void
gci_json_write_path(gci_buf *buf, gci_view path)
{
    char hex[3];

    gci_buf_append_text(buf, "\"path\": ");
    gci_json_write_text(buf, path);
    if (gci_utf8_valid(path))
        return;
    gci_buf_append_text(buf, ", \"path_hex\": \"");
    for (size_t i = 0; i < path.size; i++) {
        gci_hex((uint8_t const *)path.data + i, 1, hex);
        gci_buf_append_text(buf, hex);
    }
    gci_buf_append_char(buf, '"');
}

/* ---- floats ---- */

void
gci_json_write_float(gci_buf *buf, double value)
{
    char text[40];

    if (!isfinite(value)) {
        gci_buf_append_text(buf, isnan(value) ? "{\"$float\": \"nan\"}"
                                 : value > 0  ? "{\"$float\": \"inf\"}"
                                              : "{\"$float\": \"-inf\"}");
        return;
    }
    /* 17 digits always bring a double back; 15 never lose any that were there, but a subnormal has fewer. strtod reads
       what snprintf wrote in the same locale. */
    for (int digits = fabs(value) < DBL_MIN ? 1 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    gci_restore_point(text);
    gci_buf_append_text(buf, text);
    if (strpbrk(text, ".e") == NULL)
        gci_buf_append_text(buf, ".0");
}

/* ---- trees ---- */

static void
write_base64(gci_buf *buf, gci_view bytes)
{
    static char const digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t const *data = (uint8_t const *)bytes.data;

    gci_buf_append_char(buf, '"');
    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t left = bytes.size - i;
        uint32_t group = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                         (left > 2 ? (uint32_t)data[i + 2] : 0);
        char out[4] = { digits[group >> 18], digits[group >> 12 & 63], left > 1 ? digits[group >> 6 & 63] : '=',
                        left > 2 ? digits[group & 63] : '=' };
        gci_buf_append(buf, out, sizeof out);
    }
    gci_buf_append_char(buf, '"');
}

static void
write_list(gci_buf *buf, gci_value const *value)
{
    gci_buf_append_char(buf, '[');
    for (uint32_t i = 0; i < value->count; i++) {
        if (i != 0)
            gci_buf_append_text(buf, ", ");
        gci_json_write(buf, &value->items[i]);
    }
    gci_buf_append_char(buf, ']');
}

static void
write_map(gci_buf *buf, gci_value const *value)
{
    gci_buf_append_char(buf, '{');
    for (uint32_t i = 0; i < value->count; i++) {
        if (i != 0)
            gci_buf_append_text(buf, ", ");
        gci_json_write_text(buf, value->members[i].name);
        gci_buf_append_text(buf, ": ");
        gci_json_write(buf, &value->members[i].value);
    }
    gci_buf_append_char(buf, '}');
}

static void
write_plain(gci_buf *buf, gci_value const *value)
{
    switch ((gci_value_type)value->type) {
    case GCI_NULL:
        gci_buf_append_text(buf, "null");
        break;
    case GCI_BOOL:
        gci_buf_append_text(buf, value->boolean ? "true" : "false");
        break;
    case GCI_INT:
        gci_buf_format(buf, "%" PRId64, value->integer);
        break;
    case GCI_BIGINT:
        gci_buf_append_view(buf, value->text);
        break;
    case GCI_FLOAT:
        gci_json_write_float(buf, value->real);
        break;
    case GCI_BYTES:
        write_base64(buf, value->text);
        break;
    case GCI_NODE:
        if (gci_node_ref_serial(value->integer) == GCI_NODE_INPUTS)
            gci_buf_format(buf, "\"in%u\"", gci_node_ref_position(value->integer));
        else
            gci_buf_format(buf, "\"n%u_%u\"", gci_node_ref_serial(value->integer), gci_node_ref_position(value->integer));
        break;
    case GCI_STRING:
    case GCI_SYM:
    case GCI_ENUM:
        gci_json_write_text(buf, value->text);
        break;
    case GCI_LIST:
    case GCI_TUPLE:
    case GCI_SET:
        write_list(buf, value);
        break;
    case GCI_MAP:
    case GCI_TENSOR:
        write_map(buf, value);
        break;
    }
}

/* The `$` name of a type beyond JSON's, or NULL. */
static char const *
dollar_name(uint8_t type)
{
    switch ((gci_value_type)type) {
    case GCI_BYTES:
        return "$bytes";
    case GCI_TUPLE:
        return "$tuple";
    case GCI_SET:
        return "$set";
    case GCI_NODE:
        return "$node";
    case GCI_SYM:
        return "$sym";
    case GCI_TENSOR:
        return "$tensor";
    case GCI_ENUM:
        return "$enum";
    default:
        return NULL;
    }
}

void
gci_json_write(gci_buf *buf, gci_value const *value)
{
    char const *name = dollar_name(value->type);

    if (name != NULL)
        gci_buf_format(buf, "{\"%s\": ", name);
    write_plain(buf, value);
    if (name != NULL)
        gci_buf_append_char(buf, '}');
}
