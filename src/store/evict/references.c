/* Attachments that no entry refers to: mark and sweep, with a time of grace. */
#include "store/evict/references.h"

#include "base/arena.h"
#include "base/array.h"
#include "base/system/clock.h"
#include "base/digest.h"
#include "store/directory/shard.h"
#include "store/directory/tree.h"
#include "store/format/frame.h"
#include "store/format/record.h"
#include "store/memory/candidates.h"
#include "store/pool/pool.h"
#include "store/publish/publish.h"
#include "store/read/read.h"

#include <stdio.h>
#include <stdlib.h>

#define SWEEP_WAIT_NS UINT64_C(1000000000)

gcache_status
gci_attach_lock(gci_store *store, gci_lock_kind kind, uint64_t wait_ns, gci_file *out_lock, gcache_error *error)
{
    return gci_lock_take(store->directory, "locks/attachments", kind, wait_ns, out_lock, error);
}

/* ---- walking ---- */

/* Called for a stored attachment; anything but 0 ends the walk. */
typedef int (*attachment_fn)(void *state, uint8_t const sha256[32], struct stat const *facts);

struct visit {
    attachment_fn fn;
    void *state;
};

/* attachments/<2 hex>/<sha256> */
static gci_tree_step
visit_path(void *state, char const *path, struct stat const *facts)
{
    struct visit *visit = state;
    char const *name = strrchr(path, '/') + 1;
    uint8_t sha256[32];

    if (S_ISDIR(facts->st_mode))
        return strchr(path, '/') == name - 1 ? GCI_TREE_ON : GCI_TREE_PAST;
    return S_ISREG(facts->st_mode) && gci_unhex(gci_view_text(name), sha256, sizeof sha256) &&
                   visit->fn(visit->state, sha256, facts) != 0
               ? GCI_TREE_END
               : GCI_TREE_ON;
}

static gcache_status
attachments_each(gci_store *store, attachment_fn fn, void *state, gcache_error *error)
{
    struct visit visit = { fn, state };

    return gci_tree_each(store->directory, "attachments", visit_path, &visit, error);
}

static int
add_cost(void *state, uint8_t const sha256[32], struct stat const *facts)
{
    (void)sha256;
    *(uint64_t *)state += gci_cost_of_facts(facts);
    return 0;
}

uint64_t
gci_attachments_cost(gci_store *store)
{
    uint64_t cost = 0;

    attachments_each(store, add_cost, &cost, NULL);
    return cost;
}

/* ---- who refers to what ---- */

struct finding {
    gci_store *store;
    gci_references *references;
    gcache_status status;
    gcache_error *error;
};

static int
by_hash(void const *a, void const *b)
{
    return memcmp(((gci_reference const *)a)->sha256, ((gci_reference const *)b)->sha256, 32);
}

static gci_reference *
find_reference(gci_references const *references, uint8_t const sha256[32])
{
    gci_reference wanted;

    memcpy(wanted.sha256, sha256, sizeof wanted.sha256);
    return references->count == 0 ? NULL
                                  : bsearch(&wanted, references->items, references->count, sizeof wanted, by_hash);
}

static bool
add_reference(gci_references *references, uint8_t const sha256[32], uint64_t created_ns)
{
    if (!GCI_ARRAY_HAS_ROOM(references, items))
        return false;
    gci_reference *added = &references->items[references->count++];
    *added = (gci_reference){ .count = 1, .newest_ns = created_ns };
    memcpy(added->sha256, sha256, sizeof added->sha256);
    return true;
}

static void
add_record(struct finding *finding, gci_record const *record)
{
    for (size_t i = 0; i < record->attachment_count; i++) {
        if (!add_reference(finding->references, record->attachments[i].sha256, record->created_ns))
            finding->status = gci_fail_memory(finding->error);
    }
}

/* An entry file that no candidate index names: repair makes it an entry again. One that is damaged comes back never. */
static void
add_orphan(struct finding *finding, gcache_key const *key, char const *id)
{
    gci_path path = gci_path_entry(key, id);
    gci_signature signature;
    gci_record record;
    gci_frame frame;
    gci_arena arena;
    gci_buf bytes;

    gci_arena_init(&arena, GCI_BUF_NO_LIMIT);
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_file_load_existing(finding->store->directory, path.text,
                                                  GCI_PAYLOAD_MAX + GCI_HEAD_MAX + GCI_FRAME_OVERHEAD, &bytes, NULL);
    if (status == GCACHE_OK && gci_frame_read_head(gci_buf_view(&bytes), &frame) == GCI_FRAME_GOOD &&
        gci_record_read(frame.head, &arena, &record, &signature))
        add_record(finding, &record);
    else if (status == GCACHE_ERROR_IO || status == GCACHE_ERROR_MEMORY)
        finding->status = gci_fail(finding->error, status, "%s can't be read: no attachment is removed", path.text);
    gci_buf_clear(&bytes);
    gci_arena_clear(&arena);
}

/* A key that can't be read may refer to anything: then nothing may be swept. */
static gcache_status
add_key(void *state, gci_shard_key const *key)
{
    struct finding *finding = state;
    gci_candidates *set = NULL;

    gci_found found = key->has_pack ? gci_store_load(finding->store, &key->key, &set, finding->error) : GCI_ABSENT;
    if (found == GCI_UNREADABLE)
        finding->status = gci_fail(finding->error, GCACHE_ERROR_IO,
                                   "a candidate index can't be read: no attachment is removed");
    for (size_t i = 0; found == GCI_FOUND && i < set->count; i++)
        add_record(finding, &set->items[i]->record);
    for (size_t i = 0; finding->status == GCACHE_OK && i < key->count; i++) {
        gci_shard_file const *file = &key->files[i];
        if (file->kind == GCI_NAME_ENTRY && (set == NULL || gci_candidates_find(set, file->id) == NULL))
            add_orphan(finding, &key->key, file->id);
    }
    gci_candidates_release(set);
    return finding->status;
}

/* What is damaged names nothing any more. */
static void
note_unreadable(void *state, gcache_key const *prefix, gci_path const *place, gcache_status status)
{
    struct finding *finding = state;

    (void)prefix;
    if (status != GCACHE_ERROR_CORRUPT)
        finding->status = gci_fail(finding->error, GCACHE_ERROR_IO, "%s can't be read: no attachment is removed", place->text);
}

/* Sorted, each once. */
static void
settle(gci_references *references)
{
    size_t kept = 0;

    if (references->count == 0)
        return;
    qsort(references->items, references->count, sizeof *references->items, by_hash);
    for (size_t i = 1; i < references->count; i++) {
        gci_reference *last = &references->items[kept], *next = &references->items[i];
        if (memcmp(last->sha256, next->sha256, sizeof last->sha256) != 0) {
            references->items[++kept] = *next;
            continue;
        }
        last->count += next->count;
        last->newest_ns = last->newest_ns > next->newest_ns ? last->newest_ns : next->newest_ns;
    }
    references->count = kept + 1;
}

gcache_status
gci_references_find(gci_store *store, gci_references *out_references, gcache_error *error)
{
    struct finding finding = { .store = store, .references = out_references, .error = error };

    *out_references = (gci_references){ 0 };
    for (unsigned number = 0; number < GCI_SHARDS; number++)
        gci_pool_check(store, number, note_unreadable, &finding);
    for (unsigned number = 0; finding.status == GCACHE_OK && number < GCI_SHARDS; number++)
        finding.status = gci_pool_shard_each(store, number, add_key, &finding, error);
    settle(out_references);
    return finding.status;
}

void
gci_references_clear(gci_references *references)
{
    free(references->items);
    *references = (gci_references){ 0 };
}

/* ---- sweep ---- */

/* Under the lock, exclusively. */
static bool
remove_attachment(gci_store *store, uint8_t const sha256[32], struct stat const *facts, uint64_t *inout_freed)
{
    gci_path path = gci_path_attachment(sha256);
    uint64_t moment = gci_count_moment(store), cost = gci_cost_of_facts(facts);

    if (gci_dir_unlink(store->directory, path.text, NULL) != GCACHE_OK)
        return false;
    gci_count_change(store, moment, cost, 0);
    *inout_freed += cost;
    return true;
}

void
gci_references_drop(gci_store *store, gci_references *references, uint8_t const sha256[32], uint64_t *inout_freed)
{
    gci_reference *reference = find_reference(references, sha256);
    gci_path path = gci_path_attachment(sha256);
    struct stat facts;
    gci_file lock;

    if (reference == NULL || reference->count == 0 || --reference->count > 0 ||
        gci_attach_lock(store, GCI_LOCK_EXCLUSIVE, SWEEP_WAIT_NS, &lock, NULL) != GCACHE_OK)
        return;
    /* Stored again since, it is for an entry that is still to come. */
    if (gci_dir_stat(store->directory, path.text, &facts, NULL) == GCACHE_OK && S_ISREG(facts.st_mode) &&
        gci_changed_ns(&facts) <= reference->newest_ns)
        remove_attachment(store, sha256, &facts, inout_freed);
    gci_file_unlock_and_close(&lock);
}

void
gci_attachment_let_go(gci_store *store, uint8_t const sha256[32], uint64_t since_ns)
{
    gci_path path = gci_path_attachment(sha256);
    struct stat facts;
    gci_file lock;

    if (gci_attach_lock(store, GCI_LOCK_EXCLUSIVE, SWEEP_WAIT_NS, &lock, NULL) != GCACHE_OK)
        return;
    if (gci_dir_stat(store->directory, path.text, &facts, NULL) == GCACHE_OK && S_ISREG(facts.st_mode) &&
        gci_changed_ns(&facts) <= since_ns)
        gci_dir_make_old(store->directory, path.text, NULL);
    gci_file_unlock_and_close(&lock);
}

struct sweep {
    gci_store *store;
    gci_references const *references;
    uint64_t before_ns;
    bool dry;
    uint64_t removed, freed;
};

static int
sweep_one(void *state, uint8_t const sha256[32], struct stat const *facts)
{
    struct sweep *sweep = state;

    if (gci_changed_ns(facts) > sweep->before_ns || find_reference(sweep->references, sha256) != NULL)
        return 0;
    if (sweep->dry || remove_attachment(sweep->store, sha256, facts, &sweep->freed))
        sweep->removed++;
    return 0;
}

/* What is stored after the references were found is young, and what is found again becomes so: both stay. */
gcache_status
gci_references_sweep(gci_store *store, gci_references const *references, uint64_t grace_ns, bool dry,
                     uint64_t *inout_removed, uint64_t *inout_freed, gcache_error *error)
{
    uint64_t now = gci_clock_wall_ns();
    struct sweep sweep = { .store = store, .references = references, .dry = dry,
                           .before_ns = now > grace_ns ? now - grace_ns : 0 };
    gci_file lock;

    gcache_status status = gci_attach_lock(store, GCI_LOCK_EXCLUSIVE, SWEEP_WAIT_NS, &lock, error);
    if (status != GCACHE_OK)
        return status;
    status = attachments_each(store, sweep_one, &sweep, error);
    gci_file_unlock_and_close(&lock);
    *inout_removed += sweep.removed;
    *inout_freed += sweep.freed;
    return status;
}

static int
stop_at_first(void *state, uint8_t const sha256[32], struct stat const *facts)
{
    (void)sha256;
    (void)facts;
    *(bool *)state = true;
    return 1;
}

gcache_status
gci_attachments_sweep(gci_store *store, bool dry, uint64_t *out_removed, gcache_error *error)
{
    gci_references references = { 0 };
    uint64_t freed = 0;
    bool any = false;

    *out_removed = 0;
    gcache_status status = attachments_each(store, stop_at_first, &any, error);
    if (status != GCACHE_OK || !any)
        return status;
    status = gci_references_find(store, &references, error);
    if (status == GCACHE_OK)
        status = gci_references_sweep(store, &references, GCI_ATTACHMENT_GRACE_NS, dry, out_removed, &freed, error);
    gci_references_clear(&references);
    return status;
}
