#include "store/verify.h"

#include "base/digest.h"
#include "store/attach.h"
#include "store/candidates.h"
#include "store/lookup.h"
#include "store/publish.h"
#include "store/rows.h"
#include "store/shard.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#define WAIT_NS UINT64_C(5000000000)
#define THREADS_MAX 64

/* One run. Threads take shards one after the other; findings and sums are under `mutex`. */
struct verification {
    gci_store *store;
    gci_house_options const *options;
    pthread_mutex_t mutex;
    unsigned next;
    gcache_verified sums;
    uint64_t total;
    gcache_status status; /* the first failure */
    gcache_error *error;
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

static void
check_attachments(struct verification *run, gci_record const *record)
{
    for (size_t i = 0; i < record->attachment_count; i++) {
        gci_attachment const *attachment = &record->attachments[i];
        struct stat facts;
        gci_path path = gci_path_attachment(attachment->sha256);
        if (gci_dir_stat(run->store->directory, path.text, &facts, NULL) != GCACHE_OK)
            report(run, path.text, "attachment %.80s of entry %s is not there", attachment->name.data, record->id);
        else if ((uint64_t)facts.st_size != attachment->size)
            report(run, path.text, "attachment %.80s of entry %s has another size", attachment->name.data, record->id);
    }
}

/* Whether the entry file went away since the candidate index was read: by eviction, which is no problem. */
static bool
was_evicted(struct verification *run, gci_candidate const *candidate)
{
    gci_candidates *now;

    if (gci_read_pack(run->store, &candidate->record.key, &now, NULL) != GCI_FOUND)
        return true;
    bool gone = gci_candidates_find(now, candidate->record.id) == NULL;
    gci_candidates_release(now);
    return gone;
}

static void
check_candidate(struct verification *run, gci_shard_key const *key, gci_candidate *candidate)
{
    gci_path path = gci_path_entry(&key->key, candidate->record.id);
    char const *id = candidate->record.id;
    gcache_error error = { .message = "" };

    check_attachments(run, &candidate->record);
    switch (gci_check_payload(run->store, candidate, &error)) {
    case GCACHE_OK:
        break;
    case GCACHE_ERROR_NOT_FOUND:
        if (!was_evicted(run, candidate))
            report(run, path.text, "the candidate index refers to an entry file that is not there");
        break;
    case GCACHE_ERROR_CORRUPT:
        report(run, candidate->place->in_pack ? gci_path_pack(&key->key).text : path.text, "entry %s is damaged", id);
        break;
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

/* An entry file that no candidate index names: a crash between the two, or a lost candidate index. */
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

static void
check_key(struct verification *run, gci_shard_key const *key, gci_row_list *list, gcache_verified *sums)
{
    gci_path path = gci_path_pack(&key->key);
    gcache_error error = { .message = "" };
    gci_candidates *set = NULL;

    gci_found found = key->has_pack ? gci_read_pack(run->store, &key->key, &set, &error) : GCI_ABSENT;
    if (found == GCI_CORRUPT || (found == GCI_FOUND && set->damaged > 0))
        report(run, path.text, "damaged candidate index");
    else if (found == GCI_UNREADABLE)
        report(run, path.text, "can't be read: %s", error.message);
    check_orphans(run, key, set);
    if (set == NULL)
        return;
    check_description(run, key);
    for (size_t i = 0; i < set->count; i++) {
        check_candidate(run, key, set->items[i]);
        sums->bytes += set->items[i]->record.stored_size;
    }
    sums->keys++;
    sums->entries += set->count;
    gci_row_list_add(run->store, list, set, false);
    gci_candidates_release(set);
}

/* ---- one shard ---- */

static void
report_missing_row(void *state, gci_entry_row const *row)
{
    char hex[GCACHE_ENTRY_ID_SIZE];

    gci_hex(row->id, sizeof row->id, hex);
    report(state, gci_path_pack(&row->key).text, "entry %s has no row in index.db", hex);
}

/*
 * An insert writes its event before its frame: after a drain, what was seen has its row. Where nothing may be written,
 * rows can be asked for only if somebody else has drained everything.
 */
static gcache_status
check_rows(struct verification *run, gci_row_list const *list, gcache_error *error)
{
    bool read_only = run->store->read_only;

    if (list->count == 0 || (read_only && !gci_is_drained(run->store)))
        return GCACHE_OK;
    gcache_status status = read_only ? GCACHE_OK : gci_drain(run->store, WAIT_NS, error);
    return status == GCACHE_OK ? gci_rows_missing(run->store, list, report_missing_row, run, error) : status;
}

static gcache_status
check_shard(struct verification *run, unsigned number, gcache_verified *sums, gcache_error *error)
{
    gci_row_list list;
    gci_shard_key key;
    gci_shard shard;
    size_t at = 0;

    gcache_status status = gci_shard_read(run->store, number, &shard, error);
    if (status != GCACHE_OK)
        return status;
    gci_row_list_init(&list);
    if (shard.strange > 0)
        report(run, shard.strange_name, "%zu names that are none of ours", shard.strange);
    while (gci_shard_next(&shard, &at, &key))
        check_key(run, &key, &list, sums);
    status = list.failed ? gci_fail_memory(error) : check_rows(run, &list, error);
    gci_row_list_clear(&list);
    gci_shard_clear(&shard);
    return status;
}

/* ---- all ---- */

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
        gcache_verified sums = { 0 };
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
check_index(struct verification *run)
{
    gci_buf findings;

    gcache_status status = gci_index_begin(&run->store->index, GCI_READ, WAIT_NS, run->error);
    if (status != GCACHE_OK)
        return run->store->read_only ? GCACHE_OK : status;
    gci_buf_init(&findings, (size_t)64 << 10);
    gci_index_check(&run->store->index, &findings);
    status = gci_index_end(&run->store->index, GCI_READ, GCACHE_OK, run->error);
    if (findings.size > 0)
        report(run, "index.db", "%.*s", (int)findings.size, findings.data);
    gci_buf_clear(&findings);
    return status;
}

static int
check_attachment(void *state, uint8_t const sha256[32], struct stat const *facts)
{
    struct verification *run = state;
    gci_path path = gci_path_attachment(sha256);
    uint8_t hash[32];
    gci_buf bytes;

    (void)facts;
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    gci_digest *digest = gci_digest_new();
    if (gci_file_load_existing(run->store->directory, path.text, GCI_BUF_NO_LIMIT, &bytes, NULL) != GCACHE_OK)
        report(run, path.text, "can't be read");
    else if (digest != NULL && gci_digest_of(digest, gci_buf_view(&bytes), hash) &&
             memcmp(hash, sha256, sizeof hash) != 0)
        report(run, path.text, "damaged attachment");
    gci_digest_free(digest);
    gci_buf_clear(&bytes);
    return 0;
}

gcache_status
gci_store_verify(gci_store *store, gci_house_options const *options, gcache_verified *out_verified, gcache_error *error)
{
    struct verification run = { .store = store, .options = options, .error = error };

    gci_store_enter(store);
    pthread_mutex_init(&run.mutex, NULL);
    run.total = atomic_load(&store->shared.head->keys);
    if (!store->read_only)
        run.status = gci_drain(store, WAIT_NS, error);
    if (run.status == GCACHE_OK)
        run.status = check_index(&run);
    if (run.status == GCACHE_OK)
        run.status = gci_attachments_each(store, check_attachment, &run, error);
    if (run.status == GCACHE_OK)
        work_in_threads(&run, options->threads);
    pthread_mutex_destroy(&run.mutex);
    *out_verified = run.sums;
    return run.status;
}
