/* The part of an insert under the lock of its key, in the order of state.h; and, without the lock, what several inserts share:
   writing before it (staging) and syncing pools behind it. */
#include "store/evict/references.h"
#include "store/format/describe.h"
#include "store/format/record.h"
#include "store/index/drain.h"
#include "store/index/tombstones.h"
#include "store/index/touch.h"
#include "store/insert/insertion.h"
#include "store/memory/candidates.h"
#include "store/pool/pool.h"
#include "store/publish/mend.h"
#include "store/publish/publish.h"
#include "store/publish/renewal.h"
#include "store/read/load.h"

#include <errno.h>
#include <stdlib.h>

/* Of a fresh key all that is stored lies in its candidate index, up to this size: one file is made and synced instead of two, and
   one is read by who wants the entry. Who looks for another one reads it in vain, in microseconds (docs/performance.md). */
#define FIRST_MAX ((size_t)128 << 10)
/* Later payloads up to this size lie there too: one append commits them, and they cost no inode. Larger ones are faster to read
   from a file of their own than to drag along with every cold lookup of the key. */
#define INLINE_MAX ((size_t)8 << 10)
/* And while the candidate index is smaller than this: one read stays a matter of microseconds. */
#define INLINE_PACK_MAX (FIRST_MAX + ((size_t)64 << 10))
/* So does a description that is added later. */
#define INLINE_DESCRIPTION_MAX ((size_t)2 << 10)

/* ---- what is there ---- */

static bool
is_whole(gci_found found, gci_candidates *set)
{
    if (found != GCI_FOUND)
        return found == GCI_ABSENT;
    return set->damaged == 0 && gci_inside(set)->end == gci_inside(set)->size;
}

/* What memory knows of a file that an outsider cut or removed is right for readers; appending to it would be lost. */
static bool
is_as_on_disk(gci_store *store, gci_candidates *set)
{
    struct stat facts;

    return set == NULL || gci_inside(set)->pooled ||
           (gci_dir_stat(store->directory, gci_path_pack(&set->key).text, &facts, NULL) == GCACHE_OK &&
            (uint64_t)facts.st_size == gci_inside(set)->size);
}

/* The key's candidates, after damage and torn ends were cleared away. *out_set is NULL if there is no candidate index. */
static gcache_status
read_whole(gci_insertion *insertion, gci_candidates **out_set)
{
    gcache_key const *key = &insertion->record.key;
    gci_store *store = insertion->store;
    gcache_error why = { .message = "" };
    gci_mended mended;

    gci_found found = gci_read_to_change(store, key, out_set, &why);
    if (found == GCI_UNREADABLE && why.status == GCACHE_ERROR_UNTRUSTED)
        return gci_fail(insertion->error, why.status, "%s", why.message);
    if (is_whole(found, *out_set) && is_as_on_disk(store, *out_set))
        return GCACHE_OK;
    gci_candidates_release(*out_set);
    *out_set = NULL;
    gcache_status status = gci_mend_locked(store, key, NULL, &mended, insertion->error);
    if (status != GCACHE_OK)
        return status;
    found = gci_read_pack(store, key, out_set, insertion->error);
    return is_whole(found, *out_set) ? GCACHE_OK
                                     : gci_fail(insertion->error, GCACHE_ERROR_IO, "%s/%s: can't be read",
                                                store->directory.name, gci_path_pack(key).text);
}

bool
gci_is_replaced(gci_insertion const *insertion, gci_candidate *equal)
{
    if (insertion->vouched && !gci_is_vouched_for(insertion->store, equal))
        return true;
    return insertion->store->options.renew;
}

/*
 * An equal entry that no key of ours vouches for makes way for one that a key of ours signed: else whoever requires signatures
 * would never see it. Where signatures are required, the set doesn't show whether there is one.
 */
static gcache_status
find_replaced(gci_insertion *insertion, gci_candidates *set, gci_renewal *renewal)
{
    char const *id = insertion->record.id;
    gci_candidate *equal = gci_candidates_find(set, id);
    bool hidden = equal == NULL && insertion->vouched && set->untrusted != 0;

    if (!hidden && (equal == NULL || !gci_is_replaced(insertion, equal)))
        return GCACHE_OK;
    return gci_renewal_find(renewal, insertion->store, id, insertion->error);
}

static bool
same_guards(gci_record const *a, gci_record const *b)
{
    if (a->guard_count != b->guard_count)
        return false;
    for (size_t i = 0; i < a->guard_count; i++) {
        if (!gci_view_equal(a->guards[i], b->guards[i]))
            return false;
    }
    return true;
}

static bool
same_pairs(gci_pair const *a, size_t a_count, gci_pair const *b, size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++) {
        if (!gci_view_equal(a[i].name, b[i].name) || !gci_view_equal(a[i].value, b[i].value))
            return false;
    }
    return true;
}

/* Whether a lookup can distinguish the two by their age only. */
static bool
shadows(gci_record const *newer, gci_record const *older)
{
    return newer->priority == older->priority && gci_view_equal(newer->variant, older->variant) &&
           same_guards(newer, older) &&
           same_pairs(newer->names, newer->name_count, older->names, older->name_count) &&
           same_pairs(newer->requirements, newer->requirement_count, older->requirements, older->requirement_count);
}

static void
note_shadowed(gci_insertion *insertion, gci_candidates const *set)
{
    for (size_t i = set->count; i-- > 0;) {
        gci_record const *older = &set->items[i]->record;
        if (!shadows(&insertion->record, older) || memcmp(older->id, insertion->record.id, sizeof older->id) == 0)
            continue;
        memcpy(insertion->out->shadows, older->id, GCACHE_ENTRY_ID_SIZE);
        return;
    }
}

static gcache_status
check_present(gci_insertion *insertion, gci_candidates *set)
{
    gci_candidate *equal = gci_candidates_find(set, insertion->record.id);

    if (equal != NULL) {
        insertion->out->existed = true;
        insertion->out->sequence = equal->record.sequence;
        return GCACHE_OK;
    }
    if (set->count >= insertion->store->options.max_candidates) {
        insertion->key_full = set->count;
        return GCACHE_ERROR_LIMIT;
    }
    note_shadowed(insertion, set);
    return GCACHE_OK;
}

/* ---- writing ---- */

/* Makes the frame up to where the payload goes. */
static gcache_status
make_head(gci_insertion *insertion, gci_frame_type type)
{
    gci_frame_start start = { type, insertion->payload.size, insertion->checksum, 0, gci_record_version(&insertion->signature) };

    insertion->head.size = 0;
    size_t begin = gci_frame_begin(&insertion->head, &start);
    gci_record_write(&insertion->head, &insertion->record, &insertion->signature);
    gci_frame_end(&insertion->head, begin);
    return insertion->head.failed ? gci_fail(insertion->error, GCACHE_ERROR_LIMIT,
                                             "guards, names and metadata take more than %zu bytes, or memory is short",
                                             GCI_HEAD_MAX)
                                  : GCACHE_OK;
}

static bool
lies_in_pack(gci_insertion const *insertion, size_t pack_size)
{
    size_t size = insertion->payload.size;

    return pack_size == 0 ? size <= FIRST_MAX : size <= INLINE_MAX && pack_size + size <= INLINE_PACK_MAX;
}

static bool
description_lies_in_pack(gci_insertion const *insertion, bool fresh)
{
    size_t size = insertion->description.size;

    return size <= INLINE_DESCRIPTION_MAX || (fresh && size + insertion->payload.size <= FIRST_MAX);
}

/* A candidate index with one entry: its header, the description (if it lies in here), the head, the payload and its padding. */
#define PACK_PARTS 5
/* Those before the payload: where that has a file. */
#define REFERENCE_PARTS 3

static void
list_parts(gci_insertion const *insertion, gci_buf const *header, gci_view parts[PACK_PARTS])
{
    parts[0] = gci_buf_view(header);
    parts[1] = gci_buf_view(&insertion->description);
    parts[2] = gci_buf_view(&insertion->head);
    parts[3] = insertion->payload;
    parts[4] = gci_frame_padding(insertion->payload.size);
}

static void
discard(gci_insertion *insertion, gci_path *temporary)
{
    if (temporary->text[0] != '\0')
        gci_dir_unlink(insertion->store->directory, temporary->text, NULL);
    temporary->text[0] = '\0';
}

/*
 * The candidate index of a fresh key whose payload gets a file, under a temporary name: before the payload is synced, so that
 * one commit of the file system's journal is for both, and the disk works meanwhile. No more than a head start.
 */
static void
write_index_ahead(gci_insertion *insertion)
{
    gci_view parts[PACK_PARTS];
    gci_buf header;

    discard(insertion, &insertion->index);
    if (make_head(insertion, GCI_FRAME_REFERENCE) != GCACHE_OK)
        return;
    gci_buf_init(&header, GCI_PACK_HEADER);
    gci_pack_put_header(&header, &insertion->record.key);
    list_parts(insertion, &header, parts);
    if (!description_lies_in_pack(insertion, true))
        parts[1].size = 0;
    if (header.failed || gci_write_temporary(insertion->store, GCI_WEIGHT_LIGHT, parts, REFERENCE_PARTS, &insertion->index,
                                             NULL) != GCACHE_OK)
        insertion->index.text[0] = '\0';
    gci_buf_clear(&header);
}

/* What holds the payload, synced, under a temporary name: as it was staged, or written now. The caller owns the file. index: the
   candidate index of a fresh key is another one. */
static gcache_status
write_or_take_staged(gci_insertion *insertion, bool index, gci_view const *parts, size_t count, gci_path *out_path)
{
    gci_store *store = insertion->store;
    gci_file file;

    *out_path = insertion->staged;
    insertion->staged.text[0] = '\0';
    if (out_path->text[0] != '\0')
        return GCACHE_OK;
    gcache_status status = gci_begin_temporary(store, parts, count, out_path, &file, insertion->error);
    if (status != GCACHE_OK)
        return status;
    if (index && gci_must_sync(store, GCI_WEIGHT_COMMIT)) {
        status = gci_start_temporary(store, out_path, &file, insertion->error);
        if (status != GCACHE_OK)
            return status;
        write_index_ahead(insertion);
    }
    return gci_end_temporary(store, GCI_WEIGHT_COMMIT, out_path, &file, insertion->error);
}

/* The payload's own file, complete but for its name. */
static gcache_status
write_entry_temporary(gci_insertion *insertion, bool fresh, gci_path *out_path)
{
    gcache_status status = make_head(insertion, GCI_FRAME_ENTRY);
    if (status != GCACHE_OK)
        return status;
    gci_view parts[] = { gci_buf_view(&insertion->head), insertion->payload, gci_frame_padding(insertion->payload.size) };
    uint64_t cost = gci_disk_cost(gci_views_size(parts, 3));
    status = write_or_take_staged(insertion, fresh, parts, 3, out_path);
    if (status == GCACHE_OK)
        insertion->entry_cost = cost;
    return status;
}

/* Gives it its name: behind its row, by which it is found and evicted should its writer die here. Then the head is that of a
   reference to it. */
static gcache_status
place_entry_file(gci_insertion *insertion, gci_path const *temporary)
{
    gci_path place = gci_path_entry(&insertion->record.key, insertion->record.id);
    gci_store *store = insertion->store;

    gcache_status status = gci_move_into_place(store, temporary, &place, insertion->error);
    if (status != GCACHE_OK) {
        gci_dir_unlink(store->directory, place.text, NULL);
        return status;
    }
    gci_count_bytes(store, insertion->entry_cost);
    return make_head(insertion, GCI_FRAME_REFERENCE);
}

/* A large description gets a file. Without it an explanation is poorer, and that is all. */
static void
write_description_file(gci_insertion *insertion)
{
    gci_path place = gci_path_description(&insertion->record.key), temporary;
    gci_view bytes = gci_buf_view(&insertion->description);
    gci_store *store = insertion->store;

    gcache_status status = gci_write_temporary(store, GCI_WEIGHT_LIGHT, &bytes, 1, &temporary, NULL);
    if (status == GCACHE_OK)
        status = gci_move_into_place(store, &temporary, &place, NULL);
    if (status == GCACHE_OK)
        gci_count_bytes(store, gci_disk_cost(bytes.size));
    insertion->description.size = 0;
}

/* Among the candidate indexes of other small keys, where the key takes `size` bytes by now. MISS: it has to have a file. */
static gcache_status
publish_pooled(gci_insertion *insertion, int level, size_t size, gci_view const *frames, size_t count)
{
    gci_weight weight = insertion->is_batched ? GCI_WEIGHT_LIGHT : GCI_WEIGHT_COMMIT;
    gci_store *store = insertion->store;

    if (insertion->entry_cost != 0 || size + gci_views_size(frames, count) > store->options.pooled_max)
        return GCACHE_MISS;
    gcache_status status = gci_pool_add(store, &insertion->record.key, level, weight, frames, count, &insertion->pool,
                                        insertion->error);
    if (status != GCACHE_OK)
        insertion->pool.text[0] = '\0';
    return status;
}

static gcache_status
publish_new(gci_insertion *insertion, gci_view const *parts, size_t count)
{
    gcache_key const *key = &insertion->record.key;
    uint64_t size = gci_views_size(parts, count);
    gci_path temporary = insertion->index;

    insertion->index.text[0] = '\0';
    if (temporary.text[0] != '\0')
        return gci_publish_temporary(insertion->store, key, &temporary, size, insertion->error);
    if (insertion->entry_cost != 0)
        return gci_publish_pack(insertion->store, key, GCI_WEIGHT_LIGHT, parts, count, insertion->error);
    gcache_status status = GCACHE_MISS;
    if (insertion->staged.text[0] == '\0')
        status = publish_pooled(insertion, GCI_POOL_ANY, 0, parts + 1, count - 1);
    if (status != GCACHE_MISS)
        return status;
    status = write_or_take_staged(insertion, false, parts, count, &temporary);
    if (status == GCACHE_OK)
        status = gci_publish_temporary(insertion->store, key, &temporary, size, insertion->error);
    return status;
}

/* A key that lies in a pool stays in one while it fits. Too large, it gets a file with everything; if the pool can't be
   written, a file with what it had, without the new frame, which may not be on disk. */
static gcache_status
publish_from_pool(gci_insertion *insertion, gci_candidates *set, gci_view parts[PACK_PARTS], size_t count)
{
    gcache_key const *key = &insertion->record.key;
    size_t end = (size_t)gci_inside(set)->end;

    gcache_status status = publish_pooled(insertion, gci_inside(set)->pool_level, end - GCI_PACK_HEADER, parts + 1, count - 1);
    if (status == GCACHE_OK)
        return status;
    parts[0] = gci_view_of(gci_run_inside(set->runs[0])->bytes.data, end);
    if (status == GCACHE_MISS)
        return gci_publish_pack(insertion->store, key, GCI_WEIGHT_COMMIT, parts, count, insertion->error);
    gci_publish_pack(insertion->store, key, GCI_WEIGHT_COMMIT, parts, 1, NULL);
    return status;
}

/* Adds the description (if it lies in here), the head, and the payload unless it has a file, to the candidate index. */
static gcache_status
publish(gci_insertion *insertion, gci_candidates *set)
{
    gci_weight weight = insertion->entry_cost != 0 ? GCI_WEIGHT_LIGHT : GCI_WEIGHT_COMMIT;
    size_t count = insertion->entry_cost != 0 ? REFERENCE_PARTS : PACK_PARTS;
    gcache_key const *key = &insertion->record.key;
    gci_view parts[PACK_PARTS];
    gcache_status status;
    gci_buf header;

    gci_buf_init(&header, GCI_PACK_HEADER);
    if (set == NULL)
        gci_pack_put_header(&header, key);
    list_parts(insertion, &header, parts);
    if (header.failed)
        status = gci_fail_memory(insertion->error);
    else if (set == NULL)
        status = publish_new(insertion, parts, count);
    else if (gci_inside(set)->pooled)
        status = publish_from_pool(insertion, set, parts, count);
    else
        status = gci_append_pack(insertion->store, key, weight, gci_inside(set)->end, parts + 1, count - 1,
                                 insertion->error);
    gci_buf_clear(&header);
    return status;
}

/* The payload: in a file that hasn't its name yet, or (*out_file "") to be written right behind the head. */
static gcache_status
write_payload(gci_insertion *insertion, size_t pack_size, gci_path *out_file)
{
    insertion->entry_cost = 0;
    out_file->text[0] = '\0';
    if (lies_in_pack(insertion, pack_size))
        return make_head(insertion, GCI_FRAME_ENTRY);
    return write_entry_temporary(insertion, pack_size == 0, out_file);
}

/* Before the lock nobody looked whether a key in a pool has a description: it may have one in a file. */
static bool
has_description_file(gci_insertion const *insertion)
{
    return insertion->description.size > 0 &&
           gci_cost_of_path(insertion->store, gci_path_description(&insertion->record.key).text) > 0;
}

static void
write_description(gci_insertion *insertion, gci_candidates *set)
{
    if (set != NULL && (gci_inside(set)->description.size > 0 || has_description_file(insertion)))
        insertion->description.size = 0;
    if (!description_lies_in_pack(insertion, set == NULL))
        write_description_file(insertion);
}

/* Notes the row of an entry: before it appears or, renewed, after. key_cost is what the files of its key will take. */
static gcache_status
note_insert(gci_store *store, gci_insertion const *insertion, uint64_t key_cost)
{
    gci_record const *record = &insertion->record;
    gci_entry_row row = { .key = record->key, .created_ns = record->created_ns, .entry_cost = insertion->entry_cost,
                          .size = insertion->head.size + record->stored_size, .key_cost = key_cost,
                          .namespace_ = record->namespace_, .kind = record->kind,
                          .sketch = gci_view_of(insertion->sketch, insertion->sketch_size),
                          .is_keyed = insertion->is_keyed };

    gci_unhex(gci_view_text(record->id), row.id, sizeof row.id);
    return gci_note_entry(store, &row);
}

static gcache_status
write_and_publish(gci_insertion *insertion, gci_candidates *set)
{
    size_t pack_size = set != NULL ? gci_inside(set)->end : 0;
    gcache_key const *key = &insertion->record.key;
    gci_store *store = insertion->store;
    gci_path file;

    if (set != NULL)
        gci_insertion_unstage(insertion);
    insertion->record.sequence = (set != NULL ? gci_inside(set)->last_sequence : 0) + 1;
    gcache_status status = write_payload(insertion, pack_size, &file);
    if (status != GCACHE_OK)
        return status;
    write_description(insertion, set);
    /* The key is stored again. */
    if (set == NULL)
        gci_tombstone_remove(store, key);
    uint64_t cost = gci_cost_of_key(store, key);
    uint64_t after = (pack_size != 0 ? pack_size : GCI_PACK_HEADER) + insertion->description.size + insertion->head.size;
    if (insertion->entry_cost == 0)
        after += insertion->payload.size + gci_frame_padding(insertion->payload.size).size;
    status = note_insert(store, insertion, cost - gci_disk_cost(pack_size) + gci_disk_cost(after));
    /* A full disk is the insert's to make room on; other trouble costs a row, which repair finds. */
    if (status == GCACHE_ERROR_NO_SPACE)
        gci_fail_errno(insertion->error, ENOSPC, "%s/segment", store->directory.name);
    else
        status = file.text[0] != '\0' ? place_entry_file(insertion, &file) : GCACHE_OK;
    if (status == GCACHE_OK)
        status = publish(insertion, set);
    if (status == GCACHE_OK)
        return GCACHE_OK;
    discard(insertion, &file);
    if (insertion->entry_cost != 0)
        gci_remove_entry(store, key, insertion->record.id, NULL, NULL);
    gci_note_removal(store, key, insertion->record.id, cost);
    return status;
}

/* ---- in an equal entry's place ---- */

/* The new frame and the candidate index with it, complete but for their names; *out_entry "": the payload lies in the frame. */
static gcache_status
write_renewed(gci_insertion *insertion, gci_renewal *renewal, size_t pack_size, gci_path *out_entry, gci_path *out_pack,
              uint64_t *out_size)
{
    gcache_status status;
    gci_buf frame;

    /* The only one of its key is as good as fresh. */
    if (lies_in_pack(insertion, gci_pack_draft_live(&renewal->draft) == 0 ? 0 : pack_size))
        status = make_head(insertion, GCI_FRAME_ENTRY);
    else if ((status = write_entry_temporary(insertion, false, out_entry)) == GCACHE_OK)
        status = make_head(insertion, GCI_FRAME_REFERENCE);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&frame, GCI_BUF_NO_LIMIT);
    gci_buf_append_view(&frame, gci_buf_view(&insertion->head));
    if (insertion->entry_cost == 0) {
        gci_buf_append_view(&frame, insertion->payload);
        gci_buf_append_view(&frame, gci_frame_padding(insertion->payload.size));
    }
    status = frame.failed ? gci_fail_memory(insertion->error)
                          : gci_renewal_write(renewal, insertion->store, gci_buf_view(&frame),
                                              gci_buf_view(&insertion->description), out_pack, out_size, insertion->error);
    gci_buf_clear(&frame);
    return status;
}

/* Both get their names. What goes wrong with the second leaves a newer file to the old reference, which is as good. */
static gcache_status
publish_renewed(gci_insertion *insertion, gci_renewal const *renewal, gci_path const *entry, gci_path const *pack,
                uint64_t size)
{
    gcache_key const *key = &insertion->record.key;
    gci_path place = gci_path_entry(key, insertion->record.id);
    gci_store *store = insertion->store;
    uint64_t moment = gci_count_moment(store), before = gci_cost_of_path(store, place.text);
    gcache_status status = GCACHE_OK;

    if (insertion->entry_cost != 0) {
        status = gci_move_into_place(store, entry, &place, insertion->error);
        if (status != GCACHE_OK) {
            gci_dir_unlink(store->directory, pack->text, NULL);
            return status;
        }
        gci_count_change(store, moment, before, insertion->entry_cost);
    }
    status = gci_publish_temporary(store, key, pack, size, insertion->error);
    bool unneeded = status == GCACHE_OK ? insertion->entry_cost == 0 : renewal->former != GCI_FRAME_REFERENCE;
    if (unneeded)
        gci_remove_entry(store, key, insertion->record.id, NULL, NULL);
    return status;
}

static bool
has_attachment(gci_record const *record, gci_attachment const *attachment)
{
    for (size_t i = 0; i < record->attachment_count; i++) {
        if (memcmp(record->attachments[i].sha256, attachment->sha256, sizeof attachment->sha256) == 0)
            return true;
    }
    return false;
}

static void
let_attachments_go(gci_insertion *insertion, gci_candidates *set)
{
    gci_candidate *former = gci_candidates_find(set, insertion->record.id);

    for (size_t i = 0; former != NULL && i < former->record.attachment_count; i++) {
        gci_attachment const *attachment = &former->record.attachments[i];
        if (!has_attachment(&insertion->record, attachment))
            gci_attachment_let_go(insertion->store, attachment->sha256, former->record.created_ns);
    }
}

/* The equal entry's row is there already, so the new one is noted after publishing, and may fail. */
static gcache_status
renew(gci_insertion *insertion, gci_renewal *renewal, gci_candidates *set)
{
    gci_path entry = { "" }, pack = { "" };
    gci_store *store = insertion->store;
    uint64_t size = 0;

    gci_insertion_unstage(insertion);
    note_shadowed(insertion, set);
    insertion->entry_cost = 0;
    insertion->record.sequence = gci_inside(set)->last_sequence + 1;
    write_description(insertion, set);
    gcache_status status = write_renewed(insertion, renewal, gci_inside(set)->end, &entry, &pack, &size);
    if (status != GCACHE_OK) {
        if (entry.text[0] != '\0')
            gci_dir_unlink(store->directory, entry.text, NULL);
        return status;
    }
    status = publish_renewed(insertion, renewal, &entry, &pack, size);
    if (status != GCACHE_OK)
        return status;
    note_insert(store, insertion, gci_cost_of_key(store, &insertion->record.key));
    let_attachments_go(insertion, set);
    return GCACHE_OK;
}

/* *out_added: it is one more, and hasn't taken another's place. */
static gcache_status
commit(gci_insertion *insertion, gci_candidates *set, bool *out_added)
{
    gcache_status status = GCACHE_OK;
    gci_renewal renewal = { .found = false };

    gci_pack_draft_init(&renewal.draft, &insertion->record.key);
    if (set != NULL)
        status = find_replaced(insertion, set, &renewal);
    if (status == GCACHE_OK && set != NULL && !renewal.found)
        status = check_present(insertion, set);
    if (status == GCACHE_OK && !insertion->out->existed)
        status = renewal.found ? renew(insertion, &renewal, set) : write_and_publish(insertion, set);
    *out_added = !renewal.found;
    gci_pack_draft_clear(&renewal.draft);
    return status;
}

gcache_status
gci_insertion_commit(gci_insertion *insertion)
{
    gci_candidates *set = NULL;
    bool added = false;

    gcache_status status = read_whole(insertion, &set);
    if (status == GCACHE_OK)
        status = commit(insertion, set, &added);
    gci_candidates_release(set);
    if (status == GCACHE_ERROR_NOT_FOUND)
        status = gci_fail(insertion->error, GCACHE_ERROR_IO, "%s: somebody removes files while the entry is stored",
                          insertion->store->directory.name);
    if (status == GCACHE_OK && !insertion->out->existed) {
        insertion->out->sequence = insertion->record.sequence;
        gci_count_entries(insertion->store, added);
        gci_note_stored(insertion->store, &insertion->record);
    }
    return status;
}

/* ---- staging ---- */

void
gci_insertion_stage(gci_insertion *insertion)
{
    bool in_pack = lies_in_pack(insertion, 0);
    gci_view parts[PACK_PARTS];
    gci_buf header;

    insertion->record.sequence = 1;
    insertion->is_batched = true;
    if (insertion->out->existed || !insertion->fresh || make_head(insertion, GCI_FRAME_ENTRY) != GCACHE_OK)
        return;
    gci_buf_init(&header, GCI_PACK_HEADER);
    gci_pack_put_header(&header, &insertion->record.key);
    list_parts(insertion, &header, parts);
    bool may_be_pooled = gci_views_size(parts + 1, PACK_PARTS - 1) <= insertion->store->options.pooled_max;
    if (!description_lies_in_pack(insertion, true))
        parts[1].size = 0;
    size_t skipped = in_pack ? 0 : 2; /* a payload's own file begins with the head */
    if (header.failed || may_be_pooled ||
        gci_begin_temporary(insertion->store, parts + skipped, PACK_PARTS - skipped, &insertion->staged, &insertion->staging,
                            NULL) != GCACHE_OK ||
        gci_start_temporary(insertion->store, &insertion->staged, &insertion->staging, NULL) != GCACHE_OK)
        insertion->staged.text[0] = '\0';
    gci_buf_clear(&header);
    if (insertion->staged.text[0] != '\0' && !in_pack)
        write_index_ahead(insertion);
}

gcache_status
gci_insertion_sync_pool(gci_insertion *insertion)
{
    if (!insertion->is_batched || insertion->pool.text[0] == '\0')
        return GCACHE_OK;
    return gci_pool_sync(insertion->store, &insertion->pool, insertion->error);
}

void
gci_insertion_sync_staged(gci_insertion *insertion)
{
    if (insertion->staged.text[0] == '\0')
        return;
    gcache_status status = gci_file_sync(&insertion->staging, NULL);
    gci_file_close(&insertion->staging);
    if (status != GCACHE_OK)
        gci_insertion_unstage(insertion);
}

void
gci_insertion_unstage(gci_insertion *insertion)
{
    discard(insertion, &insertion->staged);
    discard(insertion, &insertion->index);
}
