/* Paths of a cache directory, and the names in it read back. */
#include "store/directory/paths.h"

#include "base/check.h"
#include "base/digest.h"

#include <stdio.h>
#include <stdlib.h>

#define HEX_KEY (GCACHE_KEY_HEX_SIZE - 1)
#define HEX_ID (GCACHE_ENTRY_ID_SIZE - 1)

static void
key_hex(gcache_key const *key, char out_hex[GCACHE_KEY_HEX_SIZE])
{
    gci_hex(key->bytes, sizeof key->bytes, out_hex);
}

gci_path
gci_path_shard(gcache_key const *key)
{
    gci_path path;

    snprintf(path.text, sizeof path.text, "entries/%02x", key->bytes[0]);
    return path;
}

/* Every path under a shard has the same beginning, and lookups make one each: no format string. */
static char *
begin_key_path(gci_path *path, gcache_key const *key)
{
    char *end = path->text + sizeof "entries/xx/" - 1;

    memcpy(path->text, "entries/xx/", sizeof "entries/xx/" - 1);
    key_hex(key, end);
    path->text[8] = end[0];
    path->text[9] = end[1];
    return end + HEX_KEY;
}

gci_path
gci_path_pack(gcache_key const *key)
{
    gci_path path;

    memcpy(begin_key_path(&path, key), ".pack", sizeof ".pack");
    return path;
}

gci_path
gci_path_description(gcache_key const *key)
{
    gci_path path;

    memcpy(begin_key_path(&path, key), ".description", sizeof ".description");
    return path;
}

gci_path
gci_path_entry(gcache_key const *key, char const *id)
{
    gci_path path;

    GCI_ASSERT(strlen(id) == HEX_ID);
    char *end = begin_key_path(&path, key);
    end[0] = '.';
    memcpy(end + 1, id, HEX_ID);
    memcpy(end + 1 + HEX_ID, ".entry", sizeof ".entry");
    return path;
}

gci_path
gci_path_pool(gcache_key const *key, unsigned level)
{
    gci_path path;

    memcpy(begin_key_path(&path, key) - HEX_KEY + GCI_POOL_DIGITS + level, ".pool", sizeof ".pool");
    return path;
}

gci_path
gci_path_attachment(uint8_t const sha256[32])
{
    gci_path path;
    char hex[65];

    gci_hex(sha256, 32, hex);
    snprintf(path.text, sizeof path.text, "attachments/%.2s/%s", hex, hex);
    return path;
}

gci_path
gci_path_temporary(void)
{
    gci_path path;

    gci_process we = gci_process_ourselves();

    snprintf(path.text, sizeof path.text, "tmp/%016llx.%llx.%llx.%016llx.%llx", (unsigned long long)gci_unique_number(),
             (unsigned long long)we.number, (unsigned long long)we.start, (unsigned long long)we.boot,
             (unsigned long long)we.names);
    return path;
}

/* name = random "." number "." start "." boot "." namespace */
bool
gci_path_writer(char const *name, gci_process *out_writer)
{
    uint64_t *const parts[] = { &out_writer->number, &out_writer->start, &out_writer->boot, &out_writer->names };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char const *dot = strchr(name, '.');
        char *end;
        if (dot == NULL)
            return false;
        *parts[i] = strtoull(dot + 1, &end, 16);
        if (end == dot + 1 || (*end != '.' && *end != '\0'))
            return false;
        name = end;
    }
    return *name == '\0';
}

gci_path
gci_path_quarantine(char const *origin)
{
    char const *name = strrchr(origin, '/');
    gci_path path;

    snprintf(path.text, sizeof path.text, "quarantine/%016llx.%.140s", (unsigned long long)gci_unique_number(),
             name != NULL ? name + 1 : origin);
    return path;
}

/* pool = 2 or 3 digits ".pool" */
static bool
read_pool_name(char const *name, gcache_key *out_key)
{
    size_t digits = strcspn(name, ".");
    char hex[GCACHE_KEY_HEX_SIZE];

    if (digits < GCI_POOL_DIGITS || digits >= GCI_POOL_DIGITS + GCI_POOL_LEVELS || strcmp(name + digits, ".pool") != 0)
        return false;
    memset(hex, '0', HEX_KEY);
    memcpy(hex, name, digits);
    return gci_unhex(gci_view_of(hex, HEX_KEY), out_key->bytes, sizeof out_key->bytes);
}

uint32_t
gci_pool_bit(char const *name)
{
    return name[GCI_POOL_DIGITS] == '.' ? 1 : UINT32_C(2) << gci_hex_digit(name[GCI_POOL_DIGITS]);
}

/* name = key ".pack" | key ".description" | key "." id ".entry" | pool */
gci_name_kind
gci_name_read(char const *name, gcache_key *out_key, char out_id[GCACHE_ENTRY_ID_SIZE])
{
    uint8_t id[HEX_ID / 2];

    out_id[0] = '\0';
    if (read_pool_name(name, out_key))
        return GCI_NAME_POOL;
    if (strlen(name) <= HEX_KEY || !gci_unhex(gci_view_of(name, HEX_KEY), out_key->bytes, sizeof out_key->bytes))
        return GCI_NAME_STRANGE;
    char const *rest = name + HEX_KEY;
    if (strcmp(rest, ".pack") == 0)
        return GCI_NAME_PACK;
    if (strcmp(rest, ".description") == 0)
        return GCI_NAME_DESCRIPTION;
    if (strlen(rest) != 1 + HEX_ID + strlen(".entry") || rest[0] != '.' || strcmp(rest + 1 + HEX_ID, ".entry") != 0 ||
        !gci_unhex(gci_view_of(rest + 1, HEX_ID), id, sizeof id))
        return GCI_NAME_STRANGE;
    memcpy(out_id, rest + 1, HEX_ID);
    out_id[HEX_ID] = '\0';
    return GCI_NAME_ENTRY;
}
