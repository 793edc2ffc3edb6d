/* Verify: threads take shards, read all that is in them, and compare it with the rows. */
#include "base/digest.h"
#include "store/directory/shard.h"
#include "store/directory/strange.h"
#include "store/directory/trust.h"
#include "store/index/snapshot.h"
#include "store/index/tables.h"
#include "store/memory/candidates.h"
#include "store/pool/pool.h"
#include "store/read/load.h"
#include "store/read/payload.h"
#include "store/read/stored_description.h"
#include "store/repair/attached.h"
#include "store/repair/mismatches.h"
#include "store/repair/repair.h"
#include "store/repair/rows.h"
#include "store/state/files.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define WAIT_NS UINT64_C(5000000000)
#define THREADS_MAX 64

/* One run. Threads take shards one after the other; findings and sums are under `mutex`. */
struct verification {
    gci_store *store;
    gcache_maintenance_options const *options;
    pthread_mutex_t mutex;
    unsigned next;
    gcache_verified sums;
    uint64_t total;
    gcache_status status; /* the first failure */
    gcache_error *error;
    gci_attached_list references;
    gci_index *index;     /* the rows: index.db's, or NULL where they can't be read */
    gci_snapshot snapshot; /* or a copy of them, in a cache that is only read */
};

static void report(struct verification *run, char const *path, char const *format, ...)
    __attribute__((format(printf, 3, 4)));

static void
report(struct verification *run, char const *path, char const *format, ...)
{
    char text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&run->mutex);
    run->sums.problems++;
    if (run->options->problem != NULL)
        run->options->problem(run->options->state, path, text);
    pthread_mutex_unlock(&run->mutex);
}

/* ---- one key ---- */

/* Attachments are read when all that refers to them is known. */
static void
note_attachments(struct verification *run, gci_record const *record)
{
    pthread_mutex_lock(&run->mutex);
    if (!gci_attached_add(&run->references, record) && run->status == GCACHE_OK)
        run->status = gci_fail_memory(run->error);
    pthread_mutex_unlock(&run->mutex);
}

/* Whether an entry is still named: else it was evicted since its candidate index was read, which is no problem. */
static bool
is_still_there(struct verification *run, gcache_key const *key, char const *id)
{
    gci_candidates *now;

    if (gci_read_pack(run->store, key, &now, NULL) != GCI_FOUND)
        return false;
    bool there = gci_candidates_find(now, id) != NULL;
    gci_candidates_release(now);
    return there;
}

static void
check_candidate(struct verification *run, gci_shard_key const *key, gci_candidate *candidate)
{
    gci_path path = gci_path_entry(&key->key, candidate->record.id);
    char const *id = candidate->record.id;
    gcache_error error = { .message = "" };

    note_attachments(run, &candidate->record);
    switch (gci_check_payload(run->store, candidate, &error)) {
    case GCACHE_OK:
        break;
    case GCACHE_ERROR_NOT_FOUND:
        if (is_still_there(run, &key->key, id))
            report(run, path.text, "the candidate index refers to an entry file that is not there");
        break;
    case GCACHE_ERROR_CORRUPT:
        report(run, candidate->place->in_pack ? gci_path_pack(&key->key).text : path.text, "entry %s is damaged", id);
        break;
    case GCACHE_ERROR_BUSY:
        break; /* being renewed: whole, and whoever asks for it next ends that if its writer has died */
    case GCACHE_ERROR_UNTRUSTED:
        break; /* reported with all that isn't trusted */
    default:
        report(run, path.text, "can't be read: %s", error.message);
    }
}

static void
check_description(struct verification *run, gci_shard_key const *key)
{
    gci_stored_description *description;
    gcache_error error = { .message = "" };

    gci_found found = gci_read_description(run->store, &key->key, &description, &error);
    if (found == GCI_CORRUPT || found == GCI_UNREADABLE)
        report(run, gci_path_description(&key->key).text, "%s", error.message);
    gci_stored_description_free(description);
}

/* An entry file that no candidate index names: a crash between the two. Without its row, or with a lost candidate index, it
   has been acknowledged, and check_rows says so. */
static void
check_orphans(struct verification *run, gci_shard_key const *key, gci_candidates *set)
{
    for (size_t i = 0; i < key->count; i++) {
        gci_shard_file const *file = &key->files[i];
        struct stat facts;
        if (file->kind != GCI_NAME_ENTRY || (set != NULL && gci_candidates_find(set, file->id) != NULL))
            continue;
        gci_path path = gci_path_entry(&key->key, file->id);
        /* A young one is being written, or was evicted meanwhile. */
        if (gci_dir_stat(run->store->directory, path.text, &facts, NULL) == GCACHE_OK && gci_is_old(&facts))
            report(run, path.text, "no candidate index refers to this entry file");
    }
}

/* What a thread does to one shard. */
struct shard_check {
    struct verification *run;
    gci_row_list list;
    gcache_verified *sums;
};

static gcache_status
check_key(void *state, gci_shard_key const *key)
{
    struct shard_check *check = state;
    struct verification *run = check->run;
    gcache_verified *sums = check->sums;
    gci_path path = gci_path_pack(&key->key);
    gcache_error error = { .message = "" };
    gci_candidates *set = NULL;

    gci_found found = key->has_pack ? gci_read_pack(run->store, &key->key, &set, &error) : GCI_ABSENT;
    if (found == GCI_CORRUPT || (found == GCI_FOUND && set->damaged > 0))
        report(run, path.text, "damaged candidate index");
    else if (found == GCI_UNREADABLE && error.status != GCACHE_ERROR_UNTRUSTED)
        report(run, path.text, "can't be read: %s", error.message);
    check_orphans(run, key, set);
    if (set == NULL)
        return GCACHE_OK;
    check_description(run, key);
    for (size_t i = 0; i < set->count; i++) {
        check_candidate(run, key, set->items[i]);
        sums->bytes += set->items[i]->record.stored_size;
    }
    sums->keys++;
    sums->entries += set->count;
    gci_row_list_add(run->store, &check->list, set, false);
    gci_candidates_release(set);
    return GCACHE_OK;
}

/* ---- one shard ---- */

static void
report_mismatch(struct verification *run, gci_mismatch const *what)
{
    char hex[GCACHE_ENTRY_ID_SIZE];

    gci_hex(what->id, sizeof what->id, hex);
    report(run, gci_path_pack(&what->key).text,
           what->lost ? "entry %s is lost: index.db knows it, no candidate index does" : "entry %s has no row in index.db", hex);
}

static gcache_status
refresh_rows(struct verification *run, gcache_error *error)
{
    return run->store->read_only ? gci_snapshot_refresh(&run->snapshot, error) : gci_drain(run->store, WAIT_NS, error);
}

/* An insert writes its event before its frame: once events are in the rows, what was seen in files before has its row. */
static gcache_status
find_mismatches(struct verification *run, unsigned number, gci_row_list const *list, gci_mismatches *out, gcache_error *error)
{
    *out = (gci_mismatches){ 0 };
    gcache_status status = list->failed ? gci_fail_memory(error) : refresh_rows(run, error);
    /* An index.db that isn't there is made by whoever may. */
    bool whole = !run->store->read_only || run->snapshot.whole;
    return status == GCACHE_OK ? gci_mismatches_find(run->store, run->index, whole, number, list, out, error) : status;
}

/* Looks once more, files first: what comes or goes meanwhile mismatches once, what is wrong each time. */
static gcache_status
look_again(struct verification *run, unsigned number, gci_mismatches const *before, gcache_error *error)
{
    gci_row_list list;
    gci_mismatches again = { 0 };

    gci_row_list_init(&list);
    gcache_status status = gci_row_list_read(run->store, number, false, &list, error);
    if (status == GCACHE_OK)
        status = find_mismatches(run, number, &list, &again, error);
    for (size_t i = 0; status == GCACHE_OK && i < again.count; i++) {
        if (gci_mismatches_have(before, &again.items[i]))
            report_mismatch(run, &again.items[i]);
    }
    free(again.items);
    gci_row_list_clear(&list);
    return status;
}

static gcache_status
check_rows(struct verification *run, unsigned number, gci_row_list const *list, gcache_error *error)
{
    gci_mismatches found;

    if (run->index == NULL)
        return GCACHE_OK;
    gcache_status status = find_mismatches(run, number, list, &found, error);
    if (status == GCACHE_OK && found.count > 0)
        status = look_again(run, number, &found, error);
    free(found.items);
    return status;
}

/* Whose it is is reported with all that isn't trusted. */
static void
report_pool(void *state, gcache_key const *prefix, gci_path const *place, gcache_status status)
{
    (void)prefix;
    if (status != GCACHE_ERROR_UNTRUSTED)
        report(state, place->text, status == GCACHE_ERROR_CORRUPT  ? "damaged pool"
                                   : status == GCACHE_ERROR_FORMAT ? "of a newer version"
                                                                   : "can't be read");
}

static gcache_status
check_shard(struct verification *run, unsigned number, gcache_verified *sums, gcache_error *error)
{
    struct shard_check check = { .run = run, .sums = sums };

    gci_row_list_init(&check.list);
    gci_pool_check(run->store, number, report_pool, run);
    gcache_status status = gci_pool_shard_each(run->store, number, check_key, &check, error);
    if (status == GCACHE_OK)
        status = check_rows(run, number, &check.list, error);
    gci_row_list_clear(&check.list);
    return status;
}

/* ---- all ---- */

static void
report_distrusted(void *state, char const *path, char const *why)
{
    report(state, path, "not handed out: %s", why);
}

static void
add_sums(struct verification *run, gcache_verified const *sums, gcache_status status, gcache_error const *error)
{
    pthread_mutex_lock(&run->mutex);
    run->sums.keys += sums->keys;
    run->sums.entries += sums->entries;
    run->sums.bytes += sums->bytes;
    if (run->status == GCACHE_OK && status != GCACHE_OK) {
        run->status = status;
        if (run->error != NULL)
            *run->error = *error;
    }
    if (run->options->progress != NULL)
        run->options->progress(run->options->state, run->sums.keys, run->total);
    pthread_mutex_unlock(&run->mutex);
}

static void *
work(void *state)
{
    struct verification *run = state;

    for (;;) {
        gcache_verified sums = GCACHE_VERIFIED_INIT;
        gcache_error error = { 0 };
        pthread_mutex_lock(&run->mutex);
        unsigned number = run->status == GCACHE_OK ? run->next++ : GCI_SHARDS;
        pthread_mutex_unlock(&run->mutex);
        if (number >= GCI_SHARDS)
            return NULL;
        gcache_status status = check_shard(run, number, &sums, &error);
        add_sums(run, &sums, status, &error);
    }
}

static void
work_in_threads(struct verification *run, int count)
{
    pthread_t threads[THREADS_MAX];
    int started = 0;

    while (started < count - 1 && started < THREADS_MAX &&
           pthread_create(&threads[started], NULL, work, run) == 0)
        started++;
    work(run);
    while (started > 0)
        pthread_join(threads[--started], NULL);
}

static gcache_status
check_database(struct verification *run)
{
    gci_index *index = &run->store->index;
    gci_buf findings;

    gcache_status status = gci_index_begin(index, GCI_READ, WAIT_NS, run->error);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&findings, (size_t)64 << 10);
    gci_index_check(index, &findings);
    status = gci_index_end(index, GCI_READ, GCACHE_OK, run->error);
    if (findings.size > 0)
        report(run, "index.db", "%.*s", (int)findings.size, findings.data);
    gci_buf_clear(&findings);
    return status;
}

/* Where index.db can't be made anew, one that can't be read is a problem (unless only a full disk is in the way), and nothing
   is known about rows. */
static gcache_status
check_index(struct verification *run)
{
    gcache_status status = GCACHE_OK;
    bool read_only = run->store->read_only;

    if (!read_only)
        status = gci_drain(run->store, WAIT_NS, run->error);
    if (status == GCACHE_OK)
        status = check_database(run);
    if (read_only && (status == GCACHE_OK || status == GCACHE_ERROR_NOT_FOUND))
        status = gci_snapshot_refresh(&run->snapshot, run->error);
    if (status == GCACHE_OK)
        run->index = read_only ? &run->snapshot.index : &run->store->index;
    else if (read_only && status != GCACHE_ERROR_UNTRUSTED && status != GCACHE_ERROR_NO_SPACE)
        report(run, "index.db", "can't be read");
    return read_only ? GCACHE_OK : status;
}

/* Of an entry that has been evicted meanwhile the attachments may be gone. */
static void
report_reference(void *state, gci_attached const *reference, gcache_status why)
{
    struct verification *run = state;
    gci_path path = gci_path_attachment(reference->sha256);

    /* Whose it is has been reported. */
    if (why == GCACHE_ERROR_UNTRUSTED || !is_still_there(run, &reference->key, reference->id))
        return;
    report(run, path.text, why == GCACHE_ERROR_NOT_FOUND ? "attachment of entry %s is not there"
                           : why == GCACHE_ERROR_CORRUPT ? "attachment of entry %s is damaged"
                                                         : "attachment of entry %s can't be read", reference->id);
}

static void
report_strange(void *state, char const *path, char const *what)
{
    report(state, path, "%s", what);
}

gcache_status
gci_store_verify(gci_store *store, gcache_maintenance_options const *options, gcache_verified *out_verified, gcache_error *error)
{
    struct verification run = { .store = store, .options = options, .sums = GCACHE_VERIFIED_INIT, .error = error };

    gci_store_enter(store);
    pthread_mutex_init(&run.mutex, NULL);
    run.total = gci_word_value(&store->shared.head->keys);
    gci_snapshot_init(&run.snapshot, store);
    run.status = gci_strange_each(store->directory, report_strange, &run, error);
    if (run.status == GCACHE_OK)
        run.status = check_index(&run);
    gci_trust_each(store->directory, report_distrusted, &run);
    if (run.status == GCACHE_ERROR_UNTRUSTED)
        run.status = GCACHE_OK; /* index.db, which has just been reported */
    if (store->format_is_damaged)
        report(&run, "format", "lost or damaged");
    if (run.status == GCACHE_OK && !gci_tables_are_whole(store))
        report(&run, "tables.db", "damaged database");
    if (run.status == GCACHE_OK)
        work_in_threads(&run, options->threads);
    if (run.status == GCACHE_OK)
        gci_attached_check(store, &run.references, report_reference, &run);
    gci_attached_clear(&run.references);
    gci_snapshot_close(&run.snapshot);
    pthread_mutex_destroy(&run.mutex);
    *out_verified = run.sums;
    return run.status;
}
