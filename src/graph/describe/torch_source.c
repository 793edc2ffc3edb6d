/*
 * Reading Dynamo's sources, dataclasses of torch._dynamo.source:
 *
 *      source -> CLASS '(' field (', ' field)* ')'       field -> NAME '=' (source | 'TEXT' | WORD)
 *
 * A class has `base`, and what it takes of it. A class that isn't in the table stands for its base: those say how PyTorch
 * guards something (UnspecializedNNModuleSource, ConvertIntSource), not what it is.
 */
#include "graph/describe/torch_source.h"

/* Modules in modules; the deepest captured source has 14 levels. */
#define MAX_DEPTH 64

typedef struct class {
    char const *name;
    char const *field; /* what is written of it, */
    char const *form;  /* with the base before it: %s is the field */
} class;

static class const classes[] = {
    { "LocalSource", "local_name", NULL },   { "SyntheticLocalSource", "local_name", NULL },
    { "GlobalSource", "global_name", NULL }, { "AttrSource", "member", "." },
    { "GenericAttrSource", "member", "." },  { "GetItemSource", "index", "[" },
    { "ListGetItemSource", "index", "[" },   { "DictGetItemSource", "index", "[" },
};

/* The text behind "NAME=" of a field on this level of a source; an empty view if there is none. */
static gci_view
find_field(gci_view source, char const *name)
{
    size_t size = strlen(name), start = 0;
    int depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < source.size; i++) {
        char c = source.data[i];
        if (c == '\'' && (i == 0 || source.data[i - 1] != '\\'))
            quoted = !quoted;
        else if (!quoted && (c == '(' || c == '['))
            start = ++depth == 1 ? i + 1 : start;
        else if (!quoted && (c == ')' || c == ']'))
            depth--;
        else if (!quoted && depth == 1 && c == ',')
            start = i + 2;
        else if (!quoted && depth == 1 && c == '=' && i == start + size && memcmp(source.data + start, name, size) == 0)
            return gci_view_of(source.data + i + 1, source.size - i - 1);
    }
    return (gci_view){ NULL, 0 };
}

/* A field's word or text, up to the ',' or ')' behind it. false: it was cut, or is something larger. */
static bool
read_word(gci_view field, gci_view *out)
{
    size_t end = 0;
    bool quoted = field.size != 0 && field.data[0] == '\'';

    if (quoted)
        for (end = 1; end < field.size && field.data[end] != '\''; end++)
            ;
    while (end < field.size && strchr(",)(", field.data[end]) == NULL)
        end++;
    *out = gci_view_of(field.data, end);
    return end != 0 && end < field.size && field.data[end] != '(' && !gci_view_contains(*out, "...");
}

static gci_view
unquoted(gci_view word)
{
    bool quoted = word.size >= 2 && word.data[0] == '\'' && word.data[word.size - 1] == '\'';

    return quoted ? gci_view_of(word.data + 1, word.size - 2) : word;
}

/* Modules keep these in dictionaries, which nobody writes: self.fc.weight, not self._modules['fc']._parameters['weight']. */
static bool
drop_registry(gci_buf *out)
{
    static char const *const registries[] = { "._parameters", "._buffers", "._modules" };

    for (size_t i = 0; i < sizeof registries / sizeof *registries; i++) {
        size_t size = strlen(registries[i]);
        if (!out->failed && out->size >= size && memcmp(out->data + out->size - size, registries[i], size) == 0) {
            out->size -= size;
            return true;
        }
    }
    return false;
}

static void
write_member(class const *of, gci_view word, gci_buf *out)
{
    if (of->form == NULL || of->form[0] == '.') {
        gci_buf_append_text(out, of->form != NULL ? of->form : "");
        gci_buf_append_view(out, unquoted(word));
    } else if (word.data[0] == '\'' && drop_registry(out)) {
        gci_buf_append_char(out, '.');
        gci_buf_append_view(out, unquoted(word));
    } else {
        gci_buf_append_char(out, '[');
        gci_buf_append_view(out, word);
        gci_buf_append_char(out, ']');
    }
}

static gci_view
class_name(gci_view source)
{
    char const *end = source.size != 0 ? memchr(source.data, '(', source.size) : NULL;

    return end != NULL ? gci_view_of(source.data, (size_t)(end - source.data)) : (gci_view){ NULL, 0 };
}

/* prop=<TensorProperty.SIZE: 0>, idx=0 */
static bool
write_property(gci_view source, gci_buf *out)
{
    gci_view property = find_field(source, "prop"), index;

    if (gci_view_begins(property, "<TensorProperty.STORAGE_OFFSET")) {
        gci_buf_append_text(out, ".storage_offset()");
        return true;
    }
    bool size = gci_view_begins(property, "<TensorProperty.SIZE");
    if ((!size && !gci_view_begins(property, "<TensorProperty.STRIDE")) || !read_word(find_field(source, "idx"), &index))
        return false;
    gci_buf_append_text(out, size ? ".size(" : ".stride(");
    gci_buf_append_view(out, index);
    gci_buf_append_char(out, ')');
    return true;
}

static bool
write_source(gci_view source, bool property, int depth, gci_buf *out)
{
    gci_view name = class_name(source), base = find_field(source, "base"), word;

    if (name.data == NULL || depth > MAX_DEPTH)
        return false;
    if (base.data != NULL && !write_source(base, true, depth + 1, out))
        return false;
    if (gci_view_is(name, "TensorPropertySource"))
        return !property || write_property(source, out);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (!gci_view_is(name, classes[i].name))
            continue;
        if (!read_word(find_field(source, classes[i].field), &word))
            return false;
        write_member(&classes[i], word, out);
        return true;
    }
    return base.data != NULL;
}

/* "torch._dynamo.source.LocalSource:LocalSource(..)": the class's own name stands before it. */
static gci_view
without_module(gci_view text)
{
    char const *colon = text.size != 0 ? memchr(text.data, ':', text.size) : NULL, *open = class_name(text).data;
    size_t at = colon != NULL ? (size_t)(colon - text.data) + 1 : 0;

    return colon != NULL && open != NULL && at <= class_name(text).size ? gci_view_of(text.data + at, text.size - at) : text;
}

bool
gci_torch_source_write(gci_view text, gci_buf *out)
{
    return write_source(without_module(text), true, 0, out);
}

bool
gci_torch_source_write_base(gci_view text, gci_buf *out)
{
    return write_source(without_module(text), false, 0, out);
}
