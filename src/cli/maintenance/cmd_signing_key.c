/*
 * guardcache signing-key: files with keys that entries are signed with. Of a secret nothing is ever printed.
 */
#include "base/digest.h"
#include "cli/shared/cli.h"
#include "cli/shared/object.h"

#include <guardcache/signing.h>

typedef struct options {
    bool hmac, json;
} options;

/* What a key file is for, in a word. */
static char const *
use_of(gcache_signing_key const *key)
{
    return key->secret != NULL ? "signs and verifies" : "verifies";
}

static bool
print_json(cli_call *call, char const *file, gcache_signing_key const *key, char const *public_key)
{
    cli_object object = cli_object_new(&call->arena);

    cli_object_set_text(&object, "file", file);
    cli_object_set_text(&object, "algorithm", gcache_signing_algorithm_name(key->algorithm));
    cli_object_set_text(&object, "id", key->id);
    cli_object_set_text(&object, "use", use_of(key));
    if (key->public_key != NULL)
        cli_object_set_text(&object, "public_key", public_key);
    return cli_object_print(&object, &call->error);
}

static bool
print_key(cli_call *call, char const *file, gcache_signing_key const *key)
{
    options const *wanted = call->options;
    char public_key[2 * GCACHE_ED25519_BYTES + 1] = "";

    if (key->public_key != NULL)
        gci_hex(key->public_key, GCACHE_ED25519_BYTES, public_key);
    if (wanted->json)
        return print_json(call, file, key, public_key);
    cli_print("file        %s\n", file);
    cli_print("algorithm   %s\n", gcache_signing_algorithm_name(key->algorithm));
    cli_print("id          %s\n", key->id);
    cli_print("use         %s\n", use_of(key));
    if (key->public_key != NULL)
        cli_print("public key  %s\n", public_key);
    return true;
}

static bool
show(cli_call *call, char const *file)
{
    gcache_signing_key *key;

    if (gcache_signing_key_read(file, &key, &call->error) != GCACHE_OK)
        return false;
    bool done = print_key(call, file, key);
    gcache_signing_key_free(key);
    return done;
}

static bool
run_new(cli_call *call)
{
    options const *wanted = call->options;
    char const *file = call->arguments[0], *id = call->count > 1 ? call->arguments[1] : NULL;
    gcache_signing_algorithm algorithm = wanted->hmac ? GCACHE_SIGNING_HMAC : GCACHE_SIGNING_ED25519;

    return gcache_signing_key_make(file, id, algorithm, &call->error) == GCACHE_OK && show(call, file);
}

static bool
run_show(cli_call *call)
{
    return show(call, call->arguments[0]);
}

static cli_option const table_new[] = {
    { "hmac", CLI_FLAG, offsetof(options, hmac), NULL, "a secret for HMAC-SHA-256: whoever has it signs and verifies" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object" },
    { 0 },
};

static cli_option const table_show[] = {
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object" },
    { 0 },
};

cli_command const cli_cmd_signing_key_new = {
    .name = "signing-key new",
    .arguments = "FILE [ID]",
    .summary = "make a key to sign entries with",
    .about = "Makes FILE with a private key (Ed25519), which only its owner may read, and FILE.pub with the public key. Where the\n"
             "cache is filled FILE is needed, where it is only read FILE.pub will do:\n"
             "\n"
             "    guardcache signing-key new /etc/fleet.key fleet-2026\n"
             "    GUARDCACHE_SIGNING_KEYS=/etc/fleet.key      signs what is stored\n"
             "    GUARDCACHE_SIGNING_KEYS=/etc/fleet.key.pub  verifies it, signs nothing\n"
             "    GUARDCACHE_REQUIRE_SIGNATURE=1              hands out nothing else\n"
             "\n"
             "The settings signing-keys (paths, with spaces between) and require-signature do the same; see help config. The ID\n"
             "stands in every entry and says which key verifies it; without one it is made up. To replace a key, name the new\n"
             "one beside the old one everywhere, then before it where the cache is filled.\n"
             "\n"
             "A file that is there is never overwritten.\n",
    .options = table_new,
    .options_size = sizeof(options),
    .run = run_new,
};

cli_command const cli_cmd_signing_key_show = {
    .name = "signing-key show",
    .arguments = "FILE",
    .summary = "show what a key file is for, never a secret",
    .options = table_show,
    .options_size = sizeof(options),
    .run = run_show,
};
