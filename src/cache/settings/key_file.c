/*
 * Key files: made and read. docs/formats/key-file.md has the format.
 *
 *      file = "guardcache-key-1" " " kind " " id " " hex [LF]
 *
 * What is read lies in one piece of memory that is overwritten before it is freed, and in no buffer that grows.
 */
#include "cache/settings/key_file.h"

#include "base/check.h"
#include "base/digest.h"
#include "base/signing/ed25519.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FAMILY "guardcache-key-"
#define VERSION "1"
#define ID_MAX 63
/* An HMAC gains nothing from a secret that is longer than the hash's block; a short one can be guessed. */
#define SECRET_MIN 16
#define SECRET_MAX 64
#define FILE_MAX ((size_t)512)
#define PATH_MAX_BYTES 4096

typedef enum key_kind {
    KIND_HMAC,
    KIND_PRIVATE,
    KIND_PUBLIC
} key_kind;

/* word in the file, algorithm, whether it is a secret */
static struct {
    char const *word;
    gcache_signing_algorithm algorithm;
    bool is_secret;
    size_t least, most; /* bytes */
} const kinds[] = {
    [KIND_HMAC] = { "hmac", GCACHE_SIGNING_HMAC, true, SECRET_MIN, SECRET_MAX },
    [KIND_PRIVATE] = { "ed25519-private", GCACHE_SIGNING_ED25519, true, GCI_ED25519_SEED, GCI_ED25519_SEED },
    [KIND_PUBLIC] = { "ed25519-public", GCACHE_SIGNING_ED25519, false, GCI_ED25519_PUBLIC, GCI_ED25519_PUBLIC },
};

/* A key and the room for its parts. */
typedef struct read_key {
    gcache_signing_key key;
    char id[ID_MAX + 1];
    uint8_t bytes[SECRET_MAX], public_key[GCI_ED25519_PUBLIC];
} read_key;

/* Visible ASCII, so that it stands in a line and in a terminal as what it is. */
static bool
is_id(gci_view id)
{
    for (size_t i = 0; i < id.size; i++) {
        if (id.data[i] < '!' || id.data[i] > '~')
            return false;
    }
    return id.size >= 1 && id.size <= ID_MAX;
}

/* ---- reading ---- */

/* Up to the next space; then on behind it. */
static gci_view
next_word(gci_view *inout_rest)
{
    char const *space = inout_rest->size != 0 ? memchr(inout_rest->data, ' ', inout_rest->size) : NULL;
    size_t size = space != NULL ? (size_t)(space - inout_rest->data) : inout_rest->size, skipped = size + (space != NULL);
    gci_view word = gci_view_of(inout_rest->data, size);

    *inout_rest = gci_view_of(inout_rest->data + skipped, inout_rest->size - skipped);
    return word;
}

/* The first word: which version it is. */
static gcache_status
check_family(char const *path, gci_view word, gcache_error *error)
{
    if (gci_view_is(word, FAMILY VERSION))
        return GCACHE_OK;
    if (word.size > sizeof FAMILY - 1 && word.size < sizeof FAMILY + 4 && memcmp(word.data, FAMILY, sizeof FAMILY - 1) == 0)
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s: a key file of a version that this one can't read", path);
    return gci_fail(error, GCACHE_ERROR_SYNTAX, "%s: not a key file: it would begin with " FAMILY VERSION, path);
}

static gcache_status
find_kind(char const *path, gci_view word, size_t *out_kind, gcache_error *error)
{
    for (*out_kind = 0; *out_kind < sizeof kinds / sizeof *kinds; ++*out_kind) {
        if (gci_view_is(word, kinds[*out_kind].word))
            return GCACHE_OK;
    }
    return gci_fail(error, GCACHE_ERROR_SYNTAX, "%s: its kind of key is none of hmac, ed25519-private and ed25519-public", path);
}

/* Of what stands in the file nothing goes into a message: it may be a secret in the wrong place. */
static gcache_status
parse(char const *path, gci_view text, read_key *out, size_t *out_kind, gcache_error *error)
{
    if (text.size != 0 && text.data[text.size - 1] == '\n')
        text.size--;
    gcache_status status = check_family(path, next_word(&text), error);
    if (status == GCACHE_OK)
        status = find_kind(path, next_word(&text), out_kind, error);
    if (status != GCACHE_OK)
        return status;
    gci_view id = next_word(&text);
    if (!is_id(id))
        return gci_fail(error, GCACHE_ERROR_SYNTAX, "%s: its id isn't 1 to %d visible characters of ASCII", path, ID_MAX);
    memcpy(out->id, id.data, id.size);
    size_t size = text.size / 2;
    if (size < kinds[*out_kind].least || size > kinds[*out_kind].most || !gci_unhex(text, out->bytes, size))
        return gci_fail(error, GCACHE_ERROR_SYNTAX, "%s: the key isn't %zu to %zu bytes in hex", path, kinds[*out_kind].least,
                        kinds[*out_kind].most);
    out->key = (gcache_signing_key){ .id = out->id, .algorithm = kinds[*out_kind].algorithm };
    if (kinds[*out_kind].is_secret) {
        out->key.secret = out->bytes;
        out->key.secret_size = size;
    }
    return GCACHE_OK;
}

static gcache_status
add_public(size_t kind, read_key *out, gcache_error *error)
{
    if (kind == KIND_HMAC)
        return GCACHE_OK;
    if (kind == KIND_PUBLIC)
        memcpy(out->public_key, out->bytes, sizeof out->public_key);
    else if (!gci_ed25519_public(out->bytes, out->public_key))
        return gci_fail_memory(error);
    out->key.public_key = out->public_key;
    return GCACHE_OK;
}

/* What somebody else may change says nothing about whom to trust; what somebody else may read is no secret. */
static gcache_status
check_owner(char const *path, struct stat const *facts, bool is_secret, gcache_error *error)
{
    mode_t open_to_others = is_secret ? S_IRWXG | S_IRWXO : S_IWGRP | S_IWOTH;

    if (facts->st_uid != geteuid() && facts->st_uid != 0)
        return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s: belongs to user %u; a key file must be this user's or root's", path,
                        (unsigned)facts->st_uid);
    if ((facts->st_mode & open_to_others) == 0)
        return GCACHE_OK;
    return gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s: others may %s (mode %04o)%s", path, is_secret ? "open it" : "write to it",
                    (unsigned)facts->st_mode & 07777, is_secret ? ", and a secret is in it: chmod 600" : ": chmod 644");
}

/* text has room for FILE_MAX. */
static gcache_status
load(char const *path, struct stat *out_facts, char *text, size_t *out_size, gcache_error *error)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got;

    if (fd < 0)
        return gci_fail_errno(error, errno, "%s", path);
    gcache_status status = GCACHE_OK;
    *out_size = 0;
    if (fstat(fd, out_facts) != 0)
        status = gci_fail_errno(error, errno, "%s", path);
    else if (!S_ISREG(out_facts->st_mode) || out_facts->st_size >= (off_t)FILE_MAX)
        status = gci_fail(error, GCACHE_ERROR_SYNTAX, "%s: not a key file", path);
    else if ((got = read(fd, text, FILE_MAX)) < 0)
        status = gci_fail_errno(error, errno, "%s", path);
    else
        *out_size = (size_t)got;
    close(fd);
    return status;
}

static gcache_status
read_into(char const *path, read_key *out, gcache_error *error)
{
    struct stat facts;
    char text[FILE_MAX];
    size_t size, kind;

    gcache_status status = load(path, &facts, text, &size, error);
    if (status == GCACHE_OK)
        status = parse(path, gci_view_of(text, size), out, &kind, error);
    if (status == GCACHE_OK)
        status = check_owner(path, &facts, kinds[kind].is_secret, error);
    if (status == GCACHE_OK)
        status = add_public(kind, out, error);
    gci_cleanse(text, sizeof text);
    return status;
}

gcache_status
gcache_signing_key_read(char const *file, gcache_signing_key **out_key, gcache_error *error)
{
    GCI_REQUIRE(file != NULL && out_key != NULL, error, "file or out_key is NULL");
    read_key *key = calloc(1, sizeof *key);
    if (key == NULL)
        return gci_fail_memory(error);
    gcache_status status = read_into(file, key, error);
    if (status == GCACHE_OK)
        *out_key = &key->key;
    else
        gcache_signing_key_free(&key->key);
    return status;
}

void
gcache_signing_key_free(gcache_signing_key *key)
{
    if (key == NULL)
        return;
    gci_cleanse(key, sizeof(read_key));
    free(key);
}

/* ---- making ---- */

/* A new file; one that is there stays. */
static gcache_status
write_new(char const *path, char const *text, mode_t mode, gcache_error *error)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    size_t size = strlen(text);

    if (fd < 0 && errno == EEXIST)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: is there already, and a key isn't overwritten", path);
    if (fd < 0)
        return gci_fail_errno(error, errno, "%s", path);
    bool written = write(fd, text, size) == (ssize_t)size && fsync(fd) == 0;
    gcache_status status = written ? GCACHE_OK : gci_fail_errno(error, errno, "%s", path);
    close(fd);
    if (!written)
        unlink(path);
    return status;
}

static gcache_status
write_key(char const *path, key_kind kind, char const *id, uint8_t const *bytes, size_t size, gcache_error *error)
{
    char hex[2 * SECRET_MAX + 1], text[FILE_MAX];

    gci_hex(bytes, size, hex);
    snprintf(text, sizeof text, FAMILY VERSION " %s %s %s\n", kinds[kind].word, id, hex);
    gcache_status status = write_new(path, text, kinds[kind].is_secret ? 0600 : 0644, error);
    gci_cleanse(hex, sizeof hex);
    gci_cleanse(text, sizeof text);
    return status;
}

/* One that is made up: of a public key the beginning of its hash, else random. */
static bool
make_id(uint8_t const *public_key, char out[ID_MAX + 1])
{
    uint8_t bytes[GCI_SHA256_BYTES];
    bool made = public_key != NULL ? gci_sha256(gci_view_of(public_key, GCI_ED25519_PUBLIC), bytes)
                                   : gci_random_secret(bytes, sizeof bytes);

    if (made)
        gci_hex(bytes, 8, out);
    return made;
}

static gcache_status
make_ed25519(char const *file, char const *id, uint8_t const seed[GCI_ED25519_SEED], gcache_error *error)
{
    uint8_t public_key[GCI_ED25519_PUBLIC];
    char path[PATH_MAX_BYTES], made[ID_MAX + 1];

    GCI_REQUIRE((size_t)snprintf(path, sizeof path, "%s.pub", file) < sizeof path, error, "the file's name is too long");
    if (!gci_ed25519_public(seed, public_key) || !make_id(public_key, made))
        return gci_fail_memory(error);
    id = id != NULL ? id : made;
    gcache_status status = write_key(file, KIND_PRIVATE, id, seed, GCI_ED25519_SEED, error);
    if (status != GCACHE_OK)
        return status;
    status = write_key(path, KIND_PUBLIC, id, public_key, sizeof public_key, error);
    if (status != GCACHE_OK)
        unlink(file);
    return status;
}

static gcache_status
make_hmac(char const *file, char const *id, uint8_t const secret[GCI_ED25519_SEED], gcache_error *error)
{
    char made[ID_MAX + 1];

    return make_id(NULL, made) ? write_key(file, KIND_HMAC, id != NULL ? id : made, secret, GCI_ED25519_SEED, error)
                               : gci_fail_memory(error);
}

gcache_status
gcache_signing_key_make(char const *file, char const *id, gcache_signing_algorithm algorithm, gcache_error *error)
{
    uint8_t secret[GCI_ED25519_SEED];

    GCI_REQUIRE(file != NULL && file[0] != '\0', error, "a key needs a file");
    GCI_REQUIRE(id == NULL || is_id(gci_view_text(id)), error, "a key's id has 1 to %d visible characters of ASCII", ID_MAX);
    GCI_REQUIRE((unsigned)algorithm < GCACHE_SIGNING_COUNT, error, "unknown algorithm %d", (int)algorithm);
    if (!gci_random_secret(secret, sizeof secret))
        return gci_fail_memory(error);
    gcache_status status = algorithm == GCACHE_SIGNING_HMAC ? make_hmac(file, id, secret, error)
                                                            : make_ed25519(file, id, secret, error);
    gci_cleanse(secret, sizeof secret);
    return status;
}

/* ---- those that a setting names ---- */

/* Without the spaces before it; empty: there is none left. */
static gci_view
next_path(gci_view *inout_rest)
{
    while (inout_rest->size != 0 && inout_rest->data[0] == ' ')
        *inout_rest = gci_view_of(inout_rest->data + 1, inout_rest->size - 1);
    return next_word(inout_rest);
}

gci_view
gci_relative_path_in(char const *paths)
{
    gci_view rest = gci_view_text(paths), path;

    while ((path = next_path(&rest)).size != 0) {
        if (path.data[0] != '/')
            break;
    }
    return path;
}

static gcache_status
add_key(gci_key_ring *ring, gci_view path, gcache_error *error)
{
    char text[PATH_MAX_BYTES];

    GCI_REQUIRE(path.size < sizeof text, error, "the name of a key file is too long");
    GCI_REQUIRE(ring->count < GCI_KEYS_MAX, error, "signing-keys names more than %d files", GCI_KEYS_MAX);
    memcpy(text, path.data, path.size);
    text[path.size] = '\0';
    gcache_status status = gcache_signing_key_read(text, &ring->owned[ring->count], error);
    if (status == GCACHE_OK) {
        ring->keys[ring->count] = *ring->owned[ring->count];
        ring->count++;
    }
    return status;
}

gcache_status
gci_key_ring_read(gci_key_ring *ring, char const *paths, bool absolute, gcache_error *error)
{
    gci_view rest = gci_view_text(paths), path, relative = gci_relative_path_in(paths);
    gcache_status status = GCACHE_OK;

    if (absolute && relative.size != 0)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "config.json: signing-keys: %.*s is a relative path", (int)relative.size,
                        relative.data);
    while (status == GCACHE_OK && (path = next_path(&rest)).size != 0)
        status = add_key(ring, path, error);
    ring->paths = paths;
    return status;
}

void
gci_key_ring_free(gci_key_ring *ring)
{
    while (ring != NULL) {
        gci_key_ring *former = ring->former;
        for (size_t i = 0; i < ring->count; i++)
            gcache_signing_key_free(ring->owned[i]);
        free(ring);
        ring = former;
    }
}
