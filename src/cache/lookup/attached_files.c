/*
 * The files that belong to an entry, verified whenever they are used; one that is damaged or gone takes its entry with it.
 */
#include "cache/lookup/attached_files.h"

#include "base/check.h"

/* One that can't be had makes its entry worthless: that is put aside. */
static void
settle(gcache *cache, gci_candidate *candidate, gci_found *found)
{
    if (*found == GCI_CORRUPT || *found == GCI_ABSENT)
        *found = gci_store_discard_incomplete(cache->store, candidate);
}

/* Says which one it is that can't be had. */
static gcache_status
name_it(gci_attachment const *attachment, gci_found found, gcache_status status, gcache_error *error)
{
    if (found != GCI_CORRUPT && found != GCI_ABSENT)
        return status;
    return gci_fail(error, status, "attachment %.*s is %s", (int)attachment->name.size, attachment->name.data,
                    found == GCI_CORRUPT ? "damaged" : "gone");
}

static gcache_status
place_one(gcache *cache, gci_attachment const *attachment, char const *directory, gci_found *out_found, gcache_error *error)
{
    gcache_status status = gci_store_place(cache->store, attachment, directory, out_found, error);

    return name_it(attachment, *out_found, status, error);
}

gcache_status
gci_place_attachments(gcache *cache, gci_candidate *candidate, char const *directory, gci_found *out_found,
                      gcache_error *error)
{
    gci_record const *record = &candidate->record;
    gcache_status status = GCACHE_OK;

    *out_found = GCI_FOUND;
    for (size_t i = 0; status == GCACHE_OK && i < record->attachment_count; i++)
        status = place_one(cache, &record->attachments[i], directory, out_found, error);
    settle(cache, candidate, out_found);
    return status;
}

/* ---- of a hit ---- */

static gcache_status
winner_of(gcache *cache, gcache_result const *result, gci_candidate **out_winner, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE_INIT(result, error);
    GCI_REQUIRE(result != NULL && result->candidates != NULL, error, "the result is no hit");
    *out_winner = gci_candidates_find(result->candidates, result->entry);
    return GCACHE_OK;
}

static gcache_status
attachment_of(gcache *cache, gcache_result const *result, char const *name, gci_candidate **out_winner,
              gci_attachment const **out_attachment, gcache_error *error)
{
    gcache_status status = winner_of(cache, result, out_winner, error);

    for (size_t i = 0; status == GCACHE_OK && name != NULL && i < (*out_winner)->record.attachment_count; i++) {
        *out_attachment = &(*out_winner)->record.attachments[i];
        if (gci_view_equal((*out_attachment)->name, gci_view_text(name)))
            return GCACHE_OK;
    }
    if (status != GCACHE_OK)
        return status;
    return gci_fail(error, GCACHE_ERROR_ARGUMENT, "the hit has no attachment %s", name != NULL ? name : "without a name");
}

gcache_status
gcache_place(gcache *cache, gcache_result const *result, char const *directory, gcache_error *error)
{
    GCI_REQUIRE(directory != NULL, error, "directory is NULL");
    gci_candidate *winner = NULL;
    gci_found found;
    gcache_status status = winner_of(cache, result, &winner, error);

    return status == GCACHE_OK ? gci_place_attachments(cache, winner, directory, &found, error) : status;
}

gcache_status
gcache_place_one(gcache *cache, gcache_result const *result, char const *name, char const *directory, gcache_error *error)
{
    GCI_REQUIRE(directory != NULL, error, "directory is NULL");
    gci_candidate *winner = NULL;
    gci_attachment const *attachment = NULL;
    gci_found found;
    gcache_status status = attachment_of(cache, result, name, &winner, &attachment, error);

    if (status != GCACHE_OK)
        return status;
    status = place_one(cache, attachment, directory, &found, error);
    settle(cache, winner, &found);
    return status;
}

static gcache_status
read_one(gcache *cache, gci_candidate *winner, gci_attachment const *attachment, gci_buf *out, gcache_error *error)
{
    gcache_error why = { .status = GCACHE_OK };
    gci_found found = gci_store_attachment(cache->store, attachment, out, &why);

    if (found == GCI_FOUND)
        return GCACHE_OK;
    gcache_status status = name_it(attachment, found, gci_fail(error, why.status, "%s", why.message), error);
    settle(cache, winner, &found);
    return status;
}

gcache_status
gcache_attachment_get(gcache *cache, gcache_result const *result, char const *name, void **out_bytes, size_t *out_size,
                      gcache_error *error)
{
    GCI_REQUIRE(out_bytes != NULL && out_size != NULL, error, "out_bytes or out_size is NULL");
    *out_bytes = NULL;
    gci_candidate *winner = NULL;
    gci_attachment const *attachment = NULL;
    gci_buf bytes;
    gcache_status status = attachment_of(cache, result, name, &winner, &attachment, error);

    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    status = read_one(cache, winner, attachment, &bytes, error);
    if (status == GCACHE_OK) {
        *out_size = bytes.size;
        *out_bytes = gci_buf_take_text(&bytes);
        status = *out_bytes != NULL ? GCACHE_OK : gci_fail_memory(error);
    }
    gci_buf_clear(&bytes);
    return status;
}
