/* Paths below a directory that is a tier. Names come from callers and from servers' replies: none leads elsewhere. */
#include "tier/directory/object_place.h"

#include "base/digest.h"

#include <stdio.h>
#include <string.h>

bool
gci_is_hex_name(char const *name, size_t digits)
{
    return strlen(name) == digits && strspn(name, "0123456789abcdef") == digits;
}

/* Not empty, not "." and not "..". */
static bool
is_component(gci_view part)
{
    return part.size > 0 && !gci_view_is(part, ".") && !gci_view_is(part, "..");
}

bool
gci_prefix_is_good(char const *prefix)
{
    size_t size = strlen(prefix);

    if (size > GCI_DIRECTORY_PREFIX_MAX)
        return false;
    for (char const *part = prefix;; part = strchr(part, '/') + 1) {
        size_t length = strcspn(part, "/");
        if (!is_component(gci_view_of(part, length)))
            return false;
        if (part[length] == '\0')
            return true;
    }
}

void
gci_key_folder(char const *prefix, gcache_key const *key, char out_folder[GCI_DIRECTORY_FOLDER_SIZE])
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gci_hex(key->bytes, sizeof key->bytes, hex);
    snprintf(out_folder, GCI_DIRECTORY_FOLDER_SIZE, "%s/1/keys/%.2s/%s", prefix, hex, hex);
}

void
gci_shard_folder(char const *prefix, unsigned shard, char out_folder[GCI_DIRECTORY_FOLDER_SIZE])
{
    snprintf(out_folder, GCI_DIRECTORY_FOLDER_SIZE, "%s/1/keys/%02x", prefix, shard);
}

void
gci_temporary_folder(char const *prefix, char out_folder[GCI_DIRECTORY_FOLDER_SIZE])
{
    snprintf(out_folder, GCI_DIRECTORY_FOLDER_SIZE, "%s/1/temporary", prefix);
}

/* The folder of kinds that lie beside keys; NULL: a key's own. */
static char const *
shelf_of(gcache_object_kind kind)
{
    switch (kind) {
    case GCACHE_OBJECT_PAYLOAD:
        return "payloads";
    case GCACHE_OBJECT_ATTACHMENT:
        return "attachments";
    case GCACHE_OBJECT_VALUE:
        return "values";
    default:
        return NULL;
    }
}

bool
gci_object_place_of(char const *prefix, gcache_object const *object, gci_object_place *out_place)
{
    char const *shelf = shelf_of(object->kind);
    bool described = object->kind == GCACHE_OBJECT_DESCRIPTION;
    size_t digits = described ? 0 : strnlen(object->name, sizeof object->name);

    if (object->kind == GCACHE_OBJECT_HEAD ? digits != GCI_HEAD_DIGITS : !described && (digits < 2 || digits > 64))
        return false;
    if (!described && !gci_is_hex_name(object->name, digits))
        return false;
    snprintf(out_place->name, sizeof out_place->name, "%s", described ? "description" : object->name);
    if (shelf == NULL)
        gci_key_folder(prefix, &object->key, out_place->folder);
    else
        snprintf(out_place->folder, sizeof out_place->folder, "%s/1/%s/%.2s", prefix, shelf, object->name);
    return true;
}
