/*
 * Key files: made and read, what isn't taken and how it says so; the settings that name them.
 */
#include "fixture.h"

#include <fcntl.h>
#include <guardcache/settings.h>
#include <guardcache/signing.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEED "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
#define PUBLIC "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
#define PRIVATE_LINE "guardcache-key-1 ed25519-private k1 " SEED "\n"
#define PUBLIC_LINE "guardcache-key-1 ed25519-public k1 " PUBLIC "\n"
#define HMAC_LINE "guardcache-key-1 hmac k0 000102030405060708090a0b0c0d0e0f"

/* f->file and a suffix. */
static char const *
path_of(fixture *f, char const *suffix)
{
    static char path[2][128];
    static int next;

    next = !next;
    snprintf(path[next], sizeof path[next], "%s%s", f->file, suffix);
    return path[next];
}

static char const *
write_key(fixture *f, char const *suffix, char const *text, mode_t mode)
{
    char const *path = path_of(f, suffix);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    return path;
}

static int
close_all(void **state)
{
    fixture *f = *state;

    unlink(path_of(f, ""));
    unlink(path_of(f, ".pub"));
    return fixture_close(state);
}

static gcache_signing_key *
read_key(fixture *f, char const *path)
{
    gcache_signing_key *key;

    if (gcache_signing_key_read(path, &key, &f->error) != GCACHE_OK)
        fail_msg("%s", f->error.message);
    return key;
}

static mode_t
mode_of(char const *path)
{
    struct stat facts;

    assert_int_equal(stat(path, &facts), 0);
    return facts.st_mode & 07777;
}

/* ---- made and read ---- */

static void
what_is_made_is_read(void **state)
{
    fixture *f = *state;

    unlink(path_of(f, ""));
    assert_int_equal(gcache_signing_key_make(path_of(f, ""), "fleet-2026", GCACHE_SIGNING_ED25519, &f->error), GCACHE_OK);
    assert_int_equal(mode_of(path_of(f, "")), 0600);
    assert_int_equal(mode_of(path_of(f, ".pub")) & ~0644u, 0);
    gcache_signing_key *private_key = read_key(f, path_of(f, "")), *public_key = read_key(f, path_of(f, ".pub"));
    assert_string_equal(private_key->id, "fleet-2026");
    assert_string_equal(public_key->id, "fleet-2026");
    assert_int_equal(private_key->secret_size, 32);
    assert_null(public_key->secret);
    assert_memory_equal(private_key->public_key, public_key->public_key, 32);
    gcache_signing_key_free(private_key);
    gcache_signing_key_free(public_key);
    /* Never overwritten, neither of the two. */
    assert_int_equal(gcache_signing_key_make(path_of(f, ""), NULL, GCACHE_SIGNING_ED25519, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_non_null(strstr(f->error.message, "is there already"));
    unlink(path_of(f, ""));
    assert_int_equal(gcache_signing_key_make(path_of(f, ""), NULL, GCACHE_SIGNING_ED25519, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(access(path_of(f, ""), F_OK), -1);
}

static void
ids_are_made_up(void **state)
{
    fixture *f = *state;

    for (int algorithm = 0; algorithm < GCACHE_SIGNING_COUNT; algorithm++) {
        unlink(path_of(f, ""));
        assert_int_equal(gcache_signing_key_make(path_of(f, ""), NULL, (gcache_signing_algorithm)algorithm, &f->error), GCACHE_OK);
        gcache_signing_key *key = read_key(f, path_of(f, ""));
        assert_int_equal(key->algorithm, algorithm);
        assert_int_equal(strlen(key->id), 16);
        gcache_signing_key_free(key);
    }
    gcache_signing_key_free(NULL);
}

static void
public_keys_follow_from_private_ones(void **state)
{
    fixture *f = *state;
    gcache_signing_key *private_key = read_key(f, write_key(f, "", PRIVATE_LINE, 0600));
    gcache_signing_key *public_key = read_key(f, write_key(f, ".pub", PUBLIC_LINE, 0644));

    assert_memory_equal(private_key->public_key, public_key->public_key, 32);
    gcache_signing_key_free(private_key);
    gcache_signing_key_free(public_key);
}

/* ---- what isn't taken ---- */

/* The message begins with the path, and nothing of what is in the file is part of it. */
static void
expect_refused(fixture *f, char const *text, mode_t mode, gcache_status status, char const *message)
{
    char const *path = write_key(f, "", text, mode);
    gcache_signing_key *key;

    assert_int_equal(gcache_signing_key_read(path, &key, &f->error), status);
    assert_memory_equal(f->error.message, path, strlen(path));
    assert_non_null(strstr(f->error.message, message));
    assert_null(strstr(f->error.message, "9d61"));
}

static void
other_files_are_no_keys(void **state)
{
    fixture *f = *state;

    expect_refused(f, "", 0600, GCACHE_ERROR_SYNTAX, "not a key file");
    expect_refused(f, SEED "\n", 0600, GCACHE_ERROR_SYNTAX, "not a key file");
    expect_refused(f, "guardcache-key-2 ed25519-private k1 " SEED "\n", 0600, GCACHE_ERROR_FORMAT, "of a version");
    expect_refused(f, "guardcache-key-1 " SEED "\n", 0600, GCACHE_ERROR_SYNTAX, "none of hmac");
    expect_refused(f, "guardcache-key-1 rsa k1 " SEED "\n", 0600, GCACHE_ERROR_SYNTAX, "none of hmac");
    expect_refused(f, "guardcache-key-1 hmac " SEED "\n", 0600, GCACHE_ERROR_SYNTAX, "isn't 1 to 63");
    expect_refused(f, "guardcache-key-1 hmac  " SEED "\n", 0600, GCACHE_ERROR_SYNTAX, "isn't 1 to 63");
    expect_refused(f, "guardcache-key-1 hmac k\x01 " SEED "\n", 0600, GCACHE_ERROR_SYNTAX, "isn't 1 to 63");
    expect_refused(f, "guardcache-key-1 hmac k1 9d61b1\n", 0600, GCACHE_ERROR_SYNTAX, "isn't 16 to 64 bytes in hex");
    expect_refused(f, "guardcache-key-1 ed25519-private k1 " SEED "00\n", 0600, GCACHE_ERROR_SYNTAX, "isn't 32 to 32");
    expect_refused(f, "guardcache-key-1 ed25519-private k1 " SEED "\n\n", 0600, GCACHE_ERROR_SYNTAX, "isn't 32 to 32");
    expect_refused(f, "guardcache-key-1 ed25519-private k1 " SEED " more", 0600, GCACHE_ERROR_SYNTAX, "isn't 32 to 32");
}

static void
large_files_and_folders_are_no_keys(void **state)
{
    fixture *f = *state;
    gcache_signing_key *key;
    char text[1024];

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    expect_refused(f, text, 0600, GCACHE_ERROR_SYNTAX, "not a key file");
    assert_int_equal(gcache_signing_key_read(f->directory, &key, &f->error), GCACHE_ERROR_SYNTAX);
}

static void
keys_are_nobody_elses(void **state)
{
    fixture *f = *state;

    expect_refused(f, PRIVATE_LINE, 0640, GCACHE_ERROR_UNTRUSTED, "others may open it (mode 0640), and a secret is in it");
    expect_refused(f, PRIVATE_LINE, 0604, GCACHE_ERROR_UNTRUSTED, "others may open it");
    expect_refused(f, HMAC_LINE, 0620, GCACHE_ERROR_UNTRUSTED, "others may open it");
    expect_refused(f, PUBLIC_LINE, 0664, GCACHE_ERROR_UNTRUSTED, "others may write to it (mode 0664)");
    expect_refused(f, PUBLIC_LINE, 0646, GCACHE_ERROR_UNTRUSTED, "others may write to it");
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(write_key(f, "", PUBLIC_LINE, 0644), 4321, 4321), 0);
    gcache_signing_key *key;
    assert_int_equal(gcache_signing_key_read(path_of(f, ""), &key, &f->error), GCACHE_ERROR_UNTRUSTED);
    assert_non_null(strstr(f->error.message, "belongs to user 4321"));
}

/* ---- settings ---- */

static gcache_settings *
load(fixture *f)
{
    gcache_settings *settings;

    assert_int_equal(gcache_settings_load(f->directory, NULL, NULL, NULL, &settings, &f->error), GCACHE_OK);
    return settings;
}

static void
set(fixture *f, gcache_settings *settings, char const *name, char const *value)
{
    assert_int_equal(gcache_settings_set(settings, name, value, &f->error), GCACHE_OK);
}

static void
settings_hand_keys_over(void **state)
{
    fixture *f = *state;
    gcache_options options = GCACHE_OPTIONS_INIT, again = GCACHE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_settings *settings = load(f);
    char both[300];

    snprintf(both, sizeof both, "  %s   %s ", write_key(f, ".pub", PUBLIC_LINE, 0644), write_key(f, "", HMAC_LINE, 0600));
    set(f, settings, "signing-keys", both);
    set(f, settings, "require-signature", "yes");
    assert_int_equal(gcache_settings_apply(settings, &options, &f->error), GCACHE_OK);
    assert_int_equal(options.signing_count, 2);
    assert_string_equal(options.signing[0].id, "k1");
    assert_string_equal(options.signing[1].id, "k0");
    assert_true(options.require_signature);
    /* Once more: the same, and the first are still there, whatever is set then. */
    assert_int_equal(gcache_settings_apply(settings, &again, &f->error), GCACHE_OK);
    assert_ptr_equal(again.signing, options.signing);
    set(f, settings, "signing-keys", path_of(f, ".pub"));
    assert_int_equal(gcache_settings_apply(settings, &again, &f->error), GCACHE_OK);
    assert_int_equal(again.signing_count, 1);
    assert_string_equal(options.signing[1].id, "k0");
    fixture_reopen(f, &options);
    assert_int_equal(insert_text(f, g, NULL, NULL, "x"), GCACHE_OK);
    gcache_graph_free(g);
    gcache_settings_free(settings);
}

/* A program that would go on unsigned is told to stop. */
static void
a_key_that_is_missing_is_an_error(void **state)
{
    fixture *f = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_settings *settings = load(f);

    set(f, settings, "signing-keys", "/nowhere/at/all.key");
    assert_int_equal(gcache_settings_apply(settings, &options, &f->error), GCACHE_ERROR_NOT_FOUND);
    assert_string_equal(f->error.message, "/nowhere/at/all.key: No such file or directory");
    assert_int_equal(options.signing_count, 0);
    gcache_settings_free(settings);
}

static void
write_setting(fixture *f, char const *name, char const *value)
{
    assert_int_equal(gcache_settings_write(f->directory, GCACHE_TRUST_OWNER, NULL, name, value, NULL, NULL, &f->error), GCACHE_OK);
}

static void
config_json_names_keys_by_absolute_paths(void **state)
{
    fixture *f = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;

    assert_int_equal(gcache_settings_write(f->directory, GCACHE_TRUST_OWNER, NULL, "signing-keys", "/a.key b.key", NULL, NULL,
                                           &f->error), GCACHE_ERROR_ARGUMENT);
    assert_string_equal(f->error.message, "signing-keys: config.json takes absolute paths only");
    write_setting(f, "signing-keys", write_key(f, ".pub", PUBLIC_LINE, 0644));
    gcache_settings *settings = load(f);
    assert_int_equal(gcache_settings_apply(settings, &options, &f->error), GCACHE_OK);
    assert_int_equal(options.signing_count, 1);
    gcache_settings_free(settings);
}

/* Whoever may write to the directory could name keys of his own. */
static void
config_json_names_no_keys_under_trust_any(void **state)
{
    fixture *f = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;

    write_setting(f, "signing-keys", write_key(f, ".pub", PUBLIC_LINE, 0644));
    write_setting(f, "trust", "any");
    gcache_settings *settings = load(f);
    assert_string_equal(gcache_settings_warning(settings, 0), "config.json: its signing-keys don't count, since trust is any");
    set(f, settings, "require-signature", "1");
    assert_int_equal(gcache_settings_apply(settings, &options, &f->error), GCACHE_OK);
    assert_int_equal(options.signing_count, 0);
    gcache *cache;
    assert_int_equal(gcache_open(f->directory, &options, &cache, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_string_equal(f->error.message, "signatures are required, but no key is given");
    gcache_settings_free(settings);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, close_all)
    struct CMUnitTest const tests[] = {
        CASE(what_is_made_is_read),
        CASE(ids_are_made_up),
        CASE(public_keys_follow_from_private_ones),
        CASE(other_files_are_no_keys),
        CASE(large_files_and_folders_are_no_keys),
        CASE(keys_are_nobody_elses),
        CASE(settings_hand_keys_over),
        CASE(a_key_that_is_missing_is_an_error),
        CASE(config_json_names_keys_by_absolute_paths),
        CASE(config_json_names_no_keys_under_trust_any),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
