/*
 * Three jobs under the lock of a key: making its candidate index whole again, taking one damaged entry out, and ending a
 * renewal whose writer died.
 */
#include "store/publish/mend.h"

#include "base/arena.h"
#include "base/system/clock.h"
#include "base/digest.h"
#include "store/format/candidate_index.h"
#include "store/format/record.h"
#include "store/index/drain.h"
#include "store/pool/pool.h"
#include "store/publish/draft.h"
#include "store/publish/publish.h"

#include <fcntl.h>
#include <stdlib.h>

bool
gci_is_entry_of(gci_frame const *frame, gcache_key const *key, char const *id)
{
    uint8_t named[(GCACHE_ENTRY_ID_SIZE - 1) / 2];

    return frame->type == GCI_FRAME_ENTRY && frame->head.size >= GCACHE_KEY_BYTES + sizeof named &&
           gci_unhex(gci_view_text(id), named, sizeof named) &&
           memcmp(frame->head.data, key->bytes, GCACHE_KEY_BYTES) == 0 &&
           memcmp(frame->head.data + GCACHE_KEY_BYTES, named, sizeof named) == 0;
}

/* What a mender works with, under the key's lock. */
struct mender {
    gci_store *store;
    gcache_key const *key;
    gci_pack_draft draft;
    gci_arena arena;    /* frames made from entry files */
    gci_mended *mended;
    bool present;       /* there is a candidate index */
    bool changed;
    gcache_error *error;
};

/* What has a folder's place and isn't one is put aside: it would lead out of the cache, or nowhere. */
static gcache_status
clear_folder(struct mender *mender, char const *path)
{
    struct stat facts;

    if (gci_dir_stat(mender->store->directory, path, &facts, NULL) != GCACHE_OK || S_ISDIR(facts.st_mode))
        return GCACHE_OK;
    mender->mended->damaged = true;
    mender->mended->quarantined++;
    return gci_quarantine_file(mender->store, path, "not a directory", mender->error);
}

/* After a damaged pool was made whole. */
static gcache_status
load_from_pool(struct mender *mender)
{
    size_t damaged = 0;
    int level;

    gcache_status status = gci_pool_load(mender->store, mender->key, &mender->draft.pack, &level, mender->error);
    if (status == GCACHE_ERROR_CORRUPT) {
        status = gci_pool_mend(mender->store, mender->key, &damaged, mender->error);
        mender->mended->damaged |= damaged > 0;
        mender->mended->quarantined += damaged;
        if (status == GCACHE_OK)
            status = gci_pool_load(mender->store, mender->key, &mender->draft.pack, &level, mender->error);
    }
    mender->present = status == GCACHE_OK;
    return status == GCACHE_ERROR_NOT_FOUND ? GCACHE_OK : status;
}

/* What isn't a candidate index at all is put aside. */
static gcache_status
load_pack(struct mender *mender)
{
    gci_path path = gci_path_pack(mender->key), shard = gci_path_shard(mender->key);
    gci_dir dir = mender->store->directory;
    struct stat facts;

    gcache_status status = clear_folder(mender, "entries");
    if (status == GCACHE_OK)
        status = clear_folder(mender, shard.text);
    if (status != GCACHE_OK)
        return status;
    status = gci_dir_stat(dir, path.text, &facts, mender->error);
    if (status == GCACHE_ERROR_NOT_FOUND)
        return load_from_pool(mender);
    if (status != GCACHE_OK)
        return status;
    mender->present = true;
    if (S_ISREG(facts.st_mode) && (uint64_t)facts.st_size <= GCI_PACK_MAX)
        return gci_file_load_existing(dir, path.text, GCI_PACK_MAX, &mender->draft.pack, mender->error);
    mender->mended->damaged = true;
    mender->mended->quarantined++;
    return gci_quarantine_file(mender->store, path.text, "not a candidate index", mender->error);
}

static gcache_status
mender_init(struct mender *mender, gci_store *store, gcache_key const *key, gci_mended *mended, gcache_error *error)
{
    *mended = (gci_mended){ 0 };
    *mender = (struct mender){ .store = store, .key = key, .mended = mended, .error = error };
    gci_pack_draft_init(&mender->draft, key);
    gci_arena_init(&mender->arena, GCI_BUF_NO_LIMIT);
    return load_pack(mender);
}

static void
mender_clear(struct mender *mender)
{
    gci_pack_draft_clear(&mender->draft);
    gci_arena_clear(&mender->arena);
}

/* Takes what is good of the candidate index. If not all of it was, its bytes are put aside. */
static gcache_status
take_pack(struct mender *mender)
{
    gci_view bytes = gci_buf_view(&mender->draft.pack);
    gci_pack_walk walk;
    gci_frame frame;

    if (!mender->present || (mender->mended->damaged && mender->draft.pack.size == 0)) {
        mender->changed = mender->present;
        return GCACHE_OK;
    }
    gci_pack_state state = gci_pack_begin(bytes, mender->key, &walk);
    while (state == GCI_PACK_GOOD && gci_pack_next(&walk, &frame))
        continue;
    gcache_status status = gci_pack_draft_take_pack(&mender->draft, bytes, mender->error);
    if (status != GCACHE_OK)
        return status;
    bool damaged = state == GCI_PACK_BAD || walk.damaged > 0 || mender->draft.strange > 0;
    mender->mended->damaged |= damaged || state == GCI_PACK_TORN;
    mender->changed = damaged || state == GCI_PACK_TORN || walk.torn;
    if (!damaged)
        return GCACHE_OK;
    mender->mended->quarantined++;
    return gci_quarantine_bytes(mender->store, gci_path_pack(mender->key).text, bytes, "damaged candidate index",
                                mender->error);
}

/* Until out holds so many bytes of the file, or all there are. */
static gcache_status
read_up_to(gci_file const *file, uint64_t size, gci_buf *out, gcache_error *error)
{
    uint64_t end = size < file->opened.size ? size : file->opened.size;
    size_t got = 0;

    if (end <= out->size)
        return GCACHE_OK;
    char *room = gci_buf_reserve(out, (size_t)(end - out->size));
    if (out->failed)
        return gci_fail_memory(error);
    gcache_status status = gci_file_read(file, room, (size_t)(end - out->size), out->size, &got, error);
    out->size += got;
    return status;
}

/* The frame that a file begins with. Of one that can't hold its frame only the head is read: its size may be without end. */
static gcache_status
read_first_frame(gci_store *store, char const *path, gci_buf *out, gcache_error *error)
{
    gci_frame frame;
    gci_file file;

    gcache_status status = gci_file_open(store->directory, path, O_RDONLY, &file, error);
    if (status != GCACHE_OK)
        return status;
    status = read_up_to(&file, GCI_FRAME_OVERHEAD + GCI_HEAD_MAX, out, error);
    if (status == GCACHE_OK && gci_frame_read_head(gci_buf_view(out), &frame) == GCI_FRAME_GOOD) {
        uint64_t whole = frame.size + frame.payload_size + gci_frame_padding(frame.payload_size).size;
        if (whole <= file.opened.size)
            status = read_up_to(&file, whole, out, error);
    }
    gci_file_close(&file);
    return status;
}

/* Reads an entry file and makes the frame that refers to it. An empty view: the file was no good and is put aside, or it is of
   a newer version, for which it stays, or it went after it was listed. */
static gcache_status
reference_from_file(struct mender *mender, char const *id, gci_frame *out_frame, gci_view *out_bytes)
{
    gci_path path = gci_path_entry(mender->key, id);
    gci_buf file, bytes;
    gci_frame frame;

    gci_buf_init(&file, GCI_BUF_NO_LIMIT);
    gci_buf_init(&bytes, GCI_HEAD_MAX + GCI_FRAME_OVERHEAD);
    gcache_status status = read_first_frame(mender->store, path.text, &file, mender->error);
    gci_frame_state state = gci_frame_read(gci_buf_view(&file), &frame);
    bool good = state == GCI_FRAME_GOOD && gci_is_entry_of(&frame, mender->key, id);
    if (status == GCACHE_OK && !good && state != GCI_FRAME_NEWER) {
        mender->mended->quarantined++;
        status = gci_quarantine_file(mender->store, path.text, "damaged entry", mender->error);
    } else if (status == GCACHE_OK && good) {
        gci_frame_start start = { GCI_FRAME_REFERENCE, frame.payload_size, frame.payload_checksum, 0, frame.version };
        size_t begin = gci_frame_begin(&bytes, &start);
        gci_buf_append_view(&bytes, frame.head);
        gci_frame_end(&bytes, begin);
        *out_bytes = gci_arena_copy(&mender->arena, gci_buf_view(&bytes));
        bool made = !bytes.failed && out_bytes->data != NULL;
        if (!made || gci_frame_read_head(*out_bytes, out_frame) != GCI_FRAME_GOOD)
            status = gci_fail_memory(mender->error);
    }
    gci_buf_clear(&file);
    gci_buf_clear(&bytes);
    return status == GCACHE_ERROR_NOT_FOUND ? GCACHE_OK : status;
}

/* It gets its row as a new one would. */
static void
note_recovered(struct mender *mender, gci_frame const *frame, char const *id)
{
    gci_entry_row row = { .key = *mender->key, .size = frame->size + frame->payload_size };
    gci_signature signature;
    gci_record record;
    gci_arena arena;

    gci_arena_init(&arena, GCI_BUF_NO_LIMIT);
    if (gci_record_read(frame->head, &arena, &record, &signature)) {
        gci_unhex(gci_view_text(id), row.id, sizeof row.id);
        row.created_ns = record.created_ns;
        row.entry_cost = gci_cost_of_path(mender->store, gci_path_entry(mender->key, id).text);
        row.key_cost = gci_cost_of_key(mender->store, mender->key);
        row.namespace_ = record.namespace_;
        row.kind = record.kind;
        gci_note_entry(mender->store, &row);
        gci_count_entries(mender->store, 1);
    }
    gci_arena_clear(&arena);
}

/* An entry file that the candidate index doesn't name becomes a candidate again. */
static gcache_status
recover_entry(struct mender *mender, char const *id)
{
    gci_pack_draft_frame *known = gci_pack_draft_find(&mender->draft, id);
    gci_view bytes = { NULL, 0 };
    gci_frame frame;

    if (known != NULL && known->type != GCI_FRAME_EVICTED)
        return GCACHE_OK;
    gcache_status status = reference_from_file(mender, id, &frame, &bytes);
    if (status != GCACHE_OK || bytes.size == 0)
        return status;
    mender->mended->recovered++;
    mender->changed = true;
    note_recovered(mender, &frame, id);
    return gci_pack_draft_take(&mender->draft, &frame, bytes) ? GCACHE_OK : gci_fail_memory(mender->error);
}

/* References to files that aren't there: remembered as evicted. */
static void
forget_lost(struct mender *mender)
{
    struct stat facts;

    for (size_t i = 0; i < mender->draft.count; i++) {
        gci_pack_draft_frame *frame = &mender->draft.frames[i];
        gci_path path = gci_path_entry(mender->key, frame->id);
        if (frame->dropped || frame->type != GCI_FRAME_REFERENCE ||
            gci_dir_stat(mender->store->directory, path.text, &facts, NULL) != GCACHE_ERROR_NOT_FOUND)
            continue;
        frame->type = GCI_FRAME_EVICTED;
        frame->evicted_ns = gci_clock_wall_ns();
        gci_note_removal(mender->store, mender->key, frame->id, gci_cost_of_key(mender->store, mender->key));
        mender->mended->lost++;
        gci_count_entries(mender->store, -1);
        mender->changed = true;
    }
}

/* The files of the mender's key, whatever its candidate index says. */
static gcache_status
recover_files(void *state, gci_shard_key const *key)
{
    struct mender *mender = state;
    gcache_status status = GCACHE_OK;

    if (memcmp(&key->key, mender->key, sizeof key->key) != 0)
        return status;
    for (size_t i = 0; status == GCACHE_OK && i < key->count; i++) {
        if (key->files[i].kind == GCI_NAME_ENTRY)
            status = recover_entry(mender, key->files[i].id);
    }
    return status;
}

/* ---- the two jobs ---- */

/* What was lost with a damaged candidate index has no name any more: the rows learn what is left. */
static void
note_kept(struct mender const *mender)
{
    uint64_t cost = gci_cost_of_key(mender->store, mender->key);
    uint8_t id[(GCACHE_ENTRY_ID_SIZE - 1) / 2];
    gci_buf ids;

    gci_buf_init(&ids, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < mender->draft.count; i++) {
        gci_pack_draft_frame const *frame = &mender->draft.frames[i];
        if (!frame->dropped && frame->type != GCI_FRAME_EVICTED && gci_unhex(gci_view_text(frame->id), id, sizeof id))
            gci_buf_append(&ids, id, sizeof id);
    }
    if (!ids.failed)
        gci_note_kept(mender->store, mender->key, gci_buf_view(&ids), cost != 0 ? cost : mender->draft.pack.size);
    gci_buf_clear(&ids);
}

static gcache_status
mend(struct mender *mender, gci_shard_key const *listed)
{
    gcache_status status = take_pack(mender);

    if (status == GCACHE_OK && mender->mended->damaged && listed == NULL)
        status = gci_shard_each(mender->store->directory, mender->key->bytes[0], NULL, 0, recover_files, mender, mender->error);
    if (status == GCACHE_OK && listed != NULL)
        status = recover_files(mender, listed);
    if (status == GCACHE_OK && listed != NULL)
        forget_lost(mender);
    mender->mended->entries = gci_pack_draft_live(&mender->draft);
    if (status == GCACHE_OK && mender->changed)
        status = gci_publish_draft(mender->store, &mender->draft, &(uint64_t){ 0 }, mender->error);
    /* Only what was put aside is known about: of what was cut off verify speaks. */
    if (status == GCACHE_OK && mender->mended->quarantined > 0)
        note_kept(mender);
    return status;
}

gcache_status
gci_mend_locked(gci_store *store, gcache_key const *key, gci_shard_key const *listed, gci_mended *out_mended,
                gcache_error *error)
{
    struct mender mender;

    gcache_status status = mender_init(&mender, store, key, out_mended, error);
    if (status == GCACHE_OK)
        status = mend(&mender, listed);
    mender_clear(&mender);
    return status;
}

static gcache_status
lock_for_mending(gci_store *store, gcache_key const *key, gcache_error *error)
{
    if (store->read_only)
        return gci_store_check_writable(store, error);
    return gci_key_lock(&store->locks, key, GCI_KEY_LOCK_WAIT_NS, error);
}

gcache_status
gci_mend_key(gci_store *store, gcache_key const *key, gci_shard_key const *listed, gci_mended *out_mended,
             gcache_error *error)
{
    *out_mended = (gci_mended){ 0 };
    gcache_status status = lock_for_mending(store, key, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_mend_locked(store, key, listed, out_mended, error);
    gci_key_unlock(&store->locks, key);
    return status;
}

/* The entry that a job is about, as it was read. */
struct subject {
    char const *id;
    uint64_t sequence;
    char const *why;
};

static gcache_status
drop_entry(struct mender *mender, struct subject const *subject)
{
    char const *id = subject->id;
    gci_path path = gci_path_entry(mender->key, id);

    gcache_status status = take_pack(mender);
    gci_pack_draft_frame *frame = status == GCACHE_OK ? gci_pack_draft_find(&mender->draft, id) : NULL;
    if (frame == NULL || frame->type == GCI_FRAME_EVICTED)
        return status;
    if (frame->sequence != subject->sequence)
        return gci_fail(mender->error, GCACHE_ERROR_NOT_FOUND, "entry %s: renewed meanwhile", id);
    if (frame->type == GCI_FRAME_ENTRY)
        status = gci_quarantine_bytes(mender->store, path.text, frame->bytes, subject->why, mender->error);
    else
        status = gci_quarantine_file(mender->store, path.text, subject->why, mender->error);
    if (status != GCACHE_OK)
        return status;
    *frame = mender->draft.frames[--mender->draft.count];
    gci_count_entries(mender->store, -1);
    mender->mended->quarantined++;
    status = gci_publish_draft(mender->store, &mender->draft, &(uint64_t){ 0 }, mender->error);
    if (status == GCACHE_OK)
        gci_note_removal(mender->store, mender->key, id, gci_cost_of_key(mender->store, mender->key));
    return status;
}

/* The file's head takes the reference's place. */
static gcache_status
end_renewal(struct mender *mender, struct subject const *subject)
{
    gci_view bytes = { NULL, 0 };
    gci_frame frame;

    gcache_status status = take_pack(mender);
    gci_pack_draft_frame *former = status == GCACHE_OK ? gci_pack_draft_find(&mender->draft, subject->id) : NULL;
    if (former == NULL || former->type != GCI_FRAME_REFERENCE || former->sequence != subject->sequence)
        return status;
    status = reference_from_file(mender, subject->id, &frame, &bytes);
    if (status != GCACHE_OK || bytes.size == 0)
        return status;
    size_t strange = mender->draft.strange;
    former->dropped = true;
    if (!gci_pack_draft_take(&mender->draft, &frame, bytes))
        return gci_fail_memory(mender->error);
    gci_pack_draft_frame const *taken = gci_pack_draft_find(&mender->draft, subject->id);
    if (mender->draft.strange != strange || taken == NULL || taken->sequence <= subject->sequence)
        return gci_fail(mender->error, GCACHE_ERROR_CORRUPT, "entry %s: its file lies", subject->id);
    return gci_publish_draft(mender->store, &mender->draft, &(uint64_t){ 0 }, mender->error);
}

/* One job under the key's lock. */
static gcache_status
under_lock(gci_store *store, gcache_key const *key, struct subject const *subject,
           gcache_status (*job)(struct mender *mender, struct subject const *subject), gcache_error *error)
{
    gci_mended mended;
    struct mender mender;

    gcache_status status = lock_for_mending(store, key, error);
    if (status != GCACHE_OK)
        return status;
    status = mender_init(&mender, store, key, &mended, error);
    if (status == GCACHE_OK)
        status = job(&mender, subject);
    mender_clear(&mender);
    gci_key_unlock(&store->locks, key);
    return status;
}

gcache_status
gci_mend_entry(gci_store *store, gcache_key const *key, char const *id, uint64_t sequence, char const *why,
               gcache_error *error)
{
    return under_lock(store, key, &(struct subject){ id, sequence, why }, drop_entry, error);
}

gcache_status
gci_mend_renewed(gci_store *store, gcache_key const *key, char const *id, uint64_t sequence, gcache_error *error)
{
    return under_lock(store, key, &(struct subject){ id, sequence, NULL }, end_renewal, error);
}
