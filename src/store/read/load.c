/* Candidates of a key: remembered, read anew, or, of an index that has grown, only what was appended. A key's generation
   (shared.h) is odd while somebody writes its files. */
#include "store/read/load.h"

#include "base/system/clock.h"
#include "store/directory/trust.h"
#include "store/index/tombstones.h"
#include "store/index/touch.h"
#include "store/pool/pool.h"
#include "store/publish/mend.h"

#include <fcntl.h>
#include <stdlib.h>

/* Most candidate indexes are read into this much of the stack; larger ones take a buffer. */
#define READ_ON_STACK ((size_t)16 << 10)

gci_found
gci_unreadable(gci_store *store)
{
    gci_store_count(store, GCI_COUNT_UNREADABLE, 1);
    return GCI_UNREADABLE;
}

static gci_trust
trust_of(gci_store const *store)
{
    return (gci_trust){ store->options.signing, store->options.signing_count, store->options.require_signature };
}

bool
gci_is_vouched_for(gci_store const *store, gci_candidate const *candidate)
{
    gci_trust trust = trust_of(store);

    return trust.required ? gci_candidate_is_trusted(candidate, &trust)
                          : gci_candidate_verify(candidate, trust.keys, trust.count);
}

gcache_status
gci_check_trust(gci_store const *store, gci_candidate const *candidate, gcache_error *error)
{
    gci_trust trust = trust_of(store);

    return gci_candidate_is_trusted(candidate, &trust)
               ? GCACHE_OK
               : gci_fail(error, GCACHE_ERROR_UNTRUSTED, "entry %s: not signed with a key of ours", candidate->record.id);
}

gci_found
gci_store_vouch(gci_store *store, gci_candidate const *candidate, gcache_error *error)
{
    return gci_check_trust(store, candidate, error) == GCACHE_OK ? GCI_FOUND : gci_unreadable(store);
}

/* Turns the bytes of a candidate index into a set. */
static gci_found
decode(gci_store *store, gcache_key const *key, gci_view bytes, gci_candidates **out_set, gcache_error *error)
{
    gci_trust trust = trust_of(store);
    gci_pack_walk walk;

    switch (gci_pack_begin(bytes, key, &walk)) {
    case GCI_PACK_TORN:
    case GCI_PACK_BAD:
        gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: damaged candidate index", gci_path_pack(key).text);
        return GCI_CORRUPT;
    case GCI_PACK_NEWER:
        gci_fail(error, GCACHE_ERROR_FORMAT, "%s: of a newer version", gci_path_pack(key).text);
        return gci_unreadable(store);
    case GCI_PACK_GOOD:
        break;
    }
    *out_set = gci_candidates_new(key, bytes, store->memory.budget, &trust, &walk);
    if (*out_set == NULL) {
        gci_fail_memory(error);
        return gci_unreadable(store);
    }
    return GCI_FOUND;
}

static gci_found
read_all(gci_store *store, gci_file const *file, gcache_key const *key, size_t size, gci_candidates **out_set,
           gcache_error *error)
{
    char small[READ_ON_STACK];
    gci_found found = GCI_UNREADABLE;
    size_t got;

    char *bytes = size <= sizeof small ? small : malloc(size);
    if (bytes == NULL)
        gci_fail_memory(error);
    if (bytes == NULL || gci_file_read(file, bytes, size, 0, &got, error) != GCACHE_OK)
        gci_unreadable(store);
    else
        found = decode(store, key, gci_view_of(bytes, got), out_set, error);
    if (bytes != small)
        free(bytes);
    return found;
}

/* ---- what changed since ---- */

/* Inode numbers are given again, and times go by in ticks: for this long another file could look the same. */
#define TICKS_NS UINT64_C(20000000)

/* Whether the name still stands for the file a set was read from: such a file only grows (candidate_index.h, invariant 1). Only a
   failed append is cut off again; while it lasts the generation is odd, and nothing is remembered. */
static bool
is_same_file(gci_file_stamp const *then, gci_file_stamp const *now)
{
    return now->device == then->device && now->inode == then->inode && now->born_ns == then->born_ns;
}

/* Where generations say nothing. */
static bool
is_unchanged(gci_candidates *former, gci_file_stamp const *now)
{
    gci_file_stamp const *then = &gci_inside(former)->stamp;

    return (gci_inside(former)->settled || then->born_ns == 0) && is_same_file(then, now) && now->size == then->size &&
           now->modified_ns == then->modified_ns && now->changed_ns == then->changed_ns;
}

static void
note_file(struct gci_candidates_inside *inside, gci_file_stamp const *stamp)
{
    inside->stamp = *stamp;
    inside->settled = stamp->born_ns != 0 && gci_clock_coarse_ns() > stamp->born_ns + TICKS_NS;
}

static bool
has_grown(gci_candidates *former, gci_file_stamp const *now)
{
    struct gci_candidates_inside const *inside = gci_inside(former);

    return inside->settled && is_same_file(&inside->stamp, now) && now->size > inside->end &&
           now->size - inside->end < inside->end;
}

/* So many bytes before what was appended are looked at again: an outsider may have cut the file in between. */
#define OVERLAP 64

/* What of the former's bytes stands right before its end. */
static gci_view
last_bytes(gci_candidates const *former)
{
    gci_view bytes = gci_run_inside(former->runs[former->run_count - 1])->bytes;
    size_t end = former->run_count > 1 ? bytes.size : (size_t)former->inside->end;

    return gci_view_of(bytes.data + end - OVERLAP, OVERLAP);
}

/* Reads what was appended. NULL: all must be read. */
static gci_candidates *
read_appended(gci_store *store, gci_file const *file, gci_candidates *former, uint64_t size)
{
    gci_trust trust = trust_of(store);
    uint64_t from = gci_inside(former)->end - OVERLAP;
    size_t got, wanted = (size_t)(size - from);
    gci_candidates *grown = NULL;
    char small[READ_ON_STACK];

    char *bytes = wanted <= sizeof small ? small : malloc(wanted);
    if (bytes != NULL && gci_file_read(file, bytes, wanted, from, &got, NULL) == GCACHE_OK && got == wanted &&
        gci_view_equal(gci_view_of(bytes, OVERLAP), last_bytes(former)))
        grown = gci_candidates_grown(former, gci_view_of(bytes + OVERLAP, got - OVERLAP), store->memory.budget, &trust);
    if (bytes != small)
        free(bytes);
    return grown;
}

/* ---- reading ---- */

/* What `former` is now, or NULL. */
static gci_candidates *
bring_up_to_date(gci_store *store, gci_file const *file, gci_candidates *former, gci_file_stamp const *now)
{
    if (former == NULL || former->damaged > 0)
        return NULL;
    if (is_unchanged(former, now))
        return gci_candidates_retain(former);
    return store->shared.usable && has_grown(former, now) ? read_appended(store, file, former, now->size) : NULL;
}

static gci_found
read_file(gci_store *store, gci_file const *file, gcache_key const *key, gci_candidates *former,
          gci_candidates **out_set, gcache_error *error)
{
    gci_file_stamp const *stamp = &file->opened;

    if (stamp->size > GCI_PACK_MAX) {
        gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: not a candidate index", file->path);
        return GCI_CORRUPT;
    }
    *out_set = bring_up_to_date(store, file, former, stamp);
    gci_found found = *out_set != NULL ? GCI_FOUND
                                       : read_all(store, file, key, (size_t)stamp->size, out_set, error);
    if (found == GCI_FOUND && *out_set != former)
        note_file(gci_inside(*out_set), stamp);
    return found;
}

/* What a pool has of the key. Not compared with a former read: a pool's file changes with every other key in it. */
static gci_found
read_pooled(gci_store *store, gcache_key const *key, bool to_look, gci_candidates **out_set, gcache_error *error)
{
    gci_found found;
    gci_buf image;
    int level;

    gci_buf_init(&image, GCI_BUF_NO_LIMIT);
    gcache_status status = to_look ? gci_pool_look(store, key, &image, &level, error)
                                   : gci_pool_load(store, key, &image, &level, error);
    if (status == GCACHE_OK)
        found = decode(store, key, gci_buf_view(&image), out_set, error);
    else if (status == GCACHE_ERROR_NOT_FOUND)
        found = GCI_ABSENT;
    else
        found = status == GCACHE_ERROR_CORRUPT ? GCI_CORRUPT : gci_unreadable(store);
    if (found == GCI_FOUND) {
        gci_inside(*out_set)->pooled = true;
        gci_inside(*out_set)->pool_level = level;
    }
    gci_buf_clear(&image);
    return found;
}

/* `former`, if not NULL, is what was read of it before. */
static gci_found
read_own(gci_store *store, gcache_key const *key, gci_candidates *former, gci_candidates **out_set, gcache_error *error)
{
    gci_path path = gci_path_pack(key);
    gci_file file;

    *out_set = NULL;
    if (gci_trust_key(store, key, error) != GCACHE_OK)
        return gci_unreadable(store);
    /* Opened even if it hasn't changed, because a network file system's client looks at the server only then. */
    gcache_status status = gci_file_open_existing(store->directory, path.text, O_RDONLY, &file, error);
    if (status == GCACHE_ERROR_CORRUPT)
        return GCI_CORRUPT;
    if (status != GCACHE_OK)
        return gci_unreadable(store);
    if (file.fd < 0)
        return GCI_ABSENT;
    gci_found found = read_file(store, &file, key, former, out_set, error);
    gci_file_close(&file);
    return found;
}

/* A growing key gets its own file first, then leaves its pool: whoever read the file before and the pool after found neither, and
   looks again. to_look: by a lookup, which remembers pools that aren't there. */
static gci_found
read_pack(gci_store *store, gcache_key const *key, bool to_look, gci_candidates *former, gci_candidates **out_set,
          gcache_error *error)
{
    /* A handle's first lookup comes before the table is mapped. */
    bool mapped = atomic_load_explicit(&store->warm, memory_order_acquire);
    uint64_t generation = mapped ? gci_generation(&store->shared, key) : 1;
    gci_found found = read_own(store, key, former, out_set, error);

    if (found == GCI_ABSENT)
        found = read_pooled(store, key, to_look, out_set, error);
    bool quiet = (generation & 1) == 0 && store->shared.usable && gci_generation(&store->shared, key) == generation;
    if (found == GCI_ABSENT && !quiet)
        found = read_own(store, key, former, out_set, error);
    if (found == GCI_FOUND)
        gci_store_count(store, *out_set == former ? GCI_COUNT_MEMORY_HITS : GCI_COUNT_DISK_READS, 1);
    return found;
}

gci_found
gci_read_pack(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error)
{
    return read_pack(store, key, false, NULL, out_set, error);
}

/* Puts what was read at a generation into the memory tier, unless somebody wrote meanwhile: what is remembered is what was
   committed. */
static void
remember(gci_store *store, gcache_key const *key, gci_candidates *set, uint64_t generation)
{
    if (set->damaged == 0 && (generation & 1) == 0 && gci_generation(&store->shared, key) == generation)
        gci_memory_put(&store->memory, set, generation, gci_save_touches, store);
}

/* Reads the candidate index and puts it into the memory tier, in place of `former` (or NULL). */
static gci_found
refresh(gci_store *store, gcache_key const *key, gci_candidates *former, gci_candidates **out_set, gcache_error *error)
{
    uint64_t generation = gci_generation(&store->shared, key);
    gci_found found = read_pack(store, key, true, former, out_set, error);

    if (found != GCI_FOUND)
        gci_memory_drop(&store->memory, key, gci_save_touches, store);
    else
        remember(store, key, *out_set, generation);
    return found;
}

gci_found
gci_read_current(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error)
{
    uint64_t current = gci_generation(&store->shared, key), then = 1;

    gci_candidates *set = gci_memory_find(&store->memory, key, &then);
    if (set != NULL && then == current && store->shared.usable) {
        gci_store_count(store, GCI_COUNT_MEMORY_HITS, 1);
        *out_set = set;
        return GCI_FOUND;
    }
    gci_found found = refresh(store, key, set, out_set, error);
    gci_candidates_release(set);
    return found;
}

gci_found
gci_read_to_change(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error)
{
    uint64_t then;

    gci_candidates *known = gci_memory_find(&store->memory, key, &then);
    bool checkable = known != NULL && !gci_inside(known)->pooled;
    gci_candidates_release(known);
    return checkable ? gci_read_current(store, key, out_set, error) : read_pack(store, key, false, NULL, out_set, error);
}

gci_found
gci_read_ahead(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error)
{
    uint64_t then;

    gci_candidates *known = gci_memory_find(&store->memory, key, &then);
    if (known != NULL) {
        gci_candidates_release(known);
        return gci_read_current(store, key, out_set, error);
    }
    uint64_t generation = gci_generation(&store->shared, key);
    gci_found found = read_own(store, key, NULL, out_set, error);
    if (found == GCI_FOUND)
        remember(store, key, *out_set, generation);
    return found;
}

/* What there is to say about a key that has no candidate index. */
static gci_found
absent(gci_store *store, gcache_key const *key)
{
    gci_tombstone tombstone;

    bool known = gci_store_tombstone(store, key, &tombstone);

    return known && tombstone.left == 0 ? GCI_EVICTED : GCI_ABSENT;
}

/* Puts aside what is damaged, and reads again. */
static gci_found
mend_and_read(gci_store *store, gcache_key const *key, gci_candidates **inout_set, gcache_error *error)
{
    gci_mended mended = { 0 };

    if (gci_mend_key(store, key, NULL, &mended, NULL) != GCACHE_OK)
        return *inout_set != NULL ? GCI_FOUND : GCI_CORRUPT;
    gci_candidates_release(*inout_set);
    gci_found found = gci_read_pack(store, key, inout_set, error);
    if (found == GCI_FOUND)
        (*inout_set)->damaged += mended.quarantined;
    /* It was there, and nothing of it is any more. */
    return found == GCI_ABSENT && mended.damaged ? GCI_CORRUPT : found;
}

/* A set without anything in it says no more than why. */
static gci_found
settle_empty(gci_candidates *set, gcache_error *error)
{
    gci_path path = gci_path_pack(&set->key);

    if (set->damaged > 0) {
        gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: damaged candidate index", path.text);
        return GCI_CORRUPT;
    }
    if (set->untrusted > 0) {
        gci_fail(error, GCACHE_ERROR_UNTRUSTED, "%s: not signed with a key of ours", path.text);
        return GCI_UNREADABLE;
    }
    return GCI_ABSENT;
}

static gci_found
finish(gci_store *store, gcache_key const *key, gci_found found, gci_candidates **inout_set, gcache_error *error)
{
    gci_candidates *set = *inout_set;

    if (found == GCI_CORRUPT || (found == GCI_FOUND && set->damaged > 0))
        found = mend_and_read(store, key, inout_set, error);
    set = *inout_set;
    if (found == GCI_FOUND && set->count == 0 && set->evicted_count == 0) {
        found = settle_empty(set, error);
        gci_candidates_release(set);
        *inout_set = NULL;
    }
    return found == GCI_ABSENT ? absent(store, key) : found;
}

/* What is due now and then is done by whoever comes along, at most once a second: this is all that a hit pays for it. */
#define CHECK_EVERY_NS UINT64_C(1000000000)

static void
do_what_is_due(gci_store *store, uint64_t now)
{
    if (pthread_mutex_trylock(&store->warming) == 0) {
        gci_shared_revalidate(&store->shared, store->directory, store->read_only);
        pthread_mutex_unlock(&store->warming);
    }
    gci_pools_forget_absent(store);
    uint64_t then = atomic_load(&store->touched_ns);
    if (now - then >= GCI_TOUCH_EVERY_NS && atomic_compare_exchange_strong(&store->touched_ns, &then, now))
        gci_flush_touches(store);
}

void
gci_check_time(gci_store *store)
{
    uint64_t now = gci_clock_coarse_ns(), then = atomic_load_explicit(&store->checked_ns, memory_order_relaxed);

    if (now - then >= CHECK_EVERY_NS && atomic_compare_exchange_strong(&store->checked_ns, &then, now))
        do_what_is_due(store, now);
}

/* The first lookup of a handle is often its only one: it reads the file and no more. */
static bool
claim_first(gci_store *store)
{
    if (atomic_load_explicit(&store->asked, memory_order_relaxed) || atomic_exchange(&store->asked, true))
        return false;
    gci_store_notice_process(store);
    return !atomic_load(&store->warm);
}

gci_found
gci_store_candidates(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error)
{
    gci_found found;

    *out_set = NULL;
    if (claim_first(store)) {
        found = gci_read_pack(store, key, out_set, error);
    } else {
        gci_store_enter(store);
        gci_check_time(store);
        found = gci_read_current(store, key, out_set, error);
    }
    if (found == GCI_FOUND && (*out_set)->damaged == 0 && (*out_set)->count > 0)
        return found;
    gci_store_enter(store);
    return finish(store, key, found, out_set, error);
}

gci_found
gci_store_load(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error)
{
    gci_store_enter(store);
    gci_found found = gci_read_pack(store, key, out_set, error);
    return finish(store, key, found, out_set, error);
}
