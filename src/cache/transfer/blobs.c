/*
 * Blobs lie at blobs/<2 characters of the name>/<name>[.<extension>]; a compiler's own caches in sub/<name>.
 *
 * A blob that is there is not written again, whatever is put under its name: others have its path. Only a damaged one makes
 * way: one whose content has another name, or, where the caller gave the name and nothing tells, one that is empty.
 */
#include <guardcache/blobs.h>

#include "base/check.h"
#include "base/codec.h"
#include "base/digest.h"
#include "cache/handle/cache.h"
#include "cache/transfer/blobs.h"
#include "store/publish/side.h"

#include <stdio.h>
#include <stdlib.h>

/* Whatever a compiler generates is far below. */
#define BLOB_BYTES_MAX ((size_t)4 << 30)
/* Another meaning of "the same bytes" gets another tag. */
#define NAME_TAG "guardcache-blob-1"

typedef char side_path[GCI_SIDE_PATH_MAX + 1];

/* ---- names ---- */

bool
gci_side_name_valid(char const *name, size_t size)
{
    static char const letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t plain = strspn(name, letters), length = strlen(name);

    if (plain == 0 || length >= size)
        return false;
    for (size_t i = plain; i < length; i++) {
        if (name[i] != '.' && strchr(letters, name[i]) == NULL)
            return false;
    }
    return true;
}

static bool
is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static gci_view
strip(gci_view text)
{
    while (text.size != 0 && is_space(text.data[0]))
        text = gci_view_of(text.data + 1, text.size - 1);
    while (text.size != 0 && is_space(text.data[text.size - 1]))
        text.size--;
    return text;
}

/* SHA-256 over tag, length and bytes of extra, content: the length keeps what is extra apart from what is content. */
static gcache_status
name_content(gci_view bytes, gcache_blob_options const *options, char out_name[GCACHE_BLOB_NAME_SIZE], gcache_error *error)
{
    gci_view extra = gci_view_text(options->extra), content = options->text ? strip(bytes) : bytes;
    uint8_t hash[GCI_SHA256_BYTES];
    gci_digest *digest = gci_digest_new();
    gci_buf head;

    gci_buf_init(&head, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&head, NAME_TAG);
    gci_put_u64(&head, extra.size);
    gci_buf_append_view(&head, extra);
    bool done = digest != NULL && !head.failed && gci_digest_begin(digest) &&
                gci_digest_update(digest, head.data, head.size) &&
                gci_digest_update(digest, content.data, content.size) && gci_digest_end(digest, hash);
    gci_buf_clear(&head);
    gci_digest_free(digest);
    if (!done)
        return gci_fail_memory(error);
    gci_hex(hash, sizeof hash, out_name);
    return GCACHE_OK;
}

static gcache_status
check_arguments(gcache const *cache, char const *extension, gcache_blob_options const *options, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE_INIT(options, error);
    GCI_REQUIRE(options->name == NULL || gci_side_name_valid(options->name, GCACHE_BLOB_NAME_SIZE), error,
                "\"%s\" can't name a blob", options->name);
    GCI_REQUIRE(extension[0] == '\0' || gci_side_name_valid(extension, GCACHE_BLOB_EXTENSION_SIZE), error,
                "\"%s\" is no extension", extension);
    return GCACHE_OK;
}

static void
place_of(char const *name, char const *extension, side_path out_path)
{
    snprintf(out_path, sizeof(side_path), "blobs/%.2s/%s%s%s", name, name, extension[0] != '\0' ? "." : "", extension);
}

/* ---- put and get ---- */

static gcache_status
write_path(gcache *cache, char const *place, gcache_blob *blob, gcache_error *error)
{
    gci_buf path;

    gci_buf_init(&path, sizeof blob->path - 1);
    gcache_status status = gci_side_absolute(cache->store, place, &path, error);
    if (status == GCACHE_OK) {
        memcpy(blob->path, path.data, path.size);
        blob->path[path.size] = '\0';
    }
    gci_buf_clear(&path);
    return status;
}

static bool
has_name(gci_view bytes, char const *name, gcache_blob_options const *options)
{
    char found[GCACHE_BLOB_NAME_SIZE];

    return name_content(bytes, options, found, NULL) == GCACHE_OK && strcmp(found, name) == 0;
}

/* Whether what is there under a name is whole. Of bytes from elsewhere nobody says how they got the name: it is judged by, if it
   is theirs. */
static bool
is_whole_beside(gci_view there, char const *place, gci_view bytes)
{
    gcache_blob_options plain = GCACHE_BLOB_OPTIONS_INIT, text = { .size = sizeof(gcache_blob_options), .text = true };
    char const *base = strrchr(place, '/') + 1;
    char name[2 * GCI_SHA256_BYTES + 1];

    snprintf(name, sizeof name, "%s", base);
    if (has_name(bytes, name, &plain))
        return has_name(there, name, &plain);
    if (has_name(bytes, name, &text))
        return has_name(there, name, &text);
    return there.size != 0;
}

/* Whether a blob is there that stays; a damaged one is put aside. name, options: NULL if the bytes come from elsewhere. */
static bool
is_kept(gcache *cache, char const *place, gci_view bytes, char const *name, gcache_blob_options const *options)
{
    gci_buf buf;

    gci_buf_init(&buf, BLOB_BYTES_MAX + 1);
    gcache_status status = gci_side_read(cache->store, place, BLOB_BYTES_MAX, &buf, NULL);
    gci_view there = gci_buf_view(&buf);
    bool kept = status == GCACHE_OK && gci_view_equal(there, bytes);
    if (status == GCACHE_OK && !kept)
        kept = options == NULL         ? is_whole_beside(there, place, bytes)
               : options->name != NULL ? there.size != 0
                                       : has_name(there, name, options);
    gci_buf_clear(&buf);
    if (kept)
        gci_side_touch(cache->store, place);
    else if (status != GCACHE_ERROR_NOT_FOUND && status != GCACHE_ERROR_MEMORY)
        gci_side_quarantine(cache->store, place, "damaged blob");
    return kept;
}

gcache_status
gci_blob_keep(gcache *cache, char const *place, gci_view bytes, bool *out_existed, gcache_error *error)
{
    *out_existed = is_kept(cache, place, bytes, NULL, NULL);
    return *out_existed ? GCACHE_OK : gci_side_write(cache->store, place, bytes, out_existed, error);
}

gcache_status
gcache_blob_put(gcache *cache, void const *bytes, size_t size, char const *extension, gcache_blob_options const *options,
                gcache_blob *out_blob, gcache_error *error)
{
    static gcache_blob_options const defaults = GCACHE_BLOB_OPTIONS_INIT;
    side_path place;

    GCI_REQUIRE(out_blob != NULL, error, "out_blob is NULL");
    GCI_REQUIRE_INIT(out_blob, error);
    GCI_REQUIRE(bytes != NULL || size == 0, error, "bytes is NULL");
    GCI_REQUIRE(size <= BLOB_BYTES_MAX, error, "a blob of %zu bytes is too large", size);
    options = options != NULL ? options : &defaults;
    extension = extension != NULL ? extension : "";
    gcache_status status = check_arguments(cache, extension, options, error);
    if (status != GCACHE_OK)
        return status;
    if (options->name != NULL)
        snprintf(out_blob->name, sizeof out_blob->name, "%s", options->name);
    else
        status = name_content(gci_view_of(bytes, size), options, out_blob->name, error);
    if (status != GCACHE_OK)
        return status;
    place_of(out_blob->name, extension, place);
    /* Who may not write may have what is there. */
    status = gci_pass(&cache->gate, NULL, GCI_STORE, NULL);
    out_blob->existed = (status == GCACHE_OK || status == GCACHE_ERROR_READ_ONLY) &&
                        is_kept(cache, place, gci_view_of(bytes, size), out_blob->name, options);
    status = out_blob->existed ? GCACHE_OK : gci_pass(&cache->gate, NULL, GCI_STORE, error);
    if (status == GCACHE_OK && !out_blob->existed)
        status = gci_side_write(cache->store, place, gci_view_of(bytes, size), &out_blob->existed, error);
    if (status == GCACHE_OK)
        gci_recorder_note(&cache->recorder, GCI_USED_BLOB, gci_view_text(place), gci_view_of("", 0), !out_blob->existed);
    return status == GCACHE_OK ? write_path(cache, place, out_blob, error) : status;
}

/* What has another content has another name. */
static gcache_status
verify(gcache *cache, char const *place, char const *name, gcache_blob_options const *options, gci_view bytes,
       gcache_error *error)
{
    char found[GCACHE_BLOB_NAME_SIZE];

    if (options->name != NULL)
        return GCACHE_OK;
    gcache_status status = name_content(bytes, options, found, error);
    if (status != GCACHE_OK || strcmp(found, name) == 0)
        return status;
    gci_side_quarantine(cache->store, place, "the content doesn't match the name");
    return gci_fail(error, GCACHE_ERROR_CORRUPT, "blob %s is damaged, or was put with other options", name);
}

gcache_status
gcache_blob_get(gcache *cache, char const *name, char const *extension, gcache_blob_options const *options,
                void **out_bytes, size_t *out_size, gcache_error *error)
{
    static gcache_blob_options const defaults = GCACHE_BLOB_OPTIONS_INIT;
    side_path place;
    gci_buf bytes;

    GCI_REQUIRE(out_bytes != NULL && out_size != NULL, error, "out_bytes or out_size is NULL");
    GCI_REQUIRE(name != NULL && gci_side_name_valid(name, GCACHE_BLOB_NAME_SIZE), error, "that is no blob's name");
    options = options != NULL ? options : &defaults;
    extension = extension != NULL ? extension : "";
    gcache_status status = check_arguments(cache, extension, options, error);
    if (status != GCACHE_OK)
        return status;
    /* What has the name of its content can't be stale. */
    gci_admission admission = gci_admit(&cache->gate, NULL, GCI_LOOK_UP);
    if (admission.by != GCI_BY_NOBODY && admission.by != GCI_BY_REFRESH)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "blob %s isn't looked for: %s", name, admission.why);
    place_of(name, extension, place);
    gci_buf_init(&bytes, BLOB_BYTES_MAX + 1);
    status = gci_side_read(cache->store, place, BLOB_BYTES_MAX, &bytes, error);
    if (status == GCACHE_OK)
        status = verify(cache, place, name, options, gci_buf_view(&bytes), error);
    if (status == GCACHE_OK) {
        *out_size = bytes.size;
        *out_bytes = gci_buf_take_text(&bytes);
        status = *out_bytes != NULL ? GCACHE_OK : gci_fail_memory(error);
    }
    if (status == GCACHE_OK)
        gci_recorder_note(&cache->recorder, GCI_USED_BLOB, gci_view_text(place), gci_view_of("", 0), false);
    gci_buf_clear(&bytes);
    return status;
}

gcache_status
gcache_blobs_expire(gcache *cache, uint64_t age_ns, uint64_t *out_removed, gcache_error *error)
{
    uint64_t removed;

    GCI_REQUIRE(cache != NULL && cache->store != NULL, error, "cache is NULL or switched off");
    gcache_status status = gci_side_expire(cache->store, "blobs", age_ns, &removed, error);
    if (out_removed != NULL)
        *out_removed = removed;
    return status;
}

/* ---- directories ---- */

gcache_status
gcache_subdirectory(gcache *cache, char const *name, gcache_access wanted, gcache_access *out_access, char **out_path,
                    gcache_error *error)
{
    side_path place;
    gci_buf path;

    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE(out_access != NULL && out_path != NULL, error, "out_access or out_path is NULL");
    GCI_REQUIRE(name != NULL && gci_side_name_valid(name, GCACHE_BLOB_NAME_SIZE), error,
                "\"%s\" can't name a directory", name != NULL ? name : "");
    GCI_REQUIRE(wanted == GCACHE_ACCESS_READ || wanted == GCACHE_ACCESS_UPDATE, error, "unknown access %d", (int)wanted);
    *out_path = NULL;
    gcache_status status = gci_pass(&cache->gate, NULL, GCI_STORE, NULL);
    *out_access = status == GCACHE_ERROR_READ_ONLY ? GCACHE_ACCESS_READ : wanted;
    if (status == GCACHE_REFUSED)
        return gci_pass(&cache->gate, NULL, GCI_STORE, error);
    snprintf(place, sizeof place, "sub/%s", name);
    status = gci_side_folder(cache->store, place, *out_access == GCACHE_ACCESS_UPDATE, error);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    status = gci_side_absolute(cache->store, place, &path, error);
    if (status == GCACHE_OK && (*out_path = gci_buf_take_text(&path)) == NULL)
        status = gci_fail_memory(error);
    gci_buf_clear(&path);
    return status;
}
